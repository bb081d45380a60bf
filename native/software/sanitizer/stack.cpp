#include "stack.h"

#include <cstdlib>
#include <cstring>
#include <set>

#include <sys/mman.h>

#include "msl/include/smtl/abi.h"

namespace smtl::sanitize {
namespace {

constexpr size_t granule = 8; /* bytes of the stack that one byte of state speaks for */
constexpr unsigned char before_all_objects = 0xf1;
constexpr uint64_t frame_magic = 0x41b58ab3;

signed char *state_of(const void *address) {
    return reinterpret_cast<signed char *>(reinterpret_cast<uintptr_t>(address) / granule + SMTL_STACK_SHADOW_OFFSET);
}

/* What clang leaves at the start of a frame: a magic number and a text, "count (offset size length name[:line])...". */
struct frame_header {
    uint64_t magic;
    const char *objects;
};

uint64_t distance(int64_t offset, size_t length) {
    return uint64_t(offset < 0 ? -offset : offset < int64_t(length) ? 0 : offset - int64_t(length) + 1);
}

}  // namespace

bool prepare_stacks(const void *arena, size_t size) {
    static std::set<const void *> prepared;
    if (prepared.contains(arena)) return true;
    signed char *const wanted = state_of(arena);
    /* A kernel too old for MAP_FIXED_NOREPLACE takes the address as a hint. */
    void *const mapped = mmap(wanted, size / granule, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (mapped != wanted) {
        if (mapped != MAP_FAILED) munmap(mapped, size / granule);
        return false;
    }
    prepared.insert(arena);
    return true;
}

void clean_stack(const void *bottom, size_t size) { std::memset(state_of(bottom), 0, size / granule); }

const unsigned char *first_bad_byte(const void *address, size_t size) {
    const auto *const first = static_cast<const unsigned char *>(address);
    for (size_t i = 0; i < size;) {
        const unsigned char *const at = first + i;
        const signed char state = *state_of(at);
        const size_t within = reinterpret_cast<uintptr_t>(at) % granule;
        /* 0: all eight bytes can be used; 1 to 7: the first so many; negative: none. */
        if (state != 0 && int(within) >= state) return at;
        i += (state == 0 ? granule : size_t(state)) - within;
    }
    return nullptr;
}

stack_object describe_stack_object(const unsigned char *address, const void *bottom) {
    stack_object nearest{"", 0, 0};
    const auto *at = reinterpret_cast<const unsigned char *>(reinterpret_cast<uintptr_t>(address) & ~(granule - 1));
    while (at > bottom && (unsigned char)*state_of(at) != before_all_objects) at -= granule;
    while (at > bottom && (unsigned char)*state_of(at - granule) == before_all_objects) at -= granule;
    frame_header header;
    std::memcpy(&header, at, sizeof header);
    if ((unsigned char)*state_of(at) != before_all_objects || header.magic != frame_magic) return nearest;
    char *text = const_cast<char *>(header.objects);
    uint64_t best = UINT64_MAX;
    for (unsigned long left = std::strtoul(text, &text, 10); left > 0; --left) {
        const size_t start = std::strtoul(text, &text, 10), length = std::strtoul(text, &text, 10);
        const size_t name_length = std::strtoul(text, &text, 10);
        const std::string name(text + 1, name_length);
        text += 1 + name_length;
        const int64_t offset = address - (at + start);
        if (distance(offset, length) < best) {
            best = distance(offset, length);
            nearest = {name.substr(0, name.find(':')), length, offset};
        }
    }
    return nearest;
}

}  // namespace smtl::sanitize
