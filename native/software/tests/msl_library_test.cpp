// Libraries: what is found in a source, function constants, threadgroup memory, errors with their lines, odd input.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "check.h"
#include "engine/engine.h"
#include "metal_program.h"
#include "msl/msl.h"

namespace {

struct compiled {
    smtl_library *library = nullptr;
    std::string log;

    explicit compiled(const std::string &source, const smtl_compile_options *options = nullptr) {
        char *text = nullptr;
        library = smtl_library_compile(source.data(), source.size(), options, &text);
        if (text) log = text;
        std::free(text);
    }
    compiled(const compiled &) = delete;
    compiled &operator=(const compiled &) = delete;
    ~compiled() { smtl_library_release(library); }

    std::vector<std::string> names() const {
        std::vector<std::string> found;
        for (size_t i = 0; library && i < smtl_library_function_count(library); ++i) found.emplace_back(smtl_library_function_name(library, i));
        return found;
    }
    bool says(const std::string &text) const {
        if (log.find(text) != std::string::npos) return true;
        std::fprintf(stderr, "not found: %s\nin: %s\n", text.c_str(), log.c_str());
        return false;
    }
    std::string specialize(const char *function, const std::vector<smtl_constant_value> &values, std::string *error = nullptr) const {
        char *text = nullptr;
        char *path = smtl_library_specialize(library, function, values.data(), values.size(), &text);
        const std::string result = path ? path : "";
        if (error && text) *error = text;
        std::free(path);
        std::free(text);
        return result;
    }
};

smtl_constant_value constant(uint32_t index, uint32_t type, int64_t value) {
    smtl_constant_value result{nullptr, index, type, {}};
    std::memcpy(result.bytes, &value, sizeof value);
    return result;
}
constexpr uint32_t type_float = 3, type_int = 29, type_bool = 53, type_short = 37;

// Runs a kernel over `threads` threads, one threadgroup.
std::string run(const std::string &path, std::vector<std::vector<float> *> buffers, uint32_t threads, uint32_t memory = 0) {
    char *error = nullptr;
    smtl_kernel *kernel = smtl_kernel_load(path.c_str(), "smtl_entry", &error);
    std::string message = error ? error : "";
    std::free(error);
    if (!kernel) return "not loaded: " + message;
    dispatch launch(kernel);
    for (uint32_t i = 0; i < buffers.size(); ++i) {
        if (buffers[i]) launch.buffer(i, *buffers[i]);
    }
    if (memory) launch.threadgroup_memory(0, memory);
    message = launch.run({threads, 1, 1}, {threads, 1, 1});
    smtl_kernel_release(kernel);
    return message;
}

const std::string head = "#include <metal_stdlib>\nusing namespace metal;\n";

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
template <typename T> kernel void never(device T *a) { a[0] = T(1); }
float kernel_helper(float x) { return x; }
struct S { int kernel_count; };
)");
    CHECK(library.library != nullptr);
    std::fprintf(stderr, "%s", library.log.c_str());
    CHECK(library.names() == std::vector<std::string>{"plain", "attribute", "from_list", "from_type", "from_decltype", "renamed",
                                                      "outer::inner::nested", "deep_float", "deep_half", "hidden"});
    std::vector<float> a(4), b = {5};
    CHECK(run(library.specialize("from_list", {}), {&a, &b}, 4).empty() && a[3] == 5);
    CHECK(run(library.specialize("outer::inner::nested", {}), {&a}, 1).empty() && a[0] == 3);
    CHECK(run(library.specialize("deep_float", {}), {&a}, 1).empty() && a[0] == 4);
    CHECK(run(library.specialize("hidden", {}), {&a}, 1).empty() && a[0] == 5);
    std::string error;
    CHECK(library.specialize("never", {}, &error).empty() && error.find("'never'") != std::string::npos);
}

void test_arguments() {
    const compiled library(head + R"(
struct Args { int n; float4 scale; };
constant constexpr int slot = 4;
enum { last_slot = 9 };
kernel void k(device float *a [[buffer(slot)]], device const half4 *b, constant Args &args [[buffer(last_slot - 2)]],
              threadgroup float *shared [[threadgroup(1)]], threadgroup int *more, constant float (&table)[8],
              uint3 gid [[thread_position_in_grid]], ushort lane [[thread_index_in_simdgroup]]) { a[0] = table[0]; }
)");
    if (!CHECK(library.library != nullptr)) return;
    const smtl_argument *arguments = nullptr;
    if (!CHECK(smtl_library_arguments(library.library, "k", &arguments) == 6)) return;
    struct {
        const char *name;
        smtl_argument_kind kind;
        smtl_access access;
        uint32_t index;
        size_t size;
    } wanted[] = {
        {"a", SMTL_ARGUMENT_BUFFER, SMTL_ACCESS_READ_WRITE, 4, 4},
        {"b", SMTL_ARGUMENT_BUFFER, SMTL_ACCESS_READ_ONLY, 0, 8},
        {"args", SMTL_ARGUMENT_BUFFER, SMTL_ACCESS_READ_ONLY, 7, 32},
        {"shared", SMTL_ARGUMENT_THREADGROUP_MEMORY, SMTL_ACCESS_READ_WRITE, 1, 4},
        {"more", SMTL_ARGUMENT_THREADGROUP_MEMORY, SMTL_ACCESS_READ_WRITE, 0, 4},
        {"table", SMTL_ARGUMENT_BUFFER, SMTL_ACCESS_READ_ONLY, 1, 32},
    };
    for (size_t i = 0; i < 6; ++i) {
        if (!CHECK(std::string(arguments[i].name) == wanted[i].name && arguments[i].kind == wanted[i].kind)) std::fprintf(stderr, "%s\n", arguments[i].name);
        CHECK(arguments[i].access == wanted[i].access && arguments[i].index == wanted[i].index && arguments[i].type_size == wanted[i].size);
        CHECK(!arguments[i].conditional);
    }
    CHECK(smtl_library_arguments(library.library, "nothing", &arguments) == SIZE_MAX);
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
        CHECK(std::string(constants[0].name) == "flag" && constants[0].index == 0 && constants[0].data_type == type_bool && constants[0].required);
        CHECK(std::string(constants[2].name) == "factor" && constants[2].data_type == type_float && !constants[2].required);
        CHECK(std::string(constants[3].name) == "small" && constants[3].index == 42 && constants[3].data_type == type_short && !constants[3].required);
    }
    const smtl_argument *arguments = nullptr;
    CHECK(smtl_library_arguments(library.library, "k", &arguments) == 2 && arguments[1].conditional && !arguments[0].conditional);

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
    CHECK(library.specialize("k", {constant(0, type_bool, 1), constant(0, type_bool, 0), constant(1, type_int, 6)}) == without);

    std::string error;
    CHECK(library.specialize("k", {constant(0, type_bool, 0)}, &error).empty() && error.find("'count', which decides on argument 'b'") != std::string::npos);
    CHECK(library.specialize("k", {constant(1, type_int, 0)}, &error).empty() && error.find("'flag'") != std::string::npos);
    CHECK(library.specialize("k", {constant(0, type_int, 1), constant(1, type_int, 6)}, &error).empty() && error.find("of type bool") != std::string::npos);
    CHECK(library.specialize("user", {}, &error).empty() && error.find("'used' (index 5) has no value") != std::string::npos);
    CHECK(run(library.specialize("free", {}), {&a}, 1).empty() && a[0] == 1);
    // Where some values are given, a constant without one is zero.
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
    const compiled different(head + "float f(device float *p) { return p[0]; }\nfloat f(threadgroup float *p) { return p[1]; }\n");
    CHECK(different.library == nullptr && different.says("program_source:4: error: this overload differs"));
}

// Structures and arrays of pointers in constant memory: the pointers are addresses, as a buffer's gpuAddress gives them.
void test_argument_buffers() {
    const std::string source = head + R"(struct Bindings {
    device float *out [[id(0)]];
    constant float *in [[id(1)]];
    array<device const float *, 2> more;
    int count;
};
kernel void k(constant Bindings &bindings [[buffer(0)]], constant array<device float *, 1> &list [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    if (int(i) < bindings.count) bindings.out[i] = bindings.in[i] + bindings.more[1][i] + list[0][0];
}
)";
    const compiled drawing(source + "kernel void drawn(texture2d<float> image [[texture(0)]]) {}\n");
    CHECK(drawing.library == nullptr && drawing.says("program_source:12: error: [[texture]]"));
    const compiled library(source);
    struct {
        float *out, *in, *more[2];
        int count;
    } bindings;
    std::vector<float> out(4), in = {1, 2, 3, 4}, more = {10, 20, 30, 40}, one = {0.5f};
    bindings = {out.data(), in.data(), {nullptr, more.data()}, 3};
    float *list[] = {one.data()};
    char *error = nullptr;
    smtl_kernel *kernel = smtl_kernel_load(library.specialize("k", {}).c_str(), "smtl_entry", &error);
    if (!CHECK(kernel != nullptr)) return;
    CHECK(dispatch(kernel).constant(0, bindings).constant(1, list).run({4, 1, 1}, {4, 1, 1}).empty());
    CHECK(out == std::vector<float>{11.5f, 22.5f, 33.5f, 0});
    smtl_kernel_release(kernel);
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
)");
    if (!CHECK(library.library != nullptr)) std::fprintf(stderr, "%s\n", library.log.c_str());
    const auto limit = [&](const char *name) { return smtl_library_max_total_threads(library.library, name); };
    CHECK(limit("plain") == 256 && limit("two") == 64 && limit("four") == 128 && limit("bytes") == 32 && limit("free") == 0);
    CHECK(limit("nothing") == 0 && smtl_library_max_total_threads(nullptr, "plain") == 0);
}

// The second time a source comes nothing is preprocessed or translated, and nobody can tell.
void test_known_sources() {
    const std::string source = head + "constant int c [[function_constant(0)]];\nkernel void k(device float *a [[buffer(3)]]) {\n  int x = 3;\n  x == 4;\n  a[0] = x + c;\n}\n";
    const compiled first(source), second(source);
    CHECK(first.library && second.library && first.log == second.log && second.says("program_source:6:5: warning:"));
    CHECK(first.names() == second.names() && second.names().size() == 1);
    const std::string path = first.specialize("k", {constant(0, type_int, 1)});
    CHECK(!path.empty() && second.specialize("k", {constant(0, type_int, 1)}) == path);
    const smtl_argument *arguments = nullptr;
    CHECK(smtl_library_arguments(second.library, "k", &arguments) == 1 && arguments[0].index == 3 && arguments[0].type_size == 4);
    smtl_compile_options named{};
    named.name = "other.metal";
    const compiled renamed(source, &named);
    CHECK(renamed.library && renamed.says("other.metal:6:5: warning:"));
    // What a source includes is looked at each time.
    std::string folder = "/tmp/metal-bridge-library-test-XXXXXX";
    if (!CHECK(mkdtemp(folder.data()) != nullptr)) return;
    const char *folders[] = {folder.c_str()};
    smtl_compile_options options{};
    options.include_paths = folders;
    options.include_path_count = 1;
    for (const char *value : {"1", "2"}) {
        std::ofstream(folder + "/value.h") << "constant int value = " << value << ";\n";
        const compiled including("#include \"value.h\"\nkernel void k(device float *a) { a[0] = value; }\n", &options);
        std::vector<float> a(1);
        CHECK(including.library && run(including.specialize("k", {}), {&a}, 1).empty() && a[0] == float(value[0] - '0'));
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
)", &options);
    if (!CHECK(library.library != nullptr)) std::fprintf(stderr, "%s\n", library.log.c_str());
    std::vector<float> a(3);
    CHECK(run(library.specialize("k", {}), {&a}, 1).empty() && a[0] == 14 + 3.14159265f && a[2] == 5);
    const compiled wrong("kernel void k(device float *a) { a[0] = nothing; }", &options);
    CHECK(wrong.library == nullptr && wrong.says("some \"file\".metal:1:41: error: use of undeclared identifier 'nothing'"));
    smtl_compile_options old{};
    old.language_version = (2u << 16) + 1;
    const compiled version("#if __METAL_VERSION__ != 210\n#error version\n#endif\n", &old);
    CHECK(version.library != nullptr);
    // Macros are expanded in pragmas too.
    const compiled unrolled(head + "#define LEAST(a, b) ((a) < (b) ? (a) : (b))\ntemplate <int N> void add(device float *a) {\n#pragma unroll (LEAST(N / 2, 3))\n"
                            "for (int i = 0; i < N; ++i) a[i] += 1;\n}\nkernel void k(device float *a) { add<8>(a); }\n");
    std::vector<float> added(8);
    CHECK(run(unrolled.specialize("k", {}), {&added}, 1).empty() && added[7] == 1);
    // The names of types that sources share with their programs.
    const compiled shared("#include <simd/simd.h>\nstruct U { simd_float4 a; vector_float3 b; matrix_float4x4 m; simd::uint2 c; };\n"
                          "kernel void k(device float *a) { U u; u.m = simd_float4x4(2.0f); u.a = u.m * vector_float4(1); a[0] = u.a.w + sizeof(U); }\n");
    std::vector<float> sum(1);
    CHECK(run(shared.specialize("k", {}), {&sum}, 1).empty() && sum[0] == 114);
    const compiled pragma("#pragma METAL fp math_mode(safe)\nkernel void k(device float *a) { a[0] = (a[0] + a[1]) - a[1]; }\n");
    std::vector<float> cancelled = {1e-10f, 1e10f};
    CHECK(run(pragma.specialize("k", {}), {&cancelled}, 1).empty() && cancelled[0] == 0);
}

void test_errors() {
    const compiled syntax(head + "\n\nkernel void k(device float *a [[buffer(0)]]) {\n    a[0]   =  undefined_name;\n    float4 v = int4(1);\n}\n");
    CHECK(syntax.library == nullptr && syntax.says("program_source:6:15: error: use of undeclared identifier 'undefined_name'"));
    CHECK(syntax.says("    a[0]   =  undefined_name;\n              ^\n") && syntax.says("program_source:7:12: error:"));
    const compiled instantiation(head + "template <typename T> kernel void k(device T *a) {\n  a->missing = 1;\n}\ntemplate [[host_name(\"k\")]] kernel void k<float>(device float *);\n");
    CHECK(instantiation.library == nullptr && instantiation.says("program_source:4:4: error:"));
    const compiled moved("#line 100 \"shader.metal\"\nint f() { return x; }\n#line 7\nint g() { return y; }\n");
    CHECK(moved.library == nullptr && moved.says("shader.metal:100:18: error") && moved.says("shader.metal:7:18: error"));
    const compiled macro("#define BAD(x) x.nothing\nkernel void k(device float *a) {\n a[0] = BAD(a);\n}\n");
    CHECK(macro.library == nullptr && macro.says("program_source:3:"));
    const compiled directive("\n#error stop here\n");
    CHECK(directive.library == nullptr && directive.says("program_source:2:2: error: stop here"));
    const compiled include("#include \"nowhere.h\"\n");
    CHECK(include.library == nullptr && include.says("program_source:1:10: ") && include.says("nowhere.h"));
    const compiled parameter("\nkernel void k(device float *a, uint i) { a[i] = 1; }\n");
    CHECK(parameter.library == nullptr && parameter.says("program_source:2: error: kernel parameter 'i'"));
    const compiled mismatch(head + "template <typename T> kernel void k(device T *a) { a[0] = 1; }\ntemplate [[host_name(\"k\")]] kernel void k<float>(device int *);\n");
    CHECK(mismatch.library == nullptr && mismatch.says("program_source:4:"));
    const compiled unknown(head + "template [[host_name(\"k\")]] kernel void nowhere<float>(device int *);\n");
    CHECK(unknown.library == nullptr && unknown.says("program_source:3: error:"));
    const compiled same_name(head + "[[host_name(\"k\")]] kernel void a(device float *x) { x[0] = 1; }\n[[host_name(\"k\")]] kernel void b(device float *x) { x[0] = 2; }\n");
    CHECK(same_name.library == nullptr && same_name.says("program_source:4: error: a kernel of the name 'k'"));
    const compiled twice("double f() { return 1; }\n");
    CHECK(twice.library == nullptr && twice.says("program_source:1: error: 'double'"));
    const compiled constant_store("kernel void k(constant float *a) { a[0] = 1; }\n");
    CHECK(constant_store.library == nullptr && constant_store.says("program_source:1:"));
    const compiled host_header("#include <stdio.h>\n");
    CHECK(host_header.library == nullptr && host_header.says("stdio.h"));
    const compiled warning(head + "kernel void k(device float *a) {\n  int x = 3;\n  x == 4;\n  a[0] = x;\n}\n");
    CHECK(warning.library != nullptr && warning.says("program_source:5:5: warning:"));
}

void test_odd_sources() {
    const compiled empty("");
    CHECK(empty.library != nullptr && empty.names().empty());
    std::string every_byte;
    for (int c = 0; c < 256; ++c) every_byte += char(c);
    // Nested, repeated and self-referring constructs take neither the stack nor time without end.
    std::string nested, angles, doubling = "constant int c0 = 1;\n";
    for (int i = 0; i < 20000; ++i) nested += "namespace a { ";
    for (int i = 0; i < 50000; ++i) angles += "a<";
    for (int i = 1; i < 60; ++i) {
        const std::string before = "c" + std::to_string(i - 1);
        doubling += "constant int c" + std::to_string(i) + " = (" + before + " + " + before + ") % 1000;\n";
    }
    const compiled doubled(doubling);
    CHECK(doubled.library != nullptr);
    for (const std::string &source : {nested, angles, every_byte, std::string("\"unclosed\nkernel"), std::string("/* unclosed"), std::string("kernel void k("),
                                      std::string("template <typename T kernel void f<"), std::string("R\"x(never closed"), std::string(100, '('),
                                      std::string(1000, '{'), std::string("[[["), std::string("kernel"), std::string("constant"), std::string("namespace"),
                                      std::string("operator"), std::string("template"), std::string("struct {"), std::string("enum :"), std::string("\xef\xbb\xbf garbage \xff\xfe"),
                                      std::string("threadgroup"), std::string("#pragma METAL"), std::string("static_cast<"), std::string("[[kernel]]"),
                                      std::string("kernel void k([[buffer(]]) {}"), std::string("is_function_constant_defined("), std::string("extern \"C\" {")}) {
        const compiled odd(source);
        CHECK(odd.library != nullptr || !odd.log.empty());
    }
    // Not what a source says about itself, but what it does, goes into names of symbols and files.
    const compiled hostile(head + "[[host_name(\"../\\\"; $(x) `y`\")]] kernel void k(device float *a) { a[0] = 6; }\n");
    if (CHECK(hostile.library != nullptr && hostile.names().size() == 1)) {
        std::vector<float> a(1);
        CHECK(run(hostile.specialize(hostile.names()[0].c_str(), {}), {&a}, 1).empty() && a[0] == 6);
    }
    const std::string nul = head + std::string("kernel void k(device float *a) { a[0] = 7;\0 }\n", 46);
    const compiled with_nul(nul);
    CHECK(with_nul.library != nullptr);
}

}  // namespace

int main() {
    test_names();
    test_arguments();
    test_function_constants();
    test_threadgroup_memory();
    test_address_space_overloads();
    test_argument_buffers();
    test_thread_limits();
    test_known_sources();
    test_options();
    test_errors();
    test_odd_sources();
    return check::report("msl_library_test");
}
