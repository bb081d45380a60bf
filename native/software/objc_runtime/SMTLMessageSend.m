/* objc_msgSend over GCC's runtime, which has only the search for a method: for code that clang compiled for a newer
 * runtime (see SMTLModules.m), and for C++ that sends messages through function pointers, as Apple's metal-cpp does.
 * Each function here searches for the method, leaves the arguments where the caller put them, and jumps to it. */
#import <Foundation/Foundation.h>
#include <objc/message.h>
#include <objc/runtime.h>

/* What a search gives to code for the newer runtime, in place of a method. That code reads only `method`. */
struct slot {
    void *owner;
    void *cached_for;
    const char *types;
    int version;
    IMP method;
};

IMP smtl_message_lookup(id receiver, SEL selector);
IMP smtl_message_lookup(id receiver, SEL selector) { return objc_msg_lookup(receiver, selector); }

static struct slot *slot_of(IMP method) {
    static __thread struct slot slot;
    slot.method = method;
    return &slot;
}

struct slot *objc_msg_lookup_sender(id *receiver, SEL selector, id sender);
struct slot *objc_msg_lookup_sender(id *receiver, SEL selector, id sender) {
    (void)sender;
    return slot_of(objc_msg_lookup(*receiver, selector));
}

struct slot *objc_slot_lookup_super(struct objc_super *super, SEL selector);
struct slot *objc_slot_lookup_super(struct objc_super *super, SEL selector) {
    return slot_of(objc_msg_lookup_super(super, selector));
}

/* A message to nil returns zero in every register that can hold a result. The search may raise an exception (from
 * +initialize), so the frame must be one that exceptions can pass. */
#if defined(__x86_64__)
#define SMTL_SEND(name, receiver, selector, ifNil)                                                                 \
    __asm__(".text\n.p2align 4\n.globl " name "\n.type " name ", @function\n" name ":\n.cfi_startproc\n"           \
            "test " receiver ", " receiver "\n"                                                                    \
            "jz 1f\n"                                                                                              \
            "push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\n"                                           \
            "mov %rsp, %rbp\n.cfi_def_cfa_register %rbp\n"                                                         \
            "sub $192, %rsp\n"                                                                                     \
            "mov %rdi, (%rsp)\nmov %rsi, 8(%rsp)\nmov %rdx, 16(%rsp)\nmov %rcx, 24(%rsp)\n"                        \
            "mov %r8, 32(%rsp)\nmov %r9, 40(%rsp)\nmov %rax, 48(%rsp)\n"                                           \
            "movups %xmm0, 64(%rsp)\nmovups %xmm1, 80(%rsp)\nmovups %xmm2, 96(%rsp)\nmovups %xmm3, 112(%rsp)\n"    \
            "movups %xmm4, 128(%rsp)\nmovups %xmm5, 144(%rsp)\nmovups %xmm6, 160(%rsp)\nmovups %xmm7, 176(%rsp)\n" \
            "mov " selector ", %rax\nmov " receiver ", %rdi\nmov %rax, %rsi\n"                                     \
            "call smtl_message_lookup@PLT\n"                                                                       \
            "mov %rax, %r11\n"                                                                                     \
            "mov (%rsp), %rdi\nmov 8(%rsp), %rsi\nmov 16(%rsp), %rdx\nmov 24(%rsp), %rcx\n"                        \
            "mov 32(%rsp), %r8\nmov 40(%rsp), %r9\nmov 48(%rsp), %rax\n"                                           \
            "movups 64(%rsp), %xmm0\nmovups 80(%rsp), %xmm1\nmovups 96(%rsp), %xmm2\nmovups 112(%rsp), %xmm3\n"    \
            "movups 128(%rsp), %xmm4\nmovups 144(%rsp), %xmm5\nmovups 160(%rsp), %xmm6\nmovups 176(%rsp), %xmm7\n" \
            "leave\n.cfi_def_cfa %rsp, 8\n.cfi_restore %rbp\n"                                                     \
            "jmp *%r11\n"                                                                                          \
            "1:\n" ifNil "ret\n"                                                                                   \
            ".cfi_endproc\n.size " name ", .-" name "\n")
SMTL_SEND("objc_msgSend", "%rdi", "%rsi", "xor %eax, %eax\nxor %edx, %edx\npxor %xmm0, %xmm0\npxor %xmm1, %xmm1\n");
/* For long double; metal-cpp calls it for double and float as well, and does not take the zero off the floating-point
 * stack. That stack is empty at every other call, so this may empty it: such zeros must not pile up. */
SMTL_SEND("objc_msgSend_fpret", "%rdi", "%rsi", "pxor %xmm0, %xmm0\npxor %xmm1, %xmm1\nemms\nfldz\n");
/* The result's address comes first; the caller has cleared what lies there. */
SMTL_SEND("objc_msgSend_stret", "%rsi", "%rdx", "mov %rdi, %rax\n");
#elif defined(__aarch64__)
__asm__(
    ".text\n.p2align 4\n.globl objc_msgSend\n.type objc_msgSend, %function\nobjc_msgSend:\n.cfi_startproc\n"
    "cbz x0, 1f\n"
    "stp x29, x30, [sp, #-224]!\n"
    ".cfi_def_cfa_offset 224\n.cfi_offset x29, -224\n.cfi_offset x30, -216\n"
    "mov x29, sp\n"
    "stp x0, x1, [sp, #16]\nstp x2, x3, [sp, #32]\nstp x4, x5, [sp, #48]\nstp x6, x7, [sp, #64]\nstr x8, [sp, #80]\n"
    "stp q0, q1, [sp, #96]\nstp q2, q3, [sp, #128]\nstp q4, q5, [sp, #160]\nstp q6, q7, [sp, #192]\n"
    "bl smtl_message_lookup\n"
    "mov x16, x0\n"
    "ldp x0, x1, [sp, #16]\nldp x2, x3, [sp, #32]\nldp x4, x5, [sp, #48]\nldp x6, x7, [sp, #64]\nldr x8, [sp, #80]\n"
    "ldp q0, q1, [sp, #96]\nldp q2, q3, [sp, #128]\nldp q4, q5, [sp, #160]\nldp q6, q7, [sp, #192]\n"
    "ldp x29, x30, [sp], #224\n.cfi_def_cfa_offset 0\n.cfi_restore x29\n.cfi_restore x30\n"
    "br x16\n"
    "1:\nmov x0, #0\nmov x1, #0\nmovi d0, #0\nmovi d1, #0\nmovi d2, #0\nmovi d3, #0\nret\n"
    ".cfi_endproc\n.size objc_msgSend, .-objc_msgSend\n");
#else
#error "objc_msgSend is written for x86-64 and AArch64"
#endif
