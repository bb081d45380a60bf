#ifndef SMTL_MTLBLITPASS_H
#define SMTL_MTLBLITPASS_H

#import <Metal/MTLCounters.h>

NS_ASSUME_NONNULL_BEGIN

MTL_EXPORT
@interface MTLBlitPassSampleBufferAttachmentDescriptor : NSObject <NSCopying> {
    id<MTLCounterSampleBuffer> _sampleBuffer;
    NSUInteger _startOfEncoderSampleIndex;
    NSUInteger _endOfEncoderSampleIndex;
}
@property (nullable, nonatomic, retain) id<MTLCounterSampleBuffer> sampleBuffer;
@property (nonatomic) NSUInteger startOfEncoderSampleIndex;
@property (nonatomic) NSUInteger endOfEncoderSampleIndex;
@end

MTL_EXPORT
@interface MTLBlitPassSampleBufferAttachmentDescriptorArray : NSObject {
    NSMutableDictionary<NSNumber *, MTLBlitPassSampleBufferAttachmentDescriptor *> *_attachments;
}
- (MTLBlitPassSampleBufferAttachmentDescriptor *)objectAtIndexedSubscript:(NSUInteger)attachmentIndex;
- (void)setObject:(nullable MTLBlitPassSampleBufferAttachmentDescriptor *)attachment
    atIndexedSubscript:(NSUInteger)attachmentIndex;
@end

MTL_EXPORT
@interface MTLBlitPassDescriptor : NSObject <NSCopying> {
    MTLBlitPassSampleBufferAttachmentDescriptorArray *_sampleBufferAttachments;
}
@property (readonly) MTLBlitPassSampleBufferAttachmentDescriptorArray *sampleBufferAttachments;
+ (MTLBlitPassDescriptor *)blitPassDescriptor;
@end

NS_ASSUME_NONNULL_END
#endif
