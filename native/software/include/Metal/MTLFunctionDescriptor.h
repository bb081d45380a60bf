#ifndef SMTL_MTLFUNCTIONDESCRIPTOR_H
#define SMTL_MTLFUNCTIONDESCRIPTOR_H

#import <Metal/MTLDefines.h>

NS_ASSUME_NONNULL_BEGIN

@class MTLFunctionConstantValues;
@protocol MTLBinaryArchive;

typedef NS_OPTIONS(NSUInteger, MTLFunctionOptions) {
    MTLFunctionOptionNone = 0,
    MTLFunctionOptionCompileToBinary = 1 << 0,
    MTLFunctionOptionStoreFunctionInMetalScript = 1 << 1,
    MTLFunctionOptionStoreFunctionInMetalPipelinesScript = 1 << 1,
    MTLFunctionOptionFailOnBinaryArchiveMiss = 1 << 2,
    MTLFunctionOptionPipelineIndependent = 1 << 3,
};

MTL_EXPORT
@interface MTLFunctionDescriptor : NSObject <NSCopying> {
    NSString *_name;
    NSString *_specializedName;
    MTLFunctionConstantValues *_constantValues;
    MTLFunctionOptions _options;
    NSArray<id<MTLBinaryArchive>> *_binaryArchives;
}
+ (MTLFunctionDescriptor *)functionDescriptor;
@property (nullable, nonatomic, copy) NSString *name;
@property (nullable, nonatomic, copy) NSString *specializedName;
@property (nullable, nonatomic, copy) MTLFunctionConstantValues *constantValues;
@property (nonatomic) MTLFunctionOptions options;
@property (nullable, nonatomic, copy) NSArray<id<MTLBinaryArchive>> *binaryArchives;
@end

NS_ASSUME_NONNULL_END
#endif
