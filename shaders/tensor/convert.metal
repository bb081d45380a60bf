// y = x in another type, element by element, for tensors of any strides. The type of y is a constant of the pipeline.
#include "tensor.h"

constant uint operation [[function_constant(1)]];

// In the order of `DataType` in src/ops/tensor/data_type.rs.
enum DataType : uint { F32, F16, BF16, I8, U8, I32, U32, I64 };

// Without its fraction; the nearest number that T has, and 0 for NaN. `beyond` is the power of two after the largest
// one.
template <typename T>
inline T integer_of(float value, float beyond) {
    const T largest = numeric_limits<T>::max();
    const T least = numeric_limits<T>::lowest();
    if (isnan(value)) {
        return T(0);
    }
    return value >= beyond ? largest : value <= float(least) ? least : T(value);
}

// Integers wrap.
template <typename T, typename C>
inline T integer_of(C value, float) {
    return T(value);
}

template <typename C>
struct Conversion {
    typedef C result;
    device uchar *y;
    void store(ulong offset, C value) const {
        switch (operation) {
        case F32: ((device float *)y)[offset] = float(value); break;
        case F16: ((device half *)y)[offset] = Element<half>::put(float(value)); break;
        case BF16: ((device bf16 *)y)[offset] = Element<bf16>::put(float(value)); break;
        case I8: ((device char *)y)[offset] = integer_of<char>(value, 128.0f); break;
        case U8: y[offset] = integer_of<uchar>(value, 256.0f); break;
        case I32: ((device int *)y)[offset] = integer_of<int>(value, 2147483648.0f); break;
        case U32: ((device uint *)y)[offset] = integer_of<uint>(value, 4294967296.0f); break;
        default: ((device long *)y)[offset] = integer_of<long>(value, 9223372036854775808.0f); break;
        }
    }
};

template <typename T>
struct Converted : Conversion<typename Element<T>::computed> {
    device const T *x;
    typename Element<T>::computed value(TensorOffsets offsets) const { return Element<T>::get(x[offsets.at[1]]); }
};

template <typename T>
kernel void convert(constant Walk &walk [[buffer(0)]],
                    device uchar *y [[buffer(1)]],
                    device const T *x [[buffer(2)]],
                    uint2 position [[thread_position_in_grid]]) {
    Converted<T> work;
    work.y = y;
    work.x = x;
    walk_elements(walk, position, work);
}

template [[host_name("convert_f32")]] kernel decltype(convert<float>) convert<float>;
template [[host_name("convert_f16")]] kernel decltype(convert<half>) convert<half>;
template [[host_name("convert_bf16")]] kernel decltype(convert<bf16>) convert<bf16>;
template [[host_name("convert_i8")]] kernel decltype(convert<char>) convert<char>;
template [[host_name("convert_u8")]] kernel decltype(convert<uchar>) convert<uchar>;
template [[host_name("convert_i32")]] kernel decltype(convert<int>) convert<int>;
template [[host_name("convert_u32")]] kernel decltype(convert<uint>) convert<uint>;
template [[host_name("convert_i64")]] kernel decltype(convert<long>) convert<long>;
