#include "support.h"

uint64_t next_random(random_source *source) {
    source->state = source->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return source->state >> 33;
}

size_t below(random_source *source, size_t limit) { return next_random(source) % limit; }

/* It frees nothing by itself: on a busy machine what is idle for some seconds may be what a test counts. */
mtb_memory *make_memory(void) {
    const mtb_memory_options options = {.idle_ns = MTB_FOREVER};
    mtb_memory *memory;
    MAKE(memory, mtb_memory_create(shared.device, &options, &error));
    return memory;
}

mtb_transfer *make_transfer(mtb_memory *memory, mtb_command_queue *queue) {
    mtb_transfer *transfer;
    MAKE(transfer, mtb_transfer_create(memory, queue, &error));
    return transfer;
}

mtb_buffer *make_buffer_of(size_t length, mtb_storage_mode mode) {
    mtb_buffer *buffer;
    MAKE(buffer, mtb_buffer_create(shared.device, length, mode, &error));
    return buffer;
}

mtb_place in_buffer(mtb_buffer *buffer, size_t offset) { return (mtb_place){.buffer = buffer, .offset = offset}; }

mtb_place in_host(const void *bytes) { return (mtb_place){.bytes = (void *)bytes}; }

void copy(mtb_memory *memory, mtb_command_queue *queue, mtb_place source, mtb_place destination, size_t length) {
    mtb_transfer *transfer = make_transfer(memory, queue);
    CHECK_OK(mtb_transfer_copy(transfer, source, destination, length, 1, MTB_HOST_BORROWED, &error));
    CHECK_OK(mtb_transfer_run(transfer, &error));
    mtb_transfer_release(transfer);
}

mtb_command_buffer *commit(mtb_transfer *transfer) {
    mtb_command_buffer *command_buffer;
    MAKE(command_buffer, mtb_transfer_commit(transfer, NULL, NULL, NULL, &error));
    return command_buffer;
}

void finish(mtb_command_buffer *command_buffer) {
    CHECK_OK(mtb_command_buffer_wait(command_buffer, &error));
    mtb_command_buffer_release(command_buffer);
}
