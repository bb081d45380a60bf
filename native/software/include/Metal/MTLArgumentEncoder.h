#ifndef SMTL_MTLARGUMENTENCODER_H
#define SMTL_MTLARGUMENTENCODER_H

#import <Metal/MTLDefines.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLBuffer;
@protocol MTLComputePipelineState;
@protocol MTLDevice;
@protocol MTLIndirectCommandBuffer;
@protocol MTLVisibleFunctionTable;

#define MTLAttributeStrideStatic NSUIntegerMax

/* Writes arguments into a buffer that a kernel takes as a structure. Indices are those of [[id(n)]]. */
@protocol MTLArgumentEncoder <NSObject>
@property (readonly) id<MTLDevice> device;
@property (nullable, copy, atomic) NSString *label;
@property (readonly) NSUInteger encodedLength;
@property (readonly) NSUInteger alignment;
- (void)setArgumentBuffer:(nullable id<MTLBuffer>)argumentBuffer offset:(NSUInteger)offset;
- (void)setArgumentBuffer:(nullable id<MTLBuffer>)argumentBuffer
              startOffset:(NSUInteger)startOffset
             arrayElement:(NSUInteger)arrayElement;
- (void)setBuffer:(nullable id<MTLBuffer>)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index;
- (void)setVisibleFunctionTable:(nullable id<MTLVisibleFunctionTable>)visibleFunctionTable atIndex:(NSUInteger)index;
- (void)setVisibleFunctionTables:(const id<MTLVisibleFunctionTable> _Nullable[_Nonnull])visibleFunctionTables
                       withRange:(NSRange)range;
- (void)setBuffers:(const id<MTLBuffer> _Nullable[_Nonnull])buffers
           offsets:(const NSUInteger[_Nonnull])offsets
         withRange:(NSRange)range;
- (void *)constantDataAtIndex:(NSUInteger)index;
- (void)setComputePipelineState:(nullable id<MTLComputePipelineState>)pipeline atIndex:(NSUInteger)index;
- (void)setComputePipelineStates:(const id<MTLComputePipelineState> _Nullable[_Nonnull])pipelines
                       withRange:(NSRange)range;
- (void)setIndirectCommandBuffer:(nullable id<MTLIndirectCommandBuffer>)indirectCommandBuffer atIndex:(NSUInteger)index;
- (void)setIndirectCommandBuffers:(const id<MTLIndirectCommandBuffer> _Nullable[_Nonnull])buffers
                        withRange:(NSRange)range;
- (nullable id<MTLArgumentEncoder>)newArgumentEncoderForBufferAtIndex:(NSUInteger)index;
@end

NS_ASSUME_NONNULL_END
#endif
