/* The sanitizer of Metal kernels, as the framework, the compiler and the engine see it: what is switched on, the memory
 * that it watches, and the order of launches. Everything here does nothing, or is not called, while it is off. */
#ifndef SMTL_SANITIZER_INTERFACE_H
#define SMTL_SANITIZER_INTERFACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/engine.h"
#include "include/SoftwareMetal/SoftwareMetal.h"
#include "support/settings.h"

#ifdef __cplusplus
extern "C" {
#endif

static inline bool smtl_sanitizer_enabled(void) { return smtl_settings_get()->sanitize != 0; }

/* --- Memory ------------------------------------------------------------------------------------------------------- */

/* Memory that kernels are given, and what is known about it. */
typedef struct smtl_watched smtl_watched;

/* `length` bytes far from all other memory, so that accesses that run off them can be recognised. `filled`: the caller
 * fills them. Other bytes count as written by nobody until a kernel writes them or they change otherwise. `shared`:
 * parts of it can be watched by themselves. NULL when memory runs out. */
smtl_watched *smtl_sanitizer_allocate(size_t length, bool filled, bool shared);
/* `length` bytes of a shared allocation as memory of their own, at an address of their own. `fresh`: nobody has written
 * them. */
smtl_watched *smtl_sanitizer_allocate_part(smtl_watched *whole, size_t offset, size_t length, bool fresh);
/* Watches memory that the caller owns. It counts as written. NULL when memory runs out. */
smtl_watched *smtl_sanitizer_watch(void *address, size_t length);
void smtl_sanitizer_free(smtl_watched *watched);
void *smtl_sanitizer_bytes(const smtl_watched *watched);
/* Sets the name of the memory in reports; NULL takes the name away. */
void smtl_sanitizer_set_label(smtl_watched *watched, const char *label);
/* Notes that Metal does not order encoders that use the memory. */
void smtl_sanitizer_set_untracked(smtl_watched *watched);
/* Notes that the GPU writes these bytes without a kernel. */
void smtl_sanitizer_filled(const void *address, size_t size);
/* The same for a copy that has been made. Bytes that nobody has written at the source count as unwritten at the
 * destination too. */
void smtl_sanitizer_copied(void *to, const void *from, size_t size);

/* --- Order -------------------------------------------------------------------------------------------------------- */

/* The launches of one queue in the order in which Metal executes them. */
typedef struct smtl_order smtl_order;

smtl_order *smtl_order_create(void);
void smtl_order_release(smtl_order *order);

/* How far each queue is done. NULL: nothing is known to be done. */
typedef struct smtl_clock smtl_clock;
void smtl_clock_free(smtl_clock *clock);

/* What the CPU knows to be done, for the caller to free. A command buffer comes after what was known when it was
 * committed. */
smtl_clock *smtl_order_known(void);
void smtl_order_begin_command_buffer(smtl_order *order, const smtl_clock *known);
void smtl_order_begin_encoder(smtl_order *order, bool concurrent);
void smtl_order_barrier(smtl_order *order);
/* What one call executes of an indirect command buffer: its launches have no order but that of barriers, in a serial
 * encoder too. */
void smtl_order_begin_commands(smtl_order *order);
void smtl_order_end_commands(smtl_order *order);
smtl_moment smtl_order_launch(smtl_order *order);
/* What is done once the queue has come as far as now, for the caller to free. */
smtl_clock *smtl_order_now(const smtl_order *order);
/* Fences and events: what waits for one comes after all that came before its signals. The fence or event has a clock
 * for them, NULL at first, which it frees at its own end; several threads may use it at the same time. */
void smtl_order_signal(const smtl_order *order, smtl_clock **signals);
/* The same for a signal by the CPU. */
void smtl_order_signal_by_cpu(smtl_clock **signals);
void smtl_order_wait(smtl_order *order, smtl_clock *const *signals);
/* Notes that the CPU has seen the signals of a fence or event, or the end of a command buffer. */
void smtl_order_observe(smtl_clock *const *done);

#ifdef __cplusplus
}
#endif
#endif
