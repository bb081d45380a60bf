/* How tests make Metal raise Objective-C exceptions, and what they expect of the call. */
#ifndef EXCEPTIONS_H
#define EXCEPTIONS_H

#include "harness.h"

#import <Foundation/Foundation.h>
#import <objc/runtime.h>

/* Releases the error, which says that an exception was raised, and by which function. */
#define CHECK_EXCEPTION(raised, function)                                                               \
    do {                                                                                                \
        CHECK((raised) && strcmp(mtb_error_function(raised), function) == 0);                           \
        check_error(raised, MTB_EXCEPTION, "NSInvalidArgumentException", function, __FILE__, __LINE__); \
    } while (0)

/* An object that understands none of Metal's messages instead of another, while `call` runs: the runtime raises
 * NSInvalidArgumentException. */
#define WITHOUT_METAL(object, call)             \
    do {                                        \
        id metal_ = (id)(object);               \
        (object) = (id)[[NSObject alloc] init]; \
        call;                                   \
        [(id)(object) release];                 \
        (object) = metal_;                      \
    } while (0)

/* One method of an object's class instead of another, while `call` runs; `replaced` is the other one. */
#define WITH_METHOD(object, selector, method, replaced, call)                                \
    do {                                                                                     \
        Method method_ = class_getInstanceMethod(object_getClass((id)(object)), (selector)); \
        (replaced) = method_setImplementation(method_, (IMP)(void *)(method));               \
        call;                                                                                \
        method_setImplementation(method_, (replaced));                                       \
    } while (0)

#endif
