/* The running thread's core, and the mark that blocking functions leave in the machine code. */
#ifndef SMTL_CORE_H
#define SMTL_CORE_H

#include "abi.h"

/* 1 where clang instruments the kernel; see sanitize.h. */
#ifndef SMTL_SANITIZE
#define SMTL_SANITIZE 0
#endif

/* The storage of a threadgroup's static variables: its threads are fibers of one system thread. Instrumented kernels
 * run one at a time, and their variables lie so far apart that an index that runs off one of them meets no other. The
 * optimiser would remove the reads of a variable that nobody writes. */
#if SMTL_SANITIZE
#define SMTL_THREADGROUP_STORAGE __attribute__((used, aligned(SMTL_SANITIZED_VARIABLE_ALIGNMENT)))
#define SMTL_LIBRARY_VARIABLE __attribute__((section(".data"))) /* away from those */
#else
#define SMTL_THREADGROUP_STORAGE thread_local
#define SMTL_LIBRARY_VARIABLE
#endif

#define SMTL_INLINE inline __attribute__((always_inline))

namespace smtl {

/* True at run time in a kernel that contains a blocking call. The engine sets it when it loads the kernel, at the
 * address that `mark_blocking` leaves in a section. Where no blocking call survives optimisation nothing else refers to
 * it, and the optimiser sees a variable that is never written: what depends on it goes, and the loop over the threads
 * is one that can be vectorised. */
SMTL_LIBRARY_VARIABLE static bool blocking = false;

/* The same for a kernel whose threads may wait in loops for atomics to change; see polls.h. */
SMTL_LIBRARY_VARIABLE static bool polling = false;

#if defined(__aarch64__)
#define SMTL_MARK(section, flag) ".pushsection " section ",\"a\"\n.balign 8\n.xword %c[" #flag "] - .\n.popsection"
#define SMTL_FLAG(flag) [flag] "S"(&flag)
#else
#define SMTL_MARK(section, flag) ".pushsection " section ",\"a\"\n.balign 8\n.quad %c[" #flag "] - .\n.popsection"
#define SMTL_FLAG(flag) [flag] "i"(&flag)
#endif
SMTL_INLINE void mark_blocking() { asm volatile(SMTL_MARK("smtl_blocking", blocking)::SMTL_FLAG(blocking)); }
/* Stays where anybody uses the value. */
template <class T> SMTL_INLINE void mark_polling(T &value) {
    asm(SMTL_MARK("smtl_polling", polling) : "+r"(value) : SMTL_FLAG(polling));
}
/* In code that calls, or is called by, code of another translation unit, which has flags of its own. */
SMTL_INLINE void mark_linked() {
    asm volatile(SMTL_MARK("smtl_linked_blocking", blocking)::SMTL_FLAG(blocking));
    asm volatile(SMTL_MARK("smtl_linked_polling", polling)::SMTL_FLAG(polling));
}
#undef SMTL_MARK
#undef SMTL_FLAG

/* A thread never leaves its stack, so that this is as good as a constant within a thread. */
SMTL_INLINE smtl_core *current_core() {
    uintptr_t stack;
#if defined(__aarch64__)
    asm("mov %0, sp" : "=r"(stack));
#elif defined(__x86_64__)
    asm("movq %%rsp, %0" : "=r"(stack));
#else
#error "the engine runs on x86-64 and AArch64"
#endif
    return reinterpret_cast<smtl_core *>(stack & ~(SMTL_ARENA_SIZE - 1));
}

/* The running thread's index in its threadgroup. The statement neither is volatile nor says that it reads memory, so
 * that the compiler may take the value for the same throughout a thread; it is, and a thread that blocks is alone in
 * its run of the kernel. Conditions on the lane then leave loops, instead of being tested in each matrix operation. */
SMTL_INLINE uint32_t current_thread() {
    mark_blocking();
    uint32_t thread;
#if defined(__aarch64__)
    asm("ldr %w0, [%1, %2]" : "=r"(thread) : "r"(current_core()), "i"(offsetof(smtl_core, thread)));
#else
    asm("movl %c2(%1), %0" : "=r"(thread) : "r"(current_core()), "i"(offsetof(smtl_core, thread)));
#endif
    return thread;
}

SMTL_INLINE uint32_t current_lane() { return current_thread() % SMTL_SIMDGROUP_WIDTH; }

/* Everything but the stack and frame pointers: a thread that goes on after others have run finds nothing else. */
#if defined(__aarch64__)
/* Clang takes a `v` for all of the `z` that it is the first part of. The register of first faults has no name here;
 * only intrinsic functions, which Metal has not, write it. */
#ifdef __ARM_FEATURE_SVE
#define SMTL_CLOBBERS_SVE \
    , "p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9", "p10", "p11", "p12", "p13", "p14", "p15"
#else
#define SMTL_CLOBBERS_SVE
#endif
#define SMTL_CLOBBERS                                                                                                 \
    "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x19", "x20", "x21", "x22", \
        "x23", "x24", "x25", "x26", "x27", "x28", "x30", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9",  \
        "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24",      \
        "v25", "v26", "v27", "v28", "v29", "v30", "v31", "cc", "memory" SMTL_CLOBBERS_SVE
#else
#ifdef __AVX512F__
#define SMTL_CLOBBERS_AVX512                                                                                      \
    , "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", "xmm27", \
        "xmm28", "xmm29", "xmm30", "xmm31", "k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7"
#else
#define SMTL_CLOBBERS_AVX512
#endif
#define SMTL_CLOBBERS                                                                                            \
    "rbx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", \
        "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "cc",              \
        "memory" SMTL_CLOBBERS_AVX512
#endif

/* Hands the processor to the engine until it picks this thread again; `Entry` is the offset in the core of where to. A
 * jump, and back by a jump: threads leave and go on in other orders than calls and returns would pair up, and a
 * mispredicted return costs more than all the rest of a switch. */
template <size_t Entry>
SMTL_INLINE void enter(smtl_core *core, uint32_t thread, uint32_t site, const void *value, uint32_t size) {
    smtl_context *self = &core->contexts[thread];
#if defined(__aarch64__)
    register smtl_core *x0 asm("x0") = core;
    register uint32_t x1 asm("x1") = site;
    register const void *x2 asm("x2") = value;
    register uint32_t x3 asm("x3") = size;
    register smtl_context *x4 asm("x4") = self;
    asm volatile("adr x9, 1f\n\t"
                 "mov x10, sp\n\t"
                 "stp x10, x29, [x4]\n\t"
                 "str x9, [x4, #16]\n\t"
                 "ldr x9, [x0, %[entry]]\n\t"
                 "br x9\n"
                 "1:"
                 : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x3), "+r"(x4)
                 : [entry] "i"(Entry)
                 : SMTL_CLOBBERS);
#else
    asm volatile("leaq 1f(%%rip), %%r8\n\t"
                 "movq %%rsp, (%%rax)\n\t"
                 "movq %%rbp, 8(%%rax)\n\t"
                 "movq %%r8, 16(%%rax)\n\t"
                 "jmpq *%c[entry](%%rdi)\n"
                 "1:"
                 : "+D"(core), "+S"(site), "+d"(value), "+c"(size), "+a"(self)
                 : [entry] "i"(Entry)
                 : SMTL_CLOBBERS);
#endif
}

template <size_t Entry> SMTL_INLINE void enter(smtl_core *core, uint32_t site, const void *value, uint32_t size) {
    enter<Entry>(core, current_thread(), site, value, size);
}

/* The same for a thread that has ended. */
[[noreturn]] SMTL_INLINE void leave(smtl_core *core) {
#if defined(__aarch64__)
    register smtl_core *x0 asm("x0") = core;
    asm volatile("br %[entry]" : : "r"(x0), [entry] "r"(core->enter_finished) : "memory");
#else
    asm volatile("jmpq *%c[entry](%%rdi)" : : "D"(core), [entry] "i"(offsetof(smtl_core, enter_finished)) : "memory");
#endif
    __builtin_unreachable();
}

}  // namespace smtl

#endif
