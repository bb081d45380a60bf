#ifndef SMTL_DISPATCH_GROUP_H
#define SMTL_DISPATCH_GROUP_H

#include <dispatch/queue.h>

DISPATCH_BEGIN

DISPATCH_DECLARE_OBJECT(group);

dispatch_group_t dispatch_group_create(void) SMTL_DISPATCH_SYMBOL(dispatch_group_create);
void dispatch_group_enter(dispatch_group_t group) SMTL_DISPATCH_SYMBOL(dispatch_group_enter);
/* Raises an exception where nothing has entered. */
void dispatch_group_leave(dispatch_group_t group) SMTL_DISPATCH_SYMBOL(dispatch_group_leave);
/* 0 when the group is empty, something else when the time is over. */
intptr_t dispatch_group_wait(dispatch_group_t group, dispatch_time_t timeout) SMTL_DISPATCH_SYMBOL(dispatch_group_wait);
void dispatch_group_async_f(dispatch_group_t group, dispatch_queue_t queue, void *_Nullable context,
                            dispatch_function_t work) SMTL_DISPATCH_SYMBOL(dispatch_group_async_f);
/* Submits `work` when the group is empty: at once if it is. */
void dispatch_group_notify_f(dispatch_group_t group, dispatch_queue_t queue, void *_Nullable context,
                             dispatch_function_t work) SMTL_DISPATCH_SYMBOL(dispatch_group_notify_f);

#ifdef __BLOCKS__
void dispatch_group_async(dispatch_group_t group, dispatch_queue_t queue, dispatch_block_t block)
    SMTL_DISPATCH_SYMBOL(dispatch_group_async);
void dispatch_group_notify(dispatch_group_t group, dispatch_queue_t queue, dispatch_block_t block)
    SMTL_DISPATCH_SYMBOL(dispatch_group_notify);
#endif

DISPATCH_END
#endif
