/* Describes findings in terms of the program. */
#include "checked_launch.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "history.h"

namespace smtl::sanitize {
namespace {

extent split_index(uint64_t index, const extent &size) {
    return {uint32_t(index % size.x), uint32_t(index / size.x % size.y), uint32_t(index / size.x / size.y)};
}

std::string hex(uint64_t number) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%" PRIx64, number);
    return text;
}

}  // namespace

uint32_t checked_launch::offset_in_image(const void *pc) const {
    return uint32_t(reinterpret_cast<uintptr_t>(pc) - image_.base());
}

access checked_launch::running_access(uint32_t how, const void *pc) const {
    const uint32_t thread = facts_.core->thread;
    access now;
    now.run = run_;
    now.pc = offset_in_image(pc);
    now.clock = clock_;
    now.thread = uint16_t(how & SMTL_TOUCH_COLLECTIVE ? whole_simdgroup | thread / SMTL_SIMD_WIDTH : thread);
    now.touch = uint8_t(how);
    return now;
}

party checked_launch::describe(const access &what, size_t size) const {
    const past_launch &launch = history::shared().at(history::shared().index_of(what.run));
    party who;
    who.kernel = launch.kernel;
    /* `pc` is where a call returns to, which may belong to the next line. */
    who.where = locate(launch.path, what.pc - 1);
    who.write = (what.touch & SMTL_TOUCH_WRITE) != 0;
    who.atomic = (what.touch & SMTL_TOUCH_ATOMIC) != 0;
    who.whole_simdgroup = (what.thread & whole_simdgroup) != 0;
    who.size = size;
    const uint32_t thread =
        who.whole_simdgroup ? (what.thread & ~uint32_t(whole_simdgroup)) * SMTL_SIMD_WIDTH : what.thread;
    who.threadgroup = split_index(what.run - launch.first_run, launch.threadgroups);
    const extent &group = launch.threadgroup;
    const extent origin = {who.threadgroup.x * group.x, who.threadgroup.y * group.y, who.threadgroup.z * group.z};
    /* At the edge of the grid threadgroups are smaller. */
    const extent size_here = {std::min(group.x, launch.grid.x - origin.x), std::min(group.y, launch.grid.y - origin.y),
                              std::min(group.z, launch.grid.z - origin.z)};
    who.in_threadgroup = split_index(thread, size_here);
    who.in_grid = {origin.x + who.in_threadgroup.x, origin.y + who.in_threadgroup.y, origin.z + who.in_threadgroup.z};
    return who;
}

party checked_launch::describe_running(uint32_t how, size_t size, const void *pc) const {
    return describe(running_access(how, pc), size);
}

void checked_launch::report_race(const smtl_watched &watched, size_t offset, size_t size, const access &earlier,
                                 const access &now) {
    finding found;
    found.kind = SMTL_REPORT_RACE;
    found.actor = describe(now, size);
    found.has_other = true;
    found.other = describe(earlier, size);
    if (count_again(found.kind, found.actor.where, found.other.where, kernel_)) return;
    found.offset = int64_t(offset);
    name_object(watched, found);
    const char *relation = "of unordered dispatches";
    if (earlier.run == now.run)
        relation = "of one threadgroup with no barrier for this memory between them";
    else if (earlier.run >= first_run_)
        relation = "of different threadgroups";
    found.headline = std::string(found.actor.write ? "write" : "read") + " and " +
                     (found.other.write ? "write" : "read") + " by threads " + relation + ": " + std::to_string(size) +
                     " bytes at offset " + std::to_string(offset) + " in " + describe_object(found, watched);
    report(std::move(found));
}

void checked_launch::report_divergence(const std::string &headline, const access &now, const access *first) {
    finding found;
    found.kind = SMTL_REPORT_BARRIER;
    found.headline = headline;
    found.actor = describe(now, 0);
    if (first != nullptr) {
        found.has_other = true;
        found.other = describe(*first, 0);
    }
    if (!count_again(found.kind, found.actor.where, found.other.where, kernel_)) report(std::move(found));
}

void checked_launch::wait_in_vain(const void *instruction) {
    const smtl_poll &last = facts_.core->polls[facts_.core->thread];
    const auto address = reinterpret_cast<uintptr_t>(last.object);
    finding found;
    found.kind = SMTL_REPORT_DEADLOCK;
    found.actor = describe_running(SMTL_TOUCH_ATOMIC, sizeof(uint32_t), instruction);
    found.headline = "a thread waits for " + hex(last.value) + " to change";
    if (const smtl_watched *const watched = find(address)) {
        found.offset = watched->offset_of(address);
        name_object(*watched, found);
        found.headline += " at offset " + std::to_string(found.offset) + " in " + describe_object(found, *watched);
    }
    found.headline += ", and no thread that can run changes it";
    error_ = "kernel '" + kernel_ + "': deadlock: " + found.headline + ", at " + found.actor.where.text();
    if (!count_again(found.kind, found.actor.where, {}, kernel_)) report(std::move(found));
}

}  // namespace smtl::sanitize
