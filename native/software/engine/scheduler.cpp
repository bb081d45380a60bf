/* The threads of one threadgroup: who runs, who waits, and how they meet. */
#include "core.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "context.h"
#include "support/random.h"

#define SMTL_ALWAYS_INLINE inline __attribute__((always_inline))

namespace smtl {
namespace {

constexpr uint32_t lane_bit(uint32_t thread_index) { return 1u << (thread_index % simd_width); }

/* The next lane of the mask after `lane`, in a circle. */
uint32_t next_lane(uint32_t ready, uint32_t lane) {
    const uint32_t later = ready & ~((2u << lane) - 1);
    return uint32_t(std::countr_zero(later != 0 ? later : ready));
}

uint32_t nth_bit(uint32_t mask, uint32_t n) {
    while (n-- > 0) mask &= mask - 1;
    return uint32_t(std::countr_zero(mask));
}

/* Copies the usual sizes without a call. */
SMTL_ALWAYS_INLINE void copy_value(unsigned char *to, const void *from, uint32_t size) {
    switch (size) {
    case 0: break;
    case 4: std::memcpy(to, from, 4); break;
    case 8: std::memcpy(to, from, 8); break;
    case 16: std::memcpy(to, from, 16); break;
    default: std::memcpy(to, from, size);
    }
}

}  // namespace

void core::reset_threads() {
    if (current->kernel->polls) std::fill_n(polls, thread_count, smtl_poll{});
    alive = thread_count;
    waiting_at_barrier = 0;
    polls_left = thread_count - 1;
    simdgroup_count = (thread_count + simd_width - 1) / simd_width;
    for (uint32_t s = 0; s < simdgroup_count; ++s) {
        const uint32_t rest = thread_count - s * simd_width;
        simdgroup &group = simdgroups[s];
        group.ready = rest >= simd_width ? ~0u : (1u << rest) - 1;
        group.unstarted = group.ready;
        group.at_barrier = 0;
        group.polling = 0;
        group.open_count = 0;
        group.meetings = 0;
        group.completed = 0;
        group.free = ((uint64_t(1) << exchanges_per_simdgroup) - 1) & ~uint64_t(1);
    }
    thread = shuffle ? pick_shuffled() : 0;
    simdgroup_of(thread).unstarted &= ~lane_bit(thread);
}

/* The next thread that can run. It is nearly always the next lane of the simdgroup. A branch tests for that: the
 * processor predicts it, and the thread's number need not wait for the mask. */
SMTL_ALWAYS_INLINE uint32_t core::pick() {
    if (shuffle) return pick_shuffled();
    if (__builtin_expect((simdgroup_of(thread).ready & (2u << thread % simd_width)) != 0, true)) return thread + 1;
    return pick_farther();
}

/* Lanes of the same simdgroup first, since its other lanes wait for them. */
uint32_t core::pick_farther() const {
    uint32_t s = thread / simd_width;
    if (const uint32_t ready = simdgroups[s].ready) return s * simd_width + next_lane(ready, thread % simd_width);
    do s = s + 1 == simdgroup_count ? 0 : s + 1;
    while (simdgroups[s].ready == 0);
    return s * simd_width + uint32_t(std::countr_zero(simdgroups[s].ready));
}

uint32_t core::pick_shuffled() {
    uint32_t choice = uint32_t(smtl_random_below(&random_state, count_ready()));
    for (uint32_t s = 0;; ++s) {
        const uint32_t here = uint32_t(std::popcount(simdgroups[s].ready));
        if (choice < here) return s * simd_width + nth_bit(simdgroups[s].ready, choice);
        choice -= here;
    }
}

/* A new fiber for the running thread, on the running stack. */
const smtl_context *core::start_context() {
    if (__builtin_expect(current->checks != nullptr, false))
        current->checks->begin_thread(stacks.bottom(running_stack), stacks.size());
    stack_of[thread] = uint16_t(running_stack);
    contexts[thread].region = nullptr;
    other_context = {stacks.top(running_stack), nullptr, reinterpret_cast<const void *>(&smtl_start_fiber), nullptr};
    return &other_context;
}

const smtl_context *core::native_context() {
    other_context = {native_stack, nullptr, reinterpret_cast<const void *>(&smtl_leave_native), nullptr};
    return &other_context;
}

SMTL_ALWAYS_INLINE const smtl_context *core::schedule() {
    thread = pick();
    return continue_thread();
}

SMTL_ALWAYS_INLINE const smtl_context *core::continue_thread() {
    simdgroup &group = simdgroup_of(thread);
    exchange = &exchanges[&group - simdgroups][group.completed];
    if (group.unstarted & lane_bit(thread)) {
        group.unstarted &= ~lane_bit(thread);
        running_stack = stacks.take();
        return start_context();
    }
    return &contexts[thread];
}

/* The common case of blocking, without a call: the next lane of the simdgroup has started and can run, so it takes
 * over. `exchange` is the right one for it too. */
SMTL_ALWAYS_INLINE bool core::successor_takes_over(const simdgroup &group) const {
    return takes_turns && (group.ready & ~group.unstarted & lane_bit(thread) << 1) != 0;
}
SMTL_ALWAYS_INLINE const smtl_context *core::pass_on(simdgroup &group) {
    group.ready &= ~lane_bit(thread);
    return &contexts[++thread];
}

/* Takes the running thread off those that can run. If it was the last of its simdgroup, one of the exchanges in which
 * lanes of the simdgroup wait completes. */
SMTL_ALWAYS_INLINE void core::block(simdgroup &group) {
    group.ready &= ~lane_bit(thread);
    if (group.ready == 0 && group.open_count != 0) complete_exchange(group);
}

void core::release_barrier() {
    if (__builtin_expect(current->checks != nullptr, false)) current->checks->release(waiting_at_barrier);
    waiting_at_barrier = 0;
    for (uint32_t s = 0; s < simdgroup_count; ++s) {
        simdgroups[s].ready |= simdgroups[s].at_barrier;
        simdgroups[s].polling &= ~simdgroups[s].at_barrier;
        simdgroups[s].at_barrier = 0;
        simdgroups[s].meetings = 0;
    }
}

/* Threads that may all go on do so in the order of their numbers, the running one among them. Code that relies on lanes
 * of a GPU keeping pace has no barrier between a lane's write and the reads of the others; the lane that writes is
 * mostly the first. */
const smtl_context *core::proceed_from(uint32_t first) {
    if (!shuffle) thread = first;
    const simdgroup &group = simdgroup_of(thread);
    exchange = &exchanges[&group - simdgroups][group.completed];
    return &contexts[thread];
}

SMTL_ALWAYS_INLINE const smtl_context *core::barrier(uint32_t site, uint32_t memory) {
    simdgroup &group = simdgroup_of(thread);
    if (__builtin_expect(!successor_takes_over(group), false)) return barrier_in_general(site, memory);
    ++waiting_at_barrier;
    barrier_site = site;
    group.at_barrier |= lane_bit(thread);
    return pass_on(group);
}

const smtl_context *core::barrier_in_general(uint32_t site, uint32_t memory) {
    if (__builtin_expect(current->checks != nullptr, false))
        current->checks->arrive(site, memory, contexts[thread].instruction);
    barrier_site = site;
    if (++waiting_at_barrier == alive) {
        release_barrier();
        uint32_t s = 0;
        while (simdgroups[s].ready == 0) ++s;
        return proceed_from(s * simd_width + uint32_t(std::countr_zero(simdgroups[s].ready)));
    }
    simdgroup &group = simdgroup_of(thread);
    group.at_barrier |= lane_bit(thread);
    block(group);
    return schedule();
}

/* How many regions the thread is in. A function that calls itself comes to one site in regions of its own. */
SMTL_ALWAYS_INLINE uint32_t core::region_depth() const {
    const smtl_region *const region = contexts[thread].region;
    return region != nullptr ? region->depth : 0;
}

/* The exchange in which lanes of the simdgroup already wait at `site`, or a new one. */
SMTL_ALWAYS_INLINE open_exchange &core::find_exchange(simdgroup &group, uint32_t site) {
    open_exchange *const all = exchanges[&group - simdgroups];
    const uint32_t depth = region_depth();
    for (uint32_t i = 0; i < group.open_count; ++i) {
        open_exchange &open = all[group.open[i]];
        if (open.site == site && open.depth == depth) return open;
    }
    const auto index = uint32_t(std::countr_zero(group.free));
    group.free &= ~(uint64_t(1) << index);
    group.open[group.open_count++] = uint8_t(index);
    open_exchange &opened = all[index];
    opened.site = site;
    opened.depth = depth;
    opened.active = 0;
    opened.combined = 0;
    return opened;
}

/* Whether the lanes of `one` go on before those of `other`. In the innermost region that both are in, lanes that are
 * earlier in the source go first, and lanes that wait there for the others go last. Lanes in a simd sync go before all
 * other lanes, so that syncs do not change which lanes meet in a function of Metal's. */
__attribute__((noinline)) bool core::goes_before(const simdgroup &group, const open_exchange &one,
                                                 const open_exchange &other) const {
    const bool syncs = (one.site & SMTL_SYNC_SITE) != 0;
    if (syncs != ((other.site & SMTL_SYNC_SITE) != 0)) return syncs;
    if (syncs) return one.site < other.site;
    const smtl_context *const lanes = contexts + (&group - simdgroups) * simd_width;
    const smtl_region *a = lanes[std::countr_zero(one.active)].region,
                      *b = lanes[std::countr_zero(other.active)].region;
    const auto depth = [](const smtl_region *region) { return region != nullptr ? region->depth : 0; };
    /* Where each is in the region that is left: first in an exchange of it, then in regions of it. */
    uint32_t at = one.site & SMTL_JOIN_SITE ? ~0u : one.site, other_at = other.site & SMTL_JOIN_SITE ? ~0u : other.site;
    const uint32_t common = std::min(depth(a), depth(b));
    for (; depth(a) > common; a = a->outer) at = a->site;
    for (; depth(b) > common; b = b->outer) other_at = b->site;
    for (; a != nullptr; a = a->outer, b = b->outer) {
        if (a->site != b->site) {
            at = a->site;
            other_at = b->site;
        }
    }
    return at < other_at;
}

/* No lane of the simdgroup can run, so the lanes that wait at one site go on. If lanes have diverged, those inside a
 * branch go first, and the others wait for them where the branches join. */
void core::complete_exchange(simdgroup &group) {
    open_exchange *const all = exchanges[&group - simdgroups];
    uint32_t chosen = 0;
    for (uint32_t i = 1; i < group.open_count; ++i)
        if (goes_before(group, all[group.open[i]], all[group.open[chosen]])) chosen = i;
    const uint32_t index = group.open[chosen];
    group.open[chosen] = group.open[--group.open_count];
    group.free |= uint64_t(1) << group.completed;
    group.completed = index;
    group.ready |= all[index].active;
    group.polling &= ~all[index].active;
    if (__builtin_expect(current->checks != nullptr, false)) tell_meeting(group, all[index]);
    if (__builtin_expect(group.at_barrier != 0, false) && ++group.meetings == most_meetings) fail_deadlock(group);
}

void core::tell_meeting(const simdgroup &group, const open_exchange &meeting) {
    constexpr uint32_t waits_of_translation = SMTL_SYNC_SITE | SMTL_JOIN_SITE | SMTL_TURN_SITE;
    if (meeting.site & waits_of_translation) return;
    const auto first = uint32_t(&group - simdgroups) * simd_width + uint32_t(std::countr_zero(meeting.active));
    current->checks->meet(first, meeting.active, contexts[first].instruction);
}

SMTL_ALWAYS_INLINE void core::join(open_exchange &meeting, const void *value, uint32_t size) {
    const uint32_t lane = thread % simd_width;
    copy_value(meeting.values + size_t(lane) * size, value, size);
    meeting.active |= 1u << lane;
}

SMTL_ALWAYS_INLINE const smtl_context *core::meet(uint32_t site, const void *value, uint32_t size) {
    simdgroup &group = simdgroup_of(thread);
    open_exchange &meeting = exchanges[&group - simdgroups][group.open[0]];
    const bool joins = group.open_count == 1 && meeting.site == site && meeting.depth == region_depth();
    if (__builtin_expect(!joins || !successor_takes_over(group), false)) return meet_in_general(site, value, size);
    join(meeting, value, size);
    return pass_on(group);
}

const smtl_context *core::meet_in_general(uint32_t site, const void *value, uint32_t size) {
    simdgroup &group = simdgroup_of(thread);
    open_exchange &meeting = find_exchange(group, site);
    join(meeting, value, size);
    block(group);
    if (group.ready & lane_bit(thread))
        return proceed_from(thread / simd_width * simd_width + uint32_t(std::countr_zero(group.ready)));
    return schedule();
}

/* The running fiber has run its thread, or all threads of a kernel that never blocks. */
const smtl_context *core::finished() {
    if (blocks) running_stack = stack_of[thread];
    if (blocks && --alive != 0) {
        block(simdgroup_of(thread));
        if (waiting_at_barrier == alive) release_barrier();
        stacks.give_back(running_stack);
        return schedule();
    }
    if (next_threadgroup()) return start_context();
    stacks.give_back(running_stack);
    return residents->retire(*this);
}

/* A thread waits for an atomic to change. It can run, so the lanes of its simdgroup wait for it in exchanges. */
const smtl_context *core::poll(uint32_t site, const void *caller) {
    poll_site = site;
    poll_caller = caller;
    if (!threads_apart) part_threads();
    simdgroup_of(thread).polling |= lane_bit(thread);
    if (polls_left == 0) return complete_syncs() ? resume() : residents->next(*this);
    --polls_left;
    return next_in_turn();
}

/* The threads have run one after another, up to one that waits for others. */
void core::part_threads() {
    const uint32_t waiting = thread;
    reset_threads();
    for (uint32_t ended = 0; ended < waiting; ++ended) {
        simdgroup_of(ended).ready &= ~lane_bit(ended);
        simdgroup_of(ended).unstarted &= ~lane_bit(ended);
    }
    thread = waiting;
    simdgroup_of(waiting).unstarted &= ~lane_bit(waiting);
    stack_of[waiting] = uint16_t(running_stack);
    alive -= waiting;
    polls_left = alive - 1;
    blocks = true;
    threads_apart = 1;
}

/* Lanes in a simd sync do not wait for those that wait for an atomic to change. */
bool core::complete_syncs() {
    bool completed = false;
    for (uint32_t s = 0; s < simdgroup_count; ++s) {
        simdgroup &group = simdgroups[s];
        if ((group.ready & ~group.polling) != 0) continue;
        const auto syncs = [&](uint8_t open) { return (exchanges[s][open].site & SMTL_SYNC_SITE) != 0; };
        if (!std::any_of(group.open, group.open + group.open_count, syncs)) continue;
        complete_exchange(group);
        completed = true;
    }
    return completed;
}

const smtl_context *core::resume() {
    polls_left = count_ready() - 1;
    return next_in_turn();
}

/* The next thread that can run, in a circle of all: others of its simdgroup may wait for atomics as well. */
const smtl_context *core::next_in_turn() {
    if (shuffle) {
        thread = pick_shuffled();
        return continue_thread();
    }
    uint32_t s = thread / simd_width;
    uint32_t ready = simdgroups[s].ready & ~((2u << thread % simd_width) - 1);
    while (ready == 0) {
        s = s + 1 == simdgroup_count ? 0 : s + 1;
        ready = simdgroups[s].ready;
    }
    thread = s * simd_width + uint32_t(std::countr_zero(ready));
    return continue_thread();
}

uint32_t core::count_ready() const {
    uint32_t ready = 0;
    for (uint32_t s = 0; s < simdgroup_count; ++s) ready += uint32_t(std::popcount(simdgroups[s].ready));
    return ready;
}

}  // namespace smtl

const smtl_context *smtl_on_barrier(smtl_core *core, uint32_t site, const void *, uint32_t memory) {
    return static_cast<smtl::core *>(core)->barrier(site, memory);
}

const smtl_context *smtl_on_exchange(smtl_core *core, uint32_t site, const void *value, uint32_t size) {
    return static_cast<smtl::core *>(core)->meet(site, value, size);
}

const smtl_context *smtl_on_poll(smtl_core *core, uint32_t site, const void *caller) {
    return static_cast<smtl::core *>(core)->poll(site, caller);
}

const smtl_context *smtl_on_finished(smtl_core *core) { return static_cast<smtl::core *>(core)->finished(); }
