/* Threads that wait in loops for atomics to change, for others of their threadgroup and of the grid. */
#include <cstdlib>
#include <string>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "engine/kernel.h"
#include "metal_program.h"

namespace {

const char *const source = R"(
/* A lock of the threadgroup, taken by each thread. */
kernel void locks(device uint *x [[buffer(0)]], constant uint &rounds [[buffer(1)]],
                  uint i [[thread_index_in_threadgroup]], uint group [[threadgroup_position_in_grid]]) {
    threadgroup atomic_uint lock;
    threadgroup uint count;
    if (i == 0) {
        atomic_store_explicit(&lock, 0u, memory_order_relaxed);
        count = 0;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint round = 0; round < rounds; ++round) {
        while (atomic_exchange_explicit(&lock, 1u, memory_order_relaxed) != 0) {}
        atomic_thread_fence(mem_flags::mem_threadgroup, memory_order_seq_cst, thread_scope_threadgroup);
        count += 1;
        atomic_thread_fence(mem_flags::mem_threadgroup, memory_order_seq_cst, thread_scope_threadgroup);
        atomic_store_explicit(&lock, 0u, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i == 0) x[group] = count;
}
/* Threads go one after another, the last first: each waits in a function for the one after it. */
static uint seen(device atomic_uint *turn) { return atomic_load_explicit(turn, memory_order_relaxed); }
kernel void backwards(device uint *x [[buffer(0)]], device atomic_uint *turn [[buffer(1)]],
                      uint i [[thread_position_in_grid]], uint n [[threads_per_grid]]) {
    const uint mine = n - 1 - i;
    do {
    } while (seen(turn) != mine);
    x[mine] = i;
    atomic_fetch_add_explicit(turn, 1u, memory_order_relaxed);
}
/* Lanes of two SIMD-groups hand numbers over, one at a time. */
kernel void hand_over(device uint *x [[buffer(0)]], constant uint &count [[buffer(1)]], uint i [[thread_index_in_threadgroup]]) {
    threadgroup atomic_uint full;
    threadgroup uint slot;
    if (i == 0) atomic_store_explicit(&full, 0u, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint sum = 0;
    if (i == 5)
        for (uint k = 1; k <= count; ++k) {
            for (uint got = 0; got == 0;) got = atomic_load_explicit(&full, memory_order_relaxed);
            sum += slot;
            atomic_store_explicit(&full, 0u, memory_order_relaxed);
        }
    else if (i == 40)
        for (uint k = 1; k <= count; ++k) {
            while (atomic_load_explicit(&full, memory_order_relaxed)) continue;
            slot = k;
            atomic_store_explicit(&full, 1u, memory_order_relaxed);
        }
    sum = simd_max(sum);
    x[i] = sum;
}
kernel void tickets(device uint *x [[buffer(0)]], device atomic_uint *counters [[buffer(1)]], uint i [[thread_index_in_threadgroup]]) {
    const uint mine = atomic_fetch_add_explicit(&counters[0], 1u, memory_order_relaxed);
    while (atomic_load_explicit(&counters[1], memory_order_relaxed) != mine || atomic_load_explicit(&counters[2], memory_order_relaxed) != 0) {}
    x[0] += 1;
    atomic_store_explicit(&counters[1], mine + 1, memory_order_relaxed);
}
/* All threads of the grid meet, again and again. */
kernel void meet(device uint *x [[buffer(0)]], device atomic_uint *count [[buffer(1)]], constant uint &rounds [[buffer(2)]],
                 uint i [[thread_index_in_threadgroup]], uint group [[threadgroup_position_in_grid]], uint groups [[threadgroups_per_grid]], uint threads [[threads_per_threadgroup]]) {
    threadgroup uint own[1024];
    own[i] = group;
    uint wrong = 0;
    for (uint round = 1; round <= rounds; ++round) {
        threadgroup_barrier(mem_flags::mem_device);
        if (i == 0) {
            atomic_fetch_add_explicit(count, 1u, memory_order_relaxed);
            while (atomic_load_explicit(count, memory_order_relaxed) < round * groups) {}
        }
        threadgroup_barrier(mem_flags::mem_device);
        wrong += own[i] != group;
    }
    x[group * threads + i] = wrong == 0 ? rounds : 0;
}
/* Waits for what nobody does, `patience` times. */
kernel void patient(device uint *x [[buffer(0)]], device atomic_uint *never [[buffer(1)]], constant uint &patience [[buffer(2)]],
                    uint i [[thread_position_in_grid]]) {
    uint rounds = 0;
    while (atomic_load_explicit(never, memory_order_relaxed) == 0 && rounds < patience) ++rounds;
    x[i] = rounds;
}
kernel void toggles(device uint *count [[buffer(0)]], device atomic_uint *turn [[buffer(1)]], device atomic_uint *end [[buffer(2)]], uint group [[threadgroup_position_in_grid]]) {
    for (bool done = false; !done;) {
        while (atomic_load_explicit(turn, memory_order_relaxed) != group) {}
        done = atomic_load_explicit(end, memory_order_relaxed) != 0;
        count[group] += 1;
        atomic_store_explicit(turn, 1u - group, memory_order_relaxed);
    }
}
/* One threadgroup waits while the other computes. */
kernel void outside(device uint *x [[buffer(0)]], device atomic_uint *go [[buffer(1)]], device atomic_uint *done [[buffer(2)]],
                    constant uint &steps [[buffer(3)]], uint group [[threadgroup_position_in_grid]]) {
    if (group == 0) {
        while (atomic_load_explicit(go, memory_order_relaxed) == 0) {}
        uint y = x[0];
        for (uint k = 0; k < steps; ++k) y = y * 1664525u + (y >> 13) + 1013904223u;
        x[0] = y;
        atomic_store_explicit(done, 1u, memory_order_relaxed);
    } else {
        while (atomic_load_explicit(done, memory_order_relaxed) == 0) {}
    }
}
kernel void beyond(device uint *x [[buffer(0)]], device atomic_uint *turn [[buffer(1)]], device const ulong *distance [[buffer(2)]],
                   uint group [[threadgroup_position_in_grid]]) {
    while (atomic_load_explicit(turn, memory_order_relaxed) == 0)
        if (group == 3) x[*distance] = 1;
}
kernel void never(device atomic_uint *never [[buffer(0)]], device uint *x [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    if (i == 3)
        while (atomic_load_explicit(never, memory_order_relaxed) == 0) {}
    threadgroup_barrier(mem_flags::mem_device);
    x[i] = 1;
}
)";

void within_a_threadgroup(metal_program &program) {
    uint32_t rounds = 20;
    std::vector<uint32_t> counts(3);
    CHECK(launch(program.kernel("locks")).buffer(0, counts).constant(1, rounds).run({3 * 256}, {256}).empty());
    CHECK(counts == std::vector<uint32_t>(3, 256 * rounds));

    std::vector<uint32_t> order(1000), turn(1);
    CHECK(launch(program.kernel("backwards")).buffer(0, order).buffer(1, turn).run({1000}, {1000}).empty());
    for (uint32_t i = 0; i < 1000; ++i) CHECK(order[i] == 999 - i);

    uint32_t count = 100;
    std::vector<uint32_t> sums(64);
    CHECK(launch(program.kernel("hand_over")).buffer(0, sums).constant(1, count).run({64}, {64}).empty());
    CHECK(sums[0] == count * (count + 1) / 2 && sums[63] == 0);

    std::vector<uint32_t> x(1), counters(3);
    CHECK(launch(program.kernel("tickets")).buffer(0, x).buffer(1, counters).run({500}, {500}).empty());
    CHECK(x[0] == 500 && counters[1] == 500);
}

/* `threads` launches at once. */
void across_threadgroups(metal_program &program, uint32_t groups, unsigned threads = 1) {
    const auto meet = [&] {
        uint32_t rounds = 10;
        std::vector<uint32_t> x(groups * 64), count(1);
        CHECK(launch(program.kernel("meet"))
                  .buffer(0, x)
                  .buffer(1, count)
                  .constant(2, rounds)
                  .run({groups * 64}, {64})
                  .empty());
        CHECK(x == std::vector<uint32_t>(groups * 64, rounds));
    };
    program.kernel("meet");
    std::vector<std::thread> running;
    for (unsigned i = 1; i < threads; ++i) running.emplace_back(meet);
    meet();
    for (std::thread &one : running) one.join();
}

/* Stacks of as many threads are half of what a process may have. */
void large_threadgroups(metal_program &program, uint32_t groups) {
    uint32_t rounds = 2;
    std::vector<uint32_t> x(groups * 1024), count(1);
    const std::string why =
        launch(program.kernel("meet")).buffer(0, x).buffer(1, count).constant(2, rounds).run({groups * 1024}, {1024});
    if (groups <= 16)
        CHECK(why.empty() && x == std::vector<uint32_t>(groups * 1024, rounds));
    else
        CHECK(mentions(why, {"deadlock", "no memory for the stacks of more", "not started"}));
}

/* Each launch waits until the others have returned their stacks. */
void large_launches_at_once(metal_program &program) {
    program.kernel("meet");
    std::vector<std::thread> launches;
    for (unsigned i = 0; i < 3; ++i) launches.emplace_back([&program] { large_threadgroups(program, 15); });
    for (std::thread &one : launches) one.join();
}

/* What threads tell each other, and how often, is in memory alone: nothing changes on their stacks for two seconds. How
 * often they take turns in that time depends on who else has the processor. */
void goes_on_in_memory(metal_program &program) {
    std::vector<uint32_t> count(2), turn(1), end(1);
    const smtl_kernel *const kernel = program.kernel("toggles");
    std::thread clock([&end] {
        std::this_thread::sleep_for(std::chrono::seconds(2));
        __atomic_store_n(&end[0], 1u, __ATOMIC_RELAXED);
    });
    CHECK(launch(kernel).buffer(0, count).buffer(1, turn).buffer(2, end).run({2}, {1}).empty());
    CHECK(count[0] > 0 && count[1] > 0 && count[0] - count[1] + 1 <= 2);
    clock.join();
}

/* For a second and more nothing changes, but a thread computes. */
void computes_while_others_wait(metal_program &program) {
    uint32_t steps = 400000000;
    std::vector<uint32_t> x(1), go(1), done(1);
    std::thread cpu([&go] {
        std::this_thread::sleep_for(std::chrono::milliseconds(600));
        __atomic_store_n(&go[0], 1u, __ATOMIC_RELAXED);
    });
    launch two(program.kernel("outside"));
    CHECK(two.buffer(0, x).buffer(1, go).buffer(2, done).constant(3, steps).run({2}, {1}).empty());
    CHECK(done[0] == 1);
    cpu.join();
}

void waits_with_an_end(metal_program &program) {
    /* More than the second after which waiting in vain is a deadlock. */
    uint32_t patience = 2500000;
    std::vector<uint32_t> x(64), never(1);
    CHECK(
        launch(program.kernel("patient")).buffer(0, x).buffer(1, never).constant(2, patience).run({64}, {32}).empty());
    CHECK(x == std::vector<uint32_t>(64, patience));
}

void what_polls(metal_program &program) {
    CHECK(program.kernel("backwards")->polls && !program.kernel("backwards")->blocks);
    CHECK(program.kernel("never")->polls && program.kernel("never")->blocks);
}

void faults(metal_program &program) {
    std::vector<uint32_t> x(1), turn(1);
    std::vector<uint64_t> distance = {uint64_t(1) << 42};
    CHECK(mentions(launch(program.kernel("beyond")).buffer(0, x).buffer(1, turn).buffer(2, distance).run({8}, {2}),
                   {"'beyond'", "invalid memory", "threadgroup (3, 0, 0)"}));
    across_threadgroups(program, 5);
}

void too_many(metal_program &program) {
    uint32_t rounds = 2;
    std::vector<uint32_t> x(5 * 64), count(1);
    launch five(program.kernel("meet"));
    CHECK(mentions(five.buffer(0, x).buffer(1, count).constant(2, rounds).run({5 * 64}, {64}),
                   {"'meet'", "deadlock", "in line 72", "63 threads wait at threadgroup_barrier",
                    "4 threadgroups resident", "SOFTWARE_METAL_RESIDENT", "1 threadgroup not started"}));
    CHECK(five.failure == SMTL_FAILURE_TIMEOUT);
    across_threadgroups(program, 4);
}

void nobody_comes(metal_program &program) {
    std::vector<uint32_t> never(1), x(64);
    const std::string why = launch(program.kernel("never")).buffer(0, never).buffer(1, x).run({64}, {64});
    CHECK(mentions(why, {"'never'", "deadlock", "1 threadgroup resident"}));
    CHECK(why.find("not started") == std::string::npos);
}

/* In a process of its own, since the engine reads settings once. */
template <class Test>
bool with_settings(std::initializer_list<std::pair<const char *, const char *>> settings, Test test) {
    const pid_t child = fork();
    if (child == 0) {
        for (const auto &[name, value] : settings) setenv(name, value, 1);
        metal_program program(source);
        test(program);
        _exit(check::failed == 0 ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

int main() {
    CHECK(with_settings({{"SOFTWARE_METAL_RESIDENT", "4"}}, [](metal_program &program) {
        within_a_threadgroup(program);
        across_threadgroups(program, 3);
        too_many(program);
        across_threadgroups(program, 4, 4);
    }));
    CHECK(with_settings({{"SOFTWARE_METAL_THREADS", "2"}}, [](metal_program &program) {
        computes_while_others_wait(program);
        large_launches_at_once(program);
    }));
    CHECK(with_settings({{"SOFTWARE_METAL_RESIDENT", "128"}}, [](metal_program &program) {
        large_threadgroups(program, 100);
        large_threadgroups(program, 15);
        across_threadgroups(program, 128);
    }));
    /* Without a limit of time: others may have the processor. */
    CHECK(with_settings({{"SOFTWARE_METAL_TIMEOUT", "0"}}, [](metal_program &program) {
        goes_on_in_memory(program);
        waits_with_an_end(program);
    }));
    metal_program program(source);
    within_a_threadgroup(program);
    across_threadgroups(program, 16);
    what_polls(program);
    faults(program);
    nobody_comes(program);
    return check::report("engine/polls_test");
}
