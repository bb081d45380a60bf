// Shifts as Metal has them, for the compiler's own computing as well: a count is taken modulo the width of what is
// shifted. The translation puts the counts of a source into these functions (passes/shift_counts.h).
#pragma once

#include "type_traits.h"

namespace smtl {

template <class T> constexpr bool counts = __is_integral(T) || (__is_enum(T) && ::metal::is_convertible_v<T, int>);

// The number of bits of what an operand becomes before it is shifted.
template <class T> constexpr int shifted_bits = sizeof(+::metal::declval<T>()) * 8;

// A count that waits for what is shifted by it. Whatever else has an operator `<<` takes the count as it is.
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

// Operands that C++ itself shifts: those for which no source has an operator.
template <class L, class T, class Result = decltype(::metal::declval<L>() << ::metal::declval<T>())>
using shifted = ::metal::enable_if_t<counts<L> && ::metal::is_same_v<Result, decltype(+::metal::declval<L>())>, Result>;

template <class L, class T> SMTL_FUNCTION constexpr shifted<L, T> operator<<(L left, shift_count<T> count) {
    return left << (static_cast<int>(count.value) & (shifted_bits<L> - 1));
}
template <class L, class T> SMTL_FUNCTION constexpr shifted<L, T> operator>>(L left, shift_count<T> count) {
    return left >> (static_cast<int>(count.value) & (shifted_bits<L> - 1));
}

// What stands behind `<<=`, whose left side has the type `To`. An object of a source's own takes the count as it is.
template <class To, class T> SMTL_FUNCTION constexpr auto assigned_shift_count(T count) {
    using L = ::metal::remove_cv_t<::metal::remove_reference_t<To>>;
    if constexpr (counts<T> && counts<L>)
        return static_cast<int>(count) & (shifted_bits<L> - 1);
    else
        return count;
}

}  // namespace smtl
