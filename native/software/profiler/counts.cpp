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
    for (const auto &[key, counts] : other.objects) objects[key].add(counts);
}

}  // namespace smtl::profile
