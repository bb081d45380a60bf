/* Atomic types and functions. Threadgroups run on several threads of the host, so that these are atomic there, too. */
#ifndef SMTL_ATOMICS_H
#define SMTL_ATOMICS_H

#include "polls.h"
#include "touch.h"

namespace metal {

enum memory_order : int {
    memory_order_relaxed = __ATOMIC_RELAXED,
    memory_order_acquire = __ATOMIC_ACQUIRE,
    memory_order_release = __ATOMIC_RELEASE,
    memory_order_acq_rel = __ATOMIC_ACQ_REL,
    memory_order_seq_cst = __ATOMIC_SEQ_CST,
};

enum thread_scope {
    thread_scope_thread,
    thread_scope_simdgroup,
    thread_scope_threadgroup,
    thread_scope_device,
    thread_scope_system,
};

/* Only the functions below reach the value. */
template <class T> struct _atomic {
    _atomic() = default;
    _atomic(const _atomic &) = delete;
    _atomic &operator=(const _atomic &) = delete;
    T __value;
};

template <class T> using atomic = _atomic<T>;
using atomic_int = _atomic<int>;
using atomic_uint = _atomic<unsigned>;
using atomic_bool = _atomic<bool>;
using atomic_float = _atomic<float>;
using atomic_long = _atomic<long>;
using atomic_ulong = _atomic<unsigned long>;

}  // namespace metal

namespace smtl {

template <class T> constexpr int refuse_in_threadgroup() {
    static_assert(!__is_same(T, float), "'atomic_float' must be in the device address space");
    static_assert(!__is_same(T, unsigned long), "'atomic_ulong' must be in the device address space");
    return 0;
}

}  // namespace smtl

namespace metal {

/* What the translation makes of `threadgroup atomic<T>`. The compiler deduces the type as that of an `atomic`, and
 * looks at the other argument where it has one. */
template <class T, int = smtl::refuse_in_threadgroup<T>()> using smtl_threadgroup_atomic = _atomic<T>;

}  // namespace metal

namespace smtl {

template <class T> struct identity {
    using type = T;
};
/* A parameter of this type takes no part in deduction: `1` may be added to an atomic_uint. */
template <class T> using not_deduced = typename identity<T>::type;

/* What Metal's atomic functions take: the types of `Types` in no other order than the relaxed one. */
template <class T, class... Types> constexpr bool is_among = (__is_same(T, Types) || ... || false);
#define SMTL_ATOMIC_TYPES(function, names, ...) \
    __attribute__((diagnose_if(!(smtl::is_among<T, __VA_ARGS__>), "'" function "' takes pointers to " names, "error")))
#define SMTL_ATOMIC_ORDER(order)                                                                                  \
    __attribute__((diagnose_if(order != metal::memory_order_relaxed,                                              \
                               "atomic functions other than atomic_thread_fence take memory_order_relaxed alone", \
                               "error")))
#define SMTL_ATOMIC_ACCESSED(function)                                                                               \
    SMTL_ATOMIC_TYPES(function, "atomic_int, atomic_uint, atomic_bool and atomic_float", int, unsigned, bool, float) \
    SMTL_ATOMIC_ORDER(order)
#define SMTL_ATOMIC_ADDED(function)                                                               \
    SMTL_ATOMIC_TYPES(function, "atomic_int, atomic_uint and atomic_float", int, unsigned, float) \
    SMTL_ATOMIC_ORDER(order)
#define SMTL_ATOMIC_INTEGER(function) \
    SMTL_ATOMIC_TYPES(function, "atomic_int and atomic_uint", int, unsigned) SMTL_ATOMIC_ORDER(order)
#define SMTL_ATOMIC_LONG(function) SMTL_ATOMIC_TYPES(function, "atomic_ulong", unsigned long) SMTL_ATOMIC_ORDER(order)

/* Where the value is. Each use of it is told to the sanitizer, as what it is. */
template <class T>
SMTL_INLINE T *value_in(const volatile metal::_atomic<T> *object, uint32_t how, metal::memory_order order) {
    const uint32_t ordered = order == metal::memory_order_relaxed ? 0 : SMTL_TOUCH_ORDERED;
    touch(&object->__value, sizeof(T), how | SMTL_TOUCH_ATOMIC | ordered);
    return (T *)&object->__value;
}
template <class T> SMTL_INLINE T *read_in(const volatile metal::_atomic<T> *object, metal::memory_order order) {
    return value_in(object, 0, order);
}
template <class T> SMTL_INLINE T *stored_in(volatile metal::_atomic<T> *object, metal::memory_order order) {
    return value_in(object, SMTL_TOUCH_WRITE | SMTL_TOUCH_STORE, order);
}
template <class T> SMTL_INLINE T *updated_in(volatile metal::_atomic<T> *object, metal::memory_order order) {
    return value_in(object, SMTL_TOUCH_WRITE, order);
}

/* Not inlined where the kernel is instrumented: clang takes these for plain accesses, unlike exchanges. */
#if SMTL_SANITIZE
#define SMTL_ATOMIC_ACCESS static SMTL_UNINSTRUMENTED __attribute__((noinline, unused))
#else
#define SMTL_ATOMIC_ACCESS SMTL_INLINE
#endif
template <class T> SMTL_ATOMIC_ACCESS T load_atomic(T *object, metal::memory_order order) {
    T result;
    __atomic_load(object, &result, order);
    return result;
}
template <class T> SMTL_ATOMIC_ACCESS void store_atomic(T *object, T value, metal::memory_order order) {
    __atomic_store(object, &value, order);
}

/* Read, modify and write what the hardware has no instruction for. */
template <class T, class Modify> SMTL_INLINE T atomic_update(T *object, metal::memory_order order, Modify modify) {
    T before = load_atomic(object, metal::memory_order_relaxed);
    for (;;) {
        T after = modify(before);
        if (__atomic_compare_exchange(object, &before, &after, true, order, __ATOMIC_RELAXED)) return before;
    }
}

template <class T> SMTL_INLINE bool same_bits(T a, T b) { return __builtin_memcmp(&a, &b, sizeof(T)) == 0; }

/* `can_change` is false where the function reads the value and does nothing else. */
template <class T> SMTL_INLINE T updated(const volatile void *object, T before, T after, bool can_change, site where) {
    const step kept = can_change ? step::kept : step::read;
    count_step(object, before, after, same_bits(before, after) ? kept : step::changed, where);
    return found(before);
}

}  // namespace smtl

namespace metal {

/* Begins an atomic function, which knows where it is called. Another has the parameters of Metal's alone, for those who
 * take its address. */
#define SMTL_ATOMIC_PARAMETERS(...) __VA_ARGS__
#define SMTL_ATOMIC_FUNCTION(result, name, parameters, arguments, checks)                                \
    template <class T> SMTL_INLINE result name(SMTL_ATOMIC_PARAMETERS parameters) checks {               \
        return name(SMTL_ATOMIC_PARAMETERS arguments, smtl::site());                                     \
    }                                                                                                    \
    template <class T>                                                                                   \
    SMTL_INLINE result name(SMTL_ATOMIC_PARAMETERS parameters, smtl::site where = smtl::site(SMTL_HERE)) \
        __attribute__((enable_if(true, "rather than the other"))) checks

SMTL_ATOMIC_FUNCTION(void, atomic_store_explicit,
                     (volatile _atomic<T> * object, smtl::not_deduced<T> desired, memory_order order),
                     (object, desired, order), SMTL_ATOMIC_ACCESSED("atomic_store_explicit")) {
    smtl::store_atomic(smtl::stored_in(object, order), desired, order);
    smtl::count_step(object, desired, desired, smtl::step::stored, where);
}

SMTL_ATOMIC_FUNCTION(T, atomic_load_explicit, (const volatile _atomic<T> *object, memory_order order), (object, order),
                     SMTL_ATOMIC_ACCESSED("atomic_load_explicit")) {
    const T value = smtl::load_atomic(smtl::read_in(object, order), order);
    smtl::count_step(object, value, value, smtl::step::read, where);
    return smtl::found(value);
}

SMTL_ATOMIC_FUNCTION(T, atomic_exchange_explicit,
                     (volatile _atomic<T> * object, smtl::not_deduced<T> desired, memory_order order),
                     (object, desired, order), SMTL_ATOMIC_ACCESSED("atomic_exchange_explicit")) {
    T before;
    __atomic_exchange(smtl::updated_in(object, order), &desired, &before, order);
    return smtl::updated(object, before, desired, false, where);
}

SMTL_ATOMIC_FUNCTION(bool, atomic_compare_exchange_weak_explicit,
                     (volatile _atomic<T> * object, smtl::not_deduced<T> *expected, smtl::not_deduced<T> desired,
                      memory_order success, memory_order failure),
                     (object, expected, desired, success, failure),
                     SMTL_ATOMIC_TYPES("atomic_compare_exchange_weak_explicit",
                                       "atomic_int, atomic_uint, atomic_bool and atomic_float", int, unsigned, bool,
                                       float) SMTL_ATOMIC_ORDER(success) SMTL_ATOMIC_ORDER(failure)) {
    T before = *expected;
    const bool exchanged =
        __atomic_compare_exchange(smtl::updated_in(object, success), &before, &desired, true, success, failure);
    *expected = smtl::updated(object, before, exchanged ? desired : before, false, where);
    return smtl::found(exchanged);
}

/* `after` says what the function leaves, and `native` whether the hardware has an instruction for it. */
#define SMTL_ATOMIC_FETCH(name, checks, native, after, can_change)                                         \
    SMTL_ATOMIC_FUNCTION(T, atomic_fetch_##name##_explicit,                                                \
                         (volatile _atomic<T> * object, smtl::not_deduced<T> operand, memory_order order), \
                         (object, operand, order), checks("atomic_fetch_" #name "_explicit")) {            \
        const auto modify = [operand](T before) { return T(after); };                                      \
        T *const value = smtl::updated_in(object, order);                                                  \
        T before;                                                                                          \
        if constexpr (native && __is_integral(T))                                                          \
            before = __atomic_fetch_##name(value, operand, order);                                         \
        else                                                                                               \
            before = smtl::atomic_update(value, order, modify);                                            \
        return smtl::updated(object, before, modify(before), can_change, where);                           \
    }
SMTL_ATOMIC_FETCH(add, SMTL_ATOMIC_ADDED, true, before + operand, operand != T(0))
SMTL_ATOMIC_FETCH(sub, SMTL_ATOMIC_ADDED, true, before - operand, operand != T(0))
SMTL_ATOMIC_FETCH(and, SMTL_ATOMIC_INTEGER, true, before &operand, operand != T(-1))
SMTL_ATOMIC_FETCH(or, SMTL_ATOMIC_INTEGER, true, before | operand, operand != T(0))
SMTL_ATOMIC_FETCH(xor, SMTL_ATOMIC_INTEGER, true, before ^ operand, operand != T(0))
SMTL_ATOMIC_FETCH(min, SMTL_ATOMIC_INTEGER, false, operand < before ? operand : before, true)
SMTL_ATOMIC_FETCH(max, SMTL_ATOMIC_INTEGER, false, before < operand ? operand : before, true)
#undef SMTL_ATOMIC_FETCH

/* 64-bit minimum and maximum, without the value before. */
#define SMTL_ATOMIC_LIMIT(name, after)                                                                     \
    SMTL_ATOMIC_FUNCTION(void, atomic_##name##_explicit,                                                   \
                         (volatile _atomic<T> * object, smtl::not_deduced<T> operand, memory_order order), \
                         (object, operand, order), SMTL_ATOMIC_LONG("atomic_" #name "_explicit")) {        \
        const auto modify = [operand](T before) { return T(after); };                                      \
        const T before = smtl::atomic_update(smtl::updated_in(object, order), order, modify);              \
        smtl::updated(object, before, modify(before), true, where);                                        \
    }
SMTL_ATOMIC_LIMIT(min, operand < before ? operand : before)
SMTL_ATOMIC_LIMIT(max, before < operand ? operand : before)
#undef SMTL_ATOMIC_LIMIT
#undef SMTL_ATOMIC_FUNCTION
#undef SMTL_ATOMIC_PARAMETERS

template <class Flags>
SMTL_INLINE void atomic_thread_fence(Flags flags, memory_order order, thread_scope = thread_scope_device) {
    smtl::touch_fence(uint32_t(flags));
    __atomic_thread_fence(order);
}

}  // namespace metal

#endif
