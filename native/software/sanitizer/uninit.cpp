/* Whether what is read has ever been written. */
#include "checked_launch.h"

#include <algorithm>
#include <bit>

namespace smtl::sanitize {
namespace {

/* A read counts only if so many bytes in a row equal fresh memory, and kernels have read so many of them. Bytes that
 * the CPU writes among unwritten ones equal it by chance: one in 256 times, two in 65,536 times. */
constexpr size_t least_fresh = 4, least_read = 2;
constexpr size_t longest = 64;

/* Vectors of three are read as vectors of four, whose fourth component nobody has written. */
bool is_fourth_component(size_t size, uint64_t unwritten) {
    if (!std::has_single_bit(size) || size < 4 || size > 32) return false;
    const size_t component = size / 4;
    return (unwritten & ((uint64_t(1) << 3 * component) - 1)) == 0;
}

}  // namespace

/* The bytes, at most 64, that nobody has written. */
static uint64_t unwritten_bytes(const smtl_watched &watched, size_t offset, size_t size) {
    written_bytes &written = *watched.written;
    uint64_t unwritten = written.unmarked(offset, size);
    if (unwritten == 0 || is_threadgroup(watched.kind)) return unwritten;
    /* The CPU may have written them, but hardly if they and their neighbours equal fresh memory. */
    const auto *const memory = reinterpret_cast<const unsigned char *>(watched.base);
    const auto is_fresh = [&](size_t at) { return written.unmarked(at, 1) != 0 && written.is_fresh(memory, at); };
    for (size_t i = 0; i < size; ++i)
        if (is_fresh(offset + i))
            written.doubt(offset + i);
        else
            unwritten &= ~(uint64_t(1) << i);
    if (unwritten == 0) return 0;
    const size_t begin = offset - std::min(offset, least_fresh);
    const size_t end = std::min(offset + size + least_fresh, watched.length);
    size_t fresh = 0, read = 0, most_fresh = 0, most_read = 0;
    for (size_t at = begin; at < end; ++at) {
        fresh = is_fresh(at) ? fresh + 1 : 0;
        read = fresh > 0 && written.is_doubtful(at) ? read + 1 : 0;
        /* Of the read, or next to it. */
        if (at >= offset && at - offset <= size) most_read = std::max(most_read, read);
        if (at >= offset && (fresh > 0 || at - offset <= size)) most_fresh = std::max(most_fresh, fresh);
    }
    const bool enough = most_fresh >= std::min(least_fresh, watched.length) && most_read >= least_read;
    return enough ? unwritten : 0;
}

void checked_launch::check_written(smtl_watched &watched, size_t offset, size_t size, uint32_t how, const void *pc) {
    const bool reads = !(how & SMTL_TOUCH_WRITE) || ((how & SMTL_TOUCH_ATOMIC) && !(how & SMTL_TOUCH_STORE));
    size_t unwritten = 0;
    for (size_t done = 0; reads && done < size; done += longest) {
        const size_t part = std::min(longest, size - done);
        const uint64_t bits = unwritten_bytes(watched, offset + done, part);
        if (bits != 0 && !is_fourth_component(size, bits)) unwritten += size_t(std::popcount(bits));
    }
    /* Nobody writes the padding of a structure. So a copy of a whole structure counts only if nobody has written any of
     * its bytes. */
    const size_t enough = how & SMTL_TOUCH_COPY ? size : std::min(size, least_fresh);
    if (unwritten >= enough && unwritten > 0) {
        finding found;
        found.kind = SMTL_REPORT_UNINITIALIZED;
        found.actor = describe_running(how, size, pc);
        found.offset = int64_t(offset);
        name_object(watched, found);
        found.headline = "read of " + std::to_string(size) + " bytes at offset " + std::to_string(offset) +
                         " that nothing has written, in " + describe_object(found, watched);
        if (!count_again(found.kind, found.actor.where, {}, kernel_)) report(std::move(found));
    }
    if ((how & SMTL_TOUCH_WRITE) || unwritten > 0) watched.written->mark(offset, size);
}

void checked_launch::inactive_lane(uint32_t lane, const void *pc) {
    if (!(checks_ & SMTL_SANITIZE_UNINIT)) return;
    finding found;
    found.kind = SMTL_REPORT_UNINITIALIZED;
    found.actor = describe_running(0, 0, pc);
    found.headline =
        "a shuffle takes the value of lane " + std::to_string(lane) + ", which is inactive: Metal leaves it undefined";
    if (!count_again(found.kind, found.actor.where, {}, kernel_)) report(std::move(found));
}

}  // namespace smtl::sanitize
