// Where the members of a structure lie and what they are, for the host to read from a section of an object file.
#pragma once

#include <msl/matrix.h>
#include <msl/packed.h>
#include <msl/reflection.h>
#include <smtl/atomics.h>

namespace smtl {

// MTLDataType of what lies in memory: of a packed vector its vector's, of an atomic that of its value.
template <class T> constexpr unsigned stored_type = data_type<T>;
template <class V> inline constexpr unsigned stored_type<metal::smtl_packed_of<V>> = data_type<V>;
template <class T> inline constexpr unsigned stored_type<metal::_atomic<T>> = data_type<T>;
template <int Columns, int Rows>
inline constexpr unsigned stored_type<metal::matrix<float, Columns, Rows>> = 7 + 3 * (Columns - 2) + Rows - 2;
template <int Columns, int Rows>
inline constexpr unsigned stored_type<metal::matrix<half, Columns, Rows>> = 20 + 3 * (Columns - 2) + Rows - 2;

// Of a member without [[id(n)]].
constexpr unsigned long no_index = ~0ul;

template <class T> struct array_shape {
    using element = T;
    static constexpr unsigned long length = 0;
};
template <class T, unsigned long N> struct array_shape<T[N]> {
    using element = T;
    static constexpr unsigned long length = N;
};
template <class T, unsigned long N> struct array_shape<metal::array<T, N>> {
    using element = T;
    static constexpr unsigned long length = N;
};

template <class T> struct member_shape {
    using element = typename array_shape<T>::element;
    static constexpr unsigned long length = array_shape<T>::length;
    static constexpr bool pointer = metal::is_pointer_v<element> || metal::is_reference_v<element>;
    using target = metal::remove_pointer_t<metal::remove_reference_t<element>>;
    using base = metal::remove_cv_t<metal::remove_addrspace_t<target>>;
};

}  // namespace smtl

#define SMTL_MEMBER_FACTS(S, M)                                                                                        \
    __builtin_offsetof(S, M), smtl::member_shape<decltype(S::M)>::length, smtl::member_shape<decltype(S::M)>::pointer, \
        metal::is_const_v<typename smtl::member_shape<decltype(S::M)>::target>,                                        \
        smtl::stored_type<typename smtl::member_shape<decltype(S::M)>::base>,                                          \
        __is_class(typename smtl::member_shape<decltype(S::M)>::base),                                                 \
        smtl::complete_size<typename smtl::member_shape<decltype(S::M)>::base>::value,                                 \
        alignof(typename smtl::member_shape<decltype(S::M)>::base),                                                    \
        sizeof(typename smtl::member_shape<decltype(S::M)>::element),                                                  \
        alignof(typename smtl::member_shape<decltype(S::M)>::element)

#define SMTL_TYPE_FACTS(S, ...)                                                                   \
    __attribute__((section("smtl_types"), used)) static const unsigned long smtl_type_facts[] = { \
        sizeof(S), alignof(S), __VA_ARGS__};
