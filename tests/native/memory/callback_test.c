/* Callbacks and host functions that call the bridge: calls that could never end are refused, and all others work. */
#include "support.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    SIZE = 1024
};

/* What a callback tries, and how each attempt ends. */
typedef struct {
    mtb_command_queue *queue;
    mtb_memory *memory;
    mtb_buffer *buffer;
    /* Later work of the same queue, committed before the callback is called. */
    mtb_command_buffer *later;
    /* Opens once `later` is committed. */
    mtb_event *gate;
    /* Is signalled once all has been tried. */
    mtb_event *tried;
    mtb_error *errors[6];
    size_t count;
    bool is_inside;
    mtb_status poll;
    mtb_command_buffer *committed;
} attempts;

static void note(attempts *of, mtb_error *error) { of->errors[of->count++] = error; }

static void try_everything(attempts *of) {
    mtb_error *error = NULL;
    unsigned char bytes[SIZE] = {0};
    CHECK(mtb_event_wait(of->gate, 1, LONG, NULL) == MTB_OK);
    of->is_inside = mtb_command_queue_is_in_callback(of->queue);
    mtb_command_buffer_wait(of->later, &error);
    note(of, error);
    mtb_command_buffer_wait_timeout(of->later, LONG, &error);
    note(of, error);
    of->poll = mtb_command_buffer_wait_timeout(of->later, 0, NULL);
    mtb_transfer *transfer = make_transfer(of->memory, of->queue);
    /* The CPU's copy and the GPU's. */
    mtb_buffer *hidden = make_buffer_of(SIZE, MTB_STORAGE_PRIVATE);
    mtb_buffer *const targets[] = {of->buffer, hidden};
    for (int i = 0; i < 2; i++) {
        mtb_transfer_copy(transfer, in_host(bytes), in_buffer(targets[i], 0), SIZE, 1, MTB_HOST_BORROWED, NULL);
        mtb_transfer_run(transfer, &error);
        note(of, error);
    }
    mtb_transfer_copy(transfer, in_host(bytes), in_buffer(of->buffer, 0), SIZE, 1, MTB_HOST_COPIED, NULL);
    of->committed = mtb_transfer_commit(transfer, NULL, NULL, NULL, NULL);
    mtb_transfer_release(transfer);
    mtb_buffer_release(hidden);
    CHECK_OK(mtb_event_signal(of->tried, 1, &error));
}

static void try_in_deallocator(void *bytes, size_t length, void *context) {
    (void)length;
    try_everything(context);
    free(bytes);
}

static void try_in_function(void *context) { try_everything(context); }

static void try_in_callback(const mtb_completion *completion, void *context) {
    (void)completion;
    try_everything(context);
}

static void ignore(void *context) { (void)context; }

typedef enum {
    IN_FUNCTION,
    IN_CALLBACK,
    IN_DEALLOCATOR
} where;

/* Starts work on the queue whose callback, host function or deallocator makes the attempts. */
static mtb_command_buffer *start(attempts *of, where there) {
    mtb_command_buffer *first;
    if (there == IN_FUNCTION) {
        MAKE(first, mtb_command_queue_call_host_function(of->queue, try_in_function, NULL, of, NULL, &error));
        return first;
    }
    MAKE(first, mtb_command_buffer_create(of->queue, MTB_REFERENCES_RETAINED, 0, &error));
    if (there == IN_CALLBACK) {
        CHECK_OK(mtb_command_buffer_add_completed_callback(first, try_in_callback, of, NULL, &error));
    } else {
        mtb_buffer *buffer;
        mtb_blit_encoder *encoder;
        size_t length = mtb_page_size();
        MAKE(buffer, mtb_buffer_create_no_copy(shared.device, aligned_alloc(length, length), length, MTB_STORAGE_SHARED,
                                               try_in_deallocator, of, &error));
        MAKE(encoder, mtb_blit_encoder_create(first, &error));
        CHECK_OK(mtb_blit_encoder_fill(encoder, buffer, 0, length, 1, &error));
        mtb_blit_encoder_release(encoder);
        mtb_buffer_release(buffer);
    }
    CHECK_OK(mtb_command_buffer_commit(first, &error));
    return first;
}

/* Makes the attempts there and checks how they ended. */
static void check_attempts(where there) {
    attempts of = {.memory = make_memory(), .buffer = make_buffer(SIZE)};
    MAKE(of.queue, mtb_command_queue_create(shared.device, 0, &error));
    MAKE(of.gate, mtb_event_create(shared.device, &error));
    MAKE(of.tried, mtb_event_create(shared.device, &error));
    memset(mtb_buffer_contents(of.buffer), 9, SIZE);
    mtb_command_buffer *first = start(&of, there);
    if (there == IN_DEALLOCATOR) {
        /* Now the GPU alone has the memory. */
        mtb_command_buffer_release(first);
        first = NULL;
    }
    MAKE(of.later, mtb_command_queue_call_host_function(of.queue, ignore, NULL, NULL, NULL, &error));
    CHECK(!mtb_command_queue_is_in_callback(of.queue));
    CHECK_OK(mtb_event_signal(of.gate, 1, &error));
    CHECK_OK(mtb_command_buffer_wait_timeout(of.later, LONG, &error));
    CHECK_OK(mtb_event_wait(of.tried, 1, LONG, &error));
    if (first) finish(first);
    CHECK(of.is_inside && of.count == 4 && of.poll == MTB_TIMEOUT && of.committed);
    for (size_t i = 0; i < of.count; i++)
        check_error(of.errors[i], MTB_DEADLOCK, "could never end", "a wait in a callback", __FILE__, __LINE__);
    /* The refused calls have copied nothing. What was committed without a wait has run. */
    finish(of.committed);
    CHECK(((unsigned char *)mtb_buffer_contents(of.buffer))[SIZE - 1] == 0);
    mtb_command_buffer_release(of.later);
    mtb_event_release(of.gate);
    mtb_event_release(of.tried);
    mtb_buffer_release(of.buffer);
    mtb_memory_release(of.memory);
    mtb_command_queue_release(of.queue);
}

static void host_functions_do_not_wait_for_what_waits_for_them(void) { check_attempts(IN_FUNCTION); }

static void callbacks_do_not_wait_for_what_waits_for_them(void) { check_attempts(IN_CALLBACK); }

static void deallocators_on_metals_threads_do_not_wait(void) { check_attempts(IN_DEALLOCATOR); }

typedef struct {
    mtb_command_buffer *unfinished;
    mtb_event *tried;
    mtb_error *error;
} last_wait;

static void wait_in_deallocator(void *bytes, size_t length, void *context) {
    (void)length;
    last_wait *of = context;
    mtb_command_buffer_wait_timeout(of->unfinished, LONG, &of->error);
    CHECK_OK(mtb_event_signal(of->tried, 1, &error));
    free(bytes);
}

/* A transfer is the last to use the memory: the bridge releases the memory on a thread of Metal's. */
static void a_deallocator_after_a_transfer_does_not_wait(void) {
    size_t length = mtb_page_size();
    mtb_command_queue *queue, *other;
    mtb_event *gate, *end;
    mtb_command_buffer *first, *copied;
    mtb_buffer *buffer, *target = make_buffer_of(length, MTB_STORAGE_PRIVATE);
    mtb_memory *memory = make_memory();
    last_wait of = {0};
    MAKE(queue, mtb_command_queue_create(shared.device, 0, &error));
    MAKE(other, mtb_command_queue_create(shared.device, 0, &error));
    MAKE(gate, mtb_event_create(shared.device, &error));
    MAKE(end, mtb_event_create(shared.device, &error));
    MAKE(of.tried, mtb_event_create(shared.device, &error));
    MAKE(of.unfinished, mtb_command_buffer_create(other, MTB_REFERENCES_RETAINED, 0, &error));
    CHECK_OK(mtb_command_buffer_encode_wait(of.unfinished, end, 1, &error));
    CHECK_OK(mtb_command_buffer_commit(of.unfinished, &error));
    MAKE(first, mtb_command_buffer_create(queue, MTB_REFERENCES_RETAINED, 0, &error));
    CHECK_OK(mtb_command_buffer_encode_wait(first, gate, 1, &error));
    CHECK_OK(mtb_command_buffer_commit(first, &error));
    MAKE(buffer, mtb_buffer_create_no_copy(shared.device, aligned_alloc(length, length), length, MTB_STORAGE_SHARED,
                                           wait_in_deallocator, &of, &error));
    mtb_transfer *transfer = make_transfer(memory, queue);
    CHECK_OK(
        mtb_transfer_copy(transfer, in_buffer(buffer, 0), in_buffer(target, 0), length, 1, MTB_HOST_COPIED, &error));
    MAKE(copied, mtb_transfer_commit(transfer, NULL, NULL, NULL, &error));
    mtb_buffer_release(buffer);
    CHECK_OK(mtb_event_signal(gate, 1, &error));
    CHECK_OK(mtb_event_wait(of.tried, 1, 2 * LONG, &error));
    check_error(of.error, MTB_DEADLOCK, "could never end", "a wait in a deallocator", __FILE__, __LINE__);
    CHECK_OK(mtb_event_signal(end, 1, &error));
    finish(of.unfinished);
    finish(copied);
    finish(first);
    mtb_transfer_release(transfer);
    mtb_event_release(of.tried);
    mtb_event_release(end);
    mtb_event_release(gate);
    mtb_buffer_release(target);
    mtb_memory_release(memory);
    mtb_command_queue_release(other);
    mtb_command_queue_release(queue);
}

typedef struct {
    mtb_command_buffer *own;
    mtb_command_queue *other;
    mtb_error *own_wait;
    mtb_status other_wait;
} waits;

static void wait_for_own_and_other(const mtb_completion *completion, void *context) {
    (void)completion;
    waits *of = context;
    mtb_command_buffer_wait(of->own, &of->own_wait);
    mtb_command_buffer *other = mtb_command_queue_call_host_function(of->other, ignore, NULL, NULL, NULL, NULL);
    of->other_wait = mtb_command_buffer_wait_timeout(other, LONG, NULL);
    mtb_command_buffer_release(other);
}

static void a_callback_may_wait_for_another_queue_only(void) {
    waits of = {.own = make_command_buffer(), .other_wait = MTB_TIMEOUT};
    MAKE(of.other, mtb_command_queue_create(shared.device, 0, &error));
    CHECK_OK(mtb_command_buffer_add_completed_callback(of.own, wait_for_own_and_other, &of, NULL, &error));
    CHECK_OK(mtb_command_buffer_commit(of.own, &error));
    CHECK_OK(mtb_command_buffer_wait_timeout(of.own, LONG, &error));
    check_error(of.own_wait, MTB_DEADLOCK, "could never end", "the wait for its own command buffer", __FILE__,
                __LINE__);
    CHECK(of.other_wait == MTB_OK);
    mtb_command_queue_release(of.other);
    mtb_command_buffer_release(of.own);
}

typedef struct {
    mtb_command_queue *queue;
    mtb_command_buffer **held;
    mtb_error *error;
    size_t transfers;
    mtb_error *transfer_error;
} asking;

/* Fills the queue, and then asks for more. */
static void ask_for_a_slot(void *context) {
    asking *of = context;
    *of->held = mtb_command_buffer_create(of->queue, MTB_REFERENCES_RETAINED, MTB_FOREVER, NULL);
    CHECK(!mtb_command_buffer_create(of->queue, MTB_REFERENCES_RETAINED, MTB_FOREVER, &of->error));
    mtb_command_buffer *called = NULL;
    while ((called = mtb_command_queue_call_host_function(of->queue, ignore, NULL, NULL, NULL, &of->transfer_error))) {
        of->transfers++;
        mtb_command_buffer_release(called);
    }
}

static void a_full_queue_is_an_error_inside_its_callbacks(void) {
    mtb_command_buffer *called, *held = NULL;
    asking of = {.held = &held};
    MAKE(of.queue, mtb_command_queue_create(shared.device, 1, &error));
    MAKE(called, mtb_command_queue_call_host_function(of.queue, ask_for_a_slot, NULL, &of, NULL, &error));
    CHECK_OK(mtb_command_buffer_wait_timeout(called, LONG, &error));
    check_error(of.error, MTB_DEADLOCK, "a free slot of the queue", "a command buffer more", __FILE__, __LINE__);
    check_error(of.transfer_error, MTB_DEADLOCK, "a free slot of the queue", "a transfer more", __FILE__, __LINE__);
    CHECK(held && of.transfers > 0);
    mtb_command_buffer_release(held);
    mtb_command_buffer_release(called);
    /* Once all that work has run, the queue has free slots again. */
    MAKE(called, mtb_command_queue_call_host_function(of.queue, ignore, NULL, NULL, NULL, &error));
    CHECK_OK(mtb_command_buffer_wait_timeout(called, LONG, &error));
    mtb_command_buffer_release(called);
    mtb_command_queue_release(of.queue);
}

/* A thread that a host function starts, and what it waits for. */
static void *wait_behind(void *later) {
    CHECK(mtb_command_buffer_wait_timeout(later, 2500000000u, NULL) == MTB_TIMEOUT);
    CHECK(mtb_command_buffer_wait_timeout(later, 1000000, NULL) == MTB_TIMEOUT);
    return NULL;
}

static void join_a_thread_that_waits(void *context) {
    attempts *of = context;
    pthread_t thread;
    CHECK(mtb_event_wait(of->gate, 1, LONG, NULL) == MTB_OK);
    CHECK(pthread_create(&thread, NULL, wait_behind, of->later) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
}

/* The bridge cannot know that the thread will be joined, and says what it sees. */
static void a_wait_behind_a_long_callback_is_reported(void) {
    attempts of = {0};
    FILE *const printed = tmpfile();
    const int standard_error = dup(STDERR_FILENO);
    CHECK(printed && standard_error >= 0 && dup2(fileno(printed), STDERR_FILENO) >= 0);
    mtb_command_buffer *called;
    MAKE(of.queue, mtb_command_queue_create(shared.device, 0, &error));
    MAKE(of.gate, mtb_event_create(shared.device, &error));
    MAKE(called, mtb_command_queue_call_host_function(of.queue, join_a_thread_that_waits, NULL, &of, NULL, &error));
    MAKE(of.later, mtb_command_queue_call_host_function(of.queue, ignore, NULL, NULL, NULL, &error));
    CHECK_OK(mtb_event_signal(of.gate, 1, &error));
    CHECK_OK(mtb_command_buffer_wait_timeout(of.later, LONG, &error));
    CHECK(dup2(standard_error, STDERR_FILENO) >= 0 && close(standard_error) == 0);
    char text[4096];
    rewind(printed);
    text[fread(text, 1, sizeof text - 1, printed)] = '\0';
    const char *const report = strstr(text, "behind a callback that has run for");
    CHECK(report && !strstr(report + 1, "behind a callback"));
    fclose(printed);
    mtb_command_buffer_release(called);
    mtb_command_buffer_release(of.later);
    mtb_event_release(of.gate);
    mtb_command_queue_release(of.queue);
}

const test memory_callback_tests[] = {
    {"memory callbacks: a wait behind a long callback is reported", a_wait_behind_a_long_callback_is_reported},
    {"memory callbacks: host functions do not wait for what waits for them",
     host_functions_do_not_wait_for_what_waits_for_them},
    {"memory callbacks: callbacks do not wait for what waits for them", callbacks_do_not_wait_for_what_waits_for_them},
    {"memory callbacks: deallocators on Metal's threads do not wait", deallocators_on_metals_threads_do_not_wait},
    {"memory callbacks: a deallocator after a transfer does not wait", a_deallocator_after_a_transfer_does_not_wait},
    {"memory callbacks: a callback may wait for another queue only", a_callback_may_wait_for_another_queue_only},
    {"memory callbacks: a full queue is an error inside its callbacks", a_full_queue_is_an_error_inside_its_callbacks},
    {NULL, NULL},
};
