// y = what the elements of x along an axis give up to each of them: sums or products; y may be x.
#include "partials.h"

constant uint operation [[function_constant(1)]];

// In the order of src/ops/tensor/scan.rs.
enum Scan : uint { Sums, Products };

// The bits of `order`.
enum Order : uint { Exclusive = 1, Reverse = 2 };

constant constexpr uint run = 4;

// The elements of a row in the order of the scan.
template <typename T>
struct Row {
    typedef typename Element<T>::computed C;
    device const T *x;
    device T *y;
    // Modulo 2^64: in reverse they are negative.
    ulong x_stride;
    ulong y_stride;
    C load(ulong i) const { return Element<T>::get(x[i * x_stride]); }
    void store(ulong i, C value) const { y[i * y_stride] = Element<T>::put(value); }
};

// A lone thread settles its sum whenever it has taken so many elements.
constant constexpr ulong settled_step = 64;

template <typename T>
kernel void scan(constant Rows &rows [[buffer(0)]],
                 device const T *x [[buffer(1)]],
                 device T *y [[buffer(2)]],
                 uint position [[thread_position_in_grid]],
                 uint group [[threadgroup_position_in_grid]],
                 uint thread_index [[thread_index_in_threadgroup]],
                 uint threads [[threads_per_threadgroup]]) {
    typedef typename Element<T>::computed C;
    threadgroup C values[max_threads];
    threadgroup C rests[max_threads];
    const Combine how = operation == Products ? Multiply : Add;
    const bool is_exclusive = (rows.order & Exclusive) != 0;
    const Offset offset = offset_of(rows.kept, 0, rows.kept_rank, is_alone ? position : group);
    const ulong size = rows.count;
    Row<T> row = {x + offset.x, y + offset.y, rows.reduced.strides[0][0], rows.reduced.strides[0][1]};
    if ((rows.order & Reverse) != 0) {
        row.x += (size - 1) * row.x_stride;
        row.y += (size - 1) * row.y_stride;
        row.x_stride = 0 - row.x_stride;
        row.y_stride = 0 - row.y_stride;
    }
    Partial<C> sum = {start_of(how, C(0)), C(0)};
    if (is_alone) {
        for (ulong start = 0; start < size; start += settled_step) {
            for (ulong i = start; i < min(start + settled_step, size); i++) {
                const C before = total(sum);
                take(how, sum.value, sum.rest, row.load(i));
                row.store(i, is_exclusive ? before : total(sum));
            }
            sum = settled(sum);
        }
        return;
    }
    // All threads take a run of elements each, then the next ones.
    for (ulong start = 0; start < size; start += ulong(threads) * run) {
        const ulong first = start + ulong(thread_index) * run;
        C elements[run];
        Partial<C> own = {start_of(how, C(0)), C(0)};
        for (uint k = 0; k < run; k++) {
            elements[k] = first + k < size ? row.load(first + k) : start_of(how, C(0));
            take(how, own.value, own.rest, elements[k]);
        }
        // What the threads up to this one have: at each step twice as many.
        for (uint reach = 0; reach < threads; reach = reach == 0 ? 1 : 2 * reach) {
            if (reach > 0 && thread_index >= reach) {
                own = joined(how, {values[thread_index - reach], rests[thread_index - reach]}, own);
            }
            threadgroup_barrier(mem_flags::mem_threadgroup);
            values[thread_index] = own.value;
            rests[thread_index] = own.rest;
            threadgroup_barrier(mem_flags::mem_threadgroup);
        }
        Partial<C> before = sum;
        if (thread_index > 0) {
            before = joined(how, sum, {values[thread_index - 1], rests[thread_index - 1]});
        }
        for (uint k = 0; k < run && first + k < size; k++) {
            const C excluded = total(before);
            take(how, before.value, before.rest, elements[k]);
            row.store(first + k, is_exclusive ? excluded : total(before));
        }
        sum = joined(how, sum, {values[threads - 1], rests[threads - 1]});
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
}

template [[host_name("scan_f32")]] kernel decltype(scan<float>) scan<float>;
template [[host_name("scan_f16")]] kernel decltype(scan<half>) scan<half>;
template [[host_name("scan_bf16")]] kernel decltype(scan<bf16>) scan<bf16>;
template [[host_name("scan_i8")]] kernel decltype(scan<char>) scan<char>;
template [[host_name("scan_u8")]] kernel decltype(scan<uchar>) scan<uchar>;
template [[host_name("scan_i32")]] kernel decltype(scan<int>) scan<int>;
template [[host_name("scan_u32")]] kernel decltype(scan<uint>) scan<uint>;
template [[host_name("scan_i64")]] kernel decltype(scan<long>) scan<long>;
