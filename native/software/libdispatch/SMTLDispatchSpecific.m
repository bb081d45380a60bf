#include "SMTLDispatchSpecific.h"

#import "SMTLDispatchQueue.h"
#include <stdlib.h>

struct smtl_specific {
    smtl_specific *next;
    const void *key;
    void *context;
    dispatch_function_t destructor;
};

smtl_specific *smtl_specifics_set(smtl_specific **list, const void *key, void *context,
                                  dispatch_function_t destructor) {
    smtl_specific **link = list;
    while (*link != NULL && (*link)->key != key) link = &(*link)->next;
    smtl_specific *replaced = *link;
    if (replaced != NULL) {
        *link = replaced->next;
        replaced->next = NULL;
    }
    if (context != NULL) {
        smtl_specific *added = malloc(sizeof *added);
        if (added == NULL) [NSException raise:NSMallocException format:@"dispatch_queue_set_specific: out of memory"];
        *added = (smtl_specific){*list, key, context, destructor};
        *list = added;
    }
    return replaced;
}

void *smtl_specifics_get(const smtl_specific *list, const void *key) {
    while (list != NULL && list->key != key) list = list->next;
    return list == NULL ? NULL : list->context;
}

void smtl_specifics_free(smtl_specific *list) {
    while (list != NULL) {
        smtl_specific *next = list->next;
        if (list->destructor != NULL) list->destructor(list->context);
        free(list);
        list = next;
    }
}

void dispatch_queue_set_specific(dispatch_queue_t queue, const void *key, void *context,
                                 dispatch_function_t destructor) {
    [(SMTLDispatchQueue *)queue setSpecific:context forKey:key destructor:destructor];
}

void *dispatch_queue_get_specific(dispatch_queue_t queue, const void *key) {
    return [(SMTLDispatchQueue *)queue specificForKey:key];
}

void *dispatch_get_specific(const void *key) {
    for (smtl_queue_frame *frame = smtl_queue_frames(); frame != NULL; frame = frame->below) {
        void *context = [frame->queue specificForKey:key];
        if (context != NULL) return context;
    }
    return NULL;
}
