/* Residency sets, and the requests that keep them resident. */
#import "buffer/buffer.h"
#import "core/checks.h"
#import "core/clock.h"
#import "core/guard.h"
#import "memory/timer.h"
#import "queue/queue.h"

#include <stddef.h>
#include <stdlib.h>

/* Systems evict sets that were idle for about a second. */
static const uint64_t request_period_ns = 500000000;

struct mtb_residency_set {
    mtbi_handle handle;
    mtb_device *device;
    MTBI_OBJECT(MTLResidencySet) metal;
    pthread_mutex_t mutex;
    /* A reference to each, until it is gone: a commit has taken it out of the set. */
    struct member {
        mtb_buffer *buffer;
        bool is_removed;
        bool is_gone;
    } *members;
    size_t count;
    size_t capacity;
    /* Requests again until then. */
    mtbi_task task;
    uint64_t until;
};

bool mtb_device_supports_residency_sets(const mtb_device *device) {
    MTBI_ENTER
    return device && [device->metal respondsToSelector:@selector(newResidencySetWithDescriptor:error:)];
    MTBI_LEAVE(false)
}

static void request(mtb_residency_set *set) {
    MTBI_ENTER
    if (@available(macOS 15.0, *)) [set->metal requestResidency];
    MTBI_LEAVE()
}

static uint64_t request_again(mtbi_task *task) {
    mtb_residency_set *set = (mtb_residency_set *)((char *)task - offsetof(mtb_residency_set, task));
    pthread_mutex_lock(&set->mutex);
    bool is_over = mtbi_time_left(set->until) == 0;
    if (!is_over) request(set);
    pthread_mutex_unlock(&set->mutex);
    return is_over ? UINT64_MAX : mtbi_deadline(request_period_ns);
}

static void destroy(mtbi_handle *handle) {
    mtb_residency_set *set = (mtb_residency_set *)handle;
    MTBI_ENTER
    mtbi_timer_cancel(&set->task);
    [set->metal release];
    for (size_t i = 0; i < set->count; i++) mtb_buffer_release(set->members[i].buffer);
    free(set->members);
    mtb_device_release(set->device);
    pthread_mutex_destroy(&set->mutex);
    mtbi_handle_free(handle);
    MTBI_LEAVE()
}

mtb_residency_set *mtb_residency_set_create(mtb_device *device, mtb_error **error) {
    mtb_residency_set *set = NULL;
    mtbi_error_clear(error);
    MTBI_ENTER
    if (GIVEN(device)) return NULL;
    if (!mtb_device_supports_residency_sets(device)) {
        FAIL(error, MTB_UNSUPPORTED, "this system has no residency sets: they need macOS 15");
        return NULL;
    }
    set = mtbi_handle_create(MTB_HANDLE_RESIDENCY_SET, sizeof *set, destroy, error, __func__);
    if (!set) return NULL;
    pthread_mutex_init(&set->mutex, NULL);
    set->device = mtb_device_retain(device);
    set->task.run = request_again;
    if (@available(macOS 15.0, *)) {
        MTLResidencySetDescriptor *descriptor = [[[MTLResidencySetDescriptor alloc] init] autorelease];
        NSError *problem = nil;
        set->metal = [device->metal newResidencySetWithDescriptor:descriptor error:&problem];
        if (!set->metal) {
            mtbi_fail_with_nserror(error, __func__, MTB_OUT_OF_MEMORY, problem, "Metal could not make a residency set");
            mtb_residency_set_release(set);
            return NULL;
        }
    }
    return set;
    MTBI_LEAVE((mtb_residency_set_release(set), mtbi_fail_with_exception(error, __func__, exception), NULL))
}

static struct member *find(mtb_residency_set *set, const mtb_buffer *buffer) {
    for (size_t i = 0; i < set->count; i++)
        if (set->members[i].buffer == buffer) return &set->members[i];
    return NULL;
}

/* Under the set's mutex. */
static mtb_status add(mtb_residency_set *set, mtb_buffer *buffer, mtb_error **error, const char *function) {
    struct member *member = find(set, buffer);
    if (!member && set->count == set->capacity) {
        size_t capacity = set->capacity ? 2 * set->capacity : 16;
        struct member *grown = realloc(set->members, capacity * sizeof *grown);
        if (!grown)
            return mtbi_fail(error, function, MTB_OUT_OF_MEMORY, "no memory for a set of %zu buffers", capacity);
        set->members = grown;
        set->capacity = capacity;
    }
    if (@available(macOS 15.0, *)) [set->metal addAllocation:buffer->metal];
    if (!member) {
        member = &set->members[set->count++];
        member->buffer = mtb_buffer_retain(buffer);
    }
    member->is_removed = member->is_gone = false;
    return MTB_OK;
}

mtb_status mtb_residency_set_add_buffer(mtb_residency_set *set, mtb_buffer *buffer, mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(GIVEN(set));
    REQUIRE(GIVEN(buffer));
    REQUIRE(mtbi_check_device(set->device, buffer->device, "buffer", error, __func__));
    mtb_status status = MTB_INTERNAL;
    pthread_mutex_lock(&set->mutex);
    @try {
        status = add(set, buffer, error, __func__);
    } @finally {
        pthread_mutex_unlock(&set->mutex);
    }
    return status;
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

mtb_status mtb_residency_set_remove_buffer(mtb_residency_set *set, mtb_buffer *buffer, mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(GIVEN(set));
    REQUIRE(GIVEN(buffer));
    bool is_member = false;
    pthread_mutex_lock(&set->mutex);
    @try {
        struct member *member = find(set, buffer);
        is_member = member && !member->is_removed;
        if (is_member) {
            if (@available(macOS 15.0, *)) [set->metal removeAllocation:buffer->metal];
            member->is_removed = true;
        }
    } @finally {
        pthread_mutex_unlock(&set->mutex);
    }
    if (!is_member) return FAIL(error, MTB_NOT_FOUND, "the buffer is not in the set");
    return MTB_OK;
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

/* Under the set's mutex. */
static void part_with_removed(mtb_residency_set *set) {
    for (size_t i = 0; i < set->count; i++) set->members[i].is_gone = set->members[i].is_removed;
}

/* A buffer that is gone, with the set's reference to it; NULL if there is none. */
static mtb_buffer *take_gone(mtb_residency_set *set) {
    mtb_buffer *gone = NULL;
    pthread_mutex_lock(&set->mutex);
    for (size_t i = 0; i < set->count && !gone; i++) {
        if (!set->members[i].is_gone) continue;
        gone = set->members[i].buffer;
        set->members[i] = set->members[--set->count];
    }
    pthread_mutex_unlock(&set->mutex);
    return gone;
}

mtb_status mtb_residency_set_commit(mtb_residency_set *set, mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(GIVEN(set));
    pthread_mutex_lock(&set->mutex);
    @try {
        if (@available(macOS 15.0, *)) [set->metal commit];
        part_with_removed(set);
    } @finally {
        pthread_mutex_unlock(&set->mutex);
    }
    /* Without the mutex: a buffer's last reference may go here, and its deallocator may ask the set, or release it. */
    mtb_residency_set_retain(set);
    for (mtb_buffer *gone; (gone = take_gone(set));) mtb_buffer_release(gone);
    mtb_residency_set_release(set);
    return MTB_OK;
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

mtb_status mtb_residency_set_request(mtb_residency_set *set, uint64_t keep_alive_ns, mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(GIVEN(set));
    request(set);
    pthread_mutex_lock(&set->mutex);
    set->until = keep_alive_ns ? mtbi_deadline(keep_alive_ns) : 0;
    pthread_mutex_unlock(&set->mutex);
    if (keep_alive_ns && !mtbi_timer_schedule(&set->task, mtbi_deadline(request_period_ns)))
        return FAIL(error, MTB_OUT_OF_MEMORY, "cannot start the thread that keeps the set resident");
    return MTB_OK;
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

mtb_status mtb_residency_set_end(mtb_residency_set *set, mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(GIVEN(set));
    /* No request comes after the end: the task asks under the same lock. */
    pthread_mutex_lock(&set->mutex);
    @try {
        set->until = 0;
        if (@available(macOS 15.0, *)) [set->metal endResidency];
    } @finally {
        pthread_mutex_unlock(&set->mutex);
    }
    return MTB_OK;
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

uint64_t mtb_residency_set_allocated_size(const mtb_residency_set *set) {
    MTBI_ENTER
    if (set) {
        if (@available(macOS 15.0, *)) return [set->metal allocatedSize];
    }
    return 0;
    MTBI_LEAVE(0)
}

/* Where the queue has the set; its count if it has not. Under the queue's mutex. */
static size_t find_set(const mtb_command_queue *queue, const void *set) {
    size_t i = 0;
    while (i < queue->residency_set_count && queue->residency_sets[i] != set) i++;
    return i;
}

static mtb_status add_set(mtb_command_queue *queue, mtb_residency_set *set, mtb_error **error, const char *function) {
    const size_t at = find_set(queue, set->metal);
    if (at == MTBI_MOST_RESIDENCY_SETS)
        return mtbi_fail(error, function, MTB_OUT_OF_RANGE,
                         "the queue has %d residency sets already, the most it takes", MTBI_MOST_RESIDENCY_SETS);
    if (@available(macOS 15.0, *)) [queue->metal addResidencySet:set->metal];
    queue->residency_sets[at] = set->metal;
    if (at == queue->residency_set_count) queue->residency_set_count++;
    return MTB_OK;
}

mtb_status mtb_command_queue_add_residency_set(mtb_command_queue *queue, mtb_residency_set *set, mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(GIVEN(queue));
    REQUIRE(GIVEN(set));
    REQUIRE(mtbi_check_device(queue->device, set->device, "residency set", error, __func__));
    queue->pooled.is_changed = true;
    pthread_mutex_lock(&queue->mutex);
    @try {
        return add_set(queue, set, error, __func__);
    } @finally {
        pthread_mutex_unlock(&queue->mutex);
    }
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

mtb_status mtb_command_queue_remove_residency_set(mtb_command_queue *queue, mtb_residency_set *set, mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(GIVEN(queue));
    REQUIRE(GIVEN(set));
    REQUIRE(mtbi_check_device(queue->device, set->device, "residency set", error, __func__));
    pthread_mutex_lock(&queue->mutex);
    @try {
        if (@available(macOS 15.0, *)) [queue->metal removeResidencySet:set->metal];
        const size_t at = find_set(queue, set->metal);
        if (at < queue->residency_set_count)
            queue->residency_sets[at] = queue->residency_sets[--queue->residency_set_count];
    } @finally {
        pthread_mutex_unlock(&queue->mutex);
    }
    return MTB_OK;
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}
