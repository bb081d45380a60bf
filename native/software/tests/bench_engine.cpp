/* Measures what the engine's pieces cost: processor time, on one thread unless a line says otherwise, the best of
 * several runs. */
#include <algorithm>
#include <chrono>
#include <ctime>

#include "metal_program.h"

namespace {

const char *const source = R"(
kernel void add(device const float *a [[buffer(0)]], device const float *b [[buffer(1)]], device float *c [[buffer(2)]],
                uint i [[thread_position_in_grid]]) {
    c[i] = a[i] + b[i];
}
kernel void nothing(uint i [[thread_position_in_grid]]) {}
kernel void one_barrier(device float *a [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    threadgroup_barrier(mem_flags::mem_device);
    a[i] += 1;
}
constant constexpr uint rounds = 100;
kernel void barriers(device float *a [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float x = a[i];
    for (uint round = 0; round < rounds; ++round) {
        threadgroup_barrier(mem_flags::mem_device);
        x += 1;
    }
    a[i] = x;
}
kernel void sums(device float *a [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float x = a[i];
    for (uint round = 0; round < rounds; ++round)
        x = simd_sum(x) * 0.03f;
    a[i] = x;
}
kernel void shuffles(device float *a [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float x = a[i];
    for (uint round = 0; round < rounds; ++round)
        x += simd_shuffle_xor(x, ushort(1 << (round & 3)));
    a[i] = x;
}

/* 64 x 64 of the product for each threadgroup of four simdgroups, through threadgroup memory. */
template <typename T> kernel void product(device const T *a [[buffer(0)]], device const T *b [[buffer(1)]],
                                          device float *c [[buffer(2)]], constant uint &n [[buffer(3)]],
                                          uint2 group [[threadgroup_position_in_grid]], ushort index [[thread_index_in_threadgroup]],
                                          ushort simdgroup [[simdgroup_index_in_threadgroup]]) {
    using four = vec<T, 4>;
    constexpr uint depth = 32;
    threadgroup T left[64 * depth], right[depth * 64];
    const short row = simdgroup / 2 * 32, column = simdgroup % 2 * 32;
    simdgroup_matrix<T, 8, 8> ma[4], mb[4];
    simdgroup_float8x8 sum[4][4];
    for (short i = 0; i < 4; ++i)
        for (short j = 0; j < 4; ++j)
            sum[i][j] = make_filled_simdgroup_matrix<float, 8>(0.0f);
    for (uint k = 0; k < n; k += depth) {
        for (uint e = index; e < 64 * depth / 4; e += 128)
            ((threadgroup four *)left)[e] = *(device const four *)(a + (group.y * 64 + e / (depth / 4)) * n + k + e % (depth / 4) * 4);
        for (uint e = index; e < depth * 64 / 4; e += 128)
            ((threadgroup four *)right)[e] = *(device const four *)(b + (k + e / 16) * n + group.x * 64 + e % 16 * 4);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint inner = 0; inner < depth; inner += 8) {
            for (short i = 0; i < 4; ++i) {
                simdgroup_load(ma[i], left + (row + i * 8) * depth + inner, depth);
                simdgroup_load(mb[i], right + inner * 64 + column + i * 8, 64);
            }
            for (short i = 0; i < 4; ++i)
                for (short j = 0; j < 4; ++j)
                    simdgroup_multiply_accumulate(sum[i][j], ma[i], mb[j], sum[i][j]);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    for (short i = 0; i < 4; ++i)
        for (short j = 0; j < 4; ++j)
            simdgroup_store(sum[i][j], c + (group.y * 64 + row + i * 8) * n + group.x * 64 + column + j * 8, n);
}
template [[host_name("product_float")]] kernel void product<float>(device const float *, device const float *, device float *, constant uint &, uint2, ushort, ushort);
template [[host_name("product_half")]] kernel void product<half>(device const half *, device const half *, device float *, constant uint &, uint2, ushort, ushort);
)";

double processor_seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}

template <class Work> double best_of(int runs, Work work) {
    double best = 1e9;
    work();
    for (int run = 0; run < runs; ++run) {
        const double start = processor_seconds();
        work();
        best = std::min(best, processor_seconds() - start);
    }
    return best;
}

void run_or_exit(launch &prepared, size3 grid, size3 group) {
    const std::string error = prepared.run(grid, group);
    if (!error.empty()) {
        std::fprintf(stderr, "%s\n", error.c_str());
        std::exit(1);
    }
}

/* The most that the processor can do: as many multiply-adds in registers as fit. */
double peak_gflops() {
    typedef float vector __attribute__((vector_size(64)));
    constexpr int chains = 12, steps = 2000000;
    vector sums[chains] = {}, factor = vector{} + 1.000001f;
    const double seconds = best_of(5, [&] {
        for (int step = 0; step < steps; ++step)
            for (vector &sum : sums) sum = sum * factor + factor;
    });
    volatile float used = 0;
    for (const vector &sum : sums) used = used + sum[0];
    return 2.0 * 16 * chains * steps / seconds * 1e-9;
}

void product(metal_program &program, const char *name, size_t element_size, double peak) {
    uint32_t n = 1024;
    std::vector<uint8_t> a(n * n * element_size), b(n * n * element_size);
    std::vector<float> c(n * n);
    launch prepared(program.kernel(name));
    prepared.buffer(0, a).buffer(1, b).buffer(2, c).constant(3, n);
    const double seconds = best_of(3, [&] { run_or_exit(prepared, {n / 64 * 128, n / 64}, {128}); });
    const double gflops = 2.0 * n * n * n / seconds * 1e-9;
    std::printf("%-34s %8.1f GFLOP/s a core, %.0f %% of %.0f\n", name, gflops, 100 * gflops / peak, peak);
}

}  // namespace

int main() {
    setenv("SOFTWARE_METAL_THREADS", "1", 1);
    metal_program program(source);

    constexpr uint32_t million = 1 << 20;
    std::vector<float> a(million), b(million), c(million);
    launch add(program.kernel("add"));
    add.buffer(0, a).buffer(1, b).buffer(2, c);
    const double added = best_of(20, [&] { run_or_exit(add, {million}, {256}); });
    const double copied = best_of(20, [&] { std::memcpy(c.data(), a.data(), million * sizeof(float)); });
    std::printf("%-34s %8.1f GB/s (memcpy %.1f)\n", "add, a million floats", 12.0 * million / added * 1e-9,
                8.0 * million / copied * 1e-9);

    launch nothing(program.kernel("nothing"));
    constexpr int times = 10000;
    const double empty = best_of(3, [&] {
        for (int i = 0; i < times; ++i) run_or_exit(nothing, {1}, {1});
    });
    std::printf("%-34s %8.3f us\n", "empty launch", empty / times * 1e6);

    constexpr uint32_t threads = 1 << 14;
    for (const auto &[name, calls] : {std::pair{"one_barrier", 1}, {"barriers", 100}, {"sums", 100}, {"shuffles", 100}})
        for (uint32_t size : {32u, 128u, 256u, 1024u}) {
            launch prepared(program.kernel(name));
            prepared.buffer(0, a);
            const double seconds = best_of(5, [&] { run_or_exit(prepared, {threads}, {size}); });
            std::printf("%-23s%6u threads %6.1f ns a thread and call\n", name, size, seconds / threads / calls * 1e9);
        }

    const double peak = peak_gflops();
    product(program, "product_float", 4, peak);
    product(program, "product_half", 2, peak);
}
