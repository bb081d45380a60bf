#include "literal.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <compare>
#include <limits>

namespace smtl::msl {
namespace {

// A type that is narrower than a float: how many bits follow the first, and which power of two is the least number.
struct Format {
    int bits, least;
};
constexpr Format half_format{10, -24}, bfloat_format{7, -133};

bool is_halfway(float value, Format format) {
    if (value == 0 || !std::isfinite(value)) return false;
    const int unit = std::max(std::ilogb(value) - format.bits, format.least);
    return std::fmod(std::ldexp(double(value), 1 - unit), 2) == 1;
}

// 0.digits times ten to the exponent
struct Decimal {
    long exponent = 0;
    std::string digits;
    auto operator<=>(const Decimal &) const = default;
};

Decimal decimal(std::string_view text) {
    Decimal number;
    const std::size_t mantissa = std::min(text.find_first_of("eE"), text.size());
    bool fraction = false;
    for (char c : text.substr(0, mantissa)) {
        if (c == '.') {
            fraction = true;
        } else if (c != '0' || !number.digits.empty()) {
            number.digits += c;
            number.exponent += !fraction;
        } else {
            number.exponent -= fraction;
        }
    }
    number.digits.resize(number.digits.find_last_not_of('0') + 1);
    if (mantissa == text.size()) return number;
    const bool plus = text.substr(mantissa + 1).starts_with('+');
    long exponent = 0;
    std::from_chars(text.data() + mantissa + 1 + plus, text.data() + text.size(), exponent);
    number.exponent += exponent;
    return number;
}

// With the digits of the nearest float, where they are hexadecimal, and next to it: those behind the eighth are all
// zeros and ones, or all others.
std::strong_ordering compare_hexadecimal(std::string_view text) {
    std::string digits;
    for (char c : text.substr(0, text.find_first_of("pP")))
        if (c != '.' && (c != '0' || !digits.empty())) digits += c;
    if (digits.find_first_not_of('0', std::min<std::size_t>(digits.size(), 8)) == std::string::npos)
        return std::strong_ordering::equal;
    return digits[8] == '0' ? std::strong_ordering::greater : std::strong_ordering::less;
}

// The literal of a float, without its suffix, that becomes the half or bfloat that is next to the number in the text.
// Between two of these, the nearest float would hide on which side the number is.
std::string rounded_once(std::string_view text, Format format) {
    std::string number(text);
    std::erase(number, '\'');
    const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    if (hexadecimal) number.erase(0, 2);
    const char *const end = number.data() + number.size();
    const auto read = hexadecimal ? std::chars_format::hex : std::chars_format::general;
    float nearest = 0;
    double close = 0;
    const auto parsed = std::from_chars(number.data(), end, nearest, read);
    if (parsed.ec != std::errc() || parsed.ptr != end || !is_halfway(nearest, format) ||
        std::from_chars(number.data(), end, close, read).ec != std::errc())
        return std::string(text);
    std::strong_ordering side = close > nearest   ? std::strong_ordering::greater
                                : close < nearest ? std::strong_ordering::less
                                                  : std::strong_ordering::equal;
    char digits[256];  // a float has up to 112
    if (side == 0 && hexadecimal) {
        side = compare_hexadecimal(number);
    } else if (side == 0) {
        const auto written = std::to_chars(digits, std::end(digits), nearest, std::chars_format::scientific, 120);
        side = decimal(number) <=> decimal({digits, written.ptr});
    }
    if (side == 0) return std::string(text);
    const float limit = side > 0 ? std::numeric_limits<float>::infinity() : 0;
    const auto written =
        std::to_chars(digits, std::end(digits), std::nextafter(nearest, limit), std::chars_format::scientific);
    return {digits, written.ptr};
}

}  // namespace

std::string_view string_contents(std::string_view text) {
    const std::size_t open = std::min(text.find('"') + 1, text.size());
    const std::size_t close = std::max(text.rfind('"'), open);
    std::string_view contents = text.substr(open, close - open);
    if (open < 2 || text[open - 2] != 'R') return contents;
    // R"delimiter(contents)delimiter"
    const std::size_t begin = contents.find('(') + 1;
    return contents.substr(begin, std::max(contents.rfind(')'), begin) - begin);
}

std::string written_literal(std::string_view text) {
    const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    if (!hexadecimal && (text.ends_with("h") || text.ends_with("H")) &&
        text.find_first_not_of("0123456789") == text.size() - 1)
        return "half(" + std::string(text.substr(0, text.size() - 1)) + ".0f)";
    if (text.find_first_of(hexadecimal ? "pP" : ".eE") == std::string_view::npos) return std::string(text);
    const char last = text.back();
    if (last == 'h' || last == 'H') return "half(" + rounded_once(text.substr(0, text.size() - 1), half_format) + "f)";
    if (text.ends_with("bf") || text.ends_with("BF"))
        return "bfloat(" + rounded_once(text.substr(0, text.size() - 2), bfloat_format) + "f)";
    return std::string(text) + ((last >= '0' && last <= '9') || last == '.' ? "f" : "");
}

}  // namespace smtl::msl
