// What translated sources refer to: the types and numbers of kernels.
#pragma once

#include "type_traits.h"

namespace smtl {

template <class T> struct function_pointer_to {
    using type = T *;
};
template <class T> using function_pointer = typename function_pointer_to<T>::type;

// Whether two function constants are one.
template <class A, class B> constexpr bool is_same_object(A &a, B &b) {
    if constexpr (metal::is_same_v<A, B>)
        return &a == &b;
    else
        return false;
}

// Its result has the type of a value, with neither qualifiers nor, in the strict check, an address space.
template <class T> T by_value(T value);

// A cast for values, between any two arithmetic types.
template <class To, class From> inline __attribute__((always_inline)) constexpr To value_cast(From &&value) {
    using from = decltype(by_value(value));
    using to = metal::remove_cv_t<To>;
    constexpr bool sixteen_bits = (metal::is_same_v<from, half> && metal::is_same_v<to, bfloat>) ||
                                  (metal::is_same_v<from, bfloat> && metal::is_same_v<to, half>);
    if constexpr (sixteen_bits)
        return To(float(value));
    else
        return To(static_cast<From &&>(value));
}

// What `[[buffer(value)]]` says; the largest number if that is no index. Conversions would make 1 of 1.5, and 0 of
// 2^32.
template <class T> constexpr unsigned written_index(T value) {
    if constexpr (metal::is_floating_point_v<T> || !(__is_enum(T) || metal::is_convertible_v<T, long>)) {
        return 0xffffffffu;
    } else {
        const long index = static_cast<long>(value);
        return index >= 0 && index <= 0x7fffffff ? static_cast<unsigned>(index) : 0xffffffffu;
    }
}
template <class T> constexpr bool is_index(T value) { return written_index(value) != 0xffffffffu; }

// The n-th number, from zero on, that is not among those taken.
template <class... Taken> constexpr unsigned automatic_index(unsigned n, Taken... taken) {
    for (unsigned candidate = 0;; ++candidate) {
        if (((candidate == unsigned(taken)) || ... || false)) continue;
        if (n-- == 0) return candidate;
    }
}

#if !defined(__OPENCL_CPP_VERSION__)
// `&k->*kernel_address` is the address of a kernel.
struct kernel_address_mark {};
constexpr kernel_address_mark kernel_address{};
template <class Result, class... Parameter>
constexpr auto operator->*(Result (*kernel)(Parameter...), kernel_address_mark)
    __attribute__((diagnose_if(!metal::is_same_v<Result, void>, "a kernel must return 'void'", "error"))) {
    return kernel;
}

// The type of what lies elsewhere than in a thread's own memory.
template <class T> constexpr bool in_space = !metal::is_same_v<T, typename metal::remove_addrspace<T>::type>;

// `"a"->*constant_text` is the string in constant memory.
struct constant_text_mark {};
constexpr constant_text_mark constant_text{};
template <unsigned long Length>
constexpr SMTL_CONSTANT char (&operator->*(const char (&text)[Length], constant_text_mark))[Length] {
    return (SMTL_CONSTANT char(&)[Length])text;
}

// Operands of a conditional, which are A and B. `(operand<A, B>(), x)` is x, and names no space where x lies in one,
// unless both are lvalues of one type in one space; nothing if x is nothing. A value stays a value, which lives as long
// as a reference to it. An array stays as it is, for its address keeps the space.
struct value_mark {};
struct lvalue_mark {};
template <class A, class B> constexpr bool are_alike = false;
template <class A, class B>
constexpr bool are_alike<A &, B &> = metal::is_same_v<metal::remove_cv_t<A>, metal::remove_cv_t<B>>;
template <class A = void, class B = void> constexpr auto operand() {
    return metal::conditional_t<are_alike<A, B>, lvalue_mark, value_mark>();
}
template <class T> constexpr T operator,(lvalue_mark, T &&x) { return static_cast<T &&>(x); }
template <class T> constexpr T operator,(value_mark, T &&x) { return static_cast<T &&>(x); }
#define SMTL_OPERAND(unchanging, space)                            \
    template <class T, class = metal::enable_if_t<!__is_array(T)>> \
    constexpr unchanging T &operator,(value_mark, space T &x) {    \
        return x;                                                  \
    }
SMTL_OPERAND(, SMTL_DEVICE)
SMTL_OPERAND(, SMTL_THREADGROUP)
SMTL_OPERAND(const, SMTL_CONSTANT)
#undef SMTL_OPERAND

// References and pointers that name no space get the one that is known of what they refer to. All else stays as it is.
#define SMTL_RESULT(name, space)                                                                      \
    template <class T> constexpr T &&in_##name(T &&x) { return static_cast<T &&>(x); }                \
    template <class T, class = metal::enable_if_t<!in_space<T>>> constexpr space T &in_##name(T &x) { \
        return (space T &)x;                                                                          \
    }                                                                                                 \
    template <class T> constexpr T to_##name(T x) { return x; }                                       \
    template <class T, class = metal::enable_if_t<!in_space<T>>> constexpr space T *to_##name(T *x) { \
        return (space T *)x;                                                                          \
    }
SMTL_RESULT(device, SMTL_DEVICE)
SMTL_RESULT(threadgroup, SMTL_THREADGROUP)
SMTL_RESULT(constant, SMTL_CONSTANT)
#undef SMTL_RESULT
#endif

}  // namespace smtl
