#ifndef SMTL_DISPATCH_QUEUE_H
#define SMTL_DISPATCH_QUEUE_H

#include <dispatch/object.h>
#include <dispatch/time.h>
#include <sys/qos.h>

DISPATCH_BEGIN

DISPATCH_DECLARE_OBJECT(queue);
typedef dispatch_queue_t dispatch_queue_global_t;
typedef dispatch_queue_t dispatch_queue_main_t;
typedef dispatch_queue_t dispatch_queue_serial_t;
typedef dispatch_queue_t dispatch_queue_concurrent_t;

typedef struct dispatch_queue_attr_s *dispatch_queue_attr_t;
typedef qos_class_t dispatch_qos_class_t;

extern struct dispatch_queue_attr_s smtl_dispatch_queue_attr_concurrent;

/* A pool is around each block, whatever the attribute says. */
#define DISPATCH_QUEUE_SERIAL ((dispatch_queue_attr_t)0)
#define DISPATCH_QUEUE_SERIAL_WITH_AUTORELEASE_POOL DISPATCH_QUEUE_SERIAL
#define DISPATCH_QUEUE_CONCURRENT (&smtl_dispatch_queue_attr_concurrent)
#define DISPATCH_QUEUE_CONCURRENT_WITH_AUTORELEASE_POOL DISPATCH_QUEUE_CONCURRENT

#define DISPATCH_QUEUE_PRIORITY_HIGH 2
#define DISPATCH_QUEUE_PRIORITY_DEFAULT 0
#define DISPATCH_QUEUE_PRIORITY_LOW (-2)
#define DISPATCH_QUEUE_PRIORITY_BACKGROUND INT16_MIN

#define DISPATCH_APPLY_AUTO ((dispatch_queue_t)0)
#define DISPATCH_CURRENT_QUEUE_LABEL ((dispatch_queue_t)0)

/* A queue, +1. The quality of service is kept and changes nothing: all queues share one pool of threads. */
dispatch_queue_t dispatch_queue_create(const char *_Nullable label, dispatch_queue_attr_t _Nullable attr)
    SMTL_DISPATCH_SYMBOL(dispatch_queue_create);
dispatch_queue_attr_t dispatch_queue_attr_make_with_qos_class(dispatch_queue_attr_t _Nullable attr,
                                                              dispatch_qos_class_t qos_class, int relative_priority)
    SMTL_DISPATCH_SYMBOL(dispatch_queue_attr_make_with_qos_class);
/* `identifier`: a QOS_CLASS or a DISPATCH_QUEUE_PRIORITY. Never released; NULL for any other identifier. */
dispatch_queue_global_t _Nullable dispatch_get_global_queue(intptr_t identifier, uintptr_t flags)
    SMTL_DISPATCH_SYMBOL(dispatch_get_global_queue);
/* Runs on the main thread: in its run loop, or in dispatch_main. */
dispatch_queue_main_t dispatch_get_main_queue(void) SMTL_DISPATCH_SYMBOL(dispatch_get_main_queue);
/* For the main thread only: runs the main queue and does not return. */
void dispatch_main(void) __attribute__((noreturn)) SMTL_DISPATCH_SYMBOL(dispatch_main);

const char *dispatch_queue_get_label(dispatch_queue_t _Nullable queue) SMTL_DISPATCH_SYMBOL(dispatch_queue_get_label);
dispatch_qos_class_t dispatch_queue_get_qos_class(dispatch_queue_t queue, int *_Nullable relative_priority)
    SMTL_DISPATCH_SYMBOL(dispatch_queue_get_qos_class);
void dispatch_queue_set_specific(dispatch_queue_t queue, const void *key, void *_Nullable context,
                                 dispatch_function_t _Nullable destructor)
    SMTL_DISPATCH_SYMBOL(dispatch_queue_set_specific);
void *_Nullable dispatch_queue_get_specific(dispatch_queue_t queue, const void *key)
    SMTL_DISPATCH_SYMBOL(dispatch_queue_get_specific);
/* The value of the queue that the caller runs on, or of one that waits for it in dispatch_sync on this thread. */
void *_Nullable dispatch_get_specific(const void *key) SMTL_DISPATCH_SYMBOL(dispatch_get_specific);
/* Raises an exception unless the caller runs on `queue` (or, with _not, if it does). */
void dispatch_assert_queue(dispatch_queue_t queue) SMTL_DISPATCH_SYMBOL(dispatch_assert_queue);
void dispatch_assert_queue_not(dispatch_queue_t queue) SMTL_DISPATCH_SYMBOL(dispatch_assert_queue_not);

void dispatch_async_f(dispatch_queue_t queue, void *_Nullable context, dispatch_function_t work)
    SMTL_DISPATCH_SYMBOL(dispatch_async_f);
/* Runs `work` on this thread, in the order of the queue; of the main queue, on the main thread. Raises an exception
 * where this would wait for ever: the caller runs on `queue`. */
void dispatch_sync_f(dispatch_queue_t queue, void *_Nullable context, dispatch_function_t work)
    SMTL_DISPATCH_SYMBOL(dispatch_sync_f);
/* Work that runs alone on a concurrent queue, after all before it and before all after it. */
void dispatch_barrier_async_f(dispatch_queue_t queue, void *_Nullable context, dispatch_function_t work)
    SMTL_DISPATCH_SYMBOL(dispatch_barrier_async_f);
void dispatch_barrier_sync_f(dispatch_queue_t queue, void *_Nullable context, dispatch_function_t work)
    SMTL_DISPATCH_SYMBOL(dispatch_barrier_sync_f);
/* Calls `work` with 0 to `iterations` - 1, on several threads unless the queue is serial, and returns when all are
 * done. */
void dispatch_apply_f(size_t iterations, dispatch_queue_t _Nullable queue, void *_Nullable context,
                      void (*work)(void *_Nullable context, size_t iteration)) SMTL_DISPATCH_SYMBOL(dispatch_apply_f);
void dispatch_after_f(dispatch_time_t when, dispatch_queue_t queue, void *_Nullable context, dispatch_function_t work)
    SMTL_DISPATCH_SYMBOL(dispatch_after_f);

#ifdef __BLOCKS__
void dispatch_async(dispatch_queue_t queue, dispatch_block_t block) SMTL_DISPATCH_SYMBOL(dispatch_async);
void dispatch_sync(dispatch_queue_t queue, dispatch_block_t block) SMTL_DISPATCH_SYMBOL(dispatch_sync);
void dispatch_barrier_async(dispatch_queue_t queue, dispatch_block_t block)
    SMTL_DISPATCH_SYMBOL(dispatch_barrier_async);
void dispatch_barrier_sync(dispatch_queue_t queue, dispatch_block_t block) SMTL_DISPATCH_SYMBOL(dispatch_barrier_sync);
void dispatch_apply(size_t iterations, dispatch_queue_t _Nullable queue, void (^block)(size_t iteration))
    SMTL_DISPATCH_SYMBOL(dispatch_apply);
void dispatch_after(dispatch_time_t when, dispatch_queue_t queue, dispatch_block_t block)
    SMTL_DISPATCH_SYMBOL(dispatch_after);
#endif

DISPATCH_END
#endif
