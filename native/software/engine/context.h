/* Switching between stacks. Kernel code enters the engine by the `smtl_enter_*` functions below. Each switches to the
 * scheduler's stack, calls a function of the engine, and continues the context that this function returns. */
#ifndef SMTL_CONTEXT_H
#define SMTL_CONTEXT_H

#include "msl/include/smtl/abi.h"

extern "C" {
/* Continues `to`. Returns when a context continues at `smtl_leave_native`. */
void smtl_enter_native(smtl_core *core, const smtl_context *to, void **native_stack);
/* Where a context goes on that returns to native code. Its stack pointer is the one that `smtl_enter_native` saved. */
void smtl_leave_native();
/* Continues the context and does not return. */
[[noreturn]] void smtl_continue(const smtl_context *to);
/* Where new fibers start. */
void smtl_start_fiber();
/* Kernels enter these by jumps. */
void smtl_enter_barrier();
void smtl_enter_exchange();
void smtl_enter_finished();
void smtl_enter_poll();

/* The engine's functions that they call. */
const smtl_context *smtl_on_barrier(smtl_core *core, uint32_t site, const void *value, uint32_t memory);
const smtl_context *smtl_on_exchange(smtl_core *core, uint32_t site, const void *value, uint32_t size);
const smtl_context *smtl_on_finished(smtl_core *core);
const smtl_context *smtl_on_poll(smtl_core *core, uint32_t site, const void *caller);
}

#endif
