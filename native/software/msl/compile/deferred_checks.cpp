#include "deferred_checks.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <vector>

#include "file.h"

namespace smtl::msl {
namespace {

// LLVM's bitstream: https://llvm.org/docs/BitCodeFormat.html
enum : std::uint64_t {
    end_block,
    enter_subblock,
    define_abbreviation,
    unabbreviated_record,
    first_abbreviation
};
enum : std::uint64_t {
    fixed = 1,
    variable,
    array,
    letter,
    blob,
    literal
};
// Clang's numbers of a block and of records.
constexpr std::uint64_t tree_block = 8, deferred_checks = 64, unknown_record = 1023;
constexpr int newest_known_clang = 19;
constexpr unsigned outermost_width = 2, record_width = 6;

struct Operand {
    std::uint64_t encoding, value;
};
using Abbreviation = std::vector<Operand>;

// Reads as zeros behind the end, where `ended` holds.
struct Bits {
    std::string &bytes;
    std::uint64_t position = 0;

    bool ended() const { return position >= bytes.size() * 8; }

    std::uint64_t read(unsigned width) {
        std::uint64_t value = 0;
        for (unsigned i = 0; i < width; ++i, ++position)
            if (!ended() && (static_cast<unsigned char>(bytes[position / 8]) >> position % 8 & 1)) value |= 1ull << i;
        return value;
    }

    // Groups of `width` bits, of which the highest says that another follows.
    std::uint64_t read_variable(unsigned width) {
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 64 && !ended(); shift += width - 1) {
            const std::uint64_t group = read(width);
            value |= (group & ((1ull << (width - 1)) - 1)) << shift;
            if (!(group >> (width - 1))) break;
        }
        return value;
    }

    void align() { position = (position + 31) / 32 * 32; }

    void skip_words(std::uint64_t words) { position += std::min<std::uint64_t>(words, bytes.size()) * 32; }

    void write(std::uint64_t value, unsigned width) {
        for (unsigned i = 0; i < width; ++i, ++position) {
            const unsigned char bit = 1u << position % 8;
            char &byte = bytes[position / 8];
            byte = static_cast<char>(value >> i & 1 ? byte | bit : byte & ~bit);
        }
    }
};

Abbreviation read_abbreviation(Bits &bits) {
    Abbreviation operands(std::min<std::uint64_t>(bits.read_variable(5), bits.bytes.size()));
    for (Operand &operand : operands) {
        if (bits.read(1)) {
            operand = {literal, bits.read_variable(8)};
        } else {
            operand = {bits.read(3), 0};
            if (operand.encoding == fixed || operand.encoding == variable) operand.value = bits.read_variable(5);
        }
    }
    return operands;
}

void skip_operand(Bits &bits, const Operand &operand) {
    if (operand.encoding == fixed) bits.position += operand.value;
    if (operand.encoding == variable && operand.value > 1) (void)bits.read_variable(operand.value);
    if (operand.encoding == letter) bits.position += 6;
}

void skip_record(Bits &bits, const Abbreviation &operands) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
        if (operands[i].encoding == blob) {
            const std::uint64_t length = bits.read_variable(record_width);
            bits.align();
            bits.position += std::min<std::uint64_t>(length, bits.bytes.size()) * 8;
            bits.align();
        } else if (operands[i].encoding == array && i + 1 < operands.size()) {
            const std::uint64_t length = bits.read_variable(record_width);
            for (std::uint64_t j = 0; j < length && !bits.ended(); ++j) skip_operand(bits, operands[i + 1]);
            ++i;
        } else {
            skip_operand(bits, operands[i]);
        }
    }
}

// The position of the record's number, within the block that begins at `bits`.
std::optional<std::uint64_t> find_checks(Bits &bits, unsigned width) {
    std::vector<Abbreviation> abbreviations;
    while (!bits.ended()) {
        const std::uint64_t entry = bits.read(width);
        if (entry == end_block) break;
        if (entry == enter_subblock) {
            (void)bits.read_variable(8);
            (void)bits.read_variable(4);
            bits.align();
            bits.skip_words(bits.read(32));
        } else if (entry == define_abbreviation) {
            abbreviations.push_back(read_abbreviation(bits));
        } else if (entry == unabbreviated_record) {
            const std::uint64_t start = bits.position, number = bits.read_variable(record_width);
            if (number == deferred_checks) return start;
            const std::uint64_t length = bits.read_variable(record_width);
            for (std::uint64_t i = 0; i < length && !bits.ended(); ++i) (void)bits.read_variable(record_width);
        } else if (entry - first_abbreviation < abbreviations.size()) {
            skip_record(bits, abbreviations[entry - first_abbreviation]);
        } else {
            break;
        }
    }
    return std::nullopt;
}

}  // namespace

bool forget_deferred_checks(const std::string &header, int clang_version) {
    if (clang_version > newest_known_clang) return false;
    std::optional<std::string> bytes = read_file(header);
    if (!bytes || bytes->compare(0, 4, "CPCH") != 0) return false;
    Bits bits{*bytes, 32};
    while (!bits.ended() && bits.read(outermost_width) == enter_subblock) {
        const std::uint64_t block = bits.read_variable(8), width = bits.read_variable(4);
        bits.align();
        const std::uint64_t words = bits.read(32), begin = bits.position;
        if (block == tree_block) {
            const std::optional<std::uint64_t> found = find_checks(bits, width);
            if (!found) return false;
            // Clang skips records that it does not know. Both numbers take two groups of six bits.
            bits.position = *found;
            bits.write((unknown_record & 31) | 32, record_width);
            bits.write(unknown_record >> 5, record_width);
            const std::string edited = header + ".edited";
            return write_file(edited, *bytes) && std::rename(edited.c_str(), header.c_str()) == 0;
        }
        bits.position = begin;
        bits.skip_words(words);
    }
    return false;
}

}  // namespace smtl::msl
