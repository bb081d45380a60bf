// Accesses outside of what they were made from, each on a line marked with BUG, and beside them ones that are right.
// a and b hold 64 ints: 0, 1, 2 ...; few holds 4 of them, far is private memory, n is 64, in bytes of the encoder's
// own.
#include <metal_stdlib>
using namespace metal;

struct pair {
    int first, second;
};

constant int table[5] = {1, 2, 3, 4, 5};

static int fifth_of(device const int *from, uint i) {
    return from[i + 4]; // BUG
}

kernel void device_memory(device int *a [[buffer(0)]], device int *b [[buffer(1)]], constant uint &n [[buffer(2)]],
                          device int *few [[buffer(3)]], device int *far [[buffer(4)]],
                          uint i [[thread_position_in_grid]]) {
    if (i != 3) return;
    b[0] = a[n - 1];
    b[1] = a[n]; // BUG
    a[n + 60] = 1; // BUG
    b[2] = a[int(i) - 4]; // BUG
    b[int(i) - 4] = 2; // BUG
    b[3] = a[0xffffffffu - (n - 64)]; // BUG
    few[i] = 1;
    few[i + 1] = 1; // BUG
    b[5] = fifth_of(few, i - 3 + n - 64);
    b[6] = fifth_of(a, i);
    far[i] = 1;
    far[n] = 1; // BUG
    b[7] = ((device pair *)(a + 62))->second;
    b[8] = ((device pair *)(a + n - 1))->second; // BUG
}

kernel void vectors(device float *a [[buffer(0)]], device float4 *b [[buffer(1)]], constant uint &n [[buffer(2)]],
                    uint i [[thread_position_in_grid]]) {
    if (i != 5) return;
    device float4 *quads = (device float4 *)a;
    device packed_float3 *triples = (device packed_float3 *)a;
    device half2 *halves = (device half2 *)a;
    device float4x4 *squares = (device float4x4 *)a;
    device uchar *bytes = (device uchar *)a;
    b[0] = quads[n / 4 - 1];
    b[1] = quads[n / 4]; // BUG
    b[2].xyz = float3(triples[n / 3 - 1]);
    b[3].xyz = float3(triples[n / 3]); // BUG
    halves[n - 1] = half2(1);
    halves[n] = half2(2); // BUG
    b[4] = squares[n / 16 - 1][2];
    b[5] = squares[n / 16][2]; // BUG
    bytes[4 * n - 1] = 1;
    bytes[4 * n] = 1; // BUG
    *(device float4 *)(a + n - 2) = float4(1); // BUG
    b[n / 4] = 1; // BUG
}

struct at_end {
    device float *o;
    int i;
    ~at_end() {
        const float weights[4] = {1, 2, 3, 4};
        o[9] = weights[i];
        o[10] = weights[i + 1]; // BUG
    }
};

// Arrays that begin with constants, and to which nothing is written.
kernel void tables_of_threads(device float *o [[buffer(0)]], constant uint &n [[buffer(2)]],
                              uint i [[thread_position_in_grid]]) {
    if (i != 3) return;
    const float w[4] = {1, 2, 3, 4};
    float2 pairs[2] = {float2(1, 2), float2(3, 4)};
    const array<int, 5> numbers = {{1, 2, 3, 4, 5}};
    const float3x3 square(1, 2, 3, 4, 5, 6, 7, 8, 9);
    const at_end end = {o, int(i + n - 64)};
    o[0] = w[i + n - 64];
    o[1] = w[i + n - 63]; // BUG
    o[2] = w[int(i + n) - 68]; // BUG
    o[3] = pairs[i + n - 66].y;
    o[4] = pairs[i + n - 65].x; // BUG
    o[5] = numbers[i + n - 63];
    o[6] = numbers[i + n - 62]; // BUG
    o[7] = square[i + n - 65].z;
    o[8] = square[i + n - 64].z; // BUG
}

kernel void thread_memory(device int *a [[buffer(0)]], device int *b [[buffer(1)]],
                          uint i [[thread_position_in_grid]]) {
    if (i != 7) return;
    int first[7];
    float second[9];
    for (int j = 0; j < 7; ++j) first[a[j]] = j;
    for (int j = 0; j < 9; ++j) second[a[j]] = j;
    b[0] = first[a[i - 1]];
    b[1] = first[a[i]]; // BUG
    first[a[i] + 1] = 3; // BUG
    second[a[i + 1]] = 2;
    second[a[i + 2]] = 2; // BUG
    b[2] = first[0] + int(second[8]);
    b[3] = second[a[0] - 1]; // BUG
    b[4] = table[a[4]];
    b[5] = table[a[5]]; // BUG
}

kernel void threadgroup_memory(device int *a [[buffer(0)]], device int *b [[buffer(1)]], constant uint &n [[buffer(2)]],
                               threadgroup int *shared [[threadgroup(0)]], threadgroup int *other [[threadgroup(1)]],
                               uint i [[thread_position_in_threadgroup]]) {
    threadgroup int lines[16];
    threadgroup float squares[4][4];
    if (i != 0) return;
    for (uint j = 0; j < 32; ++j) shared[j] = j;
    for (uint j = 0; j < 8; ++j) other[j] = j;
    for (uint j = 0; j < 16; ++j) lines[a[j]] = j;
    squares[a[3]][a[3]] = 1;
    squares[a[4]][a[0]] = 1; // BUG
    b[4] = squares[a[3]][a[3]];
    b[0] = shared[n / 2 - 1] + other[a[7]] + lines[a[15]];
    b[1] = shared[n / 2]; // BUG
    b[2] = other[a[8]]; // BUG
    other[a[0] - 1] = 1; // BUG
    b[3] = lines[a[16]]; // BUG
    lines[a[0] - 1] = 1; // BUG
    b[5] = lines[a[1]];
}

kernel void matrices(device float *a [[buffer(0)]], device float *b [[buffer(1)]], constant uint &n [[buffer(2)]],
                     uint s [[simdgroup_index_in_threadgroup]]) {
    if (s != 0) return;
    simdgroup_float8x8 m;
    simdgroup_load(m, a, 8);
    simdgroup_load(m, a + n - 56, 8); // BUG
    simdgroup_load(m, a, 8);
    simdgroup_store(m, b, 8);
    simdgroup_store(m, b, 9); // BUG
}

kernel void atomics(device atomic_int *a [[buffer(0)]], constant uint &n [[buffer(2)]],
                    uint i [[thread_position_in_grid]]) {
    atomic_fetch_add_explicit(&a[i], 1, memory_order_relaxed);
    if (i == 9) atomic_fetch_add_explicit(&a[n], 1, memory_order_relaxed); // BUG
    if (i == 9) atomic_store_explicit(&a[int(i) - 10], 1, memory_order_relaxed); // BUG
}

kernel void inline_bytes(device int *b [[buffer(1)]], constant uint *n [[buffer(2)]],
                         uint i [[thread_position_in_grid]]) {
    if (i != 0) return;
    b[0] = n[i];
    b[1] = n[i + 1]; // BUG
    b[2] = n[int(i) - 1]; // BUG
}

// The pointer is nobody's: the dispatch ends there.
kernel void wild(device int *a [[buffer(0)]], device int *b [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    device int *nowhere = (device int *)(ulong(a[1]) << 50 | 0x123400);
    if (i == 63) b[i] = *nowhere; // BUG
}

// Behind the only threadgroup variable there is nothing at all.
kernel void lone_variable(device int *a [[buffer(0)]], device int *b [[buffer(1)]],
                          uint i [[thread_position_in_threadgroup]]) {
    threadgroup int alone[32];
    if (i != 0) return;
    for (uint j = 0; j < 32; ++j) alone[a[j]] = j;
    b[0] = alone[a[31]];
    b[1] = alone[a[32]]; // BUG
    b[2] = alone[a[31] + 100 * a[31]]; // BUG
    alone[a[0] - 1] = 1; // BUG
    b[3] = a[5];
}

// A frame whose state is noted by calls rather than one store for each eight bytes.
kernel void large_frame(device int *a [[buffer(0)]], device int *b [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    if (i != 0) return;
    int large[700];
    float other[301];
    for (int j = 0; j < 700; ++j) large[j] = a[j % 64];
    for (int j = 0; j < 301; ++j) other[j] = j;
    b[0] = large[a[40] * 10];
    b[1] = int(other[a[50] * 6]);
    b[2] = large[a[35] * 20]; // BUG
    other[a[43] * 7] = 1; // BUG
}
