// Errors with their lines, and sources that are not Metal.
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "compiled_source.h"

namespace {

void test_errors() {
    const compiled syntax(
        head +
        "\n\nkernel void k(device float *a [[buffer(0)]]) {\n    a[0]   =  undefined_name;\n    float4 v = int4(1);\n}\n");
    CHECK(syntax.library == nullptr &&
          syntax.says("program_source:6:15: error: use of undeclared identifier 'undefined_name'"));
    CHECK(syntax.says("    a[0]   =  undefined_name;\n              ^\n") &&
          syntax.says("program_source:7:12: error:"));
    const compiled lines_of_windows("kernel void a() {}\r\nkernel void b() { int x = y; }\r\n");
    CHECK(lines_of_windows.says("program_source:2:27: error: use of undeclared identifier 'y'\n"
                                "kernel void b() { int x = y; }\n                          ^\n"));
    const compiled instantiation(
        head +
        "template <typename T> kernel void k(device T *a) {\n  a->missing = 1;\n}\ntemplate [[host_name(\"k\")]] kernel void k<float>(device float *);\n");
    CHECK(instantiation.library == nullptr && instantiation.says("program_source:4:4: error:"));
    const compiled moved("#line 100 \"shader.metal\"\nint f() { return x; }\n#line 7\nint g() { return y; }\n");
    CHECK(moved.library == nullptr && moved.says("shader.metal:100:18: error") &&
          moved.says("shader.metal:7:18: error"));
    const compiled macro("#define BAD(x) x.nothing\nkernel void k(device float *a) {\n a[0] = BAD(a);\n}\n");
    CHECK(macro.library == nullptr && macro.says("program_source:3:"));
    const compiled directive("\n#error stop here\n");
    CHECK(directive.library == nullptr && directive.says("program_source:2:2: error: stop here"));
    const compiled include("#include \"nowhere.h\"\n");
    CHECK(include.library == nullptr && include.says("program_source:1:10: ") && include.says("nowhere.h"));
    const compiled parameter("\nkernel void k(device float *a, uint i) { a[i] = 1; }\n");
    CHECK(parameter.library == nullptr && parameter.says("program_source:2:32: error: kernel parameter 'i'"));
    const compiled mismatch(
        head +
        "template <typename T> kernel void k(device T *a) { a[0] = 1; }\ntemplate [[host_name(\"k\")]] kernel void k<float>(device int *);\n");
    CHECK(mismatch.library == nullptr && mismatch.says("program_source:4:"));
    const compiled unknown(head + "template [[host_name(\"k\")]] kernel void nowhere<float>(device int *);\n");
    CHECK(unknown.library == nullptr && unknown.says("program_source:3:41: error:"));
    const compiled same_name(
        head +
        "[[host_name(\"k\")]] kernel void a(device float *x) { x[0] = 1; }\n[[host_name(\"k\")]] kernel void b(device float *x) { x[0] = 2; }\n");
    CHECK(same_name.library == nullptr &&
          same_name.says("program_source:4:32: error: a kernel named 'k' is already defined"));
    const compiled twice("double f() { return 1; }\n");
    CHECK(twice.library == nullptr && twice.says("program_source:1:1: error: 'double'"));
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
    // Nested, repeated and self-referring constructs neither overflow the stack nor take endless time.
    std::string nested, angles, doubling = "constant int c0 = 1;\n";
    for (int i = 0; i < 20000; ++i) nested += "namespace a { ";
    for (int i = 0; i < 50000; ++i) angles += "a<";
    for (int i = 1; i < 60; ++i) {
        const std::string before = "c" + std::to_string(i - 1);
        doubling += "constant int c" + std::to_string(i) + " = (" + before + " + " + before + ") % 1000;\n";
    }
    const compiled doubled(doubling);
    CHECK(doubled.library != nullptr);
    for (const std::string &source : {nested,
                                      angles,
                                      every_byte,
                                      std::string("\"unclosed\nkernel"),
                                      std::string("/* unclosed"),
                                      std::string("kernel void k("),
                                      std::string("template <typename T kernel void f<"),
                                      std::string("R\"x(never closed"),
                                      std::string(100, '('),
                                      std::string(1000, '{'),
                                      std::string("[[["),
                                      std::string("kernel"),
                                      std::string("constant"),
                                      std::string("namespace"),
                                      std::string("operator"),
                                      std::string("template"),
                                      std::string("struct {"),
                                      std::string("enum :"),
                                      std::string("\xef\xbb\xbf garbage \xff\xfe"),
                                      std::string("threadgroup"),
                                      std::string("#pragma METAL"),
                                      std::string("static_cast<"),
                                      std::string("[[kernel]]"),
                                      std::string("kernel void k([[buffer(]]) {}"),
                                      std::string("is_function_constant_defined("),
                                      std::string("extern \"C\" {")}) {
        const compiled odd(source);
        CHECK(odd.library != nullptr || !odd.log.empty());
    }
    // Names that a source chooses do not become names of symbols or files.
    const compiled hostile(head +
                           "[[host_name(\"../\\\"; $(x) `y`\")]] kernel void k(device float *a) { a[0] = 6; }\n");
    if (CHECK(hostile.library != nullptr && hostile.names().size() == 1)) {
        std::vector<float> a(1);
        CHECK(run(hostile.specialize(hostile.names()[0].c_str(), {}), {&a}, 1).empty() && a[0] == 6);
    }
    const std::string nul = head + std::string("kernel void k(device float *a) { a[0] = 7;\0 }\n", 46);
    const compiled with_nul(nul);
    CHECK(with_nul.library != nullptr);
}

// Each is an error of the user's own, said in the user's terms.
void test_broken_sources() {
    const auto wrong = [](const std::string &source, const std::string &wanted) {
        const compiled broken(source);
        CHECK(broken.library == nullptr && broken.says(wanted));
        CHECK(broken.log.find("attribute push") == std::string::npos && broken.log.find("smtl") == std::string::npos &&
              broken.log.find("<stdin>") == std::string::npos);
    };
    wrong("kernel", "program_source:1:1: error: 'kernel' must stand before a function");
    wrong("int x;\nkernel int y;", "program_source:2:1: error: 'kernel' must stand before a function");
    wrong("[[kernel]]", "error: 'kernel' must stand before a function");
    wrong("void f() { kernel int y; }", "program_source:1:12: error: 'kernel' must stand before a function");
    wrong("[[", "program_source:1:2: error: '[' is never closed");
    wrong("kernel void k(device float *x) {\n  x[0] = 1;\n", "program_source:1:32: error: '{' is never closed");
    wrong("kernel void k(device float *x [[buffer(0)]) { x[0] = 1; }\n",
          "program_source:1:31: error: '[' is not closed before ')'");
    wrong("}\n", "program_source:1:1: error: '}' has no opening bracket");
    for (const std::string next : {"kernel void k() {}", "[[kernel]] void k() {}", "static int f() {}"})
        wrong("struct alignas(16) S { int a; }\n" + next, "program_source:1:31: error: expected ';' after struct");
    wrong("enum class E : uint { A }\ndevice E *f() {}", "program_source:1:25: error: expected ';' after enum");
    wrong("kernel void k(device float *x) { x[0] = 1; }\nint y", "program_source:2:6: error: expected ';'");
    wrong("\n#pragma METAL fp math_mode(\n", "program_source:2:1: error: expected 'math_mode(safe)'");
    wrong("#pragma METAL fp contract(maybe)\n", "program_source:1:1: error: expected 'contract(off)'");
    wrong("vertex float4 v() { return float4(0); }\n",
          "program_source:1:1: error: 'vertex' functions are not supported");
    wrong("kernel int k(device int *x) { return x[0]; }\n", "program_source:1:12: error: a kernel must return 'void'");
    for (const char *const type : {"float ", "unsigned ", "signed ", "void *", "device float &", "device void *"}) {
        wrong("template <typename T> kernel " + std::string(type) + "k(device T *x) { return {}; }\n",
              "error: a kernel must return 'void'");
    }
    wrong("using number = int;\nkernel number k(device int *x) { return x[0]; }\n",
          "program_source:2: error: a kernel must return 'void'");
    wrong("kernel void k(device int *x) { x[0] = 1; }\nkernel void k(device int *x, device int *y) { y[0] = x[0]; }\n",
          "program_source:2:13: error: a kernel named 'k' is already defined");
    wrong("kernel const void k(device int *x) { x[0] = 1; }\n", "program_source:1: error: a kernel must return 'void'");
    wrong("kernel void k(device int *x) {\n  x<:0:> = 1;\n}\n",
          "program_source:2:4: error: '<:' is not supported: write '['");
    wrong("%:define X 1\n", "program_source:1:1: error: '%:' is not supported: write '#'");
    wrong("kernel void k(device int *x, int c [[user(name)]]) { x[0] = c; }\n",
          "program_source:1:38: error: kernel parameters with [[user]] are not supported");
    wrong("kernel void k(device int *x [[bufer(1)]]) { x[0] = 1; }\n",
          "program_source:1:31: error: kernel parameters with [[bufer]] are not supported");
    wrong("struct S { int i; };\nkernel void k(device int *x, S s [[stage_in]]) { x[0] = s.i; }\n",
          "program_source:2:36: error: kernel parameters with [[stage_in]] are not supported");
    wrong(
        "constant bool f [[function_constant(0)]];\nkernel void k(device int *x, uint i [[thread_position_in_grid, function_constant(f)]]) { x[i] = 1; }\n",
        "program_source:2:30: error: [[function_constant]] applies to buffers and threadgroup memory only");
    // Whatever the user calls it.
    smtl_compile_options named{};
    named.name = "<stdin>";
    const compiled input("int f() { return x; }\nint y", &named);
    CHECK(input.library == nullptr && input.says("<stdin>:1:18: error") && input.says("<stdin>:2:6: error") &&
          input.log.find("pragma") == std::string::npos);
    const compiled unknown_pragma("#pragma METAL internals : enable\n#pragma METAL fp future(mode)\n");
    CHECK(unknown_pragma.library != nullptr);
}

// Errors in what the translation or a macro has put on a line stand at what the user wrote there.
void test_columns_of_edited_lines() {
    const compiled input("kernel void k(device int *o [[buffer(0)]]) { o[0]=1 }\n"
                         "#define ADD(x) ((x) + none)\n"
                         "kernel void l(device int *o [[buffer(0)]]) {\n"
                         "  o[1] = o[0]; o[0] = \"ab\";\n"
                         "  o[1] = 2 + ADD(2) * 3;\n"
                         "  o[1] += o[0] << missing;\n"
                         "  o[2] = ADD(1 +\n"
                         "             away) + 2; }\n");
    CHECK(input.library == nullptr && input.says(":1:52: error: expected ';'") &&
          input.says(":4:23: error: incompatible pointer") &&
          input.says(":5:14: error: use of undeclared identifier 'none'") &&
          input.says(":6:19: error: use of undeclared identifier 'missing'"));
    // Of a call of a macro that goes on, one line has all of it.
    CHECK(input.says(":7:10: error: use of undeclared identifier 'away'"));
    const compiled repeated("kernel void k(device int *o) { o[1] += 2; o[0] = o[1] ? none : o[2]; }");
    CHECK(repeated.says(":1:57: error: use of undeclared identifier 'none'") &&
          repeated.log.find("'none'") == repeated.log.rfind("'none'"));
}

// If something is missing at the end of a source, the error is behind its last token, whatever follows that token.
void test_end_of_source() {
    const auto missed = [](const std::string &source, const std::string &wanted) {
        smtl_compile_options options{};
        options.name = "own.metal";
        for (const bool strict : {false, true}) {
            char *log = nullptr;
            if (strict)
                CHECK(!smtl_lint(source.data(), source.size(), &options, &log));
            else
                CHECK(smtl_library_compile(source.data(), source.size(), &options, &log) == nullptr);
            const std::string said = log ? log : "";
            std::free(log);
            if (!CHECK(said.find(wanted) != std::string::npos)) std::fprintf(stderr, "%s\n", said.c_str());
            CHECK(said.find("end of source") == std::string::npos && said.find("pragma") == std::string::npos);
        }
    };
    missed("constant int x =", "own.metal:1:17: error: expected expression\nconstant int x =\n                ^\n");
    missed("int f();\ntemplate <class T>\n\n\n// nothing\n", "own.metal:2:19: error: ");
    missed("constant int x = \\\n  2 + \\\n", "own.metal:1: error: expected expression");
    missed("constant int x =\n#if 0\n1\n#endif", "own.metal:1:17: error: expected expression");
    missed("#line 7 \"other.metal\"\nconstant int x =\n\n", "other.metal:7:17: error: expected expression");
    // A brace that clang passes over as it recovers from an error.
    missed("int f(int a) {\n  switch (short([a & 3])) {\n  case 0: {\n    a = 1;\n  }\n  }\n  return a;\n}\n\n",
           "own.metal:8:2: error: expected '}'");
    const std::string folder = "/tmp/msl_errors_test." + std::to_string(getpid());
    CHECK(mkdir(folder.c_str(), 0700) == 0);
    std::ofstream(folder + "/part.h") << "\nconstant int y = 1 +\n\n\n";
    const char *const folders[] = {folder.c_str()};
    smtl_compile_options options{};
    options.include_paths = folders;
    options.include_path_count = 1;
    const compiled included("\n#include \"part.h\"\n", &options);
    CHECK(included.library == nullptr && included.says(folder + "/part.h:2:21: error: expected expression"));
    CHECK(std::remove((folder + "/part.h").c_str()) == 0 && rmdir(folder.c_str()) == 0);
}

void test_includes() {
    const compiled device("#include <metal_stdlib>\n#include \"/dev/zero\"\n");
    CHECK(device.library == nullptr && device.says("program_source:2:10: error: '/dev/zero' file not found"));
    const compiled folder("#include \"/tmp\"\n");
    CHECK(folder.library == nullptr && folder.says("program_source:1:"));
    // Every header of Metal's exists. The contents of the graphics headers do not.
    std::string headers;
    for (const char *name : {"array",
                             "atomic",
                             "command_buffer",
                             "common",
                             "compute",
                             "config",
                             "curves",
                             "extended_vector",
                             "geometric",
                             "graphics",
                             "imageblocks",
                             "initializer_list",
                             "integer",
                             "interpolate",
                             "limits",
                             "logging",
                             "math",
                             "matrix",
                             "mesh",
                             "numeric",
                             "pack",
                             "packed_vector",
                             "quadgroup",
                             "raytracing",
                             "relational",
                             "simdgroup",
                             "simdgroup_matrix",
                             "stdlib",
                             "tensor",
                             "tessellation",
                             "texture",
                             "type_traits",
                             "types",
                             "uniform",
                             "utility",
                             "visible_function_table"}) {
        headers += std::string("#include <metal_") + name + ">\n";
    }
    const compiled all(headers + "kernel void k(device float *x) { x[0] = 1; }\n");
    CHECK(all.library != nullptr && all.names().size() == 1);
}

// An error names what is not supported, and no further errors follow from it.
void test_unsupported() {
    const auto unsupported = [](const std::string &source, std::initializer_list<const char *> wanted) {
        const compiled broken(head + source);
        CHECK(broken.library == nullptr);
        std::size_t errors = 0;
        for (std::size_t at = broken.log.find("error: "); at != std::string::npos;
             at = broken.log.find("error: ", at + 1))
            ++errors;
        if (!CHECK(errors == wanted.size())) std::fprintf(stderr, "in: %s%s", source.c_str(), broken.log.c_str());
        for (const char *text : wanted) CHECK(broken.says(text));
    };
    unsupported("float f(texture2d<float, access::read> t, sampler s) { return t.read(uint2(0)).x; }\n",
                {"program_source:3:26: error: 'access': textures are not supported",
                 "program_source:3:43: error: 'sampler': samplers are not supported"});
    unsupported("float f(metal::texture2d<float, metal::access::write> t) { return 0; }\n",
                {"3:16: error: 'texture2d': textures are not supported", "'access': textures"});
    unsupported("using namespace metal::raytracing;\n",
                {"program_source:3:24: error: 'raytracing': ray tracing is not supported"});
    unsupported("metal::raytracing::ray r(float3 a);\n", {"'raytracing': ray tracing is not supported"});
    unsupported("constexpr sampler s(coord::normalized, filter::linear);\n",
                {"'sampler': samplers are", "'coord': samplers are", "'filter': samplers are"});
    unsupported("intersector<triangle_data> i();\n", {"'triangle_data': ray tracing is"});
    unsupported("metal::mesh<float, void, 3, 1, topology::triangle> m();\n",
                {"'mesh': mesh shading is", "'topology': mesh shading is"});
    unsupported("void f(tensor<device half, dextents<int, 2>> t);\n", {"'dextents': tensors are not supported"});
    unsupported("using namespace mpp;\n", {"'mpp': tensors are not supported"});
    unsupported("#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>\n", {"tensors are not supported"});
    unsupported("kernel void k(device float *x) {\n  x[0] = dfdx(x[1]);\n  x[1] = missing;\n}\n",
                {"'dfdx': fragment functions are not supported", "undeclared identifier 'missing'"});
    unsupported("kernel void k(device float *x, imageblock<float4> b) {}\n",
                {"program_source:3:32: error: kernel parameter 'b': imageblocks are not supported"});
    unsupported("kernel void k(device float *x, render_pipeline_state c) {}\n",
                {"kernel parameter 'c': commands for rendering are not supported"});
    unsupported("void f(command_buffer c) { render_command r(c, 0); }\n",
                {"'render_command': commands for rendering are not supported"});
    // These are ordinary names if the user uses them so.
    unsupported("kernel void k(device float *x) { x[0] = access; x[1] = ray; }\n",
                {"use of undeclared identifier 'access'", "use of undeclared identifier 'ray'"});
    const compiled own(
        head +
        "enum access { read }; namespace filter { constant int coord = 1; } struct ray { float mesh; };\nkernel void k(device float *x) { ray tensor{2}; x[0] = access::read + filter::coord + tensor.mesh; }\n");
    CHECK(own.library != nullptr && own.log.empty());
}

// Each of Metal's atomic functions has its types, and one order.
void test_atomics() {
    const compiled wrong(
        head +
        R"(template <class T> void f(device atomic<T> *x) { atomic_fetch_or_explicit(x, T(1), memory_order_relaxed); }
kernel void k(device atomic_float *r, device atomic_ulong *l, device atomic_bool *b, device atomic_int *i, threadgroup atomic_uint *u) {
  atomic_fetch_min_explicit(r, 1.0f, memory_order_relaxed);
  atomic_fetch_xor_explicit(r, 1.0f, memory_order_relaxed);
  atomic_fetch_add_explicit(l, 1ul, memory_order_relaxed);
  atomic_load_explicit(l, memory_order_relaxed);
  atomic_fetch_sub_explicit(b, true, memory_order_relaxed);
  atomic_max_explicit(i, 1, memory_order_relaxed);
  atomic_store_explicit(u, 1, memory_order_seq_cst);
  f(i);
  f(r);
}
)");
    CHECK(wrong.library == nullptr);
    for (const char *text :
         {"5:3: error: 'atomic_fetch_min_explicit' takes pointers to atomic_int and atomic_uint",
          "6:3: error: 'atomic_fetch_xor_explicit' takes pointers to atomic_int and atomic_uint",
          "7:3: error: 'atomic_fetch_add_explicit' takes pointers to atomic_int, atomic_uint and atomic_float",
          "8:3: error: 'atomic_load_explicit' takes", "9:3: error: 'atomic_fetch_sub_explicit' takes",
          "10:3: error: 'atomic_max_explicit' takes pointers to atomic_ulong",
          "error: atomic functions other than atomic_thread_fence take memory_order_relaxed alone",
          "3:50: error: 'atomic_fetch_or_explicit' takes pointers",
          "13:3: note: in instantiation of function template specialization 'f<float>'"}) {
        CHECK(wrong.says(text));
    }
    CHECK(wrong.log.find(":12:") == std::string::npos);
}

// Clang accepts operations on a half and a bfloat, computes nonsense, and crashes in its code generator.
void test_mixed_halves() {
    const compiled mixed(
        head +
        "kernel void k(device half *h, device bfloat *b, device float *o) {\n  o[0] = h[0] + b[0];\n  h[0] *= b[0];\n  o[1] = h[0] + 1.0f;\n}\n"
        "template <class T, class U> bool less(T a, U b) {\n  return a < b;\n}\nkernel void l(device half *h, device bfloat *b) { h[0] = less(h[0], b[0]); }\n");
    CHECK(mixed.library == nullptr);
    for (const char *location : {":4:", ":5:", ":9:"}) CHECK(mixed.says("program_source" + std::string(location)));
    CHECK(mixed.says("half and bfloat cannot be combined in arithmetic") &&
          mixed.log.find("program_source:6:") == std::string::npos);
    const compiled apart(
        head +
        "kernel void k(device half *h, device bfloat *b, device float *o) { o[0] = float(h[0]) + float(b[0]); h[0] = half(b[0]) + h[0]; o[1] = h[0] + 1.0f; }\n");
    CHECK(apart.library != nullptr && apart.log.empty());
    std::vector<float> h = {1}, b = {2}, o(2);
    CHECK(run(apart.specialize("k", {}), {&h, &b, &o}, 1).empty());
}

// The next base would lie in it, where Metal has it behind it.
void test_padding_between_bases() {
    const std::string bases =
        head + "struct padded { float3 p; float r; };\nstruct full { float4 p; };\nstruct plain { float x; };\n";
    const std::string kernel = "kernel void k(device both *x) { x->x = 1; }\n";
    const compiled between(bases + "struct both : padded, plain {};\n" + kernel);
    CHECK(between.library == nullptr && between.says("program_source:6:") &&
          between.says("only the last may end in padding"));
    const compiled behind(bases + "struct both : plain, padded {};\nstruct all : full, both { float y; };\n" + kernel);
    CHECK(behind.library != nullptr && behind.log.empty());
}

}  // namespace

int main() {
    test_errors();
    test_odd_sources();
    test_broken_sources();
    test_columns_of_edited_lines();
    test_end_of_source();
    test_includes();
    test_unsupported();
    test_atomics();
    test_mixed_halves();
    test_padding_between_bases();
    return check::report("msl/errors_test");
}
