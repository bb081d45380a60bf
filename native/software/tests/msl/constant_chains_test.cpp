// Constants of a program that are made of function constants and of each other: random chains of them, in every form of
// a declaration, against values that the test computes. Seeds are fixed; `constant_chains_test N` goes through N
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

}  // namespace

int main(int count, char **arguments) {
    const std::uint64_t programs = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 4;
    for (std::uint64_t seed = 0; seed < programs; ++seed) test_chains(seed);
    return check::report("msl/constant_chains_test");
}
