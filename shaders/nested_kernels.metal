// Turns the launches of one level of nested kernels into indirect commands.
#include "nested_kernels.h"

#include <metal_command_buffer>

using namespace metal;

// As in src/indirect/nested/program.rs.
constant constexpr uint most_functions = 16, most_buffers = 8, first_buffer = 2;

struct Program {
    command_buffer commands;
    array<compute_pipeline_state, most_functions> functions;
    array<device uchar *, most_buffers> buffers;
    uint most_threads[most_functions];  // of a threadgroup of each function
    uint function_count;
    uint buffer_count;
};

struct Range {
    uint first;
    uint count;
};

// Command k launches what is at place k of the queue, so that no command is encoded twice in a run. One threadgroup.
kernel void encode_level(device const Program &program [[buffer(0)]], device nested_kernels::queue &queue [[buffer(1)]],
                         device Range *ranges [[buffer(2)]], constant uint &level [[buffer(3)]],
                         uint thread_index [[thread_index_in_threadgroup]], uint3 size [[threads_per_threadgroup]]) {
    const uint first = level == 0 ? 0 : ranges[level - 1].first + ranges[level - 1].count;
    const uint end = min(atomic_load_explicit(&queue.appended, memory_order_relaxed), queue.capacity);
    device nested_kernels::launch *const launches = nested_kernels::launches_of(queue);
    for (uint place = first + thread_index; place < end; place += size.x) {
        compute_command command(program.commands, place);
        command.reset();
        const uint function = launches[place].function;
        const uint3 threads = launches[place].threads, group = launches[place].threads_per_threadgroup;
        // Nothing is to run.
        if (any(threads == 0)) continue;
        const uint most = function < program.function_count ? program.most_threads[function] : 0;
        if (any(group == 0) || any(group > most) || group.x * group.y > most || group.x * group.y * group.z > most) {
            atomic_fetch_add_explicit(&queue.refused, 1u, memory_order_relaxed);
            continue;
        }
        launches[place].level = level;
        command.set_compute_pipeline_state(program.functions[function]);
        command.set_kernel_buffer(&queue, 0);
        command.set_kernel_buffer(&launches[place], 1);
        for (uint i = 0; i < program.buffer_count; i++)
            command.set_kernel_buffer(program.buffers[i], first_buffer + i);
        command.concurrent_dispatch_threads(threads, group);
    }
    if (thread_index == 0) ranges[level] = {first, end - first};
}
