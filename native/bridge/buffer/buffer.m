/* Buffers: the three ways to make one, and what the CPU does with it. */
#import "buffer/buffer.h"

#import "core/checks.h"
#import "core/guard.h"
#import "core/text.h"

#include <stdlib.h>

static mtb_status check_new(const mtb_device *device, size_t length, mtb_storage_mode mode, mtb_error **error,
                            const char *function) {
    REQUIRE(mtbi_check_given(device, "device", error, function));
    if (mode != MTB_STORAGE_SHARED && mode != MTB_STORAGE_MANAGED && mode != MTB_STORAGE_PRIVATE)
        return mtbi_fail(error, function, MTB_INVALID_ARGUMENT, "unknown storage mode %u", (unsigned)mode);
    if (length == 0) return mtbi_fail(error, function, MTB_INVALID_ARGUMENT, "a buffer needs at least 1 byte");
    if (length > device->info.max_buffer_length)
        return mtbi_fail(error, function, MTB_OUT_OF_RANGE,
                         "a buffer of %zu bytes is too large: the device's largest has %zu", length,
                         (size_t)device->info.max_buffer_length);
    return MTB_OK;
}

static mtb_status check_visible(mtb_storage_mode mode, mtb_error **error, const char *function) {
    if (mode != MTB_STORAGE_PRIVATE) return MTB_OK;
    return mtbi_fail(error, function, MTB_INVALID_ARGUMENT,
                     "the CPU does not see a private buffer: copy to and from it with a blit encoder");
}

static MTLResourceOptions options(mtb_storage_mode mode) {
    return (MTLResourceOptions)mode << MTLResourceStorageModeShift;
}

/* A handle that waits for its Metal buffer. */
static mtb_buffer *start(mtb_device *device, size_t length, mtb_storage_mode mode, mtb_error **error,
                         const char *function) {
    mtb_buffer *buffer = mtbi_handle_create(MTB_HANDLE_BUFFER, sizeof *buffer, mtbi_buffer_destroy, error, function);
    if (!buffer) return NULL;
    buffer->device = mtb_device_retain(device);
    buffer->length = length;
    buffer->mode = mode;
    return buffer;
}

/* Completes `buffer` with the +1 `metal`, or releases it if Metal gave nil. */
static mtb_buffer *finish(mtb_buffer *buffer, id<MTLBuffer> metal, mtb_error **error, const char *function) {
    if (!metal) {
        mtbi_fail(error, function, MTB_OUT_OF_MEMORY, "Metal could not allocate a buffer of %zu bytes", buffer->length);
        mtb_buffer_release(buffer);
        return NULL;
    }
    buffer->metal = metal;
    if (buffer->mode != MTB_STORAGE_PRIVATE) buffer->contents = [metal contents];
    if (@available(macOS 13.0, *)) buffer->gpu_address = [metal gpuAddress];
    return buffer;
}

mtb_buffer *mtbi_buffer_wrap(mtb_device *device, id<MTLBuffer> metal, size_t length, mtb_storage_mode mode,
                             mtb_error **error, const char *function) {
    mtb_buffer *buffer = start(device, length, mode, error, function);
    if (!buffer) {
        [metal release];
        return NULL;
    }
    return finish(buffer, metal, error, function);
}

mtb_buffer *mtb_buffer_create(mtb_device *device, size_t length, mtb_storage_mode mode, mtb_error **error) {
    mtb_buffer *buffer = NULL;
    mtbi_error_clear(error);
    MTBI_ENTER
    if (check_new(device, length, mode, error, __func__)) return NULL;
    buffer = start(device, length, mode, error, __func__);
    if (!buffer) return NULL;
    return finish(buffer, [device->metal newBufferWithLength:length options:options(mode)], error, __func__);
    MTBI_LEAVE((mtb_buffer_release(buffer), mtbi_fail_with_exception(error, __func__, exception), NULL))
}

mtb_buffer *mtb_buffer_create_with_bytes(mtb_device *device, const void *bytes, size_t length, mtb_storage_mode mode,
                                         mtb_error **error) {
    mtb_buffer *buffer = NULL;
    mtbi_error_clear(error);
    MTBI_ENTER
    if (check_new(device, length, mode, error, __func__) || GIVEN(bytes) || check_visible(mode, error, __func__))
        return NULL;
    buffer = start(device, length, mode, error, __func__);
    if (!buffer) return NULL;
    return finish(buffer, [device->metal newBufferWithBytes:bytes length:length options:options(mode)], error,
                  __func__);
    MTBI_LEAVE((mtb_buffer_release(buffer), mtbi_fail_with_exception(error, __func__, exception), NULL))
}

/* What the deallocator block of a no-copy buffer reaches: plain memory, since a block need not retain what it captures
 * (Debian's blocks runtime does not). */
typedef struct {
    mtb_deallocator deallocator;
    void *context;
    /* Set once the caller has the buffer. If Metal fails and calls the block all the same, the memory is still the
     * caller's. */
    atomic_bool is_armed;
} memory_owner;

static void call_deallocator(memory_owner *owner, void *bytes, size_t length) {
    MTBI_ENTER
    owner->deallocator(bytes, length, owner->context);
    MTBI_LEAVE()
}

static void end_use(memory_owner *owner, void *bytes, size_t length) {
    if (!atomic_load(&owner->is_armed)) return;
    /* A call of this API that releases the last reference is the caller's own doing, on the caller's thread. In a
     * callback it may be the bridge's, which releases what a transfer has used, and the thread is Metal's. */
    bool is_on_metals_thread = mtbi_calls_under_way == 0 || mtbi_is_in_callback();
    mtbi_callback_scope scope;
    if (is_on_metals_thread) mtbi_callback_scope_enter(&scope, NULL);
    call_deallocator(owner, bytes, length);
    if (is_on_metals_thread) mtbi_callback_scope_leave(&scope);
}

mtb_buffer *mtb_buffer_create_no_copy(mtb_device *device, void *bytes, size_t length, mtb_storage_mode mode,
                                      mtb_deallocator deallocator, void *context, mtb_error **error) {
    mtb_buffer *buffer = NULL;
    memory_owner *owner = NULL;
    mtbi_error_clear(error);
    MTBI_ENTER
    if (check_new(device, length, mode, error, __func__) || GIVEN(bytes) || check_visible(mode, error, __func__) ||
        mtbi_check_multiple((uintptr_t)bytes, mtb_page_size(), "address", error, __func__) ||
        mtbi_check_multiple(length, mtb_page_size(), "length", error, __func__))
        return NULL;
    if (deallocator) {
        owner = calloc(1, sizeof *owner);
        if (!owner) {
            FAIL(error, MTB_OUT_OF_MEMORY, "no memory for the deallocator");
            return NULL;
        }
        owner->deallocator = deallocator;
        owner->context = context;
    }
    memory_owner *captured = owner;
    /* Here and not in the `if`: a block lives on the stack, as long as the scope in which it is written. */
    void (^block)(void *, NSUInteger) = ^(void *pointer, NSUInteger size) {
        end_use(captured, pointer, size);
        if (atomic_load(&captured->is_armed)) free(captured);
    };
    buffer = start(device, length, mode, error, __func__);
    if (buffer)
        buffer = finish(buffer,
                        [device->metal newBufferWithBytesNoCopy:bytes length:length options:options(mode)
                                                    deallocator:deallocator ? block : NULL],
                        error, __func__);
    if (buffer && owner)
        atomic_store(&owner->is_armed, true);
    else
        free(owner);
    return buffer;
    MTBI_LEAVE((mtb_buffer_release(buffer), free(owner), mtbi_fail_with_exception(error, __func__, exception), NULL))
}

void mtbi_buffer_destroy(mtbi_handle *handle) {
    mtb_buffer *buffer = (mtb_buffer *)handle;
    MTBI_ENTER
    mtb_buffer_release(buffer->view);
    [buffer->metal release];
    mtb_device_release(buffer->device);
    mtbi_handle_free(handle);
    MTBI_LEAVE()
}

mtb_status mtb_buffer_did_modify_range(mtb_buffer *buffer, size_t offset, size_t length, mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(GIVEN(buffer));
    REQUIRE(check_visible(buffer->mode, error, __func__));
    REQUIRE(mtbi_check_range(offset, length, buffer->length, "buffer", error, __func__));
    if (buffer->mode == MTB_STORAGE_MANAGED) [buffer->metal didModifyRange:NSMakeRange(offset, length)];
    return MTB_OK;
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

mtb_status mtb_buffer_set_label(mtb_buffer *buffer, const char *label, mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(GIVEN(buffer));
    buffer->pooled.is_changed = true;
    return mtbi_set_label(buffer->metal, label, error, __func__);
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

char *mtb_buffer_copy_label(const mtb_buffer *buffer) {
    MTBI_ENTER
    return buffer ? mtbi_copy_label(buffer->metal) : NULL;
    MTBI_LEAVE(NULL)
}
