// Types in different address spaces are different types: for deduction, specialisations and traits.
#include "check.h"
#include "compiled_source.h"

namespace {

// A type that stands twice is in one space, and types in two spaces are two.
void test_deduction() {
    expect_results(head + R"(
template <typename T> int f(T, T) { return 1; }
template <typename T, typename U> int f(T, U) { return 2; }
template <typename T, typename U> struct same { static constexpr constant int v = 0; };
template <typename T> struct same<T, T> { static constexpr constant int v = 1; };
template <typename T, typename U> int same_as(T, U) { return same<T, U>::v; }
template <typename T> int g(const device T *, const device T *) { return 1; }
template <typename T, typename U> int g(T, U) { return 2; }
kernel void k(device float *x) {
    float y = 0;
    threadgroup float t[2];
    x[0] = f(x, &y);
    x[1] = f(x, x + 1);
    x[2] = f(x, t);
    x[3] = same_as(x, &y);
    x[4] = same_as(x, x);
    x[5] = same_as(t, &y);
    x[6] = g(x, &y);
    x[7] = same<device float *, threadgroup float *>::v;
}
)",
                   {2, 1, 2, 0, 1, 0, 2, 0});
}

// Overloads with the same body are two all the same if they have different defaults, or ask what they are.
void test_duplicates() {
    const std::string calls = "kernel void k(device float *x) { float y = 0; x[0] = f(x); x[1] = f(&y); }\n";
    expect_results(head +
                       "float f(device const float *p, int y = 3) { return y; }\n"
                       "float f(thread const float *p, int y = 5) { return y; }" +
                       calls,
                   {3, 5});
    expect_results(head +
                       "template <int n = 3> float f(device const float *p) { return n; }\n"
                       "template <int n = 5> float f(thread const float *p) { return n; }" +
                       calls,
                   {3, 5});
    expect_results(head +
                       "template <typename T> struct tag { static constexpr constant int v = 1; };\n"
                       "template <> struct tag<device float *> { static constexpr constant int v = 2; };\n"
                       "float f(device const float *p) { return tag<device float *>::v; }\n"
                       "float f(thread const float *p) { return tag<thread float *>::v; }" +
                       calls,
                   {2, 1});
}

void test_types() {
    expect_results(head + R"(
template <typename T> float h(T) { return is_same_v<T, device float *> ? 1 : 2; }
kernel void k(device float *x) {
    float y = 0;
    x[0] = is_same_v<device float *, thread float *>;
    x[1] = is_same<threadgroup float &, thread float &>::value;
    x[2] = h(x);
    x[3] = h(&y);
}
)",
                   {0, 0, 1, 2});
    // The type of a value names no space.
    expect_results(head + R"(
template <typename P> float next(P p) { decay_t<decltype(*p)> v = *p; v += 1; return v; }
constexpr device float &add(device float &p, float v) { p += v; return p; }
kernel void k(device float *x) { threadgroup float t[1]; t[0] = 1; x[0] = next(t); x[1] = next(x); add(x[0], 1); }
)",
                   {3, 3});
    expect_results(head + R"(
template <typename T> struct is_dev { static constexpr constant int v = 0; };
template <typename T> struct is_dev<device T *> { static constexpr constant int v = 1; };
kernel void k(device float *x) {
    float y = 0;
    thread float *p = &y;
    x[0] = is_dev<decltype(p)>::v;
    x[1] = is_dev<decltype(x)>::v;
    x[2] = is_dev<thread float *>::v;
    x[3] = is_dev<device float *>::v;
}
)",
                   {0, 1, 0, 1});
    expect_results(head + R"(
template <typename T> struct is_dev { static constexpr constant int v = 0; };
template <typename T> struct is_dev<array<device T *, 2>> { static constexpr constant int v = 1; };
kernel void k(device float *x) { x[0] = is_dev<array<thread int *, 2>>::v; x[1] = is_dev<array<device int *, 2>>::v; }
)",
                   {0, 1});
    expect_results(head + R"(
template <typename T, typename U> float h(T, U) { return is_same_v<T, U> ? 1 : 2; }
kernel void k(device float *x) { float y = 0; x[0] = h(x, x); x[1] = h(x, &y); }
)",
                   {1, 2});
    expect_results(head + R"(
kernel void k(device float *x) { float y = 0; thread float *p = &y; x[0] = conditional_t<is_same<decltype(x), decltype(p)>::value, true_type, false_type>::value; }
)",
                   {0});
}

// Types named with their keys, as C has them.
void test_keys() {
    expect_results(head + R"(
namespace n { template <int N> struct V { float x[N]; }; struct F; enum E : int { one = 1 }; enum class G : uint { two = 2 }; }
struct n::F { float y; };
struct A { float x; };
struct alignas(16) Q final { float z; };
struct B {
    device struct A *p;
    constant struct A *q;
    struct n::V<2> v;
    struct A a, b[2];
    enum n::E e;
    enum n::G g;
    thread struct A *self() thread { return &a; }
};
struct C { device struct A &r; };
constant struct A fixed = {7};
constant struct n::V<2> both{{1, 2}};
constant enum n::E one = n::one;
struct W { float i; } constant w = {5};
kernel void k(device struct A *x, uint i [[thread_position_in_grid]]) {
    threadgroup struct A s[2];
    device struct A *l = x;
    struct B b = {x, &fixed};
    struct C c = {x[3]};
    b.a.x = 4;
    s[0] = *b.self();
    l[0].x = s[0].x + fixed.x;
    b.p[1].x = both.x[1] + one + w.i;
    c.r.x = b.q->x;
}
)",
                   {11, 8});
}

}  // namespace

int main() {
    test_deduction();
    test_duplicates();
    test_types();
    test_keys();
    return check::report("msl/spaces/space_types_test");
}
