// What a shader's source may not do: run code when a library or a pipeline is made, and go beyond the compiler's
// bounds.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "compiled_source.h"
#include "engine/object.h"
#include "msl/compile/process.h"
#include "msl/compile/toolchain.h"

namespace fs = std::filesystem;

namespace {

const std::string kernel = "\nkernel void k(device float *a) { a[0] = 1; }\n";

void refused(const std::string &source, const std::string &wanted) {
    const compiled library(source + kernel);
    if (!CHECK(library.library == nullptr && library.says(wanted))) std::fprintf(stderr, "of: %s\n", source.c_str());
    CHECK(library.log.find("smtl/") == std::string::npos &&
          library.log.find("global constructor") == std::string::npos);
}

float result_of(const std::string &source, const std::vector<smtl_constant_value> &values = {}) {
    const compiled library(source);
    std::vector<float> a(2, -1);
    std::string error;
    const std::string path = library.library ? library.specialize("k", values, &error) : "";
    if (!CHECK(!path.empty() && run(path, {&a}, 1).empty()))
        std::fprintf(stderr, "%s%s\n%s", library.log.c_str(), error.c_str(), source.c_str());
    return a[0];
}

void test_initialisers() {
    const std::string not_constant =
        "error: a variable outside of functions needs a constant expression as its initializer";
    refused("static int f() { volatile int i = 1; while (i) {} return 1; }\nconstant int s = f();",
            "program_source:2:14: " + not_constant);
    refused("static int f() { return *(volatile device int *)8; }\nconstant int s = f();",
            "program_source:2:14: " + not_constant);
    refused("#define M(x) constant int s = x;\nint f(int i) { volatile int j = i; return j; }\n\nM(f(2))",
            "program_source:4:1: " + not_constant);
    refused(
        "#pragma clang diagnostic ignored \"-Wglobal-constructors\"\nstatic int f() { volatile int i = 1; return i; }\nconstant int s = f();",
        "error: ");
    refused("# 1 \"system.h\" 3\nstatic int f() { volatile int i = 1; return i; }\nconstant int s = f();", "error: ");
    refused("struct S { int i; S() { volatile int j = 3; i = j; } };\nconstant S s;",
            "program_source:2:12: " + not_constant);
    refused("struct S { int i = 0; ~S() { volatile int j = 3; i = j; } };\nconstant S s;",
            "program_source:2:12: error: a variable outside of functions cannot have a type with a destructor");
    refused(
        "static int f() { volatile int i = 1; return i; }\ntemplate <typename T> struct S { static const int v; };\ntemplate <typename T> const int S<T>::v = f();\ntemplate struct S<int>;",
        "error: ");
    // Initialisers that can be computed are computed, whether or not they are constant expressions.
    CHECK(result_of("int f() { return 3; }\nconstant int s = f();\nkernel void k(device float *a) { a[0] = s; }\n") ==
          3);
    CHECK(
        result_of(
            head +
            "constant float4 v = float4(1, 2, 3, 4) * 2;\nconstant float t[2] = {v.x, 5};\nconstant half h = half(v.z) + 1.0h;\nkernel void k(device float *a) { a[0] = v.w + t[1] + h; }\n") ==
        20);
    // Clang would compute the first constant before the second one, which stands in a template.
    const std::string ordered =
        head +
        "int root(float x) { return int(sqrt(x)); }\nint steps(int n) { int k = 0; for (int i = 1; i != n; ++i) k += i; return k; }\ntemplate <int N> constant int v = root(16);\nconstant int s = steps(v<1>);\nkernel void k(device float *a) { a[0] = s; }\n";
    CHECK(result_of(ordered) == 6);
    CHECK(result_of("#pragma clang diagnostic ignored \"-Wglobal-constructors\"\n" + ordered) == 6);
    CHECK(compiled(ordered).log.empty());
    const std::string derived =
        head +
        "constant int n [[function_constant(0)]];\nconstant float4 v = float4(is_function_constant_defined(n) ? n * 2 + 1 : 4) + 0.5f;\nkernel void k(device float *a) { a[0] = v.y; }\n";
    CHECK(result_of(derived, {constant(0, type_int, 3)}) == 7.5f);
    const std::string threes =
        head +
        "constant int n [[function_constant(0)]];\nconstant float3 v = float3(n, 1, 2), w = v.zxy;\nkernel void k(device float *a) { a[0] = v.x + w.x * 10; }\n";
    CHECK(result_of(threes, {constant(0, type_int, 3)}) == 23);

    // Whether an initialiser can be computed may depend on a function constant's value.
    const compiled choice(
        "static int f() { volatile int i = 1; return i; }\nconstant bool c [[function_constant(0)]];\nconstant int s = c ? f() : 2;\nkernel void k(device float *a) { a[0] = s; }\n");
    std::string error;
    CHECK(choice.library && !choice.specialize("k", {constant(0, type_bool, 0)}).empty());
    CHECK(choice.library && choice.specialize("k", {constant(0, type_bool, 1)}, &error).empty() &&
          error.find("program_source:3:14: " + not_constant) != std::string::npos);
}

// Two lines that the preprocessor did not join must stay two: otherwise the compiler finds a word there that was never
// checked.
void test_joined_lines() {
    using namespace std::string_literals;
    const std::string says = "there must be nothing between '\\' and the end of the line";
    for (const std::string &join : {"\\\0\n"s, "\\\0 \n"s, "\\ \0\t\n"s}) {
        refused("void f() { as" + join + "m(\"nop\"); }", says);
        refused("__attri" + join + "bute__((constructor)) void f() {}", says);
    }
    refused("\n\nvoid f() { as\\\nm(\"nop\"); }", "program_source:3:12: error: 'asm' is not supported in Metal");
    CHECK(
        result_of(
            "#pragma mark a\\\nb\n#define X(a) \\\n    a\nkernel void k(device float *a) { a[0] = X(1) + \"\\\\\"[0]; }\n") ==
        1 + '\\');
}

void test_attributes() {
    for (const char *name :
         {"constructor", "destructor", "__constructor__", "constructor(101)", "section(\".init_array\")",
          "init_priority(200)", "ifunc(\"f\")", "alias(\"f\")", "weakref(\"f\")", "target_clones(\"avx2\",\"default\")",
          "naked", "cleanup(f)", "used", "retain", "visibility(\"protected\")", "weak", "mode(QI)", "target(\"avx2\")",
          "unheard_of"}) {
        const std::string plain(name, std::string(name).find('(') == std::string::npos ? std::string(name).size()
                                                                                       : std::string(name).find('('));
        const std::string says = "error: attribute '" + plain + "' is not supported in Metal";
        refused("__attribute__((" + std::string(name) + ")) void f() {}", "program_source:1:16: " + says);
        refused("[[gnu::" + std::string(name) + "]] void f() {}", "program_source:1:8: " + says);
        refused("__attribute__((unused, " + std::string(name) + ")) void f() {}", says);
        refused("#define A __attribute__\n#define B(x) ((x))\nA B(" + std::string(name) + ") void f() {}", says);
        refused("[[nodiscard, clang::" + std::string(name) + "]] int f() { return 1; }", says);
    }
    refused("[ [gnu::constructor]] void f() {}", "program_source:1:1: error: an attribute list must begin with '[['");
    refused("<:<:gnu::constructor:>:> void f() {}", "error: ");
    refused("[[using gnu: constructor]] void f() {}", "error: 'using' is not supported in attributes");
    refused("struct S { int i [[id(R\"(*/ asm(\"nop\"); /*)\")]]; };", "error: [[id]] needs an index");
    refused("__declspec(allocate(\".init_array\")) int i;", "error: '__declspec' is not supported in Metal");
    CHECK(
        result_of(
            "__attribute__((always_inline)) inline float f() { return 2; }\n[[gnu::noinline, nodiscard]] float g() { return 3; }\n"
            "struct __attribute__((packed, aligned(16))) S { float x; };\nkernel void k(device float *a) { a[0] = f() + g() + sizeof(S); }\n") ==
        21);
    // The same in headers that programs include.
    CHECK(
        result_of(
            "#pragma clang assume_nonnull begin\ntypedef enum __attribute__((enum_extensibility(open), flag_enum)) E : int { one = 1 } E;\n"
            "struct __attribute__((swift_name(\"T\"))) S { float x; };\n#pragma clang assume_nonnull end\n"
            "kernel void k(device float *a) { a[0] = one + sizeof(S); }\n") == 5);
}

void test_words() {
    for (const char *word : {"asm", "__asm", "__asm__"}) {
        const std::string says = "error: '" + std::string(word) + "' is not supported in Metal";
        refused(std::string(word) + "(\".section .init_array\");", "program_source:1:1: " + says);
        refused("void f() { " + std::string(word) + " volatile(\"nop\"); }", "program_source:1:12: " + says);
        refused("int x " + std::string(word) + "(\"_init\");", says);
        refused("#define W(a, b) a##b\nW(" + std::string(word).substr(0, 2) + ", " + std::string(word).substr(2) +
                    ")(\"nop\");",
                says);
    }
    refused("thread_local int x;", "'thread_local' is not supported");
    refused("__int_c_join(as, m)(\"nop\");", "the software Metal keeps the name '__int_c_join' for itself");
    refused("SMTL_MATRIX_NAMES(f)", "the software Metal keeps the name 'SMTL_MATRIX_NAMES' for itself");
    refused("extern \"C\" const int smtl_entry = 3;", "the software Metal keeps the name 'smtl_entry' for itself");
    refused("constant int smtl = 3;", "the software Metal keeps the name 'smtl' for itself");
    refused("namespace smtl { int blocking; }", "the software Metal keeps the name 'smtl' for itself");
    for (const char *pragma :
         {"clang section text=\".init_array\"", "init_seg(lib)", "weak f = g", "redefine_extname f _init",
          "comment(lib, \"m\")", "clang attribute push(__attribute__((constructor)), apply_to=function)",
          "clang attribute smtl.pop", "GCC visibility push(default)", "section(\".init_array\")"}) {
        refused("\n#pragma " + std::string(pragma) + "\n", "program_source:2:1: error: '#pragma ");
    }
    // Nor line markers of a macro: they can say that a header of the system follows, which is not warned of.
    for (const char *made : {"1 \"x.h\" 3", "line 1", "pragma clang diagnostic ignored \"-Wall\""})
        refused("#define H #\nH " + std::string(made) + "\n",
                "program_source:2:1: error: '#' is not allowed here: a macro cannot make a directive");
    refused("#pragma clang __debug crash\n", "error: the compiler itself failed on this source");
    refused("_Pragma(\"clang section text=\\\".init_array\\\"\")\n", "error: '#pragma clang section' is not supported");
    CHECK(
        result_of(
            "#pragma mark - x\n#pragma omp parallel\n#pragma clang diagnostic ignored \"-Wunused\"\nkernel void k(device float *a) {\n#pragma clang loop unroll(full)\nfor (int i = 0; i < 2; ++i) a[0] = i;\n}\n") ==
        1);
    // A function with a name that linkers make an initialiser is an ordinary function.
    CHECK(
        result_of(
            "extern \"C\" void _init() { *(volatile device int *)8 = 1; }\nextern \"C\" void _fini() { _init(); }\nkernel void k(device float *a) { a[0] = 5; if (a[1] > 1) _init(); }\n") ==
        5);
}

// A shared object that others could have put in place of a kernel.
void test_objects() {
    std::string folder = "/tmp/software-metal-objects-XXXXXX";
    if (!CHECK(mkdtemp(folder.data()) != nullptr)) return;
    const auto load = [&](const std::string &path) {
        char *error = nullptr;
        smtl_kernel *const loaded = smtl_kernel_load(path.c_str(), "smtl_entry", &error);
        const std::string text = error ? error : "";
        std::free(error);
        smtl_kernel_release(loaded);
        return loaded ? "loaded" : text;
    };
    const auto make = [&](const std::string &source, const std::vector<std::string> &options) {
        std::ofstream(folder + "/object.c") << source;
        std::vector<std::string> arguments = {smtl::msl::Toolchain::shared().clang,
                                              "-shared",
                                              "-fPIC",
                                              "-nostdlib",
                                              "-o",
                                              folder + "/object.so",
                                              folder + "/object.c"};
        arguments.insert(arguments.end(), options.begin(), options.end());
        const smtl::msl::ProcessResult result = smtl::msl::run_process(arguments, "", folder);
        if (!CHECK(result.succeeded)) std::fprintf(stderr, "%s\n", result.errors.c_str());
        fs::permissions(folder + "/object.so", fs::perms::owner_read | fs::perms::owner_write);
        return folder + "/object.so";
    };
    const std::string trap = "__attribute__((used)) static void trap(void) { __builtin_trap(); }\n";
    const auto refuses = [&](const std::string &path, const std::string &wanted) {
        const std::string text = load(path);
        if (!CHECK(text.find(wanted) != std::string::npos))
            std::fprintf(stderr, "'%s', not '%s'\n", text.c_str(), wanted.c_str());
    };
    refuses(make("int x;", {}), "no kernel 'smtl_entry'");
    refuses(make(trap + "__attribute__((constructor)) static void f(void) { trap(); }", {}), "it has initialisers");
    refuses(make(trap + "void _init(void) { trap(); }", {}), "it has initialisers");
    refuses(make(trap + "__attribute__((section(\".init_array\"))) void (*p)(void) = trap;", {}),
            "it has initialisers");
    refuses(make(trap + "__attribute__((destructor)) static void f(void) { trap(); }", {}), "it has finalisers");
    refuses(make(trap + "void _fini(void) { trap(); }", {}), "it has finalisers");
    refuses(
        make(
            "static void *choose(void) { __builtin_trap(); }\nvoid chosen(void) __attribute__((ifunc(\"choose\")));\nvoid (*p)(void) = chosen;",
            {}),
        "it has ifuncs, which would run");
    refuses(
        make(
            "static void *choose(void) { __builtin_trap(); }\n__attribute__((visibility(\"hidden\"))) void chosen(void) __attribute__((ifunc(\"choose\")));\nvoid f(void) { chosen(); }",
            {}),
        "it has ifuncs, which would run");
    refuses(make("int x;", {"-Wl,-rpath,/tmp"}), "it has a search path for libraries");
    refuses(make("int x;", {"-Wl,-z,execstack"}), "both writable and executable");
    refuses(
        make("int __cxa_atexit(void (*)(void *), void *, void *); int f(void) { return __cxa_atexit(0, 0, 0); }", {}),
        "objects with destructors");
    make("int other;", {"-Wl,-soname,libother.so"});
    fs::rename(folder + "/object.so", folder + "/libother.so");
    refuses(make("extern int other; int *p = &other;", {folder + "/libother.so"}), "it needs the library");
    const std::string object = make("int x;", {});
    fs::create_symlink(object, folder + "/link.so");
    refuses(folder + "/link.so", "it is a symbolic link");
    for (const fs::perms perms : {fs::perms::group_write, fs::perms::others_write}) {
        fs::permissions(object, fs::perms::owner_read | fs::perms::owner_write | perms);
        refuses(object, "others than its owner may write to it");
    }
    fs::permissions(object, fs::perms::owner_read | fs::perms::owner_write);
    if (geteuid() == 0) {
        CHECK(chown(object.c_str(), 12345, 12345) == 0);
        refuses(object, "it belongs to another user");
    }
    std::ofstream(folder + "/short.so") << "\177ELF";
    fs::permissions(folder + "/short.so", fs::perms::owner_read);
    refuses(folder + "/short.so", "it is not a shared object");
    // Numbers of descriptors come again, but the names that the loader sees do not, so that it loads each kernel.
    std::vector<float> a(1);
    for (int i = 0; i < 3; ++i) {
        const compiled next("kernel void k(device float *a) { a[0] = " + std::to_string(i) + "; }");
        CHECK(run(next.specialize("k", {}), {&a}, 1).empty() && a[0] == float(i));
    }
    // Debuggers open what the list of loaded objects names.
    const std::string path = compiled(kernel).specialize("k", {});
    std::string problem;
    void *const handle = smtl::load_object(path, problem);
    link_map *map = nullptr;
    if (CHECK(handle && dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0)) CHECK(map->l_name == path);
    if (handle) CHECK(dlclose(handle) == 0);
    fs::remove_all(folder);
}

// A compiler that goes beyond a bound ends, and the error says which bound.
void test_bounds() {
    std::string folder = "/tmp/software-metal-bounds-XXXXXX";
    if (!CHECK(mkdtemp(folder.data()) != nullptr)) return;
    smtl::msl::ProcessBounds bounds;
    bounds.processor_seconds = 1;
    smtl::msl::ProcessResult result =
        smtl::msl::run_process({"/bin/sh", "-c", "while :; do :; done"}, "", folder, bounds);
    CHECK(!result.succeeded && result.errors.find("took more than 1 second of processor time") != std::string::npos);
    fs::remove(folder + "/errors");
    result = smtl::msl::run_process({"/bin/false"}, "", folder);
    CHECK(!result.succeeded && result.errors.find("error: /bin/false failed without a message") == 0);
    fs::remove(folder + "/errors");
    bounds = {};
    bounds.seconds = 1;
    result = smtl::msl::run_process({"/bin/sleep", "1000"}, "", folder, bounds);
    CHECK(!result.succeeded && result.errors.find("took longer than 1 second") != std::string::npos);
    fs::remove(folder + "/errors");
    bounds = {};
    bounds.file_bytes = 1000;
    result = smtl::msl::run_process({"/bin/sh", "-c", "exec cat /dev/zero > " + folder + "/zeros"}, "", folder, bounds);
    CHECK(!result.succeeded && result.errors.find("wrote a file of more than 1000 bytes") != std::string::npos);
    fs::remove(folder + "/errors");
    bounds = {};
    bounds.address_space = std::uint64_t{1} << 29;
    std::ofstream(folder + "/bomb")
        << "template <class... T> struct L {}; template <int N, class... T> struct M : M<N - 1, T..., T..., int> {}; template <class... T> struct M<0, T...> { L<T...> l; };\nM<26> m;\n";
    result = smtl::msl::run_process({smtl::msl::Toolchain::shared().clang, "-fsyntax-only", "-x", "c++", "-"},
                                    folder + "/bomb", folder, bounds);
    CHECK(!result.succeeded && result.errors.find("needed more than 512 MB of memory") != std::string::npos);
    fs::remove_all(folder);
    // What is compiled has such bounds: half a gigabyte of text ends at its quarter.
    std::string doubling = "#define A0 \"" + std::string(4096, 'x') + "\"\n";
    constexpr int times = 17;
    for (int i = 0; i < times; ++i) {
        const std::string one = " A" + std::to_string(i);
        doubling += "#define A" + std::to_string(i + 1) + one + one + "\n";
    }
    refused(doubling + "constant char text[] = A" + std::to_string(times) + ";\n",
            "wrote a file of more than 268435456 bytes");
}

}  // namespace

int main() {
    test_initialisers();
    test_joined_lines();
    test_attributes();
    test_words();
    test_objects();
    test_bounds();
    return check::report("msl/untrusted_test");
}
