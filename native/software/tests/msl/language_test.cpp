// The language's own corners, executed: casts between 16-bit floats, function objects, initialisation, control flow,
// pointers. Every kernel writes what it finds, and the test knows what that is.
#include <string>
#include <vector>

#include "compiled_source.h"
#include "results.h"

namespace {

// Members of a derived structure lie behind its base's padding, as where vectors are built in.
void test_padding_of_bases() {
    const std::vector<float> found = results_of(R"(
struct base { float3 position; float radius; };
struct sphere : base { float mass; };
struct thing : public sphere { half h; };
template <typename T> struct item : T { uchar c; };
template <typename... T> struct items : T... { uchar c; };
struct empty {};
struct small : empty { uchar c; };
struct made : base { made(float m) : mass(m) {} float mass; };
struct own { float3 v; float r; own() {} };
struct owned : own { float mass; };
struct wide { long4 v; uchar c; };
struct wider : wide { uchar d : 3; uint e; };
struct alignas(64) line : base { float x; };
struct two : empty, base { float x; };
struct matrices { float3x3 m; bfloat3 b; };
struct more : matrices { bfloat c; };
kernel void k(device float *a) {
    struct local : base { float x; };
    a[0] = sizeof(sphere);
    a[1] = sizeof(thing);
    a[2] = sizeof(item<base>) + sizeof(items<base>) + sizeof(items<empty>);
    a[3] = sizeof(small) + 100 * sizeof(made);
    a[4] = sizeof(owned);
    a[5] = sizeof(wider);
    a[6] = sizeof(line) + sizeof(two);
    a[7] = sizeof(more) + sizeof(local);
    sphere s = {{float3(1, 2, 3), 4}, 5};
    a[8] = as_type<uint>(s.mass) == ((thread uint *)&s)[8];
    wider w;
    w.v = long4(0); w.c = 1; w.d = 2; w.e = 3;
    a[9] = (((thread uchar *)&w)[64] & 7) + 10 * ((thread uint *)&w)[17];
}
)",
                                                10);
    expect("padding of bases", found, {48, 48, 48 + 48 + 1, 1 + 4800, 32, 96, 64 + 48, 80 + 48, 1, 32});
}

// Each form of cast between half and bfloat, whatever the types are called and whatever stands around them.
void test_sixteen_bit_casts() {
    const std::vector<float> found = results_of(R"(
typedef bfloat bfloat16_t;
using half_type = half;
struct pair { half a; bfloat b[2]; half get() const { return a; } };
template <typename T, typename U> T add(U u) { return T(u) + (T)u + static_cast<T>(u); }
template <typename T> struct identity { T operator()(T x) { return x; } };
template <typename T, T (*F)(T)> T apply(T x) { return F(x); }
half twice(half x) { return x + x; }
template <typename L> struct holder { thread L &l; holder(thread L &x) : l(x) {} };
template <typename H, typename L> void change(thread L &l) { H h = H(l); h.l = 3; }
int both(bool first, bool second = true) { return first + second * 2; }
template <typename... T> int sizes() { return sizeof...(T) + (sizeof(T) + ...); }
kernel void k(device float *a) {
    bfloat b = 1.5bf, c = bfloat(2);
    half h = 0.5h;
    pair p = {h, {b, c}};
    thread pair *q = &p;
    a[0] = float(add<half>(b)) + add<bfloat>(h) + add<float>(b);
    a[1] = -(half)q->b[1] + (float)half(b) * float((bfloat)p.get());
    a[2] = (half)b * (half)-c + half_type(b);
    a[3] = float(bfloat16_t(h) + bfloat16_t(1));
    half4 v = {half(b), half(c), (half)b, 1.0h};
    a[4] = v.x + v.y + v.z + v.w;
    a[5] = h > 1 ? half(b) : half(c);
    float sum = 0;
    for (half i = half(bfloat(0)); i < half(c); i += (half)b) sum += i;
    a[6] = sum;
    float m = 1;
    change<holder<float>>(m);
    a[7] = m;
    a[8] = apply<half, twice>(half(b)) + identity<half>()(half(c));
    half (*pointer)[2] = nullptr;
    a[9] = sizeof(half(*)[2]) + (pointer == nullptr);
    a[10] = as_type<half>(ushort(0x3c00));
    // Too large for a half, too small in digits for a bfloat.
    a[11] = isinf((half)bfloat(1e6f));
    a[12] = bfloat(half(257));
    a[13] = 2h + 3H;
    a[14] = metal::half(b) + (metal::half)b + (metal::half)metal::bfloat(h);
    a[15] = both((half)b < h, c > (b));
    a[16] = sizes<half, float>() * 2;
}
)",
                                                17);
    expect("casts", found,
           {4.5f + 1.5f + 4.5f, -2 + 1.5f * 0.5f, -3 + 1.5f, 1.5f, 6, 2, 1.5f, 3, 3 + 2, 9, 1, 1, 256, 5, 3.5f, 2, 16});
}

// The bits of 16-bit floats as two bytes, and two bytes as bits.
void test_bytes_of_sixteen_bits() {
    const std::vector<float> found = results_of(R"(
constexpr constant uchar2 bytes = as_type<uchar2>(bfloat(-1));
kernel void k(device float *a) {
    const float x = a[0];
    const bfloat b = bfloat(x);
    const half h = half(x);
    const uchar2 v = as_type<uchar2>(b);
    a[0] = v.x;
    a[1] = v.y;
    a[2] = as_type<char2>(b).y;
    a[3] = as_type<bfloat>(v) + as_type<bfloat>(as_type<char2>(b));
    a[4] = as_type<uchar2>(h).x + as_type<uchar2>(h).y;
    a[5] = as_type<packed_uchar2>(b)[1];
    a[6] = as_type<bfloat>(packed_uchar2(v));
    a[7] = bytes.x + bytes.y;
}
)",
                                                8);
    expect("bytes", found, {0x80, 0xbf, 0xbf - 256, -2, 0xbc, 0xbf, -1, 0x80 + 0xbf});
}

void test_functions_and_types() {
    const std::vector<float> found = results_of(R"(
enum class color : uchar { red = 3, green };
enum old_style { one = 1, two };
union bits { float f; uint u; };
struct base { int v = 3; int get() const { return v; } };
struct derived : base { int w; };
template <typename... A> int count(A...) { return sizeof...(A); }
template <typename T, typename... Rest> T total(T first, Rest... rest) { if constexpr (sizeof...(Rest) > 0) return first + total(rest...); else return first; }
template <typename... T> int folded(T... values) { return (values + ... + 0); }
template <int N> struct factorial { static constant constexpr int value = N * factorial<N - 1>::value; };
template <> struct factorial<0> { static constant constexpr int value = 1; };
template <typename T, typename = enable_if_t<is_floating_point_v<T>>> int kind(T) { return 1; }
template <typename T, enable_if_t<is_integral_v<T>, int> = 0> int kind(T) { return 2; }
namespace outer { namespace inner { constant int c = 5; inline int f(int x) { return x + c; } } }
using namespace outer;
inline void out(thread float &x, thread int *y) { x = 1.5f; *y = 2; }
constexpr int square(int x) { return x * x; }
constant float table[square(2)] = {1, 2, 3, 4};
constant struct { int a; float b; } rows[] = {{1, 0.5f}, {2, 0.25f}};
struct couple { float a, b; };
couple make() { return {7, 8}; }
struct op { template <typename T> T operator()(T x) const { return x + 1; } };
int length_of(constant const char *text) { int n = 0; while (text[n]) ++n; return n; }
template <typename T> int name_of(T) { return length_of(__func__); }
kernel void k(device float *a) {
    auto twice = [](float x) { return x * 2; };
    float captured = 3;
    auto add = [&](float x) -> float { captured += x; return captured; };
    a[0] = twice(2) + add(1) + captured;
    bits u;
    u.f = 1;
    a[1] = u.u == 0x3f800000u;
    color c = color::green;
    switch (c) {
    case color::red: a[2] = 1; break;
    case color::green: a[2] = 2; break;
    }
    derived d;
    d.w = d.get();
    float x;
    int y;
    out(x, &y);
    a[3] = d.w + x + y + two;
    a[4] = count(1, 2.0f, 3u) + total(1, 2, 3) + folded(1, 2, 3, 4);
    a[5] = factorial<5>::value;
    a[6] = kind(1.0f) * 10 + kind(1);
    a[7] = inner::f(1) + outer::inner::c;
    a[8] = table[2] + rows[1].b + sizeof(table);
    auto [p, q] = make();
    a[9] = p * 10 + q;
    a[10] = op{}(1.5f) + op()(2);
    if (int t = 3; t > 2) a[11] = t;
    int n = 0;
    do { if (++n == 2) continue; } while (n < 5);
    a[12] = n;
    #pragma unroll
    for (ushort i = 0; i < 4; i++) n += i;
    #pragma clang loop unroll(full)
    for (ushort i = 0; i < 4; i++) n += i;
    a[13] = n;
    float list[2][3] = {{1, 2, 3}, {4, 5}};
    thread float *row = list[1];
    a[14] = row[1] + list[1][2] + *(row - 1);
    constant char *text = "ab";
    constant char *const names[] = {"x", "y" "z"};
    char letters[] = "cd", more[2][2] = {"e", {"f"}};
    a[15] = text[1] + (names[1][1] - 'z') + (letters[1] - 'd') + (more[1][0] - 'f') + (sizeof("abc") - 4) + ("gh"[1] - 'h');
    static constant constexpr float local[] = {0.5f, 1.5f};
    a[16] = local[1];
    array<int, 3> items = {1, 2, 3};
    int sum = 0;
    for (auto item : items) sum += item;
    a[17] = sum + items.size();
    a[18] = length_of(__func__) + 10 * length_of(__FUNCTION__) + 100 * name_of(1.0f) + 1000 * (length_of(__PRETTY_FUNCTION__) > 0);
    a[19] = __func__[0] + sizeof(__func__);
}
)",
                                                20);
    expect("language", found, {4 + 4 + 4,
                               1,
                               2,
                               3 + 1.5f + 2 + 2,
                               3 + 6 + 10,
                               120,
                               12,
                               6 + 5,
                               3 + 0.25f + 16,
                               78,
                               5.5f,
                               3,
                               5,
                               17,
                               5 + 0 + 3,
                               'b',
                               1.5f,
                               9,
                               1 + 10 + 700 + 1000,
                               'k' + 2});
}

void test_vectors_and_matrices() {
    const std::vector<float> found = results_of(R"(
kernel void k(device float *a) {
    float4 v = {1, 2, 3, 4};
    v.xy = v.yx;
    v.zw *= 2;
    a[0] = v.x * 1000 + v.y * 100 + v.z * 10 + v.w;
    v.rgba = v.abgr;
    a[1] = v[0] + v.w * 10;
    float2x3 m(float3(1, 2, 3), float3(4, 5, 6));
    float3 p = m * float2(1, 10);
    float2 q = float3(1, 10, 100) * m;
    a[2] = p.x + p.z * 100;
    a[3] = q.x + q.y;
    float3x2 t = transpose(m);
    a[4] = t[2][1];
    float2x2 z(1, 2, 3, 4);
    z *= z;
    a[5] = z[0][0] + z[1][0] * 10;
    a[6] = determinant(float3x3(float3(2, 0, 0), float3(0, 3, 0), float3(1, 1, 4)));
    half4x4 h(2.0h);
    a[7] = float4x4(h)[3][3] + float(h[2][1]);
    z = 2 * z - z * 0.5f + float2x2(1) + -z;
    a[8] = z[0][0];
    int4 i = int4(float4(1.9f, -1.9f, 3, 4));
    i <<= 1;
    i = i & 6 | int4(1);
    a[9] = i.x + i.y * 10;
    bool4 b = v > 4;
    a[10] = any(b) + all(b) * 2 + select(1, 5, b.x);
    packed_float3 k3 = packed_float3(float3(1, 2, 3));
    k3[1] = 5;
    a[11] = (k3 * 2.0f).y + k3.z + sizeof(packed_float3);
    uchar4 c = as_type<uchar4>(0x04030201u);
    a[12] = dot(float4(c), float4(1, 10, 100, 1000));
    a[13] = float(vec<half, 3>(v.xyz).y) + vec<int, 2>(3, 4).y;
    float4x4 f(1);
    f[1] = float4(1, 2, 3, 4);
    f[2].xy = float2(5, 6);
    a[14] = f[1][2] + f[2].y;
    a[15] = bool(1.5f) + bool2(int2(0, 3)).y + float3(1)[2];
}
)",
                                                16);
    expect("vectors", found,
           {2168, 8 + 20, 41 + 6300, 321 + 654, 6, 7 + 150, 24, 2, 1 + 7 * 0.5f, 3 + 70, 1 + 5, 10 + 3 + 12, 4321,
            6 + 4, 9, 3});
}

// Conditions that ask whether a constant has a value, also where they decide on an argument.
void test_questions_about_constants() {
    const std::string source = R"(#include <metal_stdlib>
constant int n [[function_constant(3)]];
constant bool given = is_function_constant_defined(n);
constant int value = is_function_constant_defined(n) ? n : 7;
namespace inner { constant bool flag [[function_constant(4)]]; }
constant bool both = given && is_function_constant_defined(inner::flag);
kernel void k(device float *a, device float *b [[buffer(1), function_constant(given)]], device float *c [[buffer(2), function_constant(both)]]) {
    a[0] = value;
    if (given) a[1] = b[0];
    if (both) a[2] = c[0];
}
)";
    char *log = nullptr;
    smtl_library *library = smtl_library_compile(source.data(), source.size(), nullptr, &log);
    if (!CHECK(library != nullptr)) std::fprintf(stderr, "%s\n", log);
    const smtl_constant_value number{nullptr, 3, 29, {5}};
    for (const size_t count : {size_t(0), size_t(1)}) {
        char *path = smtl_library_specialize(library, "k", &number, count, nullptr, &log);
        char *error = nullptr;
        smtl_kernel *kernel = path ? smtl_kernel_load(path, "smtl_entry", &error) : nullptr;
        std::free(path);
        if (!CHECK(kernel != nullptr)) continue;
        std::vector<float> a(3, -1), b = {9};
        launch call(kernel);
        call.buffer(0, a);
        if (count > 0) call.buffer(1, b);
        CHECK(call.run({1}, {1}).empty() && a[0] == (count ? 5 : 7) && a[1] == (count ? 9 : -1) && a[2] == -1);
        smtl_kernel_release(kernel);
    }
    smtl_library_release(library);
}

void test_names_of_the_library() {
    metal_program program(
        "kernel void divide(device float *a) { a[0] = 4; }\nnamespace n { namespace { kernel void clamp(device float *a) { a[0] = metal::clamp(9.0f, 0.0f, 5.0f); } } }\n");
    std::vector<float> a(1);
    CHECK(launch(program.kernel("divide")).buffer(0, a).run({1}, {1}).empty() && a[0] == 4);
    CHECK(launch(program.kernel("n::clamp")).buffer(0, a).run({1}, {1}).empty() && a[0] == 5);
}

// The fast math mode keeps the limits of roots and quotients, in loops over threads that become vector code, too.
void test_fast_limits() {
    const std::string source =
        "#include <metal_stdlib>\nusing namespace metal;\nkernel void k(device float *a, uint i [[thread_position_in_grid]]) { a[64 + i] = rsqrt(a[i]); a[128 + i] = 3 / "
        "sqrt(a[i]); a[192 + i] = 1 / a[i]; a[256 + i] = sqrt(a[i]); }\n";
    smtl_compile_options options{};
    options.math_mode = SMTL_MATH_FAST;
    smtl_library *library = smtl_library_compile(source.data(), source.size(), &options, nullptr);
    char *path = library ? smtl_library_specialize(library, "k", nullptr, 0, nullptr, nullptr) : nullptr;
    char *error = nullptr;
    smtl_kernel *kernel = path ? smtl_kernel_load(path, "smtl_entry", &error) : nullptr;
    std::free(path);
    if (CHECK(kernel != nullptr)) {
        constexpr float infinity = __builtin_inff();
        std::vector<float> a(320);
        for (size_t i = 0; i < 64; ++i) a[i] = i % 3 == 0 ? infinity : i % 3 == 1 ? 0.0f : 4.0f;
        CHECK(launch(kernel).buffer(0, a).run({64}, {64}).empty());
        for (size_t i = 0; i < 60; i += 3) {
            CHECK(a[64 + i] == 0 && a[128 + i] == 0 && a[192 + i] == 0 && a[256 + i] == infinity);
            CHECK(a[65 + i] == infinity && a[129 + i] == infinity && a[193 + i] == infinity && a[257 + i] == 0);
            CHECK(a[66 + i] == 0.5f && a[130 + i] == 1.5f && a[194 + i] == 0.25f && a[258 + i] == 2);
        }
        smtl_kernel_release(kernel);
    }
    smtl_library_release(library);
}

void test_quad_filling() {
    const std::vector<float> found = results_of(R"(
kernel void k(device float *a, ushort i [[thread_index_in_simdgroup]]) {
    a[i] = quad_shuffle_and_fill_up(float(i), float(100 + i), 1);
    a[32 + i] = quad_shuffle_and_fill_down(float(i), float(100 + i), 3);
    a[64 + i] = quad_shuffle_and_fill_down(float(i), float(100 + i), 1, 2);
}
)",
                                                96, 32);
    for (int i = 0; i < 32; ++i) {
        const int quad = i / 4 * 4, lane = i % 4;
        CHECK(found[size_t(i)] == float(lane == 0 ? 100 + quad + 3 : i - 1));
        CHECK(found[size_t(32 + i)] == float(lane == 0 ? i + 3 : 100 + quad + lane - 1));
        CHECK(found[size_t(64 + i)] == float(lane % 2 == 0 ? i + 1 : 100 + i - 1));
    }
}

// Names of Apple's compiler behind its standard library's, which sources call where they overload that; logging;
// uniform values.
void test_names_of_the_compiler() {
    const std::vector<float> found = results_of(R"(
#include <metal_logging>
#include <metal_uniform>
constant os_log logger("test", "names");
namespace metal {
METAL_FUNC bfloat fmax3(bfloat x, bfloat y, bfloat z) {
    return static_cast<bfloat>(__metal_fmax3(static_cast<float>(x), static_cast<float>(y), static_cast<float>(z), __METAL_MAYBE_FAST_MATH__));
}
METAL_FUNC bfloat frexp(bfloat x, thread int &exponent) { return static_cast<bfloat>(__metal_frexp(static_cast<float>(x), &exponent)); }
METAL_FUNC bfloat simd_sum(bfloat x) { return static_cast<bfloat>(2 * __metal_simd_sum(static_cast<float>(x))); }
METAL_FUNC bfloat simd_xor(bfloat x) { return static_cast<bfloat>(__metal_simd_xor(static_cast<float>(x))); }
METAL_FUNC bfloat simd_shuffle_up(bfloat x, ushort delta) { return as_type<bfloat>(__metal_simd_shuffle_up(as_type<ushort>(x), delta)); }
}
template <typename T> constexpr constant bool is_word = _disjunction<is_same<T, int>, is_same<T, uint>>::value;
kernel void k(device float *a, uint i [[thread_position_in_grid]]) {
    const uint lane = __metal_get_thread_index_in_simdgroup(ushort());
    logger.log_debug("thread %u", i);
    os_log_default.log_with_type(OS_LOG_TYPE_ERROR, "lane %u of %d", lane, 32);
    const float sum = simd_sum(bfloat(1)), bits = simd_xor(bfloat(lane)), before = simd_shuffle_up(bfloat(lane), 1);
    const uniform<int> width = make_uniform(int(__metal_get_simdgroup_size(ushort())));
    int exponent;
    const float fraction = frexp(bfloat(6), exponent);
    if (i != 37) return;
    a[0] = fmax3(bfloat(1), bfloat(3), bfloat(2));
    a[1] = __metal_fma(2.0f, 3.0f, 1.0f) + __metal_sqrt(16.0f, __METAL_PRECISE_MATH__) + __metal_pow(2.0f, 3.0f, false);
    a[2] = fraction;
    a[3] = exponent;
    a[4] = sum;
    a[5] = bits;
    a[6] = before;
    a[7] = lane + 100 * width;
    a[8] = is_word<uint> + 2 * is_word<float> + 4 * _conjunction<is_same<int, int>, _negation<is_same<int, uint>>>::value;
}
)",
                                                9, 64);
    expect("names of the compiler", found, {3, 7 + 4 + 8, 0.75f, 3, 64, 0, 4, 5 + 3200, 5});
}

// Members that a source declares once for each address space, with casts and literals in them: one of each stays.
void test_members_for_each_space() {
    const std::vector<float> found = results_of(R"(
typedef bfloat bfloat16_t;
template <typename T> struct number {
    T value;
    template <typename U, typename = typename enable_if<is_convertible_v<U, T>>::type>
    constexpr number(U x) thread : value(static_cast<T>(x) + static_cast<T>(0.5)) {}
    template <typename U, typename = typename enable_if<is_convertible_v<U, T>>::type>
    constexpr number(U x) threadgroup : value(static_cast<T>(x) + static_cast<T>(0.5)) {}
    template <typename U, typename = typename enable_if<is_convertible_v<U, T>>::type>
    constexpr number(U x) device : value(static_cast<T>(x) + static_cast<T>(0.5)) {}
    template <typename U> constexpr operator U() const thread { return static_cast<U>(value) * (U)2.0; }
    template <typename U> constexpr operator U() const device { return static_cast<U>(value) * (U)2.0; }
};
kernel void k(device float *a) {
    number<float> x(3);
    a[0] = x;
    number<bfloat16_t> y(1);
    a[1] = float(bfloat16_t(y));
}
)",
                                                2);
    expect("members for each space", found, {7, 3});
}

// Components that are assigned to in templates, beside an operator of the source's own for the same assignment.
void test_assigned_components() {
    const std::vector<float> found = results_of(R"(
template <typename T> struct complex { T re, im; };
template <typename T> thread complex<T> &operator+=(thread complex<T> &a, complex<T> b) { a.re += b.re; a.im += b.im; return a; }
template <typename T> thread complex<T> &operator<<=(thread complex<T> &a, int n) { a.re *= n; return a; }
template <typename T> struct pairs { vec<T, 2> at[2]; };
template <typename T> vec<T, 2> pair_of(T x) { return {x, x + T(1)}; }
template <typename T> T walk(T step) {
    auto here = pair_of<T>(step);
    auto all = pairs<T>{{here, here}};
    thread auto *pointer = &all;
    int n = 0;
    for (int i = 0; i < 3; ++i, here.y += 2) here.x += step * metal::max<T>(n += 1, 0), here.y <<= 1;
    if (n > 2) all.at[n - 2].x += all.at[0].y += step; else here.x += 1000;
    pointer->at[n - 3].y += n > 2 ? step : T(0);
    pair_of<T>(step).x;
    complex<T> c = {1, 2};
    c += complex<T>{3, 4};
    c <<= 2;
    return here.x + 100 * here.y + 10000 * (all.at[1].x + all.at[0].y) + T(c.re * 1000000);
}
kernel void k(device float *a) {
    a[0] = walk<int>(1);
    a[1] = walk<long>(2);
}
)",
                                                2);
    // here: x = step + step (1 + 2 + 3), y = (((step + 1) * 2 + 2) * 2 + 2) * 2 + 2
    expect("components", found, {7 + 100 * 30 + 10000 * (4 + 4) + 8e6f, 14 + 100 * 38 + 10000 * (7 + 7) + 8e6f});
}

// Coherence is a word of the type, and a name elsewhere.
void test_coherence() {
    const std::vector<float> found = results_of(R"(
#ifndef __METAL_MEMORY_SCOPE_SYSTEM__
#error "a source would define metal::thread_scope_system"
#endif
struct list { device coherent float *first; };
void put(volatile coherent(system) device float *to, float value) {
    to[0] = value;
    atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_system);
}
kernel void k(coherent device float *a [[buffer(0)]]) {
    float coherent = 2;
    put(a, 1);
    list l = {a};
    l.first[1] = coherent + 1;
}
)",
                                                2);
    expect("coherence", found, {1, 3});
}

// Every type of Metal's has its name in `metal`, too.
void test_names_in_metal() {
    const std::vector<float> found = results_of(R"(
struct S { metal::uint a; metal::int2 b; metal::packed_float3 c; metal::float4x4 m; metal::half h; metal::bool2 t; metal::uchar4 d; metal::ulong2 e; metal::size_t s; metal::half3x3 hh; metal::bfloat bf;
           metal::ushort us; metal::packed_half2 ph; metal::uint32_t w; metal::bfloat4 b4; metal::int8_t i8; };
metal::float4 twice(metal::float4 v) { return v + v; }
kernel void k(device float *a, metal::uint i [[thread_position_in_grid]]) {
    S s = {};
    s.b = metal::int2(3);
    a[0] = metal::min(twice(metal::float4(1, 2, 3, 4)), metal::float4(7)).w + float(s.b.x) + float(i);
    a[1] = float(metal::long2(5).y) + metal::float3(1).xyzz.w;
}
)",
                                                2);
    expect("names in metal", found, {10, 6});
}

// The library has no names that programs are likely to have; and Apple's way to write enumerations for both sides.
void test_names_of_programs() {
    const std::vector<float> found = results_of(R"(
#define NS_ENUM(_type, _name) enum _name : _type _name; enum _name : _type
typedef metal::int32_t EnumBackingType;
typedef NS_ENUM(EnumBackingType, BufferIndex) { BufferIndexResult = 0, BufferIndexOther = 3 };
namespace detail { inline float twice(float x) { return 2 * x; } }
namespace impl { constant float three = 3; }
kernel void k(device float *a [[buffer(BufferIndexResult)]]) {
    const BufferIndex other = BufferIndexOther;
    a[0] = detail::twice(impl::three) + other;
}
)",
                                                1);
    expect("names of programs", found, {9});
}

// As the specification's macros say.
void test_limits() {
    const std::vector<float> found = results_of(R"(
using half_limits = numeric_limits<half>;
using float_limits = numeric_limits<float>;
kernel void k(device float *a) {
    a[0] = half_limits::min_exponent10 == HALF_MIN_10_EXP && half_limits::max_exponent10 == HALF_MAX_10_EXP;
    a[1] = half_limits::digits == HALF_MANT_DIG && half_limits::min_exponent == HALF_MIN_EXP;
    a[2] = float_limits::min_exponent10 == FLT_MIN_10_EXP && float_limits::max_exponent10 == FLT_MAX_10_EXP;
    a[3] = ilogb(float2(NAN, a[0])).x == FP_ILOGBNAN && ilogb(a[0] - 1) == FP_ILOGB0 && ilogb(1000 * a[0]) == 9;
}
)",
                                                4);
    expect("limits", found, {1, 1, 1, 1});
}

// Some editors begin a file with one.
void test_byte_order_mark() {
    CHECK(compiled("\xef\xbb\xbf" + head + "kernel void k(device float *a) { a[0] = 1; }\n").log.empty());
    CHECK(compiled("\xef\xbb\xbfkernel void k(device float *a) { a[0] = b; }\n").says("program_source:1:41: error: "));
}

void test_volatile_vectors() {
    const std::vector<float> found = results_of(R"(
kernel void k(device float *a) {
    volatile device float4 *o = (volatile device float4 *)(a + 16);
    volatile float4 v;
    v = float4(1, 2, 3, 4);
    o[0] = v;
    o[1] = o[0];
    float4 w = o[1];
    v.x = 5;
    v[1] = 6;
    a[0] = w.x + w.w + v.x + v[1];
    v += w;
    v *= 2;
    w = v + 1.0f;
    a[1] = w.x + float4(v).z;
    v = 3;
    volatile thread float4 *p = &v;
    *p = w;
    w = -v;
    a[2] = w.x + max(float4(v), w).y;
    volatile threadgroup uint2 shared;
    shared = uint2(7, 8);
    uint2 r = shared;
    a[3] = r.y + shared.x;
    a[4] = as_type<uint2>(float2(0)).x + sizeof(float4);
    struct { volatile float2 member; } s;
    s.member = float2(9);
    a[5] = s.member.y;
}
)",
                                                32);
    expect("volatile", found, {16, 13 + 12, -13 + 17, 15, 16, 9});
}

// A value of any arithmetic type is assigned to all components.
void test_assigned_values() {
    const std::vector<float> found = results_of(R"(
kernel void k(device float *a) {
    float4 v;
    v = 1;
    a[0] = v.w;
    v = 2u;
    a[1] = v.x;
    v = 0.5;
    a[2] = v.y;
    half3 h;
    h = 3;
    int2 i;
    i = 'c';
    a[3] = h.z + i.x;
    packed_float3 p = 4;
    float3 q;
    q = p;
    p = 5;
    a[4] = q.x + p[1];
    volatile float4 w;
    w = 6;
    v = w;
    v = {v.x, 1, 2, 3};
    a[5] = v.x + v.w;
}
)",
                                                6);
    expect("assigned values", found, {1, 2, 0.5f, 3 + 'c', 9, 9});
}

void test_initializer_lists() {
    const std::vector<float> found = results_of(R"(
struct sum { float value = 0; sum(initializer_list<float> list) { for (float x : list) value += x; } };
struct both { float4 x; int2 y; float z[2]; };
float4 four() { return {1, 2, 3, 4}; }
float use(float4 v, both b) { return v.y + b.y.x + b.z[1]; }
kernel void k(device float *a) {
    a[0] = sum{1, 2, 3}.value;
    float total = 0;
    for (int x : {1, 2, 4}) total += x;
    a[1] = total + four().w;
    a[2] = use({1, 2, 3, 4}, {{}, {1, 2}, {2, 3}});
    float2x2 m = {{1, 2}, {3, 4}};
    float3x3 n = float3x3({1, 2, 3}, {4, 5, 6}, {7, 8, 9});
    a[3] = m[1][0] + n[2][1] + float2x2{float2(1), float2(5)}[1].x;
    array<float4, 2> q{{float4(1), float4(2)}};
    half4 h{1.0h, 2.0h, 3.0h, 4.0h};
    packed_float3 p = {1, 2, 3};
    float4 v{};
    v = {4, 3, 2, 1};
    a[4] = q[1].x + h.w + p.z + v.y;
    initializer_list<int> list = {5, 6};
    a[5] = list.size() + *(list.begin() + 1);
}
)",
                                                6);
    expect("initialiser lists", found, {6, 11, 6, 16, 12, 8});
}

// What objects in one address space may not do.
void test_deleted_members() {
    const std::vector<float> found = results_of(R"(
struct S {
    float x;
    S() = default;
    S(float v) : x(v) {}
    S(const thread S &) = default;
    S(const device S &) = delete;
    thread S &operator=(const thread S &s) thread { x = s.x + 1; return *this; }
    device S &operator=(const thread S &) device = delete;
    threadgroup S &operator=(const thread S &) threadgroup = delete;
    float get() const thread { return x; }
    float get() const device = delete;
    float get() const constant = delete;
};
kernel void k(device float *a) {
    S s(1), t(2);
    s = t;
    a[0] = s.get();
}
)",
                                                1);
    expect("deleted members", found, {3});
}

// Functions of the user's own are chosen as beside Metal's, which are functions of each type and no templates.
void test_own_overloads() {
    const std::vector<float> found = results_of(R"(
struct pair { float a, b; };
pair select(pair x, pair y, bool c) { return c ? x : y; }
template <typename T> T select(T x, T y, bool c) { return c ? x : y; }
namespace metal { pair select(pair x, pair, bool2) { return x; } bfloat select(bfloat x, bfloat, bool) { return x; } }
namespace own { float max(float x, float) { return x; } float use() { return max(1.0f, 2.0f); } }
float pow(float x, int n) { return n == 0 ? 1 : x * pow(x, n - 1); }
kernel void k(device float *a) {
    pair p{1, 2}, q{3, 4};
    a[0] = select(p, q, true).a + 10 * select(p, q, bool2(true)).b;
    a[1] = select(1.0f, 2.0f, true);
    a[2] = select(float4(1), float4(2), bool4(true)).x;
    a[3] = select(float4(1), float4(2), true).x;
    a[4] = select(bfloat(1), bfloat(2), true);
    a[5] = own::use() + max(1.0f, 2.0f);
    a[6] = pow(2.0f, 3);
    a[7] = metal::select(half4(1), half4(2), ushort4(3)).x + metal::select(1, 2.5f, true) + metal::select(int2(1), int2(2), true).x;
    a[8] = select(3, 4, 7u) + select(uchar(3), uchar(4), false);
}
)",
                                                9);
    expect("overloads", found, {21, 2, 2, 1, 1, 3, 8, 2 + 2.5f + 2, 4 + 3});
}

// Constants of the program that are made of vectors: nothing computes them as a kernel is loaded.
void test_constants_of_vectors() {
    const std::vector<float> found = results_of(R"(
struct point { float size; float3 at; packed_float3 color; packed_uchar4 mask; };
constant point points[2] = {{1, float3(1, 2, 3), packed_float3(4, 5, 6), packed_uchar4(1)}, {2, {1, 2, 3}, {7, 8, 9}, {1, 2, 3, 4}}};
constant packed_float3 packed_vector = float3(1, 2, 3), filled = 2, *const none = nullptr;
constant packed_half2 converted = packed_half2(float2(3, 4));
constant float4x4 diagonals[2] = {float4x4(2.0), float4x4(float4(1), float4(2), float4(3), float4(4))};
constant float2x3 elements = float2x3(1, 2, 3, 4, 5, 6);
constant half3x2 wide(half2x2(1).columns[0], half2(2), half2(3));
namespace inner { constant float3x2 oblong(5.0); }
constexpr constant float3x3 evaluated(float3(1), float3(2), float3(3));
kernel void k(device float *a) {
    a[0] = points[1].color.z + points[0].color.y + points[0].mask[3] + points[1].mask[3];
    a[1] = packed_vector.z + filled.y + converted.y;
    a[2] = diagonals[0][3][3] + diagonals[0][2][3] + diagonals[1][3].w;
    a[3] = elements[1][0] * 10 + elements[0][2];
    a[4] = wide[0].x + wide[0].y + wide[2].y;
    a[5] = inner::oblong[1][1] + inner::oblong[2].x + inner::oblong[2].y + inner::oblong[1].x;
    a[6] = evaluated[2].y;
}
)",
                                                7);
    expect("constants of vectors", found, {9 + 5 + 1 + 4, 3 + 2 + 4, 2 + 4, 43, 4, 5, 3});
}

}  // namespace

int main() {
    test_padding_of_bases();
    test_sixteen_bit_casts();
    test_bytes_of_sixteen_bits();
    test_functions_and_types();
    test_vectors_and_matrices();
    test_questions_about_constants();
    test_names_of_the_library();
    test_fast_limits();
    test_quad_filling();
    test_names_of_the_compiler();
    test_members_for_each_space();
    test_assigned_components();
    test_coherence();
    test_names_in_metal();
    test_names_of_programs();
    test_limits();
    test_byte_order_mark();
    test_volatile_vectors();
    test_assigned_values();
    test_initializer_lists();
    test_deleted_members();
    test_own_overloads();
    test_constants_of_vectors();
    return check::report("msl/language_test");
}
