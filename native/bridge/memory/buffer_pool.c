/* Pools of buffers: one for each storage mode, and one of staging blocks. */
#include "buffer/buffer.h"

#include "core/checks.h"
#include "memory/memory.h"

#include <stddef.h>

/* Even a request of few bytes takes a buffer of this size. */
static const size_t smallest_fit = 256;

static mtb_buffer *buffer_of(mtbi_pooled *object) {
    return (mtb_buffer *)((char *)object - offsetof(mtb_buffer, pooled));
}

static bool renew(mtbi_pooled *object) {
    if (object->is_changed) mtb_buffer_set_label(buffer_of(object), NULL, NULL);
    object->is_changed = false;
    return true;
}

static void free_buffer(mtb_memory *memory, mtbi_pooled *object) {
    mtbi_memory_unreserve(memory, object->size);
    mtbi_buffer_destroy(&buffer_of(object)->handle);
}

static const mtbi_pooled_type buffers = {.renew = renew, .free = free_buffer};

/* The last reference is gone. There is no guard, which would cost more than the rest: whatever sends a message has its
 * own. */
static void take_back(mtbi_handle *handle) {
    mtbi_pooled *object = &((mtb_buffer *)handle)->pooled;
    mtb_memory *memory = object->owner->memory;
    mtbi_pool_give_back(object, object->size);
    mtb_memory_release(memory);
}

/* A new buffer, of `size` bytes of the budget. If there is no memory, the memory first frees what it keeps. */
static mtb_status make(mtbi_pool *pool, mtb_storage_mode mode, size_t size, mtb_buffer **made, mtb_error **error,
                       const char *function) {
    mtb_memory *memory = pool->memory;
    REQUIRE(mtbi_memory_reserve(memory, size, error, function));
    mtb_buffer *buffer = mtb_buffer_create(memory->device, size, mode, error);
    if (!buffer && mtbi_memory_free_for_retry(memory, error))
        buffer = mtb_buffer_create(memory->device, size, mode, error);
    if (!buffer) {
        mtb_status status = mtbi_last_failure();
        mtbi_memory_unreserve(memory, size);
        return status;
    }
    buffer->handle.destroy = take_back;
    mtbi_pool_add(pool, &buffer->pooled, &buffers, size);
    *made = buffer;
    return MTB_OK;
}

mtb_status mtbi_pool_take_buffer(mtbi_pool *pool, mtb_storage_mode mode, size_t length, mtb_buffer **taken,
                                 mtb_error **error, const char *function) {
    size_t largest = pool->memory->device->info.max_buffer_length, size = mtbi_pool_size(length);
    if (length > largest || size == 0)
        return mtbi_fail(error, function, MTB_OUT_OF_RANGE,
                         "a buffer of %zu bytes is too large: the device's largest has %zu", length, largest);
    mtbi_pooled *kept = mtbi_pool_take(pool, length, length < smallest_fit / 2 ? smallest_fit : 2 * length);
    mtb_buffer *buffer = kept ? buffer_of(kept) : NULL;
    if (buffer)
        mtbi_handle_revive(&buffer->handle);
    else
        REQUIRE(make(pool, mode, size > largest ? length : size, &buffer, error, function));
    buffer->length = length;
    mtb_memory_retain(pool->memory);
    *taken = buffer;
    return MTB_OK;
}
