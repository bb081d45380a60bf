#include "counts.h"

#include <algorithm>

namespace smtl::profile {
namespace {

constexpr size_t most_strides = 128;

void add_stride(access_counts &counts, int64_t stride, uint64_t executions) {
    if (counts.strides.size() < most_strides || counts.strides.contains(stride))
        counts.strides[stride] += executions;
    else
        counts.other_strides += executions;
}

}  // namespace

void access_counts::add(const figures &one, uint64_t active, uint64_t all) {
    ++executions;
    lanes += active;
    all_lanes += all;
    memory_use::add(one);
    misaligned += one.misaligned;
    ++patterns[unsigned(one.order)];
    if (one.order == pattern::strided) add_stride(*this, one.stride, 1);
}

void access_counts::add(const access_counts &other) {
    executions += other.executions;
    lanes += other.lanes;
    all_lanes += other.all_lanes;
    memory_use::add(other);
    misaligned += other.misaligned;
    for (unsigned i = 0; i < pattern_count; ++i) patterns[i] += other.patterns[i];
    for (const auto &[stride, times] : other.strides) add_stride(*this, stride, times);
    other_strides += other.other_strides;
    unmatched += other.unmatched;
}

void meeting_counts::add(const meeting_counts &other) {
    executions += other.executions;
    lanes += other.lanes;
    all_lanes += other.all_lanes;
    work += other.work;
    full_work += other.full_work;
}

void operation_counts::add(const operation_counts &other) {
    for (size_t kind = 0; kind < by_kind.size(); ++kind) by_kind[kind] += other.by_kind[kind];
}

void branch_counts::add(std::span<const uint64_t> sides, uint64_t all) {
    const auto lanes_on = [&](uint64_t side) { return uint64_t(std::count(sides.begin(), sides.end(), side)); };
    ++executions;
    lanes += sides.size();
    all_lanes += all;
    taken += sides.size() - lanes_on(0);
    diverged += lanes_on(sides.front()) < sides.size();
}

void branch_counts::add(const branch_counts &other) {
    offset = other.offset;
    executions += other.executions;
    lanes += other.lanes;
    all_lanes += other.all_lanes;
    taken += other.taken;
    diverged += other.diverged;
    unmatched += other.unmatched;
}

void object_counts::add(const object_counts &other) {
    name = other.name;
    launches += other.launches;
    length = std::max(length, other.length);
    asked_to_read += other.asked_to_read;
    asked_to_write += other.asked_to_write;
    read += other.read;
    written += other.written;
    lines_read += other.lines_read;
    lines_written += other.lines_written;
    complete = complete && other.complete;
}

void kernel_counts::add(const kernel_counts &other) {
    launches += other.launches;
    threadgroups += other.threadgroups;
    simdgroups += other.simdgroups;
    threads += other.threads;
    if (other.largest.threads > largest.threads) largest = other.largest;
    for (const auto &[site, counts] : other.accesses) accesses[site].add(counts);
    for (const auto &[site, counts] : other.barriers) barriers[site].add(counts);
    for (const auto &[site, counts] : other.simd_functions) simd_functions[site].add(counts);
    for (const auto &[site, counts] : other.operations) operations[site].add(counts);
    for (const auto &[site, counts] : other.branches) branches[site].add(counts);
    for (const auto &[key, counts] : other.objects) objects[key].add(counts);
}

}  // namespace smtl::profile
