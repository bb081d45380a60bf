/* Functions to link into a pipeline: kernels call them through tables, or by name. */
#ifndef SMTL_MTLLINKEDFUNCTIONS_H
#define SMTL_MTLLINKEDFUNCTIONS_H

#import <Metal/MTLDefines.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLFunction;

MTL_EXPORT
@interface MTLLinkedFunctions : NSObject <NSCopying> {
    NSArray<id<MTLFunction>> *_functions;
    NSArray<id<MTLFunction>> *_binaryFunctions;
    NSArray<id<MTLFunction>> *_privateFunctions;
    NSDictionary<NSString *, NSArray<id<MTLFunction>> *> *_groups;
}
+ (MTLLinkedFunctions *)linkedFunctions;
@property (nullable, readwrite, nonatomic, copy) NSArray<id<MTLFunction>> *functions;
@property (nullable, readwrite, nonatomic, copy) NSArray<id<MTLFunction>> *binaryFunctions;
@property (nullable, readwrite, nonatomic, copy) NSArray<id<MTLFunction>> *privateFunctions;
@property (nullable, readwrite, nonatomic, copy) NSDictionary<NSString *, NSArray<id<MTLFunction>> *> *groups;
@end

NS_ASSUME_NONNULL_END
#endif
