// Libraries: what is found in a source, function constants, threadgroup memory, known sources, options.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "check.h"
#include "compiled_source.h"

namespace {

std::string text_of(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

void test_names() {
    const compiled library(head + R"(
kernel void plain(device float *a [[buffer(0)]]) { a[0] = 1; }
[[kernel]] void attribute(device float *a) { a[0] = 1; }
template <typename T, int N> [[kernel]] void pattern(device T *a [[buffer(0)]], constant T &b [[buffer(1)]], uint i [[thread_position_in_grid]]) { a[i] = b * T(N); }
template [[host_name("from_list")]] [[kernel]] void pattern<float, (3 > 2)>(device float *, constant float &, uint);
typedef decltype(pattern<half, 2>) pattern_t;
template [[host_name("from_" "type")]] kernel pattern_t pattern<half, 2>;
template [[host_name("from_decltype")]] [[kernel]] decltype(pattern<int, 7>) pattern<int, 7>;
[[host_name("renamed")]] kernel void original(device float *a) { a[0] = 2; }
namespace outer { namespace inner {
kernel void nested(device float *a) { a[0] = 3; }
template <typename T> kernel void deep(device T *a) { a[0] = T(4); }
template [[host_name("deep_float")]] kernel void deep<float>(device float *);
} }
template [[host_name("deep_half")]] kernel void outer::inner::deep<half>(device half *);
namespace {
kernel void hidden(device float *a) { a[0] = 5; }
}
using nothing = void;
template <bool> struct chosen { using type = void; template <typename> using by = void; };
[[host_name(R"-(raw (")-")]] kernel nothing alias(device float *a) { a[0] = 6; }
kernel chosen<(2 > 1)>::type dependent(device float *a) { a[0] = 7; }
kernel chosen<false>::by<float> listed(device float *a) { a[0] = 7; }
kernel auto deduced(device float *a) { a[0] = 8; }
kernel auto trailing(device float *a) -> void { a[0] = 9 + sin(a[1] - a[2]); }
template <typename T> kernel void never(device T *a) { a[0] = T(1); }
float kernel_helper(float x) { return x; }
struct S { int kernel_count; };
)");
    CHECK(library.library != nullptr);
    std::fprintf(stderr, "%s", library.log.c_str());
    CHECK(library.names() == std::vector<std::string>{"plain", "attribute", "from_list", "from_type", "from_decltype",
                                                      "renamed", "outer::inner::nested", "deep_float", "deep_half",
                                                      "hidden", "raw (\"", "dependent", "listed", "deduced",
                                                      "trailing"});
    std::vector<float> a(4), b = {5};
    CHECK(run(library.specialize("from_list", {}), {&a, &b}, 4).empty() && a[3] == 5);
    CHECK(run(library.specialize("outer::inner::nested", {}), {&a}, 1).empty() && a[0] == 3);
    CHECK(run(library.specialize("deep_float", {}), {&a}, 1).empty() && a[0] == 4);
    const std::string calling = library.specialize("trailing", {});
    CHECK(run(library.specialize("hidden", {}), {&a}, 1).empty() && a[0] == 5);
    CHECK(run(library.specialize("raw (\"", {}), {&a}, 1).empty() && a[0] == 6);
    CHECK(run(calling, {&a}, 1).empty() && a[0] == 9);
    // A kernel that calls the C library's functions is linked with it.
    CHECK(text_of(calling).find("libm.so") != std::string::npos);
    std::string error;
    CHECK(library.specialize("never", {}, &error).empty() && error.find("'never'") != std::string::npos);
}

// Kernels behind other functions of their names.
void test_shared_names() {
    const compiled library(head + R"(
void helper(device float *a, float x) { a[0] = x; }
kernel void helper(device float *a, uint i [[thread_position_in_grid]]) { helper(a, 8.0f); }
template <typename T> T pattern(T x) { return x + T(1); }
kernel void pattern(device float *a [[buffer(0)]], constant float (&b)[2] [[buffer(1)]]) { a[0] = pattern(b[1]); }
namespace other { int imported(int x, int y) { return x + y; } }
using other::imported;
kernel void imported(device float *a) { a[0] = imported(2, 3); }
kernel void declared(device float *a, device packed_float3 *b);
kernel void declared(device float *a, device packed_float3 *b) { a[0] = b[0].z; }
struct S { int given; };
kernel void given(device float *a, device float *b, uint i [[thread_position_in_grid]] = 0) { a[i] = b[i]; }
)");
    std::fprintf(stderr, "%s", library.log.c_str());
    CHECK(library.library != nullptr);
    CHECK(library.names() == std::vector<std::string>{"helper", "pattern", "imported", "declared", "given"});
    std::vector<float> a(4), b = {5, 6, 7};
    const auto gives = [&](const char *kernel) {
        return run(library.specialize(kernel, {}), {&a, &b}, 1) + std::to_string(a[0]).substr(0, 1);
    };
    CHECK(gives("helper") == "8" && gives("pattern") == "7" && gives("imported") == "5" && gives("declared") == "7" &&
          gives("given") == "5");
}

void test_function_constants() {
    const compiled library(head + R"(
constant bool flag [[function_constant(0)]];
constant int count [[function_constant(1)]];
constant float factor [[function_constant(2)]];
namespace deep { constant short small [[function_constant(40 + 2)]]; }
constant int used [[function_constant(5)]];
constant bool both = flag && count > 2;
constant float chosen = is_function_constant_defined(factor) ? factor : 0.5f;
kernel void k(device float *a [[buffer(0)]], device const float *b [[buffer(1), function_constant(both)]], uint i [[thread_position_in_grid]]) {
    float v = chosen * count;
    if (both) v += b[i];
    if (is_function_constant_defined(deep::small)) v += 100 * deep::small;
    a[i] = v;
}
kernel void free(device float *a) { a[0] = 1; }
kernel void user(device float *a) { a[0] = used; }
)");
    if (!CHECK(library.library != nullptr)) return;
    const smtl_function_constant *constants = nullptr;
    if (CHECK(smtl_library_function_constants(library.library, &constants) == 5)) {
        CHECK(std::string(constants[0].name) == "flag" && constants[0].index == 0 &&
              constants[0].data_type == type_bool && constants[0].required);
        CHECK(std::string(constants[2].name) == "factor" && constants[2].data_type == type_float &&
              !constants[2].required);
        CHECK(std::string(constants[3].name) == "small" && constants[3].index == 42 &&
              constants[3].data_type == type_short && !constants[3].required);
    }
    const smtl_argument *arguments = nullptr;
    CHECK(smtl_library_arguments(library.library, "k", &arguments) == 2 && arguments[1].conditional &&
          !arguments[0].conditional);

    std::vector<float> a(4), b = {1, 2, 3, 4};
    const std::string with = library.specialize("k", {constant(0, type_bool, 1), constant(1, type_int, 6)});
    CHECK(run(with, {&a, &b}, 4).empty() && a[0] == 4 && a[3] == 7);
    // The argument is not there when the constant says so: nothing needs to be bound.
    const std::string without = library.specialize("k", {constant(0, type_bool, 0), constant(1, type_int, 6)});
    CHECK(without != with && run(without, {&a, nullptr}, 4).empty() && a[3] == 3);
    smtl_constant_value named = constant(0, type_short, 3);
    named.name = "small";
    float two = 2;
    smtl_constant_value real = constant(2, type_float, 0);
    std::memcpy(real.bytes, &two, sizeof two);
    const std::string all = library.specialize("k", {constant(0, type_bool, 0), constant(1, type_int, 6), named, real});
    CHECK(run(all, {&a, nullptr}, 4).empty() && a[3] == 312);
    // The last value given counts.
    CHECK(library.specialize("k", {constant(0, type_bool, 1), constant(0, type_bool, 0), constant(1, type_int, 6)}) ==
          without);

    std::string error;
    CHECK(library.specialize("k", {constant(0, type_bool, 1)}, &error).empty() &&
          error.find("'count' has no value, and argument 'b' depends on it") != std::string::npos);
    CHECK(library.specialize("k", {constant(1, type_int, 0)}, &error).empty() &&
          error.find("'flag'") != std::string::npos);
    CHECK(library.specialize("k", {constant(0, type_int, 1), constant(1, type_int, 6)}, &error).empty() &&
          error.find("of type bool") != std::string::npos);
    CHECK(library.specialize("user", {}, &error).empty() &&
          error.find("'used' (index 5) has no value") != std::string::npos);
    CHECK(run(library.specialize("free", {}), {&a}, 1).empty() && a[0] == 1);
    // If some values are given, a constant without a value is zero.
    const std::string in_part = library.specialize("user", {constant(1, type_int, 6)}, &error);
    CHECK(run(in_part, {&a}, 1).empty() && a[0] == 0);
    CHECK(library.specialize("user", {constant(77, type_int, 6)}, &error).empty());
}

void test_threadgroup_memory() {
    const compiled library(head + R"(
struct Tile { float v[32]; };
template <typename T, int N> struct Sizes { static constant constexpr int value = N; using type = T; };
kernel void reverse(device float *a, uint i [[thread_index_in_threadgroup]], threadgroup float *dynamic [[threadgroup(0)]]) {
    threadgroup float tile[64];
    threadgroup typename Sizes<float, 64>::type other[Sizes<float, 64>::value], third[2];
    threadgroup Tile object;
    threadgroup float *pointer = tile;
    threadgroup float (*rows)[32] = (threadgroup float (*)[32])tile;
    threadgroup float &reference = object.v[3];
    pointer[i] = a[i];
    dynamic[i] = 1000 * a[i];
    if (i == 0) { reference = 0.5f; third[1] = 0.25f; }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    other[i] = rows[1 - i / 32][31 - i % 32];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    a[i] = other[i] + object.v[3] + third[1] + dynamic[63 - i];
}
)");
    if (!CHECK(library.library != nullptr)) std::fprintf(stderr, "%s\n", library.log.c_str());
    std::vector<float> a(64);
    for (size_t i = 0; i < 64; ++i) a[i] = float(i);
    const std::string path = library.specialize("reverse", {});
    CHECK(run(path, {&a}, 64, 256).empty());
    for (size_t i = 0; i < 64; ++i) CHECK(a[i] == float(63 - i) * 1001 + 0.75f);
    char *error = nullptr;
    smtl_kernel *kernel = smtl_kernel_load(path.c_str(), "smtl_entry", &error);
    CHECK(kernel && !error && smtl_kernel_static_threadgroup_memory(kernel) >= 64 * 8 + 8 + 128);
    smtl_kernel_release(kernel);
}

void test_address_space_overloads() {
    const compiled library(head + R"(
template <typename T> struct pointee { static constant constexpr int kind = 0; };
template <typename T> struct pointee<device T *> { static constant constexpr int kind = 1; };
template <typename T> struct pointee<threadgroup T *> { static constant constexpr int kind = 1; };
template <typename T> struct pointee<thread T *> { static constant constexpr int kind = 1; };
struct complex {
    float re, im;
    complex() thread = default;
    complex() device = default;
    complex() threadgroup = default;
    complex() constant = default;
    template <typename T> constexpr complex(T x) thread : re(x), im(0) {}
    template <typename T> constexpr complex(T x) threadgroup : re(x), im(0) {}
    operator float() const thread { return re + im; }
    operator float() const device { return re + im; }
    operator float() const constant { return re + im; }
    thread complex &operator+=(complex other) thread { re += other.re; im += other.im; return *this; }
    device complex &operator+=(complex other) device { re += other.re; im += other.im; return *this; }
};
float load(device const float *p, int i) { return p[i]; }
float load(threadgroup const float *q, int j) { return q[j]; }
float load(thread const float *p, int i) { return p[i]; }
float load(constant float *p, int i) { return p[i]; }
inline float first(constant const float *p) { return p[0]; }
constant float table[] = {0.5f, 0.25f};
kernel void k(device float *a [[buffer(0)]], constant float *b [[buffer(1)]]) {
    threadgroup float shared[1];
    shared[0] = 4;
    float local[1] = {8};
    complex c(3.0f);
    c += complex(2.0f);
    a[0] = load(a, 1) + load(b, 0) + load(shared, 0) + load(local, 0) + float(c) + pointee<device float *>::kind + first(table);
}
)");
    if (!CHECK(library.library != nullptr)) std::fprintf(stderr, "%s\n", library.log.c_str());
    std::vector<float> a = {0, 1}, b = {2};
    CHECK(run(library.specialize("k", {}), {&a, &b}, 1).empty() && a[0] == 1 + 2 + 4 + 8 + 5 + 1 + 0.5f);
}

void test_thread_limits() {
    const compiled library(head + R"(
#define LIMIT 256
[[kernel]] [[max_total_threads_per_threadgroup(LIMIT)]] void plain(device float *a) { a[0] = 1; }
template <typename T, int M, int N = 2> [[kernel, max_total_threads_per_threadgroup(M * N * 32)]] void f(device T *a) { a[0] = M; }
template [[host_name("two")]] [[kernel]] void f<float, 1>(device float *);
template [[host_name("four")]] [[kernel]] decltype(f<float, 1, 4>) f<float, 1, 4>;
namespace inner {
template <typename T> [[max_total_threads_per_threadgroup(sizeof(T) * 8)]] kernel void g(device T *a) { a[0] = 1; }
}
template [[host_name("bytes")]] kernel void inner::g<float>(device float *);
kernel void free(device float *a) { a[0] = 1; }
template <typename T, typename M, int N> [[kernel, max_total_threads_per_threadgroup(N * 32)]] void h(device T *a, device M *m) { a[0] = m[0]; }
template <typename T, int N> [[kernel, max_total_threads_per_threadgroup(N * 64)]] void h(device T *a) { a[0] = N; }
template <int... N> [[kernel, max_total_threads_per_threadgroup(32 * (N + ...))]] void sums(device float *a) { a[0] = (N + ...); }
template [[host_name("with_mask")]] [[kernel]] decltype(h<float, bool, 3>) h<float, bool, 3>;
template [[host_name("no_mask")]] [[kernel]] decltype(h<float, 3>) h<float, 3>;
template [[host_name("summed")]] [[kernel]] decltype(sums<1, 2, 3>) sums<1, 2, 3>;
)");
    if (!CHECK(library.library != nullptr)) std::fprintf(stderr, "%s\n", library.log.c_str());
    const auto limit = [&](const char *name) { return smtl_library_max_total_threads(library.library, name); };
    CHECK(limit("plain") == 256 && limit("two") == 64 && limit("four") == 128 && limit("bytes") == 32 &&
          limit("free") == 0);
    CHECK(limit("with_mask") == 96 && limit("no_mask") == 192 && limit("summed") == 192);
    const smtl_argument *arguments = nullptr;
    CHECK(smtl_library_arguments(library.library, "with_mask", &arguments) == 2);
    CHECK(limit("nothing") == 0 && smtl_library_max_total_threads(nullptr, "plain") == 0);
}

// A source that comes a second time is neither preprocessed nor translated, and gives the same results.
void test_known_sources() {
    const std::string source =
        head +
        "constant int c [[function_constant(0)]];\nkernel void k(device float *a [[buffer(3)]]) {\n  int x = 3;\n  x == 4;\n  a[0] = x + c;\n}\n";
    const compiled first(source), second(source);
    CHECK(first.library && second.library && first.log == second.log && second.says("program_source:6:5: warning:"));
    CHECK(first.names() == second.names() && second.names().size() == 1);
    const std::string path = first.specialize("k", {constant(0, type_int, 1)});
    CHECK(!path.empty() && second.specialize("k", {constant(0, type_int, 1)}) == path);
    const smtl_argument *arguments = nullptr;
    CHECK(smtl_library_arguments(second.library, "k", &arguments) == 1 && arguments[0].index == 3 &&
          arguments[0].type_size == 4);
    smtl_compile_options named{};
    named.name = "other.metal";
    const compiled renamed(source, &named);
    CHECK(renamed.library && renamed.says("other.metal:6:5: warning:"));
    // Files that a source includes are read each time.
    std::string folder = "/tmp/software-metal-library-test-XXXXXX";
    if (!CHECK(mkdtemp(folder.data()) != nullptr)) return;
    const char *folders[] = {folder.c_str()};
    smtl_compile_options options{};
    options.include_paths = folders;
    options.include_path_count = 1;
    for (const char *value : {"1", "2"}) {
        std::ofstream(folder + "/value.h") << "constant int value = " << value << ";\n";
        const compiled including("#include \"value.h\"\nkernel void k(device float *a) { a[0] = value; }\n", &options);
        std::vector<float> a(1);
        CHECK(including.library && run(including.specialize("k", {}), {&a}, 1).empty() &&
              a[0] == float(value[0] - '0'));
    }
    std::filesystem::remove_all(folder);
}

void test_options() {
    const smtl_macro macros[] = {{"VALUE", "3 + 4"}, {"EMPTY", nullptr}, {"TWICE(x)", "(2 * (x))"}};
    smtl_compile_options options{};
    options.macros = macros;
    options.macro_count = 3;
    options.name = "some \"file\".metal";
    const compiled library(head + R"(
#if __METAL_VERSION__ >= 300 && defined(__METAL__) && defined(EMPTY) && !defined(__linux__) && !defined(__x86_64__)
kernel void k(device float *a) { a[0] = EMPTY TWICE(VALUE) + M_PI_F; a[1] = INFINITY; a[2] = __LINE__; }
#endif
)",
                           &options);
    if (!CHECK(library.library != nullptr)) std::fprintf(stderr, "%s\n", library.log.c_str());
    std::vector<float> a(3);
    CHECK(run(library.specialize("k", {}), {&a}, 1).empty() && a[0] == 14 + 3.14159265f && a[2] == 5);
    const compiled wrong("kernel void k(device float *a) { a[0] = nothing; }", &options);
    CHECK(wrong.library == nullptr &&
          wrong.says("some \"file\".metal:1:41: error: use of undeclared identifier 'nothing'"));
    smtl_compile_options old{};
    old.language_version = (2u << 16) + 1;
    const compiled version("#if __METAL_VERSION__ != 210\n#error version\n#endif\n", &old);
    CHECK(version.library != nullptr);
    // Macros are expanded in pragmas too.
    const compiled unrolled(
        head +
        "#define LEAST(a, b) ((a) < (b) ? (a) : (b))\ntemplate <int N> void add(device float *a) {\n#pragma unroll (LEAST(N / 2, 3))\n"
        "for (int i = 0; i < N; ++i) a[i] += 1;\n}\nkernel void k(device float *a) { add<8>(a); }\n");
    std::vector<float> added(8);
    CHECK(run(unrolled.specialize("k", {}), {&added}, 1).empty() && added[7] == 1);
    // The names of types that sources share with their programs.
    const compiled shared(
        "#include <simd/simd.h>\nstruct U { simd_float4 a; vector_float3 b; matrix_float4x4 m; simd::uint2 c; };\n"
        "kernel void k(device float *a) { U u; u.m = simd_float4x4(2.0f); u.a = u.m * vector_float4(1); a[0] = u.a.w + sizeof(U); }\n");
    std::vector<float> sum(1);
    CHECK(run(shared.specialize("k", {}), {&sum}, 1).empty() && sum[0] == 114);
    const compiled pragma(
        "#pragma METAL fp math_mode(safe)\nkernel void k(device float *a) { a[0] = (a[0] + a[1]) - a[1]; }\n");
    std::vector<float> cancelled = {1e-10f, 1e10f};
    CHECK(run(pragma.specialize("k", {}), {&cancelled}, 1).empty() && cancelled[0] == 0);
}

}  // namespace

int main() {
    test_names();
    test_shared_names();
    test_function_constants();
    test_threadgroup_memory();
    test_address_space_overloads();
    test_thread_limits();
    test_known_sources();
    test_options();
    return check::report("msl/library_test");
}
