/* Arenas: scratch buffers from heaps. */
#import "memory/arena.h"

#import "core/checks.h"
#import "core/clock.h"
#import "core/guard.h"
#import "memory/memory.h"

#include <stddef.h>
#include <stdlib.h>

static const size_t default_block_bytes = 16 << 20;

static MTLResourceOptions options(const mtb_arena *arena) {
    /* Command encoders order what they do to a heap as to a buffer; by default they do not. */
    return ((MTLResourceOptions)arena->mode << MTLResourceStorageModeShift) | MTLResourceHazardTrackingModeTracked;
}

/* A buffer of `size` bytes is gone from the heap. */
static void give_room(mtb_arena *arena, mtbi_heap *heap, size_t size) {
    pthread_mutex_lock(&arena->memory->mutex);
    heap->last_used = mtbi_now();
    heap->buffers--;
    arena->statistics.objects_kept += heap->buffers == 0;
    arena->statistics.objects_in_use--;
    arena->statistics.bytes_in_use -= size;
    arena->statistics.bytes_kept += size;
    pthread_mutex_unlock(&arena->memory->mutex);
    mtbi_memory_expect_idle(arena->memory);
}

static void take_back(mtbi_home *home, void *handle) {
    mtb_arena *arena = (mtb_arena *)((char *)home - offsetof(mtb_arena, home));
    mtb_buffer *buffer = handle;
    mtbi_heap *heap = buffer->place;
    size_t size = buffer->capacity;
    mtbi_buffer_free(buffer);
    give_room(arena, heap, size);
    mtb_arena_release(arena);
}

mtb_arena *mtb_arena_create(mtb_memory *memory, mtb_storage_mode mode, size_t block_bytes, size_t limit,
                            mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    if (GIVEN(memory)) return NULL;
    if (mode != MTB_STORAGE_SHARED && mode != MTB_STORAGE_PRIVATE) {
        FAIL(error, MTB_INVALID_ARGUMENT, "an arena is shared or private, not of storage mode %u", (unsigned)mode);
        return NULL;
    }
    mtb_arena *arena = mtbi_handle_create(MTB_HANDLE_ARENA, sizeof *arena, error, __func__);
    if (!arena) return NULL;
    arena->home.take_back = take_back;
    arena->memory = mtb_memory_retain(memory);
    arena->mode = mode;
    arena->block_bytes = block_bytes ? block_bytes : default_block_bytes;
    arena->limit = limit ? limit : memory->budget;
    pthread_mutex_lock(&memory->mutex);
    arena->next = memory->arenas;
    memory->arenas = arena;
    pthread_mutex_unlock(&memory->mutex);
    return arena;
    MTBI_LEAVE((mtbi_fail_with_exception(error, __func__, exception), NULL))
}

mtbi_heap *mtbi_arena_detach(mtb_arena *arena, uint64_t before) {
    mtbi_heap *detached = NULL, **link = &arena->heaps;
    while (*link) {
        mtbi_heap *heap = *link;
        if (heap->buffers > 0 || heap->last_used >= before) {
            link = &heap->next;
            continue;
        }
        *link = heap->next;
        heap->next = detached;
        detached = heap;
        arena->statistics.bytes_kept -= heap->size;
        arena->statistics.objects_kept--;
        arena->statistics.trimmed++;
    }
    return detached;
}

mtbi_heap *mtbi_arenas_detach(mtb_memory *memory, uint64_t before) {
    mtbi_heap *detached = NULL;
    for (mtb_arena *arena = memory->arenas; arena; arena = arena->next) {
        mtbi_heap *heaps = mtbi_arena_detach(arena, before), **end = &heaps;
        while (*end) end = &(*end)->next;
        *end = detached;
        detached = heaps;
    }
    return detached;
}

uint64_t mtbi_heaps_free(mtb_memory *memory, mtbi_heap *heaps) {
    uint64_t freed = 0;
    MTBI_ENTER
    while (heaps) {
        mtbi_heap *heap = heaps;
        heaps = heap->next;
        freed += heap->size;
        mtbi_memory_unreserve(memory, heap->size);
        [heap->metal release];
        free(heap);
    }
    return freed;
    MTBI_LEAVE(freed)
}

uint64_t mtb_arena_trim(mtb_arena *arena) {
    MTBI_ENTER
    if (!arena) return 0;
    pthread_mutex_lock(&arena->memory->mutex);
    mtbi_heap *heaps = mtbi_arena_detach(arena, UINT64_MAX);
    pthread_mutex_unlock(&arena->memory->mutex);
    return mtbi_heaps_free(arena->memory, heaps);
    MTBI_LEAVE(0)
}

/* Its buffers are gone: each has kept it alive. */
void mtbi_arena_destroy(mtb_arena *arena) {
    MTBI_ENTER
    mtb_memory *memory = arena->memory;
    pthread_mutex_lock(&memory->mutex);
    mtb_arena **link = &memory->arenas;
    while (*link != arena) link = &(*link)->next;
    *link = arena->next;
    mtbi_heap *heaps = mtbi_arena_detach(arena, UINT64_MAX);
    pthread_mutex_unlock(&memory->mutex);
    mtbi_heaps_free(memory, heaps);
    mtbi_handle_free(&arena->handle);
    mtb_memory_release(memory);
    MTBI_LEAVE()
}

/* Reserves a block, or as much of it as the arena's limit and the memory's budget allow, and no less than `size`: the
 * bytes, or zero and why not. */
static size_t reserve_block(mtb_arena *arena, size_t size, mtb_error **error, const char *function) {
    mtb_memory *memory = arena->memory;
    pthread_mutex_lock(&memory->mutex);
    uint64_t held = arena->statistics.bytes_in_use + arena->statistics.bytes_kept;
    pthread_mutex_unlock(&memory->mutex);
    uint64_t left = held < arena->limit ? arena->limit - held : 0;
    if (size > left) {
        mtbi_fail(error, function, MTB_OVER_BUDGET, "%zu bytes beside %llu of the arena, whose limit is %llu", size,
                  (unsigned long long)held, (unsigned long long)arena->limit);
        return 0;
    }
    size_t page = mtb_page_size();
    size_t bytes = size > arena->block_bytes ? (size + page - 1) / page * page : arena->block_bytes;
    if (bytes > left) bytes = left;
    if (bytes > size && !mtbi_memory_reserve(memory, bytes, NULL, function)) return bytes;
    return mtbi_memory_reserve(memory, size, error, function) ? 0 : size;
}

static mtbi_heap *try_to_make_heap(mtb_arena *arena, size_t size, mtb_error **error, const char *function) {
    mtb_memory *memory = arena->memory;
    size_t bytes = reserve_block(arena, size, error, function);
    if (bytes == 0) return NULL;
    MTLHeapDescriptor *descriptor = [[[MTLHeapDescriptor alloc] init] autorelease];
    [descriptor setSize:bytes];
    [descriptor setResourceOptions:options(arena)];
    mtbi_heap *heap = calloc(1, sizeof *heap);
    if (heap) heap->metal = [memory->device->metal newHeapWithDescriptor:descriptor];
    if (heap && heap->metal) {
        heap->size = bytes;
        return heap;
    }
    free(heap);
    mtbi_memory_unreserve(memory, bytes);
    mtbi_fail(error, function, MTB_OUT_OF_MEMORY, "Metal could not make a heap of %zu bytes", bytes);
    return NULL;
}

/* A new heap with room for `size` bytes, not listed yet. Where there is no memory, what is kept goes first. NULL and
 * why where there is no room for it. */
static mtbi_heap *make_heap(mtb_arena *arena, size_t size, mtb_error **error, const char *function) {
    mtbi_heap *heap = try_to_make_heap(arena, size, error, function);
    if (!heap && mtb_memory_trim(arena->memory, 0) > 0) {
        mtbi_error_drop(error);
        heap = try_to_make_heap(arena, size, error, function);
    }
    return heap;
}

/* Under the memory's mutex. */
static void count_taken(mtb_arena *arena, mtbi_heap *heap, size_t size, bool is_new) {
    mtb_pool_statistics *statistics = &arena->statistics;
    if (is_new)
        statistics->misses++;
    else
        statistics->hits++;
    statistics->objects_kept -= !is_new && heap->buffers == 0;
    statistics->bytes_kept += is_new ? heap->size : 0;
    statistics->bytes_kept -= size;
    statistics->bytes_in_use += size;
    statistics->objects_in_use++;
    heap->buffers++;
    uint64_t held = statistics->bytes_in_use + statistics->bytes_kept;
    if (held > statistics->high_water_bytes) statistics->high_water_bytes = held;
}

/* Room in a heap that is listed; nil where there is none. */
static id<MTLBuffer> take_room(mtb_arena *arena, size_t length, MTLSizeAndAlign need, mtbi_heap **place) {
    id<MTLBuffer> metal = nil;
    pthread_mutex_lock(&arena->memory->mutex);
    @try {
        for (mtbi_heap *heap = arena->heaps; heap && !metal; heap = heap->next) {
            if ([heap->metal maxAvailableSizeWithAlignment:need.align] < need.size) continue;
            metal = [heap->metal newBufferWithLength:length options:options(arena)];
            *place = heap;
        }
        if (metal) count_taken(arena, *place, need.size, false);
    } @finally {
        pthread_mutex_unlock(&arena->memory->mutex);
    }
    return metal;
}

/* Room in a new heap. */
static id<MTLBuffer> take_new_room(mtb_arena *arena, size_t length, MTLSizeAndAlign need, mtbi_heap **place,
                                   mtb_error **error, const char *function) {
    mtbi_heap *heap = make_heap(arena, need.size, error, function);
    if (!heap) return nil;
    id<MTLBuffer> metal = [heap->metal newBufferWithLength:length options:options(arena)];
    if (!metal) {
        mtbi_heaps_free(arena->memory, heap);
        mtbi_fail(error, function, MTB_OUT_OF_MEMORY, "Metal could not allocate %zu bytes of a new heap", length);
        return nil;
    }
    pthread_mutex_lock(&arena->memory->mutex);
    heap->next = arena->heaps;
    arena->heaps = heap;
    count_taken(arena, heap, need.size, true);
    pthread_mutex_unlock(&arena->memory->mutex);
    *place = heap;
    return metal;
}

mtb_buffer *mtb_arena_allocate(mtb_arena *arena, size_t length, mtb_error **error) {
    mtb_buffer *buffer = NULL;
    mtbi_error_clear(error);
    MTBI_ENTER
    if (GIVEN(arena)) return NULL;
    mtb_device *device = arena->memory->device;
    if (length == 0) {
        FAIL(error, MTB_INVALID_ARGUMENT, "a buffer of no bytes");
        return NULL;
    }
    if (length > device->info.max_buffer_length) {
        FAIL(error, MTB_OUT_OF_RANGE, "a buffer of %zu bytes, where the device's largest is %zu", length,
             (size_t)device->info.max_buffer_length);
        return NULL;
    }
    MTLSizeAndAlign need = [device->metal heapBufferSizeAndAlignWithLength:length options:options(arena)];
    mtbi_heap *heap = NULL;
    id<MTLBuffer> metal = take_room(arena, length, need, &heap);
    if (!metal) metal = take_new_room(arena, length, need, &heap, error, __func__);
    if (!metal) return NULL;
    buffer = mtbi_buffer_wrap(device, metal, length, arena->mode, error, __func__);
    if (!buffer) {
        give_room(arena, heap, need.size);
        return NULL;
    }
    buffer->home = &arena->home;
    buffer->place = heap;
    buffer->capacity = need.size;
    mtb_arena_retain(arena);
    return buffer;
    MTBI_LEAVE((mtbi_fail_with_exception(error, __func__, exception), NULL))
}

void mtb_arena_get_statistics(const mtb_arena *arena, mtb_pool_statistics *statistics) {
    MTBI_ENTER
    if (!statistics) return;
    *statistics = (mtb_pool_statistics){0};
    if (!arena) return;
    pthread_mutex_lock(&arena->memory->mutex);
    *statistics = arena->statistics;
    pthread_mutex_unlock(&arena->memory->mutex);
    MTBI_LEAVE()
}
