#import "SMTLObject.h"

#include "SMTLCounts.h"

@implementation SMTLObject

@synthesize label = _label;

+ (smtl_object_class)objectClass
{
    [self doesNotRecognizeSelector:_cmd];
    return SMTL_OBJECT_CLASS_COUNT;
}

+ (id)allocWithZone:(NSZone *)zone
{
    id object = [super allocWithZone:zone];
    smtl_count_created([self objectClass]);
    return object;
}

- (void)dealloc
{
    smtl_count_destroyed([[self class] objectClass]);
    [_label release];
    [super dealloc];
}

@end
