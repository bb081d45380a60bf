// <metal_common> and what <metal_math> and <metal_integer> share: smallest, largest, magnitude, clamping, blending.
#pragma once

#include "math.h"

namespace metal {
namespace smtl_detail {

SMTL_WHOLE_OP2(max, __builtin_elementwise_max(x, y))
SMTL_WHOLE_OP2(min, __builtin_elementwise_min(x, y))
SMTL_WHOLE_OP3(max3, __builtin_elementwise_max(x, __builtin_elementwise_max(y, z)))
SMTL_WHOLE_OP3(min3, __builtin_elementwise_min(x, __builtin_elementwise_min(y, z)))
SMTL_WHOLE_OP3(median3, __builtin_elementwise_max(__builtin_elementwise_min(x, y),
                                                  __builtin_elementwise_min(__builtin_elementwise_max(x, y), z)))
SMTL_WHOLE_OP3(clamp, __builtin_elementwise_min(__builtin_elementwise_max(x, y), z))
SMTL_WHOLE_OP3(mix, x + (y - x) * z)

struct step_op {
    static constexpr bool whole = false;
    static SMTL_FUNCTION float on(float edge, float x) { return x < edge ? 0.0f : 1.0f; }
};
struct smoothstep_op {
    static constexpr bool whole = false;
    static SMTL_FUNCTION float on(float low, float high, float x) {
        const float t = saturate_op::on((x - low) / (high - low));
        return t * t * (3.0f - 2.0f * t);
    }
};
struct abs_op {
    static constexpr bool whole = false;
    template <class T> static SMTL_FUNCTION T on(T x) {
        if constexpr (is_unsigned_v<T>)
            return x;
        else if constexpr (smtl_is_integral_v<T>)
            return T(x < 0 ? T(-make_unsigned_t<T>(x)) : x);
        else
            return __builtin_elementwise_abs(x);
    }
};

}  // namespace smtl_detail

SMTL_NUMBER_FUNCTION2(max)
SMTL_NUMBER_FUNCTION2(min)
SMTL_NUMBER_FUNCTION3(max3)
SMTL_NUMBER_FUNCTION3(min3)
SMTL_NUMBER_FUNCTION3(median3)
SMTL_NUMBER_FUNCTION3(clamp)
SMTL_FLOAT_FUNCTION3(mix)
SMTL_FLOAT_FUNCTION2(step)
SMTL_FLOAT_FUNCTION3(smoothstep)

SMTL_FLOAT_TYPES(SMTL_UNARY, abs)
template <class T, class = enable_if_t<smtl_detail::is_integer_v<T> || smtl_detail::is_bfloat_v<T>>>
SMTL_FUNCTION T abs(T a) {
    return smtl_detail::apply<smtl_detail::abs_op>(a);
}
SMTL_VECTOR_FUNCTION(abs)

}  // namespace metal
