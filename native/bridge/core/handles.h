/* What all opaque handles of metal_bridge.h have in common. Included from C and from Objective-C.
 *
 * A handle is a C structure with a reference count that owns a +1 reference to its Metal object. It holds what checks
 * need (lengths, limits, state), so that a check costs no message. Functions of the bridge's own have the prefix
 * `mtbi_`; only those of the header have `mtb_`. */
#ifndef MTBI_HANDLES_H
#define MTBI_HANDLES_H

#include "metal_bridge_memory.h"

#include <pthread.h>
#include <stdatomic.h>

#ifdef __OBJC__
#import <Metal/Metal.h>
#define MTBI_OBJECT(protocol) id<protocol>
#define MTBI_INSTANCE(class) class *
#else
/* A plain C file passes Metal's objects on, but cannot send them a message. */
#define MTBI_OBJECT(protocol) void *
#define MTBI_INSTANCE(class) void *
#endif

/* The first member of every handle but mtb_error, which is not counted by reference. */
typedef struct mtbi_handle {
    atomic_size_t references;
    mtb_handle_kind kind;
    /* The release of the last reference calls this: the destructor of the kind, or that of the pool that lent it. */
    void (*destroy)(struct mtbi_handle *handle);
    /* The compute encoder that last kept the handle alive: see compute/bindings.c. */
    _Atomic uint64_t last_encoder;
} mtbi_handle;

/* A zeroed handle of `size` bytes with one reference, counted as live. NULL and MTB_OUT_OF_MEMORY if there is no
 * memory; `function` is the ABI function to blame. */
void *mtbi_handle_create(mtb_handle_kind kind, size_t size, void (*destroy)(mtbi_handle *), mtb_error **error,
                         const char *function);
/* Frees the memory of a handle whose parts have been released. */
void mtbi_handle_free(mtbi_handle *handle);
void mtbi_handle_retain(mtbi_handle *handle);
void mtbi_handle_release(mtbi_handle *handle);
/* Adds a reference, unless there is none any more. */
bool mtbi_handle_share(mtbi_handle *handle);
/* Gives a handle that a pool has kept without a reference its first again. */
void mtbi_handle_revive(mtbi_handle *handle);
/* Adjusts the live count of a kind: for handles that are not made by mtbi_handle_create. */
void mtbi_handle_count_made(mtb_handle_kind kind);
void mtbi_handle_count_freed(mtb_handle_kind kind);

#endif
