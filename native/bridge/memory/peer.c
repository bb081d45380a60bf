/* Copies between devices that are no peers. The bytes go through pages that both devices see, a piece at a time: the
 * device that has them copies a piece there and signals, and the other copies it on and signals back. */
#include "peer.h"

#include "../checks.h"
#include "../command_buffer.h"
#include "transfer.h"

#include <stdlib.h>
#include <unistd.h>

/* Bytes of a piece. */
static const size_t piece_size = 4 << 20;

struct mtbi_peer {
    mtbi_peer *next;
    mtbi_kernels kernels;
    /* Under the memory's mutex: those that no copy uses now. */
    mtbi_crossing *idle;
};

bool mtbi_is_foreign(const mtb_memory *memory, const mtb_buffer *buffer)
{
    return buffer && buffer->device->info.registry_id != memory->device->info.registry_id;
}

bool mtbi_is_between_devices(const mtb_memory *memory, const mtbi_operation *operation)
{
    return mtbi_is_foreign(memory, operation->destination.buffer)
           || (operation->action == MTBI_COPY && mtbi_is_foreign(memory, operation->source.buffer));
}

static void destroy(mtbi_crossing *crossing)
{
    mtb_command_buffer_release(crossing->command_buffer);
    mtb_queue_release(crossing->queue);
    mtb_event_release(crossing->out);
    mtb_event_release(crossing->back);
    mtb_buffer_release(crossing->near);
    mtb_buffer_release(crossing->far);
    free(crossing->pages);
    free(crossing);
}

void mtbi_crossings_end(const mtbi_crossing *crossings)
{
    /* Looks again and again rather than waits: this is a callback, and Metal may want its thread for the other's.
     * The bridge has signalled all that the other waits for. */
    for (; crossings; crossings = crossings->next)
        while (mtb_command_buffer_get_status(crossings->command_buffer) < MTB_COMMAND_BUFFER_COMPLETED)
            usleep(200);
}

void mtbi_crossings_free(mtb_memory *memory, mtbi_crossing *crossings)
{
    while (crossings) {
        mtbi_crossing *crossing = crossings;
        crossings = crossing->next;
        mtb_command_buffer_release(crossing->command_buffer);
        crossing->command_buffer = NULL;
        pthread_mutex_lock(&memory->mutex);
        crossing->next = crossing->peer->idle;
        crossing->peer->idle = crossing;
        pthread_mutex_unlock(&memory->mutex);
    }
}

void mtbi_peers_free(mtbi_peer *peers)
{
    while (peers) {
        mtbi_peer *peer = peers;
        peers = peer->next;
        while (peer->idle) {
            mtbi_crossing *crossing = peer->idle;
            peer->idle = crossing->next;
            destroy(crossing);
        }
        mtbi_kernels_destroy(&peer->kernels);
        free(peer);
    }
}

static mtbi_peer *peer_of(mtb_memory *memory, mtb_device *device)
{
    pthread_mutex_lock(&memory->mutex);
    mtbi_peer *peer = memory->peers;
    while (peer && peer->kernels.device->info.registry_id != device->info.registry_id)
        peer = peer->next;
    if (!peer)
        peer = calloc(1, sizeof *peer);
    if (peer && !peer->kernels.device) {
        mtbi_kernels_create(&peer->kernels, device);
        peer->next = memory->peers;
        memory->peers = peer;
    }
    pthread_mutex_unlock(&memory->mutex);
    return peer;
}

static mtb_status fill_in(mtbi_crossing *crossing, mtb_memory *memory, mtb_error **error, const char *function)
{
    mtb_device *far = crossing->peer->kernels.device;
    size_t page = mtb_page_size();
    crossing->size = (piece_size + page - 1) / page * page;
    if (posix_memalign(&crossing->pages, page, crossing->size))
        return mtbi_fail(error, function, MTB_OUT_OF_MEMORY, "no memory for %zu bytes between devices", crossing->size);
    crossing->near = mtb_buffer_create_no_copy(memory->device, crossing->pages, crossing->size, MTB_STORAGE_SHARED,
                                               NULL, NULL, error);
    if (crossing->near)
        crossing->far = mtb_buffer_create_no_copy(far, crossing->pages, crossing->size, MTB_STORAGE_SHARED, NULL, NULL,
                                                  error);
    if (crossing->far)
        crossing->queue = mtb_queue_create(far, 0, error);
    if (crossing->queue)
        crossing->out = mtb_event_create(memory->device, error);
    if (crossing->out)
        crossing->back = mtb_event_create(far, error);
    return crossing->back ? MTB_OK : MTB_OUT_OF_MEMORY;
}

static mtbi_crossing *take(mtb_memory *memory, mtb_device *device, mtb_error **error, const char *function)
{
    mtbi_peer *peer = peer_of(memory, device);
    mtbi_crossing *crossing = NULL;
    if (peer) {
        pthread_mutex_lock(&memory->mutex);
        crossing = peer->idle;
        if (crossing)
            peer->idle = crossing->next;
        pthread_mutex_unlock(&memory->mutex);
    }
    if (crossing)
        return crossing;
    crossing = peer ? calloc(1, sizeof *crossing) : NULL;
    if (!crossing) {
        mtbi_fail(error, function, MTB_OUT_OF_MEMORY, "no memory for a copy between devices");
        return NULL;
    }
    crossing->peer = peer;
    if (fill_in(crossing, memory, error, function)) {
        destroy(crossing);
        return NULL;
    }
    return crossing;
}

/* Where a copy between devices is encoded. */
typedef struct way {
    mtb_memory *memory;
    mtbi_crossing *crossing;
    mtb_command_buffer *command_buffer;
    bool is_from_far;
} way;

/* Has what is done there wait for what has been encoded here, and the other way round. */
static mtb_status encode_out(const way *along, mtb_error **error)
{
    mtbi_crossing *crossing = along->crossing;
    uint64_t value = ++crossing->out_value;
    REQUIRE(mtb_command_buffer_encode_signal(along->command_buffer, crossing->out, value, error));
    return mtb_command_buffer_encode_wait(crossing->command_buffer, crossing->out, value, error);
}

static mtb_status encode_back(const way *along, mtb_error **error)
{
    mtbi_crossing *crossing = along->crossing;
    uint64_t value = ++crossing->back_value;
    REQUIRE(mtb_command_buffer_encode_signal(crossing->command_buffer, crossing->back, value, error));
    return mtb_command_buffer_encode_wait(along->command_buffer, crossing->back, value, error);
}

static mtb_status encode_piece(const way *along, mtbi_operation piece, mtb_error **error)
{
    mtbi_crossing *crossing = along->crossing;
    mtb_command_buffer *near = along->command_buffer, *far = crossing->command_buffer;
    mtbi_kernels *near_kernels = &along->memory->kernels, *far_kernels = &crossing->peer->kernels;
    /* In step with the source within a word, so that the first copy is a blit. */
    mtb_place between = {.offset = piece.source.offset % sizeof(uint32_t), .pitch = piece.width};
    mtbi_operation in = piece, out = piece;
    in.destination = out.source = between;
    in.destination.buffer = along->is_from_far ? crossing->far : crossing->near;
    out.source.buffer = along->is_from_far ? crossing->near : crossing->far;
    /* The far side starts after all that was committed to the near queue. */
    if (along->is_from_far) {
        REQUIRE(encode_out(along, error));
        REQUIRE(mtbi_encode_copy(far_kernels, far, &in, error));
        REQUIRE(encode_back(along, error));
        return mtbi_encode_copy(near_kernels, near, &out, error);
    }
    REQUIRE(mtbi_encode_copy(near_kernels, near, &in, error));
    REQUIRE(encode_out(along, error));
    REQUIRE(mtbi_encode_copy(far_kernels, far, &out, error));
    return encode_back(along, error);
}

/* Rows in pieces; as many whole rows as fit, or parts of one. */
static mtb_status encode_pieces(const way *along, const mtbi_operation *copy, mtb_error **error)
{
    size_t room = along->crossing->size - sizeof(uint32_t);
    size_t rows = copy->width < room ? room / copy->width : 1;
    for (size_t row = 0; row < copy->height; row += rows)
        for (size_t begin = 0; begin < copy->width; begin += room) {
            mtbi_operation piece = *copy;
            piece.source.offset += row * copy->source.pitch + begin;
            piece.destination.offset += row * copy->destination.pitch + begin;
            piece.width = copy->width - begin < room ? copy->width - begin : room;
            piece.height = copy->height - row < rows ? copy->height - row : rows;
            REQUIRE(encode_piece(along, piece, error));
        }
    return MTB_OK;
}

mtb_status mtbi_record_cross(mtbi_record *record, const mtbi_operation *operation, mtb_command_buffer *command_buffer,
                             mtb_error **error)
{
    bool is_from_far = mtbi_is_foreign(record->memory, operation->source.buffer);
    mtb_device *far = is_from_far ? operation->source.buffer->device : operation->destination.buffer->device;
    mtbi_crossing *crossing = take(record->memory, far, error, __func__);
    if (!crossing)
        return MTB_OUT_OF_MEMORY;
    crossing->next = record->crossings;
    record->crossings = crossing;
    crossing->command_buffer = mtb_command_buffer_create(crossing->queue, MTB_REFERENCES_RETAINED, MTB_FOREVER, error);
    if (!crossing->command_buffer)
        return MTB_OUT_OF_MEMORY;
    /* Its failure is that of the transfer. */
    crossing->command_buffer->earlier = command_buffer->earlier;
    command_buffer->earlier = mtb_command_buffer_retain(crossing->command_buffer);
    way along = {
        .memory = record->memory,
        .crossing = crossing,
        .command_buffer = command_buffer,
        .is_from_far = is_from_far,
    };
    return encode_pieces(&along, operation, error);
}

void mtbi_record_open_crossings(mtbi_record *record)
{
    for (mtbi_crossing *crossing = record->crossings; crossing; crossing = crossing->next)
        mtb_event_signal(crossing->out, crossing->out_value, NULL);
}

mtb_status mtbi_record_commit_crossings(mtbi_record *record, mtb_error **error)
{
    for (mtbi_crossing *crossing = record->crossings; crossing; crossing = crossing->next)
        REQUIRE(mtb_command_buffer_commit(crossing->command_buffer, error));
    return MTB_OK;
}
