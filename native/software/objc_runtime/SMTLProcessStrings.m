#include "SMTLProcessStrings.h"

#import <Foundation/Foundation.h>
#include <objc/runtime.h>
#include <pthread.h>
#include <stdlib.h>

typedef id (*initialiser)(id, SEL, const char *, NSUInteger, NSStringEncoding);

/* Foundation's own method, in whose place init_readable is called. */
static initialiser init_with_bytes;

static id init_readable(id string, SEL selector, const char *bytes, NSUInteger length, NSStringEncoding encoding) {
    id made = init_with_bytes(string, selector, bytes, length, encoding);
    char *readable = made == nil ? malloc(length + 1) : NULL;
    if (readable == NULL) return made;
    for (NSUInteger i = 0; i < length; i++) readable[i] = (unsigned char)bytes[i] < 0x80 ? bytes[i] : '?';
    made = init_with_bytes([NSString alloc], selector, readable, length, encoding);
    free(readable);
    return made;
}

static void read_strings(void) {
    /* [NSString alloc] gives an object of this class. */
    Method method = class_getInstanceMethod(objc_getClass("GSPlaceholderString"), @selector(initWithBytes:
                                                                                                   length:encoding:));
    if (method == NULL) return;
    init_with_bytes = (initialiser)method_getImplementation(method);
    method_setImplementation(method, (IMP)init_readable);
    [NSProcessInfo class];
    method_setImplementation(method, (IMP)init_with_bytes);
}

void SMTLReadProcessStrings(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_strings);
}
