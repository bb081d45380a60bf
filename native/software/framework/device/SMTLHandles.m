#define _GNU_SOURCE /* PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP */
#import "SMTLHandles.h"

#include <pthread.h>
#include <stdlib.h>

/* A handle is a mark that no address and no small number has, a generation and a place in the table. */
#define MARK (UINT64_C(0xc0de) << 48)
#define PLACE_BITS 24

typedef struct {
    SMTLObject *object; /* nil: the place is free */
    smtl_object_class kind;
    uint64_t handle; /* of this object, or of the last that had the place */
    size_t next_free;
} entry;

/* Kernels that encode without a pause do not keep out those who make and release pipelines. Nobody reads twice. */
static pthread_rwlock_t lock = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static entry *entries;
static size_t count, capacity;
static size_t first_free; /* its number plus one; 0: none is free */

static bool grow(void) {
    if (count < capacity) return true;
    const size_t larger = capacity == 0 ? 64 : 2 * capacity;
    if (larger > UINT64_C(1) << PLACE_BITS) return false;
    entry *grown = realloc(entries, larger * sizeof *grown);
    if (grown == NULL) return false;
    entries = grown;
    capacity = larger;
    return true;
}

uint64_t SMTLHandleCreate(SMTLObject *object) {
    uint64_t handle = 0;
    pthread_rwlock_wrlock(&lock);
    if (first_free == 0 && grow()) {
        entries[count] = (entry){.handle = MARK | count, .next_free = 0};
        first_free = ++count;
    }
    if (first_free != 0) {
        entry *taken = &entries[first_free - 1];
        first_free = taken->next_free;
        /* The generation wraps around; the mark above it stays. */
        handle = (taken->handle + (UINT64_C(1) << PLACE_BITS)) & ((UINT64_C(1) << 48) - 1);
        handle |= MARK;
        taken->handle = handle;
        taken->object = object;
        taken->kind = [[object class] objectClass];
    }
    pthread_rwlock_unlock(&lock);
    return handle;
}

static entry *entry_of(uint64_t handle) {
    const size_t place = handle & ((UINT64_C(1) << PLACE_BITS) - 1);
    return place < count && entries[place].handle == handle && entries[place].object != nil ? &entries[place] : NULL;
}

void SMTLHandleEnd(uint64_t handle) {
    if (handle == 0) return;
    pthread_rwlock_wrlock(&lock);
    entry *ended = entry_of(handle);
    ended->object = nil;
    ended->next_free = first_free;
    first_free = (size_t)(ended - entries) + 1;
    pthread_rwlock_unlock(&lock);
}

void SMTLHandlesLock(void) { pthread_rwlock_rdlock(&lock); }

void SMTLHandlesUnlock(void) { pthread_rwlock_unlock(&lock); }

id SMTLHandleFind(uint64_t handle, smtl_object_class kind) {
    const entry *found = entry_of(handle);
    return found != NULL && found->kind == kind ? found->object : nil;
}
