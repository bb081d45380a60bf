/* Transfers that are pending: how many there may be, and what they hold. */
#include "memory_support.h"

#include <stdlib.h>

static void count_call(void *context)
{
    ++*(int *)context;
}

/* Far more than Metal's own queues have room for: the calling thread waits for none of them. */
static void a_thousand_pending_transfers_and_functions_are_not_waited_for(void)
{
    enum { CALLS = 1000 };
    static unsigned char bytes[CALLS];
    static mtb_command_buffer *calls[CALLS];
    mtb_queue *queue;
    mtb_event *gate;
    mtb_memory *memory = make_memory();
    mtb_buffer *buffer = make_buffer_of(CALLS, MTB_STORAGE_PRIVATE);
    int count = 0;
    MAKE(queue, mtb_queue_create(shared.device, 0, &error));
    MAKE(gate, mtb_event_create(shared.device, &error));
    mtb_command_buffer *held;
    MAKE(held, mtb_command_buffer_create(queue, MTB_REFERENCES_RETAINED, 0, &error));
    CHECK_OK(mtb_command_buffer_encode_wait(held, gate, 1, &error));
    CHECK_OK(mtb_command_buffer_commit(held, &error));
    mtb_transfer *transfer = make_transfer(memory, queue);
    for (int i = 0; i < CALLS; i++) {
        unsigned char value = (unsigned char)(i * 7);
        if (i % 10 == 9) {
            MAKE(calls[i], mtb_queue_call_host_function(queue, count_call, NULL, &count, NULL, &error));
            continue;
        }
        CHECK_OK(mtb_transfer_copy(transfer, in_host(&value), in_buffer(buffer, (size_t)i), 1, 1, MTB_HOST_COPIED,
                                   &error));
        calls[i] = commit(transfer);
    }
    CHECK(mtb_command_buffer_get_status(calls[0]) < MTB_COMMAND_BUFFER_COMPLETED && count == 0);
    CHECK_OK(mtb_event_signal(gate, 1, &error));
    for (int i = 0; i < CALLS; i++)
        finish(calls[i]);
    finish(held);
    copy(memory, queue, in_buffer(buffer, 0), in_host(bytes), CALLS);
    bool is_right = true;
    for (int i = 0; i < CALLS; i++)
        is_right = is_right && (i % 10 == 9 || bytes[i] == (unsigned char)(i * 7));
    CHECK(is_right && count == CALLS / 10);
    mtb_event_release(gate);
    mtb_transfer_release(transfer);
    mtb_buffer_release(buffer);
    mtb_memory_release(memory);
    mtb_queue_release(queue);
}

const test memory_pending_tests[] = {
    {"memory pending: a thousand transfers and functions are not waited for",
     a_thousand_pending_transfers_and_functions_are_not_waited_for},
    {NULL, NULL},
};
