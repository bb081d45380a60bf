#ifndef SMTL_DEVICE_MODEL_H
#define SMTL_DEVICE_MODEL_H

#import "support/SMTLObject.h"
#import <Metal/MTLDevice.h>

/* The part of a device that answers questions about it; its subclasses make objects. */
@interface SMTLDeviceModel : SMTLObject <MTLDevice> {
@public
    uint32_t _index;
    uint64_t _allocatedSize;
@private
    MTLArchitecture *_architecture;
    BOOL _maximizeConcurrentCompilation;
}
- (instancetype)initWithIndex:(uint32_t)index;
/* Beyond Metal's interface, for programs that deal out work by it: the lanes of a SIMD-group run one after another and
 * not at the same time. */
- (BOOL)runsLanesInTurn;
@end

#endif
