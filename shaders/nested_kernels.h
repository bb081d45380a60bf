// Kernels that launch kernels: a kernel appends launches to a queue. They run when all launches of its own level have
// ended. docs/nested-kernels.md says how a program runs them.
#ifndef METAL_BRIDGE_NESTED_KERNELS_H
#define METAL_BRIDGE_NESTED_KERNELS_H

#include <metal_stdlib>

namespace nested_kernels {

using namespace metal;

constant constexpr uint argument_words = 8;

// A launch in the queue. A kernel finds its own at buffer index 1.
struct launch {
    packed_uint3 threads;
    packed_uint3 threads_per_threadgroup;
    uint function;  // its place in the program's list
    uint level;     // 0 for launches by the CPU; set before the launch runs
    uint arguments[argument_words];
};

// At buffer index 0. The launches follow it.
struct queue {
    atomic_uint appended;  // launches; more than the capacity after an overflow
    atomic_uint dropped;   // launches that found no place
    atomic_uint refused;   // launches of a function or of threadgroups that there cannot be
    uint capacity;
};

inline device launch *launches_of(device queue &all) { return reinterpret_cast<device launch *>(&all + 1); }

// Appends a launch of `function`. False if the queue is full: nothing is written then, and the program is told.
template <typename... Words>
bool append(device queue &to, uint function, uint3 threads, uint3 threads_per_threadgroup, Words... words) {
    static_assert(sizeof...(Words) <= argument_words, "a launch has eight arguments of 32 bits");
    const uint capacity = to.capacity;
    uint place = capacity;
    // The first look keeps the number from wrapping around.
    if (atomic_load_explicit(&to.appended, memory_order_relaxed) < capacity)
        place = atomic_fetch_add_explicit(&to.appended, 1u, memory_order_relaxed);
    if (place >= capacity) {
        atomic_fetch_add_explicit(&to.dropped, 1u, memory_order_relaxed);
        return false;
    }
    const uint given[argument_words] = {uint(words)...};
    device launch &added = launches_of(to)[place];
    added.threads = threads;
    added.threads_per_threadgroup = threads_per_threadgroup;
    added.function = function;
    for (uint i = 0; i < argument_words; i++) added.arguments[i] = given[i];
    return true;
}

// A line of threads.
template <typename... Words>
bool append(device queue &to, uint function, uint threads, uint threads_per_threadgroup, Words... words) {
    return append(to, function, uint3(threads, 1, 1), uint3(threads_per_threadgroup, 1, 1), words...);
}

}  // namespace nested_kernels

#endif
