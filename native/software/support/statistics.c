#include "statistics.h"

static int64_t live[SMTL_OBJECT_CLASS_COUNT];
static uint64_t created;
static uint64_t allocated, owned;
static uint64_t command_buffers;
static uint64_t launches;

static const char *const class_names[SMTL_OBJECT_CLASS_COUNT] = {
    [SMTL_OBJECT_DEVICE] = "device",
    [SMTL_OBJECT_BUFFER] = "buffer",
    [SMTL_OBJECT_HEAP] = "heap",
    [SMTL_OBJECT_COMMAND_QUEUE] = "command queue",
    [SMTL_OBJECT_COMMAND_BUFFER] = "command buffer",
    [SMTL_OBJECT_COMPUTE_ENCODER] = "compute encoder",
    [SMTL_OBJECT_BLIT_ENCODER] = "blit encoder",
    [SMTL_OBJECT_LIBRARY] = "library",
    [SMTL_OBJECT_FUNCTION] = "function",
    [SMTL_OBJECT_COMPUTE_PIPELINE] = "compute pipeline",
    [SMTL_OBJECT_VISIBLE_FUNCTION_TABLE] = "visible function table",
    [SMTL_OBJECT_DYNAMIC_LIBRARY] = "dynamic library",
    [SMTL_OBJECT_EVENT] = "event",
    [SMTL_OBJECT_SHARED_EVENT] = "shared event",
    [SMTL_OBJECT_FENCE] = "fence",
    [SMTL_OBJECT_RESIDENCY_SET] = "residency set",
    [SMTL_OBJECT_CAPTURE_SCOPE] = "capture scope",
    [SMTL_OBJECT_ARGUMENT_ENCODER] = "argument encoder",
    [SMTL_OBJECT_BINARY_ARCHIVE] = "binary archive",
    [SMTL_OBJECT_COUNTER_SAMPLE_BUFFER] = "counter sample buffer",
    [SMTL_OBJECT_INDIRECT_COMMAND_BUFFER] = "indirect command buffer",
    [SMTL_OBJECT_INDIRECT_COMMAND] = "indirect command",
    [SMTL_OBJECT_REFLECTION] = "reflection",
    [SMTL_OBJECT_LOG_STATE] = "log state",
    [SMTL_OBJECT_DISPATCH] = "dispatch object",
    [SMTL_OBJECT_RELEASE_MARKER] = "release marker",
};

void smtl_count_created(smtl_object_class object_class) {
    __atomic_fetch_add(&live[object_class], 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&created, 1, __ATOMIC_RELAXED);
}

/* Release order, so that a thread that sees the count at zero also sees what the destruction did. */
void smtl_count_destroyed(smtl_object_class object_class) {
    __atomic_fetch_sub(&live[object_class], 1, __ATOMIC_RELEASE);
}

int64_t smtl_live_objects(smtl_object_class object_class) {
    if ((unsigned)object_class >= SMTL_OBJECT_CLASS_COUNT) return 0;
    return __atomic_load_n(&live[object_class], __ATOMIC_ACQUIRE);
}

int64_t smtl_live_objects_total(void) {
    int64_t total = 0;
    for (int i = 0; i < SMTL_OBJECT_CLASS_COUNT; i++) total += smtl_live_objects((smtl_object_class)i);
    return total;
}

uint64_t smtl_objects_created(void) { return __atomic_load_n(&created, __ATOMIC_RELAXED); }

const char *smtl_object_class_name(smtl_object_class object_class) {
    return (unsigned)object_class < SMTL_OBJECT_CLASS_COUNT ? class_names[object_class] : "unknown";
}

bool smtl_count_allocate(uint64_t bytes, bool is_owned, uint64_t limit) {
    if (is_owned) {
        const uint64_t before = __atomic_fetch_add(&owned, bytes, __ATOMIC_RELAXED);
        if (bytes > limit || before > limit - bytes) {
            __atomic_fetch_sub(&owned, bytes, __ATOMIC_RELAXED);
            return false;
        }
    }
    __atomic_fetch_add(&allocated, bytes, __ATOMIC_RELAXED);
    return true;
}

void smtl_count_free(uint64_t bytes, bool is_owned) {
    if (is_owned) __atomic_fetch_sub(&owned, bytes, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&allocated, bytes, __ATOMIC_RELAXED);
}

uint64_t smtl_allocated_bytes(void) { return __atomic_load_n(&allocated, __ATOMIC_RELAXED); }

void smtl_count_command_buffer(void) { __atomic_fetch_add(&command_buffers, 1, __ATOMIC_RELAXED); }

void smtl_count_launches(uint64_t count) { __atomic_fetch_add(&launches, count, __ATOMIC_RELAXED); }

uint64_t smtl_command_buffers_completed(void) { return __atomic_load_n(&command_buffers, __ATOMIC_RELAXED); }

uint64_t smtl_launches_executed(void) { return __atomic_load_n(&launches, __ATOMIC_RELAXED); }
