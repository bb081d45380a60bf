// y = f(a, b), element by element, for tensors of any strides; b may be one number. The function is a constant of the
// pipeline.
#include "tensor.h"

constant uint operation [[function_constant(1)]];
constant bool has_scalar [[function_constant(2)]];
constant bool has_tensor = !has_scalar;

// In the order of `Binary` and `Comparison` in src/ops/tensor/binary.rs.
enum Binary : uint { Add, Sub, Mul, Div, Min, Max, Pow, Mod };
enum Comparison : uint { Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual };

// NaN wins in Min and Max, and Mod has the sign of b, as in NumPy and PyTorch.
inline float apply(float a, float b) {
    switch (operation) {
    case Add: return a + b;
    case Sub: return a - b;
    case Mul: return a * b;
    case Div: return a / b;
    case Min: return a < b || isnan(a) ? a : b;
    case Max: return a > b || isnan(a) ? a : b;
    case Pow: return precise::pow(a, b);
    default: {
        const float rest = precise::fmod(a, b);
        return rest != 0.0f && (rest < 0.0f) != (b < 0.0f) ? rest + b : rest == 0.0f ? copysign(0.0f, b) : rest;
    }
    }
}

// a to the power of b, wrapped; 1 / a to the power of -b, without its fraction, if b is negative.
template <typename T>
inline T power(T a, T b) {
    typedef typename Element<T>::wrapped U;
    if (b < T(0)) {
        const bool is_odd = (U(b) & U(1)) != U(0);
        return a == T(1) ? T(1) : U(a) == U(0) - U(1) ? (is_odd ? a : T(1)) : T(0);
    }
    U result = 1;
    for (U base = U(a), rest = U(b); rest != U(0); rest >>= 1) {
        result *= (rest & U(1)) != U(0) ? base : U(1);
        base *= base;
    }
    return T(result);
}

// Integers wrap. What is divided by 0 is 0. Div cuts the fraction off, Mod has the sign of b.
template <typename T>
inline T apply(T a, T b) {
    typedef typename Element<T>::wrapped U;
    switch (operation) {
    case Add: return T(U(a) + U(b));
    case Sub: return T(U(a) - U(b));
    case Mul: return T(U(a) * U(b));
    case Min: return a < b ? a : b;
    case Max: return a > b ? a : b;
    case Pow: return power(a, b);
    default: break;
    }
    const bool is_minus_one = T(0) > T(U(0) - U(1)) && U(b) == U(0) - U(1);
    if (b == T(0)) {
        return T(0);
    }
    // The least number divided by -1 has no quotient.
    if (is_minus_one) {
        return operation == Div ? T(U(0) - U(a)) : T(0);
    }
    if (operation == Div) {
        return a / b;
    }
    const T rest = a % b;
    return rest != T(0) && (rest < T(0)) != (b < T(0)) ? rest + b : rest;
}

template <typename C>
inline uchar compare(C a, C b) {
    switch (operation) {
    case Equal: return a == b;
    case NotEqual: return a != b;
    case Less: return a < b;
    case LessEqual: return a <= b;
    case Greater: return a > b;
    default: return a >= b;
    }
}

template <typename T>
struct Operands {
    typedef typename Element<T>::computed computed;
    device const T *a;
    device const T *b;
    T scalar;
    computed left(TensorOffsets offsets) const { return Element<T>::get(a[offsets.at[1]]); }
    computed right(TensorOffsets offsets) const { return Element<T>::get(has_scalar ? scalar : b[offsets.at[2]]); }
};

template <typename T>
struct Arithmetic {
    typedef typename Element<T>::computed result;
    device T *y;
    Operands<T> operands;
    result value(TensorOffsets offsets) const { return apply(operands.left(offsets), operands.right(offsets)); }
    void store(ulong offset, result value) const { y[offset] = Element<T>::put(value); }
};

template <typename T>
struct Comparisons {
    typedef uchar result;
    device uchar *y;
    Operands<T> operands;
    result value(TensorOffsets offsets) const { return compare(operands.left(offsets), operands.right(offsets)); }
    void store(ulong offset, result value) const { y[offset] = value; }
};

template <typename T, typename R, template <typename> class Work>
kernel void binary(constant Walk &walk [[buffer(0)]],
                   device R *y [[buffer(1)]],
                   device const T *a [[buffer(2)]],
                   device const T *b [[buffer(3), function_constant(has_tensor)]],
                   uint2 position [[thread_position_in_grid]]) {
    const Work<T> work = {y, {a, b, *(constant const T *)&walk.scalar}};
    walk_elements(walk, position, work);
}

#define INSTANTIATE(name, T) \
    template [[host_name("binary_" #name)]] kernel decltype(binary<T, T, Arithmetic>) binary<T, T, Arithmetic>; \
    template [[host_name("compare_" #name)]] \
    kernel decltype(binary<T, uchar, Comparisons>) binary<T, uchar, Comparisons>;

INSTANTIATE(f32, float)
INSTANTIATE(f16, half)
INSTANTIATE(bf16, bf16)
INSTANTIATE(i8, char)
INSTANTIATE(u8, uchar)
INSTANTIATE(i32, int)
INSTANTIATE(u32, uint)
INSTANTIATE(i64, long)
