// Where the members of a structure lie and what they are, for the host.
#pragma once

#include <msl/matrix.h>
#include <msl/packed.h>
#include <smtl/atomics.h>
#include <smtl/commands.h>

#include "reflection.h"

namespace smtl {

// MTLDataType of what lies in memory: of a packed vector its vector's, of an atomic that of its value.
template <class T> constexpr unsigned stored_type = data_type<T>;
template <class V> inline constexpr unsigned stored_type<metal::smtl_packed_of<V>> = data_type<V>;
template <class T> inline constexpr unsigned stored_type<metal::_atomic<T>> = data_type<T>;
template <int Columns, int Rows>
inline constexpr unsigned stored_type<metal::matrix<float, Columns, Rows>> = 7 + 3 * (Columns - 2) + Rows - 2;
template <int Columns, int Rows>
inline constexpr unsigned stored_type<metal::matrix<half, Columns, Rows>> = 20 + 3 * (Columns - 2) + Rows - 2;

template <> inline constexpr unsigned stored_type<metal::compute_pipeline_state> = 79;
template <> inline constexpr unsigned stored_type<metal::command_buffer> = 80;
template <class T> inline constexpr unsigned stored_type<metal::visible_function_table<T>> = 115;

// The index of a member without [[id(n)]].
constexpr unsigned long no_index = ~0ul;

// MTLDataType.
constexpr unsigned array_type = 2, pointer_type = 60;

// Facts are words, so that those of a type may be as many as it takes.
template <unsigned long N> struct words {
    unsigned long at[N];
};
// Without folds, of which clang takes no more than 256 parts.
template <unsigned long... N> constexpr unsigned long sum_of() {
    constexpr unsigned long parts[] = {N...};
    unsigned long sum = 0;
    for (const unsigned long part : parts) sum += part;
    return sum;
}
template <unsigned long... N> constexpr auto joined(const words<N> &...parts) {
    const unsigned long *const starts[] = {parts.at...};
    constexpr unsigned long counts[] = {N...};
    words<sum_of<N...>()> all{};
    unsigned long next = 0;
    for (unsigned long part = 0; part < sizeof...(N); ++part)
        for (unsigned long i = 0; i < counts[part]; ++i) all.at[next++] = starts[part][i];
    return all;
}
template <class... W> constexpr words<sizeof...(W)> words_of(W... values) {
    return {{static_cast<unsigned long>(values)...}};
}
// The name by which the compiler knows a type, whatever the source calls it there; before it, its length.
template <class T> constexpr auto type_name() {
    constexpr auto &text = __PRETTY_FUNCTION__;  // ends in "[T = name]"
    constexpr auto after_sign = [] {
        unsigned long i = 0;
        while (text[i] != '=') ++i;
        return i + 2;
    };
    constexpr unsigned long begin = after_sign(), length = sizeof(text) - 2 - begin;
    words<1 + (length + 7) / 8> name{{length}};
    for (unsigned long i = 0; i < length; ++i)
        name.at[1 + i / 8] |= static_cast<unsigned long>(text[begin + i] & 255) << i % 8 * 8;
    return name;
}

// Pointers may point to what has neither size nor alignment.
template <class T> constexpr unsigned long complete_alignment() {
    if constexpr (complete_size<T>::value != 0) return alignof(T);
    return 1;
}

template <class T> struct array_shape {
    static constexpr bool is_array = false;
};
template <class T, unsigned long N> struct shape_of_array {
    using element = T;
    static constexpr bool is_array = true;
    static constexpr unsigned long length = N;
};
template <class T, unsigned long N> struct array_shape<T[N]> : shape_of_array<T, N> {};
template <class T, unsigned long N> struct array_shape<metal::array<T, N>> : shape_of_array<T, N> {};

// In layers: MTLDataType and what else there is to say, then the same of what an array holds or a pointer points to.
template <class T> constexpr auto type_layers() {
    using plain = metal::remove_cv_t<metal::remove_addrspace_t<T>>;
    using shape = array_shape<plain>;
    if constexpr (shape::is_array) {
        return joined(words_of(array_type, shape::length), type_layers<typename shape::element>());
    } else if constexpr (metal::is_pointer_v<plain> || metal::is_reference_v<plain>) {
        using target = metal::remove_pointer_t<metal::remove_reference_t<plain>>;
        return joined(words_of(pointer_type, metal::is_const_v<target>), type_layers<target>());
    } else {
        constexpr auto value = words_of(stored_type<plain>, complete_size<plain>::value, complete_alignment<plain>());
        if constexpr ((__is_class(plain) || __is_union(plain)) && stored_type<plain> == 0)
            return joined(value, type_name<plain>());
        else
            return joined(value, words_of(0));
    }
}

}  // namespace smtl

#define SMTL_MEMBER_FACTS(S, M, ...) \
    smtl::words_of(__builtin_offsetof(S, M), __VA_ARGS__), smtl::type_layers<decltype(S::M)>()

// One of several answers: its number, and the words.
#define SMTL_TYPE_FACTS(number, S, ...)              \
    static constexpr auto smtl_type_facts_##number = \
        smtl::joined(smtl::words_of(number, sizeof(S), alignof(S)), __VA_ARGS__);
