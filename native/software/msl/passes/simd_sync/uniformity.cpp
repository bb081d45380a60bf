#include "uniformity.h"

#include <algorithm>
#include <array>

namespace smtl::msl {
namespace {

template <std::size_t N> bool is_one_of(const Token &token, const std::array<std::string_view, N> &list) {
    return std::find(list.begin(), list.end(), token.text) != list.end();
}

// What stands before a name that is declared.
bool ends_type(const Token &token) {
    constexpr std::array<std::string_view, 12> words = {"return", "else",  "do",     "case",     "goto",  "new",
                                                        "delete", "throw", "sizeof", "typename", "using", "operator"};
    return (token.is_identifier() && !is_one_of(token, words)) || token.is(">");
}

}  // namespace

FunctionSync::Uniformity::Uniformity(FunctionSync &function)
    : function_(function), source_(function.source_), lanes_(function.lanes_), body_(function.body_),
      diverging_(function.lane_values_) {
    constexpr std::array<std::string_view, 3> class_keys = {"struct", "class", "union"};
    everything_ = lanes_.anything_writes;
    for (Index i = body_.begin; i < body_.end; ++i)
        everything_ =
            everything_ || lanes_.lambdas.contains(i) || is_one_of(source_[i], class_keys) || source_[i].is("goto");
    member_ = function.declaration_.member;
    for (Index i = function.declaration_.name_begin; i < function.declaration_.name_end; ++i)
        member_ = member_ || source_[i].is("::");
    if (everything_) return;
    find_parameters();
    find_declared();
    find_other_names();
}

// A kernel's parameters differ if they tell lanes apart, or hold pointers to what lanes share. Those of other functions
// may be anything.
void FunctionSync::Uniformity::find_parameters() {
    for (const Range &part : source_.split_commas(*function_.declaration_.parameters)) {
        Index name = part.end;
        bool shared = false;
        for (Index i = part.begin; i < part.end && !source_[i].is("="); ++i) {
            if (source_.opens_attribute(i)) {
                i = source_.skip_group(i, part.end) - 1;
                continue;
            }
            if (source_[i].is("[")) break;
            shared = shared || source_[i].is("device") || source_[i].is("threadgroup");
            if (source_[i].is_identifier()) name = i;
        }
        if (name == part.end) continue;
        declared_.insert(source_[name].text);
        if (!function_.declaration_.kernel || (shared && !function_.shared_.contains(source_[name].text)))
            diverging_.insert(source_[name].text);
    }
}

bool FunctionSync::Uniformity::declares(Index name) const {
    if (name == body_.begin || name + 1 >= body_.end || !source_[name].is_identifier()) return false;
    const Token &before = source_[name - 1], &behind = source_[name + 1];
    constexpr std::array<std::string_view, 7> ends = {"=", ";", ",", "(", "{", "[", ":"};
    return ends_type(before) && is_one_of(behind, ends);
}

void FunctionSync::Uniformity::find_declared() {
    for (Index i = body_.begin; i < body_.end; ++i) {
        const bool listed = source_[i].is_identifier() && source_[i - 1].is(",") &&
                            (source_[i + 1].is("=") || source_[i + 1].is(",") || source_[i + 1].is(";"));
        if (declares(i) || listed) declared_.insert(source_[i].text);
    }
}

// It may be a member of an object, which any function may have changed.
bool FunctionSync::Uniformity::is_unknown(Index name) const {
    constexpr std::array<std::string_view, 4> words = {"true", "false", "const", "constexpr"};
    const Token &token = source_[name], &before = source_[name - 1], &behind = source_[name + 1];
    if (!token.is_identifier() || is_one_of(token, words) || before.is(".") || before.is("->") || before.is("::"))
        return false;
    if (token.is("this") || lanes_.members.contains(token.text)) return true;
    Index open = 0;
    if (behind.is("::") || behind.is_identifier() || function_.is_call(name, body_.end, open)) return false;
    return !declared_.contains(token.text) && !lanes_.constants.contains(token.text);
}

void FunctionSync::Uniformity::insert(Range names) {
    for (Index i = names.begin; i < names.end; ++i) {
        if (source_[i].is_identifier() && !source_[i - 1].is(".") && !source_[i - 1].is("->"))
            diverging_.insert(source_[i].text);
    }
}

void FunctionSync::Uniformity::insert_argument_names(Index open) {
    insert({open + 1, source_.skip_group(open, std::min(body_.end, open + longest_value)) - 1});
}

void FunctionSync::Uniformity::insert_value_names(Index begin) {
    const Index end = function_.value_end(begin, body_.end);
    everything_ = everything_ || end == begin;
    insert({begin, end});
}

// `T *p = ...` and `T &r(...)` of what a thread has alone.
bool FunctionSync::Uniformity::declares_indirect(Index symbol, Index statement) const {
    const Token &before = source_[symbol - 1], &behind = source_[symbol + 2];
    const bool indirect = source_[symbol].is("&") || source_[symbol].is("&&") || source_[symbol].is("*");
    // `T &p = ..., &q = ...`; `decltype(x) &r = ...`
    const bool typed = ends_type(before) || before.is("*") || before.is("&") || before.is(",") ||
                       (before.is(")") && !source_[symbol].is("*") && behind.is("="));
    if (!indirect || !typed || !source_[symbol + 1].is_identifier()) return false;
    bool elsewhere = false, plain = true;
    for (Index i = statement; i < symbol; ++i) {
        elsewhere = elsewhere || source_[i].is("device") || source_[i].is("threadgroup") || source_[i].is("constant");
        plain = plain && (source_[i].is_identifier() || source_[i].is("::"));
    }
    return !elsewhere && (behind.is("=") || (behind.is(":") && source_[statement].is("for")) ||
                          ((behind.is("(") || behind.is("{")) && plain));
}

// `T *p` without a value yet; `T (&r)[2] = ...` and `T (*p)[2] = ...`; a cast to `thread T &`. `plain`: nothing but the
// words of a declaration stands before it.
void FunctionSync::Uniformity::find_reference(Index symbol, bool plain) {
    const Token &before = source_[symbol - 1], &behind = source_[symbol + 1];
    const bool pointer = source_[symbol].is("*");
    if (!pointer && !source_[symbol].is("&") && !source_[symbol].is("&&")) return;
    if (!pointer && behind.is(">") && ends_operand(before)) everything_ = true;
    if (!behind.is_identifier()) return;
    Index past = symbol + 2;
    if (pointer && plain && (source_[past].is(";") || source_[past].is(","))) pointers_.insert(behind.text);
    if (!before.is("(") || !source_[past].is(")") || (pointer && !ends_type(source_[symbol - 2]))) return;
    for (++past; source_[past].is("[");) past = source_.skip_group(past, body_.end);
    if (!source_[past].is("=")) return;
    diverging_.insert(behind.text);
    insert_value_names(past + 1);
}

// `auto [a, b] = ...`, `auto const &[a, b] = ...`: by reference, other names of what they are made of.
void FunctionSync::Uniformity::find_structured_binding(Index open) {
    const Token &before = source_[open - 1];
    const bool reference = before.is("&") || before.is("&&");
    if (!reference && !before.is("auto") && !before.is("const")) return;
    const Index past = source_.skip_group(open, body_.end);
    insert({open + 1, past - 1});
    if (reference && past + 1 < body_.end) insert_value_names(past + 1);
}

// `(T)` before an operand, not the arguments of a call.
bool FunctionSync::Uniformity::ends_cast(Index close) const {
    constexpr Index longest = 16;
    for (Index i = close; i > body_.begin + 1 && close - i < longest;) {
        --i;
        if (source_[i].is("(")) return i + 1 < close && !ends_operand(source_[i - 1]);
        if (!source_[i].is_identifier() && !source_[i].is("::") && !source_[i].is("*") && !source_[i].is("&"))
            return false;
    }
    return false;
}

// Variables that go by other names as well, under which they may be assigned to: pointers and references to them, and
// what functions store through parameters. Also those that no assignment declares.
void FunctionSync::Uniformity::find_other_names() {
    std::set<std::string_view> arrays, grids;
    for (Index i = body_.begin + 1; i + 1 < body_.end; ++i) {
        if (!declares(i) || !source_[i + 1].is("[") || function_.shared_.contains(source_[i].text)) continue;
        arrays.insert(source_[i].text);
        if (source_[source_.skip_group(i + 1, body_.end)].is("[")) grids.insert(source_[i].text);
    }
    Index statement = body_.begin;  // where the current one begins
    bool elsewhere = false, plain = true;
    for (Index i = body_.begin + 1; i + 1 < body_.end; ++i) {
        const Token &token = source_[i], &before = source_[i - 1], &behind = source_[i + 1];
        if (before.is(";") || before.is("{") || before.is("}")) {
            statement = i;
            elsewhere = false;
            plain = true;
        }
        elsewhere = elsewhere || token.is("device") || token.is("threadgroup") || token.is("constant");
        if ((token.is("&") || token.is("&&")) && !ends_operand(before)) {  // of a location
            Index name = i + 1;
            while (name + 1 < body_.end && (source_[name].is("(") || source_[name].is("*"))) ++name;
            diverging_.insert(source_[name].text);
        }
        // A pointer or a reference, which is declared; `auto [a, b] =`; `for (T x : values)`.
        if (declares_indirect(i, statement)) {
            diverging_.insert(behind.text);
            insert_value_names(i + 3);
        }
        if (!elsewhere) find_reference(i, plain);
        plain = plain && (token.is_identifier() || token.is("::") || token.is("<") || token.is(">") || token.is("*") ||
                          token.is("&") || token.is(","));
        if (token.is("[") && !source_.opens_attribute(i)) find_structured_binding(i);
        if (token.is("=") && pointers_.contains(before.text) && !source_[i - 2].is("*")) insert_value_names(i + 1);
        if (token.is(":") && before.is_identifier() && ends_type(source_[i - 2])) diverging_.insert(before.text);
        if (token.is_identifier() && arrays.contains(token.text) && !behind.is("[")) diverging_.insert(token.text);
        const bool part = behind.is(".") || (behind.is("[") && grids.contains(token.text));
        if (before.is("=") && token.is_identifier() && part) {  // `auto p = object.array;`
            const bool deduced = source_[statement].is("auto") || source_[statement + 1].is("auto");
            if (deduced) diverging_.insert(token.text);
        }
        if (!token.is("(") && !token.is("{")) continue;
        // Calls.
        const std::set<std::string_view, std::less<>> &writing = lanes_.writing;
        Index name = i - 1;
        if (before.is(">")) {
            for (Index steps = 0; name > body_.begin && !source_[name].is("<") && steps < longest_location; ++steps)
                --name;
            if (name > body_.begin) --name;
        }
        const bool object = name > body_.begin + 1 && (source_[name - 1].is(".") || source_[name - 1].is("->"));
        const bool constructed = token.is("{") || declares(name);
        if (token.is("(") && object) {
            const Index begin = location_begin(name + 1);
            insert({begin, begin + 1});
        }
        const bool variable = token.is("(") && !object && declared_.contains(source_[name].text) && !declares(name);
        const bool computed = token.is("(") && (before.is("]") || (before.is(")") && !ends_cast(i - 1)));
        if (variable || computed) {
            insert_argument_names(i);  // whatever is called
            if (lanes_.calls_write) {
                const Index begin = location_begin(i);
                insert({begin, begin + 1});
            }
        } else if (writing.contains(source_[name].text) ||
                   (constructed && name > body_.begin && source_[name].is_identifier() &&
                    writing.contains(source_[name - 1].text))) {
            insert_argument_names(i);
        } else if (constructed && name > body_.begin && source_[name].is_identifier() && source_[name - 1].is(">")) {
            insert_argument_names(i);
        }
    }
}

bool FunctionSync::Uniformity::diverges(Range range) const {
    if (range.empty()) return false;
    if (everything_ || function_.mentions(range, diverging_) || function_.mentions_shared(range)) return true;
    for (Index i = range.begin; i < range.end; ++i) {
        const std::string_view name = source_[i].text;
        if (!source_[i].is_identifier()) continue;
        const bool called = source_[i + 1].is("(") || source_[i + 1].is("<");
        if ((called && (is_varying_function(name) || lanes_.varying.contains(name))) || (member_ && is_unknown(i)))
            return true;
    }
    return false;
}

// Of the location that ends there: `a`, `a.b[i].c`. What stands in parentheses may be any of the names there.
Index FunctionSync::Uniformity::location_begin(Index end) {
    Index i = end;
    for (Index steps = 0; i > body_.begin + 1; ++steps) {
        if (steps == longest_location) {
            everything_ = true;
            return i;
        }
        --i;
        if (source_[i].is("]") || source_[i].is(")")) {
            const bool group = source_[i].is(")");
            const Index last = i;
            for (Index open = 1; open > 0 && i > body_.begin + 1; ++steps) {
                if (steps >= longest_location) break;
                --i;
                open += source_[i].is("]") || source_[i].is(")");
                open -= source_[i].is("[") || source_[i].is("(");
            }
            if (!group) continue;
            insert({i + 1, last});
            if (!source_[i - 1].is_identifier()) return i;
        } else if (source_[i].is_identifier() && (source_[i - 1].is(".") || source_[i - 1].is("->"))) {
            --i;
        } else {
            break;
        }
    }
    return i;
}

void FunctionSync::Uniformity::spread(Range range, bool apart) {
    if (everything_) return;
    bool chooses = false;
    for (Index i = range.begin; i < range.end; ++i)
        chooses = chooses || source_[i].is("?") || source_[i].is("&&") || source_[i].is("||");
    apart = apart || (chooses && diverges(range));
    std::size_t depth = 0;
    for (Index i = range.begin; i < range.end; ++i) {
        depth += source_[i].is("(") || source_[i].is("[") || source_[i].is("{");
        depth -= depth > 0 && (source_[i].is(")") || source_[i].is("]") || source_[i].is("}"));
        // `T name(value), other{value}, array[2]{...}`
        const bool begins = i > body_.begin && source_[i].is_identifier() && i + 1 < range.end &&
                            (ends_type(source_[i - 1]) || (source_[i - 1].is(",") && depth == 0));
        Index value = i + 1;
        while (begins && value < range.end && source_[value].is("[")) value = source_.skip_group(value, range.end);
        const bool constructed =
            begins && value < range.end && (source_[value].is("{") || (source_[value].is("(") && value == i + 1));
        if (is_increment(source_[i])) {
            Index name = i + 1;
            if (i > range.begin && ends_operand(source_[i - 1])) {
                name = apart || diverges({i > longest_location + range.begin ? i - longest_location : range.begin, i})
                           ? location_begin(i)
                           : range.end;
            } else {
                while (name < range.end && (source_[name].is("(") || source_[name].is("*"))) ++name;
                if (!apart && !diverges({name, std::min(range.end, name + longest_location)})) name = range.end;
            }
            if (name < range.end && source_[name].is_identifier()) diverging_.insert(source_[name].text);
        } else if (function_.is_assignment(source_[i])) {
            const Index end = function_.value_end(i + 1, range.end), begin = i > range.begin ? i - 1 : i;
            const bool simple =
                source_[begin].is_identifier() && !source_[begin - 1].is(".") && !source_[begin - 1].is("->");
            const bool differs = apart || end == i + 1 || diverges({i + 1, end});
            if (!differs && simple) continue;
            // A location that differs makes elements differ.
            const std::size_t before = diverging_.size();
            const Index location = location_begin(i);
            if (differs || diverging_.size() > before || diverges({location, i})) insert({location, location + 1});
        } else if (constructed) {
            const Index end = source_.skip_group(value, std::min(range.end, value + longest_value));
            if (apart || end == range.end || diverges({value + 1, end})) diverging_.insert(source_[i].text);
        }
    }
}

}  // namespace smtl::msl
