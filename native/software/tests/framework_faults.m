/* Injected faults, and what they leave behind: everything usable. */
#include "framework_test.h"
#include <stdlib.h>

static id<MTLDevice> device;

static id<MTLCommandBuffer> run_empty(id<MTLCommandQueue> queue)
{
    id<MTLCommandBuffer> buffer = [queue commandBuffer];
    [buffer commit];
    [buffer waitUntilCompleted];
    return buffer;
}

/* Runs first: the environment has armed the second allocation and the third command buffer. */
static void test_environment(void)
{
    id<MTLBuffer> first = [device newBufferWithLength:16 options:0];
    CHECK(first != nil && [device newBufferWithLength:16 options:0] == nil);
    id<MTLBuffer> third = [device newBufferWithLength:16 options:0];
    CHECK(third != nil);
    id<MTLCommandQueue> queue = [device newCommandQueue];
    CHECK([run_empty(queue) status] == MTLCommandBufferStatusCompleted);
    CHECK([run_empty(queue) status] == MTLCommandBufferStatusCompleted);
    CHECK([[run_empty(queue) error] code] == MTLCommandBufferErrorOutOfMemory);
    CHECK([run_empty(queue) status] == MTLCommandBufferStatusCompleted);
    [queue release];
    [first release];
    [third release];
}

static void test_allocation(void)
{
    NSUInteger before = [device currentAllocatedSize];
    smtl_fault_fail_allocation(3);
    NSUInteger made = 0;
    for (int i = 0; i < 5; i++) {
        id<MTLBuffer> buffer = [device newBufferWithLength:100000 options:MTLResourceStorageModePrivate];
        made += buffer != nil;
        CHECK((buffer == nil) == (i == 2));
        [buffer release];
    }
    CHECK(made == 4 && [device currentAllocatedSize] == before);
}

static void test_command_buffer(void)
{
    id<MTLCommandQueue> queue = [device newCommandQueue];
    id<MTLBuffer> target = [device newBufferWithLength:4 options:0];
    smtl_fault_fail_command_buffer(2, MTLCommandBufferErrorTimeout);
    CHECK([run_empty(queue) status] == MTLCommandBufferStatusCompleted);
    __block NSInteger seen = 0;
    MTLCommandBufferDescriptor *descriptor = [[[MTLCommandBufferDescriptor alloc] init] autorelease];
    [descriptor setErrorOptions:MTLCommandBufferErrorOptionEncoderExecutionStatus];
    id<MTLCommandBuffer> buffer = [queue commandBufferWithDescriptor:descriptor];
    id<MTLBlitCommandEncoder> encoder = [buffer blitCommandEncoder];
    [encoder setLabel:@"fill"];
    [encoder insertDebugSignpost:@"here"];
    [encoder fillBuffer:target range:NSMakeRange(0, 4) value:1];
    [encoder endEncoding];
    [buffer addCompletedHandler:^(id<MTLCommandBuffer> handed) {
      seen = [[handed error] code];
    }];
    [buffer commit];
    [buffer waitUntilCompleted];
    NSError *error = [buffer error];
    CHECK([buffer status] == MTLCommandBufferStatusError);
    CHECK([[error domain] isEqual:MTLCommandBufferErrorDomain] && [error code] == MTLCommandBufferErrorTimeout);
    CHECK([[error localizedDescription] rangeOfString:@"GPU Timeout"].location != NSNotFound);
    CHECK(seen == MTLCommandBufferErrorTimeout);
    CHECK(all_bytes([target contents], 4, 0));
    NSArray *infos = [[error userInfo] objectForKey:MTLCommandBufferEncoderInfoErrorKey];
    CHECK([infos count] == 1);
    id<MTLCommandBufferEncoderInfo> info = [infos objectAtIndex:0];
    CHECK([[info label] isEqual:@"fill"] && [info errorState] == MTLCommandEncoderErrorStatePending);
    CHECK([[info debugSignposts] isEqual:[NSArray arrayWithObject:@"here"]]);
    CHECK([run_empty(queue) status] == MTLCommandBufferStatusCompleted);
    [target release];
    [queue release];
}

static void test_device_lost(void)
{
    id<MTLCommandQueue> queue = [device newCommandQueue];
    smtl_fault_lose_device(2);
    CHECK([run_empty(queue) status] == MTLCommandBufferStatusCompleted);
    CHECK([[run_empty(queue) error] code] == MTLCommandBufferErrorDeviceRemoved);
    CHECK([[run_empty(queue) error] code] == MTLCommandBufferErrorDeviceRemoved);
    CHECK([device newBufferWithLength:16 options:0] == nil);
    smtl_fault_reset();
    CHECK([run_empty(queue) status] == MTLCommandBufferStatusCompleted);
    id<MTLBuffer> buffer = [device newBufferWithLength:16 options:0];
    CHECK(buffer != nil);
    [buffer release];
    [queue release];
}

static void test_compile(void)
{
    NSError *error = nil;
    smtl_fault_fail_compile(1);
    CHECK([device newLibraryWithSource:@"" options:nil error:&error] == nil);
    CHECK([[error domain] isEqual:MTLLibraryErrorDomain] && [error code] == MTLLibraryErrorCompileFailure);
    CHECK([[error localizedDescription] isEqual:@"injected fault"]);
    smtl_fault_fail_compile(1);
    CHECK([device newLibraryWithSource:@"" options:nil error:NULL] == nil);
}

int main(void)
{
    setenv("SOFTWARE_METAL_FAIL_ALLOCATION", "2", 1);
    setenv("SOFTWARE_METAL_FAIL_COMMAND_BUFFER", "3:8", 1);
    @autoreleasepool {
        device = MTLCreateSystemDefaultDevice();
        RUN(test_environment);
        RUN(test_allocation);
        RUN(test_command_buffer);
        RUN(test_device_lost);
        RUN(test_compile);
    }
    return checks_report();
}
