/* Timestamps: counter sets, sample buffers, passes that sample, and the two clocks. */
#include "framework_kernels.h"

static id<MTLCounterSampleBuffer> make_samples(NSUInteger count, MTLStorageMode mode, NSError **error) {
    MTLCounterSampleBufferDescriptor *descriptor = [[[MTLCounterSampleBufferDescriptor alloc] init] autorelease];
    [descriptor setCounterSet:[[device counterSets] objectAtIndex:0]];
    [descriptor setLabel:@"times"];
    [descriptor setSampleCount:count];
    [descriptor setStorageMode:mode];
    return [device newCounterSampleBufferWithDescriptor:descriptor error:error];
}

static void test_sets(void) {
    CHECK([[device counterSets] count] == 1);
    id<MTLCounterSet> set = [[device counterSets] objectAtIndex:0];
    CHECK([[set name] isEqual:MTLCommonCounterSetTimestamp] && [[set counters] count] == 1);
    CHECK([[[[set counters] objectAtIndex:0] name] isEqual:MTLCommonCounterTimestamp]);
    CHECK([device supportsCounterSampling:MTLCounterSamplingPointAtStageBoundary]);
    CHECK([device supportsCounterSampling:MTLCounterSamplingPointAtDispatchBoundary]);
    CHECK(![device supportsCounterSampling:MTLCounterSamplingPointAtDrawBoundary]);
    MTLTimestamp cpu = 0, gpu = 0, later_cpu = 0, later_gpu = 0;
    [device sampleTimestamps:&cpu gpuTimestamp:&gpu];
    usleep(1000);
    [device sampleTimestamps:&later_cpu gpuTimestamp:&later_gpu];
    CHECK(later_cpu - cpu >= 1000000 && later_gpu - gpu == later_cpu - cpu);
    CHECK([device queryTimestampFrequency] == 1000000000);
}

static void test_errors(void) {
    NSError *error = nil;
    CHECK(make_samples(0, MTLStorageModeShared, &error) == nil && [error code] == MTLCounterSampleBufferErrorInvalid);
    CHECK([[error domain] isEqual:MTLCounterErrorDomain]);
    CHECK(make_samples(1u << 20, MTLStorageModeShared, NULL) == nil);
    CHECK(make_samples(1, MTLStorageModeManaged, &error) == nil);
    MTLCounterSampleBufferDescriptor *empty = [[[MTLCounterSampleBufferDescriptor alloc] init] autorelease];
    [empty setSampleCount:1];
    CHECK([device newCounterSampleBufferWithDescriptor:empty error:&error] == nil && error != nil);
    id<MTLCounterSampleBuffer> hidden = make_samples(2, MTLStorageModePrivate, &error);
    CHECK(hidden != nil && error == nil && [hidden resolveCounterRange:NSMakeRange(0, 2)] == nil);
    CHECK_RAISES("exceed", [hidden resolveCounterRange:NSMakeRange(1, 2)]);
    [hidden release];
}

static void test_samples(void) {
    id<MTLLibrary> library = make_library();
    id<MTLComputePipelineState> add = make_pipeline(library, @"add");
    id<MTLCounterSampleBuffer> samples = make_samples(6, MTLStorageModeShared, NULL);
    id<MTLBuffer> values = make_ints(1 << 16, 0, 0);
    id<MTLBuffer> resolved = [device newBufferWithLength:64 options:0];
    CHECK([samples sampleCount] == 6 && [[samples label] isEqual:@"times"] && [samples device] == device);

    id<MTLCommandBuffer> buffer = [queue commandBuffer];
    MTLComputePassDescriptor *pass = [MTLComputePassDescriptor computePassDescriptor];
    MTLComputePassSampleBufferAttachmentDescriptor *attachment =
        [[pass sampleBufferAttachments] objectAtIndexedSubscript:0];
    CHECK([attachment startOfEncoderSampleIndex] == MTLCounterDontSample);
    [attachment setSampleBuffer:samples];
    [attachment setStartOfEncoderSampleIndex:0];
    [attachment setEndOfEncoderSampleIndex:6];
    CHECK_RAISES("exceed", [buffer computeCommandEncoderWithDescriptor:pass]);
    [attachment setEndOfEncoderSampleIndex:3];
    id<MTLComputeCommandEncoder> encoder = [buffer computeCommandEncoderWithDescriptor:[[pass copy] autorelease]];
    const int amount = 1;
    [encoder setComputePipelineState:add];
    [encoder setBuffer:values offset:0 atIndex:0];
    [encoder setBytes:&amount length:sizeof amount atIndex:1];
    [encoder sampleCountersInBuffer:samples atSampleIndex:1 withBarrier:YES];
    [encoder dispatchThreads:MTLSizeMake(1 << 16, 1, 1) threadsPerThreadgroup:MTLSizeMake(64, 1, 1)];
    [encoder sampleCountersInBuffer:samples atSampleIndex:2 withBarrier:NO];
    CHECK_RAISES("exceed", [encoder sampleCountersInBuffer:samples atSampleIndex:6 withBarrier:NO]);
    [encoder endEncoding];

    MTLBlitPassDescriptor *blit_pass = [MTLBlitPassDescriptor blitPassDescriptor];
    MTLBlitPassSampleBufferAttachmentDescriptor *blit_attachment =
        [[blit_pass sampleBufferAttachments] objectAtIndexedSubscript:0];
    [blit_attachment setSampleBuffer:samples];
    [blit_attachment setStartOfEncoderSampleIndex:4];
    id<MTLBlitCommandEncoder> blit = [buffer blitCommandEncoderWithDescriptor:blit_pass];
    [blit resolveCounters:samples inRange:NSMakeRange(0, 5) destinationBuffer:resolved destinationOffset:8];
    CHECK_RAISES("exceeds", [blit resolveCounters:samples inRange:NSMakeRange(0, 6) destinationBuffer:resolved
                                destinationOffset:24]);
    [blit endEncoding];
    [buffer commit];
    [buffer waitUntilCompleted];

    NSData *data = [samples resolveCounterRange:NSMakeRange(0, 6)];
    const MTLCounterResultTimestamp *times = [data bytes];
    CHECK([data length] == 6 * sizeof *times);
    for (int i = 0; i < 4; i++) CHECK(times[i].timestamp <= times[i + 1].timestamp);
    CHECK(times[2].timestamp > times[1].timestamp && times[5].timestamp == MTLCounterErrorValue);
    CHECK(times[0].timestamp >= (uint64_t)([buffer GPUStartTime] * 1e9) - 1000);
    CHECK(times[4].timestamp <= (uint64_t)([buffer GPUEndTime] * 1e9) + 1000);
    CHECK(memcmp((char *)[resolved contents] + 8, times, 5 * sizeof *times) == 0);
    [resolved release];
    [values release];
    [samples release];
    [add release];
    [library release];
}

int main(void) {
    @autoreleasepool {
        device = MTLCreateSystemDefaultDevice();
        queue = [device newCommandQueue];
        RUN(test_sets);
        RUN(test_errors);
        RUN(test_samples);
        [queue release];
    }
    return checks_report();
}
