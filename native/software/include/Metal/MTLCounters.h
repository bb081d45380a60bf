#ifndef SMTL_MTLCOUNTERS_H
#define SMTL_MTLCOUNTERS_H

#import <Metal/MTLResource.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLDevice;

typedef NSString *MTLCommonCounter;
typedef NSString *MTLCommonCounterSet;

MTL_EXTERN MTLCommonCounter const MTLCommonCounterTimestamp;
MTL_EXTERN MTLCommonCounterSet const MTLCommonCounterSetTimestamp;
MTL_EXTERN NSErrorDomain const MTLCounterErrorDomain;

typedef NS_ENUM(NSInteger, MTLCounterSampleBufferError) {
    MTLCounterSampleBufferErrorOutOfMemory = 0,
    MTLCounterSampleBufferErrorInvalid = 1,
    MTLCounterSampleBufferErrorInternal = 2,
};

/* A sample that was not taken, or failed. */
#define MTLCounterErrorValue ((uint64_t)~0ULL)
/* In a pass descriptor: no sample here. */
#define MTLCounterDontSample ((NSUInteger) - 1)

typedef struct {
    uint64_t timestamp;
} MTLCounterResultTimestamp;

@protocol MTLCounter <NSObject>
@property (readonly) NSString *name;
@end

@protocol MTLCounterSet <NSObject>
@property (readonly, copy) NSString *name;
@property (readonly, copy) NSArray<id<MTLCounter>> *counters;
@end

MTL_EXPORT
@interface MTLCounterSampleBufferDescriptor : NSObject <NSCopying> {
    id<MTLCounterSet> _counterSet;
    NSString *_label;
    MTLStorageMode _storageMode;
    NSUInteger _sampleCount;
}
@property (nullable, readwrite, retain) id<MTLCounterSet> counterSet;
@property (readwrite, copy) NSString *label;
@property (readwrite, nonatomic) MTLStorageMode storageMode;
@property (readwrite, nonatomic) NSUInteger sampleCount;
@end

@protocol MTLCounterSampleBuffer <NSObject>
@property (readonly) id<MTLDevice> device;
@property (readonly) NSString *label;
@property (readonly) NSUInteger sampleCount;
/* An MTLCounterResultTimestamp for each sample of the range; nil for private storage. */
- (nullable NSData *)resolveCounterRange:(NSRange)range;
@end

NS_ASSUME_NONNULL_END
#endif
