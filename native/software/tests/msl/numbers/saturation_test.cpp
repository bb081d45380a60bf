// Conversions from floating-point numbers to integers saturate, and NaN gives 0, in whatever form a program has them
// and whether the compiler or the kernel computes them.
#include <cmath>
#include <limits>

#include "bfloats.h"
#include "check.h"
#include "compiled_source.h"

namespace {

struct integer_type {
    const char *name;
    bool is_signed;
    int bits;
};
const std::vector<integer_type> integers = {{"char", true, 8},     {"uchar", false, 8}, {"short", true, 16},
                                            {"ushort", false, 16}, {"int", true, 32},   {"uint", false, 32},
                                            {"long", true, 64},    {"ulong", false, 64}};
const std::vector<std::string> floats = {"float", "half", "bfloat"};

// The edges of every type: powers of two and their neighbours, halves, and values that are not numbers.
std::vector<float> edges() {
    std::vector<float> values = {0.0f,
                                 -0.0f,
                                 0.25f,
                                 -0.25f,
                                 0.999f,
                                 -0.999f,
                                 1.0f,
                                 -1.0f,
                                 3.99e9f,
                                 -3.99e9f,
                                 65504.0f,
                                 -65504.0f,
                                 1e38f,
                                 -1e38f,
                                 std::numeric_limits<float>::denorm_min(),
                                 std::numeric_limits<float>::max(),
                                 std::numeric_limits<float>::lowest(),
                                 INFINITY,
                                 -INFINITY,
                                 NAN,
                                 -NAN};
    for (const int exponent : {7, 8, 15, 16, 31, 32, 63, 64}) {
        for (const float power : {std::ldexp(1.0f, exponent), -std::ldexp(1.0f, exponent)}) {
            for (const float near : {power, std::nextafter(power, 0.0f), std::nextafter(power, power * 2), power - 1,
                                     power + 1, power - 0.5f, power + 0.5f}) {
                values.push_back(near);
            }
        }
    }
    return values;
}

// The value as the type holds it: exact, as the integer that the conversion gives, sign extended or not.
std::uint64_t saturated(float value, const integer_type &type) {
    const double most = std::ldexp(1.0, type.bits - (type.is_signed ? 1 : 0)), least = type.is_signed ? -most : 0.0;
    const std::uint64_t ones = ~std::uint64_t(0) >> (64 - type.bits);
    if (std::isnan(value)) return 0;
    if (value >= most) return type.is_signed ? ones >> 1 : ones;
    if (value <= least) return type.is_signed ? ~(ones >> 1) : 0;
    return type.is_signed ? std::uint64_t(std::int64_t(value)) : std::uint64_t(value);
}

// Each form converts `v` of type F to I; x is the result.
struct form {
    const char *name, *text;
};
const std::vector<form> forms = {
    {"functional", "x = I(v);"},
    {"cast", "x = (I)v;"},
    {"static_cast", "x = static_cast<I>(v);"},
    {"implicit", "x = v;"},
    {"argument", "x = same<I>(v);"},
    {"result", "x = converted<I>(v);"},
    {"vector2", "x = vec<I, 2>(vec<F, 2>(F(0), v)).y;"},
    {"vector3", "x = vec<I, 3>(vec<F, 3>(F(0), F(0), v)).z;"},
    {"vector4", "x = vec<I, 4>(vec<F, 4>(F(0), F(0), F(0), v)).w;"},
    // The same for unsigned types, whose least value is chosen.
    {"chosen", "const bool all = I(-1) < I(0); x = I(all || !(v < F(0)) ? v : F(0));"},
    {"component", "vec<I, 4> t = vec<I, 4>(0); t.z = v; x = t[2];"},
};

void run_kernels() {
    std::string source =
        head +
        "template <class I> I same(I v) { return v; }\ntemplate <class I, class F> I converted(F v) { return v; }\n";
    for (const std::string &from : floats) {
        for (const integer_type &to : integers) {
            source +=
                "kernel void " + from + "_to_" + to.name +
                "(device const float *in [[buffer(0)]], device ulong *out [[buffer(1)]], constant uint &n [[buffer(2)]], "
                "uint i [[thread_position_in_grid]]) {\n    typedef " +
                from + " F; typedef " + to.name + " I; const F v = F(in[i]); I x;\n";
            for (std::size_t f = 0; f < forms.size(); ++f) {
                source += std::string("    { ") + forms[f].text + " out[" + std::to_string(f) +
                          " * n + i] = ulong(long(x)); }\n";
            }
            source += "}\n";
        }
    }
    metal_program program(source.substr(head.size()));
    std::vector<float> in = edges();
    auto n = std::uint32_t(in.size());
    for (const std::string &from : floats) {
        for (const integer_type &to : integers) {
            std::vector<std::uint64_t> out(n * forms.size());
            launch work(program.kernel(from + "_to_" + to.name));
            CHECK(work.buffer(0, in).buffer(1, out).constant(2, n).run({n, 1, 1}, {n, 1, 1}).empty());
            for (std::size_t f = 0; f < forms.size(); ++f) {
                for (std::uint32_t i = 0; i < n; ++i) {
                    float value = in[i];
                    if (from == "half") value = float(_Float16(value));
                    if (from == "bfloat") value = to_bfloat(value);
                    const std::uint64_t got = out[f * n + i], expected = saturated(value, to);
                    if (got != expected)
                        std::fprintf(stderr, "%s to %s, %s of %a: %llx, not %llx\n", from.c_str(), to.name,
                                     forms[f].name, double(value), static_cast<unsigned long long>(got),
                                     static_cast<unsigned long long>(expected));
                    CHECK(got == expected);
                }
            }
        }
    }
}

// What the compiler computes: constants of the program, and values that it finds out.
void fold_constants() {
    std::string source =
        head +
        "constant int a = int(3.99e9f); constant uint b = uint(-1.0f); constant int c = int(NAN); constant int4 d = int4(float4(1e10f, -1e10f, NAN, 7.9f));\n"
        "constant char e = char(300.0f);\n"
        "kernel void f(device int *out [[buffer(0)]]) {\n"
        "    out[0] = a; out[1] = int(b); out[2] = c; out[3] = d.x; out[4] = d.y; out[5] = d.z; out[6] = d.w; out[7] = e;\n"
        "    const float big = 3.99e9f, nan = NAN; out[8] = int(big); out[9] = int(nan); out[10] = int(uint(-big)); out[11] = short(big);\n"
        "    int table[2] = {int(-big), uchar(big)}; out[12] = table[0]; out[13] = table[1];\n"
        "    out[14] = as_type<int>(big); out[15] = int(half(70000.0f)); }\n";
    const int most = std::numeric_limits<int>::max(), least = std::numeric_limits<int>::min();
    metal_program program(source.substr(head.size()));
    std::vector<int> out(16, 55);
    launch work(program.kernel("f"));
    CHECK(work.buffer(0, out).run({1, 1, 1}, {1, 1, 1}).empty());
    const float big = 3.99e9f;
    int bits;
    std::memcpy(&bits, &big, sizeof bits);
    const std::vector<int> expected = {most, 0, 0, most, least, 0, 7, 127, most, 0, 0, 32767, least, 255, bits, most};
    for (std::size_t i = 0; i < expected.size(); ++i) {
        if (out[i] != expected[i]) std::fprintf(stderr, "constant %zu: %d, not %d\n", i, out[i], expected[i]);
        CHECK(out[i] == expected[i]);
    }
}

}  // namespace

int main() {
    run_kernels();
    fold_constants();
    return check::report("msl/numbers/saturation_test");
}
