/* Switching between stacks: the callee-saved registers are pushed on the old stack and popped from the new one. */
#ifndef SMTL_CONTEXT_H
#define SMTL_CONTEXT_H

extern "C" {
/* Saves the running context's stack pointer in `*save` and continues the context saved as `to`. */
void smtl_context_switch(void **save, void *to);
/* Saves the running context in `*save` and calls `entry(argument)`, which never returns, on the stack that ends at `top`. */
void smtl_context_start(void **save, void *top, void (*entry)(void *), void *argument);
/* Continues the context saved as `to` and forgets the running one. */
[[noreturn]] void smtl_context_resume(void *to);
}

#endif
