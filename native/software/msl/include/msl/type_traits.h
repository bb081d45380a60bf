// <metal_type_traits>, and the traits that the library itself turns on.
#pragma once

#include "scalar.h"
#include "spaces.h"

namespace metal {

template <class T, T Value> struct integral_constant {
    static constexpr T value = Value;
    using value_type = T;
    using type = integral_constant;
    constexpr operator T() const { return Value; }
    constexpr T operator()() const { return Value; }
};
template <bool Value> using bool_constant = integral_constant<bool, Value>;
using true_type = bool_constant<true>;
using false_type = bool_constant<false>;

template <bool Condition, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> {
    using type = T;
};
template <bool Condition, class T = void> using enable_if_t = typename enable_if<Condition, T>::type;

template <bool Condition, class T, class F> struct conditional {
    using type = T;
};
template <class T, class F> struct conditional<false, T, F> {
    using type = F;
};
template <bool Condition, class T, class F> using conditional_t = typename conditional<Condition, T, F>::type;

template <class T> struct smtl_type_identity {
    using type = T;
};
template <class T> using smtl_type_identity_t = typename smtl_type_identity<T>::type;

template <class T> struct remove_const : smtl_type_identity<T> {};
template <class T> struct remove_const<const T> : smtl_type_identity<T> {};
template <class T> struct remove_volatile : smtl_type_identity<T> {};
template <class T> struct remove_volatile<volatile T> : smtl_type_identity<T> {};
template <class T> struct remove_cv : remove_const<typename remove_volatile<T>::type> {};
template <class T> struct remove_reference : smtl_type_identity<T> {};
template <class T> struct remove_reference<T &> : smtl_type_identity<T> {};
template <class T> struct remove_reference<T &&> : smtl_type_identity<T> {};
template <class T> struct remove_pointer : smtl_type_identity<T> {};
template <class T> struct remove_pointer<T *> : smtl_type_identity<T> {};
template <class T> struct remove_pointer<T *const> : smtl_type_identity<T> {};
template <class T> struct remove_extent : smtl_type_identity<T> {};
template <class T> struct remove_extent<T[]> : smtl_type_identity<T> {};
template <class T, size_t N> struct remove_extent<T[N]> : smtl_type_identity<T> {};
template <class T> struct add_const : smtl_type_identity<const T> {};
template <class T> struct add_volatile : smtl_type_identity<volatile T> {};
template <class T> struct add_cv : smtl_type_identity<const volatile T> {};
template <class T> struct add_pointer : smtl_type_identity<typename remove_reference<T>::type *> {};
template <class T> struct add_lvalue_reference : smtl_type_identity<T &> {};
template <class T> struct add_rvalue_reference : smtl_type_identity<T &&> {};
template <class T> struct remove_addrspace : smtl_type_identity<T> {};
#if !defined(__OPENCL_CPP_VERSION__)
#define SMTL_REMOVE_ADDRSPACE(qualifiers, space) \
    template <class T> struct remove_addrspace<qualifiers space T> : smtl_type_identity<qualifiers T> {};
#define SMTL_REMOVE_ADDRSPACES(qualifiers)              \
    SMTL_REMOVE_ADDRSPACE(qualifiers, SMTL_DEVICE)      \
    SMTL_REMOVE_ADDRSPACE(qualifiers, SMTL_THREADGROUP) \
    SMTL_REMOVE_ADDRSPACE(qualifiers, SMTL_CONSTANT_SPACE)
SMTL_REMOVE_ADDRSPACES()
SMTL_REMOVE_ADDRSPACES(const)
SMTL_REMOVE_ADDRSPACES(volatile)
SMTL_REMOVE_ADDRSPACES(const volatile)
#undef SMTL_REMOVE_ADDRSPACES
#undef SMTL_REMOVE_ADDRSPACE
#endif
// The type of a value, which names no space: a variable can have it.
template <class T> struct decay {
    using bare = typename remove_reference<T>::type;
    using value = typename remove_cv<typename remove_addrspace<bare>::type>::type;
    using type = typename conditional<__is_array(bare), typename remove_extent<bare>::type *,
                                      typename conditional<__is_function(bare), bare *, value>::type>::type;
};

template <class T> using remove_const_t = typename remove_const<T>::type;
template <class T> using remove_volatile_t = typename remove_volatile<T>::type;
template <class T> using remove_cv_t = typename remove_cv<T>::type;
template <class T> using remove_reference_t = typename remove_reference<T>::type;
template <class T> using remove_pointer_t = typename remove_pointer<T>::type;
template <class T> using remove_extent_t = typename remove_extent<T>::type;
template <class T> using add_const_t = typename add_const<T>::type;
template <class T> using add_volatile_t = typename add_volatile<T>::type;
template <class T> using add_cv_t = typename add_cv<T>::type;
template <class T> using add_pointer_t = typename add_pointer<T>::type;
template <class T> using add_lvalue_reference_t = typename add_lvalue_reference<T>::type;
template <class T> using add_rvalue_reference_t = typename add_rvalue_reference<T>::type;
template <class T> using remove_addrspace_t = typename remove_addrspace<T>::type;
template <class T> using decay_t = typename decay<T>::type;

template <class T, class U> struct is_same : false_type {};
template <class T> struct is_same<T, T> : true_type {};
template <class T, class U> constexpr bool is_same_v = is_same<T, U>::value;

template <class T, class... Others> constexpr bool smtl_is_one_of_v = (is_same_v<T, Others> || ...);

template <class T> struct is_void : bool_constant<is_same_v<remove_cv_t<T>, void>> {};
// True for scalars alone.
template <class T>
constexpr bool smtl_is_integral_v = smtl_is_one_of_v<remove_cv_t<T>, bool, char, signed char, uchar, short, ushort, int,
                                                     uint, long, ulong, long long, unsigned long long>;
// Vectors of integers are integral too (vector.h).
template <class T> struct is_integral : bool_constant<smtl_is_integral_v<T>> {};
template <class T> struct is_floating_point : bool_constant<smtl_is_one_of_v<remove_cv_t<T>, float, half, bfloat>> {};
template <class T> struct is_arithmetic : bool_constant<smtl_is_integral_v<T> || is_floating_point<T>::value> {};
template <class T, bool = is_arithmetic<T>::value> struct is_signed : false_type {};
template <class T> struct is_signed<T, true> : bool_constant<(static_cast<T>(-1) < static_cast<T>(0))> {};
template <class T, bool = is_arithmetic<T>::value> struct is_unsigned : false_type {};
template <class T> struct is_unsigned<T, true> : bool_constant<!is_signed<T>::value> {};
template <class T> struct is_const : false_type {};
template <class T> struct is_const<const T> : true_type {};
template <class T> struct is_volatile : false_type {};
template <class T> struct is_volatile<volatile T> : true_type {};
template <class T> struct is_pointer : false_type {};
template <class T> struct is_pointer<T *> : true_type {};
template <class T> struct is_pointer<T *const> : true_type {};
template <class T> struct is_lvalue_reference : false_type {};
template <class T> struct is_lvalue_reference<T &> : true_type {};
template <class T> struct is_reference : bool_constant<is_lvalue_reference<T>::value> {};
template <class T> struct is_reference<T &&> : true_type {};
template <class T> struct is_array : bool_constant<__is_array(T)> {};
template <class T> struct is_enum : bool_constant<__is_enum(T)> {};
template <class T> struct is_union : bool_constant<__is_union(T)> {};
template <class T> struct is_class : bool_constant<__is_class(T)> {};
template <class T> struct is_function : bool_constant<__is_function(T)> {};
template <class T> struct is_scalar : bool_constant<is_arithmetic<T>::value || __is_enum(T) || is_pointer<T>::value> {};
template <class T> struct is_trivial : bool_constant<__is_trivial(T)> {};
template <class T> struct is_trivially_copyable : bool_constant<__is_trivially_copyable(T)> {};
template <class T> struct is_standard_layout : bool_constant<__is_standard_layout(T)> {};
template <class T> struct is_pod : bool_constant<__is_pod(T)> {};
template <class Base, class Derived> struct is_base_of : bool_constant<__is_base_of(Base, Derived)> {};
template <class From, class To> struct is_convertible : bool_constant<__is_convertible_to(From, To)> {};
template <class T, class... Arguments> struct is_constructible : bool_constant<__is_constructible(T, Arguments...)> {};
template <class T, class U> struct is_assignable : bool_constant<__is_assignable(T, U)> {};
template <class T> struct alignment_of : integral_constant<size_t, alignof(T)> {};
template <class T> struct rank : integral_constant<size_t, 0> {};
template <class T, size_t N> struct rank<T[N]> : integral_constant<size_t, rank<T>::value + 1> {};
template <class T> struct underlying_type : smtl_type_identity<__underlying_type(T)> {};
template <class T> using underlying_type_t = typename underlying_type<T>::type;

template <class T> constexpr bool is_void_v = is_void<T>::value;
template <class T> constexpr bool is_integral_v = is_integral<T>::value;
template <class T> constexpr bool is_floating_point_v = is_floating_point<T>::value;
template <class T> constexpr bool is_arithmetic_v = is_arithmetic<T>::value;
template <class T> constexpr bool is_signed_v = is_signed<T>::value;
template <class T> constexpr bool is_unsigned_v = is_unsigned<T>::value;
template <class T> constexpr bool is_const_v = is_const<T>::value;
template <class T> constexpr bool is_volatile_v = is_volatile<T>::value;
template <class T> constexpr bool is_pointer_v = is_pointer<T>::value;
template <class T> constexpr bool is_reference_v = is_reference<T>::value;
template <class T> constexpr bool is_array_v = is_array<T>::value;
template <class T> constexpr bool is_enum_v = is_enum<T>::value;
template <class T> constexpr bool is_union_v = is_union<T>::value;
template <class T> constexpr bool is_class_v = is_class<T>::value;
template <class T> constexpr bool is_function_v = is_function<T>::value;
template <class T> constexpr bool is_scalar_v = is_scalar<T>::value;
template <class T> constexpr bool is_trivial_v = is_trivial<T>::value;
template <class T> constexpr bool is_trivially_copyable_v = is_trivially_copyable<T>::value;
template <class Base, class Derived> constexpr bool is_base_of_v = is_base_of<Base, Derived>::value;
template <class From, class To> constexpr bool is_convertible_v = is_convertible<From, To>::value;
template <class T, class... Arguments> constexpr bool is_constructible_v = is_constructible<T, Arguments...>::value;
template <class T, class U> constexpr bool is_assignable_v = is_assignable<T, U>::value;
template <class T> constexpr size_t rank_v = rank<T>::value;

template <class T> struct make_signed {
    using type = conditional_t<sizeof(T) == 1, char,
                               conditional_t<sizeof(T) == 2, short, conditional_t<sizeof(T) == 4, int, long>>>;
};
template <class T> struct make_unsigned {
    using type = conditional_t<sizeof(T) == 1, uchar,
                               conditional_t<sizeof(T) == 2, ushort, conditional_t<sizeof(T) == 4, uint, ulong>>>;
};
template <class T> using make_signed_t = typename make_signed<T>::type;
template <class T> using make_unsigned_t = typename make_unsigned<T>::type;

template <class T> T &&declval() noexcept;

template <class... T> struct common_type;
template <class T> struct common_type<T> : smtl_type_identity<decay_t<T>> {};
template <class T, class U>
struct common_type<T, U> : smtl_type_identity<decay_t<decltype(true ? declval<T>() : declval<U>())>> {};
template <class T, class U, class... Others>
struct common_type<T, U, Others...> : common_type<typename common_type<T, U>::type, Others...> {};
template <class... T> using common_type_t = typename common_type<T...>::type;

template <class T> constexpr remove_reference_t<T> &&move(T &&value) noexcept {
    return static_cast<remove_reference_t<T> &&>(value);
}
template <class T> constexpr T &&forward(remove_reference_t<T> &value) noexcept { return static_cast<T &&>(value); }
template <class T> constexpr T &&forward(remove_reference_t<T> &&value) noexcept { return static_cast<T &&>(value); }
template <class T> SMTL_FUNCTION void swap(T &a, T &b) {
    T saved = a;
    a = b;
    b = saved;
}

// Names of Apple's that sources use.
template <class... Traits> struct _conjunction : bool_constant<(Traits::value && ...)> {};
template <class... Traits> struct _disjunction : bool_constant<(Traits::value || ...)> {};
template <class Trait> struct _negation : bool_constant<!Trait::value> {};
// What the simdgroup functions of the language take.
template <class T>
struct __is_valid_simdgroup_type : bool_constant<is_arithmetic_v<T> && sizeof(T) <= 4 && !is_same_v<T, bool>> {};

}  // namespace metal
