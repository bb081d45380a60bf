/* Objective-C exceptions end at the boundary. Metal is made to raise them by replacing its objects with others that
 * understand none of its messages: the runtime then raises NSInvalidArgumentException. The only test that looks inside
 * handles. */
#import "compute/compute_encoder.h"
#include "metal_bridge_memory.h"

#import <Foundation/Foundation.h>
#import <objc/runtime.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CHECK(condition) check(condition, #condition, __LINE__)

static int failures;

static void check(bool holds, const char *what, int line) {
    if (holds) return;
    failures++;
    fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, line, what);
}

static const char source[] = "#include <metal_stdlib>\nkernel void f(device int *out [[buffer(0)]]) { *out = 1; }\n";

/* The error of a call, which says that an exception was raised and by which function. */
static void check_exception(mtb_error *error, const char *function, int line) {
    check(mtb_error_status(error) == MTB_EXCEPTION, "the status is MTB_EXCEPTION", line);
    check(error && strstr(mtb_error_message(error), "NSInvalidArgumentException"), "the message names it", line);
    check(error && strcmp(mtb_error_function(error), function) == 0, function, line);
    mtb_error_release(error);
}

/* One object instead of another, while `call` runs. */
#define WITHOUT_METAL(object, call)             \
    do {                                        \
        id metal_ = (id)(object);               \
        (object) = (id)[[NSObject alloc] init]; \
        call;                                   \
        [(id)(object) release];                 \
        (object) = metal_;                      \
    } while (0)

static void calls_report_exceptions(mtb_device *device, mtb_queue *queue) {
    mtb_error *error = NULL;
    WITHOUT_METAL(device->metal, CHECK(!mtb_buffer_create(device, 64, MTB_STORAGE_SHARED, &error)));
    check_exception(error, "mtb_buffer_create", __LINE__);
    WITHOUT_METAL(device->metal, CHECK(!mtb_queue_create(device, 0, &error)));
    check_exception(error, "mtb_queue_create", __LINE__);
    WITHOUT_METAL(device->metal, CHECK(!mtb_library_create_from_source(device, source, strlen(source), NULL, &error)));
    check_exception(error, "mtb_library_create_from_source", __LINE__);
    WITHOUT_METAL(device->metal, CHECK(!mtb_event_create(device, &error)));
    check_exception(error, "mtb_event_create", __LINE__);
    WITHOUT_METAL(queue->metal, CHECK(!mtb_command_buffer_create(queue, MTB_REFERENCES_RETAINED, MTB_FOREVER, &error)));
    check_exception(error, "mtb_command_buffer_create", __LINE__);
    /* Getters have nothing to report with. */
    WITHOUT_METAL(device->metal, CHECK(mtb_device_current_allocated_size(device) == 0));
    /* The failed calls took nothing away: neither a slot of the queue nor the device. */
    CHECK(queue->slots[MTBI_SLOT_CALLER].taken == 0);
    mtb_buffer *buffer = mtb_buffer_create(device, 64, MTB_STORAGE_SHARED, &error);
    CHECK(buffer && !error);
    mtb_buffer_release(buffer);
}

/* A dispatch was accepted, and Metal raises when it is told: the command buffer must not run without it. */
static void lost_dispatches_spoil_the_command_buffer(mtb_device *device, mtb_queue *queue) {
    mtb_error *error = NULL;
    const mtb_size one = {1, 1, 1};
    mtb_library *library = mtb_library_create_from_source(device, source, strlen(source), NULL, NULL);
    mtb_function *function = mtb_function_create(library, "f", NULL, NULL);
    mtb_pipeline *pipeline = mtb_pipeline_create(function, NULL);
    mtb_buffer *buffer = mtb_buffer_create(device, 64, MTB_STORAGE_SHARED, NULL);
    mtb_command_buffer *command_buffer = mtb_command_buffer_create(queue, MTB_REFERENCES_RETAINED, MTB_FOREVER, NULL);
    mtb_compute_encoder *encoder = mtb_compute_encoder_create(command_buffer, MTB_DISPATCH_SERIAL, NULL);
    mtb_compute_encoder_set_pipeline(encoder, pipeline, NULL);
    mtb_compute_encoder_set_buffer(encoder, buffer, 0, 0, NULL);
    CHECK(mtb_compute_encoder_dispatch_threads(encoder, one, one, NULL) == MTB_OK);
    WITHOUT_METAL(encoder->base.metal, mtb_compute_encoder_push_debug_group(encoder, "told of it here", &error));
    check_exception(error, "mtb_compute_encoder_push_debug_group", __LINE__);
    CHECK(mtb_compute_encoder_end(encoder, &error) == MTB_OK && !error);
    CHECK(mtb_command_buffer_commit(command_buffer, &error) == MTB_INVALID_STATE);
    mtb_error_release(error);
    mtb_compute_encoder_release(encoder);
    mtb_command_buffer_release(command_buffer);
    CHECK(queue->slots[MTBI_SLOT_CALLER].taken == 0);
    mtb_buffer_release(buffer);
    mtb_pipeline_release(pipeline);
    mtb_function_release(function);
    mtb_library_release(library);
}

/* What becomes of a context. */
typedef struct {
    atomic_int calls, destructions;
} noted;

static void note_completion(const mtb_completion *completion, void *context) {
    (void)completion;
    atomic_fetch_add(&((noted *)context)->calls, 1);
}

static void note_value(uint64_t value, void *context) {
    (void)value;
    atomic_fetch_add(&((noted *)context)->calls, 1);
}

static void note_call(void *context) { atomic_fetch_add(&((noted *)context)->calls, 1); }

static void note_destruction(void *context) { atomic_fetch_add(&((noted *)context)->destructions, 1); }

static bool is(const noted *seen, int calls, int destructions) {
    return atomic_load(&seen->calls) == calls && atomic_load(&seen->destructions) == destructions;
}

/* One method of an object's class instead of another, while `call` runs; `replaced` is the other one. */
#define WITH_METHOD(object, selector, method, replaced, call)                                \
    do {                                                                                     \
        Method method_ = class_getInstanceMethod(object_getClass((id)(object)), (selector)); \
        (replaced) = method_setImplementation(method_, (IMP)(void *)(method));               \
        call;                                                                                \
        method_setImplementation(method_, (replaced));                                       \
    } while (0)

static IMP metals_notify, metals_commit;

static void raise_and_notify_nobody(id self, SEL selector, id listener, uint64_t value, void *block) {
    (void)self, (void)selector, (void)listener, (void)value, (void)block;
    [NSException raise:NSInvalidArgumentException format:@"raised before anything was done"];
}

static void commit_and_raise(id self, SEL selector) {
    ((void (*)(id, SEL))(void *)metals_commit)(self, selector);
    [NSException raise:NSInvalidArgumentException format:@"raised after the commit"];
}

/* Metal has nothing yet that could call. */
static void failed_calls_destroy_their_contexts(mtb_device *device, mtb_queue *queue, mtb_transfer *transfer) {
    mtb_error *error = NULL;
    noted commit = {0}, call = {0}, notify = {0};
    WITHOUT_METAL(queue->metal,
                  CHECK(!mtb_transfer_commit(transfer, note_completion, &commit, note_destruction, &error)));
    check_exception(error, "mtb_transfer_commit", __LINE__);
    CHECK(is(&commit, 0, 1));
    WITHOUT_METAL(queue->metal, CHECK(!mtb_queue_call_host_function(queue, note_call, note_completion, &call,
                                                                    note_destruction, &error)));
    check_exception(error, "mtb_queue_call_host_function", __LINE__);
    CHECK(is(&call, 0, 1));
    mtb_event *event = mtb_event_create(device, NULL);
    WITH_METHOD(event->metal, @selector(notifyListener:atValue:block:), raise_and_notify_nobody, metals_notify,
                CHECK(mtb_event_notify(event, 1, note_value, &notify, note_destruction, &error) == MTB_EXCEPTION));
    check_exception(error, "mtb_event_notify", __LINE__);
    CHECK(is(&notify, 0, 1));
    mtb_event_release(event);
}

/* Metal raises at a commit, and does the work all the same. */
static void commits_that_raise_destroy_their_contexts_once(mtb_queue *queue, mtb_transfer *transfer) {
    mtb_error *error = NULL;
    noted seen = {0};
    WITH_METHOD([queue->metal commandBuffer], @selector(commit), commit_and_raise, metals_commit,
                CHECK(!mtb_transfer_commit(transfer, note_completion, &seen, note_destruction, &error)));
    check_exception(error, "mtb_command_buffer_commit", __LINE__);
    for (int i = 0; i < 60000 && mtb_live_handles(MTB_HANDLE_COMMAND_BUFFER) > 0; i++) usleep(1000);
    CHECK(is(&seen, 1, 1));
}

static void *signal_soon(void *event) {
    usleep(50000);
    mtb_event_signal(event, 1, NULL);
    return NULL;
}

static void raise_instead_of_waiting(id self, SEL selector) {
    (void)self, (void)selector;
    [NSException raise:NSInvalidArgumentException format:@"raised before the end"];
}

/* The caller frees its memory then, whatever the call returns: here the GPU has not begun when Metal raises. */
static void runs_that_raise_return_when_the_transfer_has_ended(mtb_device *device, mtb_queue *queue,
                                                               mtb_transfer *transfer) {
    const struct {
        SEL selector;
        IMP method;
        const char *function;
    } raised[] = {
        {@selector(commit), (IMP)(void *)commit_and_raise, "mtb_command_buffer_commit"},
        {@selector(waitUntilCompleted), (IMP)(void *)raise_instead_of_waiting, "mtb_command_buffer_wait"},
    };
    mtb_buffer *buffer = mtb_buffer_create(device, 4, MTB_STORAGE_PRIVATE, NULL);
    for (int i = 0; i < 2; i++) {
        unsigned char pattern = (unsigned char)(5 + i), bytes[4] = {0};
        const mtb_place in_buffer = {.buffer = buffer}, in_host = {.bytes = bytes};
        mtb_error *error = NULL;
        pthread_t signaller;
        mtb_event *gate = mtb_event_create(device, NULL);
        mtb_command_buffer *held = mtb_command_buffer_create(queue, MTB_REFERENCES_RETAINED, 0, NULL);
        mtb_command_buffer_encode_wait(held, gate, 1, NULL);
        mtb_command_buffer_commit(held, NULL);
        mtb_transfer_fill(transfer, in_buffer, 4, 1, &pattern, 1, NULL);
        mtb_transfer_copy(transfer, in_buffer, in_host, 4, 1, MTB_HOST_BORROWED, NULL);
        pthread_create(&signaller, NULL, signal_soon, gate);
        WITH_METHOD([queue->metal commandBuffer], raised[i].selector, raised[i].method, metals_commit,
                    CHECK(mtb_transfer_run(transfer, &error) == MTB_EXCEPTION));
        check_exception(error, raised[i].function, __LINE__);
        CHECK(bytes[0] == pattern && bytes[3] == pattern);
        pthread_join(signaller, NULL);
        mtb_command_buffer_wait(held, NULL);
        mtb_command_buffer_release(held);
        mtb_event_release(gate);
    }
    mtb_buffer_release(buffer);
    for (int i = 0; i < 60000 && mtb_live_handles(MTB_HANDLE_COMMAND_BUFFER) > 0; i++) usleep(1000);
}

static void contexts_are_destroyed_once(mtb_device *device, mtb_queue *queue) {
    mtb_memory *memory = mtb_memory_create(device, NULL, NULL);
    mtb_transfer *transfer = mtb_transfer_create(memory, queue, NULL);
    failed_calls_destroy_their_contexts(device, queue, transfer);
    commits_that_raise_destroy_their_contexts_once(queue, transfer);
    runs_that_raise_return_when_the_transfer_has_ended(device, queue, transfer);
    mtb_transfer_release(transfer);
    mtb_memory_release(memory);
}

int main(void) {
    mtb_device *device = mtb_device_create_default(NULL);
    mtb_queue *queue = mtb_queue_create(device, 0, NULL);
    @autoreleasepool {
        calls_report_exceptions(device, queue);
        lost_dispatches_spoil_the_command_buffer(device, queue);
        contexts_are_destroyed_once(device, queue);
    }
    mtb_queue_release(queue);
    mtb_device_release(device);
    for (unsigned kind = 0; kind < MTB_HANDLE_KIND_COUNT; kind++) CHECK(mtb_live_handles((mtb_handle_kind)kind) == 0);
    printf("%s\n", failures ? "FAILED" : "all passed");
    return failures != 0;
}
