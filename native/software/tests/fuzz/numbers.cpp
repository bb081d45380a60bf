#include "numbers.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace fuzz {
namespace {

struct Format {
    int fraction, least_exponent, most_exponent;
};
Format format_of(Kind kind) {
    return kind == Kind::f16 ? Format{10, -14, 15} : kind == Kind::bf16 ? Format{7, -126, 127} : Format{23, -126, 127};
}

// An integer as a double. If the double cannot hold all bits, its last bit tells of the others, so that only the
// rounding that follows rounds.
double sticky(Wide value) {
    const bool negative = value < 0;
    std::uint64_t magnitude = std::uint64_t(negative ? -value : value);
    const int shift = std::max(0, 64 - std::countl_zero(magnitude) - 53);
    const bool lost = (magnitude & ((std::uint64_t(1) << shift) - 1)) != 0;
    const double result = std::ldexp(double((magnitude >> shift) | std::uint64_t(lost)), shift);
    return negative ? -result : result;
}

Wide least(Kind kind) { return is_signed(kind) ? -(Wide(1) << (width(kind) - 1)) : 0; }
Wide most(Kind kind) { return (Wide(1) << (width(kind) - is_signed(kind))) - 1; }
Number saturated(Kind kind, Wide value) { return wrap(kind, std::clamp(value, least(kind), most(kind))); }

Number float_call(const std::string &name, Kind kind, double a, double b, double c) {
    const auto smaller = [](double x, double y) { return std::isnan(x) ? y : std::isnan(y) ? x : std::min(x, y); };
    const auto larger = [](double x, double y) { return std::isnan(x) ? y : std::isnan(y) ? x : std::max(x, y); };
    double result = 0;
    if (name == "abs" || name == "fabs")
        result = std::fabs(a);
    else if (name == "floor")
        result = std::floor(a);
    else if (name == "ceil")
        result = std::ceil(a);
    else if (name == "trunc")
        result = std::trunc(a);
    else if (name == "rint")
        result = std::nearbyint(a);
    else if (name == "round")
        result = std::round(a);
    else if (name == "sqrt")
        result = std::sqrt(a);
    else if (name == "saturate")
        result = smaller(larger(a, 0), 1);
    else if (name == "sign")
        result = a > 0 ? 1 : a < 0 ? -1 : std::isnan(a) ? 0 : a;
    else if (name == "fma")
        return kind == Kind::f32 ? rounded(kind, double(std::fmaf(float(a), float(b), float(c))))
                                 : rounded(kind, std::fma(a, b, c));
    else if (name == "min" || name == "fmin")
        result = smaller(a, b);
    else if (name == "max" || name == "fmax")
        result = larger(a, b);
    else if (name == "clamp")
        result = smaller(larger(a, b), c);
    else if (name == "copysign")
        result = std::copysign(a, b);
    else if (name == "step")
        result = b < a ? 0 : 1;
    else if (name == "fmod")
        result = std::fmod(a, b);
    else
        std::abort();
    return rounded(kind, result);
}

Number integer_call(const std::string &name, Kind kind, Number na, Number nb, Number nc) {
    const Wide a = integer(kind, na), b = integer(kind, nb), c = integer(kind, nc);
    const unsigned bits = width(kind);
    const std::uint64_t plain = std::uint64_t(na) << (64 - bits) >> (64 - bits);
    if (name == "abs") return wrap(kind, a < 0 ? -a : a);
    if (name == "min") return a < b ? na : nb;
    if (name == "max") return a < b ? nb : na;
    if (name == "min3") return wrap(kind, std::min({a, b, c}));
    if (name == "max3") return wrap(kind, std::max({a, b, c}));
    if (name == "median3") return wrap(kind, std::max(std::min(a, b), std::min(std::max(a, b), c)));
    if (name == "clamp") return wrap(kind, std::min(std::max(a, b), c));
    if (name == "addsat") return saturated(kind, a + b);
    if (name == "subsat") return saturated(kind, a - b);
    if (name == "hadd") return wrap(kind, (a + b) >> 1);
    if (name == "rhadd") return wrap(kind, (a + b + 1) >> 1);
    if (name == "absdiff") return wrap(Kind(unsigned(kind) + is_signed(kind)), a > b ? a - b : b - a);
    if (name == "clz") return wrap(kind, bits - unsigned(std::bit_width(plain)));
    if (name == "ctz") return wrap(kind, plain == 0 ? bits : unsigned(std::countr_zero(plain)));
    if (name == "popcount") return wrap(kind, std::popcount(plain));
    if (name == "reverse_bits") {
        Wide result = 0;
        for (unsigned i = 0; i < bits; ++i) result = result << 1 | (plain >> i & 1);
        return wrap(kind, result);
    }
    if (name == "rotate") {
        const unsigned count = unsigned(nb & (bits - 1));
        return wrap(kind, Wide(plain) << count | plain >> ((bits - count) % 64 == 0 ? 0 : bits - count));
    }
    // Unsigned, since products of two ulongs need all bits of a wide number.
    const auto high = [&] { return is_signed(kind) ? a * b >> bits : Wide((unsigned __int128)(na)*nb >> bits); };
    if (name == "mulhi") return wrap(kind, high());
    if (name == "madhi") return wrap(kind, high() + c);
    std::abort();
}

}  // namespace

const char *name_of(Kind kind) {
    constexpr const char *names[kinds] = {"bool", "char", "uchar", "short", "ushort", "int",
                                          "uint", "long", "ulong", "half",  "bfloat", "float"};
    return names[unsigned(kind)];
}

Number rounded(Kind kind, double value) {
    if (value == 0 || !std::isfinite(value))
        return std::bit_cast<Number>(std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value);
    const Format format = format_of(kind);
    const int unit = std::max(std::ilogb(value), format.least_exponent) - format.fraction;
    double result = std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit);
    if (std::fabs(result) >= std::ldexp(1.0, format.most_exponent + 1))
        result = std::copysign(std::numeric_limits<double>::infinity(), value);
    return std::bit_cast<Number>(result);
}

Number convert(Kind from, Kind to, Number number) {
    if (from == to) return number;
    if (!is_float(from))
        return is_float(to) ? rounded(to, sticky(integer(from, number))) : wrap(to, integer(from, number));
    const double value = real(number);
    if (is_float(to)) return rounded(to, value);
    if (to == Kind::boolean) return value != 0;
    if (std::isnan(value)) return 0;
    if (value <= double(least(to))) return wrap(to, least(to));
    return value >= std::ldexp(1.0, int(width(to) - is_signed(to))) ? wrap(to, most(to)) : wrap(to, Wide(value));
}

Number binary(const std::string &op, Kind kind, Number na, Number nb) {
    const auto compared = [&](auto a, auto b) -> int {
        return op == "<"    ? a < b
               : op == "<=" ? a <= b
               : op == ">"  ? a > b
               : op == ">=" ? a >= b
               : op == "==" ? a == b
               : op == "!=" ? a != b
                            : -1;
    };
    if (is_float(kind)) {
        const double a = real(na), b = real(nb);
        if (const int result = compared(a, b); result >= 0) return Number(result);
        // The double's own rounding does not change what rounding to at most 24 bits gives.
        return rounded(kind, op == "+" ? a + b : op == "-" ? a - b : op == "*" ? a * b : a / b);
    }
    const Wide a = integer(kind, na), b = integer(kind, nb);
    if (const int result = compared(a, b); result >= 0) return Number(result);
    const unsigned count = unsigned(nb & (width(kind) - 1));
    switch (op[0]) {
    case '+': return wrap(kind, a + b);
    case '-': return wrap(kind, a - b);
    case '*': return wrap(kind, Wide(na * nb));
    case '/': return wrap(kind, a / b);
    case '%': return wrap(kind, a % b);
    case '&': return wrap(kind, a & b);
    case '|': return wrap(kind, a | b);
    case '^': return wrap(kind, a ^ b);
    case '<': return wrap(kind, Wide(na << count));
    default: return wrap(kind, a >> count);
    }
}

Number call(const std::string &name, Kind kind, Number a, Number b, Number c) {
    return is_float(kind) ? float_call(name, kind, real(a), real(b), real(c)) : integer_call(name, kind, a, b, c);
}

Kind meeting(Kind a, Kind b) {
    if (is_float(a) || is_float(b)) return !is_float(b) ? a : !is_float(a) ? b : std::max(a, b);
    a = std::max(a, Kind::i32), b = std::max(b, Kind::i32);
    // A long holds every uint.
    return std::max(a, b);
}

Number load(Kind kind, const void *from) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, from, size_of(kind));
    if (kind == Kind::f32) return rounded(kind, double(std::bit_cast<float>(std::uint32_t(bits))));
    if (kind == Kind::bf16) return rounded(kind, double(std::bit_cast<float>(std::uint32_t(bits << 16))));
    if (kind != Kind::f16) return wrap(kind, Wide(bits));
    const int exponent = int(bits >> 10 & 31), fraction = int(bits & 1023);
    const double size =
        exponent == 31 ? (fraction ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity())
        : exponent == 0 ? std::ldexp(fraction, -24)
                        : std::ldexp(fraction + 1024, exponent - 25);
    return rounded(kind, bits >> 15 ? -size : size);
}

void store(Kind kind, Number number, void *to) {
    std::uint64_t bits = number;
    if (is_float(kind)) {
        const double value = real(number);
        const std::uint32_t single = std::bit_cast<std::uint32_t>(float(value));
        if (kind == Kind::f32)
            bits = single;
        else if (kind == Kind::bf16)
            bits = single >> 16;
        else {
            const double size = std::fabs(value);
            const int exponent = size == 0 ? -14 : std::max(std::ilogb(size), -14);
            bits = std::isnan(value) ? 0x7e00
                   : std::isinf(value)
                       ? 0x7c00
                       : std::uint64_t(exponent + 14) * 1024 + std::uint64_t(std::ldexp(size, 10 - exponent));
            bits |= std::uint64_t(std::signbit(value)) << 15;
        }
    }
    std::memcpy(to, &bits, size_of(kind));
}

}  // namespace fuzz
