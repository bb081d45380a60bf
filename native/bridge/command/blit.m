/* Blit encoders: copies and fills by the GPU. */
#import "command/blit.h"

#import "command/encoder.h"
#import "core/checks.h"
#import "core/guard.h"
#import "core/text.h"

struct mtb_blit_encoder {
    mtbi_encoder base;
};

/* macOS copies and fills whole words. */
static const size_t blit_unit = 4;

static void destroy(mtbi_handle *handle) {
    MTBI_ENTER
    mtbi_encoder_destroy((mtbi_encoder *)handle);
    MTBI_LEAVE()
}

mtb_blit_encoder *mtb_blit_encoder_create(mtb_command_buffer *command_buffer, mtb_error **error) {
    mtb_blit_encoder *encoder = NULL;
    mtbi_error_clear(error);
    MTBI_ENTER
    if (GIVEN(command_buffer) || mtbi_command_buffer_check_open(command_buffer, error, __func__)) return NULL;
    encoder = mtbi_handle_create(MTB_HANDLE_BLIT_ENCODER, sizeof *encoder, destroy, error, __func__);
    if (!encoder) return NULL;
    if (mtbi_encoder_begin(&encoder->base, command_buffer, [command_buffer->metal blitCommandEncoder], error,
                           __func__)) {
        mtb_blit_encoder_release(encoder);
        return NULL;
    }
    return encoder;
    MTBI_LEAVE((mtb_blit_encoder_release(encoder), mtbi_fail_with_exception(error, __func__, exception), NULL))
}

mtb_status mtb_blit_encoder_set_label(mtb_blit_encoder *encoder, const char *label, mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(mtbi_encoder_check(ENCODER_BASE(encoder), error, __func__));
    return mtbi_set_label(encoder->base.metal, label, error, __func__);
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

/* Buffers of pools live until the command buffer has completed; Metal keeps the others alive, or the caller does. */
static mtb_status encode(mtb_blit_encoder *encoder, const mtbi_blit *blit, mtb_error **error, const char *function) {
    id<MTLBlitCommandEncoder> metal = (id<MTLBlitCommandEncoder>)encoder->base.metal;
    REQUIRE(mtbi_command_buffer_keep(encoder->base.command_buffer, blit->destination, error, function));
    if (!blit->source) {
        [metal fillBuffer:blit->destination->metal range:NSMakeRange(blit->destination_offset, blit->size)
                    value:blit->value];
        return MTB_OK;
    }
    REQUIRE(mtbi_command_buffer_keep(encoder->base.command_buffer, blit->source, error, function));
    [metal copyFromBuffer:blit->source->metal sourceOffset:blit->source_offset toBuffer:blit->destination->metal
        destinationOffset:blit->destination_offset
                     size:blit->size];
    return MTB_OK;
}

mtb_status mtbi_blit_encoder_encode(mtb_blit_encoder *encoder, const mtbi_blit *blits, size_t count,
                                    mtb_error **error) {
    MTBI_ENTER
    for (size_t i = 0; i < count; i++) REQUIRE(encode(encoder, &blits[i], error, __func__));
    return MTB_OK;
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

static mtb_status check_buffer(const mtb_blit_encoder *encoder, const mtb_buffer *buffer, const char *what,
                               mtb_error **error, const char *function) {
    REQUIRE(mtbi_check_given(buffer, what, error, function));
    return mtbi_check_device(encoder->base.command_buffer->queue->device, buffer->device, what, error, function);
}

mtb_status mtb_blit_encoder_copy(mtb_blit_encoder *encoder, mtb_buffer *source, size_t source_offset,
                                 mtb_buffer *destination, size_t destination_offset, size_t size, mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(mtbi_encoder_check(ENCODER_BASE(encoder), error, __func__));
    REQUIRE(check_buffer(encoder, source, "source", error, __func__));
    REQUIRE(check_buffer(encoder, destination, "destination", error, __func__));
    REQUIRE(mtbi_check_range(source_offset, size, source->length, "source", error, __func__));
    REQUIRE(mtbi_check_range(destination_offset, size, destination->length, "destination", error, __func__));
    REQUIRE(mtbi_check_multiple(source_offset, blit_unit, "source offset", error, __func__));
    REQUIRE(mtbi_check_multiple(destination_offset, blit_unit, "destination offset", error, __func__));
    REQUIRE(mtbi_check_multiple(size, blit_unit, "size", error, __func__));
    size_t distance =
        source_offset < destination_offset ? destination_offset - source_offset : source_offset - destination_offset;
    if (source->metal == destination->metal && distance < size)
        return FAIL(error, MTB_INVALID_ARGUMENT, "the ranges at offsets %zu and %zu of one buffer overlap (%zu bytes)",
                    source_offset, destination_offset, size);
    return encode(encoder, &(mtbi_blit){source, source_offset, destination, destination_offset, size, 0}, error,
                  __func__);
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

mtb_status mtb_blit_encoder_fill(mtb_blit_encoder *encoder, mtb_buffer *buffer, size_t offset, size_t length,
                                 uint8_t value, mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(mtbi_encoder_check(ENCODER_BASE(encoder), error, __func__));
    REQUIRE(check_buffer(encoder, buffer, "buffer", error, __func__));
    REQUIRE(mtbi_check_range(offset, length, buffer->length, "buffer", error, __func__));
    REQUIRE(mtbi_check_multiple(offset, blit_unit, "offset", error, __func__));
    REQUIRE(mtbi_check_multiple(length, blit_unit, "length", error, __func__));
    return encode(encoder, &(mtbi_blit){NULL, 0, buffer, offset, length, value}, error, __func__);
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

mtb_status mtb_blit_encoder_synchronize(mtb_blit_encoder *encoder, mtb_buffer *buffer, mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(mtbi_encoder_check(ENCODER_BASE(encoder), error, __func__));
    REQUIRE(check_buffer(encoder, buffer, "buffer", error, __func__));
    if (buffer->mode == MTB_STORAGE_PRIVATE)
        return FAIL(error, MTB_INVALID_ARGUMENT, "the CPU does not see a private buffer: copy it to another");
    REQUIRE(mtbi_command_buffer_keep(encoder->base.command_buffer, buffer, error, __func__));
    if (buffer->mode == MTB_STORAGE_MANAGED)
        [(id<MTLBlitCommandEncoder>)encoder->base.metal synchronizeResource:buffer->metal];
    return MTB_OK;
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

mtb_status mtb_blit_encoder_push_debug_group(mtb_blit_encoder *encoder, const char *name, mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    return mtbi_encoder_push_debug_group(ENCODER_BASE(encoder), name, error, __func__);
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

mtb_status mtb_blit_encoder_pop_debug_group(mtb_blit_encoder *encoder, mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    return mtbi_encoder_pop_debug_group(ENCODER_BASE(encoder), error, __func__);
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

mtb_status mtb_blit_encoder_end(mtb_blit_encoder *encoder, mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(mtbi_encoder_check(ENCODER_BASE(encoder), error, __func__));
    mtbi_encoder_end(&encoder->base);
    return MTB_OK;
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}
