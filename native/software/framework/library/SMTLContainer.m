/* Layout, all numbers little-endian:
 *   8 bytes  "SMTLLIB" and a zero
 *   u32      version, 1; with the further options 2
 *   u32      language version, as MTLLanguageVersion; 0 for the newest
 *   u32      math mode, as MTLMathMode
 *   u32      number of macros
 *   u64      bytes of source
 *   for each macro: u32 bytes of the name, u32 bytes of the value (0xffffffff: defined as empty), name, value
 *   version 2: u32 library type, u32 symbol visibility, u32 whether kernels log, u32 the most threads of a threadgroup,
 *     3 u32 width, height and depth that it must have, u32 bytes of the install name, u32 number of libraries, the
 * install name, for each library: u32 bytes of its install name, and the name the source, UTF-8 */
#import "SMTLContainer.h"

#include "engine/engine.h"
#include <SoftwareMetal/SoftwareMetal.h>
#include <stdlib.h>
#include <string.h>

static const char magic[8] = "SMTLLIB";
static const char apple_magic[4] = {'M', 'T', 'L', 'B'};

#define VERSION 1u
#define VERSION_OF_OPTIONS 2u
#define NO_VALUE 0xffffffffu
#define MAX_MACROS 65536u
#define MAX_LIBRARIES 1024u

static void put(uint8_t **cursor, uint64_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) *(*cursor)++ = (uint8_t)(value >> (8 * i));
}

static void put_bytes(uint8_t **cursor, const void *bytes, size_t count) {
    if (count > 0) {
        memcpy(*cursor, bytes, count);
        *cursor += count;
    }
}

/* `further`: what version 2 has before the source; NULL for version 1. */
static void *create_container(const char *source, size_t source_length, const smtl_container_macro *macros,
                              size_t macro_count, uint32_t language_version, uint32_t math_mode, NSData *further,
                              size_t *size) {
    size_t total = sizeof magic + 4 * 4 + 8 + source_length + [further length];
    for (size_t i = 0; i < macro_count; i++)
        total += 8 + strlen(macros[i].name) + (macros[i].value == NULL ? 0 : strlen(macros[i].value));
    uint8_t *container = malloc(total);
    if (container == NULL) return NULL;
    uint8_t *cursor = container;
    put_bytes(&cursor, magic, sizeof magic);
    put(&cursor, further == nil ? VERSION : VERSION_OF_OPTIONS, 4);
    put(&cursor, language_version, 4);
    put(&cursor, math_mode, 4);
    put(&cursor, macro_count, 4);
    put(&cursor, source_length, 8);
    for (size_t i = 0; i < macro_count; i++) {
        size_t name = strlen(macros[i].name);
        size_t value = macros[i].value == NULL ? 0 : strlen(macros[i].value);
        put(&cursor, name, 4);
        put(&cursor, macros[i].value == NULL ? NO_VALUE : value, 4);
        put_bytes(&cursor, macros[i].name, name);
        put_bytes(&cursor, macros[i].value, value);
    }
    put_bytes(&cursor, [further bytes], [further length]);
    put_bytes(&cursor, source, source_length);
    *size = total;
    return container;
}

void *smtl_container_create(const char *source, size_t source_length, const smtl_container_macro *macros,
                            size_t macro_count, uint32_t language_version, uint32_t math_mode, size_t *size) {
    return create_container(source, source_length, macros, macro_count, language_version, math_mode, nil, size);
}

static void append(NSMutableData *data, uint64_t number) {
    uint8_t bytes[4], *cursor = bytes;
    put(&cursor, number, sizeof bytes);
    [data appendBytes:bytes length:sizeof bytes];
}

static NSData *write_further(MTLCompileOptions *options, NSArray *libraries) {
    NSMutableData *data = [NSMutableData data];
    NSData *name = [[options installName] dataUsingEncoding:NSUTF8StringEncoding];
    append(data, (uint64_t)[options libraryType]);
    append(data, (uint64_t)[options compileSymbolVisibility]);
    append(data, [options enableLogging]);
    append(data, [options maxTotalThreadsPerThreadgroup]);
    const MTLSize required = [options requiredThreadsPerThreadgroup];
    append(data, required.width);
    append(data, required.height);
    append(data, required.depth);
    append(data, [name length]);
    append(data, [libraries count]);
    if (name != nil) [data appendData:name];
    for (NSString *library in libraries) {
        NSData *bytes = [library dataUsingEncoding:NSUTF8StringEncoding];
        append(data, [bytes length]);
        [data appendData:bytes];
    }
    return data;
}

NSData *SMTLWriteContainer(NSData *source, MTLCompileOptions *options, NSArray *libraries) {
    NSArray *names = [[[options preprocessorMacros] allKeys] sortedArrayUsingSelector:@selector(compare:)];
    smtl_container_macro *macros = calloc([names count] + 1, sizeof *macros);
    size_t count = 0, size = 0;
    for (NSString *name in macros == NULL ? nil : names) {
        macros[count].name = [name UTF8String];
        macros[count++].value = [[[[options preprocessorMacros] objectForKey:name] description] UTF8String];
    }
    void *container =
        macros == NULL
            ? NULL
            : create_container([source bytes], [source length], macros, count, (uint32_t)[options languageVersion],
                               (uint32_t)[options mathMode], write_further(options, libraries), &size);
    free(macros);
    return container == NULL ? nil : [NSData dataWithBytesNoCopy:container length:size freeWhenDone:YES];
}

/* What is left to read. Reading beyond the end sets `failed` and gives zeros. */
typedef struct {
    const uint8_t *bytes;
    size_t left;
    bool failed;
} reader;

static const uint8_t *take_bytes(reader *from, size_t count) {
    if (count > from->left) {
        from->failed = true;
        return NULL;
    }
    const uint8_t *bytes = from->bytes;
    from->bytes += count;
    from->left -= count;
    return bytes;
}

static uint64_t take(reader *from, size_t count) {
    const uint8_t *bytes = take_bytes(from, count);
    uint64_t value = 0;
    for (size_t i = 0; bytes != NULL && i < count; i++) value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

/* nil if the bytes are missing or not UTF-8. */
static NSString *take_string(reader *from, size_t count) {
    const uint8_t *bytes = take_bytes(from, count);
    if (bytes == NULL) return nil;
    return [[[NSString alloc] initWithBytes:bytes length:count encoding:NSUTF8StringEncoding] autorelease];
}

/* What is wrong with it; nil for nothing. */
static NSString *read_further(reader *from, MTLCompileOptions *options, NSMutableArray *libraries) {
    const uint64_t type = take(from, 4), visibility = take(from, 4), logging = take(from, 4), threads = take(from, 4);
    const uint64_t width = take(from, 4), height = take(from, 4), depth = take(from, 4);
    const uint64_t name_length = take(from, 4), count = take(from, 4);
    /* All zero, or a threadgroup. */
    const bool any = width + height + depth > 0;
    const bool fits = width <= SMTL_MAX_THREADS_PER_THREADGROUP && height <= SMTL_MAX_THREADS_PER_THREADGROUP &&
                      width * height * depth <= SMTL_MAX_THREADS_PER_THREADGROUP && any == (width * height * depth > 0);
    if (from->failed || !fits || type > MTLLibraryTypeDynamic || visibility > MTLCompileSymbolVisibilityHidden ||
        logging > 1 || count > MAX_LIBRARIES)
        return @"the container's options are damaged";
    NSString *name = take_string(from, (size_t)name_length);
    for (uint64_t i = 0; i < count && name != nil; i++) {
        const size_t length = (size_t)take(from, 4);
        NSString *library = take_string(from, length);
        if (library == nil) return @"the container's libraries are damaged";
        [libraries addObject:library];
    }
    if (name == nil) return @"the container's install name is damaged";
    [options setLibraryType:(MTLLibraryType)type];
    [options setCompileSymbolVisibility:(MTLCompileSymbolVisibility)visibility];
    [options setEnableLogging:logging != 0];
    [options setMaxTotalThreadsPerThreadgroup:(NSUInteger)threads];
    [options setRequiredThreadsPerThreadgroup:MTLSizeMake((NSUInteger)width, (NSUInteger)height, (NSUInteger)depth)];
    [options setInstallName:name];
    return nil;
}

NSString *SMTLReadContainer(NSData *data, NSData **source, MTLCompileOptions **options, NSArray **libraries) {
    reader from = {[data bytes], [data length], false};
    const uint8_t *start = take_bytes(&from, sizeof magic);
    if ([data length] >= sizeof apple_magic && memcmp([data bytes], apple_magic, sizeof apple_magic) == 0) {
        return @"this is a library of Apple's compiler, with code for Apple GPUs; the software Metal needs the source "
               @"(newLibraryWithSource:) or a container made from it";
    }
    if (start == NULL || memcmp(start, magic, sizeof magic) != 0) return @"not a library of the software Metal";
    uint64_t version = take(&from, 4);
    if (version != VERSION && version != VERSION_OF_OPTIONS)
        return [NSString stringWithFormat:@"container version %llu is not supported", (unsigned long long)version];
    uint64_t language = take(&from, 4);
    uint64_t math_mode = take(&from, 4);
    uint64_t macro_count = take(&from, 4);
    uint64_t source_length = take(&from, 8);
    if (from.failed || math_mode > MTLMathModeFast || macro_count > MAX_MACROS)
        return @"the container's header is damaged";
    NSMutableDictionary *macros = [NSMutableDictionary dictionary];
    for (uint64_t i = 0; i < macro_count; i++) {
        size_t name_length = (size_t)take(&from, 4);
        uint64_t value_length = take(&from, 4);
        NSString *name = take_string(&from, name_length);
        NSString *value = value_length == NO_VALUE ? @"" : take_string(&from, (size_t)value_length);
        if (name == nil || value == nil) return @"the container's macros are damaged";
        [macros setObject:value forKey:name];
    }
    *options = [[[MTLCompileOptions alloc] init] autorelease];
    NSMutableArray *names = [NSMutableArray array];
    NSString *problem = version == VERSION ? nil : read_further(&from, *options, names);
    if (problem != nil) return problem;
    if (source_length != from.left) {
        return [NSString stringWithFormat:@"the container should hold %llu bytes of source, but holds %zu",
                                          (unsigned long long)source_length, from.left];
    }
    if (language != 0) [*options setLanguageVersion:(MTLLanguageVersion)language];
    [*options setMathMode:(MTLMathMode)math_mode];
    [*options setPreprocessorMacros:macros];
    *libraries = names;
    *source = [NSData dataWithBytes:from.bytes length:from.left];
    return nil;
}
