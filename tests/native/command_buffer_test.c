#include "harness.h"

#include <pthread.h>
#include <unistd.h>

enum {
    MILLISECOND = 1000000
};

/* A command buffer that fills `buffer`, encoded and not committed. */
static mtb_command_buffer *make_fill(mtb_buffer *buffer, uint8_t value) {
    mtb_blit_encoder *blit;
    mtb_command_buffer *command_buffer = make_command_buffer();
    MAKE(blit, mtb_blit_encoder_create(command_buffer, &error));
    CHECK_OK(mtb_blit_encoder_fill(blit, buffer, 0, mtb_buffer_length(buffer), value, &error));
    mtb_blit_encoder_release(blit);
    return command_buffer;
}

static void states_follow_each_other(void) {
    mtb_buffer *buffer = make_buffer(64);
    mtb_command_buffer *command_buffer = make_fill(buffer, 3);
    CHECK(mtb_command_buffer_get_status(command_buffer) == MTB_COMMAND_BUFFER_NOT_ENQUEUED);
    CHECK_OK(mtb_command_buffer_set_label(command_buffer, "a fill", &error));
    char *label = mtb_command_buffer_copy_label(command_buffer);
    CHECK(label && strcmp(label, "a fill") == 0);
    mtb_string_free(label);
    CHECK_OK(mtb_command_buffer_enqueue(command_buffer, &error));
    CHECK(mtb_command_buffer_get_status(command_buffer) == MTB_COMMAND_BUFFER_ENQUEUED);
    CHECK_FAILS(mtb_command_buffer_enqueue(command_buffer, &error), MTB_INVALID_STATE, "enqueued");
    CHECK(mtb_command_buffer_get_times(command_buffer).gpu_end == 0);
    CHECK_OK(mtb_command_buffer_commit(command_buffer, &error));
    CHECK_OK(mtb_command_buffer_wait(command_buffer, &error));
    CHECK_OK(mtb_command_buffer_wait_timeout(command_buffer, 0, &error));
    CHECK(mtb_command_buffer_get_status(command_buffer) == MTB_COMMAND_BUFFER_COMPLETED);
    CHECK(mtb_command_buffer_copy_error(command_buffer) == NULL);
    mtb_times times = mtb_command_buffer_get_times(command_buffer);
    CHECK(times.gpu_start > 0 && times.gpu_end >= times.gpu_start);
    CHECK(times.kernel_start > 0 && times.kernel_end >= times.kernel_start);
    CHECK(((char *)mtb_buffer_contents(buffer))[63] == 3);
    mtb_command_buffer_release(command_buffer);
    mtb_buffer_release(buffer);
}

static void ignore_completion(const mtb_completion *completion, void *context) {
    (void)completion;
    (void)context;
}

static void what_comes_too_late_or_too_early_is_refused(void) {
    mtb_event *event;
    mtb_blit_encoder *blit;
    MAKE(event, mtb_event_create(shared.device, &error));
    mtb_command_buffer *command_buffer = make_command_buffer();
    CHECK_FAILS(mtb_command_buffer_wait(command_buffer, &error), MTB_INVALID_STATE, "has not been committed");
    CHECK_FAILS(mtb_command_buffer_wait_timeout(command_buffer, 1, &error), MTB_INVALID_STATE, "not been committed");
    MAKE(blit, mtb_blit_encoder_create(command_buffer, &error));
    CHECK_FAILS(mtb_command_buffer_commit(command_buffer, &error), MTB_INVALID_STATE, "has not been ended");
    CHECK_FAILS(mtb_blit_encoder_create(command_buffer, &error), MTB_INVALID_STATE, "has not been ended");
    CHECK_FAILS(mtb_command_buffer_encode_signal(command_buffer, event, 1, &error), MTB_INVALID_STATE,
                "not been ended");
    CHECK_FAILS(mtb_command_buffer_encode_wait(command_buffer, event, 1, &error), MTB_INVALID_STATE, "not been ended");
    mtb_blit_encoder_release(blit);
    CHECK_OK(mtb_command_buffer_commit(command_buffer, &error));
    CHECK_FAILS(mtb_command_buffer_commit(command_buffer, &error), MTB_INVALID_STATE, "has been committed");
    CHECK_FAILS(mtb_command_buffer_enqueue(command_buffer, &error), MTB_INVALID_STATE, "has been committed");
    CHECK_FAILS(mtb_blit_encoder_create(command_buffer, &error), MTB_INVALID_STATE, "has been committed");
    CHECK_FAILS(mtb_compute_encoder_create(command_buffer, MTB_DISPATCH_SERIAL, &error), MTB_INVALID_STATE,
                "committed");
    CHECK_FAILS(mtb_command_buffer_encode_signal(command_buffer, event, 1, &error), MTB_INVALID_STATE, "committed");
    CHECK_FAILS(mtb_command_buffer_add_completed_callback(command_buffer, ignore_completion, NULL, NULL, &error),
                MTB_INVALID_STATE, "committed");
    CHECK_OK(mtb_command_buffer_wait(command_buffer, &error));
    CHECK_FAILS(mtb_command_buffer_add_completed_callback(command_buffer, NULL, NULL, NULL, &error),
                MTB_INVALID_ARGUMENT, "`callback`");
    CHECK_FAILS(mtb_command_buffer_encode_signal(command_buffer, NULL, 1, &error), MTB_INVALID_ARGUMENT, "`event`");
    CHECK_FAILS(mtb_command_buffer_commit(NULL, &error), MTB_INVALID_ARGUMENT, "`command_buffer`");
    CHECK_FAILS(mtb_command_buffer_wait(NULL, &error), MTB_INVALID_ARGUMENT, "`command_buffer`");
    CHECK_FAILS(mtb_command_buffer_create(NULL, MTB_REFERENCES_RETAINED, 0, &error), MTB_INVALID_ARGUMENT, "`queue`");
    CHECK_FAILS(mtb_command_buffer_create(shared.queue, (mtb_references)7, 0, &error), MTB_INVALID_ARGUMENT,
                "kind of references 7");
    CHECK_FAILS(mtb_command_queue_create(NULL, 0, &error), MTB_INVALID_ARGUMENT, "`device`");
    CHECK_FAILS(mtb_command_queue_create(shared.device, SIZE_MAX, &error), MTB_OUT_OF_RANGE, "the largest has 65536");
    mtb_command_buffer_release(command_buffer);
    mtb_event_release(event);
}

static void queues_run_in_the_order_of_enqueue(void) {
    mtb_buffer *buffer = make_buffer(64);
    mtb_command_buffer *first = make_fill(buffer, 1), *second = make_fill(buffer, 2);
    CHECK_OK(mtb_command_buffer_enqueue(first, &error));
    CHECK_OK(mtb_command_buffer_commit(second, &error));
    CHECK_FAILS(mtb_command_buffer_wait_timeout(second, 20 * MILLISECOND, &error), MTB_TIMEOUT, "0.020 s");
    CHECK_OK(mtb_command_buffer_commit(first, &error));
    CHECK_OK(mtb_command_buffer_wait(second, &error));
    CHECK_OK(mtb_command_buffer_wait_timeout(first, MTB_FOREVER, &error));
    CHECK(*(char *)mtb_buffer_contents(buffer) == 2);
    mtb_command_buffer_release(first);
    mtb_command_buffer_release(second);
    mtb_buffer_release(buffer);
}

typedef struct {
    int order[3];
    int calls;
    int destructions;
    mtb_command_buffer_status status;
    bool has_error;
    double gpu_end;
} record;

typedef struct {
    record *record;
    int number;
} numbered;

static void note_completion(const mtb_completion *completion, void *context) {
    numbered *own = context;
    own->record->order[own->record->calls++] = own->number;
    own->record->status = completion->status;
    own->record->has_error = completion->error != NULL;
    own->record->gpu_end = completion->times.gpu_end;
}

static void note_destruction(void *context) { ((numbered *)context)->record->destructions++; }

static void callbacks_run_in_order_before_the_wait_ends(void) {
    record seen = {0};
    numbered contexts[3] = {{&seen, 1}, {&seen, 2}, {&seen, 3}};
    mtb_command_buffer *command_buffer = make_command_buffer();
    for (int i = 0; i < 3; i++)
        CHECK_OK(mtb_command_buffer_add_completed_callback(command_buffer, note_completion, &contexts[i],
                                                           i == 1 ? NULL : note_destruction, &error));
    CHECK_OK(mtb_command_buffer_commit(command_buffer, &error));
    CHECK_OK(mtb_command_buffer_wait(command_buffer, &error));
    CHECK(seen.calls == 3 && seen.order[0] == 1 && seen.order[1] == 2 && seen.order[2] == 3);
    CHECK(seen.destructions == 2);
    CHECK(seen.status == MTB_COMMAND_BUFFER_COMPLETED && !seen.has_error && seen.gpu_end > 0);
    mtb_command_buffer_release(command_buffer);
}

/* Discarding a command buffer, or a call that fails, destroys the context and does not call back. */
static void discarding_runs_destructors_only(void) {
    record seen = {0};
    numbered context = {&seen, 1};
    CHECK_FAILS(mtb_command_buffer_add_completed_callback(NULL, note_completion, &context, note_destruction, &error),
                MTB_INVALID_ARGUMENT, "`command_buffer`");
    CHECK(seen.destructions == 1);
    mtb_command_buffer *command_buffer = make_command_buffer();
    CHECK_FAILS(mtb_command_buffer_add_completed_callback(command_buffer, NULL, &context, note_destruction, &error),
                MTB_INVALID_ARGUMENT, "`callback`");
    CHECK(seen.destructions == 2);
    CHECK_OK(
        mtb_command_buffer_add_completed_callback(command_buffer, note_completion, &context, note_destruction, &error));
    mtb_command_buffer_release(command_buffer);
    CHECK(seen.calls == 0 && seen.destructions == 3);
}

/* What a context's end does that asks for the slot of the command buffer that goes. */
typedef struct {
    mtb_command_queue *queue;
    mtb_command_buffer *behind;
    mtb_status status;
    int ends;
} heir;

static void take_the_slot(void *context) {
    heir *of = context;
    mtb_error *error = NULL;
    mtb_command_buffer_release(mtb_command_buffer_create(of->queue, MTB_REFERENCES_RETAINED, 0, &error));
    of->status = mtb_error_status(error);
    of->ends++;
    mtb_error_release(error);
}

static void wait_for_what_comes_next(void *context) {
    heir *of = context;
    of->status = mtb_command_buffer_wait_timeout(of->behind, LONG, NULL);
    of->ends++;
}

static void what_is_discarded_gives_its_slot_back_first(void) {
    heir of = {.status = MTB_INTERNAL};
    mtb_command_buffer *first;
    MAKE(of.queue, mtb_command_queue_create(shared.device, 1, &error));
    MAKE(first, mtb_command_buffer_create(of.queue, MTB_REFERENCES_RETAINED, 0, &error));
    CHECK_OK(mtb_command_buffer_add_completed_callback(first, ignore_completion, &of, take_the_slot, &error));
    mtb_command_buffer_release(first);
    CHECK(of.ends == 1 && of.status == MTB_OK);
    mtb_command_queue_release(of.queue);
    MAKE(of.queue, mtb_command_queue_create(shared.device, 2, &error));
    MAKE(first, mtb_command_buffer_create(of.queue, MTB_REFERENCES_RETAINED, 0, &error));
    MAKE(of.behind, mtb_command_buffer_create(of.queue, MTB_REFERENCES_RETAINED, 0, &error));
    CHECK_OK(mtb_command_buffer_enqueue(first, &error));
    CHECK_OK(mtb_command_buffer_commit(of.behind, &error));
    CHECK_OK(
        mtb_command_buffer_add_completed_callback(first, ignore_completion, &of, wait_for_what_comes_next, &error));
    mtb_command_buffer_release(first);
    CHECK(of.ends == 2 && of.status == MTB_OK);
    mtb_command_buffer_release(of.behind);
    mtb_command_queue_release(of.queue);
}

/* The caller releases everything before the GPU has begun. */
static void committed_work_needs_no_handle(void) {
    mtb_command_queue *queue;
    mtb_event *gate;
    mtb_command_buffer *command_buffer;
    mtb_blit_encoder *blit;
    mtb_buffer *buffer = make_buffer(64);
    MAKE(queue, mtb_command_queue_create(shared.device, 0, &error));
    MAKE(gate, mtb_event_create(shared.device, &error));
    MAKE(command_buffer, mtb_command_buffer_create(queue, MTB_REFERENCES_RETAINED, MTB_FOREVER, &error));
    CHECK_OK(mtb_command_buffer_encode_wait(command_buffer, gate, 1, &error));
    MAKE(blit, mtb_blit_encoder_create(command_buffer, &error));
    CHECK_OK(mtb_blit_encoder_fill(blit, buffer, 0, 64, 9, &error));
    mtb_blit_encoder_release(blit);
    CHECK_OK(mtb_command_buffer_encode_signal(command_buffer, gate, 2, &error));
    CHECK_OK(mtb_command_buffer_commit(command_buffer, &error));
    mtb_command_buffer_release(command_buffer);
    mtb_command_queue_release(queue);
    mtb_buffer_release(buffer);
    CHECK_OK(mtb_event_signal(gate, 1, &error));
    CHECK_OK(mtb_event_wait(gate, 2, MTB_FOREVER, &error));
    mtb_event_release(gate);
}

static void full_queues_time_out(void) {
    enum {
        LIMIT = 3
    };
    mtb_command_queue *queue;
    mtb_command_buffer *all[LIMIT];
    MAKE(queue, mtb_command_queue_create(shared.device, LIMIT, &error));
    CHECK_OK(mtb_command_queue_set_label(queue, "narrow", &error));
    char *label = mtb_command_queue_copy_label(queue);
    CHECK(label && strcmp(label, "narrow") == 0);
    mtb_string_free(label);
    for (int i = 0; i < LIMIT; i++)
        MAKE(all[i], mtb_command_buffer_create(queue, MTB_REFERENCES_UNRETAINED, 0, &error));
    CHECK_FAILS(mtb_command_buffer_create(queue, MTB_REFERENCES_RETAINED, 10 * MILLISECOND, &error), MTB_TIMEOUT,
                "3 of the queue's 3 command buffers");
    /* Both ways to free a slot: discarding and completing. */
    mtb_command_buffer_release(all[0]);
    MAKE(all[0], mtb_command_buffer_create(queue, MTB_REFERENCES_RETAINED, 0, &error));
    CHECK_OK(mtb_command_buffer_commit(all[1], &error));
    mtb_command_buffer *one_more;
    MAKE(one_more, mtb_command_buffer_create(queue, MTB_REFERENCES_RETAINED, MTB_FOREVER, &error));
    mtb_command_buffer_release(one_more);
    for (int i = 0; i < LIMIT; i++) mtb_command_buffer_release(all[i]);
    mtb_command_queue_release(queue);
}

static void *release_later(void *command_buffer) {
    usleep(20000);
    mtb_command_buffer_release(command_buffer);
    return NULL;
}

static void full_queues_wait_for_a_slot(void) {
    mtb_command_queue *queue;
    mtb_command_buffer *first, *second;
    pthread_t thread;
    MAKE(queue, mtb_command_queue_create(shared.device, 1, &error));
    MAKE(first, mtb_command_buffer_create(queue, MTB_REFERENCES_RETAINED, 0, &error));
    pthread_create(&thread, NULL, release_later, first);
    MAKE(second, mtb_command_buffer_create(queue, MTB_REFERENCES_RETAINED, MTB_FOREVER, &error));
    pthread_join(thread, NULL);
    mtb_command_buffer_release(second);
    mtb_command_queue_release(queue);
}

/* The next command buffer, made and committed by the callback of the one that fills the queue. */
typedef struct {
    mtb_command_queue *queue;
    mtb_command_buffer *next;
    mtb_status status;
} successor;

static void make_successor(const mtb_completion *completion, void *context) {
    (void)completion;
    successor *made = context;
    made->next = mtb_command_buffer_create(made->queue, MTB_REFERENCES_RETAINED, LONG, NULL);
    made->status = made->next ? mtb_command_buffer_commit(made->next, NULL) : MTB_TIMEOUT;
}

static void callbacks_may_refill_the_queue(void) {
    mtb_command_queue *queue;
    mtb_command_buffer *first;
    MAKE(queue, mtb_command_queue_create(shared.device, 1, &error));
    MAKE(first, mtb_command_buffer_create(queue, MTB_REFERENCES_RETAINED, 0, &error));
    successor made = {.queue = queue};
    CHECK_OK(mtb_command_buffer_add_completed_callback(first, make_successor, &made, NULL, &error));
    CHECK_OK(mtb_command_buffer_commit(first, &error));
    CHECK_OK(mtb_command_buffer_wait(first, &error));
    CHECK(made.next && made.status == MTB_OK);
    CHECK_OK(mtb_command_buffer_wait(made.next, &error));
    mtb_command_buffer_release(first);
    mtb_command_buffer_release(made.next);
    mtb_command_queue_release(queue);
}

/* Command buffers are released before their encoders, which nobody has ended: the harder order. An encoder that is
 * never released would cost no more than itself. */
static void abandoned_encoders_are_ended(void) {
    enum {
        LIMIT = 2,
        ROUNDS = 3 * LIMIT
    };
    mtb_command_queue *queue;
    mtb_compute_encoder *computes[ROUNDS];
    mtb_blit_encoder *blits[ROUNDS];
    mtb_buffer *buffer = make_buffer(64);
    MAKE(queue, mtb_command_queue_create(shared.device, LIMIT, &error));
    uint64_t live = mtb_live_handles(MTB_HANDLE_COMMAND_BUFFER);
    for (int i = 0; i < ROUNDS; i++) {
        mtb_command_buffer *command_buffer;
        MAKE(command_buffer, mtb_command_buffer_create(queue, MTB_REFERENCES_RETAINED, 0, &error));
        MAKE(computes[i], mtb_compute_encoder_create(command_buffer, MTB_DISPATCH_SERIAL, &error));
        CHECK_OK(mtb_compute_encoder_push_debug_group(computes[i], "open", &error));
        CHECK_OK(mtb_compute_encoder_set_buffer(computes[i], buffer, 0, 0, &error));
        mtb_command_buffer_release(command_buffer);
        CHECK_FAILS(mtb_compute_encoder_set_buffer(computes[i], buffer, 0, 1, &error), MTB_INVALID_STATE, "ended");
        MAKE(command_buffer, mtb_command_buffer_create(queue, MTB_REFERENCES_RETAINED, 0, &error));
        MAKE(blits[i], mtb_blit_encoder_create(command_buffer, &error));
        mtb_command_buffer_release(command_buffer);
        CHECK_FAILS(mtb_blit_encoder_fill(blits[i], buffer, 0, 64, 1, &error), MTB_INVALID_STATE, "ended");
        CHECK_FAILS(mtb_blit_encoder_end(blits[i], &error), MTB_INVALID_STATE, "ended");
    }
    CHECK(mtb_live_handles(MTB_HANDLE_COMMAND_BUFFER) == live);
    for (int i = 0; i < ROUNDS; i++) {
        mtb_compute_encoder_release(computes[i]);
        mtb_blit_encoder_release(blits[i]);
    }
    mtb_command_queue_release(queue);
    mtb_buffer_release(buffer);
}

const test command_buffer_tests[] = {
    {"command buffer: states follow each other", states_follow_each_other},
    {"command buffer: too late or too early is refused", what_comes_too_late_or_too_early_is_refused},
    {"command buffer: queues run in the order of enqueue", queues_run_in_the_order_of_enqueue},
    {"command buffer: callbacks run in order before the wait ends", callbacks_run_in_order_before_the_wait_ends},
    {"command buffer: discarding runs destructors only", discarding_runs_destructors_only},
    {"command buffer: what is discarded gives its slot back first", what_is_discarded_gives_its_slot_back_first},
    {"command buffer: committed work needs no handle", committed_work_needs_no_handle},
    {"command buffer: full queues time out", full_queues_time_out},
    {"command buffer: full queues wait for a slot", full_queues_wait_for_a_slot},
    {"command buffer: callbacks may refill the queue", callbacks_may_refill_the_queue},
    {"command buffer: abandoned encoders are ended", abandoned_encoders_are_ended},
    {NULL, NULL},
};
