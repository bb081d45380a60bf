/* Threads that wait for atomics in ways that the source does not show, or by functions that change atomics. */
#include <cstdlib>
#include <string>

#include "check.h"
#include "engine/kernel.h"
#include "metal_program.h"

namespace {

void went_well(const char *kernel, const std::string &why) {
    if (!CHECK(why.empty())) std::fprintf(stderr, "%s: %s\n", kernel, why.c_str());
}

/* Each thread waits for the one after it; `WAIT` goes on when `turn` is `mine`. */
const char *const spellings = R"(
#define relaxed memory_order_relaxed
#define BACKWARDS(name, WAIT)                                                                      \
    kernel void name(device uint *x [[buffer(0)]], device atomic_uint *turn [[buffer(1)]],         \
                     uint i [[thread_position_in_grid]], uint n [[threads_per_grid]]) {            \
        const uint mine = n - 1 - i;                                                               \
        WAIT                                                                                       \
        x[mine] = i;                                                                               \
        atomic_fetch_add_explicit(turn, 1u, relaxed);                                              \
    }

BACKWARDS(expected, uint seen = mine; do {
    atomic_compare_exchange_weak_explicit(turn, &seen, mine, relaxed, relaxed);
} while (seen != mine);)

/* A function of the program's own by the name of Metal's. */
static uint atomic_load_explicit(device atomic_uint *turn) { return metal::atomic_load_explicit(turn, relaxed); }
BACKWARDS(overloaded, while (atomic_load_explicit(turn) != mine) {})
BACKWARDS(beside_the_overloaded, while (atomic_load_explicit(turn, relaxed) != mine) {})

struct Now {
    uint seen;
    Now(device atomic_uint *turn) : seen(metal::atomic_load_explicit(turn, relaxed)) {}
};
BACKWARDS(constructed, for (;;) { Now now(turn); if (now.seen == mine) break; })
BACKWARDS(braced, for (;;) { Now now{turn}; if (now.seen == mine) break; })

struct Default {
    device atomic_uint *turn;
    uint seen = metal::atomic_load_explicit(turn, relaxed);
};
BACKWARDS(by_default, for (;;) { Default now{turn}; if (now.seen == mine) break; })

struct Turn {
    device atomic_uint *turn;
    bool operator!=(uint mine) const { return metal::atomic_load_explicit(turn, relaxed) != mine; }
    uint operator()() const { return atomic_fetch_or_explicit(turn, 0u, relaxed); }
};
BACKWARDS(compared, while (Turn{turn} != mine) {})
template <class F> static void call_until(F f, uint mine) { while (f() != mine) {} }
BACKWARDS(called, call_until(Turn{turn}, mine);)

typedef uint (*Load)(const volatile atomic_uint *, memory_order);
typedef uint (*Change)(volatile atomic_uint *, uint, memory_order);
template <Load F> static uint loaded(device atomic_uint *turn) { return F(turn, relaxed); }
template <Change F> static uint changed(device atomic_uint *turn) { return F(turn, 0u, relaxed); }
BACKWARDS(template_argument, while (loaded<metal::atomic_load_explicit<uint>>(turn) != mine) {})
BACKWARDS(template_argument_that_changes, while (changed<metal::atomic_fetch_add_explicit<uint>>(turn) != mine) {})

/* Shorter than the steps before a comparison: goes on in the next call. */
static bool came(device atomic_uint *turn, uint mine) {
    for (uint k = 0; k < 3; ++k) if (metal::atomic_load_explicit(turn, relaxed) == mine) return true;
    return false;
}
BACKWARDS(a_few_at_a_time, while (!came(turn, mine)) {})
)";

void in_any_spelling() {
    metal_program program(spellings);
    for (const char *const name :
         {"expected", "overloaded", "beside_the_overloaded", "constructed", "braced", "by_default", "compared",
          "called", "template_argument", "template_argument_that_changes", "a_few_at_a_time"}) {
        std::vector<uint32_t> order(300), turn(1);
        const std::string why = launch(program.kernel(name)).buffer(0, order).buffer(1, turn).run({300}, {100});
        went_well(name, why);
        for (uint32_t i = 0; i < 300; ++i) CHECK(order[i] == 299 - i);
    }
}

/* A thread that has the lock waits until all others have tried to take it. Then each takes it `rounds` times. */
const char *const locks = R"(
#define relaxed memory_order_relaxed
#define LOCKED(name, TRY, RELEASE)                                                                          \
    kernel void name(device uint *x [[buffer(0)]], device atomic_uint *lock [[buffer(1)]],                  \
                     device atomic_uint *tried [[buffer(2)]], constant uint &rounds [[buffer(3)]],          \
                     uint i [[thread_position_in_grid]], uint n [[threads_per_grid]]) {                     \
        bool told = false;                                                                                  \
        for (uint round = 0; round < rounds; ++round) {                                                     \
            for (;;) {                                                                                      \
                TRY                                                                                         \
                if (!told) atomic_fetch_add_explicit(tried, 1u, relaxed);                                   \
                told = true;                                                                                \
            }                                                                                               \
            atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);          \
            if (x[0] == 0) while (atomic_load_explicit(tried, relaxed) < n - 1) {}                          \
            told = true;                                                                                    \
            x[0] += 1;                                                                                      \
            atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);          \
            RELEASE                                                                                         \
        }                                                                                                   \
    }

LOCKED(semaphore, if (atomic_fetch_add_explicit(lock, 1u, relaxed) == 0) break;
                  atomic_fetch_sub_explicit(lock, 1u, relaxed);,
       atomic_fetch_sub_explicit(lock, 1u, relaxed);)
LOCKED(bits, if (atomic_fetch_or_explicit(lock, 1u << i % 32, relaxed) == 0) break;
             if (i % 64 < 32) atomic_fetch_and_explicit(lock, ~(1u << i % 32), relaxed);
             else atomic_fetch_xor_explicit(lock, 1u << i % 32, relaxed);,
       atomic_fetch_and_explicit(lock, ~(1u << i % 32), relaxed);)
/* Writers wait for readers and take back their mark: bit 16. Every thread is a writer. */
LOCKED(writers, if (atomic_fetch_add_explicit(lock, 65536u, relaxed) == 0) break;
                atomic_fetch_sub_explicit(lock, 65536u, relaxed);
                if (atomic_fetch_add_explicit(lock, 1u, relaxed) < 65536u) x[1 + i] = x[0];
                atomic_fetch_sub_explicit(lock, 1u, relaxed);,
       atomic_fetch_sub_explicit(lock, 65536u, relaxed);)
LOCKED(put_back, const uint was = atomic_exchange_explicit(lock, 2 + i, relaxed);
                 if (was == 0) break;
                 atomic_store_explicit(lock, was, relaxed);,
       atomic_store_explicit(lock, 0u, relaxed);)

/* Half of the threads take the one lock first, half the other, and return it if the second is not free. */
kernel void crosswise(device uint *x [[buffer(0)]], device atomic_uint *locks [[buffer(1)]], constant uint &rounds [[buffer(3)]],
                      uint i [[thread_position_in_grid]]) {
    const uint first = i % 2;
    for (uint round = 0; round < rounds; ++round) {
        for (;;) {
            if (atomic_exchange_explicit(&locks[first], 1u, relaxed) != 0) continue;
            /* The other threads have time to take theirs. */
            if (round == 0) for (uint k = 0; k < 40; ++k) atomic_load_explicit(&locks[2], relaxed);
            if (atomic_exchange_explicit(&locks[1 - first], 1u, relaxed) == 0) break;
            atomic_store_explicit(&locks[first], 0u, relaxed);
        }
        x[0] += 1;
        atomic_store_explicit(&locks[1 - first], 0u, relaxed);
        atomic_store_explicit(&locks[first], 0u, relaxed);
    }
}
)";

void tries_taken_back() {
    metal_program program(locks);
    for (const char *const name : {"semaphore", "bits", "writers", "put_back", "crosswise"}) {
        for (const uint32_t threads : {2u, 31u}) {
            uint32_t rounds = 5;
            std::vector<uint32_t> x(1 + threads), lock(3), tried(1);
            launch one(program.kernel(name));
            one.buffer(0, x).buffer(1, lock).buffer(2, tried).constant(3, rounds);
            went_well(name, one.run({threads}, {threads}));
            CHECK(x[0] == threads * rounds);
        }
    }
}

/* What nobody looks at is not waited for. */
void what_polls() {
    metal_program program(R"(
kernel void histogram(device atomic_uint *bins [[buffer(0)]], device const uint *x [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    for (uint k = 0; k < 4; ++k) {
        atomic_fetch_add_explicit(&bins[x[4 * i + k]], 1u, memory_order_relaxed);
        atomic_fetch_max_explicit(&bins[4], x[0], memory_order_relaxed);
        atomic_exchange_explicit(&bins[5], x[0], memory_order_relaxed);
    }
    (void)atomic_load_explicit(&bins[6], memory_order_relaxed);
    atomic_store_explicit(&bins[7], x[0], memory_order_relaxed);
}
kernel void append(device atomic_uint *count [[buffer(0)]], device uint *x [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    x[atomic_fetch_add_explicit(count, 1u, memory_order_relaxed)] = i;
}
)");
    CHECK(!program.kernel("histogram")->polls && !program.kernel("histogram")->blocks);
    CHECK(program.kernel("append")->polls && !program.kernel("append")->blocks);
}

}  // namespace

int main() {
    setenv("SOFTWARE_METAL_TIMEOUT", "15", 1);
    in_any_spelling();
    tries_taken_back();
    what_polls();
    return check::report("engine/waiting_test");
}
