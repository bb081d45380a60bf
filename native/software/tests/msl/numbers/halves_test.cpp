// Every half and every bfloat, in functions whose results depend on what the type can hold, and the order of their
// arithmetic.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <vector>

#include "bfloats.h"
#include "check.h"
#include "metal_program.h"

namespace {

constexpr int results = 9;

const char *const kernel = R"(
kernel void run(device ushort *y, uint i [[thread_position_in_grid]]) {
    const T x = as_type<T>(ushort(i)), up = T(INFINITY);
    y += 9 * i;
    y[0] = as_type<ushort>(nextafter(x, up));
    y[1] = as_type<ushort>(nextafter(V(x), V(-up))[2]);
    y[2] = as_type<ushort>(nextafter(x, x - x));
    y[3] = as_type<ushort>(fract(x));
    y[4] = as_type<ushort>(fract(V(x))[1]);
    T whole, cosine;
    V wholes, cosines;
    y[5] = as_type<ushort>(modf(x, whole));
    y[6] = as_type<ushort>(modf(V(x), wholes)[2]);
    y[7] = as_type<ushort>(sincos(x, cosine));
    const V sines = sincos(V(x), cosines);
    y[8] = as_type<ushort>(cosine);
    if (any(wholes != V(whole) || sines != V(as_type<T>(y[7])) || cosines != V(cosine)) && isfinite(x)) y[5] = 1;
    if (isfinite(x) && whole != trunc(x)) y[6] = 1;
}
)";

struct format {
    bool half;
    int infinity, digits;

    double value(int bits) const {
        return half ? double(std::bit_cast<_Float16>(uint16_t(bits))) : double(std::bit_cast<float>(bits << 16));
    }
    // The numbers in their order, with zero in their middle.
    double number(int rank) const {
        rank = std::min(std::max(rank, -infinity), infinity);
        return value(rank < 0 ? -rank | 0x8000 : rank);
    }
};

// `got`: what the kernel made of the value with these bits.
void check_value(const format &type, int bits, const uint16_t *got) {
    const double x = type.value(bits);
    if (std::isnan(x)) {
        for (int k = 0; k < results; ++k) CHECK(std::isnan(type.value(got[k])));
        return;
    }
    const int magnitude = bits & 0x7fff, rank = bits == magnitude ? magnitude : -magnitude;
    CHECK(type.value(got[0]) == type.number(rank + 1));
    CHECK(type.value(got[1]) == type.number(rank - 1));
    for (int k = 5; k < 7; ++k) {
        double whole;
        CHECK(type.value(got[k]) == std::modf(x, &whole) && (got[k] & 0x8000) == (bits & 0x8000));
    }
    if (magnitude == type.infinity) {
        for (int k : {2, 3, 4, 7, 8}) CHECK(std::isnan(type.value(got[k])));
        return;
    }
    for (int k = 7; k < 9; ++k) {
        const double wanted = k == 7 ? std::sin(x) : std::cos(x);
        CHECK(std::fabs(type.value(got[k]) - wanted) <=
              1.01 * (std::ldexp(std::fabs(wanted), -type.digits) + type.value(1) / 2));
    }
    CHECK(type.value(got[2]) == type.number(rank - (rank > 0) + (rank < 0)));
    const double below_one = 1 - std::ldexp(1.0, -type.digits), part = type.value(got[3]);
    CHECK(part <= below_one && got[3] == got[4]);
    CHECK(std::fabs(part - std::fmin(x - std::floor(x), below_one)) <= 1.001 * std::ldexp(1.0, -type.digits - 1));
}

void test_every_value(const format &type) {
    const std::string names =
        type.half ? "using T = half;\nusing V = half3;\n" : "using T = bfloat;\nusing V = bfloat3;\n";
    metal_program program(names + kernel);
    std::vector<uint16_t> y(results << 16);
    if (!CHECK(launch(program.kernel("run")).buffer(0, y).run({1 << 16}, {64}).empty())) return;
    for (int bits = 0; bits < 1 << 16; ++bits) check_value(type, bits, &y[size_t(results * bits)]);
}

// Fast math rearranges floats, but not halves, which would overflow: each operation is rounded where it stands.
void test_order() {
    metal_program program(R"(
kernel void run(device half *y, device const half *x, constant half &shared, uint i [[thread_position_in_grid]]) {
    const half a = x[2 * i], b = x[2 * i + 1];
    y += 10 * i;
    y[0] = a * 256.0h * 256.0h;
    y[1] = a / b * 1000.0h;
    y[2] = (a / b) * (b / a);
    y[3] = 0.5h * a + 0.5h * b;
    y[4] = a / shared;
    y[5] = (b - a) / shared;
    y[6] = a / 1e-5h;
    y[7] = a / b / b;
    y[8] = a + b - b;
    y[9] = (half4(a) / half4(b) * half4(1000.0h))[2];
}
)",
                          SMTL_MATH_FAST);
    ;
    using half = _Float16;
    const auto times = [](half p, half q) { return half(float(p) * float(q)); };
    const auto over = [](half p, half q) { return half(float(p) / float(q)); };
    const auto plus = [](half p, half q) { return half(float(p) + float(q)); };
    const std::vector<float> numbers = {1e-5f, 3e-4f, 0.02f, 9, 49, 300, 1000, 40000, 60000};
    std::vector<half> x;
    for (float a : numbers)
        for (float b : numbers) x.insert(x.end(), {half(a), half(b)});
    for (half shared : {half(49), half(1e-5f), half(40000)}) {
        std::vector<half> y(5 * x.size());
        const auto threads = uint32_t(x.size() / 2);
        if (!CHECK(launch(program.kernel("run"))
                       .buffer(0, y)
                       .buffer(1, x)
                       .constant(2, shared)
                       .run({threads}, {32})
                       .empty()))
            return;
        for (size_t i = 0; i < threads; ++i) {
            const half a = x[2 * i], b = x[2 * i + 1], ratio = times(over(a, b), 1000);
            const half wanted[] = {times(times(a, 256), 256),
                                   ratio,
                                   times(over(a, b), over(b, a)),
                                   half(0.5f * float(a) + 0.5f * float(b)),
                                   over(a, shared),
                                   over(plus(b, -a), shared),
                                   over(a, half(1e-5f)),
                                   over(over(a, b), b),
                                   plus(plus(a, b), -b),
                                   ratio};
            for (size_t k = 0; k < 10; ++k) {
                const half got = y[10 * i + k];
                if (!CHECK(got == wanted[k] || (got != got && wanted[k] != wanted[k])))
                    std::fprintf(stderr, "%zu of %g and %g by %g: %g, not %g\n", k, double(a), double(b),
                                 double(shared), double(got), double(wanted[k]));
            }
        }
    }
}

// Numbers of bfloats overflow late, but keep 8 bits.
void test_order_of_bfloats() {
    metal_program program(R"(
kernel void run(device float *y, device const float *x, uint i [[thread_position_in_grid]]) {
    const bfloat a = bfloat(x[2 * i]), b = bfloat(x[2 * i + 1]);
    y += 3 * i;
    y[0] = a / b / b;
    y[1] = a + b - b;
    y[2] = a * 3.0bf * 5.0bf;
}
)",
                          SMTL_MATH_FAST);
    std::vector<float> x;
    for (float a : {3, 7, 49, 97, 113, 1000})
        for (float b : {3, 49, 89, 127, 30000}) x.insert(x.end(), {a, to_bfloat(b)});
    std::vector<float> y(3 * x.size() / 2);
    if (!CHECK(launch(program.kernel("run")).buffer(0, y).buffer(1, x).run({uint32_t(x.size() / 2)}, {30}).empty()))
        return;
    for (size_t i = 0; i < x.size() / 2; ++i) {
        const float a = x[2 * i], b = x[2 * i + 1];
        const float wanted[] = {to_bfloat(to_bfloat(a / b) / b), to_bfloat(to_bfloat(a + b) - b),
                                to_bfloat(to_bfloat(a * 3) * 5)};
        for (size_t k = 0; k < 3; ++k)
            if (!CHECK(y[3 * i + k] == wanted[k]))
                std::fprintf(stderr, "%zu of %g and %g: %g, not %g\n", k, a, b, y[3 * i + k], wanted[k]);
    }
}

}  // namespace

int main() {
    test_every_value({true, 0x7c00, 11});
    test_every_value({false, 0x7f80, 8});
    test_order();
    test_order_of_bfloats();
    return check::report("msl/numbers/halves_test");
}
