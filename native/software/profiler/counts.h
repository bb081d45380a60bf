/* What the profiler counts of a kernel: raw sums, from which reports are made. */
#ifndef SMTL_PROFILER_COUNTS_H
#define SMTL_PROFILER_COUNTS_H

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "figures.h"
#include "msl/include/smtl/abi.h"

namespace smtl::profile {

enum class space : uint8_t {
    buffer, /* device and constant memory */
    threadgroup,
    table, /* a constant table of the source */
    elsewhere, /* memory that no argument holds: through a pointer in a buffer */
};

/* What an address belongs to: a buffer or threadgroup argument by its index, or a variable by its number. */
struct object_key {
    space where = space::elsewhere;
    bool is_variable = false;
    uint32_t index = 0;
    auto operator<=>(const object_key &) const = default;
};

/* An instruction that accesses an object in accesses of one size. */
struct access_site {
    uint32_t offset = 0; /* of the instruction in the shared object of the kernel */
    uint32_t touch = 0; /* SMTL_TOUCH_* */
    uint64_t size = 0;
    object_key object;
    auto operator<=>(const access_site &) const = default;
};

/* Sums over the times that a simdgroup executed the instruction. */
struct access_counts : memory_use {
    uint64_t executions = 0;
    uint64_t lanes = 0, all_lanes = 0; /* active lanes, and the lanes that the simdgroups have */
    uint64_t misaligned = 0; /* executions */
    uint64_t patterns[pattern_count] = {};
    std::map<int64_t, uint64_t> strides; /* executions of strided accesses, by stride */
    uint64_t other_strides = 0; /* of those beyond the 128 in `strides` */
    uint64_t unmatched = 0; /* accesses of lanes that were counted nowhere else, for lack of memory */

    void add(const figures &one, uint64_t active, uint64_t all);
    void add(const access_counts &other);
};

/* Of a barrier or of a function in which the lanes of a simdgroup meet. */
struct meeting_counts {
    uint64_t executions = 0;
    uint64_t lanes = 0, all_lanes = 0;
    /* Accesses to memory that the simdgroups executed since the barrier before: of all, and as many as if each had
     * executed as many as the busiest. */
    uint64_t work = 0, full_work = 0;

    void add(const meeting_counts &other);
};

/* Of a line's operations: by all lanes. */
struct operation_counts {
    std::array<uint64_t, SMTL_OPERATION_KINDS> by_kind{};

    void add(const operation_counts &other);
};

/* Of a branch of the source. */
struct branch_counts {
    uint32_t offset = 0; /* of an instruction that tells of it: the optimiser copies branches of loops */
    uint64_t executions = 0;
    uint64_t lanes = 0, all_lanes = 0;
    uint64_t taken = 0; /* lanes for which the condition was true, or whose case a switch has */
    uint64_t diverged = 0; /* executions whose lanes took different sides */
    uint64_t unmatched = 0; /* of single lanes, as those of accesses */

    void add(std::span<const uint64_t> sides, uint64_t all);
    void add(const branch_counts &other);
};

struct object_counts {
    std::string name; /* empty: unknown */
    uint64_t launches = 0;
    uint64_t length = 0; /* bytes; the longest */
    uint64_t asked_to_read = 0, asked_to_write = 0; /* by all lanes */
    uint64_t read = 0, written = 0, lines_read = 0, lines_written = 0; /* different ones, launch by launch */
    bool complete = true;

    void add(const object_counts &other);
};

struct launch_size {
    uint64_t threads = 0;
    uint32_t grid[3] = {}, threads_per_threadgroup[3] = {};
    uint64_t threadgroup_memory = 0;
};

struct kernel_counts {
    uint64_t launches = 0, threadgroups = 0, simdgroups = 0, threads = 0;
    launch_size largest;
    std::map<access_site, access_counts> accesses;
    /* By the offset of the instruction. */
    std::map<uint32_t, meeting_counts> barriers, simd_functions;
    std::map<uint32_t, operation_counts> operations;
    std::map<uint32_t, branch_counts> branches; /* by the offsets of the bytes that stand for them */
    std::map<object_key, object_counts> objects;

    void add(const kernel_counts &other);
};

}  // namespace smtl::profile

#endif
