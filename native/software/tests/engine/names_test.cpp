/* Branches where lanes part, or in which they meet, though a name is easily taken for another. In each program the
 * first eight lanes of a SIMD-group meet without the others: they count 8, the others 24. */
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "check.h"
#include "metal_program.h"

namespace {

struct way {
    const char *helpers, *code;
};

const std::string function = "static uint f(uint x) { return simd_sum(x); }\n";
/* `@` is a branch on `t`. */
const std::string branch = "if (t < 8) r = f(1); else r = f(1);";

/* A member is not a variable, whatever else has its name. */
const std::vector<way> members = {
    {"struct S { uint t, n; uint run() const { bool in = n > t; uint r = in; @ return r; } };",
     "S s{lane, 32}; r = s.run();"},
    {"static uint two(bool, bool) { return 0; }\n"
     "struct S { uint t; uint run() const { uint r = two(40u > t, true); @ return r; } };",
     "S s{lane}; r = s.run();"},
    {"struct S { uint t[1]; uint run() const { uint r, q = 40; if (q > t[0]) q = 0; if (t[0] < 8) r = f(1); else r = f(1);"
     " return r; } };",
     "S s{{lane}}; r = s.run();"},
    {"struct S { uint t; uint run() thread { uint r, u = 1; u = 0, t = t + 0; @ return r + u; } };",
     "S s{lane}; r = s.run();"},
    {"struct S { uint t; uint run() thread { uint r; for (uint q = 0; q < 1; ++q, t = t + 0); @ return r; } };",
     "S s{lane}; r = s.run();"},
    {"struct S { uint t; uint run() const { uint r; @ return r; } };\n"
     "template <uint t> static uint unrelated(uint x) { return x + t; }",
     "S s{lane}; r = s.run();"},
    {"struct S { uint t; uint run() const { uint r; @ return r; } };\nconstant uint t = 5;", "S s{lane}; r = s.run();"},
    {"struct S { uint t; uint run() const { uint r; @ return r; } };\n"
     "static uint other() { constexpr uint t = 5; return t; }",
     "S s{lane}; r = s.run();"},
    {"struct S { uint t; uint run() const { uint r; { uint t = 0; (void)t; } @ return r; } };",
     "S s{lane}; r = s.run();"},
    {"struct S { uint t; uint run() const { uint r; for (uint t = 0; t < 1; ++t); @ return r; } };",
     "S s{lane}; r = s.run();"},
    {"struct S { uint n, t : 8; uint run() const { uint r; @ return r; } };\nconstant uint t = 5;",
     "S s{0, lane}; r = s.run();"},
    {"struct S { uint (t); uint run() const { uint r; @ return r; } };\nconstant uint t = 5;",
     "S s{lane}; r = s.run();"},
    {"struct S { struct { uint n; } t; uint run() const { uint r; if (t.n < 8) r = f(1); else r = f(1); return r; } };\n"
     "constant uint t = 5;",
     "S s{{lane}}; r = s.run();"},
    {"struct S { union { uint t; int n; }; uint run() const { uint r; @ return r; } };\nconstant uint t = 5;",
     "S s; s.t = lane; r = s.run();"},
    {"struct S { uint t; uint run() const { uint r; switch (t < 8) { case true: r = f(1); break; default: r = f(1); }"
     " return r; } };\nconstant uint t = 5;",
     "S s{lane}; r = s.run();"},
    {"struct B { uint t; }; struct S : B { uint run() const { uint r; if (B::t < 8) r = f(1); else r = f(1); return r; } };",
     "S s; s.t = lane; r = s.run();"},
    {"struct S { uint t; uint run() const { uint r; if (S::t < 8) r = f(1); else r = f(1); return r; } };",
     "S s{lane}; r = s.run();"},
    {"struct B { uint t; uint get() const { return t; } };\n"
     "struct S : B { uint run() const { uint r; if (B::get() < 8) r = f(1); else r = f(1); return r; } };",
     "S s; s.t = lane; r = s.run();"},
};

/* A function is passed on by any of its names. */
const std::string passing =
    "namespace ops { static uint total(uint x) { return simd_sum(x); }\n"
    "template <typename T> static uint sum(T x) { return simd_sum(x); }\n"
    "static uint own() { return simd_prefix_exclusive_sum(1u); } }\n"
    "template <typename T> static uint all(T x) { return simd_sum(x); }\n"
    "template <int n> static uint red(uint x) { return simd_sum(x); }\n"
    "struct S { static uint go(uint x) { return simd_sum(x); } uint to(uint x) const { return simd_sum(x); } };\n"
    "typedef uint (*F)(uint); struct O { F g; };\n"
    "template <typename G> static uint apply(G g, uint x) { return g(x); }\n"
    "template <typename G> static uint give(G g) { return g(); }\n"
    "template <uint (*g)(uint)> static uint with(uint x) { return g(x); }\n";
const std::vector<std::string> passed = {
    "ops::total",
    "&ops::total",
    "S::go",
    "&S::go",
    "all<uint>",
    "ops::sum<uint>",
    "&ops::sum<uint>",
    "red<2>",
    "(F)ops::total",
    "(uint (*)(uint))ops::total",
    "(F)S::go",
    "*ops::total",
    "+ops::total",
    "+S::go",
    "true ? ops::total : S::go",
    "(ops::total)",
    "static_cast<F>(all<uint>)",
};
const std::vector<way> passes = {
    {"", "if (lane < 8) r = with<ops::total>(1); else r = with<ops::total>(1);"},
    {"", "if (lane < 8) r = with<all<uint>>(1); else r = with<all<uint>>(1);"},
    {"", "auto g = ops::total; if (lane < 8) r = g(1); else r = g(1);"},
    {"", "auto g = all<uint>; if (lane < 8) r = g(1); else r = g(1);"},
    {"", "uint (*g)(uint) = S::go; if (lane < 8) r = g(1); else r = g(1);"},
    {"", "F g[] = {ops::total}; if (lane < 8) r = g[0](1); else r = g[0](1);"},
    {"", "O o = {S::go}; if (lane < 8) r = o.g(1); else r = o.g(1);"},
    {"", "if (lane < 8) r = (red<2>)(1); else r = (red<2>)(1);"},
    {"", "if (lane < 8) r = (*ops::total)(1); else r = (*ops::total)(1);"},
    {"", "S s; if (lane < 8) r = (s.*&S::to)(1); else r = (s.*&S::to)(1);"},
    {"template <F g = ops::total> static uint defaulted(uint x) { return g(x); }",
     "if (lane < 8) r = defaulted<>(1); else r = defaulted<>(1);"},
    {"static uint optional(uint x, F g = ops::total) { return g(x); }",
     "if (lane < 8) r = optional(1); else r = optional(1);"},
    {"constant constexpr auto g = ops::total;", "if (lane < 8) r = g(1); else r = g(1);"},
    {"template <F g> struct W { static uint run(uint x) { return g(x); } }; using V = W<ops::total>;",
     "if (lane < 8) r = V::run(1); else r = V::run(1);"},
    {"template <F g> struct W { static uint run(uint x) { return g(x); } }; struct V : W<S::go> {};",
     "if (lane < 8) r = V::run(1); else r = V::run(1);"},
    {"template <typename G> static uint on(G dot, uint x) { return dot(x); }",
     "if (lane < 8) r = on(ops::total, 1); else r = on(ops::total, 1);"},
    {"template <typename T> static T same(T x) { return x; } template <F T> static uint on(uint x) { return T(x); }",
     "if (lane < 8) r = on<ops::total>(same(1u)); else r = on<ops::total>(1);"},
    {"template <typename T> static T same(T x) { return x; } template <uint (*T)(uint)> static uint on(uint x) { return (T)(x); }",
     "if (lane < 8) r = on<ops::total>(same(1u)); else r = on<ops::total>(1);"},
    {"template <typename... G> static uint on(uint x, G... g) { return (g(x) + ...); }",
     "if (lane < 8) r = on(1, ops::total); else r = on(1, ops::total);"},
    {"template <typename G> static uint on(uint x) { return G{}(x); } struct T { uint operator()(uint x) const { return simd_sum(x); } };",
     "if (lane < 8) r = on<T>(1); else r = on<T>(1);"},
    {"", "if (lane < 8) r = F(ops::total)(1); else r = F(ops::total)(1);"},
    {"", "if (lane < 8) r = static_cast<F>(ops::total)(1); else r = static_cast<F>(ops::total)(1);"},
    {"", "auto g = [h = ops::total](uint x) { return h(x); }; if (lane < 8) r = g(1); else r = g(1);"},
    {"", "uint (&g)(uint) = S::go; if (lane < 8) r = g(1); else r = g(1);"},
    {"struct W { static constexpr constant F g = ops::total; };", "if (lane < 8) r = W::g(1); else r = W::g(1);"},
    {"struct T { uint operator()(uint x) const { return simd_sum(x); } };",
     "if (lane < 8) r = T{}.operator()(1); else r = T{}.operator()(1);"},
    {"struct T { operator F() const { return ops::total; } };", "T g; if (lane < 8) r = g(1); else r = g(1);"},
    {"template <typename T> constant constexpr F g = &all<T>;", "if (lane < 8) r = g<uint>(1); else r = g<uint>(1);"},
    {"struct W { F g = ops::total; };", "W w; if (lane < 8) r = w.g(1); else r = w.g(1);"},
    {"", "uint t = give(ops::own); @"},
    {"", "uint t = give(&ops::own); @"},
    {"", "auto g = ops::own; uint t = g(); @"},
};

/* An lvalue is written through a pointer that an array becomes, or as one of several. */
const std::string placing =
    "struct Q { uint a[2]; uint b[2][2]; };\nusing P = thread uint *;\n"
    "template <typename T> static void put(T p, uint v) { p[0] = v; }\n"
    "template <typename T> struct W { T p; W(T q) { p = q; } void put(uint v) { p[0] = v; } };\n"
    "template <bool b> static uint red(uint x) { return simd_sum(x); }\nconstant constexpr int A = 3, B = 4;\n"
    "template <uint n> static uint nest(uint x) { return simd_sum(x); }\n";
const std::vector<std::string> lvalues = {
    "Q q = {}; put(q.a, lane); uint t = q.a[0]; @",
    "Q q = {}; put(q.b[0], lane); uint t = q.b[0][0]; @",
    "Q q[2] = {}; put(q[1].a, lane); uint t = q[1].a[0]; @",
    "uint q[2][2] = {}; put(q[1], lane); uint t = q[1][0]; @",
    "uint q[2][2][2] = {}; put(q[1][0], lane); uint t = q[1][0][0]; @",
    "Q q = {}; P p = q.a; p[0] = lane; uint t = q.a[0]; @",
    "Q q = {}; const auto p = q.b[1]; p[0] = lane; uint t = q.b[1][0]; @",
    "Q q = {}; P p = true ? q.a : q.b[0]; p[0] = lane; uint t = q.a[0]; @",
    "Q q = {}; *q.a = lane; uint t = q.a[0]; @",
    "Q q = {}; *(q.a + 0) = lane; uint t = q.a[0]; @",
    "Q q = {}; W<P> w(q.a); w.put(lane); uint t = q.a[0]; @",
    "uint a = 0, t = 8; ++(lane < 8 ? a : t); t = t > 8 ? 8 : 0; @",
    "uint a = 0, t = 8; --(lane < 8 ? t : a); t = t > 7 ? 8 : 0; @",
    "uint a = 0, t = 8; ++((lane < 8) ? (a) : (t)); t = t > 8 ? 8 : 0; @",
    "uint t[2] = {}, a = lane >= 8 ? 8 : 0; (++(t[0])) += a; if (t[0] < 8) r = f(1); else r = f(1);",
    "auto g = [v = lane < 8 ? f(1) : f(1)] { return v; }; r = g();",
    "auto g = [v = uint(lane < 8 ? f(1) : f(1)), w = 2] { return v + w - 2; }; r = g();",
    "auto g = [v{lane < 8 ? f(1) : f(1)}] { return v; }; r = g();",
    "r = [&, v = lane < 8 ? f(1) : f(1)] { return v + i - i; }();",
    "if (lane < 8) r = red<A < B>(1); else r = red<A < B>(1);",
    "if (lane < 8) r = nest<(A < B)>(1); else r = nest<(A < B)>(1);",
    "if (lane < 40) [&] { if (lane < 8) r = f(1); else r = f(1); }();",
    "for (uint n = 0; n < 1; ++n) [&] { if (lane < 8) r = f(1); else r = f(1); }();",
    "if constexpr (A < B) [&] { if (lane < 8) r = f(1); else r = f(1); }();",
};

/* `&&`, `?` and `||` that choose nothing while the kernel runs, some where any object may call SIMD-group functions. */
const std::string unchosen = "struct O { uint operator()(uint x) const { return simd_sum(x); } };\n"
                             "constant constexpr bool A = true;\nconstant constexpr bool B = false;\n"
                             "template <bool> struct N { static constexpr uint value = 1; uint n; };\n"
                             "template <typename T> static uint own(T &&x) { return f(x); }\n"
                             "template <bool> static uint red(uint x) { return simd_sum(x); }\n";
const std::vector<std::string> choosing = {
    "auto &&x = f(1); r = x;",
    "thread uint &&x = f(1); r = x;",
    "r = static_cast<thread uint &&>(f(1));",
    "r = (thread uint &&)f(1);",
    "uint q[1] = {1}; for (auto &&x : q) r = f(x);",
    "struct P { uint a, b; }; auto &&[a, b] = P{f(1), 2}; r = a;",
    "r = own(1u);",
    "auto g = [](auto &&x) { return f(x); }; r = g(1u);",
    "uint q[A && B ? 1 : 2] = {f(1)}; r = q[0];",
    "uint q[2][A || B ? 1 : 2] = {{1}, {O()(1)}}; r = q[1][0];",
    "N<A && B> n = {O()(1)}; r = n.n;",
    "N<A && B> n{O()(1)}, m[A || B] = {n}; r = m[0].n;",
    "N<(A && B)> n{f(1)}; r = n.n;",
    "typedef N<A && B> M; M n{O()(1)}; r = n.n;",
    "using M = N<(A || B)>; r = O()(M::value);",
    "r = red<A && B>(1);",
    "r = red<A ? A : B>(N<A && B>::value);",
    "const bool c = A && B; if constexpr (!c) r = O()(1);",
    "const uint n = A ? 2 : 3; uint q[n] = {O()(1)}; r = q[0];",
    "switch (1) { case A || B: r = O()(1); }",
    "static_assert(A || B, \"\"); r = sizeof(A && B ? r : r) * 0 + O()(1);",
    "r = 0 ? 5 : O()(1);",
    "thread const uint &x = true ? f(1) : r; r = x;",
    "uint a = 0; (i < 99 ? r : a) = O()(1);",
    "uint2 a = 0, b = 0; ++(i < 99 ? a : b).x; (i > 99 || i == 99 ? a : b)[1] += 2; r = a.x * O()(1);",
};

/* Instances of one function meet apart, though they stand at one position of the source. */
const std::string nested =
    "template <uint N> static uint tree(uint t) { if (t % 2 == 0) return tree<N / 2>(t / 2); return simd_sum(N); }\n"
    "template <> uint tree<1>(uint) { return simd_sum(1u); }\n"
    "kernel void k(device uint *out [[buffer(0)]], uint i [[thread_position_in_grid]]) { out[i] = tree<4>(i); }";

const char *const parameters =
    "device uint *out [[buffer(0)]], uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]";

}  // namespace

int main() {
    constexpr uint32_t threads = 32;
    std::vector<uint32_t> met(threads);
    for (uint32_t i = 0; i < threads; ++i) met[i] = i < 8 ? 8 : 24;
    const auto check = [&](const std::string &helpers, const std::vector<std::string> &codes) {
        std::string source = function + helpers + "\nkernel void k(" + parameters + ") {\n";
        for (const std::string &code : codes) source += "{ uint r = 0; " + code + " out[i] = r; out += 32; }\n";
        source += "}\n";
        for (std::size_t at = source.find('@'); at != std::string::npos; at = source.find('@'))
            source.replace(at, 1, branch);
        metal_program program(source);
        std::vector<uint32_t> out(threads * codes.size());
        CHECK(launch(program.kernel("k")).buffer(0, out).run({threads}, {threads}).empty());
        for (std::size_t n = 0; n < codes.size(); ++n)
            if (!CHECK(std::equal(met.begin(), met.end(), out.begin() + threads * n)))
                std::printf("%s\n%s\n", helpers.c_str(), codes[n].c_str());
    };
    /* Cases that have the same names around them are compiled by eight, which takes a quarter of the time. */
    const auto check_together = [&](const std::string &helpers, const std::vector<std::string> &codes) {
        constexpr std::size_t most = 8;
        for (std::size_t first = 0; first < codes.size(); first += most)
            check(helpers, {codes.begin() + first, codes.begin() + std::min(first + most, codes.size())});
    };
    for (const way &w : members) check(w.helpers, {w.code});
    std::vector<std::string> codes;
    for (const std::string &name : passed) {
        const std::string call = "r = apply(" + name + ", 1);";
        codes.push_back("if (lane < 8) " + call + " else " + call);
    }
    for (const way &w : passes)
        if (*w.helpers == '\0')
            codes.emplace_back(w.code);
        else
            check(passing + w.helpers, {w.code});
    check_together(passing, codes);
    check_together(placing, lvalues);
    std::vector<std::string> without_objects, with_objects;
    for (const std::string &code : choosing) {
        const std::string once = "if (lane < 8) { " + code + " } else { " + code + " }";
        (code.find("O()") == std::string::npos ? without_objects : with_objects).push_back(once);
    }
    check_together(unchosen.substr(unchosen.find("constant")), without_objects);
    check_together(unchosen, with_objects);
    std::vector<uint32_t> sums(threads), out(threads);
    for (uint32_t i = 0; i < threads; ++i) sums[i] = i % 2 ? 16 * 4 : i % 4 ? 8 * 2 : 8 * 1;
    metal_program program(nested);
    CHECK(launch(program.kernel("k")).buffer(0, out).run({threads}, {threads}).empty());
    CHECK(out == sums);
    return check::report("engine/names_test");
}
