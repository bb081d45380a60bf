#import "SMTLObject.h"

#include "statistics.h"

@implementation SMTLObject

@synthesize label = _label;

+ (smtl_object_class)objectClass {
    [self doesNotRecognizeSelector:_cmd];
    return SMTL_OBJECT_CLASS_COUNT;
}

+ (id)allocWithZone:(NSZone *)zone {
    id object = [super allocWithZone:zone];
    smtl_count_created([self objectClass]);
    return object;
}

- (id)retain {
    __atomic_fetch_add(&_references, 1, __ATOMIC_RELAXED);
    return self;
}

- (BOOL)retainIfAlive {
    long references = __atomic_load_n(&_references, __ATOMIC_RELAXED);
    while (references >= 0)
        if (__atomic_compare_exchange_n(&_references, &references, references + 1, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return YES;
    return NO;
}

- (oneway void)release {
    if (__atomic_fetch_sub(&_references, 1, __ATOMIC_ACQ_REL) == 0) [self dealloc];
}

- (NSUInteger)retainCount {
    return (NSUInteger)__atomic_load_n(&_references, __ATOMIC_RELAXED) + 1;
}

- (void)dealloc {
    smtl_count_destroyed([[self class] objectClass]);
    [_label release];
    [super dealloc];
}

@end
