#ifndef SMTL_MTLVISIBLEFUNCTIONTABLE_H
#define SMTL_MTLVISIBLEFUNCTIONTABLE_H

#import <Metal/MTLResource.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLFunctionHandle;

MTL_EXPORT
@interface MTLVisibleFunctionTableDescriptor : NSObject <NSCopying> {
    NSUInteger _functionCount;
}
+ (MTLVisibleFunctionTableDescriptor *)visibleFunctionTableDescriptor;
@property (readwrite, nonatomic) NSUInteger functionCount;
@end

@protocol MTLVisibleFunctionTable <MTLResource>
@property (readonly) MTLResourceID gpuResourceID;
- (void)setFunction:(nullable id<MTLFunctionHandle>)function atIndex:(NSUInteger)index;
- (void)setFunctions:(const id<MTLFunctionHandle> _Nullable[_Nonnull])functions withRange:(NSRange)range;
@end

NS_ASSUME_NONNULL_END
#endif
