/* What is behind mtb_buffer. */
#ifndef MTBI_BUFFER_H
#define MTBI_BUFFER_H

#include "core/pooled.h"
#include "device/device.h"

struct mtb_buffer {
    mtbi_handle handle;
    mtb_device *device;
    MTBI_OBJECT(MTLBuffer) metal;
    /* A buffer from a pool may be longer in Metal. */
    size_t length;
    void *contents;
    uint64_t gpu_address;
    mtb_storage_mode mode;
    /* Through these views peer devices see this buffer, one for each: see peer_view.m. A view has the next one here. */
    mtb_buffer *_Atomic view;
    /* A command buffer keeps the buffers of pools alive until it has completed, so that none is lent again while work
     * uses it. */
    mtbi_pooled pooled;
};

/* A new buffer's handle->destroy. A pool that owns the buffer puts its own there, and calls this in the end. */
void mtbi_buffer_destroy(mtbi_handle *handle);
/* The view of the buffer for a peer device; the buffer keeps owning the view. NULL if there can be none. */
mtb_buffer *mtbi_buffer_view_for(mtb_buffer *buffer, mtb_device *device);

#ifdef __OBJC__
/* A handle for the +1 `metal`, which is released on failure. */
mtb_buffer *mtbi_buffer_wrap(mtb_device *device, id<MTLBuffer> metal, size_t length, mtb_storage_mode mode,
                             mtb_error **error, const char *function);
#endif

#endif
