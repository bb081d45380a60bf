/* Messages from kernels: whatever <metal_logging> logs in libraries compiled with enableLogging. */
#ifndef SMTL_MTLLOGSTATE_H
#define SMTL_MTLLOGSTATE_H

#import <Metal/MTLDefines.h>

NS_ASSUME_NONNULL_BEGIN

MTL_EXTERN NSErrorDomain const MTLLogStateErrorDomain;

typedef NS_ENUM(NSUInteger, MTLLogStateError) {
    MTLLogStateErrorInvalidSize = 1,
    MTLLogStateErrorInvalid = 2,
};

typedef NS_ENUM(NSInteger, MTLLogLevel) {
    MTLLogLevelUndefined = 0,
    MTLLogLevelDebug = 1,
    MTLLogLevelInfo = 2,
    MTLLogLevelNotice = 3,
    MTLLogLevelError = 4,
    MTLLogLevelFault = 5,
};

MTL_EXPORT
@interface MTLLogStateDescriptor : NSObject <NSCopying> {
    MTLLogLevel _level;
    NSInteger _bufferSize;
}
@property (readwrite, nonatomic) MTLLogLevel level;
@property (readwrite, nonatomic) NSInteger bufferSize;
@end

@protocol MTLLogState <NSObject>
- (void)addLogHandler:(void (^)(NSString *_Nullable subSystem, NSString *_Nullable category, MTLLogLevel logLevel,
                                NSString *message))block;
@end

NS_ASSUME_NONNULL_END
#endif
