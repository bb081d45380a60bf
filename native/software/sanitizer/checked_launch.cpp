#include "checked_launch.h"

#include <algorithm>
#include <cstring>

#include <sys/mman.h>

#include "history.h"
#include "stack.h"

namespace smtl::sanitize {
namespace {

checked_launch *running = nullptr; /* set by the launch that holds `one_at_a_time_` */

void touch_hook(smtl_core *, const volatile void *address, size_t size, uint32_t how, const void *pc) {
    running->touch(reinterpret_cast<uintptr_t>(address), size, how, pc != nullptr ? pc : __builtin_return_address(0));
}
void fence_hook(smtl_core *, uint32_t memory) { running->fence(memory); }
void simdgroup_barrier_hook(smtl_core *, uint32_t memory) { running->simdgroup_barrier(memory); }
void operations_hook(smtl_core *, uint64_t, const void *) {}
void branch_hook(smtl_core *, const void *, uint32_t, const void *) {}
void inactive_lane_hook(smtl_core *, uint32_t lane) { running->inactive_lane(lane, __builtin_return_address(0)); }

uint32_t divide_up(uint32_t n, uint32_t d) { return n / d + (n % d != 0); }

}  // namespace

std::mutex checked_launch::one_at_a_time_;

checked_launch::checked_launch(const smtl_launch &launch, const char *kernel, image &code, const argument_names &names)
    : launch_(launch), kernel_(kernel), image_(code), names_(names), checks_(smtl_sanitizer_checks()) {
    running = this;
    forget_freed();
    const auto &g = launch.threads_per_grid;
    const auto &t = launch.threads_per_threadgroup;
    const extent groups = {divide_up(g[0], t[0]), divide_up(g[1], t[1]), divide_up(g[2], t[2])};
    first_run_ = history::shared().begin(
        {0, kernel, code.path(), {g[0], g[1], g[2]}, {t[0], t[1], t[2]}, groups, launch.moment});
    const uint32_t threads = std::min(t[0] * t[1] * t[2], SMTL_MAX_THREADS_PER_THREADGROUP);
    simdgroups_.resize(divide_up(threads, SMTL_SIMD_WIDTH));
    fences_.resize(threads);
}

checked_launch::~checked_launch() {
    constexpr size_t page = 4096;
    settle_writes();
    for (const uintptr_t behind : pages_behind_image_) munmap(reinterpret_cast<void *>(behind), page);
    for (const uintptr_t scratch : scratch_pages_) windows::unmap(scratch, page);
    for (smtl_watched *const watched : borrowed_) smtl_sanitizer_free(watched);
    running = nullptr;
}

/* Makes sure that one argument's memory is watched. False if memory has run out. */
bool checked_launch::bind_argument(uint32_t index) {
    void *&bound = launch_.buffers[index];
    if (launch_.inline_bytes >> index & 1) {
        smtl_watched *const slot = slot_for_bytes(index);
        if (slot == nullptr) return false;
        slot->length = launch_.buffer_lengths[index];
        slot->cells->release();
        std::memcpy(smtl_sanitizer_bytes(slot), bound, slot->length);
        bound = smtl_sanitizer_bytes(slot);
    } else if (bound != nullptr && launch_.buffer_lengths[index] != SMTL_UNKNOWN_LENGTH &&
               find_watched(reinterpret_cast<uintptr_t>(bound)) == nullptr) {
        borrowed_.push_back(smtl_sanitizer_watch(bound, launch_.buffer_lengths[index]));
    }
    if (launch_.threadgroup_lengths[index] == 0) return true;
    smtl_watched *const slot = slot_for_threadgroup_memory(index);
    if (slot != nullptr) slot->length = launch_.threadgroup_lengths[index];
    return slot != nullptr;
}

bool checked_launch::prepare(const core_facts &facts, std::string &problem) {
    facts_ = facts;
    problem = "out of memory for the sanitizer's checks of this kernel";
    for (uint32_t i = 0; i < SMTL_MAX_BUFFER_ARGUMENTS; ++i)
        if (!bind_argument(i)) return false;
    problem = "the sanitizer cannot reserve addresses for the state of this kernel's stacks";
    return prepare_stacks(facts.core, SMTL_ARENA_SIZE);
}

void *checked_launch::threadgroup_memory(uint32_t index) const {
    return launch_.threadgroup_lengths[index] > 0 ? smtl_sanitizer_bytes(slot_for_threadgroup_memory(index)) : nullptr;
}

const smtl_sanitizer &checked_launch::calls() const {
    static const smtl_sanitizer calls = {touch_hook,         fence_hook,      simdgroup_barrier_hook,
                                         inactive_lane_hook, operations_hook, branch_hook};
    return calls;
}

void checked_launch::begin_threadgroup() {
    const smtl_core &core = *facts_.core;
    const uint64_t number =
        core.threadgroup_position[0] +
        uint64_t(core.threadgroups[0]) *
            (core.threadgroup_position[1] + uint64_t(core.threadgroups[1]) * core.threadgroup_position[2]);
    run_ = uint32_t(first_run_ + number);
    clock_ = 1;
    group_ = {};
    std::fill(simdgroups_.begin(), simdgroups_.end(), barrier_clocks{});
    std::fill(fences_.begin(), fences_.end(), 0);
    group_fence_ = 0;
    acquired_.clear();
    arrived_ = false;
    if (!(checks_ & SMTL_SANITIZE_UNINIT)) return;
    for (const auto &variable : image_.variables())
        if (variable->written) variable->written->forget(nullptr, 0, variable->length);
    for (uint32_t i = 0; i < SMTL_MAX_BUFFER_ARGUMENTS; ++i)
        if (launch_.threadgroup_lengths[i] > 0)
            slot_for_threadgroup_memory(i)->written->forget(nullptr, 0, launch_.threadgroup_lengths[i]);
}

void checked_launch::begin_thread(const void *stack_bottom, size_t stack_size) {
    settle_writes();
    clean_stack(stack_bottom, stack_size);
}

void checked_launch::touch(uintptr_t address, size_t size, uint32_t how, const void *pc) {
    if (address - reinterpret_cast<uintptr_t>(facts_.core) < SMTL_ARENA_SIZE) {
        if (address >= facts_.stacks && (checks_ & SMTL_SANITIZE_BOUNDS)) check_stack(address, size, how, pc);
        return;
    }
    if (size == 0) return;
    /* A matrix announces all its rows before it stores the first, so no row can be settled yet. */
    if (!(how & SMTL_TOUCH_COLLECTIVE)) settle_writes();
    smtl_watched *const watched = find(address);
    if (watched == nullptr) {
        check_elsewhere(address, size, how, pc);
        return;
    }
    if (!check_memory(*watched, address, size, how, pc)) return;
    const size_t offset = address - watched->base;
    if (checks_ & SMTL_SANITIZE_RACE) check_race(*watched, offset, size, how, pc);
    if ((checks_ & SMTL_SANITIZE_UNINIT) && watched->written) check_written(*watched, offset, size, how, pc);
}

}  // namespace smtl::sanitize
