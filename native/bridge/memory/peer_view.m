/* Private buffers of one device as a peer sees them: an Infinity Fabric link, not system memory, is between the two. */
#import "../checks.h"
#import "../guard.h"
#import "transfer.h"

static bool are_peers(mtb_device *a, mtb_device *b)
{
    return [a->metal peerGroupID] != 0 && [a->metal peerGroupID] == [b->metal peerGroupID];
}

/* The view of the buffer for the device, which stays the buffer's; NULL where there can be none. */
static mtb_buffer *view_for(mtb_buffer *buffer, mtb_device *device)
{
    MTBI_ENTER
    if (buffer->mode != MTB_STORAGE_PRIVATE || !are_peers(buffer->device, device))
        return NULL;
    mtb_buffer *present = atomic_load(&buffer->view);
    if (present)
        return mtbi_check_device(present->device, device, "view", NULL, __func__) ? NULL : present;
    id<MTLBuffer> metal = [buffer->metal newRemoteBufferViewForDevice:device->metal];
    if (!metal)
        return NULL;
    mtb_buffer *view = mtbi_buffer_wrap(device, metal, buffer->length, MTB_STORAGE_PRIVATE, NULL, __func__);
    if (view && !atomic_compare_exchange_strong(&buffer->view, &present, view)) {
        mtb_buffer_release(view);
        view = present;
    }
    return view;
    MTBI_LEAVE(NULL)
}

mtb_status mtbi_record_bring_near(mtbi_record *record, mtbi_operation *operation, mtb_error **error,
                                  const char *function)
{
    bool is_source = mtbi_is_foreign(record->memory, operation->source.buffer);
    mtb_place *far = is_source ? &operation->source : &operation->destination;
    mtb_buffer *view = view_for(far->buffer, record->memory->device);
    if (!view)
        return MTB_OK;
    REQUIRE(mtbi_record_use(record, far->buffer, error, function));
    far->buffer = view;
    operation->kind = MTB_TRANSFER_PEER;
    return MTB_OK;
}
