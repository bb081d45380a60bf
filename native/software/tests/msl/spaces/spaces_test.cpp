// Functions that differ in address spaces and in what they do: the spaces of what they are given decide.
#include <string>
#include <vector>

#include "check.h"
#include "compiled_source.h"

namespace {

const std::string overloads = head + R"(
float load(device const float *p) { return p[0]; }
float load(threadgroup const float *p) { return p[0] * 10; }
float load(constant const float *p) { return p[0] * 100; }
float load(thread const float *p) { return p[0] * 1000; }
template <typename T> T scaled(const device T *p) { return *p * T(2); }
template <typename T> T scaled(const threadgroup T *p) { return *p * T(3); }
template <typename P> float through(P p) { return load(p) + scaled(p); }
template <typename T> struct kind { static constant constexpr int value = 0; };
template <typename T> struct kind<device T *> { static constant constexpr int value = 1; };
template <typename T> struct kind<threadgroup T *> { static constant constexpr int value = 2; };
template <typename T> struct kind<constant T *> { static constant constexpr int value = 3; };
)";

void expect(const std::string &source, const std::vector<float> &wanted, uint32_t memory = 0) {
    expect_results(overloads + source, wanted, 1, memory);
}

void test_calls() {
    // Arguments, variables, constants of the program, parts of structures, elements.
    expect(R"(
constant float table[2] = {0.5, 0.25};
struct S { float a; float4 v; };
kernel void k(device float *x [[buffer(0)]], constant float *c [[buffer(1)]], threadgroup float *dynamic [[threadgroup(0)]]) {
    threadgroup float tile[4];
    threadgroup S shared;
    thread float local[1] = {3};
    S s = {7, float4(8)};
    tile[1] = 2;
    dynamic[0] = 4;
    shared.a = 9;
    x[1] = load(x);
    x[2] = load(c + 1);
    x[3] = load(tile + 1);
    x[4] = load(dynamic);
    x[5] = load(local);
    x[6] = load(&s.a);
    x[7] = load(&shared.a);
    x[8] = load(table);
    device float &reference = x[0];
    x[9] = load(&reference);
    const threadgroup float *p = tile;
    x[10] = load(&p[1]);
    auto element = &c[0];
    x[11] = load(element);
}
)",
           {1, 1, 600, 20, 40, 3000, 7000, 90, 50, 1, 20, 500}, 16);
}

void test_templates() {
    expect(R"(
kernel void k(device float *x [[buffer(0)]], constant float *c [[buffer(1)]]) {
    threadgroup float tile[4];
    tile[0] = 2;
    x[1] = through(x);
    x[2] = through(tile);
    x[3] = kind<float *>::value + 10 * kind<device float *>::value + 100 * kind<threadgroup int *>::value + 1000 * kind<constant float *>::value;
    auto of_a_lambda = [&](threadgroup float *p) { return load(p) + x[0]; };
    x[4] = of_a_lambda(tile);
}
)",
           {1, 3, 26, 3210, 21});
    const compiled instances(overloads + R"(
template <typename T> kernel void g(device T *x, constant T &n, device T *y) { y[0] = scaled(x) + n; }
template [[host_name("listed")]] kernel void g<float>(device float *, constant float &, device float *);
template [[host_name("deduced")]] kernel decltype(g<int>) g<int>;
)");
    std::vector<float> x = {4}, n = {0.5}, y(1);
    CHECK(run(instances.specialize("listed", {}), {&x, &n, &y}, 1).empty() && y[0] == 8.5f);
    CHECK(!instances.specialize("deduced", {}).empty());
}

// Overloads whose heads differ in more than the spaces: without these, clang would choose among what is left.
void test_overloads_of_other_heads() {
    const std::string
        of_pointers =
            "kernel void k(device float *x) { float y = 0; thread float *p = &y; x[0] = f(x); x[1] = f(p); }\n",
        of_references = "kernel void k(device float *x) { float y = 0; x[0] = f(*x); x[1] = f(y); }\n";
    for (const char *other :
         {"float f(thread const float *p) { return 2; }", "float f(thread void *p) { return 2; }",
          "float f(bool p) { return 2; }", "float f(...) { return 2; }",
          "float f(thread const float *p, int n = 0) { return 2; }", "template <typename T> float f(T p) { return 2; }",
          "template <typename... T> float f(T... p) { return 2; }",
          "struct C { C(thread const float *p) {} }; float f(C c) { return 2; }"})
        expect_results(head + "float f(device float *p) { return 1; }\n" + std::string(other) + of_pointers, {1, 2});
    for (const char *other : {"T p", "thread const T *p", "thread T *p"})
        expect_results(head +
                           "template <typename T> float f(device T *p) { return 1; }\ntemplate <typename T> float f(" +
                           std::string(other) + ") { return 2; }" + of_pointers,
                       {1, 2});
    expect_results(head + "float f(device float &p) { return 1; } float f(thread const float &p) { return 2; }" +
                       of_references,
                   {1, 2});
    expect_results(head +
                       "typedef device float *D; typedef thread const float *T;\n"
                       "float f(D p) { return 1; } float f(T p) { return 2; }" +
                       of_pointers,
                   {1, 2});
    expect_results(
        head +
            "namespace a { float f(device float *p) { return 1; } }\n"
            "namespace b { float f(thread const float *p) { return 2; } }\nusing namespace a;using namespace b;\n" +
            of_pointers,
        {1, 2});
    // Two have the same body, and are one: the third tells them apart.
    expect_results(head +
                       "float f(device const float *p) { return 1; } float f(thread const float *p) { return 1; }\n"
                       "float f(device float *p) { return 2; }" +
                       of_pointers,
                   {2, 1});
    // A `T` that lies in another space is none of the thread's.
    for (const char *result : {"float", "auto"}) {
        const std::string arrow = result == std::string("auto") ? " -> float" : "";
        const auto written = [&](const std::string &parameter, const char *value) {
            return "template <typename T> " + std::string(result) + " f(" + parameter + ")" + arrow + " { return " +
                   value + "; }\n";
        };
        expect_results(head + written("device const T *p", "1") + written("thread T *p", "2") + of_pointers, {1, 2});
        expect_results(head + written("device const T &p", "1") + written("thread T &p", "2") + of_references, {1, 2});
    }
    const compiled ambiguous(
        head + "float f(device const float *p) { return 1; } float f(thread float *p) { return 2; }\n" + of_pointers);
    CHECK(ambiguous.library == nullptr && ambiguous.says("call to 'f' is ambiguous"));
}

void test_members_of_other_heads() {
    expect_results(head + R"(
struct A {
    static float g(device float *p) { return 5; }
    A(device float *p) : n(6) {}
    float n;
};
struct S : A {
    using A::A;
    using A::g;
    static float g(thread const float *p) { return 7; }
    S(thread const float *p) : A((device float *)0) { n = 8; }
    float f(device float *p) { return 1; }
    float f(thread const float *p) { return 2; }
    float operator()(device float *p) const { return 3; }
    float operator()(thread const float *p) const { return 4; }
};
struct V { float n; };
float operator+(device V &v, float n) { return 9; }
float operator+(thread const V &v, float n) { return 10; }
kernel void k(device float *x) {
    float y = 0;
    V v{1};
    S s(x), t(&y);
    x[0] = s.f(x);
    x[1] = s.f(&y);
    x[2] = s(x);
    x[3] = s(&y);
    x[4] = S::g(x);
    x[5] = S::g(&y);
    x[6] = s.n;
    x[7] = t.n;
    x[8] = *(device V *)x + 1.0f;
    x[9] = v + 1.0f;
}
)",
                   {1, 2, 3, 4, 5, 7, 6, 8, 9, 10});
}

// What the library does with memory works in every space.
void test_library() {
    expect(R"(
struct complex {
    float re, im;
    complex() = default;
    complex(float r, float i) thread : re(r), im(i) {}
    complex(float r, float i) threadgroup : re(r), im(i) {}
    float norm() const device { return re * re + im * im; }
    float norm() const thread { return re * re + im * im; }
    device complex &operator+=(complex other) device { re += other.re; im += other.im; return *this; }
    thread complex &operator+=(complex other) thread { re += other.re; im += other.im; return *this; }
};
float sum(threadgroup float values[2], constant uint n) { return values[0] + values[1] + n; }
kernel void k(device float *x [[buffer(0)]], constant float *c [[buffer(1)]]) {
    threadgroup atomic_uint counter;
    threadgroup float tile[64];
    device complex *z = (device complex *)(x + 4);
    complex own(1, 2);
    atomic_store_explicit(&counter, 2u, memory_order_relaxed);
    atomic_fetch_add_explicit(&counter, 3u, memory_order_relaxed);
    x[1] = atomic_load_explicit(&counter, memory_order_relaxed);
    atomic_fetch_add_explicit((device atomic_float *)&x[1], 0.5f, memory_order_relaxed);
    z[0] = own;
    z[0] += own;
    own += z[0];
    x[2] = z[0].norm() + own.norm();
    device float4 *v = (device float4 *)(x + 8);
    v[0] = float4(1, 2, 3, 4) * c[0];
    v[0].xy += v[0].zw;
    tile[0] = v[0].x;
    tile[1] = max(v[0].y, c[1]);
    x[3] = sum(tile, 2) + simd_sum(x[0]) + load(&x[0]);
    x[6] = dot(v[0], v[0]) + select(c[0], x[0], true);
    x[7] = as_type<float>(as_type<uint>(c[1])) + float(half(x[0]));
}
)",
           {1, 5.5, 65, 54, 2, 4, 1926, 7, 20, 30, 15, 20});
    const compiled matrix(overloads + R"(
kernel void k(device float *x [[buffer(0)]]) {
    threadgroup float tile[64];
    simdgroup_float8x8 m;
    simdgroup_load(m, x, 8);
    simdgroup_store(m, tile, 8, ulong2(0, 0), true);
    simdgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_load(m, tile, 8);
    simdgroup_store(m, x, 8);
}
)");
    std::vector<float> x(64);
    for (int i = 0; i < 64; ++i) x[i] = float(i);
    CHECK(run(matrix.specialize("k", {}), {&x}, 32).empty() && x[1] == 8 && x[8] == 1 && x[63] == 63);
}

// Values of different spaces, and of none, meet in conditionals.
void test_conditionals() {
    expect(R"(
struct pair { float a, b; pair() = default; pair(float x, float y) thread : a(x), b(y) {} };
void nothing() {}
kernel void k(device float *x [[buffer(0)]], constant float *c [[buffer(1)]]) {
    threadgroup float4 tile[2];
    threadgroup pair pairs[2];
    constant float4 *vc = (constant float4 *)c;
    device float4 *v = (device float4 *)(x + 4);
    constant pair *pc = (constant pair *)c;
    device pair *p = (device pair *)(x + 8);
    const bool yes = x[0] > 0, no = x[0] < 0;
    tile[0] = 2;
    v[0] = no ? float4(1) : yes ? tile[0] : v[0];
    pairs[0] = yes ? pc[0] : pair(1, 2);
    p[0] = no ? pair(3, 4) : pairs[0];
    const pair both = yes ? (no ? p[1] : pairs[0]) : pc[0];
    p[1] = both;
    const device float *q = yes ? x : 0;
    yes ? nothing() : nothing();
    x[1] = yes ? q[0] : tile[0].x;
    x[2] = no ? c[0] : x[0] < 2 ? tile[0].y : c[1];
    x[3] = load(yes ? x : nullptr) + (yes ? through<device float *>(x) + 2 : 0);
    if (no) v[0] = vc[0];
}
)",
           {1, 1, 2, 6, 2, 2, 2, 2, 5, 6, 5, 6});
}

void test_errors() {
    const auto wrong = [](const std::string &source, const std::string &wanted) {
        const compiled broken(overloads + source);
        CHECK(broken.library == nullptr && broken.says(wanted));
    };
    // Pointers to different spaces do not convert into each other.
    wrong("kernel void k(device float *x) {\n threadgroup float *p = x;\n}\n",
          "'threadgroup float *' with an lvalue of type 'device float *'");
    wrong("kernel void k(constant float *x) {\n x[0] = 1;\n}\n", "program_source:16:");
    const std::string differ = "error: members that differ only in the address space of their object";
    wrong("struct S { float a; float get() const device { return a; }\n float get() const thread { return -a; } };\n",
          "program_source:16:2: " + differ);
    // `const` alone would decide.
    wrong("struct S { float a; float get() device { return a; }\n float get() const thread { return -a; } };\n",
          "program_source:16:2: " + differ);
    wrong("struct S { float get() const device; float get() const thread; };\n"
          "float S::get() const device { return 1; }\n float S::get() const thread { return 2; }\n",
          "program_source:17:2: " + differ);
    // A member and a function of its own, of which the object's space is to choose one.
    wrong("struct S { float a; float operator+(S o) const device { return 1; } };\n"
          "float operator+(thread const S &a, S b) { return 2; }\n"
          "kernel void k(device float *x, device S *s) { S t = s[0];\n x[0] = t + t; }\n",
          "program_source:18:");
}

// A host sees the same arguments as in other sources.
void test_reflection() {
    const compiled library(overloads + R"(
struct Inner { float a; float4 v; };
struct Args { device float *out; constant Inner *inner; array<device const int *, 2> more; };
kernel void k(constant Args &args [[buffer(3)]], device const half4 *h [[buffer(1)]]) { args.out[0] = h[0].x + args.inner->v.x + args.more[1][0]; }
)");
    const smtl_argument *arguments = nullptr;
    if (!CHECK(library.library != nullptr && smtl_library_arguments(library.library, "k", &arguments) == 2)) return;
    CHECK(arguments[0].index == 3 && arguments[0].access == SMTL_ACCESS_READ_ONLY && arguments[0].type_size == 32);
    CHECK(arguments[1].index == 1 && arguments[1].access == SMTL_ACCESS_READ_ONLY && arguments[1].type_size == 8);
    const smtl_type *args = smtl_library_pointee(library.library, &arguments[0]);
    if (!CHECK(args != nullptr && args->member_count == 3)) return;
    const smtl_type *out = args->members[0].type, *more = args->members[2].type;
    constexpr uint32_t type_pointer = 60;
    CHECK(out->data_type == type_pointer && out->element && out->element->data_type == type_float &&
          out->access == SMTL_ACCESS_READ_WRITE);
    CHECK(args->members[1].type->element && args->members[1].type->element->member_count == 2);
    CHECK(more->length == 2 && more->element && more->element->access == SMTL_ACCESS_READ_ONLY &&
          more->element->element->data_type == type_int);
}

}  // namespace

int main() {
    test_calls();
    test_templates();
    test_overloads_of_other_heads();
    test_members_of_other_heads();
    test_library();
    test_conditionals();
    test_errors();
    test_reflection();
    return check::report("msl/spaces/spaces_test");
}
