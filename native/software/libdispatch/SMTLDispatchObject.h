/* The base of what <dispatch/dispatch.h> creates. */
#ifndef SMTL_DISPATCH_OBJECT_INTERNAL_H
#define SMTL_DISPATCH_OBJECT_INTERNAL_H

#import "support/SMTLObject.h"
#import <dispatch/dispatch.h>

@interface SMTLDispatchObject : SMTLObject <OS_dispatch_object> {
    void *_context;
    dispatch_function_t _finalizer;
}
/* Makes the object live as long as the process, and takes it from the count of live objects. */
- (void)makeImmortal;
@end

#endif
