// Metal Performance Shaders: a product of matrices, and a graph of it with a bias.
#import <MetalPerformanceShaders/MetalPerformanceShaders.h>
#import <MetalPerformanceShadersGraph/MetalPerformanceShadersGraph.h>
#include <stdio.h>

static MPSMatrix *matrix(id<MTLBuffer> buffer, NSUInteger rows, NSUInteger columns) {
    return [[[MPSMatrix alloc] initWithBuffer:buffer
                                   descriptor:[MPSMatrixDescriptor matrixDescriptorWithRows:rows columns:columns
                                                                                   rowBytes:columns * sizeof(float)
                                                                                   dataType:MPSDataTypeFloat32]]
        autorelease];
}

int main(void) {
    @autoreleasepool {
        id<MTLDevice> device = [MTLCreateSystemDefaultDevice() autorelease];
        id<MTLCommandQueue> queue = [[device newCommandQueue] autorelease];
        const float left[] = {1, 2, 3, 4, 5, 6}, right[] = {1, 0, 0, 1, 1, 1};
        id<MTLBuffer> a = [[device newBufferWithBytes:left length:sizeof left options:0] autorelease];
        id<MTLBuffer> b = [[device newBufferWithBytes:right length:sizeof right options:0] autorelease];
        id<MTLBuffer> c = [[device newBufferWithLength:4 * sizeof(float) options:0] autorelease];
        MPSMatrixMultiplication *product = [[[MPSMatrixMultiplication alloc] initWithDevice:device resultRows:2
                                                                              resultColumns:2
                                                                            interiorColumns:3] autorelease];
        id<MTLCommandBuffer> commands = [queue commandBuffer];
        [product encodeToCommandBuffer:commands leftMatrix:matrix(a, 2, 3) rightMatrix:matrix(b, 3, 2)
                          resultMatrix:matrix(c, 2, 2)];
        [commands commit];
        [commands waitUntilCompleted];
        const float *result = [c contents];
        if (MPSSupportsMTLDevice(device) && [commands error] == nil && result[0] == 4 && result[1] == 5 &&
            result[2] == 10 && result[3] == 11) {
            MPSGraph *graph = [[MPSGraph new] autorelease];
            MPSGraphTensor *x = [graph placeholderWithShape:@[ @2, @3 ] dataType:MPSDataTypeFloat32 name:@"x"];
            MPSGraphTensor *w = [graph constantWithData:[NSData dataWithBytes:right length:sizeof right]
                                                  shape:@[ @3, @2 ]
                                               dataType:MPSDataTypeFloat32];
            MPSGraphTensor *y = [graph matrixMultiplicationWithPrimaryTensor:x secondaryTensor:w name:nil];
            y = [graph additionWithPrimaryTensor:y
                                 secondaryTensor:[graph constantWithScalar:-5 dataType:MPSDataTypeFloat32]
                                            name:nil];
            MPSGraphTensorData *fed = [[[MPSGraphTensorData alloc] initWithMTLBuffer:a shape:@[ @2, @3 ]
                                                                            dataType:MPSDataTypeFloat32] autorelease];
            NSDictionary *results = [graph runWithMTLCommandQueue:queue feeds:@{x : fed} targetTensors:@[ y ]
                                                 targetOperations:nil];
            float sums[4];
            [[results[y] mpsndarray] readBytes:sums strideBytes:NULL];
            printf("%g %g %g %g\n", sums[0], sums[1], sums[2], sums[3]);
            return sums[0] == -1 && sums[1] == 0 && sums[2] == 5 && sums[3] == 6 ? 0 : 1;
        }
        fprintf(stderr, "%s\n", [[[commands error] localizedDescription] UTF8String]);
        return 1;
    }
}
