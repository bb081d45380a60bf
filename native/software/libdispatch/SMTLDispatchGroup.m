#import "SMTLDispatchGroup.h"

#import "SMTLDispatchQueue.h"
#include "SMTLDispatchTime.h"
#include "objc_runtime/SMTLBlocks.h"
#import "support/SMTLError.h"
#include <stdlib.h>

struct smtl_group_notification {
    smtl_group_notification *next;
    SMTLDispatchQueue *queue;
    dispatch_function_t function;
    void *context;
};

@implementation SMTLDispatchGroup

- (instancetype)init {
    self = [super init];
    pthread_mutex_init(&_mutex, NULL);
    smtl_condition_init(&_emptied);
    _last = &_first;
    return self;
}

- (void)dealloc {
    pthread_cond_destroy(&_emptied);
    pthread_mutex_destroy(&_mutex);
    [super dealloc];
}

@end

dispatch_group_t dispatch_group_create(void) { return [[SMTLDispatchGroup alloc] init]; }

void dispatch_group_enter(dispatch_group_t object) {
    SMTLDispatchGroup *group = (SMTLDispatchGroup *)object;
    pthread_mutex_lock(&group->_mutex);
    if (group->_members++ == 0) [group retain];
    pthread_mutex_unlock(&group->_mutex);
}

void dispatch_group_leave(dispatch_group_t object) {
    SMTLDispatchGroup *group = (SMTLDispatchGroup *)object;
    smtl_group_notification *due = NULL;
    pthread_mutex_lock(&group->_mutex);
    const bool entered = group->_members > 0;
    const bool emptied = entered && --group->_members == 0;
    if (emptied) {
        group->_generation++;
        due = group->_first;
        group->_first = NULL;
        group->_last = &group->_first;
        pthread_cond_broadcast(&group->_emptied);
    }
    pthread_mutex_unlock(&group->_mutex);
    SMTL_REQUIRE(entered, "dispatch_group_leave", @"nothing has entered the group");
    while (due != NULL) {
        smtl_group_notification *next = due->next;
        dispatch_async_f(due->queue, due->context, due->function);
        [due->queue release];
        free(due);
        due = next;
    }
    if (emptied) [group release];
}

intptr_t dispatch_group_wait(dispatch_group_t object, dispatch_time_t timeout) {
    SMTLDispatchGroup *group = (SMTLDispatchGroup *)object;
    const uint64_t deadline = smtl_deadline(timeout);
    bool in_time = true;
    pthread_mutex_lock(&group->_mutex);
    /* Empty once is enough, even if somebody has entered again before this thread wakes. */
    const uint64_t generation = group->_generation;
    if (group->_members > 0) {
        smtl_pool_begin_wait();
        while (group->_members > 0 && group->_generation == generation && in_time)
            in_time = smtl_condition_wait(&group->_emptied, &group->_mutex, deadline);
        smtl_pool_end_wait();
    }
    const bool emptied = group->_members == 0 || group->_generation != generation;
    pthread_mutex_unlock(&group->_mutex);
    return emptied ? 0 : 1;
}

void dispatch_group_async_f(dispatch_group_t group, dispatch_queue_t queue, void *context, dispatch_function_t work) {
    [(SMTLDispatchQueue *)queue submit:work context:context barrier:false group:(SMTLDispatchGroup *)group];
}

void dispatch_group_async(dispatch_group_t group, dispatch_queue_t queue, dispatch_block_t block) {
    dispatch_group_async_f(group, queue, SMTLCopyBlock(block), smtl_call_block_once);
}

void dispatch_group_notify_f(dispatch_group_t object, dispatch_queue_t queue, void *context, dispatch_function_t work) {
    SMTLDispatchGroup *group = (SMTLDispatchGroup *)object;
    smtl_group_notification *notification = malloc(sizeof *notification);
    if (notification == NULL) [NSException raise:NSMallocException format:@"dispatch_group_notify: out of memory"];
    *notification = (smtl_group_notification){NULL, [(SMTLDispatchQueue *)queue retain], work, context};
    pthread_mutex_lock(&group->_mutex);
    const bool waits = group->_members > 0;
    if (waits) {
        *group->_last = notification;
        group->_last = &notification->next;
    }
    pthread_mutex_unlock(&group->_mutex);
    if (!waits) {
        free(notification);
        dispatch_async_f(queue, context, work);
        [queue release];
    }
}

void dispatch_group_notify(dispatch_group_t group, dispatch_queue_t queue, dispatch_block_t block) {
    dispatch_group_notify_f(group, queue, SMTLCopyBlock(block), smtl_call_block_once);
}
