/* What a memory has for transfers to and from another device that is no peer: system memory that both devices see. */
#ifndef MTBI_PEER_H
#define MTBI_PEER_H

#include "../handles.h"

typedef struct mtbi_peer mtbi_peer;

/* What one copy between devices needs until it has completed. */
typedef struct mtbi_crossing {
    struct mtbi_crossing *next;
    mtbi_peer *peer;
    /* Pages of the system's, and the buffers that wrap them on the memory's device and on the peer. */
    void *pages;
    size_t size;
    mtb_buffer *near;
    mtb_buffer *far;
    /* Of the peer: nobody else's work is in it, so that it waits for nothing but this. */
    mtb_queue *queue;
    mtb_command_buffer *command_buffer;
    /* What is signalled here and there, and the last values. An event for each way: a signal that comes late, after one that
     * the bridge has made for a command buffer that failed, would take a common event back. */
    mtb_event *out;
    mtb_event *back;
    uint64_t out_value;
    uint64_t back_value;
} mtbi_crossing;

/* After a failure here: what is done there is no longer waited for by what is done here, so waits for its end. */
void mtbi_crossings_end(const mtbi_crossing *crossings);
/* Keeps them for the next copies. */
void mtbi_crossings_free(mtb_memory *memory, mtbi_crossing *crossings);
void mtbi_peers_free(mtbi_peer *peers);

#endif
