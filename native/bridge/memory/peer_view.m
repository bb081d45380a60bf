/* Private buffers of one device as a peer sees them: an Infinity Fabric link, not system memory, is between the two.
 * Metal has these views for blits to read from, not for blits to write to, nor for kernels. */
#import "core/checks.h"
#import "core/guard.h"
#import "memory/transfer.h"

static bool are_peers(mtb_device *a, mtb_device *b) {
    return [a->metal peerGroupID] != 0 && [a->metal peerGroupID] == [b->metal peerGroupID];
}

/* The view of the buffer for the device, which stays the buffer's; NULL where there can be none. */
static mtb_buffer *view_for(mtb_buffer *buffer, mtb_device *device) {
    MTBI_ENTER
    if (buffer->mode != MTB_STORAGE_PRIVATE || !are_peers(buffer->device, device)) return NULL;
    mtb_buffer *present = atomic_load(&buffer->view);
    if (present) return mtbi_check_device(present->device, device, "view", NULL, __func__) ? NULL : present;
    id<MTLBuffer> metal = [buffer->metal newRemoteBufferViewForDevice:device->metal];
    if (!metal) return NULL;
    mtb_buffer *view = mtbi_buffer_wrap(device, metal, buffer->length, MTB_STORAGE_PRIVATE, NULL, __func__);
    if (view && !atomic_compare_exchange_strong(&buffer->view, &present, view)) {
        mtb_buffer_release(view);
        view = present;
    }
    return view;
    MTBI_LEAVE(NULL)
}

/* Whether blits alone can do the copy, which move words. */
static bool is_of_words(const mtbi_operation *copy) {
    size_t all = copy->source.offset | copy->destination.offset | copy->width;
    if (copy->height > 1) all |= copy->source.pitch | copy->destination.pitch;
    return all % sizeof(uint32_t) == 0;
}

mtb_status mtbi_record_view_source(mtbi_record *record, mtbi_operation *copy, mtb_error **error, const char *function) {
    if (!is_of_words(copy)) return MTB_OK;
    mtb_buffer *source = copy->source.buffer;
    mtb_buffer *view = view_for(source, copy->destination.buffer->device);
    if (!view) return MTB_OK;
    REQUIRE(mtbi_record_use(record, source, error, function));
    copy->source.buffer = view;
    copy->kind = MTB_TRANSFER_PEER;
    return MTB_OK;
}
