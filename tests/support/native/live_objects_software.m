/* How many Objective-C objects exist, with the software Metal and GNUstep: both count theirs. */
#import <Foundation/Foundation.h>
#import <Foundation/NSDebug.h>
#import <SoftwareMetal/SoftwareMetal.h>

void mbts_count_objects(void);
int64_t mbts_live_objects(void);
void mbts_print_live_objects(void);

/* Begins to count the objects of Foundation's classes. Those of before are not known. */
void mbts_count_objects(void) { GSDebugAllocationActive(YES); }

static int64_t foundation_objects(void) {
    int64_t count = 0;
    Class *classes = GSDebugAllocationClassList();
    for (Class *class = classes; *class != Nil; class ++) {
        /* Each thread keeps a few drained pools to use them again. What a pool that is not drained holds is counted. */
        if (*class != [NSAutoreleasePool class]) count += GSDebugAllocationCount(*class);
    }
    NSZoneFree(NSDefaultMallocZone(), classes);
    return count;
}

/* Objects of Foundation's classes and of the software Metal's. */
int64_t mbts_live_objects(void) {
    @autoreleasepool {
        return foundation_objects() + smtl_live_objects_total();
    }
}

/* Says on stderr which objects there are. */
void mbts_print_live_objects(void) {
    @autoreleasepool {
        for (int class = 0; class < SMTL_OBJECT_CLASS_COUNT; class ++) {
            const int64_t count = smtl_live_objects((smtl_object_class) class);
            if (count != 0)
                fprintf(stderr, "%lld\t%s\n", (long long)count, smtl_object_class_name((smtl_object_class) class));
        }
        fprintf(stderr, "%s", GSDebugAllocationList(NO));
    }
}
