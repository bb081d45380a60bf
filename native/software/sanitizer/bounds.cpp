/* Whether an access stays within the object that its address was made from. */
#include "checked_launch.h"

#include <algorithm>

#include "stack.h"

namespace smtl::sanitize {
namespace {

constexpr size_t page = 4096;
/* A kernel that runs wild must not take all memory: an access that needs more pages ends the launch. */
constexpr size_t most_scratch_pages = 4096;

std::string bytes(uint64_t count) { return std::to_string(count) + (count == 1 ? " byte" : " bytes"); }

std::string access_in_words(uint32_t how, size_t size) {
    return std::string(how & SMTL_TOUCH_ATOMIC ? "atomic " : "") + (how & SMTL_TOUCH_WRITE ? "write" : "read") +
           " of " + bytes(size);
}

/* Where [offset, offset + size) lies, relative to an object of `length` bytes. */
std::string distance_in_words(int64_t offset, size_t size, uint64_t length) {
    if (offset < 0) return bytes(uint64_t(-offset)) + " before";
    if (uint64_t(offset) >= length)
        return (uint64_t(offset) == length ? "right" : bytes(uint64_t(offset) - length)) + " behind";
    return "at offset " + std::to_string(offset) + ", the last " + bytes(uint64_t(offset) + size - length) + " behind";
}

}  // namespace

smtl_watched *checked_launch::find(uintptr_t address) {
    if (last_found_ != nullptr && last_found_->range.contains(address)) return last_found_;
    smtl_watched *found = image_.contains(address) ? nullptr : find_watched(address);
    if (found == nullptr) found = image_.variable_near(address);
    /* What lies beside threadgroup variables is looked up every time: it may be something else. */
    if (found != nullptr && found->kind != memory_kind::threadgroup_variable) last_found_ = found;
    return found;
}

void checked_launch::name_object(const smtl_watched &watched, finding &found) const {
    found.length = watched.length;
    found.object = watched.label;
    if (watched.kind == memory_kind::threadgroup_variable) return;
    const bool threadgroup = watched.kind == memory_kind::threadgroup_argument;
    const auto &names = threadgroup ? names_.threadgroup : names_.buffers;
    for (uint32_t i = 0; i < SMTL_MAX_BUFFER_ARGUMENTS && found.argument < 0; ++i) {
        const auto bound = reinterpret_cast<uintptr_t>(launch_.buffers[i]);
        const bool matches = threadgroup ? i == watched.index
                             : watched.kind == memory_kind::inline_bytes
                                 ? (launch_.inline_bytes >> i & 1) && bound == watched.base
                                 : bound != 0 && watched.holds(bound, 0);
        if (matches) found.argument = int32_t(i);
    }
    if (found.object.empty() && found.argument >= 0) found.object = names[found.argument];
}

std::string checked_launch::describe_object(const finding &found, const smtl_watched &watched) const {
    static constexpr const char *nouns[] = {"buffer", "bytes", "threadgroup memory", "threadgroup variable"};
    std::string text = nouns[size_t(watched.kind)];
    if (watched.freed) text = "freed " + text;
    if (!found.object.empty()) text += " '" + found.object + "'";
    if (found.argument >= 0) text += " (argument " + std::to_string(found.argument) + ")";
    return text + " of " + bytes(watched.length);
}

void checked_launch::report_bounds(finding found) {
    if (error_.empty())
        error_ = "kernel '" + kernel_ + "': out of bounds: " + found.headline + ", at " + found.actor.where.text();
    if (!count_again(found.kind, found.actor.where, {}, kernel_)) report(std::move(found));
}

/* Whether the other checks may look at the access: it stays within live memory. */
bool checked_launch::check_memory(smtl_watched &watched, uintptr_t address, size_t size, uint32_t how, const void *pc) {
    if (watched.holds(address, size) && !watched.freed) return true;
    if (!(checks_ & SMTL_SANITIZE_BOUNDS)) return false;
    report_outside(watched, address, size, how, pc);
    if (!give_scratch_memory(watched, address, size)) facts_.abandon(facts_.core);
    return false;
}

void checked_launch::report_outside(const smtl_watched &watched, uintptr_t address, size_t size, uint32_t how,
                                    const void *pc) {
    finding found;
    found.kind = SMTL_REPORT_BOUNDS;
    found.actor = describe_running(how, size, pc);
    found.offset = watched.offset_of(address);
    name_object(watched, found);
    const std::string where = watched.freed ? "in" : distance_in_words(found.offset, size, watched.length);
    found.headline = access_in_words(how, size) + " " + where + " " + describe_object(found, watched);
    report_bounds(std::move(found));
}

/* Maps memory that belongs to nobody at the access, so that the kernel can go on. False if none can be mapped there,
 * because somebody else has the addresses. */
bool checked_launch::give_scratch_memory(const smtl_watched &watched, uintptr_t address, size_t size) {
    if (watched.kind == memory_kind::threadgroup_variable && image_.contains(address) &&
        image_.contains(address + size - 1))
        return true;
    /* The addresses behind the last variable are free, unless somebody else has taken them. */
    const bool behind_image = watched.kind == memory_kind::threadgroup_variable;
    if (behind_image && watched.range.contains(address) && watched.range.contains(address + size - 1))
        return give_free_pages(address, size);
    if (!watched.in_window || !watched.range.contains(address) || !watched.range.contains(address + size - 1))
        return false;
    const uintptr_t mapped_end = watched.freed ? 0 : watched.mapped + watched.mapped_length;
    for (uintptr_t at = address & ~(page - 1); at < address + size; at += page) {
        if ((at >= watched.mapped && at < mapped_end) || scratch_pages_.contains(at)) continue;
        if (scratch_pages_.size() >= most_scratch_pages || !windows::map(at, page, -1, 0)) return false;
        scratch_pages_.insert(at);
    }
    return true;
}

bool checked_launch::give_free_pages(uintptr_t address, size_t size) {
    for (uintptr_t at = address & ~(page - 1); at < address + size; at += page) {
        if (image_.contains(at) || pages_behind_image_.contains(at)) continue;
        if (pages_behind_image_.size() >= most_scratch_pages || !windows::map_free(at, page)) return false;
        pages_behind_image_.insert(at);
    }
    return true;
}

void checked_launch::check_stack(uintptr_t address, size_t size, uint32_t how, const void *pc) {
    const unsigned char *const bad = first_bad_byte(reinterpret_cast<const void *>(address), size);
    if (bad == nullptr) return;
    const stack_object object = describe_stack_object(bad, reinterpret_cast<const void *>(facts_.stacks));
    finding found;
    found.kind = SMTL_REPORT_BOUNDS;
    found.actor = describe_running(how, size, pc);
    found.object = object.name;
    found.length = object.length;
    found.offset = object.offset - (reinterpret_cast<intptr_t>(bad) - intptr_t(address));
    found.headline = access_in_words(how, size) + " " + distance_in_words(found.offset, size, object.length) +
                     " thread variable '" + object.name + "' of " + bytes(object.length);
    if (object.length == 0) found.headline = access_in_words(how, size) + " outside all variables of the thread";
    report_bounds(std::move(found));
}

/* An access to memory that is not watched: in a constant table, or through a wild pointer. */
void checked_launch::check_elsewhere(uintptr_t address, size_t size, uint32_t how, const void *pc) {
    const bool in_image = image_.contains(address);
    const constant_table *const table = in_image ? image_.constant_before(address, size) : nullptr;
    if ((in_image && table == nullptr) || !(checks_ & SMTL_SANITIZE_BOUNDS)) return;
    report_elsewhere(table, address, size, how, pc);
    if (table == nullptr) facts_.abandon(facts_.core);
}

void checked_launch::report_elsewhere(const constant_table *table, uintptr_t address, size_t size, uint32_t how,
                                      const void *pc) {
    finding found;
    found.kind = SMTL_REPORT_BOUNDS;
    found.actor = describe_running(how, size, pc);
    char number[32];
    std::snprintf(number, sizeof number, "0x%llx", (unsigned long long)address);
    found.headline = access_in_words(how, size) + " at " + number + ", where no buffer is";
    if (table != nullptr) {
        found.object = table->name;
        found.length = table->end - table->begin;
        found.offset = int64_t(address - table->begin);
        found.headline = access_in_words(how, size) + " " + distance_in_words(found.offset, size, found.length) +
                         " constant '" + table->name + "' of " + bytes(found.length);
    }
    report_bounds(std::move(found));
}

}  // namespace smtl::sanitize
