/* The part of Grand Central Dispatch that Metal's interface mentions: queues for shared event listeners and data for
 * libraries. Symbols carry a prefix, so that a program may link libdispatch beside the software Metal. */
#ifndef SMTL_DISPATCH_DISPATCH_H
#define SMTL_DISPATCH_DISPATCH_H

#import <Foundation/Foundation.h>
#include <stddef.h>
#include <stdint.h>

NS_ASSUME_NONNULL_BEGIN

@protocol OS_dispatch_object <NSObject>
@end
@protocol OS_dispatch_queue <OS_dispatch_object>
@end
@protocol OS_dispatch_data <OS_dispatch_object>
@end

/* As on Apple's systems these are objects: -retain and -release work too. */
typedef NSObject<OS_dispatch_object> *dispatch_object_t;
typedef NSObject<OS_dispatch_queue> *dispatch_queue_t;
typedef NSObject<OS_dispatch_data> *dispatch_data_t;
typedef struct dispatch_queue_attr_s *dispatch_queue_attr_t;

typedef void (^dispatch_block_t)(void);
typedef void (*dispatch_function_t)(void *_Nullable);

#define DISPATCH_QUEUE_SERIAL ((dispatch_queue_attr_t _Nullable)0)
#define DISPATCH_DATA_DESTRUCTOR_DEFAULT ((dispatch_block_t _Nullable)0)

#define SMTL_DISPATCH_SYMBOL(name) __asm__("smtl_" #name)

#ifdef __cplusplus
extern "C" {
#endif

/* A serial queue with a thread of its own. `attr` must be DISPATCH_QUEUE_SERIAL. +1. */
dispatch_queue_t dispatch_queue_create(const char *_Nullable label, dispatch_queue_attr_t _Nullable attr)
    SMTL_DISPATCH_SYMBOL(dispatch_queue_create);
void dispatch_async(dispatch_queue_t queue, dispatch_block_t block) SMTL_DISPATCH_SYMBOL(dispatch_async);
void dispatch_async_f(dispatch_queue_t queue, void *_Nullable context, dispatch_function_t work)
    SMTL_DISPATCH_SYMBOL(dispatch_async_f);
void dispatch_sync(dispatch_queue_t queue, dispatch_block_t block) SMTL_DISPATCH_SYMBOL(dispatch_sync);

/* Copies `size` bytes when the destructor is DISPATCH_DATA_DESTRUCTOR_DEFAULT, else refers to them until it is called (on
 * any thread). +1; nil when memory runs out. */
dispatch_data_t _Nullable dispatch_data_create(const void *_Nullable buffer, size_t size, dispatch_queue_t _Nullable queue,
                                     dispatch_block_t _Nullable destructor) SMTL_DISPATCH_SYMBOL(dispatch_data_create);
size_t dispatch_data_get_size(dispatch_data_t data) SMTL_DISPATCH_SYMBOL(dispatch_data_get_size);
/* The bytes of `data`, valid for as long as the returned object (+1). */
dispatch_data_t dispatch_data_create_map(dispatch_data_t data, const void *_Nullable *_Nullable buffer,
                                         size_t *_Nullable size) SMTL_DISPATCH_SYMBOL(dispatch_data_create_map);

void dispatch_retain(dispatch_object_t object) SMTL_DISPATCH_SYMBOL(dispatch_retain);
void dispatch_release(dispatch_object_t object) SMTL_DISPATCH_SYMBOL(dispatch_release);

#ifdef __cplusplus
}
#endif

NS_ASSUME_NONNULL_END
#endif
