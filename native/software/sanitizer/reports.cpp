#include "reports.h"

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>

#include <unistd.h>

#include "support/settings.h"

namespace smtl::sanitize {
namespace {

/* More are printed, and not kept: nobody reads so many. */
constexpr size_t most_reports = 4096;

struct kept {
    finding found;
    std::string text;
    uint64_t occurrences = 1;
};

struct report_list {
    std::mutex mutex;
    std::deque<kept> reports;
};

report_list &list() {
    static report_list *const only = new report_list;
    return *only;
}

const char *name_of(smtl_report_kind kind) {
    switch (kind) {
    case SMTL_REPORT_BOUNDS: return "out of bounds";
    case SMTL_REPORT_RACE: return "data race";
    case SMTL_REPORT_UNINITIALIZED: return "uninitialized memory";
    case SMTL_REPORT_BARRIER: return "divergent barrier";
    case SMTL_REPORT_DEADLOCK: return "deadlock";
    }
    return "unknown";
}

std::string describe(const party &who) {
    std::string text = "  at " + who.where.text();
    if (!who.where.function.empty()) text += " in " + who.where.function;
    text += "\n  by " + std::string(who.whole_simdgroup ? "the simdgroup of thread " : "thread ") + who.in_grid.text() +
            " of the grid: thread " + who.in_threadgroup.text() + " of threadgroup " + who.threadgroup.text() + "\n";
    return text;
}

std::string in_words(const finding &found) {
    std::string text = std::string("software Metal: ") + name_of(found.kind) + " in kernel '" + found.actor.kernel +
                       "': " + found.headline + "\n" + describe(found.actor) + found.details;
    if (found.has_other) {
        text +=
            " earlier, " + std::string(found.other.atomic ? "atomic " : "") + (found.other.write ? "write" : "read");
        if (found.other.kernel != found.actor.kernel) text += " in kernel '" + found.other.kernel + "'";
        text += "\n" + describe(found.other);
    }
    return text;
}

/* Called at each report, arranges the exit status once, so that a test program needs no check of its own. Without one
 * the process ends as it would anyway. It stays arranged if reports are cleared. */
void arrange_exit() {
    static const int status = int(smtl_settings_get()->sanitize_exit);
    static const bool arranged = status == 0 || std::atexit([] {
                                                    std::fflush(nullptr);
                                                    _exit(status);
                                                }) == 0;
    (void)arranged;
}

bool same(const location &a, const location &b) { return a.line == b.line && a.file == b.file; }

/* The copy that callers get. The strings of its C members are those of `own`. */
struct copied : smtl_report {
    explicit copied(const kept &from) : smtl_report{}, own(from) {
        kind = own.found.kind;
        text = own.text.c_str();
        summary = own.found.headline.c_str();
        fill(access, own.found.actor);
        has_other = own.found.has_other;
        fill(other, own.found.other);
        object = own.found.object.c_str();
        argument = own.found.argument;
        offset = own.found.offset;
        length = own.found.length;
        occurrences = own.occurrences;
    }

    static void fill(uint32_t (&to)[3], const extent &from) {
        to[0] = from.x;
        to[1] = from.y;
        to[2] = from.z;
    }
    static void fill(smtl_report_access &to, const party &from) {
        to.kernel = from.kernel.c_str();
        to.function = from.where.function.c_str();
        to.file = from.where.file.c_str();
        to.line = from.where.line;
        to.write = from.write;
        to.atomic = from.atomic;
        to.whole_simdgroup = from.whole_simdgroup;
        to.size = from.size;
        fill(to.thread_position_in_grid, from.in_grid);
        fill(to.threadgroup_position_in_grid, from.threadgroup);
        fill(to.thread_position_in_threadgroup, from.in_threadgroup);
    }

    kept own;
};

}  // namespace

std::string extent::text() const {
    return "(" + std::to_string(x) + ", " + std::to_string(y) + ", " + std::to_string(z) + ")";
}

bool count_again(smtl_report_kind kind, const location &where, const location &other, const std::string &kernel) {
    const std::lock_guard guard(list().mutex);
    for (kept &known : list().reports) {
        const finding &found = known.found;
        if (found.kind != kind || found.actor.kernel != kernel) continue;
        const bool either_way = (same(found.actor.where, where) && same(found.other.where, other)) ||
                                (same(found.actor.where, other) && same(found.other.where, where));
        if (!either_way) continue;
        ++known.occurrences;
        return true;
    }
    return false;
}

std::string report(finding found) {
    const bool quiet = smtl_settings_get()->sanitize_quiet;
    const std::string headline = found.headline;
    kept entry{std::move(found), {}};
    entry.text = in_words(entry.found);
    if (!quiet) std::fputs(entry.text.c_str(), stderr);
    arrange_exit();
    const std::lock_guard guard(list().mutex);
    if (list().reports.size() < most_reports) list().reports.push_back(std::move(entry));
    return headline;
}

}  // namespace smtl::sanitize

using namespace smtl::sanitize;

uint32_t smtl_sanitizer_checks(void) { return smtl_settings_get()->sanitize; }

size_t smtl_report_count(void) {
    const std::lock_guard guard(list().mutex);
    return list().reports.size();
}

smtl_report *smtl_report_copy(size_t index) {
    const std::lock_guard guard(list().mutex);
    return index < list().reports.size() ? new copied(list().reports[index]) : nullptr;
}

void smtl_report_free(smtl_report *report) { delete static_cast<copied *>(report); }

void smtl_reports_clear(void) {
    const std::lock_guard guard(list().mutex);
    list().reports.clear();
}
