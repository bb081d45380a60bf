/* Copies by the CPU, which could come too early or too late. */
#include "support.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    LENGTH = 1 << 20
};

static void be_slow(const mtb_completion *completion, void *context) {
    (void)completion;
    (void)context;
    usleep(5000);
}

/* Makes the callbacks of later command buffers come late. */
static void hold_up_callbacks(void) {
    mtb_command_buffer *slow = make_command_buffer();
    CHECK_OK(mtb_command_buffer_add_completed_callback(slow, be_slow, NULL, NULL, &error));
    CHECK_OK(mtb_command_buffer_commit(slow, &error));
    mtb_command_buffer_release(slow);
}

static mtb_command_buffer *fill_and_download(mtb_transfer *transfer, mtb_buffer *hidden, uint8_t value, void *out,
                                             size_t length) {
    CHECK_OK(mtb_transfer_fill(transfer, in_buffer(hidden, 0), LENGTH, 1, &value, 1, &error));
    CHECK_OK(mtb_transfer_copy(transfer, in_buffer(hidden, 0), in_host(out), length, 1, MTB_HOST_COPIED, &error));
    return commit(transfer);
}

/* The first download is a host copy, which is late. The second is so large that the GPU itself writes host memory. */
static void downloads_to_the_same_bytes_keep_their_order(void) {
    mtb_memory *memory = make_memory();
    mtb_transfer *transfer = make_transfer(memory, shared.queue);
    mtb_buffer *hidden = make_buffer_of(LENGTH, MTB_STORAGE_PRIVATE);
    uint8_t *out = malloc(LENGTH);
    for (uint8_t round = 1; round <= 5; round++) {
        hold_up_callbacks();
        mtb_command_buffer_release(fill_and_download(transfer, hidden, round, out, 64));
        finish(fill_and_download(transfer, hidden, round + 100, out, LENGTH));
        CHECK(out[0] == round + 100 && out[LENGTH - 1] == round + 100);
    }
    free(out);
    mtb_buffer_release(hidden);
    mtb_transfer_release(transfer);
    mtb_memory_release(memory);
}

static void *open_gate(void *event) {
    usleep(20000);
    CHECK_OK(mtb_event_signal(event, 1, &error));
    return NULL;
}

/* The calling thread copies from a shared buffer that earlier work, which has not begun, has yet to fill. */
static void the_calling_thread_waits_for_the_queue(void) {
    static uint8_t out[LENGTH];
    pthread_t thread;
    mtb_event *event;
    MAKE(event, mtb_event_create(shared.device, &error));
    mtb_memory *memory = make_memory();
    mtb_buffer *seen = make_buffer(LENGTH);
    mtb_command_buffer *gate = make_command_buffer();
    mtb_blit_encoder *blit;
    CHECK_OK(mtb_command_buffer_encode_wait(gate, event, 1, &error));
    MAKE(blit, mtb_blit_encoder_create(gate, &error));
    CHECK_OK(mtb_blit_encoder_fill(blit, seen, 0, LENGTH, 9, &error));
    mtb_blit_encoder_release(blit);
    CHECK_OK(mtb_command_buffer_commit(gate, &error));
    pthread_create(&thread, NULL, open_gate, event);
    copy(memory, shared.queue, in_buffer(seen, 0), in_host(out), LENGTH);
    CHECK(out[0] == 9 && out[LENGTH - 1] == 9);
    pthread_join(thread, NULL);
    mtb_command_buffer_release(gate);
    mtb_buffer_release(seen);
    mtb_memory_release(memory);
    mtb_event_release(event);
}

const test memory_race_tests[] = {
    {"memory: downloads to the same bytes keep their order", downloads_to_the_same_bytes_keep_their_order},
    {"memory: the calling thread waits for the queue", the_calling_thread_waits_for_the_queue},
    {NULL, NULL},
};
