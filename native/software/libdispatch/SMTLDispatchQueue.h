/* Dispatch queues: what they hold, and which queues a thread runs on. */
#ifndef SMTL_DISPATCH_QUEUE_INTERNAL_H
#define SMTL_DISPATCH_QUEUE_INTERNAL_H

#import "SMTLDispatchObject.h"
#include "SMTLDispatchPool.h"
#include <pthread.h>
#include <stdbool.h>

@class SMTLDispatchGroup;

/* One piece of work of a queue, which waits to run or runs. */
typedef struct smtl_queue_entry smtl_queue_entry;

typedef enum {
    SMTL_QUEUE_SERIAL,
    SMTL_QUEUE_CONCURRENT,
    SMTL_QUEUE_GLOBAL, /* no order at all: barriers have no effect */
    SMTL_QUEUE_MAIN,
} smtl_queue_kind;

typedef struct smtl_specific smtl_specific;

@interface SMTLDispatchQueue : SMTLDispatchObject <OS_dispatch_queue> {
@public
    smtl_queue_kind _kind;
    qos_class_t _qos;
    char *_name;

@private
    pthread_mutex_t _mutex;
    /* Guarded by the mutex: */
    smtl_queue_entry *_first, **_last; /* in order of arrival, not begun */
    unsigned _running;          /* begun and not ended */
    bool _alone;                /* nothing may run beside the entry that runs */
    uint64_t _suspensions;
    smtl_specific *_specifics;
}
- (instancetype)initWithKind:(smtl_queue_kind)kind label:(const char *)label qos:(qos_class_t)qos;
- (void)suspend;
- (void)resume;

/* Runs `function` in the order of the queue, on a thread of the pool or, for the main queue, on the main thread.
 * `function` is in `group` (nil for none) until it ends. The queue retains itself until then. */
- (void)submit:(dispatch_function_t)function
       context:(void *)context
       barrier:(bool)barrier
         group:(SMTLDispatchGroup *)group;
/* Waits until it is next and runs `function` on this thread or, for the main queue, on the main thread. */
- (void)perform:(dispatch_function_t)function context:(void *)context barrier:(bool)barrier where:(const char *)where;

- (void)setSpecific:(void *)context forKey:(const void *)key destructor:(dispatch_function_t)destructor;
- (void *)specificForKey:(const void *)key;
@end

/* A queue that the thread runs on; the frames below belong to queues that wait for it on the same thread. */
typedef struct smtl_queue_frame {
    struct smtl_queue_frame *below;
    SMTLDispatchQueue *queue;
} smtl_queue_frame;

/* The thread's innermost frame, NULL outside of queues. */
smtl_queue_frame *smtl_queue_frames(void);
bool smtl_runs_on_queue(SMTLDispatchQueue *queue);
/* `frame` must stay in place until it is popped. SMTL_ON_QUEUE pops it at the end of the scope, exceptions or not. */
void smtl_push_queue_frame(smtl_queue_frame *frame, SMTLDispatchQueue *queue);
void smtl_pop_queue_frame(smtl_queue_frame *frame);
#define SMTL_ON_QUEUE(queue)                                                  \
    smtl_queue_frame on_queue __attribute__((cleanup(smtl_pop_queue_frame))); \
    smtl_push_queue_frame(&on_queue, queue)

bool smtl_is_main_thread(void);
/* Runs `item` on the main thread. */
void smtl_main_post(smtl_pool_item *item);

/* Calls a copied block and releases it. */
void smtl_call_block_once(void *block);
/* Calls a block. */
void smtl_call_block(void *block);

#endif
