/* What the tests of the memory layer share. */
#ifndef MEMORY_SUPPORT_H
#define MEMORY_SUPPORT_H

#include "../harness.h"

#include "metal_bridge_memory.h"

/* A sequence of numbers that looks random and is the same in every run. */
typedef struct {
    uint64_t state;
} random_source;
uint64_t next_random(random_source *source);
/* A number from 0 to below `limit`. */
size_t below(random_source *source, size_t limit);

mtb_memory *make_memory(void);
mtb_transfer *make_transfer(mtb_memory *memory, mtb_command_queue *queue);
mtb_buffer *make_buffer_of(size_t length, mtb_storage_mode mode);
mtb_place in_buffer(mtb_buffer *buffer, size_t offset);
mtb_place in_host(const void *bytes);
/* One synchronous copy of `length` bytes. */
void copy(mtb_memory *memory, mtb_command_queue *queue, mtb_place source, mtb_place destination, size_t length);
/* Waits for success and releases. */
void finish(mtb_command_buffer *command_buffer);
/* Commits what is recorded. The caller must wait for it. */
mtb_command_buffer *commit(mtb_transfer *transfer);

#endif
