// Facts about kernels and function constants, for the host to read from a section of an object file.
#pragma once

#include <msl/kernel.h>
#include <msl/vector.h>
#include <smtl/function_tables.h>

#include "arguments.h"

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

struct parameter_facts {
    unsigned index;
    unsigned read_only;
    unsigned length; /* of an array of buffers, which takes as many indices */
    unsigned category;
    unsigned long type_size;
};

template <class T, class = void> struct complete_size {
    static constexpr unsigned long value = 0;
};
template <class T> struct complete_size<T, decltype(void(sizeof(T)))> {
    static constexpr unsigned long value = sizeof(T);
};
template <> struct complete_size<void> {
    static constexpr unsigned long value = 0;
};

template <class T> constexpr parameter_facts facts_of(unsigned index) {
    using referred = metal::remove_pointer_t<metal::remove_reference_t<T>>;
    constexpr bool table = is_table<metal::remove_cv_t<T>>;
    constexpr bool indirect = metal::is_reference_v<T> || metal::is_pointer_v<T> || table;
    // The pointers of an array of buffers, given by reference, are what is read.
    using target = metal::conditional_t<metal::is_reference_v<T>, metal::remove_reference_t<T>, referred>;
    if constexpr (buffer_array<T>::length > 0) {
        parameter_facts facts = facts_of<typename buffer_array<T>::element>(index);
        facts.length = buffer_array<T>::length;
        return facts;
    } else {
        constexpr unsigned category = indirect                                    ? of_memory
                                      : is_integers<metal::remove_cv_t<T>>::value ? of_integers
                                                                                  : 0;
        return {index, !indirect || table || metal::is_const_v<target>, 1, category,
                complete_size<metal::remove_cv_t<target>>::value};
    }
}

template <unsigned N> struct kernel_record {
    unsigned tag, number, count, thread_limit;
    parameter_facts parameters[N];
};
template <> struct kernel_record<0> {
    unsigned tag, number, count, thread_limit;
};

template <class... T>
constexpr kernel_record<sizeof...(T)> reflect(unsigned number, void (*)(T...), const unsigned *indices,
                                              unsigned thread_limit) {
    kernel_record<sizeof...(T)> record{};
    record.tag = 1;
    record.number = number;
    record.count = sizeof...(T);
    record.thread_limit = thread_limit;
    if constexpr (sizeof...(T) > 0) {
        unsigned i = 0;
        ((record.parameters[i] = facts_of<T>(indices[i]), ++i), ...);
    }
    return record;
}

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

struct constant_record {
    unsigned tag, number, count, reserved;
    unsigned index, type;
};

}  // namespace smtl

#define SMTL_REFLECT_SECTION __attribute__((section("smtl_reflection"), used, aligned(8)))
#define SMTL_REFLECT_KERNEL(number, kernel, indices, thread_limit)    \
    SMTL_REFLECT_SECTION static constexpr auto smtl_record_##number = \
        smtl::reflect(number, static_cast<decltype(kernel)>(nullptr), indices, thread_limit);
#define SMTL_REFLECT_CONSTANT(number, constant, index)                                            \
    SMTL_REFLECT_SECTION static constexpr smtl::constant_record smtl_constant_record_##number = { \
        2, number, 1, 0, index, smtl::data_type<metal::decay_t<decltype(constant)>>};
