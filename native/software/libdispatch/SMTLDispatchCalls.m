/* Submitting to queues: the calls with blocks and those with functions. */
#import "SMTLDispatchQueue.h"

#include "SMTLDispatchTime.h"
#include "objc_runtime/SMTLBlocks.h"
#include <stdlib.h>

void smtl_call_block(void *block) { ((dispatch_block_t)block)(); }

void smtl_call_block_once(void *block) {
    ((dispatch_block_t)block)();
    Block_release(block);
}

void dispatch_async_f(dispatch_queue_t queue, void *context, dispatch_function_t work) {
    [(SMTLDispatchQueue *)queue submit:work context:context barrier:false group:nil];
}

void dispatch_async(dispatch_queue_t queue, dispatch_block_t block) {
    dispatch_async_f(queue, SMTLCopyBlock(block), smtl_call_block_once);
}

void dispatch_barrier_async_f(dispatch_queue_t queue, void *context, dispatch_function_t work) {
    [(SMTLDispatchQueue *)queue submit:work context:context barrier:true group:nil];
}

void dispatch_barrier_async(dispatch_queue_t queue, dispatch_block_t block) {
    dispatch_barrier_async_f(queue, SMTLCopyBlock(block), smtl_call_block_once);
}

void dispatch_sync_f(dispatch_queue_t queue, void *context, dispatch_function_t work) {
    [(SMTLDispatchQueue *)queue perform:work context:context barrier:false where:"dispatch_sync"];
}

void dispatch_sync(dispatch_queue_t queue, dispatch_block_t block) {
    dispatch_sync_f(queue, (void *)block, smtl_call_block);
}

void dispatch_barrier_sync_f(dispatch_queue_t queue, void *context, dispatch_function_t work) {
    [(SMTLDispatchQueue *)queue perform:work context:context barrier:true where:"dispatch_barrier_sync"];
}

void dispatch_barrier_sync(dispatch_queue_t queue, dispatch_block_t block) {
    dispatch_barrier_sync_f(queue, (void *)block, smtl_call_block);
}

/* What dispatch_after keeps until its time has come. */
typedef struct {
    smtl_pool_item item; /* first, so that a pointer to it is a pointer to the rest */
    SMTLDispatchQueue *queue;
    dispatch_function_t function;
    void *context;
} later;

static void submit_later(smtl_pool_item *item) {
    later *due = (later *)item;
    dispatch_async_f(due->queue, due->context, due->function);
    [due->queue release];
    free(due);
}

void dispatch_after_f(dispatch_time_t when, dispatch_queue_t queue, void *context, dispatch_function_t work) {
    const uint64_t deadline = smtl_deadline(when);
    if (deadline <= smtl_monotonic_now()) {
        dispatch_async_f(queue, context, work);
        return;
    }
    later *due = calloc(1, sizeof *due);
    if (due == NULL) [NSException raise:NSMallocException format:@"dispatch_after: out of memory"];
    *due = (later){
        .item.run = submit_later, .queue = [(SMTLDispatchQueue *)queue retain], .function = work, .context = context};
    smtl_run_at(&due->item, deadline);
}

void dispatch_after(dispatch_time_t when, dispatch_queue_t queue, dispatch_block_t block) {
    dispatch_after_f(when, queue, SMTLCopyBlock(block), smtl_call_block_once);
}
