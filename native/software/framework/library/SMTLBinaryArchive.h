#ifndef SMTL_BINARY_ARCHIVE_H
#define SMTL_BINARY_ARCHIVE_H

#import "framework/device/SMTLDevice.h"
#import <Metal/MTLBinaryArchive.h>

/* Machine code of kernels under the names that the compiler gives it: what is in an archive need not be compiled again.
 */
@interface SMTLBinaryArchive : SMTLObject <MTLBinaryArchive> {
    SMTLDevice *_device;
    NSMutableDictionary *_code; /* NSData by name */
}
/* nil, and an autoreleased error, if the descriptor names a file that is not an archive. */
- (instancetype)initWithDevice:(SMTLDevice *)device
                    descriptor:(MTLBinaryArchiveDescriptor *)descriptor
                         error:(NSError **)error;
@end

/* Hands what the descriptor's archives have for its function to the compiler. False, with an error, if they have
 * nothing and the options make that a failure. */
bool SMTLUseBinaryArchives(MTLComputePipelineDescriptor *descriptor, MTLPipelineOption options, NSError **error);

#endif
