/* Events: a counter that queues and, for shared events, the CPU wait on and raise. */
#ifndef SMTL_EVENT_H
#define SMTL_EVENT_H

#import "framework/device/SMTLDevice.h"
#import <Metal/MTLEvent.h>
#import <Metal/MTLFence.h>
#include <pthread.h>

#include "sanitizer/sanitizer.h"

@interface SMTLEvent : SMTLObject <MTLEvent> {
@public
    SMTLDevice *_device;
@protected
    pthread_mutex_t _mutex;
    pthread_cond_t _changed;
    uint64_t _value;
    smtl_clock *_signals; /* for the sanitizer */
}
- (instancetype)initWithDevice:(SMTLDevice *)device;
- (void)signalValue:(uint64_t)value;
/* For the kernel sanitizer: what comes before every wait for the event. */
- (void)noteSignalOf:(const smtl_order *)order;
- (void)noteWaitOf:(smtl_order *)order;
/* Blocks until the event's value is `value` or more. */
- (void)waitForValue:(uint64_t)value;
@end

@interface SMTLSharedEvent : SMTLEvent <MTLSharedEvent> {
    struct smtl_notification *_notifications;
}
@end

@interface MTLSharedEventHandle (SMTL)
- (instancetype)initWithSharedEvent:(SMTLSharedEvent *)event;
- (SMTLSharedEvent *)sharedEvent;
@end

@interface SMTLFence : SMTLObject <MTLFence> {
@public
    SMTLDevice *_device;
@protected
    smtl_clock *_signals; /* for the sanitizer */
}
- (instancetype)initWithDevice:(SMTLDevice *)device;
- (void)noteSignalOf:(const smtl_order *)order;
- (void)noteWaitOf:(smtl_order *)order;
@end

#endif
