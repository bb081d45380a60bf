/* Threads that have no autorelease pool: what the bridge exists for. */
#include "memory/support.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

enum {
    THREADS = 4,
    ROUNDS = 1500
};

/* Runs `body` on threads of their own. */
static void on_threads(void *(*body)(void *), void *argument) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, body, argument);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

static void *make_and_release(void *argument) {
    (void)argument;
    for (int round = 0; round < ROUNDS; round++) {
        mtb_buffer *buffer = mtb_buffer_create(shared.device, 256, MTB_STORAGE_SHARED, NULL);
        mtb_event *event = mtb_event_create(shared.device, NULL);
        mtb_constant_values *values = mtb_constant_values_create(NULL);
        mtb_command_queue *queue = round % 16 ? NULL : mtb_command_queue_create(shared.device, 0, NULL);
        mtb_buffer_set_label(buffer, "of a thread", NULL);
        mtb_string_free(mtb_buffer_copy_label(buffer));
        mtb_device_release(mtb_device_create_default(NULL));
        mtb_error *error = NULL;
        mtb_function_create(shared.library, "no such function", NULL, &error);
        mtb_error_release(error);
        mtb_buffer_release(buffer);
        mtb_event_release(event);
        mtb_constant_values_release(values);
        mtb_command_queue_release(queue);
    }
    return NULL;
}

static void handles_come_and_go(void) {
    uint64_t size = mtb_device_current_allocated_size(shared.device);
    on_threads(make_and_release, NULL);
    CHECK(mtb_device_current_allocated_size(shared.device) == size);
}

/* Each thread has work of its own, and all share one queue: there are more command buffers than the queue has slots. */
static void *submit_work(void *argument) {
    mtb_pipeline *pipeline = argument;
    enum {
        COUNT = 64,
        SUBMISSIONS = 60
    };
    mtb_buffer *buffer = make_buffer(COUNT * sizeof(float));
    const float line[2] = {1, 1};
    for (int i = 0; i < SUBMISSIONS; i++) {
        mtb_compute_encoder *encoder;
        mtb_command_buffer *command_buffer = make_command_buffer();
        MAKE(encoder, mtb_compute_encoder_create(command_buffer, MTB_DISPATCH_SERIAL, &error));
        mtb_compute_encoder_set_pipeline(encoder, pipeline, NULL);
        mtb_compute_encoder_set_buffer(encoder, buffer, 0, 0, NULL);
        mtb_compute_encoder_set_bytes(encoder, line, sizeof line, 1, NULL);
        mtb_compute_encoder_dispatch_threads(encoder, (mtb_size){COUNT, 1, 1}, (mtb_size){32, 1, 1}, NULL);
        mtb_compute_encoder_release(encoder);
        mtb_command_buffer_commit(command_buffer, NULL);
        if (i == SUBMISSIONS - 1) mtb_command_buffer_wait(command_buffer, NULL);
        mtb_command_buffer_release(command_buffer);
    }
    bool all_right = true;
    for (int i = 0; i < COUNT; i++) all_right &= ((float *)mtb_buffer_contents(buffer))[i] == SUBMISSIONS;
    mtb_buffer_release(buffer);
    return all_right ? argument : NULL;
}

static void threads_share_a_queue(void) {
    mtb_pipeline *pipeline = make_pipeline("line");
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, submit_work, pipeline);
    for (int i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        CHECK(result == pipeline);
    }
    mtb_pipeline_release(pipeline);
}

/* Releases the last reference to a buffer on another thread, while the GPU still uses the buffer. */
static void *release_buffer(void *buffer) {
    mtb_buffer_release(buffer);
    return NULL;
}

static void buffers_die_on_other_threads(void) {
    for (int round = 0; round < 50; round++) {
        mtb_blit_encoder *blit;
        mtb_buffer *buffer = make_buffer(1 << 16);
        mtb_command_buffer *command_buffer = make_command_buffer();
        MAKE(blit, mtb_blit_encoder_create(command_buffer, &error));
        CHECK_OK(mtb_blit_encoder_fill(blit, buffer, 0, 1 << 16, 1, &error));
        mtb_blit_encoder_release(blit);
        CHECK_OK(mtb_command_buffer_commit(command_buffer, &error));
        pthread_t thread;
        pthread_create(&thread, NULL, release_buffer, buffer);
        CHECK_OK(mtb_command_buffer_wait(command_buffer, &error));
        pthread_join(thread, NULL);
        mtb_command_buffer_release(command_buffer);
    }
}

static atomic_int freed_pages;

static void count_page(void *bytes, size_t length, void *context) {
    (void)bytes;
    (void)length;
    (void)context;
    atomic_fetch_add(&freed_pages, 1);
}

static void *wrap_pages(void *page) {
    for (int round = 0; round < ROUNDS; round++)
        mtb_buffer_release(mtb_buffer_create_no_copy(shared.device, page, mtb_page_size(), MTB_STORAGE_SHARED,
                                                     count_page, NULL, NULL));
    return NULL;
}

static void every_deallocator_runs(void) {
    static _Alignas(65536) char page[65536];
    atomic_store(&freed_pages, 0);
    on_threads(wrap_pages, page);
    CHECK(atomic_load(&freed_pages) == THREADS * ROUNDS);
}

static void *ask_and_wait(void *command_buffer) {
    while (mtb_command_buffer_get_status(command_buffer) < MTB_COMMAND_BUFFER_COMPLETED)
        mtb_command_buffer_wait_timeout(command_buffer, 100000, NULL);
    mtb_command_buffer_wait(command_buffer, NULL);
    mtb_error_release(mtb_command_buffer_copy_error(command_buffer));
    return mtb_command_buffer_get_times(command_buffer).gpu_end > 0 ? command_buffer : NULL;
}

static void many_wait_for_one(void) {
    mtb_event *gate;
    MAKE(gate, mtb_event_create(shared.device, &error));
    mtb_command_buffer *command_buffer = make_command_buffer();
    CHECK_OK(mtb_command_buffer_encode_wait(command_buffer, gate, 1, &error));
    CHECK_OK(mtb_command_buffer_commit(command_buffer, &error));
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, ask_and_wait, command_buffer);
    CHECK_OK(mtb_event_signal(gate, 1, &error));
    for (int i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        CHECK(result == command_buffer);
    }
    mtb_command_buffer_release(command_buffer);
    mtb_event_release(gate);
}

static void release_command_buffer(const mtb_completion *completion, void *command_buffer) {
    (void)completion;
    mtb_command_buffer_release(command_buffer);
}

static void release_transfer(const mtb_completion *completion, void *transfer) {
    (void)completion;
    mtb_transfer_release(transfer);
}

/* On a thread of Metal's, mostly while the call that commits is still under way. */
static void a_callback_may_have_the_last_reference(void) {
    enum {
        COMMITS = 20000
    };
    const uint32_t value = 5;
    mtb_memory *memory = make_memory();
    mtb_buffer *buffer = make_buffer(64);
    for (int i = 0; i < COMMITS; i++) {
        mtb_command_buffer *command_buffer = make_command_buffer();
        CHECK_OK(mtb_command_buffer_add_completed_callback(command_buffer, release_command_buffer, command_buffer, NULL,
                                                           &error));
        CHECK_OK(mtb_command_buffer_commit(command_buffer, &error));
    }
    for (int i = 0; i < COMMITS; i++) {
        mtb_command_buffer *committed;
        mtb_transfer *transfer = make_transfer(memory, shared.queue);
        CHECK_OK(mtb_transfer_fill(transfer, in_buffer(buffer, 0), 64, 1, &value, sizeof value, &error));
        MAKE(committed, mtb_transfer_commit(transfer, release_transfer, transfer, NULL, &error));
        mtb_command_buffer_release(committed);
    }
    run(make_command_buffer());
    mtb_buffer_release(buffer);
    mtb_memory_release(memory);
}

static mtb_buffer *label_target;

static void *label_and_reflect(void *library) {
    enum {
        HERE = 100
    };
    for (int i = 0; i < HERE; i++) {
        mtb_function *function;
        mtb_pipeline *pipeline;
        mtb_argument argument;
        CHECK_OK(mtb_buffer_set_label(label_target, "label", &error));
        CHECK_OK(mtb_command_queue_set_label(shared.queue, "label", &error));
        mtb_string_free(mtb_buffer_copy_label(label_target));
        MAKE(function, mtb_function_create(library, "twice", NULL, &error));
        MAKE(pipeline, mtb_pipeline_create(function, &error));
        CHECK(mtb_pipeline_get_argument(pipeline, 0, &argument) && argument.data_size == 4 && argument.alignment == 4);
        mtb_pipeline_release(pipeline);
        mtb_function_release(function);
    }
    return NULL;
}

/* ThreadSanitizer sees whether they do so in an order. */
static void one_handle_serves_many_threads(void) {
    static const char source[] = "kernel void twice(device float *a [[buffer(0)]]) { a[0] *= 2; }";
    mtb_library *library;
    MAKE(library, mtb_library_create_from_source(shared.device, source, strlen(source), NULL, &error));
    label_target = make_buffer(64);
    on_threads(label_and_reflect, library);
    CHECK_OK(mtb_command_queue_set_label(shared.queue, NULL, &error));
    mtb_buffer_release(label_target);
    mtb_library_release(library);
}

/* Each looks at the machine code, which all share. */
static void *make_pipelines(void *argument) {
    for (int round = 0; round < 20; round++) mtb_pipeline_release(make_pipeline("reverse"));
    return argument;
}

static void threads_make_one_pipeline(void) { on_threads(make_pipelines, NULL); }

static atomic_int signals_elsewhere;

static void count_signal(int number) {
    (void)number;
    atomic_fetch_add(&signals_elsewhere, 1);
}

static void note_value(uint64_t value, void *context) {
    (void)value;
    (void)context;
}

/* A program blocks a signal in all threads that it knows of, and waits for it in one. */
static void signals_are_for_the_programs_threads(void) {
    enum {
        SIGNALS = 50
    };
    const uint32_t value = 5;
    mtb_memory *memory = make_memory();
    mtb_buffer *buffer = make_buffer(64), *kept;
    mtb_transfer *transfer = make_transfer(memory, shared.queue);
    mtb_event *event;
    /* Has every thread started: those of queues and events, and the one that trims. */
    MAKE(event, mtb_event_create(shared.device, &error));
    CHECK_OK(mtb_event_notify(event, 1, note_value, NULL, NULL, &error));
    CHECK_OK(mtb_event_signal(event, 1, &error));
    MAKE(kept, mtb_memory_allocate(memory, 64, MTB_STORAGE_SHARED, &error));
    mtb_buffer_release(kept);
    CHECK_OK(mtb_transfer_fill(transfer, in_buffer(buffer, 0), 64, 1, &value, sizeof value, &error));
    finish(commit(transfer));
    struct sigaction before, counted = {.sa_handler = count_signal};
    sigset_t one, mask, pending;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    sigaction(SIGUSR1, &counted, &before);
    pthread_sigmask(SIG_BLOCK, &one, &mask);
    for (int i = 0; i < SIGNALS && atomic_load(&signals_elsewhere) == 0; i++) {
        int number = 0;
        kill(getpid(), SIGUSR1);
        run(make_command_buffer());
        CHECK(sigpending(&pending) == 0 && sigismember(&pending, SIGUSR1) == 1);
        if (sigismember(&pending, SIGUSR1) == 1) CHECK(sigwait(&one, &number) == 0 && number == SIGUSR1);
    }
    CHECK(atomic_load(&signals_elsewhere) == 0);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    sigaction(SIGUSR1, &before, NULL);
    mtb_event_release(event);
    mtb_transfer_release(transfer);
    mtb_buffer_release(buffer);
    mtb_memory_release(memory);
}

const test thread_tests[] = {
    {"threads: handles come and go", handles_come_and_go},
    {"threads: threads share a queue", threads_share_a_queue},
    {"threads: buffers die on other threads", buffers_die_on_other_threads},
    {"threads: every deallocator runs", every_deallocator_runs},
    {"threads: many wait for one", many_wait_for_one},
    {"threads: a callback may have the last reference", a_callback_may_have_the_last_reference},
    {"threads: one handle serves many threads", one_handle_serves_many_threads},
    {"threads: threads make one pipeline", threads_make_one_pipeline},
    {"threads: signals are for the program's threads", signals_are_for_the_programs_threads},
    {NULL, NULL},
};
