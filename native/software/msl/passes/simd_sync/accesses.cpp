// A GPU runs the lanes of a SIMD-group together, and code counts on it: one lane stores what the others have just read,
// or lanes read what their neighbours have just stored, with no simdgroup_barrier between. Here a lane runs until it
// waits for others. So the pass searches a function for stores to shared memory that meet accesses by other lanes
// before the lanes meet. Only there do lanes wait: before the store for earlier reads, after it for later ones. Code
// with the barriers that Metal asks for has no such store, unless two names of locations in one object are never the
// same location.
#include "function_sync.h"

#include <algorithm>
#include <cctype>

namespace smtl::msl {
namespace {

// No real function has more.
constexpr std::size_t deepest = 128;
constexpr std::size_t most_accesses = 128;

// `x.d` and `x.values[0]`: whatever object it is, these are different members of it.
bool are_members(std::string_view one, std::string_view other) {
    const auto in_name = [](std::string_view text, std::size_t i) {
        return i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) || text[i] == '_');
    };
    std::size_t i = 0;
    while (i < one.size() && i < other.size() && one[i] == other[i]) ++i;
    if (!in_name(one, i) && !in_name(other, i)) return false;
    while (i > 0 && in_name(one, i - 1)) --i;
    return i > 0 && (one[i - 1] == '.' || one[i - 1] == '>');
}

}  // namespace

FunctionSync::FunctionSync(Source &source, const Declaration &declaration, const LaneFunctions &lanes,
                           const ThreadgroupVariables &variables, LaneFunctions::Names &meeting)
    : source_(source), declaration_(declaration), body_(declaration.body), lanes_(lanes), variables_(variables),
      meeting_(meeting), function_(own_name(source, declaration)) {
    find_shared(*declaration.parameters, true);
    // What a caller has read of its threadgroup memory is not known.
    for (const auto &[name, shared] : shared_)
        if (!declaration.kernel && shared.threadgroup) segment_.reads.push_back({.name = name, .location = {}});
    find_shared(body_, false);
    find_deduced();
    find_lane_values();
}

void FunctionSync::edit() {
    if (!shared_.empty()) {
        for (Index i = body_.begin + 1; i + 1 < body_.end;) i = statement(i, body_.end - 1);
        insert();
    }
    join_lanes();
    write_brackets();
    for (Index i = body_.begin, open = 0; i < body_.end; ++i) {
        if (!is_call(i, body_.end, open) || !meets(i)) continue;
        meeting_.insert(function_);
        break;
    }
}

// Past the statement that begins there.
Index FunctionSync::statement(Index begin, Index end) {
    begin = past_attributes(begin, end);
    for (Index past; (past = past_label(begin, end)) > begin;) begin = past_attributes(past, end);
    if (depth_ > deepest || begin >= end) return end;
    ++depth_;
    Index past = begin + 1;
    const Token &first = source_[begin];
    if (first.is("{")) {
        past = source_.skip_group(begin, end);
        for (Index i = begin + 1; i + 1 < past;) i = statement(i, past - 1);
    } else if (first.is("if") || first.is("for") || first.is("while") || first.is("do") || first.is("switch")) {
        past = std::max(past, control(begin, end));
    } else if (!first.is(";") && !first.is("else")) {
        past = std::max(past, source_.skip_to_semicolon(begin, end));
        const bool complete = source_[past - 1].is(";");
        const Range whole{begin, complete ? past - 1 : past};
        expression(whole, complete ? whole : Range{});
    }
    --depth_;
    return past;
}

Index FunctionSync::control(Index begin, Index end) {
    const std::string_view word = source_[begin].text;
    Index i = begin + 1;
    if (i < end && source_[i].is("constexpr")) ++i;
    Range head{i, i};
    const auto read_head = [&] {
        if (i < end && source_[i].is("(")) head = {i + 1, source_.skip_group(i, end) - 1};
        if (!head.empty()) i = head.end + 1;
    };
    if (word == "do") {
        const Index body = i;
        controls_.push_back(condition({begin, end}, {}));
        i = statement(body, end);
        if (i < end && source_[i].is("while")) {
            ++i;
            read_head();
            controls_.back() = condition({begin, end}, head);
        }
        repeat(head, body, end);
        if (i < end && source_[i].is(";")) ++i;
    } else {
        read_head();
        expression(head, {});
        controls_.push_back(condition({begin, end}, head));
        const Segment before = segment_;
        const Index body = i;
        i = i < end ? statement(i, end) : end;
        if (word == "for" || word == "while") {
            repeat(head, body, end);
        } else {
            Segment other = before;
            std::swap(segment_, other);
            if (word == "if" && i < end && source_[i].is("else")) {
                controls_.back().only_lane = {};
                i = i + 1 < end ? statement(i + 1, end) : end;
            }
            unite(segment_.reads, other.reads);
            unite(segment_.writes, other.writes);
        }
    }
    controls_.pop_back();
    for (auto store = stores_.lower_bound(begin); store != stores_.end() && store->first < i; ++store) {
        for (Range &control : store->second.controls)
            if (control.begin == begin) control.end = i;
    }
    return i;
}

// The loop's body once more, after its first iteration. Loops inside it have been repeated already.
void FunctionSync::repeat(Range head, Index body, Index end) {
    expression(head, {});
    if (repeating_ || body >= end) return;
    repeating_ = true;
    (void)statement(body, end);
    repeating_ = false;
}

FunctionSync::Control FunctionSync::condition(Range statement, Range head) const {
    Control control;
    control.statement = statement;
    control.by_data = mentions_shared(head);
    control.diverges = control.by_data || mentions(head, lane_values_);
    for (Index i = head.begin; i < head.end; ++i) {
        if (source_[i].is("simd_is_first")) {
            control.diverges = true;
            control.only_lane = source_[i].text;
        }
        // `lane == 0`, `0 == lane`, `position.x == 0`, `!lane`
        Index name = head.end;
        if (source_[i].is("==") || source_[i].is("!")) {
            if (i + 1 < head.end && mentions({i + 1, i + 2}, lane_values_)) name = i + 1;
            for (Index j = i; source_[i].is("==") && j > head.begin && i - j < 3; --j)
                if (mentions({j - 1, j}, lane_values_)) name = j - 1;
        }
        if (name < head.end) control.only_lane = source_[name].text;
    }
    if (!control.diverges || !source_[statement.begin].is("if")) control.only_lane = {};
    control.is_alone = !control.only_lane.empty() && lets_one_lane_through(head);
    return control;
}

// `lane == 0`, `0 == lane`, `!lane`, `simd_is_first()`, alone or with other conditions behind and before `&&`.
bool FunctionSync::lets_one_lane_through(Range head) const {
    const auto is_index = [&](Index i) { return lane_indices_.contains(source_[i].text); };
    const auto is_number = [&](Index i) { return source_[i].kind == TokenKind::number; };
    for (std::vector<Range> conditions{head}; !conditions.empty();) {
        const Range condition = conditions.back();
        conditions.pop_back();
        bool joined = true;  // by nothing but `&&`
        for (Index i = condition.begin; i < condition.end; i = source_.skip_part(i, condition.end)) {
            joined = joined && !source_[i].is("||") && !source_[i].is("?") && !source_[i].is(",") &&
                     !is_assignment(source_[i]);
        }
        for (Index begin = condition.begin, end = begin; joined && begin < condition.end; begin = end + 1) {
            end = begin;
            while (end < condition.end && !source_[end].is("&&")) end = source_.skip_part(end, condition.end);
            const Index length = end - begin;
            if (length == 3 && source_[begin + 1].is("==") &&
                ((is_index(begin) && is_number(begin + 2)) || (is_number(begin) && is_index(begin + 2))))
                return true;
            if (length == 3 && source_[begin].is("simd_is_first")) return true;
            if (length == 2 && source_[begin].is("!") && is_index(begin + 1)) return true;
            if (length > 2 && source_[begin].is("(") && source_.skip_group(begin, end) == end)
                conditions.push_back({begin + 1, end - 1});
        }
    }
    return false;
}

// Calls the accesses in the order in which they happen: what is stored is computed first.
void FunctionSync::expression(Range range, Range whole) {
    std::vector<Pending> pending;
    std::vector<Index> calls;  // the ends of the argument lists around
    const auto come_to = [&](Index i) {
        while (!pending.empty() && pending.back().at <= i) {
            if (pending.back().meets)
                segment_ = {};
            else
                write(pending.back().write);
            pending.pop_back();
        }
        while (!calls.empty() && calls.back() <= i) calls.pop_back();
    };
    for (Index i = range.begin; i < range.end; ++i) {
        come_to(i);
        if (source_.opens_attribute(i)) {
            i = source_.skip_group(i, range.end) - 1;
            continue;
        }
        if (Index open = 0; is_call(i, range.end, open) && !shared_.contains(source_[i].text)) {
            const Index past = source_.skip_group(open, std::min(range.end, open + longest_value));
            if (meets(i))
                pending.push_back({.at = past, .meets = true, .write = {}});
            else
                calls.push_back(past);
            continue;
        }
        Index name = 0;
        if (const Index past = location_at(i, range, name); past > i) {
            const bool address =
                i > range.begin && source_[i - 1].is("&") && (i - 1 == range.begin || !ends_operand(source_[i - 2]));
            if (!address) access(name, {i, past}, range, whole, pending);
        } else if (source_[i].is_identifier() && !calls.empty() && shared_.contains(source_[i].text)) {
            read({.name = source_[i].text, .location = {}});
        }
    }
    come_to(range.end);
}

void FunctionSync::access(Index name, Range location, Range range, Range whole, std::vector<Pending> &pending) {
    // Subscripts in subscripts would be looked through from each of them.
    const Range written = location.end - location.begin <= longest_location ? location : Range{};
    Access access{.name = source_[name].text, .location = source_.spelling(written)};
    access.by_lane = mentions(written, lane_values_);
    bool by_data = false;
    std::vector<Range> controls;
    for (const Control &control : controls_) {
        if (!control.diverges) continue;
        access.divergent = true;
        by_data = by_data || control.by_data;
        controls.push_back({control.statement.begin, 0});
        if (control.only_lane.empty()) continue;
        access.only_lane = control.statement.begin;
        access.is_alone = control.is_alone;
        if (control.is_alone) access.by_lane = mentions(written, {control.only_lane});
    }
    const bool assigned = location.end < range.end && is_assignment(source_[location.end]);
    const bool before = is_increment(source_[location.begin - 1]),
               behind = location.end < range.end && is_increment(source_[location.end]);
    if (!assigned || !source_[location.end].is("=")) read(access);
    if (!assigned && !before && !behind) return;
    Store &store = stores_[location.begin];
    store.threadgroup = shared_[access.name].threadgroup;
    store.by_data = by_data;
    store.location = location;
    store.assignment = assigned ? location.end : 0;
    store.value = assigned ? Range{location.end + 1, value_end(location.end + 1, range.end)} : Range{};
    const Index past = assigned ? store.value.end : location.end + behind;
    if (whole.begin == location.begin - before && whole.end == past) store.statement = whole;
    store.controls = std::move(controls);
    access.store = location.begin;
    pending.push_back({.at = past, .meets = false, .write = std::move(access)});
}

void FunctionSync::read(const Access &access) {
    for (const Access &earlier : segment_.writes) {
        if (!conflict(earlier, access, true)) continue;
        Store &store = stores_[earlier.store];
        store.after = true;
        const auto around = [&](const Control &control) {
            return control.diverges && !store.controls.empty() &&
                   control.statement.begin == store.controls.back().begin;
        };
        store.at_once =
            store.at_once || store.controls.empty() || std::any_of(controls_.begin(), controls_.end(), around);
    }
    unite(segment_.reads, {access});
}

void FunctionSync::write(const Access &access) {
    Store &store = stores_[access.store];
    for (const Access &earlier : segment_.reads)
        store.before = store.before || (!store.by_data && conflict(earlier, access, false));
    // One lane corrects what all have stored.
    for (const Access &earlier : segment_.writes) {
        store.before = store.before ||
                       (!store.by_data && access.divergent && !earlier.divergent && conflict(earlier, access, true));
    }
    unite(segment_.writes, {access});
}

// Different lanes may touch the same location. Lanes that each store what they load again do not count on anything.
bool FunctionSync::conflict(const Access &earlier, const Access &later, bool stored) {
    if (earlier.name != later.name) return false;
    const bool only = earlier.only_lane != 0 || later.only_lane != 0;
    if (earlier.is_alone && later.is_alone && earlier.only_lane == later.only_lane) return false;
    if (earlier.location.empty() || later.location.empty()) return only;
    if (earlier.location != later.location) return !are_members(earlier.location, later.location);
    if (earlier.by_lane && later.by_lane) return false;
    return !stored || earlier.divergent || later.divergent;
}

void FunctionSync::unite(std::vector<Access> &all, const std::vector<Access> &more) {
    for (const Access &access : more) {
        const auto same = [&](const Access &other) {
            return other.store == access.store && other.only_lane == access.only_lane && other.name == access.name &&
                   other.location == access.location;
        };
        if (all.size() < most_accesses && std::none_of(all.begin(), all.end(), same)) all.push_back(access);
    }
}

void FunctionSync::insert() {
    std::map<Index, std::pair<Index, bool>> controls;  // ends, and whether threadgroup memory is concerned
    for (auto &[begin, store] : stores_) {
        const std::string where = store.threadgroup ? "(" : "_where_blocking(";
        if (store.before) {
            if (store.assignment != 0 && !store.value.empty() && !source_[store.value.begin].is("{"))
                write_around(store.value, " ::smtl::synced" + where, ")");
            else if (!store.statement.empty())
                write_around(store.statement, " ::smtl::simd_sync" + where + "),", "");
        }
        // While some lanes wait before a store, the others must not run ahead of it.
        if (!store.after && (!store.before || store.controls.empty())) continue;
        for (const Range &control : store.controls) {
            auto &[end, threadgroup] = controls[control.begin];
            end = control.end;
            threadgroup = threadgroup || store.threadgroup;
        }
        if (store.at_once && !store.statement.empty() && !barrier_follows(store.statement.end + 1))
            source_[store.statement.end].replace(", ::smtl::simd_sync" + where + ");");
    }
    for (const auto &[begin, control] : controls) {
        if (control.first <= begin || barrier_follows(control.first)) continue;
        write_around({begin, control.first}, " {",
                     control.second ? " ::smtl::simd_sync(); }" : " ::smtl::simd_sync_where_blocking(); }");
    }
}

bool FunctionSync::barrier_follows(Index i) const {
    return source_[i].is("threadgroup_barrier") || source_[i].is("simdgroup_barrier");
}

}  // namespace smtl::msl
