#include "profiled_launch.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "registry.h"
#include "sanitizer/stack.h"
#include "support/settings.h"

namespace smtl::profile {
namespace {

/* Executions that wait for further lanes, of all accesses or branches and simdgroups together: some 70 MB. */
constexpr size_t most_waiting = size_t(1) << 18;
constexpr size_t alignment = 256; /* as that of buffers: more than a cache line, and than all banks */

profiled_launch *running = nullptr; /* set by the launch that holds `one_at_a_time_` */

void touch_hook(smtl_core *, const volatile void *address, size_t size, uint32_t how, const void *pc) {
    running->touch(reinterpret_cast<uintptr_t>(address), size, how, pc != nullptr ? pc : __builtin_return_address(0));
}
void fence_hook(smtl_core *, uint32_t) {}
void simdgroup_barrier_hook(smtl_core *, uint32_t) { running->simdgroup_barrier(); }
void inactive_lane_hook(smtl_core *, uint32_t) {}
void operations_hook(smtl_core *, uint64_t counts, const void *pc) { running->compute(counts, pc); }
void branch_hook(smtl_core *, const void *branch, uint32_t side, const void *pc) { running->branch(branch, side, pc); }

uint32_t divide_up(uint32_t n, uint32_t d) { return n / d + (n % d != 0); }
size_t aligned(size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

bool reads(uint32_t touch) {
    return (touch & SMTL_TOUCH_WRITE) == 0 || (touch & (SMTL_TOUCH_ATOMIC | SMTL_TOUCH_STORE)) == SMTL_TOUCH_ATOMIC;
}
bool writes(uint32_t touch) { return (touch & SMTL_TOUCH_WRITE) != 0; }
bool is_threadgroup(const object_key &key) { return key.where == space::threadgroup; }

}  // namespace

std::mutex profiled_launch::one_at_a_time_;

size_t profiled_launch::site_hash::operator()(const access_site &site) const {
    const uint64_t object = uint64_t(site.object.where) | uint64_t(site.object.index) << 8;
    const uint64_t mixed = (uint64_t(site.offset) << 24 ^ site.size << 8 ^ site.touch ^ object << 40);
    return size_t(mixed * 0x9e3779b97f4a7c15u >> 16);
}

profiled_launch::profiled_launch(const smtl_launch &launch, const char *kernel, const sanitize::image &code,
                                 const argument_names &names)
    : launch_(launch), kernel_(kernel), image_(code), names_(names), allowance_(most_waiting),
      branch_allowance_(most_waiting) {
    running = this;
    table_.key.where = space::table;
    const auto &grid = launch.threads_per_grid;
    const auto &group = launch.threads_per_threadgroup;
    counts_.launches = 1;
    counts_.threads = uint64_t(grid[0]) * grid[1] * grid[2];
    counts_.largest.threads = counts_.threads;
    std::copy(std::begin(grid), std::end(grid), counts_.largest.grid);
    std::copy(std::begin(group), std::end(group), counts_.largest.threads_per_threadgroup);
    counts_.largest.threadgroup_memory = image_.threadgroup_memory();
    for (const uint32_t length : launch.threadgroup_lengths) counts_.largest.threadgroup_memory += length;
    const uint64_t threads =
        std::min<uint64_t>(uint64_t(group[0]) * group[1] * group[2], SMTL_MAX_THREADS_PER_THREADGROUP);
    work_.resize(divide_up(uint32_t(threads), simd_width));
}

/* What a launch that failed has done counts too. */
profiled_launch::~profiled_launch() {
    finish_all();
    for (auto &[key, site] : sites_) counts_.accesses[key].add(site.counts);
    for (auto &[byte, site] : branches_) counts_.branches[byte].add(site.counts);
    for (auto &[offset, counts] : operations_) counts_.operations[offset].add(counts);
    const auto add = [&](object &one) {
        if (one.counts.asked_to_read + one.counts.asked_to_write == 0) return;
        const touched_bytes touched = one.touched.count();
        one.counts.launches = 1;
        one.counts.read = touched.read;
        one.counts.written = touched.written;
        one.counts.lines_read = touched.lines_read;
        one.counts.lines_written = touched.lines_written;
        one.counts.complete = one.touched.is_complete();
        counts_.objects[one.key].add(one.counts);
    };
    for (const auto &one : objects_) add(*one);
    add(table_);
    add(elsewhere_);
    registry::shared().add(image_.path(), kernel_, counts_);
    running = nullptr;
}

void profiled_launch::add_object(object_key key, void *begin, uint64_t length, std::string name, bool from_origin) {
    auto added = std::make_unique<object>();
    added->key = key;
    added->begin = reinterpret_cast<uintptr_t>(begin);
    added->end = added->begin + length;
    added->origin = from_origin ? added->begin : 0;
    added->counts.name = std::move(name);
    added->counts.length = length;
    objects_.push_back(std::move(added));
}

bool profiled_launch::make_threadgroup_memory() {
    size_t total = alignment;
    for (const uint32_t length : launch_.threadgroup_lengths) total += aligned(length);
    memory_.reset(new (std::nothrow) unsigned char[total]);
    if (memory_ == nullptr) return false;
    if (smtl_settings_get()->poison) std::memset(memory_.get(), 0xff, total);
    const uintptr_t start = reinterpret_cast<uintptr_t>(memory_.get());
    size_t next = aligned(start) - start;
    for (uint32_t i = 0; i < SMTL_MAX_BUFFER_ARGUMENTS; ++i) {
        const uint32_t length = launch_.threadgroup_lengths[i];
        if (length == 0) continue;
        threadgroup_memory_[i] = memory_.get() + next;
        add_object({space::threadgroup, false, i}, threadgroup_memory_[i], length, names_.threadgroup[i], false);
        next += aligned(length);
    }
    return true;
}

bool profiled_launch::prepare(const core_facts &facts, std::string &problem) {
    facts_ = facts;
    problem = "out of memory for the profile of this kernel";
    if (!make_threadgroup_memory()) return false;
    for (uint32_t i = 0; i < SMTL_MAX_BUFFER_ARGUMENTS; ++i)
        /* What an address of unknown length reaches is counted as memory that no argument holds. */
        if (launch_.buffers[i] != nullptr && launch_.buffer_lengths[i] != SMTL_UNKNOWN_LENGTH)
            add_object({space::buffer, false, i}, launch_.buffers[i], launch_.buffer_lengths[i], names_.buffers[i],
                       (launch_.inline_bytes >> i & 1) != 0);
    uint32_t number = 0;
    for (const auto &variable : image_.variables())
        add_object({space::threadgroup, true, number++}, reinterpret_cast<void *>(variable->base), variable->length,
                   variable->label, false);
    problem = "no addresses are free for the state of this kernel's stacks";
    return sanitize::prepare_stacks(facts.core, SMTL_ARENA_SIZE);
}

const smtl_sanitizer &profiled_launch::calls() const {
    static const smtl_sanitizer calls = {touch_hook,         fence_hook,      simdgroup_barrier_hook,
                                         inactive_lane_hook, operations_hook, branch_hook};
    return calls;
}

void profiled_launch::begin_threadgroup() {
    finish_all();
    const auto &size = facts_.core->threadgroup_size;
    threads_ = size[0] * size[1] * size[2];
    std::fill(work_.begin(), work_.end(), 0);
    ++counts_.threadgroups;
    counts_.simdgroups += divide_up(threads_, simd_width);
}

uint32_t profiled_launch::lanes_of(uint32_t simdgroup) const {
    return std::min(simd_width, threads_ - simdgroup * simd_width);
}

/* `pc` is where a call returns to, which may belong to the next line. */
uint32_t profiled_launch::offset_in_image(const void *pc) const {
    return uint32_t(reinterpret_cast<uintptr_t>(pc) - image_.base()) - 1;
}

profiled_launch::object *profiled_launch::object_at(uintptr_t address) {
    if (last_object_ != nullptr && address >= last_object_->begin && address < last_object_->end) return last_object_;
    for (const auto &one : objects_)
        if (address >= one->begin && address < one->end) return last_object_ = one.get();
    return image_.contains(address) ? &table_ : &elsewhere_;
}

/* What counts an execution of an access or a branch by a simdgroup of `all` lanes. */
auto profiled_launch::counting(site_entry &entry, uint32_t all) {
    return [&entry, all](std::span<const uint64_t> addresses) {
        auto &[key, site] = entry;
        site.counts.add(figures_of(addresses, key.size, is_threadgroup(key.object)), addresses.size(), all);
    };
}
auto profiled_launch::counting(branch_counts &counts, uint32_t all) {
    return [&counts, all](std::span<const uint64_t> sides) { counts.add(sides, all); };
}

profiled_launch::site_entry &profiled_launch::site_of(const access_site &key) {
    const auto [found, added] = sites_.try_emplace(key);
    if (added) found->second.waiting.resize(work_.size());
    return *found;
}

void profiled_launch::touch(uintptr_t address, uint64_t size, uint32_t how, const void *pc) {
    if (address - reinterpret_cast<uintptr_t>(facts_.core) < SMTL_ARENA_SIZE || size == 0) return;
    object &accessed = *object_at(address);
    (writes(how) ? accessed.counts.asked_to_write : accessed.counts.asked_to_read) += size;
    const uint64_t offset = address - accessed.origin;
    accessed.touched.add(offset, size, reads(how), writes(how));
    site_entry &entry = site_of({offset_in_image(pc), how, size, accessed.key});
    if (how & SMTL_TOUCH_COLLECTIVE) {
        add_row(entry, offset);
        return;
    }
    const uint32_t thread = facts_.core->thread, simdgroup = thread / simd_width;
    waiting_executions &waiting = entry.second.waiting[simdgroup];
    if (!waiting.add(thread % simd_width, offset, allowance_)) ++entry.second.counts.unmatched;
    if (thread % simd_width == lanes_of(simdgroup) - 1)
        waiting.count_complete(lanes_of(simdgroup), allowance_, counting(entry, lanes_of(simdgroup)));
}

void profiled_launch::compute(uint64_t counts, const void *pc) {
    operation_counts &sum = operations_[offset_in_image(pc)];
    for (uint64_t &kind : sum.by_kind) {
        kind += counts & ((1u << SMTL_OPERATION_BITS) - 1);
        counts >>= SMTL_OPERATION_BITS;
    }
}

void profiled_launch::branch(const void *byte, uint32_t side, const void *pc) {
    const auto [found, is_new] = branches_.try_emplace(uint32_t(reinterpret_cast<uintptr_t>(byte) - image_.base()));
    branch_site &site = found->second;
    if (is_new) {
        site.counts.offset = offset_in_image(pc);
        site.waiting.resize(work_.size());
    }
    const uint32_t thread = facts_.core->thread, simdgroup = thread / simd_width, lanes = lanes_of(simdgroup);
    waiting_executions &waiting = site.waiting[simdgroup];
    if (!waiting.add(thread % simd_width, side, branch_allowance_)) ++site.counts.unmatched;
    if (thread % simd_width == lanes - 1)
        waiting.count_complete(lanes, branch_allowance_, counting(site.counts, lanes));
}

void profiled_launch::add_row(site_entry &entry, uint64_t address) {
    if (rows_.entry != &entry) count_rows();
    rows_.entry = &entry;
    rows_.simdgroup = facts_.core->thread / simd_width;
    rows_.addresses[rows_.count++] = address;
    if (rows_.count == rows_.addresses.size()) count_rows();
}

void profiled_launch::count_rows() {
    if (rows_.count == 0) return;
    auto &[key, site] = *rows_.entry;
    const uint32_t lanes = lanes_of(rows_.simdgroup);
    site.counts.add(figures_of(std::span(rows_.addresses.data(), rows_.count), key.size, is_threadgroup(key.object)),
                    lanes, lanes);
    ++work_[rows_.simdgroup];
    rows_ = {};
}

void profiled_launch::finish(uint32_t simdgroup) {
    const uint32_t lanes = lanes_of(simdgroup);
    for (site_entry &entry : sites_)
        work_[simdgroup] += entry.second.waiting[simdgroup].finish(allowance_, counting(entry, lanes));
    for (auto &[byte, site] : branches_)
        site.waiting[simdgroup].finish(branch_allowance_, counting(site.counts, lanes));
}

void profiled_launch::finish_all() {
    count_rows();
    if (threads_ == 0) return;
    for (uint32_t simdgroup = 0; simdgroup < divide_up(threads_, simd_width); ++simdgroup) finish(simdgroup);
}

void profiled_launch::simdgroup_barrier() {
    count_rows();
    finish(facts_.core->thread / simd_width);
}

void profiled_launch::arrive(uint32_t, uint32_t, const void *instruction) { barrier_ = instruction; }

void profiled_launch::release(uint32_t arrived) {
    finish_all();
    const uint32_t simdgroups = divide_up(threads_, simd_width);
    meeting_counts one;
    one.executions = 1;
    one.lanes = arrived;
    one.all_lanes = threads_;
    const auto end = work_.begin() + simdgroups;
    for (auto work = work_.begin(); work != end; ++work) one.work += *work;
    one.full_work = *std::max_element(work_.begin(), end) * simdgroups;
    std::fill(work_.begin(), work_.end(), 0);
    counts_.barriers[offset_in_image(barrier_)].add(one);
}

void profiled_launch::meet(uint32_t first_thread, uint32_t active, const void *instruction) {
    meeting_counts one;
    one.executions = 1;
    one.lanes = uint32_t(std::popcount(active));
    one.all_lanes = lanes_of(first_thread / simd_width);
    counts_.simd_functions[offset_in_image(instruction)].add(one);
}

}  // namespace smtl::profile
