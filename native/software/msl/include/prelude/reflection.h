// Facts about kernels and function constants, for the host.
#pragma once

#include <msl/kernel.h>
#include <msl/vector.h>
#include <smtl/function_tables.h>

#include "arguments.h"
#include "facts.h"

namespace smtl {

// What a parameter can be filled with: anything else is 0.
enum parameter_category : unsigned {
    of_memory = 1,
    of_integers = 2
};

template <class T> constexpr bool is_table = false;
template <class T> constexpr bool is_table<metal::visible_function_table<T>> = true;

template <class T> struct is_integers : metal::is_integral<T> {};
template <class T, int N> struct is_integers<metal::vec<T, N>> : metal::is_integral<T> {};

template <class T, class = void> struct complete_size {
    static constexpr unsigned long value = 0;
};
template <class T> struct complete_size<T, decltype(void(sizeof(T)))> {
    static constexpr unsigned long value = sizeof(T);
};
template <> struct complete_size<void> {
    static constexpr unsigned long value = 0;
};

// What a parameter is: an array of buffers as many of its elements, which take as many indices.
template <class T, unsigned Length = buffer_array<T>::length> struct parameter {
    template <unsigned Index>
    using facts = typename parameter<typename buffer_array<T>::element>::template of<Index, Length>;
};
template <class T> struct parameter<T, 0> {
    using plain = metal::remove_cv_t<T>;
    using referred = metal::remove_reference_t<T>;
    static constexpr bool table = is_table<plain>;
    static constexpr bool indirect = metal::is_reference_v<T> || metal::is_pointer_v<T> || table;
    // The pointers of an array of buffers, given by reference, are what is read.
    using target = metal::conditional_t<metal::is_reference_v<T>, referred, metal::remove_pointer_t<referred>>;
    static constexpr bool read_only = !indirect || table || metal::is_const_v<target>;
    static constexpr unsigned category = indirect ? of_memory : is_integers<plain>::value ? of_integers : 0;
    template <unsigned Index, unsigned Length>
    using of = numbers<Index, read_only, Length, category, complete_size<metal::remove_cv_t<target>>::value>;
    template <unsigned Index> using facts = of<Index, 1>;
};

template <class Positions, class... T> struct parameters;
template <unsigned long... I, class... T> struct parameters<positions<unsigned long, I...>, T...> {
    template <const auto &Indices> using facts = parts<typename parameter<T>::template facts<Indices[I]>...>;
};
template <class Kernel> struct kernel_parameters;
template <class... T>
struct kernel_parameters<void (*const)(T...)>
    : parameters<__make_integer_seq<positions, unsigned long, sizeof...(T)>, T...> {};

// MTLDataType.
template <class T> constexpr unsigned data_type = 0;
#define SMTL_DATA_TYPE(T, number)                                       \
    template <> inline constexpr unsigned data_type<T> = number;        \
    template <> inline constexpr unsigned data_type<T##2> = number + 1; \
    template <> inline constexpr unsigned data_type<T##3> = number + 2; \
    template <> inline constexpr unsigned data_type<T##4> = number + 3;
SMTL_DATA_TYPE(float, 3)
SMTL_DATA_TYPE(half, 16)
SMTL_DATA_TYPE(int, 29)
SMTL_DATA_TYPE(uint, 33)
SMTL_DATA_TYPE(short, 37)
SMTL_DATA_TYPE(ushort, 41)
SMTL_DATA_TYPE(char, 45)
SMTL_DATA_TYPE(uchar, 49)
SMTL_DATA_TYPE(bool, 53)
SMTL_DATA_TYPE(long, 81)
SMTL_DATA_TYPE(ulong, 85)
SMTL_DATA_TYPE(bfloat, 121)
#undef SMTL_DATA_TYPE
// int8_t, which Metal calls char.
template <> inline constexpr unsigned data_type<signed char> = data_type<char>;

}  // namespace smtl

#define SMTL_KERNEL_FACTS(number, kernel_pointer, indices, thread_limit) \
    smtl::numbers<1, number, thread_limit>(), smtl::kernel_parameters<decltype(kernel_pointer)>::facts<indices>()
#define SMTL_CONSTANT_FACTS(number, constant_name, index) \
    smtl::numbers<2, number, index, smtl::data_type<metal::decay_t<decltype(constant_name)>>>()
