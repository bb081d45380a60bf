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

/* Puts an object that understands none of Metal's messages in the place of `object` while `call` runs. The runtime
 * raises NSInvalidArgumentException for such messages. */
#define WITHOUT_METAL(object, call)             \
    do {                                        \
        id metal_ = (id)(object);               \
        (object) = (id)[[NSObject alloc] init]; \
        call;                                   \
        [(id)(object) release];                 \
        (object) = metal_;                      \
    } while (0)

/* Replaces a method of the object's class by `method` while `call` runs; `replaced` gets the class's own method. */
#define WITH_METHOD(object, selector, method, replaced, call)                                \
    do {                                                                                     \
        Method method_ = class_getInstanceMethod(object_getClass((id)(object)), (selector)); \
        (replaced) = method_setImplementation(method_, (IMP)(void *)(method));               \
        call;                                                                                \
        method_setImplementation(method_, (replaced));                                       \
    } while (0)

#endif
