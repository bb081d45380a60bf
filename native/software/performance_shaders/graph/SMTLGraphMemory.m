#import "SMTLGraph.h"

#include "performance_shaders/compute/numbers.h"

#define UNSIGNED(value) (unsigned long)(value)

/* Memory that is there before the graph runs. */
@interface SMTLSource : SMTLGraphOperation {
@protected
    MPSShape *_shape;
}
- (instancetype)initWithShape:(MPSShape *)shape type:(MPSDataType)type name:(NSString *)name;
@end

@implementation SMTLSource

- (instancetype)initWithShape:(MPSShape *)shape type:(MPSDataType)type name:(NSString *)name {
    self = [super initWithInputs:[NSArray array] name:name];
    _shape = [shape copy];
    _type = type;
    return self;
}

- (void)dealloc {
    [_shape release];
    [super dealloc];
}

- (BOOL)isSource {
    return YES;
}

- (MPSShape *)shape {
    return _shape;
}

@end

@interface SMTLPlaceholder : SMTLSource
@end

@implementation SMTLPlaceholder

- (BOOL)isPlaceholder {
    return YES;
}

@end

@interface SMTLConstant : SMTLSource {
    NSData *_data;
    id<MTLBuffer> _buffer; /* on the device that asked last; guarded by @synchronized */
}
- (void)setData:(NSData *)data;
@end

@implementation SMTLConstant

- (void)setData:(NSData *)data {
    _data = [data copy];
}

- (void)dealloc {
    [_data release];
    [_buffer release];
    [super dealloc];
}

- (id<MTLBuffer>)bufferForDevice:(id<MTLDevice>)device {
    @synchronized(self) {
        if (_buffer == nil || [_buffer device] != device) {
            [_buffer release];
            _buffer = [device newBufferWithBytes:[_data bytes] length:[_data length]
                                         options:MTLResourceStorageModeShared];
        }
        return [[_buffer retain] autorelease];
    }
}

@end

void SMTLNameMemory(void) {}

@implementation MPSGraph (MPSGraphMemoryOps)

- (MPSGraphTensor *)placeholderWithShape:(MPSShape *)shape dataType:(MPSDataType)dataType name:(NSString *)name {
    const char *where = "-[MPSGraph placeholderWithShape:dataType:name:]";
    SMTL_REQUIRE(smtl_is_readable(dataType), where, @"a tensor cannot have elements of type %@",
                 SMTLNameOfType(dataType));
    for (NSNumber *length in shape) {
        SMTL_REQUIRE([length longLongValue] > 0 || [length longLongValue] == -1, where,
                     @"length %lld is neither positive nor -1", [length longLongValue]);
    }
    return [self add:[[SMTLPlaceholder alloc] initWithShape:shape type:dataType name:name] where:where];
}

- (MPSGraphTensor *)constantWithData:(NSData *)data shape:(MPSShape *)shape dataType:(MPSDataType)dataType {
    const char *where = "-[MPSGraph constantWithData:shape:dataType:]";
    SMTL_REQUIRE(smtl_is_readable(dataType), where, @"a tensor cannot have elements of type %@",
                 SMTLNameOfType(dataType));
    const smtl_tensor tensor = SMTLTensorOfShape(where, shape, dataType);
    const NSUInteger bytes = SMTLTensorExtent(&tensor);
    SMTL_REQUIRE([data length] == bytes, where, @"data has %lu bytes: the shape needs %lu", UNSIGNED([data length]),
                 UNSIGNED(bytes));
    SMTLConstant *constant = [[SMTLConstant alloc] initWithShape:shape type:dataType name:nil];
    [constant setData:data];
    return [self add:constant where:where];
}

- (MPSGraphTensor *)constantWithScalar:(double)scalar dataType:(MPSDataType)dataType {
    return [self constantWithScalar:scalar shape:[NSArray arrayWithObject:[NSNumber numberWithInt:1]]
                           dataType:dataType];
}

- (MPSGraphTensor *)constantWithScalar:(double)scalar shape:(MPSShape *)shape dataType:(MPSDataType)dataType {
    const char *where = "-[MPSGraph constantWithScalar:shape:dataType:]";
    SMTL_REQUIRE(smtl_is_float(dataType), where, @"the type is %@: it must be Float32, Float16 or BFloat16",
                 SMTLNameOfType(dataType));
    const smtl_tensor tensor = SMTLTensorOfShape(where, shape, dataType);
    NSMutableData *data = [NSMutableData dataWithLength:SMTLTensorExtent(&tensor)];
    const float number = (float)scalar;
    for (NSUInteger at = 0; at < [data length]; at += smtl_type_size(dataType))
        smtl_write_numbers((uint8_t *)[data mutableBytes] + at, dataType, 0, &number, 1);
    return [self constantWithData:data shape:shape dataType:dataType];
}

@end
