// Arguments of kernels: their indices, by buffer, by structure and as arrays.
#include <string>

#include "check.h"
#include "compiled_source.h"
#include "msl/reflection/reflection.h"
#include "msl/reflection/told.h"

namespace {

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
        if (!CHECK(std::string(arguments[i].name) == wanted[i].name && arguments[i].kind == wanted[i].kind))
            std::fprintf(stderr, "%s\n", arguments[i].name);
        CHECK(arguments[i].access == wanted[i].access && arguments[i].index == wanted[i].index &&
              arguments[i].type_size == wanted[i].size);
        CHECK(!arguments[i].conditional);
    }
    CHECK(smtl_library_arguments(library.library, "nothing", &arguments) == SIZE_MAX);
}

// Structures and arrays of pointers in constant memory: the pointers are addresses, as a buffer's gpuAddress gives
// them.
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
    CHECK(drawing.library == nullptr &&
          drawing.says("program_source:12:44: error: kernel parameters with [[texture]] are not supported"));
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
    CHECK(launch(kernel).constant(0, bindings).constant(1, list).run({4, 1, 1}, {4, 1, 1}).empty());
    CHECK(out == std::vector<float>{11.5f, 22.5f, 33.5f, 0});
    smtl_kernel_release(kernel);
}

// An array of buffers takes as many indices as it has elements.
void test_arrays_of_buffers() {
    const compiled library(head + R"(
constant bool with_more [[function_constant(0)]];
kernel void pointers(device float *p[3] [[buffer(1)]], device float *o [[buffer(0)]], uint i [[thread_position_in_grid]]) { o[i] = p[i][0]; p[i][1] = i; }
kernel void values(const array<device const float *, 3> p [[buffer(1)]], device float *o [[buffer(0)]], uint i [[thread_position_in_grid]]) { o[i] = 2 * p[i][0]; }
template <typename T, int N> kernel void pattern(constant T *p[N] [[buffer(1)]], device T *o [[buffer(0)]], uint i [[thread_position_in_grid]]) { o[i] = 3 * p[i][0]; }
template [[host_name("written")]] kernel void pattern<float, 3>(constant float *p[3], device float *, uint);
template [[host_name("deduced")]] kernel decltype(pattern<float, 3>) pattern<float, 3>;
kernel void sometimes(array<device float *, 3> p [[buffer(1), function_constant(with_more)]], device float *o [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    o[i] = with_more ? p[i][0] : -1;
}
)");
    if (!CHECK(library.library != nullptr)) std::fprintf(stderr, "%s\n", library.log.c_str());
    for (const auto &[name, factor] :
         {std::pair("pointers", 1.f), std::pair("values", 2.f), std::pair("written", 3.f), std::pair("deduced", 3.f)}) {
        std::vector<float> o(3), a = {1, 0}, b = {2, 0}, c = {3, 0};
        const std::string error = run(library.specialize(name, {}), {&o, &a, &b, &c}, 3);
        if (!CHECK(error.empty() && o == std::vector<float>{factor, 2 * factor, 3 * factor}))
            std::fprintf(stderr, "%s: %s\n", name, error.c_str());
        CHECK(c[1] == (std::string(name) == "pointers" ? 2 : 0));
        std::vector<float> *two = nullptr;
        const std::string missing = run(library.specialize(name, {}), {&o, &a, two, &c}, 3);
        CHECK(!missing.empty());
    }
    std::vector<float> o(3), a = {1}, b = {2}, c = {3};
    CHECK(run(library.specialize("sometimes", {constant(0, type_bool, 1)}), {&o, &a, &b, &c}, 3).empty() && o[2] == 3);
    CHECK(run(library.specialize("sometimes", {constant(0, type_bool, 0)}), {&o}, 3).empty() && o[2] == -1);
    const smtl_argument *arguments = nullptr;
    CHECK(smtl_library_arguments(library.library, "values", &arguments) == 2);
    CHECK(arguments[0].index == 1 && arguments[0].array_length == 3 && arguments[0].access == SMTL_ACCESS_READ_ONLY &&
          arguments[0].type_size == 4);
    CHECK(arguments[1].index == 0 && arguments[1].array_length == 1);
    CHECK(smtl_library_arguments(library.library, "pointers", &arguments) == 2 && arguments[0].array_length == 3 &&
          arguments[0].access == SMTL_ACCESS_READ_WRITE);
}

// Behind an argument in constant memory lie the other elements of its buffer.
void test_addresses_of_constants() {
    const std::string helpers =
        "struct S { uint n; uint at(uint i) constant { return (&n)[i]; } };\n"
        "static uint element(constant uint &first, uint i) { return (&first)[i]; }\n"
        "template <typename T> static uint member(constant T &first, uint i) { return (&first)[i].n; }\n"
        "static uint through(constant uint &number, uint i) { return element(number, i); }\n";
    for (const auto &[type, code] : std::vector<std::pair<std::string, std::string>>{
             {"uint", "(&a)[i]"},
             {"uint", "*(&(a) + i)"},
             {"uint", "(i + &a)[0]"},
             {"uint", "element(a, i)"},
             {"uint", "element((a), i)"},
             {"uint", "through(a, i)"},
             {"S", "(&a)[i].n"},
             {"S", "(&a.n)[i]"},
             {"S", "member(a, i)"},
             {"S", "a.at(i)"},
         }) {
        const std::string call = code.find("element") != code.npos || code.find("through") != code.npos ||
                                         code.find("member") != code.npos || code.find("at(") != code.npos
                                     ? helpers
                                     : "struct S { uint n; };\n";
        const compiled library(head + call + "kernel void k(constant " + type +
                               " &a [[buffer(0)]], device uint *out [[buffer(1)]], uint i [[thread_position_in_grid]]) "
                               "{ out[i] = " +
                               code + "; }\n");
        if (!CHECK(library.library != nullptr)) std::fprintf(stderr, "%s: %s\n", code.c_str(), library.log.c_str());
        if (library.library == nullptr) continue;
        std::vector<float> numbers(512), out(512);
        for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = float(i) + 0.5f;
        const std::string error = run(library.specialize("k", {}), {&numbers, &out}, numbers.size());
        if (!CHECK(error.empty() && out == numbers)) std::fprintf(stderr, "%s: %s\n", code.c_str(), error.c_str());
    }
}

void test_indices() {
    const auto wrong = [](const std::string &source, const std::vector<const char *> &wanted) {
        const compiled broken(head + source);
        CHECK(broken.library == nullptr);
        for (const char *text : wanted) CHECK(broken.says(text));
    };
    wrong(
        "kernel void k(device float *x [[buffer(99)]], device float *y [[buffer(0)]],\n  device float *z [[buffer(0)]]) {}\n",
        {"program_source:3:29: error: [[buffer(99)]] of 'x' is out of bounds: the last index is 30",
         "program_source:4:17: error: [[buffer(0)]] of 'z' is already taken by 'y'"});
    wrong(
        "kernel void k(threadgroup float *x [[threadgroup(31)]],\n threadgroup float *y [[threadgroup(2)]],\n threadgroup float *z [[threadgroup(1 + 1)]]) {}\n",
        {"program_source:3:34: error: [[threadgroup(31)]] of 'x' is out of bounds",
         "program_source:5:21: error: [[threadgroup(2)]] of 'z' is already taken by 'y'"});
    wrong("kernel void k(device float *x [[buffer(-1)]]) {}\n", {"program_source:3:29: error: [[buffer(-1)]] of 'x'"});
    wrong("kernel void k(device float *x [[buffer(1.5f)]]) {}\n",
          {"program_source:3:29: error: [[buffer(1.5f)]] of 'x' needs an integer from 0 to 30"});
    wrong("kernel void k(threadgroup float *x [[threadgroup(1ul << 32)]]) {}\n",
          {"program_source:3:34: error: [[threadgroup(1ul << 32)]] of 'x' needs an integer from 0 to 30"});
    const std::string constant_index = "constant int n [[function_constant(0)]];\n";
    wrong(constant_index + "kernel void k(device float *x [[buffer(n)]]) {}\n",
          {"program_source:4:33: error: the index of an argument needs a constant expression"});
    wrong(constant_index + "[[max_total_threads_per_threadgroup(n)]] kernel void k(device float *x) {}\n",
          {"program_source:4: error: [[max_total_threads_per_threadgroup]] needs a constant expression"});
    const std::string limited = "]] kernel void k(device float *x) {}\n";
    wrong(
        "[[max_total_threads_per_threadgroup(0)" + limited,
        {"program_source:3:1: error: [[max_total_threads_per_threadgroup]] of 'k' needs an integer from 1 to 1024, not 0"});
    wrong(
        "constant int most = 1025;\n[[max_total_threads_per_threadgroup(most)" + limited,
        {"program_source:4:1: error: [[max_total_threads_per_threadgroup]] of 'k' needs an integer from 1 to 1024, not 1025"});
    for (const char *const number : {"-1", "64.0f", "1ul << 32", "\"64\""})
        wrong(
            "[[max_total_threads_per_threadgroup(" + std::string(number) + ")" + limited,
            {"program_source:3:1: error: [[max_total_threads_per_threadgroup]] of 'k' needs an integer from 1 to 1024\n"});
    wrong(
        "template <int N> [[max_total_threads_per_threadgroup(N * 512)]] kernel void k(device float *x) {}\n"
        "template [[host_name(\"two\")]] kernel void k<2>(device float *);\n"
        "template [[host_name(\"three\")]] kernel void k<3>(device float *);\n",
        {"program_source:3:18: error: [[max_total_threads_per_threadgroup]] of 'three' needs an integer from 1 to 1024, not 1536"});
    wrong("kernel void k(device float *x [[buffer()]]) {}\n",
          {"program_source:3:33: error: [[buffer]] needs an index, as in '[[buffer(0)]]'"});
    wrong("kernel void k(device float *x [[buffer(\"x\")]]) {}\n",
          {"error: [[buffer(\"x\")]] of 'x' needs an integer from 0 to 30"});
    wrong("struct S {\n  device float *x [[id()]];\n};\n",
          {"program_source:4:21: error: [[id]] needs an index, as in '[[id(0)]]'"});
    for (const char *index : {"nosuch", "-1", "1.5", "1ul << 32", "n"})
        wrong(constant_index + "struct S {\n  device float *x [[id(" + index +
                  ")]];\n};\nkernel void k(constant S &s) {}\n",
              {"program_source:5", "error", index});
    wrong("struct S {\n  device float *x, *y [[id(-1)]];\n};\n",
          {"program_source:4:23: error: [[id(-1)]] needs an integer that is not negative"});
    wrong("kernel void k(device float *x[4] [[buffer(28)]]) {}\n", {"[[buffer(31)]] of 'x' is out of bounds"});
    wrong("kernel void k(device float *x[4] [[buffer(0)]],\n device float *y [[buffer(3)]]) {}\n",
          {"program_source:4:16: error: [[buffer(3)]] of 'y' is already taken by 'x'"});
    wrong(
        "struct S { int x, y; };\nconstant S s [[function_constant(0)]];\nkernel void k(device int *x) { x[0] = s.y; }\n",
        {"program_source:4:10: error: [[function_constant]] needs a scalar or a vector, and 's' is of type 'S'"});
    wrong("kernel void k(float x [[buffer(0)]]) {}\n",
          {"program_source:3:21: error: [[buffer(0)]] needs a pointer or reference, and 'x' is of type 'float'"});
    wrong(
        "kernel void k(device float *x, float i [[thread_position_in_grid]]) { x[0] = i; }\n",
        {"program_source:3:38: error: [[thread_position_in_grid]] needs an integer or a vector of integers, and 'i' is of type 'float'"});
    wrong(
        "template <typename T> kernel void k(device T *x [[buffer(31)]]) {}\ntemplate [[host_name(\"a\")]] kernel void k<float>(device float *);\n"
        "template [[host_name(\"b\")]] kernel void k<int>(device int *);\n",
        {"program_source:3:47: error: [[buffer(31)]] of 'x'"});
    // Function constants choose between arguments of one index. Only one of the arguments may remain.
    const compiled choice(head + R"(
constant bool first [[function_constant(0)]];
constant bool second [[function_constant(1)]];
kernel void k(device float *x [[buffer(0), function_constant(first)]], device int *y [[buffer(0), function_constant(second)]], device float *z [[buffer(30)]]) {
    if (first) x[0] = 1;
    if (second) y[0] = 0x40000000;
}
)");
    if (!CHECK(choice.library != nullptr)) std::fprintf(stderr, "%s\n", choice.log.c_str());
    std::vector<float> a(1);
    CHECK(run(choice.specialize("k", {constant(0, type_bool, 0), constant(1, type_bool, 1)}), {&a}, 1).empty() &&
          a[0] == 2);
    CHECK(run(choice.specialize("k", {constant(0, type_bool, 1), constant(1, type_bool, 0)}), {&a}, 1).empty() &&
          a[0] == 1);
    std::string error;
    CHECK(choice.specialize("k", {constant(0, type_bool, 1), constant(1, type_bool, 1)}, &error).empty());
    CHECK(error == "arguments 'x' and 'y' have the same index\n");
}

// The compiler says one thing of an index that is wrong, and not what it follows of the facts.
void test_errors_of_indices() {
    const std::string line = "kernel void k(device float *a [[buffer(none)]], constant int &b) {}\n",
                      missing = "3:40: error: use of undeclared identifier 'none'\n";
    const compiled library(head + line);
    CHECK(library.library == nullptr && library.says(missing + line));
    CHECK(library.log.find("error: ") == library.log.rfind("error: ") &&
          library.log.find("note: ") == std::string::npos);
    CHECK(library.log.find("In file included") == std::string::npos);
}

// The compiler tells the facts in warnings: what a source says of its own warnings makes no difference.
void test_facts_despite_pragmas() {
    for (const char *const pragma :
         {"error \"-Wdeprecated-declarations\"", "ignored \"-Weverything\"\n# 1 \"system.h\" 3"}) {
        const compiled library(head + R"(
struct Args { int n; float4 scale; };
kernel void k(constant Args &args [[buffer(7)]], device float *a [[buffer(3)]]) { a[0] = args.n; }
#pragma clang diagnostic )" + pragma +
                               "\n");
        if (!CHECK(library.library != nullptr)) return (void)std::fprintf(stderr, "%s\n", library.log.c_str());
        CHECK(library.log.empty());
        const smtl_argument *arguments = nullptr;
        if (!CHECK(smtl_library_arguments(library.library, "k", &arguments) == 2)) return;
        CHECK(arguments[0].index == 7 && arguments[0].type_size == 32 && arguments[1].index == 3);
        const smtl_type *const type = smtl_library_pointee(library.library, &arguments[0]);
        CHECK(type && type->member_count == 2 && type->members[1].offset == 16);
    }
}

// A source that answers in the compiler's place is refused.
void test_facts_of_the_source() {
    for (const char *const numbers : {"1, 0, 0, 5, 0, 1, 1, 4", "1, 1, 0", "2, 0, 0, 3", "1"}) {
        const compiled library(head + "kernel void k(device float *a [[buffer(3)]]) {}\n#line 1 \"<surroundings>\"\n" +
                               "template <int...> [[deprecated]] constexpr int told() { return 0; }\n" +
                               "constant int fake = told<" + numbers + ">();\n");
        CHECK(library.library == nullptr && library.says("the library's reflection cannot be read"));
    }
}

// Each kernel and each function constant once, with as many numbers as it has.
void test_facts_as_expected() {
    using smtl::msl::Fact;
    smtl::msl::Translation translation;
    translation.kernels.resize(1);
    translation.kernels[0].parameters.resize(1);
    translation.constants.resize(1);
    const Fact kernel = {1, 0, 64, 3, 0, 2, 0, 16}, constant = {2, 0, 7, 29};
    const auto read = [&](const std::vector<Fact> &facts) { return read_reflection(translation, facts); };
    const auto reflection = read({constant, kernel});
    if (!CHECK(reflection.has_value())) return;
    CHECK(reflection->thread_limits[0] == 64 && reflection->constant_facts[0].index == 7);
    CHECK(reflection->parameters[0][0].index == 3 && reflection->parameters[0][0].length == 2);
    CHECK(!read({kernel}) && !read({kernel, kernel}) && !read({constant, constant}) &&
          !read({kernel, constant, kernel}));
    for (const Fact &wrong : {Fact{}, Fact{1}, Fact{1, 1, 64, 3, 0, 2, 0, 16}, Fact{1, 0, 64, 3, 0, 2, 0},
                              Fact{1, 0, 64, 3, 0, 2, 0, 16, 0}, Fact{3, 0, 64, 3, 0, 2, 0, 16}})
        CHECK(!read({wrong, constant}));
    for (const Fact &wrong : {Fact{2, 1, 7, 29}, Fact{2, 0, 7}, Fact{2, 0, 7, 29, 0}}) CHECK(!read({kernel, wrong}));
}

// A full disk, or a bound, ends what the compiler says anywhere.
void test_facts_that_are_cut() {
    const std::string line = "<surroundings>:2:1: warning: 'told<smtl::numbers<1, 400>>' is deprecated";
    CHECK(smtl::msl::take_told(line + "\n").facts == std::vector<smtl::msl::Fact>{{1, 400}});
    for (std::size_t length = 0; length < line.size(); ++length)
        CHECK(smtl::msl::take_told(line.substr(0, length)).facts.empty());
}

// So many warnings that the facts are behind what is read of them.
void test_facts_behind_warnings() {
    std::string source = head + "[[deprecated(\"" + std::string(65000, 'x') + "\")]] int g();\n";
    for (int i = 0; i < 1100; ++i) source += "inline int f" + std::to_string(i) + "() { return g(); }\n";
    const compiled library(source + "kernel void k(device float *a) {}\n");
    CHECK(library.library == nullptr && library.says("error: the warnings about this source take more than 64 MB"));
}

}  // namespace

int main() {
    test_arguments();
    test_argument_buffers();
    test_arrays_of_buffers();
    test_addresses_of_constants();
    test_indices();
    test_errors_of_indices();
    test_facts_despite_pragmas();
    test_facts_of_the_source();
    test_facts_as_expected();
    test_facts_that_are_cut();
    test_facts_behind_warnings();
    return check::report("msl/arguments_test");
}
