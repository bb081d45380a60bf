/* One header in a program and in its shaders: both report where every member lies, and the values arrive. The source is
 * Objective-C and Objective-C++. Usage: `layouts layouts.h layouts.metal`. */
#import <Foundation/Foundation.h>
#import <Metal/Metal.h>
#include "layouts.h"

static int run(int count, const char **paths) {
    NSMutableString *source = [NSMutableString string];
    for (int i = 1; i < count; i++) {
        NSString *path = [NSString stringWithUTF8String:paths[i]];
        [source appendString:[NSString stringWithContentsOfFile:path encoding:NSUTF8StringEncoding error:NULL]];
    }
    NSError *error = nil;
    id<MTLDevice> device = [MTLCreateSystemDefaultDevice() autorelease];
    id<MTLLibrary> library = [[device newLibraryWithSource:source options:nil error:&error] autorelease];
    id<MTLFunction> function = [[library newFunctionWithName:@"layouts"] autorelease];
    id<MTLComputePipelineState> pipeline = [[device newComputePipelineStateWithFunction:function
                                                                                  error:&error] autorelease];
    if (pipeline == nil) {
        fprintf(stderr, "layouts: %s\n", [[error localizedDescription] UTF8String]);
        return 1;
    }
    shared_values values;
    values.position = simd_make_float3(1, 2, 3);
    values.weight = 4;
    values.cell = simd_make_uint2(5, 6);
    values.shade = simd_make_half4(7, 8, 9, 0.5);
    values.pose = simd_matrix(simd_make_float3(0, 1, 0), simd_make_float3(0, 2, 0), simd_make_float3(0, 3, 0),
                              simd_make_float3(0, 4, 0));
    values.turn = simd_matrix(simd_make_float2(3, 1), simd_make_float2(2, 4));
    values.code = simd_make_short3(0, 0, -30);
    values.colour = simd_make_uchar4(0, 0, 0, 200);
    values.rest = simd_make_float4(0, 0, 0, -1.25f);
    values.big = simd_make_long2(0, 1000);
    values.small = simd_matrix(simd_make_half2(0, 0), simd_make_half2(0, 0), simd_make_half2(0, 0.25));
    values.last = 99;

    id<MTLBuffer> numbers = [[device newBufferWithLength:NUMBERS * sizeof(uint32_t) options:0] autorelease];
    id<MTLBuffer> read = [[device newBufferWithLength:8 * sizeof(float) options:0] autorelease];
    id<MTLCommandQueue> queue = [[device newCommandQueue] autorelease];
    id<MTLCommandBuffer> commands = [queue commandBuffer];
    id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
    [encoder setComputePipelineState:pipeline];
    [encoder setBuffer:numbers offset:0 atIndex:0];
    [encoder setBytes:&values length:sizeof values atIndex:1];
    [encoder setBuffer:read offset:0 atIndex:2];
    [encoder dispatchThreads:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
    [encoder endEncoding];
    [commands commit];
    [commands waitUntilCompleted];

#define MEMBER(NAME) (uint32_t)offsetof(shared_values, NAME), (uint32_t)sizeof(values.NAME),
    const uint32_t ours[NUMBERS] = {FOR_ALL_MEMBERS(MEMBER)(uint32_t) sizeof(shared_values)};
    const float arrive[8] = {3, 6, 0.5f, 4321, 10, -30 + 200 + 1000 + 99, -1.25f, 0.25f};
    int wrong = [commands status] != MTLCommandBufferStatusCompleted;
    for (int i = 0; i < NUMBERS; i++) {
        const uint32_t theirs = ((const uint32_t *)[numbers contents])[i];
        if (theirs != ours[i]) {
            printf("number %d: %u here, %u in the shader\n", i, ours[i], theirs);
            wrong++;
        }
    }
    for (int i = 0; i < 8; i++) {
        const float arrived = ((const float *)[read contents])[i];
        if (arrived != arrive[i]) {
            printf("value %d: %g here, %g in the shader\n", i, (double)arrive[i], (double)arrived);
            wrong++;
        }
    }
    return wrong;
}

int main(int count, const char **paths) {
    int wrong;
    @autoreleasepool {
        wrong = run(count, paths);
    }
    printf("layouts: %d wrong\n", wrong);
    return wrong == 0 ? 0 : 1;
}
