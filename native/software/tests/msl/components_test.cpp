// Components of vectors where clang has its faults: in templates, and the fourth that vectors of three have in memory.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "check.h"
#include "metal_program.h"
#include "msl/translate.h"
#include "results.h"

namespace {

// What follows the components decides nothing, nor does whether a lambda is the template.
void test_right_operands_in_templates() {
    expect("right operands",
           results_of(R"(
template <class T> T scaled(vec<T, 4> v, T s, device float *x) {
    vec<T, 2> r = s * v.xy;
    r += s * (v.zw);
    x[1] = (2 * v.xyz).z;
    x[2] = dot(v.x * v.xy, r);
    x[3] = (v[1] * v.wz).x;
    return r.x;
}
template <class T> uint masked(vec<T, 2> v, T s) { return (s & v.yx).x + 100 * (s | v.xy).y; }
kernel void k(device float *x) {
    x[0] = scaled(float4(1, 2, 3, 4), 10.0f, x);
    x[4] = masked(uint2(12, 10), 6u);
    const auto product = [&](auto a) { return a.xy * a.yx; };
    x[5] = product(float4(3, 4, 5, 6)).x;
}
)",
                      6),
           {40, 6, 40 + 2 * 60, 8, 2 + 100 * 14, 12});
}

// Clang 19 cannot represent a compound assignment to a property that depends on a template's parameters, and crashes on
// some. The translation leaves it none.
void test_components_in_templates() {
    const std::string source = R"(
struct pair { float4 v; float2 w[2]; int x; };
template <typename T> struct adder {
    pair p;
    adder(T a) : p{float4(1), {float2(2), float2(3)}, 4} { p.v.yx -= a; p.w[1].y *= a; p.x <<= int(a); }
    void add(T a) { p.v.wzyx += a; }
};
template <typename T> static float sum(T a, device float4 *at) {
    adder<T> made(a);
    made.add(a);
    at->xz *= a, at[0].w += a;
    uchar4 bits = 3;
    bits.garb <<= uchar4(uchar(a)) % uchar4(63);
    return made.p.v.x + made.p.v.w * 10 + made.p.w[1].y * 100 + made.p.x * 1000 + bits.a * 100000;
}
kernel void run(device float4 *at [[buffer(0)]], device float *out [[buffer(1)]]) { *out = sum(2.0f, at); }
)";
    for (const char *operation : {"-=", "+=", "*=", "<<="})
        CHECK(smtl::msl::translate(source).text.find(operation) == std::string::npos);
    metal_program program(source);
    std::vector<float> at{1, 2, 3, 4}, out(1);
    CHECK(launch(program.kernel("run")).buffer(0, at).buffer(1, out).run({1}, {1}).empty());
    CHECK((at == std::vector<float>{2, 2, 6, 6}));
    CHECK(out[0] == 1 + 30 + 600 + 16000 + 1200000);
}

// Both operands of an operator, with every operator of vectors, however the left one is written.
void test_operands_in_templates() {
    metal_program program(R"(
struct pair { float2 xy; float4 v[2]; };
template <class T> T id(T x) { return x; }
template <class T, int N> T add(vec<T, N> p, vec<T, N> q) {
    pair s = {float2(1, 2), {float4(3, 4, 5, 6), float4(7)}};
    thread pair *r = &s;
    T sum = 0;
    vec<T, 2> w = p.xy * q.yx + p.zw / q.rg;
    sum += w.x + w.y;
    w = sum > 0 ? p.xy * 2 : q.zw * p.xy;
    sum += w.x + w.y;
    w = (p).xy - id<vec<T, N>>(q).wz * metal::max(p, q).yx + vec<T, N>(p).xz + p.xyzw.zw - q.xx;
    sum += w.x + w.y;
    sum += (-p.xy * q.xy + r->v[N - 4].xy * q.zw).y + (r->xy + p.xy).x + (r->v[0].yx + p.xy - q.xy).y;
    sum += (p.xy < q.xy).x + (p.xy == q.wz).y + (p.xyz >= q.zyx).z + (p.xy != q.xy && p.xy > q.yy).x;
    w.xy += p.zw, w.yx -= q.xy;
    return sum + w.x * 100 + w.y * 1000;
}
template <class T> int bits(T p, T q) {
    T r = p;
    r.yx |= q.xy;
    r.xy <<= q.xy & q.yx;
    const auto m = (p.xy & q.yx) + (p.xy | q.xy) - (p.yx ^ q.xy) + p.xy % q.xy + (p.xy << q.yx) + (p.yx >> q.xy);
    return m.x + m.y * 100 + r.x * 10000 + r.y * 1000000;
}
kernel void run(device float *out [[buffer(0)]], device int *n [[buffer(1)]]) {
    *out = add(float4(1, 2, 3, 4), float4(5, 6, 7, 8));
    *n = bits(int2(12, 5), int2(3, 6)) + bits(uchar2(12, 5), uchar2(3, 6));
}
)");
    std::vector<float> out(1);
    std::vector<int> bits(1);
    CHECK(launch(program.kernel("run")).buffer(0, out).buffer(1, bits).run({1}, {1}).empty());
    // The same by hand: p = (1, 2, 3, 4), q = (5, 6, 7, 8).
    const float first = 1 * 6 + 3.0f / 5 + 2 * 5 + 4.0f / 6, doubled = 1 * 2 + 2 * 2;
    const float x = 1 - 8 * 6 + 1 + 3 - 5, y = 2 - 7 * 5 + 3 + 4 - 5;
    const float mixed = (-2 * 6 + 4 * 8) + (1 + 1) + (3 + 2 - 6), compared = 1 + 0 + 0 + 0;
    const float expected = first + doubled + x + y + mixed + compared + (x + 3 - 6) * 100 + (y + 4 - 5) * 1000;
    CHECK(std::abs(out[0] - expected) < std::abs(expected) * 1e-5f);
    const int m_x = (12 & 6) + (12 | 3) - (5 ^ 3) + 12 % 3 + (12 << 6) + (5 >> 3);
    const int m_y = (5 & 3) + (5 | 6) - (12 ^ 6) + 5 % 6 + (5 << 3) + (12 >> 6);
    const int r_x = (12 | 6) << (3 & 6), r_y = (5 | 3) << (6 & 3);
    const int bytes_x = ((12 & 6) + (12 | 3) - (5 ^ 3) + 12 % 3 + (12 << 6) + (5 >> 3)) & 255;
    CHECK(bits[0] == m_x + m_y * 100 + r_x * 10000 + r_y * 1000000 + bytes_x + m_y * 100 + r_x * 10000 + r_y * 1000000);
}

// A parenthesis behind a comparison is an operand of its own.
void test_compared_operands() {
    const std::vector<float> found = results_of(R"(
template <class T> int compared(vec<T, 2> a, vec<T, 2> b, vec<T, 2> c, vec<T, 3> v, T s) {
    bool2 r = a < b & c > (v).xy == bool2(false);
    bool2 q = c > (v).xy + s == bool2(true);
    bool2 p = s < s | 8 > (v).xy - 1;
    return r.x + r.y * 2 + q.x * 4 + q.y * 8 + p.x * 16 + p.y * 32 + (metal::max<T>(a.x, 9) > (v).xy * 2).x * 64;
}
kernel void k(device float *a) { a[0] = compared(int2(1, 5), int2(2), int2(9, 0), int3(7, 1, 1), 1); }
)",
                                                1);
    expect("compared operands", found, {4 + 16 + 32});
}

// Components of components are components of the vector, unless the source has members with such a name.
void test_components_of_components() {
    const std::vector<float> found = results_of(R"(
struct own { float4 yzw; };
template <class T> void raise(thread T &v) { v.xyzw.zy.x *= 10; ++v.wx.y; }
kernel void k(device float4 *a) {
    float4 v = float4(1, 2, 3, 4);
    v.wzyx.xy = float2(8, 7);
    v.bgr.bg.r -= 5;
    raise(v);
    a[0] = v;
    float4x4 m = float4x4(1);
    m[1].xzw.zx += float2(3, 4);
    a[1] = m[1];
    own o = {float4(1, 2, 3, 4)};
    o.yzw.x = 9;
    o.yzw.wzyx.xy++;
    a[2] = o.yzw;
    packed_float3 p(1, 2, 3);
    p.zyx.xz = p.xy.yx;
    a[3] = float4(p, 0);
}
)",
                                                16);
    expect("components of components", found, {-3, 2, 70, 8, 4, 1, 0, 3, 9, 2, 4, 5, 1, 2, 2, 0});
}

// Members with the names of components have operators of their own, which do not do what `+` and `<<` do.
void test_own_members() {
    const std::vector<float> found = results_of(R"(
struct saturating {
    uchar v;
    thread saturating &operator=(uint n) { v = n; return *this; }
    thread saturating &operator+=(uint n) { v = v + n > 255 ? 255 : v + n; return *this; }
    void operator-=(int n) { v = v < n ? 0 : v - n; }
    thread saturating &operator<<(uint n) { v += n; return *this; }
    uint operator>>(uint n) { return v++ + n; }
};
struct pixel { saturating x, y, xy; uint4 w; uint rg : 4; };
template <class T> uint in_template(T n) {
    pixel p = {{100}, {100}, {7}, uint4(1), 3};
    p.x += n, p.y -= n;
    p.w.x += n, p.w.yz -= n / n;
    p.xy << 3 << 4;
    const uint read = p.xy >> n;
    return p.x.v * 1000000 + p.y.v * 100000 + p.w.x * 100 + p.w.y + p.w.z + p.xy.v * 10000 + (p.rg + n - read + 14);
}
kernel void k(device float *a) {
    pixel p = {{100}, {100}, {7}, uint4(1), 3};
    p.x += 200, p.y -= 200;
    p.w.x += 6, p.w.yz -= uint2(1);
    a[0] = p.x.v; a[1] = p.y.v; a[2] = p.w.x;
    const uint all = in_template(200u);
    a[3] = all / 1000000; a[4] = all % 1000000;
}
)",
                                                5);
    expect("own members", found, {255, 0, 7, 255, 15 * 10000 + 20100 + 3});
}

// The parameter of a template that stands for a vector's length may have any integer type, as of Metal's own vectors.
void test_deduced_lengths() {
    const std::vector<float> found = results_of(R"(
template <class T, int N> T of_int(vec<T, N> v) { return v[N - 1]; }
template <class T, uint N> T of_uint(vec<T, N> v) { return v[N - 1]; }
template <class T, size_t N> T of_size(const device vec<T, N> &v) { return v[N - 1]; }
template <class T, short N> T of_short(vec<T, N> v, vec<int, N> w) { return v[N - 1] * T(w[0]); }
template <class T, uint N> T of_packed(packed_vec<T, N> v) { return v[N - 1]; }
template <class T, uint N> vec<T, 2 * N> twice(vec<T, N> v) { return vec<T, 2 * N>(v, v); }
template <uint N> float length_of(vec<float, N>) { return N; }
template <class T> struct extent_of { enum { value = 1 }; };
template <class T, uint N> struct extent_of<vec<T, N>> { enum { value = N }; };
template <class Op, class T> struct operation { T operator()(T a, T b) { return a + b; } };
template <class Op, class T, uint N> struct operation<Op, vec<T, N>> {
    vec<T, N> operator()(vec<T, N> a, vec<T, N> b) { return a * b; }
};
template <template <class, int> class V, class T> V<T, 2> made(T x) { return V<T, 2>(x); }
kernel void k(device float *a) {
    device float3 *v = reinterpret_cast<device float3 *>(a + 4);
    v[0] = float3(1, 2, 3);
    a[0] = of_int(v[0]) + of_uint(v[0]) + of_size(v[0]) + of_short(v[0], int3(5));
    a[1] = of_packed(packed_half4(1, 2, 3, 4)) + twice(float2(5, 6)).w;
    a[2] = extent_of<float4>::value + extent_of<float>::value + operation<int, int2>()(int2(2), int2(5)).x;
    a[3] = length_of(v[0]) + made<vec>(7.0f).y + made<packed_vec>(half(8)).y;
}
)",
                                                8);
    expect("deduced lengths", found, {3 + 3 + 3 + 15, 4 + 6, 4 + 1 + 10, 3 + 7 + 8});
}

// Clang stores a fourth component that is poison. Copies of such vectors as whole integers became poison too, and clang
// then removed branches on other values.
void test_fourth_components() {
    metal_program program(R"(
kernel void run(device int *out [[buffer(0)]], device const float4 *in [[buffer(1)]], device const uchar *bytes [[buffer(2)]],
                uint i [[thread_position_in_grid]]) {
    const half4 half_in = half4(in[i & 3]);
    uchar3 v(min(bytes[i] & 1 ? uchar3(uchar(0xff)) : uchar3(uchar(73)), uchar3(uchar(0)) ^ uchar(i)));
    if ((half4(in[i & 3]) != half4(in[4])).x) v = (v / ((v & uchar3(63)) + uchar3(1))).xyy;
    out[i * 6] = v.x;
    out[i * 6 + 1] = v.y + v.z;
    short3 w = short3(short(i)) * short3(2);
    if ((half4(in[i & 3]) != half4(in[4]))[i & 3]) w = -(i & 8 ? w : w + short3(1)).zyx;
    out[i * 6 + 2] = w.x;
    char3 c = char3(char(i));
    if ((half4(in[i & 3]) != half4(in[4]))[i & 3]) c = -(i & 1 ? c : c + char3(1));
    out[i * 6 + 3] = c.x;
    half3 h = half3(half(i));
    if ((half_in != half4(in[4]))[i & 3]) h = h.zxy / (h + half3(1));
    out[i * 6 + 4] = h.x < 1;
    float3 f = float3(i);
    if ((half_in != half4(in[4]))[i & 3]) f = f.zxy + 1;
    out[i * 6 + 5] = f.z;
}
)");
    std::vector<float> in(20);
    for (std::size_t k = 0; k < 20; ++k) in[k] = float(k);
    std::vector<uint8_t> bytes(64);
    std::vector<int> out(64 * 6);
    CHECK(launch(program.kernel("run")).buffer(0, out).buffer(1, in).buffer(2, bytes).run({64}, {64}).empty());
    for (int i = 0; i < 64; ++i) {
        const int v = i / ((i & 63) + 1);
        CHECK(out[i * 6] == v && out[i * 6 + 1] == 2 * v);
        CHECK(out[i * 6 + 2] == -(i & 8 ? 2 * i : 2 * i + 1));
        CHECK(out[i * 6 + 3] == -(i & 1 ? i : i + 1));
        CHECK(out[i * 6 + 4] == 1 && out[i * 6 + 5] == i + 1);
    }
}

}  // namespace

int main() {
    test_components_in_templates();
    test_operands_in_templates();
    test_right_operands_in_templates();
    test_compared_operands();
    test_components_of_components();
    test_own_members();
    test_deduced_lengths();
    test_fourth_components();
    return check::report("msl/components_test");
}
