/* Which queues a thread runs on. */
#import "SMTLDispatchQueue.h"

#import "support/SMTLError.h"
#include <sys/syscall.h>
#include <unistd.h>

static __thread smtl_queue_frame *innermost;

smtl_queue_frame *smtl_queue_frames(void) { return innermost; }

void smtl_push_queue_frame(smtl_queue_frame *frame, SMTLDispatchQueue *queue) {
    *frame = (smtl_queue_frame){innermost, queue};
    innermost = frame;
}

void smtl_pop_queue_frame(smtl_queue_frame *frame) { innermost = frame->below; }

bool smtl_runs_on_queue(SMTLDispatchQueue *queue) {
    const smtl_queue_frame *frame = innermost;
    while (frame != NULL && frame->queue != queue) frame = frame->below;
    return frame != NULL;
}

bool smtl_is_main_thread(void) { return syscall(SYS_gettid) == getpid(); }

const char *dispatch_queue_get_label(dispatch_queue_t queue) {
    if (queue != nil) return ((SMTLDispatchQueue *)queue)->_name;
    if (innermost != NULL) return innermost->queue->_name;
    return smtl_is_main_thread() ? dispatch_queue_get_label(dispatch_get_main_queue()) : "";
}

static bool runs_on(dispatch_queue_t queue) {
    return smtl_runs_on_queue((SMTLDispatchQueue *)queue) ||
           (queue == dispatch_get_main_queue() && smtl_is_main_thread());
}

void dispatch_assert_queue(dispatch_queue_t queue) {
    SMTL_REQUIRE(runs_on(queue), "dispatch_assert_queue", @"the caller does not run on the queue \"%s\"",
                 dispatch_queue_get_label(queue));
}

void dispatch_assert_queue_not(dispatch_queue_t queue) {
    SMTL_REQUIRE(!runs_on(queue), "dispatch_assert_queue_not", @"the caller runs on the queue \"%s\"",
                 dispatch_queue_get_label(queue));
}
