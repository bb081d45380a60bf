/* Operations and branches of kernels whose numbers are known: by line, exactly. */
#include <array>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "check.h"
#include "include/SoftwareMetal/SoftwareMetal.h"
#include "metal_program.h"

namespace {

constexpr uint32_t threads = 96, per_threadgroup = 48; /* simdgroups of 32 and of 16 lanes */

/* Each kernel begins at a line of its own hundred. */
const char *const source = R"(
static float twice_and_one(float a) {
#line 11
    return a * 2.0f + 1.0f;
}
struct pair { float a, b; };
static pair operator+(pair x, pair y) {
#line 16
    return {x.a + y.a, x.b + y.b};
}
#line 100
kernel void types(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float f = x[i];
    half h = half(f);
    bfloat b = bfloat(f);
    long l = long(i);
    f = f * f + f - 3.0f / f;
    h = h * h + h;
    b = b + b;
    l = l * 3 + (l >> 2);
    i = (i * 5 + 1) % 96 ^ 3;
    short s = short(i);
    s = s * s;
    f = -f;
    f = f < 0.0f ? f : 1.0f;
    x[0] = f + float(h) + float(b) + float(l) + float(s);
}
#line 200
kernel void vectors(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float4 v = float4(x[i]);
    v = v * v + v;
    v += 1.0f;
    half3 h = half3(v.xyz);
    h = h * h;
    bfloat2 b = bfloat2(v.xy);
    b *= b;
    v = fma(v, v, v);
    packed_float3 p = packed_float3(v.xyz);
    p += v.xyz;
    float d = dot(v, v) + length(v.xyz);
    float3 c = cross(v.xyz, v.yzw);
    uint4 u = uint4(i);
    u = (u << 2u) & u;
    v.x += 2.0f;
    v.xy *= 2.0f;
    float4x3 m(1.0f);
    float3 w = m * v;
    float3x3 n = float3x3(1.0f) * float3x3(2.0f);
    c = normalize(c);
    h = max(h, half3(0.0h));
    x[0] = v.x + h.x + float(b.x) + p.x + d + c.x + float(u.x) + w.x + n[0].x;
}
#line 300
kernel void functions(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float f = x[i];
    f = fma(f, f, f);
    f = exp(f);
    f = rsqrt(f) + sin(f) * metal::fast::tanh(f);
    half h = exp(half(f));
    h = fma(h, h, h);
    float4 v = sqrt(float4(f));
    f = clamp(f, 0.0f, 1.0f) + mix(f, 2.0f, 0.5f) + pow(f, f);
    i = min(i, 7u) + popcount(i) + mulhi(i, i);
    pair p = pair{f, f} + pair{f, f};
    f = twice_and_one(twice_and_one(f));
    x[0] = f + float(h) + v.x + p.a + float(i);
}
#line 400
kernel void loops(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]],
                  uint t [[thread_index_in_threadgroup]]) {
    float f = x[i];
    for (uint k = 0; k < 10; ++k)
        f = fma(f, f, 1.0f);
    for (uint k = 0; k < t; ++k)
        f = f * f + 1.0f;
    uint n = t % 4;
    while (n > 0) {
        n -= 1;
        f += 1.0f;
    }
    simdgroup_float8x8 a(1.0f), b(2.0f), c(0.0f);
    simdgroup_multiply_accumulate(c, a, b, c);
    simdgroup_multiply(c, a, b);
    f = simd_sum(f);
    x[0] = f;
}
#line 500
kernel void branches(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]],
                     uint t [[thread_index_in_threadgroup]]) {
    float f = x[i];
    if (t < 8)
        f += 1.0f;
    else if (t < 40)
        f -= 1.0f;
    if (t % 2 == 0)
        if (t % 4 == 0)
            f *= 2.0f;
    if (t < 16 &&
        t > 3)
        f += 1.0f;
    switch (t % 4) {
    case 0: f += 1.0f; break;
    case 1:
    case 2: f -= 1.0f; break;
    default: break;
    }
    if (i >= 32)
        f += 1.0f;
    x[i] = f;
    if (t >= 20) return;
    f = t > 18
        ? f * 3.0f : f;
    do f += 1.0f;
    while (f < 0.0f);
    x[i] = f;
}
#line 600
kernel void together(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    device atomic_int &n = *reinterpret_cast<device atomic_int *>(x + i);
    device atomic_float &g = *reinterpret_cast<device atomic_float *>(x + i);
    float f = simd_sum(x[i]);
    half4 h = simd_max(half4(half(f)));
    uint l = simd_prefix_inclusive_sum(i);
    short s = quad_xor(short(i)) * quad_product(short(2));
    f = simd_shuffle_xor(f, 1) + simd_broadcast(f, 0);
    int old = atomic_fetch_add_explicit(&n, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&g, 1.0f, memory_order_relaxed);
    atomic_max_explicit((device atomic_ulong *)x, 1, memory_order_relaxed);
    atomic_exchange_explicit(&n, atomic_load_explicit(&n, memory_order_relaxed), memory_order_relaxed);
    if (i < 32)
        old = atomic_fetch_max_explicit(&n, 1, memory_order_relaxed);
    x[i] = f + float(h.x) + float(l) + float(s) + float(old);
}
)";

/* Functions of other libraries are compiled each by itself, and linked with a kernel that calls both. */
const char *const caller = R"(
[[visible]] int odd(int x);
[[visible]] int low(int x);
kernel void calls(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    int sum = odd(int(i)) + low(int(i));
#line 700
    if (i < 32)
        sum += 1;
    x[i] = float(sum);
}
)";
const char *const callees[] = {R"(
[[visible]] int odd(int x) {
#line 710
    if (x % 2 == 1)
        x *= 3;
#line 712
    if (x < 96)
        x += 1;
    return x;
}
)",
                               R"(
[[visible]] int low(int x) {
#line 720
    if (x < 8)
        x += 5;
    return x;
}
)"};

using counts = std::array<uint64_t, 6>; /* float, half, bfloat, int, long, functions */

uint64_t number_of(std::string_view entry, const std::string &name) {
    const size_t at = entry.find("\"" + name + "\":");
    return at == entry.npos ? 0 : std::strtoull(entry.data() + at + name.size() + 3, nullptr, 10);
}

size_t program_number = 0; /* each program has kernels of these names */

/* The entries of a kernel's line that have a member of this name. */
std::vector<std::string> entries(const std::string &kernel, uint32_t line, const std::string &member) {
    char *const text = smtl_profile_copy();
    std::string_view rest = text;
    std::vector<std::string> found;
    const std::string start = "\"name\":\"" + kernel + "\"";
    for (size_t skipped = 0; skipped <= program_number; ++skipped)
        rest.remove_prefix(std::min(rest.find(start, skipped > 0), rest.size()));
    rest = rest.substr(0, rest.find("\"name\":\"", 1));
    while (!rest.empty()) {
        const std::string_view entry = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
        if (number_of(entry, "line") == line && entry.find("\"" + member + "\":") != entry.npos)
            found.emplace_back(entry);
    }
    std::free(text);
    return found;
}

counts operations(const std::string &kernel, uint32_t line) {
    counts sum{};
    for (const std::string &entry : entries(kernel, line, "functions")) {
        const char *const names[] = {"float", "half", "bfloat", "int", "long", "functions"};
        for (size_t i = 0; i < sum.size(); ++i) sum[i] += number_of(entry, names[i]);
    }
    return sum;
}

/* Of each thread of the launch. */
void check_operations(const char *kernel, uint32_t line, counts each) {
    const counts found = operations(kernel, line);
    bool equal = true;
    for (size_t i = 0; i < found.size(); ++i) equal = equal && found[i] == each[i] * threads;
    CHECK(equal);
    if (equal) return;
    std::fprintf(stderr, "%s:%u:", kernel, line);
    for (const uint64_t one : found) std::fprintf(stderr, " %llu", static_cast<unsigned long long>(one));
    std::fprintf(stderr, "\n");
}

struct branch {
    uint64_t executions, lanes, all_lanes, taken, diverged;
    bool operator==(const branch &) const = default;
};

void check_branch(const char *kernel, uint32_t line, branch expected, size_t count = 1) {
    const std::vector<std::string> found = entries(kernel, line, "diverged");
    CHECK(found.size() == count);
    const auto of = [&](const char *name) {
        uint64_t sum = 0;
        for (const std::string &entry : found) sum += number_of(entry, name);
        return sum;
    };
    const branch counted = {of("executions"), of("lanes"), of("all_lanes"), of("taken"), of("diverged")};
    CHECK(counted == expected && of("unmatched") == 0);
    if (counted != expected) std::fprintf(stderr, "%s:%u: %s\n", kernel, line, found.empty() ? "" : found[0].c_str());
}

void types() {
    check_operations("types", 105, {4, 0, 0, 0, 0, 0});
    check_operations("types", 106, {0, 2, 0, 0, 0, 0});
    check_operations("types", 107, {0, 0, 1, 0, 0, 0});
    check_operations("types", 108, {0, 0, 0, 0, 3, 0});
    check_operations("types", 109, {0, 0, 0, 4, 0, 0});
    check_operations("types", 111, {0, 0, 0, 1, 0, 0});
    for (const uint32_t line : {101, 102, 103, 104, 110, 112, 113}) check_operations("types", line, {});
    check_operations("types", 114, {4, 0, 0, 0, 0, 0});
}

void vectors() {
    check_operations("vectors", 201, {});
    check_operations("vectors", 202, {8, 0, 0, 0, 0, 0});
    check_operations("vectors", 203, {4, 0, 0, 0, 0, 0});
    check_operations("vectors", 205, {0, 3, 0, 0, 0, 0});
    check_operations("vectors", 207, {0, 0, 2, 0, 0, 0});
    check_operations("vectors", 208, {8, 0, 0, 0, 0, 0});
    check_operations("vectors", 209, {});
    check_operations("vectors", 210, {3, 0, 0, 0, 0, 0});
    check_operations("vectors", 211, {7 + 1 + 5, 0, 0, 0, 0, 1});
    check_operations("vectors", 212, {9, 0, 0, 0, 0, 0});
    check_operations("vectors", 214, {0, 0, 0, 8, 0, 0});
    check_operations("vectors", 215, {1, 0, 0, 0, 0, 0});
    check_operations("vectors", 216, {2, 0, 0, 0, 0, 0});
    check_operations("vectors", 218, {3 * 7, 0, 0, 0, 0, 0});
    check_operations("vectors", 219, {9 * 5, 0, 0, 0, 0, 0});
    check_operations("vectors", 220, {8, 0, 0, 0, 0, 1});
    check_operations("vectors", 221, {0, 3, 0, 0, 0, 0});
}

void functions() {
    check_operations("functions", 302, {2, 0, 0, 0, 0, 0});
    check_operations("functions", 303, {0, 0, 0, 0, 0, 1});
    check_operations("functions", 304, {2, 0, 0, 0, 0, 3});
    check_operations("functions", 305, {0, 0, 0, 0, 0, 1});
    check_operations("functions", 306, {0, 2, 0, 0, 0, 0});
    check_operations("functions", 307, {0, 0, 0, 0, 0, 4});
    check_operations("functions", 308, {2 + 3 + 2, 0, 0, 0, 0, 1});
    check_operations("functions", 309, {0, 0, 0, 1 + 1 + 1 + 2, 0, 0});
    check_operations("functions", 310, {});
    check_operations("functions", 16, {2, 0, 0, 0, 0, 0});
    check_operations("functions", 11, {4, 0, 0, 0, 0, 0});
}

void loops() {
    check_operations("loops", 403, {0, 0, 0, 10, 0, 0});
    check_operations("loops", 404, {20, 0, 0, 0, 0, 0});
    /* Each of two threadgroups: 0 + 1 + ... + 47 times. */
    constexpr uint64_t times = per_threadgroup * (per_threadgroup - 1);
    CHECK(operations("loops", 405) == (counts{0, 0, 0, times, 0, 0}));
    CHECK(operations("loops", 406) == (counts{2 * times, 0, 0, 0, 0, 0}));
    CHECK(operations("loops", 409) == (counts{0, 0, 0, threads * 6 / 4, 0, 0}));
    CHECK(operations("loops", 410) == (counts{threads * 6 / 4, 0, 0, 0, 0, 0}));
    check_operations("loops", 413, {8 * 8 * 8 * 2 / 32, 0, 0, 0, 0, 0});
    check_operations("loops", 414, {8 * 8 * 15 / 32, 0, 0, 0, 0, 0});
    check_operations("loops", 415, {1, 0, 0, 0, 0, 0});
    /* A simdgroup of 32 lanes and one of 16, in two threadgroups. */
    check_branch("loops", 403, {4 * 11, threads * 11, threads * 11, threads * 10, 0});
    /* The k-th test: of 32 lanes those with t + 1 >= k, all of which but t + 1 == k go on. */
    constexpr uint64_t tests = times + threads;
    check_branch("loops", 405, {2 * (32 + 48), tests, 2 * (32 * 32 + 48 * 16), times, 2 * (31 + 15)});
    check_branch("loops", 408, {4 * 4, threads * 10 / 4, threads * 4, threads * 6 / 4, 4 * 3});
}

void branches() {
    check_branch("branches", 503, {4, 96, 96, 16, 2});
    check_branch("branches", 505, {4, 80, 96, 64, 2});
    check_branch("branches", 507, {4, 96, 96, 48, 4});
    check_branch("branches", 508, {4, 48, 96, 24, 4});
    check_branch("branches", 510, {4 + 2, 96 + 32, 96 + 64, 32 + 24, 2 + 2}, 2);
    check_branch("branches", 513, {4, 96, 96, 72, 4});
    check_branch("branches", 519, {4, 96, 96, 64, 0});
    check_branch("branches", 522, {4, 96, 96, 56, 2});
    check_branch("branches", 523, {2, 40, 64, 2, 2});
    check_branch("branches", 525, {2, 40, 64, 0, 0});
    CHECK(operations("branches", 504) == (counts{16, 0, 0, 0, 0, 0}));
    CHECK(operations("branches", 506) == (counts{64, 0, 0, 0, 0, 0}));
    CHECK(operations("branches", 509) == (counts{24, 0, 0, 0, 0, 0}));
    CHECK(operations("branches", 512) == (counts{24, 0, 0, 0, 0, 0}));
    CHECK(operations("branches", 514) == (counts{24, 0, 0, 0, 0, 0}));
    CHECK(operations("branches", 516) == (counts{48, 0, 0, 0, 0, 0}));
    CHECK(operations("branches", 524) == (counts{2, 0, 0, 0, 0, 0}));
    CHECK(operations("branches", 525) == (counts{40, 0, 0, 0, 0, 0}));
}

/* Each thread gives a number, or a vector, to what lanes or an atomic combine. */
void together() {
    check_operations("together", 603, {1, 0, 0, 0, 0, 0});
    check_operations("together", 604, {0, 4, 0, 0, 0, 0});
    check_operations("together", 605, {0, 0, 0, 1, 0, 0});
    check_operations("together", 606, {0, 0, 0, 2 + 1, 0, 0});
    check_operations("together", 607, {1, 0, 0, 0, 0, 0});
    check_operations("together", 608, {0, 0, 0, 1, 0, 0});
    check_operations("together", 609, {1, 0, 0, 0, 0, 0});
    check_operations("together", 610, {0, 0, 0, 0, 1, 0});
    check_operations("together", 611, {});
    CHECK(operations("together", 613) == (counts{0, 0, 0, 32, 0, 0}));
}

void linked() {
    check_branch("calls", 700, {4, 96, 96, 32, 0});
    check_branch("calls", 710, {4, 96, 96, 48, 4});
    /* All even numbers, and the odd ones of which three times as much is less. */
    check_branch("calls", 712, {4, 96, 96, 48 + 16, 3});
    check_branch("calls", 720, {4, 96, 96, 8, 1});
}

}  // namespace

int main() {
    setenv("SOFTWARE_METAL_PROFILE", "/dev/null", 1);
    unsetenv("SOFTWARE_METAL_SANITIZE");
    metal_program fast(source, SMTL_MATH_FAST), safe(source, SMTL_MATH_SAFE);
    for (metal_program *program : {&fast, &safe})
        for (const char *kernel : {"types", "vectors", "functions", "loops", "branches", "together"}) {
            std::vector<float> x(threads, 1.0f);
            CHECK(launch(program->kernel(kernel)).buffer(0, x).run({threads}, {per_threadgroup}).empty());
        }
    metal_program calling(caller), odd(callees[0]), low(callees[1]);
    const smtl_linked_function callees_of_calls[] = {{odd.library(), "odd", nullptr, 0},
                                                     {low.library(), "low", nullptr, 0}};
    smtl_linking linking{};
    linking.functions = callees_of_calls;
    linking.function_count = std::size(callees_of_calls);
    std::vector<float> sums(threads);
    CHECK(launch(calling.kernel("calls", &linking)).buffer(0, sums).run({threads}, {per_threadgroup}).empty());
    linked();
    for (; program_number < 2; ++program_number) {
        types();
        vectors();
        functions();
        loops();
        branches();
        together();
    }
    return check::report("operations and branches");
}
