// The translation takes time and memory in proportion to the source, whatever is nested or repeated in it. Both are
// counted, not measured: the compiler's objects are built to count the branches they take (see the Makefile), and what
// they allocate is counted here. `growth_test N` repeats everything N times instead of the usual number.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "check.h"
#include "msl/compile/diagnostics.h"
#include "msl/translate.h"

namespace {

std::uint64_t steps = 0, bytes = 0;

}  // namespace

extern "C" void __sanitizer_cov_trace_pc_guard(std::uint32_t *) { ++steps; }
extern "C" void __sanitizer_cov_trace_pc_guard_init(std::uint32_t *, std::uint32_t *) {}

void *operator new(std::size_t size) {
    bytes += size;
    void *const memory = std::malloc(size);
    if (memory == nullptr) std::abort();
    return memory;
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }

namespace {

using smtl::msl::Purpose;

// The text before the line break is repeated, and then the text behind it as often, to close it. A `#` becomes the
// number of the repetition.
const std::vector<std::string> inside_a_kernel = {
    "(\n)",
    "[\n]",
    "{\n}",
    "x[\n]",
    "a<\n>",
    "a<\n",
    "a<b>\n",
    "x ? y : \n",
    "x ? \n : y",
    "a, \n",
    "a = \n",
    "v.x += \n",
    "s.v.x += \n",
    "p[i].x += p[j].y; \n",
    "half(\n)",
    "(half)\n",
    "half(x) + \n",
    "static_cast<bfloat>(\n)",
    "f(\n)",
    "simd_sum(\n)",
    "p[0] = \n",
    "p[i] = p[i + 1]; \n",
    "*(p + \n)",
    "((device int *)p)[\n]",
    "p->\n",
    "if (x) {\n}",
    "if (x) \n",
    "if (x) p[i] = 1; else \n",
    "for (;;) {\n}",
    "while (p[i]) \n",
    "do \n while (i);",
    "switch (x) { case #: \n}",
    "case #: \n",
    "threadgroup float t#[4]; \n",
    "threadgroup float a, \n",
    "threadgroup x \n",
    "device x \n",
    "device int a, \n",
    "(threadgroup int *)\n",
    "alignas(8) \n",
    ") threadgroup (\n",
    "const threadgroup const \n",
    "auto f# = [&](int i) { \n };",
    "[[unlikely]] \n",
    "1.5h + \n",
    "1.5 + \n",
    "double \n",
    "kernel \n",
    "is_function_constant_defined(\n)",
    "is_function_constant_defined(c#); \n",
    "\"text\" \n",
    "{\"text\", \n},",
    "char a#[2] = \"x\", \n",
    ") const device \n",
    "R\"x(text)x\" \n",
    "R\"\n",
    "'c' \n",
    "/* comment */ \n",
    "// comment\\\n\n",
    "+ - ~ ! \n",
    "; \n",
    "x ",
    "\\\n",
    "coherent device \n",
    "goto \n",
    "f#(); \n",
    "simdgroup_barrier(mem_flags::mem_none); p[i] += p[#]; \n",
    "s >>= \n",
    "s >>= x ? \n : y",
    "x ? y : s <<= \n",
    "a[s >>= \n]",
    "s * \n",
    "s * s = \n",
    "s * s(1), \n",
    "using a= \n",
    "typedef \n",
    "using a = b<\n>",
    "using a = {\n}",
    "([\n])",
    "+[] x \n",
    "if (([\n])) p[0] = 1;",
    "for (;;) \n",
    "for (\n)",
    "for (x; ((y for \n)))",
    "if (x::constexpr (\n))",
    "kernel void f() {} \n",
    "x {} \n",
    "else :: \n",
    "case x: :: \n",
    "case #: y {} \n",
    "do x \n",
};
const std::vector<std::string> at_file_scope = {
    "namespace n# {\n}",
    "struct s# {\n};",
    "struct s# { int i; }; \n",
    "template <\n>",
    "template <typename T# = \n>",
    "template <template <\n> class T>",
    "template <typename T> \n",
    "void f#(); \n",
    "void f(device int *p) { p[#] = 1; } \n",
    "void f#() { f(); } \n",
    "int f#(int x) { return f(x); } \n",
    "int a# = f(\n);",
    "constant int c# = 1; \n",
    "constant int c = c + c + c; \n",
    "constant bool c# [[function_constant(#)]]; \n",
    "constant int d = 1 + \n;",
    "[[kernel]] \n",
    "[[host_name(\"a\"), \n]]",
    "[[\n]]",
    "#pragma METAL fp contract(off)\n\n",
    "#pragma x\n\n",
    "#line #\n\n",
    "# 1 \"file\"\n\n",
    "kernel void k#(device int *p) { p[0] = #; } \n",
    "kernel void k(\n);",
    "using a# = b; \n",
    "typedef half h#; \n",
    "operator \n",
    "struct S { S operator+=(S); \n};",
    "enum e# { x# }; \n",
    "extern \"C\" {\n}",
    "static_assert(\n);",
    "public: \n",
    "X() : a(1), \n {}",
    "__attribute__((\n))",
    "decltype(\n) x;",
    ") \n",
    "= \n",
    ": \n",
    "vertex \n",
    "template <typename T> kernel void t(device T *p, \n int x) {}",
    "template [[host_name(\"k#\")]] kernel void t<#>(device int *p); \n",
    "int operator+=(int &, int); \n",
};
// A repeated list, and the text around it.
struct Surrounded {
    const char *before, *repeated, *behind;
};
const std::vector<Surrounded> lists = {
    {"kernel void k(", "device int *p#, ", "device int *q) {}"},
    {"kernel void k(", "device int *p# [[buffer(#)]], ", "device int *q) {}"},
    {"template <typename T> kernel void t(device T *p) { p[0] = 1; }\n",
     "template [[host_name(\"k#\")]] kernel void t<s#>(device s# *);\n", ""},
    {"",
     "template <typename T> kernel void t(device T *p, int x#) { p[0] = 1; } template [[host_name(\"k#\")]] kernel void t<int>(device int *, int);\n",
     ""},
    {"", "constant bool c# [[function_constant(#)]];\nvoid f#() { is_function_constant_defined(c#); }\n", ""},
    {"constant int c = 1;\n", "constant int c# = c + c + c;\nconstant int c = c#;\n", ""},
    {"constant int c = 1 + 1;\nkernel void k(device int *p [[function_constant(c", " + c", ")]]) {}"},
    {"constant bool c [[function_constant(0)]];\n",
     "constant bool c = c; kernel void k#(device int *p [[function_constant(c)]]) {}\n", ""},
    {"", "constant bool c [[function_constant(#)]];\nvoid f#() { is_function_constant_defined(c); }\n", ""},
    {"struct S {", "int f(int i) const device { return i; } int f(int j) const thread { return j; } ", "};"},
    {"struct S {", "int f#(int i) device { return #; } ", "};"},
    {"struct S {", "uint b# : 1; ", "};\nvoid f(device S *s) { s ? s->b : s->c; }"},
    {"char a[2][2] = {", "\"x\", ", "};"},
    {"float4 operator+=(thread float4 &a, float4 b);\nvoid f() {", "v.x += ", "1; }"},
    {"void f(device int *p) {", "p[i] = p[p[i]]; ", "}"},
    {"kernel void k(device int *p, uint i [[thread_index_in_simdgroup]]) {", "int v# = p[i] + v; if (v#) p[#] = v#; ",
     "}"},
    {"kernel void k(threadgroup int *p, uint i [[thread_index_in_simdgroup]]) {", "int v# (v ", ";}"},
    {"kernel void k(device int *p, uint i [[thread_index_in_simdgroup]]) {", "int v# = simd_sum(p[#]); ", "}"},
    {"struct S { void f(device int *p) device { p[0] = 1; } void f(device int *p) threadgroup { p[0] = 2; } };\n",
     "void g#(device S *s) { x ? s[0] : ", "}"},
    {"void f(device int *p) { p[0] = 1; } void f(threadgroup int *p) { p[0] = 2; }\nvoid g() { x = ", "a ? b : ",
     "c; }"},
    {"typedef bfloat b;\nvoid f() { x = ", "half(", "1; }"},
    {"void f(device array<int, 4> *a) { x = &a", "[0]", "; }"},
    {"void f(device array<int, 4> *a) { x = &a", ".front()", "[0]; }"},
    {"void f(device array<int, 4> &a) { f(", "&a[1], (a)[2], b->a.data(), ", "1); }"},
    {"", "typedef array<int, #> t#; using u# = t#; void f#(device u# &a#, device t# &b#) { x = &a#[1]; }\n", ""},
    {"array<int, 4> a; template <", "typename T#, template <", "typename U> void f(device T1 &t);"},
    {"", "using a = array<", "b; a a; c = &a[0];"},
    {"array<int, 4> ", "a, ", "b;"},
    {"array<int, 4> a; void f() { for (a : ", "b ? a : ", "a) {} }"},
};

std::string numbered(const std::string &text, std::size_t number) {
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool directive =
            text[i] == '#' && (i == 0 || text[i - 1] == '\n') && i + 1 < text.size() && text[i + 1] != '\n';
        result += text[i] == '#' && !directive ? std::to_string(number) : std::string(1, text[i]);
    }
    return result;
}

std::string repeated(const std::string &pattern, std::size_t times) {
    const std::size_t middle = pattern.rfind('\n');
    const std::string opening = middle == std::string::npos ? pattern : pattern.substr(0, middle),
                      closing = middle == std::string::npos ? "" : pattern.substr(middle + 1);
    std::string text;
    for (std::size_t i = 0; i < times; ++i) text += numbered(opening, i);
    for (std::size_t i = 0; i < times; ++i) text += closing;
    return text;
}

struct Cost {
    std::uint64_t steps = 0, bytes = 0;
};

Cost cost_of(const std::string &source, Purpose purpose) {
    steps = bytes = 0;
    (void)smtl::msl::translate(source, purpose);
    return {steps, bytes};
}

// Branches and bytes for each byte of a source.
constexpr std::uint64_t moderate_cost = 6000;

// Twice the source is about twice the work. Work that has a bound may grow faster up to the bound, so the sources are
// longer than that.
template <class Make> void grows_in_proportion(const std::string &name, std::size_t times, Make &&make) {
    for (const Purpose purpose : {Purpose::execute, Purpose::check}) {
        const std::string half = make(times / 2), whole = make(times);
        const Cost one = cost_of(half, purpose), two = cost_of(whole, purpose);
        // Vectors that grow by doubling take memory in leaps.
        const double growth = double(whole.size()) / double(half.size());
        const bool proportional = double(two.steps) < 1.2 * growth * double(one.steps) + 1e5 &&
                                  double(two.bytes) < 1.3 * growth * double(one.bytes) + 1e6;
        const bool moderate = two.steps / whole.size() < moderate_cost && two.bytes / whole.size() < moderate_cost;
        if (!CHECK(proportional && moderate)) {
            std::fprintf(stderr, "%s (%s): %zu bytes: %.0f steps and %.0f bytes; %zu bytes: %.0f and %.0f\n",
                         name.c_str(), purpose == Purpose::check ? "checked" : "executed", half.size(),
                         double(one.steps), double(one.bytes), whole.size(), double(two.steps), double(two.bytes));
        }
        if (std::getenv("VERBOSE"))
            std::fprintf(stderr, "%-40.40s %8zu %8.1f %8.1f\n", name.c_str(), whole.size(),
                         double(two.steps) / whole.size(), double(two.bytes) / whole.size());
    }
}

void test_diagnostics(std::size_t times) {
    const auto cost = [&](bool one_line, std::size_t count) {
        std::string source, messages;
        for (std::size_t i = 0; i < count; ++i) {
            source += one_line ? "x == 4; " : "x == 4;\n";
            messages += "program_source:" + std::to_string(one_line ? 1 : i + 1) + ":" +
                        std::to_string(one_line ? 8 * i + 3 : 3) + ": warning: unused\n";
        }
        steps = bytes = 0;
        const std::string compiled = " " + source;
        CHECK(!smtl::msl::read_diagnostics(messages, source, compiled, "program_source", {}).empty());
        return Cost{steps, bytes};
    };
    for (const bool one_line : {false, true}) {
        const Cost half = cost(one_line, times / 2), whole = cost(one_line, times);
        CHECK(double(whole.steps) < 2.6 * double(half.steps) && double(whole.bytes) < 2.6 * double(half.bytes));
    }
}

}  // namespace

int main(int count, char **arguments) {
    const std::size_t times = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 2000;
    const std::string head =
        "kernel void k(device int *p, threadgroup float *q, uint i [[thread_index_in_simdgroup]]) { bfloat h; ";
    for (const std::string &pattern : at_file_scope)
        grows_in_proportion(pattern, times, [&](std::size_t n) { return repeated(pattern, n); });
    for (const std::string &pattern : inside_a_kernel) {
        grows_in_proportion("in a kernel: " + pattern, times,
                            [&](std::size_t n) { return head + repeated(pattern, n) + "; }"; });
        // Constructs that are never closed, or that close nothing.
        grows_in_proportion("open: " + pattern, times,
                            [&](std::size_t n) { return head + repeated(pattern.substr(0, pattern.rfind('\n')), n); });
    }
    for (const Surrounded &list : lists) {
        grows_in_proportion(list.repeated, times, [&](std::size_t n) {
            return list.before + repeated(std::string(list.repeated) + "\n", n) + list.behind;
        });
    }
    grows_in_proportion("a chain of constants", times, [&](std::size_t n) {
        std::string source = "constant bool c0 [[function_constant(0)]];\n";
        for (std::size_t i = 1; i < n; ++i)
            source += "constant bool c" + std::to_string(i) + " = !c" + std::to_string(i - 1) + ";\n";
        return source + "kernel void k(device int *p [[function_constant(c" + std::to_string(n - 1) + ")]]) {}";
    });
    test_diagnostics(times);
    return check::report("msl/growth_test");
}
