/* Memories: what they are made with, their budget, and when they free what they keep. */
#include "memory/memory.h"

#include "core/checks.h"
#include "core/clock.h"

#include <stddef.h>

/* What is used if the caller asks for nothing else. */
static const uint64_t default_staging_limit = 64 << 20;
static const uint64_t default_idle_ns = 5 * UINT64_C(1000000000);
/* The cache may take the budget divided by this. */
static const uint64_t default_cache_part = 4;
/* Metal makes a limited number of queues for a process. */
static const uint64_t most_queues_kept = 16;

static uint64_t or_default(uint64_t value, uint64_t otherwise) { return value ? value : otherwise; }

static bool keeps_anything(mtb_memory *memory) {
    bool keeps = false;
    pthread_mutex_lock(&memory->mutex);
    for (const mtbi_pool *pool = memory->pools; pool && !keeps; pool = pool->next)
        keeps = pool->statistics->objects_kept > 0;
    pthread_mutex_unlock(&memory->mutex);
    return keeps;
}

static uint64_t idle_time_ago(const mtb_memory *memory, uint64_t now) {
    return now > memory->idle_ns ? now - memory->idle_ns : 0;
}

/* The timer looks twice in each idle time. So it frees an object after one to one and a half idle times without use. */
static uint64_t next_look(const mtb_memory *memory) { return mtbi_deadline(memory->idle_ns / 2); }

static uint64_t trim_idle(mtbi_task *task) {
    mtb_memory *memory = (mtb_memory *)((char *)task - offsetof(mtb_memory, task));
    atomic_store(&memory->is_expecting, false);
    mtbi_pools_trim(memory, idle_time_ago(memory, mtbi_now()));
    if (!keeps_anything(memory)) return UINT64_MAX;
    atomic_store(&memory->is_expecting, true);
    return next_look(memory);
}

void mtbi_memory_expect_idle(mtb_memory *memory) {
    /* The memory mostly expects the timer already, and a load costs less than an exchange. */
    if (memory->idle_ns == MTB_FOREVER || atomic_load(&memory->is_expecting) ||
        atomic_exchange(&memory->is_expecting, true))
        return;
    if (!mtbi_timer_schedule(&memory->task, next_look(memory))) atomic_store(&memory->is_expecting, false);
}

/* Nothing of the memory is in use any more: a user would have kept it alive. */
static void destroy(mtbi_handle *handle) {
    mtb_memory *memory = (mtb_memory *)handle;
    mtbi_timer_cancel(&memory->task);
    mtbi_peers_free(memory->peers);
    mtbi_pairs_free(memory->pairs);
    mtbi_pools_trim(memory, UINT64_MAX);
    mtbi_kernels_destroy(&memory->kernels);
    mtb_device_release(memory->device);
    pthread_mutex_destroy(&memory->peers_mutex);
    pthread_mutex_destroy(&memory->mutex);
    mtbi_handle_free(handle);
}

static void start_pools(mtb_memory *memory, const mtb_memory_options *asked) {
    mtbi_pool_start(&memory->staging, memory, &memory->staging_statistics);
    memory->staging.most_bytes = or_default(asked->staging_limit, default_staging_limit);
    memory->staging.limits_what_is_used = true;
    for (size_t mode = 0; mode < MTBI_STORAGE_MODES; mode++) {
        mtbi_pool_start(&memory->buffers[mode], memory, &memory->buffer_statistics);
        memory->buffers[mode].most_bytes = or_default(asked->cache_limit, memory->budget / default_cache_part);
    }
    mtbi_pool_start(&memory->queues, memory, &memory->queue_statistics);
    memory->queues.most_objects = most_queues_kept;
}

mtb_memory *mtb_memory_create(mtb_device *device, const mtb_memory_options *options, mtb_error **error) {
    mtbi_error_clear(error);
    if (GIVEN(device)) return NULL;
    mtb_memory *memory = mtbi_handle_create(MTB_HANDLE_MEMORY, sizeof *memory, destroy, error, __func__);
    if (!memory) return NULL;
    mtb_memory_options asked = options ? *options : (mtb_memory_options){0};
    pthread_mutex_init(&memory->mutex, NULL);
    pthread_mutex_init(&memory->peers_mutex, NULL);
    mtbi_kernels_create(&memory->kernels, device);
    memory->device = mtb_device_retain(device);
    memory->idle_ns = or_default(asked.idle_ns, default_idle_ns);
    memory->budget = or_default(asked.budget, or_default(device->info.recommended_max_working_set_size, UINT64_MAX));
    memory->task.run = trim_idle;
    start_pools(memory, &asked);
    return memory;
}

uint64_t mtb_memory_trim(mtb_memory *memory, uint64_t idle_ns) {
    uint64_t now = mtbi_now();
    if (!memory || mtb_process_is_forked() || idle_ns > now) return 0;
    return mtbi_pools_trim(memory, idle_ns == 0 ? UINT64_MAX : now - idle_ns);
}

bool mtbi_memory_free_for_retry(mtb_memory *memory, mtb_error **error) {
    if (mtbi_pools_trim(memory, UINT64_MAX) == 0) return false;
    mtbi_error_drop(error);
    return true;
}

/* Whether the bytes fit beside what is held. */
static bool try_to_reserve(mtb_memory *memory, uint64_t bytes, uint64_t *held) {
    pthread_mutex_lock(&memory->mutex);
    *held = memory->held;
    bool fits = memory->held <= memory->budget && bytes <= memory->budget - memory->held;
    if (fits) memory->held += bytes;
    pthread_mutex_unlock(&memory->mutex);
    return fits;
}

mtb_status mtbi_memory_reserve(mtb_memory *memory, uint64_t bytes, mtb_error **error, const char *function) {
    uint64_t held;
    if (try_to_reserve(memory, bytes, &held)) return MTB_OK;
    if (bytes <= memory->budget && mtbi_pools_trim(memory, UINT64_MAX) > 0 && try_to_reserve(memory, bytes, &held))
        return MTB_OK;
    return mtbi_fail(error, function, MTB_OVER_BUDGET,
                     "%llu bytes do not fit in the budget of %llu bytes, of which %llu are held",
                     (unsigned long long)bytes, (unsigned long long)memory->budget, (unsigned long long)held);
}

void mtbi_memory_unreserve(mtb_memory *memory, uint64_t bytes) {
    pthread_mutex_lock(&memory->mutex);
    memory->held -= bytes;
    pthread_mutex_unlock(&memory->mutex);
}

mtb_buffer *mtb_memory_allocate(mtb_memory *memory, size_t length, mtb_storage_mode mode, mtb_error **error) {
    mtbi_error_clear(error);
    if (GIVEN(memory)) return NULL;
    if ((uint32_t)mode >= MTBI_STORAGE_MODES) {
        FAIL(error, MTB_INVALID_ARGUMENT, "unknown storage mode %u", (unsigned)mode);
        return NULL;
    }
    if (length == 0) {
        FAIL(error, MTB_INVALID_ARGUMENT, "a buffer needs at least 1 byte");
        return NULL;
    }
    mtb_buffer *buffer = NULL;
    mtbi_pool_take_buffer(&memory->buffers[mode], mode, length, &buffer, error, __func__);
    return buffer;
}
