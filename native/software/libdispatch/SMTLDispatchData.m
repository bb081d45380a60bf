#import "SMTLDispatchObject.h"

#include "objc_runtime/SMTLBlocks.h"
#include <stdlib.h>
#include <string.h>

@interface SMTLDispatchData : SMTLDispatchObject <OS_dispatch_data> {
@public
    const void *_bytes;
    size_t _size;
    dispatch_block_t _destructor;
}
@end

@implementation SMTLDispatchData

- (void)dealloc {
    if (_destructor != NULL) {
        _destructor();
        Block_release(_destructor);
    } else {
        free((void *)_bytes);
    }
    [super dealloc];
}

@end

dispatch_data_t dispatch_data_create(const void *buffer, size_t size, dispatch_queue_t queue,
                                     dispatch_block_t destructor) {
    (void)queue;
    SMTLDispatchData *data = [[SMTLDispatchData alloc] init];
    data->_size = size;
    if (destructor != NULL) {
        data->_bytes = buffer;
        data->_destructor = SMTLCopyBlock(destructor);
    } else if (size > 0) {
        void *copy = malloc(size);
        if (copy == NULL) {
            [data release];
            return nil;
        }
        data->_bytes = memcpy(copy, buffer, size);
    }
    return data;
}

size_t dispatch_data_get_size(dispatch_data_t data) { return ((SMTLDispatchData *)data)->_size; }

dispatch_data_t dispatch_data_create_map(dispatch_data_t data, const void **buffer, size_t *size) {
    SMTLDispatchData *source = (SMTLDispatchData *)data;
    if (buffer != NULL) *buffer = source->_bytes;
    if (size != NULL) *size = source->_size;
    return [source retain];
}
