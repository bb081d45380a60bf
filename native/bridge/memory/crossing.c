/* What copies between devices need is kept for the next ones, under the rules of staging memory. */
#include "memory/peer.h"

#include "core/checks.h"
#include "core/clock.h"
#include "memory/memory.h"

#include <stdlib.h>

/* The most bytes that are on their way at once. */
static const size_t largest = 4 << 20;

struct mtbi_peer {
    mtbi_peer *next;
    mtbi_kernels kernels;
    /* Under the memory's mutex: those that no copy uses now. */
    mtbi_crossing *idle;
};

mtbi_kernels *mtbi_peer_kernels(mtbi_peer *peer) { return &peer->kernels; }

mtb_device *mtbi_peer_device(const mtbi_peer *peer) { return peer->kernels.device; }

size_t mtbi_crossing_size(size_t bytes) {
    /* A piece begins within a word. */
    size_t wanted = bytes < largest ? bytes + sizeof(uint32_t) : largest, size = mtb_page_size();
    while (size < wanted) size *= 2;
    return size;
}

static void destroy(mtb_memory *memory, mtbi_crossing *crossing) {
    mtb_queue_release(crossing->queue);
    mtb_event_release(crossing->out);
    mtb_event_release(crossing->back);
    mtb_buffer_release(crossing->near);
    mtb_buffer_release(crossing->far);
    free(crossing->pages);
    mtbi_memory_unreserve(memory, crossing->size);
    free(crossing);
}

void mtbi_crossings_give_back(mtb_memory *memory, mtbi_crossing *crossings) {
    while (crossings) {
        mtbi_crossing *crossing = crossings;
        crossings = crossing->next;
        mtb_command_buffer_release(crossing->command_buffer);
        crossing->command_buffer = NULL;
        crossing->last_used = mtbi_now();
        pthread_mutex_lock(&memory->mutex);
        bool is_kept = mtbi_pool_count_back(&memory->staging, crossing->size);
        if (is_kept) {
            crossing->next = crossing->peer->idle;
            crossing->peer->idle = crossing;
        }
        pthread_mutex_unlock(&memory->mutex);
        if (is_kept)
            mtbi_memory_expect_idle(memory);
        else
            destroy(memory, crossing);
    }
}

/* Takes what was last used before `before` from the lists. */
static mtbi_crossing *detach(mtb_memory *memory, uint64_t before) {
    mtbi_crossing *detached = NULL;
    pthread_mutex_lock(&memory->mutex);
    for (mtbi_peer *peer = memory->peers; peer; peer = peer->next) {
        mtbi_crossing **link = &peer->idle;
        while (*link) {
            mtbi_crossing *crossing = *link;
            if (crossing->last_used >= before) {
                link = &crossing->next;
                continue;
            }
            *link = crossing->next;
            crossing->next = detached;
            detached = crossing;
            mtbi_pool_count_let_go(&memory->staging, crossing->size);
            memory->staging.statistics->trimmed++;
        }
    }
    pthread_mutex_unlock(&memory->mutex);
    return detached;
}

uint64_t mtbi_crossings_trim(mtb_memory *memory, uint64_t before) {
    uint64_t freed = 0;
    mtbi_crossing *detached = detach(memory, before);
    while (detached) {
        mtbi_crossing *next = detached->next;
        freed += detached->size;
        destroy(memory, detached);
        detached = next;
    }
    return freed;
}

void mtbi_peers_free(mtbi_peer *peers) {
    while (peers) {
        mtbi_peer *peer = peers;
        peers = peer->next;
        mtbi_kernels_destroy(&peer->kernels);
        free(peer);
    }
}

static mtbi_peer *peer_of(mtb_memory *memory, mtb_device *device) {
    pthread_mutex_lock(&memory->mutex);
    mtbi_peer *peer = memory->peers;
    while (peer && peer->kernels.device->info.registry_id != device->info.registry_id) peer = peer->next;
    if (!peer) peer = calloc(1, sizeof *peer);
    if (peer && !peer->kernels.device) {
        mtbi_kernels_create(&peer->kernels, device);
        peer->next = memory->peers;
        memory->peers = peer;
    }
    pthread_mutex_unlock(&memory->mutex);
    return peer;
}

static mtb_status fill_in(mtbi_crossing *crossing, mtb_memory *memory, mtb_error **error, const char *function) {
    mtb_device *far = crossing->peer->kernels.device;
    if (posix_memalign(&crossing->pages, mtb_page_size(), crossing->size))
        return mtbi_fail(error, function, MTB_OUT_OF_MEMORY, "no memory for %zu bytes between devices", crossing->size);
    crossing->near = mtb_buffer_create_no_copy(memory->device, crossing->pages, crossing->size, MTB_STORAGE_SHARED,
                                               NULL, NULL, error);
    if (crossing->near)
        crossing->far =
            mtb_buffer_create_no_copy(far, crossing->pages, crossing->size, MTB_STORAGE_SHARED, NULL, NULL, error);
    if (crossing->far) crossing->queue = mtb_queue_create(far, 0, error);
    if (crossing->queue) crossing->out = mtb_event_create(memory->device, error);
    if (crossing->out) crossing->back = mtb_event_create(far, error);
    return crossing->back ? MTB_OK : MTB_OUT_OF_MEMORY;
}

static mtb_status make(mtb_memory *memory, mtbi_peer *peer, size_t size, mtbi_crossing **made, mtb_error **error,
                       const char *function) {
    REQUIRE(mtbi_memory_reserve(memory, size, error, function));
    mtbi_crossing *crossing = calloc(1, sizeof *crossing);
    if (!crossing) {
        mtbi_memory_unreserve(memory, size);
        return mtbi_fail(error, function, MTB_OUT_OF_MEMORY, "no memory for a copy between devices");
    }
    crossing->peer = peer;
    crossing->size = size;
    mtb_status status = fill_in(crossing, memory, error, function);
    if (status)
        destroy(memory, crossing);
    else
        *made = crossing;
    return status;
}

/* Under the mutex. */
static mtbi_crossing *take_kept(mtb_memory *memory, mtbi_peer *peer, size_t size) {
    mtbi_crossing **link = &peer->idle;
    while (*link && (*link)->size != size) link = &(*link)->next;
    mtbi_crossing *kept = *link;
    if (!kept) return NULL;
    *link = kept->next;
    mtbi_pool_count_let_go(&memory->staging, size);
    mtbi_pool_count_taken(&memory->staging, size, true);
    return kept;
}

mtb_status mtbi_crossing_take(mtb_memory *memory, mtb_device *far, size_t size, mtbi_crossing **taken,
                              mtb_error **error, const char *function) {
    mtbi_peer *peer = peer_of(memory, far);
    if (!peer) return mtbi_fail(error, function, MTB_OUT_OF_MEMORY, "no memory for a copy between devices");
    pthread_mutex_lock(&memory->mutex);
    *taken = take_kept(memory, peer, size);
    pthread_mutex_unlock(&memory->mutex);
    if (*taken) return MTB_OK;
    mtb_status status = make(memory, peer, size, taken, error, function);
    if (status == MTB_OUT_OF_MEMORY && mtb_memory_trim(memory, 0) > 0) {
        mtbi_error_drop(error);
        status = make(memory, peer, size, taken, error, function);
    }
    REQUIRE(status);
    pthread_mutex_lock(&memory->mutex);
    mtbi_pool_count_taken(&memory->staging, size, false);
    pthread_mutex_unlock(&memory->mutex);
    return MTB_OK;
}
