/* From a record to commands: blits, and kernels for what blits cannot do. */
#include "memory/transfer.h"

#include "command/blit.h"
#include "command/command_buffer.h"
#include "core/checks.h"
#include "memory/transfer_kernels.h"

/* Blits move words. */
enum {
    WORD = 4,
    THREADS = 64
};
/* Blits that are encoded together. */
enum {
    BLITS = 64
};
/* Rows up to this number are blits of their own; more rows are one dispatch. */
static const size_t most_blit_rows = 16;
/* A kernel moves all of a copy with fewer bytes. A blit moves all but the ends of a longer one. */
static const size_t smallest_split = 4096;

/* At most one of the two encoders is open. */
typedef struct commands {
    mtbi_kernels *kernels;
    mtb_command_buffer *command_buffer;
    mtb_blit_encoder *blit;
    mtb_compute_encoder *compute;
    /* For the blit encoder, which has not seen them yet. */
    mtbi_blit blits[BLITS];
    size_t blit_count;
} commands;

static mtb_status encode_blits(commands *to, mtb_error **error) {
    size_t count = to->blit_count;
    to->blit_count = 0;
    return count ? mtbi_blit_encoder_encode(to->blit, to->blits, count, error) : MTB_OK;
}

static mtb_status end_encoder(commands *to, mtb_error **error) {
    mtb_status status = encode_blits(to, error);
    if (to->blit) {
        mtb_status ended = mtb_blit_encoder_end(to->blit, status ? NULL : error);
        status = status ? status : ended;
    }
    if (to->compute) status = mtb_compute_encoder_end(to->compute, error);
    mtb_blit_encoder_release(to->blit);
    mtb_compute_encoder_release(to->compute);
    to->blit = NULL;
    to->compute = NULL;
    return status;
}

static mtb_status use_blit(commands *to, mtb_error **error) {
    if (to->blit) return MTB_OK;
    REQUIRE(end_encoder(to, error));
    to->blit = mtb_blit_encoder_create(to->command_buffer, error);
    return to->blit ? MTB_OK : mtbi_last_failure();
}

static mtb_status use_compute(commands *to, mtb_error **error) {
    if (to->compute) return MTB_OK;
    REQUIRE(end_encoder(to, error));
    to->compute = mtb_compute_encoder_create(to->command_buffer, MTB_DISPATCH_SERIAL, error);
    return to->compute ? MTB_OK : mtbi_last_failure();
}

static mtb_status dispatch(commands *to, mtbi_kernel kernel, const mtbi_operation *operation, mtb_error **error) {
    size_t unit = kernel == MTBI_KERNEL_FILL_WORDS ? WORD : 1;
    mtbi_rows rows = {
        .source_pitch = operation->source.pitch,
        .destination_pitch = operation->destination.pitch / unit,
        .width = operation->width / unit,
        .height = (uint32_t)operation->height,
    };
    for (size_t i = 0; i < sizeof operation->pattern; i++) rows.pattern |= (uint32_t)operation->pattern[i] << (8 * i);
    mtb_pipeline *pipeline = mtbi_kernels_get(to->kernels, kernel, error);
    if (!pipeline) return mtbi_last_failure();
    REQUIRE(use_compute(to, error));
    REQUIRE(mtb_compute_encoder_set_pipeline(to->compute, pipeline, error));
    if (operation->action == MTBI_COPY)
        REQUIRE(
            mtb_compute_encoder_set_buffer(to->compute, operation->source.buffer, operation->source.offset, 0, error));
    REQUIRE(mtb_compute_encoder_set_buffer(to->compute, operation->destination.buffer, operation->destination.offset, 1,
                                           error));
    REQUIRE(mtb_compute_encoder_set_bytes(to->compute, &rows, sizeof rows, 2, error));
    size_t threads = (rows.width + MTBI_KERNEL_UNIT - 1) / MTBI_KERNEL_UNIT;
    size_t width = threads < THREADS ? threads : THREADS;
    mtb_size groups = {(threads + width - 1) / width, operation->height, 1}, group = {width, 1, 1};
    return mtb_compute_encoder_dispatch_threadgroups(to->compute, groups, group, error);
}

static mtb_status blit(commands *to, const mtbi_operation *row, size_t skipped, size_t width, mtb_error **error) {
    REQUIRE(use_blit(to, error));
    if (to->blit_count == BLITS) REQUIRE(encode_blits(to, error));
    to->blits[to->blit_count++] = (mtbi_blit){
        .source = row->action == MTBI_COPY ? row->source.buffer : NULL,
        .source_offset = row->source.offset + skipped,
        .destination = row->destination.buffer,
        .destination_offset = row->destination.offset + skipped,
        .size = width,
        .value = row->pattern[0],
    };
    return MTB_OK;
}

/* The bytes of a row from `begin` on, by a kernel. */
static mtb_status dispatch_part(commands *to, mtbi_kernel kernel, mtbi_operation row, size_t begin, size_t width,
                                mtb_error **error) {
    if (width == 0) return MTB_OK;
    row.source.offset += begin;
    row.destination.offset += begin;
    row.width = width;
    return dispatch(to, kernel, &row, error);
}

static mtb_status encode_row(commands *to, const mtbi_operation *row, mtb_error **error) {
    bool is_copy = row->action == MTBI_COPY;
    mtbi_kernel kernel = is_copy ? MTBI_KERNEL_COPY_ROWS : MTBI_KERNEL_FILL_ROWS;
    size_t offset = row->destination.offset;
    bool can_blit = is_copy ? row->source.offset % WORD == offset % WORD : row->is_uniform;
    size_t head = (WORD - offset % WORD) % WORD;
    size_t tail = row->width > head ? (row->width - head) % WORD : 0;
    if (can_blit && head + tail == 0) return blit(to, row, 0, row->width, error);
    if (!can_blit || row->width < smallest_split) return dispatch(to, kernel, row, error);
    REQUIRE(blit(to, row, head, row->width - head - tail, error));
    REQUIRE(dispatch_part(to, kernel, *row, 0, head, error));
    return dispatch_part(to, kernel, *row, row->width - tail, tail, error);
}

static mtb_status encode_fill_of_words(commands *to, const mtbi_operation *fill, mtb_error **error) {
    bool is_words =
        fill->destination.offset % WORD == 0 && fill->destination.pitch % WORD == 0 && fill->width % WORD == 0;
    return dispatch(to, is_words ? MTBI_KERNEL_FILL_WORDS : MTBI_KERNEL_FILL_ROWS, fill, error);
}

static mtb_status encode(commands *to, const mtbi_operation *operation, mtb_error **error) {
    bool is_copy = operation->action == MTBI_COPY;
    if (!is_copy && !operation->is_uniform) return encode_fill_of_words(to, operation, error);
    /* Kernels cannot read a view of a peer's buffer. */
    if (operation->height > most_blit_rows && operation->kind != MTB_TRANSFER_PEER)
        return dispatch(to, is_copy ? MTBI_KERNEL_COPY_ROWS : MTBI_KERNEL_FILL_ROWS, operation, error);
    mtbi_operation row = *operation;
    row.height = 1;
    for (size_t i = 0; i < operation->height; i++) {
        REQUIRE(encode_row(to, &row, error));
        row.source.offset += operation->source.pitch;
        row.destination.offset += operation->destination.pitch;
    }
    return MTB_OK;
}

static mtb_status synchronize_one(commands *to, mtb_buffer *buffer, mtb_error **error) {
    REQUIRE(use_blit(to, error));
    REQUIRE(encode_blits(to, error));
    return mtb_blit_encoder_synchronize(to->blit, buffer, error);
}

/* The CPU's copies of managed buffers follow. */
static mtb_status synchronize(commands *to, const mtbi_record *record, mtb_error **error) {
    const mtb_buffer *last = NULL;
    for (size_t i = 0; i < record->operations.count; i++) {
        mtb_buffer *buffer = record->operations.list[i].destination.buffer;
        if (buffer == last || buffer->mode != MTB_STORAGE_MANAGED || mtbi_is_foreign(record->memory, buffer)) continue;
        REQUIRE(synchronize_one(to, buffer, error));
        last = buffer;
    }
    return MTB_OK;
}

mtb_status mtbi_encode_copy(mtbi_kernels *kernels, mtb_command_buffer *command_buffer, const mtbi_operation *copy,
                            mtb_error **error) {
    commands to = {.kernels = kernels, .command_buffer = command_buffer};
    mtb_status status = encode(&to, copy, error);
    if (status == MTB_OK && copy->destination.buffer->mode == MTB_STORAGE_MANAGED)
        status = synchronize_one(&to, copy->destination.buffer, error);
    mtb_status ended = end_encoder(&to, status == MTB_OK ? error : NULL);
    return status ? status : ended;
}

/* A copy between devices goes to and fro between two command buffers. */
static mtb_status encode_any(commands *to, mtbi_record *record, const mtbi_operation *operation, mtb_error **error,
                             const char *function) {
    if (!mtbi_is_between_devices(record->memory, operation)) return encode(to, operation, error);
    REQUIRE(end_encoder(to, error));
    return mtbi_record_bounce(record, operation, to->command_buffer, error, function);
}

mtb_status mtbi_record_encode(mtbi_record *record, mtb_command_buffer *command_buffer, mtb_error **error,
                              const char *function) {
    commands to = {.kernels = &record->memory->kernels, .command_buffer = command_buffer};
    mtb_status status = MTB_OK;
    for (size_t i = 0; i < record->operations.count && status == MTB_OK; i++)
        status = encode_any(&to, record, &record->operations.list[i], error, function);
    if (status == MTB_OK) status = synchronize(&to, record, error);
    mtb_status ended = end_encoder(&to, status == MTB_OK ? error : NULL);
    return status ? status : ended;
}
