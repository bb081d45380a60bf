/* Adds two vectors on the GPU, through the C ABI of metal-bridge. */
#include "metal_bridge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    COUNT = 1000
};

static const char source[] =
    "#include <metal_stdlib>\n"
    "using namespace metal;\n"
    "kernel void add(device const float *a [[buffer(0)]], device const float *b [[buffer(1)]],\n"
    "                device float *sum [[buffer(2)]], uint i [[thread_position_in_grid]])\n"
    "{\n"
    "    sum[i] = a[i] + b[i];\n"
    "}\n";

/* Ends the program if a call made an error. */
static void check(mtb_error *error) {
    if (!error) return;
    fprintf(stderr, "%s: %s: %s\n", mtb_error_function(error), mtb_status_name(mtb_error_status(error)),
            mtb_error_message(error));
    mtb_error_release(error);
    exit(EXIT_FAILURE);
}

int main(void) {
    mtb_error *error = NULL;
    mtb_device *device = mtb_device_create_default(&error);
    check(error);

    /* The kernel. */
    mtb_library *library = mtb_library_create_from_source(device, source, strlen(source), NULL, &error);
    check(error);
    mtb_function *function = mtb_function_create(library, "add", NULL, &error);
    check(error);
    mtb_pipeline *pipeline = mtb_pipeline_create(function, &error);
    check(error);

    /* Its arguments: two vectors and their sum, in memory that CPU and GPU share. */
    mtb_buffer *buffers[3];
    for (int i = 0; i < 3; i++) {
        buffers[i] = mtb_buffer_create(device, COUNT * sizeof(float), MTB_STORAGE_SHARED, &error);
        check(error);
    }
    float *a = mtb_buffer_contents(buffers[0]), *b = mtb_buffer_contents(buffers[1]);
    for (int i = 0; i < COUNT; i++) {
        a[i] = (float)i;
        b[i] = (float)(2 * i);
    }

    /* One command buffer with one dispatch. */
    mtb_command_queue *queue = mtb_command_queue_create(device, 0, &error);
    check(error);
    mtb_command_buffer *command_buffer = mtb_command_buffer_create(queue, MTB_REFERENCES_RETAINED, MTB_FOREVER, &error);
    check(error);
    mtb_compute_encoder *encoder = mtb_compute_encoder_create(command_buffer, MTB_DISPATCH_SERIAL, &error);
    check(error);
    mtb_compute_encoder_set_pipeline(encoder, pipeline, &error);
    check(error);
    for (size_t i = 0; i < 3; i++) {
        mtb_compute_encoder_set_buffer(encoder, buffers[i], 0, i, &error);
        check(error);
    }
    mtb_size threads = {COUNT, 1, 1};
    mtb_size threads_per_threadgroup = {mtb_pipeline_thread_execution_width(pipeline), 1, 1};
    mtb_compute_encoder_dispatch_threads(encoder, threads, threads_per_threadgroup, &error);
    check(error);
    mtb_compute_encoder_end(encoder, &error);
    check(error);

    mtb_command_buffer_commit(command_buffer, &error);
    check(error);
    mtb_command_buffer_wait(command_buffer, &error);
    check(error);

    const float *sum = mtb_buffer_contents(buffers[2]);
    mtb_device_info info;
    mtb_device_get_info(device, &info);
    printf("%s: %g + %g = %g\n", info.name, a[COUNT - 1], b[COUNT - 1], sum[COUNT - 1]);
    int wrong = 0;
    for (int i = 0; i < COUNT; i++) wrong += sum[i] != a[i] + b[i];

    mtb_compute_encoder_release(encoder);
    mtb_command_buffer_release(command_buffer);
    mtb_command_queue_release(queue);
    for (int i = 0; i < 3; i++) mtb_buffer_release(buffers[i]);
    mtb_pipeline_release(pipeline);
    mtb_function_release(function);
    mtb_library_release(library);
    mtb_device_release(device);
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
