/* Replays a command stream on the calling thread. */
#ifndef SMTL_EXECUTOR_H
#define SMTL_EXECUTOR_H

#include "SMTLCommandStream.h"
#include "framework/sync/SMTLShuffledQueues.h"

typedef struct {
    smtl_shuffled_queue *queue;        /* gives way while an event is waited for */
    NSUInteger encoder; /* how many encoders had begun when the execution ended; the last of them failed */
    NSUInteger error_code; /* an MTLCommandBufferError; 0 for success */
    char *error_message; /* malloc'd, or NULL */
    smtl_order *order; /* for the kernel sanitizer; NULL while that is off */
    struct smtl_log_buffer *log; /* what kernels log goes there; NULL: nowhere */
} smtl_execution;

void smtl_execute(const smtl_stream *stream, smtl_execution *execution);

#endif
