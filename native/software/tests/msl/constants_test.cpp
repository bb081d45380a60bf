// Constants of a program that are made of function constants and of each other: random chains of them, in every form of
// a declaration, against values that the test computes. Seeds are fixed; `constants_test N` goes through N
// programs.
#include <random>
#include <string>
#include <vector>

#include "check.h"
#include "compiled_source.h"

namespace {

// An expression of type int, and the value that it must have: 0 to 96.
struct Reading {
    std::string text;
    int value;
};

struct FunctionConstant {
    const char *type;
    uint32_t data_type;
    bool is_given;
    int value;  // of each component; 0 if it is not given
};

// An element of vectors.
struct Element {
    const char *name;
    uint32_t data_type;  // of a scalar; the vectors of two to four come after it
    std::size_t size;
};
constexpr Element elements[] = {{"float", type_float, 4}, {"half", type_half, 2}, {"int", type_int, 4},
                                {"uint", type_uint, 4},   {"short", 37, 2},       {"ushort", 41, 2},
                                {"char", 45, 1},          {"uchar", 49, 1}};

smtl_constant_value vector_constant(uint32_t index, const Element &element, int components, int value) {
    smtl_constant_value result{nullptr, index, element.data_type + uint32_t(components) - 1, {}};
    const float real = float(value);
    const _Float16 half = _Float16(value);
    const void *bytes = element.data_type == type_float  ? static_cast<const void *>(&real)
                        : element.data_type == type_half ? static_cast<const void *>(&half)
                                                         : &value;
    for (int i = 0; i < components; ++i) std::memcpy(result.bytes + std::size_t(i) * element.size, bytes, element.size);
    return result;
}

class Program {
public:
    Program(std::uint64_t seed, bool everything_given) : random_(seed) {
        source_ = head + R"(
struct Pair { int a; float b; int2 c; };
struct Made { int v; Made(int a) : v(a + 1) {} };
struct Base { struct Inner { int i[2]; } inner; };
constexpr int weigh(int a, int b) { return a * 3 + b; }
int repeat(int a) { int sum = 0; for (int i = 0; i < 4; ++i) sum += a + i; return sum; }
template <int N> int scaled(int a) { return a * N; }
)";
        const std::vector<FunctionConstant> all = {{"bool", type_bool, true, 1},   {"int", type_int, true, 3},
                                                   {"short", type_short, true, 7}, {"float", type_float, true, 5},
                                                   {"int", type_int, false, 9},    {"bool", type_bool, false, 1}};
        for (std::size_t i = 0; i < all.size(); ++i) {
            const std::string name = "fc" + std::to_string(i);
            const bool given = all[i].is_given || everything_given;
            source_ += "constant " + std::string(all[i].type) + " " + name + " [[function_constant(" +
                       std::to_string(i) + ")]];\n";
            pool_.push_back({"int(" + name + ")", given ? all[i].value : 0});
            pool_.push_back({"int(is_function_constant_defined(" + name + "))", given});
            if (!given) continue;
            values_.push_back(constant(uint32_t(i), all[i].data_type, all[i].value));
            if (all[i].data_type != type_float) continue;
            const float value = float(all[i].value);
            std::memcpy(values_.back().bytes, &value, sizeof value);
        }
        for (uint32_t i = 6; i < 9; ++i) declare_vector_constant(i, i < 8 || everything_given);
        for (int i = 0; i < 28; ++i) declare(std::to_string(i));
    }

    // A kernel that reads some constants. It prefers later ones of the pool, and so reads few that other constants are
    // made of.
    std::vector<int> add_kernel(const std::string &name) {
        std::vector<int> expected;
        source_ += "kernel void " + name + "(device float *a) {\n";
        for (std::size_t i = pool_.size(); i-- > 12 && expected.size() < 8;) {
            if (below(3) > 0) continue;
            source_ += "    a[" + std::to_string(expected.size()) + "] = " + pool_[i].text + ";\n";
            expected.push_back(pool_[i].value);
        }
        source_ += "}\n";
        return expected;
    }

    const std::string &source() const { return source_; }
    const std::vector<smtl_constant_value> &values() const { return values_; }

private:
    int below(int bound) { return int(random_() % std::uint64_t(bound)); }
    const Reading &any() {
        return pool_[std::size_t(below(3) > 0 ? int(pool_.size()) - 1 - below(std::min(8, int(pool_.size())))
                                              : below(int(pool_.size())))];
    }

    void declare_vector_constant(uint32_t index, bool given) {
        const Element &element = elements[below(8)];
        const int components = 2 + below(3), value = 1 + below(96);
        const std::string name = "fc" + std::to_string(index);
        vectors_.push_back(
            {element.name + std::to_string(components), name, "is_function_constant_defined(" + name + ")"});
        source_ += "constant " + vectors_.back().type + " " + name + " [[function_constant(" + std::to_string(index) +
                   ")]];\n";
        pool_.push_back({"int(" + name + ".y)", given ? value : 0});
        if (given) values_.push_back(vector_constant(index, element, components, value));
        vector_values_.push_back(given ? value : 0);
    }

    // Vectors that are chosen or computed, alone and as elements and members.
    void declare_vectors(const std::string &n) {
        const Reading a = expression(), b = expression(), c = expression();
        const int which = below(3), form = below(4);
        const Vector &vector = vectors_[std::size_t(which)];
        const std::string of_b = vector.type + "(" + b.text + ")", of_c = vector.type + "(" + c.text + ")";
        const std::string chosen = "(" + a.text + " > 40 ? " + of_b + " : " + of_c + ")";
        const int choice = a.value > 40 ? b.value : c.value;
        const bool given = vector_values_[std::size_t(which)] > 0;
        const std::string known = "(" + vector.defined + " ? " + vector.name + " : " + of_b + ")";
        const int known_value = given ? vector_values_[std::size_t(which)] : b.value;
        const std::string head_of = "constant " + vector.type + " c" + n;
        switch (form) {
        case 0: return add(head_of + " = " + known + ";", "int(c" + n + ".y)", known_value);
        case 1:
            return add(head_of + " = min(" + chosen + ", " + known + ");", "int(c" + n + ".x)",
                       std::min(choice, known_value));
        case 2:
            return add(head_of + "[3] = {" + of_c + ", " + known + ", " + chosen + "};", "int(c" + n + "[1].y)",
                       known_value);
        default:
            return add("struct V" + n + " { char a; " + vector.type + " v[2]; };\nconstant V" + n + " c" + n +
                           " = {1, {" + chosen + ", " + known + "}};",
                       "int(c" + n + ".v[0].y)", choice);
        }
    }

    Reading expression() {
        const Reading a = any(), b = any(), c = any();
        switch (below(8)) {
        case 0: return {"(" + a.text + " + " + b.text + ") % 97", (a.value + b.value) % 97};
        case 1: return {"(" + a.text + " * 2 + 1) % 97", (a.value * 2 + 1) % 97};
        case 2: return {"(" + a.text + " ? " + b.text + " * 2 + 1 : 4) % 97", (a.value ? b.value * 2 + 1 : 4) % 97};
        case 3:
            return {"(" + a.text + " > " + b.text + " ? " + c.text + " : " + a.text + ")",
                    a.value > b.value ? c.value : a.value};
        case 4: return {"weigh(" + a.text + ", " + b.text + ") % 97", (a.value * 3 + b.value) % 97};
        case 5: return {"repeat(" + a.text + ") % 97", (a.value * 4 + 6) % 97};
        case 6: return {"scaled<5>(" + a.text + ") % 97", a.value * 5 % 97};
        default: return {"max(" + a.text + ", " + b.text + ")", std::max(a.value, b.value)};
        }
    }

    void declare(const std::string &n) {
        const Reading a = expression(), b = expression(), c = expression();
        switch (below(18)) {
        case 0: return add("constant bool c" + n + " = " + a.text + " > 5;", "int(c" + n + ")", a.value > 5);
        case 1:
            return add("constant int4 c" + n + " = int4(" + a.text + ", " + b.text + ", " + c.text + ", 1);",
                       "c" + n + ".z", c.value);
        case 2:
            return add("constant float3 c" + n + " = float3(" + a.text + ", " + b.text + ", 2) + 1.0f;",
                       "(int(c" + n + ".y) % 97)", (b.value + 1) % 97);
        case 3:
            return add("constant int c" + n + "[3] = {" + a.text + ", " + b.text + ", " + c.text + "};",
                       "c" + n + "[" + any_index() + "]",
                       index_ == 0   ? a.value
                       : index_ == 1 ? b.value
                                     : c.value);
        case 4:
            return add("constant Pair c" + n + " = {" + a.text + ", float(" + b.text + "), int2(1, " + c.text + ")};",
                       "c" + n + ".c.y", c.value);
        case 5:
            return add("namespace n" + n + " { constant short c = " + a.text + "; namespace { constant int d = c; } }",
                       "int(n" + n + "::d)", a.value);
        case 6:
            return add("template <int N> constant int c" + n + " = (" + a.text + " + N) % 97;", "c" + n + "<6>",
                       (a.value + 6) % 97);
        case 7:
            return add("template <int N> struct S" + n +
                           " { static constant int c; };\ntemplate <int N> constant int S" + n + "<N>::c = (" + a.text +
                           " + N) % 97;",
                       "S" + n + "<3>::c", (a.value + 3) % 97);
        case 8:
            return add("struct T" + n + " { static constant int c; };\nconstant int T" + n + "::c = " + a.text + ";",
                       "T" + n + "::c", a.value);
        case 9:
            return add("constant Made c" + n + " = Made(" + a.text + ");", "(c" + n + ".v % 97)", (a.value + 1) % 97);
        case 10:
            return add("constant half c" + n + " = half(" + a.text + ");\nconstant uchar d" + n + " = uchar(c" + n +
                           ");",
                       "int(d" + n + ")", a.value);
        case 11:
            return add("constant Base c" + n + " = {{{" + a.text + ", " + b.text + "}}};", "c" + n + ".inner.i[1]",
                       b.value);
        case 12: return add("static constant uint c" + n + " = uint(" + a.text + ");", "int(c" + n + ")", a.value);
        case 13:
        case 14:
        case 15:
        case 16: return declare_vectors(n);
        default:
            return add("constant int c" + n + " = " + a.text + ";\nint f" + n + "() { return c" + n + "; }",
                       "f" + n + "()", a.value);
        }
    }

    std::string any_index() { return std::to_string(index_ = below(3)); }

    void add(const std::string &declaration, const std::string &text, int value) {
        source_ += declaration + "\n";
        pool_.push_back({text, value});
    }

    std::mt19937_64 random_;
    std::string source_;
    std::vector<Reading> pool_;
    std::vector<smtl_constant_value> values_;
    struct Vector {
        std::string type, name, defined;
    };
    std::vector<Vector> vectors_;
    std::vector<int> vector_values_;  // of each component; 0 if it is not given
    int index_ = 0;
};

void test_chains(std::uint64_t seed) {
    for (const bool everything_given : {false, true}) {
        Program program(seed, everything_given);
        std::vector<std::vector<int>> expected;
        for (const char *name : {"k0", "k1"}) expected.push_back(program.add_kernel(name));
        const compiled library(program.source());
        bool good = CHECK(library.library != nullptr);
        std::string error = library.log;
        for (std::size_t k = 0; library.library && k < expected.size(); ++k) {
            std::vector<float> found(8, -1);
            const std::string path = library.specialize(("k" + std::to_string(k)).c_str(), program.values(), &error);
            good = CHECK(!path.empty() && run(path, {&found}, 1).empty()) && good;
            for (std::size_t i = 0; i < expected[k].size(); ++i) {
                const bool same = found[i] == float(expected[k][i]);
                if (!same) std::fprintf(stderr, "k%zu: a[%zu] is %g, not %d\n", k, i, double(found[i]), expected[k][i]);
                good = CHECK(same) && good;
            }
        }
        if (!good)
            std::fprintf(stderr, "seed %llu, %s:\n%s\n%s\n", static_cast<unsigned long long>(seed),
                         everything_given ? "all given" : "some given", error.c_str(), program.source().c_str());
    }
}

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
    std::string source = constants;
    for (std::size_t i = 0; i < conditions.size(); ++i) {
        source += "kernel void k" + std::to_string(i) +
                  "(device float *out, device float *p [[buffer(1), function_constant(" + conditions[i] +
                  ")]]) { out[0] = bool(" + conditions[i] + "); out[1] = p != nullptr; }\n";
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
        for (std::size_t i = 0; i <= conditions.size(); ++i) {
            const bool is_template = i == conditions.size();
            std::string error;
            std::vector<float> out(2, -1), p(1);
            const std::string path =
                library.specialize(is_template ? "t" : ("outer::inner::k" + std::to_string(i)).c_str(), values, &error);
            const bool same = CHECK(!path.empty() && run(path, {&out, &p}, 1).empty()) && CHECK(out[0] == out[1]);
            if (!same)
                std::fprintf(stderr, "round %d, %s: %g, and the argument is there: %g\n%s\n", round,
                             is_template ? "set" : conditions[i], double(out[0]), double(out[1]), error.c_str());
        }
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
// an error in their line. Each of these could be computed wrong in another place than its own.
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
void test_places() {
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

int main(int count, char **arguments) {
    const std::uint64_t programs = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 4;
    test_orders();
    test_conditions();
    test_undecided_conditions();
    test_values();
    test_structures();
    test_places();
    for (std::uint64_t seed = 0; seed < programs; ++seed) test_chains(seed);
    return check::report("msl/constants_test");
}
