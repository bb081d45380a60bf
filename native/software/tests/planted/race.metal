// Accesses of different threads in no order, marked with BUG on one of their lines, and beside them ones that are in
// order. Threadgroups have 64 threads, and there are two.
#include <metal_stdlib>
using namespace metal;

kernel void no_barrier(device int *a [[buffer(0)]], device int *b [[buffer(1)]],
                       threadgroup int *shared [[threadgroup(0)]],
                       uint i [[thread_position_in_threadgroup]], uint g [[thread_position_in_grid]]) {
    shared[i] = a[g];
    b[g] = shared[63 - i]; // BUG
}

kernel void with_barrier(device int *a [[buffer(0)]], device int *b [[buffer(1)]],
                         threadgroup int *shared [[threadgroup(0)]],
                         uint i [[thread_position_in_threadgroup]], uint g [[thread_position_in_grid]]) {
    shared[i] = a[g];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    b[g] = shared[63 - i];
}

kernel void wrong_flags(device int *a [[buffer(0)]], device int *b [[buffer(1)]],
                        threadgroup int *shared [[threadgroup(0)]],
                        uint i [[thread_position_in_threadgroup]], uint g [[thread_position_in_grid]]) {
    shared[i] = a[g];
    b[g] = a[g];
    threadgroup_barrier(mem_flags::mem_device);
    a[g] = b[g ^ 63] + shared[i];
    b[g] = shared[63 - i]; // BUG
}

kernel void device_flags(device int *a [[buffer(0)]], device int *b [[buffer(1)]], uint g [[thread_position_in_grid]]) {
    b[g] = a[g];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    a[g] = b[g ^ 63]; // BUG
}

kernel void no_flags(device int *a [[buffer(0)]], threadgroup int *shared [[threadgroup(0)]],
                     uint i [[thread_position_in_threadgroup]], uint g [[thread_position_in_grid]]) {
    shared[i] = a[g];
    threadgroup_barrier(mem_flags::mem_none);
    a[g] = shared[63 - i]; // BUG
}

kernel void reduction(device int *a [[buffer(0)]], device int *b [[buffer(1)]],
                      uint i [[thread_position_in_threadgroup]],
                      uint g [[thread_position_in_grid]]) {
    threadgroup int right[64];
    threadgroup int wrong[64];
    right[i] = wrong[i] = a[g];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint s = 32; s > 0; s /= 2) {
        if (i < s) right[i] += right[i + s];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    for (uint s = 32; s > 0; s /= 2) {
        if (i < s) wrong[i] += wrong[i + s]; // BUG
    }
    if (i == 0) b[g] = right[0] + wrong[0];
}

kernel void lanes_in_step(device int *a [[buffer(0)]], device int *b [[buffer(1)]],
                          threadgroup int *shared [[threadgroup(0)]],
                          uint i [[thread_position_in_threadgroup]], uint g [[thread_position_in_grid]]) {
    shared[i] = a[g];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const int first = shared[i / 32 * 32];
    if (i % 32 == 0) shared[i] = first + 1; // BUG
    simdgroup_barrier(mem_flags::mem_threadgroup);
    const int second = shared[i / 32 * 32];
    simdgroup_barrier(mem_flags::mem_threadgroup);
    if (i % 32 == 0) shared[i] = second + 1;
    b[g] = first + second;
}

kernel void reused(device int *a [[buffer(0)]], device int *b [[buffer(1)]], uint i [[thread_position_in_threadgroup]],
                   uint g [[thread_position_in_grid]]) {
    threadgroup int value;
    int sum = 0;
    for (uint k = 0; k < 4; ++k) {
        if (i == k) value = a[g]; // BUG
        threadgroup_barrier(mem_flags::mem_threadgroup);
        sum += value;
    }
    b[g] = sum;
}

kernel void bytes(device uchar *a [[buffer(0)]], device half *b [[buffer(1)]],
                  uint i [[thread_position_in_threadgroup]],
                  uint g [[thread_position_in_grid]]) {
    threadgroup uchar own[64];
    threadgroup uchar next[65];
    own[i] = a[g];
    next[i] = a[g];
    next[i + 1] = 1; // BUG
    b[g] = half(own[i] + next[g % 64]);
}

kernel void simdgroups(device int *a [[buffer(0)]], device int *b [[buffer(1)]],
                       uint i [[thread_position_in_threadgroup]],
                       uint g [[thread_position_in_grid]]) {
    threadgroup int right[64];
    threadgroup int wrong[64];
    threadgroup int across[64];
    right[i] = wrong[i] = across[i] = a[g];
    int sum = wrong[i ^ 1]; // BUG
    simdgroup_barrier(mem_flags::mem_threadgroup);
    sum += right[i ^ 1];
    sum += across[i ^ 32]; // BUG
    b[g] = sum;
}

// The last read does not hide the one of the other SIMD-group.
kernel void reads_before_a_write(device int *a [[buffer(0)]], device int *b [[buffer(1)]],
                                 uint i [[thread_position_in_threadgroup]], uint g [[thread_position_in_grid]]) {
    threadgroup int right, wrong;
    if (i == 0) right = wrong = a[g];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    int sum = 0;
    if (i == 0) sum = right + wrong;
    if (i == 32) sum = wrong;
    threadgroup_barrier(mem_flags::mem_none);
    if (i == 1) sum = right + wrong;
    simdgroup_barrier(mem_flags::mem_threadgroup);
    if (i == 0) right = sum;
    if (i == 0) wrong = sum; // BUG
    b[g] = sum;
}

kernel void matrices(device float *a [[buffer(0)]], device float *b [[buffer(1)]],
                     uint i [[thread_position_in_threadgroup]],
                     uint s [[simdgroup_index_in_threadgroup]], uint t [[threadgroup_position_in_grid]]) {
    threadgroup float right[2][64];
    threadgroup float wrong[2][64];
    simdgroup_float8x8 m;
    simdgroup_load(m, a, 8);
    simdgroup_store(m, right[s], 8);
    simdgroup_barrier(mem_flags::mem_threadgroup);
    b[64 * t + i] = right[s][i % 32];
    simdgroup_store(m, wrong[s], 8);
    b[64 * t + i] += wrong[1 - s][i % 32]; // BUG
}

kernel void between_threadgroups(device int *a [[buffer(0)]], device int *b [[buffer(1)]], device int *c [[buffer(4)]],
                                 uint g [[thread_position_in_grid]]) {
    b[g] = a[g];
    a[g] = 1;
    c[g] = b[(g + 64) % 128]; // BUG
    if (g % 64 == 5) a[5] = g; // BUG
    if (g % 64 == 6) a[6] = 7;
}

kernel void atomics(device atomic_int *a [[buffer(0)]], device int *b [[buffer(1)]],
                    device atomic_int *count [[buffer(4)]],
                    uint g [[thread_position_in_grid]]) {
    atomic_fetch_add_explicit(&count[0], 1, memory_order_relaxed);
    atomic_fetch_max_explicit(&count[1], int(g), memory_order_relaxed);
    b[g] = atomic_load_explicit(&count[0], memory_order_relaxed);
    atomic_store_explicit(&a[1], 1, memory_order_relaxed);
    if (g == 70) ((device int *)a)[1] = 2; // BUG
    atomic_fetch_or_explicit(&a[2], 1, memory_order_relaxed);
    if (g == 71) b[127] = ((device int *)a)[2]; // BUG
}

// The threadgroup that comes last adds up what all have left.
static int add_up(device int *sums, uint n) {
    int total = 0;
    for (uint k = 0; k < n; ++k) total += sums[k];
    return total;
}

kernel void last_threadgroup(device int *a [[buffer(0)]], device int *b [[buffer(1)]],
                             device atomic_int *count [[buffer(4)]],
                             uint i [[thread_position_in_threadgroup]], uint t [[threadgroup_position_in_grid]]) {
    threadgroup bool last;
    if (i == 0) {
        b[t] = a[t];
        atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
        last = atomic_fetch_add_explicit(&count[2], 1, memory_order_relaxed) == 1;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (last && i == 0) b[127] = add_up(b, 2);
}

kernel void last_without_fence(device int *a [[buffer(0)]], device int *b [[buffer(1)]],
                               device atomic_int *count [[buffer(4)]],
                               uint i [[thread_position_in_threadgroup]], uint t [[threadgroup_position_in_grid]]) {
    if (i != 0) return;
    b[t] = a[t];
    const int before = atomic_fetch_add_explicit(&count[3], 1, memory_order_relaxed);
    if (before == 1) b[127] = b[0] + b[1]; // BUG
}

kernel void barrier_for_some(device int *a [[buffer(0)]], threadgroup int *shared [[threadgroup(0)]],
                             uint i [[thread_position_in_threadgroup]], uint g [[thread_position_in_grid]]) {
    shared[i] = a[g];
    if (i >= 40) return;
    threadgroup_barrier(mem_flags::mem_threadgroup); // BUG
    a[g] = shared[39 - i];
}

kernel void barriers_of_branches(device int *a [[buffer(0)]], uint i [[thread_position_in_threadgroup]],
                                 uint g [[thread_position_in_grid]]) {
    if (i < 32) {
        a[g] += 1;
        threadgroup_barrier(mem_flags::mem_threadgroup);
    } else {
        a[g] += 2;
        threadgroup_barrier(mem_flags::mem_threadgroup); // BUG
    }
}

// Other threads have their turn, but none changes what the loops wait for.
kernel void spins(device atomic_int *a [[buffer(0)]], uint i [[thread_position_in_threadgroup]]) {
    if (i < 2) {
        while (atomic_load_explicit(&a[100], memory_order_relaxed) == 100); // BUG
    } else {
        atomic_store_explicit(&a[101], 1, memory_order_relaxed);
    }
}

// Threads that write the same do no harm: whichever is the last, the value is the same.
kernel void same_value(device int *a [[buffer(0)]], device int *b [[buffer(1)]],
                       uint i [[thread_position_in_threadgroup]],
                       uint g [[thread_position_in_grid]]) {
    threadgroup int shared;
    shared = 5;
    a[0] = 7;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    b[g] = shared;
}

// Read, added to and written at the same address.
kernel void counted_plainly(device int *a [[buffer(0)]]) {
    a[0] += 1; // BUG
}

// Of two variables a thread reads the one that it chooses.
kernel void choices(device int *b [[buffer(1)]], uint i [[thread_position_in_threadgroup]]) {
    threadgroup int first, second, others[2];
    if (i == 0) first = second = others[0] = others[1] = 1;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const int right = i == 5 ? second : first;
    if (i == 5) second = right + 1;
    const int wrong = i == 6 ? others[1] : others[0];
    if (i == 7) others[1] = wrong + 1; // BUG
    b[i] = right + wrong;
}
