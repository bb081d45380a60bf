#import "SMTLLibrary.h"

#import "SMTLDynamicLibrary.h"
#import "SMTLFunction.h"
#import "SMTLReflection.h"
#include "engine/engine.h"
#import "framework/sync/SMTLTask.h"
#include "objc_runtime/SMTLBlocks.h"
#import "support/SMTLError.h"
#include "support/SMTLInjection.h"
#include <stdlib.h>

NSErrorDomain const MTLLibraryErrorDomain = @"MTLLibraryErrorDomain";

@implementation SMTLLibrary

+ (smtl_object_class)objectClass {
    return SMTL_OBJECT_LIBRARY;
}

/* The dictionary as the compiler takes it; the strings live as long as the enclosing pool. malloc'd. */
static smtl_macro *copy_macros(NSDictionary *dictionary, size_t *count) {
    *count = 0;
    smtl_macro *macros = calloc([dictionary count] + 1, sizeof *macros);
    if (macros == NULL) [NSException raise:NSMallocException format:@"no memory for preprocessor macros"];
    /* Sorted, so that equal options give equal compiler input. */
    for (NSString *name in [[dictionary allKeys] sortedArrayUsingSelector:@selector(compare:)]) {
        NSObject *value = [dictionary objectForKey:name];
        if (![value isKindOfClass:[NSString class]] && ![value isKindOfClass:[NSNumber class]]) {
            free(macros);
            SMTLRaise("-[MTLDevice newLibraryWithSource:options:error:]",
                      @"the value of preprocessor macro %@ must be an NSString or an NSNumber", name);
        }
        macros[*count].name = [name UTF8String];
        macros[*count].value = [[value description] UTF8String];
        (*count)++;
    }
    return macros;
}

/* What the options ask for and the software Metal lacks; nil for nothing. */
static NSString *what_is_unsupported(MTLCompileOptions *options, SMTLDevice *device) {
    const bool is_dynamic = [options libraryType] != MTLLibraryTypeExecutable;
    if ((is_dynamic || [[options libraries] count] > 0) && ![device supportsDynamicLibraries])
        return @"dynamic libraries are not supported: the device answers NO to supportsDynamicLibraries";
    if (is_dynamic && [options libraryType] != MTLLibraryTypeDynamic)
        return [NSString stringWithFormat:@"library type %ld is unknown", (long)[options libraryType]];
    if (is_dynamic && [[options installName] length] == 0)
        return @"a library of type MTLLibraryTypeDynamic needs an installName";
    const NSUInteger version = [options languageVersion];
    if (version > UINT32_MAX || !smtl_is_language_version((uint32_t)version)) {
        return [NSString stringWithFormat:@"language version %lu.%lu is not supported", (unsigned long)(version >> 16),
                                          (unsigned long)(version & 0xffff)];
    }
    return nil;
}

static smtl_exports exports_of(MTLCompileOptions *options) {
    if ([options libraryType] != MTLLibraryTypeDynamic) return SMTL_EXPORTS_NONE;
    return [options compileSymbolVisibility] == MTLCompileSymbolVisibilityHidden ? SMTL_EXPORTS_MARKED
                                                                                 : SMTL_EXPORTS_ALL;
}

static void check_libraries(MTLCompileOptions *options, SMTLDevice *device) {
    for (SMTLDynamicLibrary *library in [options libraries])
        SMTLCheckDynamicLibrary("-[MTLDevice newLibraryWithSource:options:error:]", library, device);
}

static smtl_library *compile(NSData *source, MTLCompileOptions *options, char **log) {
    SMTL_REQUIRE([options mathMode] >= MTLMathModeSafe && [options mathMode] <= MTLMathModeFast,
                 "-[MTLDevice newLibraryWithSource:options:error:]", @"unknown math mode %ld",
                 (long)[options mathMode]);
    if (smtl_compile_must_fail()) {
        *log = strdup("injected failure");
        return NULL;
    }
    size_t macro_count = 0;
    smtl_macro *macros = copy_macros([options preprocessorMacros], &macro_count);
    static const smtl_math_mode modes[] = {
        [MTLMathModeSafe] = SMTL_MATH_SAFE,
        [MTLMathModeRelaxed] = SMTL_MATH_RELAXED,
        [MTLMathModeFast] = SMTL_MATH_FAST,
    };
    smtl_compile_options compile_options = {
        .macros = macros,
        .macro_count = macro_count,
        .language_version = (uint32_t)[options languageVersion],
        .math_mode = modes[[options mathMode]],
        .enable_logging = [options enableLogging],
        .exports = exports_of(options),
    };
    smtl_library *library = smtl_library_compile([source bytes], [source length], &compile_options, log);
    free(macros);
    return library;
}

- (instancetype)initWithDevice:(SMTLDevice *)device
                        source:(NSData *)source
                       options:(MTLCompileOptions *)options
                         error:(NSError **)error {
    self = [super init];
    MTLCompileOptions *settings = options == nil ? [[[MTLCompileOptions alloc] init] autorelease] : options;
    NSString *unsupported = what_is_unsupported(settings, device);
    if (unsupported != nil) {
        SMTLStoreError(error, SMTLMakeError(MTLLibraryErrorDomain, MTLLibraryErrorUnsupported, unsupported));
        [self release];
        return nil;
    }
    char *log = NULL;
    _device = device;
    _type = [settings libraryType];
    _installName = [[settings installName] copy];
    NSUInteger limit = [settings maxTotalThreadsPerThreadgroup];
    _maxThreads = limit == 0 || limit > SMTL_MAX_THREADS_PER_THREADGROUP ? SMTL_MAX_THREADS_PER_THREADGROUP : limit;
    _requiredThreads = [settings requiredThreadsPerThreadgroup];
    _libraries = [[settings libraries] copy];
    if (_type == MTLLibraryTypeDynamic) {
        _source = [source copy];
        _options = [settings copy];
    }
    @try {
        check_libraries(settings, device);
        _library = compile(source, settings, &log);
    } @catch (NSException *exception) {
        [self release];
        @throw;
    }
    if (_library == NULL) {
        NSString *text = SMTLTakeString(log, @"the source could not be compiled");
        SMTLStoreError(error, SMTLMakeError(MTLLibraryErrorDomain, MTLLibraryErrorCompileFailure, text));
        [self release];
        return nil;
    }
    /* The log of a success holds warnings: callers take a non-nil error for a failure, so they are not passed on. */
    free(log);
    SMTLStoreError(error, nil);
    return self;
}

- (void)dealloc {
    if (_library != NULL) smtl_library_release(_library);
    [_installName release];
    [_libraries release];
    [_source release];
    [_options release];
    [super dealloc];
}

- (NSArray *)functionNames {
    size_t count = smtl_library_function_count(_library);
    NSMutableArray *names = [NSMutableArray arrayWithCapacity:count];
    for (size_t i = 0; i < count; i++)
        [names addObject:[NSString stringWithUTF8String:smtl_library_function_name(_library, i)]];
    count = smtl_library_visible_function_count(_library);
    for (size_t i = 0; i < count; i++)
        [names addObject:[NSString stringWithUTF8String:smtl_library_visible_function_name(_library, i)]];
    return names;
}

- (BOOL)hasVisibleFunction:(NSString *)name {
    const char *wanted = [name UTF8String];
    size_t count = smtl_library_visible_function_count(_library);
    for (size_t i = 0; i < count; i++)
        if (strcmp(smtl_library_visible_function_name(_library, i), wanted) == 0) return YES;
    return NO;
}

- (BOOL)hasFunction:(NSString *)name {
    const char *wanted = [name UTF8String];
    size_t count = smtl_library_function_count(_library);
    for (size_t i = 0; i < count; i++)
        if (strcmp(smtl_library_function_name(_library, i), wanted) == 0) return YES;
    return [self hasVisibleFunction:name];
}

- (id<MTLFunction>)newFunctionWithName:(NSString *)functionName {
    SMTL_REQUIRE(functionName != nil, "-[MTLLibrary newFunctionWithName:]", @"name must not be nil");
    if (![self hasFunction:functionName]) return nil;
    return [[SMTLFunction alloc] initWithLibrary:self name:functionName constants:nil];
}

- (id<MTLFunction>)newFunctionWithName:(NSString *)name
                        constantValues:(MTLFunctionConstantValues *)constantValues
                                 error:(NSError **)error {
    SMTL_REQUIRE(name != nil, "-[MTLLibrary newFunctionWithName:constantValues:error:]", @"name must not be nil");
    if (![self hasFunction:name]) {
        NSString *text = [NSString stringWithFormat:@"Function %@ was not found in the library", name];
        SMTLStoreError(error, SMTLMakeError(MTLLibraryErrorDomain, MTLLibraryErrorFunctionNotFound, text));
        return nil;
    }
    SMTLStoreError(error, nil);
    return [[SMTLFunction alloc] initWithLibrary:self name:name constants:constantValues];
}

- (void)newFunctionWithName:(NSString *)name
             constantValues:(MTLFunctionConstantValues *)constantValues
          completionHandler:(void (^)(id<MTLFunction> function, NSError *error))completionHandler {
    MTLFunctionConstantValues *constants = [[constantValues copy] autorelease];
    SMTLRunDetached("metal compile", ^{
        NSError *error = nil;
        id<MTLFunction> function = [self newFunctionWithName:name constantValues:constants error:&error];
        completionHandler(function, error);
        [function release];
    });
}

- (id<MTLFunction>)newFunctionWithDescriptor:(MTLFunctionDescriptor *)descriptor error:(NSError **)error {
    SMTL_REQUIRE([descriptor name] != nil, "-[MTLLibrary newFunctionWithDescriptor:error:]",
                 @"the descriptor has no name");
    SMTLFunction *function = (SMTLFunction *)[self newFunctionWithName:[descriptor name]
                                                        constantValues:[descriptor constantValues]
                                                                 error:error];
    if (function != nil) function->_specializedName = [[descriptor specializedName] copy];
    return function;
}

- (void)newFunctionWithDescriptor:(MTLFunctionDescriptor *)descriptor
                completionHandler:(void (^)(id<MTLFunction> function, NSError *error))completionHandler {
    MTLFunctionDescriptor *own = [[descriptor copy] autorelease];
    SMTLRunDetached("metal compile", ^{
        NSError *error = nil;
        id<MTLFunction> function = [self newFunctionWithDescriptor:own error:&error];
        completionHandler(function, error);
        [function release];
    });
}

- (MTLFunctionReflection *)reflectionForFunctionWithName:(NSString *)functionName {
    const smtl_argument *arguments = NULL;
    const size_t count = smtl_library_arguments(_library, [functionName UTF8String], &arguments);
    if (count == SIZE_MAX) return nil;
    NSArray *bindings = SMTLReflectBindings(arguments, count, self);
    return [[[MTLFunctionReflection alloc] initWithBindings:bindings] autorelease];
}

- (id<MTLDevice>)device {
    return _device;
}

- (MTLLibraryType)type {
    return _type;
}

- (NSString *)installName {
    return [[_installName retain] autorelease];
}

@end
