/* The blocks runtime that Linux distributions ship copies a block but does not retain the objects that it captures: they
 * would be gone when a completion handler runs. The compiler calls the two functions below for each captured variable;
 * these take precedence over the library's, handle objects, and leave every other kind of variable to it. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "SMTLBlocks.h"

#import <Foundation/Foundation.h>
#include <Block.h>
#include <dlfcn.h>
#include <pthread.h>

#define FIELD_IS_OBJECT 3 /* the flag with which clang marks a captured object */

static void (*next_assign)(void *, const void *, const int);
static void (*next_dispose)(const void *, const int);
static pthread_once_t next_once = PTHREAD_ONCE_INIT;

static void find_next(void)
{
    /* Through void **, since ISO C has no conversion from an object pointer to a function pointer. */
    *(void **)&next_assign = dlsym(RTLD_NEXT, "_Block_object_assign");
    *(void **)&next_dispose = dlsym(RTLD_NEXT, "_Block_object_dispose");
}

void _Block_object_assign(void *destination, const void *object, const int flags)
{
    if (flags == FIELD_IS_OBJECT) {
        *(const void **)destination = [(id)object retain];
        return;
    }
    pthread_once(&next_once, find_next);
    next_assign(destination, object, flags);
}

void _Block_object_dispose(const void *object, const int flags)
{
    if (flags == FIELD_IS_OBJECT) {
        [(id)object release];
        return;
    }
    pthread_once(&next_once, find_next);
    next_dispose(object, flags);
}

void *SMTLCopyBlock(const void *block)
{
    return block == NULL ? NULL : _Block_copy(block);
}
