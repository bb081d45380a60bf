/* Lane functions where lanes part: what inactive lanes give, and that lanes come together again. */
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "check.h"
#include "metal_program.h"

namespace {

const char *const source = R"(
kernel void scan(device const int *in [[buffer(0)]], device int *out [[buffer(1)]],
                 uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    int s = in[i];
    if (lane >= 1) s += simd_shuffle_up(s, 1);
    if (lane >= 2) s += simd_shuffle_up(s, 2);
    if (lane >= 4) s += simd_shuffle_up(s, 4);
    if (lane >= 8) s += simd_shuffle_up(s, 8);
    if (lane >= 16) s += simd_shuffle_up(s, 16);
    out[i] = s;
}
template <typename T> T scanned(T s, uint lane) {
    for (uint distance = 1; distance < 32; distance *= 2) {
        if (lane >= distance) {
            s += simd_shuffle(s, ushort(lane - distance));
        }
        s += T(0);
    }
    return s;
}
kernel void scan_in_function(device const int *in [[buffer(0)]], device int *out [[buffer(1)]],
                             uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    out[i] = int(scanned(float(in[i]), lane));
}
kernel void scan_and_change(device const int *in [[buffer(0)]], device int *out [[buffer(1)]],
                            uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    long s = in[i];
    if (lane >= 1) s += simd_shuffle_up(s, 1);
    s *= 2;
    if (lane >= 2) s += simd_shuffle_up(s, 2); else s += 5;
    out[i] = int(s);
}
kernel void after_loop(device const int *in [[buffer(0)]], device int *out [[buffer(1)]],
                       uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    int s = 0;
    for (uint n = 0; n < lane % 4; ++n)
        s += simd_sum(1);
    out[i] = s + simd_sum(1) * 1000;
}
// Masks of vectors have registers of their own on some processors; each must outlast a meeting with other lanes.
kernel void keep_mask(device const int *in [[buffer(0)]], device int *out [[buffer(1)]],
                      uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    uint few = 1;
    uint2 v = min(uint2(1), uint2(lane));
    if (i > 1000000) few = simd_max(few);
    ((device ulong2 *)out)[lane] = ulong2(v.x, v.y);
}
kernel void in_branches(device const int *in [[buffer(0)]], device int *out [[buffer(1)]],
                        uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    int s = in[i], t = 0;
    if (lane % 2 == 0) {
        s += 100;
        t = simd_shuffle_xor(s, 1);
    } else {
        s += 200;
        t = simd_shuffle_xor(s, 1);
    }
    out[i] = t;
}
// Lanes wait for stores to shared memory where the switch begins, and come together again where it ends.
kernel void after_stores(device const int *in [[buffer(0)]], device int *out [[buffer(1)]],
                         uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    device int *shared = out;
    if (in[i ^ 1] > 0) shared[i] = in[i];
    switch ((lane + uint(shared[i ^ 1]) * 0) % 3) {
    case 0:
    case 1:
        switch (lane & 3) {
        case 1:
        default: (void)simd_active_threads_mask();
        }
        break;
    default: break;
    }
    out[i] = simd_prefix_inclusive_sum(1);
}
// Three statements end with the last store, and lanes wait where two of them end.
kernel void shift_in_loop(device const int *in [[buffer(0)]], device int *out [[buffer(1)]],
                          uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    threadgroup int all[64];
    threadgroup int *s = all + i % 64 / 32 * 32;
    s[lane] = 0;
    if (lane > 30) s[lane] = simd_sum(in[i]) * 0;
    else
        for (uint n = 0; n < 3; ++n)
            if ((lane + n) % 2 == 0)
                s[lane] = s[lane + 1] + 1;
    out[i] = s[lane];
}
kernel void shift_by_choice(device const int *in [[buffer(0)]], device int *out [[buffer(1)]],
                            uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    int s = in[i];
    s <<= lane % 2 ? simd_sum(1) / 4 : simd_sum(2) / 16;
    s >>= lane > 3 && simd_any(lane == 4);
    out[i] = s;
}
// Each comparison is a value of its own, though two of them look like one list of template arguments.
constant int seven = 7;
int compared(int s, bool few = seven < 3, bool many = seven > 1) {
    int n = few;
    if (many) n += simd_shuffle_xor(s, 2);
    return n;
}
kernel void compare(device const int *in [[buffer(0)]], device int *out [[buffer(1)]],
                    uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    int s = in[i], t = int(lane), n = 0;
    int low = s < t, high = s > t;
    if (lane % 2) n = simd_shuffle_xor(low, 1) + 2 * simd_shuffle_xor(high, 1);
    if (lane % 4 > 1) n += 4 * simd_shuffle_xor(s < t, 2) + 8 * quad_shuffle_xor(s > (t), 2);
    out[i] = n + compared(s * 16, s < t, t % 4 > (1));
}
template <typename T, int N> T swizzled(vec<T, N> v, uint lane) {
    T n = 0;
    if (lane % 2) n = simd_shuffle(v.yx * T(2), 2).x + simd_broadcast((v * 2).xy * v.xx, 1).y;
    return n;
}
typedef thread float4 &lvalue;
kernel void swizzle(device const int *in [[buffer(0)]], device int *out [[buffer(1)]],
                    uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    const float4 v(in[i], lane, 3, 4);
    float4 w = v;
    lvalue r = w;
    float n = 0;
    switch (lane % 2) {
    case 0: n = simd_shuffle(r.yx * 2.0f, 2).x; break;
    default: n = quad_shuffle_xor(v.xy * v.x, 2).x;
    }
    for (uint k = 0; k < lane % 4; ++k) n += simd_broadcast(2 * v.xyz, 3).y;
    out[i] = int(n + swizzled(w, lane));
}
)";

/* Lanes part in each of these, which have no lane function: no lane waits there for others, and all meet in what comes
 * next. */
const std::vector<std::string> silent = {
    "if (lane % 3 == 0) s += 1; else s += 2;",
    "switch (lane % 4) { case 0: s += 1; break; case 1: s += 2; break; default: s += 3; }",
    "switch (lane % 4) { case 0: s += 1; case 1: s += 2; default: s += 3; }",
    "switch (lane % 4) { case 0: case 3: { s += 1; } }",
    "switch (lane % 4) case 2: s += 1;",
    "switch (lane % 4) { case 0: switch (lane % 8) { case 0: s += 1; break; default: s += 2; } break; case 1: s += 2; }",
    "for (uint n = 0; n < lane % 4; ++n) { switch (lane % 3 + n) { case 1: s += 1; break; case 2: continue; } s += 5; }",
    "for (uint n = 0; n < 6; ++n) { if (n == lane % 5) break; switch (lane % 3) { case 0: s += 1; default: break; } }",
    "uint n = lane % 5; while (n > 0) { switch (n-- % 3) { case 0: s += 1; break; default: if (lane < 9) continue; s += 2; } }",
    "uint n = lane % 5; do { switch (n % 3) { case 0: s += 1; break; case 1: s += 7; } } while (n-- > 0);",
    "if (lane < 9) { switch (lane % 2) { case 0: s += 1; break; default: s += 2; } } else { for (uint n = 0; n < lane; ++n) s += int(n); }",
    "s += lane < 7 ? 1 : 2; s += int(lane < 9 && s > 1);",
    "s += silent(lane);",
};
const char *const silent_function = R"(
static __attribute__((noinline)) int silent(uint lane) {
    switch (lane % 4) {
    case 0: return 1;
    case 1: if (lane > 9) return 2; break;
    default: for (uint n = 0; n < lane; ++n) { switch (n) { case 5: return 3; } }
    }
    return 4;
}
)";

const char *const operand_declarations = R"(
struct both { int a; float b; int sum() const { return a + int(b); } };
typedef uint word;
constant int seven = 7;
template <typename T> int code(T v) { return int(v); }
static int code(float2 v) { return int(v.x * 10 + v.y); }
static int code(float4 v) { return int(v.x + v.y * 10 + v.z * 100 + v.w * 1000); }
static int code(both v) { return v.sum(); }
static int twice(int s) { return s * 2; }
static int changed(thread int &s) { return ++s; }
// The name tells nothing of a function of the source's own.
template <typename T> T own_shuffle(T value, ushort lane) { return sizeof(T) == 4 ? simd_shuffle(value, lane) : T(0); }
)";
/* An inactive lane's value is what it would compute. */
const std::vector<std::string> computed = {
    "s",
    "(s)",
    "((s))",
    "+s",
    "-s",
    "~s",
    "!s",
    "uint(s)",
    "(uint)s",
    "(uint)(s)",
    "float(s)",
    "as_type<uint>(s)",
    "as_type<float>(s + (127 << 23))",
    "static_cast<float>(s)",
    "word(s)",
    "short(s)",
    "half(s)",
    "int16_t(s)",
    "metal::float4(s)",
    "float4(s)",
    "float4(s, f, 2, 3)",
    "float2{f, 2}",
    "vec<float, 2>(s, f)",
    "(float2)f",
    "v.x",
    "v.yx",
    "v.wzyx",
    "(v.x)",
    "v[1]",
    "(v).x",
    "v.xy * 2.0f",
    "2 * v.yx",
    "v.xy * f",
    "s * v.yx",
    "v.xyzw * v.wzyx",
    "v.rg * v.ba * 2",
    "(v * 2).xy * 2",
    "fma(v.xy * 2, v.yx, 1.0f)",
    "min(v.xy * v.zw, 3.0f)",
    "float2(w.xy & 3u)",
    "float4(w.xyzw | w.wzyx)",
    "select(v.xy * 2, v.zw, s > 4)",
    "any(v.xy * 2 > v.zw) ? s : u",
    "v.xy + v.zw",
    "p.a",
    "p.b",
    "p",
    "s + 1",
    "s * 2 + u",
    "s + f",
    "v * 2 + s",
    "s / 2",
    "s % 3",
    "s << 2",
    "s & 3",
    "s ^ u",
    "s > 4",
    "s < u",
    "s == u",
    "s > 4 ? s : u",
    "s < 4 && f > 1 ? s : u + 1",
    "min(s, u)",
    "metal::max(s, u)",
    "fma(f, 2.0f, v.x)",
    "select(s, u, s > 5)",
    "s + seven",
    "s - k",
    "sizeof(s) + s",
    "metal::abs(s - 10)",
    "clamp(s, 2, 5)",
    "(s) + (u)",
};
/* What depends on more than variables is the running lane's own. */
const std::vector<std::string> uncomputed = {
    "in[i]",
    "in[i] + s",
    "s / (u + 1)",
    "s % (u + 1)",
    "own_shuffle(s, 3) * 0 + s",
    "twice(s)",
    "p.sum()",
    "changed(u) + s",
    "*&s",
    "a[0] + s",
    "q[0]",
    "s += 1",
    "++s",
    "simd_sum(1) * 0 + s",
    "r + s",
    "in[s > 100 ? 1 << 30 : 0] + s",
};

/* Each operand in a branch, beside a variable that has its value: what it gives, what the variable gives, and what the
 * lane itself computes. */
std::string operand_block(const std::string &operand) {
    return "int s = in[i], n = 0, m = 0;\nint u = int(lane);\nfloat f = s * 0.25f;\nfloat4 v(s, u, 3, f);\nuint4 w(s, u, 3, 4);\n"
           "both p = {s, f};\nint a[2] = {s, u};\nauto q = in + i;\nthread int &r = u;\nconstexpr int k = 5;\n"
           "if (lane % 4 != 2) {\nn = code(simd_shuffle_xor(" +
           operand +
           ", 1));\n"
           "m = code(quad_shuffle_up(" +
           operand +
           ", 1));\n}\n"
           "s = in[i]; u = int(lane);\nint own = code(" +
           operand +
           ");\n"
           "s = in[i]; u = int(lane);\nint x = 0;\n"
           "if (lane % 4 != 2) x = simd_shuffle_xor(own, 1);\n"
           "out[i * 4] = n; out[i * 4 + 1] = x; out[i * 4 + 2] = own; out[i * 4 + 3] = m;\n";
}

std::string silent_block(const std::string &code) {
    return "int s = 0, t = 0;\n{" + code + "}\nt = simd_sum(1) + 100 * quad_sum(1);\nif (lane % 8 < 4) {\n{" + code +
           "}\nt += 1000 * simd_sum(1);\n}\nt += 100000 * simd_sum(1);\nout[i] = s < 0 ? in[i] : t;\n";
}

std::vector<int> run(metal_program &program, const char *name, std::vector<int> in) {
    std::vector<int> out(in.size());
    CHECK(launch(program.kernel(name)).buffer(0, in).buffer(1, out).run({uint32_t(in.size())}, {64}).empty());
    return out;
}

/* What the blocks of kernels give that are run one after the other, each with an `out` of its own. Kernels of eight
 * take half of the time that one for each block would. */
std::vector<std::vector<int>> run_blocks(const std::string &declarations, const std::vector<std::string> &blocks,
                                         std::vector<int> in, std::size_t outputs) {
    constexpr std::size_t most = 8;
    const std::size_t length = in.size() * outputs;
    std::string source = declarations;
    for (std::size_t k = 0; k < blocks.size(); ++k) {
        if (k % most == 0)
            source += "kernel void blocks" + std::to_string(k / most) +
                      "(device const int *in [[buffer(0)]], device int *out [[buffer(1)]], "
                      "uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {\n";
        source += "{\n" + blocks[k] + "}\nout += " + std::to_string(length) + ";\n";
        if (k % most == most - 1 || k == blocks.size() - 1) source += "}\n";
    }
    metal_program program(source);
    std::vector<std::vector<int>> results;
    for (std::size_t first = 0; first < blocks.size(); first += most) {
        const std::size_t count = std::min(most, blocks.size() - first);
        std::vector<int> out(length * count);
        launch work(program.kernel("blocks" + std::to_string(first / most)));
        CHECK(work.buffer(0, in).buffer(1, out).run({uint32_t(in.size())}, {64}).empty());
        for (std::size_t k = 0; k < count; ++k)
            results.emplace_back(out.data() + length * k, out.data() + length * (k + 1));
    }
    return results;
}

void check_operands(const std::vector<int> &in) {
    std::vector<std::string> operands = computed, blocks;
    operands.insert(operands.end(), uncomputed.begin(), uncomputed.end());
    for (const std::string &operand : operands) blocks.push_back(operand_block(operand));
    const std::vector<std::vector<int>> results = run_blocks(operand_declarations, blocks, in, 4);
    for (std::size_t k = 0; k < operands.size(); ++k) {
        const std::vector<int> &out = results[k];
        bool right = true;
        for (std::size_t i = 0; i < in.size(); ++i) {
            const bool taken = k < computed.size() || i % 4 != 3;
            right = right && out[i * 4] == (taken ? out[i * 4 + 1] : out[i * 4 + 2]);
        }
        if (!CHECK(right)) std::printf("%s\n", operands[k].c_str());
    }
}

}  // namespace

int main() {
    metal_program program(source);
    std::vector<int> in(128), sums(128), changed(128);
    for (uint32_t i = 0; i < 128; ++i) {
        in[i] = int(i * 7 % 13 + 1);
        sums[i] = in[i] + (i % 32 ? sums[i - 1] : 0);
    }
    CHECK(run(program, "scan", in) == sums);
    CHECK(run(program, "scan_in_function", in) == sums);
    for (uint32_t i = 0; i < 128; ++i) changed[i] = 2 * (in[i] + (i % 32 ? in[i - 1] : 0));
    for (uint32_t i = 128; i-- > 0;) changed[i] += i % 32 >= 2 ? changed[i - 2] : 5;
    CHECK(run(program, "scan_and_change", in) == changed);
    const std::vector<int> after = run(program, "after_loop", in), branches = run(program, "in_branches", in);
    for (uint32_t i = 0; i < 128; ++i) {
        int s = 0;
        for (int n = 0; n < int(i % 4); ++n) s += 8 * (3 - n);
        CHECK(after[i] == s + 32000);
        CHECK(branches[i] == in[i ^ 1] + (i % 2 ? 100 : 0));
    }
    const std::vector<int> masks = run(program, "keep_mask", in);
    for (uint32_t i = 0; i < 128; ++i) CHECK(masks[i] == (i % 2 == 0 && i >= 4));
    const std::vector<int> stored = run(program, "after_stores", in), moved = run(program, "shift_in_loop", in),
                           chosen = run(program, "shift_by_choice", in), compared = run(program, "compare", in);
    for (uint32_t i = 0; i < 128; ++i) {
        CHECK(stored[i] == int(i % 32 + 1));
        CHECK(moved[i] == (i % 32 == 31 ? 0 : i % 2 == 0 ? std::min(3, int(31 - i % 32)) : 2));
        const auto low = [&](uint32_t at) { return int(in[at] < int(at % 32)); };
        const auto high = [&](uint32_t at) { return int(in[at] > int(at % 32)); };
        CHECK(compared[i] == (i % 2 ? low(i ^ 1) + 2 * high(i ^ 1) : 0) + low(i) +
                                 (i % 4 > 1 ? 4 * low(i ^ 2) + 8 * high(i ^ 2) + 16 * in[i ^ 2] : 0));
        CHECK(chosen[i] == in[i] << (i % 2 ? 4 : 2) >> (i % 32 > 3));
    }
    const std::vector<int> swizzles = run(program, "swizzle", in);
    for (uint32_t i = 0; i < 128; ++i)
        CHECK(swizzles[i] == int(6 * (i % 4)) + (i % 2 ? in[i ^ 2] * in[i ^ 2] + 2 * in[i / 32 * 32 + 1] : 0) + 4);
    std::vector<std::string> blocks;
    for (const std::string &code : silent) blocks.push_back(silent_block(code));
    const std::vector<std::vector<int>> silently = run_blocks(silent_function, blocks, in, 1);
    for (std::size_t k = 0; k < silent.size(); ++k) {
        bool together = true;
        for (uint32_t i = 0; i < 128; ++i) together = together && silently[k][i] == 3200432 + (i % 8 < 4 ? 16000 : 0);
        if (!CHECK(together)) std::printf("%s\n", silent[k].c_str());
    }
    check_operands(in);
    return check::report("engine/divergence_test");
}
