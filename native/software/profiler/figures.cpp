#include "figures.h"

#include <algorithm>
#include <array>

namespace smtl::profile {
namespace {

constexpr uint64_t bank_count = 32, bank_bytes = 4;

/* Calls `visit(first, last)` for each run of units of `unit` bytes that no address before has touched. The addresses
 * ascend. */
template <class Visit>
void each_new_run(std::span<const uint64_t> ascending, uint64_t size, uint64_t unit, Visit visit) {
    uint64_t next = 0;
    for (const uint64_t address : ascending) {
        const uint64_t first = std::max(address / unit, next), last = (address + size - 1) / unit;
        if (first > last) continue;
        visit(first, last);
        next = last + 1;
    }
}

uint64_t count_units(std::span<const uint64_t> ascending, uint64_t size, uint64_t unit) {
    uint64_t count = 0;
    each_new_run(ascending, size, unit, [&](uint64_t first, uint64_t last) { count += last - first + 1; });
    return count;
}

void count_turns(std::span<const uint64_t> ascending, uint64_t size, figures &result) {
    std::array<uint64_t, bank_count> banks{};
    uint64_t words = 0;
    each_new_run(ascending, size, bank_bytes, [&](uint64_t first, uint64_t last) {
        for (uint64_t word = first; word <= last; ++word) ++banks[word % bank_count];
        words += last - first + 1;
    });
    result.turns = *std::max_element(banks.begin(), banks.end());
    result.least_turns = (words + bank_count - 1) / bank_count;
}

void find_pattern(std::span<const uint64_t> addresses, uint64_t size, figures &result) {
    const int64_t step = addresses.size() > 1 ? int64_t(addresses[1] - addresses[0]) : 0;
    for (size_t i = 1; i < addresses.size(); ++i) {
        if (int64_t(addresses[i] - addresses[i - 1]) == step) continue;
        result.order = pattern::gathered;
        return;
    }
    result.stride = step;
    result.order = step == 0 ? pattern::broadcast : step == int64_t(size) ? pattern::sequential : pattern::strided;
}

}  // namespace

void memory_use::add(const memory_use &other) {
    bytes += other.bytes;
    lines_of_64 += other.lines_of_64;
    lines_of_128 += other.lines_of_128;
    least_lines_of_128 += other.least_lines_of_128;
    turns += other.turns;
    least_turns += other.least_turns;
}

figures figures_of(std::span<const uint64_t> addresses, uint64_t size, bool banks) {
    constexpr uint64_t line = 128, half_line = 64;
    std::array<uint64_t, 32> sorted;
    const auto end = std::copy(addresses.begin(), addresses.end(), sorted.begin());
    std::sort(sorted.begin(), end);
    const std::span<const uint64_t> ascending(sorted.begin(), end);
    figures result;
    result.bytes = count_units(ascending, size, 1);
    result.lines_of_64 = count_units(ascending, size, half_line);
    result.lines_of_128 = count_units(ascending, size, line);
    result.least_lines_of_128 = (result.bytes + line - 1) / line;
    const bool side_by_side = ascending.back() + size - ascending.front() == result.bytes;
    result.misaligned = side_by_side && result.lines_of_128 > result.least_lines_of_128;
    if (banks) count_turns(ascending, size, result);
    find_pattern(addresses, size, result);
    return result;
}

}  // namespace smtl::profile
