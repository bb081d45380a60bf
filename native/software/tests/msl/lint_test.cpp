// The strict check: what Apple's compiler accepts passes, and what it rejects fails on the right line.
#include <cstdlib>
#include <string>

#include "check.h"
#include "msl/msl.h"

namespace {

const std::string head = "#include <metal_stdlib>\nusing namespace metal;\n";

bool lint(const std::string &source, std::string &log) {
    char *text = nullptr;
    const bool good = smtl_lint(source.data(), source.size(), nullptr, &text);
    log = text ? text : "";
    std::free(text);
    return good;
}

void accepted(const std::string &source) {
    std::string log;
    if (!CHECK(lint(head + source, log))) std::fprintf(stderr, "%s\nin: %s\n", log.c_str(), source.c_str());
}

// `line` of the snippet, whose first line is 1.
void rejected(int line, const std::string &source) {
    std::string log;
    const bool good = lint(head + source, log);
    const std::string location = "program_source:" + std::to_string(line + 2) + ":";
    if (!CHECK(!good && log.find(location) != std::string::npos))
        std::fprintf(stderr, "wanted %s got: %s\nin: %s\n", location.c_str(), log.c_str(), source.c_str());
}

void test_accepted() {
    accepted(R"(
struct Commands { command_buffer buffer [[id(0)]]; array<compute_pipeline_state, 2> pipelines [[id(1)]]; };
kernel void k(device Commands &a, constant Commands &b, constant float *in, device float *out) {
    compute_command command(a.buffer, uint(b.buffer.size()) - 1), other = compute_command(b.buffer, 0);
    command.copy_command(other);
    command.reset();
    command.set_compute_pipeline_state(b.pipelines[1]);
    command.set_kernel_buffer(in + 1, 0);
    command.set_kernel_buffer(out, 1);
    command.set_threadgroup_memory_length(16, 0);
    command.set_barrier();
    command.clear_barrier();
    command.concurrent_dispatch_threads(uint3(4, 1, 1), uint3(1));
    other.concurrent_dispatch_threadgroups(uint3(1), uint3(1));
}
)");
    accepted(R"(
struct Args { int n; float4 scale; enum { limit = 4 }; };
constant float table[4] = {1, 2, 3, 4};
constant int constexpr width = 8;
constant bool flag [[function_constant(0)]];
constant bool other = flag && is_function_constant_defined(flag);
enum { slots = 3 };
inline float sum(device const float *p, int n) { float s = 0; for (int i = 0; i < n; ++i) s += p[i]; return s; }
inline float sum(threadgroup const float *p, int n) { return p[0] + n; }
inline void bump(thread float &x) { x += 1; }
template <typename T> inline T twice(T x) { return x * 2; }
struct complex {
    float re, im;
    complex() thread = default;
    complex() threadgroup = default;
    constexpr complex(float r, float i) : re(r), im(i) {}
    float norm() const device { return re * re + im * im; }
    float norm() const thread { return re * re + im * im; }
};
template <int N> struct Tiles {
    simdgroup_float8x8 m[N];
    static constant constexpr int count = N;
    void multiply(simdgroup_float8x8 a) { for (int i = 0; i < N; ++i) simdgroup_multiply_accumulate(m[i], a, a, m[i]); }
    thread float2 &at(short i) { return reinterpret_cast<thread float2 &>(m[i].thread_elements()); }
};
template <typename T> void fill(device const T *from, short i, thread float4 &to) { to = float(from[i]); }
template <typename T, void (*F)(device const T *, short, thread float4 &)> kernel void unpack(device const T *from, device float4 *to) {
    float4 v;
    F(from, 0, v);
    to[0] = v;
}
typedef decltype(unpack<char, fill>) unpack_t;
template [[host_name("unpack_char")]] kernel unpack_t unpack<char, fill>;
template <typename T, int N> kernel void work(device T *a [[buffer(0)]], constant Args &args [[buffer(1)]], device const packed_float4 *p [[buffer(2), function_constant(flag)]],
                                              threadgroup float *dynamic [[threadgroup(0)]], device complex *z [[buffer(3)]], device atomic_uint *counter [[buffer(4)]],
                                              uint i [[thread_position_in_grid]], ushort lane [[thread_index_in_simdgroup]]) {
    threadgroup float tile[N * width], more;
    threadgroup complex shared[2];
    thread float local[4] = {1, 2, 3, 4};
    float global = 1, priv = 2;
    thread float *q = local;
    float product = 2 * priv; product = global * priv;
    auto &first = a[0];
    first = first * T(1);
    bump(q[1]);
    bump(global);
    const Args copy = args;
    device float *raw = (device float *)a;
    dynamic[i] = sum(raw, copy.n) + sum(tile, 2) + table[i % 4] + priv;
    if (lane == 0) tile[0] = more = 3;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    complex c(1, 2);
    z[0] = c;
    shared[1] = z[1];
    c = shared[0];
    float4 v = other ? float4(p[0]) + args.scale : args.scale;
    v.xy = v.zw * 2.0;
    float4 w = v.x > 0 ? max(v, 0.0f) : v;
    a[i] = T(simd_sum(w.x) + z[0].norm() + c.norm() + twice(v.y) + half(1.5h));
    simdgroup_float8x8 m = make_filled_simdgroup_matrix<float, 8>(0.0f), n;
    simdgroup_load(n, tile, 8, 0, true);
    simdgroup_multiply_accumulate(m, n, n, m);
    simdgroup_store(m, raw, 8);
    Tiles<4> tiles;
    tiles.multiply(m);
    tiles.at(1)[0] = 1;
    simdgroup_store(tiles.m[0], raw, 8);
    atomic_fetch_add_explicit(counter, 1u, memory_order_relaxed);
}
typedef decltype(work<float, 4>) work_t;
template [[host_name("work_float")]] kernel work_t work<float, 4>;
template [[host_name("work_half")]] kernel void work<half, 4>(device half *, constant Args &, device const packed_float4 *, threadgroup float *, device complex *, device atomic_uint *, uint, ushort);
)");
}

// Constants that a constructor makes, and what <metal_logging> and Apple's compiler offer.
void test_constructed_constants() {
    accepted(R"(
#include <metal_logging>
struct pair { int a, b; constexpr pair(int x, int y) constant : a(x), b(y) {} int sum() const constant { return a + b; } };
constant pair numbers(3, 4);
constant os_log logger("test", "strict");
kernel void k(device float *a [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    logger.log_error("%u", i);
    a[i] = numbers.sum() + __metal_sqrt(4.0f, __METAL_MAYBE_FAST_MATH__) + __metal_get_thread_index_in_simdgroup(ushort());
})");
}

// A class that is told of its derived class reaches it through `this`.
void test_this_of_a_derived_class() {
    accepted(R"(
template <typename D> struct shape { int twice() const thread { return static_cast<const thread D *>(this)->area() * 2; } };
struct square : shape<square> { int side; int area() const thread { return side * side; } };
kernel void k(device int *a, uint i [[thread_position_in_grid]]) {
    square s;
    s.side = int(i);
    a[i] = s.twice();
})");
}

void test_bfloat_casts() {
    accepted(
        "#include <metal_stdlib>\nusing namespace metal;\nkernel void k(device half *h, device bfloat *b, constant half *c) {\n half x = half(b[0]);\n"
        " bfloat y = bfloat(x);\n b[1] = (bfloat)x;\n h[0] = (half)y + static_cast<half>(b[2]);\n b[3] = bfloat(c[0]);\n}\n");
}

void test_rejected() {
    rejected(2, "kernel void k(device command_buffer &c, threadgroup int *x) {\n"
                "    compute_command(c, 0).set_kernel_buffer(x, 0); }\n");
    rejected(2, "kernel void k(device float *a) {\n threadgroup float *p = a;\n}\n");
    rejected(2, "kernel void k(constant float *a) {\n device const float *p = a;\n}\n");
    rejected(2, "kernel void k(device float *a) {\n constant float *p = a;\n}\n");
    rejected(3, "void f(thread float *p) { p[0] = 1; }\nkernel void k(device float *a) {\n f(a);\n}\n");
    rejected(
        3,
        "void f(device float *p) { p[0] = 1; }\nkernel void k(device float *a) { float x[2]; a[0] = x[0];\n f(x);\n}\n");
    rejected(3, "void f(thread float &x) { x = 1; }\nkernel void k(device float *a) {\n f(a[0]);\n}\n");
    rejected(
        4,
        "void f(device float *p) { p[0] = 1; }\nkernel void k(device float *a) {\n threadgroup float t[4];\n f(t);\n}\n");
    rejected(1, "kernel void k(constant float *a) { a[0] = 1; }\n");
    rejected(1, "float f(float *p) { return p[0]; }\n");
    rejected(1, "float f(const float &p) { return p; }\n");
    rejected(1, "kernel void k(float *a [[buffer(0)]]) { a[0] = 1; }\n");
    rejected(2, "kernel void k(device float *a) {\n float *p = a; p[0] = 1;\n}\n");
    rejected(
        2,
        "kernel void k(device float *a) { for (int i = 0; i < 2; ++i) {\n metal::vec<float, 2> const &p = *(device float2 *)a; a[i] = p.x;\n}}\n");
    rejected(1, "int f(int n) { return n < 2 ? 1 : f(n - 1) * n; }\n");
    rejected(2, "int g(int n);\nint f(int n) { return n < 2 ? 1 : g(n - 1); }\nint g(int n) { return f(n); }\n");
    rejected(2, "kernel void k(device float *a) {\n double x = 1; a[0] = x;\n}\n");
    rejected(1, "struct S { virtual void f() {} };\n");
    rejected(2, "kernel void k(device float *a) {\n device float *p = new float; a[0] = p[0];\n}\n");
    rejected(2, "kernel void k(device float *a) {\n try { a[0] = 1; } catch (...) {}\n}\n");
    rejected(2, "kernel void k(device int4 *a, device float4 *b) {\n b[0] = a[0];\n}\n");
    rejected(
        2,
        "template <typename T> kernel void k(device T *a, threadgroup T *t) {\n a = t;\n}\ntemplate [[host_name(\"k\")]] kernel void k<float>(device float *, threadgroup float *);\n");
    rejected(1, "kernel void k(device float *a) { a[0] = nothing; }\n");
    rejected(1, "int counter = 0;\nkernel void k(device int *a) { a[0] = ++counter; }\n");
    rejected(2, "namespace n {\nstatic float table[2] = {1, 2};\n}\n");
    rejected(2, "struct S {\n static int shared;\n int own;\n};\n");
    rejected(1, "template <typename T> T value = T(1);\n");
    std::string log;
    CHECK(!lint("#error stop\n", log) && log.find("program_source:1:") != std::string::npos);
}

}  // namespace

int main() {
    test_accepted();
    test_constructed_constants();
    test_this_of_a_derived_class();
    test_bfloat_casts();
    test_rejected();
    return check::report("msl/lint_test");
}
