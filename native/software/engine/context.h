/* Switching between stacks. Kernel code enters the engine by the `smtl_enter_*` below, which go over to the scheduler's
 * stack, call the function of the engine and continue the context that it returns. */
#ifndef SMTL_CONTEXT_H
#define SMTL_CONTEXT_H

#include "msl/include/smtl/abi.h"

extern "C" {
/* Continues `to` until some context leaves for native code, which returns here. */
void smtl_enter_native(smtl_core *core, const smtl_context *to, void **native_stack);
/* Where contexts that leave for native code go on; the stack pointer is what `smtl_enter_native` has saved. */
void smtl_leave_native();
/* Goes on with the context, for good. */
[[noreturn]] void smtl_continue(const smtl_context *to);
/* Where new fibers start. */
void smtl_start_fiber();
/* Called by kernels, with jumps. */
void smtl_enter_barrier();
void smtl_enter_exchange();
void smtl_enter_finished();

/* What they call: the engine's side. */
const smtl_context *smtl_on_barrier(smtl_core *core, uint32_t site, const void *value, uint32_t memory);
const smtl_context *smtl_on_exchange(smtl_core *core, uint32_t site, const void *value, uint32_t size);
const smtl_context *smtl_on_finished(smtl_core *core);
}

#endif
