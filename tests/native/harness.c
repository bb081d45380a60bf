#include "harness.h"

#include <stdlib.h>
#include <unistd.h>

fixture shared;

static int failures;

static const char source[] =
    "#include <metal_stdlib>\n"
    "using namespace metal;\n"
    "constant int increase [[function_constant(0)]];\n"
    "struct Line { float slope; float offset; };\n"
    "kernel void add(device const float *a [[buffer(0)]], device const float *b [[buffer(1)]],\n"
    "                device float *sum [[buffer(2)]], uint i [[thread_position_in_grid]]) { sum[i] = a[i] + b[i]; }\n"
    "kernel void line(device float *values [[buffer(0)]], constant Line &l [[buffer(1)]],\n"
    "                 uint i [[thread_position_in_grid]]) { values[i] = l.slope * values[i] + l.offset; }\n"
    "kernel void increment(device int *values [[buffer(0)]], uint i [[thread_position_in_grid]])\n"
    "{ values[i] += increase; }\n"
    "kernel void reverse(device int *values [[buffer(0)]], threadgroup int *scratch [[threadgroup(0)]],\n"
    "                    uint i [[thread_position_in_threadgroup]], uint n [[threads_per_threadgroup]])\n"
    "{ scratch[i] = values[i]; threadgroup_barrier(mem_flags::mem_threadgroup); values[i] = scratch[n - 1 - i]; }\n"
    "kernel void group_sums(device const int *values [[buffer(0)]], device int *sums [[buffer(1)]],\n"
    "                       uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]],\n"
    "                       uint g [[threadgroup_position_in_grid]], uint n [[threads_per_threadgroup]])\n"
    "{ threadgroup int partial[64]; partial[t] = values[i]; threadgroup_barrier(mem_flags::mem_threadgroup);\n"
    "  if (t == 0) { int sum = 0; for (uint k = 0; k < n; ++k) sum += partial[k]; sums[g] = sum; } }\n";

void check(bool holds, const char *what, const char *file, int line)
{
    if (holds)
        return;
    failures++;
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
}

void check_error(mtb_error *error, mtb_status status, const char *text, const char *call, const char *file, int line)
{
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

void check_success(mtb_status status, mtb_error *error, const char *call, const char *file, int line)
{
    if (status == MTB_OK && !error)
        return;
    failures++;
    fprintf(stderr, "%s:%d: %s\n  failed: %s: %s\n", file, line, call, mtb_status_name(status),
            error ? mtb_error_message(error) : "no error");
    mtb_error_release(error);
}

void require_made(const void *made, mtb_error *error, const char *call, const char *file, int line)
{
    if (made && !error)
        return;
    check_success(mtb_error_status(error), error, call, file, line);
    exit(1);
}

uint64_t live_handles(void)
{
    uint64_t sum = 0;
    for (unsigned kind = 0; kind < MTB_HANDLE_KIND_COUNT; kind++)
        sum += mtb_live_handles((mtb_handle_kind)kind);
    return sum;
}

mtb_buffer *make_buffer(size_t length)
{
    mtb_buffer *buffer;
    MAKE(buffer, mtb_buffer_create(shared.device, length, MTB_STORAGE_SHARED, &error));
    memset(mtb_buffer_contents(buffer), 0, length);
    return buffer;
}

mtb_command_buffer *make_command_buffer(void)
{
    mtb_command_buffer *command_buffer;
    MAKE(command_buffer, mtb_command_buffer_create(shared.queue, MTB_REFERENCES_RETAINED, MTB_FOREVER, &error));
    return command_buffer;
}

mtb_pipeline *make_pipeline(const char *name)
{
    mtb_function *function;
    mtb_pipeline *pipeline;
    MAKE(function, mtb_function_create(shared.library, name, NULL, &error));
    MAKE(pipeline, mtb_pipeline_create(function, &error));
    mtb_function_release(function);
    return pipeline;
}

void run(mtb_command_buffer *command_buffer)
{
    CHECK_OK(mtb_command_buffer_commit(command_buffer, &error));
    CHECK_OK(mtb_command_buffer_wait(command_buffer, &error));
    mtb_command_buffer_release(command_buffer);
}

/* Runs one test and sees that it leaves no handle behind. A command buffer's last reference may be that of its completion
 * handler, which is let a moment to end. */
static void run_test(const test *one)
{
    int failures_before = failures;
    uint64_t handles_before = live_handles();
    one->run();
    for (int i = 0; i < 1000 && live_handles() != handles_before; i++)
        usleep(1000);
    CHECK(live_handles() == handles_before);
    printf("%s %s\n", failures == failures_before ? "ok    " : "FAILED", one->name);
}

int main(int argc, char **argv)
{
    static const test *const all[] = {device_tests,  buffer_tests,         blit_tests,  library_tests,
                                      compute_tests, command_buffer_tests, event_tests, thread_tests,
                                      report_tests,  memory_transfer_tests, memory_order_tests,
                                      memory_callback_tests, memory_pool_tests, memory_arena_tests,
                                      memory_peer_tests, memory_race_tests};
    const char *wanted = argc > 1 ? argv[1] : "";
    MAKE(shared.device, mtb_device_create_default(&error));
    MAKE(shared.queue, mtb_queue_create(shared.device, 0, &error));
    MAKE(shared.library,
         mtb_library_create_from_source(shared.device, source, strlen(source), NULL, &error));
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (const test *one = all[i]; one->name; one++)
            if (strstr(one->name, wanted))
                run_test(one);
    mtb_library_release(shared.library);
    mtb_queue_release(shared.queue);
    mtb_device_release(shared.device);
    CHECK(live_handles() == 0);
    printf("%s\n", failures ? "FAILED" : "all passed");
    return failures != 0;
}
