// Vector types: layout, construction, conversion, swizzles and operators, against the same done by hand on the host.
#include <cmath>
#include <cstdint>
#include <vector>

#include "check.h"
#include "metal_program.h"

namespace {

// What can be known without running: the compiler checks it.
const char *const layout = R"(
#define LAYOUT(T, size) \
    static_assert(sizeof(T##2) == 2 * size && alignof(T##2) == 2 * size, ""); \
    static_assert(sizeof(T##3) == 4 * size && alignof(T##3) == 4 * size, ""); \
    static_assert(sizeof(T##4) == 4 * size && alignof(T##4) == 4 * size, ""); \
    static_assert(sizeof(packed_##T##2) == 2 * size && alignof(packed_##T##2) == size, ""); \
    static_assert(sizeof(packed_##T##3) == 3 * size && alignof(packed_##T##3) == size, ""); \
    static_assert(sizeof(packed_##T##4) == 4 * size && alignof(packed_##T##4) == size, ""); \
    static_assert(is_same_v<vec<T, 3>, T##3>, "")
LAYOUT(bool, 1);
LAYOUT(char, 1);
LAYOUT(uchar, 1);
LAYOUT(short, 2);
LAYOUT(ushort, 2);
LAYOUT(half, 2);
LAYOUT(bfloat, 2);
LAYOUT(int, 4);
LAYOUT(uint, 4);
LAYOUT(float, 4);
LAYOUT(long, 8);
LAYOUT(ulong, 8);
static_assert(sizeof(float3x2) == 24 && sizeof(float2x3) == 32 && sizeof(float4x4) == 64 && sizeof(half4x4) == 32, "");
static_assert(is_same_v<decltype(float4(1).x), float> && is_same_v<decltype(float4(1).xyz), float3>, "");
static_assert(is_same_v<decltype(float4(1) < float4(2)), bool4>, "");
static_assert(is_same_v<decltype(half4(1) * 2), half4> && is_same_v<decltype(2.0 * float3(1)), float3>, "");
static_assert(is_same_v<decltype(1.0), float> && is_same_v<decltype(1.0h), half> && is_same_v<decltype(1.0bf), bfloat>, "");
static_assert(is_same_v<decltype(max(1.0h, 2.0f)), float> && is_same_v<decltype(min(1, 2u)), uint>, "");
static_assert(is_same_v<decltype(clamp(float4(1), 0.0, 1)), float4> && is_same_v<decltype(exp(half3(1))), half3>, "");
static_assert(!is_convertible_v<int4, float4> && !is_convertible_v<float4, half4> && is_convertible_v<float, float4>, "");
static_assert(is_convertible_v<packed_float3, float3> && is_convertible_v<float3, packed_float3>, "");
static_assert(numeric_limits<half>::max() == 65504.0h && numeric_limits<float>::epsilon() == FLT_EPSILON, "");
static_assert(numeric_limits<int>::min() == INT_MIN && numeric_limits<ulong>::max() == ULONG_MAX, "");
static_assert(numeric_limits<float>::max() == FLT_MAX && numeric_limits<float>::min() == FLT_MIN, "");
static_assert(numeric_limits<uchar>::digits == 8 && numeric_limits<short>::digits10 == 4, "");
)";

const char *const kernels = R"(
kernel void swizzle(device float4 *v, device float *out) {
    float4 a = v[0];
    out[0] = a.wzyx.x;
    out[1] = a.gbar.y;
    out[2] = a.xxyy.z;
    float4 b = a;
    b.xz = b.zx;
    out[3] = b.x, out[4] = b.z;
    b.yzw += float3(10.0f);
    out[5] = b.y, out[6] = b.z, out[7] = b.w;
    b.r++;
    b.a -= 2;
    out[8] = b.r, out[9] = b.a;
    b[2] = 42;
    out[10] = b.z;
    int index = int(a.x);
    out[11] = b[index];
    v[1].xy = a.zw;
    v[1].w = a.x * 2;
    v[2] = float4(a.xy, a.xy).yxwz;
    float3 c = float3(a.x, a.yz);
    c.zyx = c;
    out[12] = c.x, out[13] = c.y, out[14] = c.z;
    float2 d = a.wx;
    d.y *= 3;
    out[15] = d.y;
}
kernel void construct(device float *out) {
    float2 xy(1, 2);
    float3 xyz(1, 2, 3);
    float4 list[] = {float4(5), float4(xy, 3, 4), float4(1, xyz.yz, 4), float4(1, 2, float2(3, 4)), float4(xy, xy), float4(xyz, 4), float4(0, xyz),
                     float4{1, 2, 3, 4}, float4(float3(xy, 3), 4), float4(float3(1, xy), 4)};
    for (int i = 0; i < 10; ++i) {
        for (int j = 0; j < 4; ++j) out[4 * i + j] = list[i][j];
    }
    float4 implicit = 7;
    out[40] = implicit.w;
    out[41] = vec<float, 3>(3).z;
}
kernel void convert(device const float4 *f, device int4 *i, device uchar4 *b, device half4 *h, device bool4 *t, device float4 *back, device char4 *c) {
    i[0] = int4(f[0]);
    b[0] = uchar4(f[1]);
    h[0] = half4(f[0]);
    t[0] = bool4(f[0]);
    back[0] = float4(i[0]);
    back[1] = float4(h[0]);
    back[2] = float4(b[0]);
    back[3] = float4(t[0]);
    back[4] = as_type<float4>(as_type<uint4>(f[0]) ^ 0x80000000u);
    back[5] = float4(bfloat4(f[0]));
    back[6] = float4(float(as_type<half>(ushort(0x3c00))), float(bfloat(1.00390625f)), float(bfloat(3.0f) * bfloat(2.0f)), float(half(1) / half(3)));
    c[0] = char4(int4(-1, 130, 300, -200));
}
kernel void operate(device const int4 *a, device int4 *out, device const float4 *f, device float4 *g) {
    int4 x = a[0], y = a[1];
    out[0] = x + y * 2 - 1;
    out[1] = (x / y) + (x % y);
    out[2] = (x & y) | (x ^ ~y);
    out[3] = (x << 2) >> 1;
    out[4] = int4(x < y) + 2 * int4(x == y) + 4 * int4(!(x > y));
    out[5] = int4(bool4(x) && (y > 3)) + 2 * int4((x > 100) || (y > 3)) + 4 * int4(~(x == y)) + 8 * int4(~~(x < y));
    out[6] = select(x, y, x < y);
    x += 5, x <<= 1, x ^= y;
    out[7] = -x;
    out[8] = int4(any(x > 1000), all(x > -100000), any(y < 0), all(y > 0));
    out[9] = max(x, y) - min(x, 3) + clamp(y, 0, 4) + abs(a[0]);
    float4 p = f[0], q = f[1];
    g[0] = p * q + 2.0f * p - q / 4;
    g[1] = fma(p, q, 1.0f);
    g[2] = select(p, q, isnan(p));
    g[3] = -p + +q;
}
struct Packed { packed_float3 p; float s; packed_half4 h; packed_char4 c; };
kernel void packed(device Packed *v, device float *out) {
    float3 p = v[0].p;
    out[0] = p.x + v[0].p.y + v[0].p[2];
    v[1].p = p * 2;
    v[1].p.y = 100;
    v[1].p.x += 1;
    v[1].s = dot(v[0].p, v[0].p);
    v[1].h = packed_half4(half4(1, 2, 3, 4) * 2);
    float4 c = float4(v[0].c);
    out[1] = c.x + c.y + c.z + c.w;
    v[1].c = packed_char4(char4(c));
    out[2] = (v[0].p + v[1].p).z;
    out[3] = float4(v[0].h).w;
    out[4] = length(float3(v[0].p));
    v[2].p = packed_float3(7, 8, 9);
    v[2].p *= 2.0f;
    v[2].p.xy = v[2].p.xy.yx;
}
kernel void matrices(device float4x4 *m, device float *out, device half4x4 *h) {
    float4x4 a = m[0];
    float4 v(1, 2, 3, 4);
    float4 w = a * v, u = v * a;
    for (int i = 0; i < 4; ++i) out[i] = w[i], out[4 + i] = u[i];
    m[1] = a * a + transpose(a) * 2.0f - float4x4(1.0f);
    out[8] = determinant(float3x3(float3(2, 0, 1), float3(1, 3, 2), float3(1, 1, 4)));
    a[1][2] = 50;
    a[3].xy = float2(-1);
    m[2] = a;
    h[0] = half4x4(m[0]);
    float2x3 r(1, 2, 3, 4, 5, 6);
    float3 s = r * float2(1, 10);
    out[9] = s.x, out[10] = s.y, out[11] = s.z;
    out[12] = float4x4(float4(1), float4(2), float4(3), float4(4))[2].w;
    out[13] = determinant(m[0]);
}
kernel void integers(device const uint *x, device uint *out, uint i [[thread_position_in_grid]]) {
    const uint a = x[2 * i], b = x[2 * i + 1];
    const int s = int(a), t = int(b);
    out += 20 * i;
    out[0] = mulhi(a, b), out[1] = uint(mulhi(s, t));
    out[2] = clz(a), out[3] = ctz(a), out[4] = popcount(a), out[5] = reverse_bits(a);
    out[6] = rotate(a, b), out[7] = addsat(a, b), out[8] = uint(addsat(s, t)), out[9] = subsat(a, b), out[10] = uint(subsat(s, t));
    out[11] = extract_bits(a, 5, 9), out[12] = uint(extract_bits(s, 5, 9)), out[13] = insert_bits(a, b, 7, 11);
    out[14] = hadd(a, b), out[15] = rhadd(a, b), out[16] = absdiff(s, t), out[17] = abs(s);
    out[18] = uint(madsat(s, t, 3)), out[19] = uint(clz(ushort(a)) + popcount(uchar(b)));
}
kernel void pack(device const float4 *f, device uint *word, device float4 *out) {
    word[0] = pack_float_to_unorm4x8(f[0]);
    word[1] = pack_float_to_snorm4x8(f[0]);
    word[2] = pack_float_to_unorm2x16(f[0].xy);
    word[3] = pack_float_to_snorm2x16(f[0].xy);
    out[0] = unpack_unorm4x8_to_float(word[0]);
    out[1] = unpack_snorm4x8_to_float(word[1]);
    out[2] = float4(unpack_unorm2x16_to_float(word[2]), unpack_snorm2x16_to_float(word[3]));
    word[4] = pack_float_to_unorm10a2(f[0]);
    word[5] = pack_float_to_unorm565(f[0].xyz);
    out[3] = unpack_unorm10a2_to_float(word[4]);
    out[4] = float4(unpack_unorm565_to_float(ushort(word[5])), 0);
    const half4 h(f[0]);
    word[6] = pack_half_to_unorm10a2(h), word[7] = pack_half_to_unorm565(h.xyz);
    word[8] = pack_half_to_srgb_unorm4x8(h), word[9] = pack_float_to_srgb_unorm4x8(f[0]);
    out[5] = float4(unpack_unorm10a2_to_half(word[4])) - out[3];
    out[6] = float4(float3(unpack_unorm565_to_half(ushort(word[5]))), 0) - out[4];
    out[7] = float4(unpack_unorm4x8_srgb_to_half(word[9])) - unpack_unorm4x8_srgb_to_float(word[9]);
    const float4 none(f[1].x, 1, -1, f[1].x);
    word[10] = pack_float_to_snorm4x8(none), word[11] = pack_float_to_snorm2x16(none.xy);
    word[12] = pack_half_to_snorm4x8(half4(none)), word[13] = pack_float_to_unorm4x8(none);
    word[14] = pack_float_to_unorm10a2(none), word[15] = pack_float_to_unorm565(none.xyz);
}
)";

class Run {
public:
    Run(metal_program &program, const char *kernel) : launch_(program.kernel(kernel)), name_(kernel) {}
    template <class T> Run &with(std::vector<T> &values) {
        launch_.buffer(index_++, values);
        return *this;
    }
    void threads(uint32_t count) {
        const std::string error = launch_.run({count, 1, 1}, {count < 32 ? count : 32, 1, 1});
        if (!CHECK(error.empty())) std::fprintf(stderr, "%s: %s\n", name_, error.c_str());
    }

private:
    launch launch_;
    const char *name_;
    uint32_t index_ = 0;
};

template <class T> bool equal(const std::vector<T> &got, const std::vector<T> &wanted, const char *what) {
    bool same = got.size() >= wanted.size();
    for (size_t i = 0; same && i < wanted.size(); ++i) {
        if (got[i] == wanted[i]) continue;
        std::fprintf(stderr, "%s: element %zu is %g, wanted %g\n", what, i, double(got[i]), double(wanted[i]));
        same = false;
    }
    return same;
}

void test_swizzles(metal_program &program) {
    std::vector<float> v = {1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0}, out(16);
    Run(program, "swizzle").with(v).with(out).threads(1);
    CHECK(equal(out, {4, 3, 2, 3, 1, 12, 11, 14, 4, 12, 42, 12, 3, 2, 1, 3}, "swizzle"));
    CHECK(equal(v, {1, 2, 3, 4, 3, 4, 0, 2, 2, 1, 2, 1}, "swizzled stores"));
}

void test_construction(metal_program &program) {
    std::vector<float> out(42);
    Run(program, "construct").with(out).threads(1);
    CHECK(equal(out, {5, 5, 5, 5, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 1, 2, 1,
                      2, 3, 4, 0, 1, 2, 3, 1, 2, 3, 4, 1, 2, 3, 4, 1, 1, 2, 4, 7, 3},
                "construction"));
}

void test_conversion(metal_program &program) {
    std::vector<float> f = {-1.75f, 0.0f, 3.99f, 2049.0f, 0, 1.5f, 254.9f, 255}, back(28);
    std::vector<int32_t> i(4);
    std::vector<uint8_t> b(4), t(4);
    std::vector<_Float16> h(4);
    std::vector<int8_t> c(4);
    Run(program, "convert").with(f).with(i).with(b).with(h).with(t).with(back).with(c).threads(1);
    CHECK(equal(i, {-1, 0, 3, 2049}, "float to int"));
    CHECK(equal(b, {0, 1, 254, 255}, "float to uchar"));
    CHECK(equal(h, {_Float16(-1.75f), _Float16(0), _Float16(3.99f), _Float16(2048)}, "float to half"));
    CHECK(equal(t, {1, 0, 1, 1}, "float to bool"));
    CHECK(equal(c, {-1, int8_t(130), int8_t(300), int8_t(-200)}, "int to char"));
    CHECK(equal(back, {-1,   0,         3,     2049,  -1.75f, 0,     float(_Float16(3.99f)),
                       2048, 0,         1,     254,   255,    1,     0,
                       1,    1,         1.75f, -0.0f, -3.99f, -2049, -1.75f,
                       0,    3.984375f, 2048,  1,     1,      6,     float(_Float16(1) / _Float16(3))},
                "back to float"));
}

void test_operators(metal_program &program) {
    std::vector<int32_t> a = {7, -9, 4, 100, 2, 4, 4, -3}, out(40);
    std::vector<float> f = {1, 2, NAN, -4, 0.5f, 8, 3, 2}, g(16);
    Run(program, "operate").with(a).with(out).with(f).with(g).threads(1);
    std::vector<int32_t> wanted(40);
    for (size_t k = 0; k < 4; ++k) {
        const int x = a[k], y = a[4 + k];
        wanted[k] = x + y * 2 - 1;
        wanted[4 + k] = x / y + x % y;
        wanted[8 + k] = (x & y) | (x ^ ~y);
        wanted[12 + k] = int(unsigned(x) << 2) >> 1;
        wanted[16 + k] = (x < y) + 2 * (x == y) + 4 * !(x > y);
        wanted[20 + k] = (x && y > 3) + 2 * (x > 100 || y > 3) + 4 * (x != y) + 8 * (x < y);
        wanted[24 + k] = x < y ? y : x;
        const int z = int(unsigned(x + 5) << 1) ^ y;
        wanted[28 + k] = -z;
        wanted[36 + k] = std::max(z, y) - std::min(z, 3) + std::min(std::max(y, 0), 4) + std::abs(x);
        const float p = f[k], q = f[4 + k];
        const float sums[] = {p * q + 2 * p - q / 4, std::fma(p, q, 1.0f), std::isnan(p) ? q : p, -p + q};
        for (size_t j = 0; j < 4; ++j) {
            const float got = g[4 * j + k];
            CHECK(std::isnan(sums[j]) ? std::isnan(got) : std::fabs(got - sums[j]) <= 1e-6f * std::fabs(sums[j]));
        }
    }
    wanted[32] = 0, wanted[33] = 1, wanted[34] = 1, wanted[35] = 0;
    CHECK(equal(out, wanted, "integer operators"));
}

void test_packed(metal_program &program) {
    struct Packed {
        float p[3];
        float s;
        _Float16 h[4];
        int8_t c[4];
    };
    std::vector<Packed> v(3);
    v[0] = {{1, 2, 3}, 9, {_Float16(1), _Float16(2), _Float16(3), _Float16(4)}, {-1, 2, -3, 4}};
    std::vector<float> out(5);
    Run(program, "packed").with(v).with(out).threads(1);
    CHECK(equal(out, {6, 2, 9, 4, std::sqrt(14.0f)}, "packed"));
    CHECK(v[1].p[0] == 3 && v[1].p[1] == 100 && v[1].p[2] == 6 && v[1].s == 14);
    CHECK(float(v[1].h[3]) == 8 && v[1].c[0] == -1 && v[1].c[3] == 4);
    CHECK(v[2].p[0] == 16 && v[2].p[1] == 14 && v[2].p[2] == 18);
}

void test_matrices(metal_program &program) {
    std::vector<float> m(48), out(14);
    const float elements[16] = {1, 2, 0, 1, 3, 1, 2, 0, 0, 4, 1, 2, 2, 0, 1, 3};
    for (size_t i = 0; i < 16; ++i) m[i] = elements[i];
    std::vector<_Float16> h(16);
    Run(program, "matrices").with(m).with(out).with(h).threads(1);
    const auto a = [&](size_t column, size_t row) { return elements[4 * column + row]; };
    for (size_t i = 0; i < 4; ++i) {
        float across = 0, down = 0;
        for (size_t k = 0; k < 4; ++k) across += a(k, i) * float(k + 1), down += a(i, k) * float(k + 1);
        CHECK(out[i] == across && out[4 + i] == down);
        for (size_t j = 0; j < 4; ++j) {
            float product = 2 * a(j, i) - (i == j);
            for (size_t k = 0; k < 4; ++k) product += a(k, j) * a(i, k);
            CHECK(m[16 + 4 * i + j] == product);
            const float stored = i == 1 && j == 2 ? 50 : i == 3 && j < 2 ? -1 : a(i, j);
            CHECK(m[32 + 4 * i + j] == stored && float(h[4 * i + j]) == a(i, j));
        }
    }
    CHECK(out[8] == 18 && out[9] == 41 && out[10] == 52 && out[11] == 63 && out[12] == 3);
    CHECK(out[13] == -43);
}

void test_integers(metal_program &program) {
    std::vector<uint32_t> x = {0,          0,          1,          31,         0xffffffff, 2,  0x80000000,
                               0x80000000, 0x12345678, 0x9abcdef0, 0x7fffffff, 5,          77, 0xfffffff0};
    std::vector<uint32_t> out(20 * x.size() / 2);
    Run(program, "integers").with(x).with(out).threads(uint32_t(x.size() / 2));
    for (size_t i = 0; i < x.size() / 2; ++i) {
        const uint32_t a = x[2 * i], b = x[2 * i + 1];
        const auto s = int64_t(int32_t(a)), t = int64_t(int32_t(b));
        const auto bound = [](int64_t v) {
            return uint32_t(int32_t(std::min<int64_t>(std::max<int64_t>(v, INT32_MIN), INT32_MAX)));
        };
        uint32_t reversed = 0, ones = 0, leading = 32, trailing = 32;
        for (uint32_t bit = 0; bit < 32; ++bit) {
            if (!(a >> bit & 1)) continue;
            reversed |= 0x80000000u >> bit, ++ones, leading = 31 - bit;
            if (trailing == 32) trailing = bit;
        }
        const uint32_t n = b % 32;
        std::vector<uint32_t> wanted = {uint32_t(uint64_t(a) * b >> 32),
                                        uint32_t(uint64_t(s * t) >> 32),
                                        leading,
                                        trailing,
                                        ones,
                                        reversed,
                                        n ? a << n | a >> (32 - n) : a,
                                        uint32_t(std::min<uint64_t>(uint64_t(a) + b, 0xffffffff)),
                                        bound(s + t),
                                        a > b ? a - b : 0,
                                        bound(s - t),
                                        a >> 5 & 0x1ff,
                                        uint32_t(int32_t(a << 18) >> 23),
                                        (a & ~(0x7ffu << 7)) | (b & 0x7ff) << 7,
                                        uint32_t((uint64_t(a) + b) / 2),
                                        uint32_t((uint64_t(a) + b + 1) / 2),
                                        uint32_t(std::llabs(s - t)),
                                        uint32_t(std::llabs(s)),
                                        bound(s * t + 3)};
        uint32_t short_leading = 16, byte_ones = 0;
        for (uint32_t bit = 0; bit < 16; ++bit) short_leading = a >> bit & 1 ? 15 - bit : short_leading;
        for (uint32_t bit = 0; bit < 8; ++bit) byte_ones += b >> bit & 1;
        wanted.push_back(short_leading + byte_ones);
        CHECK(equal(std::vector<uint32_t>(out.begin() + long(20 * i), out.begin() + long(20 * i + 20)), wanted,
                    "integer functions"));
    }
}

void test_packing(metal_program &program) {
    std::vector<float> f = {0.5f, -0.25f, 1.5f, 0.75f, NAN, 0, 0, 0}, out(32);
    std::vector<uint32_t> word(16);
    Run(program, "pack").with(f).with(word).with(out).threads(1);
    CHECK(word[0] == 0xbfff0080u);
    CHECK(word[1] == 0x5f7fe040u);
    CHECK(word[2] == 0x00008000u);
    CHECK(word[3] == 0xe0004000u);
    CHECK(word[4] == (512u | 0u << 10 | 1023u << 20 | 2u << 30));
    CHECK(word[5] == (16u | 0u << 5 | 31u << 11));
    const float wanted[] = {128 / 255.0f,
                            0,
                            1,
                            191 / 255.0f,
                            64 / 127.0f,
                            -32 / 127.0f,
                            1,
                            95 / 127.0f,
                            32768 / 65535.0f,
                            0,
                            16384 / 32767.0f,
                            -8192 / 32767.0f,
                            512 / 1023.0f,
                            0,
                            1,
                            2 / 3.0f,
                            16 / 31.0f,
                            0,
                            1,
                            0};
    for (size_t i = 0; i < 20; ++i) CHECK(std::fabs(out[i] - wanted[i]) < 1e-6f);
    // Halves, as floats are. 188 is 0.5 on the curve of sRGB.
    CHECK(word[6] == word[4] && word[7] == word[5] && word[8] == word[9] && word[9] == 0xbfff00bcu);
    for (size_t i = 20; i < 32; ++i) CHECK(std::fabs(out[i]) < 2.5e-4f);
    // NaN is zero.
    CHECK(word[10] == 0x00817f00u && word[11] == 0x7fff0000u && word[12] == 0x00817f00u);
    CHECK(word[13] == 0x0000ff00u && word[14] == 1023u << 10 && word[15] == 63u << 5);
}

}  // namespace

int main() {
    metal_program program(std::string(layout) + kernels);
    test_swizzles(program);
    test_construction(program);
    test_conversion(program);
    test_operators(program);
    test_packed(program);
    test_matrices(program);
    test_integers(program);
    test_packing(program);
    return check::report("msl/vector_test");
}
