#import "SMTLDispatchObject.h"

#include "SMTLDispatchPool.h"
#include "SMTLDispatchTime.h"

@interface SMTLDispatchSemaphore : SMTLDispatchObject <OS_dispatch_semaphore> {
@public
    pthread_mutex_t _mutex;
    pthread_cond_t _signalled;
    /* Guarded by the mutex: */
    intptr_t _value;
    unsigned _waiters;
}
@end

@implementation SMTLDispatchSemaphore

- (instancetype)initWithValue:(intptr_t)value {
    self = [super init];
    pthread_mutex_init(&_mutex, NULL);
    smtl_condition_init(&_signalled);
    _value = value;
    return self;
}

- (void)dealloc {
    pthread_cond_destroy(&_signalled);
    pthread_mutex_destroy(&_mutex);
    [super dealloc];
}

@end

dispatch_semaphore_t dispatch_semaphore_create(intptr_t value) {
    return value < 0 ? nil : [[SMTLDispatchSemaphore alloc] initWithValue:value];
}

intptr_t dispatch_semaphore_wait(dispatch_semaphore_t object, dispatch_time_t timeout) {
    SMTLDispatchSemaphore *semaphore = (SMTLDispatchSemaphore *)object;
    const uint64_t deadline = smtl_deadline(timeout);
    bool in_time = true;
    pthread_mutex_lock(&semaphore->_mutex);
    if (semaphore->_value == 0) {
        smtl_pool_begin_wait();
        semaphore->_waiters++;
        while (semaphore->_value == 0 && in_time)
            in_time = smtl_condition_wait(&semaphore->_signalled, &semaphore->_mutex, deadline);
        semaphore->_waiters--;
        smtl_pool_end_wait();
    }
    const bool taken = semaphore->_value > 0;
    semaphore->_value -= taken;
    pthread_mutex_unlock(&semaphore->_mutex);
    return taken ? 0 : 1;
}

intptr_t dispatch_semaphore_signal(dispatch_semaphore_t object) {
    SMTLDispatchSemaphore *semaphore = (SMTLDispatchSemaphore *)object;
    pthread_mutex_lock(&semaphore->_mutex);
    semaphore->_value++;
    const intptr_t wakes = semaphore->_waiters > 0;
    /* Inside the mutex: the thread that it wakes may release the semaphore. */
    pthread_cond_signal(&semaphore->_signalled);
    pthread_mutex_unlock(&semaphore->_mutex);
    return wakes;
}
