// Powers whose exponents the compiler knows, in both modes of mathematics: what it makes of them has to keep their
// range.
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
    }
    return text;
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
            const double exact = std::pow(double(base), double(exponent));
            const float rounded = float(exact);
            const double tolerance = std::fmax(32 * 0x1p-24 * std::fabs(exact), 0x1p-126);
            const bool right =
                std::isfinite(rounded) ? std::fabs(results[i] - exact) <= tolerance : results[i] == rounded;
            if (!CHECK(right))
                std::fprintf(stderr, "%s(%g, %g) is %g, not %g\n", kernel, base, exponent, results[i], exact);
        }
    }
}

}  // namespace

int main() {
    test_powers(SMTL_MATH_SAFE);
    test_powers(SMTL_MATH_FAST);
    return check::report("msl/powers_test");
}
