#include "SMTLMemory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "SMTLConfig.h"

#define MAP_THRESHOLD ((size_t)64 << 10)
#define HUGE_PAGE ((size_t)2 << 20)
#define HUGE_THRESHOLD ((size_t)8 << 20)
#define POISON 0xff /* NaN in every floating-point format, -1 in every integer */

static size_t round_up(size_t value, size_t multiple)
{
    return (value + multiple - 1) / multiple * multiple;
}

size_t smtl_memory_reserved(size_t length)
{
    return round_up(length, length < MAP_THRESHOLD ? SMTL_MEMORY_ALIGNMENT : smtl_config_get()->page_size);
}

/* Weights are read once per token: with huge pages that costs a fraction of the TLB misses. */
static void *map_with_huge_pages(size_t size)
{
    uint8_t *start = mmap(NULL, size + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) {
        return NULL;
    }
    uint8_t *base = (uint8_t *)round_up((uintptr_t)start, HUGE_PAGE);
    if (base > start) {
        munmap(start, (size_t)(base - start));
    }
    size_t tail = HUGE_PAGE - (size_t)(base - start);
    if (tail > 0) {
        munmap(base + size, tail);
    }
    /* A refusal costs speed only. */
    (void)madvise(base, size, MADV_HUGEPAGE);
    return base;
}

static void *map_pages(size_t size)
{
    if (size >= HUGE_THRESHOLD) {
        return map_with_huge_pages(size);
    }
    void *base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return base == MAP_FAILED ? NULL : base;
}

bool smtl_memory_allocate(smtl_memory *memory, size_t length, bool filled)
{
    bool poison = smtl_config_get()->poison;
    memory->size = smtl_memory_reserved(length);
    memory->mapped = length >= MAP_THRESHOLD;
    if (memory->mapped) {
        memory->base = map_pages(memory->size);
    } else if (posix_memalign(&memory->base, SMTL_MEMORY_ALIGNMENT, memory->size) != 0) {
        memory->base = NULL;
    }
    if (memory->base == NULL) {
        return false;
    }
    if (poison) {
        memset(memory->base, POISON, memory->size);
    } else if (!filled && !memory->mapped) {
        memset(memory->base, 0, memory->size);
    }
    return true;
}

void smtl_memory_free(smtl_memory *memory)
{
    if (memory->mapped) {
        munmap(memory->base, memory->size);
    } else {
        free(memory->base);
    }
    memory->base = NULL;
}
