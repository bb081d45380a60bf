/* How a core executes the threadgroups of a launch. */
#include "core.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "address_sanitizer.h"
#include "context.h"
#include "faults.h"
#include "watchdog.h"
#include "support/random.h"

namespace smtl {
namespace {

void copy_extent(uint32_t (&to)[3], extent from) {
    to[0] = from.x;
    to[1] = from.y;
    to[2] = from.z;
}

size_t aligned(size_t bytes) {
    return (bytes + threadgroup_memory_alignment - 1) / threadgroup_memory_alignment * threadgroup_memory_alignment;
}

}  // namespace

core::core() {
    enter_barrier = smtl_enter_barrier;
    enter_exchange = smtl_enter_exchange;
    enter_finished = smtl_enter_finished;
    enter_poll = smtl_enter_poll;
    encode_command = [](smtl_core *core, smtl_command_request *request) {
        static_cast<smtl::core *>(core)->encode(*request);
    };
    refuse_function = [](smtl_core *core, const smtl_function_request *request) {
        static_cast<smtl::core *>(core)->refuse(*request);
    };
}

bool core::owns(const void *address) const {
    return (reinterpret_cast<uintptr_t>(address) & ~(SMTL_ARENA_SIZE - 1)) == reinterpret_cast<uintptr_t>(this);
}

void core::bind_launch(smtl::launch &launch) {
    current = &launch;
    run = launch.kernel->image->run;
    scheduler_stack = stacks.scheduler_top();
    blocks = launch.kernel->blocks;
    shuffle = launch.shuffle.on && (blocks || launch.kernel->polls);
    syncs_simdgroups = !shuffle;
    takes_turns = !shuffle && launch.checks == nullptr;
    chunk_next = chunk_end = threadgroups_run = 0;
    fault_signal = 0;
    buffers = launch.given->buffers;
    log = launch.given->log;
    copy_extent(dispatch_threadgroup_size, launch.threadgroup);
    copy_extent(threadgroups, launch.threadgroups);
    copy_extent(grid_size, launch.grid);
    dynamic_memory = 0;
    for (uint32_t i = 0; i < SMTL_BUFFER_SLOTS; ++i) {
        const uint32_t length = launch.given->threadgroup_lengths[i];
        threadgroup_memory[i] = length == 0 ? nullptr : memory + dynamic_memory;
        dynamic_memory += aligned(length);
    }
    static_memory = launch.kernel->static_memory_of_thread();
    stacks.reset();
    if (launch.checks == nullptr) return;
    sanitizer = launch.checks->calls();
    for (uint32_t i = 0; i < SMTL_BUFFER_SLOTS; ++i) threadgroup_memory[i] = launch.checks->threadgroup_memory(i);
}

bool core::prepare_checks(std::string &problem) {
    return current->checks->prepare({this, reinterpret_cast<uintptr_t>(stacks.bottom(0)),
                                     [](smtl_core *core) { static_cast<smtl::core *>(core)->abandon_kernel(); }},
                                    problem);
}

uint64_t core::run_launch(smtl::launch &launch, progress_watch *watching) {
    current = &launch;
    next_resident = this;
    if (std::string problem; launch.checks != nullptr && !prepare_checks(problem)) {
        launch.fail(SMTL_FAILURE_MEMORY, "kernel '" + std::string(launch.kernel->image->name) + "': " + problem);
        return 0;
    }
    bind_launch(launch);
    watch = watching;
    resident_set in_turns(*this, launch);
    residents = &in_turns;
    if (!next_threadgroup()) return 0;
    running_stack = stacks.take();
    {
        const fault_scope faults(*this);
        const watchdog_scope watchdog;
        const address_sanitizer::arena_scope stacks_in_use(this, SMTL_ARENA_SIZE);
        smtl_enter_native(this, start_context(), &native_stack);
    }
    if (const core &last = in_turns.running(); last.fault_signal != 0)
        launch.fail(last.fault_kind(), last.describe_fault());
    return in_turns.threadgroups_run();
}

bool core::next_chunk() {
    if (watch != nullptr) watch->before_chunk();
    const uint64_t first = current->next.fetch_add(current->chunk, std::memory_order_relaxed);
    if (first >= current->threadgroup_count) return false;
    chunk_next = first;
    chunk_end = std::min(first + current->chunk, current->threadgroup_count);
    return true;
}

bool core::next_threadgroup() {
    if (current->failed.load(std::memory_order_relaxed)) return false;
    if (chunk_next == chunk_end && !next_chunk()) return false;
    set_threadgroups(current->in_order(chunk_next));
    threadgroups_run += threadgroup_run;
    chunk_next += threadgroup_run;
    if (current->checks != nullptr)
        current->checks->begin_threadgroup();
    else if (current->poison)
        poison_threadgroup_memory();
    return true;
}

void core::set_threadgroups(uint64_t linear) {
    const smtl::launch &launch = *current;
    const extent position = launch.position_of(linear);
    const extent size = {std::min(launch.threadgroup.x, launch.grid.x - position.x * launch.threadgroup.x),
                         std::min(launch.threadgroup.y, launch.grid.y - position.y * launch.threadgroup.y),
                         std::min(launch.threadgroup.z, launch.grid.z - position.z * launch.threadgroup.z)};
    copy_extent(threadgroup_position, position);
    copy_extent(threadgroup_size, size);
    threadgroup_run = 1;
    if (launch.kernel->polls) {
        blocks = launch.kernel->blocks || shuffle;
        threads_apart = blocks;
        thread = 0;
        atomics_left = 0;
        comparing_thread = ~0u;
    }
    thread_count = uint32_t(size.volume());
    if (blocks) {
        random_state = smtl_mix(launch.shuffle.value ^ smtl_mix(linear));
        reset_threads();
    } else if (launch.runs_in_rows() && size.x == launch.threadgroup.x) {
        const uint32_t whole_in_row = launch.grid.x / launch.threadgroup.x - position.x;
        threadgroup_run = uint32_t(std::min<uint64_t>(whole_in_row, chunk_end - chunk_next));
    }
}

void core::poison_threadgroup_memory() {
    constexpr int nan_byte = 0xff;
    std::memset(memory, nan_byte, dynamic_memory);
    if (const size_t size = current->kernel->static_threadgroup_memory) std::memset(static_memory, nan_byte, size);
}

const smtl_context *core::abandon_kernel(int signal_number, const void *address) {
    fault_signal = signal_number;
    fault_address = address;
    return native_context();
}

void core::abandon_kernel() {
    current->fail(SMTL_FAILURE_ACCESS, current->checks->error());
    smtl_continue(abandon_kernel(SIGTRAP, nullptr));
}

void core::fail_encoding(char *problem) {
    current->fail(SMTL_FAILURE_ARGUMENTS, "kernel '" + std::string(current->kernel->image->name) +
                                              "': " + (problem == nullptr ? "nobody takes its commands" : problem) +
                                              ", in " + describe_threadgroup());
    std::free(problem);
}

void core::refuse(const smtl_function_request &request) {
    fail_call(request);
    smtl_continue(abandon_kernel(SIGTRAP, nullptr));
}

void core::encode(smtl_command_request &request) {
    const auto carry_out = current->given->encode_command;
    char *problem = nullptr;
    if (carry_out != nullptr && carry_out(current->given, &request, &problem)) return;
    /* No destructors run after it. */
    fail_encoding(problem);
    smtl_continue(abandon_kernel(SIGTRAP, nullptr));
}

}  // namespace smtl
