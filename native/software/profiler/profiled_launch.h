/* Counts what an instrumented kernel does while a launch of it runs. One such launch runs at a time, on one thread of
 * the host: the threadgroup variables of instrumented kernels are there once. */
#ifndef SMTL_PROFILER_PROFILED_LAUNCH_H
#define SMTL_PROFILER_PROFILED_LAUNCH_H

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "counts.h"
#include "footprint.h"
#include "matching.h"
#include "engine/hooks.h"
#include "sanitizer/image.h"

namespace smtl::profile {

/* Names of arguments, by index. */
struct argument_names {
    std::string buffers[SMTL_MAX_BUFFER_ARGUMENTS], threadgroup[SMTL_MAX_BUFFER_ARGUMENTS];
};

class profiled_launch : public launch_checks {
public:
    /* Waits until no other profiled launch runs. */
    profiled_launch(const smtl_launch &launch, const char *kernel, const sanitize::image &code,
                    const argument_names &names);
    ~profiled_launch() override;
    profiled_launch(const profiled_launch &) = delete;
    profiled_launch &operator=(const profiled_launch &) = delete;

    const smtl_launch &given() const override { return launch_; }
    bool prepare(const core_facts &facts, std::string &problem) override;
    void *threadgroup_memory(uint32_t index) const override { return threadgroup_memory_[index]; }
    const smtl_sanitizer &calls() const override;

    void begin_threadgroup() override;
    void begin_thread(const void *, size_t) override {}
    void arrive(uint32_t site, uint32_t memory, const void *instruction) override;
    void release(uint32_t arrived) override;
    void wait_in_vain(const void *) override {}
    void meet(uint32_t first_thread, uint32_t active, const void *instruction) override;

    const std::string &error() const override { return error_; }

    void touch(uintptr_t address, uint64_t size, uint32_t how, const void *pc);
    void simdgroup_barrier();
    /* `counts`: by kind, in fields of SMTL_OPERATION_BITS. */
    void compute(uint64_t counts, const void *pc);
    /* `byte`: that of the branch, in the shared object of the kernel. */
    void branch(const void *byte, uint32_t side, const void *pc);

private:
    struct object {
        object_key key;
        uintptr_t begin = 0, end = 0;
        uintptr_t origin = 0; /* that offsets count from; 0: lines and banks begin where the machine's do */
        object_counts counts;
        footprint touched;
    };
    /* What a site of this launch counts, with what waits in each simdgroup. */
    struct site {
        access_counts counts;
        std::vector<waiting_executions> waiting;
    };
    struct branch_site {
        branch_counts counts;
        std::vector<waiting_executions> waiting;
    };
    using site_entry = std::pair<const access_site, site>;
    struct site_hash {
        size_t operator()(const access_site &site) const;
    };
    /* The rows of a matrix that a simdgroup loads or stores: announced one by one, by one lane for all. */
    struct matrix_rows {
        site_entry *entry = nullptr;
        uint32_t simdgroup = 0, count = 0;
        std::array<uint64_t, 8> addresses;
    };

    void add_object(object_key key, void *begin, uint64_t length, std::string name, bool from_origin);
    bool make_threadgroup_memory();
    object *object_at(uintptr_t address);
    site_entry &site_of(const access_site &key);
    uint32_t lanes_of(uint32_t simdgroup) const;
    uint32_t offset_in_image(const void *pc) const;
    static auto counting(site_entry &entry, uint32_t all);
    static auto counting(branch_counts &counts, uint32_t all);
    void add_row(site_entry &entry, uint64_t address);
    void count_rows();
    /* The lanes of a simdgroup have met: what waits is complete. */
    void finish(uint32_t simdgroup);
    void finish_all();

    static std::mutex one_at_a_time_;
    std::lock_guard<std::mutex> lock_{one_at_a_time_};

    const smtl_launch launch_;
    const std::string kernel_;
    const sanitize::image &image_;
    const argument_names &names_;
    core_facts facts_{};
    std::string error_;
    std::unique_ptr<unsigned char[]> memory_;
    std::array<void *, SMTL_BUFFER_SLOTS> threadgroup_memory_{};

    kernel_counts counts_;
    std::vector<std::unique_ptr<object>> objects_;
    object table_, elsewhere_; /* what no argument and no variable holds */
    object *last_object_ = nullptr;
    std::unordered_map<access_site, site, site_hash> sites_;
    std::unordered_map<uint32_t, branch_site> branches_; /* by the offsets of their bytes */
    std::unordered_map<uint32_t, operation_counts> operations_;
    size_t allowance_, branch_allowance_; /* branches take nothing from what accesses have */
    matrix_rows rows_;
    uint32_t threads_ = 0; /* of the threadgroup that runs */
    std::vector<uint64_t> work_; /* by simdgroup: since the last barrier of the threadgroup */
    const void *barrier_ = nullptr; /* where the last thread came to a barrier */
};

}  // namespace smtl::profile

#endif
