// The lanes of a SIMD-group keep pace on a GPU, and code counts on it: one lane stores what the others have just read,
// or lanes read what their neighbours have just stored, with no simdgroup_barrier between. Here a lane runs until it
// waits for others. So a function is searched for stores to shared memory that meet reads by other lanes before the
// lanes meet, and there, and only there, lanes wait: before the store for what is read before, after it for what is
// read later. Code with the barriers that Metal asks for has no such place, but where two names of places of one object
// are never the same place.
#include "simd_sync.h"

#include <algorithm>
#include <cctype>
#include <functional>

namespace smtl::msl {
namespace {

// More is no real function.
constexpr std::size_t deepest = 128;
constexpr std::size_t most_accesses = 128;
constexpr Index longest_place = 1 << 8;

bool is_increment(const Token &token) { return token.is("++") || token.is("--"); }

// What follows is an operand's beginning, not an operator between two.
bool ends_operand(const Token &token) {
    return (token.is_identifier() && !token.is("return") && !token.is("else") && !token.is("do")) ||
           token.kind == TokenKind::number || token.is(")") || token.is("]");
}

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

void Translator::keep_lanes_in_step() {
    find_lane_functions();
    for (const auto &[declaration, body] : lanes_.bodies) Lockstep(*this, declaration, body).edit();
}

Translator::Lockstep::Lockstep(Translator &translator, const Declaration &declaration, Range body)
    : translator_(translator), tokens_(translator.tokens_), declaration_(declaration), body_(body),
      function_(translator.own_name(declaration)) {
    find_shared(*declaration.parameters, true);
    // What a caller has read of its threadgroup memory is not known.
    for (const auto &[name, shared] : shared_) {
        if (!declaration.kernel && shared.threadgroup) segment_.reads.push_back({.name = name, .place = {}});
    }
    find_shared(body, false);
    find_lane_values(declaration);
}

void Translator::Lockstep::edit() {
    join_lanes();
    if (!shared_.empty()) {
        for (Index i = body_.begin + 1; i + 1 < body_.end;) i = statement(i, body_.end - 1);
        insert();
    }
    for (Index i = body_.begin, open = 0; i < body_.end; ++i) {
        if (!is_call(i, body_.end, open) || !meets(i)) continue;
        translator_.meeting_functions_.insert(function_);
        break;
    }
}

// Past the statement that begins there.
Index Translator::Lockstep::statement(Index begin, Index end) {
    if (depth_ > deepest) return end;
    ++depth_;
    Index past = begin + 1;
    const Token &first = tokens_[begin];
    if (first.is("{")) {
        past = translator_.skip_group(begin, end);
        for (Index i = begin + 1; i + 1 < past;) i = statement(i, past - 1);
    } else if (first.is("if") || first.is("for") || first.is("while") || first.is("do") || first.is("switch")) {
        past = std::max(past, control(begin, end));
    } else if (first.is("case") || first.is("default")) {
        while (past < end && !tokens_[past].is(":") && !tokens_[past].is(";") && !tokens_[past].is("}")) ++past;
    } else if (!first.is(";") && !first.is("else") && !first.is(":")) {
        past = std::max(past, translator_.skip_to_semicolon(begin, end));
        const bool complete = tokens_[past - 1].is(";");
        const Range whole{begin, complete ? past - 1 : past};
        expression(whole, complete ? whole : Range{});
    }
    --depth_;
    return past;
}

Index Translator::Lockstep::control(Index begin, Index end) {
    const std::string_view word = tokens_[begin].text;
    Index i = begin + 1;
    if (i < end && tokens_[i].is("constexpr")) ++i;
    Range head{i, i};
    const auto read_head = [&] {
        if (i < end && tokens_[i].is("(")) head = {i + 1, translator_.skip_group(i, end) - 1};
        if (!head.empty()) i = head.end + 1;
    };
    if (word == "do") {
        const Index body = i;
        controls_.push_back(condition({begin, end}, {}));
        i = statement(body, end);
        if (i < end && tokens_[i].is("while")) {
            ++i;
            read_head();
            controls_.back() = condition({begin, end}, head);
        }
        repeat(head, body, end);
        if (i < end && tokens_[i].is(";")) ++i;
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
            if (word == "if" && i < end && tokens_[i].is("else")) i = i + 1 < end ? statement(i + 1, end) : end;
            unite(segment_.reads, other.reads);
            unite(segment_.writes, other.writes);
        }
    }
    controls_.pop_back();
    for (auto store = stores_.lower_bound(begin); store != stores_.end() && store->first < i; ++store) {
        for (Range &control : store->second.controls) {
            if (control.begin == begin) control.end = i;
        }
    }
    return i;
}

// Once more, after what the loop has done before. Loops inside have been repeated for themselves.
void Translator::Lockstep::repeat(Range head, Index body, Index end) {
    expression(head, {});
    if (repeating_ || body >= end) return;
    repeating_ = true;
    (void)statement(body, end);
    repeating_ = false;
}

Translator::Lockstep::Control Translator::Lockstep::condition(Range statement, Range head) const {
    Control control;
    control.statement = statement;
    control.by_data = mentions_shared(head);
    control.diverges = control.by_data || mentions(head, lane_values_);
    for (Index i = head.begin; i < head.end; ++i) {
        if (tokens_[i].is("simd_is_first")) {
            control.diverges = true;
            control.only_lane = tokens_[i].text;
        }
        // `lane == 0`, `0 == lane`, `position.x == 0`, `!lane`
        Index name = head.end;
        if (tokens_[i].is("==") || tokens_[i].is("!")) {
            if (i + 1 < head.end && mentions({i + 1, i + 2}, lane_values_)) name = i + 1;
            for (Index j = i; tokens_[i].is("==") && j > head.begin && i - j < 3; --j) {
                if (mentions({j - 1, j}, lane_values_)) name = j - 1;
            }
        }
        if (name < head.end) control.only_lane = tokens_[name].text;
    }
    if (!control.diverges || !tokens_[statement.begin].is("if")) control.only_lane = {};
    return control;
}

// Calls the accesses in the order in which they happen: what is stored is computed first.
void Translator::Lockstep::expression(Range range, Range whole) {
    std::vector<Pending> pending;
    std::vector<Index> calls;  // the ends of the argument lists around
    const auto come_to = [&](Index i) {
        while (!pending.empty() && pending.back().at <= i) {
            if (pending.back().meets) {
                segment_ = {};
            } else {
                write(pending.back().write);
            }
            pending.pop_back();
        }
        while (!calls.empty() && calls.back() <= i) calls.pop_back();
    };
    for (Index i = range.begin; i < range.end; ++i) {
        come_to(i);
        if (translator_.opens_attribute(i)) {
            i = translator_.skip_group(i, range.end) - 1;
            continue;
        }
        if (Index open = 0; is_call(i, range.end, open) && !shared_.contains(tokens_[i].text)) {
            const Index past = translator_.skip_group(open, std::min(range.end, open + longest_value));
            if (meets(i)) {
                pending.push_back({.at = past, .meets = true, .write = {}});
            } else {
                calls.push_back(past);
            }
            continue;
        }
        Index name = 0;
        if (const Index past = place_at(i, range, name); past > i) {
            const bool address =
                i > range.begin && tokens_[i - 1].is("&") && (i - 1 == range.begin || !ends_operand(tokens_[i - 2]));
            if (!address) access(name, {i, past}, range, whole, pending);
        } else if (tokens_[i].is_identifier() && !calls.empty() && shared_.contains(tokens_[i].text)) {
            read({.name = tokens_[i].text, .place = {}});
        }
    }
    come_to(range.end);
}

// Past `name[...]`, `*name`, `*(name + ...)` or `((type *)name)[...]`, with members and subscripts behind; `i` where
// none begins.
Index Translator::Lockstep::place_at(Index i, Range range, Index &name) const {
    const Token &token = tokens_[i];
    if (i > 0 && (tokens_[i - 1].is(".") || tokens_[i - 1].is("->") || tokens_[i - 1].is("::"))) return i;
    if (token.is_identifier()) {
        const auto found = shared_.find(token.text);
        if (found == shared_.end() || i + 1 >= tokens_.size()) return i;
        const bool reached = tokens_[i + 1].is("[") || tokens_[i + 1].is("->");
        if (declared_.contains(i) || (!reached && !found->second.object)) return i;
        name = i;
        return past_postfix(i + 1, range.end);
    }
    const bool operand = i > range.begin && ends_operand(tokens_[i - 1]);
    if (operand || (!token.is("*") && !token.is("("))) return i;
    Index j = token.is("*") ? i + 1 : i;
    Index past = j;
    while (j < range.end && tokens_[j].is("(")) {
        past = translator_.skip_group(j, std::min(range.end, j + longest_value));
        const bool cast = past < range.end && (tokens_[past].is("(") || tokens_[past].is_identifier());
        if (!cast) break;
        j = past;
    }
    if (j < range.end && tokens_[j].is_identifier()) past = j + 1;
    for (Index k = j; k < std::min(past, j + longest_place); ++k) {
        const auto found = tokens_[k].is_identifier() ? shared_.find(tokens_[k].text) : shared_.end();
        if (found == shared_.end() || found->second.object || declared_.contains(k)) continue;
        const bool reached = token.is("*") || (past < range.end && (tokens_[past].is("[") || tokens_[past].is("->")));
        if (!reached) return i;
        name = k;
        return past_postfix(past, range.end);
    }
    return i;
}

Index Translator::Lockstep::past_postfix(Index i, Index end) const {
    while (i < end) {
        if (tokens_[i].is("[")) {
            i = translator_.skip_group(i, end);
        } else if ((tokens_[i].is(".") || tokens_[i].is("->")) && i + 1 < end && tokens_[i + 1].is_identifier()) {
            i += 2;
        } else {
            break;
        }
    }
    return i;
}

// Where the right side of an assignment ends; `begin` where it is too long to be looked at.
Index Translator::Lockstep::value_end(Index begin, Index end) const {
    std::size_t choices = 0;
    // To find out that what opens is never closed takes a look at all that follows.
    unsigned comparisons = 8;
    const Index limit = std::min(end, begin + longest_value);
    for (Index i = begin; i < limit;) {
        const Token &token = tokens_[i];
        if (token.kind != TokenKind::punctuator) {
            ++i;
            continue;
        }
        if (token.is("?")) ++choices;
        if (token.is(":") && choices-- == 0) return i;
        if (token.is(";") || token.is(",") || token.is(")") || token.is("]") || token.is("}")) return i;
        const Index past = token.is("<") && comparisons == 0 ? i + 1 : translator_.skip_part(i, limit);
        comparisons -= token.is("<") && comparisons > 0 && past == i + 1;
        i = past;
    }
    return limit == end ? end : begin;
}

void Translator::Lockstep::access(Index name, Range place, Range range, Range whole, std::vector<Pending> &pending) {
    // Subscripts in subscripts would be looked through from each of them.
    const Range written = place.end - place.begin <= longest_place ? place : Range{};
    Access access{.name = tokens_[name].text, .place = translator_.spelling(written)};
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
        access.by_lane = mentions(written, {control.only_lane});
    }
    const bool assigned = place.end < range.end && is_assignment(tokens_[place.end]);
    const bool before = is_increment(tokens_[place.begin - 1]),
               behind = place.end < range.end && is_increment(tokens_[place.end]);
    if (!assigned || !tokens_[place.end].is("=")) read(access);
    if (!assigned && !before && !behind) return;
    Store &store = stores_[place.begin];
    store.threadgroup = shared_[access.name].threadgroup;
    store.by_data = by_data;
    store.place = place;
    store.assignment = assigned ? place.end : 0;
    store.value = assigned ? Range{place.end + 1, value_end(place.end + 1, range.end)} : Range{};
    const Index past = assigned ? store.value.end : place.end + behind;
    if (whole.begin == place.begin - before && whole.end == past) store.statement = whole;
    store.controls = std::move(controls);
    access.store = place.begin;
    pending.push_back({.at = past, .meets = false, .write = std::move(access)});
}

void Translator::Lockstep::read(const Access &access) {
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

void Translator::Lockstep::write(const Access &access) {
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

// Different lanes may touch the same place. Lanes that each store what they load again do not count on anything.
bool Translator::Lockstep::conflict(const Access &earlier, const Access &later, bool stored) {
    if (earlier.name != later.name) return false;
    const bool only = earlier.only_lane != 0 || later.only_lane != 0;
    if (only && earlier.only_lane == later.only_lane) return false;
    if (earlier.place.empty() || later.place.empty()) return only;
    if (earlier.place != later.place) return !are_members(earlier.place, later.place);
    if (earlier.by_lane && later.by_lane) return false;
    return !stored || earlier.divergent || later.divergent;
}

void Translator::Lockstep::unite(std::vector<Access> &all, const std::vector<Access> &more) {
    for (const Access &access : more) {
        const auto same = [&](const Access &other) {
            return other.store == access.store && other.only_lane == access.only_lane && other.name == access.name &&
                   other.place == access.place;
        };
        if (all.size() < most_accesses && std::none_of(all.begin(), all.end(), same)) all.push_back(access);
    }
}

void Translator::Lockstep::insert() {
    std::map<Index, std::pair<Index, bool>, std::greater<>>
        controls;  // ends, and whether threadgroup memory is concerned
    for (auto &[begin, store] : stores_) {
        const std::string where = store.threadgroup ? "(" : "_where_blocking(";
        if (store.before) {
            if (store.assignment != 0 && !store.value.empty() && !tokens_[store.value.begin].is("{")) {
                tokens_[store.assignment].appended.insert(0, " ::smtl::in_step" + where);
                tokens_[store.value.end - 1].appended += ")";
            } else if (!store.statement.empty()) {
                tokens_[store.statement.begin - 1].appended += " ::smtl::keep_step" + where + "),";
            }
        }
        // While some lanes wait before a store, the others shall not run ahead of it.
        if (!store.after && (!store.before || store.controls.empty())) continue;
        for (const Range &control : store.controls) {
            auto &[end, threadgroup] = controls[control.begin];
            end = control.end;
            threadgroup = threadgroup || store.threadgroup;
        }
        if (store.at_once && !store.statement.empty() && !barrier_follows(store.statement.end + 1)) {
            tokens_[store.statement.end].replace(", ::smtl::keep_step" + where + ");");
        }
    }
    // One statement may end where another begins; of those that end together the inner one comes first.
    std::erase_if(controls, [&](const auto &control) {
        return control.second.first <= control.first || barrier_follows(control.second.first);
    });
    for (const auto &[begin, control] : controls) {
        tokens_[control.first - 1].appended +=
            control.second ? " ::smtl::keep_step(); }" : " ::smtl::keep_step_where_blocking(); }";
    }
    for (const auto &[begin, control] : controls) tokens_[begin - 1].appended += " {";
}

bool Translator::Lockstep::barrier_follows(Index i) const {
    return tokens_[i].is("threadgroup_barrier") || tokens_[i].is("simdgroup_barrier");
}

}  // namespace smtl::msl
