/* Descriptors of what is compiled: functions, libraries, pipelines. */
#import "SMTLForwardProgress.h"

@implementation MTLFunctionDescriptor

@synthesize name = _name;
@synthesize specializedName = _specializedName;
@synthesize constantValues = _constantValues;
@synthesize options = _options;
@synthesize binaryArchives = _binaryArchives;

+ (MTLFunctionDescriptor *)functionDescriptor {
    return [[[self alloc] init] autorelease];
}

- (void)dealloc {
    [_name release];
    [_specializedName release];
    [_constantValues release];
    [_binaryArchives release];
    [super dealloc];
}

- (id)copyWithZone:(NSZone *)zone {
    MTLFunctionDescriptor *copy = [[[self class] allocWithZone:zone] init];
    [copy setName:_name];
    [copy setSpecializedName:_specializedName];
    [copy setConstantValues:_constantValues];
    [copy setBinaryArchives:_binaryArchives];
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
@synthesize libraries = _libraries;
@synthesize compileSymbolVisibility = _compileSymbolVisibility;
@synthesize allowReferencingUndefinedSymbols = _allowReferencingUndefinedSymbols;
@synthesize requiredThreadsPerThreadgroup = _requiredThreadsPerThreadgroup;
@synthesize enableLogging = _enableLogging;

- (instancetype)init {
    self = [super init];
    _mathMode = MTLMathModeFast;
    _languageVersion = MTLLanguageVersion3_2; /* the newest version that is here as a whole */
    return self;
}

- (void)dealloc {
    [_preprocessorMacros release];
    [_installName release];
    [_libraries release];
    [super dealloc];
}

- (id)copyWithZone:(NSZone *)zone {
    MTLCompileOptions *copy = [[[self class] allocWithZone:zone] init];
    [copy setPreprocessorMacros:_preprocessorMacros];
    [copy setInstallName:_installName];
    [copy setLibraries:_libraries];
    copy->_mathMode = _mathMode;
    copy->_mathFloatingPointFunctions = _mathFloatingPointFunctions;
    copy->_languageVersion = _languageVersion;
    copy->_libraryType = _libraryType;
    copy->_optimizationLevel = _optimizationLevel;
    copy->_preserveInvariance = _preserveInvariance;
    copy->_compileSymbolVisibility = _compileSymbolVisibility;
    copy->_allowReferencingUndefinedSymbols = _allowReferencingUndefinedSymbols;
    copy->_requiredThreadsPerThreadgroup = _requiredThreadsPerThreadgroup;
    copy->_enableLogging = _enableLogging;
    copy->_maxTotalThreadsPerThreadgroup = _maxTotalThreadsPerThreadgroup;
    return copy;
}

/* The older name for the fast and the safe math mode. */
- (BOOL)fastMathEnabled {
    return _mathMode == MTLMathModeFast;
}

- (void)setFastMathEnabled:(BOOL)enabled {
    _mathMode = enabled ? MTLMathModeFast : MTLMathModeSafe;
}

@end

@implementation MTLPipelineBufferDescriptor

@synthesize mutability = _mutability;

- (id)copyWithZone:(NSZone *)zone {
    MTLPipelineBufferDescriptor *copy = [[[self class] allocWithZone:zone] init];
    copy->_mutability = _mutability;
    return copy;
}

@end

@implementation MTLPipelineBufferDescriptorArray

- (instancetype)init {
    self = [super init];
    _descriptors = [[NSMutableDictionary alloc] init];
    return self;
}

- (void)dealloc {
    [_descriptors release];
    [super dealloc];
}

- (MTLPipelineBufferDescriptor *)objectAtIndexedSubscript:(NSUInteger)bufferIndex {
    NSNumber *key = [NSNumber numberWithUnsignedInteger:bufferIndex];
    MTLPipelineBufferDescriptor *descriptor = [_descriptors objectForKey:key];
    if (descriptor == nil) {
        descriptor = [[[MTLPipelineBufferDescriptor alloc] init] autorelease];
        [_descriptors setObject:descriptor forKey:key];
    }
    return descriptor;
}

- (void)setObject:(MTLPipelineBufferDescriptor *)buffer atIndexedSubscript:(NSUInteger)bufferIndex {
    NSNumber *key = [NSNumber numberWithUnsignedInteger:bufferIndex];
    if (buffer == nil)
        [_descriptors removeObjectForKey:key];
    else
        [_descriptors setObject:[[buffer copy] autorelease] forKey:key];
}

- (void)setFrom:(MTLPipelineBufferDescriptorArray *)other {
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
@synthesize preloadedLibraries = _preloadedLibraries;
@synthesize binaryArchives = _binaryArchives;
@synthesize linkedFunctions = _linkedFunctions;
@synthesize supportAddingBinaryFunctions = _supportAddingBinaryFunctions;
@synthesize maxCallStackDepth = _maxCallStackDepth;
@synthesize shaderValidation = _shaderValidation;
@synthesize requiredThreadsPerThreadgroup = _requiredThreadsPerThreadgroup;

- (instancetype)init {
    self = [super init];
    [self reset];
    return self;
}

- (void)dealloc {
    [_label release];
    [_computeFunction release];
    [_buffers release];
    [_preloadedLibraries release];
    [_binaryArchives release];
    [_linkedFunctions release];
    [super dealloc];
}

- (id)copyWithZone:(NSZone *)zone {
    MTLComputePipelineDescriptor *copy = [[[self class] allocWithZone:zone] init];
    [copy setLabel:_label];
    [copy setComputeFunction:_computeFunction];
    copy->_threadGroupSizeIsMultipleOfThreadExecutionWidth = _threadGroupSizeIsMultipleOfThreadExecutionWidth;
    copy->_maxTotalThreadsPerThreadgroup = _maxTotalThreadsPerThreadgroup;
    copy->_supportIndirectCommandBuffers = _supportIndirectCommandBuffers;
    [copy setPreloadedLibraries:_preloadedLibraries];
    [copy setBinaryArchives:_binaryArchives];
    [copy setLinkedFunctions:_linkedFunctions];
    copy->_supportAddingBinaryFunctions = _supportAddingBinaryFunctions;
    copy->_maxCallStackDepth = _maxCallStackDepth;
    copy->_shaderValidation = _shaderValidation;
    copy->_requiredThreadsPerThreadgroup = _requiredThreadsPerThreadgroup;
    copy->_forwardProgressUsage = _forwardProgressUsage;
    [copy->_buffers setFrom:_buffers];
    return copy;
}

- (void)reset {
    [self setLabel:nil];
    [self setComputeFunction:nil];
    _threadGroupSizeIsMultipleOfThreadExecutionWidth = NO;
    _maxTotalThreadsPerThreadgroup = 0;
    _supportIndirectCommandBuffers = NO;
    [_buffers release];
    _buffers = [[MTLPipelineBufferDescriptorArray alloc] init];
    [self setPreloadedLibraries:[NSArray array]];
    [self setBinaryArchives:nil];
    [self setLinkedFunctions:nil];
    _supportAddingBinaryFunctions = NO;
    _maxCallStackDepth = 1;
    _shaderValidation = MTLShaderValidationDefault;
    _requiredThreadsPerThreadgroup = MTLSizeMake(0, 0, 0);
    _forwardProgressUsage = SMTLForwardProgressUsageAutomatic;
}

- (SMTLForwardProgressUsage)forwardProgressUsage {
    return _forwardProgressUsage;
}

- (void)setForwardProgressUsage:(SMTLForwardProgressUsage)usage {
    _forwardProgressUsage = usage;
}

/* The older name. */
- (NSArray *)insertLibraries {
    return [self preloadedLibraries];
}

- (void)setInsertLibraries:(NSArray *)insertLibraries {
    [self setPreloadedLibraries:insertLibraries == nil ? [NSArray array] : insertLibraries];
}

@end

@implementation MTLLinkedFunctions

@synthesize functions = _functions;
@synthesize binaryFunctions = _binaryFunctions;
@synthesize privateFunctions = _privateFunctions;
@synthesize groups = _groups;

+ (MTLLinkedFunctions *)linkedFunctions {
    return [[[self alloc] init] autorelease];
}

- (void)dealloc {
    [_functions release];
    [_binaryFunctions release];
    [_privateFunctions release];
    [_groups release];
    [super dealloc];
}

- (id)copyWithZone:(NSZone *)zone {
    MTLLinkedFunctions *copy = [[[self class] allocWithZone:zone] init];
    [copy setFunctions:_functions];
    [copy setBinaryFunctions:_binaryFunctions];
    [copy setPrivateFunctions:_privateFunctions];
    [copy setGroups:_groups];
    return copy;
}

@end

@implementation MTLVisibleFunctionTableDescriptor

@synthesize functionCount = _functionCount;

+ (MTLVisibleFunctionTableDescriptor *)visibleFunctionTableDescriptor {
    return [[[self alloc] init] autorelease];
}

- (id)copyWithZone:(NSZone *)zone {
    MTLVisibleFunctionTableDescriptor *copy = [[[self class] allocWithZone:zone] init];
    copy->_functionCount = _functionCount;
    return copy;
}

@end

@implementation MTLBinaryArchiveDescriptor

@synthesize url = _url;

- (void)dealloc {
    [_url release];
    [super dealloc];
}

- (id)copyWithZone:(NSZone *)zone {
    MTLBinaryArchiveDescriptor *copy = [[[self class] allocWithZone:zone] init];
    [copy setUrl:_url];
    return copy;
}

@end
