#ifndef SMTL_ARGUMENT_ENCODER_H
#define SMTL_ARGUMENT_ENCODER_H

#import "framework/device/SMTLDevice.h"
#include "msl/msl.h"
#import <Metal/MTLArgumentEncoder.h>

@class SMTLBuffer;

/* Where the arguments of consecutive indices lie. */
typedef struct {
    NSUInteger index;
    NSUInteger count;
    MTLDataType
        type; /* Pointer, ComputePipeline, IndirectCommandBuffer, or that of constant data (None: a structure) */
    size_t offset;
    size_t stride;
    const smtl_type *element; /* what a pointer points to, where it is known */
} smtl_argument_slot;

@interface SMTLArgumentEncoder : SMTLObject <MTLArgumentEncoder> {
    SMTLDevice *_device;
    id _owner; /* retained: keeps the types that slots refer to */
    smtl_argument_slot *_slots;
    size_t _slotCount;
    size_t _length;
    size_t _alignment;
    SMTLBuffer *_buffer; /* retained */
    NSUInteger _offset;
}
/* For a structure that a kernel takes. */
- (instancetype)initWithDevice:(SMTLDevice *)device structure:(const smtl_type *)structure owner:(id)owner;
/* For MTLArgumentDescriptor objects. Raises for what cannot be an argument. */
- (instancetype)initWithDevice:(SMTLDevice *)device descriptors:(NSArray *)descriptors;
@end

#endif
