// smtl_check: what it says of kernels and diagnostics, as JSON for any bytes.
#include <cstdlib>
#include <string>

#include "check.h"
#include "compiled_source.h"
#include "msl/msl.h"

namespace {

std::string check_source(const std::string &source, bool strict = false) {
    smtl_compile_options options{};
    options.math_mode = SMTL_MATH_FAST;
    options.name = "shader.metal";
    char *text = smtl_check(source.data(), source.size(), &options, strict);
    const std::string json = text ? text : "";
    std::free(text);
    return json;
}

void test_kernels() {
    const std::string json = check_source(head + R"(constant bool flag [[function_constant(7)]];
[[max_total_threads_per_threadgroup(64)]] kernel void k(device float4 *out [[buffer(1)]], constant uint &n, device const char *in [[buffer(2), function_constant(flag)]],
                                                        threadgroup half *memory [[threadgroup(0)]], uint i [[thread_position_in_grid]]) {
    memory[0] = half(n);
    out[i] = float4(in[i]);
}
)");
    CHECK(
        says(json, R"({"succeeded":true,"kernels":[{"name":"k","max_total_threads_per_threadgroup":64,"arguments":[)"));
    CHECK(says(
        json,
        R"({"index":1,"name":"out","type":"device float4 *","kind":"buffer","access":"read_write","size":16,"conditional":false,"members":[]})"));
    CHECK(says(
        json,
        R"({"index":0,"name":"n","type":"constant uint &","kind":"buffer","access":"read","size":4,"conditional":false,)"));
    CHECK(says(json, R"("access":"read","size":1,"conditional":true,)"));
    CHECK(says(
        json,
        R"({"index":0,"name":"memory","type":"threadgroup half *","kind":"threadgroup","access":"read_write","size":2,)"));
    CHECK(says(json,
               R"("function_constants":[{"name":"flag","index":7,"type":"bool","required":true}],"diagnostics":[]})"));
    // The parameters of an explicit instantiation need no names, and have none in most sources.
    const std::string instance = check_source(
        head +
        R"(template <typename T> kernel void add(device const T *in, device T *out, constant uint &n) { out[n] = in[n]; }
template [[host_name("add_half")]] kernel void add<half>(device const half *, device half *, constant uint &);
)");
    CHECK(says(instance, R"("name":"in","type":"device const half *",)") &&
          says(instance, R"("name":"out","type":"device half *",)"));
    CHECK(says(instance, R"("name":"n","type":"constant uint &",)"));
}

void test_members() {
    const std::string json = check_source(head + R"(constant constexpr uint first = 4;
struct Inner { float3 at; Inner device *next; };
typedef struct {
    device const half *values [[id(first + 1)]];
    array<device float *, 3> many [[id(8)]];
    uint sizes[2], count;
    Inner inner [[id(20), maybe_unused]];
    [[maybe_unused, id(int(22))]] float one, two [[maybe_unused]];
    float three [[raster_order_group(1), id((31))]];
} Arguments;
struct Methods { int x; int twice() const constant { return x * 2; } };
kernel void k(constant Arguments &arguments, constant Methods &methods) { arguments.many[0][0] = arguments.values[methods.twice()]; }
)");
    CHECK(says(json, R"("name":"arguments","type":"constant Arguments &",)"));
    CHECK(says(
        json,
        R"("members":[{"name":"values","offset":0,"index":5,"type":"pointer","size":8},{"name":"many","offset":8,"index":8,"type":"array","size":24},)"));
    CHECK(says(
        json,
        R"({"name":"sizes","offset":32,"index":11,"type":"array","size":8},{"name":"count","offset":40,"index":13,"type":"uint","size":4},)"));
    CHECK(says(json, R"({"name":"inner","offset":48,"index":20,"type":"struct","size":32},)"));
    CHECK(says(
        json,
        R"({"name":"one","offset":80,"index":22,"type":"float","size":4},{"name":"two","offset":84,"index":23,"type":"float","size":4},)"));
    CHECK(says(json, R"({"name":"three","offset":88,"index":31,"type":"float","size":4}]})"));
    // What lies in a member has indices of its own; a reference is a pointer.
    const std::string nested = check_source(head + R"(struct Pair { device int *a; device int *b [[id(2)]]; };
struct All { array<Pair, 2> pairs[2]; device Pair &one; int rows[2][3]; float last; };
kernel void k(constant All &all) { all.one.a[0] = 0; }
)");
    CHECK(says(
        nested,
        R"("members":[{"name":"pairs","offset":0,"index":0,"type":"array","size":64},{"name":"one","offset":64,"index":12,"type":"pointer","size":8},)"));
    CHECK(says(
        nested,
        R"({"name":"rows","offset":72,"index":13,"type":"array","size":24},{"name":"last","offset":96,"index":19,"type":"float","size":4}]})"));
    // A structure that has more than members is not looked into.
    CHECK(says(
        json,
        R"("name":"methods","type":"constant Methods &","kind":"buffer","access":"read","size":4,"conditional":false,"members":[]})"));
}

void test_diagnostics() {
    const std::string wrong = check_source("kernel void k(device float *a) {\n\tchar c[] = \"\xff\"; a[0] = c;\n}\n");
    CHECK(says(
        wrong,
        R"({"succeeded":false,"kernels":[],"function_constants":[],"diagnostics":[{"file":"shader.metal","line":2,)"));
    CHECK(says(wrong, R"("line":2,"column":25,"severity":"error","message":")"));
    CHECK(says(wrong, R"("source":"\u0009char c[] = \"\ufffd\"; a[0] = c;","caret":25)"));
    const std::string warning =
        check_source("kernel void k(device int *a) {\n  int x = 3;\n  x == 4;\n  a[0] = x;\n}\n");
    CHECK(says(warning, R"({"succeeded":true,)") &&
          says(warning, R"({"file":"shader.metal","line":3,"column":5,"severity":"warning",)"));
    const std::string loose = "kernel void k(device float *a) {\n  float *p = a;\n  p[0] = 1;\n}\n";
    CHECK(says(check_source(loose), R"("succeeded":true)"));
    const std::string strict = check_source(loose, true);
    CHECK(says(strict, R"({"succeeded":false,"kernels":[{"name":"k",)") && says(strict, R"("line":2,)") &&
          says(strict, "explicit address space"));
}

// One run reports all that is wrong, whichever part of the check finds it.
void test_strict() {
    const std::string source =
        "int counter;\nint fact(int n) { return n < 2 ? 1 : n * fact(n - 1); }\nstruct V { virtual int f() { return 1; } };\nkernel void k(device int *x) {\n"
        "  double d = 1;\n  int *p = x;\n  if (d > 2) throw 1;\n  x[0] = missing;\n}\n";
    const std::string all = check_source(source, true);
    CHECK(says(all, R"({"succeeded":false,)"));
    for (const char *wanted :
         {"'counter' is not a local variable and must be in the constant address space", "'fact' calls itself",
          "'virtual' is not supported", "'double' is not supported", "explicit address space",
          "'throw' is not supported", "undeclared identifier 'missing'"}) {
        const std::size_t found = all.find(wanted);
        CHECK(found != std::string::npos && all.find(wanted, found + 1) == std::string::npos);
    }
    const std::string conversion = check_source(
        head +
            "struct V { float x; operator float2() const { return float2(x, x); } operator bool() const { return bool(x); } };\n",
        true);
    CHECK(says(conversion, R"({"succeeded":true,)"));
    // Names of variables, and of templates or functions of the library beside a kernel of their name.
    for (const char *named : {"kernel void block(device int *x) { V block(1); x[0] = block.x; }",
                              "kernel void block(device int *x) { vec<int, 2> block(1, 2); x[0] = block.x; }",
                              "kernel void block(device int *x) { device int *block(x); block[0] = 1; }",
                              "kernel void block(device V *x) { if (x) { device V &block(x[0]); block.x = 1; } }",
                              "void f(device int *x) { device int *f(x); f[0] = 1; }",
                              "template <typename T> T pattern(T x) { return x; }\n"
                              "kernel void pattern(device int *x) { x[0] = pattern(x[1]); }",
                              "int larger(int a, int b) { return max(a, b); }\n"
                              "kernel void max(device int *x) { x[0] = larger(x[0], x[1]); }"})
        CHECK(says(check_source(head + "struct V { int x; V(int y) : x(y) {} };\n" + named + "\n", true),
                   R"({"succeeded":true,)"));
    for (const char *call : {"return n < 2 ? 1 : n * f(n - 1);", "do f(n - 1); while (n < 1); return n;",
                             "if (n < 2) return 1; else f(n - 1); return f(n);", "int m = f(n - 1); return m;",
                             "int m[] = {n * f(n - 1)}; return m[0];", "return max(n * f(n - 1), 0);",
                             "if (n) { f(n); } return 1;", "{ return n & f(n - 1); }"})
        CHECK(says(check_source("int f(int n) { " + std::string(call) + " }\n", true), "'f' calls itself"));
    // Clang finds errors in both of its stages.
    const std::string both = check_source(
        head +
            "float f(thread float *p) { return p[0]; }\nkernel void k(device float *x) {\n  x[0] = f(x);\n  x[1] = missing;\n}\n",
        true);
    CHECK(says(both, R"("line":5,)") && says(both, R"("line":6,)") && says(both, "undeclared identifier 'missing'"));
}

void test_odd_bytes() {
    CHECK(says(check_source(""), R"({"succeeded":true,"kernels":[],)"));
    char *text = smtl_check(nullptr, 0, nullptr, true);
    CHECK(text && std::string(text).starts_with(R"({"succeeded":true)"));
    std::free(text);
    // Whatever is quoted from a source is UTF-8 without control characters.
    std::string bytes = "kernel void k(device float *a) { a[0] = x; /*";
    for (int c = 1; c < 256; ++c) bytes += c == '\n' || c == '*' ? ' ' : char(c);
    bytes += "\xed\xa0\x80\xf4\x90\x80\x80\xc0\x80\xe2\x82\xac*/ }";
    const std::string json = check_source(bytes);
    CHECK(says(json, "'x'") && says(json, "\xe2\x82\xac") && says(json, R"(\u0001)"));
    for (const char c : json) CHECK(static_cast<unsigned char>(c) >= 0x20);
    CHECK(json.find("\xed\xa0") == std::string::npos && json.find("\xf4\x90") == std::string::npos &&
          json.find("\xc0\x80") == std::string::npos);
}

}  // namespace

int main() {
    test_kernels();
    test_members();
    test_diagnostics();
    test_strict();
    test_odd_bytes();
    return check::report("msl/check_test");
}
