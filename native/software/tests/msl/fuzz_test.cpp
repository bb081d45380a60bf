// Damaged Metal through the translation: it neither crashes nor hangs, and gives the same for the same. Seeds are
// fixed; `fuzz_test N` goes through N mutations instead of the usual number.
#include <algorithm>
#include <ctime>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "check.h"
#include "msl/source/token.h"
#include "msl/translate.h"
#include "mutator.h"

namespace {

using smtl::msl::Purpose;
using smtl::msl::Translation;

// Something of everything that the translation looks for.
const std::string seed_source = R"(#line 7 "seed.metal"
typedef bfloat bfloat16_t;
constant bool flag [[function_constant(0)]];
constant int size [[function_constant(1)]];
constant bool both = flag && is_function_constant_defined(size);
constant float table[4] = {1.0, 2.5h, 3e2, 0x1p3};
enum kinds { one, two };
struct complex {
    float re, im;
    complex() thread = default;
    template <typename T> constexpr complex(T x) threadgroup : re(x), im(0) {}
    operator float() const device { return re; }
    thread complex &operator+=(complex other) thread { re += other.re; return *this; }
    static constant constexpr int count = 2;
};
template <typename T, int N = 2> struct tile { threadgroup T *p; tile(threadgroup T *q) : p(q) {} };
inline float load(device const float *p, int i) { return p[i]; }
inline float load(threadgroup const float *p, int i) { return p[i]; }
namespace outer { namespace { template <typename T, void (*F)(device const T *, short, thread float4 &), int N>
[[kernel, max_total_threads_per_threadgroup(N * 32)]] void unpack(device const T *in [[buffer(0)]], device float4 *out [[buffer(N)]],
    device float *more [[buffer(5), function_constant(both)]], threadgroup half *memory [[threadgroup(0)]], uint3 at [[thread_position_in_grid]]) {
    threadgroup T shared[N][4], other;
    threadgroup float *row = (threadgroup float *)shared;
    float4 v;
    F(in, 0, v);
    auto twice = [&](float x) -> float { return x * 2; };
    if constexpr (N > 1) { out[at.x] = v * half(bfloat16_t(1.5bf)) + (half)v.x + static_cast<bfloat>(row[0]); }
    for (short i = 0; i < N; i++) { #pragma unroll
    out[i] += twice(i) << 1 >> 2; }
} } }
template <typename T> void fill(device const T *in, short i, thread float4 &v) { v = float(in[i]); }
typedef decltype(outer::unpack<int, fill, 2>) unpack_t;
template [[host_name("unpack_int")]] kernel unpack_t outer::unpack<int, fill, 2>;
template [[host_name("unpack_char")]] [[kernel]] void outer::unpack<char, fill, 3>(device const char *, device float4 *, device float *, threadgroup half *, uint3);
#pragma METAL fp math_mode(safe)
kernel void plain(constant array<device float *, 2> &list [[buffer(0)]], device atomic_uint &n, uint2 g [[threads_per_grid]]) { list[0][0] = R"x(text)x"[0]; }
)";

}  // namespace

int main(int count, char **arguments) {
    constexpr std::uint64_t usual = 400;
    constexpr std::clock_t longest = 10 * CLOCKS_PER_SEC;  // of the processor's time
    const std::uint64_t mutations = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : usual;
    const Translation whole = smtl::msl::translate(seed_source);
    CHECK(whole.problems.empty() && whole.kernels.size() == 3 && whole.constants.size() == 2 && whole.math_mode_safe);
    for (std::uint64_t seed = 0; seed < mutations; ++seed) {
        const std::string source = Mutator(seed).mutate(seed_source);
        const std::clock_t start = std::clock();
        const Translation first = smtl::msl::translate(source);
        const Translation again = smtl::msl::translate(source);
        const Translation strict = smtl::msl::translate(source, Purpose::check);
        const bool quick = std::clock() - start < longest;
        // Lines stay where they are, so that messages do, too.
        const auto lines = [](const std::string &text) { return std::count(text.begin(), text.end(), '\n'); };
        const bool good = first.text == again.text && (!first.problems.empty() || lines(first.text) == lines(source));
        if (!CHECK(quick && good)) std::fprintf(stderr, "seed %llu\n", static_cast<unsigned long long>(seed));
        for (const smtl::msl::Kernel &kernel : first.kernels) CHECK(!kernel.identifier.empty());
    }
    return check::report("msl/fuzz_test");
}
