/* Copies between devices that need both. If the other device is a peer, it copies from a view, in the order of this
 * device's queue. Otherwise the bytes go in pieces through pages that both devices see: the device with the source
 * copies a piece there and signals, and the other copies the piece on and signals back. The pages have two regions, and
 * each piece takes the other one than the piece before it, so that both devices copy at the same time. */
#include "memory/transfer.h"

#include "core/checks.h"
#include <stdlib.h>
#include <unistd.h>

bool mtbi_is_foreign(const mtb_memory *memory, const mtb_buffer *buffer) {
    return buffer && !mtbi_is_same_device(buffer->device, memory->device);
}

bool mtbi_is_between_devices(const mtb_memory *memory, const mtbi_operation *operation) {
    return mtbi_is_foreign(memory, operation->destination.buffer) ||
           (operation->action == MTBI_COPY && mtbi_is_foreign(memory, operation->source.buffer));
}

/* One that was not committed, or that Metal has refused, is not. */
static bool is_at_work(const mtb_command_buffer *command_buffer) {
    return command_buffer && mtbi_command_buffer_runs(command_buffer, false) &&
           mtb_command_buffer_get_status(command_buffer) < MTB_COMMAND_BUFFER_COMPLETED;
}

void mtbi_bounces_end(const mtbi_bounce *bounces) {
    /* One after the other, since two may write the same bytes. Looks again and again instead of waiting: this is a
     * callback, and Metal may need its thread for the other's. */
    for (; bounces; bounces = bounces->next) {
        mtb_event_signal(bounces->out, bounces->out_value, NULL);
        while (is_at_work(bounces->command_buffer)) usleep(200);
    }
}

/* Where a copy between devices is encoded. */
typedef struct way {
    mtb_memory *memory;
    mtbi_bounce *bounce;
    mtb_command_buffer *command_buffer;
    bool is_from_far;
} way;

/* What is done there from now on waits for what has been encoded here, and the other way round. */
static mtb_status encode_signal_out(const way *along, mtb_error **error) {
    mtbi_bounce *bounce = along->bounce;
    return mtb_command_buffer_encode_signal(along->command_buffer, bounce->out, ++bounce->out_value, error);
}

static mtb_status encode_signal_back(const way *along, mtb_error **error) {
    mtbi_bounce *bounce = along->bounce;
    return mtb_command_buffer_encode_signal(bounce->command_buffer, bounce->back, ++bounce->back_value, error);
}

/* There, for all signals from here but the last `but`; and the other way round. */
static mtb_status encode_wait_out(const way *along, uint64_t but, mtb_error **error) {
    mtbi_bounce *bounce = along->bounce;
    return mtb_command_buffer_encode_wait(bounce->command_buffer, bounce->out, bounce->out_value - but, error);
}

static mtb_status encode_wait_back(const way *along, uint64_t but, mtb_error **error) {
    mtbi_bounce *bounce = along->bounce;
    return mtb_command_buffer_encode_wait(along->command_buffer, bounce->back, bounce->back_value - but, error);
}

/* One of the pieces of a copy, in their order. */
static mtb_status encode_piece(const way *along, mtbi_operation piece, size_t index, mtb_error **error) {
    mtbi_bounce *bounce = along->bounce;
    mtb_command_buffer *near = along->command_buffer, *far = bounce->command_buffer;
    mtbi_kernels *near_kernels = &along->memory->kernels, *far_kernels = mtbi_peer_kernels(bounce->peer);
    /* In step with the source within a word, so that the first copy is a blit. */
    size_t region = index % MTBI_BOUNCE_REGIONS * mtbi_bounce_region(bounce);
    mtb_place between = {.offset = region + piece.source.offset % sizeof(uint32_t), .pitch = piece.width};
    mtbi_operation in = piece, out = piece;
    in.destination = out.source = between;
    in.destination.buffer = along->is_from_far ? bounce->far : bounce->near;
    out.source.buffer = along->is_from_far ? bounce->near : bounce->far;
    /* The piece that was in the region has been copied on, but the one after it need not have been. */
    bool is_used_again = index >= MTBI_BOUNCE_REGIONS;
    uint64_t on_its_way = MTBI_BOUNCE_REGIONS - 1;
    if (along->is_from_far) {
        if (is_used_again) REQUIRE(encode_wait_out(along, on_its_way, error));
        REQUIRE(mtbi_encode_copy(far_kernels, far, &in, error));
        REQUIRE(encode_signal_back(along, error));
        REQUIRE(encode_wait_back(along, 0, error));
        REQUIRE(mtbi_encode_copy(near_kernels, near, &out, error));
        return encode_signal_out(along, error);
    }
    if (is_used_again) REQUIRE(encode_wait_back(along, on_its_way, error));
    REQUIRE(mtbi_encode_copy(near_kernels, near, &in, error));
    REQUIRE(encode_signal_out(along, error));
    REQUIRE(encode_wait_out(along, 0, error));
    REQUIRE(mtbi_encode_copy(far_kernels, far, &out, error));
    return encode_signal_back(along, error);
}

/* The far side starts after all that was committed to the near queue. */
static mtb_status encode_begin(const way *along, mtb_error **error) {
    REQUIRE(encode_signal_out(along, error));
    return encode_wait_out(along, 0, error);
}

/* Rows in pieces; as many whole rows as fit, or parts of one. */
static mtb_status encode_pieces(const way *along, const mtbi_operation *copy, mtb_error **error) {
    size_t most = mtbi_bounce_region(along->bounce) - sizeof(uint32_t), index = 0;
    size_t rows = copy->width < most ? most / copy->width : 1;
    if (along->is_from_far) REQUIRE(encode_begin(along, error));
    for (size_t row = 0; row < copy->height; row += rows)
        for (size_t begin = 0; begin < copy->width; begin += most) {
            mtbi_operation piece = *copy;
            piece.source.offset += row * copy->source.pitch + begin;
            piece.destination.offset += row * copy->destination.pitch + begin;
            piece.width = copy->width - begin < most ? copy->width - begin : most;
            piece.height = copy->height - row < rows ? copy->height - row : rows;
            REQUIRE(encode_piece(along, piece, index++, error));
        }
    /* What follows here finds all of the copy done there, and both regions free. */
    return along->is_from_far ? MTB_OK : encode_wait_back(along, 0, error);
}

/* The far device does the whole copy. */
static mtb_status encode_there(const way *along, const mtbi_operation *copy, mtb_error **error) {
    REQUIRE(encode_begin(along, error));
    REQUIRE(mtbi_encode_copy(mtbi_peer_kernels(along->bounce->peer), along->bounce->command_buffer, copy, error));
    REQUIRE(encode_signal_back(along, error));
    return encode_wait_back(along, 0, error);
}

/* Takes what such a copy needs, with a command buffer of the far device's, whose failure is the transfer's too. */
static mtb_status begin_bounce(mtbi_record *record, mtb_device *far, size_t size, mtb_command_buffer *command_buffer,
                               mtbi_bounce **begun, mtb_error **error, const char *function) {
    mtbi_bounce *bounce = NULL;
    REQUIRE(mtbi_bounce_take(record->memory, far, size, &bounce, error, function));
    bounce->next = record->bounces;
    record->bounces = bounce;
    bounce->command_buffer = mtb_command_buffer_create(bounce->queue, MTB_REFERENCES_RETAINED, MTB_SLOT_TIMEOUT, error);
    if (!bounce->command_buffer) return mtbi_last_failure();
    bounce->command_buffer->earlier = command_buffer->earlier;
    command_buffer->earlier = mtb_command_buffer_retain(bounce->command_buffer);
    *begun = bounce;
    return MTB_OK;
}

mtb_status mtbi_record_bounce(mtbi_record *record, const mtbi_operation *operation, mtb_command_buffer *command_buffer,
                              mtb_error **error, const char *function) {
    bool is_from_far = !mtbi_is_foreign(record->memory, operation->destination.buffer);
    bool is_by_pages = operation->kind != MTB_TRANSFER_PEER;
    mtb_device *far = is_from_far ? operation->source.buffer->device : operation->destination.buffer->device;
    size_t size = mtbi_bounce_size(is_by_pages ? operation->width * operation->height : 0);
    mtbi_bounce *bounce = record->bounces;
    while (bounce && (bounce->pooled.size < size || mtbi_peer_device(bounce->peer) != far)) bounce = bounce->next;
    if (!bounce) REQUIRE(begin_bounce(record, far, size, command_buffer, &bounce, error, function));
    way along = {
        .memory = record->memory,
        .bounce = bounce,
        .command_buffer = command_buffer,
        .is_from_far = is_from_far,
    };
    return is_by_pages ? encode_pieces(&along, operation, error) : encode_there(&along, operation, error);
}

mtb_status mtbi_record_commit_bounces(mtbi_record *record, mtb_error **error) {
    for (mtbi_bounce *bounce = record->bounces; bounce; bounce = bounce->next)
        REQUIRE(mtb_command_buffer_commit(bounce->command_buffer, error));
    return MTB_OK;
}

/* Whether blits, which move words, can do the copy alone. */
static bool is_of_words(const mtbi_operation *copy) {
    size_t all = copy->source.offset | copy->destination.offset | copy->width;
    if (copy->height > 1) all |= copy->source.pitch | copy->destination.pitch;
    return all % sizeof(uint32_t) == 0;
}

mtb_status mtbi_record_view_source(mtbi_record *record, mtbi_operation *copy, mtb_error **error, const char *function) {
    if (!is_of_words(copy)) return MTB_OK;
    mtb_buffer *source = copy->source.buffer;
    const mtb_buffer *far = mtbi_is_foreign(record->memory, source) ? source : copy->destination.buffer;
    if (!mtbi_peer_has_views(record->memory, far->device)) return MTB_OK;
    mtb_buffer *view = mtbi_buffer_view_for(source, copy->destination.buffer->device);
    if (!view) return MTB_OK;
    REQUIRE(mtbi_record_use(record, source, error, function));
    copy->source.buffer = view;
    copy->kind = MTB_TRANSFER_PEER;
    return MTB_OK;
}
