/* Descriptors of queues, command buffers and memory: plain values that a caller fills in and a device reads. */
#import <Metal/Metal.h>

NSErrorDomain const MTLCommandBufferErrorDomain = @"MTLCommandBufferErrorDomain";
NSString *const MTLCommandBufferEncoderInfoErrorKey = @"MTLCommandBufferEncoderInfoErrorKey";

#define DEFAULT_COMMAND_BUFFERS 64
#define DEFAULT_THREADGROUP_MEMORY_BINDS 31

@implementation MTLCommandQueueDescriptor

@synthesize maxCommandBufferCount = _maxCommandBufferCount;
@synthesize logState = _logState;

- (instancetype)init {
    self = [super init];
    _maxCommandBufferCount = DEFAULT_COMMAND_BUFFERS;
    return self;
}

- (void)dealloc {
    [_logState release];
    [super dealloc];
}

- (id)copyWithZone:(NSZone *)zone {
    MTLCommandQueueDescriptor *copy = [[[self class] allocWithZone:zone] init];
    copy->_maxCommandBufferCount = _maxCommandBufferCount;
    [copy setLogState:_logState];
    return copy;
}

@end

@implementation MTLCommandBufferDescriptor

@synthesize retainedReferences = _retainedReferences;
@synthesize errorOptions = _errorOptions;
@synthesize logState = _logState;

- (instancetype)init {
    self = [super init];
    _retainedReferences = YES;
    return self;
}

- (void)dealloc {
    [_logState release];
    [super dealloc];
}

- (id)copyWithZone:(NSZone *)zone {
    MTLCommandBufferDescriptor *copy = [[[self class] allocWithZone:zone] init];
    copy->_retainedReferences = _retainedReferences;
    copy->_errorOptions = _errorOptions;
    [copy setLogState:_logState];
    return copy;
}

@end

@implementation MTLHeapDescriptor

@synthesize size = _size;
@synthesize storageMode = _storageMode;
@synthesize cpuCacheMode = _cpuCacheMode;
@synthesize hazardTrackingMode = _hazardTrackingMode;
@synthesize type = _type;

- (instancetype)init {
    self = [super init];
    _storageMode = MTLStorageModePrivate;
    return self;
}

- (id)copyWithZone:(NSZone *)zone {
    MTLHeapDescriptor *copy = [[[self class] allocWithZone:zone] init];
    copy->_size = _size;
    copy->_type = _type;
    [copy setResourceOptions:[self resourceOptions]];
    return copy;
}

- (MTLResourceOptions)resourceOptions {
    return (_cpuCacheMode << MTLResourceCPUCacheModeShift) | (_storageMode << MTLResourceStorageModeShift) |
           (_hazardTrackingMode << MTLResourceHazardTrackingModeShift);
}

- (void)setResourceOptions:(MTLResourceOptions)options {
    _cpuCacheMode = (options & MTLResourceCPUCacheModeMask) >> MTLResourceCPUCacheModeShift;
    _storageMode = (options & MTLResourceStorageModeMask) >> MTLResourceStorageModeShift;
    _hazardTrackingMode = (options & MTLResourceHazardTrackingModeMask) >> MTLResourceHazardTrackingModeShift;
}

@end

@implementation MTLResidencySetDescriptor

@synthesize label = _label;
@synthesize initialCapacity = _initialCapacity;

- (void)dealloc {
    [_label release];
    [super dealloc];
}

- (id)copyWithZone:(NSZone *)zone {
    MTLResidencySetDescriptor *copy = [[[self class] allocWithZone:zone] init];
    [copy setLabel:_label];
    copy->_initialCapacity = _initialCapacity;
    return copy;
}

@end

@implementation MTLLogStateDescriptor

@synthesize level = _level;
@synthesize bufferSize = _bufferSize;

- (id)copyWithZone:(NSZone *)zone {
    MTLLogStateDescriptor *copy = [[[self class] allocWithZone:zone] init];
    copy->_level = _level;
    copy->_bufferSize = _bufferSize;
    return copy;
}

@end

@implementation MTLIndirectCommandBufferDescriptor

@synthesize commandTypes = _commandTypes;
@synthesize inheritPipelineState = _inheritPipelineState;
@synthesize inheritBuffers = _inheritBuffers;
@synthesize maxKernelBufferBindCount = _maxKernelBufferBindCount;
@synthesize maxKernelThreadgroupMemoryBindCount = _maxKernelThreadgroupMemoryBindCount;

- (instancetype)init {
    self = [super init];
    _maxKernelThreadgroupMemoryBindCount = DEFAULT_THREADGROUP_MEMORY_BINDS;
    return self;
}

- (id)copyWithZone:(NSZone *)zone {
    MTLIndirectCommandBufferDescriptor *copy = [[[self class] allocWithZone:zone] init];
    copy->_commandTypes = _commandTypes;
    copy->_inheritPipelineState = _inheritPipelineState;
    copy->_inheritBuffers = _inheritBuffers;
    copy->_maxKernelBufferBindCount = _maxKernelBufferBindCount;
    copy->_maxKernelThreadgroupMemoryBindCount = _maxKernelThreadgroupMemoryBindCount;
    return copy;
}

@end

@implementation MTLCounterSampleBufferDescriptor

@synthesize counterSet = _counterSet;
@synthesize label = _label;
@synthesize storageMode = _storageMode;
@synthesize sampleCount = _sampleCount;

- (instancetype)init {
    self = [super init];
    _label = @"";
    return self;
}

- (void)dealloc {
    [_counterSet release];
    [_label release];
    [super dealloc];
}

- (id)copyWithZone:(NSZone *)zone {
    MTLCounterSampleBufferDescriptor *copy = [[[self class] allocWithZone:zone] init];
    [copy setCounterSet:_counterSet];
    [copy setLabel:_label];
    copy->_storageMode = _storageMode;
    copy->_sampleCount = _sampleCount;
    return copy;
}

@end

@implementation MTLArgumentDescriptor

@synthesize dataType = _dataType;
@synthesize index = _index;
@synthesize arrayLength = _arrayLength;
@synthesize access = _access;
@synthesize constantBlockAlignment = _constantBlockAlignment;

+ (MTLArgumentDescriptor *)argumentDescriptor {
    return [[[self alloc] init] autorelease];
}

- (id)copyWithZone:(NSZone *)zone {
    MTLArgumentDescriptor *copy = [[[self class] allocWithZone:zone] init];
    copy->_dataType = _dataType;
    copy->_index = _index;
    copy->_arrayLength = _arrayLength;
    copy->_access = _access;
    copy->_constantBlockAlignment = _constantBlockAlignment;
    return copy;
}

@end
