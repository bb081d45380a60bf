/* Kernels that go wrong: the launch fails with a message, and everything stays usable. */
#include <chrono>
#include <csignal>
#include <string>
#include <thread>

#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "metal_program.h"

namespace {

const char *const source = R"(
kernel void far_away(device float *x [[buffer(0)]], device const ulong *distance [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    x[i + *distance] = 1;
}
kernel void far_away_later(device float *x [[buffer(0)]], device const ulong *distance [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    threadgroup_barrier(mem_flags::mem_device);
    if (i == 77)
        x[i + *distance] = 1;
    threadgroup_barrier(mem_flags::mem_device);
}
static uint deep(uint n, device uint *x) {
    volatile uint room[256];
    room[n % 256] = n;
    return n == 0 ? 0 : deep(n - 1, x) + room[(n * 7) % 256] + x[n % 4];
}
kernel void recurse(device uint *x [[buffer(0)]], constant uint &depth [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    x[i] = deep(depth, x);
}
template <uint N> void fill(device uint *x, uint touched, uint i) {
    uint room[N];
    for (uint k = 0; k < touched; ++k) room[k] = room[N - 1 - k] = i;
    threadgroup_barrier(mem_flags::mem_device);
    uint wrong = 0;
    for (uint k = 0; k < touched; ++k) wrong += (room[k] != i) + (room[N - 1 - k] != i);
    x[i] = wrong;
}
kernel void wide(device uint *x [[buffer(0)]], constant uint &touched [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    fill<66000>(x, touched, i);
}
kernel void wider(device uint *x [[buffer(0)]], constant uint &touched [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    fill<100000000>(x, touched, i);
}
kernel void spin(device atomic_uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    if (i % 64 == 5)
        while (atomic_load_explicit(&x[0], memory_order_relaxed) == 0)
            ;
    threadgroup_barrier(mem_flags::mem_device);
    atomic_store_explicit(&x[0], 1u, memory_order_relaxed);
}
kernel void wait_apart(device uint *x [[buffer(0)]], constant uint &patience [[buffer(1)]], uint i [[thread_index_in_threadgroup]]) {
    uint rounds = 0;
    if (i % 32 < 3)
        while (simd_sum(1u) < 32 && rounds < patience)
            ++rounds;
    threadgroup_barrier(mem_flags::mem_device);
    x[i] = rounds;
}
kernel void barriers_apart(device uint *x [[buffer(0)]], constant uint &patience [[buffer(1)]], uint i [[thread_index_in_threadgroup]]) {
    uint rounds = 0;
    if (i % 2 == 0)
        for (; rounds < patience; ++rounds)
            simdgroup_barrier(mem_flags::mem_device);
    threadgroup_barrier(mem_flags::mem_device);
    x[i] = rounds;
}
kernel void increment(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    threadgroup_barrier(mem_flags::mem_device);
    x[i] += 1;
}
)";

void still_works(metal_program &program) {
    std::vector<float> x(5000, 1.0f);
    CHECK(launch(program.kernel("increment")).buffer(0, x).run({5000}, {250}).empty());
    CHECK(x == std::vector<float>(5000, 2.0f));
}

void memory(metal_program &program) {
    std::vector<float> x(256);
    std::vector<uint64_t> distance = {uint64_t(1) << 44};
    for (int round = 0; round < 3; ++round) {
        CHECK(mentions(launch(program.kernel("far_away")).buffer(0, x).buffer(1, distance).run({64}, {64}),
                       {"far_away", "invalid memory", "threadgroup (0, 0, 0)"}));
        still_works(program);
        CHECK(mentions(launch(program.kernel("far_away_later")).buffer(0, x).buffer(1, distance).run({256}, {64}),
                       {"far_away_later", "invalid memory", "threadgroup (1, 0, 0)", "thread 13"}));
        still_works(program);
    }

    distance[0] = uint64_t(1) << 57;
    CHECK(mentions(launch(program.kernel("far_away")).buffer(0, x).buffer(1, distance).run({64}, {64}),
                   {"far_away", "invalid memory at an address of more bits"}));
    distance[0] = uint64_t(0) - reinterpret_cast<uintptr_t>(x.data()) / sizeof(float);
    CHECK(mentions(launch(program.kernel("far_away")).buffer(0, x).buffer(1, distance).run({1}, {1}),
                   {"far_away", "invalid memory at (nil)"}));

    /* Nothing is mapped behind the buffer. The message says which buffer it was. */
    const size_t page = size_t(sysconf(_SC_PAGESIZE));
    void *mapped = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(static_cast<char *>(mapped) + page, page, PROT_NONE);
    distance[0] = page / sizeof(float);
    CHECK(mentions(launch(program.kernel("far_away")).bytes(0, mapped, page).buffer(1, distance).run({1}, {1}),
                   {"0 bytes after the end of buffer argument 0"}));
    munmap(mapped, 2 * page);
}

void stack(metal_program &program) {
    std::vector<uint32_t> x(64);
    uint32_t depth = 20;
    CHECK(launch(program.kernel("recurse")).buffer(0, x).constant(1, depth).run({64}, {64}).empty());
    depth = 100000;
    CHECK(mentions(launch(program.kernel("recurse")).buffer(0, x).constant(1, depth).run({64}, {64}),
                   {"recurse", "more stack"}));
    // One frame that is larger than a stack, of which but the ends are used: not the page behind the stack.
    uint32_t touched = 900;
    for (const char *kernel : {"wide", "wider"}) {
        CHECK(mentions(launch(program.kernel(kernel)).buffer(0, x).constant(1, touched).run({64}, {64}),
                       {kernel, "more stack"}));
        still_works(program);
    }
}

void from_many_threads(metal_program &program) {
    const smtl_kernel *const bad = program.kernel("far_away_later");
    const smtl_kernel *const good = program.kernel("increment");
    std::vector<std::thread> threads;
    std::vector<int> right(8);
    for (int t = 0; t < 8; ++t)
        threads.emplace_back([&, t] {
            std::vector<float> x(3000);
            std::vector<uint64_t> distance = {uint64_t(1) << 44};
            for (int round = 0; round < 20; ++round)
                if (t % 2 == 0)
                    right[t] += !launch(bad).buffer(0, x).buffer(1, distance).run({256}, {64}).empty();
                else
                    right[t] += launch(good).buffer(0, x).run({3000}, {100}).empty() && x[2999] == float(round + 1);
        });
    for (std::thread &thread : threads) thread.join();
    for (int count : right) CHECK(count == 20);
}

constexpr int seen_by_host = 42;
void host_handler(int) { _exit(seen_by_host); }

/* How a process ends that does this. */
template <class Action> int status_of(Action action) {
    const pid_t child = fork();
    if (child == 0) {
        action();
        _exit(check::failed == 0 ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
}

volatile sig_atomic_t own_signals = 0;

/* Uses the processor until the timer of its time has gone off. */
void pass_virtual_time() {
    const itimerval soon = {{0, 0}, {0, 20000}};
    CHECK(setitimer(ITIMER_VIRTUAL, &soon, nullptr) == 0);
    for (itimerval left = soon; left.it_value.tv_sec != 0 || left.it_value.tv_usec != 0;)
        getitimer(ITIMER_VIRTUAL, &left);
}

/* Signals that are sent do what they did before there was an engine. */
void host_signals() {
    CHECK(status_of([] {
              for (const int number : {SIGVTALRM, SIGTRAP, SIGSEGV}) std::signal(number, SIG_IGN);
              metal_program program(source);
              still_works(program);
              for (const int number : {SIGVTALRM, SIGTRAP, SIGSEGV}) CHECK(raise(number) == 0);
              pass_virtual_time();
              still_works(program);
          }) == 0);
    int status = status_of([] {
        std::signal(SIGSEGV, SIG_IGN);
        metal_program program(source);
        still_works(program);
        volatile int *nowhere = nullptr;
        *nowhere = 1;
    });
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    for (const auto handler : {SIG_DFL, SIG_IGN}) {
        status = status_of([handler] {
            std::signal(SIGTRAP, handler);
            metal_program program(source);
            still_works(program);
            __builtin_debugtrap();
        });
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTRAP);
    }
    CHECK(status_of([] {
              setenv("SOFTWARE_METAL_TIMEOUT", "0.25", 1);
              std::signal(SIGVTALRM, [](int) { own_signals = own_signals + 1; });
              metal_program program(source);
              still_works(program);
              CHECK(own_signals == 0);
              CHECK(raise(SIGVTALRM) == 0 && own_signals == 1);
              pass_virtual_time();
              CHECK(own_signals == 2);
              std::vector<uint32_t> x(1);
              CHECK(mentions(launch(program.kernel("spin")).buffer(0, x).run({64 * 8}, {64}), {"spin", "0.25 s"}));
              CHECK(own_signals == 2);
              CHECK(raise(SIGVTALRM) == 0 && own_signals == 3);
          }) == 0);
}

/* A fault of the host's own code does not concern the engine: it reaches the handler that the host had before. */
void host_faults() {
    const pid_t child = fork();
    if (child == 0) {
        volatile int *nowhere = nullptr;
        *nowhere = 1;
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == seen_by_host);
}

/* Lanes wait for each other in different ways. Lanes that can go on do so for as long as it takes, but not for ever. */
void waiting_apart(metal_program &program) {
    for (const char *name : {"wait_apart", "barriers_apart"}) {
        std::vector<uint32_t> x(64);
        uint32_t patience = 1000;
        CHECK(launch(program.kernel(name)).buffer(0, x).constant(1, patience).run({64}, {64}).empty());
        CHECK(x[0] == patience && x[2] == patience && x[33] == (std::string(name) == "wait_apart" ? patience : 0) &&
              x[63] == 0);
    }
    uint32_t patience = ~0u;
    std::vector<uint32_t> x(64);
    const auto begun = std::chrono::steady_clock::now();
    launch forever(program.kernel("barriers_apart"));
    CHECK(mentions(forever.buffer(0, x).constant(1, patience).run({64}, {64}),
                   {"barriers_apart", "deadlock", "threadgroup (0, 0, 0)", "16 threads wait",
                    "at threadgroup_barrier in line", "SIMD-group functions"}));
    CHECK(forever.failure == SMTL_FAILURE_TIMEOUT);
    CHECK(std::chrono::steady_clock::now() - begun < std::chrono::minutes(5));
    still_works(program);
}

/* Threads wait for others that cannot come. Runs in a process of its own, since the engine reads the setting once. */
void endless() {
    const pid_t child = fork();
    if (child == 0) {
        setenv("SOFTWARE_METAL_TIMEOUT", "0.25", 1);
        metal_program program(source);
        std::vector<uint32_t> x(1);
        for (int round = 0; round < 3; ++round) {
            CHECK(mentions(launch(program.kernel("spin")).buffer(0, x).run({64 * 8}, {64}),
                           {"spin", "0.25 s", "thread 5", "63 threads wait at threadgroup_barrier in line"}));
            still_works(program);
        }
        /* As on a GPU, the other lanes wait where the lanes in the loop would meet them. */
        uint32_t patience = ~0u;
        std::vector<uint32_t> rounds(64);
        CHECK(mentions(launch(program.kernel("wait_apart")).buffer(0, rounds).constant(1, patience).run({64}, {64}),
                       {"wait_apart", "0.25 s", "threads wait in a function of their SIMD-group in line"}));
        still_works(program);
        _exit(check::failed == 0 ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace

int main() {
    endless();
    host_signals();
    std::signal(SIGSEGV, host_handler); /* before the engine has its own */
    metal_program program(source);
    still_works(program);
    memory(program);
    stack(program);
    waiting_apart(program);
    from_many_threads(program);
    host_faults();
    return check::report("engine/faults_test");
}
