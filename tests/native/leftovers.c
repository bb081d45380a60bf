/* Linked into every program that the tests run: at its end no handle of the bridge and no object of the software Metal
 * may be alive. What the program has returned counts only beside that. */
#include "metal_bridge.h"

#ifdef __linux__
#include <SoftwareMetal/SoftwareMetal.h>
#endif

#include <stdio.h>
#include <unistd.h>

/* Devices live as long as the process, and are not counted. */
static int64_t live_objects(bool are_named) {
    int64_t sum = 0;
#ifdef __linux__
    for (int kind = 0; kind < SMTL_OBJECT_CLASS_COUNT; kind++) {
        int64_t live = kind == SMTL_OBJECT_DEVICE ? 0 : smtl_live_objects((smtl_object_class)kind);
        sum += live;
        if (live != 0 && are_named)
            fprintf(stderr, "%lld objects are left: %s\n", (long long)live,
                    smtl_object_class_name((smtl_object_class)kind));
    }
#endif
    for (unsigned kind = 0; kind < MTB_HANDLE_KIND_COUNT; kind++) {
        uint64_t live = mtb_live_handles((mtb_handle_kind)kind);
        sum += (int64_t)live;
        if (live != 0 && are_named)
            fprintf(stderr, "%llu handles are left: %s\n", (unsigned long long)live,
                    mtb_handle_kind_name((mtb_handle_kind)kind));
    }
    return sum;
}

/* The GPU may release its last objects a moment after those who waited for it were told. */
__attribute__((destructor)) static void see_that_nothing_is_left(void) {
    for (int i = 0; i < 120000 && live_objects(false) != 0; i++) usleep(1000);
    if (live_objects(true) != 0) _exit(1);
}
