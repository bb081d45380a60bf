/* <simd/simd.h> of programs: components, geometry and matrices, through the functions of C and the names of C++.
 * tests/standalone/layouts.m tests that C takes them too, and that layouts are those of the shading language. */
#include "check.h"
#include <simd/simd.h>

#include <cmath>
#include <initializer_list>

namespace {

template <class Vector> bool near(Vector x, Vector y) { return simd_norm_inf(x - y) <= 1e-5f; }
bool near(double x, double y) { return std::fabs(x - y) <= 1e-5; }

void test_making() {
    const simd_float4 v = simd_make_float4(1, 2, 3, 4);
    CHECK(simd_equal(simd_make_float4(simd_make_float2(1, 2), simd_make_float2(3, 4)), v));
    CHECK(simd_equal(simd_make_float4(1, simd_make_float3(2, 3, 4)), v) &&
          simd_equal(simd_make_float4(simd_make_float3(v), 4), v));
    CHECK(simd_equal(simd_make_float4(1, simd_make_float2(2, 3), 4), v) &&
          simd_equal(simd_make_float4(v.xy), simd_make_float4(1, 2, 0, 0)));
    CHECK(simd_equal(simd_make_int3(simd_make_int2(5, -6)), simd_make_int3(5, -6, 0)));
    CHECK(!simd_equal(v, v.yxzw) && v.x == 1 && v.w == 4 && v[2] == 3 && simd_equal(v.zyx, simd_make_float3(3, 2, 1)));
    CHECK(simd_equal(simd_int(v * 1.75f), simd_make_int4(1, 3, 5, 7)) &&
          simd_equal(simd_float(simd_make_uchar2(255, 1)), simd_make_float2(255, 1)));
    const simd_float16 sixteen = simd_make_float16(simd_make_float8(v, v + 4), simd_make_float8(v + 8, v + 12));
    for (int i = 0; i < 16; i++) CHECK(sixteen[i] == i + 1);
    CHECK(simd::make_char64(simd_char32(1), simd_char32(2))[32] == 2 &&
          simd::make_double8(simd_double4(3), simd_double4(4))[7] == 4);
    CHECK(simd::make_half2(1, 2).y == 2 && sizeof(simd::char64) == 64 && sizeof(simd_short3) == 8 &&
          alignof(packed_float4) == 4);
}

void test_components() {
    const simd_float4 v = simd_make_float4(-1.5f, 0, 2.25f, 9);
    CHECK(simd_equal(simd_abs(v), simd_make_float4(1.5f, 0, 2.25f, 9)) &&
          simd_equal(simd_sign(v), simd_make_float4(-1, 0, 1, 1)));
    CHECK(simd_equal(simd_clamp(v, simd_float4(0), simd_float4(3)), simd_make_float4(0, 0, 2.25f, 3)));
    CHECK(simd_equal(simd_fract(v), simd_make_float4(0.5f, 0, 0.25f, 0)) &&
          simd_equal(simd_sqrt(v.zw), simd_make_float2(1.5f, 3)));
    CHECK(simd_equal(simd_step(simd_float4(2), v), simd_make_float4(0, 0, 1, 1)));
    CHECK(simd_equal(simd_mix(v, simd_float4(1), simd_float4(0.5f)), simd_make_float4(-0.25f, 0.5f, 1.625f, 5)));
    CHECK(simd_equal(simd_smoothstep(simd_float4(0), simd_float4(4.5f), v), simd_make_float4(0, 0, 0.5f, 1)));
    CHECK(near(simd_rsqrt(v.zw), simd_make_float2(1 / 1.5f, 1 / 3.0f)) && near(simd_recip(v.zw), 1 / v.zw));
    CHECK(simd_reduce_add(v) == 9.75f && simd_reduce_min(v) == -1.5f && simd_reduce_max(v) == 9);
    const simd_int4 i = simd_make_int4(-7, 3, 0, 100);
    CHECK(simd_equal(simd_abs(i), simd_make_int4(7, 3, 0, 100)) && simd_reduce_add(i) == 96 &&
          simd_reduce_min(i) == -7);
    CHECK(simd_reduce_max(simd_make_uint2(1, 4000000000u)) == 4000000000u);
    CHECK(simd_any(v > 8) && !simd_all(v > 8) && !simd_any(v > 9) && simd_all(v < 10));
    // Only the sign of a mask counts.
    CHECK(simd_equal(simd_select(v, -v, simd_make_int4(-1, 0, 1, -5)), simd_make_float4(1.5f, 0, 2.25f, -9)));
}

void test_nan() {
    const float nan = NAN;
    CHECK(simd_reduce_min(simd_make_float2(nan, 1)) == 1 && simd_reduce_min(simd_make_float2(1, nan)) == 1);
    CHECK(simd_reduce_max(simd_make_double3(nan, -1, nan)) == -1 && simd_norm_inf(simd_make_float2(nan, -2)) == 2);
    for (int row = 0; row < 2; row++) {
        simd_float2x2 changed = matrix_identity_float2x2;
        changed.columns[1][row] = nan;
        CHECK(!simd_almost_equal_elements(matrix_identity_float2x2, changed, 0.1f));
    }
    CHECK(simd_almost_equal_elements(matrix_identity_float2x2, matrix_identity_float2x2, 0));
    CHECK(simd_fract(simd_float2(-1e-10f)).x == 0x1.fffffep-1f && simd_fract(simd_double2(-1e-30)).y < 1);
    CHECK(simd_fract(simd_make_half2((_Float16)-1e-6f, 0)).x < 1);
}

void test_geometry() {
    const simd_float3 x = simd_make_float3(1, 2, 2), y = simd_make_float3(0, 3, -4);
    CHECK(simd_dot(x, y) == -2 && simd_length(x) == 3 && simd_length_squared(y) == 25 &&
          near(simd_distance(x, y), std::sqrt(38.0)));
    CHECK(near(simd_normalize(y), simd_make_float3(0, 0.6f, -0.8f)) && simd_norm_one(y) == 7 && simd_norm_inf(y) == 4);
    CHECK(simd_equal(simd_cross(x, y), simd_make_float3(-14, 4, 3)) && simd_cross(x.xy, y.xy).z == 3);
    CHECK(near(simd_project(x, y), y * -0.08f) &&
          near(simd_reflect(x, simd_make_float3(0, 1, 0)), simd_make_float3(1, -2, 2)));
    CHECK(
        near(simd_refract(simd_make_float2(0.6f, -0.8f), simd_make_float2(0, 1), 1.0f), simd_make_float2(0.6f, -0.8f)));
    CHECK(simd_equal(simd_refract(simd_make_float2(0.8f, -0.6f), simd_make_float2(0, 1), 2.0f), simd_float2(0)));
    CHECK(vector_dot(simd_double(x), simd_double(y)) == -2 && simd::length(x) == 3 && simd::fract(1.5f * x).x == 0.5f);
}

void test_matrices() {
    const simd::float3x2 a(simd_make_float2(1, 2), simd_make_float2(3, 4), simd_make_float2(5, 6));
    CHECK(simd_equal(a * simd_make_float3(1, 0, -1), simd_make_float2(-4, -4)));
    CHECK(simd_equal(simd_make_float2(1, -1) * a, simd_make_float3(-1, -1, -1)));
    CHECK(transpose(a)[1].z == 6 && transpose(transpose(a)) == a && a[2].x == 5 && (a + a) == 2.0f * a &&
          (a - a) == simd::float3x2());
    const simd::float2x2 squared = a * transpose(a);
    CHECK(squared == simd::float2x2(simd_make_float2(35, 44), simd_make_float2(44, 56)) &&
          squared != simd::float2x2(1));
    const simd_float3x3 rows =
        simd_matrix_from_rows(simd_make_float3(0, 2, 1), simd_make_float3(1, 1, 0), simd_make_float3(4, 0, 3));
    CHECK(rows.columns[1].x == 2 && near(simd_determinant(rows), -10));
    CHECK(simd_almost_equal_elements(simd_mul(rows, simd_inverse(rows)), matrix_identity_float3x3, 1e-5f));
    CHECK(!simd_almost_equal_elements(rows, matrix_identity_float3x3, 1) && simd_almost_equal_elements(rows, rows, 0));
    CHECK(near(simd_determinant(simd_diagonal_matrix(simd_make_double4(1, 2, 3, -4))), -24));
    const simd_float2x2 singular = simd_matrix(simd_make_float2(1, 2), simd_make_float2(2, 4));
    CHECK(simd_determinant(singular) == 0 && !std::isfinite(simd_inverse(singular).columns[0].x));
    // What small integers multiply to is exact: a singular matrix has the determinant 0.
    for (int i = 0; i < 81; i++) {
        const float a = i % 3 + 1, b = i / 3 % 3 + 2, c = i / 9 % 3 + 5, d = i / 27 - 4;
        CHECK(simd_determinant(simd_matrix(simd_make_float2(a, b), simd_make_float2(c, d))) == a * d - b * c);
        const simd_double3 p = simd_make_double3(a, b, c), q = simd_make_double3(d, a, 7);
        CHECK(simd_determinant(simd_matrix(p, q, 3 * p - 2 * q)) == 0);
        const simd_float4 r = simd_make_float4(a, b, c, d), s = r.yzwx, t = r.wwxy;
        CHECK(simd_determinant(simd_matrix(r, s, t, r + 5 * s - 3 * t)) == 0);
        CHECK(simd_determinant(simd_matrix(r, s, t, simd_make_float4(0, 0, 0, 1))) ==
              simd_determinant(simd_matrix(r.xyz, s.xyz, t.xyz)));
    }
    simd::float4x4 m(simd_make_float4(1, 2, 3, 4));
    m *= 2;
    m += matrix_identity_float4x4;
    CHECK(simd_equal(m * simd_float4(1), simd_make_float4(3, 5, 7, 9)) && inverse(m)[3].w == 1 / 9.0f);
    CHECK(matrix_equal(matrix_multiply(m, matrix_identity_float4x4), m) && (-m)[0].x == -3);
}

}  // namespace

int main() {
    test_making();
    test_components();
    test_nan();
    test_geometry();
    test_matrices();
    return check::report("framework/simd");
}
