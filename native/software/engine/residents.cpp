/* Threadgroups that are resident together on one thread of the host. */
#include <algorithm>
#include <cstring>
#include <utility>

#include <sched.h>

#include "core.h"
#include "faults.h"
#include "pool.h"
#include "watchdog.h"
#include "support/random.h"

namespace smtl {
namespace {

/* After as many turns somebody asks whether the threadgroups wait in vain. More than may be resident. */
constexpr uint64_t turns_between_looks = 1024;
/* After as many turns other threads of the host may have the processor. */
constexpr uint64_t turns_between_rests = 64;

std::string threadgroups(uint64_t count) {
    return std::to_string(count) + (count == 1 ? " threadgroup" : " threadgroups");
}

}  // namespace

const smtl_context *core::start_beside(const core &first) {
    residents = first.residents;
    native_stack = first.native_stack;
    bind_launch(*first.current);
    watch = first.watch;
    if (!next_threadgroup()) return nullptr;
    running_stack = stacks.take();
    return start_context();
}

void core::park_static_memory() {
    if (const size_t size = current->kernel->static_threadgroup_memory) std::memcpy(parked_memory, static_memory, size);
}

void core::restore_static_memory() {
    if (const size_t size = current->kernel->static_threadgroup_memory) std::memcpy(static_memory, parked_memory, size);
}

uint64_t core::digest_threads() const {
    /* Below the stack pointer, for functions that call nothing. Instrumented ones call the checks. */
    const size_t red_zone = current->checks != nullptr ? 0 : 128;
    uint64_t digest = 0;
    for (uint32_t s = 0; s < simdgroup_count; ++s) {
        for (uint32_t lanes = simdgroups[s].ready & ~simdgroups[s].unstarted; lanes != 0; lanes &= lanes - 1) {
            const uint32_t waiting = s * simd_width + uint32_t(__builtin_ctz(lanes));
            const auto *const bottom = static_cast<const char *>(stacks.bottom(stack_of[waiting]));
            const auto *const top = static_cast<const char *>(stacks.top(stack_of[waiting]));
            const auto *const pointer = static_cast<const char *>(contexts[waiting].stack_pointer);
            /* The frame pointer is the one register that a switch keeps, and may hold anything. */
            digest = smtl_mix(digest ^ waiting ^ reinterpret_cast<uintptr_t>(contexts[waiting].frame_pointer));
            digest ^= polls[waiting].value;
            for (const char *at = std::max(bottom, pointer - red_zone); at + sizeof(uint64_t) <= top;
                 at += sizeof(uint64_t)) {
                uint64_t word;
                std::memcpy(&word, at, sizeof word);
                digest = smtl_mix(digest ^ word);
            }
        }
    }
    return digest;
}

resident_set::resident_set(core &first, smtl::launch &launch)
    : launch_(launch), first_(first), running_(&first), random_state_(smtl_mix(launch.shuffle.value)) {}

/* On the host's own stack, so that no core is in use any more. */
resident_set::~resident_set() {
    if (launch_.kernel->polls) launch_.leave_waiting();
    for (core *one = running_->next_resident; one != running_;) {
        launch_.leave_resident();
        core *const next = one->next_resident;
        if (one != &first_) give_extra_core_back(*one);
        one = next;
    }
    launch_.leave_resident();
    if (running_ != &first_) give_extra_core_back(*running_);
    while (retired_ != nullptr) {
        core &one = *std::exchange(retired_, retired_->next_resident);
        if (&one != &first_) give_extra_core_back(one);
    }
}

template <class Visit> void resident_set::visit_residents(Visit visit) const {
    core *one = running_;
    do {
        visit(*one);
        one = one->next_resident;
    } while (one != running_);
}

uint64_t resident_set::threadgroups_run() const {
    uint64_t run = retired_run_;
    visit_residents([&run](const core &one) { run += one.threadgroups_run; });
    return run;
}

core *resident_set::spare_core() {
    if (retired_ != nullptr) return std::exchange(retired_, retired_->next_resident);
    core *const taken = take_core();
    if (taken == nullptr || taken->stacks.commit(launch_.stacks_needed())) return taken;
    give_core_back(*taken);
    return nullptr;
}

const smtl_context *resident_set::go_on_with(core &next) {
    running_ = &next;
    set_running_core(next);
    return next.resume();
}

const smtl_context *resident_set::start_another(core &waiting) {
    if (launch_.next.load(std::memory_order_relaxed) >= launch_.threadgroup_count ||
        launch_.residents.load() >= launch_.resident_limit || !launch_.has_stacks() || !launch_.become_resident())
        return nullptr;
    core *const another = spare_core();
    if (another == nullptr) {
        launch_.leave_resident();
        launch_.resident_limit = launch_.residents.load();
        return nullptr;
    }
    waiting.park_static_memory();
    const smtl_context *const start = another->start_beside(waiting);
    if (start == nullptr) {
        waiting.restore_static_memory();
        another->next_resident = std::exchange(retired_, another);
        launch_.leave_resident();
        return nullptr;
    }
    another->next_resident = std::exchange(waiting.next_resident, another);
    running_ = another;
    set_running_core(*another);
    return start;
}

core &resident_set::pick(core &waiting) {
    core *picked = waiting.next_resident;
    if (!launch_.shuffle.on) return *picked;
    uint64_t count = 0;
    visit_residents([&count](const core &) { ++count; });
    for (uint64_t steps = smtl_random_below(&random_state_, count); steps > 0; --steps) picked = picked->next_resident;
    return *picked;
}

const smtl_context *resident_set::next(core &waiting) {
    if (launch_.failed.load(std::memory_order_relaxed)) return waiting.native_context();
    ++turns_;
    if (turns_ % turns_between_looks == 0 && waits_in_vain()) {
        fail_deadlock(waiting);
        return waiting.native_context();
    }
    if (turns_ % turns_between_rests == 0) {
        /* The watchdog's signals mostly come here, where they end nothing. */
        if (watchdog_expired()) return waiting.abandon_kernel(watchdog_signal, nullptr);
        sched_yield();
    }
    if (!launch_.shuffle.on || smtl_random_below(&random_state_, 2) == 0)
        if (const smtl_context *const start = start_another(waiting)) return start;
    core &picked = pick(waiting);
    if (&picked == &waiting) return waiting.resume();
    waiting.park_static_memory();
    picked.restore_static_memory();
    return go_on_with(picked);
}

const smtl_context *resident_set::retire(core &done) {
    core &next = *done.next_resident;
    if (&next == &done) return done.native_context();
    retired_run_ += done.threadgroups_run;
    visit_residents([&](core &one) {
        if (one.next_resident == &done) running_ = &one;
    });
    running_->next_resident = &next;
    done.next_resident = std::exchange(retired_, &done);
    launch_.leave_resident();
    next.restore_static_memory();
    return go_on_with(next);
}

/* A thread that waits comes to the same point of the program again and again. All of it is on its stack there: if that
 * has not changed, and no atomic has, it will do the same for ever. A thread that counts how often it
 * has waited changes its stack. */
bool resident_set::waits_in_vain() {
    uint64_t digest = 0;
    bool changed = false;
    visit_residents([&](core &one) {
        digest += one.digest_threads();
        changed = changed || one.atomics_changed != 0;
        one.atomics_changed = 0;
    });
    changed = changed || digest != digest_;
    digest_ = digest;
    return launch_.waits_in_vain(vain_round_, changed);
}

void resident_set::fail_deadlock(const core &waiting) {
    if (launch_.checks != nullptr) {
        launch_.checks->wait_in_vain(waiting.poll_caller);
        if (const std::string &error = launch_.checks->error(); !error.empty())
            return launch_.fail(SMTL_FAILURE_TIMEOUT, error);
    }
    const uint64_t count = launch_.threadgroup_count;
    std::string text = "kernel '" + std::string(launch_.kernel->image->name) +
                       "': deadlock: no thread of the launch changes the atomics that its threads wait for, as in " +
                       waiting.describe_poll() + "; " + threadgroups(launch_.residents.load()) + " resident";
    if (const uint64_t started = std::min(launch_.next.load(), count); started < count) {
        if (launch_.checks != nullptr)
            text += ", since the profiler runs one at a time, ";
        else if (launch_.resident_limit == launch_.asked_residents)
            text += ", as many as may be (SOFTWARE_METAL_RESIDENT), ";
        else
            text += ", and no memory for the stacks of more, ";
        text += threadgroups(count - started) + " not started";
    }
    launch_.fail(SMTL_FAILURE_TIMEOUT, text);
}

}  // namespace smtl
