// Shifts as Metal has them, for the compiler's own computing as well: a count is taken modulo the width of what is
// shifted. The translation puts the counts of a source into these functions (passes/shift_counts.h).
#pragma once

#include "type_traits.h"

namespace smtl {

template <class T> constexpr bool counts = __is_integral(T) || (__is_enum(T) && ::metal::is_convertible_v<T, int>);

// The number of bits of what an operand becomes before it is shifted.
template <class T> constexpr int shifted_bits = sizeof(+::metal::declval<T>()) * 8;

// A count that waits for what is shifted by it.
template <class T> struct shift_count {
    T value;
    SMTL_FUNCTION constexpr operator T() const { return value; }
};
template <class T> SMTL_FUNCTION constexpr auto shift_by(T count) {
    if constexpr (counts<T>)
        return shift_count<T>{count};
    else
        return count;
}

// Scalars are shifted by a count within their width, also those that an object converts to, unless the source has an
// operator for an enumeration or an object. A source's own operators get the count as it is written, templates too:
// without enable_if these would fit as well as ours.
#define SMTL_SHIFT(op, has_own)                                                                                       \
    template <class L, class T, class = void> constexpr bool has_own##_member = false;                                \
    template <class L, class T>                                                                                       \
    constexpr bool has_own##_member<L, T, decltype(void(::metal::declval<L>().operator op(::metal::declval<T>())))> = \
        true;                                                                                                         \
    template <class L, class T, class = void> constexpr bool has_own = has_own##_member<L, T>;                        \
    template <class L, class T>                                                                                       \
    constexpr bool has_own<L, T, decltype(void(operator op(::metal::declval<L>(), ::metal::declval<T>())))> = true;   \
                                                                                                                      \
    template <class L, class T, class Result = decltype(::metal::declval<L>() op ::metal::declval<T>()),              \
              class = ::metal::enable_if_t<!::metal::is_class_v<L>>>                                                  \
    SMTL_FUNCTION constexpr Result operator op(L left, shift_count<T> count) {                                        \
        if constexpr (counts<L> && !has_own<L, T>)                                                                    \
            return left op(static_cast<int>(count.value) & (shifted_bits<L> - 1));                                    \
        else                                                                                                          \
            return left op count.value;                                                                               \
    }                                                                                                                 \
    template <class L, class T, class Result = decltype(::metal::declval<L>() op ::metal::declval<T>()),              \
              class = ::metal::enable_if_t<::metal::is_class_v<::metal::remove_reference_t<L>>>>                      \
    SMTL_FUNCTION constexpr Result operator op(L &&left, shift_count<T> count) __attribute__((enable_if(true, ""))) { \
        if constexpr (__is_integral(Result) && !has_own<L, T>)                                                        \
            return static_cast<L &&>(left) op(static_cast<int>(count.value) & (shifted_bits<Result> - 1));            \
        else                                                                                                          \
            return static_cast<L &&>(left) op count.value;                                                            \
    }
SMTL_SHIFT(<<, has_own_left)
SMTL_SHIFT(>>, has_own_right)
#undef SMTL_SHIFT

// What stands behind `<<=`, whose left side has the type `To`. An object of a source's own takes the count as it is.
template <class To, class T> SMTL_FUNCTION constexpr auto assigned_shift_count(T count) {
    using L = ::metal::remove_cv_t<::metal::remove_reference_t<To>>;
    if constexpr (counts<T> && __is_integral(L))
        return static_cast<int>(count) & (shifted_bits<L> - 1);
    else
        return count;
}

}  // namespace smtl
