/* The descriptors: plain values that a caller fills in and a device reads. */
#import <Metal/Metal.h>

NSErrorDomain const MTLCommandBufferErrorDomain = @"MTLCommandBufferErrorDomain";
NSString *const MTLCommandBufferEncoderInfoErrorKey = @"MTLCommandBufferEncoderInfoErrorKey";

#define DEFAULT_COMMAND_BUFFERS 64

@implementation MTLCommandQueueDescriptor

@synthesize maxCommandBufferCount = _maxCommandBufferCount;

- (instancetype)init
{
    self = [super init];
    _maxCommandBufferCount = DEFAULT_COMMAND_BUFFERS;
    return self;
}

- (id)copyWithZone:(NSZone *)zone
{
    MTLCommandQueueDescriptor *copy = [[[self class] allocWithZone:zone] init];
    copy->_maxCommandBufferCount = _maxCommandBufferCount;
    return copy;
}

@end

@implementation MTLCommandBufferDescriptor

@synthesize retainedReferences = _retainedReferences;
@synthesize errorOptions = _errorOptions;

- (instancetype)init
{
    self = [super init];
    _retainedReferences = YES;
    return self;
}

- (id)copyWithZone:(NSZone *)zone
{
    MTLCommandBufferDescriptor *copy = [[[self class] allocWithZone:zone] init];
    copy->_retainedReferences = _retainedReferences;
    copy->_errorOptions = _errorOptions;
    return copy;
}

@end

@implementation MTLComputePassDescriptor

@synthesize dispatchType = _dispatchType;

+ (MTLComputePassDescriptor *)computePassDescriptor
{
    return [[[self alloc] init] autorelease];
}

- (id)copyWithZone:(NSZone *)zone
{
    MTLComputePassDescriptor *copy = [[[self class] allocWithZone:zone] init];
    copy->_dispatchType = _dispatchType;
    return copy;
}

@end

@implementation MTLBlitPassDescriptor

+ (MTLBlitPassDescriptor *)blitPassDescriptor
{
    return [[[self alloc] init] autorelease];
}

- (id)copyWithZone:(NSZone *)zone
{
    return [[[self class] allocWithZone:zone] init];
}

@end

@implementation MTLHeapDescriptor

@synthesize size = _size;
@synthesize storageMode = _storageMode;
@synthesize cpuCacheMode = _cpuCacheMode;
@synthesize hazardTrackingMode = _hazardTrackingMode;
@synthesize type = _type;

- (instancetype)init
{
    self = [super init];
    _storageMode = MTLStorageModePrivate;
    return self;
}

- (id)copyWithZone:(NSZone *)zone
{
    MTLHeapDescriptor *copy = [[[self class] allocWithZone:zone] init];
    copy->_size = _size;
    copy->_type = _type;
    [copy setResourceOptions:[self resourceOptions]];
    return copy;
}

- (MTLResourceOptions)resourceOptions
{
    return (_cpuCacheMode << MTLResourceCPUCacheModeShift) | (_storageMode << MTLResourceStorageModeShift) |
           (_hazardTrackingMode << MTLResourceHazardTrackingModeShift);
}

- (void)setResourceOptions:(MTLResourceOptions)options
{
    _cpuCacheMode = (options & MTLResourceCPUCacheModeMask) >> MTLResourceCPUCacheModeShift;
    _storageMode = (options & MTLResourceStorageModeMask) >> MTLResourceStorageModeShift;
    _hazardTrackingMode = (options & MTLResourceHazardTrackingModeMask) >> MTLResourceHazardTrackingModeShift;
}

@end

@implementation MTLResidencySetDescriptor

@synthesize label = _label;
@synthesize initialCapacity = _initialCapacity;

- (void)dealloc
{
    [_label release];
    [super dealloc];
}

- (id)copyWithZone:(NSZone *)zone
{
    MTLResidencySetDescriptor *copy = [[[self class] allocWithZone:zone] init];
    [copy setLabel:_label];
    copy->_initialCapacity = _initialCapacity;
    return copy;
}

@end

@implementation MTLFunctionDescriptor

@synthesize name = _name;
@synthesize specializedName = _specializedName;
@synthesize constantValues = _constantValues;
@synthesize options = _options;

+ (MTLFunctionDescriptor *)functionDescriptor
{
    return [[[self alloc] init] autorelease];
}

- (void)dealloc
{
    [_name release];
    [_specializedName release];
    [_constantValues release];
    [super dealloc];
}

- (id)copyWithZone:(NSZone *)zone
{
    MTLFunctionDescriptor *copy = [[[self class] allocWithZone:zone] init];
    [copy setName:_name];
    [copy setSpecializedName:_specializedName];
    [copy setConstantValues:_constantValues];
    copy->_options = _options;
    return copy;
}

@end

@implementation MTLCompileOptions

@synthesize preprocessorMacros = _preprocessorMacros;
@synthesize mathMode = _mathMode;
@synthesize mathFloatingPointFunctions = _mathFloatingPointFunctions;
@synthesize languageVersion = _languageVersion;
@synthesize libraryType = _libraryType;
@synthesize optimizationLevel = _optimizationLevel;
@synthesize installName = _installName;
@synthesize preserveInvariance = _preserveInvariance;
@synthesize maxTotalThreadsPerThreadgroup = _maxTotalThreadsPerThreadgroup;

- (instancetype)init
{
    self = [super init];
    _mathMode = MTLMathModeFast;
    return self;
}

- (void)dealloc
{
    [_preprocessorMacros release];
    [_installName release];
    [super dealloc];
}

- (id)copyWithZone:(NSZone *)zone
{
    MTLCompileOptions *copy = [[[self class] allocWithZone:zone] init];
    [copy setPreprocessorMacros:_preprocessorMacros];
    [copy setInstallName:_installName];
    copy->_mathMode = _mathMode;
    copy->_mathFloatingPointFunctions = _mathFloatingPointFunctions;
    copy->_languageVersion = _languageVersion;
    copy->_libraryType = _libraryType;
    copy->_optimizationLevel = _optimizationLevel;
    copy->_preserveInvariance = _preserveInvariance;
    copy->_maxTotalThreadsPerThreadgroup = _maxTotalThreadsPerThreadgroup;
    return copy;
}

/* The older name for the two outer math modes. */
- (BOOL)fastMathEnabled
{
    return _mathMode == MTLMathModeFast;
}

- (void)setFastMathEnabled:(BOOL)enabled
{
    _mathMode = enabled ? MTLMathModeFast : MTLMathModeSafe;
}

@end

@implementation MTLPipelineBufferDescriptor

@synthesize mutability = _mutability;

- (id)copyWithZone:(NSZone *)zone
{
    MTLPipelineBufferDescriptor *copy = [[[self class] allocWithZone:zone] init];
    copy->_mutability = _mutability;
    return copy;
}

@end

@implementation MTLPipelineBufferDescriptorArray

- (instancetype)init
{
    self = [super init];
    _descriptors = [[NSMutableDictionary alloc] init];
    return self;
}

- (void)dealloc
{
    [_descriptors release];
    [super dealloc];
}

- (MTLPipelineBufferDescriptor *)objectAtIndexedSubscript:(NSUInteger)bufferIndex
{
    NSNumber *key = [NSNumber numberWithUnsignedInteger:bufferIndex];
    MTLPipelineBufferDescriptor *descriptor = [_descriptors objectForKey:key];
    if (descriptor == nil) {
        descriptor = [[[MTLPipelineBufferDescriptor alloc] init] autorelease];
        [_descriptors setObject:descriptor forKey:key];
    }
    return descriptor;
}

- (void)setObject:(MTLPipelineBufferDescriptor *)buffer atIndexedSubscript:(NSUInteger)bufferIndex
{
    NSNumber *key = [NSNumber numberWithUnsignedInteger:bufferIndex];
    if (buffer == nil) {
        [_descriptors removeObjectForKey:key];
    } else {
        [_descriptors setObject:[[buffer copy] autorelease] forKey:key];
    }
}

- (void)setFrom:(MTLPipelineBufferDescriptorArray *)other
{
    [_descriptors setDictionary:other->_descriptors];
}

@end

@implementation MTLComputePipelineDescriptor

@synthesize label = _label;
@synthesize computeFunction = _computeFunction;
@synthesize threadGroupSizeIsMultipleOfThreadExecutionWidth = _threadGroupSizeIsMultipleOfThreadExecutionWidth;
@synthesize maxTotalThreadsPerThreadgroup = _maxTotalThreadsPerThreadgroup;
@synthesize buffers = _buffers;
@synthesize supportIndirectCommandBuffers = _supportIndirectCommandBuffers;

- (instancetype)init
{
    self = [super init];
    _buffers = [[MTLPipelineBufferDescriptorArray alloc] init];
    return self;
}

- (void)dealloc
{
    [_label release];
    [_computeFunction release];
    [_buffers release];
    [super dealloc];
}

- (id)copyWithZone:(NSZone *)zone
{
    MTLComputePipelineDescriptor *copy = [[[self class] allocWithZone:zone] init];
    [copy setLabel:_label];
    [copy setComputeFunction:_computeFunction];
    copy->_threadGroupSizeIsMultipleOfThreadExecutionWidth = _threadGroupSizeIsMultipleOfThreadExecutionWidth;
    copy->_maxTotalThreadsPerThreadgroup = _maxTotalThreadsPerThreadgroup;
    copy->_supportIndirectCommandBuffers = _supportIndirectCommandBuffers;
    [copy->_buffers setFrom:_buffers];
    return copy;
}

- (void)reset
{
    [self setLabel:nil];
    [self setComputeFunction:nil];
    _threadGroupSizeIsMultipleOfThreadExecutionWidth = NO;
    _maxTotalThreadsPerThreadgroup = 0;
    _supportIndirectCommandBuffers = NO;
    [_buffers release];
    _buffers = [[MTLPipelineBufferDescriptorArray alloc] init];
}

@end
