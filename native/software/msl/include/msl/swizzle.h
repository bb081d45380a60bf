// Swizzles as properties: `v.zyx` calls a getter or a setter and takes no room. A setter's result is
// the value of the assignment. Expanded inside metal::vec.
#pragma once

#define SMTL_PROPERTY(type, getter, setter, name) __declspec(property(get = getter, put = setter)) type name

// Only the components that are named are read and written. Clang takes the whole vector, which is the same where nobody
// watches.
#if SMTL_SANITIZE
#define SMTL_GET1(a)                        \
    if (!__builtin_is_constant_evaluated()) \
    return reinterpret_cast<const T *>(&native)[smtl_detail::component_numbers<size>().a]
#define SMTL_PUT1(a)                                                                      \
    if (!__builtin_is_constant_evaluated()) {                                             \
        reinterpret_cast<T *>(&native)[smtl_detail::component_numbers<size>().a] = value; \
        return value;                                                                     \
    }
#define SMTL_GET_ALL(n, name)                \
    if (!__builtin_is_constant_evaluated())  \
    return smtl_vector_of<T[n]>(from_native, \
                                smtl_detail::gather<T, n, size>(native, smtl_detail::component_numbers<size>().name))
#define SMTL_PUT_ALL(n, name)                                                                                \
    if (!__builtin_is_constant_evaluated()) {                                                                \
        smtl_detail::scatter<T, n, size>(native, smtl_detail::component_numbers<size>().name, value.native); \
        return value;                                                                                        \
    }
#else
#define SMTL_GET1(a)
#define SMTL_PUT1(a)
#define SMTL_GET_ALL(n, name)
#define SMTL_PUT_ALL(n, name)
#endif

#define SMTL_SWIZZLE1(a, A)                                                              \
    SMTL_FUNCTION constexpr T get_##a() const {                                          \
        SMTL_GET1(a);                                                                    \
        return T(native.a);                                                              \
    }                                                                                    \
    SMTL_FUNCTION constexpr T put_##a(T value) & {                                       \
        SMTL_PUT1(a);                                                                    \
        native.a = value;                                                                \
        return value;                                                                    \
    }                                                                                    \
    SMTL_FUNCTION T get_##a() const volatile { return smtl_vector_of(*this).get_##a(); } \
    SMTL_FUNCTION T put_##a(T value) volatile & {                                        \
        native.a = value;                                                                \
        return value;                                                                    \
    }                                                                                    \
    SMTL_PROPERTY(T, get_##a, put_##a, a);                                               \
    SMTL_PROPERTY(T, get_##a, put_##a, A);

// A setter with a component twice does not compile where it is used.
#define SMTL_SWIZZLE_OF(n, name, alternative)                                               \
    SMTL_FUNCTION constexpr smtl_vector_of<T[n]> get_##name() const {                       \
        SMTL_GET_ALL(n, name);                                                              \
        return smtl_vector_of<T[n]>(from_native, native.name);                              \
    }                                                                                       \
    SMTL_FUNCTION constexpr smtl_vector_of<T[n]> put_##name(smtl_vector_of<T[n]> value) & { \
        SMTL_PUT_ALL(n, name);                                                              \
        native.name = value.native;                                                         \
        return value;                                                                       \
    }                                                                                       \
    __declspec(property(get = get_##name, put = put_##name)) smtl_vector_of<T[n]> name;     \
    __declspec(property(get = get_##name, put = put_##name)) smtl_vector_of<T[n]> alternative;

#define SMTL_SWIZZLE2(a, A, b, B) SMTL_SWIZZLE_OF(2, a##b, A##B)
#define SMTL_SWIZZLE3(a, A, b, B, c, C) SMTL_SWIZZLE_OF(3, a##b##c, A##B##C)
#define SMTL_SWIZZLE4(a, A, b, B, c, C, d, D) SMTL_SWIZZLE_OF(4, a##b##c##d, A##B##C##D)

// All ways to continue a swizzle by one, two and three components, for vectors of 2, 3 and 4.
#define SMTL_NEXT1_2(M, ...) M(__VA_ARGS__, x, r) M(__VA_ARGS__, y, g)
#define SMTL_NEXT2_2(M, ...) SMTL_NEXT1_2(M, __VA_ARGS__, x, r) SMTL_NEXT1_2(M, __VA_ARGS__, y, g)
#define SMTL_NEXT3_2(M, ...) SMTL_NEXT2_2(M, __VA_ARGS__, x, r) SMTL_NEXT2_2(M, __VA_ARGS__, y, g)
#define SMTL_NEXT1_3(M, ...) SMTL_NEXT1_2(M, __VA_ARGS__) M(__VA_ARGS__, z, b)
#define SMTL_NEXT2_3(M, ...) \
    SMTL_NEXT1_3(M, __VA_ARGS__, x, r) SMTL_NEXT1_3(M, __VA_ARGS__, y, g) SMTL_NEXT1_3(M, __VA_ARGS__, z, b)
#define SMTL_NEXT3_3(M, ...) \
    SMTL_NEXT2_3(M, __VA_ARGS__, x, r) SMTL_NEXT2_3(M, __VA_ARGS__, y, g) SMTL_NEXT2_3(M, __VA_ARGS__, z, b)
#define SMTL_NEXT1_4(M, ...) SMTL_NEXT1_3(M, __VA_ARGS__) M(__VA_ARGS__, w, a)
#define SMTL_NEXT2_4(M, ...)           \
    SMTL_NEXT1_4(M, __VA_ARGS__, x, r) \
    SMTL_NEXT1_4(M, __VA_ARGS__, y, g) SMTL_NEXT1_4(M, __VA_ARGS__, z, b) SMTL_NEXT1_4(M, __VA_ARGS__, w, a)
#define SMTL_NEXT3_4(M, ...)           \
    SMTL_NEXT2_4(M, __VA_ARGS__, x, r) \
    SMTL_NEXT2_4(M, __VA_ARGS__, y, g) SMTL_NEXT2_4(M, __VA_ARGS__, z, b) SMTL_NEXT2_4(M, __VA_ARGS__, w, a)

// M1 to M4 declare one swizzle of that many components.
#define SMTL_SWIZZLES_FROM(M, n, a, A) \
    M##1(a, A)SMTL_NEXT1_##n(M##2, a, A) SMTL_NEXT2_##n(M##3, a, A) SMTL_NEXT3_##n(M##4, a, A)
#define SMTL_SWIZZLES_2(M) SMTL_SWIZZLES_FROM(M, 2, x, r) SMTL_SWIZZLES_FROM(M, 2, y, g)
#define SMTL_SWIZZLES_3(M) SMTL_SWIZZLES_FROM(M, 3, x, r) SMTL_SWIZZLES_FROM(M, 3, y, g) SMTL_SWIZZLES_FROM(M, 3, z, b)
#define SMTL_SWIZZLES_4(M)         \
    SMTL_SWIZZLES_FROM(M, 4, x, r) \
    SMTL_SWIZZLES_FROM(M, 4, y, g) SMTL_SWIZZLES_FROM(M, 4, z, b) SMTL_SWIZZLES_FROM(M, 4, w, a)
