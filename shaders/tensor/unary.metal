// y = f(x), element by element, for tensors of any strides. The function is a constant of the pipeline.
#include "functions.h"
#include "tensor.h"

constant uint operation [[function_constant(1)]];

// In the order of `Unary` in src/ops/tensor/unary.rs.
enum Unary : uint {
    Neg, Abs, Sign, Square, Sqrt, Rsqrt, Recip, Exp, Expm1, Log, Log1p, Sin, Cos, Tanh, Erf, Sigmoid, Relu, LeakyRelu,
    Elu, Gelu, GeluTanh, Silu, Softplus, Mish, HardSwish, Floor, Ceil, Round
};

inline float apply(float x, float parameter) {
    switch (operation) {
    case Neg: return -x;
    case Abs: return fabs(x);
    case Sign: return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x;
    case Square: return x * x;
    case Sqrt: return precise::sqrt(x);
    case Rsqrt: return 1.0f / precise::sqrt(x);
    case Recip: return 1.0f / x;
    case Exp: return precise::exp(x);
    case Expm1: return expm1_of(x);
    case Log: return precise::log(x);
    case Log1p: return log1p_of(x);
    case Sin: return precise::sin(x);
    case Cos: return precise::cos(x);
    case Tanh: return precise::tanh(x);
    case Erf: return erf_of(x);
    case Sigmoid: return sigmoid_of(x);
    case Relu: return x < 0.0f ? 0.0f : x;
    case LeakyRelu: return x < 0.0f ? parameter * x : x;
    case Elu: return x < 0.0f ? parameter * expm1_of(x) : x;
    case Gelu: return gelu_of(x);
    case GeluTanh: return gelu_tanh_of(x);
    case Silu: return x * (sigmoid_of(x));
    case Softplus: return softplus_of(x);
    case Mish: return x * (precise::tanh(softplus_of(x)));
    case HardSwish: return x * (clamp(x + 3.0f, 0.0f, 6.0f) / 6.0f);
    case Floor: return floor(x);
    case Ceil: return ceil(x);
    default: return rint(x);
    }
}

// Integers wrap. Those without a sign have no `Neg`.
template <typename T>
inline T apply(T x, float) {
    typedef typename Element<T>::wrapped U;
    switch (operation) {
    case Neg: return T(U(0) - U(x));
    case Abs: return x < T(0) ? T(U(0) - U(x)) : x;
    case Sign: return x > T(0) ? T(1) : x < T(0) ? T(U(0) - U(1)) : T(0);
    case Square: return T(U(x) * U(x));
    default: return x > T(0) ? x : T(0);
    }
}

template <typename T>
struct Work {
    typedef typename Element<T>::computed result;
    device T *y;
    device const T *x;
    float parameter;
    result value(TensorOffsets offsets) const;
    void store(ulong offset, result value) const { y[offset] = Element<T>::put(value); }
};

// Beside a conversion from half clang compares halves and not floats, one by one. So a block of halves is converted
// before the function sees it.
template <> struct SecondStep<Work<half>> {
    static constant constexpr bool is_needed = true;
    static float of(thread const Work<half> &work, float value) { return apply(value, work.parameter); }
};

template <typename T>
typename Work<T>::result Work<T>::value(TensorOffsets offsets) const {
    const result x_value = Element<T>::get(x[offsets.at[1]]);
    return SecondStep<Work>::is_needed ? x_value : apply(x_value, parameter);
}

template <typename T>
kernel void unary(constant Walk &walk [[buffer(0)]],
                  device T *y [[buffer(1)]],
                  device const T *x [[buffer(2)]],
                  uint2 position [[thread_position_in_grid]]) {
    const Work<T> work = {y, x, as_type<float>(uint(walk.scalar))};
    walk_elements(walk, position, work);
}

template [[host_name("unary_f32")]] kernel decltype(unary<float>) unary<float>;
template [[host_name("unary_f16")]] kernel decltype(unary<half>) unary<half>;
template [[host_name("unary_bf16")]] kernel decltype(unary<bf16>) unary<bf16>;
template [[host_name("unary_i8")]] kernel decltype(unary<char>) unary<char>;
template [[host_name("unary_u8")]] kernel decltype(unary<uchar>) unary<uchar>;
template [[host_name("unary_i32")]] kernel decltype(unary<int>) unary<int>;
template [[host_name("unary_u32")]] kernel decltype(unary<uint>) unary<uint>;
template [[host_name("unary_i64")]] kernel decltype(unary<long>) unary<long>;
