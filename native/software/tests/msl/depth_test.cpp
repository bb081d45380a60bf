// Whatever is nested in a source, its translation needs a bounded stack: programs compile sources in threads of their
// own, whose stacks are small. `depth_test N` nests everything N deep instead of the usual number.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <pthread.h>
#include <string>
#include <vector>

#include "check.h"
#include "msl/translate.h"

// The compiler's objects are those that growth_test counts with: sanitizers would make frames many times as large.
extern "C" void __sanitizer_cov_trace_pc_guard(std::uint32_t *) {}
extern "C" void __sanitizer_cov_trace_pc_guard_init(std::uint32_t *, std::uint32_t *) {}

namespace {

using smtl::msl::Purpose;

constexpr std::size_t stack_size = 512 << 10;

// What is nested stands `opening` before and `closing` behind what is inside.
struct Nested {
    const char *before, *opening, *inside, *closing, *behind;
};
const char *const kernel =
    "kernel void k(device int *p, threadgroup int *q, uint lane [[thread_index_in_simdgroup]]) { ";
const std::vector<Nested> sources = {
    {"", "uint (", "x", ")", " = 1;"},
    {"", "uint *(", "x", ")[2]", ";"},
    {"constant uint ", "(", "x", ")", " = 1;"},
    {"constant uint *constant ", "(*", "x", ")", " = 1;"},
    {"constant uint ", "(", "x", ")", " [[function_constant(0)]];"},
    {"kernel void k(device uint *", "(", "x", ")", ") {}"},
    {"void f(threadgroup uint ", "(&", "x", ")", ") {}"},
    {"struct s { uint ", "(", "x", ")", "; };"},
    {"struct s { ", "struct { ", "int x;", "};", "};"},
    {"", "namespace { ", "int x;", "}", ""},
    {"", "extern \"C\" {", "int x();", "}", ""},
    {"template <typename T = ", "a<", "x", ">", "> void f() {}"},
    {"int a = ", "f(", "x", ")", ";"},
    {"int a", "[", "x", "]", " = {};"},
    {"void f(int x = ", "g(", "1", ")", ") {}"},
    {"using a = ", "decltype(", "1", ")", ";"},
    {"", "using a = ", "int", "", ";"},
    {"", "typedef ", "int a", "", ";"},
    {"static_assert", "(", "1", ")", ";"},
    {"int f() ", "__attribute__((", "x", "))", ";"},
    {kernel, "uint (", "x", ")", "; }"},
    {kernel, "threadgroup uint (", "x", ")", "; }"},
    {kernel, "{", "p[0] = 1;", "}", "}"},
    {kernel, "if (lane == 0) ", "p[0] = simd_sum(p[0]);", "", "}"},
    {kernel, "if (lane == 0) {", "p[0] = simd_sum(p[0]);", "}", "}"},
    {kernel, "if (lane == 0) p[1] = simd_sum(2); else ", "p[0] = 1;", "", "}"},
    {kernel, "using a = ", "int", "", "; }"},
    {kernel, "typedef ", "int a", "", "; }"},
    {kernel, "if (", "([", "])", ") p[0] = 1; }"},
    {kernel, "for (;;) ", "p[0] = simd_sum(p[0]);", "", "}"},
    {kernel, "p[0] >>= ", "1", "", "; }"},
    {kernel, "for (", "int i = 0; i < 2; ++i", ") p[i] = 1;", "}"},
    {kernel, "while (p[0]) ", "p[0] = simd_sum(p[0]);", "", "}"},
    {kernel, "do ", "p[0] = simd_sum(p[0]);", " while (p[0]);", "}"},
    {kernel, "switch (p[0]) { case 0: ", "p[0] = simd_sum(p[0]);", "}", "}"},
    {"kernel void k(device int *p, uint lane [[thread_index_in_simdgroup]]) { if (", "(", "lane == 0", ")",
     ") p[0] = p[1] + 1; }"},
    {"kernel void k(device int *p, uint lane [[thread_index_in_simdgroup]]) { if (", "(lane && ", "lane == 0", ")",
     ") p[0] = p[1] + 1; }"},
    {kernel, "p[", "0", "]", " = 1; }"},
    {kernel, "p[0] = ", "1", "", "; }"},
    {kernel, "p[0] = lane ? simd_sum(", "1", ") : 2", "; }"},
    {kernel, "p[0] = ", "1", " ? 2 : 3", "; }"},
    {kernel, "p[0] = lane ? 1 : ", "2", "", "; }"},
    {kernel, "p[0] = simd_sum(", "1", ")", "; }"},
    {kernel, "p[0] = f<", "1", ">", "(2); }"},
    {kernel, "*(p + ", "1", ")", " = 2; }"},
    {kernel, "(*", "p", ")", " = 2; }"},
    {kernel, "(device int *)(", "p", ")", "; }"},
    {kernel, "auto f = [&] { ", "p[0] = simd_sum(p[0]);", " };", "}"},
    {kernel, "f([&] { ", "p[0] = simd_sum(p[0]);", " });", "}"},
    {kernel, "p[0] = -", "1", "", "; }"},
    {kernel, "p[0] = 1 << (", "1", ")", "; }"},
    {kernel, "half(", "1", ")", "; bfloat h; }"},
    {kernel, "(half)", "1", "", "; bfloat h; }"},
    {kernel, "struct s { ", "int x;", "};", "}"},
    {kernel, "[[", "unlikely", "]]", " p[0] = 1; }"},
    {kernel, "is_function_constant_defined(", "x", ")", "; }"},
    {"constant bool c [[function_constant(0)]]; kernel void k(device int *p [[function_constant(", "(", "c", ")",
     ")]]) {}"},
};

std::string repeated(const char *text, std::size_t times) {
    std::string all;
    for (std::size_t i = 0; i < times; ++i) all += text;
    return all;
}

void with_small_stack(std::function<void()> work) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, stack_size);
    pthread_t thread;
    const auto run = [](void *argument) -> void * {
        (*static_cast<std::function<void()> *>(argument))();
        return nullptr;
    };
    if (CHECK(pthread_create(&thread, &attributes, run, &work) == 0)) pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
}

}  // namespace

int main(int count, char **arguments) {
    const std::size_t depth = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 8000;
    for (const Nested &nested : sources) {
        const std::string source = nested.before + repeated(nested.opening, depth) + nested.inside +
                                   repeated(nested.closing, depth) + nested.behind;
        if (std::getenv("VERBOSE")) std::fprintf(stderr, "%.12s... %s\n", nested.before, nested.opening);
        with_small_stack([&] {
            for (const Purpose purpose : {Purpose::execute, Purpose::check})
                CHECK(!smtl::msl::translate(source, purpose).source.empty());
        });
    }
    return check::report("msl/depth_test");
}
