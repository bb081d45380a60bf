/* One launch while it runs: what all cores that take part in it share. */
#ifndef SMTL_LAUNCH_H
#define SMTL_LAUNCH_H

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "kernel.h"
#include "support/settings.h"

namespace smtl {

struct extent {
    uint32_t x, y, z;
    uint64_t volume() const { return uint64_t(x) * y * z; }
};

struct launch {
    launch(const smtl_kernel &launched, const smtl_launch &with) : kernel(&launched), given(&with) {}
    ~launch();

    const smtl_kernel *kernel;
    const smtl_launch *given;
    extent grid;
    extent threadgroup;
    extent threadgroups;
    uint64_t threadgroup_count;
    uint64_t chunk; /* threadgroups that a core takes at a time */
    smtl_seed shuffle;
    bool poison;
    /* Of threadgroups that have started and not ended: as asked for, and as there are stacks for. */
    uint32_t asked_residents = 1;
    std::atomic<uint32_t> resident_limit{1};
    /* NULL: nothing is checked. */
    launch_checks *checks = nullptr;

    alignas(64) std::atomic<uint64_t> next{0};
    /* On a line of its own: read before every threadgroup. The first core that fails sets it and then writes the
     * message; the others stop at their next threadgroup. */
    alignas(64) std::atomic<bool> failed{false};
    smtl_failure failure_kind = SMTL_FAILURE_NONE;
    std::string failure;
    std::atomic<uint32_t> residents{0}; /* counted if the kernel polls */

    /* The threadgroup that is the `step`th to run. */
    uint64_t in_order(uint64_t step) const;
    /* Where in the grid a threadgroup lies. Numbers go through panels that are a few threadgroups high, along y first:
     * threadgroups of a matrix product that run one after the other then share rows and columns in the cache. */
    extent position_of(uint64_t number) const;
    /* Whether successive numbers are neighbours in x, and the engine does nothing between their threadgroups. */
    bool runs_in_rows() const { return threadgroups.y == 1 && !shuffle.on && !poison && checks == nullptr; }
    void fail(smtl_failure kind, std::string message);
    void set_residents(uint32_t most);
    /* There are stacks for more threadgroups than the host's threads have begun with. False: not yet, or not. */
    bool has_stacks();
    /* One more threadgroup may start. False if as many are resident as may be. */
    bool become_resident();
    void leave_resident();
    /* A thread of the host begins to execute threadgroups, the first of which is resident then. If the kernel polls,
     * the thread is one of those that may wait. False if as many threadgroups are resident as may be. */
    bool join_waiting();
    void leave_waiting();
    /* One of them has gone around its threadgroups, and all waited for atomics to change. `changed`: not as they waited
     * before. `round` is the thread's own, zero at first. True if all threads of the host have come here again and
     * again, and nothing has changed for a second: then nothing will, unless from outside of the launch. */
    bool waits_in_vain(uint64_t &round, bool changed);
    /* Stacks that a core must have before it takes part. */
    uint32_t stacks_needed() const;

private:
    std::mutex waiting_mutex_;
    uint64_t reserved_stacks_ = 0;
    bool waits_for_stacks_ = false;
    uint32_t waiting_members_ = 0, waiting_arrived_ = 0;
    uint64_t waiting_round_ = 1, vain_rounds_ = 0, vain_since_ = 0;
};

/* A core calls `before_chunk` before it takes another chunk of threadgroups. */
class progress_watch {
public:
    virtual void before_chunk() = 0;

protected:
    ~progress_watch() = default;
};

/* An address in words, with the buffer argument that it lies close to. */
std::string describe_address(const smtl_launch &given, const void *address);

}  // namespace smtl

#endif
