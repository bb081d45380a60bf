/* All tests that inject no failures, one after the other. */
#include "memory/support.h"

#include <unistd.h>

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

/* Runs one test and checks that it leaves no handle behind. The last reference to a command buffer may be that of its
 * completion handler, so this waits for the handler to end. */
static void run_test(const test *one) {
    int failures_before = failed_checks();
    uint64_t handles_before = live_handles();
    one->run();
    AWAIT(live_handles() == handles_before);
    CHECK(live_handles() == handles_before);
    printf("%s %s\n", failed_checks() == failures_before ? "ok    " : "FAILED", one->name);
}

/* A queue makes its own events at the first use. This makes them before tests count handles. */
static void warm_up(mtb_command_queue *queue) {
    char byte;
    mtb_memory *memory = make_memory();
    mtb_transfer *transfer = make_transfer(memory, queue);
    mtb_buffer *buffer = make_buffer_of(1, MTB_STORAGE_PRIVATE);
    CHECK_OK(mtb_transfer_copy(transfer, in_buffer(buffer, 0), in_host(&byte), 1, 1, MTB_HOST_BORROWED, &error));
    CHECK_OK(mtb_transfer_run(transfer, &error));
    mtb_buffer_release(buffer);
    mtb_transfer_release(transfer);
    mtb_memory_release(memory);
}

int main(int argc, char **argv) {
    static const test *const all[] = {device_tests,
                                      buffer_tests,
                                      blit_tests,
                                      library_tests,
                                      compute_tests,
                                      indirect_tests,
                                      indirect_refusal_tests,
                                      indirect_kernel_tests,
                                      function_table_tests,
                                      dynamic_library_tests,
                                      command_buffer_tests,
                                      event_tests,
                                      thread_tests,
                                      report_tests,
                                      memory_transfer_tests,
                                      memory_order_tests,
                                      memory_callback_tests,
                                      memory_pending_tests,
                                      memory_pool_tests,
                                      memory_arena_tests,
                                      memory_peer_tests,
                                      memory_race_tests,
                                      memory_refusal_tests,
                                      memory_pieces_tests,
                                      memory_odd_number_tests,
                                      mps_tests,
                                      fork_tests};
    const char *wanted = argc > 1 ? argv[1] : "";
    MAKE(shared.device, mtb_device_create_default(&error));
    MAKE(shared.queue, mtb_command_queue_create(shared.device, 0, &error));
    MAKE(shared.library, mtb_library_create_from_source(shared.device, source, strlen(source), NULL, &error));
    warm_up(shared.queue);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (const test *one = all[i]; one->name; one++)
            if (strstr(one->name, wanted)) run_test(one);
    mtb_library_release(shared.library);
    mtb_command_queue_release(shared.queue);
    mtb_device_release(shared.device);
    CHECK(live_handles() == 0);
    printf("%s\n", failed_checks() ? "FAILED" : "all passed");
    return failed_checks() != 0;
}
