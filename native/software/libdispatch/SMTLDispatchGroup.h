#ifndef SMTL_DISPATCH_GROUP_INTERNAL_H
#define SMTL_DISPATCH_GROUP_INTERNAL_H

#import "SMTLDispatchObject.h"
#include <pthread.h>

typedef struct smtl_group_notification smtl_group_notification;

/* A group stays alive while something is in it, even if everybody releases it. */
@interface SMTLDispatchGroup : SMTLDispatchObject <OS_dispatch_group> {
@public
    pthread_mutex_t _mutex;
    pthread_cond_t _emptied;
    /* Guarded by the mutex: */
    unsigned long _members;
    uint64_t _generation; /* how often it has become empty */
    smtl_group_notification *_first, **_last;
}
@end

#endif
