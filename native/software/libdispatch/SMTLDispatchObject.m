#import "SMTLDispatchObject.h"

#import "SMTLDispatchQueue.h"
#import "support/statistics.h"
#import "support/SMTLError.h"
#include <limits.h>

@implementation SMTLDispatchObject

+ (smtl_object_class)objectClass {
    return SMTL_OBJECT_DISPATCH;
}

- (void)makeImmortal {
    _references = LONG_MAX / 2; /* more than anybody releases */
    smtl_count_destroyed(SMTL_OBJECT_DISPATCH);
}

- (void)dealloc {
    if (_finalizer != NULL && _context != NULL)
        dispatch_async_f(dispatch_get_global_queue(QOS_CLASS_DEFAULT, 0), _context, _finalizer);
    [super dealloc];
}

static SMTLDispatchObject *dispatch_object(dispatch_object_t object) { return (SMTLDispatchObject *)object; }

void dispatch_retain(dispatch_object_t object) { [object retain]; }

void dispatch_release(dispatch_object_t object) { [object release]; }

void *dispatch_get_context(dispatch_object_t object) {
    return __atomic_load_n(&dispatch_object(object)->_context, __ATOMIC_ACQUIRE);
}

void dispatch_set_context(dispatch_object_t object, void *context) {
    __atomic_store_n(&dispatch_object(object)->_context, context, __ATOMIC_RELEASE);
}

void dispatch_set_finalizer_f(dispatch_object_t object, dispatch_function_t finalizer) {
    dispatch_object(object)->_finalizer = finalizer;
}

@end

void dispatch_suspend(dispatch_object_t object) {
    SMTL_REQUIRE([object isKindOfClass:[SMTLDispatchQueue class]], "dispatch_suspend", @"only queues are suspended");
    [(SMTLDispatchQueue *)object suspend];
}

void dispatch_resume(dispatch_object_t object) {
    SMTL_REQUIRE([object isKindOfClass:[SMTLDispatchQueue class]], "dispatch_resume", @"only queues are resumed");
    [(SMTLDispatchQueue *)object resume];
}
