/* What a memory has for transfers to and from another device that is no peer: system memory that both devices see. */
#ifndef MTBI_PEER_H
#define MTBI_PEER_H

#include "core/handles.h"

typedef struct mtbi_peer mtbi_peer;

/* What copies of one command buffer to and from another device need until they have completed. */
typedef struct mtbi_crossing {
    struct mtbi_crossing *next;
    mtbi_peer *peer;
    /* Pages of the system's, and the buffers that wrap them on the memory's device and on the peer. */
    void *pages;
    size_t size;
    uint64_t last_used;
    mtb_buffer *near;
    mtb_buffer *far;
    /* Of the peer: nobody else's work is in it, so that it waits for nothing but this. */
    mtb_queue *queue;
    mtb_command_buffer *command_buffer;
    /* What is signalled here and there, and the last values. An event for each way: a signal that comes late, after one
     * that the bridge has made for a command buffer that failed, would take a common event back. */
    mtb_event *out;
    mtb_event *back;
    uint64_t out_value;
    uint64_t back_value;
} mtbi_crossing;

/* After a failure here: what is done there is no longer waited for by what is done here, so waits for its end. */
void mtbi_crossings_end(const mtbi_crossing *crossings);
/* The pages, with their ends, that a copy of so many bytes gets: no more than twice as many, or a piece of it. */
size_t mtbi_crossing_size(size_t bytes);
/* One with pages of this size. The pages are staging memory: they count against the budget and the limit of that. */
mtb_status mtbi_crossing_take(mtb_memory *memory, mtb_device *far, size_t size, mtbi_crossing **taken,
                              mtb_error **error, const char *function);
/* Keeps them for the next copies, or lets go of them. */
void mtbi_crossings_give_back(mtb_memory *memory, mtbi_crossing *crossings);
/* Lets go of those that are kept and were last used before `before`. Returns the bytes. */
uint64_t mtbi_crossings_trim(mtb_memory *memory, uint64_t before);
struct mtbi_kernels *mtbi_peer_kernels(mtbi_peer *peer);
mtb_device *mtbi_peer_device(const mtbi_peer *peer);
/* Once nothing is kept for them. */
void mtbi_peers_free(mtbi_peer *peers);

#endif
