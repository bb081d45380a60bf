/* Bounce buffers: system memory that two devices see, for copies between devices that are not peers. */
#ifndef MTBI_BOUNCE_H
#define MTBI_BOUNCE_H

#include "memory/pool.h"

/* Pieces of a copy that are on their way at once, each in a region of its own. */
enum {
    MTBI_BOUNCE_REGIONS = 2
};

/* Another device that the memory copies to and from. */
typedef struct mtbi_peer mtbi_peer;

/* What copies of one command buffer to and from another device need until they have completed. */
typedef struct mtbi_bounce {
    mtbi_pooled pooled;
    /* The record's next. */
    struct mtbi_bounce *next;
    mtbi_peer *peer;
    /* Pages of the system's, and the buffers that wrap them on the memory's device and on the peer. */
    void *pages;
    mtb_buffer *near;
    mtb_buffer *far;
    /* A queue of the peer's: nobody else's work is in it, so that it waits only for these copies. */
    mtb_command_queue *queue;
    mtb_command_buffer *command_buffer;
    /* What is signalled here and there, and the last values. Each way has its own event: a common one would go back if
     * a signal came late, after the bridge's own for a command buffer that failed. */
    mtb_event *out;
    mtb_event *back;
    uint64_t out_value;
    uint64_t back_value;
} mtbi_bounce;

/* This side has failed or was never run: ends the other side's wait for it, and waits for the end of its work. */
void mtbi_bounces_end(const mtbi_bounce *bounces);
/* The size of the pages, with their ends, that a copy of `bytes` bytes gets: no more than twice the bytes, or two
 * regions for pieces of the copy. */
size_t mtbi_bounce_size(size_t bytes);
/* The bytes of a region, of which only a copy that fits in none needs the second. */
size_t mtbi_bounce_region(const mtbi_bounce *bounce);
/* A bounce buffer of this size. Its pages are staging memory: they count against the budget and the limit of that. */
mtb_status mtbi_bounce_take(mtb_memory *memory, mtb_device *far, size_t size, mtbi_bounce **taken, mtb_error **error,
                            const char *function);
/* Keeps them for the next copies, or frees them. */
void mtbi_bounces_give_back(mtbi_bounce *bounces);

struct mtbi_kernels *mtbi_peer_kernels(mtbi_peer *peer);
mtb_device *mtbi_peer_device(const mtbi_peer *peer);
/* Whether copies between the memory's device and this peer of it may read from views. */
bool mtbi_peer_has_views(struct mtb_memory *memory, const mtb_device *device);
/* Only after all their bounce buffers are back. */
void mtbi_peers_free(mtbi_peer *peers);

#endif
