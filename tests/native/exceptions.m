/* Objective-C exceptions end at the boundary. To make Metal raise them, the tests look inside handles and put objects
 * in the place of Metal's that understand none of its messages: the runtime then raises NSInvalidArgumentException. */
#import "compute/compute_encoder.h"
#import "exceptions.h"

static const char source[] = "#include <metal_stdlib>\nkernel void f(device int *out [[buffer(0)]]) { *out = 1; }\n";

static void calls_report_exceptions(mtb_device *device, mtb_command_queue *queue) {
    mtb_error *error = NULL;
    WITHOUT_METAL(device->metal, CHECK(!mtb_buffer_create(device, 64, MTB_STORAGE_SHARED, &error)));
    CHECK_EXCEPTION(error, "mtb_buffer_create");
    WITHOUT_METAL(device->metal, CHECK(!mtb_command_queue_create(device, 0, &error)));
    CHECK_EXCEPTION(error, "mtb_command_queue_create");
    WITHOUT_METAL(device->metal, CHECK(!mtb_library_create_from_source(device, source, strlen(source), NULL, &error)));
    CHECK_EXCEPTION(error, "mtb_library_create_from_source");
    WITHOUT_METAL(device->metal, CHECK(!mtb_event_create(device, &error)));
    CHECK_EXCEPTION(error, "mtb_event_create");
    WITHOUT_METAL(device->metal, CHECK(!mtb_dynamic_library_create_from_file(device, "/", &error)));
    CHECK_EXCEPTION(error, "mtb_dynamic_library_create_from_file");
    WITHOUT_METAL(queue->metal, CHECK(!mtb_command_buffer_create(queue, MTB_REFERENCES_RETAINED, MTB_FOREVER, &error)));
    CHECK_EXCEPTION(error, "mtb_command_buffer_create");
    /* Getters have no error to report. */
    WITHOUT_METAL(device->metal, CHECK(mtb_device_current_allocated_size(device) == 0));
    /* The failed calls hold nothing: neither a slot of the queue nor the device. */
    CHECK(queue->slots[MTBI_SLOT_CALLER].taken == 0);
    mtb_buffer *buffer = mtb_buffer_create(device, 64, MTB_STORAGE_SHARED, &error);
    CHECK(buffer && !error);
    mtb_buffer_release(buffer);
}

/* A dispatch was accepted, and Metal raises when it is told: the command buffer must not run without it. */
static void lost_dispatches_spoil_the_command_buffer(mtb_device *device, mtb_command_queue *queue) {
    mtb_error *error = NULL;
    const mtb_size one = {1, 1, 1};
    mtb_library *library = mtb_library_create_from_source(device, source, strlen(source), NULL, NULL);
    mtb_function *function = mtb_function_create(library, "f", NULL, NULL);
    mtb_pipeline *pipeline = mtb_pipeline_create(function, NULL);
    WITHOUT_METAL(pipeline->metal, CHECK(!mtb_visible_function_table_create(pipeline, 1, &error)));
    CHECK_EXCEPTION(error, "mtb_visible_function_table_create");
    WITHOUT_METAL(pipeline->metal, CHECK(!mtb_function_handle_create(pipeline, function, &error)));
    CHECK_EXCEPTION(error, "mtb_function_handle_create");
    mtb_buffer *buffer = mtb_buffer_create(device, 64, MTB_STORAGE_SHARED, NULL);
    mtb_command_buffer *command_buffer = mtb_command_buffer_create(queue, MTB_REFERENCES_RETAINED, MTB_FOREVER, NULL);
    mtb_compute_encoder *encoder = mtb_compute_encoder_create(command_buffer, MTB_DISPATCH_SERIAL, NULL);
    mtb_compute_encoder_set_pipeline(encoder, pipeline, NULL);
    mtb_compute_encoder_set_buffer(encoder, buffer, 0, 0, NULL);
    CHECK(mtb_compute_encoder_dispatch_threads(encoder, one, one, NULL) == MTB_OK);
    WITHOUT_METAL(encoder->base.metal, mtb_compute_encoder_push_debug_group(encoder, "told of it here", &error));
    CHECK_EXCEPTION(error, "mtb_compute_encoder_push_debug_group");
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
    mtb_command_queue *queue = mtb_command_queue_create(device, 0, NULL);
    @autoreleasepool {
        calls_report_exceptions(device, queue);
        lost_dispatches_spoil_the_command_buffer(device, queue);
    }
    mtb_command_queue_release(queue);
    mtb_device_release(device);
    for (unsigned kind = 0; kind < MTB_HANDLE_KIND_COUNT; kind++) CHECK(mtb_live_handles((mtb_handle_kind)kind) == 0);
    printf("%s\n", failed_checks() ? "FAILED" : "all passed");
    return failed_checks() != 0;
}
