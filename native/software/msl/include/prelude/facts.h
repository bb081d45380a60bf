// Facts that the compiler tells the host, in the one form in which it says numbers while it parses: a warning that
// names a deprecated function with its template arguments. Only their digits are read (reflection/told.h).
#pragma once

namespace smtl {

template <unsigned long... Number> struct numbers {};
template <class... Part> struct parts {};
template <class... Fact> [[deprecated]] char told(Fact...);

template <class, unsigned long... I> struct positions {};

// The words of an object, which are `at`, as numbers.
template <const auto &Words, class = __make_integer_seq<positions, unsigned long, sizeof(Words.at) / 8>> struct spread;
template <const auto &Words, unsigned long... I> struct spread<Words, positions<unsigned long, I...>> {
    using type = numbers<Words.at[I]...>;
};

}  // namespace smtl
