#include "uniformity.h"

#include <algorithm>
#include <array>

namespace smtl::msl {
namespace {

constexpr Index longest_place = 1 << 8;

template <std::size_t N> bool is_one_of(const Token &token, const std::array<std::string_view, N> &list) {
    return std::find(list.begin(), list.end(), token.text) != list.end();
}

bool is_increment(const Token &token) { return token.is("++") || token.is("--"); }

// An operator behind it has two operands.
bool ends_operand(const Token &token) {
    constexpr std::array<std::string_view, 4> words = {"return", "else", "do", "case"};
    return (token.is_identifier() && !is_one_of(token, words)) || token.kind == TokenKind::number || token.is(")") ||
           token.is("]");
}

// What stands before a name that is declared.
bool ends_type(const Token &token) {
    constexpr std::array<std::string_view, 12> words = {"return", "else",  "do",     "case",     "goto",  "new",
                                                        "delete", "throw", "sizeof", "typename", "using", "operator"};
    return (token.is_identifier() && !is_one_of(token, words)) || token.is(">");
}

}  // namespace

Translator::Lockstep::Uniformity::Uniformity(Lockstep &function)
    : function_(function), translator_(function.translator_), tokens_(function.tokens_), body_(function.body_),
      diverging_(function.lane_values_) {
    constexpr std::array<std::string_view, 3> class_keys = {"struct", "class", "union"};
    everything_ = translator_.lanes_.anything_writes;
    for (Index i = body_.begin; i < body_.end; ++i)
        everything_ = everything_ || translator_.lanes_.lambdas.contains(i) || is_one_of(tokens_[i], class_keys);
    member_ = function.declaration_.member;
    for (Index i = function.declaration_.name_begin; i < function.declaration_.name_end; ++i)
        member_ = member_ || tokens_[i].is("::");
    if (everything_) return;
    find_parameters();
    find_declared();
    find_other_names();
}

// A kernel's differ where they tell lanes apart, or hold pointers to what lanes share. Those of other functions may be
// anything.
void Translator::Lockstep::Uniformity::find_parameters() {
    for (const Range &part : translator_.split_commas(*function_.declaration_.parameters)) {
        Index name = part.end;
        bool shared = false;
        for (Index i = part.begin; i < part.end && !tokens_[i].is("="); ++i) {
            if (translator_.opens_attribute(i)) {
                i = translator_.skip_group(i, part.end) - 1;
                continue;
            }
            if (tokens_[i].is("[")) break;
            shared = shared || tokens_[i].is("device") || tokens_[i].is("threadgroup");
            if (tokens_[i].is_identifier()) name = i;
        }
        if (name == part.end) continue;
        declared_.insert(tokens_[name].text);
        if (!function_.declaration_.kernel || (shared && !function_.shared_.contains(tokens_[name].text)))
            diverging_.insert(tokens_[name].text);
    }
}

bool Translator::Lockstep::Uniformity::declares(Index name) const {
    if (name == body_.begin || name + 1 >= body_.end || !tokens_[name].is_identifier()) return false;
    const Token &before = tokens_[name - 1], &behind = tokens_[name + 1];
    constexpr std::array<std::string_view, 7> ends = {"=", ";", ",", "(", "{", "[", ":"};
    return ends_type(before) && is_one_of(behind, ends);
}

void Translator::Lockstep::Uniformity::find_declared() {
    for (Index i = body_.begin; i < body_.end; ++i) {
        const bool listed = tokens_[i].is_identifier() && tokens_[i - 1].is(",") &&
                            (tokens_[i + 1].is("=") || tokens_[i + 1].is(",") || tokens_[i + 1].is(";"));
        if (declares(i) || listed) declared_.insert(tokens_[i].text);
    }
}

// It may be a member of an object, which any function may have changed.
bool Translator::Lockstep::Uniformity::is_unknown(Index name) const {
    constexpr std::array<std::string_view, 4> words = {"true", "false", "const", "constexpr"};
    const Token &token = tokens_[name], &before = tokens_[name - 1], &behind = tokens_[name + 1];
    if (!token.is_identifier() || is_one_of(token, words) || before.is(".") || before.is("->") || before.is("::"))
        return false;
    if (token.is("this") || translator_.lanes_.members.contains(token.text)) return true;
    Index open = 0;
    if (behind.is("::") || behind.is_identifier() || function_.is_call(name, body_.end, open)) return false;
    return !declared_.contains(token.text) && !translator_.lanes_.constants.contains(token.text);
}

void Translator::Lockstep::Uniformity::insert(Range names) {
    for (Index i = names.begin; i < names.end; ++i) {
        if (tokens_[i].is_identifier() && !tokens_[i - 1].is(".") && !tokens_[i - 1].is("->"))
            diverging_.insert(tokens_[i].text);
    }
}

void Translator::Lockstep::Uniformity::insert_argument_names(Index open) {
    insert({open + 1, translator_.skip_group(open, std::min(body_.end, open + longest_value)) - 1});
}

// `T *p = ...` and `T &r(...)` of what a thread has alone.
bool Translator::Lockstep::Uniformity::declares_indirect(Index symbol, Index statement) const {
    const Token &before = tokens_[symbol - 1], &behind = tokens_[symbol + 2];
    const bool indirect = tokens_[symbol].is("&") || tokens_[symbol].is("&&") || tokens_[symbol].is("*");
    const bool typed = ends_type(before) || before.is("*") || before.is("&");
    if (!indirect || !typed || !tokens_[symbol + 1].is_identifier()) return false;
    bool elsewhere = false, plain = true;
    for (Index i = statement; i < symbol; ++i) {
        elsewhere = elsewhere || tokens_[i].is("device") || tokens_[i].is("threadgroup") || tokens_[i].is("constant");
        plain = plain && (tokens_[i].is_identifier() || tokens_[i].is("::"));
    }
    return !elsewhere && (behind.is("=") || (behind.is(":") && tokens_[statement].is("for")) ||
                          ((behind.is("(") || behind.is("{")) && plain));
}

// `(T)` before an operand, not the arguments of a call.
bool Translator::Lockstep::Uniformity::ends_cast(Index close) const {
    constexpr Index longest = 16;
    for (Index i = close; i > body_.begin + 1 && close - i < longest;) {
        --i;
        if (tokens_[i].is("(")) return i + 1 < close && !ends_operand(tokens_[i - 1]);
        if (!tokens_[i].is_identifier() && !tokens_[i].is("::") && !tokens_[i].is("*") && !tokens_[i].is("&"))
            return false;
    }
    return false;
}

// Variables that go by other names as well, under which they may be assigned to: pointers and references to them, and
// what functions store through parameters. Also those that no assignment declares.
void Translator::Lockstep::Uniformity::find_other_names() {
    std::set<std::string_view> arrays;
    for (Index i = body_.begin + 1; i + 1 < body_.end; ++i) {
        if (declares(i) && tokens_[i + 1].is("[") && !function_.shared_.contains(tokens_[i].text))
            arrays.insert(tokens_[i].text);
    }
    Index statement = body_.begin;  // where the current one begins
    for (Index i = body_.begin + 1; i + 1 < body_.end; ++i) {
        const Token &token = tokens_[i], &before = tokens_[i - 1], &behind = tokens_[i + 1];
        if (before.is(";") || before.is("{") || before.is("}")) statement = i;
        if ((token.is("&") || token.is("&&")) && !ends_operand(before)) {  // of a place
            Index name = i + 1;
            while (name + 1 < body_.end && (tokens_[name].is("(") || tokens_[name].is("*"))) ++name;
            diverging_.insert(tokens_[name].text);
        }
        // A pointer or a reference, which is declared; `auto [a, b] =`; `for (T x : values)`.
        if (declares_indirect(i, statement)) {
            diverging_.insert(behind.text);
            const Index end = function_.value_end(i + 3, body_.end);
            everything_ = everything_ || end == i + 3;
            insert({i + 3, end});
        }
        if (token.is("[") && !translator_.opens_attribute(i) &&
            (before.is("auto") || before.is("&") || before.is("&&")))
            insert({i + 1, translator_.skip_group(i, body_.end) - 1});
        if (token.is(":") && before.is_identifier() && ends_type(tokens_[i - 2])) diverging_.insert(before.text);
        if (token.is_identifier() && arrays.contains(token.text) && !behind.is("[")) diverging_.insert(token.text);
        if (before.is("=") && token.is_identifier() && behind.is(".")) {  // `auto p = object.array;`
            const bool deduced = tokens_[statement].is("auto") || tokens_[statement + 1].is("auto");
            if (deduced) diverging_.insert(token.text);
        }
        if (!token.is("(") && !token.is("{")) continue;
        // Calls.
        const std::set<std::string_view, std::less<>> &writing = translator_.lanes_.writing;
        Index name = i - 1;
        if (before.is(">")) {
            for (Index steps = 0; name > body_.begin && !tokens_[name].is("<") && steps < longest_place; ++steps)
                --name;
            if (name > body_.begin) --name;
        }
        const bool object = name > body_.begin + 1 && (tokens_[name - 1].is(".") || tokens_[name - 1].is("->"));
        const bool constructed = token.is("{") || declares(name);
        if (token.is("(") && object) {
            const Index begin = place_begin(name + 1);
            insert({begin, begin + 1});
        }
        const bool variable = token.is("(") && !object && declared_.contains(tokens_[name].text) && !declares(name);
        const bool computed = token.is("(") && (before.is("]") || (before.is(")") && !ends_cast(i - 1)));
        if (variable || computed) {
            insert_argument_names(i);  // whatever is called
        } else if (writing.contains(tokens_[name].text) ||
                   (constructed && name > body_.begin && tokens_[name].is_identifier() &&
                    writing.contains(tokens_[name - 1].text))) {
            insert_argument_names(i);
        } else if (constructed && name > body_.begin && tokens_[name].is_identifier() && tokens_[name - 1].is(">")) {
            insert_argument_names(i);
        }
    }
}

bool Translator::Lockstep::Uniformity::diverges(Range range) const {
    if (range.empty()) return false;
    if (everything_ || function_.mentions(range, diverging_) || function_.mentions_shared(range)) return true;
    for (Index i = range.begin; i < range.end; ++i) {
        const std::string_view name = tokens_[i].text;
        if (!tokens_[i].is_identifier()) continue;
        const bool called = tokens_[i + 1].is("(") || tokens_[i + 1].is("<");
        if ((called && (is_varying_function(name) || translator_.lanes_.varying.contains(name))) ||
            (member_ && is_unknown(i)))
            return true;
    }
    return false;
}

// Of the place that ends there: `a`, `a.b[i].c`. What stands in parentheses may be any of the names there.
Index Translator::Lockstep::Uniformity::place_begin(Index end) {
    Index i = end;
    for (Index steps = 0; i > body_.begin + 1; ++steps) {
        if (steps == longest_place) {
            everything_ = true;
            return i;
        }
        --i;
        if (tokens_[i].is("]") || tokens_[i].is(")")) {
            const bool group = tokens_[i].is(")");
            const Index last = i;
            for (Index open = 1; open > 0 && i > body_.begin + 1; ++steps) {
                if (steps >= longest_place) break;
                --i;
                open += tokens_[i].is("]") || tokens_[i].is(")");
                open -= tokens_[i].is("[") || tokens_[i].is("(");
            }
            if (!group) continue;
            insert({i + 1, last});
            if (!tokens_[i - 1].is_identifier()) return i;
        } else if (tokens_[i].is_identifier() && (tokens_[i - 1].is(".") || tokens_[i - 1].is("->"))) {
            --i;
        } else {
            break;
        }
    }
    return i;
}

void Translator::Lockstep::Uniformity::spread(Range range, bool apart) {
    if (everything_) return;
    bool chooses = false;
    for (Index i = range.begin; i < range.end; ++i)
        chooses = chooses || tokens_[i].is("?") || tokens_[i].is("&&") || tokens_[i].is("||");
    apart = apart || (chooses && diverges(range));
    for (Index i = range.begin; i < range.end; ++i) {
        if (is_increment(tokens_[i])) {
            Index name = i + 1;
            if (i > range.begin && ends_operand(tokens_[i - 1])) {
                name = apart || diverges({i > longest_place + range.begin ? i - longest_place : range.begin, i})
                           ? place_begin(i)
                           : range.end;
            } else {
                while (name < range.end && (tokens_[name].is("(") || tokens_[name].is("*"))) ++name;
                if (!apart && !diverges({name, std::min(range.end, name + longest_place)})) name = range.end;
            }
            if (name < range.end && tokens_[name].is_identifier()) diverging_.insert(tokens_[name].text);
        } else if (function_.is_assignment(tokens_[i])) {
            const Index end = function_.value_end(i + 1, range.end), begin = i > range.begin ? i - 1 : i;
            const bool simple =
                tokens_[begin].is_identifier() && !tokens_[begin - 1].is(".") && !tokens_[begin - 1].is("->");
            const bool differs = apart || end == i + 1 || diverges({i + 1, end});
            if (!differs && simple) continue;
            // A place that differs makes elements differ.
            const std::size_t before = diverging_.size();
            const Index place = place_begin(i);
            if (differs || diverging_.size() > before || diverges({place, i})) insert({place, place + 1});
        } else if (tokens_[i].is_identifier() && i + 1 < range.end &&
                   (tokens_[i + 1].is("(") || tokens_[i + 1].is("{")) && i > body_.begin && ends_type(tokens_[i - 1])) {
            const Index end = translator_.skip_group(i + 1, std::min(range.end, i + longest_value));
            if (apart || end == range.end || diverges({i + 2, end})) diverging_.insert(tokens_[i].text);
        }
    }
}

}  // namespace smtl::msl
