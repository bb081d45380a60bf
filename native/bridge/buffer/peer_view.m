/* Private buffers of one device as a peer sees them, over an Infinity Fabric link and not through system memory. Blits
 * may read from such a view; neither blits may write to one nor kernels use one. */
#import "buffer/buffer.h"
#import "core/guard.h"

static bool are_peers(mtb_device *a, mtb_device *b) {
    return [a->metal peerGroupID] != 0 && [a->metal peerGroupID] == [b->metal peerGroupID];
}

mtb_buffer *mtbi_buffer_view_for(mtb_buffer *buffer, mtb_device *device) {
    MTBI_ENTER
    if (buffer->mode != MTB_STORAGE_PRIVATE || !are_peers(buffer->device, device)) return NULL;
    mtb_buffer *_Atomic *end = &buffer->view;
    for (mtb_buffer *present; (present = atomic_load(end)); end = &present->view)
        if (mtbi_is_same_device(present->device, device)) return present;
    id<MTLBuffer> metal = [buffer->metal newRemoteBufferViewForDevice:device->metal];
    if (!metal) return NULL;
    mtb_buffer *view = mtbi_buffer_wrap(device, metal, buffer->length, MTB_STORAGE_PRIVATE, NULL, __func__);
    if (!view) return NULL;
    /* Another thread may have added a view meanwhile, for this device or another one. */
    for (mtb_buffer *present = NULL; !atomic_compare_exchange_strong(end, &present, view); present = NULL) {
        if (mtbi_is_same_device(present->device, device)) {
            mtb_buffer_release(view);
            return present;
        }
        end = &present->view;
    }
    return view;
    MTBI_LEAVE(NULL)
}
