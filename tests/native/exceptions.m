/* Objective-C exceptions end at the boundary. Metal is made to raise them by replacing its objects with others that
 * understand none of its messages: the runtime then raises NSInvalidArgumentException. The only test that looks inside
 * handles. */
#import "compute/compute_encoder.h"

#import <Foundation/Foundation.h>
#include <stdio.h>
#include <string.h>

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

int main(void) {
    mtb_device *device = mtb_device_create_default(NULL);
    mtb_queue *queue = mtb_queue_create(device, 0, NULL);
    @autoreleasepool {
        calls_report_exceptions(device, queue);
        lost_dispatches_spoil_the_command_buffer(device, queue);
    }
    mtb_queue_release(queue);
    mtb_device_release(device);
    for (unsigned kind = 0; kind < MTB_HANDLE_KIND_COUNT; kind++) CHECK(mtb_live_handles((mtb_handle_kind)kind) == 0);
    printf("%s\n", failures ? "FAILED" : "all passed");
    return failures != 0;
}
