// Packed vectors in everything that takes vectors: each expression gives the type and the value that it gives of
// aligned vectors.
#include <set>
#include <string>
#include <vector>

#include "check.h"
#include "metal_program.h"

namespace {

// a, b and c are of type P in one function and of type V, its aligned vector, in another; s is a component, t bools.
const std::vector<const char *> of_all = {
    "a == b",
    "a != V(b)",
    "V(a) < b",
    "a <= s",
    "s > a",
    "a >= b",
    "a && b",
    "a || V(b)",
    "!a",
    "+a",
    "-a",
    "a + b",
    "V(a) - b",
    "a * V(b)",
    "a / b",
    "2 * a - s",
    "max(a, b)",
    "metal::min(a, V(b))",
    "max(V(a), b)",
    "min(a, s)",
    "max(a, 1)",
    "clamp(a, b, c)",
    "clamp(a, s, s)",
    "clamp(V(a), b, V(c))",
    "max3(a, V(b), c)",
    "median3(a, b, c)",
    "abs(a)",
    "select(a, b, t)",
    "select(a, V(b), a < b)",
    "all(t) || any(t)",
    "t && t",
};

const std::vector<const char *> of_floats = {
    "length(a)",
    "metal::length_squared(a)",
    "fast::normalize(a)",
    "normalize(a - b)",
    "distance(a, b)",
    "precise::distance(V(a), b)",
    "distance_squared(a, V(b))",
    "dot(a, b)",
    "dot(V(a), b)",
    "cross(a, b)",
    "cross(a, V(b))",
    "faceforward(a, b, V(c))",
    "reflect(a, b)",
    "refract(V(a), b, s)",
    "mix(a, b, c)",
    "mix(V(a), b, c)",
    "saturate(a)",
    "step(a, b)",
    "smoothstep(a, V(b), c)",
    "fma(a, V(b), c)",
    "precise::exp(a)",
    "pow(a, b)",
    "fmod(V(a), b)",
    "fract(a)",
    "nextafter(a, V(b))",
    "ldexp(a, e)",
    "ldexp(V(a), e)",
    "ilogb(a)",
    "isnan(a) || isfinite(a)",
    "isnormal(a)",
    "isunordered(a, b)",
    "select(a, b, e)",
    "modf(a, r) + r",
    "sincos(a, r) + r",
    "frexp(a, i) + V(i)",
    "V(simd_max(a)) - V(simd_min(b)) + V(simd_sum(c))",
};

const std::vector<const char *> of_floats_and_halves = {
    "mix(a, b, s)",
    "step(s, a)",
};

const std::vector<const char *> of_integers = {
    "a % b",
    "~a & V(b)",
    "(a | b) ^ V(c)",
    "a << 1",
    "a >> V(b)",
    "popcount(a)",
    "clz(a)",
    "absdiff(a, b)",
    "mulhi(V(a), b)",
    "rotate(a, b)",
    "extract_bits(a, 1, 3)",
    "insert_bits(a, V(b), 1, 3)",
    "addsat(a, V(b))",
    "madsat(a, b, V(c))",
    "select(a, b, c)",
};

struct components {
    std::string type;
    int count;
    std::string vector() const { return type + std::to_string(count); }
};

// Every choice of two to four of a vector's components, read, and written where none is named twice; names alternate.
std::vector<std::string> swizzles_of(int count) {
    std::vector<std::string> expressions;
    const auto add = [&](const std::vector<int> &indices) {
        std::string name;
        for (const int index : indices) name += (expressions.size() % 2 ? "rgba" : "xyzw")[index];
        expressions.push_back("a." + name);
        if (std::set<int>(indices.begin(), indices.end()).size() < indices.size()) return;
        const std::string values = std::string("xyzw").substr(0, indices.size());
        expressions.push_back("(a." + name + " = V4(b.x, b.y, c.x, c.y)." + values + ", V(a))");
        expressions.push_back("(a." + name + " += V4(c.x, c.y, b.x, b.y)." + values + ", V(a))");
    };
    for (int first = 0; first < count; ++first) {
        expressions.push_back(std::string("a.") + "rgba"[first]);
        expressions.push_back(std::string("(a.") + "rgba"[first] + " = s, V(a))");
        for (int second = 0; second < count; ++second) {
            add({first, second});
            for (int third = 0; third < count; ++third) {
                add({first, second, third});
                for (int fourth = 0; fourth < count; ++fourth) add({first, second, third, fourth});
            }
        }
    }
    return expressions;
}

std::string function_of(const components &of, const std::string &name, bool packed, const std::string &expression) {
    const std::string size = std::to_string(of.count), prefix = packed ? "packed_" : "";
    return "auto " + name + "(" + prefix + of.vector() + " a, " + prefix + of.vector() + " b, " + prefix + of.vector() +
           " c, " + prefix + "bool" + size + " t, " + prefix + "int" + size + " e, " + of.type +
           " s) { using V = " + of.vector() + "; using V4 = " + of.type + "4; thread V r; thread int" + size +
           " i; (void)r, (void)i; return " + expression + "; }\n";
}

// For one type of vectors, a kernel that says which expressions differ.
void test_expressions(const components &of, const std::vector<std::string> &expressions) {
    std::string functions, calls;
    for (size_t i = 0; i < expressions.size(); ++i) {
        const std::string number = std::to_string(i);
        functions += function_of(of, "packed" + number, true, expressions[i]);
        functions += function_of(of, "aligned" + number, false, expressions[i]);
        calls += "    failed[" + number + "] = !same(packed" + number +
                 "(p[0], p[1], p[2], t[0], e[0], p[0].x), aligned" + number +
                 "(p[0], p[1], p[2], t[0], e[0], p[0].x));\n";
    }
    metal_program program("template <class T> bool same(T x, T y) { return x == y || (x != x && y != y); }\n"
                          "template <class T, int N> bool same(vec<T, N> x, vec<T, N> y) {\n"
                          "    bool equal = true;\n"
                          "    for (int i = 0; i < N; ++i) equal = equal && same(x[i], y[i]);\n"
                          "    return equal;\n"
                          "}\n" +
                          functions + "kernel void run(device packed_" + of.vector() + " *p, device packed_bool" +
                          std::to_string(of.count) + " *t, device packed_int" + std::to_string(of.count) +
                          " *e, device int *failed, device float *numbers) {\n" +
                          "    for (int i = 0; i < 12; ++i) p[i / 4][i % 4 < " + std::to_string(of.count) +
                          " ? i % 4 : 0] = " + of.type +
                          "(numbers[i]);\n"
                          "    t[0] = bool" +
                          std::to_string(of.count) + "(true), t[0].y = false, e[0] = 2, e[0].x = 0;\n" + calls + "}\n");
    std::vector<uint64_t> p(16), t(2), e(4);
    std::vector<float> numbers = {1, 5, 2, 3, 3, 4, 1, 7, 2, 2, 6, 4};
    std::vector<int32_t> failed(expressions.size(), -1);
    const std::string error = launch(program.kernel("run"))
                                  .buffer(0, p)
                                  .buffer(1, t)
                                  .buffer(2, e)
                                  .buffer(3, failed)
                                  .buffer(4, numbers)
                                  .run({1}, {1});
    if (!CHECK(error.empty())) return;
    for (size_t i = 0; i < expressions.size(); ++i)
        if (!CHECK(failed[i] == 0)) std::fprintf(stderr, "%s: %s\n", of.vector().c_str(), expressions[i].c_str());
}

void test_lists(const components &of, const std::vector<std::vector<const char *>> &lists) {
    std::vector<std::string> expressions;
    for (const auto &list : lists) expressions.insert(expressions.end(), list.begin(), list.end());
    test_expressions(of, expressions);
}

// Sources that have such functions of their own.
void test_own_functions() {
    metal_program program(R"(
template <typename T> T max(T a, T) { return a; }
template <typename T, int N, int M> vec<T, M> operator*(matrix<T, N, M>, packed_vec<T, N> v) { return vec<T, M>(v.x); }
template <typename T, int N> T length(packed_vec<T, N>) { return N; }
struct own { float x; };
float dot(own a, own b) { return a.x * b.x; }
float only(float3 v) { return v.z; }
kernel void run(device packed_float3 *p, device float *out) {
    p[0] = packed_float3(1, 2, 3), p[1] = {5, 1, 7}, p[2] = 0.5f;
    out[0] = float3(max(p[0], p[1])).x;
    out[1] = (float3x2(1) * p[1]).y;
    out[2] = length(p[0]);
    out[3] = dot(own{3}, own{5}) + only(p[0]);
    p[0] += p[1], p[0] *= 2, p[0] -= float3(1);
    out[4] = dot(p[0], p[2]) + float3(true ? p[0] : p[1]).x;
}
)");
    std::vector<float> p(9), out(5);
    CHECK(launch(program.kernel("run")).buffer(0, p).buffer(1, out).run({1}, {1}).empty());
    CHECK(out == std::vector<float>({1, 5, 3, 18, 17.5f + 11}));
}

}  // namespace

int main() {
    for (const char *type : {"float", "half"}) test_lists({type, 3}, {of_all, of_floats, of_floats_and_halves});
    test_lists({"bfloat", 3}, {of_all, of_floats});
    for (const components &of : {components{"int", 3}, {"uchar", 4}, {"ulong", 2}, {"short", 3}})
        test_lists(of, {of_all, of_integers});
    for (const components &of : {components{"float", 3}, {"uchar", 4}, {"bfloat", 2}})
        test_expressions(of, swizzles_of(of.count));
    test_own_functions();
    return check::report("msl/packed_test");
}
