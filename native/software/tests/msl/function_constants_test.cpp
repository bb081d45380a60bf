// Values of function constants, and constants that are made of them: orders, conditions, structures, errors.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "check.h"
#include "compiled_source.h"

namespace {

float result_of(const std::string &source, const std::vector<smtl_constant_value> &values,
                std::string *error = nullptr) {
    const compiled library(
        head + "constant int n [[function_constant(0)]];\nconstant bool flag [[function_constant(1)]];\n" + source);
    std::vector<float> a(1, -1);
    const std::string path = library.library ? library.specialize("k", values, error) : "";
    if (!library.library && error) *error = library.log;
    if (path.empty() || !run(path, {&a}, 1).empty())
        std::fprintf(stderr, "%s%s\n", library.log.c_str(), error ? error->c_str() : "");
    return a[0];
}

void test_orders() {
    const std::string given = "constant bool given = is_function_constant_defined(n);\n";
    const std::vector<smtl_constant_value> three = {constant(0, type_int, 3)}, other = {constant(1, type_bool, 1)};
    const std::string chain = given + "constant int m = given ? n * 2 + 1 : 4;\n",
                      read = "kernel void k(device float *a) { a[0] = m; }\n";
    CHECK(result_of(chain + read, three) == 7);
    CHECK(result_of(chain + read, other) == 4);
    // Something else makes clang evaluate `m` first.
    const std::string early = chain + "constant float2 v = float2(m);\nconstant int w = int(v.x) + m;\n";
    CHECK(result_of(early + "kernel void k(device float *a) { a[0] = w; }\n", three) == 14);
    CHECK(result_of(early + "kernel void k(device float *a) { a[0] = w * 100 + given; }\n", other) == 800);
    const std::string object =
        "struct Made { int v; Made(int a) : v(a) {} };\n" + chain + "constant Made made = Made(m);\n";
    CHECK(result_of(object + read, three) == 7);
    CHECK(result_of(object + "kernel void k(device float *a) { a[0] = made.v; }\n", three) == 7);
    // Without a function constant.
    CHECK(
        result_of(
            "float root(float x) { return sqrt(x); }\nconstant float r = root(16);\nconstant float s = r * 2;\nconstant float2 t = float2(s);\nkernel void k(device float *a) { a[0] = t.y + s; }\n",
            {}) == 16);
    // A kernel reads a constant without a value by way of another constant.
    std::string error;
    (void)result_of("constant float4 v = float4(n);\n" +
                        std::string("kernel void k(device float *a) { a[0] = v.x; }\n"),
                    {}, &error);
    CHECK(error.find("function constant 'n' (index 0) has no value") != std::string::npos);
    CHECK(result_of("constant float4 v = float4(n + 2);\nkernel void k(device float *a) { a[0] = v.x; }\n", other) ==
          2);
    // A constant whose value depends on itself is an error.
    error.clear();
    (void)result_of(
        "int f(int i);\nconstant int x = f(0) + n;\nint f(int i) { return i ? x : 5; }\nkernel void k(device float *a) { a[0] = x; }\n",
        three, &error);
    CHECK(error.find("constant expression") != std::string::npos);
}

// One declaration has several, each with its own attribute.
void test_declarations() {
    const std::string source = R"(
namespace inner { constant static float2 x [[function_constant(2)]], y [[function_constant(3)]]; }
constant ::metal::vec<short, 2> s [[function_constant(4)]], unset [[function_constant(5)]], t [[function_constant(6)]];
constant bool has_s = is_function_constant_defined(s), has_unset = is_function_constant_defined(unset);
constant int sum = n + (flag ? 100 : 200);
kernel void k(device float *a [[function_constant(has_s)]]) {
    a[0] = sum + inner::x.x * 10 + inner::y.y * 1000 + (has_unset ? 0 : s.y * 10000) + t.x * 100000;
}
)";
    const auto vector_of = [](std::uint32_t index, std::uint32_t type, auto x, auto y) {
        const decltype(x) values[2] = {x, y};
        smtl_constant_value value{nullptr, index, type, {}};
        std::memcpy(value.bytes, values, sizeof(values));
        return value;
    };
    constexpr std::uint32_t type_float2 = 4, type_short2 = 38;
    const std::vector<smtl_constant_value> values = {constant(0, type_int, 3),
                                                     constant(1, type_bool, 1),
                                                     vector_of(2, type_float2, 2.0f, 0.0f),
                                                     vector_of(3, type_float2, 0.0f, 4.0f),
                                                     vector_of(4, type_short2, short(0), short(5)),
                                                     vector_of(6, type_short2, short(6), short(0))};
    CHECK(result_of(source, values) == 103 + 20 + 4000 + 50000 + 600000);
    // With other attributes, and as the fixed-width type.
    const std::int8_t small = -2;
    smtl_constant_value fixed{nullptr, 8, 45, {}};
    std::memcpy(fixed.bytes, &small, sizeof(small));
    for (const char *attributes :
         {"[[maybe_unused, function_constant(8)]]", "[[function_constant(8)]] [[maybe_unused]]",
          "[[function_constant(8), maybe_unused]]", "[[maybe_unused]] [[function_constant(8)]]"})
        CHECK(result_of("constant int8_t small " + std::string(attributes) +
                            ";\nkernel void k(device float *a) { a[0] = small; }\n",
                        {fixed}) == -2);
    // Numbers are Metal's in conditions too: neither is a double.
    const float tenth = 0.1f;
    smtl_constant_value real{nullptr, 9, type_float, {}};
    std::memcpy(real.bytes, &tenth, sizeof(tenth));
    for (const char *condition : {"is_tenth", "x == 0.1", "!(x * 3 - .3 > 1e-9)", "sizeof(1.0) == 4",
                                  "sizeof(1h) + sizeof(.5bf) == 4", "half(x) == 0.1h"})
        CHECK(result_of("constant float x [[function_constant(9)]];\nconstant bool is_tenth = x == 0.1;\n"
                        "kernel void k(device float *a [[buffer(sizeof(1.0) - 4), function_constant(" +
                            std::string(condition) + ")]]) { a[0] = 5; }\n",
                        {real}) == 5);
    CHECK(result_of("template <int N, typename T> kernel void t(device T *a) { a[0] = N; }\n"
                    "template [[host_name(\"k\")]] kernel void t<sizeof(1.0), float>(device float *);\n",
                    {}) == 4);
    // The largest.
    const std::int64_t four[4] = {1, -2, 3, 1ll << 40};
    smtl_constant_value wide{nullptr, 7, 84, {}};
    static_assert(sizeof(wide.bytes) == sizeof(four));
    std::memcpy(wide.bytes, four, sizeof(four));
    CHECK(
        result_of("constant long4 wide [[function_constant(7)]];\n"
                  "kernel void k(device float *a) { a[0] = wide.x * 1000 + wide.y * 100 + wide.z + (wide.w >> 39); }\n",
                  {wide}) == 805);
    // Other scopes know them by declarations.
    const std::string known = "namespace a { constant int x [[function_constant(8)]], y [[function_constant(9)]]; }\n"
                              "namespace b { using a::x, a::y; using ::n; }\nusing b::y;\n";
    for (const auto &[value, code] :
         {std::pair(-2, "using b::x; a[0] = is_function_constant_defined(x) ? x : 7;"),
          std::pair(7, "a[0] = is_function_constant_defined(y) ? y : 7;"),
          std::pair(3, "a[0] = is_function_constant_defined(b::n) && !is_function_constant_defined(b::y) ? b::n : 7;")})
        CHECK(result_of(known + "kernel void k(device float *a) { " + code + " }\n",
                        {constant(0, type_int, 3), constant(8, type_int, -2)}) == value);
    const std::string hidden = "namespace a { constant int n [[function_constant(8)]]; }\n"
                               "namespace b { constant float n [[function_constant(9)]]; }\n";
    for (const auto &[value, code] :
         {std::pair(-2, "using a::n; a[0] = is_function_constant_defined(n) ? n : 7;"),
          std::pair(7, "using b::n; a[0] = is_function_constant_defined(n) ? n : 7;"),
          std::pair(0, "a[0] = is_function_constant_defined(n) + is_function_constant_defined(::b::n);")})
        CHECK(result_of(hidden + "kernel void k(device float *a) { " + code + " }\n", {constant(8, type_int, -2)}) ==
              value);
    // They lie in the constant address space.
    CHECK(result_of("float f(constant int &x, constant bool *y) { return x + *y; }\n"
                    "template <class T> T g(constant T &x) { return x; }\n"
                    "float h(thread const int &) { return 1; }\nfloat h(constant int &x) { return 2; }\n"
                    "kernel void k(device float *a) { a[0] = f(n, &flag) + 10 * g(n) + 100 * h(n); }\n",
                    values) == 234);
    for (const char *declaration :
         {"constant int p [[function_constant(7)]], q = 3;", "constant int q = 3, p [[function_constant(7)]];",
          "constant int p [[function_constant(7)]], q[2] = {};", "int p [[function_constant(7)]];",
          "constant int *p [[function_constant(7)]];", "constant int p [[function_constant(7)]] = 3;"}) {
        const compiled library(head + declaration + "\nkernel void k(device float *a) {}\n");
        if (!CHECK(library.library == nullptr && library.says("error: [[function_constant]] needs a variable in")))
            std::fprintf(stderr, "%s\n%s\n", declaration, library.log.c_str());
    }
}

// The condition of an argument is evaluated as if it stood in the kernel: names are looked up there, and values have
// their types.
void test_conditions() {
    const std::string constants = head + R"(
namespace a { constant bool flag [[function_constant(0)]]; constant bool set = flag; constant int count = 1; }
namespace b { constant bool flag [[function_constant(1)]]; constant bool set = !flag; constant int count = a::count - 1; }
namespace { constant bool hidden = a::set != b::set; }
constant int number [[function_constant(2)]];
constant float real [[function_constant(3)]];
constant short small [[function_constant(4)]];
constant bool both = a::flag && b::flag, neither = !both && !a::flag && !b::flag;
constant int half_of_it = real * 0.5f;
constant uchar low = number, bits = (number >> 1) & 3;
constant uint difference{uint(number - 4)};
constant bool is_less = number < 4, is_more = small > 2;
constant bool never [[function_constant(9)]];
constant bool given = is_function_constant_defined(never), is_small = is_function_constant_defined(small) && small < 3;
namespace outer { constant bool flag = number == 3; namespace inner { using namespace b; using a::count; )";
    // As written in the kernel, which is in outer::inner.
    const std::vector<const char *> conditions = {
        "a::flag",
        "b::flag",
        "a::set",
        "b::set",
        "!a::set",
        "!b::set",
        "::a::flag",
        "a::set && !b::set",
        "hidden",
        "!(a::set || b::set)",
        "number",
        "number - 3",
        "real",
        "!real",
        "half_of_it",
        "!half_of_it",
        "low",
        "difference",
        "is_less",
        "is_more",
        "int(difference) < 0",
        "both",
        "neither",
        "given",
        "!given",
        "is_small",
        "outer::flag",
        "number == 3 ? a::set : b::set",
        "set",
        "count",
        "b::count",
        "small / 2",
        "bits",
        "small >> 1",
        "(number & 1) == 0",
        "-real < 0",
    };
    // A kernel has arguments for several of them: it takes as long to compile as one that has a single argument.
    constexpr std::size_t most = 12;
    std::string source = constants;
    for (std::size_t first = 0; first < conditions.size(); first += most) {
        std::string arguments, code;
        for (std::size_t i = first; i < std::min(first + most, conditions.size()); ++i) {
            const std::string n = std::to_string(i - first + 1), condition = conditions[i];
            arguments += ", device float *p" + n + " [[buffer(" + n + "), function_constant(" + condition + ")]]";
            code += "out[0] = bool(" + condition + "); out[1] = p" + n + " != nullptr; out += 2; ";
        }
        source += "kernel void k" + std::to_string(first) + "(device float *out" + arguments + ") { " + code + "}\n";
    }
    source +=
        "template <typename T> kernel void t(device T *out, device T *p [[buffer(1), function_constant(set)]]) { out[0] = set; out[1] = p != nullptr; }\n";
    source +=
        "} }\nnamespace a { template [[host_name(\"t\")]] kernel void outer::inner::t<float>(device float *, device float *); }\n";
    // An instantiation stands in a namespace around its template.
    const std::size_t moved = source.find("namespace a { template [[");
    source.replace(moved, std::string("namespace a { ").size(), "");
    source.erase(source.rfind(" }"), 2);
    const compiled library(source);
    if (!CHECK(library.library != nullptr)) return (void)std::fprintf(stderr, "%s\n", library.log.c_str());
    for (int round = 0; round < 6; round += round == 1 ? 2 : 1) {
        const bool first = round & 1, second = round & 2;
        const int number = round == 0 ? 256 : round == 5 ? 4 : 3;
        const float real = round < 3 ? 0.75f : round == 3 ? 0.0f : 2.5f;
        std::vector<smtl_constant_value> values = {constant(0, type_bool, first), constant(1, type_bool, second),
                                                   constant(2, type_int, number), constant(3, type_float, 0),
                                                   constant(4, type_short, round)};
        std::memcpy(values[3].bytes, &real, sizeof real);
        if (round == 4) values.push_back(constant(9, type_bool, 0));
        const auto runs = [&](const std::string &kernel, const char *const *conditions_of_kernel, std::size_t count) {
            std::string error;
            std::vector<float> out(2 * count, -1), p(1);
            std::vector<std::vector<float> *> buffers(1 + count, &p);
            buffers[0] = &out;
            const std::string path = library.specialize(kernel.c_str(), values, &error);
            if (!CHECK(!path.empty() && run(path, buffers, 1).empty()))
                std::fprintf(stderr, "round %d, %s: %s\n", round, kernel.c_str(), error.c_str());
            for (std::size_t i = 0; i < count; ++i)
                if (!CHECK(out[2 * i] >= 0 && out[2 * i] == out[2 * i + 1]))
                    std::fprintf(stderr, "round %d, %s: %g, and the argument is there: %g\n", round,
                                 conditions_of_kernel[i], double(out[2 * i]), double(out[2 * i + 1]));
        };
        for (std::size_t first = 0; first < conditions.size(); first += most)
            runs("outer::inner::k" + std::to_string(first), &conditions[first],
                 std::min(most, conditions.size() - first));
        const char *const of_template = "set";
        runs("t", &of_template, 1);
    }
}

void test_undecided_conditions() {
    const auto error_of = [](const std::string &condition, const std::vector<smtl_constant_value> &values) {
        const compiled library(
            head +
            "namespace a { constant bool flag [[function_constant(0)]]; }\nnamespace b { constant bool flag [[function_constant(1)]]; constant bool set = flag; }\n"
            "bool odd(bool a) { return !a; }\nconstant bool called = odd(a::flag);\n"
            "kernel void k(device float *out, device float *p [[buffer(1), function_constant(" +
            condition + ")]]) { out[0] = 1; }\n");
        std::string error = library.log;
        return library.specialize("k", values, &error).empty() ? error : "";
    };
    const std::vector<smtl_constant_value> second = {constant(1, type_bool, 1)};
    // Another constant of that name has no value.
    CHECK(error_of("b::flag", second).empty());
    CHECK(error_of("b::set", second).empty());
    CHECK(error_of("a::flag", second) == "function constant 'flag' has no value, and argument 'p' depends on it\n");
    CHECK(error_of("b::set && a::flag", second) ==
          "function constant 'flag' has no value, and argument 'p' depends on it\n");
    CHECK(error_of("called", {constant(0, type_bool, 1)}) ==
          "the condition of argument 'p' cannot be computed from function constants\n");
    const compiled dependent(
        head + "template <int N> kernel void k(device float *out, device float *p [[function_constant(N > 1)]]) {}\n");
    CHECK(
        !dependent.library &&
        dependent.says(
            "program_source:3:87: error: the condition of [[function_constant]] cannot depend on a template argument"));
}

// The names of the source's own types say nothing of how a value is written.
void test_values() {
    const compiled library(head + R"(
namespace z {
using uint = float;
struct ushort {};
struct float2 {};
constant uint n [[function_constant(0)]];
constant half h [[function_constant(1)]];
constant metal::uint u [[function_constant(2)]];
constant ::float2 v [[function_constant(3)]];
}
kernel void k(device float *out) { out[0] = z::n; out[1] = z::h; out[2] = z::u; out[3] = z::v.y; }
)");
    std::vector<smtl_constant_value> values = {constant(0, type_float, 0), constant(1, type_half, 0x4200),
                                               constant(2, type_uint, 7), constant(3, type_float + 1, 0)};
    const float three = 3, pair[2] = {1, 4};
    std::memcpy(values[0].bytes, &three, sizeof three);
    std::memcpy(values[3].bytes, pair, sizeof pair);
    std::string error = library.log;
    std::vector<float> out(4);
    CHECK(run(library.specialize("k", values, &error), {&out}, 1).empty() && out == (std::vector<float>{3, 3, 7, 4}));
    if (!error.empty()) std::fprintf(stderr, "%s\n", error.c_str());

    // Metal looks for a value by index before it looks by name.
    values.push_back(values[0]);
    values.back().name = "n";
    values.back().bytes[3] = 0;
    CHECK(run(library.specialize("k", values, &error), {&out}, 1).empty() && out[0] == 3);
    for (const char *index : {"-1", "1.5", "4294967299"}) {
        const compiled broken(head + "constant int c [[function_constant(" + index + ")]];\n");
        CHECK(broken.library == nullptr && broken.says("cannot be narrowed"));
    }
}

// Kernel `k` writes 1 if the constants have the values that they must have, for c = {1, 2, 3}; what is not computed is
// an error in their line. Each of these could be computed wrong in another line than its own.
void test_structures() {
    const float three[4] = {1, 2, 3, 0};
    smtl_constant_value value = constant(0, type_float + 2, 0);
    std::memcpy(value.bytes, three, sizeof three);
    const struct {
        const char *declarations, *condition;
        bool is_computed;
    } cases[] = {
        {"struct alignas(64) S { float3 v; }; constant S s = {is_function_constant_defined(c) ? c : float3(1)};",
         "s.v.z == 3", true},
        {"namespace { struct S { int a; float3 v; }; constant S s = {3, c * 2}; }", "s.a == 3 && s.v.z == 6", true},
        {"struct P { int a, b; }; struct S { mutable int m; P x, y; }; constant S s = {1, {0, 0}, {1, 2}};",
         "s.x.b == 0 && s.y.b == 2", true},
        // Its own address, in three forms.
        {"struct S { constant S *self; float3 v; }; constant S s = {&s, c * 2};", "s.self == &s && s.self->v.y == 4",
         true},
        {"struct S { float3 v; ulong p; S(float3 x) : v(x) { p = (ulong)&v; } }; constant S s = S(c * 2);",
         "s.p == (ulong)&s.v && s.v.y == 4", true},
        {"union P { ulong n; constant float3 *p; }; struct S { float3 v; P p; }; constant S s = {c * 2, {.p = &s.v}};",
         "s.p.p == &s.v && s.v.y == 4", true},
        // Bytes of a union that its first member does not have.
        {"struct A { char a; float b; }; union U { A s; int i[2]; U(int x) : i{x, 2} {} };\nconstant U s = U(int(c.y) << 20);",
         "s.i[0] == 2 << 20 && s.i[1] == 2", false},
    };
    for (const auto &[declarations, condition, is_computed] : cases) {
        const compiled library(head + "constant float3 c [[function_constant(0)]];\n" + declarations +
                               "\nkernel void k(device float *out) { out[0] = " + condition + "; }\n");
        std::string error = library.log;
        std::vector<float> out(1);
        const std::string path = library.library ? library.specialize("k", {value}, &error) : "";
        const bool good = is_computed ? !path.empty() && run(path, {&out}, 1).empty() && out[0] == 1
                                      : path.empty() && error.find("needs a constant expression") != error.npos;
        if (!CHECK(good)) std::fprintf(stderr, "%s\n%s\n%g\n", declarations, error.c_str(), double(out[0]));
    }
}

// What only some values of a function constant leave open is an error at the variable, in the source's columns.
void test_lines() {
    const compiled library(head + R"(constant int n [[function_constant(0)]];
int steps(uint a) { int s = 0; while (a > 1) { a = (a & 1) ? a * 3 + 1 : a / 2; if (++s > 1000000) break; } return s; }
constant float4 v = is_function_constant_defined(n) ? float4(n) : float4(1); constant int far = steps(n);
kernel void k(device float *out) { out[0] = v.x + far; }
)");
    if (!CHECK(library.library != nullptr)) return (void)std::fprintf(stderr, "%s\n", library.log.c_str());
    std::string error;
    CHECK(library.specialize("k", {constant(0, type_int, 837799)}, &error).empty());
    if (!CHECK(error.find(":5:91: error: a variable outside of functions needs a constant expression") != error.npos))
        std::fprintf(stderr, "%s\n", error.c_str());
}

}  // namespace

int main() {
    test_orders();
    test_declarations();
    test_conditions();
    test_undecided_conditions();
    test_values();
    test_structures();
    test_lines();
    return check::report("msl/function_constants_test");
}
