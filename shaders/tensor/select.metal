// y = a where the condition holds, and b elsewhere; or y = a everywhere, bit by bit; or one number everywhere. Only the
// size of an element counts.
#include "tensor.h"

constant bool has_condition [[function_constant(1)]];
constant bool is_fill [[function_constant(2)]];
constant bool has_input = !is_fill;

template <typename T>
struct Selection {
    typedef T result;
    device T *y;
    device const T *a;
    device const T *b;
    device const uchar *condition;
    T scalar;
    T value(TensorOffsets offsets) const {
        if (is_fill) {
            return scalar;
        }
        return !has_condition || condition[offsets.at[3]] != 0 ? a[offsets.at[1]] : b[offsets.at[2]];
    }
    void store(ulong offset, T value) const { y[offset] = value; }
};

template <typename T>
kernel void select_elements(constant Walk &walk [[buffer(0)]],
                   device T *y [[buffer(1)]],
                   device const T *a [[buffer(2), function_constant(has_input)]],
                   device const T *b [[buffer(3), function_constant(has_condition)]],
                   device const uchar *condition [[buffer(4), function_constant(has_condition)]],
                   uint2 position [[thread_position_in_grid]]) {
    const Selection<T> work = {y, a, b, condition, T(walk.scalar)};
    walk_elements(walk, position, work);
}

template [[host_name("select_1")]] kernel decltype(select_elements<uchar>) select_elements<uchar>;
template [[host_name("select_2")]] kernel decltype(select_elements<ushort>) select_elements<ushort>;
template [[host_name("select_4")]] kernel decltype(select_elements<uint>) select_elements<uint>;
template [[host_name("select_8")]] kernel decltype(select_elements<ulong>) select_elements<ulong>;
