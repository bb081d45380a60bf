/* The order of transfers, kernels and host functions: each sees what was committed before it. */
#include "support.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    COUNT = 4096,
    BYTES = COUNT * sizeof(int)
};

static void fill(int *values, int value) {
    for (int i = 0; i < COUNT; i++) values[i] = value;
}

static bool all_are(const int *values, int value) {
    for (int i = 0; i < COUNT; i++)
        if (values[i] != value) return false;
    return true;
}

/* Adds to each of the buffer's integers, on `queue`. */
static void add_on_gpu(mtb_command_queue *queue, mtb_pipeline *pipeline, mtb_buffer *buffer) {
    mtb_command_buffer *command_buffer;
    mtb_compute_encoder *encoder;
    MAKE(command_buffer, mtb_command_buffer_create(queue, MTB_REFERENCES_RETAINED, MTB_FOREVER, &error));
    MAKE(encoder, mtb_compute_encoder_create(command_buffer, MTB_DISPATCH_SERIAL, &error));
    CHECK_OK(mtb_compute_encoder_set_pipeline(encoder, pipeline, &error));
    CHECK_OK(mtb_compute_encoder_set_buffer(encoder, buffer, 0, 0, &error));
    CHECK_OK(mtb_compute_encoder_dispatch_threads(encoder, (mtb_size){COUNT, 1, 1}, (mtb_size){64, 1, 1}, &error));
    mtb_compute_encoder_release(encoder);
    CHECK_OK(mtb_command_buffer_commit(command_buffer, &error));
    mtb_command_buffer_release(command_buffer);
}

static mtb_pipeline *make_incrementer(void) {
    mtb_constant_values *values;
    mtb_function *function;
    mtb_pipeline *pipeline;
    int one = 1;
    MAKE(values, mtb_constant_values_create(&error));
    CHECK_OK(mtb_constant_values_set_at(values, 0, MTB_TYPE_INT, &one, &error));
    MAKE(function, mtb_function_create(shared.library, "increment", values, &error));
    MAKE(pipeline, mtb_pipeline_create(function, &error));
    mtb_function_release(function);
    mtb_constant_values_release(values);
    return pipeline;
}

static void add_copy(mtb_transfer *transfer, mtb_place source, mtb_place destination) {
    CHECK_OK(mtb_transfer_copy(transfer, source, destination, BYTES, 1, MTB_HOST_COPIED, &error));
}

/* A copy to the GPU, a kernel and a copy back, many times over without a wait, each in a command buffer of its own. */
static void copies_and_kernels_alternate(mtb_storage_mode mode) {
    enum {
        ROUNDS = 20
    };
    static int in[COUNT], out[ROUNDS][COUNT];
    mtb_memory *memory = make_memory();
    mtb_transfer *transfer = make_transfer(memory, shared.queue);
    mtb_pipeline *pipeline = make_incrementer();
    mtb_buffer *buffer = make_buffer_of(BYTES, mode);
    mtb_command_buffer *last[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        fill(in, round * 10);
        add_copy(transfer, in_host(in), in_buffer(buffer, 0));
        mtb_command_buffer_release(commit(transfer));
        add_on_gpu(shared.queue, pipeline, buffer);
        add_copy(transfer, in_buffer(buffer, 0), in_host(out[round]));
        last[round] = commit(transfer);
        add_on_gpu(shared.queue, pipeline, buffer);
    }
    for (int round = 0; round < ROUNDS; round++) {
        finish(last[round]);
        CHECK(all_are(out[round], round * 10 + 1));
    }
    /* The synchronous form comes after all earlier work. */
    copy(memory, shared.queue, in_buffer(buffer, 0), in_host(in), BYTES);
    CHECK(all_are(in, (ROUNDS - 1) * 10 + 2));
    mtb_buffer_release(buffer);
    mtb_pipeline_release(pipeline);
    mtb_transfer_release(transfer);
    mtb_memory_release(memory);
}

static void order_with_shared(void) { copies_and_kernels_alternate(MTB_STORAGE_SHARED); }

static void order_with_managed(void) { copies_and_kernels_alternate(MTB_STORAGE_MANAGED); }

static void order_with_private(void) { copies_and_kernels_alternate(MTB_STORAGE_PRIVATE); }

/* A queue's callbacks and host functions, in the order in which they ran. */
typedef struct {
    pthread_mutex_t mutex;
    int order[64];
    int count;
    int completed;
    int destroyed;
} journal;

typedef struct {
    journal *journal;
    int number;
    mtb_buffer *buffer;
    int found;
} entry;

static void note(entry *what) {
    pthread_mutex_lock(&what->journal->mutex);
    what->journal->order[what->journal->count++] = what->number;
    pthread_mutex_unlock(&what->journal->mutex);
}

/* Reads and changes memory that kernels before and after it work on. */
static void step_on_host(void *context) {
    entry *what = context;
    int *values = mtb_buffer_contents(what->buffer);
    usleep(2000);
    what->found = all_are(values, values[0]) ? values[0] : -1;
    fill(values, values[0] * 10);
    note(what);
}

/* Called after the function, with the same context. */
static void note_completion(const mtb_completion *completion, void *context) {
    entry *what = context;
    pthread_mutex_lock(&what->journal->mutex);
    bool has_run = what->journal->count == what->number + 1;
    what->journal->completed += has_run && completion->status == MTB_COMMAND_BUFFER_COMPLETED;
    pthread_mutex_unlock(&what->journal->mutex);
}

static void count_destroyed(void *context) {
    entry *what = context;
    pthread_mutex_lock(&what->journal->mutex);
    what->journal->destroyed++;
    pthread_mutex_unlock(&what->journal->mutex);
}

static void host_functions_run_in_order(void) {
    enum {
        STEPS = 6
    };
    journal ran = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    mtb_command_queue *queue;
    MAKE(queue, mtb_command_queue_create(shared.device, 0, &error));
    mtb_pipeline *pipeline = make_incrementer();
    mtb_buffer *buffer = make_buffer(BYTES);
    entry entries[STEPS];
    mtb_command_buffer *steps[STEPS];
    for (int i = 0; i < STEPS; i++) {
        entries[i] = (entry){&ran, i, buffer, 0};
        add_on_gpu(queue, pipeline, buffer);
        MAKE(steps[i], mtb_command_queue_call_host_function(queue, step_on_host, note_completion, &entries[i],
                                                            count_destroyed, &error));
    }
    add_on_gpu(queue, pipeline, buffer);
    int expected = 0;
    for (int i = 0; i < STEPS; i++) {
        finish(steps[i]);
        CHECK(entries[i].found == expected + 1);
        expected = (expected + 1) * 10;
        CHECK(ran.order[i] == i);
    }
    mtb_command_buffer *last;
    MAKE(last, mtb_command_buffer_create(queue, MTB_REFERENCES_RETAINED, MTB_FOREVER, &error));
    run(last);
    CHECK(all_are(mtb_buffer_contents(buffer), expected + 1));
    CHECK(ran.completed == STEPS && ran.destroyed == STEPS);
    mtb_buffer_release(buffer);
    mtb_command_queue_release(queue);
    mtb_pipeline_release(pipeline);
}

/* A transfer waits for work of another queue at an event, and the caller does not. */
static void events_order_queues(void) {
    static int out[COUNT];
    mtb_command_queue *other;
    mtb_event *event;
    MAKE(other, mtb_command_queue_create(shared.device, 0, &error));
    MAKE(event, mtb_event_create(shared.device, &error));
    mtb_memory *memory = make_memory();
    mtb_transfer *transfer = make_transfer(memory, other);
    mtb_pipeline *pipeline = make_incrementer();
    mtb_buffer *buffer = make_buffer(BYTES);
    mtb_command_buffer *waiting, *signalling;
    MAKE(waiting, mtb_command_buffer_create(other, MTB_REFERENCES_RETAINED, MTB_FOREVER, &error));
    CHECK_OK(mtb_command_buffer_encode_wait(waiting, event, 1, &error));
    CHECK_OK(mtb_command_buffer_commit(waiting, &error));
    add_copy(transfer, in_buffer(buffer, 0), in_host(out));
    mtb_command_buffer *copied = commit(transfer);
    CHECK_FAILS(mtb_command_buffer_wait_timeout(copied, 20000000, &error), MTB_TIMEOUT, "not completed");
    add_on_gpu(shared.queue, pipeline, buffer);
    MAKE(signalling, mtb_command_buffer_create(shared.queue, MTB_REFERENCES_RETAINED, MTB_FOREVER, &error));
    CHECK_OK(mtb_command_buffer_encode_signal(signalling, event, 1, &error));
    CHECK_OK(mtb_command_buffer_commit(signalling, &error));
    finish(copied);
    CHECK(all_are(out, 1));
    mtb_command_buffer_release(signalling);
    mtb_command_buffer_release(waiting);
    mtb_buffer_release(buffer);
    mtb_pipeline_release(pipeline);
    mtb_transfer_release(transfer);
    mtb_memory_release(memory);
    mtb_event_release(event);
    mtb_command_queue_release(other);
}

/* What callbacks may do: make and commit more, and release what they belong to. */
typedef struct {
    mtb_memory *memory;
    mtb_command_queue *queue;
    mtb_buffer *buffer;
    mtb_event *done;
    int left;
} chain;

static void commit_next(const mtb_completion *completion, void *context) {
    chain *links = context;
    CHECK(completion->status == MTB_COMMAND_BUFFER_COMPLETED);
    if (links->left-- == 0) {
        /* The waiting thread may release the event before this call has returned. */
        mtb_event *done = mtb_event_retain(links->done);
        CHECK_OK(mtb_event_signal(done, 1, &error));
        mtb_event_release(done);
        return;
    }
    mtb_transfer *transfer = make_transfer(links->memory, links->queue);
    mtb_command_buffer *command_buffer;
    uint8_t value = (uint8_t)links->left;
    CHECK_OK(mtb_transfer_fill(transfer, in_buffer(links->buffer, 0), BYTES, 1, &value, 1, &error));
    MAKE(command_buffer, mtb_transfer_commit(transfer, commit_next, links, NULL, &error));
    mtb_command_buffer_release(command_buffer);
    mtb_transfer_release(transfer);
}

static void callbacks_may_commit(void) {
    chain links = {.memory = make_memory(), .buffer = make_buffer(BYTES), .left = 20};
    MAKE(links.queue, mtb_command_queue_create(shared.device, 1, &error));
    MAKE(links.done, mtb_event_create(shared.device, &error));
    mtb_transfer *transfer = make_transfer(links.memory, links.queue);
    mtb_command_buffer *first;
    MAKE(first, mtb_transfer_commit(transfer, commit_next, &links, NULL, &error));
    mtb_command_buffer_release(first);
    mtb_transfer_release(transfer);
    CHECK_OK(mtb_event_wait(links.done, 1, MTB_FOREVER, &error));
    CHECK(*(uint8_t *)mtb_buffer_contents(links.buffer) == 0);
    mtb_event_release(links.done);
    mtb_command_queue_release(links.queue);
    mtb_buffer_release(links.buffer);
    mtb_memory_release(links.memory);
}

/* The caller releases everything while the transfer waits. The transfer ends all the same. */
static void handles_may_go_first(void) {
    static int in[COUNT];
    mtb_command_queue *queue;
    mtb_event *event;
    mtb_command_buffer *gate;
    MAKE(queue, mtb_command_queue_create(shared.device, 0, &error));
    MAKE(event, mtb_event_create(shared.device, &error));
    MAKE(gate, mtb_command_buffer_create(queue, MTB_REFERENCES_RETAINED, MTB_FOREVER, &error));
    CHECK_OK(mtb_command_buffer_encode_wait(gate, event, 1, &error));
    CHECK_OK(mtb_command_buffer_commit(gate, &error));
    mtb_memory *memory = make_memory();
    mtb_transfer *transfer = make_transfer(memory, queue);
    mtb_buffer *hidden = make_buffer_of(BYTES, MTB_STORAGE_PRIVATE), *seen = make_buffer(BYTES);
    fill(in, 7);
    add_copy(transfer, in_host(in), in_buffer(hidden, 0));
    add_copy(transfer, in_buffer(hidden, 0), in_buffer(seen, 0));
    mtb_command_buffer *copied = commit(transfer);
    mtb_buffer_release(hidden);
    mtb_transfer_release(transfer);
    mtb_memory_release(memory);
    mtb_command_queue_release(queue);
    mtb_command_buffer_release(gate);
    CHECK_OK(mtb_event_signal(event, 1, &error));
    finish(copied);
    CHECK(all_are(mtb_buffer_contents(seen), 7));
    mtb_buffer_release(seen);
    mtb_event_release(event);
}

/* Many threads, one device, one memory: each with a queue of its own and one that all share. */
typedef struct {
    mtb_memory *memory;
    uint64_t seed;
    bool is_right;
} worker;

static void *transfer_in_a_loop(void *context) {
    enum {
        SIZE = 30000,
        ROUNDS = 40
    };
    worker *self = context;
    random_source source = {self->seed};
    mtb_command_queue *own;
    MAKE(own, mtb_command_queue_create(shared.device, 0, &error));
    mtb_buffer *hidden = make_buffer_of(SIZE, MTB_STORAGE_PRIVATE);
    uint8_t *in = malloc(SIZE), *out = malloc(SIZE);
    self->is_right = true;
    for (int round = 0; round < ROUNDS; round++) {
        mtb_transfer *transfer = make_transfer(self->memory, below(&source, 2) ? own : shared.queue);
        size_t offset = below(&source, SIZE / 2), length = 1 + below(&source, SIZE / 2);
        for (size_t i = 0; i < length; i++) in[i] = (uint8_t)next_random(&source);
        CHECK_OK(mtb_transfer_copy(transfer, in_host(in), in_buffer(hidden, offset), length, 1,
                                   (mtb_host_memory)below(&source, 2), &error));
        CHECK_OK(
            mtb_transfer_copy(transfer, in_buffer(hidden, offset), in_host(out), length, 1, MTB_HOST_COPIED, &error));
        if (below(&source, 2))
            CHECK_OK(mtb_transfer_run(transfer, &error));
        else
            finish(commit(transfer));
        self->is_right = self->is_right && memcmp(in, out, length) == 0;
        mtb_transfer_release(transfer);
    }
    free(in);
    free(out);
    mtb_buffer_release(hidden);
    mtb_command_queue_release(own);
    return NULL;
}

static void many_threads_share_a_memory(void) {
    enum {
        THREADS = 12
    };
    pthread_t threads[THREADS];
    worker workers[THREADS];
    mtb_memory *memory = make_memory();
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){memory, (uint64_t)i + 1, false};
        pthread_create(&threads[i], NULL, transfer_in_a_loop, &workers[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        CHECK(workers[i].is_right);
    }
    mtb_memory_statistics statistics;
    mtb_memory_get_statistics(memory, &statistics);
    CHECK(statistics.staging.bytes_in_use == 0 && statistics.staging.objects_in_use == 0);
    mtb_memory_release(memory);
}

const test memory_order_tests[] = {
    {"memory: copies and kernels alternate on a shared buffer", order_with_shared},
    {"memory: copies and kernels alternate on a managed buffer", order_with_managed},
    {"memory: copies and kernels alternate on a private buffer", order_with_private},
    {"memory: host functions run in order", host_functions_run_in_order},
    {"memory: events order queues", events_order_queues},
    {"memory: callbacks may commit", callbacks_may_commit},
    {"memory: handles may go first", handles_may_go_first},
    {"memory: many threads share a memory", many_threads_share_a_memory},
    {NULL, NULL},
};
