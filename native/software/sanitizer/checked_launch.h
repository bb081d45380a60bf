/* The checks of an instrumented kernel while a launch of it runs. One such launch runs at a time, on one thread of the
 * host, so that reports can be repeated and the state of memory needs no locks. */
#ifndef SMTL_SANITIZER_CHECKED_LAUNCH_H
#define SMTL_SANITIZER_CHECKED_LAUNCH_H

#include <array>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "image.h"
#include "memory.h"
#include "reports.h"
#include "engine/hooks.h"

namespace smtl::sanitize {

/* Names that reports use, by argument index. */
struct argument_names {
    std::string buffers[SMTL_MAX_BUFFER_ARGUMENTS], threadgroup[SMTL_MAX_BUFFER_ARGUMENTS];
};

class checked_launch : public launch_checks {
public:
    /* Waits until no other checked launch runs. */
    checked_launch(const smtl_launch &launch, const char *kernel, image &code, const argument_names &names);
    ~checked_launch() override;
    checked_launch(const checked_launch &) = delete;
    checked_launch &operator=(const checked_launch &) = delete;

    const smtl_launch &given() const override { return launch_; }
    bool prepare(const core_facts &facts, std::string &problem) override;
    void *threadgroup_memory(uint32_t index) const override;
    const smtl_sanitizer &calls() const override;

    void begin_threadgroup() override;
    void begin_thread(const void *stack_bottom, size_t stack_size) override;
    void arrive(uint32_t site, uint32_t memory, const void *instruction) override;
    void release(uint32_t arrived) override;
    void wait_in_vain(const void *instruction) override;
    void meet(uint32_t, uint32_t, const void *) override {}

    const std::string &error() const override { return error_; }

    void touch(uintptr_t address, size_t size, uint32_t how, const void *pc);
    void fence(uint32_t memory);
    void simdgroup_barrier(uint32_t memory);
    void inactive_lane(uint32_t lane, const void *pc);

private:
    enum space {
        device_space,
        threadgroup_space,
        space_count
    };
    /* The clock at the last barrier that orders each kind of memory. */
    struct barrier_clocks {
        uint32_t at[space_count];
    };
    /* What one threadgroup has made visible to threadgroups that read an atomic afterwards. */
    struct publication {
        uint32_t run, thread, clock, group_clock;
    };

    bool bind_argument(uint32_t index);

    /* bounds */
    smtl_watched *find(uintptr_t address);
    bool check_memory(smtl_watched &watched, uintptr_t address, size_t size, uint32_t how, const void *pc);
    void check_stack(uintptr_t address, size_t size, uint32_t how, const void *pc);
    void check_elsewhere(uintptr_t address, size_t size, uint32_t how, const void *pc);
    bool give_scratch_memory(const smtl_watched &watched, uintptr_t address, size_t size);
    bool give_free_pages(uintptr_t address, size_t size);
    void report_bounds(finding found);
    void report_outside(const smtl_watched &watched, uintptr_t address, size_t size, uint32_t how, const void *pc);
    void report_elsewhere(const constant_table *table, uintptr_t address, size_t size, uint32_t how, const void *pc);

    /* race */
    void check_race(smtl_watched &watched, size_t offset, size_t size, uint32_t how, const void *pc);
    const access *conflict(const cell &state, const access &now, space where, bool tracked);
    void record(cell &state, const access &now, space where, bool tracked);
    bool in_order(const access &earlier, const access &now, space where, bool tracked);
    bool comes_after_launch_of(uint32_t run, bool tracked);
    bool is_published(const access &earlier) const;
    void exchange_through(uintptr_t location, uint32_t how, const access &now);
    /* A write in conflict with another one. It is reported unless it turns out to write what is there already. */
    struct pending_write {
        const smtl_watched *watched;
        size_t offset, size;
        access earlier, now;
        unsigned char before[64];
    };
    void hold_back(const smtl_watched &watched, size_t offset, size_t size, const access &earlier, const access &now);
    void settle_writes();
    void report_race(const smtl_watched &watched, size_t offset, size_t size, const access &earlier, const access &now);

    /* uninit */
    void check_written(smtl_watched &watched, size_t offset, size_t size, uint32_t how, const void *pc);

    void report_divergence(const std::string &headline, const access &now, const access *first);

    /* description */
    party describe(const access &what, size_t size) const;
    party describe_running(uint32_t how, size_t size, const void *pc) const;
    access running_access(uint32_t how, const void *pc) const;
    uint32_t offset_in_image(const void *pc) const;
    void name_object(const smtl_watched &watched, finding &found) const;
    std::string describe_object(const finding &found, const smtl_watched &watched) const;

    static std::mutex one_at_a_time_;
    std::lock_guard<std::mutex> lock_{one_at_a_time_};

    smtl_launch launch_{};
    const std::string kernel_;
    image &image_;
    const argument_names &names_;
    core_facts facts_{};
    const uint32_t checks_;
    std::string error_;
    smtl_watched *last_found_ = nullptr;
    std::set<uintptr_t> scratch_pages_, pages_behind_image_;
    std::vector<smtl_watched *> borrowed_; /* buffers that are watched for this launch alone */

    uint32_t first_run_ = 0, run_ = 0;
    uint32_t clock_ = 0;
    barrier_clocks group_{};
    std::vector<barrier_clocks> simdgroups_;
    std::vector<uint32_t> fences_; /* by thread: the clock at its last fence of device memory, plus 1 */
    uint32_t group_fence_ = 0; /* the same of barriers, for all threads */
    std::vector<std::pair<uintptr_t, std::vector<publication>>> published_;
    std::vector<uintptr_t> acquired_; /* atomics that this threadgroup has read */
    /* Whether this launch comes after the launch of an earlier threadgroup; by whether Metal tracks the memory. */
    struct known_order {
        uint32_t run = 0;
        bool after[2] = {};
    };
    std::array<known_order, 512> known_orders_;

    std::vector<pending_write> pending_;

    struct arrival {
        uint32_t site = 0;
        access where;
    } first_arrival_;
    bool arrived_ = false, diverged_ = false;
    uint32_t barrier_memory_ = 0;
};

}  // namespace smtl::sanitize

#endif
