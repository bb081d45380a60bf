/* simdgroup_matrix against products in double precision. */
#include <cmath>

#include "check.h"
#include "metal_program.h"

namespace {

const char *const source = R"(
/* C = A * B, 32 x 32 of it for each simdgroup, through threadgroup memory. */
template <typename T> kernel void product(device const T *a [[buffer(0)]], device const T *b [[buffer(1)]],
                                          device float *c [[buffer(2)]], constant uint &n [[buffer(3)]],
                                          uint2 group [[threadgroup_position_in_grid]],
                                          ushort simdgroup [[simdgroup_index_in_threadgroup]],
                                          ushort lane [[thread_index_in_simdgroup]]) {
    threadgroup T tile_a[2][32 * 8], tile_b[2][8 * 32];
    const uint row = (group.y * 2 + simdgroup) * 32, column = group.x * 32;
    simdgroup_matrix<T, 8, 8> left[4], right[4];
    simdgroup_float8x8 sum[4][4];
    for (short i = 0; i < 4; ++i)
        for (short j = 0; j < 4; ++j)
            sum[i][j] = make_filled_simdgroup_matrix<float, 8>(0.0f);
    for (uint k = 0; k < n; k += 8) {
        for (uint e = lane; e < 256; e += 32) {
            tile_a[simdgroup][e] = a[(row + e / 8) * n + k + e % 8];
            tile_b[simdgroup][e] = b[(k + e / 32) * n + column + e % 32];
        }
        simdgroup_barrier(mem_flags::mem_threadgroup);
        for (short i = 0; i < 4; ++i) {
            simdgroup_load(left[i], tile_a[simdgroup] + i * 64, 8, 0, false);
            simdgroup_load(right[i], tile_b[simdgroup], 32, ulong2(i * 8, 0));
        }
        for (short i = 0; i < 4; ++i)
            for (short j = 0; j < 4; ++j)
                simdgroup_multiply_accumulate(sum[i][j], left[i], right[j], sum[i][j]);
        simdgroup_barrier(mem_flags::mem_threadgroup);
    }
    for (short i = 0; i < 4; ++i)
        for (short j = 0; j < 4; ++j)
            simdgroup_store(sum[i][j], c + (row + i * 8) * n + column + j * 8, n);
}
template [[host_name("product_float")]] kernel void product<float>(device const float *, device const float *, device float *, constant uint &, uint2, ushort, ushort);
template [[host_name("product_half")]] kernel void product<half>(device const half *, device const half *, device float *, constant uint &, uint2, ushort, ushort);
template [[host_name("product_bfloat")]] kernel void product<bfloat>(device const bfloat *, device const bfloat *, device float *, constant uint &, uint2, ushort, ushort);
)";

/* These kernels have a source of their own: thread_elements makes matrices keep track of their layout. */
const char *const elements_source = R"(
template <typename T> static void store_elements(device float *y, simdgroup_matrix<T, 8, 8> m, uint lane) {
    y[2 * lane] = float(m.thread_elements()[0]);
    y[2 * lane + 1] = float(m.thread_elements()[1]);
}

/* Which elements each lane has. */
kernel void layout(device const float *x [[buffer(0)]], device float *y [[buffer(1)]], uint lane [[thread_index_in_simdgroup]]) {
    simdgroup_float8x8 m;
    simdgroup_load(m, x, 8);
    store_elements(y, m, lane);
}

/* Doubles each element in its lane, then goes on with the whole. */
kernel void in_lanes(device const float *x [[buffer(0)]], device float *y [[buffer(1)]]) {
    simdgroup_float8x8 m, identity(1.0f);
    simdgroup_load(m, x, 8);
    m.thread_elements()[0] *= 2;
    m.thread_elements()[1] *= 2;
    simdgroup_store(m, y, 8, 0, true);
    simdgroup_float8x8 n;
    simdgroup_multiply(n, m, identity);
    simdgroup_multiply_accumulate(n, n, m, n);
    simdgroup_store(n, y + 64, 8);
}

/* Operands made in lanes, as MLX does. */
kernel void fragments(device const half *a [[buffer(0)]], device const half *b [[buffer(1)]], device float *c [[buffer(2)]],
                      uint lane [[thread_index_in_simdgroup]]) {
    const uint quad = lane / 4, row = (quad & 4) + (lane / 2) % 4, column = (quad & 2) * 2 + (lane % 2) * 2;
    simdgroup_matrix<half, 8, 8> left, right;
    simdgroup_matrix<float, 8, 8> sum;
    reinterpret_cast<thread half2 &>(left.thread_elements()) = half2(a[row * 8 + column], a[row * 8 + column + 1]);
    reinterpret_cast<thread half2 &>(right.thread_elements()) = half2(b[row * 8 + column], b[row * 8 + column + 1]);
    sum.thread_elements() = float2(1.0f, 1.0f);
    simdgroup_multiply_accumulate(sum, left, right, sum);
    c[row * 8 + column] = sum.thread_elements()[0];
    c[row * 8 + column + 1] = sum.thread_elements()[1];
}

kernel void filled(device float *y [[buffer(0)]], uint lane [[thread_index_in_simdgroup]]) {
    simdgroup_half8x8 h = make_filled_simdgroup_matrix<half, 8>(half(3));
    h = h * h;
    store_elements(y, h, lane);
    simdgroup_bfloat8x8 d(bfloat(5));
    store_elements(y + 64, d, lane);
    simdgroup_float8x8 copy = make_diagonal_simdgroup_matrix<float, 8>(2.0f);
    simdgroup_float8x8 other = copy;
    store_elements(y + 128, other * other, lane);
}

/* Sums in half round after every product, as the type says. */
kernel void half_sums(device half *y [[buffer(0)]]) {
    simdgroup_half8x8 sum = make_filled_simdgroup_matrix<half, 8>(half(2048)), one = make_filled_simdgroup_matrix<half, 8>(half(0.125));
    simdgroup_half8x8 ones = make_filled_simdgroup_matrix<half, 8>(half(1));
    simdgroup_multiply_accumulate(sum, one, ones, sum);
    simdgroup_store(sum, y, 8);
}
)";

float element(uint32_t i) { return float(int(i * 2654435761u >> 28) - 8) / 4.0f; }

template <class T> T convert(float);
template <> float convert(float value) { return value; }

/* A multiple of a quarter, as the upper half of a float. */
struct bfloat {
    uint16_t bits;
};
template <> bfloat convert(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return {uint16_t(bits >> 16)};
}
struct half {
    uint16_t bits;
};
template <> half convert(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    const uint32_t sign = bits >> 16 & 0x8000;
    return {uint16_t(value == 0 ? 0 : sign | ((bits >> 23 & 0xff) - 112) << 10 | (bits >> 13 & 0x3ff))};
}

template <class T> void product(metal_program &program, const char *name, uint32_t n) {
    std::vector<T> a(n * n), b(n * n);
    std::vector<float> c(n * n);
    for (uint32_t i = 0; i < n * n; ++i) {
        a[i] = convert<T>(element(i));
        b[i] = convert<T>(element(3 * i + 1));
    }
    CHECK(launch(program.kernel(name))
              .buffer(0, a)
              .buffer(1, b)
              .buffer(2, c)
              .constant(3, n)
              .run({n / 32 * 64, n / 64}, {64})
              .empty());
    double error = 0, norm = 0;
    for (uint32_t i = 0; i < n; ++i)
        for (uint32_t j = 0; j < n; ++j) {
            double expected = 0;
            for (uint32_t k = 0; k < n; ++k)
                expected += double(element(i * n + k)) * double(element(3 * (k * n + j) + 1));
            error += (c[i * n + j] - expected) * (c[i * n + j] - expected);
            norm += expected * expected;
        }
    CHECK(norm > 0 && std::sqrt(error / norm) < 1e-6);
}

void elements(metal_program &program) {
    std::vector<float> x(64), y(192);
    for (uint32_t i = 0; i < 64; ++i) x[i] = float(i);
    CHECK(launch(program.kernel("layout")).buffer(0, x).buffer(1, y).run({32}, {32}).empty());
    for (uint32_t lane = 0; lane < 32; ++lane) {
        const uint32_t quad = lane / 4, row = (quad & 4) + lane / 2 % 4, column = (quad & 2) * 2 + lane % 2 * 2;
        CHECK(y[2 * lane] == float(row * 8 + column) && y[2 * lane + 1] == float(row * 8 + column + 1));
    }

    CHECK(launch(program.kernel("in_lanes")).buffer(0, x).buffer(1, y).run({32}, {32}).empty());
    for (uint32_t r = 0; r < 8; ++r)
        for (uint32_t c = 0; c < 8; ++c) {
            CHECK(y[c * 8 + r] == 2 * x[r * 8 + c]);
            float expected = 2 * x[r * 8 + c];
            for (uint32_t k = 0; k < 8; ++k) expected += 4 * x[r * 8 + k] * x[k * 8 + c];
            CHECK(y[64 + r * 8 + c] == expected);
        }

    std::vector<half> a(64), b(64);
    for (uint32_t i = 0; i < 64; ++i) {
        a[i] = convert<half>(element(i));
        b[i] = convert<half>(element(7 * i + 5));
    }
    CHECK(launch(program.kernel("fragments")).buffer(0, a).buffer(1, b).buffer(2, y).run({32}, {32}).empty());
    for (uint32_t r = 0; r < 8; ++r)
        for (uint32_t c = 0; c < 8; ++c) {
            float expected = 1;
            for (uint32_t k = 0; k < 8; ++k) expected += element(r * 8 + k) * element(7 * (k * 8 + c) + 5);
            CHECK(y[r * 8 + c] == expected);
        }

    CHECK(launch(program.kernel("filled")).buffer(0, y).run({32}, {32}).empty());
    for (uint32_t lane = 0; lane < 32; ++lane) {
        const uint32_t quad = lane / 4, row = (quad & 4) + lane / 2 % 4, column = (quad & 2) * 2 + lane % 2 * 2;
        for (uint32_t e = 0; e < 2; ++e) {
            CHECK(y[2 * lane + e] == 72.0f);
            CHECK(y[64 + 2 * lane + e] == (row == column + e ? 5.0f : 0.0f));
            CHECK(y[128 + 2 * lane + e] == (row == column + e ? 4.0f : 0.0f));
        }
    }

    std::vector<uint16_t> rounded(64);
    CHECK(launch(program.kernel("half_sums")).buffer(0, rounded).run({32}, {32}).empty());
    for (uint16_t value : rounded) CHECK(value == 0x6800); /* 2048: 2049 is not a half */
}

}  // namespace

int main() {
    metal_program products(source), by_elements(elements_source);
    for (uint32_t n : {64u, 192u}) {
        product<float>(products, "product_float", n);
        product<half>(products, "product_half", n);
        product<bfloat>(products, "product_bfloat", n);
    }
    elements(by_elements);
    return check::report("engine/matrix_test");
}
