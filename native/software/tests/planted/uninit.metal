// Reads of memory that nothing has written, and of inactive lanes, marked with BUG, and beside them reads of what has
// been. fresh and heap are new, but for the first 8 ints of fresh, which the CPU has written.
#include <metal_stdlib>
using namespace metal;

struct padded {
    char tag;
    int value;
    char end;
};

struct whole {
    int values[12];
};

kernel void device_memory(device int *a [[buffer(0)]], device int *b [[buffer(1)]], device int *fresh [[buffer(3)]],
                          device int *heap [[buffer(4)]], uint i [[thread_position_in_grid]]) {
    if (i != 0) return;
    b[0] = fresh[a[7]];
    b[1] = fresh[a[8]]; // BUG
    fresh[a[9]] = 4;
    b[2] = fresh[a[9]];
    b[3] = heap[a[10]]; // BUG
    heap[a[11]] = 2;
    b[4] = heap[a[11]];
    fresh[a[20]] += 1; // BUG
    device half *halves = (device half *)(fresh + 30);
    halves[a[0]] = 1;
    b[5] = int(halves[a[0]]);
    b[6] = int(halves[a[3]]); // BUG
    device uchar *bytes = (device uchar *)(fresh + 40);
    bytes[a[5]] = 1;
    b[7] = bytes[a[5]];
    b[8] = bytes[a[12]] + bytes[a[13]]; // BUG
}

kernel void vectors(device float4 *a [[buffer(0)]], device float4 *b [[buffer(1)]], device float4 *fresh [[buffer(3)]],
                    device float3 *heap [[buffer(4)]], uint i [[thread_position_in_grid]]) {
    if (i != 0) return;
    b[0] = fresh[1];
    b[1] = fresh[4]; // BUG
    fresh[5].xy = a[0].xy;
    b[2].xy = fresh[5].xy;
    b[3].xy = fresh[5].zw; // BUG
    heap[2] = a[1].xyz;
    b[4].xyz = heap[2];
    b[5].xyz = heap[3]; // BUG
}

kernel void structures(device padded *b [[buffer(1)]], device padded *fresh [[buffer(3)]],
                       device padded *heap [[buffer(4)]],
                       device int *a [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    if (i != 0) return;
    heap[0].tag = 1;
    heap[0].value = a[1];
    heap[0].end = 3;
    b[0] = heap[0];
    b[1].value = heap[1].value; // BUG
    device whole *large = (device whole *)(heap + 4);
    for (int k = 0; k < 12; ++k) large[0].values[a[k]] = k;
    ((device whole *)(b + 4))[0] = large[0];
    ((device whole *)(b + 4))[1] = large[1]; // BUG
}

kernel void atomics(device int *b [[buffer(1)]], device atomic_int *heap [[buffer(4)]],
                    uint i [[thread_position_in_grid]]) {
    if (i != 0) return;
    atomic_store_explicit(&heap[0], 1, memory_order_relaxed);
    b[0] = atomic_fetch_add_explicit(&heap[0], 1, memory_order_relaxed);
    b[1] = atomic_fetch_add_explicit(&heap[1], 1, memory_order_relaxed); // BUG
    b[2] = atomic_load_explicit(&heap[2], memory_order_relaxed); // BUG
}

kernel void threadgroup_memory(device int *a [[buffer(0)]], device int *b [[buffer(1)]],
                               threadgroup int *shared [[threadgroup(0)]],
                               uint i [[thread_position_in_threadgroup]], uint g [[thread_position_in_grid]]) {
    threadgroup int lines[64];
    threadgroup half narrow[64];
    if (i < 32) shared[i] = a[g];
    if (i % 2 == 0) lines[i] = a[g];
    narrow[i] = half(a[g]);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    b[g] = shared[i % 32] + lines[i & 62] + int(narrow[63 - i]);
    if (i == 9) b[g] = shared[i + 30]; // BUG
    if (i == 9) b[g] += lines[i]; // BUG
}

// No statement writes the arrays.
kernel void forgotten(device int *a [[buffer(0)]], device int *b [[buffer(1)]],
                      uint i [[thread_position_in_threadgroup]], uint g [[thread_position_in_grid]]) {
    threadgroup int lines[70];
    threadgroup half narrow[64];
    b[g] = a[g];
    if (i == 9) b[g] = lines[i + 8]; // BUG
    if (i == 10) b[g] += int(narrow[i]); // BUG
}

kernel void matrices(device float *a [[buffer(0)]], device float *b [[buffer(1)]], device float *heap [[buffer(4)]],
                     uint s [[simdgroup_index_in_threadgroup]], uint t [[threadgroup_position_in_grid]]) {
    threadgroup float tile[2][64];
    simdgroup_float8x8 m;
    simdgroup_load(m, a, 8);
    simdgroup_store(m, tile[s], 8);
    simdgroup_load(m, tile[s], 8);
    if (s == 0 && t == 0) simdgroup_store(m, b, 8);
    simdgroup_load(m, heap, 8); // BUG
    if (s == 1 && t == 0) simdgroup_store(m, b + 64, 8);
}

kernel void inactive_lanes(device int *a [[buffer(0)]], device int *b [[buffer(1)]], uint i [[thread_position_in_grid]],
                           uint lane [[thread_index_in_simdgroup]]) {
    int s = a[i];
    s += simd_shuffle_up(s, 1);
    if (lane >= 1) s += simd_shuffle_up(s, 1); // BUG
    if (lane >= 2) {
        s += simd_shuffle(s, ushort(lane | 2));
        s += quad_shuffle_xor(s + 1, 1);
        s += simd_broadcast(s + 1, 1); // BUG
        s += simd_sum(s);
    }
    b[i] = s;
}

static int either(threadgroup int &one, threadgroup const int &other, bool first) { return first ? one : other; }

// Of two variables a thread reads the one that it chooses.
kernel void choices(device int *a [[buffer(0)]], device int *b [[buffer(1)]],
                    uint i [[thread_position_in_threadgroup]]) {
    threadgroup int written[1], unwritten[1], more[2];
    if (i == 0) written[0] = more[1] = 7;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    threadgroup int *from = a[0] == 0 ? written : unwritten;
    if (i == 1) b[0] = from[0];
    if (i == 2) b[1] = either(written[0], unwritten[0], a[0] == 0);
    if (i == 3) b[2] = a[1] == 1 ? more[1] : more[0];
    from = a[0] == 0 ? unwritten : written;
    if (i == 4) b[3] = from[0]; // BUG
}
