// Results of halves and bfloats that are rounded once, and sums of squares that halves cannot hold on the way.
#include <bit>
#include <cmath>
#include <cstdlib>
#include <random>
#include <vector>

#include "check.h"
#include "metal_program.h"

namespace {

struct format {
    const char *name;
    bool half;
    int infinity; /* its bits */

    double value(int bits) const {
        return half ? double(std::bit_cast<_Float16>(uint16_t(bits))) : double(std::bit_cast<float>(bits << 16));
    }
    // What would follow the largest number if there were more exponents.
    double bound(int bits) const {
        return bits < infinity ? value(bits) : 2 * value(infinity - 1) - value(infinity - 2);
    }
    // The bits of what is nearest to `sum + error`, the last bit even if two are. The error is less than the sum's own
    // digits: it decides only where the sum is a midpoint.
    int nearest(double sum, double error) const {
        const int sign = std::signbit(sum) ? 0x8000 : 0;
        if (sign) sum = -sum, error = -error;
        int below = 0, above = infinity;
        while (above - below > 1) {
            const int middle = (below + above) / 2;
            (value(middle) <= sum ? below : above) = middle;
        }
        const double midpoint = (bound(below) + bound(below + 1)) / 2;
        const bool up = sum != midpoint ? sum > midpoint : error != 0 ? error > 0 : (below & 1) != 0;
        return sign | (below + up);
    }
    int fma(int x, int y, int z) const {
        const double product = value(x) * value(y), addend = value(z), sum = product + addend, added = sum - product;
        return nearest(sum, (product - (sum - added)) + (addend - added));
    }
};

const format formats[] = {{"half", true, 0x7c00}, {"bfloat", false, 0x7f80}};

// Random bits, and addends that are as large as the product or smaller by up to 48 bits.
std::vector<uint16_t> triples(const format &type, size_t count, uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<uint16_t> bits(3 * count);
    for (size_t i = 0; i < count; ++i) {
        const auto some = uint32_t(random()), more = uint32_t(random());
        bits[3 * i] = uint16_t(some), bits[3 * i + 1] = uint16_t(some >> 16), bits[3 * i + 2] = uint16_t(more);
        const double product = std::fabs(type.value(bits[3 * i]) * type.value(bits[3 * i + 1]));
        if (i % 2 == 0 || !(product < type.bound(type.infinity))) continue;
        const int size = type.nearest(std::ldexp(product, -int(more >> 16) % 49), 0);
        bits[3 * i + 2] = uint16_t((size ^ int(more & 7)) | int(more & 0x8000));
    }
    return bits;
}

void test_fma(const format &type, smtl_math_mode mode, uint32_t seed) {
    const std::string name = type.name;
    metal_program program("kernel void run(device const packed_" + name + "3 *x, device " + name + "2 *y, uint i " +
                              "[[thread_position_in_grid]]) {\n" + name + "3 v = x[i];\n" + "y[i] = " + name +
                              "2(fma(v.x, v.y, v.z), fma(" + name + "4(v.x), " + name + "4(v.y), " + name +
                              "4(v.z)).w);\n}\n",
                          mode);
    constexpr size_t count = size_t(1) << 20;
    int wrong = 0;
    std::vector<uint16_t> x = triples(type, count, seed), y(2 * count);
    if (!CHECK(launch(program.kernel("run")).buffer(0, x).buffer(1, y).run({count}, {256}).empty())) return;
    for (size_t i = 0; i < count; ++i) {
        const double exact = type.value(x[3 * i]) * type.value(x[3 * i + 1]) + type.value(x[3 * i + 2]);
        const int wanted = type.fma(x[3 * i], x[3 * i + 1], x[3 * i + 2]);
        for (size_t k = 0; k < 2; ++k) {
            const int got = y[2 * i + k];
            if (std::isnan(exact) ? std::isnan(type.value(got)) : got == wanted) continue;
            // The fast mode ignores the sign of zero.
            if (mode == SMTL_MATH_FAST && ((got | wanted) & 0x7fff) == 0) continue;
            if (++wrong <= 5)
                std::fprintf(stderr, "%s: fma(%04x, %04x, %04x) is %04x, not %04x\n", type.name, x[3 * i], x[3 * i + 1],
                             x[3 * i + 2], unsigned(got), unsigned(wanted));
        }
    }
    CHECK(wrong == 0);
}

// Neither the square of a component nor a difference fits into a half where the result does.
void test_lengths() {
    metal_program program(R"(
kernel void run(device float *out) {
    const half3 a(3000, 4000, 0), tiny(half(3.0f / 65536), half(4.0f / 65536), 0);
    out[0] = length(a), out[1] = distance(a, -a), out[2] = normalize(a).y, out[3] = length(tiny), out[4] = normalize(tiny).x;
    out[5] = dot(half2(300, 300), half2(300, -299)), out[6] = distance(half2(60000, 0), half2(-5000, 0));
    out[7] = cross(half3(300, 400, 0), half3(300, 400.5h, 0)).z;
    out[8] = reflect(half2(300, 0), half2(300, 0) / 300).x, out[9] = reflect(half2(200, 0), half2(10, 0)).x;
    out[10] = distance_squared(half2(300, 3), half2(100, 0)), out[11] = faceforward(a, a, -a).x;
    out[12] = refract(half2(0, -1), half2(0, 1), 0.5h).y, out[13] = length(bfloat2(3e18bf, 4e18bf));
    out[14] = (half2x2(half2(300), half2(300)) * half2(300, -299)).x;
}
)");
    std::vector<float> out(15);
    CHECK(launch(program.kernel("run")).buffer(0, out).run({1}, {1}).empty());
    const float wanted[15] = {5000, 10000,  0.8f,  5.0f / 65536, 0.6f, 300,   64992, 150,
                              -300, -39800, 40009, 3000,         -1,   5e18f, 300};
    for (size_t i = 0; i < 15; ++i) {
        const float tolerance = std::fabs(wanted[i]) * (i == 13 ? 0x1p-8f : 0x1p-11f) + (i == 3 ? 0x1p-25f : 0.0f);
        if (!CHECK(std::fabs(out[i] - wanted[i]) <= tolerance))
            std::fprintf(stderr, "result %zu is %g, not %g\n", i, double(out[i]), double(wanted[i]));
    }
}

}  // namespace

// `rounding_test N` tries N times as many numbers.
int main(int count, char **arguments) {
    const uint32_t rounds = count > 1 ? uint32_t(std::strtoul(arguments[1], nullptr, 10)) : 1;
    for (uint32_t seed = 1; seed <= 2 * rounds; ++seed)
        for (const format &type : formats) test_fma(type, seed % 2 ? SMTL_MATH_SAFE : SMTL_MATH_FAST, seed);
    test_lengths();
    return check::report("msl/numbers/rounding_test");
}
