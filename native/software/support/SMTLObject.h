/* The base of the software Metal's classes: counts its instances and their references, and carries the label that most
 * Metal objects have. */
#ifndef SMTL_OBJECT_H
#define SMTL_OBJECT_H

#import <Foundation/Foundation.h>
#include <SoftwareMetal/SoftwareMetal.h>

@interface SMTLObject : NSObject {
    /* The count of references. Foundation's own is not used, since ThreadSanitizer does not see it: a thread's read
     * before its release, and the dealloc by the thread that released last, looked like a race. */
    long _references;
    NSString *_label;
}
/* Which statistic counts the class's instances; each subclass says. */
+ (smtl_object_class)objectClass;
/* Retains the object unless its dealloc has begun. The caller knows that its memory is still there. */
- (BOOL)retainIfAlive;
@property (copy, atomic) NSString *label;
@end

#endif
