// Powers whose exponents or bases the compiler knows, in both modes of mathematics: what it makes of them has to keep
// their range and their exactness.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "check.h"
#include "metal_program.h"

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
const std::vector<float> exponents = {-20.5f, -4.5f, -3.5f, -2.5f, -1.5f, -0.5f, 0.5f, 1.5f,
                                      2.5f,   3.5f,  20.5f, -3.0f, 0.0f,  2.0f,  3.0f, 0.75f};
const std::vector<float> bases = {0.0f, 1e-30f, 1e-20f, 1e-13f, 1e-8f, 0.3f,     1.0f,
                                  2.0f, 70.0f,  1e8f,   1e13f,  1e20f, infinity, -infinity};
const std::vector<float> constant_bases = {0.015625f, 0.125f, 0.5f,   0.75f,    1.0f,          2.0f,
                                           3.0f,      8.0f,   128.0f, 32768.0f, 2147483648.0f, 1e10f};

std::string source() {
    std::string text;
    for (const char *function : {"pow", "powr", "precise::pow"}) {
        std::string name = function;
        name = name.substr(name.rfind(':') + 1) + (name.size() > 4 ? "_precise" : "");
        text +=
            "kernel void " + name + "s(device float *y, device const float *x, uint i [[thread_position_in_grid]]) {\n";
        for (std::size_t k = 0; k < exponents.size(); ++k)
            text += "    y[i * " + std::to_string(exponents.size()) + " + " + std::to_string(k) + "] = " + function +
                    "(x[i], " + std::to_string(exponents[k]) + "f);\n";
        text += "}\n";
        text += "kernel void " + name +
                "_of(device float *y, device const float *x, uint i "
                "[[thread_position_in_grid]]) {\n";
        for (std::size_t k = 0; k < constant_bases.size(); ++k)
            text += "    y[i * " + std::to_string(constant_bases.size()) + " + " + std::to_string(k) +
                    "] = " + function + "(" + std::to_string(constant_bases[k]) + "f, x[i]);\n";
        text += "}\n";
    }
    return text;
}

bool is_power(float value, float base, float exponent) {
    const double exact = std::pow(double(base), double(exponent));
    const float rounded = float(exact);
    // The specification allows 16 units in the last place.
    const double tolerance = std::fmax(32 * 0x1p-24 * std::fabs(exact), 0x1p-126);
    return std::isfinite(rounded) ? std::fabs(value - exact) <= tolerance : value == rounded;
}

void test_powers(smtl_math_mode mode) {
    metal_program program(source(), mode);
    for (const char *kernel : {"pows", "powrs", "pow_precises"}) {
        std::vector<float> results(bases.size() * exponents.size()), x = bases;
        const std::string error =
            launch(program.kernel(kernel)).buffer(0, results).buffer(1, x).run({std::uint32_t(bases.size())}, {1});
        CHECK(error.empty());
        for (std::size_t i = 0; i < results.size(); ++i) {
            const float base = bases[i / exponents.size()], exponent = exponents[i % exponents.size()];
            if (!CHECK(is_power(results[i], base, exponent)))
                std::fprintf(stderr, "%s(%g, %g) is %g\n", kernel, base, exponent, results[i]);
        }
    }
}

void test_constant_bases(smtl_math_mode mode) {
    metal_program program(source(), mode);
    std::vector<float> x = {-infinity, -0.0f, infinity};
    for (int k = -1200; k <= 1200; ++k) x.push_back(float(k) * 0.11803399f);
    for (const char *kernel : {"pow_of", "powr_of", "pow_precise_of"}) {
        std::vector<float> results(x.size() * constant_bases.size());
        const std::string error =
            launch(program.kernel(kernel)).buffer(0, results).buffer(1, x).run({std::uint32_t(x.size())}, {32});
        CHECK(error.empty());
        for (std::size_t i = 0; i < results.size(); ++i) {
            const float base = constant_bases[i % constant_bases.size()], exponent = x[i / constant_bases.size()];
            if (!CHECK(is_power(results[i], base, exponent)))
                std::fprintf(stderr, "%s(%g, %g) is %g\n", kernel, base, exponent, results[i]);
        }
    }
}

}  // namespace

int main() {
    for (const smtl_math_mode mode : {SMTL_MATH_SAFE, SMTL_MATH_FAST}) {
        test_powers(mode);
        test_constant_bases(mode);
    }
    return check::report("msl/numbers/powers_test");
}
