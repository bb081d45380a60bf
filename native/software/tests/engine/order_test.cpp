/* What the environment asks for: a seeded order of threadgroups and threads, and poisoned threadgroup memory. Each
 * setting is tested in a process of its own, since the engine reads settings once. */
#include <cmath>
#include <set>

#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "metal_program.h"

namespace {

const char *const source = R"(
kernel void arrive(device atomic_uint *next [[buffer(0)]], device uint *order [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    threadgroup_barrier(mem_flags::mem_none);
    order[atomic_fetch_add_explicit(next, 1u, memory_order_relaxed)] = i;
}
/* Barriers make it independent of the order; simd functions, too. */
kernel void ordered(device uint *x [[buffer(0)]], threadgroup uint *shared [[threadgroup(0)]],
                    uint local [[thread_index_in_threadgroup]], uint i [[thread_position_in_grid]]) {
    shared[local] = i;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = shared[local ^ 33] + simd_sum(i) + simd_shuffle_xor(i, 3);
}
kernel void uninitialised(device float *x [[buffer(0)]], threadgroup float *borrowed [[threadgroup(0)]],
                          uint local [[thread_index_in_threadgroup]], uint i [[thread_position_in_grid]]) {
    threadgroup float own[128];
    x[2 * i] = borrowed[local];
    x[2 * i + 1] = own[local];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    borrowed[local] = own[local] = 1;
}
)";

constexpr uint32_t threads = 1024, group = 128;

std::vector<uint32_t> arrivals() {
    metal_program program(source);
    std::vector<uint32_t> next(1), order(threads);
    CHECK(launch(program.kernel("arrive")).buffer(0, next).buffer(1, order).run({threads}, {group}).empty());
    CHECK(std::set<uint32_t>(order.begin(), order.end()).size() == threads);

    std::vector<uint32_t> x(threads);
    CHECK(launch(program.kernel("ordered"))
              .buffer(0, x)
              .threadgroup_memory(0, 4 * group)
              .run({threads}, {group})
              .empty());
    unsigned wrong = 0;
    for (uint32_t i = 0; i < threads; ++i) wrong += x[i] != (i ^ 33) + 32 * (i / 32 * 32) + 496 + (i ^ 3);
    CHECK(wrong == 0);
    return order;
}

/* The order that a child process sees if its environment has `name` set to `value`. */
std::vector<uint32_t> arrivals_with(const char *name, const char *value) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    const pid_t child = fork();
    if (child == 0) {
        setenv(name, value, 1);
        const std::vector<uint32_t> order = arrivals();
        const ssize_t size = ssize_t(order.size() * sizeof order[0]);
        _exit(write(ends[1], order.data(), size_t(size)) == size && check::failed == 0 ? 0 : 1);
    }
    close(ends[1]);
    std::vector<uint32_t> order(threads);
    size_t got = 0;
    for (ssize_t n;
         (n = read(ends[0], reinterpret_cast<char *>(order.data()) + got, order.size() * sizeof order[0] - got)) > 0;)
        got += size_t(n);
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return order;
}

/* The threadgroups in the order in which they ran: one at a time. */
std::vector<uint32_t> groups_of(const std::vector<uint32_t> &order) {
    std::vector<uint32_t> groups;
    for (uint32_t i = 0; i < threads; i += group) groups.push_back(order[i] / group);
    return groups;
}

void poison() {
    const pid_t child = fork();
    if (child == 0) {
        setenv("SOFTWARE_METAL_POISON", "1", 1);
        metal_program program(source);
        std::vector<float> x(2 * threads);
        CHECK(launch(program.kernel("uninitialised"))
                  .buffer(0, x)
                  .threadgroup_memory(0, 4 * group)
                  .run({threads}, {group})
                  .empty());
        unsigned numbers = 0;
        for (float value : x) numbers += !std::isnan(value);
        CHECK(numbers == 0);
        _exit(check::failed == 0 ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace

int main() {
    const auto one = arrivals_with("SOFTWARE_METAL_SHUFFLE", "1"), again = arrivals_with("SOFTWARE_METAL_SHUFFLE", "1");
    const auto two = arrivals_with("SOFTWARE_METAL_SHUFFLE", "2"), plain = arrivals_with("SOFTWARE_METAL_THREADS", "1");
    CHECK(one == again);
    CHECK(one != two && groups_of(one) != groups_of(two));
    CHECK(one != plain);
    /* Threadgroups are out of order, and threads within them, too. */
    unsigned group_steps = 0, thread_steps = 0;
    for (uint32_t i = 1; i < threads; ++i)
        if (one[i] / group != one[i - 1] / group)
            group_steps += one[i] / group != one[i - 1] / group + 1;
        else
            thread_steps += one[i] != one[i - 1] + 1;
    CHECK(group_steps > 2 && thread_steps > 800);
    poison();
    return check::report("engine/order_test");
}
