#include "harness.h"

#include <stdlib.h>
#include <unistd.h>

fixture shared;

static int failures;

int failed_checks(void) { return failures; }

void check(bool holds, const char *what, const char *file, int line) {
    if (holds) return;
    failures++;
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
}

void check_error(mtb_error *error, mtb_status status, const char *text, const char *call, const char *file, int line) {
    const char *message = mtb_error_message(error), *function = mtb_error_function(error);
    size_t length = function ? strlen(function) : 0;
    bool is_blamed = length > 0 && strncmp(function, "mtb_", 4) == 0;
    if (!error || mtb_error_status(error) != status || !strstr(message, text) || !is_blamed) {
        failures++;
        fprintf(stderr, "%s:%d: %s\n  expected: %s, saying \"%s\"\n  found: %s: %s (%s)\n", file, line, call,
                mtb_status_name(status), text, mtb_status_name(mtb_error_status(error)), message ? message : "nothing",
                function ? function : "nowhere");
    }
    mtb_error_release(error);
}

void check_success(mtb_status status, mtb_error *error, const char *call, const char *file, int line) {
    if (status == MTB_OK && !error) return;
    failures++;
    fprintf(stderr, "%s:%d: %s\n  failed: %s: %s\n", file, line, call, mtb_status_name(status),
            error ? mtb_error_message(error) : "no error");
    mtb_error_release(error);
}

void require_made(const void *made, mtb_error *error, const char *call, const char *file, int line) {
    if (made && !error) return;
    check_success(mtb_error_status(error), error, call, file, line);
    exit(1);
}

uint64_t live_handles(void) {
    uint64_t sum = 0;
    for (unsigned kind = 0; kind < MTB_HANDLE_KIND_COUNT; kind++) sum += mtb_live_handles((mtb_handle_kind)kind);
    return sum;
}

mtb_buffer *make_buffer(size_t length) {
    mtb_buffer *buffer;
    MAKE(buffer, mtb_buffer_create(shared.device, length, MTB_STORAGE_SHARED, &error));
    memset(mtb_buffer_contents(buffer), 0, length);
    return buffer;
}

mtb_command_buffer *make_command_buffer(void) {
    mtb_command_buffer *command_buffer;
    MAKE(command_buffer, mtb_command_buffer_create(shared.queue, MTB_REFERENCES_RETAINED, MTB_FOREVER, &error));
    return command_buffer;
}

mtb_pipeline *make_pipeline(const char *name) {
    mtb_function *function;
    mtb_pipeline *pipeline;
    MAKE(function, mtb_function_create(shared.library, name, NULL, &error));
    MAKE(pipeline, mtb_pipeline_create(function, &error));
    mtb_function_release(function);
    return pipeline;
}

void run(mtb_command_buffer *command_buffer) {
    CHECK_OK(mtb_command_buffer_commit(command_buffer, &error));
    CHECK_OK(mtb_command_buffer_wait(command_buffer, &error));
    mtb_command_buffer_release(command_buffer);
}
