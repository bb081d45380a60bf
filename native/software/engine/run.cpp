/* Checks a launch and runs it. */
#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <string>

#include "core.h"
#include "engine.h"
#include "launch.h"
#include "pool.h"
#include "support/clock.h"
#include "support/settings.h"

namespace smtl {
namespace {

/* Chunks that each thread takes on average: enough to even out threadgroups of unequal cost. */
constexpr uint64_t chunks_per_thread = 16;
/* Threadgroups of a launch that are resident together, if no setting says how many. */
constexpr uint64_t usual_residents = 16;
/* Less work than this is done before another thread has woken up. */
constexpr uint64_t worth_sharing_ns = 10'000;

std::string in_words(extent e) {
    return std::to_string(e.x) + " x " + std::to_string(e.y) + " x " + std::to_string(e.z);
}

std::optional<std::string> missing_argument(const smtl_launch &given) {
    const smtl_kernel_image &image = *given.kernel->image;
    for (uint32_t i = 0; i < image.parameter_count; ++i) {
        const smtl_parameter &parameter = image.parameters[i];
        const std::string index = std::to_string(parameter.index);
        const bool buffer = parameter.kind == SMTL_PARAMETER_BUFFER;
        const uint32_t used = buffer ? given.kernel->used_buffers : given.kernel->used_threadgroup_memory;
        if ((used >> parameter.index & 1) == 0) continue;
        if (!buffer) {
            const uint32_t length = given.threadgroup_lengths[parameter.index];
            if (length != 0 && length < parameter.size)
                return "threadgroup memory argument " + index + " needs " + std::to_string(parameter.size) +
                       " bytes, but has " + std::to_string(length);
        } else if (given.buffers[parameter.index] == nullptr) {
            return "nothing is bound to buffer argument " + index;
        } else if (given.buffer_lengths[parameter.index] < parameter.size) {
            return "buffer argument " + index + " needs " + std::to_string(parameter.size) + " bytes, but has " +
                   std::to_string(given.buffer_lengths[parameter.index]);
        }
    }
    return std::nullopt;
}

std::optional<std::string> problem_with(const smtl_launch &given, extent threadgroup) {
    if (threadgroup.volume() > SMTL_MAX_THREADS_PER_THREADGROUP ||
        std::max({threadgroup.x, threadgroup.y, threadgroup.z}) > SMTL_MAX_THREADS_PER_THREADGROUP)
        return "a threadgroup of " + in_words(threadgroup) + " threads exceeds the limit of " +
               std::to_string(SMTL_MAX_THREADS_PER_THREADGROUP);
    uint64_t memory = given.kernel->static_threadgroup_memory;
    for (uint32_t length : given.threadgroup_lengths) memory += length;
    if (memory > SMTL_MAX_THREADGROUP_MEMORY)
        return std::to_string(memory) + " bytes of threadgroup memory exceed the limit of " +
               std::to_string(SMTL_MAX_THREADGROUP_MEMORY);
    return missing_argument(given);
}

/* A kernel's cost may change with its arguments: a launch that looked small but takes long is offered after all. */
class caller_watch : public progress_watch {
public:
    caller_watch(shared_work &work, uint64_t start) : work_(work), offer_at_(start + worth_sharing_ns) {}
    void before_chunk() override {
        if (!work_.offered() && smtl_now_ns() > offer_at_) work_.offer();
    }

private:
    shared_work &work_;
    uint64_t offer_at_;
};

/* A launch whose parts are its chunks of threadgroups. */
class divisible_launch : public divisible_work {
public:
    explicit divisible_launch(launch &work) : work_(work) {}
    bool has_parts() const override {
        return work_.next.load(std::memory_order_relaxed) < work_.threadgroup_count &&
               !work_.failed.load(std::memory_order_relaxed);
    }
    bool join(core &own) override {
        if (!own.stacks.commit(work_.stacks_needed()) || !work_.join_waiting()) return false;
        own.run_launch(work_, nullptr);
        return true;
    }
    uint64_t part_count() const override { return (work_.threadgroup_count + work_.chunk - 1) / work_.chunk; }

private:
    launch &work_;
};

void run(launch &work, core &own, uint64_t threads) {
    if (threads == 1 || work.threadgroup_count == 1) {
        own.run_launch(work, nullptr);
        return;
    }
    const uint64_t start = smtl_now_ns();
    const uint64_t cost = work.kernel->threadgroup_cost.load(std::memory_order_relaxed);
    divisible_launch parts(work);
    shared_work shared(parts);
    if (cost >= worth_sharing_ns / work.threadgroup_count) shared.offer();
    caller_watch watch(shared, start);
    const uint64_t done = own.run_launch(work, &watch);
    work.kernel->learn_cost(done, smtl_now_ns() - start);
}

struct outcome {
    smtl_failure failure = SMTL_FAILURE_NONE;
    std::string problem;
};

outcome run_launch(const smtl_launch &given) {
    const auto &g = given.threads_per_grid;
    const auto &t = given.threads_per_threadgroup;
    const extent grid = {g[0], g[1], g[2]}, threadgroup = {t[0], t[1], t[2]};
    if (!grid.x || !grid.y || !grid.z || !threadgroup.x || !threadgroup.y || !threadgroup.z) return {};
    const auto refuse = [&](const std::string &why, smtl_failure failure = SMTL_FAILURE_ARGUMENTS) {
        return outcome{failure, std::string("kernel '") + given.kernel->image->name + "': " + why};
    };
    if (const auto found = problem_with(given, threadgroup)) return refuse(*found);
    const smtl_settings &wanted = *smtl_settings_get();
    const auto groups = [](uint32_t threads, uint32_t size) { return threads / size + (threads % size != 0); };

    launch work(*given.kernel, given);
    work.grid = grid;
    work.threadgroup = threadgroup;
    work.threadgroups = {groups(grid.x, threadgroup.x), groups(grid.y, threadgroup.y), groups(grid.z, threadgroup.z)};
    if (__builtin_mul_overflow(uint64_t(work.threadgroups.x) * work.threadgroups.y, work.threadgroups.z,
                               &work.threadgroup_count))
        return refuse("a grid of " + in_words(grid) + " threads is too large");
    work.shuffle = wanted.shuffle;
    work.poison = wanted.poison;
    /* Threads of the host execute at least one threadgroup each. */
    work.set_residents(uint32_t(wanted.resident != 0 ? wanted.resident : std::max(wanted.threads, usual_residents)));
    uint64_t threads = wanted.shuffle.on ? 1 : std::min<uint64_t>(wanted.threads, work.resident_limit);
    std::unique_ptr<launch_checks> checks;
    if (given.kernel->checks != nullptr) {
        checks = given.kernel->checks->begin(given, given.kernel->image->name);
        work.checks = checks.get();
        work.given = &checks->given();
        threads = 1;
        work.set_residents(1);
    }
    work.chunk = std::max<uint64_t>(1, work.threadgroup_count / (threads * chunks_per_thread));
    /* Threadgroups that nobody has started yet may start anywhere. */
    if (given.kernel->polls) work.chunk = 1;

    core *const own = core_of_thread();
    if (own == nullptr || !own->stacks.commit(work.stacks_needed()))
        return refuse("no memory for the stacks of its threads", SMTL_FAILURE_MEMORY);
    work.join_waiting();
    run(work, *own, threads);
    if (checks && !work.failed && !checks->error().empty()) work.fail(SMTL_FAILURE_ACCESS, checks->error());
    return {work.failure_kind, work.failure};
}

}  // namespace
}  // namespace smtl

bool smtl_launch_run(const smtl_launch *given, smtl_failure *failure, char **error) {
    *error = nullptr;
    smtl::outcome outcome;
    try {
        outcome = smtl::run_launch(*given);
    } catch (const std::exception &exception) {
        outcome = {SMTL_FAILURE_MEMORY, exception.what()};
    }
    *failure = outcome.failure;
    if (outcome.failure != SMTL_FAILURE_NONE) *error = smtl::copy_message(outcome.problem);
    return outcome.failure == SMTL_FAILURE_NONE;
}
