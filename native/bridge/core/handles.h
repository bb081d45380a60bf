/* What is behind the opaque handles of metal_bridge.h. Included from C and from Objective-C.
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
} mtbi_handle;

/* A zeroed handle of `size` bytes with one reference, counted as live. NULL and MTB_OUT_OF_MEMORY where there is no
 * memory; `function` is the ABI function to blame. */
void *mtbi_handle_create(mtb_handle_kind kind, size_t size, mtb_error **error, const char *function);
/* Frees the memory of a handle whose parts have been released. */
void mtbi_handle_free(mtbi_handle *handle);
/* Adds a reference, unless there is none any more. */
bool mtbi_handle_share(mtbi_handle *handle);
/* Gives a handle that a pool has kept without a reference its first again. */
void mtbi_handle_revive(mtbi_handle *handle);
/* Adjusts the live count of a kind: for handles that are not made by mtbi_handle_create. */
void mtbi_handle_count_made(mtb_handle_kind kind);
void mtbi_handle_count_freed(mtb_handle_kind kind);

struct mtb_device {
    mtbi_handle handle;
    MTBI_OBJECT(MTLDevice) metal;
    /* info.name is this device's own copy. */
    mtb_device_info info;
    bool has_nonuniform_threadgroups;
};

/* Where an object of a pool goes when its last reference is gone. */
typedef struct mtbi_home {
    void (*take_back)(struct mtbi_home *home, void *handle);
} mtbi_home;

struct mtb_buffer {
    mtbi_handle handle;
    mtb_device *device;
    MTBI_OBJECT(MTLBuffer) metal;
    /* Less than Metal's buffer has where that comes from a pool. */
    size_t length;
    void *contents;
    uint64_t gpu_address;
    mtb_storage_mode mode;
    /* The compute encoder that last kept it alive: see compute/bindings.c. */
    _Atomic uint64_t keeper;
    /* NULL for a buffer that is no pool's. A command buffer keeps those of pools alive until it has completed, so that
     * none is handed out again while work uses it. */
    mtbi_home *home;
    /* For the pool: what it has of the same size, Metal's length, and when it came back. */
    mtb_buffer *next;
    size_t capacity;
    uint64_t last_used;
    bool is_labelled;
    /* What a peer device sees this through, made when one first does. See peer_view.m. */
    mtb_buffer *_Atomic view;
    /* For the arena: the heap that it is in. */
    void *place;
};

/* Room for command buffers that have neither completed nor been discarded. */
typedef struct mtbi_room {
    size_t taken;
    size_t limit;
} mtbi_room;

typedef enum mtbi_room_kind {
    /* Command buffers that a caller makes and may hold for as long as it likes. */
    MTBI_ROOM_CALLERS,
    /* Those of transfers and host functions, which are committed by the call that makes them. */
    MTBI_ROOM_TRANSFERS,
    MTBI_ROOM_KINDS
} mtbi_room_kind;

struct mtb_queue {
    mtbi_handle handle;
    mtb_device *device;
    MTBI_OBJECT(MTLCommandQueue) metal;
    pthread_mutex_t mutex;
    pthread_cond_t has_room;
    mtbi_room rooms[MTBI_ROOM_KINDS];
    /* Command buffers that were committed and whose callbacks have not all returned. */
    _Atomic uint64_t running;
    /* Transfers whose last step is the CPU's, that were committed and that have done it: an event has the latter
     * number, for the GPU to wait for. Made for the first. */
    _Atomic uint64_t committed_legs;
    _Atomic uint64_t done_legs;
    mtb_event *leg_event;
    /* Host functions and the like, by number: see queue/order.m. Under the mutex command buffers and functions take
     * their places. */
    pthread_mutex_t order_mutex;
    _Atomic uint64_t last_function;
    _Atomic uint64_t returned_function;
    /* Has the number of the last that has returned of those that command buffers wait for, the last of which is
     * `awaited_function`. Made for the first of these. */
    mtb_event *function_event;
    uint64_t awaited_function;
    mtb_command_buffer *held;
    /* As a buffer's. A queue that was changed for its user is not handed to another. */
    mtbi_home *home;
    mtb_queue *next;
    uint64_t last_used;
    bool is_changed;
};

/* Shared events work across devices, so no device is kept to check against. */
struct mtb_event {
    mtbi_handle handle;
    MTBI_OBJECT(MTLSharedEvent) metal;
    MTBI_INSTANCE(MTLSharedEventListener) listener;
    pthread_mutex_t mutex;
    /* The largest value that it is known to have had: it has no smaller one again. See mtbi_event_raise. */
    uint64_t reached;
    /* Signals that committed command buffers are still to make, and waits. See event/steps.h. */
    struct mtbi_step *pending;
    struct mtbi_step *waiting;
    /* Those who keep the handle and cannot signal: waits of command buffers, and one for all references together. */
    atomic_size_t keepers;
    /* No reference is left: the event stays at `reached`. */
    bool is_abandoned;
};

struct mtb_library {
    mtbi_handle handle;
    mtb_device *device;
    MTBI_OBJECT(MTLLibrary) metal;
    char *warnings;
    char **function_names;
    size_t function_count;
};

struct mtb_constant_values {
    mtbi_handle handle;
    MTBI_INSTANCE(MTLFunctionConstantValues) metal;
};

struct mtb_function {
    mtbi_handle handle;
    mtb_library *library;
    MTBI_OBJECT(MTLFunction) metal;
    char *name;
};

struct mtb_pipeline {
    mtbi_handle handle;
    mtb_device *device;
    MTBI_OBJECT(MTLComputePipelineState) metal;
    char *name;
    size_t execution_width;
    size_t max_threads;
    size_t static_threadgroup_memory;
    /* Each argument's name is the pipeline's own copy. */
    mtb_argument *arguments;
    size_t argument_count;
    /* As a buffer's. */
    _Atomic uint64_t keeper;
};

/* What releases the last reference: one for each counted kind, called by the release functions in handles.c. */
void mtbi_device_destroy(mtb_device *device);
void mtbi_buffer_destroy(mtb_buffer *buffer);
/* Without asking the home. */
void mtbi_buffer_free(mtb_buffer *buffer);
void mtbi_queue_destroy(mtb_queue *queue);
void mtbi_queue_free(mtb_queue *queue);
void mtbi_command_buffer_destroy(mtb_command_buffer *command_buffer);
void mtbi_compute_encoder_destroy(mtb_compute_encoder *encoder);
void mtbi_blit_encoder_destroy(mtb_blit_encoder *encoder);
void mtbi_library_destroy(mtb_library *library);
void mtbi_function_destroy(mtb_function *function);
void mtbi_constant_values_destroy(mtb_constant_values *values);
void mtbi_pipeline_destroy(mtb_pipeline *pipeline);
void mtbi_event_destroy(mtb_event *event);
void mtbi_memory_destroy(mtb_memory *memory);
void mtbi_transfer_destroy(mtb_transfer *transfer);
void mtbi_arena_destroy(mtb_arena *arena);
void mtbi_residency_set_destroy(mtb_residency_set *set);

#ifdef __OBJC__
/* A handle for the +1 `metal`, which is released on failure. */
mtb_buffer *mtbi_buffer_wrap(mtb_device *device, id<MTLBuffer> metal, size_t length, mtb_storage_mode mode,
                             mtb_error **error, const char *function);
#endif

/* One more, or one less, who keeps the handle without a reference. */
void mtbi_event_keep(mtb_event *event);
void mtbi_event_forget(mtb_event *event);
/* The event has `value` or more from here on: signals from the CPU where it has less. That is so too where it had more
 * once, and a signal that came late, or at the same time as the CPU's, has lowered it. Returns the event's value. */
uint64_t mtbi_event_raise(mtb_event *event, uint64_t value);

/* A queue's room for command buffers: `count` at once, so that nobody waits for the rest of what it needs. MTB_TIMEOUT,
 * and MTB_DEADLOCK inside a callback of the queue. */
mtb_status mtbi_queue_take_room(mtb_queue *queue, mtbi_room_kind kind, size_t count, uint64_t timeout_ns,
                                mtb_error **error, const char *function);
void mtbi_queue_give_room(mtb_queue *queue, mtbi_room_kind kind);

#endif
