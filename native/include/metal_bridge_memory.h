/* Memory: ordered transfers between host memory and buffers of every storage mode, buffers from pools and heaps
 * under a budget, and residency.
 *
 * The conventions of metal_bridge.h hold here: handles, errors, strings, threads, callbacks. Any thread may use a
 * memory, an arena or a residency set at the same time as others; a transfer belongs to one thread until it is
 * committed.
 *
 * Order
 *   A transfer starts after everything that was committed to its queue before it, and everything that is committed to
 *   the queue later starts after the transfer. Events order the work of other queues, as always. The calling thread
 *   waits in the synchronous form. It also waits if the queue has no free slot: for MTB_SLOT_TIMEOUT at most, unless
 *   the call gives a timeout. A queue has slots for as many transfers and host functions that have not completed as
 *   mtb_command_queue_create was given, and for at least 1024.
 *
 *   In the asynchronous form the GPU moves the bytes. If the GPU cannot write to the host memory itself, the CPU makes
 *   a host copy at the end, before the command buffer completes: whoever reads that memory waits for the command
 *   buffer, or reads it in a host function or a callback of the same queue.
 *
 * Sizes and offsets are bytes, of any value: what Metal's blits cannot do (they move multiples of 4) a kernel does.
 */
#ifndef METAL_BRIDGE_MEMORY_H
#define METAL_BRIDGE_MEMORY_H

#include "metal_bridge.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mtb_memory mtb_memory;     /* pools of a device, with a budget and statistics */
typedef struct mtb_transfer mtb_transfer; /* recorded copies and fills for one command buffer: Rust's Batch */
typedef struct mtb_arena mtb_arena;       /* scratch buffers in MTLHeaps */
typedef struct mtb_residency_set mtb_residency_set; /* MTLResidencySet */

/* ------------------------------------------------------------------------------------------------- memory */

/* Zeroes are the defaults. */
typedef struct mtb_memory_options {
    /* The most bytes that Metal may have allocated for this memory, in use and kept: the device's
     * recommended_max_working_set_size by default. Buffers count with their lengths, heaps with their sizes; a managed
     * buffer counts once, also where Metal keeps two copies of it. */
    uint64_t budget;
    /* Bytes of staging, in use and kept: 64 MiB by default. If transfers need more at once, the memory does not keep
     * the rest for the next transfer. All staging counts against the budget. */
    uint64_t staging_limit;
    /* Bytes of released buffers that are kept for the next allocation: a quarter of the budget by default. */
    uint64_t cache_limit;
    /* After this time without use the memory gives back what it keeps: 5 s by default; MTB_FOREVER: never. */
    uint64_t idle_ns;
} mtb_memory_options;

/* `options` may be NULL. */
mtb_memory *mtb_memory_create(mtb_device *device, const mtb_memory_options *options, mtb_error **error);
mtb_memory *mtb_memory_retain(mtb_memory *memory);
/* Objects in use live on until they are released. */
void mtb_memory_release(mtb_memory *memory);

/* A buffer of `length` bytes whose contents are unspecified: from the cache, if it keeps a buffer of up to twice the
 * length. The cache has the buffer back once its last reference is gone and every command buffer that used it has
 * completed. MTB_OVER_BUDGET if the buffer does not fit beside what is in use, even with nothing kept. */
mtb_buffer *mtb_memory_allocate(mtb_memory *memory, size_t length, mtb_storage_mode mode, mtb_error **error);
/* A queue for the caller alone, from the memory's pool of queues that this caller, or others before, have released. */
mtb_command_queue *mtb_memory_acquire_queue(mtb_memory *memory, mtb_error **error);
/* Gives back to Metal what the memory keeps and nobody used in the last `idle_ns` nanoseconds: 0 gives back all.
 * Returns the number of bytes. */
uint64_t mtb_memory_trim(mtb_memory *memory, uint64_t idle_ns);

/* ----------------------------------------------------------------------------------------------- transfers */

/* Where bytes are: in a buffer, from `offset` on, or at an address of the host if `buffer` is NULL. */
typedef struct mtb_place {
    mtb_buffer *buffer;
    size_t offset;
    void *bytes;
    /* Bytes from the start of a row to the start of the next; ignored if there is one row. */
    size_t pitch;
} mtb_place;

/* What a copy may assume of the host memory that it reads. (Host memory that it writes must stay valid until the copy
 * has completed.) */
typedef enum mtb_host_memory {
    /* The call reads it before it returns, by way of staging. */
    MTB_HOST_COPIED = 0,
    /* It stays valid and unchanged until the transfer has completed: large copies then need no staging. */
    MTB_HOST_BORROWED = 1
} mtb_host_memory;

/* The transfers of one command buffer, in the order in which they are added; the bridge joins those that touch. */
mtb_transfer *mtb_transfer_create(mtb_memory *memory, mtb_command_queue *queue, mtb_error **error);
/* What was added and not committed does not happen. */
void mtb_transfer_release(mtb_transfer *transfer);
/* Adds a copy of `height` rows of `width` bytes. Source and destination may each be host memory or a buffer of any
 * storage mode. One of two buffers may be of another device than the queue. If the devices are peers, and offsets,
 * widths and pitches are multiples of 4, the destination's device reads a private source with blits through a remote
 * view; every other such copy goes by way of system memory. Events order the work of the other device's own queues, as
 * always. MTB_WRONG_DEVICE for a copy between host memory and a buffer of another device, MTB_OUT_OF_RANGE if a row
 * does not fit, MTB_INVALID_ARGUMENT for a pitch smaller than the width and for source and destination that overlap. A
 * failed call adds nothing. Nothing to copy (width or height zero) is not an error. */
mtb_status mtb_transfer_copy(mtb_transfer *transfer, mtb_place source, mtb_place destination, size_t width,
                             size_t height, mtb_host_memory host, mtb_error **error);
/* Adds a fill of `height` rows of `width` bytes with the `pattern_size` bytes (1, 2 or 4) at `pattern`; the width is a
 * multiple of `pattern_size`. */
mtb_status mtb_transfer_fill(mtb_transfer *transfer, mtb_place destination, size_t width, size_t height,
                             const void *pattern, size_t pattern_size, mtb_error **error);
/* Commits what was added, and empties the transfer (on failure too). `callback` and `destructor` are as in
 * mtb_command_buffer_add_completed_callback; both may be NULL, and on failure only `destructor` is called. The returned
 * command buffer completes when the bytes have arrived. Once the callback is called, or a wait has returned, the
 * transfer touches neither buffers nor host memory any more, whether it has failed or not. */
mtb_command_buffer *mtb_transfer_commit(mtb_transfer *transfer, mtb_completion_callback callback, void *context,
                                        mtb_context_destructor destructor, mtb_error **error);
/* The same, but waits for a free slot of the queue no longer than `timeout_ns` nanoseconds: 0 does not wait, also
 * inside a callback. After MTB_TIMEOUT nothing was committed. */
mtb_command_buffer *mtb_transfer_commit_timeout(mtb_transfer *transfer, uint64_t timeout_ns,
                                                mtb_completion_callback callback, void *context,
                                                mtb_context_destructor destructor, mtb_error **error);
/* Commits as mtb_transfer_commit does, and waits until the transfer has ended, also if it fails. If the CPU sees source
 * and destination (host memory, shared buffers), this thread copies, once the queue's earlier work has completed: from
 * shared to shared that is a memcpy. Give host memory as MTB_HOST_BORROWED here. MTB_DEADLOCK inside a callback or a
 * host function of the queue: then nothing is copied. */
mtb_status mtb_transfer_run(mtb_transfer *transfer, mtb_error **error);

typedef void (*mtb_host_function)(void *context);
/* Has a thread of Metal's call `function` after everything that was committed to the queue before; what is committed
 * later waits for its return. The function is a callback of the queue: what metal_bridge.h says of callbacks holds for
 * it. If the GPU fails, the function is not called. The returned command buffer completes after the function;
 * `callback` is then called as mtb_command_buffer_add_completed_callback says, with the same context. `callback` and
 * `destructor` may be NULL; if this call fails, only `destructor` is called. */
mtb_command_buffer *mtb_command_queue_call_host_function(mtb_command_queue *queue, mtb_host_function function,
                                                         mtb_completion_callback callback, void *context,
                                                         mtb_context_destructor destructor, mtb_error **error);

/* ---------------------------------------------------------------------------------------------- statistics */

typedef enum mtb_transfer_kind {
    MTB_TRANSFER_HOST_TO_SHARED = 0,
    MTB_TRANSFER_HOST_TO_MANAGED = 1,
    MTB_TRANSFER_HOST_TO_PRIVATE = 2,
    MTB_TRANSFER_SHARED_TO_HOST = 3,
    MTB_TRANSFER_MANAGED_TO_HOST = 4,
    MTB_TRANSFER_PRIVATE_TO_HOST = 5,
    MTB_TRANSFER_HOST_TO_HOST = 6,
    MTB_TRANSFER_BUFFER_TO_BUFFER = 7,
    /* Between devices: through a remote view, and by way of system memory. */
    MTB_TRANSFER_PEER = 8,
    MTB_TRANSFER_PEER_STAGED = 9,
    MTB_TRANSFER_FILL = 10
} mtb_transfer_kind;
#define MTB_TRANSFER_KIND_COUNT 11u

/* The kind's name, such as "host to private"; never NULL. */
const char *mtb_transfer_kind_name(mtb_transfer_kind kind);

/* Counts the transfers that have completed without an error. */
typedef struct mtb_transfer_statistics {
    uint64_t count;
    uint64_t bytes;
    /* From the start of the copying to its end, by the GPU's times and the CPU's clock. Copies of one command buffer
     * share its time by their bytes. */
    uint64_t nanoseconds;
} mtb_transfer_statistics;

/* Transfers between the memory's device and another one, in one direction and by one route: how they went is the kind,
 * MTB_TRANSFER_PEER or MTB_TRANSFER_PEER_STAGED. */
typedef struct mtb_pair_statistics {
    /* The other device's. */
    uint64_t other_registry_id;
    /* Whether the bytes came from the other device, or went there. */
    bool is_from_other;
    mtb_transfer_kind kind;
    mtb_transfer_statistics transfers;
} mtb_pair_statistics;

typedef struct mtb_pool_statistics {
    uint64_t hits;
    uint64_t misses;
    /* Objects given back to Metal: idle, over the limit, or under pressure. */
    uint64_t trimmed;
    uint64_t bytes_in_use;
    uint64_t bytes_kept;
    /* The most bytes that the pool ever held, in use and kept. */
    uint64_t high_water_bytes;
    uint64_t objects_in_use;
    uint64_t objects_kept;
} mtb_pool_statistics;

typedef struct mtb_memory_statistics {
    mtb_transfer_statistics transfers[MTB_TRANSFER_KIND_COUNT];
    mtb_pool_statistics staging;
    mtb_pool_statistics buffers;
    mtb_pool_statistics queues;
    /* Bytes that Metal has allocated for this memory, and the most that it may. */
    uint64_t held;
    uint64_t budget;
    /* Command buffers committed for transfers. */
    uint64_t command_buffers;
} mtb_memory_statistics;

/* All zero for a NULL memory. */
void mtb_memory_get_statistics(const mtb_memory *memory, mtb_memory_statistics *statistics);
/* What the kinds of transfers between devices consist of. Writes the first `capacity` pairs to `pairs`, in any order,
 * and returns how many there are. Zero for a NULL memory; `pairs` may be NULL. */
size_t mtb_memory_get_pair_statistics(const mtb_memory *memory, mtb_pair_statistics *pairs, size_t capacity);
/* Whether copies between the memory's device and a peer of it read private buffers through remote views, as they do
 * from the beginning. Without access they go by way of system memory, as between devices that are not peers. For copies
 * that are recorded from now on. MTB_INVALID_ARGUMENT for NULLs and for the memory's own device, MTB_UNSUPPORTED for a
 * device that is not a peer. */
mtb_status mtb_memory_set_peer_access(mtb_memory *memory, mtb_device *peer, bool has_access, mtb_error **error);
/* Counts and times begin again at zero, and high-water marks at what is held. What is in use and kept does not
 * change. */
void mtb_memory_reset_statistics(mtb_memory *memory);
/* The statistics as a table for people, live handles included. The caller's to free. NULL if there is no memory. */
char *mtb_memory_copy_report(const mtb_memory *memory);

/* -------------------------------------------------------------------------------------------------- arenas */

/* Scratch buffers of one storage mode (shared or private), suballocated from MTLHeaps. The heaps grow with the need, by
 * `block_bytes` at a time (0: 16 MiB), up to `limit` bytes (0: the memory's budget), and count against that budget. */
mtb_arena *mtb_arena_create(mtb_memory *memory, mtb_storage_mode mode, size_t block_bytes, size_t limit,
                            mtb_error **error);
mtb_arena *mtb_arena_retain(mtb_arena *arena);
/* Its buffers live on until they are released. */
void mtb_arena_release(mtb_arena *arena);
/* newBufferWithLength:options: of a heap. The buffer's memory is free again once its last reference is gone and every
 * command buffer that used it has completed. MTB_OVER_BUDGET past the limit. */
mtb_buffer *mtb_arena_allocate(mtb_arena *arena, size_t length, mtb_error **error);
/* Gives heaps with nothing in them back to Metal, as mtb_memory_trim does. Returns the number of bytes. */
uint64_t mtb_arena_trim(mtb_arena *arena);
/* Misses are the buffers that needed a new heap. Bytes kept are the heaps' free bytes; objects kept are the heaps with
 * nothing in them. */
void mtb_arena_get_statistics(const mtb_arena *arena, mtb_pool_statistics *statistics);

/* --------------------------------------------------------------------------------------------- residency sets */

/* Whether the system has residency sets (macOS 15). */
bool mtb_device_supports_residency_sets(const mtb_device *device);
/* newResidencySetWithDescriptor:error:. MTB_UNSUPPORTED if there are none. */
mtb_residency_set *mtb_residency_set_create(mtb_device *device, mtb_error **error);
mtb_residency_set *mtb_residency_set_retain(mtb_residency_set *set);
void mtb_residency_set_release(mtb_residency_set *set);
/* addAllocation: and removeAllocation:; they take effect at the next commit. The set keeps its buffers alive.
 * MTB_NOT_FOUND for the removal of a buffer that is not in the set. */
mtb_status mtb_residency_set_add_buffer(mtb_residency_set *set, mtb_buffer *buffer, mtb_error **error);
mtb_status mtb_residency_set_remove_buffer(mtb_residency_set *set, mtb_buffer *buffer, mtb_error **error);
mtb_status mtb_residency_set_commit(mtb_residency_set *set, mtb_error **error);
/* requestResidency, and again every half second for the next `keep_alive_ns` nanoseconds (0: only once, MTB_FOREVER:
 * until the end or the release): systems evict idle sets, and decoding slows down until they are back. */
mtb_status mtb_residency_set_request(mtb_residency_set *set, uint64_t keep_alive_ns, mtb_error **error);
/* endResidency, and no more requests. */
mtb_status mtb_residency_set_end(mtb_residency_set *set, mtb_error **error);
/* addResidencySet: and removeResidencySet: of the queue, which keeps the set's buffers resident for its command
 * buffers. MTB_OUT_OF_RANGE for the 33rd set: at that Metal ends the process. */
mtb_status mtb_command_queue_add_residency_set(mtb_command_queue *queue, mtb_residency_set *set, mtb_error **error);
mtb_status mtb_command_queue_remove_residency_set(mtb_command_queue *queue, mtb_residency_set *set, mtb_error **error);
/* allocatedSize: bytes of what has been committed to the set. */
uint64_t mtb_residency_set_allocated_size(const mtb_residency_set *set);

#ifdef __cplusplus
}
#endif
#endif
