// Components of vectors where clang has its faults: in templates, and the fourth that vectors of three have in memory.
#include <cstdint>
#include <string>
#include <vector>

#include "check.h"
#include "metal_program.h"
#include "msl/translate.h"

namespace {

// Clang 19 has no place for a compound assignment to a property that depends on a template's parameters, and crashes
// over some of them: none is left to it.
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
    CHECK(dispatch(program.kernel("run")).buffer(0, at).buffer(1, out).run({1}, {1}).empty());
    CHECK((at == std::vector<float>{2, 2, 6, 6}));
    CHECK(out[0] == 1 + 30 + 600 + 16000 + 1200000);
}

// Clang stores a fourth component that is poison, and what such vectors are copied by, whole integers, was poison with
// it: branches on other values went.
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
    CHECK(dispatch(program.kernel("run")).buffer(0, out).buffer(1, in).buffer(2, bytes).run({64}, {64}).empty());
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
    test_fourth_components();
    return check::report("msl_components_test");
}
