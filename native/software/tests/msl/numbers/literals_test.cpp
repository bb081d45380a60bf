// Literals of half and bfloat, which are rounded once.
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "check.h"
#include "results.h"

namespace {

struct Literal {
    std::string text;
    uint16_t bits;
};

// A number with one more bit than the type has, as a float, and what is next to it: `digits` follow, or the number
// below them is written.
std::string decimal(float number, const char *behind) {
    char text[256];
    const auto written = std::to_chars(text, text + sizeof text, number, std::chars_format::fixed, 150);
    std::string digits(text, written.ptr);
    digits.resize(digits.find_last_not_of('0') + 1);
    if (*behind != '-') return digits + behind;
    // One less in the last digit, and nines.
    std::size_t last = digits.find_last_of("123456789");
    for (std::size_t i = last; i < digits.size(); ++i)
        if (digits[i] != '.') digits[i] = char(i == last ? digits[i] - 1 : '9');
    return digits + (behind + 1);
}

std::string hexadecimal(float number, const char *behind) {
    int exponent = 0;
    auto mantissa = uint32_t(std::frexp(number, &exponent) * float(1 << 24));
    const bool below = *behind == '-';
    mantissa -= below;
    char text[64];
    const auto written = std::to_chars(text, text + sizeof text, mantissa, 16);
    return "0X" + std::string(text, written.ptr) + "." + (behind + below) + "P" + std::to_string(exponent - 24);
}

// `halfway` lies between the numbers of the bits `lower` and of the next. A literal that is there is rounded to even.
void add_around(std::vector<Literal> &literals, float halfway, unsigned lower, const std::string &suffix) {
    const auto add = [&](const std::string &text, unsigned bits) {
        literals.push_back({text + suffix, uint16_t(bits)});
    };
    add(decimal(halfway, "000000000000000000000000"), lower + lower % 2);
    for (const char *above : {"1", "00000000000000000000000000000000000001"}) add(decimal(halfway, above), lower + 1);
    for (const char *below : {"-9", "-99999999999999999999999999999999999999"}) add(decimal(halfway, below), lower);
    add(hexadecimal(halfway, "0"), lower + lower % 2);
    for (const char *above : {"1", "000000000000000000000000000001"}) add(hexadecimal(halfway, above), lower + 1);
    for (const char *below : {"-f", "-ffffffffffffffffffffffffffffff"}) add(hexadecimal(halfway, below), lower);
}

void test(const std::string &type, const std::vector<Literal> &literals) {
    std::string texts;
    for (const Literal &literal : literals) texts += literal.text + ",\n";
    const std::vector<float> found = results_of(
        "constant " + type + " numbers[] = {" + texts + "};\nkernel void k(device float *a) { for (uint i = 0; i < " +
            std::to_string(literals.size()) + "; ++i) a[i] = as_type<ushort>(numbers[i]); }",
        literals.size());
    for (std::size_t i = 0; i < literals.size(); ++i)
        if (!CHECK(found[i] == literals[i].bits))
            std::fprintf(stderr, "%s is %#x, not %#x\n", literals[i].text.c_str(), unsigned(found[i]),
                         literals[i].bits);
}

void test_halves() {
    std::vector<Literal> literals = {{"1.00048828125000001h", 0x3c01},
                                     {"65519.9999h", 0x7bff},
                                     {"65519.99999999H", 0x7bff},
                                     {"65520.0h", 0x7c00},
                                     {"1.5h", 0x3e00},
                                     {"2049h", 0x6800},
                                     {"1e-30h", 0},
                                     {"0.0h", 0},
                                     {"1'024.500'000'000'000'1h", 0x6401}};
    for (unsigned bits = 0; bits < 0x7c00; bits += 61) {
        const int exponent = int(bits >> 10);
        const float halfway = exponent ? std::ldexp(float(2 * (1024 + bits % 1024) + 1), exponent - 26)
                                       : std::ldexp(float(2 * bits + 1), -25);
        add_around(literals, halfway, bits, "h");
    }
    add_around(literals, 65520, 0x7bff, "h");
    test("half", literals);
}

void test_bfloats() {
    std::vector<Literal> literals = {{"1.5bf", 0x3fc0}, {"0.0bf", 0}, {"1.00390625000000000000000000000001bf", 0x3f81}};
    for (unsigned bits = 0x80; bits < 0x7f00; bits += 251)
        add_around(literals, std::bit_cast<float>(bits << 16 | 0x8000u), bits, bits % 3 ? "bf" : "BF");
    test("bfloat", literals);
}

}  // namespace

int main() {
    test_halves();
    test_bfloats();
    return check::report("msl/numbers/literals_test");
}
