#include "context.h"

#if defined(__x86_64__)

/* clang-format off */
#define SAVE_REGISTERS                                                                                                 \
    "pushq %rbp\n" "pushq %rbx\n" "pushq %r12\n" "pushq %r13\n" "pushq %r14\n" "pushq %r15\n"                          \
    "movq %rsp, (%rdi)\n"
#define RESTORE_REGISTERS                                                                                              \
    "popq %r15\n" "popq %r14\n" "popq %r13\n" "popq %r12\n" "popq %rbx\n" "popq %rbp\n"                                \
    "retq\n"

asm(".text\n"
    ".globl smtl_context_switch\n"
    ".hidden smtl_context_switch\n"
    ".type smtl_context_switch, @function\n"
    ".p2align 4\n"
    "smtl_context_switch:\n"
    SAVE_REGISTERS
    "movq %rsi, %rsp\n"
    RESTORE_REGISTERS
    ".size smtl_context_switch, . - smtl_context_switch\n"

    ".globl smtl_context_start\n"
    ".hidden smtl_context_start\n"
    ".type smtl_context_start, @function\n"
    ".p2align 4\n"
    "smtl_context_start:\n"
    SAVE_REGISTERS
    "movq %rsi, %rsp\n"
    "movq %rcx, %rdi\n"
    "xorl %ebp, %ebp\n" /* ends the chain of frames for debuggers */
    "callq *%rdx\n"
    "ud2\n"
    ".size smtl_context_start, . - smtl_context_start\n"

    ".globl smtl_context_resume\n"
    ".hidden smtl_context_resume\n"
    ".type smtl_context_resume, @function\n"
    ".p2align 4\n"
    "smtl_context_resume:\n"
    "movq %rdi, %rsp\n"
    RESTORE_REGISTERS
    ".size smtl_context_resume, . - smtl_context_resume\n");

#elif defined(__aarch64__)

#define SAVE_REGISTERS                                                                                                 \
    "sub sp, sp, #160\n"                                                                                               \
    "stp x19, x20, [sp]\n" "stp x21, x22, [sp, #16]\n" "stp x23, x24, [sp, #32]\n"                                     \
    "stp x25, x26, [sp, #48]\n" "stp x27, x28, [sp, #64]\n" "stp x29, x30, [sp, #80]\n"                                \
    "stp d8, d9, [sp, #96]\n" "stp d10, d11, [sp, #112]\n"                                                             \
    "stp d12, d13, [sp, #128]\n" "stp d14, d15, [sp, #144]\n"                                                          \
    "mov x9, sp\n" "str x9, [x0]\n"
#define RESTORE_REGISTERS                                                                                              \
    "ldp x19, x20, [sp]\n" "ldp x21, x22, [sp, #16]\n" "ldp x23, x24, [sp, #32]\n"                                     \
    "ldp x25, x26, [sp, #48]\n" "ldp x27, x28, [sp, #64]\n" "ldp x29, x30, [sp, #80]\n"                                \
    "ldp d8, d9, [sp, #96]\n" "ldp d10, d11, [sp, #112]\n"                                                             \
    "ldp d12, d13, [sp, #128]\n" "ldp d14, d15, [sp, #144]\n"                                                          \
    "add sp, sp, #160\n" "ret\n"

asm(".text\n"
    ".globl smtl_context_switch\n"
    ".hidden smtl_context_switch\n"
    ".type smtl_context_switch, %function\n"
    ".p2align 4\n"
    "smtl_context_switch:\n"
    SAVE_REGISTERS
    "mov sp, x1\n"
    RESTORE_REGISTERS
    ".size smtl_context_switch, . - smtl_context_switch\n"

    ".globl smtl_context_start\n"
    ".hidden smtl_context_start\n"
    ".type smtl_context_start, %function\n"
    ".p2align 4\n"
    "smtl_context_start:\n"
    SAVE_REGISTERS
    "mov sp, x1\n"
    "mov x0, x3\n"
    "mov x29, xzr\n" /* ends the chain of frames for debuggers */
    "blr x2\n"
    "brk #1\n"
    ".size smtl_context_start, . - smtl_context_start\n"

    ".globl smtl_context_resume\n"
    ".hidden smtl_context_resume\n"
    ".type smtl_context_resume, %function\n"
    ".p2align 4\n"
    "smtl_context_resume:\n"
    "mov sp, x0\n"
    RESTORE_REGISTERS
    ".size smtl_context_resume, . - smtl_context_resume\n");
/* clang-format on */

#else
#error "context switches are written for x86-64 and AArch64"
#endif
