#include "SMTLMemory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "support/settings.h"

#define MAP_THRESHOLD ((size_t)64 << 10)
#define HUGE_PAGE ((size_t)2 << 20)
#define HUGE_THRESHOLD ((size_t)8 << 20)
/* A Mac's pages: programs run over a buffer's end by some bytes, and meet nothing else before the end of the page. With
 * AddressSanitizer a buffer ends at its own last byte, so that the CPU's overruns are seen. */
#if __has_feature(address_sanitizer)
#define GRANULE SMTL_MEMORY_ALIGNMENT
#else
#define GRANULE ((size_t)16 << 10)
#endif
#define GUARDED_ALIGNMENT 32u /* the largest that a Metal type has */
#define POISON 0xff /* NaN in every floating-point format, -1 in every integer */

static size_t round_up(size_t value, size_t multiple) { return (value + multiple - 1) / multiple * multiple; }

size_t smtl_memory_reserved(size_t length) {
    return round_up(length, length < MAP_THRESHOLD ? SMTL_MEMORY_ALIGNMENT : smtl_settings_get()->page_size);
}

/* Weights are read once per token: with huge pages that costs a fraction of the TLB misses. */
static void *map_with_huge_pages(size_t size) {
    uint8_t *start = mmap(NULL, size + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) return NULL;
    uint8_t *base = (uint8_t *)round_up((uintptr_t)start, HUGE_PAGE);
    if (base > start) munmap(start, (size_t)(base - start));
    size_t tail = HUGE_PAGE - (size_t)(base - start);
    if (tail > 0) munmap(base + size, tail);
    /* A refusal costs only speed. */
    (void)madvise(base, size, MADV_HUGEPAGE);
    return base;
}

static void *map_pages(size_t size) {
    if (size >= HUGE_THRESHOLD) return map_with_huge_pages(size);
    void *base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return base == MAP_FAILED ? NULL : base;
}

/* The bytes end at a page that cannot be touched, except for what alignment costs. */
static bool allocate_guarded(smtl_memory *memory, size_t length) {
    size_t page = smtl_settings_get()->page_size;
    size_t usable = round_up(length, page);
    memory->mapped = usable + page;
    memory->mapping = map_pages(memory->mapped);
    if (memory->mapping == NULL) return false;
    if (mprotect((uint8_t *)memory->mapping + usable, page, PROT_NONE) != 0) {
        munmap(memory->mapping, memory->mapped);
        return false;
    }
    memory->base = (uint8_t *)memory->mapping + (usable - round_up(length, GUARDED_ALIGNMENT));
    return true;
}

static bool allocate_mapped(smtl_memory *memory) {
    memory->mapped = round_up(memory->size, GRANULE);
    memory->mapping = map_pages(memory->mapped);
    memory->base = memory->mapping;
    return memory->base != NULL;
}

static bool allocate_small(smtl_memory *memory) {
    memory->mapping = NULL;
    return posix_memalign(&memory->base, SMTL_MEMORY_ALIGNMENT, round_up(memory->size, GRANULE)) == 0;
}

/* What the sanitizer tells from memory that somebody has written must not be overwritten. */
static bool allocate_watched(smtl_memory *memory, size_t length, bool filled, bool divisible) {
    memory->size = smtl_memory_reserved(length);
    memory->mapping = NULL;
    memory->watched = smtl_sanitizer_allocate(length, filled, divisible);
    if (memory->watched == NULL) return false;
    memory->base = smtl_sanitizer_bytes(memory->watched);
    if (smtl_settings_get()->poison && !(smtl_sanitizer_checks() & SMTL_SANITIZE_UNINIT))
        memset(memory->base, POISON, length);
    return true;
}

bool smtl_memory_allocate_divisible(smtl_memory *memory, size_t length) {
    return smtl_sanitizer_enabled() ? allocate_watched(memory, length, false, true)
                                    : smtl_memory_allocate(memory, length, false);
}

bool smtl_memory_allocate(smtl_memory *memory, size_t length, bool filled) {
    if (smtl_sanitizer_enabled()) return allocate_watched(memory, length, filled, false);
    const smtl_settings *settings = smtl_settings_get();
    memory->size = smtl_memory_reserved(length);
    bool allocated = settings->guard           ? allocate_guarded(memory, length)
                     : length >= MAP_THRESHOLD ? allocate_mapped(memory)
                                               : allocate_small(memory);
    if (!allocated) {
        memory->base = NULL;
        return false;
    }
    if (settings->poison)
        memset(memory->base, POISON, length);
    else if (!filled && memory->mapping == NULL)
        memset(memory->base, 0, length);
    return true;
}

void smtl_memory_free(smtl_memory *memory) {
    if (memory->watched != NULL) {
        smtl_sanitizer_free(memory->watched);
        memory->watched = NULL;
    } else if (memory->mapping != NULL) {
        munmap(memory->mapping, memory->mapped);
    } else {
        free(memory->base);
    }
    memory->base = NULL;
}
