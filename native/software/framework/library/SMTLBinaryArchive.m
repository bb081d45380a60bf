/* A serialized archive, all numbers little-endian:
 *   8 bytes  "SMTLBIN" and a zero
 *   u32      version, 2
 *   u32      number of kernels
 *   for each: u32 bytes of the name, u64 bytes of the code, u64 checksum of both, name, code */
#import "SMTLBinaryArchive.h"

#import "SMTLFunction.h"
#import "SMTLLibrary.h"
#import "SMTLLinking.h"
#include "msl/msl.h"
#import "support/SMTLError.h"
#import "support/SMTLFile.h"
#include <stdlib.h>

NSErrorDomain const MTLBinaryArchiveDomain = @"MTLBinaryArchiveDomain";

#define VERSION 2u
#define MAX_NAME 256u

static const char magic[8] = "SMTLBIN";

static NSError *archive_error(MTLBinaryArchiveError code, NSString *description) {
    return SMTLMakeError(MTLBinaryArchiveDomain, (NSInteger)code, description);
}

/* FNV-1a finds damage, not attackers: they could as well have written the program. */
static uint64_t add_to_checksum(uint64_t sum, NSData *data) {
    const uint8_t *bytes = [data bytes];
    for (NSUInteger i = 0; i < [data length]; i++) sum = (sum ^ bytes[i]) * 0x100000001b3u;
    return sum;
}

static uint64_t checksum(NSData *name, NSData *code) {
    return add_to_checksum(add_to_checksum(0xcbf29ce484222325u, name), code);
}

static void put(NSMutableData *data, uint64_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) {
        const uint8_t byte = (uint8_t)(value >> (8 * i));
        [data appendBytes:&byte length:1];
    }
}

/* What is left to read; reading beyond the end gives nil, or zeros and an end. */
typedef struct {
    NSData *data;
    NSUInteger at;
    bool failed;
} reader;

static NSData *take_data(reader *from, uint64_t count) {
    if (count > [from->data length] - from->at) {
        from->failed = true;
        return nil;
    }
    NSData *taken = [from->data subdataWithRange:NSMakeRange(from->at, (NSUInteger)count)];
    from->at += (NSUInteger)count;
    return taken;
}

static uint64_t take(reader *from, size_t count) {
    const uint8_t *bytes = [take_data(from, count) bytes];
    uint64_t value = 0;
    for (size_t i = 0; bytes != NULL && i < count; i++) value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

@implementation SMTLBinaryArchive

+ (smtl_object_class)objectClass {
    return SMTL_OBJECT_BINARY_ARCHIVE;
}

/* What is wrong with the data; nil if nothing is. */
- (NSString *)readData:(NSData *)data {
    reader from = {data, 0, false};
    NSData *start = take_data(&from, sizeof magic);
    if (start == nil || memcmp([start bytes], magic, sizeof magic) != 0)
        return @"not a binary archive of the software Metal";
    const uint64_t version = take(&from, 4);
    if (version != VERSION)
        return [NSString stringWithFormat:@"archive version %llu is not supported", (unsigned long long)version];
    const uint64_t count = take(&from, 4);
    for (uint64_t i = 0; i < count && !from.failed; i++) {
        const uint64_t name_length = take(&from, 4);
        const uint64_t code_length = take(&from, 8);
        const uint64_t sum = take(&from, 8);
        NSData *name = take_data(&from, name_length > MAX_NAME ? UINT64_MAX : name_length);
        NSData *code = take_data(&from, code_length);
        NSString *text = [[[NSString alloc] initWithData:name encoding:NSUTF8StringEncoding] autorelease];
        if (name == nil || code == nil || text == nil || checksum(name, code) != sum) return @"the archive is damaged";
        [_code setObject:code forKey:text];
    }
    return from.failed || from.at != [data length] ? @"the archive is damaged" : nil;
}

- (BOOL)readURL:(NSURL *)url error:(NSError **)error {
    NSData *data = [url isFileURL] ? SMTLReadFile([url path]) : nil;
    NSString *problem = data == nil ? SMTL_UNREADABLE : [self readData:data];
    if (problem != nil) {
        NSString *text = [NSString stringWithFormat:@"%@: %@", [url absoluteString], problem];
        SMTLStoreError(error, archive_error(MTLBinaryArchiveErrorInvalidFile, text));
    }
    return problem == nil;
}

- (instancetype)initWithDevice:(SMTLDevice *)device
                    descriptor:(MTLBinaryArchiveDescriptor *)descriptor
                         error:(NSError **)error {
    self = [super init];
    _device = device;
    _code = [[NSMutableDictionary alloc] init];
    if ([descriptor url] != nil && ![self readURL:[descriptor url] error:error]) {
        [self release];
        return nil;
    }
    SMTLStoreError(error, nil);
    return self;
}

- (void)dealloc {
    [_code release];
    [super dealloc];
}

- (id<MTLDevice>)device {
    return _device;
}

/* `linking` is nil only if there was no memory for it. */
static NSString *name_of(SMTLFunction *function, SMTLLinking *linking, char **log) {
    MTLFunctionConstantValues *constants = function->_constants;
    return SMTLTakeString(smtl_library_specialization_name(function->_library->_library, [function->_name UTF8String],
                                                           [constants values], [constants count],
                                                           linking == nil ? NULL : &linking->_linking, log),
                          nil);
}

- (NSData *)codeOf:(SMTLFunction *)function linking:(SMTLLinking *)linking {
    char *log = NULL;
    NSString *name = name_of(function, linking, &log);
    free(log);
    @synchronized(self) {
        return name == nil ? nil : [[[_code objectForKey:name] retain] autorelease];
    }
}

- (BOOL)addFunction:(SMTLFunction *)function linking:(SMTLLinking *)linking error:(NSError **)error {
    MTLFunctionConstantValues *constants = function->_constants;
    char *log = NULL;
    NSString *name = name_of(function, linking, &log);
    NSString *path = nil;
    if (name != nil) {
        path = SMTLTakeString(smtl_library_specialize(function->_library->_library, [function->_name UTF8String],
                                                      [constants values], [constants count],
                                                      linking == nil ? NULL : &linking->_linking, &log),
                              nil);
    }
    NSData *code = path == nil ? nil : [NSData dataWithContentsOfFile:path];
    NSString *text = SMTLTakeString(log, @"the kernel's machine code cannot be read");
    if (code == nil) {
        SMTLStoreError(error, archive_error(MTLBinaryArchiveErrorCompilationFailure, text));
        return NO;
    }
    @synchronized(self) {
        [_code setObject:code forKey:name];
    }
    SMTLStoreError(error, nil);
    return YES;
}

- (BOOL)addComputePipelineFunctionsWithDescriptor:(MTLComputePipelineDescriptor *)descriptor error:(NSError **)error {
    const char *where = "-[MTLBinaryArchive addComputePipelineFunctionsWithDescriptor:error:]";
    SMTLFunction *function = (SMTLFunction *)[descriptor computeFunction];
    SMTL_REQUIRE(function != nil, where, @"computeFunction must not be nil");
    SMTL_REQUIRE([function device] == _device, where, @"the function belongs to another device");
    return [self addFunction:function linking:[SMTLLinking linkingOf:descriptor] error:error];
}

- (BOOL)addFunctionWithDescriptor:(MTLFunctionDescriptor *)descriptor
                          library:(id<MTLLibrary>)library
                            error:(NSError **)error {
    const char *where = "-[MTLBinaryArchive addFunctionWithDescriptor:library:error:]";
    SMTL_REQUIRE(descriptor != nil, where, @"descriptor must not be nil");
    SMTL_REQUIRE(library != nil && [library device] == _device, where, @"the library belongs to another device");
    id<MTLFunction> function = [library newFunctionWithDescriptor:descriptor error:error];
    if (function == nil) return NO;
    /* Stored as a pipeline of the function alone asks for it, which has the libraries that the function's has. */
    MTLComputePipelineDescriptor *alone = [[[MTLComputePipelineDescriptor alloc] init] autorelease];
    [alone setComputeFunction:[function autorelease]];
    return [self addFunction:(SMTLFunction *)function linking:[SMTLLinking linkingOf:alone] error:error];
}

- (NSData *)serialized {
    NSMutableData *data = [NSMutableData dataWithBytes:magic length:sizeof magic];
    @synchronized(self) {
        put(data, VERSION, 4);
        put(data, [_code count], 4);
        /* In order, so that equal archives are equal files. */
        for (NSString *name in [[_code allKeys] sortedArrayUsingSelector:@selector(compare:)]) {
            NSData *bytes = [name dataUsingEncoding:NSUTF8StringEncoding];
            NSData *code = [_code objectForKey:name];
            put(data, [bytes length], 4);
            put(data, [code length], 8);
            put(data, checksum(bytes, code), 8);
            [data appendData:bytes];
            [data appendData:code];
        }
    }
    return data;
}

- (BOOL)serializeToURL:(NSURL *)url error:(NSError **)error {
    SMTL_REQUIRE([url isFileURL], "-[MTLBinaryArchive serializeToURL:error:]", @"the URL must name a file");
    NSString *refused = SMTLWriteFile([url path], [self serialized]);
    if (refused != nil) {
        SMTLStoreError(error, archive_error(MTLBinaryArchiveErrorInternalError, refused));
        return NO;
    }
    SMTLStoreError(error, nil);
    return YES;
}

@end

bool SMTLUseBinaryArchives(MTLComputePipelineDescriptor *descriptor, MTLPipelineOption options, NSError **error) {
    SMTLFunction *function = (SMTLFunction *)[descriptor computeFunction];
    SMTLLinking *linking = [[descriptor binaryArchives] count] > 0 ? [SMTLLinking linkingOf:descriptor] : nil;
    for (SMTLBinaryArchive *archive in [descriptor binaryArchives]) {
        NSData *code = [archive codeOf:function linking:linking];
        if (code == nil) continue;
        char *log = NULL;
        NSString *name = name_of(function, linking, &log);
        free(log);
        /* What the cache does not take is compiled, as without an archive. */
        (void)smtl_cache_import([name UTF8String], [code bytes], [code length]);
        return true;
    }
    if ((options & MTLPipelineOptionFailOnBinaryArchiveMiss) == 0) return true;
    NSString *text =
        [NSString stringWithFormat:@"%@: no binary archive of the descriptor has the function", [function name]];
    SMTLStoreError(error, archive_error(MTLBinaryArchiveErrorUnexpectedElement, text));
    return false;
}
