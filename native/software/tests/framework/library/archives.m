/* Binary archives: filled, written, read again and used in place of the compiler; damaged ones are refused. */
#include "framework_kernels.h"

#include <sys/resource.h>
#include <sys/stat.h>

static NSString *folder;

static id<MTLBinaryArchive> make_archive(NSString *path, NSError **error) {
    MTLBinaryArchiveDescriptor *descriptor = [[[MTLBinaryArchiveDescriptor alloc] init] autorelease];
    [descriptor setUrl:path == nil ? nil : [NSURL fileURLWithPath:path]];
    return [device newBinaryArchiveWithDescriptor:descriptor error:error];
}

static MTLComputePipelineDescriptor *describe(id<MTLLibrary> library, NSString *name, id<MTLBinaryArchive> archive) {
    MTLComputePipelineDescriptor *descriptor = [[[MTLComputePipelineDescriptor alloc] init] autorelease];
    id<MTLFunction> function = [library newFunctionWithName:name];
    [descriptor setComputeFunction:function];
    [descriptor setBinaryArchives:archive == nil ? nil : [NSArray arrayWithObject:archive]];
    [function release];
    return descriptor;
}

static id<MTLComputePipelineState> make_archived(MTLComputePipelineDescriptor *descriptor, NSError **error) {
    return [device newComputePipelineStateWithDescriptor:descriptor options:MTLPipelineOptionFailOnBinaryArchiveMiss
                                              reflection:NULL
                                                   error:error];
}

static void test_round_trip(void) {
    NSString *path = [folder stringByAppendingPathComponent:@"kernels.archive"];
    id<MTLLibrary> library = make_library();
    NSError *error = (NSError *)1;
    id<MTLBinaryArchive> archive = make_archive(nil, &error);
    CHECK(archive != nil && error == nil && [archive device] == device);
    CHECK(make_archived(describe(library, @"add", archive), &error) == nil);
    CHECK([[error domain] isEqual:MTLBinaryArchiveDomain]);
    CHECK([archive addComputePipelineFunctionsWithDescriptor:describe(library, @"add", nil) error:&error]);
    CHECK(error == nil);
    MTLFunctionDescriptor *total = [MTLFunctionDescriptor functionDescriptor];
    [total setName:@"total"];
    CHECK([archive addFunctionWithDescriptor:total library:library error:&error]);
    [total setName:@"nowhere"];
    CHECK(![archive addFunctionWithDescriptor:total library:library error:&error] && error != nil);
    CHECK([archive serializeToURL:[NSURL fileURLWithPath:path] error:&error] && error == nil);
    [archive release];

    archive = make_archive(path, &error);
    CHECK(archive != nil && error == nil);
    id<MTLComputePipelineState> pipeline = make_archived(describe(library, @"add", archive), &error);
    CHECK(pipeline != nil && error == nil);
    id<MTLBuffer> values = make_ints(64, 0, 1);
    run(^(id<MTLComputeCommandEncoder> encoder) {
        const int amount = 3;
        [encoder setComputePipelineState:pipeline];
        [encoder setBuffer:values offset:0 atIndex:0];
        [encoder setBytes:&amount length:sizeof amount atIndex:1];
        [encoder dispatchThreads:MTLSizeMake(64, 1, 1) threadsPerThreadgroup:MTLSizeMake(64, 1, 1)];
    });
    CHECK(are_ints(values, 3, 1));
    /* A function that the archive lacks is a failure only if the options say so. */
    CHECK(make_archived(describe(library, @"digit", archive), &error) == nil && error != nil);
    id<MTLComputePipelineState> compiled =
        [device newComputePipelineStateWithDescriptor:describe(library, @"digit", archive) options:MTLPipelineOptionNone
                                           reflection:NULL
                                                error:&error];
    CHECK(compiled != nil && error == nil);
    [compiled release];
    [values release];
    [pipeline release];
    [archive release];
    [library release];
}

static void test_damage(void) {
    NSString *path = [folder stringByAppendingPathComponent:@"damaged.archive"];
    id<MTLLibrary> library = make_library();
    id<MTLBinaryArchive> archive = make_archive(nil, NULL);
    CHECK([archive addComputePipelineFunctionsWithDescriptor:describe(library, @"add", nil) error:NULL]);
    CHECK([archive serializeToURL:[NSURL fileURLWithPath:path] error:NULL]);
    NSData *whole = [NSData dataWithContentsOfFile:path];
    NSError *error = nil;
    for (NSUInteger length = 0; length < [whole length]; length += 1 + length) {
        [[whole subdataWithRange:NSMakeRange(0, length)] writeToFile:path atomically:NO];
        CHECK(make_archive(path, &error) == nil && [error code] == MTLBinaryArchiveErrorInvalidFile);
    }
    const NSUInteger offsets[] = {0, 9, 12, 16, 20, 28, 40, 60, [whole length] / 2, [whole length] - 1};
    for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
        NSMutableData *changed = [[whole mutableCopy] autorelease];
        ((uint8_t *)[changed mutableBytes])[offsets[i]] ^= 0x41;
        [changed writeToFile:path atomically:NO];
        CHECK(make_archive(path, &error) == nil && [error code] == MTLBinaryArchiveErrorInvalidFile);
    }
    CHECK(make_archive([folder stringByAppendingPathComponent:@"missing"], &error) == nil);
    NSURL *nowhere = [NSURL fileURLWithPath:@"/nonexistent/folder/archive"];
    CHECK(![archive serializeToURL:nowhere error:&error] && error != nil);
    [archive release];
    [library release];
}

/* What `write` says of a file that cannot be written, and that nothing is left of it. */
static void check_refused(BOOL (^write)(NSURL *url, NSError **error), NSString *path, NSString *reason) {
    NSError *error = nil;
    CHECK(!write([NSURL fileURLWithPath:path], &error));
    CHECK([[error localizedDescription] rangeOfString:path].length > 0);
    CHECK([[error localizedDescription] rangeOfString:reason].length > 0);
}

static void check_writes(BOOL (^write)(NSURL *url, NSError **error), NSString *name) {
    NSString *path = [folder stringByAppendingPathComponent:name];
    check_refused(write, [path stringByAppendingPathComponent:@"file"], @"No such file or directory");
    CHECK([@"before" writeToFile:path atomically:NO encoding:NSUTF8StringEncoding error:NULL]);
    CHECK(chmod([path UTF8String], 0640) == 0);
    check_refused(write, [path stringByAppendingPathComponent:@"file"], @"Not a directory");
    /* A file beyond the process's limit would be the end of the process. */
    struct rlimit before;
    getrlimit(RLIMIT_FSIZE, &before);
    struct rlimit low = before;
    low.rlim_cur = 16;
    setrlimit(RLIMIT_FSIZE, &low);
    check_refused(write, path, @"File too large");
    setrlimit(RLIMIT_FSIZE, &before);
    CHECK([[NSString stringWithContentsOfFile:path encoding:NSUTF8StringEncoding error:NULL] isEqual:@"before"]);
    struct stat status;
    CHECK(write([NSURL fileURLWithPath:path], NULL) && stat([path UTF8String], &status) == 0);
    CHECK(status.st_size > 16 && (status.st_mode & 0777) == 0640);
    /* A link stays one. So does a pipe, which here nobody reads. */
    NSString *link = [path stringByAppendingString:@".link"], *pipe = [path stringByAppendingString:@".pipe"];
    CHECK(symlink([path UTF8String], [link UTF8String]) == 0 && mkfifo([pipe UTF8String], 0600) == 0);
    CHECK(write([NSURL fileURLWithPath:link], NULL));
    CHECK(lstat([link UTF8String], &status) == 0 && S_ISLNK(status.st_mode));
    check_refused(write, pipe, @"No such device or address");
    CHECK(lstat([pipe UTF8String], &status) == 0 && S_ISFIFO(status.st_mode));
    CHECK(unlink([link UTF8String]) == 0 && unlink([pipe UTF8String]) == 0);
    NSString *longest = [@"" stringByPaddingToLength:255 withString:@"x" startingAtIndex:0];
    CHECK(write([NSURL fileURLWithPath:[folder stringByAppendingPathComponent:longest]], NULL));
}

static void test_files_that_cannot_be_written(void) {
    id<MTLBinaryArchive> archive = make_archive(nil, NULL);
    id<MTLLibrary> library = make_library();
    CHECK([archive addComputePipelineFunctionsWithDescriptor:describe(library, @"add", nil) error:NULL]);
    const NSUInteger files = [[[NSFileManager defaultManager] contentsOfDirectoryAtPath:folder error:NULL] count];
    check_writes(^BOOL(NSURL *url, NSError **error) { return [archive serializeToURL:url error:error]; }, @"archive");
    MTLCompileOptions *options = [[[MTLCompileOptions alloc] init] autorelease];
    [options setLibraryType:MTLLibraryTypeDynamic];
    [options setInstallName:@"/one"];
    id<MTLLibrary> source = [device newLibraryWithSource:@"int one() { return 1; }" options:options error:NULL];
    id<MTLDynamicLibrary> one = [device newDynamicLibrary:source error:NULL];
    check_writes(^BOOL(NSURL *url, NSError **error) { return [one serializeToURL:url error:error]; }, @"library");
    /* Two of a name of their own and one of the longest name: nothing is left of what was refused. */
    CHECK([[[NSFileManager defaultManager] contentsOfDirectoryAtPath:folder error:NULL] count] == files + 3);
    [one release];
    [source release];
    [library release];
    [archive release];
}

int main(void) {
    @autoreleasepool {
        char path[] = "/tmp/framework_archives_XXXXXX";
        CHECK(mkdtemp(path) != NULL);
        folder = [NSString stringWithUTF8String:path];
        device = MTLCreateSystemDefaultDevice();
        queue = [device newCommandQueue];
        RUN(test_round_trip);
        RUN(test_damage);
        RUN(test_files_that_cannot_be_written);
        [queue release];
        CHECK([[NSFileManager defaultManager] removeFileAtPath:folder handler:nil]);
    }
    return checks_report();
}
