/* A transfer: the copies and fills on record, and what becomes of them when they are committed. */
#ifndef MTBI_TRANSFER_H
#define MTBI_TRANSFER_H

#include "memory/memory.h"

typedef enum mtbi_action {
    MTBI_COPY,
    MTBI_FILL
} mtbi_action;

/* One copy or fill. On record, either side of a copy may be host memory; before it is encoded, what the GPU does is
 * between buffers, and what is left for the CPU is a leg. */
typedef struct mtbi_operation {
    mtbi_action action;
    mtb_transfer_kind kind;
    mtb_place source;
    mtb_place destination;
    size_t width;
    size_t height;
    /* Of a fill: repeated to four bytes, and whether all four are equal. */
    uint8_t pattern[4];
    bool is_uniform;
} mtbi_operation;

/* Everything that one command buffer of transfers needs until it has completed. */
typedef struct mtbi_record {
    mtb_memory *memory;
    mtbi_operation *operations;
    size_t operation_count;
    size_t operation_capacity;
    /* What is left to the CPU once the GPU has done its part, all of it between host memory. */
    mtbi_operation *legs;
    size_t leg_count;
    size_t leg_capacity;
    /* The queue that has the legs among its own, where there are any. */
    mtb_queue *queue;
    /* So many transfers of the queue with legs have to have done theirs before this one's GPU writes to host memory.
     * Zero where it does not, or they have. */
    uint64_t awaited_legs;
    /* Buffers that are used, with a reference each, and those that wrap host memory. */
    mtb_buffer **buffers;
    size_t buffer_count;
    size_t buffer_capacity;
    /* Staging blocks. The first is the one that bytes are being put into, from `block_used` on. */
    mtb_buffer *blocks;
    size_t block_used;
    mtbi_crossing *crossings;
    /* What the CPU has spent on all kinds together. */
    uint64_t cpu_ns;
    mtb_transfer_statistics sums[MTB_TRANSFER_KIND_COUNT];
} mtbi_record;

struct mtb_transfer {
    mtbi_handle handle;
    mtb_memory *memory;
    mtb_queue *queue;
    /* NULL while nothing is on record. */
    mtbi_record *record;
};

mtbi_record *mtbi_record_create(mtb_memory *memory, mtb_error **error, const char *function);
/* Gives the blocks back and releases the buffers: nobody uses them any more. */
void mtbi_record_let_go(mtbi_record *record);
void mtbi_record_free(mtbi_record *record);
mtb_status mtbi_record_add(mtbi_record *record, const mtbi_operation *operation, mtb_error **error,
                           const char *function);
mtb_status mtbi_record_add_leg(mtbi_record *record, const mtbi_operation *leg, mtb_error **error, const char *function);
/* Keeps the buffer until the record lets go. */
mtb_status mtbi_record_use(mtbi_record *record, mtb_buffer *buffer, mtb_error **error, const char *function);
/* The same with the caller's reference, which is released on failure. */
mtb_status mtbi_record_keep(mtbi_record *record, mtb_buffer *buffer, mtb_error **error, const char *function);

/* Room in a staging block for `height` rows of `width` bytes. The rows have the same place within a word as those that
 * begin at `offset` and are `pitch` bytes apart, so that blits can move all but their ends. Returns where. */
mtb_status mtbi_record_stage(mtbi_record *record, size_t offset, size_t pitch, size_t width, size_t height,
                             mtb_place *staged, mtb_error **error, const char *function);
/* Has the operation read its host memory now. */
mtb_status mtbi_record_stage_source(mtbi_record *record, mtbi_operation *operation, mtb_error **error,
                                    const char *function);
/* From the first byte of a block of rows to its last. */
size_t mtbi_extent(const mtb_place *place, size_t width, size_t height);
/* Makes the host memory at `place` a buffer of the pages that it is in. False where that does not pay, or Metal does
 * not want these pages. */
bool mtbi_record_wrap(mtbi_record *record, mtb_place *place, size_t width, size_t height);

/* Small pieces of host memory that have pages for themselves: the sources of copies, or their destinations. */
typedef struct mtbi_pieces {
    bool is_source;
    /* Of all these pages; NULL: they are not wrapped. */
    mtb_buffer *buffer;
    uintptr_t begin;
} mtbi_pieces;

/* Wraps the pieces together, where there are enough of them that it pays. */
void mtbi_record_wrap_pieces(mtbi_record *record, bool is_source, mtbi_pieces *pieces);
/* Has the operation use that buffer. False where its host memory is no such piece. */
bool mtbi_pieces_take(const mtbi_pieces *pieces, mtbi_operation *operation);

/* Leaves no host memory in the operations: that becomes staging with legs, or buffers that wrap it. The record is
 * next to be committed to `queue`. */
mtb_status mtbi_record_plan(mtbi_record *record, mtb_queue *queue, mtb_error **error, const char *function);
/* Encodes all operations. */
mtb_status mtbi_record_encode(mtbi_record *record, mtb_command_buffer *command_buffer, mtb_error **error,
                              const char *function);
/* Encodes one copy, for the device that the kernels are of. */
mtb_status mtbi_encode_copy(mtbi_kernels *kernels, mtb_command_buffer *command_buffer, const mtbi_operation *copy,
                            mtb_error **error);

/* Whether the buffer is of another device than the memory; whether the copy has such a buffer. */
bool mtbi_is_foreign(const mtb_memory *memory, const mtb_buffer *buffer);
bool mtbi_is_between_devices(const mtb_memory *memory, const mtbi_operation *operation);
/* Has the copy, between devices, read a view of its source on the destination's device, where there can be one and
 * blits are enough. */
mtb_status mtbi_record_view_source(mtbi_record *record, mtbi_operation *copy, mtb_error **error, const char *function);
/* Encodes a copy between devices: what is done here into `command_buffer`, and what is done there into one of the
 * record's own, which is to be committed first. */
mtb_status mtbi_record_cross(mtbi_record *record, const mtbi_operation *operation, mtb_command_buffer *command_buffer,
                             mtb_error **error, const char *function);
/* Where the other side will not be committed: nothing there waits for it. */
void mtbi_record_open_crossings(mtbi_record *record);
/* Commits what is done there. */
mtb_status mtbi_record_commit_crossings(mtbi_record *record, mtb_error **error);

/* Where the CPU sees the place; NULL where it does not. */
uint8_t *mtbi_place_address(const mtb_place *place);
/* Copies or fills on the calling thread, where the CPU sees both places. */
void mtbi_perform(const mtbi_operation *operation);
/* Whether the CPU sees all that is on record as the GPU does. */
bool mtbi_record_is_for_cpu(const mtbi_record *record);
mtb_status mtbi_record_run_on_cpu(mtbi_record *record, mtb_error **error);

#endif
