// The mathematical functions of the standard library against the host's in double precision.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "check.h"
#include "metal_program.h"

namespace {

using unary = std::function<double(double)>;
using binary = std::function<double(double, double)>;

struct unary_case {
    const char *name;
    unary reference;
    double low, high;
    double tolerance;  // in units of the last place, or of 2^-23 for results below one where `absolute`
    bool absolute = false;
};

constexpr double pi = 3.14159265358979323846;

// Computed from what is left of whole turns, which is exact.
double sinpi(double x) {
    const double turn = std::remainder(x, 2), y = std::fabs(turn) > 0.5 ? 1 - std::fabs(turn) : std::fabs(turn);
    return std::copysign(y <= 0.25 ? std::sin(pi * y) : std::cos(pi * (0.5 - y)), turn);
}

const std::vector<unary_case> unary_cases = {
    {"acos", [](double x) { return std::acos(x); }, -1, 1, 4},
    {"acosh", [](double x) { return std::acosh(x); }, 1, 1e6, 4},
    {"asin", [](double x) { return std::asin(x); }, -1, 1, 4},
    {"asinh", [](double x) { return std::asinh(x); }, -1e3, 1e3, 4},
    {"atan", [](double x) { return std::atan(x); }, -1e3, 1e3, 4},
    {"atanh", [](double x) { return std::atanh(x); }, -0.99, 0.99, 5},
    {"ceil", [](double x) { return std::ceil(x); }, -1e4, 1e4, 0},
    {"cos", [](double x) { return std::cos(x); }, -100, 100, 4, true},
    {"cosh", [](double x) { return std::cosh(x); }, -80, 80, 4},
    {"cospi", [](double x) { return sinpi(x + 0.5); }, -64, 64, 4},
    {"exp", [](double x) { return std::exp(x); }, -103, 88.7, 2},
    {"exp2", [](double x) { return std::exp2(x); }, -149, 127.9, 2},
    {"exp10", [](double x) { return std::pow(10.0, x); }, -37, 38, 4},
    {"fabs", [](double x) { return std::fabs(x); }, -10, 10, 0},
    {"abs", [](double x) { return std::fabs(x); }, -10, 10, 0},
    {"floor", [](double x) { return std::floor(x); }, -1e4, 1e4, 0},
    {"fract", [](double x) { return x - std::floor(x); }, -100, 100, 4, true},
    {"log", [](double x) { return std::log(x); }, 1e-30, 1e30, 4},
    {"log2", [](double x) { return std::log2(x); }, 1e-30, 1e30, 4},
    {"log10", [](double x) { return std::log10(x); }, 1e-30, 1e30, 4},
    {"rint", [](double x) { return std::nearbyint(x); }, -1e4, 1e4, 0},
    {"round", [](double x) { return std::round(x); }, -1e4, 1e4, 0},
    {"rsqrt", [](double x) { return 1 / std::sqrt(x); }, 1e-30, 1e30, 0.5},
    {"saturate", [](double x) { return std::fmin(std::fmax(x, 0), 1); }, -2, 3, 0},
    {"sign", [](double x) { return x > 0   ? 1.0
                                   : x < 0 ? -1.0
                                           : 0.0; }, -2, 2, 0},
    {"sin", [](double x) { return std::sin(x); }, -100, 100, 4, true},
    {"sinh", [](double x) { return std::sinh(x); }, -80, 80, 4},
    {"sinpi", sinpi, -64, 64, 4},
    {"sqrt", [](double x) { return std::sqrt(x); }, 0, 1e30, 0.5},
    {"tan", [](double x) { return std::tan(x); }, -1.5, 1.5, 6},
    {"tanh", [](double x) { return std::tanh(x); }, -12, 12, 5},
    {"tanpi", [](double x) { return sinpi(x) / sinpi(x + 0.5); }, -64, 64, 6},
    {"trunc", [](double x) { return std::trunc(x); }, -1e4, 1e4, 0},
};

// Those that put their result together from factors.
const char *const scaled[] = {"exp", "exp2", "exp10", "cosh", "sinh"};

struct binary_case {
    const char *name;
    binary reference;
    double low, high;
    double tolerance;
};

const std::vector<binary_case> binary_cases = {
    {"atan2", [](double x, double y) { return std::atan2(x, y); }, -10, 10, 6},
    {"copysign", [](double x, double y) { return std::copysign(x, y); }, -10, 10, 0},
    {"divide", [](double x, double y) { return x / y; }, 1, 100, 0.5},
    {"fdim", [](double x, double y) { return std::fdim(x, y); }, -10, 10, 0.5},
    {"fmax", [](double x, double y) { return std::fmax(x, y); }, -10, 10, 0},
    {"fmin", [](double x, double y) { return std::fmin(x, y); }, -10, 10, 0},
    {"fmod", [](double x, double y) { return std::fmod(x, y); }, 1, 100, 0},
    {"max", [](double x, double y) { return std::fmax(x, y); }, -10, 10, 0},
    {"min", [](double x, double y) { return std::fmin(x, y); }, -10, 10, 0},
    {"pow", [](double x, double y) { return std::pow(x, y); }, 0.01, 8, 16},
    {"powr", [](double x, double y) { return std::pow(x, y); }, 0.01, 8, 16},
    {"step", [](double edge, double x) { return x < edge ? 0.0 : 1.0; }, -10, 10, 0},
};

// How far `got` is from `wanted`, in units of the last place of the nearest float (or of a given precision).
double error_in_ulps(double got, double wanted, int digits, bool absolute) {
    if (std::isnan(wanted)) return std::isnan(got) ? 0 : INFINITY;
    if (got == wanted) return 0;
    int exponent = 0;
    std::frexp(wanted, &exponent);
    const int lowest = digits == 24 ? -125 : -13;
    if (exponent < lowest) exponent = lowest;
    if (absolute && exponent < 1) exponent = 1;
    return std::fabs(got - wanted) / std::ldexp(1.0, exponent - digits);
}

// Points all over [low, high], on a logarithmic scale where that spans many magnitudes.
std::vector<float> points(double low, double high, size_t count) {
    std::vector<float> values(count);
    for (size_t i = 0; i < count; ++i) {
        const double t = double(i * 2654435761u % count) / double(count - 1);
        values[i] = float(low > 0 && high / low > 1e6 ? low * std::pow(high / low, t) : low + (high - low) * t);
    }
    return values;
}

constexpr size_t point_count = 4096;

std::string source() {
    std::string text;
    for (const char *type : {"float", "half"}) {
        const std::string t = type;
        text += "kernel void unary_" + t + "(device const " + t + " *x, device " + t +
                " *y, uint i [[thread_position_in_grid]]) {\n";
        for (size_t k = 0; k < unary_cases.size(); ++k) {
            const std::string at = std::to_string(k * point_count) + " + i";
            text += "  y[" + at + "] = " + unary_cases[k].name + "(x[" + at + "]);\n";
        }
        text += "}\n";
    }
    text +=
        "kernel void unary_float4(device const float4 *x, device float4 *y, uint i [[thread_position_in_grid]]) {\n";
    for (size_t k = 0; k < unary_cases.size(); ++k) {
        const std::string at = std::to_string(k * point_count / 4) + " + i";
        text += "  y[" + at + "] = " + unary_cases[k].name + "(x[" + at + "]);\n";
    }
    text +=
        "}\nkernel void binary_float(device const float *a, device const float *b, device float *y, uint i [[thread_position_in_grid]]) {\n";
    for (size_t k = 0; k < binary_cases.size(); ++k) {
        const std::string at = std::to_string(k * point_count) + " + i";
        text += "  y[" + at + "] = " + binary_cases[k].name + "(a[" + at + "], b[" + at + "]);\n";
    }
    return text + "}\n" + R"(
kernel void special(device const float *x, device float *y, device int *n, uint i [[thread_position_in_grid]]) {
    const float v = x[i];
    y[8 * i + 0] = exp(v);
    y[8 * i + 1] = exp2(v);
    y[8 * i + 2] = tanh(v);
    y[8 * i + 3] = max(v, 1.0f);
    y[8 * i + 4] = min(v, 1.0f);
    y[8 * i + 5] = sqrt(v);
    y[8 * i + 6] = precise::exp(v) - fast::exp(v);
    y[8 * i + 7] = clamp(v, -2.0f, 2.0f);
    n[i] = int(isnan(v)) + 2 * int(isinf(v)) + 4 * int(isfinite(v)) + 8 * int(signbit(v)) + 16 * int(isnormal(v));
}
kernel void split(device const float *x, device float *y, device int *e, uint i [[thread_position_in_grid]]) {
    float whole, cosine;
    int exponent;
    y[6 * i + 0] = modf(x[i], whole);
    y[6 * i + 1] = whole;
    y[6 * i + 2] = frexp(x[i], exponent);
    y[6 * i + 3] = ldexp(x[i], 3);
    y[6 * i + 4] = sincos(x[i], cosine);
    y[6 * i + 5] = cosine;
    e[2 * i] = exponent;
    e[2 * i + 1] = ilogb(x[i]);
}
kernel void three(device const float3 *v, device float *y, uint i [[thread_position_in_grid]]) {
    const float a = v[i].x, b = v[i].y, c = v[i].z;
    y[8 * i + 0] = fma(a, b, c);
    y[8 * i + 1] = mix(a, b, c);
    y[8 * i + 2] = clamp(a, min(b, c), max(b, c));
    y[8 * i + 3] = median3(a, b, c);
    y[8 * i + 4] = max3(a, b, c) - min3(a, b, c);
    y[8 * i + 5] = smoothstep(min(a, b), max(a, b) + 1.0f, c);
    y[8 * i + 6] = dot(v[i], v[i].zxy);
    y[8 * i + 7] = length(cross(v[i], v[i].yzx));
}
)";
}

void run(metal_program &program, const char *kernel, std::vector<std::pair<void *, size_t>> buffers, uint32_t threads) {
    launch work(program.kernel(kernel));
    for (uint32_t i = 0; i < buffers.size(); ++i) work.bytes(i, buffers[i].first, buffers[i].second);
    const std::string error = work.run({threads, 1, 1}, {64, 1, 1});
    if (!CHECK(error.empty())) std::fprintf(stderr, "%s: %s\n", kernel, error.c_str());
}

template <class T> std::pair<void *, size_t> buffer(std::vector<T> &values) {
    return {values.data(), values.size() * sizeof(T)};
}

void check_close(const char *name, double got, double wanted, double tolerance, int digits, bool absolute, double x) {
    const double error = error_in_ulps(got, wanted, digits, absolute);
    if (!CHECK(error <= tolerance) && check::failed <= 20)
        std::fprintf(stderr, "  %s(%.9g) = %.9g, wanted %.9g: %.1f ulp\n", name, x, got, wanted, error);
}

// `slack`: how many times the tolerance is allowed.
void test_unary(metal_program &program, double slack = 1) {
    std::vector<float> x, y(unary_cases.size() * point_count), y4(y.size());
    for (const unary_case &test : unary_cases) {
        const std::vector<float> values = points(test.low, test.high, point_count);
        x.insert(x.end(), values.begin(), values.end());
    }
    run(program, "unary_float", {buffer(x), buffer(y)}, point_count);
    run(program, "unary_float4", {buffer(x), buffer(y4)}, point_count / 4);
    for (size_t k = 0; k < unary_cases.size(); ++k) {
        const unary_case &test = unary_cases[k];
        for (size_t i = k * point_count; i < (k + 1) * point_count; ++i) {
            check_close(test.name, y[i], test.reference(x[i]), slack * test.tolerance + 0.5, 24, test.absolute, x[i]);
            // Vectors may differ from scalars only by contraction.
            check_close(test.name, y4[i], test.reference(x[i]), slack * test.tolerance + 0.5, 24, test.absolute, x[i]);
        }
    }
}

void test_unary_half(metal_program &program) {
    std::vector<float> x;
    for (const unary_case &test : unary_cases) {
        const std::vector<float> values = points(test.low, test.high, point_count);
        x.insert(x.end(), values.begin(), values.end());
    }
    std::vector<_Float16> hx(x.size()), hy(x.size());
    for (size_t i = 0; i < x.size(); ++i) hx[i] = _Float16(x[i]);
    run(program, "unary_half", {buffer(hx), buffer(hy)}, point_count);
    for (size_t k = 0; k < unary_cases.size(); ++k) {
        for (size_t i = k * point_count; i < (k + 1) * point_count; ++i) {
            const double wanted = unary_cases[k].reference(double(hx[i]));
            // A result that a half cannot hold is infinite or, at the edge of rounding, the largest half.
            if (std::isnan(wanted) || std::fabs(wanted) >= 65504) continue;
            check_close(unary_cases[k].name, double(hy[i]), wanted, 1.0, 11, unary_cases[k].absolute, double(hx[i]));
        }
    }
}

void test_binary(metal_program &program) {
    std::vector<float> a, b, y(binary_cases.size() * point_count);
    for (const binary_case &test : binary_cases) {
        std::vector<float> values = points(test.low, test.high, point_count);
        a.insert(a.end(), values.begin(), values.end());
        for (size_t i = 0; i < point_count; ++i) b.push_back(values[i * 40503u % point_count]);
    }
    run(program, "binary_float", {buffer(a), buffer(b), buffer(y)}, point_count);
    for (size_t k = 0; k < binary_cases.size(); ++k) {
        for (size_t i = k * point_count; i < (k + 1) * point_count; ++i) {
            check_close(binary_cases[k].name, y[i], binary_cases[k].reference(a[i], b[i]),
                        binary_cases[k].tolerance + 0.5, 24, false, a[i]);
        }
    }
}

void test_special(metal_program &program) {
    const float infinity = std::numeric_limits<float>::infinity();
    const float nan = std::numeric_limits<float>::quiet_NaN();
    std::vector<float> x = {infinity, -infinity, nan, 0.0f, -0.0f, 1e-42f, 200.0f, -200.0f};
    std::vector<float> y(8 * x.size());
    std::vector<int> n(x.size());
    run(program, "special", {buffer(x), buffer(y), buffer(n)}, uint32_t(x.size()));
    const auto same = [](float got, double wanted) {
        return std::isnan(wanted) ? std::isnan(got) : got == float(wanted);
    };
    for (size_t i = 0; i < x.size(); ++i) {
        const double v = x[i];
        CHECK(same(y[8 * i + 0], float(std::exp(v))));
        CHECK(same(y[8 * i + 1], float(std::exp2(v))));
        CHECK(same(y[8 * i + 2], float(std::tanh(v))));
        CHECK(same(y[8 * i + 3], std::fmax(v, 1.0)));
        CHECK(same(y[8 * i + 4], std::fmin(v, 1.0)));
        CHECK(same(y[8 * i + 5], float(std::sqrt(v))));
        CHECK(std::isfinite(std::exp(float(v))) ? y[8 * i + 6] == 0 : std::isnan(y[8 * i + 6]));
        if (!std::isnan(v)) CHECK(same(y[8 * i + 7], std::fmin(std::fmax(v, -2), 2)));
        const int classes = int(std::isnan(v)) + 2 * int(std::isinf(v)) + 4 * int(std::isfinite(v)) +
                            8 * int(std::signbit(v)) + 16 * int(std::isnormal(float(v)));
        CHECK(n[i] == classes);
    }
}

// Fast math moves a caller's factors into what the library computes: no overflow and no underflow may be lost by that.
// Only in a kernel of its own does the compiler bring the negation to the factors.
void test_scaled() {
    std::string text;
    for (const char *name : scaled) {
        const std::string call = std::string(name) + "(fabs(v))";
        text += "kernel void scaled_" + std::string(name) +
                "(device const float *x, device float *y, uint i [[thread_position_in_grid]]) {\n" +
                "  float v = x[i], r, b = 32.0f / fabs(v), p = b * 0.5f;\n" + "  if (fabs(v) <= 8.0f) r = v;\n" +
                "  else if (v < 0.0f) r = -(" + call + " * (b - p));\n  else r = " + call +
                " * (b - p);\n  y[i] = r;\n}\n";
    }
    metal_program program(text, SMTL_MATH_FAST);
    const float infinity = std::numeric_limits<float>::infinity();
    std::vector<float> x = {-400, 400, -130, 130, -88.8f, 88.8f, -30, 30, -10, 10, -infinity, infinity, 1.5f, -1.5f};
    std::vector<float> y(x.size());
    for (const char *name : scaled) {
        const auto function = std::find_if(unary_cases.begin(), unary_cases.end(),
                                           [&](const unary_case &one) { return std::strcmp(one.name, name) == 0; });
        run(program, ("scaled_" + std::string(name)).c_str(), {buffer(x), buffer(y)}, uint32_t(x.size()));
        for (size_t i = 0; i < x.size(); ++i) {
            const float v = std::fabs(x[i]), product = float(function->reference(v)) * (16 / v);
            const float wanted = v <= 8 ? x[i] : x[i] < 0 ? -product : product;
            const bool same = std::isnan(wanted) ? std::isnan(y[i]) : y[i] == wanted;
            if (!CHECK(same || std::fabs(y[i] - wanted) <= 1e-5f * std::fabs(wanted)))
                std::fprintf(stderr, "%s: of %g %g, not %g\n", name, x[i], y[i], wanted);
        }
    }
}

void test_split(metal_program &program) {
    std::vector<float> x = {1.75f, -1.75f, 1000.125f, 0.03125f, -3.0f, INFINITY, -INFINITY};
    std::vector<float> y(6 * x.size());
    std::vector<int> e(2 * x.size());
    run(program, "split", {buffer(x), buffer(y), buffer(e)}, uint32_t(x.size()));
    for (size_t i = 0; i < x.size(); ++i) {
        float whole;
        int exponent;
        CHECK(y[6 * i] == std::modf(x[i], &whole) && std::signbit(y[6 * i]) == std::signbit(x[i]));
        CHECK(y[6 * i + 1] == whole);
        if (std::isinf(x[i])) continue;
        CHECK(y[6 * i + 2] == std::frexp(x[i], &exponent));
        CHECK(e[2 * i] == exponent);
        CHECK(e[2 * i + 1] == std::ilogb(x[i]));
        CHECK(y[6 * i + 3] == x[i] * 8);
        CHECK(std::fabs(y[6 * i + 4] - std::sin(double(x[i]))) < 1e-6);
        CHECK(std::fabs(y[6 * i + 5] - std::cos(double(x[i]))) < 1e-6);
    }
}

void test_three(metal_program &program) {
    const std::vector<float> a = points(-5, 5, 256);
    std::vector<float> v(4 * a.size()), y(8 * a.size());
    for (size_t i = 0; i < a.size(); ++i)
        v[4 * i] = a[i], v[4 * i + 1] = a[(i * 7 + 3) % a.size()], v[4 * i + 2] = a[(i * 13 + 5) % a.size()];
    run(program, "three", {buffer(v), buffer(y)}, uint32_t(a.size()));
    for (size_t i = 0; i < a.size(); ++i) {
        const double p = v[4 * i], q = v[4 * i + 1], r = v[4 * i + 2];
        const auto close = [&](int k, double wanted) {
            return std::fabs(y[8 * i + size_t(k)] - wanted) <= 1e-5 * (1 + std::fabs(wanted));
        };
        CHECK(y[8 * i] == float(std::fma(p, q, r)));
        CHECK(close(1, p + (q - p) * r));
        CHECK(close(2, std::fmin(std::fmax(p, std::fmin(q, r)), std::fmax(q, r))));
        CHECK(close(3, std::fmax(std::fmin(p, q), std::fmin(std::fmax(p, q), r))));
        CHECK(close(4, std::fmax(p, std::fmax(q, r)) - std::fmin(p, std::fmin(q, r))));
        const double low = std::fmin(p, q), high = std::fmax(p, q) + 1,
                     t = std::fmin(std::fmax((r - low) / (high - low), 0), 1);
        CHECK(close(5, t * t * (3 - 2 * t)));
        CHECK(close(6, p * r + q * p + r * q));
        const double cx = q * p - r * r, cy = r * q - p * p, cz = p * r - q * q;
        CHECK(close(7, std::sqrt(cx * cx + cy * cy + cz * cz)));
    }
}

// Scalars and vectors round alike: 17 - 1/32 is 17, and 17 * 69 is 1176.
void test_rounding() {
    for (const char *type : {"bfloat", "bfloat2", "half", "half3"}) {
        const std::string name = type;
        metal_program program("kernel void run(device float *x [[buffer(0)]]) {\n    const " + name + " a = " + name +
                              "(x[0]), b = " + name + "(x[1]), c = " + name + "(x[2]), d = a * (b - c);\n    x[3] = " +
                              (isdigit(name.back()) ? "d.y" : "d") + ";\n}\n");
        const bool bfloat = name[0] == 'b';
        std::vector<float> x = {bfloat ? 69.0f : 1025.0f, 17, bfloat ? 0.03125f : 0.005f, 0};
        CHECK(launch(program.kernel("run")).buffer(0, x).run({1}, {1}).empty());
        CHECK(x[3] == (bfloat ? 1176.0f : 17424.0f));
    }
}

}  // namespace

int main() {
    test_rounding();
    metal_program program(source());
    test_unary(program);
    test_unary_half(program);
    // Fast mathematics may round more, and may not turn numbers into infinities.
    metal_program fast(source(), SMTL_MATH_FAST);
    test_unary(fast, 8);
    test_binary(program);
    test_special(program);
    test_scaled();
    test_split(program);
    test_three(program);
    return check::report("msl/numbers/math_test");
}
