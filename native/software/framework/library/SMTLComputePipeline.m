#import "SMTLComputePipeline.h"

#import "SMTLFunction.h"
#import "SMTLLibrary.h"
#import "SMTLLinking.h"
#import "SMTLReflection.h"
#import "SMTLVisibleFunctionTable.h"
#import "framework/device/SMTLHandles.h"
#import "support/SMTLError.h"
#include "support/SMTLInjection.h"
#include <stdlib.h>
#include <unistd.h>

/* What the descriptor asks for beyond kernels; nil for nothing. */
static NSString *what_is_unsupported(MTLComputePipelineDescriptor *descriptor, SMTLDevice *device) {
    if ([SMTLLinkedFunctionsOf([descriptor linkedFunctions]) count] > 0 && ![device supportsFunctionPointers])
        return @"linked functions are not supported: the device answers NO to supportsFunctionPointers";
    if ([[[descriptor linkedFunctions] binaryFunctions] count] > 0)
        return @"binary functions are not supported: link the functions themselves";
    if ([[descriptor preloadedLibraries] count] > 0 && ![device supportsDynamicLibraries])
        return @"dynamic libraries are not supported: the device answers NO to supportsDynamicLibraries";
    return nil;
}

static bool requires_nothing(MTLSize size) { return size.width == 0 && size.height == 0 && size.depth == 0; }

static bool is_threadgroup_of(MTLSize size, NSUInteger most) {
    if (size.width == 0 || size.height == 0 || size.depth == 0) return false;
    return size.width <= most && size.height <= most / size.width && size.depth <= most / size.width / size.height;
}

@implementation SMTLComputePipeline

+ (smtl_object_class)objectClass {
    return SMTL_OBJECT_COMPUTE_PIPELINE;
}

static void check_linked(MTLLinkedFunctions *linked, SMTLDevice *device, const char *where) {
    NSMutableSet *names = [NSMutableSet set];
    for (SMTLFunction *function in SMTLLinkedFunctionsOf(linked)) {
        SMTL_REQUIRE(function->_library->_device == device, where, @"linked function %@ belongs to another device",
                     function->_name);
        SMTL_REQUIRE(function->_isVisible, where, @"linked function %@ is a kernel, and not a [[visible]] function",
                     function->_name);
        SMTL_REQUIRE(![names containsObject:[function name]], where, @"two linked functions are named %@",
                     [function name]);
        [names addObject:[function name]];
    }
}

/* Machine code for the function with its constants fixed; NULL with the compiler's text in `*log`. */
static smtl_kernel *load_kernel(SMTLFunction *function, const smtl_linking *linking, char **log) {
    if (smtl_compile_must_fail()) {
        *log = strdup("injected failure");
        return NULL;
    }
    SMTLLibrary *library = function->_library;
    for (int attempt = 0;; ++attempt) {
        char *path = smtl_library_specialize(library->_library, [function->_name UTF8String],
                                             [function->_constants values], [function->_constants count], linking, log);
        if (path == NULL) return NULL;
        smtl_kernel *kernel = smtl_kernel_load(path, "smtl_entry", log);
        /* The cache can be deleted at any time. */
        bool is_gone = kernel == NULL && access(path, F_OK) != 0 && attempt < 3;
        free(path);
        if (!is_gone) return kernel;
        free(*log);
        *log = NULL;
    }
}

- (instancetype)initWithDevice:(SMTLDevice *)device
                    descriptor:(MTLComputePipelineDescriptor *)descriptor
                         error:(NSError **)error {
    const char *where = "-[MTLDevice newComputePipelineState...]";
    SMTLFunction *function = (SMTLFunction *)[descriptor computeFunction];
    NSUInteger limit = [descriptor maxTotalThreadsPerThreadgroup];
    self = [super init];
    @try {
        SMTL_REQUIRE(function != nil, where, @"computeFunction must not be nil");
        SMTL_REQUIRE(function->_library->_device == device, where, @"the function belongs to another device");
        SMTL_REQUIRE(limit <= SMTL_MAX_THREADS_PER_THREADGROUP, where,
                     @"maxTotalThreadsPerThreadgroup %lu exceeds the device's %u", (unsigned long)limit,
                     SMTL_MAX_THREADS_PER_THREADGROUP);
        SMTL_REQUIRE(!function->_isVisible, where, @"computeFunction: %@ is a [[visible]] function, and not a kernel",
                     function->_name);
        check_linked([descriptor linkedFunctions], device, where);
        SMTL_REQUIRE((NSUInteger)[descriptor forwardProgressUsage] <= SMTLForwardProgressUsageSIMDGroupParallel, where,
                     @"unknown forwardProgressUsage %ld", (long)[descriptor forwardProgressUsage]);
        _linking = [[SMTLLinking linkingOf:descriptor] retain];
    } @catch (NSException *exception) {
        [self release];
        @throw;
    }
    NSString *unsupported = what_is_unsupported(descriptor, device);
    if (unsupported != nil) {
        SMTLStoreError(error, SMTLMakeError(MTLLibraryErrorDomain, MTLLibraryErrorUnsupported, unsupported));
        [self release];
        return nil;
    }
    _device = device;
    _function = [function retain];
    _supportsIndirect = [descriptor supportIndirectCommandBuffers];
    _shaderValidation = [descriptor shaderValidation];
    _forwardProgressUsage = [descriptor forwardProgressUsage];
    [self setLabel:[descriptor label]];
    char *log = NULL;
    if (_linking != nil) _kernel = load_kernel(function, &_linking->_linking, &log);
    if (_kernel == NULL) {
        NSString *text = SMTLTakeString(log, @"the kernel could not be compiled");
        NSString *description = [NSString stringWithFormat:@"%@: %@", function->_name, text];
        SMTLStoreError(error, SMTLMakeError(MTLLibraryErrorDomain, MTLLibraryErrorCompileFailure, description));
        [self release];
        return nil;
    }
    free(log);
    _staticMemory = smtl_kernel_static_threadgroup_memory(_kernel);
    _maxThreads = limit != 0 ? limit : function->_library->_maxThreads;
    NSUInteger attribute = smtl_library_max_total_threads(function->_library->_library, [function->_name UTF8String]);
    if (attribute != 0 && attribute < _maxThreads) _maxThreads = attribute;
    MTLSize required = [descriptor requiredThreadsPerThreadgroup];
    const bool is_library = requires_nothing(required);
    if (is_library) required = function->_library->_requiredThreads;
    const NSUInteger most = _maxThreads;
    const bool possible = requires_nothing(required) || is_threadgroup_of(required, most);
    if (!possible) [self release];
    SMTL_REQUIRE(possible, where,
                 @"the %s requiredThreadsPerThreadgroup {%lu, %lu, %lu} must be all zero, or have 1 to %lu threads",
                 is_library ? "library's" : "descriptor's", (unsigned long)required.width,
                 (unsigned long)required.height, (unsigned long)required.depth, (unsigned long)most);
    _requiredThreads = required;
    if (![self copyArguments]) {
        SMTLStoreError(error, SMTLMakeError(MTLLibraryErrorDomain, MTLLibraryErrorInternal, @"out of memory"));
        [self release];
        return nil;
    }
    _handle = SMTLHandleCreate(self);
    SMTLStoreError(error, nil);
    return self;
}

/* The arguments that the function declares, less those that its constants removed. */
- (BOOL)copyArguments {
    const smtl_argument *declared = NULL;
    size_t count = smtl_library_arguments(_function->_library->_library, [_function->_name UTF8String], &declared);
    if (count == SIZE_MAX) return YES;
    _arguments = calloc(count + 1, sizeof *_arguments);
    for (size_t i = 0; _arguments != NULL && i < count; i++) {
        const bool threadgroup = declared[i].kind == SMTL_ARGUMENT_THREADGROUP_MEMORY;
        const uint32_t index = declared[i].index;
        if (index < SMTL_MAX_BUFFER_ARGUMENTS && (smtl_kernel_argument_mask(_kernel, threadgroup) >> index & 1)) {
            smtl_argument *taken = &_arguments[_argumentCount++];
            *taken = declared[i];
            const uint32_t elements = (uint32_t)((UINT64_C(1) << taken->array_length) - 1);
            taken->used = (smtl_kernel_used_mask(_kernel, threadgroup) >> index & elements) != 0;
            for (uint32_t k = 0; k < taken->array_length; k++)
                smtl_kernel_name_argument(_kernel, threadgroup, index + k, taken->name);
        }
    }
    return _arguments != NULL;
}

- (void)dealloc {
    SMTLHandleEnd(_handle);
    free(_arguments);
    if (_kernel != NULL) smtl_kernel_release(_kernel);
    [_linking release];
    [_function release];
    [super dealloc];
}

/* Only pipelines of Metal 4's compiler have it. */
- (MTLComputePipelineReflection *)reflection {
    return nil;
}

- (MTLComputePipelineReflection *)reflectArguments {
    return [[[MTLComputePipelineReflection alloc] initWithArguments:_arguments count:_argumentCount
                                                            library:_function->_library] autorelease];
}

- (id<MTLDevice>)device {
    return _device;
}

- (NSUInteger)maxTotalThreadsPerThreadgroup {
    return _maxThreads;
}

- (NSUInteger)threadExecutionWidth {
    return SMTL_SIMD_WIDTH;
}

- (NSUInteger)staticThreadgroupMemoryLength {
    return _staticMemory;
}

- (BOOL)supportIndirectCommandBuffers {
    return _supportsIndirect;
}

- (MTLShaderValidation)shaderValidation {
    return _shaderValidation;
}

/* The engine lets all threads of resident threadgroups run on while others wait for atomics. */
- (SMTLForwardProgressUsage)forwardProgressUsage {
    const BOOL isAutomatic = _forwardProgressUsage == SMTLForwardProgressUsageAutomatic;
    return isAutomatic ? SMTLForwardProgressUsageSIMDGroupParallel : _forwardProgressUsage;
}

- (MTLSize)requiredThreadsPerThreadgroup {
    return _requiredThreads;
}

/* Imageblocks belong to rendering. */
- (NSUInteger)imageblockMemoryLengthForDimensions:(MTLSize)imageblockDimensions {
    (void)imageblockDimensions;
    return 0;
}

/* --- Functions that are linked ------------------------------------------------------------------------------------ */

/* Only functions that were given for tables have a handle. */
- (id<MTLFunctionHandle>)handleWhere:(bool (^)(id<MTLFunction> function))matches {
    for (NSUInteger i = 0; i < _linking->_functionsForTables; i++)
        if (matches([_linking->_functions objectAtIndex:i]))
            return [[[SMTLFunctionHandle alloc] initWithPipeline:self number:i] autorelease];
    return nil;
}

- (id<MTLFunctionHandle>)functionHandleWithName:(NSString *)name {
    return [self handleWhere:^bool(id<MTLFunction> function) { return [[function name] isEqual:name]; }];
}

- (id<MTLFunctionHandle>)functionHandleWithFunction:(id<MTLFunction>)wanted {
    return [self handleWhere:^bool(id<MTLFunction> function) { return function == wanted; }];
}

- (id<MTLVisibleFunctionTable>)newVisibleFunctionTableWithDescriptor:(MTLVisibleFunctionTableDescriptor *)descriptor {
    SMTL_REQUIRE(descriptor != nil, "-[MTLComputePipelineState newVisibleFunctionTableWithDescriptor:]",
                 @"the descriptor must not be nil");
    return [[SMTLVisibleFunctionTable alloc] initWithPipeline:self count:[descriptor functionCount]];
}

- (id<MTLComputePipelineState>)newComputePipelineStateWithAdditionalBinaryFunctions:(NSArray *)functions
                                                                              error:(NSError **)error {
    (void)functions;
    SMTLStoreError(error, SMTLMakeError(MTLLibraryErrorDomain, MTLLibraryErrorUnsupported,
                                        @"binary functions are not supported: link the functions themselves"));
    return nil;
}

- (MTLResourceID)gpuResourceID {
    MTLResourceID identifier = {_handle};
    return identifier;
}

@end
