/* What no healthy GPU shows: allocations that fail, command buffers that end with an error, a lost device. The software
 * Metal does each on demand. */
#include "failure_harness.h"

#include <stdlib.h>

static void a_failed_allocation_is_an_error(void) {
    mtb_error *error = NULL;
    smtl_inject_allocation_failure(2);
    mtb_buffer *first = mtb_buffer_create(shared.device, 64, MTB_STORAGE_SHARED, &error);
    mtb_buffer *second = mtb_buffer_create(shared.device, 64, MTB_STORAGE_SHARED, &error);
    CHECK(first && !second);
    CHECK_STATUS(error, MTB_OUT_OF_MEMORY, 0);
    second = mtb_buffer_create(shared.device, 64, MTB_STORAGE_SHARED, &error);
    CHECK(second && !error);
    mtb_buffer_release(first);
    mtb_buffer_release(second);
}

static void count_call(void *bytes, size_t length, void *calls) {
    (void)bytes;
    (void)length;
    ++*(int *)calls;
}

static void a_failed_no_copy_leaves_the_memory(void) {
    mtb_error *error = NULL;
    int calls = 0;
    void *page = aligned_alloc(mtb_page_size(), mtb_page_size());
    smtl_inject_allocation_failure(1);
    CHECK(!mtb_buffer_create_no_copy(shared.device, page, mtb_page_size(), MTB_STORAGE_SHARED, count_call, &calls,
                                     &error));
    CHECK_STATUS(error, MTB_OUT_OF_MEMORY, 0);
    CHECK(calls == 0);
    free(page);
}

/* Code 3 is MTLCommandBufferErrorPageFault. The event gets its signal all the same, so that nobody waits for ever. */
static void a_failed_command_buffer_says_so(void) {
    mtb_error *error = NULL;
    completion_record seen = {0};
    mtb_event *event = mtb_event_create(shared.device, NULL);
    mtb_command_buffer *failing = mtb_command_buffer_create(shared.queue, MTB_REFERENCES_RETAINED, MTB_FOREVER, NULL);
    mtb_command_buffer_encode_signal(failing, event, 7, NULL);
    mtb_command_buffer_add_completed_callback(failing, note_completion, &seen, NULL, NULL);
    smtl_inject_command_buffer_error(1, 3);
    CHECK(mtb_command_buffer_commit(failing, NULL) == MTB_OK);
    CHECK(mtb_event_wait(event, 7, LONG, NULL) == MTB_OK);
    CHECK(mtb_command_buffer_wait(failing, &error) == MTB_COMMAND_BUFFER_FAILED);
    CHECK(strstr(mtb_error_domain(error), "MTLCommandBuffer") != NULL);
    CHECK_STATUS(error, MTB_COMMAND_BUFFER_FAILED, 3);
    CHECK(mtb_command_buffer_wait_timeout(failing, 0, &error) == MTB_COMMAND_BUFFER_FAILED);
    CHECK_STATUS(error, MTB_COMMAND_BUFFER_FAILED, 3);
    CHECK_STATUS(mtb_command_buffer_copy_error(failing), MTB_COMMAND_BUFFER_FAILED, 3);
    CHECK(mtb_command_buffer_get_status(failing) == MTB_COMMAND_BUFFER_ERROR);
    CHECK(seen.calls == 1 && seen.status == MTB_COMMAND_BUFFER_ERROR && seen.code == 3);
    mtb_command_buffer_release(failing);

    /* The queue works on. */
    mtb_command_buffer *next = mtb_command_buffer_create(shared.queue, MTB_REFERENCES_RETAINED, MTB_FOREVER, NULL);
    CHECK(mtb_command_buffer_commit(next, NULL) == MTB_OK);
    CHECK(mtb_command_buffer_wait(next, &error) == MTB_OK && !error);
    mtb_command_buffer_release(next);
    mtb_event_release(event);
}

static void a_failed_compilation_is_an_error(void) {
    static const char source[] =
        "#include <metal_stdlib>\nkernel void f(device int *out [[buffer(0)]]) { *out = 1; }\n";
    mtb_error *error = NULL;
    smtl_inject_compile_failure(1);
    CHECK(!mtb_library_create_from_source(shared.device, source, strlen(source), NULL, &error));
    CHECK(mtb_error_status(error) == MTB_COMPILE_FAILED);
    mtb_error_release(error);
    mtb_library *library = mtb_library_create_from_source(shared.device, source, strlen(source), NULL, &error);
    CHECK(library && !error);
    mtb_function *function = mtb_function_create(library, "f", NULL, &error);
    smtl_inject_compile_failure(1);
    CHECK(!mtb_pipeline_create(function, &error));
    CHECK(mtb_error_status(error) == MTB_COMPILE_FAILED);
    mtb_error_release(error);
    mtb_function_release(function);
    mtb_library_release(library);
}

static void a_container_is_a_library(void) {
    static const char source[] =
        "#include <metal_stdlib>\nkernel void f(device int *out [[buffer(0)]]) { *out = X; }\n";
    const smtl_container_macro macro = {"X", "1"};
    size_t size = 0;
    void *bytes = smtl_container_create(source, strlen(source), &macro, 1, 0, 0, &size);
    mtb_error *error = NULL;
    mtb_library *library = mtb_library_create_from_bytes(shared.device, bytes, size, &error);
    CHECK(library && !error && mtb_library_function_count(library) == 1);
    mtb_library_release(library);

    char path[] = "/tmp/metal-bridge-test-XXXXXX";
    int descriptor = mkstemp(path);
    FILE *file = fdopen(descriptor, "w");
    fwrite(bytes, 1, size, file);
    fclose(file);
    library = mtb_library_create_from_file(shared.device, path, &error);
    CHECK(library && !error && strcmp(mtb_library_function_name(library, 0), "f") == 0);
    mtb_library_release(library);
    remove(path);
    free(bytes);
}

static void a_lost_device_fails_everything(void) {
    mtb_error *error = NULL;
    smtl_inject_device_loss(1);
    mtb_command_buffer *command_buffer =
        mtb_command_buffer_create(shared.queue, MTB_REFERENCES_RETAINED, MTB_FOREVER, NULL);
    CHECK(mtb_command_buffer_commit(command_buffer, NULL) == MTB_OK);
    CHECK(mtb_command_buffer_wait(command_buffer, &error) == MTB_COMMAND_BUFFER_FAILED);
    CHECK_STATUS(error, MTB_COMMAND_BUFFER_FAILED, 11);
    mtb_command_buffer_release(command_buffer);
    CHECK(!mtb_buffer_create(shared.device, 64, MTB_STORAGE_SHARED, &error));
    CHECK_STATUS(error, MTB_OUT_OF_MEMORY, 0);
    smtl_clear_injections();
    mtb_buffer *buffer = mtb_buffer_create(shared.device, 64, MTB_STORAGE_SHARED, &error);
    CHECK(buffer && !error);
    mtb_buffer_release(buffer);
}

const test failure_tests[] = {
    {"a failed allocation is an error", a_failed_allocation_is_an_error},
    {"a failed no copy leaves the memory", a_failed_no_copy_leaves_the_memory},
    {"a failed command buffer says so", a_failed_command_buffer_says_so},
    {"a failed compilation is an error", a_failed_compilation_is_an_error},
    {"a container is a library", a_container_is_a_library},
    {"a lost device fails everything", a_lost_device_fails_everything},
    {NULL, NULL},
};
