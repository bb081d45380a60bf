#ifndef SMTL_COMMAND_QUEUE_H
#define SMTL_COMMAND_QUEUE_H

#include "SMTLCommandStream.h"
#import "framework/device/SMTLDevice.h"
#include "framework/sync/SMTLShuffledQueues.h"
#include "framework/sync/SMTLWorker.h"
#import <Metal/MTLCommandBuffer.h>
#import <Metal/MTLCommandQueue.h>

@class SMTLCommandBuffer;
@class SMTLLogState;

/* The part of a queue that its threads use. It outlives the queue object if one of these threads releases the object
 * last. */
typedef struct {
    uint64_t references;
    pthread_mutex_t mutex;
    pthread_cond_t slot_freed;
    NSUInteger free_slots; /* how many more command buffers may exist uncompleted */
    /* Enqueued command buffers that are not yet handed to the worker, in execution order; not retained. */
    SMTLCommandBuffer *first;
    SMTLCommandBuffer *last;
    smtl_worker *worker; /* executes command buffers */
    smtl_worker *completion; /* runs handlers; made when the first is needed */
    uint64_t completing; /* executed command buffers that are not yet through their handlers */
    uint64_t handed_over; /* command buffers given to a worker so far */
    uint64_t stepped_aside_at; /* `handed_over` at that time */
    smtl_chunk_pool chunks;
    smtl_shuffled_queue shuffled;
    smtl_order *order; /* for the kernel sanitizer; NULL while that is off */
} smtl_queue_core;

void smtl_queue_core_retain(smtl_queue_core *core);
void smtl_queue_core_release(smtl_queue_core *core);
void smtl_queue_core_free_slot(smtl_queue_core *core);
/* The thread for handlers; NULL if the system gives none. */
smtl_worker *smtl_queue_core_completion_worker(smtl_queue_core *core);
/* For the executing thread. If no command buffer of the queue is completing and none waits for the thread, the thread
 * may run handlers itself, which saves a change of threads; the other thread then executes what is committed from now
 * on. False if a command buffer waits. */
bool smtl_queue_core_step_aside(smtl_queue_core *core);
/* The thread executes again, unless something was committed meanwhile: then the two threads have changed roles. */
void smtl_queue_core_step_back(smtl_queue_core *core);

@interface SMTLCommandQueue : SMTLObject <MTLCommandQueue> {
@public
    SMTLDevice *_device;
    smtl_queue_core *_core;
@protected
    NSMutableSet *_residencySets;
    SMTLLogState *_logState; /* of command buffers without one of their own; retained */
}
/* nil if the system gives no thread. `logState` may be nil. */
- (instancetype)initWithDevice:(SMTLDevice *)device
         maxCommandBufferCount:(NSUInteger)count
                      logState:(SMTLLogState *)logState;
@end

#endif
