/* The running thread's core, and the mark that blocking functions leave in the machine code. */
#ifndef SMTL_CORE_H
#define SMTL_CORE_H

#include "abi.h"

#define SMTL_INLINE inline __attribute__((always_inline))

namespace smtl {

/* True at run time in a kernel that contains a blocking call. The engine sets it when it loads the kernel, at the
 * address that `mark_blocking` leaves in a section. Where no blocking call survives optimisation nothing else refers to
 * it, the optimiser sees a variable that is never written, and the thread loop loses all that blocking needs: that is
 * what lets such loops be vectorised across threads. */
static bool blocking = false;

SMTL_INLINE void mark_blocking() {
#if defined(__aarch64__)
    asm volatile(".pushsection smtl_blocking,\"a\"\n.balign 8\n.xword %c0 - .\n.popsection" ::"S"(&blocking));
#else
    asm volatile(".pushsection smtl_blocking,\"a\"\n.balign 8\n.quad %c0 - .\n.popsection" ::"i"(&blocking));
#endif
}

/* A thread never leaves its arena, so that this is as good as a constant within a thread. */
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

SMTL_INLINE uint32_t current_lane() {
    mark_blocking();
    return current_core()->thread % SMTL_SIMDGROUP_WIDTH;
}

} // namespace smtl

#endif
