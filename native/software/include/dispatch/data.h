#ifndef SMTL_DISPATCH_DATA_H
#define SMTL_DISPATCH_DATA_H

#include <dispatch/queue.h>

DISPATCH_BEGIN

DISPATCH_DECLARE_OBJECT(data);

#ifdef __BLOCKS__
#define DISPATCH_DATA_DESTRUCTOR_DEFAULT ((dispatch_block_t)0)

/* Copies `size` bytes when the destructor is DISPATCH_DATA_DESTRUCTOR_DEFAULT, else refers to them until it is called
 * (on any thread). +1; nil when memory runs out. */
dispatch_data_t _Nullable dispatch_data_create(const void *_Nullable buffer, size_t size,
                                               dispatch_queue_t _Nullable queue, dispatch_block_t _Nullable destructor)
    SMTL_DISPATCH_SYMBOL(dispatch_data_create);
#endif
size_t dispatch_data_get_size(dispatch_data_t data) SMTL_DISPATCH_SYMBOL(dispatch_data_get_size);
/* The bytes of `data`, valid for as long as the returned object (+1). */
dispatch_data_t dispatch_data_create_map(dispatch_data_t data, const void *_Nullable *_Nullable buffer,
                                         size_t *_Nullable size) SMTL_DISPATCH_SYMBOL(dispatch_data_create_map);

DISPATCH_END
#endif
