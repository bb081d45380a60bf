// What is an lvalue in an address space stays one: results of conditionals and of members.
#include <string>
#include <vector>

#include "check.h"
#include "compiled_source.h"

namespace {

// A conditional of two lvalues is an lvalue.
void test_conditionals() {
    expect_results(head + R"(
struct S { float v; void set(float w) { v = w; } };
float space(device const float &p) { return 1; }
float space(thread const float &p) { return 2; }
device float &lvalue(device float *x, bool c) { return c ? x[0] : x[1]; }
threadgroup float &shared_lvalue(threadgroup float *x, bool c) { return (c ? x[0] : x[1]); }
kernel void k(device float *x, constant float *c [[buffer(1)]]) {
    const bool yes = c[0] == 5;
    device float4 *v = (device float4 *)(x + 8);
    device S *s = (device S *)x;
    threadgroup float t[2];
    (yes ? v[0] : v[1]) = float4(1);
    (yes ? v[0] : v[1]) += float4(2);
    (!yes ? v[0] : v[1]).y = 4;
    (!yes ? s[0] : s[1]) = S{5};
    (yes ? s[2] : s[0]).set(6);
    (yes ? x[3] : x[0])++;
    *&(yes ? x[4] : x[0]) = 7;
    lvalue(x + 5, false) = 8;
    shared_lvalue(t, yes) = 9;
    device float &r = yes ? x[5] : x[0];
    auto &q = !yes ? x[0] : x[7];
    device float *p = &q;
    r = t[0];
    *p = (yes ? c[1] : 0.0f) + (yes ? t[0] : x[0]);
    x[6] = space(yes ? x[3] : x[4]);
}
)",
                   {0, 5, 6, 1, 7, 9, 1, 15, 3, 3, 3, 3, 0, 4, 0, 0});
}

// Overloads see where the result of a conditional lies: in the space of two lvalues of one type, or nowhere.
void test_conditionals_as_arguments() {
    expect_results(head + R"(
struct S { float v; };
float space(device const float &p) { return 1; }
float space(threadgroup const float &p) { return 2; }
float space(thread const float &p) { return 3; }
float space(device const S &p) { return 4; }
float space(thread const S &p) { return 5; }
template <typename T> device T &chosen(device T &a, device T &b, bool first) { return first ? a : b; }
void add(device float &p) { p += 10; }
kernel void k(device float *x, constant float *c [[buffer(1)]]) {
    const bool yes = c[0] == 5;
    device S *s = (device S *)x;
    device const float *y = x;
    threadgroup float t[3];
    float own[2] = {1, 2};
    t[0] = t[1] = t[2] = 0;
    x[0] = space(yes ? x[3] : x[4]) + 10 * space(yes ? t[0] : t[1]) + 100 * space(yes ? own[0] : own[1]);
    x[1] = space(yes ? x[3] : t[0]) + 10 * space(yes ? t[0] : own[0]) + 100 * space(yes ? x[0] : 1.0f);
    x[2] = space(yes ? x[3] : yes ? x[4] : x[5]) + 10 * space(yes ? (yes ? x[3] : x[4]) : x[5]) +
           100 * space(yes ? x[3] : yes ? t[0] : x[5]);
    x[3] = space(yes ? x[3] : y[4]) + 10 * space(yes ? s[0] : s[1]) + 100 * space(yes ? s[0] : S{1});
    add(!yes ? x[0] : x[4]);
    add(chosen(x[0], yes ? x[5] : x[0], !yes));
    x[4] += x[7] ?: x[0];
    x[6] = space(yes ? x[int(c[0]) >> 1] : x[8 >> 2]) + 10 * space(yes ? x[([](int i) { return i; })(3)] : x[4]);
}
)",
                   {321, 333, 311, 541, 331, 10, 31, 0});
}

// A conditional of two values is a value, which has no reference type and lives as long as a reference to it.
void test_conditionals_of_values() {
    expect_results(head + R"(
float4 made(float x) { return float4(x); }
struct row { float v[3]; thread const float *begin() const { return v; } thread const float *end() const { return v + 3; } };
row counted(float x) { return {{x, x + 1, x + 2}}; }
template <class A, class B> struct promote { typedef decltype(true ? A() : B()) type; };
template <class A, class B> typename promote<A, B>::type add(A a, B b) { return a + b; }
auto either(float a, float b, bool c) -> decltype(c ? a + b : a * b) { return c ? a + b : a * b; }
kernel void k(device float *x, constant float *c [[buffer(1)]], uint lane [[thread_index_in_simdgroup]]) {
    const bool yes = c[0] == 5;
    const thread float4 &v = yes ? made(c[1]) : made(c[0]);
    const thread auto &w = yes ? v * 2 : v * 3;
    float a = c[0];
    if (lane < 16) a += yes ? simd_shuffle_xor(a * 2, 0) : simd_shuffle_down(a * 2, 1);
    x[0] = v.x;
    x[1] = w.y;
    for (float f : yes ? counted(1) : counted(2)) x[2] += f;
    x[3] = add(c[0], c[1]) + is_same<decltype(true ? char(1) : char(2)), char>::value;
    x[4] = either(3, 4, yes);
    x[5] = a;
}
)",
                   {6, 12, 6, 12, 7, 15});
}

// Members, the library's too, find their object without its space; what refers to their results has it all the same.
void test_results() {
    expect_results(head + R"(
struct S {
    float a[2], b;
    device float *pointer() device { return a; }
    thread float *pointer() thread { return a; }
    const device float *last() const device { return &a[1]; }
    threadgroup float &at(int i) threadgroup { return a[i]; }
    threadgroup float &other() threadgroup { return b; }
    device float &either(int i) device { return i >> 1 & 1 ? a[i & 1] : b; }
    threadgroup float &either(int i) threadgroup { return i >> 1 & 1 ? a[i & 1] : b; }
    device float &element(int i) device;
};
device float &S::element(int i) device { return a[i]; }
struct Held {
    device float *p;
    device float *get() const { return p; }
    device float &operator*() const { return *p; }
};
device float4 &column(device float4x4 &m, int i) { return m[i]; }
template <typename T> using device_pointer = device T *;
kernel void k(device float *x) {
    device S *s = (device S *)x;
    threadgroup S t;
    Held held = {x + 3};
    device float *p = s->pointer();
    p[0] = 1;
    device float &second = s->element(1);
    second = 2;
    const device float *last = s->last();
    t.at(0) = 3;
    threadgroup float &third = t.at(0);
    t.other() = 4;
    x[2] = third + t.b;
    device float *h = held.get();
    *h = *last + 6;
    device_pointer<float> fourth = x + 4;
    device float4x4 &m = *(device float4x4 *)fourth;
    device float4 &first = m[0];
    first = float4(9);
    column(m, 1) = 10;
    device float &element = m[1][2];
    element = 11;
    threadgroup array<float, 2> values;
    threadgroup float &value = values[1];
    value = 12;
    threadgroup packed_float3 packed;
    threadgroup float &part = packed[2];
    part = 13;
    first.x = value + packed.z;
    x[5] = is_same_v<decltype(x[0] + 1), float>;
}
)",
                   {1, 2, 7, 8, 25, 1, 9, 9, 10, 10, 11, 10, 0, 0, 0, 0, 0, 0, 0, 0});
    expect_results(head + R"(
struct S { float v[2]; constant float &at(int i) constant { return v[i]; } constant float *all() constant { return v; } };
constant S s = {{1, 2}};
constant array<float, 2> values = {{4, 5}};
constant float4x4 m = float4x4(6);
kernel void k(device float *x) {
    constant float &a = s.at(1);
    constant float *p = s.all();
    constant float &value = values[1];
    constant float4 &column = m[1];
    x[0] = a + p[0];
    x[1] = value + column.y;
}
)",
                   {3, 11});
    for (const char *wrong : {"threadgroup float t[2]; device float &r = t[1];", "float y = 0; device float &r = y;",
                              "threadgroup S t; device float &r = t.v[0];", "P p; device float *q = p.get();"}) {
        const compiled broken(
            head +
            "struct S { float v[1]; }; struct P { threadgroup float *p; threadgroup float *get() { return p; } };" +
            "kernel void k(device float *x) { " + wrong + " }");
        CHECK(broken.library == nullptr);
    }
}

// Members for objects in different spaces, wherever they are declared and whatever they give back.
void test_members() {
    expect_results(head + R"(
struct S {
    float a[2];
    float get() const device;
    float get() const threadgroup;
    float get() const thread;
    device float &at(int i) device { return a[i]; }
    threadgroup float &at(int i) threadgroup { return a[i]; }
    thread float &at(int j) thread { return a[j]; }
    float both() const device { return 1; }
    float both() device { return 2; }
    float both() const thread { return 1; }
    float both() thread { return 2; }
    S operator-() const device { return {{-a[0], a[1]}}; }
    S operator-() const thread { return {{-a[0], a[1]}}; }
};
float S::get() const device { return a[0]; }
float S::get() const threadgroup { return a[0]; }
float S::get() const thread { return a[0]; }
kernel void k(device float *x) {
    struct L {
        float v;
        L(float w) thread : v(w) {}
        float twice() const thread { return 2 * v; }
        void set(float w) threadgroup { v = w; }
    };
    device S &s = *(device S *)(x + 10);
    threadgroup S t;
    S p;
    s.at(0) = 1;
    t.at(0) = 2;
    p.at(0) = 3;
    const S c = p;
    x[0] = s.get() + 10 * t.get() + 100 * p.get();
    x[1] = s.both() + 10 * p.both() + 100 * c.both();
    x[2] = (-s).get() + (-c).get();
    x[3] = L(4).twice();
}
)",
                   {321, 122, -4, 8, 0, 0, 0, 0, 0, 0, 1, 0});
}

// Operands of conditionals that no reference can refer to.
void test_bit_fields() {
    expect_results(head + R"(
struct B { uint low : 4, high : 12; };
kernel void k(device float *x) {
    device B *b = (device B *)(x + 3);
    b->low = 5;
    b->high = 77;
    const bool yes = x[0] < 2;
    x[0] = yes ? b->low : b->high;
    x[1] = !yes ? 0u : b->high;
    b->low = 0;
    b->high = 0;
}
)",
                   {5, 77, 0, 0});
}

}  // namespace

int main() {
    test_conditionals();
    test_conditionals_as_arguments();
    test_conditionals_of_values();
    test_results();
    test_members();
    test_bit_fields();
    return check::report("msl/spaces/lvalues_test");
}
