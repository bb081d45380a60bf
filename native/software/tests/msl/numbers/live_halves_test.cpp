// Comparisons of halves in a kernel with more of them than registers: clang must not swap the operands of one that
// reads a spilled half. Any change of the kernel, which a generator wrote, hides what clang 19 does with AVX512-FP16.
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "check.h"
#include "metal_program.h"

namespace {

constexpr size_t results = 38, watched = 7;
using half = _Float16;

const std::string source = R"(
kernel void k(device half *r, device const half *x, uint i [[thread_position_in_grid]]) {
    const half v = x[2 * i], w = x[2 * i + 1];
    r += 38 * i;
    r[0] = fmin(((fmax(step((0.0h), (0.0h)), w) < (isnan(step(w, v)) ? (255.0h) : clamp((-1.0h), 0.5h, 1.0h))) ? fmax(step((0.0h), (0.0h)), w) : (isnan(step(w, v)) ? (255.0h) : clamp((-1.0h), 0.5h, 1.0h))), w);
    r[1] = (-((isnan(w) ? w : v) * 2.0h));
    r[2] = (isnan(((v >= v) ? v : v)) ? w : fmax(w, v));
    r[3] = (!(((clamp((isnan(v) ? v : w), -1.0h, 5.0h) >= (fmin(w, v))) ? clamp((isnan(v) ? v : w), -1.0h, 5.0h) : (fmin(w, v))) != w) ? w : ((clamp((isnan(v) ? v : w), -1.0h, 5.0h) >= (fmin(w, v))) ? clamp((isnan(v) ? v : w), -1.0h, 5.0h) : (fmin(w, v))));
    r[4] = step(w, ((v == (0.0h)) ? v : (0.0h)));
    r[5] = (!(fmax(fmax(v, (255.0h)), v) == v) ? w : fmax(fmax(v, (255.0h)), v));
    r[6] = clamp((-((w >= w) ? w : w)), -1.0h, 2.0h);
    r[7] = clamp((!(sign(v) < (255.0h)) ? w : sign(v)), -5.0h, 1.0h);
    r[8] = saturate(((step(v, (!(v == v) ? w : v)) != (!((v) == (-1.0h)) ? w : (v))) ? step(v, (!(v == v) ? w : v)) : (!((v) == (-1.0h)) ? w : (v))));
    r[9] = fmax((((w) < w) ? (w) : w), (clamp(v, 1.0h, 5.0h) * 2.0h));
    r[10] = sign(fmin((v * 2.0h), (isinf(w) ? (-0.5h) : (-5.0h))));
    r[11] = (!(saturate(((fmax((-1.0h), w) != w) ? fmax((-1.0h), w) : w)) > w) ? v : saturate(((fmax((-1.0h), w) != w) ? fmax((-1.0h), w) : w)));
    r[12] = clamp((isnan(w) ? v : v), -5.0h, 0.0h);
    r[13] = clamp((w * 2.0h), 0.0h, 255.0h);
    r[14] = sign(fmin(v, v));
    r[15] = clamp(fmin((((!(v > w) ? (-5.0h) : v) <= w) ? v : (!(v > w) ? (-5.0h) : v)), v), 1.0h, 5.0h);
    r[16] = ((fmin(fmax(v, (5.0h)), w) < v) ? fmin((isnan((-1.0h)) ? w : w), v) : fmin(fmax(v, (5.0h)), w));
    r[17] = (isinf(fmax(fmin(w, (-1.0h)), w)) ? w : (isinf((-v)) ? ((v < (-0.5h)) ? v : (-0.5h)) : w));
    r[18] = fmax((-w), v);
    r[19] = ((isinf((-fmin(v, v))) ? w : step((0.0h), step(w, w))) * 2.0h);
    r[20] = (((fmax(w, v)) <= fmin(fmax(w, w), v)) ? (fmax(w, v)) : fmin(fmax(w, w), v));
    r[21] = fmax(fmax(w, w), (v));
    r[22] = (fmin(w, v));
    r[23] = ((fmin(fmin((255.0h), w), clamp((255.0h), -1.0h, -0.5h)) >= (!(((v != v) ? w : v) < (255.0h)) ? (!(v == v) ? v : v) : ((v != v) ? w : v))) ? fmin(fmin((255.0h), w), clamp((255.0h), -1.0h, -0.5h)) : (!(((v != v) ? w : v) < (255.0h)) ? (!(v == v) ? v : v) : ((v != v) ? w : v)));
    r[24] = (-clamp((-w), 0.5h, 5.0h));
    r[25] = (isnan((((isinf(fmax((2.0h), w)) ? w : clamp((2.0h), -1.0h, 2.0h)) != ((w))) ? ((((v > w) ? w : v) < fmax(w, w)) ? ((v > w) ? w : v) : fmax(w, w)) : (isinf(fmax((2.0h), w)) ? w : clamp((2.0h), -1.0h, 2.0h)))) ? w : (255.0h));
    r[26] = fmax(fmin(fmin(fmin((5.0h), w), (v * 2.0h)), fmax((!(v <= (-1.0h)) ? v : (-1.0h)), w)), ((fmax((v), clamp((255.0h), -0.5h, 255.0h)) > v) ? (((w <= v) ? (0.0h) : w)) : fmax((v), clamp((255.0h), -0.5h, 255.0h))));
    r[27] = step(w, clamp(w, -1.0h, 255.0h));
    r[28] = step(w, clamp((!(v < v) ? w : v), 1.0h, 2.0h));
    r[29] = (!((((-0.5h) == v) ? (-0.5h) : v) != w) ? sign(w) : (((-0.5h) == v) ? (-0.5h) : v));
    r[30] = step(w, (-(isinf(sign(w)) ? (-v) : (2.0h))));
    r[31] = fmax(step(w, (isinf(fmax((5.0h), v)) ? fmax((-1.0h), w) : w)), sign(((fmin((-5.0h), w) < w) ? fmin((-5.0h), w) : w)));
    r[32] = fmin((-(!(w >= (5.0h)) ? v : w)), w);
    r[33] = (((((0.5h) > w) ? (0.5h) : w) < (((2.0h) == v) ? w : (2.0h))) ? v : (((0.5h) > w) ? (0.5h) : w));
    r[34] = fmin((isnan((!((((-1.0h) <= w) ? (-1.0h) : w) == w) ? (((-1.0h) <= w) ? (-1.0h) : w) : w)) ? sign(clamp(v, -0.5h, 0.5h)) : fmin(clamp(w, 0.5h, 5.0h), (-(0.0h)))), w);
    r[35] = ((fmax(w, v) <= step(w, w)) ? ((v <= v) ? v : v) : fmax(w, v));
    r[36] = (isinf(fmax(fmax(step((-0.5h), w), v), v)) ? sign(((sign(v) < w) ? sign(v) : w)) : w);
    r[37] = clamp((step(v, (isnan((2.0h)) ? (255.0h) : v))), -5.0h, 255.0h);
}
)";

void test_watched() {
    metal_program program(source);
    const std::vector<float> numbers = {NAN, 0, 1, -1, 5, -5, 255, 0.5f, INFINITY, -INFINITY, 300, -300, -0.25f};
    std::vector<half> x;
    for (float v : numbers)
        for (float w : numbers) x.insert(x.end(), {half(v), half(w)});
    std::vector<half> y(results * x.size() / 2);
    if (!CHECK(launch(program.kernel("k")).buffer(0, y).buffer(1, x).run({uint32_t(x.size() / 2)}, {13}).empty()))
        return;
    for (size_t i = 0; i < x.size() / 2; ++i) {
        const auto v = float(x[2 * i]), w = float(x[2 * i + 1]);
        const float sign = std::isnan(v) ? 0 : float((v > 0) - (v < 0));
        // The clamp of a NaN is the least value.
        const float wanted = std::fmin(std::fmax(!(sign < 255) ? w : sign, -5.0f), 1.0f);
        const auto got = float(y[results * i + watched]);
        if (!CHECK(got == wanted)) std::fprintf(stderr, "of %g and %g: %g, not %g\n", v, w, got, wanted);
    }
}

}  // namespace

int main() {
    test_watched();
    return check::report("msl/numbers/live_halves_test");
}
