#ifndef SMTL_MTLFUNCTIONLOG_H
#define SMTL_MTLFUNCTIONLOG_H

#import <Metal/MTLDefines.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLFunction;

typedef NS_ENUM(NSUInteger, MTLFunctionLogType) {
    MTLFunctionLogTypeValidation = 0,
};

/* What a command buffer's kernels have logged, to be enumerated. */
@protocol MTLLogContainer <NSFastEnumeration>
@end

@protocol MTLFunctionLogDebugLocation <NSObject>
@property (readonly, nullable, nonatomic) NSString *functionName;
@property (readonly, nullable, nonatomic) NSURL *URL;
@property (readonly, nonatomic) NSUInteger line;
@property (readonly, nonatomic) NSUInteger column;
@end

@protocol MTLFunctionLog <NSObject>
@property (readonly, nonatomic) MTLFunctionLogType type;
@property (readonly, nullable, nonatomic) NSString *encoderLabel;
@property (readonly, nullable, nonatomic) id<MTLFunction> function;
@property (readonly, nullable, nonatomic) id<MTLFunctionLogDebugLocation> debugLocation;
@end

NS_ASSUME_NONNULL_END
#endif
