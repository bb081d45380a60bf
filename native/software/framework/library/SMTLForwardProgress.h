/* What macOS 27 says of forward progress. The folder of Apple's headers does not have it: the bindings that it is
 * compared with are older. */
#ifndef SMTL_FORWARD_PROGRESS_H
#define SMTL_FORWARD_PROGRESS_H

#import <Metal/Metal.h>

/* MTLForwardProgressUsage. */
typedef NS_ENUM(NSInteger, SMTLForwardProgressUsage) {
    SMTLForwardProgressUsageAutomatic = 0,
    SMTLForwardProgressUsageWeak = 1,
    SMTLForwardProgressUsageSIMDGroupParallel = 2
};

@interface MTLComputePipelineDescriptor (SMTLForwardProgress)
@property (nonatomic) SMTLForwardProgressUsage forwardProgressUsage;
@end

#endif
