// What variables of programs and functions may be: constants with initialisers that can be computed, in the address
// spaces that Metal has for them.
#include <string>
#include <vector>

#include "check.h"
#include "compiled_source.h"

namespace {

void test_matrices() {
    const compiled library(head + R"(
constant float2x2 m = float2x2(1, 2, 3, 4);
constant float2x2 scaled = m * 2.0f, sum = m + scaled - m;
constant float2 column = m * float2(1, 2), row = float2(1, 2) * m;
constant float3x3 whole = float3x3(1) - 2 * float3x3(1, 2, 3, 4, 5, 6, 7, 8, 9);
constant float3x3 product = whole * transpose(whole);
constant float2x2 negated[2] = {float2x2(1) * 2, -float2x2(2)};
constant float element = whole[1][2];
kernel void run(device float *out [[buffer(0)]]) {
    const float all[] = {sum[1][0], column.x, column.y, row.x, row.y, product[0][1], product[2][2], negated[1][1][1], element};
    for (int i = 0; i < 9; ++i) out[i] = all[i];
}
)");
    if (!CHECK(library.library != nullptr)) return (void)std::fprintf(stderr, "%s\n", library.log.c_str());
    std::vector<float> out(9);
    CHECK(run(library.specialize("run", {}), {&out}, 1).empty());
    // 1 - 2 * {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}} by columns, times its transpose.
    const int a[3][3] = {{-1, -4, -6}, {-8, -9, -12}, {-14, -16, -17}};
    int first = 0, last = 0;
    for (const auto &column : a) {
        first += column[1] * column[0];
        last += column[2] * column[2];
    }
    CHECK((out == std::vector<float>{6, 7, 10, 5, 11, float(first), float(last), -2, -12}));
}

void test_half_matrices() {
    const compiled library(head + R"(
constant half3x3 m = half3x3(1) + half3x3(1, 2, 3, 4, 5, 6, 7, 8, 9) - half3x3(half3(1), half3(2), half3(3));
constant half2x2 scaled = half2x2(1, 2, 3, 4) * 2.0h, negated = -scaled, twice = 2.0h * scaled;
constant half3x2 narrowed = half3x2(float3x2(1, 2, 3, 4, 5, 6));
constant half4x4 both[2] = {half4x4(1), half4x4(2) + half4x4(3)};
constant float2x2 wide = float2x2(scaled) * 2;
constant half3x3 product = half3x3(2) * half3x3(1, 2, 3, 4, 5, 6, 7, 8, 9);
constant half3x2 turned = transpose(half2x3(1, 2, 3, 4, 5, 6));
constant half3 cut = half4(1, 2, 3, 4).zyx + half3(1);
kernel void run(device float *out [[buffer(0)]]) {
    const half got[] = {m[0][0], m[1][1], m[2][1], scaled[1][0], negated[0][1], twice[1][1], narrowed[2][0], both[1][3][3]};
    for (int i = 0; i < 8; ++i) out[i] = got[i];
    out[8] = wide[1][1];
    out[9] = product[2][1];
    out[10] = turned[1][1];
    out[11] = cut.x;
}
)");
    if (!CHECK(library.library != nullptr)) return (void)std::fprintf(stderr, "%s\n", library.log.c_str());
    std::vector<float> out(12);
    CHECK(run(library.specialize("run", {}), {&out}, 1).empty());
    CHECK((out == std::vector<float>{1, 4, 5, 6, -4, 16, 5, 5, 16, 16, 5, 4}));
}

// A function of the library that takes exactly these types is preferred to a template of the source.
void test_templates_of_library_names() {
    const compiled library(head + R"(
template <typename T> T min(T a, T b) { return a * 0; }
template <typename T> T max(T a, T b) { return a * 0; }
template <typename T> T clamp(T x, T low, T high) { return x * 0; }
kernel void run(device float *out [[buffer(0)]]) {
    const int n = int(out[0]);
    const uchar3 v = uchar3(uchar(n)) * uchar3(1, 2, 3);
    out[0] = min(n, 9) + max(ushort(n), ushort(3)) + clamp(long(n), 1l, 4l) + max(v, uchar3(12)).z + min(1u, 2);
}
)");
    if (!CHECK(library.library != nullptr)) return (void)std::fprintf(stderr, "%s\n", library.log.c_str());
    std::vector<float> out{5};
    CHECK(run(library.specialize("run", {}), {&out}, 1).empty());
    CHECK(out[0] == 5 + 5 + 4 + 15 + 1);
}

// But where the library's functions take other types, a template of the source that takes these is preferred.
void test_templates_for_other_types() {
    const std::vector<std::string> functions[] = {
        {"exp", "sqrt", "floor", "sign"},
        {"pow", "fmod", "atan2", "copysign", "fdim", "powr", "fmin", "fmax", "nextafter", "min", "max"},
        {"fma", "clamp", "mix", "smoothstep", "min3", "max3"},
    };
    const std::vector<std::string> operands[] = {
        {"n", "long(n)"}, {"x, h", "h, x", "x, b", "n, x", "n, long(n)"}, {"x, h, h", "n, x, h", "b, x, x"}};
    std::string own, calls, library_calls;
    float count = 0;
    for (std::size_t i = 0; i < 3; ++i) {
        static const char *const heads[] = {"<class A> float ", "<class A, class B> float ",
                                            "<class A, class B, class C> float "};
        static const char *const bodies[] = {"(A) { return 1; } ", "(A, B) { return 1; } ", "(A, B, C) { return 1; } "};
        for (const std::string &function : functions[i]) {
            own += "template " + std::string(heads[i]) + function + bodies[i];
            for (const std::string &values : operands[i]) {
                calls += "out[0] += " + function + "(" + values + "); ";
                library_calls += "out[1] = metal::" + function + "(" + values + "); ";
                ++count;
            }
        }
    }
    const compiled library(
        head + "namespace own { " + own +
        "}\nusing namespace own;\nkernel void run(device float *out [[buffer(0)]]) {\n" +
        "const float x = out[2]; const int n = int(x); const half h = half(x); const bfloat b = bfloat(x);\n" + calls +
        "\n" + library_calls + "\n}\n");
    if (!CHECK(library.library != nullptr)) return (void)std::fprintf(stderr, "%s\n", library.log.c_str());
    std::vector<float> out{0, 0, 1};
    CHECK(run(library.specialize("run", {}), {&out}, 1).empty());
    CHECK(out[0] == count);
}

// A function for floats and halves is preferred to a template of the source that takes one type.
void test_templates_of_questions() {
    const compiled library(head + R"(
namespace own {
template <class T> bool isnan(T) { return true; }
template <class T> bool isinf(T) { return true; }
template <class T> bool isfinite(T) { return false; }
template <class T> bool isnormal(T) { return false; }
template <class T> bool signbit(T) { return true; }
template <class T> int ilogb(T) { return 99; }
template <class T> bool isordered(T, T) { return false; }
template <class T> bool isunordered(T, T) { return true; }
}
using namespace own;
template <class T> float ask(T x) {
    return isnan(x) + isinf(x) + !isfinite(x) + !isnormal(x) + signbit(x) + (ilogb(x) != 1) + !isordered(x, x) + isunordered(x, x);
}
kernel void run(device float *out [[buffer(0)]]) { out[0] = ask(out[0]) + ask(half(out[0])); }
)");
    if (!CHECK(library.library != nullptr)) return (void)std::fprintf(stderr, "%s\n", library.log.c_str());
    std::vector<float> out{3};
    CHECK(run(library.specialize("run", {}), {&out}, 1).empty());
    CHECK(out[0] == 0);
}

// Vectors of integers are integral: a function for them may be chosen by that.
void test_integral_vectors() {
    const compiled library(head + R"(
template <typename T, typename E = typename enable_if<is_integral<T>::value>::type> T sign(T x) {
    return select(select(select(x, T(0), x == T(0)), T(1), x > T(0)), T(-1), x < T(0));
}
static_assert(is_integral_v<int3> && is_integral<const uchar4>::value && is_integral<bool2>::value, "");
static_assert(!is_integral_v<float3> && !is_integral<half2>::value && !is_arithmetic_v<int3>, "");
kernel void run(device float *out [[buffer(0)]]) {
    const int n = int(out[0]);
    const int3 signs = sign(int3(n, 0, -n));
    out[0] = sign(n) + 10 * sign(-long(n)) + 100 * signs.x + 1000 * signs.y + 10000 * signs.z + 100000 * sign(2.0f);
}
)");
    if (!CHECK(library.library != nullptr)) return (void)std::fprintf(stderr, "%s\n", library.log.c_str());
    std::vector<float> out{5};
    CHECK(run(library.specialize("run", {}), {&out}, 1).empty());
    CHECK(out[0] == 1 - 10 + 100 - 10000 + 100000);
}

void test_operands_of_other_types() {
    const compiled library(head + R"(
kernel void run(device float *out [[buffer(0)]]) {
    int2 i = int2(int(out[0]));
    i = i * 2.5f + 1.9f;
    const bool2 less = i < 11.5f;
    out[0] = i.x + 100 * less.y;
}
)");
    if (!CHECK(library.library != nullptr)) return (void)std::fprintf(stderr, "%s\n", library.log.c_str());
    std::vector<float> out{5};
    CHECK(run(library.specialize("run", {}), {&out}, 1).empty());
    CHECK(out[0] == 11);  // the scalar is converted to the vector's component type first
}

void test_refusals() {
    const std::string program = "'v' is not a local variable and must be in the constant address space",
                      local = "static variables of functions must be", atomic = "must be in the device address space";
    for (
        const auto &[code, message] : std::vector<std::pair<std::string, std::string>>{
            {"int v = 0;", program},
            {"static float4 v;", program},
            {"namespace n { thread uint v = 1; }", program},
            {"struct s { static int v; };", program},
            {"struct s { int x; } v = {0};", program},
            {"struct { int x; } const *v;", program},
            {"struct s : metal::is_same<const int, int> { int x; } v;", program},
            {"struct alignas(sizeof(const int)) s { int x; } v;", program},
            {"enum e : int { one } v = one;", program},
            {"struct s { static struct t { int x; } v; };", program},
            {"static int f() { static int n = 0; return n++; }", local},
            {"template <typename T> T f(T x) { if (x) { static T n[2]; return n[0]; } return x; }", local},
            {"void f(threadgroup atomic_float *t);", "'atomic_float' " + atomic},
            {"void f(volatile threadgroup metal::atomic_float &t);", "'atomic_float' " + atomic},
            {"void f(atomic<float> threadgroup *t);", "'atomic_float' " + atomic},
            {"kernel void k() { threadgroup atomic_ulong t[4]; }", "'atomic_ulong' " + atomic},
            {"template <typename T> void f(device T *p) { threadgroup atomic<T> t; }\nkernel void k(device float *p) { f(p); }",
             "'atomic_float' " + atomic},
            {"template <typename T> void f() { threadgroup metal::atomic<T> t[2]; }\nkernel void k() { f<ulong>(); }",
             "'atomic_ulong' " + atomic},
            {"template <typename T> void f(threadgroup const atomic<T> *t) {}\nkernel void k() { f<float>(nullptr); }",
             "'atomic_float' " + atomic},
            {"template <typename T> kernel void t(device T *p, threadgroup atomic<T> *v) {}\ntemplate [[host_name(\"t\")]] kernel void t<float>(device float *, threadgroup atomic<float> *);",
             "'atomic_float' " + atomic},
            {"device float *v;", program},
            {"constant float *v;", program},
            {"constant float a = 1; constant float *w = &a, *constant u = &a;", "3:39: error: 'w' is not a local"},
            {"static float *v = nullptr;", program},
            {"namespace n { constant int a = 1; constant int *v[2] = {&a, &a}; }", program},
            {"struct s { static constant float *v; };", program},
            {"constant float a = 1; constant float *device v = &a;", "'v' cannot be in the device address space"}}) {
        const compiled library(head + code);
        CHECK(library.library == nullptr && library.says(message));
    }
    for (
        const auto &[code, message] : std::vector<std::pair<std::string, std::string>>{
            {"float f(float x);\nconstant float v = f(1);",
             "4:16: error: a variable outside of functions needs a constant"},
            {"struct s { static constant float v = sqrt(2.0f); };",
             "3:34: error: 'v' needs a constant expression as its initializer"},
            {"float f(float x) { constexpr float v = x; return v; }",
             "3:36: error: 'v' needs a constant expression as its initializer"},
            {"int f(int x) { return x; }\ntemplate <int N> struct s { static constant int v[2] = {N, f(N)}; };\nint g(int i) { return s<3>::v[i]; }",
             "4:49: error: 'v' needs a constant expression as its initializer"},
            {"void f(int n) { int a[n]; a[0] = n; }",
             "3:23: error: the length of an array must be a constant expression"},
            {"constant int n [[function_constant(0)]];\nkernel void k() { threadgroup float a[n]; a[0] = n; }",
             "4:39: error: the length of an array must be a constant expression"}}) {
        const compiled library(head + code);
        CHECK(library.library == nullptr && library.says(message));
        CHECK(library.log.find("non-constexpr") == std::string::npos &&
              library.log.find("candidate") == std::string::npos);
    }
    const compiled valid(head + R"(
constant int a = 1;
static constant constexpr int b = 2;
struct s { static constant constexpr int c = 3; };
static int f() { static constant int t[2] = {1, 2}; const int n = 0; return t[n]; }
constant int *constant p = &a, *constant q[2] = {&a, &b};
static constexpr constant int *constant r = &a;
constant int &alias = a;
struct table { int x; } constant rows[2] = {{1}, {2}}, *constant row = rows;
constexpr constant enum { low = 1 } lowest = low;
typedef struct { int x; } named;
typedef struct tag { int x; } *to_tag;
struct pointers { device float *x; constant int *y; static constant int *constant z; };
constant int *constant pointers::z = p;
device float *next(device float *x);
template <typename T> void shared(device T *x) {
    threadgroup atomic<T> t;
    threadgroup metal::atomic<T> u[2];
    atomic_store_explicit(&t, T(1), memory_order_relaxed);
    atomic_store_explicit(&u[1], T(1), memory_order_relaxed);
}
template <typename T> T first(threadgroup atomic<T> *x) { return atomic_load_explicit(x, memory_order_relaxed); }
kernel void on_types(device int *x, device uint *y, threadgroup atomic<int> *z) { shared(x); shared(y); *x = first(z); }
kernel void run(device atomic_float *x, device atomic_ulong *y, threadgroup atomic_uint *z, threadgroup int *w) {
    threadgroup atomic_int q;
    atomic_store_explicit(&q, a + b + s::c + f(), memory_order_relaxed);
}
)");
    if (!CHECK(valid.library != nullptr)) std::fprintf(stderr, "%s\n", valid.log.c_str());
}

}  // namespace

int main() {
    test_matrices();
    test_half_matrices();
    test_templates_of_library_names();
    test_templates_for_other_types();
    test_templates_of_questions();
    test_integral_vectors();
    test_operands_of_other_types();
    test_refusals();
    return check::report("msl/variables_test");
}
