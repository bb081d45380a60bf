/* Bounce buffers are kept for the next copies, under the rules of staging memory. */
#include "memory/bounce.h"

#include "core/checks.h"
#include "memory/memory.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

/* The most bytes of a piece, with what it begins within a word. */
static const size_t largest_region = 4 << 20;

struct mtbi_peer {
    mtbi_peer *next;
    mtbi_kernels kernels;
    mtbi_pool pool;
    /* Copies go by way of system memory although both devices are peers. */
    atomic_bool is_without_views;
};

mtbi_kernels *mtbi_peer_kernels(mtbi_peer *peer) { return &peer->kernels; }

mtb_device *mtbi_peer_device(const mtbi_peer *peer) { return peer->kernels.device; }

size_t mtbi_bounce_size(size_t bytes) {
    if (bytes > largest_region - sizeof(uint32_t)) return MTBI_BOUNCE_REGIONS * largest_region;
    size_t size = mtb_page_size();
    while (size < bytes + sizeof(uint32_t)) size *= 2;
    return size;
}

size_t mtbi_bounce_region(const mtbi_bounce *bounce) {
    return bounce->pooled.size < largest_region ? bounce->pooled.size : largest_region;
}

static bool renew(mtbi_pooled *object) {
    mtbi_bounce *bounce = (mtbi_bounce *)object;
    mtb_command_buffer_release(bounce->command_buffer);
    bounce->command_buffer = NULL;
    return true;
}

static void free_bounce(mtb_memory *memory, mtbi_pooled *object) {
    mtbi_bounce *bounce = (mtbi_bounce *)object;
    mtb_command_queue_release(bounce->queue);
    mtb_event_release(bounce->out);
    mtb_event_release(bounce->back);
    mtb_buffer_release(bounce->near);
    mtb_buffer_release(bounce->far);
    free(bounce->pages);
    mtbi_memory_unreserve(memory, object->size);
    free(bounce);
}

static const mtbi_pooled_type bounce_buffers = {.renew = renew, .free = free_bounce};

void mtbi_bounces_give_back(mtbi_bounce *bounces) {
    while (bounces) {
        mtbi_bounce *bounce = bounces;
        bounces = bounce->next;
        mtbi_pool_give_back(&bounce->pooled, bounce->pooled.size);
    }
}

void mtbi_peers_free(mtbi_peer *peers) {
    while (peers) {
        mtbi_peer *peer = peers;
        peers = peer->next;
        mtbi_pool_end(&peer->pool);
        mtbi_kernels_destroy(&peer->kernels);
        free(peer);
    }
}

static mtbi_peer *find_peer(const mtb_memory *memory, const mtb_device *device) {
    mtbi_peer *peer = memory->peers;
    while (peer && !mtbi_is_same_device(peer->kernels.device, device)) peer = peer->next;
    return peer;
}

static mtbi_peer *peer_of(mtb_memory *memory, mtb_device *device) {
    pthread_mutex_lock(&memory->peers_mutex);
    mtbi_peer *peer = find_peer(memory, device);
    if (!peer && (peer = calloc(1, sizeof *peer))) {
        mtbi_kernels_create(&peer->kernels, device);
        mtbi_pool_start(&peer->pool, memory, &memory->staging_statistics);
        peer->pool.most_bytes = memory->staging.most_bytes;
        peer->pool.limits_what_is_used = true;
        peer->next = memory->peers;
        memory->peers = peer;
    }
    pthread_mutex_unlock(&memory->peers_mutex);
    return peer;
}

mtb_status mtb_memory_set_peer_access(mtb_memory *memory, mtb_device *device, bool has_access, mtb_error **error) {
    mtbi_error_clear(error);
    REQUIRE(GIVEN(memory));
    REQUIRE(GIVEN(device));
    if (mtbi_is_same_device(memory->device, device))
        return FAIL(error, MTB_INVALID_ARGUMENT, "%s is the memory's own device", device->info.name);
    const uint64_t group = mtb_device_peer_group_id(device);
    if (group == 0 || group != mtb_device_peer_group_id(memory->device))
        return FAIL(error, MTB_UNSUPPORTED, "%s is not a peer of %s", device->info.name, memory->device->info.name);
    mtbi_peer *peer = peer_of(memory, device);
    if (!peer) return FAIL(error, MTB_OUT_OF_MEMORY, "no memory for what is known of a peer");
    atomic_store(&peer->is_without_views, !has_access);
    return MTB_OK;
}

bool mtbi_peer_has_views(mtb_memory *memory, const mtb_device *device) {
    pthread_mutex_lock(&memory->peers_mutex);
    const mtbi_peer *peer = find_peer(memory, device);
    pthread_mutex_unlock(&memory->peers_mutex);
    return !peer || !atomic_load(&peer->is_without_views);
}

static mtb_status fill_in(mtbi_bounce *bounce, mtb_memory *memory, size_t size, mtb_error **error,
                          const char *function) {
    mtb_device *far = mtbi_peer_device(bounce->peer);
    if (posix_memalign(&bounce->pages, mtb_page_size(), size))
        return mtbi_fail(error, function, MTB_OUT_OF_MEMORY,
                         "no memory for a bounce buffer of %zu bytes between two devices", size);
    bounce->near =
        mtb_buffer_create_no_copy(memory->device, bounce->pages, size, MTB_STORAGE_SHARED, NULL, NULL, error);
    if (bounce->near)
        bounce->far = mtb_buffer_create_no_copy(far, bounce->pages, size, MTB_STORAGE_SHARED, NULL, NULL, error);
    if (bounce->far) bounce->queue = mtb_command_queue_create(far, 0, error);
    if (bounce->queue) bounce->out = mtb_event_create(memory->device, error);
    if (bounce->out) bounce->back = mtb_event_create(far, error);
    return bounce->back ? MTB_OK : mtbi_last_failure();
}

static mtb_status make(mtb_memory *memory, mtbi_peer *peer, size_t size, mtbi_bounce **made, mtb_error **error,
                       const char *function) {
    REQUIRE(mtbi_memory_reserve(memory, size, error, function));
    mtbi_bounce *bounce = calloc(1, sizeof *bounce);
    if (!bounce) {
        mtbi_memory_unreserve(memory, size);
        return mtbi_fail(error, function, MTB_OUT_OF_MEMORY, "no memory for a copy between devices");
    }
    bounce->peer = peer;
    bounce->pooled.size = size;
    mtb_status status = fill_in(bounce, memory, size, error, function);
    if (status)
        free_bounce(memory, &bounce->pooled);
    else
        *made = bounce;
    return status;
}

mtb_status mtbi_bounce_take(mtb_memory *memory, mtb_device *far, size_t size, mtbi_bounce **taken, mtb_error **error,
                            const char *function) {
    mtbi_peer *peer = peer_of(memory, far);
    if (!peer) return mtbi_fail(error, function, MTB_OUT_OF_MEMORY, "no memory for a copy between devices");
    *taken = (mtbi_bounce *)mtbi_pool_take(&peer->pool, size, size);
    if (*taken) return MTB_OK;
    mtb_status status = make(memory, peer, size, taken, error, function);
    if (status == MTB_OUT_OF_MEMORY && mtbi_memory_free_for_retry(memory, error))
        status = make(memory, peer, size, taken, error, function);
    REQUIRE(status);
    mtbi_pool_add(&peer->pool, &(*taken)->pooled, &bounce_buffers, size);
    return MTB_OK;
}
