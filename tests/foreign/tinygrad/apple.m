/* What tinygrad loads by Apple's names, as one library: this file, and behind it the software Metal and the Objective-C
 * runtime. loader/sitecustomize.py has Python's ctypes take it. Beside what these export, tinygrad calls two functions
 * of a private framework of Apple's, MTLCompiler, which compiles a source to a library: here the library is the
 * software Metal's container. */
#import <Foundation/Foundation.h>
#import <Metal/Metal.h>
#include <SoftwareMetal/SoftwareMetal.h>
#include <dispatch/dispatch.h>
#include <stdlib.h>
#include <string.h>

/* tinygrad requires of a library that it begins and ends so, as Apple's do. */
static const char beginning[4] = "MTLB", ending[4] = "ENDT";

/* A reply has a header, whose third and fourth numbers are the bytes before the library: of itself and of warnings. */
struct reply_header {
    uint32_t unused[2], header_size, warning_size;
};

/* A block: tinygrad passes the address of one whose function alone is set. */
struct callback {
    void *isa;
    int flags, reserved;
    void (*invoke)(void *block, int32_t error, void *data, size_t size, const char *message);
};

void *MTLCodeGenServiceCreate(const char *name);
void *MTLCodeGenServiceCreate(const char *name) { return strdup(name); }

/* Compiles, as Apple's service does, so that errors show here and not when the library is loaded. */
static char *compile_error(const char *source) {
    char *message = NULL;
    @autoreleasepool {
        id<MTLDevice> device = [MTLCreateSystemDefaultDevice() autorelease];
        MTLCompileOptions *options = [[MTLCompileOptions new] autorelease];
        options.mathMode = MTLMathModeSafe;
        NSError *error = nil;
        id<MTLLibrary> library = [device newLibraryWithSource:@(source) options:options error:&error];
        if (!library) message = strdup(error.localizedDescription.UTF8String);
        [library release];
    }
    return message;
}

/* `request`: the padded lengths of the source and of the compiler's arguments, then both, each ended by a zero.
 * tinygrad's arguments are the same for every source: -fno-fast-math, and a language version that is here the newest.
 */
void MTLCodeGenServiceBuildRequest(void *service, void *unused, int type, const void *request, size_t size,
                                   void *block);
void MTLCodeGenServiceBuildRequest(void *service, void *unused, int type, const void *request, size_t size,
                                   void *block) {
    (void)service, (void)unused, (void)type, (void)size;
    struct callback *callback = block;
    const char *source = (const char *)request + 2 * sizeof(uint64_t);
    char *message = compile_error(source);
    if (message) {
        callback->invoke(block, 1, NULL, 0, message);
        free(message);
        return;
    }
    size_t length = 0;
    void *container = smtl_container_create(source, strlen(source), NULL, 0, 0, MTLMathModeSafe, &length);
    struct reply_header header = {.header_size = sizeof header};
    size_t reply_size = sizeof header + sizeof beginning + length + sizeof ending;
    char *reply = malloc(reply_size), *at = reply;
    at = mempcpy(at, &header, sizeof header);
    at = mempcpy(at, beginning, sizeof beginning);
    at = mempcpy(at, container, length);
    memcpy(at, ending, sizeof ending);
    callback->invoke(block, 0, reply, reply_size, NULL);
    free(reply);
    free(container);
}

/* The data that a library is loaded from: the container alone. The software Metal's function has a name of its own in
 * C. */
#undef dispatch_data_create
dispatch_data_t apple_data_create(const char *buffer, size_t size, dispatch_queue_t queue,
                                  dispatch_block_t destructor) __asm__("dispatch_data_create");
dispatch_data_t apple_data_create(const char *buffer, size_t size, dispatch_queue_t queue,
                                  dispatch_block_t destructor) {
    size_t around = sizeof beginning + sizeof ending;
    if (size >= around && memcmp(buffer, beginning, sizeof beginning) == 0)
        return dispatch_data_create(buffer + sizeof beginning, size - around, queue, destructor);
    return dispatch_data_create(buffer, size, queue, destructor);
}
