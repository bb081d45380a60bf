#ifndef SMTL_RESIDENCY_SET_H
#define SMTL_RESIDENCY_SET_H

#import "framework/device/SMTLDevice.h"
#import <Metal/MTLResidencySet.h>

/* All memory is resident always: a set keeps the books that Metal keeps, changes taking effect at commit. */
@interface SMTLResidencySet : SMTLObject <MTLResidencySet> {
@public
    SMTLDevice *_device;
@protected
    NSMutableSet *_committed;
    NSMutableSet *_pending;
}
- (instancetype)initWithDevice:(SMTLDevice *)device descriptor:(MTLResidencySetDescriptor *)descriptor;
@end

/* `known` with some more sets, which takes its reference; nil: there were none. Raises if they become too many. */
NSMutableSet *SMTLAddResidencySets(const char *where, NSMutableSet *known, const id<MTLResidencySet> sets[],
                                   NSUInteger count);

/* Raises for nil and for another device's set. */
void SMTLCheckResidencySet(const char *where, id<MTLResidencySet> set, SMTLDevice *device);

#endif
