/* <metal_command_buffer>: kernels that encode dispatches into indirect command buffers. The host carries out each call,
 * and ends the kernel at the first that is wrong. */
#ifndef SMTL_COMMANDS_H
#define SMTL_COMMANDS_H

#include <msl/vector.h>

#include "core.h"
#include "touch.h"

namespace smtl {

/* Not inlined: the request stays out of the kernel's own frame. */
SMTL_UNINSTRUMENTED __attribute__((noinline)) inline uint64_t encode_command(smtl_command_request request) {
    smtl_core *const core = current_core();
    core->encode_command(core, &request);
    return request.result;
}

}  // namespace smtl

namespace metal {

/* Both are what the host stores for them: a handle of eight bytes. */
struct command_buffer {
    size_t size() const { return smtl::encode_command({smtl_handle, SMTL_COMMAND_SIZE, 0, 0, 0, {}, {}, 0}); }
    uint64_t smtl_handle;
};
struct compute_pipeline_state {
    uint64_t smtl_handle;
};

struct compute_command {
    explicit compute_command(command_buffer commands, uint index) : commands_(commands), index_(index) {}

    void set_compute_pipeline_state(compute_pipeline_state pipeline) {
        encode(SMTL_COMMAND_SET_PIPELINE, pipeline.smtl_handle);
    }
    template <class T> void set_kernel_buffer(SMTL_DEVICE T *buffer, uint index) {
        encode(SMTL_COMMAND_SET_BUFFER, reinterpret_cast<uintptr_t>(buffer), index);
    }
    template <class T> void set_kernel_buffer(SMTL_CONSTANT T *buffer, uint index) {
        encode(SMTL_COMMAND_SET_BUFFER, reinterpret_cast<uintptr_t>(buffer), index);
    }
    void set_threadgroup_memory_length(uint length, uint index) {
        encode(SMTL_COMMAND_SET_THREADGROUP_MEMORY, length, index);
    }
    void concurrent_dispatch_threadgroups(uint3 threadgroups_per_grid, uint3 threads_per_threadgroup) {
        dispatch(SMTL_COMMAND_DISPATCH_THREADGROUPS, threadgroups_per_grid, threads_per_threadgroup);
    }
    void concurrent_dispatch_threads(uint3 threads_per_grid, uint3 threads_per_threadgroup) {
        dispatch(SMTL_COMMAND_DISPATCH_THREADS, threads_per_grid, threads_per_threadgroup);
    }
    void set_barrier() { encode(SMTL_COMMAND_SET_BARRIER); }
    void clear_barrier() { encode(SMTL_COMMAND_CLEAR_BARRIER); }
    void reset() { encode(SMTL_COMMAND_RESET); }
    void copy_command(compute_command source) {
        encode(SMTL_COMMAND_COPY, source.commands_.smtl_handle, source.index_);
    }

private:
    void encode(smtl_command_operation operation, uint64_t value = 0, uint at = 0) {
        smtl::encode_command({commands_.smtl_handle, operation, index_, value, at, {}, {}, 0});
    }
    void dispatch(smtl_command_operation operation, uint3 grid, uint3 group) {
        smtl::encode_command(
            {commands_.smtl_handle, operation, index_, 0, 0, {grid.x, grid.y, grid.z}, {group.x, group.y, group.z}, 0});
    }
    command_buffer commands_;
    uint index_;
};

}  // namespace metal

#endif
