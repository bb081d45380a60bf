#import "SMTLGraph.h"

@implementation MPSGraphObject
@end

@implementation MPSGraphType

- (id)copyWithZone:(NSZone *)zone {
    (void)zone;
    return [[[self class] alloc] init];
}

@end

@implementation MPSGraphShapedType

@synthesize shape = _shape;
@synthesize dataType = _dataType;

- (instancetype)initWithShape:(MPSShape *)shape dataType:(MPSDataType)dataType {
    self = [super init];
    _shape = [shape copy];
    _dataType = dataType;
    return self;
}

- (void)dealloc {
    [_shape release];
    [super dealloc];
}

- (id)copyWithZone:(NSZone *)zone {
    return [[[self class] allocWithZone:zone] initWithShape:_shape dataType:_dataType];
}

- (BOOL)isEqualTo:(MPSGraphShapedType *)object {
    return object != nil && [object dataType] == _dataType &&
           ([object shape] == _shape || [[object shape] isEqual:_shape]);
}

@end

@implementation MPSGraphDevice

+ (instancetype)deviceWithMTLDevice:(id<MTLDevice>)metalDevice {
    SMTL_REQUIRE(metalDevice != nil, "+[MPSGraphDevice deviceWithMTLDevice:]", @"device must not be nil");
    MPSGraphDevice *device = [[[self alloc] init] autorelease];
    device->_metalDevice = [metalDevice retain];
    return device;
}

- (void)dealloc {
    [_metalDevice release];
    [super dealloc];
}

- (MPSGraphDeviceType)type {
    return MPSGraphDeviceTypeMetal;
}

- (id<MTLDevice>)metalDevice {
    return _metalDevice;
}

@end

@implementation MPSGraphTensor

@synthesize shape = _shape;
@synthesize dataType = _dataType;
@synthesize operation = _operation;

- (instancetype)initWithOperation:(SMTLGraphOperation *)operation index:(NSUInteger)index shape:(MPSShape *)shape {
    self = [super init];
    _operation = [operation retain];
    _index = index;
    _shape = [shape copy];
    _dataType = [operation type];
    [operation setOutput:self];
    return self;
}

- (void)dealloc {
    [_operation setOutput:nil];
    [_operation release];
    [_shape release];
    [super dealloc];
}

- (id)copyWithZone:(NSZone *)zone {
    (void)zone;
    return [self retain];
}

- (NSUInteger)index {
    return _index;
}

- (NSComparisonResult)compare:(MPSGraphTensor *)other {
    return _index < other->_index ? NSOrderedAscending : _index > other->_index ? NSOrderedDescending : NSOrderedSame;
}

@end

@implementation MPSGraphOperation

@synthesize inputTensors = _inputTensors;
@synthesize graph = _graph;
@synthesize name = _name;

- (void)dealloc {
    [_inputTensors release];
    [_name release];
    [super dealloc];
}

- (id)copyWithZone:(NSZone *)zone {
    (void)zone;
    return [self retain];
}

- (void)setGraph:(MPSGraph *)graph {
    _graph = graph;
}

- (void)setOutput:(MPSGraphTensor *)output {
    _output = output;
}

- (NSArray *)outputTensors {
    return _output == nil ? [NSArray array] : [NSArray arrayWithObject:_output];
}

@end

@implementation SMTLGraphOperation

- (instancetype)initWithInputs:(NSArray *)inputs name:(NSString *)name {
    self = [super init];
    _inputTensors = [inputs copy];
    _name = [(name == nil ? @"" : name) copy];
    _type = [inputs count] == 0 ? MPSDataTypeInvalid : [(MPSGraphTensor *)[inputs objectAtIndex:0] dataType];
    return self;
}

- (MPSDataType)type {
    return _type;
}

- (void)checkTypes:(const char *)where {
    for (MPSGraphTensor *input in _inputTensors) {
        const MPSDataType type = [input dataType];
        SMTL_REQUIRE(smtl_is_float(type), where, @"a tensor's type is %@: it must be Float32, Float16 or BFloat16",
                     SMTLNameOfType(type));
        SMTL_REQUIRE(type == _type, where, @"the tensors' types differ: %@ and %@", SMTLNameOfType(_type),
                     SMTLNameOfType(type));
    }
}

- (smtl_tensor)resultOf:(const smtl_tensor *)inputs where:(const char *)where {
    (void)where;
    smtl_tensor result = inputs[0];
    result.type = _type;
    return result;
}

- (BOOL)view:(const smtl_tensor *)input result:(smtl_tensor *)result {
    (void)input;
    (void)result;
    return NO;
}

- (BOOL)isSource {
    return NO;
}

- (BOOL)isPlaceholder {
    return NO;
}

- (MPSShape *)shape {
    return nil;
}

- (id<MTLBuffer>)bufferForDevice:(id<MTLDevice>)device {
    (void)device;
    return nil;
}

- (void)record:(const SMTLGraphStep *)step inputs:(const smtl_tensor *)inputs result:(const smtl_tensor *)result {
    SMTLRecordCopy(step, inputs, result);
}

@end

void SMTLRecordStep(const SMTLGraphStep *step, smtl_host_function run, const void *argument, size_t size) {
    SMTLRecordHostCommand(step->encoder, step->where, run, argument, size, step->accesses, step->count);
}

uint32_t SMTLCheckAxis(const char *where, NSInteger axis, const smtl_tensor *tensor) {
    const NSInteger rank = (NSInteger)tensor->rank;
    SMTL_REQUIRE(axis >= -rank && axis < rank, where, @"axis %ld is not one of the %ld dimensions", (long)axis,
                 (long)rank);
    return (uint32_t)(axis < 0 ? axis + rank : axis);
}
