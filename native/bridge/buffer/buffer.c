/* What buffers answer without a message to Metal. */
#include "buffer/buffer.h"

size_t mtb_buffer_length(const mtb_buffer *buffer) { return buffer ? buffer->length : 0; }

mtb_storage_mode mtb_buffer_storage_mode(const mtb_buffer *buffer) {
    return buffer ? buffer->mode : MTB_STORAGE_SHARED;
}

void *mtb_buffer_contents(const mtb_buffer *buffer) { return buffer ? buffer->contents : NULL; }

uint64_t mtb_buffer_gpu_address(const mtb_buffer *buffer) { return buffer ? buffer->gpu_address : 0; }

uint64_t mtb_buffer_device_id(const mtb_buffer *buffer) { return buffer ? buffer->device->info.registry_id : 0; }
