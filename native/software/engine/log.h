/* Messages of kernels, from the buffer that kernels write into to text. Called by framework/, implemented in C++. */
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

/* Valid while it is handed out. */
typedef struct {
    uint32_t type; /* os_log_type of <metal_logging> */
    const char *subsystem;
    const char *category;
    const char *text;
} smtl_log_message;

/* Hands out every complete message in the order in which they were begun, and returns how many found no room. No kernel
 * may run that writes into the buffer. */
uint64_t smtl_log_deliver(const struct smtl_log_buffer *buffer,
                          void (*receive)(void *context, const smtl_log_message *message), void *context);

#ifdef __cplusplus
}
#endif
#endif
