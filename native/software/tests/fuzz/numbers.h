// Metal's numbers and the results of operations on them, computed one by one from the language's rules and without the
// standard library that is tested: integers wrap, shifts take their count modulo the width, conversions to integers
// saturate, floating-point operations round once.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string>

namespace fuzz {

enum class Kind : std::uint8_t {
    boolean,
    i8,
    u8,
    i16,
    u16,
    i32,
    u32,
    i64,
    u64,
    f16,
    bf16,
    f32
};
constexpr unsigned kinds = 12;

constexpr bool is_float(Kind kind) { return kind >= Kind::f16; }
constexpr bool is_integer(Kind kind) { return kind != Kind::boolean && !is_float(kind); }
constexpr bool is_signed(Kind kind) { return is_float(kind) || (is_integer(kind) && unsigned(kind) % 2 == 1); }
constexpr unsigned size_of(Kind kind) {
    constexpr unsigned sizes[kinds] = {1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4};
    return sizes[unsigned(kind)];
}
constexpr unsigned width(Kind kind) { return size_of(kind) * 8; }
const char *name_of(Kind kind);

// A scalar (one component) or a vector.
struct Type {
    Kind kind{};
    unsigned n = 1;
    bool operator==(const Type &) const = default;
    std::string name() const { return name_of(kind) + (n > 1 ? std::to_string(n) : ""); }
    unsigned size() const { return size_of(kind) * (n == 3 ? 4 : n); }
};

// An integer with its sign extended to 64 bits, or the bits of a double.
using Number = std::uint64_t;
using Value = std::array<Number, 4>;

using Wide = __int128;
inline Number wrap(Kind kind, Wide value) {
    if (kind == Kind::boolean) return value != 0;
    const unsigned unused = 64 - width(kind);
    const std::uint64_t top = std::uint64_t(value) << unused;
    return is_signed(kind) ? Number(std::int64_t(top) >> unused) : top >> unused;
}
inline Wide integer(Kind kind, Number number) { return is_signed(kind) ? Wide(std::int64_t(number)) : Wide(number); }
inline double real(Number number) { return std::bit_cast<double>(number); }
Number rounded(Kind kind, double value);

Number convert(Kind from, Kind to, Number number);
// Operators by their spelling, of two operands of one kind; comparisons give a boolean.
Number binary(const std::string &op, Kind kind, Number a, Number b);
// Functions of the standard library by their names, of operands of one kind.
Number call(const std::string &name, Kind kind, Number a, Number b, Number c);

// The kind in which scalars of two kinds meet in C++.
Kind meeting(Kind a, Kind b);

// As memory holds them.
Number load(Kind kind, const void *from);
void store(Kind kind, Number number, void *to);

}  // namespace fuzz
