#include "memory.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include "engine/engine.h"
#include "msl/include/smtl/abi.h"

namespace smtl::sanitize {
namespace {

/* Bytes of a shared allocation that a part has left. */
struct left_range {
    std::shared_ptr<cell_store> cells;
    size_t offset, size;
};

struct memory_map {
    std::mutex mutex;
    windows all_windows;
    /* By window. Written with the mutex held, read without. */
    std::vector<std::atomic<smtl_watched *>> by_window{all_windows.count()};
    std::multimap<uintptr_t, smtl_watched *> foreign; /* by their ends; they may overlap */
    std::vector<smtl_watched *> retired;
    std::vector<left_range> left;
    uint64_t last_key = 0;
};

memory_map &map() {
    static memory_map *const only = new memory_map;
    return *only;
}

size_t page_size() {
    static const size_t size = size_t(sysconf(_SC_PAGESIZE));
    return size;
}

size_t whole_pages(size_t bytes) { return (bytes + page_size() - 1) / page_size() * page_size(); }

bool checks_uninit() { return (smtl_sanitizer_checks() & SMTL_SANITIZE_UNINIT) != 0; }

/* Fresh memory that is larger counts as written: filling it with a pattern would take all its pages at once. */
constexpr size_t most_patterned = size_t(1) << 30;

/* The caller holds the mutex. */
void enter_in_window(smtl_watched &watched) {
    std::atomic<smtl_watched *> &slot = map().by_window[map().all_windows.index_of(watched.range.begin)];
    if (smtl_watched *const before = slot.exchange(&watched)) map().retired.push_back(before);
}

/* Keys lie so far apart that no two pieces of memory share a part of the pattern. The caller holds the mutex. */
uint64_t next_key() { return map().last_key += uint64_t(1) << 40; }

bool give_pattern(smtl_watched &watched, uint64_t key, size_t first) {
    auto written = std::make_unique<written_bytes>(key, first);
    if (!written->reserve(watched.length)) return false;
    watched.written = std::move(written);
    return true;
}

unsigned char *bytes_of(const smtl_watched &watched) { return reinterpret_cast<unsigned char *>(watched.base); }

/* Whether no part of the memory has one of these bytes. The caller holds the mutex. */
bool is_free(const smtl_watched &whole, size_t offset, size_t length) {
    return std::none_of(whole.parts.begin(), whole.parts.end(), [&](const smtl_watched *part) {
        return part->cells_offset < offset + length && offset < part->cells_offset + part->length;
    });
}

/* A part ends. What happens from now on to bytes that no other part has is in no race with it. The caller holds the
 * mutex. */
void leave(smtl_watched &part) {
    std::vector<smtl_watched *> &others = part.whole->parts;
    others.erase(std::find(others.begin(), others.end(), &part));
    std::vector<std::pair<size_t, size_t>> left = {{part.cells_offset, part.cells_offset + part.length}};
    for (const smtl_watched *const other : others) {
        const size_t begin = other->cells_offset, end = begin + other->length;
        std::vector<std::pair<size_t, size_t>> rest;
        for (const auto &[from, to] : left) {
            if (from < std::min(begin, to)) rest.emplace_back(from, std::min(begin, to));
            if (std::max(end, from) < to) rest.emplace_back(std::max(end, from), to);
        }
        left = std::move(rest);
    }
    for (const auto &[from, to] : left) map().left.push_back({part.cells, from, to - from});
    part.whole = nullptr;
}

/* Maps the memory in the middle of a window of its own or, if no window is left for it, wherever addresses are free. */
bool map_memory(smtl_watched &watched, int file, size_t file_offset, size_t within_page) {
    watched.mapped_length = whole_pages(within_page + watched.length);
    watched.range = map().all_windows.take(watched.mapped_length);
    if (watched.range) {
        watched.mapped = watched.range.middle();
        watched.in_window = true;
        if (!windows::map(watched.mapped, watched.mapped_length, file, file_offset)) {
            map().all_windows.give_back(watched.range);
            return false;
        }
    } else {
        const int kind = file >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
        void *const memory =
            mmap(nullptr, watched.mapped_length, PROT_READ | PROT_WRITE, kind, file, off_t(file_offset));
        if (memory == MAP_FAILED) return false;
        watched.mapped = reinterpret_cast<uintptr_t>(memory);
    }
    watched.base = watched.mapped + within_page;
    return true;
}

void publish(smtl_watched &watched) {
    if (watched.in_window) {
        enter_in_window(watched);
    } else {
        watched.range = {watched.base, watched.base + watched.length};
        map().foreign.emplace(watched.range.end, &watched);
    }
}

smtl_watched *slot(std::vector<smtl_watched *> &slots, uint32_t index, size_t capacity, memory_kind kind) {
    const std::lock_guard guard(map().mutex);
    slots.resize(std::max<size_t>(slots.size(), index + 1));
    if (slots[index] != nullptr) return slots[index];
    auto made = std::make_unique<smtl_watched>();
    made->kind = kind;
    made->index = index;
    made->length = made->capacity = capacity;
    if (!map_memory(*made, -1, 0, 0) ||
        (kind == memory_kind::threadgroup_argument && !give_pattern(*made, next_key(), 0)))
        return nullptr;
    publish(*made);
    return slots[index] = made.release();
}

}  // namespace

smtl_watched *find_watched(uintptr_t address) {
    const size_t window = map().all_windows.index_of(address);
    if (window < map().all_windows.count()) return map().by_window[window].load(std::memory_order_acquire);
    const std::lock_guard guard(map().mutex);
    for (auto found = map().foreign.upper_bound(address); found != map().foreign.end(); ++found)
        if (found->second->range.contains(address)) return found->second;
    return nullptr;
}

smtl_watched *slot_for_bytes(uint32_t index) {
    static std::vector<smtl_watched *> slots;
    constexpr size_t most_inline_bytes = 64 * 1024;
    return slot(slots, index, most_inline_bytes, memory_kind::inline_bytes);
}

smtl_watched *slot_for_threadgroup_memory(uint32_t index) {
    static std::vector<smtl_watched *> slots;
    return slot(slots, index, SMTL_MAX_THREADGROUP_MEMORY, memory_kind::threadgroup_argument);
}

void forget_freed() {
    const std::lock_guard guard(map().mutex);
    for (const left_range &range : map().left) range.cells->forget(range.offset, range.size);
    map().left.clear();
    for (smtl_watched *const watched : map().retired) delete watched;
    map().retired.clear();
}

void forget_accesses() {
    const std::lock_guard guard(map().mutex);
    for (const std::atomic<smtl_watched *> &slot : map().by_window)
        if (smtl_watched *const watched = slot.load(std::memory_order_relaxed)) watched->cells->release();
    for (const auto &[end, watched] : map().foreign) watched->cells->release();
}

}  // namespace smtl::sanitize

using namespace smtl::sanitize;

smtl_watched *smtl_sanitizer_allocate(size_t length, bool filled, bool shared) {
    auto made = std::make_unique<smtl_watched>();
    made->length = length;
    if (shared) {
        made->file = memfd_create("metal-heap", MFD_CLOEXEC);
        if (made->file < 0) return nullptr;
        if (ftruncate(made->file, off_t(whole_pages(length))) != 0) {
            close(made->file);
            return nullptr;
        }
    }
    const std::lock_guard guard(map().mutex);
    const bool patterned = !filled && checks_uninit() && length <= most_patterned;
    if (!map_memory(*made, made->file, 0, 0) || (patterned && !give_pattern(*made, next_key(), 0))) {
        if (made->file >= 0) close(made->file);
        return nullptr;
    }
    if (patterned) made->written->forget(bytes_of(*made), 0, length);
    publish(*made);
    return made.release();
}

smtl_watched *smtl_sanitizer_allocate_part(smtl_watched *whole, size_t offset, size_t length, bool fresh) {
    auto made = std::make_unique<smtl_watched>();
    made->length = length;
    const std::lock_guard guard(map().mutex);
    const size_t within_page = offset % page_size();
    if (!map_memory(*made, whole->file, offset - within_page, within_page)) return nullptr;
    if (whole->written && !give_pattern(*made, whole->written->key(), offset)) return nullptr;
    /* A buffer that was made aliasable may still be in use. */
    if (fresh && made->written && is_free(*whole, offset, length)) made->written->forget(bytes_of(*made), 0, length);
    made->cells = whole->cells;
    made->cells_offset = offset;
    made->cells_length = whole->length;
    made->whole = whole;
    whole->parts.push_back(made.get());
    publish(*made);
    return made.release();
}

smtl_watched *smtl_sanitizer_watch(void *address, size_t length) {
    auto made = std::make_unique<smtl_watched>();
    made->base = reinterpret_cast<uintptr_t>(address);
    made->length = length;
    const std::lock_guard guard(map().mutex);
    publish(*made);
    return made.release();
}

void smtl_sanitizer_free(smtl_watched *watched) {
    const std::lock_guard guard(map().mutex);
    watched->freed = true;
    if (watched->whole != nullptr)
        leave(*watched);
    else
        watched->cells->release();
    watched->written.reset();
    if (watched->file >= 0) close(watched->file);
    if (watched->in_window) {
        /* It stays in its window until the window is needed again, so that a later access is reported. */
        windows::unmap(watched->mapped, watched->mapped_length);
        map().all_windows.give_back(watched->range);
        return;
    }
    if (watched->mapped != 0) munmap(reinterpret_cast<void *>(watched->mapped), watched->mapped_length);
    const auto [first, last] = map().foreign.equal_range(watched->range.end);
    map().foreign.erase(std::find_if(first, last, [&](const auto &known) { return known.second == watched; }));
    map().retired.push_back(watched);
}

void *smtl_sanitizer_bytes(const smtl_watched *watched) { return bytes_of(*watched); }

void smtl_sanitizer_set_label(smtl_watched *watched, const char *label) {
    const std::lock_guard guard(map().mutex);
    watched->label = label != nullptr ? label : "";
}

void smtl_sanitizer_set_untracked(smtl_watched *watched) { watched->tracked = false; }

void smtl_sanitizer_filled(const void *address, size_t size) {
    const auto at = reinterpret_cast<uintptr_t>(address);
    smtl_watched *const watched = find_watched(at);
    if (watched != nullptr && watched->written && watched->holds(at, size))
        watched->written->mark(at - watched->base, size);
}

void smtl_sanitizer_copied(void *to, const void *from, size_t size) {
    smtl_sanitizer_filled(to, size);
    const auto target_at = reinterpret_cast<uintptr_t>(to), source_at = reinterpret_cast<uintptr_t>(from);
    smtl_watched *const target = find_watched(target_at), *const source = find_watched(source_at);
    if (target == nullptr || source == nullptr || !target->written || !source->written ||
        !target->holds(target_at, size) || !source->holds(source_at, size))
        return;
    constexpr size_t step = 8;
    constexpr uint64_t all = (1u << step) - 1;
    const size_t first = source_at - source->base;
    for (size_t i = 0; i + step <= size; i += step) {
        if (source->written->unmarked(first + i, step) != all) continue;
        bool fresh = true;
        for (size_t byte = 0; byte < step; ++byte)
            fresh = fresh && source->written->is_fresh(bytes_of(*source), first + i + byte);
        if (fresh) target->written->forget(bytes_of(*target), target_at - target->base + i, step);
    }
}
