/* The order of host functions, and of what calling threads do themselves, among a queue's command buffers. */
#ifndef MTBI_ORDER_H
#define MTBI_ORDER_H

#include "command/command_buffer.h"

/* A command buffer was made: what is encoded into it waits for the functions that were called before. */
mtb_status mtbi_queue_follow_functions(mtb_command_buffer *command_buffer, mtb_error **error);
/* The command buffer's position in the queue's order, and its commit. If `function` is given, a host function follows
 * the command buffer; its number is set before Metal has the command buffer. If Metal raises an exception and does not
 * run the command buffer, no function follows, and the number is zero. Inside a guard. */
void mtbi_queue_enqueue(mtb_command_buffer *command_buffer);
void mtbi_queue_commit(mtb_command_buffer *command_buffer, uint64_t *function);
/* If nothing of the queue is under way, gives the calling thread a position like that of a host function: what comes
 * later waits for its end. False if something is under way. */
bool mtbi_queue_begin_function(mtb_command_queue *queue, uint64_t *function);
/* The function has returned, or will not be called: what comes after it may begin. Waits for the end of earlier
 * functions and of other threads' work there. */
void mtbi_queue_end_function(mtb_command_queue *queue, uint64_t function);

#endif
