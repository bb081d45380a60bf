#import "framework/device/SMTLDevice.h"

#import "SMTLBinaryArchive.h"
#import "SMTLComputePipeline.h"
#import "SMTLContainer.h"
#import "SMTLDynamicLibrary.h"
#import "SMTLLibrary.h"
#import "framework/sync/SMTLTask.h"
#include "objc_runtime/SMTLBlocks.h"
#import "support/SMTLError.h"
#import "support/SMTLFile.h"

static NSError *library_error(MTLLibraryError code, NSString *description) {
    return SMTLMakeError(MTLLibraryErrorDomain, (NSInteger)code, description);
}

@implementation SMTLLibraryFactory

- (SMTLDevice *)device {
    return (SMTLDevice *)self;
}

/* There is no application bundle that Xcode put a library into. */
- (id<MTLLibrary>)newDefaultLibrary {
    return nil;
}

- (id<MTLLibrary>)newDefaultLibraryWithBundle:(NSBundle *)bundle error:(NSError **)error {
    NSString *path = [bundle pathForResource:@"default" ofType:@"metallib"];
    if (path == nil) {
        SMTLStoreError(error, library_error(MTLLibraryErrorFileNotFound, @"the bundle has no default.metallib"));
        return nil;
    }
    return [self newLibraryWithFile:path error:error];
}

- (id<MTLLibrary>)newLibraryWithFile:(NSString *)filepath error:(NSError **)error {
    SMTL_REQUIRE(filepath != nil, "-[MTLDevice newLibraryWithFile:error:]", @"the path must not be nil");
    NSData *data = SMTLReadFile(filepath);
    if (data == nil) {
        NSString *text = [NSString stringWithFormat:@"%@: %@", filepath, SMTL_UNREADABLE];
        SMTLStoreError(error, library_error(MTLLibraryErrorFileNotFound, text));
        return nil;
    }
    return [self newLibraryWithContainer:data path:filepath error:error];
}

- (id<MTLLibrary>)newLibraryWithURL:(NSURL *)url error:(NSError **)error {
    SMTL_REQUIRE([url isFileURL], "-[MTLDevice newLibraryWithURL:error:]", @"the URL must name a file");
    return [self newLibraryWithFile:[url path] error:error];
}

- (id<MTLLibrary>)newLibraryWithData:(dispatch_data_t)data error:(NSError **)error {
    SMTL_REQUIRE(data != nil, "-[MTLDevice newLibraryWithData:error:]", @"data must not be nil");
    const void *bytes = NULL;
    size_t size = 0;
    dispatch_data_t map = dispatch_data_create_map(data, &bytes, &size);
    NSData *container = [NSData dataWithBytes:bytes length:size];
    dispatch_release(map);
    return [self newLibraryWithContainer:container path:nil error:error];
}

/* `path` is nil for a container in memory. */
- (id<MTLLibrary>)newLibraryWithContainer:(NSData *)data path:(NSString *)path error:(NSError **)error {
    NSData *source = nil;
    MTLCompileOptions *options = nil;
    NSArray *names = nil;
    NSString *problem = SMTLReadContainer(data, &source, &options, &names);
    if (problem != nil) {
        NSString *text = [NSString stringWithFormat:@"%@: %@", path == nil ? @"library data" : path, problem];
        SMTLStoreError(error, library_error(MTLLibraryErrorUnsupported, text));
        return nil;
    }
    NSArray *libraries = SMTLLoadDependencies([self device], names, path, error);
    if (libraries == nil) return nil;
    [options setLibraries:libraries];
    return [[SMTLLibrary alloc] initWithDevice:[self device] source:source options:options error:error];
}

- (id<MTLLibrary>)newLibraryWithSource:(NSString *)source options:(MTLCompileOptions *)options error:(NSError **)error {
    SMTL_REQUIRE(source != nil, "-[MTLDevice newLibraryWithSource:options:error:]", @"source must not be nil");
    NSData *bytes = [source dataUsingEncoding:NSUTF8StringEncoding];
    return [[SMTLLibrary alloc] initWithDevice:[self device] source:bytes options:options error:error];
}

- (void)newLibraryWithSource:(NSString *)source
                     options:(MTLCompileOptions *)options
           completionHandler:(MTLNewLibraryCompletionHandler)completionHandler {
    /* The caller may change its options as soon as this returns. */
    MTLCompileOptions *own = [[options copy] autorelease];
    NSString *text = [[source copy] autorelease];
    SMTLRunDetached("metal compile", ^{
        NSError *error = nil;
        id<MTLLibrary> library = [self newLibraryWithSource:text options:own error:&error];
        completionHandler(library, error);
        [library release];
    });
}

/* --- Dynamic libraries -------------------------------------------------------------------------------------------- */

/* Stores an error where the device has no dynamic libraries. */
static bool supports_dynamic_libraries(SMTLDevice *device, NSError **error) {
    if ([device supportsDynamicLibraries]) return true;
    SMTLStoreError(error, SMTLMakeError(MTLDynamicLibraryDomain, MTLDynamicLibraryErrorUnsupported,
                                        @"the device answers NO to supportsDynamicLibraries"));
    return false;
}

- (id<MTLDynamicLibrary>)newDynamicLibrary:(id<MTLLibrary>)library error:(NSError **)error {
    const char *where = "-[MTLDevice newDynamicLibrary:error:]";
    SMTL_REQUIRE(library != nil, where, @"the library must not be nil");
    SMTL_REQUIRE([library device] == [self device], where, @"the library belongs to another device");
    if (!supports_dynamic_libraries([self device], error)) return nil;
    return [[SMTLDynamicLibrary alloc] initWithLibrary:(SMTLLibrary *)library error:error];
}

- (id<MTLDynamicLibrary>)newDynamicLibraryWithURL:(NSURL *)url error:(NSError **)error {
    SMTL_REQUIRE([url isFileURL], "-[MTLDevice newDynamicLibraryWithURL:error:]", @"the URL must name a file");
    if (!supports_dynamic_libraries([self device], error)) return nil;
    return SMTLLoadDynamicLibrary([self device], [url path], error);
}

/* --- Pipelines ---------------------------------------------------------------------------------------------------- */

- (id<MTLComputePipelineState>)newComputePipelineStateWithDescriptor:(MTLComputePipelineDescriptor *)descriptor
                                                             options:(MTLPipelineOption)options
                                                          reflection:
                                                              (MTLAutoreleasedComputePipelineReflection *)reflection
                                                               error:(NSError **)error {
    SMTL_REQUIRE(descriptor != nil, "-[MTLDevice newComputePipelineStateWithDescriptor:...]",
                 @"descriptor must not be nil");
    SMTL_REQUIRE([descriptor computeFunction] != nil, "-[MTLDevice newComputePipelineStateWithDescriptor:...]",
                 @"computeFunction must not be nil");
    SMTLComputePipeline *pipeline = nil;
    if (SMTLUseBinaryArchives(descriptor, options, error))
        pipeline = [[SMTLComputePipeline alloc] initWithDevice:[self device] descriptor:descriptor error:error];
    if (reflection != NULL) {
        bool wanted = (options & (MTLPipelineOptionBindingInfo | MTLPipelineOptionBufferTypeInfo)) != 0;
        *reflection = wanted ? [pipeline reflectArguments] : nil;
    }
    return pipeline;
}

- (id<MTLComputePipelineState>)newComputePipelineStateWithFunction:(id<MTLFunction>)computeFunction
                                                           options:(MTLPipelineOption)options
                                                        reflection:
                                                            (MTLAutoreleasedComputePipelineReflection *)reflection
                                                             error:(NSError **)error {
    MTLComputePipelineDescriptor *descriptor = [[MTLComputePipelineDescriptor alloc] init];
    [descriptor setComputeFunction:computeFunction];
    @try {
        return [self newComputePipelineStateWithDescriptor:descriptor options:options reflection:reflection
                                                     error:error];
    } @finally {
        [descriptor release];
    }
}

- (id<MTLComputePipelineState>)newComputePipelineStateWithFunction:(id<MTLFunction>)computeFunction
                                                             error:(NSError **)error {
    return [self newComputePipelineStateWithFunction:computeFunction options:MTLPipelineOptionNone reflection:NULL
                                               error:error];
}

- (void)newComputePipelineStateWithFunction:(id<MTLFunction>)computeFunction
                          completionHandler:(MTLNewComputePipelineStateCompletionHandler)completionHandler {
    [self newComputePipelineStateWithFunction:computeFunction options:MTLPipelineOptionNone
                            completionHandler:^(id<MTLComputePipelineState> state,
                                                MTLComputePipelineReflection *reflection, NSError *error) {
                                (void)reflection;
                                completionHandler(state, error);
                            }];
}

- (void)newComputePipelineStateWithFunction:(id<MTLFunction>)computeFunction
                                    options:(MTLPipelineOption)options
                          completionHandler:
                              (MTLNewComputePipelineStateWithReflectionCompletionHandler)completionHandler {
    MTLComputePipelineDescriptor *descriptor = [[[MTLComputePipelineDescriptor alloc] init] autorelease];
    [descriptor setComputeFunction:computeFunction];
    [self newComputePipelineStateWithDescriptor:descriptor options:options completionHandler:completionHandler];
}

- (void)newComputePipelineStateWithDescriptor:(MTLComputePipelineDescriptor *)descriptor
                                      options:(MTLPipelineOption)options
                            completionHandler:
                                (MTLNewComputePipelineStateWithReflectionCompletionHandler)completionHandler {
    MTLComputePipelineDescriptor *own = [[descriptor copy] autorelease];
    SMTLRunDetached("metal compile", ^{
        NSError *error = nil;
        MTLComputePipelineReflection *reflection = nil;
        id<MTLComputePipelineState> state = [self newComputePipelineStateWithDescriptor:own options:options
                                                                             reflection:&reflection
                                                                                  error:&error];
        completionHandler(state, reflection, error);
        [state release];
    });
}

@end
