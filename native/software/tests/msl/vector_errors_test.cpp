// What Metal's vectors lack, as errors at the position in the source.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "check.h"
#include "compiled_source.h"

namespace {

// An operator that a vector does not have is an error where the source uses it, in the words of the language. A
// component of a vector of bool is 0 or 1, which sums would not leave so.
void test_operators_that_vectors_lack() {
    const std::pair<const char *, std::vector<const char *>> lacking[] = {
        {"bool4", {"t + t", "t - true", "1 * t", "-t", "+t", "t << 1", "t >> t", "t / t", "t %= t", "++t", "t--"}},
        {"float4",
         {"t % t", "t % 2", "2 & t", "t | t", "t ^= t", "~t", "t << 1", "t >> uint4(1)", "t <<= t", "t %= 2"}},
        {"half2", {"t % t", "t &= t", "1 << t", "~t.yx", "t.xy % t", "t >>= int2(1)"}},
    };
    const char *openings[] = {"error: invalid operands to binary expression ('", "error: invalid argument type '",
                              "error: no viable overloaded '", "error: cannot increment value of type '",
                              "error: cannot decrement value of type '"};
    for (const auto &[type, wrongs] : lacking) {
        for (const char *wrong : wrongs) {
            const compiled code(head + "kernel void k(device " + type + " *x) {\n  " + type +
                                " t = x[0];\n  x[0] = " + wrong + ";\n}\n");
            if (!CHECK(code.library == nullptr)) std::fprintf(stderr, "accepted: %s of %s\n", wrong, type);
            const size_t error = code.log.find("error: ");
            const std::string rest = error == std::string::npos ? "" : code.log.substr(error);
            const bool is_said = std::any_of(std::begin(openings), std::end(openings),
                                             [&](const char *opening) { return rest.starts_with(opening); });
            if (!CHECK(is_said && rest.find("error: ", 1) == std::string::npos) ||
                !CHECK(code.log.starts_with("program_source:5:") && code.log.find("smtl") == std::string::npos))
                std::fprintf(stderr, "%s of %s: %s\n", wrong, type, code.log.c_str());
        }
    }
    const compiled logic(
        head + "kernel void k(device bool4 *x) { x[0] = ~x[1] & x[2] | !x[3] ^ x[4]; x[0] |= x[1] != x[2]; }\n");
    CHECK(logic.library != nullptr);
}

// What is written to a value that is computed would be lost: a swizzle is one. It can be read.
void test_writes_to_values() {
    const std::string begin =
        head + "kernel void k(device float *x, device uint *n) {\n  float4 v = float4(x[0]);\n  bool4 t = v > 0;\n"
               "  packed_float4 p(v);\n  float2x2 m(x[1]);\n  ";
    for (const char *write : {"v.yz[n[1]] = 9", "v.xy[0] += 7", "v.xx = v.yz", "p.zyz = v.xyz", "p.rr += 1",
                              "v.xx.y = 1", "(v + v)[2]++", "t.xy[0] = true", "(v.yz).x = 1", "(v.xy = v.zw).y++",
                              "p.xyz[n[1]] = 9", "packed_float4(v)[1] = 9", "packed_float4(v) += v",
                              "(m * m)[1] = v.xy", "(m * m)[1][0] = 9", "(m * m) *= m", "half3(v.xyz)[n[0]] -= 1"}) {
        const compiled lost(begin + write + ";\n}\n");
        if (!CHECK(lost.library == nullptr)) std::fprintf(stderr, "accepted: %s\n", write);
        CHECK(lost.log.starts_with("program_source:8:") && lost.log.find("'put_") == std::string::npos);
    }
    const compiled read(
        begin + "x[0] = v.yz[n[1]] + (v + v)[2] + t.xy[0] + p.xyz[n[1]] + packed_float4(v)[1] + (m * m)[1][n[0]];\n"
                "  v[n[1]] += 1, t[0] = false, p[n[1]] *= 2, p += v, m[1] = v.xy, m[n[0]][n[1]] -= 1;\n"
                "  m *= m, x[1] = v.x + p[0] + m[0].x;\n}\n");
    CHECK(read.library != nullptr && read.log.empty());
}

// What clang finds in a template of the library's is said of the line that asked for the template, once.
void test_templates_of_the_library() {
    const compiled code(head + "struct pair { int x; };\n"
                               "template <typename T> T low(T value) {\n"
                               "  return as_type<half>(value);\n"
                               "}\n"
                               "kernel void k(device float *x) {\n"
                               "  float4 v = low(x[0]);\n"
                               "  pair p = {1};\n"
                               "  x[1] = simd_sum(p).x;\n"
                               "  v.xx = v.yz;\n"
                               "  x[2] = nowhere;\n"
                               "}\n");
    CHECK(code.library == nullptr && code.log.find("metal_stdlib") == std::string::npos);
    CHECK(code.says("program_source:5:10: error: as_type needs types of one size\n"));
    CHECK(code.says("program_source:8:14: note: in instantiation of function template specialization 'low<float>'"));
    CHECK(code.says("program_source:10:10: error: invalid operands to binary expression ('pair' and 'pair')\n"));
    CHECK(code.says("program_source:11:5: error: vector is not assignable (contains duplicate components)\n"));
    CHECK(code.says("program_source:12:10: error: use of undeclared identifier 'nowhere'\n"));
    size_t errors = 0;
    for (size_t at = code.log.find("error: "); at != std::string::npos; at = code.log.find("error: ", at + 1)) ++errors;
    CHECK(errors == 4);
}

void test_own_functions() {
    // Neither is an error of the translation's: what a function returns is no type without a semicolon.
    const compiled own(
        "struct image { int n; void put_pixel(int) {} };\nauto same(thread image &i) -> const thread struct image & { return i; }\n"
        "static void f(constant image &i) { i.put_pixel(1); }\n");
    CHECK(own.library == nullptr && own.says("program_source:3:36: error:") && own.says("put_pixel"));
}

}  // namespace

int main() {
    test_operators_that_vectors_lack();
    test_writes_to_values();
    test_templates_of_the_library();
    test_own_functions();
    return check::report("msl/vector_errors_test");
}
