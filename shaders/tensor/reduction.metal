// What all elements along some axes give: sums, products, extremes and where they are, means, variances.
#include "columns.h"

constant uint operation [[function_constant(1)]];

// In the order of `Reduction` and `ArgReduction` in src/ops/tensor/reduction.rs.
enum Reduction : uint { Sum, Mean, Prod, Min, Max, Var, LogSumExp };
enum ArgReduction : uint { ArgMin, ArgMax };

template <typename T>
struct Elements {
    device const T *x;
    typename Element<T>::computed value(ulong offset, ulong) const { return Element<T>::get(x[offset]); }
};

inline float shifted(float x, Shift shift) {
    if (operation == LogSumExp) {
        return precise::exp(x - shift.value);
    }
    const float off = distance(x, shift);
    return off * off;
}

// Integers have no second step.
template <typename C>
inline C shifted(C x, Shift) { return x; }

template <typename T>
struct Shifted {
    device const T *x;
    Shift shift;
    typename Element<T>::computed value(ulong offset, ulong) const {
        return shifted(Element<T>::get(x[offset]), shift);
    }
};

inline Shift shift_of(Partial<float> first, ulong count) {
    if (operation == LogSumExp) {
        return {first.value, 0.0f};
    }
    return mean_of(first, count);
}

template <typename T>
struct BesideShifted {
    device const T *x;
    thread const Shift *shifts;
    typename Element<T>::computed value(ulong offset, ulong, uint k) const {
        return shifted(Element<T>::get(x[offset]), shifts[k]);
    }
};

template <typename C>
inline Shift shift_of(Partial<C>, ulong) { return {0.0f, 0.0f}; }

inline float finished(constant Rows &rows, Partial<float> first, Partial<float> second) {
    const float value = total(first);
    switch (operation) {
    case Mean: return value / float(rows.count);
    case Var: return total(second) / rows.divisor;
    // The largest element says it all if it is not finite.
    case LogSumExp: return isinf(value) || isnan(value) ? value : value + precise::log(total(second));
    default: return value;
    }
}

template <typename C>
inline C finished(constant Rows &, Partial<C> first, Partial<C>) { return first.value; }

// What the combinations of a reduction begin with.
inline Combine first_step() {
    return operation == Prod                             ? Multiply
           : operation == Min                            ? Least
           : operation == Max || operation == LogSumExp ? Largest
                                                         : Add;
}

template <typename T>
INLINE void reduce_columns(constant Rows &rows, device const T *x, device T *y, uint position) {
    typedef typename Element<T>::computed C;
    const Columns columns = columns_of(rows, position);
    Partial<C> first[BLOCK];
    Partial<C> second[BLOCK];
    ROLLED
    for (uint k = 0; k < columns.count; k++) {
        first[k] = {start_of(first_step(), C(0)), C(0)};
        second[k] = {C(0), C(0)};
    }
    gather_columns(rows, first_step(), columns, BesideElements<T>{x}, first);
    if (operation == Var || operation == LogSumExp) {
        Shift shifts[BLOCK];
        ROLLED
        for (uint k = 0; k < columns.count; k++) {
            shifts[k] = shift_of(first[k], rows.count);
        }
        gather_columns(rows, Add, columns, BesideShifted<T>{x, shifts}, second);
    }
    ROLLED
    for (uint k = 0; k < columns.count; k++) {
        y[columns.y + k * rows.kept.strides[0][1]] = Element<T>::put(finished(rows, first[k], second[k]));
    }
}

template <typename T>
kernel void reduce(constant Rows &rows [[buffer(0)]],
                   device const T *x [[buffer(1)]],
                   device T *y [[buffer(2)]],
                   uint position [[thread_position_in_grid]],
                   uint group [[threadgroup_position_in_grid]],
                   uint thread_index [[thread_index_in_threadgroup]],
                   uint threads [[threads_per_threadgroup]]) {
    typedef typename Element<T>::computed C;
    threadgroup C values[max_threads];
    threadgroup C rests[max_threads];
    if (takes_columns(rows)) {
        reduce_columns(rows, x, y, position);
        return;
    }
    const Offset offset = offset_of(rows.kept, 0, rows.kept_rank, is_alone ? position : group);
    const Member member = {thread_index, threads};
    const Combine how = first_step();
    const Elements<T> elements = {x};
    const Partial<C> first = gathered<C>(rows, how, offset.x, member, elements, values, rests);
    Partial<C> second = first;
    if (operation == Var || operation == LogSumExp) {
        const Shifted<T> distances = {x, shift_of(first, rows.count)};
        second = gathered<C>(rows, Add, offset.x, member, distances, values, rests);
    }
    if (is_alone || thread_index == 0) {
        y[offset.y] = Element<T>::put(finished(rows, first, second));
    }
}

inline bool are_equal(float a, float b) {
    return a == b || (is_nan(as_type<uint>(a)) && is_nan(as_type<uint>(b)));
}

template <typename C>
inline bool are_equal(C a, C b) { return a == b; }

// The index of what is `wanted`, and the largest number for all else.
template <typename T>
struct Found {
    device const T *x;
    typename Element<T>::computed wanted;
    uint value(ulong offset, ulong index) const {
        return are_equal(Element<T>::get(x[offset]), wanted) ? uint(index) : 0xffffffffu;
    }
};

template <typename T>
struct BesideFound {
    device const T *x;
    thread const Partial<typename Element<T>::computed> *wanted;
    uint value(ulong offset, ulong index, uint k) const {
        return are_equal(Element<T>::get(x[offset]), wanted[k].value) ? uint(index) : 0xffffffffu;
    }
};

template <typename T>
INLINE void arg_reduce_columns(constant Rows &rows, device const T *x, device uint *y, uint position) {
    typedef typename Element<T>::computed C;
    const Columns columns = columns_of(rows, position);
    const Combine how = operation == ArgMin ? Least : Largest;
    Partial<C> extremes[BLOCK];
    Partial<uint> found[BLOCK];
    ROLLED
    for (uint k = 0; k < columns.count; k++) {
        extremes[k] = {start_of(how, C(0)), C(0)};
        found[k] = {0xffffffffu, 0};
    }
    gather_columns(rows, how, columns, BesideElements<T>{x}, extremes);
    gather_columns(rows, Least, columns, BesideFound<T>{x, extremes}, found);
    ROLLED
    for (uint k = 0; k < columns.count; k++) {
        y[columns.y + k * rows.kept.strides[0][1]] = found[k].value;
    }
}

// First what the extreme is, then where it is first: both steps are plain loops.
template <typename T>
kernel void arg_reduce(constant Rows &rows [[buffer(0)]],
                       device const T *x [[buffer(1)]],
                       device uint *y [[buffer(2)]],
                       uint position [[thread_position_in_grid]],
                       uint group [[threadgroup_position_in_grid]],
                       uint thread_index [[thread_index_in_threadgroup]],
                       uint threads [[threads_per_threadgroup]]) {
    typedef typename Element<T>::computed C;
    threadgroup C values[max_threads];
    threadgroup C rests[max_threads];
    threadgroup uint indices[max_threads];
    threadgroup uint unused[max_threads];
    if (takes_columns(rows)) {
        arg_reduce_columns(rows, x, y, position);
        return;
    }
    const Offset offset = offset_of(rows.kept, 0, rows.kept_rank, is_alone ? position : group);
    const Member member = {thread_index, threads};
    const Combine how = operation == ArgMin ? Least : Largest;
    const Elements<T> elements = {x};
    const Found<T> found = {x, gathered<C>(rows, how, offset.x, member, elements, values, rests).value};
    const Partial<uint> first = gathered<uint>(rows, Least, offset.x, member, found, indices, unused);
    if (is_alone || thread_index == 0) {
        y[offset.y] = first.value;
    }
}

#define INSTANTIATE(name, T) \
    template [[host_name("reduce_" #name)]] kernel decltype(reduce<T>) reduce<T>; \
    template [[host_name("arg_reduce_" #name)]] kernel decltype(arg_reduce<T>) arg_reduce<T>;

INSTANTIATE(f32, float)
INSTANTIATE(f16, half)
INSTANTIATE(bf16, bf16)
INSTANTIATE(i8, char)
INSTANTIATE(u8, uchar)
INSTANTIATE(i32, int)
INSTANTIATE(u32, uint)
INSTANTIATE(i64, long)
