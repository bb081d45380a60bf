/* Copies and fills that are divided among threads, compared with memcpy and memset: of every size around the borders of
 * parts, at odd addresses, and from many threads at once. */
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "check.h"
#include "engine/blit.h"

namespace {

using bytes = std::vector<uint8_t>;

constexpr size_t kib = 1 << 10;
/* Bytes around what is written that must stay as they are. */
constexpr size_t margin = 96;
constexpr uint8_t untouched = 0xa5;

/* A part of one sequence of random bytes, which starts elsewhere for each seed. Bytes are made once: with sanitizers
 * that takes longer than the copies. */
bytes noise(size_t size, uint32_t seed) {
    constexpr size_t starts = 1 << 16;
    static const bytes all = [] {
        bytes random(starts + 6000 * kib);
        uint32_t state = 1;
        for (uint8_t &byte : random) {
            state = state * 1664525 + 1013904223;
            byte = uint8_t(state >> 24);
        }
        return random;
    }();
    const auto start = all.begin() + (seed * 2654435761u) % starts;
    return bytes(start, start + size);
}

bool same(const uint8_t *a, const uint8_t *b, size_t size) { return size == 0 || std::memcmp(a, b, size) == 0; }

bool is_untouched_around(const bytes &to, size_t begin, size_t size) {
    const auto is_untouched = [](uint8_t byte) { return byte == untouched; };
    return std::all_of(to.begin(), to.begin() + begin, is_untouched) &&
           std::all_of(to.begin() + begin + size, to.end(), is_untouched);
}

bool copies(size_t size, size_t from_offset, size_t to_offset) {
    const bytes from = noise(size + from_offset, uint32_t(size));
    bytes to(size + 2 * margin, untouched);
    smtl_blit_copy(to.data() + to_offset, from.data() + from_offset, size);
    return same(from.data() + from_offset, to.data() + to_offset, size) && is_untouched_around(to, to_offset, size);
}

bool fills(size_t size, size_t offset) {
    const uint8_t value = uint8_t(size % 151 + 1);
    bytes to(size + 2 * margin, untouched);
    smtl_blit_fill(to.data() + offset, value, size);
    return same(bytes(size, value).data(), to.data() + offset, size) && is_untouched_around(to, offset, size);
}

void test_sizes() {
    for (size_t size :
         {size_t(0), size_t(1), 4 * kib, 64 * kib, 128 * kib, 256 * kib, 384 * kib, 2048 * kib, 5000 * kib})
        for (size_t difference : {size_t(0), size_t(1), size_t(63), size_t(64), size_t(65)}) {
            CHECK(copies(size + difference, 0, 0));
            CHECK(copies(size + difference, 3, 17));
            CHECK(fills(size + difference, 0));
            CHECK(fills(size + difference, 29));
            if (size > difference) CHECK(copies(size - difference, 1, 64) && fills(size - difference, 5));
        }
}

/* Copies and fills of many sizes, whose borders have nothing to do with those of the parts. */
void test_lists() {
    constexpr size_t most = 700;
    for (const size_t largest : {size_t(1), size_t(40), 4 * kib, 300 * kib}) {
        const size_t count = std::min(most, 3000 * kib / largest);
        const bytes from = noise(count * largest, uint32_t(largest));
        bytes to(count * (largest + 1), untouched), expected = to;
        std::vector<smtl_blit> blits;
        size_t before = 0;
        for (size_t i = 0; i < count; ++i) {
            const size_t size = 1 + i * 7919 % largest, at = i * (largest + 1);
            const bool fills = i % 3 == 1;
            blits.push_back({&to[at], fills ? nullptr : &from[i * largest], size, before, uint8_t(i)});
            if (fills)
                std::fill_n(expected.begin() + at, size, uint8_t(i));
            else
                std::copy_n(from.begin() + i * largest, size, expected.begin() + at);
            before += size;
        }
        smtl_blits_run(blits.data(), blits.size());
        CHECK(to == expected);
    }
    smtl_blits_run(nullptr, 0);
}

/* More pieces of work at once than the pool has threads, or slots to offer them in. */
void test_many_at_once() {
    std::atomic<unsigned> wrong{0};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 80; ++t)
        threads.emplace_back([&wrong, t] {
            for (size_t round = 0; round < 8; ++round) {
                const size_t size = 300 * kib + t * 4097 + round * 65;
                wrong += !copies(size, t % 8, round) + !fills(size, t % 64);
            }
        });
    for (std::thread &thread : threads) thread.join();
    CHECK(wrong == 0);
}

}  // namespace

int main() {
    /* The same number of threads, however many cores there are. */
    setenv("SOFTWARE_METAL_THREADS", "4", 1);
    test_sizes();
    test_lists();
    test_many_at_once();
    return check::report("engine/blit_test");
}
