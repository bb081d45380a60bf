#ifndef SMTL_PASS_DESCRIPTORS_H
#define SMTL_PASS_DESCRIPTORS_H

#import <Metal/MTLBlitPass.h>
#import <Metal/MTLComputePass.h>

/* Copies of the attachments that have a sample buffer, autoreleased. */
@interface MTLComputePassSampleBufferAttachmentDescriptorArray (SMTL)
- (NSArray *)attachmentsWithSamples;
@end

@interface MTLBlitPassSampleBufferAttachmentDescriptorArray (SMTL)
- (NSArray *)attachmentsWithSamples;
@end

#endif
