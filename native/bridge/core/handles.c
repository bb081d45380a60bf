/* Reference counts and live counts of all handles. Plain C: nothing here sends a message, so nothing needs a pool. */
#include "core/handles.h"

#include "core/errors.h"
#include "metal_bridge_functions.h"
#include "metal_bridge_indirect.h"
#include "metal_bridge_mps.h"

#include <stdlib.h>

static _Atomic uint64_t live_handles[MTB_HANDLE_KIND_COUNT];
static _Atomic uint64_t made_handles[MTB_HANDLE_KIND_COUNT];

static const char *const kind_names[MTB_HANDLE_KIND_COUNT] = {
    [MTB_HANDLE_ERROR] = "error",
    [MTB_HANDLE_DEVICE] = "device",
    [MTB_HANDLE_BUFFER] = "buffer",
    [MTB_HANDLE_QUEUE] = "queue",
    [MTB_HANDLE_COMMAND_BUFFER] = "command buffer",
    [MTB_HANDLE_COMPUTE_ENCODER] = "compute encoder",
    [MTB_HANDLE_BLIT_ENCODER] = "blit encoder",
    [MTB_HANDLE_LIBRARY] = "library",
    [MTB_HANDLE_FUNCTION] = "function",
    [MTB_HANDLE_CONSTANT_VALUES] = "constant values",
    [MTB_HANDLE_PIPELINE] = "pipeline",
    [MTB_HANDLE_EVENT] = "event",
    [MTB_HANDLE_MEMORY] = "memory",
    [MTB_HANDLE_TRANSFER] = "transfer",
    [MTB_HANDLE_ARENA] = "arena",
    [MTB_HANDLE_RESIDENCY_SET] = "residency set",
    [MTB_HANDLE_MPS_KERNEL] = "MPS kernel",
    [MTB_HANDLE_INDIRECT_COMMAND_BUFFER] = "indirect command buffer",
    [MTB_HANDLE_DYNAMIC_LIBRARY] = "dynamic library",
    [MTB_HANDLE_FUNCTION_HANDLE] = "function handle",
    [MTB_HANDLE_VISIBLE_FUNCTION_TABLE] = "visible function table",
};

uint32_t mtb_abi_version(void) { return MTB_ABI_VERSION; }

uint64_t mtb_live_handles(mtb_handle_kind kind) {
    return (uint32_t)kind < MTB_HANDLE_KIND_COUNT ? atomic_load(&live_handles[kind]) : 0;
}

uint64_t mtb_made_handles(mtb_handle_kind kind) {
    return (uint32_t)kind < MTB_HANDLE_KIND_COUNT ? atomic_load(&made_handles[kind]) : 0;
}

const char *mtb_handle_kind_name(mtb_handle_kind kind) {
    return (uint32_t)kind < MTB_HANDLE_KIND_COUNT ? kind_names[kind] : "unknown";
}

void mtb_string_free(char *string) { free(string); }

void mtbi_handle_count_made(mtb_handle_kind kind) {
    atomic_fetch_add_explicit(&live_handles[kind], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&made_handles[kind], 1, memory_order_relaxed);
}

void mtbi_handle_count_freed(mtb_handle_kind kind) {
    atomic_fetch_sub_explicit(&live_handles[kind], 1, memory_order_relaxed);
}

void *mtbi_handle_create(mtb_handle_kind kind, size_t size, void (*destroy)(mtbi_handle *), mtb_error **error,
                         const char *function) {
    mtbi_handle *handle = calloc(1, size);
    if (!handle) {
        mtbi_fail(error, function, MTB_OUT_OF_MEMORY, "no memory for a %s handle", kind_names[kind]);
        return NULL;
    }
    atomic_init(&handle->references, 1);
    handle->kind = kind;
    handle->destroy = destroy;
    mtbi_handle_count_made(kind);
    return handle;
}

void mtbi_handle_free(mtbi_handle *handle) {
    mtbi_handle_count_freed(handle->kind);
    free(handle);
}

void mtbi_handle_revive(mtbi_handle *handle) { atomic_store_explicit(&handle->references, 1, memory_order_relaxed); }

/* A count beyond `most_references` comes from a caller that retains and does not release. The count is then set to the
 * middle of the numbers beyond: such a handle is never freed, instead of too early when the count has wrapped. */
static const size_t most_references = SIZE_MAX / 2;
static const size_t too_many_references = SIZE_MAX / 4 * 3;

bool mtbi_handle_share(mtbi_handle *handle) {
    size_t references = atomic_load_explicit(&handle->references, memory_order_relaxed);
    while (references > 0 && references <= most_references)
        if (atomic_compare_exchange_weak_explicit(&handle->references, &references, references + 1,
                                                  memory_order_acquire, memory_order_relaxed))
            return true;
    return references > 0;
}

void mtbi_handle_retain(mtbi_handle *handle) {
    if (atomic_fetch_add_explicit(&handle->references, 1, memory_order_relaxed) > most_references)
        atomic_store_explicit(&handle->references, too_many_references, memory_order_relaxed);
}

/* A child of fork() keeps its parent's objects: Metal's threads, which would release them, are not there. */
void mtbi_handle_release(mtbi_handle *handle) {
    if (mtb_process_is_forked()) return;
    size_t before = atomic_fetch_sub_explicit(&handle->references, 1, memory_order_acq_rel);
    if (before > most_references) atomic_store_explicit(&handle->references, too_many_references, memory_order_relaxed);
    if (before == 1) handle->destroy(handle);
}

#define DEFINE_RETAIN(noun)                                \
    mtb_##noun *mtb_##noun##_retain(mtb_##noun *noun) {    \
        if (noun) mtbi_handle_retain((mtbi_handle *)noun); \
        return noun;                                       \
    }

#define DEFINE_RELEASE(noun)                                \
    void mtb_##noun##_release(mtb_##noun *noun) {           \
        if (noun) mtbi_handle_release((mtbi_handle *)noun); \
    }

DEFINE_RETAIN(device)
DEFINE_RETAIN(buffer)
DEFINE_RETAIN(command_queue)
DEFINE_RETAIN(command_buffer)
DEFINE_RETAIN(library)
DEFINE_RETAIN(function)
DEFINE_RETAIN(constant_values)
DEFINE_RETAIN(pipeline)
DEFINE_RETAIN(event)
DEFINE_RETAIN(memory)
DEFINE_RETAIN(arena)
DEFINE_RETAIN(residency_set)
DEFINE_RETAIN(mps_kernel)
DEFINE_RETAIN(indirect_command_buffer)
DEFINE_RETAIN(dynamic_library)
DEFINE_RETAIN(function_handle)
DEFINE_RETAIN(visible_function_table)

DEFINE_RELEASE(device)
DEFINE_RELEASE(buffer)
DEFINE_RELEASE(command_queue)
DEFINE_RELEASE(command_buffer)
DEFINE_RELEASE(compute_encoder)
DEFINE_RELEASE(blit_encoder)
DEFINE_RELEASE(library)
DEFINE_RELEASE(function)
DEFINE_RELEASE(constant_values)
DEFINE_RELEASE(pipeline)
DEFINE_RELEASE(event)
DEFINE_RELEASE(memory)
DEFINE_RELEASE(transfer)
DEFINE_RELEASE(arena)
DEFINE_RELEASE(residency_set)
DEFINE_RELEASE(mps_kernel)
DEFINE_RELEASE(indirect_command_buffer)
DEFINE_RELEASE(dynamic_library)
DEFINE_RELEASE(function_handle)
DEFINE_RELEASE(visible_function_table)
