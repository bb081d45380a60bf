/* Makes text of the messages that kernels write into a buffer. Called by framework/, implemented in C++. */
#ifndef SMTL_ENGINE_LOG_H
#define SMTL_ENGINE_LOG_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct smtl_log_buffer;

/* Room for messages; NULL if memory has run out. */
struct smtl_log_buffer *smtl_log_create(size_t capacity);
void smtl_log_free(struct smtl_log_buffer *buffer);

/* Valid during the call that receives it. */
typedef struct {
    uint32_t type; /* os_log_type of <metal_logging> */
    const char *subsystem;
    const char *category;
    const char *text;
} smtl_log_message;

/* Calls `receive` with every complete message, in the order in which kernels began them. Returns how many messages
 * found no room. No kernel may write into the buffer meanwhile. */
uint64_t smtl_log_deliver(const struct smtl_log_buffer *buffer,
                          void (*receive)(void *context, const smtl_log_message *message), void *context);

#ifdef __cplusplus
}
#endif
#endif
