#ifndef SMTL_MTLRESIDENCYSET_H
#define SMTL_MTLRESIDENCYSET_H

#import <Metal/MTLAllocation.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLDevice;

MTL_EXPORT
@interface MTLResidencySetDescriptor : NSObject <NSCopying> {
    NSString *_label;
    NSUInteger _initialCapacity;
}
@property (nullable, copy, nonatomic) NSString *label;
@property (readwrite, nonatomic) NSUInteger initialCapacity;
@end

@protocol MTLResidencySet <NSObject>
@property (readonly) id<MTLDevice> device;
@property (nullable, readonly) NSString *label;
@property (readonly) uint64_t allocatedSize;
@property (readonly, copy) NSArray<id<MTLAllocation>> *allAllocations;
@property (readonly) NSUInteger allocationCount;
- (void)requestResidency;
- (void)endResidency;
- (void)addAllocation:(id<MTLAllocation>)allocation;
- (void)addAllocations:(const id<MTLAllocation> _Nonnull[_Nonnull])allocations count:(NSUInteger)count;
- (void)removeAllocation:(id<MTLAllocation>)allocation;
- (void)removeAllocations:(const id<MTLAllocation> _Nonnull[_Nonnull])allocations count:(NSUInteger)count;
- (void)removeAllAllocations;
- (BOOL)containsAllocation:(id<MTLAllocation>)anAllocation;
- (void)commit;
@end

NS_ASSUME_NONNULL_END
#endif
