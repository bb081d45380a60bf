// Elements of `array<T, N>` lie where the array does, for overloads, template arguments and `auto` too.
#include <cstddef>
#include <string>
#include <vector>

#include "check.h"
#include "compiled_source.h"

namespace {

const std::string declarations = head + R"(
float space(device const float *) { return 1; }
float space(threadgroup const float *) { return 2; }
float space(constant float *) { return 3; }
float space(thread const float *) { return 4; }
template <class T> float space_of(T &x) { return space(&x); }
template <class P> struct holder { P p; };
template <class P> float passed_on(P p) { return space(p); }
template <class A> float of_any(A &a) { return space(&a[1]); }
using pair = array<float, 2>;
typedef array<pair, 3> rows;
template <class T> using four = array<T, 4>;
struct parts { pair p; rows r; four<float> f; };
)";

// X is an array in a space.
const std::vector<std::string> ways = {
    "space(&X[1])",
    "space(X.data() + 1)",
    "space(1 + X.data())",
    "space(X.begin())",
    "space(X.end() - 1)",
    "space(&X.front())",
    "space(&X.back())",
    "space(&(X)[0])",
    "space(&(*&X)[0])",
    "space((&X)->data())",
    "space_of(X[0])",
    "space_of(X.front())",
    "of_any(X)",
    "space(yes ? &X[0] : &X[1])",
    "space(&(yes ? X[0] : X[1]))",
    "passed_on(&X[0])",
    "passed_on(X.data())",
    "space(holder<decltype(X.data())>{&X[0]}.p)",
    "space(&X[list[1] == 2 ? 0 : 1])",
    "[&] { auto p = &X[1]; return space(p); }()",
    "[&] { auto &r = X[1]; return space(&r); }()",
    "[&] { auto &r = X; return space(&r[1]); }()",
    "[&] { auto *p = &X; return space(&(*p)[1]) * (space(p->data()) == space(&p[0][1])); }()",
    "[&] { float n = 0; for (auto &r : X) n += space(&r); return n / X.size(); }()",
};

// The arrays in each space, by names of every form, and those within others.
void test_ways() {
    const std::vector<std::string> device = {"d", "s->p", "s->r[1]", "(*s).f", "s->r.front()", "s[0].r.data()[2]"};
    const std::vector<std::string> threadgroup = {"t", "u.p", "u.r[2]", "u.f", "whole(t)", "own.shared[0]"};
    const std::vector<std::string> constant = {"c", "m.p", "m.r[0]", "m.f", "m.r.back()"};
    const std::vector<std::string> thread = {"own.p", "list", "v.r[1]", "v.f"};
    const std::vector<std::vector<std::string>> names = {device, threadgroup, constant, thread};
    std::string body;
    std::vector<float> wanted;
    for (std::size_t space = 0; space < names.size(); ++space) {
        for (const std::string &name : names[space]) {
            for (std::string way : ways) {
                for (std::size_t at = 0; (at = way.find('X')) != std::string::npos;) way.replace(at, 1, name);
                body += "    x[" + std::to_string(wanted.size()) + "] = " + way + ";\n";
                wanted.push_back(float(space + 1));
            }
        }
    }
    const std::size_t result_count = wanted.size();
    wanted.resize(result_count + 16);
    expect_results(declarations + R"(
constant pair c = {{1, 2}};
constant parts m = {};
threadgroup pair &whole(threadgroup pair &p) { return p; }
struct both { pair p; threadgroup pair *shared; };
kernel void k(device float *x) {
    device pair &d = *(device pair *)(x + )" +
                       std::to_string(result_count) + R"();
    device parts *s = (device parts *)(x + )" +
                       std::to_string(result_count) + R"();
    threadgroup pair t;
    threadgroup parts u;
    pair list = {{1, 2}};
    parts v;
    both own = {list, &t};
    const bool yes = x[0] == 0;
)" + body + "}\n",
                   wanted);
}

// What is computed with elements, and with what only looks like them.
void test_values() {
    expect_results(
        head + R"(
struct C { uint n[2]; array<float, 2> v; array<float4, 2> w; };
template <class T> struct number { T value; };
template <class T> bool operator==(const number<T> &a, const number<T> &b) { return a.value == b.value; }
template <class T> T operator*(threadgroup number<T> &a, threadgroup number<T> &b) { return a.value * b.value; }
template <class T> T operator&(const threadgroup number<T> &a, const threadgroup number<T> &b) { return a.value; }
void add(threadgroup C *c, float x) { c->v[1] += x; }
void add(threadgroup float &c) { c += 1; }
template <class T, size_t N> T total(threadgroup array<vec<T, 4>, N> &a) {
    T sum = 0;
    for (threadgroup vec<T, 4> &v : a) sum += (v.xy * v.zw).x;
    return sum + (a[0].xy * a[1].yx + a.back().xy).y;
}
constant array<float, 2> table = {{3, 4}};
constant float last = table[1];
array<float, 2> made(float x) { return {{x, x + 1}}; }
struct held { float v[2] = {8, 9}; };
kernel void k(device float *x, uint lane [[thread_index_in_simdgroup]]) {
    threadgroup array<C, 4> s;
    constexpr array<uint, 2> sizes = {{2, 3}};
    float list[sizes[1]] = {1, 2, 3}, t[sizes[0]];
    static_assert(sizes[0] == 2 && sizes.back() == 3, "");
    s[0].v[1] = s[1].v[0] = 5;
    s[s[0].n[0] = 0].w[0].xy = float2(1, 2);
    s[0].w[0].zw = s[0].w[0].xy * 2;
    s[0].w[1] = s[0].w[0];
    add(&s[0], 2);
    add(s[0].v[1]);
    x[0] = s[0].v[1] + s[1].v[0] * list[2] - s[1].v[0];
    x[1] = total(s[0].w);
    x[2] = last + array<float, 2>{{7, 8}}[1];
    t[0] = min(s[1].v[0], list[1]), t[1] = max(s[1].v.front(), list[1]);
    x[3] = t[0] + t[1];
    array<float, 2> own = s[0].v;
    if (lane == 0) own[0] = simd_shuffle(own[1] * 2, 0);
    x[4] = own[0];
    {
        threadgroup float (s[4]);
        float t = 2, (*p)[3] = &list, (own[2]) = {4, 5}, *sizes[2] = {own, own + 1};
        float(table[1]) = {*sizes[1]};
        s[3] = 2;
        x[5] = s[3] * t + (*p)[1] + own[0] + table[0];
    }
    threadgroup array<atomic_uint, 2> counts;
    atomic_store_explicit(&counts[1], 5, memory_order_relaxed);
    threadgroup array<number<int>, 2> n;
    n[0].value = 3;
    n[1].value = 4;
    x[9] = (n[0] == n[1]) + 10 * (n[0] == n.front()) + n[0] * n[1] + 100 * (n[1] & n[0]);
    for (float v : made(3)) x[7] += v;
    x[8] = made(4)[0] + made(5).back() + held{}.v[1] + made(made(1)[0]).data()[1];
    x[6] = atomic_fetch_add_explicit(counts.data() + 1, 1, memory_order_relaxed);
}
)",
        {5 + 2 + 1 + 5 * 3 - 5, 2 + 2 + (2 * 1 + 2), 4 + 8, 2 + 5, 16, 15, 5, 7, 4 + 6 + 9 + 2, 10 + 12 + 400});
}

// As Slang writes arguments that a function changes.
void test_arguments_that_change() {
    expect_results(head + R"(
struct C_0 { array<uint, int(2)> a_0; uint3 v_0; };
void bump_0(C_0 threadgroup* c_0, uint k_0) { c_0->v_0.x = c_0->v_0.x + k_0; c_0->a_0[k_0 & 1U] = 7U; }
void add_0(uint threadgroup* x_0) { *x_0 = *x_0 + 2U; }
void arr_0(array<uint, int(2)> threadgroup* a_1) { add_0(&(*a_1)[int(1)]); }
struct KernelContext_0 {
    float device* o_0;
    array<C_0, int(64)> threadgroup* gsc_0;
    array<array<uint, int(8)>, int(8)> threadgroup* tile_0;
};
[[kernel]] void k(uint i_0 [[thread_index_in_threadgroup]], float device* o_1 [[buffer(0)]]) {
    thread KernelContext_0 kernelContext_0;
    (&kernelContext_0)->o_0 = o_1;
    threadgroup array<C_0, int(64)> gsc_1;
    (&kernelContext_0)->gsc_0 = &gsc_1;
    threadgroup array<array<uint, int(8)>, int(8)> tile_1;
    (&kernelContext_0)->tile_0 = &tile_1;
    (&gsc_1[i_0])->v_0 = uint3(1U);
    bump_0(&gsc_1[i_0], 3U);
    bump_0(&(*(&kernelContext_0)->gsc_0)[i_0], 5U);
    arr_0(&(&(*(&kernelContext_0)->gsc_0)[i_0])->a_0);
    (*(&kernelContext_0)->tile_0)[i_0][int(2)] = 1U;
    add_0(&(*(&kernelContext_0)->tile_0)[i_0][int(2)]);
    uint _S1 = atomic_fetch_add_explicit(((atomic_uint threadgroup*)(&(&gsc_1[i_0])->a_0[int(1)])), 1U,
                                         memory_order_relaxed);
    *((&kernelContext_0)->o_0+i_0) = float((&gsc_1[i_0])->v_0.x);
    o_1[1] = _S1;
    o_1[2] = (*(&kernelContext_0)->tile_0)[i_0][int(2)];
}
)",
                   {9, 9, 3});
}

// The space is the array's own.
void test_wrong_spaces() {
    for (const char *wrong : {"f(&t[1]);", "f(t.data());", "device float &r = t[1];", "device float *p = &own[1];",
                              "f(&c[1]);", "*c.data() = 1;", "c[1] = 1;", "for (device float &r : t) r = 1;"}) {
        const compiled broken(head +
                              "void f(device float *) {} kernel void k(device float *x, constant array<float, 2> &c) {"
                              "threadgroup array<float, 2> t; array<float, 2> own = t; x[0] = own[0];" +
                              wrong + "}");
        if (!CHECK(broken.library == nullptr)) std::fprintf(stderr, "%s\n", wrong);
    }
}

}  // namespace

int main() {
    test_ways();
    test_values();
    test_arguments_that_change();
    test_wrong_spaces();
    return check::report("msl/spaces/elements_test");
}
