#include "nested_kernels.h"

using namespace nested_kernels;

// --- Quicksort ---------------------------------------------------------------------------------------------------

constant constexpr uint sorted_at_once = 32;

// One thread partitions values[begin..end) around the middle one, three ways, and launches both sides.
kernel void quicksort(device queue &all [[buffer(0)]], device const launch &own [[buffer(1)]],
                      device int *values [[buffer(2)]]) {
    const uint begin = own.arguments[0], end = own.arguments[1];
    if (end - begin <= sorted_at_once) {
        for (uint i = begin + 1; i < end; i++) {
            const int moved = values[i];
            uint to = i;
            for (; to > begin && values[to - 1] > moved; to--) values[to] = values[to - 1];
            values[to] = moved;
        }
        return;
    }
    const int pivot = values[begin + (end - begin) / 2];
    uint less = begin, next = begin, more = end;
    while (next < more) {
        const int value = values[next];
        if (value < pivot) {
            values[next++] = values[less];
            values[less++] = value;
        } else if (value > pivot) {
            values[next] = values[--more];
            values[more] = value;
        } else {
            next++;
        }
    }
    if (less - begin > 1) append(all, own.function, 1, 1, begin, less);
    if (end - more > 1) append(all, own.function, 1, 1, more, end);
}

// --- Quadtree ----------------------------------------------------------------------------------------------------

constant constexpr uint points_of_a_leaf = 8, quarters = 4;

// A threadgroup sorts points[begin..end) of a square by quarters, and launches one for each quarter with points. The
// depth of a leaf stands at each of its points.
kernel void quadtree(device queue &all [[buffer(0)]], device const launch &own [[buffer(1)]],
                     device float2 *points [[buffer(2)]], device float2 *scratch [[buffer(3)]],
                     device uint *depths [[buffer(4)]], uint i [[thread_index_in_threadgroup]],
                     uint3 size [[threads_per_threadgroup]]) {
    threadgroup atomic_uint counts[quarters];
    threadgroup uint starts[quarters + 1];
    const uint begin = own.arguments[0], end = own.arguments[1];
    const float2 corner = float2(as_type<float>(own.arguments[2]), as_type<float>(own.arguments[3]));
    const float half_side = as_type<float>(own.arguments[4]) / 2;
    if (end - begin <= points_of_a_leaf) {
        for (uint p = begin + i; p < end; p += size.x) depths[p] = own.level;
        return;
    }
    if (i < quarters) atomic_store_explicit(&counts[i], 0u, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint p = begin + i; p < end; p += size.x) {
        const float2 point = points[p];
        const uint quarter = uint(point.x >= corner.x + half_side) + 2 * uint(point.y >= corner.y + half_side);
        atomic_fetch_add_explicit(&counts[quarter], 1u, memory_order_relaxed);
        scratch[p] = point;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
    if (i == 0) {
        starts[0] = begin;
        for (uint q = 0; q < quarters; q++) {
            starts[q + 1] = starts[q] + atomic_load_explicit(&counts[q], memory_order_relaxed);
            atomic_store_explicit(&counts[q], starts[q], memory_order_relaxed);
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint p = begin + i; p < end; p += size.x) {
        const float2 point = scratch[p];
        const uint quarter = uint(point.x >= corner.x + half_side) + 2 * uint(point.y >= corner.y + half_side);
        points[atomic_fetch_add_explicit(&counts[quarter], 1u, memory_order_relaxed)] = point;
    }
    if (i < quarters && starts[i + 1] > starts[i]) {
        const float2 moved = corner + float2(i % 2, i / 2) * half_side;
        append(all, own.function, uint3(size.x, 1, 1), uint3(size.x, 1, 1), starts[i], starts[i + 1],
               as_type<uint>(moved.x), as_type<uint>(moved.y), as_type<uint>(half_side));
    }
}

// --- Breadth-first search ----------------------------------------------------------------------------------------

constant constexpr uint unreached = 0xffffffff;

// A thread for each edge of a node: who reaches a node first launches its edges.
kernel void search(device queue &all [[buffer(0)]], device const launch &own [[buffer(1)]],
                   device const uint *starts [[buffer(2)]], device const uint *edges [[buffer(3)]],
                   device atomic_uint *distances [[buffer(4)]], uint i [[thread_position_in_grid]]) {
    const uint node = edges[starts[own.arguments[0]] + i];
    uint expected = unreached;
    bool is_first = false;
    // The exchange may fail for no reason.
    while (expected == unreached && !is_first)
        is_first = atomic_compare_exchange_weak_explicit(&distances[node], &expected, own.level + 1,
                                                         memory_order_relaxed, memory_order_relaxed);
    const uint degree = starts[node + 1] - starts[node];
    if (is_first && degree > 0) append(all, own.function, degree, min(degree, 32u), node);
}
