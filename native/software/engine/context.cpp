#include "context.h"

static_assert(offsetof(smtl_core, scheduler_stack) == 0 && offsetof(smtl_core, run) == 8);
static_assert(offsetof(smtl_context, stack_pointer) == 0 && offsetof(smtl_context, frame_pointer) == 8 &&
              offsetof(smtl_context, instruction) == 16);
static_assert(SMTL_ARENA_SIZE == 0x10000000);

/* clang-format off */
#define FUNCTION(name, type) ".globl " name "\n.hidden " name "\n.type " name ", " type "\n.p2align 4\n" name ":\n"

#if defined(__x86_64__)

#define CONTINUE_CONTEXT_IN(r)                                                                                         \
    "movq (%" r "), %rsp\n"                                                                                            \
    "movq 8(%" r "), %rbp\n"                                                                                           \
    "jmpq *16(%" r ")\n"
#define ENTRY(name, called)                                                                                            \
    FUNCTION(name, "@function")                                                                                        \
    "movq (%rdi), %rsp\n"                                                                                              \
    "callq " called "\n"                                                                                               \
    CONTINUE_CONTEXT_IN("rax")

asm(".text\n"
    FUNCTION("smtl_enter_native", "@function")
    "pushq %rbp\n" "pushq %rbx\n" "pushq %r12\n" "pushq %r13\n" "pushq %r14\n" "pushq %r15\n"
    "movq %rsp, (%rdx)\n"
    CONTINUE_CONTEXT_IN("rsi")
    FUNCTION("smtl_leave_native", "@function")
    "popq %r15\n" "popq %r14\n" "popq %r13\n" "popq %r12\n" "popq %rbx\n" "popq %rbp\n"
    "retq\n"
    FUNCTION("smtl_continue", "@function")
    CONTINUE_CONTEXT_IN("rdi")
    FUNCTION("smtl_start_fiber", "@function")
    "movq %rsp, %rdi\n"
    "andq $-0x10000000, %rdi\n"
    "xorl %ebp, %ebp\n" /* ends the chain of frames for debuggers */
    "callq *8(%rdi)\n"
    "movq %rsp, %rdi\n" /* only kernels that never block return here */
    "andq $-0x10000000, %rdi\n"
    ENTRY("smtl_enter_finished", "smtl_on_finished")
    ENTRY("smtl_enter_barrier", "smtl_on_barrier")
    ENTRY("smtl_enter_exchange", "smtl_on_exchange")
    ENTRY("smtl_enter_poll", "smtl_on_poll"));

#elif defined(__aarch64__)

#define CONTINUE_CONTEXT_IN(r)                                                                                         \
    "ldp x10, x29, [" r "]\n"                                                                                          \
    "ldr x9, [" r ", #16]\n"                                                                                           \
    "mov sp, x10\n"                                                                                                    \
    "br x9\n"
#define ENTRY(name, called)                                                                                            \
    FUNCTION(name, "%function")                                                                                        \
    "ldr x9, [x0]\n"                                                                                                   \
    "mov sp, x9\n"                                                                                                     \
    "bl " called "\n"                                                                                                  \
    CONTINUE_CONTEXT_IN("x0")

asm(".text\n"
    FUNCTION("smtl_enter_native", "%function")
    "sub sp, sp, #160\n"
    "stp x19, x20, [sp]\n" "stp x21, x22, [sp, #16]\n" "stp x23, x24, [sp, #32]\n"
    "stp x25, x26, [sp, #48]\n" "stp x27, x28, [sp, #64]\n" "stp x29, x30, [sp, #80]\n"
    "stp d8, d9, [sp, #96]\n" "stp d10, d11, [sp, #112]\n"
    "stp d12, d13, [sp, #128]\n" "stp d14, d15, [sp, #144]\n"
    "mov x9, sp\n" "str x9, [x2]\n"
    CONTINUE_CONTEXT_IN("x1")
    FUNCTION("smtl_leave_native", "%function")
    "ldp x19, x20, [sp]\n" "ldp x21, x22, [sp, #16]\n" "ldp x23, x24, [sp, #32]\n"
    "ldp x25, x26, [sp, #48]\n" "ldp x27, x28, [sp, #64]\n" "ldp x29, x30, [sp, #80]\n"
    "ldp d8, d9, [sp, #96]\n" "ldp d10, d11, [sp, #112]\n"
    "ldp d12, d13, [sp, #128]\n" "ldp d14, d15, [sp, #144]\n"
    "add sp, sp, #160\n" "ret\n"
    FUNCTION("smtl_continue", "%function")
    CONTINUE_CONTEXT_IN("x0")
    FUNCTION("smtl_start_fiber", "%function")
    "mov x0, sp\n"
    "and x0, x0, #0xfffffffff0000000\n"
    "mov x29, xzr\n" /* ends the chain of frames for debuggers */
    "ldr x9, [x0, #8]\n"
    "blr x9\n"
    "mov x0, sp\n" /* only kernels that never block return here */
    "and x0, x0, #0xfffffffff0000000\n"
    ENTRY("smtl_enter_finished", "smtl_on_finished")
    ENTRY("smtl_enter_barrier", "smtl_on_barrier")
    ENTRY("smtl_enter_exchange", "smtl_on_exchange")
    ENTRY("smtl_enter_poll", "smtl_on_poll"));

#else
#error "context switches are written for x86-64 and AArch64"
#endif
/* clang-format on */
