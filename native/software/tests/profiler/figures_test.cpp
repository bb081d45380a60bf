/* The profiler's figures against a count byte by byte, and what it does when memory has an end. */
#include <cstdio>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "check.h"
#include "profiler/counts.h"
#include "profiler/footprint.h"
#include "profiler/json.h"
#include "profiler/matching.h"

using namespace smtl::profile;

namespace {

std::mt19937 random_numbers(13);

uint64_t below(uint64_t bound) { return random_numbers() % bound; }

/* The units of `unit` bytes that the accesses touch. */
std::set<uint64_t> units(const std::vector<uint64_t> &addresses, uint64_t size, uint64_t unit) {
    std::set<uint64_t> touched;
    for (const uint64_t address : addresses)
        for (uint64_t byte = address; byte < address + size; ++byte) touched.insert(byte / unit);
    return touched;
}

void figures_equal_a_count_of_bytes() {
    for (int round = 0; round < 500; ++round) {
        const uint64_t size = 1 + below(40);
        std::vector<uint64_t> addresses(1 + below(32));
        for (uint64_t &address : addresses) address = 1000 + below(900);
        const figures found = figures_of(addresses, size, true);
        const std::set<uint64_t> bytes = units(addresses, size, 1), words = units(addresses, size, 4);
        CHECK(found.bytes == bytes.size());
        CHECK(found.lines_of_64 == units(addresses, size, 64).size());
        CHECK(found.lines_of_128 == units(addresses, size, 128).size());
        CHECK(found.least_lines_of_128 == (bytes.size() + 127) / 128);
        uint64_t banks[32] = {}, fullest = 0;
        for (const uint64_t word : words) fullest = std::max(fullest, ++banks[word % 32]);
        CHECK(found.turns == fullest && found.least_turns == (words.size() + 31) / 32);
        const bool side_by_side = *bytes.rbegin() - *bytes.begin() + 1 == bytes.size();
        CHECK(found.misaligned == (side_by_side && found.lines_of_128 > found.least_lines_of_128));
    }
}

void patterns_are_those_of_the_steps() {
    const std::vector<uint64_t> one = {8}, same = {8, 8}, next = {8, 12, 16}, back = {16, 12, 8}, other = {8, 12, 20};
    CHECK(figures_of(one, 4, false).order == pattern::broadcast);
    CHECK(figures_of(same, 4, false).order == pattern::broadcast);
    CHECK(figures_of(next, 4, false).order == pattern::sequential);
    CHECK(figures_of(next, 2, false).order == pattern::strided && figures_of(next, 2, false).stride == 4);
    CHECK(figures_of(back, 4, false).order == pattern::strided && figures_of(back, 4, false).stride == -4);
    CHECK(figures_of(other, 4, false).order == pattern::gathered);
    CHECK(figures_of(next, 4, false).turns == 0);
}

/* Lanes one after the other, each 100 times; 60 executions may wait. */
void what_may_not_wait_is_left_out_for_all_lanes() {
    waiting_executions waiting;
    access_counts counts;
    const auto count = [&](std::span<const uint64_t> addresses) {
        counts.add(figures_of(addresses, 4, false), addresses.size(), simd_width);
    };
    size_t allowance = 60, left_out = 0;
    for (uint32_t lane = 0; lane < simd_width; ++lane)
        for (uint64_t time = 0; time < 100; ++time) left_out += !waiting.add(lane, time * 128 + lane * 4, allowance);
    CHECK(allowance == 0 && left_out == 40 * simd_width);
    waiting.count_complete(simd_width, allowance, count);
    CHECK(allowance == 60 && counts.executions == 60 && counts.lanes == 60 * simd_width &&
          counts.patterns[unsigned(pattern::sequential)] == 60);
    /* Until the lanes meet, further times would belong to none that was counted. */
    CHECK(!waiting.add(0, 0, allowance));
    CHECK(waiting.finish(allowance, count) == 60 && counts.executions == 60);
    CHECK(waiting.add(5, 0, allowance) && allowance == 59);
    CHECK(waiting.finish(allowance, count) == 1 && allowance == 60);
    CHECK(counts.executions == 61 && counts.lanes == 60 * simd_width + 1 && counts.all_lanes == 61 * simd_width);
}

void different_bytes_count_once() {
    footprint touched;
    std::set<uint64_t> read, written;
    for (int round = 0; round < 300; ++round) {
        const uint64_t address = below(20000), size = 1 + below(100), how = below(3);
        touched.add(address, size, how != 1, how != 0);
        for (uint64_t byte = address; byte < address + size; ++byte) {
            if (how != 1) read.insert(byte);
            if (how != 0) written.insert(byte);
        }
    }
    const auto lines = [](const std::set<uint64_t> &bytes) {
        std::set<uint64_t> all;
        for (const uint64_t byte : bytes) all.insert(byte / 128);
        return all.size();
    };
    const touched_bytes found = touched.count();
    CHECK(found.read == read.size() && found.written == written.size());
    CHECK(found.lines_read == lines(read) && found.lines_written == lines(written));
    CHECK(touched.is_complete());
    for (uint64_t page = 100; page < 100 + (1 << 16); ++page) touched.add(page * 4096, 1, true, false);
    CHECK(!touched.is_complete());
}

void strides_have_an_end() {
    access_counts counts, more;
    for (uint64_t stride = 100; stride < 300; ++stride) {
        const std::vector<uint64_t> addresses = {0, stride};
        counts.add(figures_of(addresses, 4, false), 2, 32);
    }
    CHECK(counts.strides.size() == 128 && counts.other_strides == 72);
    more.add(counts);
    more.add(counts);
    CHECK(more.executions == 400 && more.strides.size() == 128 && more.strides[100] == 2);
    CHECK(more.other_strides == 144 && more.lanes == 800);
}

void names_become_utf8() {
    const kernel_profile nothing;
    const auto named = [&](const char *name) {
        const std::string json = to_json({{name, &nothing}});
        const std::size_t begin = json.find("\"name\":\"") + 8;
        return json.substr(begin, json.find("\",\"", begin) - begin);
    };
    CHECK(named("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80") == "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
    CHECK(named("a\xFF\"\xC3") == "a\\ufffd\\\"\\ufffd");
    CHECK(named("\xC0\x80\xED\xA0\x80") == "\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd");
    CHECK(named("\xE2\x82") == "\\ufffd\\ufffd" && named("\xF4\x90\x80\x80!") == "\\ufffd\\ufffd\\ufffd\\ufffd!");
}

}  // namespace

int main() {
    figures_equal_a_count_of_bytes();
    patterns_are_those_of_the_steps();
    what_may_not_wait_is_left_out_for_all_lanes();
    different_bytes_count_once();
    strides_have_an_end();
    names_become_utf8();
    return check::report("profiler figures");
}
