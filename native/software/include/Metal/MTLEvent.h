#ifndef SMTL_MTLEVENT_H
#define SMTL_MTLEVENT_H

#import <Metal/MTLDefines.h>
#import <dispatch/dispatch.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLDevice;
@protocol MTLSharedEvent;

@protocol MTLEvent <NSObject>
@property (readonly, nullable) id<MTLDevice> device;
@property (nullable, copy, atomic) NSString *label;
@end

/* Runs notification blocks on a dispatch queue, or on a queue of its own. */
MTL_EXPORT
@interface MTLSharedEventListener : NSObject {
    dispatch_queue_t _dispatchQueue;
}
+ (MTLSharedEventListener *)sharedListener;
- (instancetype)init;
- (instancetype)initWithDispatchQueue:(dispatch_queue_t)dispatchQueue;
@property (nonatomic, readonly) dispatch_queue_t dispatchQueue;
@end

/* Names a shared event to another user of the same process. */
MTL_EXPORT
@interface MTLSharedEventHandle : NSObject {
    id<MTLSharedEvent> _event;
}
@property (readonly, nullable) NSString *label;
@end

typedef void (^MTLSharedEventNotificationBlock)(id<MTLSharedEvent> event, uint64_t value);

@protocol MTLSharedEvent <MTLEvent>
@property (readwrite) uint64_t signaledValue;
- (void)notifyListener:(MTLSharedEventListener *)listener
               atValue:(uint64_t)value
                 block:(MTLSharedEventNotificationBlock)block;
- (MTLSharedEventHandle *)newSharedEventHandle;
- (BOOL)waitUntilSignaledValue:(uint64_t)value timeoutMS:(uint64_t)milliseconds;
@end

NS_ASSUME_NONNULL_END
#endif
