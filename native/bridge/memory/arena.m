/* Arenas: scratch buffers from heaps. */
#import "memory/arena.h"

#import "buffer/buffer.h"
#import "core/checks.h"
#import "core/guard.h"
#import "memory/memory.h"

#include <stddef.h>
#include <stdlib.h>

static const size_t default_block_bytes = 16 << 20;

static MTLResourceOptions options(const mtb_arena *arena) {
    /* Encoders order commands that use the same heap, as they do for a buffer. That is not the default for heaps. */
    return ((MTLResourceOptions)arena->mode << MTLResourceStorageModeShift) | MTLResourceHazardTrackingModeTracked;
}

/* An MTLHeap. */
typedef struct heap {
    mtbi_pooled pooled;
    MTBI_OBJECT(MTLHeap) metal;
} heap;

static void free_heap(mtb_memory *memory, mtbi_pooled *object) {
    MTBI_ENTER
    mtbi_memory_unreserve(memory, object->size);
    [((heap *)object)->metal release];
    free(object);
    MTBI_LEAVE()
}

static const mtbi_pooled_type heaps = {.free = free_heap};

/* The last reference to a buffer is gone. */
static void take_back(mtbi_handle *handle) {
    mtbi_pooled *heap = ((mtb_buffer *)handle)->pooled.whole;
    mtb_arena *arena = (mtb_arena *)((char *)heap->owner - offsetof(mtb_arena, heaps));
    size_t size = ((mtb_buffer *)handle)->pooled.size;
    mtbi_buffer_destroy(handle);
    mtbi_pool_give_back(heap, size);
    mtb_arena_release(arena);
}

/* The arena's buffers are gone: each has kept it alive. */
static void destroy(mtbi_handle *handle) {
    mtb_arena *arena = (mtb_arena *)handle;
    MTBI_ENTER
    mtb_memory *memory = arena->memory;
    mtbi_pool_end(&arena->heaps);
    pthread_mutex_destroy(&arena->growth);
    mtbi_handle_free(handle);
    mtb_memory_release(memory);
    MTBI_LEAVE()
}

mtb_arena *mtb_arena_create(mtb_memory *memory, mtb_storage_mode mode, size_t block_bytes, size_t limit,
                            mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    if (GIVEN(memory)) return NULL;
    if (mode != MTB_STORAGE_SHARED && mode != MTB_STORAGE_PRIVATE) {
        FAIL(error, MTB_INVALID_ARGUMENT, "an arena is shared or private: storage mode %u is neither", (unsigned)mode);
        return NULL;
    }
    mtb_arena *arena = mtbi_handle_create(MTB_HANDLE_ARENA, sizeof *arena, destroy, error, __func__);
    if (!arena) return NULL;
    arena->memory = mtb_memory_retain(memory);
    arena->mode = mode;
    arena->block_bytes = block_bytes ? block_bytes : default_block_bytes;
    arena->limit = limit ? limit : memory->budget;
    pthread_mutex_init(&arena->growth, NULL);
    mtbi_pool_start(&arena->heaps, memory, &arena->statistics);
    return arena;
    MTBI_LEAVE((mtbi_fail_with_exception(error, __func__, exception), NULL))
}

uint64_t mtb_arena_trim(mtb_arena *arena) {
    MTBI_ENTER
    return arena && !mtb_process_is_forked() ? mtbi_pool_trim(&arena->heaps, UINT64_MAX) : 0;
    MTBI_LEAVE(0)
}

/* What the arena's heaps have. */
static uint64_t held_by(mtb_arena *arena) {
    pthread_mutex_lock(&arena->memory->mutex);
    uint64_t held = arena->statistics.bytes_in_use + arena->statistics.bytes_kept;
    pthread_mutex_unlock(&arena->memory->mutex);
    return held;
}

/* Reserves `more` bytes for a heap that will have `size`. */
static mtb_status reserve(mtb_arena *arena, size_t size, size_t more, mtb_error **error, const char *function) {
    uint64_t held = held_by(arena);
    if (held > arena->limit || size > arena->limit - held)
        return mtbi_fail(error, function, MTB_OVER_BUDGET,
                         "a heap of %zu bytes does not fit beside the %llu bytes that the arena holds: its limit is "
                         "%llu bytes",
                         size, (unsigned long long)held, (unsigned long long)arena->limit);
    return mtbi_memory_reserve(arena->memory, more, error, function);
}

/* A reserved heap of `bytes`, or of more if Metal rounds them. */
static heap *try_to_make_heap_of(mtb_arena *arena, size_t bytes, mtb_error **error, const char *function) {
    if (reserve(arena, bytes, bytes, error, function)) return NULL;
    MTLHeapDescriptor *descriptor = [[[MTLHeapDescriptor alloc] init] autorelease];
    [descriptor setSize:bytes];
    [descriptor setResourceOptions:options(arena)];
    heap *made = calloc(1, sizeof *made);
    if (made) made->metal = [arena->memory->device->metal newHeapWithDescriptor:descriptor];
    size_t size = made && made->metal ? [made->metal size] : 0;
    if (size == 0)
        mtbi_fail(error, function, MTB_OUT_OF_MEMORY, "Metal could not make a heap of %zu bytes", bytes);
    else if (size <= bytes || !reserve(arena, size, size - bytes, error, function)) {
        made->pooled.size = size;
        return made;
    }
    if (made) [made->metal release];
    free(made);
    mtbi_memory_unreserve(arena->memory, bytes);
    return NULL;
}

/* With a whole block, or the pages that the limit leaves of one; with `size` bytes alone if no more fit. */
static heap *try_to_make_heap(mtb_arena *arena, size_t size, mtb_error **error, const char *function) {
    uint64_t held = held_by(arena), left = held < arena->limit ? arena->limit - held : 0;
    size_t page = mtb_page_size();
    size_t bytes = size > arena->block_bytes ? (size + page - 1) / page * page : arena->block_bytes;
    if (bytes > left) bytes = left / page * page;
    if (bytes <= size) return try_to_make_heap_of(arena, size, error, function);
    heap *made = try_to_make_heap_of(arena, bytes, error, function);
    if (made || mtbi_last_failure() != MTB_OVER_BUDGET) return made;
    mtbi_error_drop(error);
    return try_to_make_heap_of(arena, size, error, function);
}

/* A new heap with at least `size` bytes, not listed yet. If Metal cannot allocate it, the arena's mtb_memory frees what
 * it keeps, and Metal tries once more. */
static heap *make_heap(mtb_arena *arena, size_t size, mtb_error **error, const char *function) {
    heap *made = try_to_make_heap(arena, size, error, function);
    if (!made && mtbi_memory_free_for_retry(arena->memory, error))
        made = try_to_make_heap(arena, size, error, function);
    return made;
}

/* A buffer in a listed heap; nil if no heap has the bytes. */
static id<MTLBuffer> take_part(mtb_arena *arena, size_t length, MTLSizeAndAlign need, mtbi_pooled **whole) {
    id<MTLBuffer> metal = nil;
    pthread_mutex_lock(&arena->memory->mutex);
    @try {
        for (mtbi_pooled *one = arena->heaps.lists[0]; one && !metal; one = one->next) {
            id<MTLHeap> candidate = ((heap *)one)->metal;
            if ([candidate maxAvailableSizeWithAlignment:need.align] < need.size) continue;
            metal = [candidate newBufferWithLength:length options:options(arena)];
            *whole = one;
        }
        if (metal) mtbi_pool_count_part(*whole, need.size, false);
    } @finally {
        pthread_mutex_unlock(&arena->memory->mutex);
    }
    return metal;
}

/* A buffer in a new heap. */
static id<MTLBuffer> take_part_of_new(mtb_arena *arena, size_t length, MTLSizeAndAlign need, mtbi_pooled **whole,
                                      mtb_error **error, const char *function) {
    heap *made = make_heap(arena, need.size, error, function);
    if (!made) return nil;
    id<MTLBuffer> metal = [made->metal newBufferWithLength:length options:options(arena)];
    if (!metal) {
        free_heap(arena->memory, &made->pooled);
        mtbi_fail(error, function, MTB_OUT_OF_MEMORY, "Metal could not allocate %zu bytes of a new heap", length);
        return nil;
    }
    *whole = &made->pooled;
    pthread_mutex_lock(&arena->memory->mutex);
    mtbi_pool_add_whole(&arena->heaps, *whole, &heaps, made->pooled.size);
    mtbi_pool_count_part(*whole, need.size, true);
    pthread_mutex_unlock(&arena->memory->mutex);
    return metal;
}

/* A buffer in a listed heap, or in a new one. */
static id<MTLBuffer> take(mtb_arena *arena, size_t length, MTLSizeAndAlign need, mtbi_pooled **whole, mtb_error **error,
                          const char *function) {
    id<MTLBuffer> metal = take_part(arena, length, need, whole);
    if (metal) return metal;
    pthread_mutex_lock(&arena->growth);
    @try {
        /* Another thread may have made a heap that has the bytes. */
        metal = take_part(arena, length, need, whole);
        if (!metal) metal = take_part_of_new(arena, length, need, whole, error, function);
    } @finally {
        pthread_mutex_unlock(&arena->growth);
    }
    return metal;
}

mtb_buffer *mtb_arena_allocate(mtb_arena *arena, size_t length, mtb_error **error) {
    mtb_buffer *buffer = NULL;
    mtbi_error_clear(error);
    MTBI_ENTER
    if (GIVEN(arena)) return NULL;
    mtb_device *device = arena->memory->device;
    if (length == 0) {
        FAIL(error, MTB_INVALID_ARGUMENT, "a buffer needs at least 1 byte");
        return NULL;
    }
    if (length > device->info.max_buffer_length) {
        FAIL(error, MTB_OUT_OF_RANGE, "a buffer of %zu bytes is too large: the device's largest has %zu", length,
             (size_t)device->info.max_buffer_length);
        return NULL;
    }
    MTLSizeAndAlign need = [device->metal heapBufferSizeAndAlignWithLength:length options:options(arena)];
    mtbi_pooled *whole = NULL;
    id<MTLBuffer> metal = take(arena, length, need, &whole, error, __func__);
    if (!metal) return NULL;
    buffer = mtbi_buffer_wrap(device, metal, length, arena->mode, error, __func__);
    if (!buffer) {
        mtbi_pool_give_back(whole, need.size);
        return NULL;
    }
    buffer->handle.destroy = take_back;
    buffer->pooled = (mtbi_pooled){.owner = &arena->heaps, .whole = whole, .size = need.size};
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
