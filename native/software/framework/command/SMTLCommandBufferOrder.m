#import "SMTLCommandBufferOrder.h"

/* Hands every command buffer that is next in order to the queue's thread. The caller holds the queue's mutex. */
void SMTLHandOver(smtl_queue_core *core) {
    while (core->first != nil && core->first->_committed) {
        SMTLCommandBuffer *buffer = core->first;
        core->first = buffer->_next;
        if (core->first == nil) core->last = nil;
        core->handed_over++;
        smtl_shuffled_queue_announce(&core->shuffled);
        smtl_worker_post(core->worker, &buffer->_work.work);
    }
}

@implementation SMTLCommandBuffer (Order)

/* Appends the command buffer to the queue's order. The caller holds the queue's mutex. */
- (void)joinQueue {
    smtl_queue_core *core = _queue->_core;
    if (core->last == nil)
        core->first = self;
    else
        core->last->_next = self;
    core->last = self;
    __atomic_store_n(&_status, MTLCommandBufferStatusEnqueued, __ATOMIC_RELEASE);
}

/* Removes an enqueued command buffer that goes without a commit, so that it does not hold up those behind it. */
- (void)leaveQueue {
    smtl_queue_core *core = _queue->_core;
    pthread_mutex_lock(&core->mutex);
    SMTLCommandBuffer *previous = nil;
    for (SMTLCommandBuffer *buffer = core->first; buffer != nil; previous = buffer, buffer = buffer->_next) {
        if (buffer == self) {
            if (previous == nil)
                core->first = _next;
            else
                previous->_next = _next;
            if (core->last == self) core->last = previous;
            break;
        }
    }
    SMTLHandOver(core);
    pthread_mutex_unlock(&core->mutex);
}

@end
