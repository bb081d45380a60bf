/* Functions of newer Objective-C runtimes that GCC's lacks or has in its headers alone: counting references by calls,
 * and a class asked for by one. Bindings of other languages are made of these; Rust's objc2 is. */
#import <Foundation/Foundation.h>
#include <objc/runtime.h>

id objc_retain(id object);
id objc_retain(id object) { return [object retain]; }

void objc_release(id object);
void objc_release(id object) { [object release]; }

id objc_autorelease(id object);
id objc_autorelease(id object) { return [object autorelease]; }

id objc_retainAutorelease(id object);
id objc_retainAutorelease(id object) { return [[object retain] autorelease]; }

/* For the result of a method: the method calls one of the first two, and its caller the third. Other runtimes then pass
 * the object on without the pool. */
id objc_autoreleaseReturnValue(id object);
id objc_autoreleaseReturnValue(id object) { return [object autorelease]; }

id objc_retainAutoreleaseReturnValue(id object);
id objc_retainAutoreleaseReturnValue(id object) { return [[object retain] autorelease]; }

id objc_retainAutoreleasedReturnValue(id object);
id objc_retainAutoreleasedReturnValue(id object) { return [object retain]; }

/* GCC's header has an inline function of that name, which this one must not call: in the object file both would have
 * one symbol, and this function would call itself. */
Class smtl_object_getClass(id object) __asm__("object_getClass");
Class smtl_object_getClass(id object) { return object ? object->class_pointer : Nil; }
