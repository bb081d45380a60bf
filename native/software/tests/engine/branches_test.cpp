/* Branches where lanes part, though nothing near them shows it. Each way computes `t`, which is the lane, and then
 * prefix sums with shuffles under branches on `t`. The sums are right only if the branches are known to part the lanes.
 */
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "check.h"
#include "compiled_source.h"
#include "metal_program.h"

namespace {

struct way {
    const char *helpers, *code;
};

const std::vector<way> ways = {
    {"", "uint t = lane;"},
    {"", "uint t; t = lane;"},
    {"", "uint t(lane);"},
    {"", "uint t{lane};"},
    {"", "uint u = in[i] * 0 + lane; uint t(u);"},
    {"", "uint t = 0; thread uint *p = &t; *p = lane;"},
    {"", "uint t = 0; thread uint &r = t; r = lane;"},
    {"", "uint t = 0; thread uint &r(t); r = lane;"},
    {"", "uint t = 0, n[2] = {}; thread uint *p = n; p[1] = lane; t = n[1];"},
    {"", "uint n[32] = {}; n[lane] = 1; uint t = 0; for (uint k = 0; k < 32; ++k) t += n[k] * k;"},
    {"", "uint n[2] = {}; (*(n + 1)) = lane; uint t = n[1];"},
    {"", "uint t = 0; (t) = lane;"},
    {"", "uint t = 0; *(&t) = lane;"},
    {"",
     "uint t = 0, a = 0, b = 0, c = 0, d = 0; for (uint k = 0; k < 8; ++k) { t = a; a = b; b = c; c = d; d = lane; }"},
    {"", "uint t = 0; for (uint k = 0; k < 32; ++k) { if (k == lane) break; ++t; }"},
    {"", "uint t = 0; for (uint k = 0; k < 32; ++k) { if (k >= lane) continue; t++; }"},
    {"", "uint t = 0; for (uint k = 0; k < 32; ++k) t += k < lane ? 1 : 0;"},
    {"", "uint t = 0; for (uint k = 0; k < 32; ++k) k < lane && ++t;"},
    {"",
     "uint t = 0; for (uint k = 0; k < 32; ++k) { bool more = k < lane; switch (0) { case 0: if (more) break; continue; } t++; }"},
    {"", "uint t = 0; switch (seven) { case 7: if (lane == 0) break; t = 1; if (lane == 1) break; t = lane; }"},
    {"", "uint t = 0; do { if (t == lane) break; t++; } while (true);"},
    {"", "uint n[] = {lane}; uint t = 0; for (uint k : n) t = k;"},
    {"", "uint n[] = {lane, lane}; uint t = 0; for (thread uint &k : n) t = k;"},
    {"struct pair { uint a, b; };", "pair p = {lane, 0}; auto [a, b] = p; uint t = a;"},
    {"struct pair { uint a, b; };", "pair p; p.a = 0; p.b = lane; uint t = p.b;"},
    {"struct pair { uint a[2], b; };", "pair p; p.a[1] = 0; auto q = p.a; q[1] = lane; uint t = p.a[1];"},
    {"struct counter { uint n = 0; void add(uint m) { n += m; } uint get() const { return n; } };",
     "counter c; c.add(lane); uint t = c.n;"},
    {"struct counter { uint n = 0; void add(uint m) { n += m; } uint get() const { return n; } };",
     "counter c; c.add(lane); uint t = c.get();"},
    {"struct maker { uint n; maker(uint m) : n(m) {} operator uint() const { return n; } };",
     "maker m(lane); uint t = m;"},
    {"struct adder { uint operator()(thread uint &to, uint n) const { return to = n; } };",
     "uint t = 0; adder()(t, lane);"},
    {"struct adder { uint operator()(thread uint &to, uint n) const { return to = n; } };",
     "uint t = 0; adder add; add(t, lane);"},
    {"struct holder { thread uint &to; };", "uint t = 0; holder h = {t}; h.to = lane;"},
    {"struct holder { thread uint *to; };", "uint t = 0; holder h = {&t}; *h.to = lane;"},
    {"static void set(thread uint &to, uint n) { to = n; }", "uint t = 0; set(t, lane);"},
    {"static void set(thread uint *to, uint n) { *to = n; }", "uint t = 0; set(&t, lane);"},
    {"template <typename T> static void set(thread T &to, T n) { to = n; }", "uint t = 0; set<uint>(t, lane);"},
    {"static void set(thread uint (&to)[2], uint n) { to[1] = n; }", "uint n[2] = {}; set(n, lane); uint t = n[1];"},
    {"static uint own() { return __metal_get_thread_index_in_simdgroup(0u); }", "uint t = own();"},
    {"static uint own(); static uint again() { return own(); } static uint own() { return __metal_get_thread_index_in_simdgroup(0u); }",
     "uint t = again();"},
    {"static uint ticket(device atomic_uint *c) { return atomic_fetch_add_explicit(c, 1, memory_order_relaxed); }",
     "uint t = ticket(&counters[i / 32]) * 0 + lane;"},
    {"struct holder { device atomic_uint *c; };",
     "holder h = {counters + i / 32}; uint t = atomic_fetch_add_explicit(h.c, 1, memory_order_relaxed); t = simd_max(t) * 0 + lane;"},
    {"", "uint t = simd_prefix_exclusive_sum(1u);"},
    {"", "uint t = quad * 4 + lane % 4;"},
    {"", "uint t = 0; for (uint k = 0; k < 8; ++k) t += quad > k ? 4 : 0; t += lane % 4;"},
    {"",
     "uint whole; float f = float(lane) * 0.5f; float rest = modf(f, *(thread float *)&whole); uint t = uint((f - rest + rest) * 2);"},
    {"", "float f = 0, part = modf(float(lane), f); uint t = uint(f + part);"},
    {"", "int e = 0; float f = frexp(exp2(float(lane)), e); uint t = uint(e - 1) + uint(f > 2);"},
    {"", "uint t = 0; auto set = [&](uint n) { t = n; }; set(lane);"},
    {"template <typename F> static void call(F f) { f(); }", "uint t = 0; call([&] { t = lane; });"},
    {"", "uint4 v = 0; v.z = lane; uint t = v[2];"},
    {"",
     "threadgroup uint shared[64]; shared[i % 64] = lane; threadgroup_barrier(mem_flags::mem_threadgroup); uint t = shared[i % 64];"},
    {"",
     "threadgroup uint shared[64]; shared[i % 64] = lane; simdgroup_barrier(mem_flags::mem_threadgroup); threadgroup uint *p = shared; auto q = p + i % 64; uint t = *q;"},
    {"constant uint numbers[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};",
     "uint t = numbers[lane];"},
    {"", "device uint *p = out + i; *p = lane; uint t = *p;"},
    {"union words { uint a; int b; };", "words w; w.a = lane; uint t = w.b;"},
    {"", "uint t = 0, u = 1; thread uint *p = seven > 100 ? &u : &t; p[0] = lane;"},
    {"", "uint t = 0; if (seven == 7) { if (lane > 0) t = lane; }"},
    {"", "uint t = 0; while (simd_any(t < lane)) { if (t < lane) t += 1; else t += 0; }"},
    {"", "uint a = 1, t = 0; thread uint &p = a, &r = t; r = lane;"},
    {"", "uint t = 0; thread decltype(t) &r = t; r = lane;"},
    {"", "uint t = 0; thread uint (&r) = t; r = lane;"},
    {"typedef thread uint &uref;", "uint t = 0; uref r = t; r = lane;"},
    {"typedef thread uint &uref; static void set(uref r, uint n) { r = n; }", "uint t = 0; set(t, lane);"},
    {"typedef uint four[4]; static void set(thread four x, uint n) { x[1] = n; }",
     "four n = {}; set(n, lane); uint t = n[1];"},
    {"struct S { uint a[2]; }; static void set(thread uint *const p, uint n) { p[1] = n; }",
     "S o = {}; set(o.a, lane); uint t = o.a[1];"},
    {"struct S { uint a[2]; };", "S o = {}; thread uint *p; p = o.a; p[1] = lane; uint t = o.a[1];"},
    {"", "uint n[2][2] = {}; thread uint *p; p = n[1]; p[0] = lane; uint t = n[1][0];"},
    {"", "uint u = 0; do ++u; while (u <= lane); uint t = u - 1;"},
    {"", "uint z(0), t(lane); (void)z;"},
    {"", "uint z{0}, t{lane}; (void)z;"},
    {"", "uint n[2]{0, lane}; uint t = n[1];"},
    {"struct pair { uint a, b; };", "pair p = {lane, 0}; auto const [a, b] = p; uint t = a;"},
    {"", "uint t = 0; for (uint k = 0; k < 32; ++k) k < lane and ++t;"},
    {"", "uint t = 0; t or_eq lane;"},
    {"", "uint t = 0; t xor_eq lane;"},
    {"struct acc { uint n = 0; acc() {} acc(uint m) : n(m) {} };", "acc z, c(lane); uint t = c.n;"},
    {"template <typename T> struct holder { T to; };", "uint t = 0; holder<thread uint &> h = {t}; h.to = lane;"},
    {"template <typename T> static void set(T r, uint n) { r = n; }", "uint t = 0; set<thread uint &>(t, lane);"},
    {"", "uint t = 0; for (uint k = 0; k < 32; ++k) if (k < lane) [[likely]] { ++t; }"},
    {"", "uint t = 0; uint k = 0; while (k < 32) [[likely]] { if (k < lane) ++t; ++k; }"},
    {"", "uint t = 0; do do ++t; while (false); while (t <= lane); t -= 1;"},
    {"", "uint t = 0; do if (seven == 7) ++t; while (t <= lane); --t;"},
    {"", "uint2 v(0), w(0, lane); v += w; uint t = v.y;"},
    {"struct S { uint a, b; };", "S o[1]{{0, lane}}; uint t = o[0].b;"},
    {"struct acc { uint n; void operator()(uint m) thread { n += m; } };",
     "acc c[2] = {}; c[1](lane); uint t = c[1].n;"},
    {"", "uint z = 0, t{lane}; (void)z;"},
    {"", "uint2 z(0), w(lane, 0); uint t = w.x; (void)z;"},
    {"", "uint u = 0x80000000u; u >>= lane; uint t = clz(u);"},
    {"", "uint2 u = 0x80000000u; u >>= lane; uint t = clz(u.y);"},
    {"struct S { uint a[2]; };", "S o = {}; thread uint (&r)[2] = o.a; r[1] = lane; uint t = o.a[1];"},
    {"", "uint n[2][2] = {}; auto p = n[1]; p[0] = lane; uint t = n[1][0];"},
    {"", "uint t = 31; t and_eq lane;"},
    {"struct S { uint n; S(uint m) { n = m; } };", "S z(0), o(lane); uint t = o.n; (void)z;"},
    {"struct S { uint n; S(uint m) { n = m; } };", "S z{0}, o{lane}; uint t = o.n; (void)z;"},
    {"", "typedef thread uint &uref; uint t = 0; uref r = t; r = lane;"},
    {"", "using uref = thread uint &; uint t = 0; uref r = t; r = lane;"},
    {"", "uint t = 0; again: ++t; if (t <= lane) goto again; --t;"},
    /* What only looks like a declaration of the value that is shuffled. */
    {"", "uint t = lane; uint w = 2 * s; (void)w;"},
    {"", "uint t = lane; float y = 0.5f * s; (void)y;"},
    {"", "uint t = lane, n[1] = {1}; uint w = seven > 7 ? n[0] * s : 0; (void)w;"},
    {"", "uint t = lane; bool q = lane > s, p = lane > s; (void)q; (void)p;"},
    {"", "uint t = lane, w = 2 * s, r = 2 & s, q = 2 bitand s; (void)w; (void)r; (void)q;"},
    {"", "uint t = lane; thread uint *p = &s, *q = p; (void)q;"},
    /* Values and references by ways that no name tells. */
    {"struct S { uint operator-() const { return simd_prefix_exclusive_sum(1u); } };", "S a; uint t = -a;"},
    {"struct S { uint operator[](uint) const { return simd_prefix_exclusive_sum(1u); } };", "S a; uint t = a[0];"},
    {"struct S { uint operator()() const { return simd_prefix_exclusive_sum(1u); } };", "uint t = S()();"},
    {"struct S { uint n; S() : n(simd_prefix_exclusive_sum(1u)) {} };", "S a; uint t = a.n;"},
    {"struct S { uint n = simd_prefix_exclusive_sum(1u); };", "S a; uint t = a.n;"},
    {"static uint own(uint n = simd_prefix_exclusive_sum(1u)) { return n; }", "uint t = own();"},
    {"static uint own() { return simd_prefix_exclusive_sum(1u); } template <uint (*f)()> static uint call() { return f(); }",
     "uint t = call<own>();"},
    {"static uint own() { return simd_prefix_exclusive_sum(1u); }", "auto f = own; uint t = (*f)();"},
    {"struct setter { setter(thread uint &to, uint n) { to = n; } }; using other = setter;",
     "uint t = 0; other x(t, lane);"},
    {"struct setter { setter(thread uint &to, uint n) { to = n; } };", "uint t = 0; setter x = {t, lane};"},
    {"struct setter { setter(thread uint &to, uint n) { to = n; } }; static void take(setter) {}",
     "uint t = 0; take({t, lane});"},
    {"", "uint t = 0; decltype((t)) r = t; r = lane;"},
    {"", "uint t = 0; decltype(auto) r = (t); r = lane;"},
    {"template <typename T> using R = thread T &;", "uint t = 0; R<uint> r = t; r = lane;"},
    {"", "uint t = 0; metal::add_lvalue_reference_t<uint> r = t; r = lane;"},
    {"static void set(thread uint &to, uint n) { to = n; }",
     "uint t = 0; void (&f)(thread uint &, uint) = set; f(t, lane);"},
    {"static void set(thread uint &to, uint n) { to = n; }",
     "uint t = 0; void (*f)(thread uint &, uint) = set; f(t, lane);"},
    {"", "uint t __attribute__((aligned(16))) = lane;"},
    {"", "uint u = 0, t __attribute__((aligned(16))) = lane; (void)u;"},
    {"", "uint n[2] __attribute__((aligned(16))) = {0, lane}; uint t = n[1];"},
    {"", "uint (t)(lane);"},
    {"", "uint (t){lane};"},
    {"", "uint (t) = lane;"},
    {"", "uint t = 0; for (uint k = 0; k < 32; ++k) switch (k < lane) case true: ++t;"},
    {"", "uint t = 0; for (uint k = 0; k < 32; ++k) { switch (k < lane) default: if (k < lane) ++t; }"},
    {"", "uint t = 0; thread const uint &r = t; const_cast<thread uint &>(r) = lane;"},
    {"", "uint t = 0; thread const uint *p = &t; *const_cast<thread uint *>(p) = lane;"},
    {"", "uint t = 0; *const_cast<thread uint *>(&t) = lane;"},
    {"", "uint n[2] = {}; *const_cast<thread uint *>(n) = lane; uint t = n[0];"},
    {"static void set(thread const uint &r, uint n) { const_cast<thread uint &>(r) = n; }",
     "uint t = 0; set(t, lane);"},
    {"static void set(thread const uint *p, uint n) { *const_cast<thread uint *>(p) = n; }",
     "uint t = 0; set(&t, lane);"},
    {"static void set(thread const uint *p, uint n) { *(thread uint *)p = n; }",
     "uint n[2] = {}; set(n, lane); uint t = n[0];"},
    {"struct S { uint n; void set(uint m) const { const_cast<thread S *>(this)->n = m; } };",
     "S o{0}; o.set(lane); uint t = o.n;"},
    {"struct S { uint n; void operator+(uint m) const { const_cast<thread S *>(this)->n = m; } };",
     "S o{0}; o + lane; uint t = o.n;"},
    {"struct S { mutable uint n; void operator+(uint m) const { n = m; } };", "S o{0}; o + lane; uint t = o.n;"},
    {"",
     "if (lane >= 1) s += simd_shuffle_up<uint>(s, 1); if (lane >= 2) s += simd_shuffle_up<uint>(s, 2); if (lane >= 4) s += simd_shuffle_up<uint>(s, 4); if (lane >= 8) s += simd_shuffle_up<uint>(s, 8); if (lane >= 16) s += simd_shuffle_up<uint>(s, 16); uint t = 0;"},
    {"",
     "if (lane >= 1) s += simd_shuffle_up((s), (1)); if (lane >= 2) s += simd_shuffle_up((s), (2)); if (lane >= 4) s += simd_shuffle_up((s), (4)); if (lane >= 8) s += simd_shuffle_up((s), (8)); if (lane >= 16) s += simd_shuffle_up((s), (16)); uint t = 0;"},
    {"",
     "threadgroup uint m[64]; auto p = m + i / 32 * 32; p[lane] = s; for (ushort d = 1; d < 32; d <<= 1) { uint x = lane >= d ? p[lane - d] : 0; p[lane] += x; } s = p[lane]; uint t = 0;"},
    {"",
     "threadgroup uint m[64]; auto p = &m[i / 32 * 32]; p[lane] = s; for (ushort d = 1; d < 32; d <<= 1) { uint x = lane >= d ? p[lane - d] : 0; p[lane] += x; } s = p[lane]; uint t = 0;"},
};

/* Lane functions in what lanes choose, where it is not written: 8 lanes and 24. */
const std::vector<way> meetings = {
    {"struct S { uint n; S(uint x) : n(simd_sum(x)) {} };",
     "if (lane < 8) { S a(1); s = a.n; } else { S a(1); s = a.n; }"},
    {"struct S { uint n = simd_sum(1u); };", "if (lane < 8) { S a; s = a.n; } else { S a; s = a.n; }"},
    {"static uint f() { return simd_sum(1u); } struct S { uint n = f(); };",
     "if (lane < 8) { S a; s = a.n; } else { S a; s = a.n; }"},
    {"static uint f(uint x) { return simd_sum(x); }",
     "bool all = lane < 8 and f(1) == 8; s = all ? 8 : f(1); s = lane < 8 ? 8 : s;"},
    {"static uint f(uint x) { return simd_sum(x); }",
     "if (lane < 8) [[likely]] { s = f(1); } else [[unlikely]] { s = f(1); }"},
};

/* Declarations of the value that is shuffled. */
const char *const declarations[] = {
    "uint s [[maybe_unused]] = in[i];",
    "uint s __attribute__((unused)) = in[i];",
    "uint (s) = in[i];",
    "uint (s)(in[i]);",
    "uint a = in[i]; decltype(a) s = a;",
    "uint a = in[i]; __typeof__(a) s = a;",
    "uint a = in[i], s = a;",
    "metal::conditional_t<true, uint, int> s = in[i];",
};

/* Parameters of a kernel that are the lane. */
const std::vector<std::string> lane_parameters = {
    "[[maybe_unused]] uint t [[thread_index_in_simdgroup]]",
    "[[thread_index_in_simdgroup]] uint t",
    "__attribute__((unused)) uint t [[thread_index_in_simdgroup]]",
    "uint t __attribute__((unused)) [[thread_index_in_simdgroup]]",
    "uint const t [[thread_index_in_simdgroup, maybe_unused]]",
    "::metal::uint t [[thread_index_in_simdgroup]]",
    "unsigned int t [[thread_index_in_simdgroup]]",
    "metal::conditional_t<true, uint, int> t [[thread_index_in_simdgroup]]",
};

/* Branches where the translation does not follow lanes: an error, not another value. `@` is the scan. */
const std::vector<std::string> refused = {
    "static uint all(uint x) { return simd_sum(x); } typedef uint (*F)(uint);"
    "kernel void k(@P) { struct L { uint run(F f, uint t) { if (t < 8) return f(1); return f(1); } }; out[i] = L().run(all, lane); }",
    "kernel void k(@P) { struct L { uint run(uint s, uint t) { @ return s; } }; out[i] = L().run(in[i], lane); }",
    "kernel void k(@P) { uint s = in[i], t = lane; ({ @ }); out[i] = s; }",
    "constant auto f = [](uint s, uint t) { @ return s; }; kernel void k(@P) { out[i] = f(in[i], lane); }",
    "typedef struct { uint run(uint s, uint t) { @ return s; } } S; kernel void k(@P) { out[i] = S().run(in[i], lane); }",
    "struct S { uint n; S(uint s, uint t, ushort d) : n(t >= d ? s + simd_shuffle_up(s, d) : s) {} };"
    "kernel void k(@P) { out[i] = S(in[i], lane, 1).n; }",
    "struct S { uint s, t; uint n = t >= 1 ? s + simd_shuffle_up(s, 1) : s; };"
    "kernel void k(@P) { out[i] = S{in[i], lane}.n; }",
};

/* Functions and members that branch on their arguments. */
const char *const scan =
    "if (t >= 1) s += simd_shuffle_up(s, 1); if (t >= 2) s += simd_shuffle_up(s, 2); if (t >= 4) s += simd_shuffle_up(s, 4);"
    " if (t >= 8) s += simd_shuffle_up(s, 8); if (t >= 16) s += simd_shuffle_up(s, 16);";
const std::string by_functions =
    std::string() + "static uint by_value(uint s, uint t) { " + scan +
    " return s; }\n"
    "static uint by_reference(uint s, thread const uint &t) { " +
    scan +
    " return s; }\n"
    "static uint by_pointer(uint s, thread uint *p) { uint t = *p; " +
    scan +
    " return s; }\n"
    "static uint of_constants(uint s, constant uint &t) { " +
    scan +
    " return s; }\n"
    "struct scanner { uint t; uint limit() { return t; } uint of_member(uint s) { " +
    scan +
    " return s; }\n"
    "  uint of_call(uint s) { if (limit() >= 1) s += simd_shuffle_up(s, 1); for (uint d = 2; d < 32; d *= 2) if (this->limit() >= d) s += simd_shuffle(s, ushort(limit() - d)); return s; } };\n"
    "struct outside { uint t; uint run(uint s); };\nuint outside::run(uint s) { " +
    scan +
    " return s; }\n"
    "template <typename T> struct of_template { T t; static constant constexpr int one = 1; T run(T s) const { " +
    scan +
    " return s; } };\n"
    "static uint by_attributed(uint s, [[maybe_unused]] uint t) { " +
    scan +
    " return s; }\n"
    "static uint by_gnu_attributed(uint s, uint t __attribute__((unused))) { " +
    scan +
    " return s; }\n"
    "template <typename... T> static uint by_pack(uint s, T... t) { return by_value(s, t...) * 0 + by_value(s, (t + ...)); }\n"
    "kernel void function0(SMTL) { out[i] = by_value(in[i], lane); }\n"
    "kernel void function1(SMTL) { out[i] = by_reference(in[i], lane); }\n"
    "kernel void function2(SMTL) { uint t = lane; out[i] = by_pointer(in[i], &t); }\n"
    "kernel void function3(SMTL) { out[i] = of_constants(in[i], numbers[lane]); }\n"
    "kernel void function4(SMTL) { out[i] = scanner{lane}.of_member(in[i]); }\n"
    "kernel void function5(SMTL) { scanner s{lane}; out[i] = s.of_call(in[i]); }\n"
    "kernel void function6(SMTL) { outside o{lane}; out[i] = o.run(in[i]); }\n"
    "kernel void function7(SMTL) { of_template<uint> o{lane}; out[i] = o.run(in[i]); }\n"
    "kernel void function8(SMTL) { auto run = [&](uint s, uint t) { " +
    scan +
    " return s; }; out[i] = run(in[i], lane); }\n"
    "kernel void function9(SMTL) { out[i] = by_attributed(in[i], lane); }\n"
    "kernel void function10(SMTL) { out[i] = by_gnu_attributed(in[i], lane); }\n"
    "kernel void function11(SMTL) { out[i] = by_pack(in[i], lane); }\n"
    "struct listing { uint t; static uint first(uint a, uint, uint) { return a; } uint run(uint s) { s = first(s, t, 0); " +
    scan +
    " return s; } };\n"
    "kernel void function12(SMTL) { listing o{lane}; out[i] = o.run(in[i]); }\n"
    /* Meets in another branch at the same point. */
    "struct op { uint operator()(uint x) const { return simd_sum(x); } };\n"
    "static uint through(uint x) { return simd_sum(x); }\n"
    "template <typename F> static uint apply(F f, uint x) { return f(x); }\n"
    "static uint late(uint s, uint d);\n"
    "kernel void meet0(SMTL) { op o; uint s = 0; if (lane < 8) s = o(1); else s = o(1); out[i] = s; }\n"
    "kernel void meet1(SMTL) { uint s = 0; if (lane < 8) s = apply(through, 1); else s = apply(through, 1); out[i] = s; }\n"
    "kernel void meet2(SMTL) { uint s = 0; if (lane < 8) s = late(1, 0); else s = late(1, 0); out[i] = s; }\n"
    "kernel void meet3(SMTL) { auto f = [](uint x) { return simd_sum(x); }; uint s = 0; if (lane < 8) s = f(1); else s = f(1); out[i] = s; }\n"
    "kernel void meet4(SMTL) { uint s = lane < 8 ? through(1) : through(1); out[i] = s; }\n"
    /* In one line, 512 and more columns from each other. */
    "kernel void meet5(SMTL) { uint s = 0; if (lane < 8) { s = simd_sum(1); } else { " +
    std::string(480, ' ') +
    " s = simd_sum(1); } out[i] = s; }\n"
    "static uint late(uint x, uint) { return simd_sum(x); }\n";
const char *const parameters =
    "device uint *out [[buffer(0)]], device const uint *in [[buffer(1)]], constant uint &seven [[buffer(2)]], constant uint *numbers [[buffer(3)]], device atomic_uint *counters [[buffer(4)]],"
    " uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]], uint quad_in_group [[quadgroup_index_in_threadgroup]]";

}  // namespace
int main() {
    constexpr uint32_t threads = 64;
    std::vector<uint32_t> in(threads), sums(threads), numbers(32);
    for (uint32_t i = 0; i < threads; ++i) {
        in[i] = i * 7 % 13 + 1;
        sums[i] = in[i] + (i % 32 ? sums[i - 1] : 0);
        numbers[i % 32] = i % 32;
    }
    const auto results = [&](metal_program &program, const std::string &name, std::size_t count) {
        std::vector<uint32_t> out(threads * count), counters(2 * count);
        uint32_t seven = 7;
        CHECK(launch(program.kernel(name))
                  .buffer(0, out)
                  .buffer(1, in)
                  .constant(2, seven)
                  .buffer(3, numbers)
                  .buffer(4, counters)
                  .run({threads}, {threads})
                  .empty());
        return out;
    };
    const auto result = [&](metal_program &program, const std::string &name) { return results(program, name, 1); };
    const std::string head = parameters;
    /* Compiled together, which takes a quarter of the time, and less than more of them would; each has its own
     * counters. */
    constexpr std::size_t most = 8;
    for (std::size_t first = 0; first < ways.size(); first += most) {
        const std::size_t count = std::min(most, ways.size() - first);
        std::string helpers, code;
        for (std::size_t n = 0; n < count; ++n) {
            const way &w = ways[first + n];
            const std::string space = "way" + std::to_string(n);
            helpers += "namespace " + space + " {\n" + w.helpers + "\n}\n";
            code += "{\nusing namespace " + space + "; uint s = in[i];\n";
            code += std::string(w.code).find("quad ") == std::string::npos ? "" : "uint quad = quad_in_group % 8; ";
            code += std::string(w.code) + "\n" + scan + "\nout[i] = s; out += 64; counters += 2;\n}\n";
        }
        metal_program program(helpers + "kernel void k(" + head + ") {\n" + code + "}\n");
        const std::vector<uint32_t> out = results(program, "k", count);
        for (std::size_t n = 0; n < count; ++n) {
            const way &w = ways[first + n];
            if (!CHECK(std::equal(sums.begin(), sums.end(), out.begin() + threads * n)))
                std::printf("%s\n%s\n", w.helpers, w.code);
        }
    }
    for (const char *declaration : declarations) {
        metal_program program("kernel void k(" + head + ") {\nuint t = lane;\n" + declaration + "\n" + scan +
                              "\nout[i] = s;\n}\n");
        if (!CHECK(result(program, "k") == sums)) std::printf("%s\n", declaration);
    }
    for (const std::string &parameter : lane_parameters) {
        metal_program program("kernel void k(" + head + ", " + parameter + ") {\nuint s = in[i];\n" + scan +
                              "\nout[i] = s;\n}\n");
        if (!CHECK(result(program, "k") == sums)) std::printf("%s\n", parameter.c_str());
    }
    for (std::string source : refused) {
        for (const auto &[mark, text] : {std::pair<std::string, std::string>{"@P", head}, {"@", scan}})
            for (std::size_t at = source.find(mark); at != std::string::npos; at = source.find(mark, at + text.size()))
                source.replace(at, mark.size(), text);
        const compiled library(source);
        if (!CHECK(!library.library && library.log.find("under a branch") != std::string::npos))
            std::printf("%s\n%s\n", source.c_str(), library.log.c_str());
    }
    std::vector<uint32_t> met(threads);
    for (uint32_t i = 0; i < threads; ++i) met[i] = i % 32 < 8 ? 8 : 24;
    for (const way &w : meetings) {
        metal_program program(std::string(w.helpers) + "\nkernel void k(" + head + ") {\nuint s = 0;\n" + w.code +
                              "\nout[i] = s;\n}\n");
        if (!CHECK(result(program, "k") == met)) std::printf("%s\n%s\n", w.helpers, w.code);
    }
    std::string source = by_functions;
    for (std::size_t at = source.find("SMTL"); at != std::string::npos; at = source.find("SMTL", at))
        source.replace(at, 4, head);
    metal_program program(source);
    for (int k = 0; k < 13; ++k)
        if (!CHECK(result(program, "function" + std::to_string(k)) == sums)) std::printf("function%d\n", k);
    for (int k = 0; k < 6; ++k)
        if (!CHECK(result(program, "meet" + std::to_string(k)) == met)) std::printf("meet%d\n", k);
    return check::report("engine/branches_test");
}
