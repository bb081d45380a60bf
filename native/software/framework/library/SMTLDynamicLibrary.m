#import "SMTLDynamicLibrary.h"

#import "SMTLContainer.h"
#import "SMTLLibrary.h"
#import "support/SMTLError.h"
#import "support/SMTLFile.h"
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

/* Of libraries that need each other. */
#define MAX_DEPTH 64u

NSErrorDomain const MTLDynamicLibraryDomain = @"MTLDynamicLibraryDomain";

/* Stores an error that says what is wrong with the library of that name; gives nil. */
static id refuse(NSError **error, MTLDynamicLibraryError code, NSString *name, NSString *problem) {
    NSString *text = [NSString stringWithFormat:@"dynamic library %@: %@", name, problem];
    SMTLStoreError(error, SMTLMakeError(MTLDynamicLibraryDomain, (NSInteger)code, text));
    return nil;
}

@implementation SMTLDynamicLibrary

+ (smtl_object_class)objectClass {
    return SMTL_OBJECT_DYNAMIC_LIBRARY;
}

- (instancetype)initWithLibrary:(SMTLLibrary *)library error:(NSError **)error {
    self = [super init];
    NSString *name = [library installName];
    if ([library type] != MTLLibraryTypeDynamic) {
        [self release];
        return refuse(error, MTLDynamicLibraryErrorUnsupported, name == nil ? @"without an install name" : name,
                      @"the library is executable: compile it with the library type MTLLibraryTypeDynamic");
    }
    char *log = NULL;
    if (!smtl_library_check_exports(library->_library, &log)) {
        [self release];
        return refuse(error, MTLDynamicLibraryErrorCompilationFailure, name,
                      SMTLTakeString(log, @"its functions could not be compiled"));
    }
    SMTLTakeString(log, nil);
    _library = [library retain];
    SMTLStoreError(error, nil);
    return self;
}

- (void)dealloc {
    [_library release];
    [super dealloc];
}

- (id<MTLDevice>)device {
    return [_library device];
}

- (NSString *)installName {
    return [_library installName];
}

- (BOOL)serializeToURL:(NSURL *)url error:(NSError **)error {
    SMTL_REQUIRE([url isFileURL], "-[MTLDynamicLibrary serializeToURL:error:]", @"the URL must name a file");
    NSMutableArray *names = [NSMutableArray array];
    for (SMTLDynamicLibrary *other in _library->_libraries) [names addObject:[other installName]];
    NSString *refused = SMTLWriteFile([url path], SMTLWriteContainer(_library->_source, _library->_options, names));
    if (refused != nil) {
        refuse(error, MTLDynamicLibraryErrorInvalidFile, [self installName], refused);
        return NO;
    }
    SMTLStoreError(error, nil);
    return YES;
}

@end

void SMTLCheckDynamicLibrary(const char *where, id<MTLDynamicLibrary> library, SMTLDevice *device) {
    SMTL_REQUIRE([(id)library isKindOfClass:[SMTLDynamicLibrary class]], where, @"%@ is not a dynamic library",
                 (id)library);
    SMTL_REQUIRE([library device] == device, where, @"dynamic library %@ belongs to another device",
                 [library installName]);
}

/* --- Files -------------------------------------------------------------------------------------------------------- */

/* What is loaded together: each file once, and none while it is being loaded. */
@interface SMTLDynamicLibraryLoader : NSObject {
    SMTLDevice *_device;
    NSMutableDictionary *_loaded; /* SMTLDynamicLibrary by path */
    NSMutableSet *_loading; /* paths */
}
@end

@implementation SMTLDynamicLibraryLoader

- (instancetype)initWithDevice:(SMTLDevice *)device {
    self = [super init];
    _device = device;
    _loaded = [[NSMutableDictionary alloc] init];
    _loading = [[NSMutableSet alloc] init];
    return self;
}

- (void)dealloc {
    [_loaded release];
    [_loading release];
    [super dealloc];
}

static NSString *folder_of_program(void) {
    char path[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    if (length <= 0) return nil;
    NSString *text = [[[NSString alloc] initWithBytes:path length:(NSUInteger)length
                                             encoding:NSUTF8StringEncoding] autorelease];
    return [text stringByDeletingLastPathComponent];
}

/* The path that an install name stands for; nil if it stands for none. */
static NSString *resolve(NSString *name, NSString *loader) {
    NSString *const starts[] = {@"@executable_path/", @"@loader_path/"};
    NSString *const folders[] = {folder_of_program(), [loader stringByDeletingLastPathComponent]};
    for (int i = 0; i < 2; i++)
        if ([name hasPrefix:starts[i]] && folders[i] != nil)
            return [folders[i] stringByAppendingPathComponent:[name substringFromIndex:[starts[i] length]]];
    return [name isAbsolutePath] ? name : nil;
}

- (NSArray *)loadNames:(NSArray *)names forPath:(NSString *)loader error:(NSError **)error {
    NSMutableArray *libraries = [NSMutableArray array];
    for (NSString *name in names) {
        NSString *path = [resolve(name, loader) stringByStandardizingPath];
        if (path == nil || ![[NSFileManager defaultManager] fileExistsAtPath:path])
            return refuse(error, MTLDynamicLibraryErrorUnresolvedInstallName, name,
                          path == nil ? @"an install name is an absolute path, or begins with @executable_path/ or "
                                        @"@loader_path/"
                                      : [NSString stringWithFormat:@"there is no file %@", path]);
        NSError *problem = nil;
        SMTLDynamicLibrary *library = [self loadPath:path error:&problem];
        if (library == nil) {
            if ([problem code] == MTLDynamicLibraryErrorUnresolvedInstallName &&
                [[problem domain] isEqual:MTLDynamicLibraryDomain]) {
                SMTLStoreError(error, problem);
                return nil;
            }
            return refuse(error, MTLDynamicLibraryErrorDependencyLoadFailure, name, [problem localizedDescription]);
        }
        [libraries addObject:library];
    }
    return libraries;
}

/* Autoreleased. */
- (SMTLDynamicLibrary *)loadPath:(NSString *)written error:(NSError **)error {
    /* A file has several paths, by way of links. */
    NSString *path = SMTLTakeString(realpath([written fileSystemRepresentation], NULL), written);
    SMTLDynamicLibrary *known = [_loaded objectForKey:path];
    if (known != nil) return known;
    if ([_loading count] == MAX_DEPTH)
        return refuse(error, MTLDynamicLibraryErrorDependencyLoadFailure, path, @"too many libraries need each other");
    if ([_loading containsObject:path])
        return refuse(error, MTLDynamicLibraryErrorDependencyLoadFailure, path, @"the library needs itself");
    NSData *data = SMTLReadFile(path);
    NSData *source = nil;
    MTLCompileOptions *options = nil;
    NSArray *names = nil;
    NSString *problem = data == nil ? SMTL_UNREADABLE : SMTLReadContainer(data, &source, &options, &names);
    if (problem == nil && [options libraryType] != MTLLibraryTypeDynamic)
        problem = @"the file has an executable library, and not a dynamic one";
    if (problem != nil) return refuse(error, MTLDynamicLibraryErrorInvalidFile, path, problem);
    [_loading addObject:path];
    NSArray *libraries = [self loadNames:names forPath:path error:error];
    [_loading removeObject:path];
    if (libraries == nil) return nil;
    [options setLibraries:libraries];
    NSError *failure = nil;
    SMTLLibrary *library = [[[SMTLLibrary alloc] initWithDevice:_device source:source options:options
                                                          error:&failure] autorelease];
    if (library == nil)
        return refuse(error, MTLDynamicLibraryErrorCompilationFailure, path, [failure localizedDescription]);
    SMTLDynamicLibrary *loaded = [[[SMTLDynamicLibrary alloc] initWithLibrary:library error:error] autorelease];
    if (loaded != nil) [_loaded setObject:loaded forKey:path];
    return loaded;
}

@end

NSArray *SMTLLoadDependencies(SMTLDevice *device, NSArray *names, NSString *path, NSError **error) {
    SMTLDynamicLibraryLoader *loader = [[[SMTLDynamicLibraryLoader alloc] initWithDevice:device] autorelease];
    return [loader loadNames:names forPath:path error:error];
}

SMTLDynamicLibrary *SMTLLoadDynamicLibrary(SMTLDevice *device, NSString *path, NSError **error) {
    SMTLDynamicLibraryLoader *loader = [[[SMTLDynamicLibraryLoader alloc] initWithDevice:device] autorelease];
    return [[loader loadPath:[path stringByStandardizingPath] error:error] retain];
}
