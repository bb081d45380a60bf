// How many threadgroups are resident together. Each counts itself in and stays until all have come or its patience is
// over; the first that leaves closes the count. So those that were counted before were all there at that time.
#include <metal_stdlib>

using namespace metal;

struct Probe {
    uint threadgroups;
    uint patience; // looks at the count
};

constant constexpr uint closed = 1u << 31;

kernel void grid_probe(constant Probe &probe [[buffer(0)]], device atomic_uint *count [[buffer(1)]],
                       device uint *found [[buffer(2)]], threadgroup uint *memory [[threadgroup(0)]],
                       uint i [[thread_index_in_threadgroup]]) {
    // The memory takes the room that the launch asks for.
    if (i < 4) memory[i] = i;
    if (i == 0) {
        uint seen = atomic_fetch_add_explicit(count, 1u, memory_order_relaxed) + 1;
        for (uint look = 0; look < probe.patience && seen < probe.threadgroups; ++look)
            seen = atomic_load_explicit(count, memory_order_relaxed);
        const uint before = atomic_fetch_or_explicit(count, closed, memory_order_relaxed);
        if (before < closed) *found = before;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
}
