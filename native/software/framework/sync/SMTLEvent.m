#import "SMTLEvent.h"

#include "SMTLShuffledQueues.h"
#include "objc_runtime/SMTLBlocks.h"
#import "support/SMTLError.h"
#include "support/clock.h"
#include "support/delay.h"
#include <stdlib.h>

@implementation SMTLEvent

+ (smtl_object_class)objectClass {
    return SMTL_OBJECT_EVENT;
}

- (instancetype)initWithDevice:(SMTLDevice *)device {
    self = [super init];
    _device = device;
    pthread_mutex_init(&_mutex, NULL);
    /* Timeouts must not follow the wall clock when somebody sets it. */
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&_changed, &attributes);
    pthread_condattr_destroy(&attributes);
    return self;
}

- (void)dealloc {
    pthread_cond_destroy(&_changed);
    pthread_mutex_destroy(&_mutex);
    smtl_clock_free(_signals);
    [super dealloc];
}

- (void)signalValue:(uint64_t)value {
    pthread_mutex_lock(&_mutex);
    _value = value;
    pthread_cond_broadcast(&_changed);
    pthread_mutex_unlock(&_mutex);
}

- (void)noteSignalOf:(const smtl_order *)order {
    smtl_order_signal(order, &_signals);
}

- (void)noteWaitOf:(smtl_order *)order {
    smtl_order_wait(order, &_signals);
}

- (void)waitForValue:(uint64_t)value {
    pthread_mutex_lock(&_mutex);
    while (_value < value) pthread_cond_wait(&_changed, &_mutex);
    pthread_mutex_unlock(&_mutex);
}

- (id<MTLDevice>)device {
    return _device;
}

@end

/* A block waiting for a value; the listener keeps its queue alive. */
typedef struct smtl_notification {
    struct smtl_notification *next;
    uint64_t value;
    MTLSharedEventListener *listener;
    MTLSharedEventNotificationBlock block;
} smtl_notification;

@implementation SMTLSharedEvent

+ (smtl_object_class)objectClass {
    return SMTL_OBJECT_SHARED_EVENT;
}

/* All devices can use it. */
- (id<MTLDevice>)device {
    return nil;
}

static void free_notification(smtl_notification *notification) {
    Block_release(notification->block);
    [notification->listener release];
    free(notification);
}

- (void)dealloc {
    while (_notifications != NULL) {
        smtl_notification *next = _notifications->next;
        free_notification(_notifications);
        _notifications = next;
    }
    [super dealloc];
}

/* The CPU has seen the event's value, and what it commits from now on comes after the signals. */
- (void)observe {
    if (smtl_sanitizer_enabled()) smtl_order_observe(&_signals);
}

/* Hands the block to its queue and frees the notification; the event lives until the block has run. */
- (void)deliver:(smtl_notification *)notification value:(uint64_t)value {
    MTLSharedEventNotificationBlock block = notification->block;
    [self observe];
    dispatch_async([notification->listener dispatchQueue], ^{
        smtl_delay();
        block(self, value);
    });
    free_notification(notification);
}

- (void)signalValue:(uint64_t)value {
    smtl_notification *due = NULL;
    smtl_notification **due_end = &due;
    pthread_mutex_lock(&_mutex);
    _value = value;
    for (smtl_notification **link = &_notifications; *link != NULL;) {
        smtl_notification *notification = *link;
        if (notification->value <= value) {
            *link = notification->next;
            notification->next = NULL;
            *due_end = notification;
            due_end = &notification->next;
        } else {
            link = &notification->next;
        }
    }
    pthread_cond_broadcast(&_changed);
    pthread_mutex_unlock(&_mutex);
    while (due != NULL) {
        smtl_notification *next = due->next;
        [self deliver:due value:value];
        due = next;
    }
}

- (uint64_t)signaledValue {
    pthread_mutex_lock(&_mutex);
    uint64_t value = _value;
    pthread_mutex_unlock(&_mutex);
    [self observe];
    return value;
}

- (void)setSignaledValue:(uint64_t)value {
    if (smtl_sanitizer_enabled()) smtl_order_signal_by_cpu(&_signals);
    [self signalValue:value];
}

- (void)notifyListener:(MTLSharedEventListener *)listener
               atValue:(uint64_t)value
                 block:(MTLSharedEventNotificationBlock)block {
    const char *where = "-[MTLSharedEvent notifyListener:atValue:block:]";
    SMTL_REQUIRE(listener != nil, where, @"listener must not be nil");
    SMTL_REQUIRE(block != NULL, where, @"block must not be nil");
    smtl_notification *notification = calloc(1, sizeof *notification);
    if (notification == NULL) [NSException raise:NSMallocException format:@"%s: out of memory", where];
    notification->value = value;
    notification->listener = [listener retain];
    notification->block = SMTLCopyBlock(block);
    pthread_mutex_lock(&_mutex);
    uint64_t reached = _value;
    if (reached < value) {
        smtl_notification **link = &_notifications;
        while (*link != NULL) link = &(*link)->next;
        *link = notification;
    }
    pthread_mutex_unlock(&_mutex);
    if (reached >= value) [self deliver:notification value:reached];
}

/* The time `milliseconds` from now; false if that is beyond what the clock can say: wait for ever. */
static bool deadline_after(uint64_t milliseconds, struct timespec *deadline) {
    const uint64_t century = 100ull * 365 * 24 * 3600 * 1000;
    if (milliseconds > century) return false;
    *deadline = smtl_timespec(smtl_now_ns() + milliseconds * 1000000);
    return true;
}

- (BOOL)waitUntilSignaledValue:(uint64_t)value timeoutMS:(uint64_t)milliseconds {
    struct timespec deadline;
    bool limited = deadline_after(milliseconds, &deadline);
    int status = 0;
    smtl_shuffled_queues_host_waits();
    pthread_mutex_lock(&_mutex);
    while (_value < value && status == 0) {
        status =
            limited ? pthread_cond_timedwait(&_changed, &_mutex, &deadline) : pthread_cond_wait(&_changed, &_mutex);
    }
    BOOL reached = _value >= value;
    smtl_shuffled_queues_host_goes_on();
    pthread_mutex_unlock(&_mutex);
    if (reached) [self observe];
    return reached;
}

- (MTLSharedEventHandle *)newSharedEventHandle {
    return [[MTLSharedEventHandle alloc] initWithSharedEvent:self];
}

@end

@implementation MTLSharedEventHandle

- (instancetype)initWithSharedEvent:(SMTLSharedEvent *)event {
    self = [super init];
    _event = [event retain];
    return self;
}

- (void)dealloc {
    [_event release];
    [super dealloc];
}

- (NSString *)label {
    return [_event label];
}

- (SMTLSharedEvent *)sharedEvent {
    return (SMTLSharedEvent *)_event;
}

@end

@implementation MTLSharedEventListener

+ (MTLSharedEventListener *)sharedListener {
    static MTLSharedEventListener *shared;
    @synchronized(self) {
        if (shared == nil) shared = [[MTLSharedEventListener alloc] init];
    }
    return shared;
}

- (instancetype)init {
    dispatch_queue_t queue = dispatch_queue_create("event listener", DISPATCH_QUEUE_SERIAL);
    self = [self initWithDispatchQueue:queue];
    dispatch_release(queue);
    return self;
}

- (instancetype)initWithDispatchQueue:(dispatch_queue_t)dispatchQueue {
    self = [super init];
    _dispatchQueue = [dispatchQueue retain];
    return self;
}

- (void)dealloc {
    [_dispatchQueue release];
    [super dealloc];
}

- (dispatch_queue_t)dispatchQueue {
    return _dispatchQueue;
}

@end

@implementation SMTLFence

+ (smtl_object_class)objectClass {
    return SMTL_OBJECT_FENCE;
}

- (instancetype)initWithDevice:(SMTLDevice *)device {
    self = [super init];
    _device = device;
    return self;
}

- (void)dealloc {
    smtl_clock_free(_signals);
    [super dealloc];
}

- (void)noteSignalOf:(const smtl_order *)order {
    smtl_order_signal(order, &_signals);
}

- (void)noteWaitOf:(smtl_order *)order {
    smtl_order_wait(order, &_signals);
}

- (id<MTLDevice>)device {
    return _device;
}

@end
