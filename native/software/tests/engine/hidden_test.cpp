// Functions and labels that are hard to see for the translation: lanes come together in them as in others, or the
// source is refused.
#include <cstdint>
#include <string>
#include <vector>

#include "check.h"
#include "metal_program.h"
#include "msl/translate.h"

namespace {

const std::string scan = "for (uint n = 1; n < 32; n *= 2) if (t >= n) s += simd_shuffle_up(s, n); return s;";
const std::string parameters = "(uint s, uint t)";

// Each defines `scanned`.
const std::vector<std::string> seen = {
    "static uint (scanned)" + parameters + " { " + scan + " }",
    "uint scanned" + parameters +
        " { uint all = 0; struct S { uint sum(uint s) { return simd_sum(s); } };"
        " if (t & 1) all = S().sum(s); else all = S().sum(s); for (uint n = 31; n > t; --n) all -= simd_shuffle(s, n);"
        " return all + simd_sum(t & 1 ? 0 : s) * (t & 1) + simd_sum(t & 1 ? s : 0) * (1 - (t & 1)); }",
    "uint scanned" + parameters +
        " { switch (t & 1) { case (true ? 1 : 0): s += simd_shuffle_xor(s, 2) * 0; break;"
        " case false ? 1 : int{0}: s += simd_shuffle_xor(s, 2) * 0; break; } switch (t & 3) { case 1 ... 2:"
        " s += simd_shuffle_xor(s, 1) * 0; default: break; } " +
        scan + " }",
};

const std::vector<std::string> refused = {
    "constant auto scanned = []" + parameters + " { " + scan + " };",
    "uint scanned" + parameters + " { struct S { uint of" + parameters + " { " + scan + " } }; return S().of(s, t); }",
    "struct S { uint v; S" + parameters + " : v(t > 3 ? simd_sum(s) : 0) {} };",
    "struct S { uint v; uint w = v > 3 ? simd_sum(v) : 0; };",
    "uint scanned(uint s, uint t = simd_sum(1) > 3 ? 1 : 0) { return t; }",
};

std::string source(const std::string &functions) {
    return functions +
           "\nkernel void k(device uint *a [[buffer(0)]], uint i [[thread_position_in_grid]]) { a[i] = scanned(a[i], i); }";
}

}  // namespace

int main() {
    for (const std::string &functions : seen) {
        metal_program program(source(functions));
        std::vector<uint32_t> a(32), sums(32);
        for (uint32_t i = 0; i < 32; ++i) {
            a[i] = i * 7 % 13 + 1;
            sums[i] = a[i] + (i ? sums[i - 1] : 0);
        }
        CHECK(launch(program.kernel("k")).buffer(0, a).run({32}, {32}).empty());
        if (!CHECK(a == sums)) std::fprintf(stderr, "not scanned: %s\n", functions.c_str());
    }
    for (const std::string &functions : refused) {
        const std::vector<smtl::msl::Problem> problems = smtl::msl::translate(source(functions)).problems;
        const bool is_refused = problems.size() == 1 && problems[0].message.find("under a branch") != std::string::npos;
        if (!CHECK(is_refused)) std::fprintf(stderr, "not refused: %s\n", functions.c_str());
    }
    // What calls no function of SIMD-groups may do all this, and what is called alike by all lanes, too.
    const std::string allowed =
        "struct T { uint v; uint w = v > 3 ? max(v, 2u) : 0; T(uint s) : v(s ? s : 1) {} };\n"
        "template <class V> uint sum(thread V &&s); template <class V> uint sum(thread V &&s) { return simd_sum(s); }\n"
        "template <class V> [[kernel]] void other(device V *a) { *a = simd_sum(*a); }\n"
        "template [[host_name(\"o\")]] [[kernel]] decltype(other<uint>) other<uint>;\n"
        "uint scanned(uint s, uint t) { struct S { uint of(uint s) { if (s) return simd_width; return 1; } uint simd_width = 4; };"
        " if (s > 3) s += 1; return S().of(s) + sum(t + 1); }";
    const smtl::msl::Translation translation = smtl::msl::translate(source(allowed));
    CHECK(translation.problems.empty() && translation.text.find("::smtl::region") == std::string::npos);
    return check::report("engine/hidden_test");
}
