/* A transfer: the copies and fills that are recorded, and what becomes of them when they are committed. */
#ifndef MTBI_TRANSFER_H
#define MTBI_TRANSFER_H

#include "buffer/buffer.h"
#include "command/command_buffer.h"
#include "core/references.h"
#include "memory/memory.h"

typedef enum mtbi_action {
    MTBI_COPY,
    MTBI_FILL
} mtbi_action;

/* One copy or fill. While it is recorded, either side of a copy may be host memory. When it is encoded, the GPU works
 * between buffers, and the CPU's part is a host copy. */
typedef struct mtbi_operation {
    mtbi_action action;
    mtb_transfer_kind kind;
    mtb_place source;
    mtb_place destination;
    size_t width;
    size_t height;
    /* The pattern of a fill, repeated to four bytes, and whether all four are equal. */
    uint8_t pattern[4];
    bool is_uniform;
} mtbi_operation;

typedef struct mtbi_operations {
    mtbi_operation *list;
    size_t count;
    size_t capacity;
} mtbi_operations;

/* Everything that one command buffer of transfers needs until it has completed. */
typedef struct mtbi_record {
    mtb_memory *memory;
    mtbi_operations operations;
    /* What the CPU does once the GPU has done its part: copies and fills of host memory. */
    mtbi_operations host_copies;
    /* The queue that counts the host copies; NULL if there are none. */
    mtb_command_queue *queue;
    /* Host copies on this queue that must finish first; 0 if none. */
    uint64_t awaited_host_copies;
    /* Buffers that are used, those that wrap host memory, and staging blocks. */
    mtbi_references buffers;
    /* The block that bytes are being put into, from `block_used` on. */
    mtb_buffer *block;
    size_t block_used;
    mtbi_bounce *bounces;
    /* What the CPU has spent on all kinds together. */
    uint64_t cpu_ns;
    mtb_transfer_statistics sums[MTB_TRANSFER_KIND_COUNT];
    mtbi_pair *pairs;
} mtbi_record;

struct mtb_transfer {
    mtbi_handle handle;
    mtb_memory *memory;
    mtb_command_queue *queue;
    /* NULL while nothing is recorded. */
    mtbi_record *record;
};

mtbi_record *mtbi_record_create(mtb_memory *memory, mtb_error **error, const char *function);
/* Releases the buffers and gives back the bounce buffers: nobody uses them any more. */
void mtbi_record_release(mtbi_record *record);
void mtbi_record_free(mtbi_record *record);
mtb_status mtbi_operations_add(mtbi_operations *operations, const mtbi_operation *operation, mtb_error **error,
                               const char *function);
/* Keeps the buffer alive until the record is released. */
mtb_status mtbi_record_use(mtbi_record *record, mtb_buffer *buffer, mtb_error **error, const char *function);

/* Staging for `height` rows of `width` bytes. The rows begin as far from a word's start as those that begin at `offset`
 * and are `pitch` bytes apart, so that blits can move all but their ends. */
mtb_status mtbi_record_stage(mtbi_record *record, size_t offset, size_t pitch, size_t width, size_t height,
                             mtb_place *staged, mtb_error **error, const char *function);
/* Reads the operation's host memory now. */
mtb_status mtbi_record_stage_source(mtbi_record *record, mtbi_operation *operation, mtb_error **error,
                                    const char *function);
/* From the first byte of a block of rows to its last. */
size_t mtbi_extent(const mtb_place *place, size_t width, size_t height);
/* Wraps the pages of the host memory at `place` in a buffer. False if that does not pay, or if Metal does not take
 * these pages. */
bool mtbi_record_wrap(mtbi_record *record, mtb_place *place, size_t width, size_t height);

/* Small pieces of host memory that have pages for themselves: the sources of copies, or their destinations. */
typedef struct mtbi_pieces {
    bool is_source;
    /* The buffer around all these pages; NULL: they are not wrapped. */
    mtb_buffer *buffer;
    uintptr_t begin;
} mtbi_pieces;

/* Wraps the pieces together, if there are enough of them to make that pay. */
void mtbi_record_wrap_pieces(mtbi_record *record, bool is_source, mtbi_pieces *pieces);
/* Makes the operation use that buffer. False if its host memory is not such a piece. */
bool mtbi_pieces_take(const mtbi_pieces *pieces, mtbi_operation *operation);

/* Leaves no host memory in the operations: staging with host copies, or buffers that wrap it, take its place. The
 * record is the next to be committed to `queue`. */
mtb_status mtbi_record_plan(mtbi_record *record, mtb_command_queue *queue, mtb_error **error, const char *function);
/* Encodes all operations. */
mtb_status mtbi_record_encode(mtbi_record *record, mtb_command_buffer *command_buffer, mtb_error **error,
                              const char *function);
/* Encodes one copy, for the device of the kernels. */
mtb_status mtbi_encode_copy(mtbi_kernels *kernels, mtb_command_buffer *command_buffer, const mtbi_operation *copy,
                            mtb_error **error);

/* Whether the buffer belongs to another device than the memory does; whether the copy has such a buffer. */
bool mtbi_is_foreign(const mtb_memory *memory, const mtb_buffer *buffer);
bool mtbi_is_between_devices(const mtb_memory *memory, const mtbi_operation *operation);
/* Makes the copy between devices read a view of its source on the destination's device, if there can be a view and
 * blits are enough. */
mtb_status mtbi_record_view_source(mtbi_record *record, mtbi_operation *copy, mtb_error **error, const char *function);
/* Encodes a copy between devices: what is done here into `command_buffer`, and what is done there into one of the
 * record's own, which is to be committed first. */
mtb_status mtbi_record_bounce(mtbi_record *record, const mtbi_operation *operation, mtb_command_buffer *command_buffer,
                              mtb_error **error, const char *function);
/* Commits what is done there. */
mtb_status mtbi_record_commit_bounces(mtbi_record *record, mtb_error **error);

/* The address at which the CPU sees the place; NULL if it does not. */
uint8_t *mtbi_place_address(const mtb_place *place);
/* Copies or fills on the calling thread, if the CPU sees both places. */
void mtbi_perform(const mtbi_operation *operation);
/* Whether the CPU sees all that the operations touch as the GPU does. */
bool mtbi_record_is_for_cpu(const mtbi_record *record);
mtb_status mtbi_record_run_on_cpu(mtbi_record *record, mtb_error **error);

#endif
