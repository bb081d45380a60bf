/* The order of copies that the CPU makes at the end of transfers among the work of their queue. */
#ifndef MTBI_HOST_COPIES_H
#define MTBI_HOST_COPIES_H

#include "queue/queue.h"

/* Before the first transfer with such copies is committed: makes the event. */
mtb_status mtbi_host_copies_prepare(mtb_command_queue *queue, mtb_error **error);
/* How many transfers must have made their host copies before the GPU may write to host memory; 0 if all have. */
uint64_t mtbi_host_copies_to_await(const mtb_command_queue *queue);
/* A transfer with host copies has its position in the queue's order. Called under the mutex that gives positions, so
 * that a later transfer's end never counts as an earlier one's. */
void mtbi_host_copies_begin(mtb_command_queue *queue);
/* It has made them, or never will: what waits for them may begin. */
void mtbi_host_copies_end(mtb_command_queue *queue);

#endif
