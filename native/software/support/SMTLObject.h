/* The base of the software Metal's classes: counts its instances and their references, and carries the label that most
 * Metal objects have. */
#ifndef SMTL_OBJECT_H
#define SMTL_OBJECT_H

#import <Foundation/Foundation.h>
#include <SoftwareMetal/SoftwareMetal.h>

@interface SMTLObject : NSObject {
    /* Beside the first. Foundation counts in a place that ThreadSanitizer does not see: what one thread had read before
     * it let go of an object, and another freed because it was the last to let go, looked like a race. */
    long _references;
    NSString *_label;
}
/* Which counter the class's instances go to; each subclass says. */
+ (smtl_object_class)objectClass;
@property (copy, atomic) NSString *label;
@end

#endif
