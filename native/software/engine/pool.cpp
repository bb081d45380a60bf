#include "pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <vector>

#include <pthread.h>

#include "core.h"
#include "futex.h"
#include "support/settings.h"
#include "support/threads.h"

namespace smtl {

/* A slot offers one piece of work. Slots live as long as the process, so that a thread may look at one too late: a
 * thread that wants to join first counts itself as a helper, and only then reads which work the slot offers. */
struct alignas(64) job_slot {
    std::atomic<bool> claimed{false};
    std::atomic<divisible_work *> work{nullptr};
    std::atomic<uint32_t> helpers{0};
    std::atomic<bool> owner_sleeps{false};
};

namespace {

constexpr unsigned slot_count = 64;
/* How long an idle thread looks for work before it sleeps: longer than the gaps between the launches of a command
 * buffer, so that these need no system call. */
constexpr auto idle_spin = std::chrono::microseconds(50);
constexpr unsigned completion_spins = 2000;
constexpr unsigned spins_between_clock_reads = 64;

struct pool_state {
    job_slot slots[slot_count];
    alignas(64) std::atomic<uint32_t> offers{0}; /* how many there have been: idle threads wait for the next */
    alignas(64) std::atomic<uint32_t> sleepers{0};
    std::once_flag started;
};

/* Never destroyed: its threads run until the process ends. */
pool_state &pool() {
    static pool_state *const state = new pool_state;
    return *state;
}

bool help(job_slot &slot, core &own) {
    if (slot.work.load(std::memory_order_relaxed) == nullptr) return false;
    slot.helpers.fetch_add(1);
    divisible_work *const work = slot.work.load();
    const bool joined = work != nullptr && work->has_parts() && work->join(own);
    if (slot.helpers.fetch_sub(1) == 1 && slot.owner_sleeps.load()) futex_wake(slot.helpers, 1);
    return joined;
}

bool help_anyone(core &own) {
    bool helped = false;
    for (job_slot &slot : pool().slots) helped |= help(slot, own);
    return helped;
}

/* Waits until the number of offers is no longer `seen`. */
void wait_for_offer(uint32_t seen) {
    std::atomic<uint32_t> &offers = pool().offers;
    const auto give_up = std::chrono::steady_clock::now() + idle_spin;
    do
        for (unsigned i = 0; i < spins_between_clock_reads; ++i) {
            if (offers.load(std::memory_order_relaxed) != seen) return;
            pause_briefly();
        }
    while (std::chrono::steady_clock::now() < give_up);
    pool().sleepers.fetch_add(1);
    while (offers.load() == seen) futex_wait(offers, seen);
    pool().sleepers.fetch_sub(1);
}

void *work_forever(void *) {
    pthread_setname_np(pthread_self(), "metal-core");
    core *const own = create_core();
    if (own == nullptr) return nullptr;
    for (;;) {
        const uint32_t seen = pool().offers.load();
        if (!help_anyone(*own)) wait_for_offer(seen);
    }
}

/* If there are fewer threads than asked for, the callers do the work. */
void start_threads() {
    unsigned missing = smtl_settings_get()->threads - 1;
    while (missing > 0 && smtl_start_thread(work_forever, nullptr)) --missing;
}

/* Cores that ended threads and launches have left, for new ones. */
struct core_store {
    std::mutex mutex;
    std::vector<core *> spare;
};

core_store &spare_cores() {
    static core_store *const store = new core_store;
    return *store;
}

struct core_lease {
    core *leased = nullptr;
    ~core_lease() {
        if (leased == nullptr) return;
        give_core_back(*leased);
    }
};

}  // namespace

core *take_core() {
    core_store &store = spare_cores();
    const std::lock_guard lock(store.mutex);
    if (store.spare.empty()) {
        store.spare.reserve(store.spare.capacity() + 1);
        return create_core();
    }
    core *const taken = store.spare.back();
    store.spare.pop_back();
    return taken;
}

void give_core_back(core &taken) {
    core_store &store = spare_cores();
    const std::lock_guard lock(store.mutex);
    store.spare.push_back(&taken);
}

void give_extra_core_back(core &taken) {
    core_store &store = spare_cores();
    {
        const std::lock_guard lock(store.mutex);
        uint64_t stacks = taken.stacks.committed();
        for (const core *spare : store.spare) stacks += spare->stacks.committed();
        if (stacks <= stacks_to_keep()) {
            store.spare.push_back(&taken);
            return;
        }
    }
    destroy_core(taken);
}

core *core_of_thread() {
    [[clang::always_destroy]] static thread_local core_lease lease;
    if (lease.leased == nullptr) lease.leased = take_core();
    return lease.leased;
}

void shared_work::offer() {
    pool_state &all = pool();
    std::call_once(all.started, start_threads);
    for (job_slot &slot : all.slots) {
        if (slot.claimed.load(std::memory_order_relaxed) || slot.claimed.exchange(true)) continue;
        slot_ = &slot;
        slot.work.store(&work_);
        all.offers.fetch_add(1);
        if (const uint32_t sleepers = all.sleepers.load()) {
            /* One part is the caller's. */
            futex_wake(all.offers, uint32_t(std::min<uint64_t>(sleepers, work_.part_count() - 1)));
        }
        return;
    }
}

shared_work::~shared_work() {
    if (slot_ == nullptr) return;
    slot_->work.store(nullptr);
    for (unsigned i = 0; i < completion_spins && slot_->helpers.load() != 0; ++i) pause_briefly();
    slot_->owner_sleeps.store(true);
    while (const uint32_t helpers = slot_->helpers.load()) futex_wait(slot_->helpers, helpers);
    slot_->owner_sleeps.store(false);
    slot_->claimed.store(false);
}

}  // namespace smtl
