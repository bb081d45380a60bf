#ifndef SMTL_MTLINDIRECTCOMMANDBUFFER_H
#define SMTL_MTLINDIRECTCOMMANDBUFFER_H

#import <Metal/MTLIndirectCommandEncoder.h>
#import <Metal/MTLResource.h>

NS_ASSUME_NONNULL_BEGIN

/* Drawing commands have values of their own, which the software Metal refuses. */
typedef NS_OPTIONS(NSUInteger, MTLIndirectCommandType) {
    MTLIndirectCommandTypeDraw = 1 << 0,
    MTLIndirectCommandTypeDrawIndexed = 1 << 1,
    MTLIndirectCommandTypeDrawPatches = 1 << 2,
    MTLIndirectCommandTypeDrawIndexedPatches = 1 << 3,
    MTLIndirectCommandTypeConcurrentDispatch = 1 << 5,
    MTLIndirectCommandTypeConcurrentDispatchThreads = 1 << 6,
    MTLIndirectCommandTypeDrawMeshThreadgroups = 1 << 7,
    MTLIndirectCommandTypeDrawMeshThreads = 1 << 8,
};

typedef struct {
    uint32_t location;
    uint32_t length;
} MTLIndirectCommandBufferExecutionRange;

static inline MTLIndirectCommandBufferExecutionRange MTLIndirectCommandBufferExecutionRangeMake(uint32_t location,
                                                                                                uint32_t length) {
    MTLIndirectCommandBufferExecutionRange range = {location, length};
    return range;
}

MTL_EXPORT
@interface MTLIndirectCommandBufferDescriptor : NSObject <NSCopying> {
    MTLIndirectCommandType _commandTypes;
    BOOL _inheritPipelineState;
    BOOL _inheritBuffers;
    NSUInteger _maxKernelBufferBindCount;
    NSUInteger _maxKernelThreadgroupMemoryBindCount;
}
@property (readwrite, nonatomic) MTLIndirectCommandType commandTypes;
@property (readwrite, nonatomic) BOOL inheritPipelineState;
@property (readwrite, nonatomic) BOOL inheritBuffers;
@property (readwrite, nonatomic) NSUInteger maxKernelBufferBindCount;
@property (readwrite, nonatomic) NSUInteger maxKernelThreadgroupMemoryBindCount;
@end

@protocol MTLIndirectCommandBuffer <MTLResource>
@property (readonly) NSUInteger size;
@property (readonly) MTLResourceID gpuResourceID;
- (void)resetWithRange:(NSRange)range;
- (id<MTLIndirectComputeCommand>)indirectComputeCommandAtIndex:(NSUInteger)commandIndex;
@end

NS_ASSUME_NONNULL_END
#endif
