/* Where the members of a structure begin that has bases; see msl/passes/bases.h. */
#ifndef SMTL_BASES_H
#define SMTL_BASES_H

namespace smtl {

/* A bit-field of no bits and of this type moves what follows to a multiple of the alignment. */
template <unsigned Alignment> struct aligned_unit {
    typedef char type;
};
#define SMTL_ALIGNED_UNIT(alignment)                           \
    template <> struct aligned_unit<alignment> {               \
        typedef char type __attribute__((aligned(alignment))); \
    };
SMTL_ALIGNED_UNIT(2)
SMTL_ALIGNED_UNIT(4)
SMTL_ALIGNED_UNIT(8)
SMTL_ALIGNED_UNIT(16)
SMTL_ALIGNED_UNIT(32)
SMTL_ALIGNED_UNIT(64)
SMTL_ALIGNED_UNIT(128)
#undef SMTL_ALIGNED_UNIT

/* What Metal's compiler would find to be plain old data keeps its padding. */
template <class... Bases> struct last_base {
    typedef aligned_unit<1>::type unit;
};
template <class Base> struct last_base<Base> {
    typedef typename aligned_unit<__is_pod(Base) && !__is_empty(Base) ? alignof(Base) : 1>::type unit;
};
template <class First, class Second, class... Rest>
struct last_base<First, Second, Rest...> : last_base<Second, Rest...> {};
template <class... Bases> using members_begin = typename last_base<Bases...>::unit;

template <class Base> constexpr bool loses_padding() {
    struct derived : Base {
        char member;
    };
    return __is_pod(Base) && !__is_empty(Base) && sizeof(derived) == sizeof(Base);
}
/* Whether a base but the last one has padding that the next would lie in. */
template <class... Bases> constexpr bool overlap = false;
template <class First, class Second, class... Rest>
constexpr bool overlap<First, Second, Rest...> = loses_padding<First>() || overlap<Second, Rest...>;

}  // namespace smtl

#endif
