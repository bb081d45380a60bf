#include "aliases.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

namespace smtl::msl {
namespace {

template <std::size_t N> bool is_one_of(const Token &token, const std::array<std::string_view, N> &list) {
    return std::find(list.begin(), list.end(), token.text) != list.end();
}

}  // namespace

bool ends_type(const Token &token) {
    const bool type = token.is_identifier() && !token.is("typename") && !begins_no_declaration(token);
    return type || token.is(">");
}

FunctionSync::Aliases::Aliases(const FunctionSync &function)
    : function_(function), source_(function.source_), lanes_(function.lanes_), body_(function.body_),
      anything_(function.lanes_.anything_writes) {
    constexpr std::array<std::string_view, 4> words = {"struct", "class", "union", "goto"};
    for (Index i = body_.begin; i < body_.end; ++i)
        anything_ = anything_ || lanes_.lambdas.contains(i) || is_one_of(source_[i], words) ||
                    names_reference(source_, i) || calls_pointer(i);
    if (anything_) return;
    for (const Parameter &parameter : function.parameters_) {
        if (parameter.declarator.name != 0) parameters_.insert(source_[parameter.declarator.name].text);
    }
    find_variables();
    find_aliases();
}

// `(*f)(x)` and `T (&f)(U) = g;`
bool FunctionSync::Aliases::calls_pointer(Index open) const {
    return open + 4 < body_.end && source_[open].is("(") && (source_[open + 1].is("*") || source_[open + 1].is("&")) &&
           source_[open + 2].is_identifier() && source_[open + 3].is(")") && source_[open + 4].is("(");
}

bool FunctionSync::Aliases::declares(Index name) const {
    if (name == body_.begin || name + 1 >= body_.end || !source_[name].is_identifier()) return false;
    const Token &before = source_[name - 1], &behind = source_[name + 1];
    constexpr std::array<std::string_view, 8> ends = {"=", ";", ",", "(", "{", "[", ":", "__attribute__"};
    return ends_type(before) && is_one_of(behind, ends);
}

// Also `T a = 1, b;`: what follows a comma that stands neither between arguments nor in a list of values.
void FunctionSync::Aliases::find_variables() {
    constexpr std::array<std::string_view, 4> heads = {"for", "if", "while", "switch"};
    std::vector<bool> lists;  // for each bracket around
    for (Index i = body_.begin; i < body_.end; ++i) {
        const Token &token = source_[i], &before = source_[i - 1], &behind = source_[i + 1];
        if (token.is("(") || token.is("[")) {
            lists.push_back(!is_one_of(before, heads));
        } else if (token.is("{")) {
            lists.push_back(before.is("=") || before.is("(") || before.is(",") || ends_type(before));
        } else if ((token.is(")") || token.is("]") || token.is("}")) && !lists.empty()) {
            lists.pop_back();
        }
        const bool listed = token.is_identifier() && before.is(",") && !lists.empty() && !lists.back() &&
                            (behind.is("=") || behind.is(",") || behind.is(";"));
        if (declares(i) || listed) variables_.insert(token.text);
    }
}

// The variable that the location which ends there is a part of.
void FunctionSync::Aliases::insert_location(Index end) {
    const std::optional<Index> begin = function_.location_begin(end, changing_);
    anything_ = anything_ || !begin;
    if (begin) insert({*begin, *begin + 1});
}

void FunctionSync::Aliases::insert_argument_names(Index open) {
    insert({open + 1, source_.skip_group(open, std::min(body_.end, open + longest_value)) - 1});
}

void FunctionSync::Aliases::insert_value_names(Index begin) {
    const Index end = function_.value_end(begin, body_.end);
    anything_ = anything_ || end == begin;
    insert({begin, end});
}

// `T *p = ...` and `T &r(...)`. `words`: nothing but names stands before it in the statement.
bool FunctionSync::Aliases::declares_indirect(Index symbol, Index statement, bool words) const {
    const Token &before = source_[symbol - 1], &behind = source_[symbol + 2];
    const bool indirect = source_[symbol].is("&") || source_[symbol].is("&&") || source_[symbol].is("*");
    // `T &p = ..., &q = ...`; `decltype(x) &r = ...`
    const bool typed = ends_type(before) || before.is("*") || before.is("&") || before.is(",") ||
                       (before.is(")") && !source_[symbol].is("*") && behind.is("="));
    if (!indirect || !typed || !source_[symbol + 1].is_identifier()) return false;
    return behind.is("=") || (behind.is(":") && source_[statement].is("for")) ||
           ((behind.is("(") || behind.is("{")) && words);
}

// `T *p` without a value yet; `T (&r)[2] = ...` and `T (*p)[2] = ...`; a cast to `thread T &`. `plain`: nothing but the
// words of a declaration stands before it.
void FunctionSync::Aliases::find_reference(Index symbol, bool plain) {
    const Token &before = source_[symbol - 1], &behind = source_[symbol + 1];
    const bool pointer = source_[symbol].is("*");
    if (!pointer && !source_[symbol].is("&") && !source_[symbol].is("&&")) return;
    if (!pointer && behind.is(">") && ends_operand(before)) anything_ = true;
    if (!behind.is_identifier()) return;
    Index past = symbol + 2;
    if (pointer && plain && (source_[past].is(";") || source_[past].is(","))) pointers_.insert(behind.text);
    if (!before.is("(") || !source_[past].is(")") || (pointer && !ends_type(source_[symbol - 2]))) return;
    for (++past; source_[past].is("[");) past = source_.skip_group(past, body_.end);
    if (!source_[past].is("=")) return;
    changing_.insert(behind.text);
    insert_value_names(past + 1);
}

// `auto [a, b] = ...`, `auto const &[a, b] = ...`: by reference, other names of what they are made of.
void FunctionSync::Aliases::find_structured_binding(Index open) {
    const Token &before = source_[open - 1];
    const bool reference = before.is("&") || before.is("&&");
    if (!reference && !before.is("auto") && !before.is("const")) return;
    const Index past = source_.skip_group(open, body_.end);
    insert({open + 1, past - 1});
    if (reference && past + 1 < body_.end) insert_value_names(past + 1);
}

// `(T)` before an operand, not the arguments of a call.
bool FunctionSync::Aliases::ends_cast(Index close) const {
    constexpr Index longest = 16;
    for (Index i = close; i > body_.begin + 1 && close - i < longest;) {
        --i;
        if (source_[i].is("(")) return i + 1 < close && !ends_operand(source_[i - 1]);
        if (!source_[i].is_identifier() && !source_[i].is("::") && !source_[i].is("*") && !source_[i].is("&"))
            return false;
    }
    return false;
}

// Pointers and references, and what they are made of. Also what is declared and gets its value by no assignment.
void FunctionSync::Aliases::find_aliases() {
    const auto skip_subscripts = [&](Index i, Index &count) {
        for (count = 0; i < body_.end && source_[i].is("["); ++count) i = source_.skip_group(i, body_.end);
        return i;
    };
    std::map<std::string_view, Index, std::less<>> arrays;  // and how many dimensions they have
    for (Index i = body_.begin + 1; i + 1 < body_.end; ++i) {
        if (!declares(i) || !source_[i + 1].is("[") || function_.shared_.contains(source_[i].text)) continue;
        Index dimensions = 0;
        skip_subscripts(i + 1, dimensions);
        Index &most = arrays[source_[i].text];
        most = std::max(most, dimensions);
    }
    // An array becomes a pointer wherever an element of it is not meant.
    const auto becomes_pointer = [&](const auto &all, Index name) {
        const auto found = all.find(source_[name].text);
        Index subscripts = 0;
        if (found == all.end() || found->second == 0) return false;
        skip_subscripts(name + 1, subscripts);
        return subscripts < found->second;
    };
    Index statement = body_.begin;  // where the current one begins
    bool elsewhere = false, plain = true, words = true;
    for (Index i = body_.begin + 1; i + 1 < body_.end; ++i) {
        const Token &token = source_[i], &before = source_[i - 1], &behind = source_[i + 1];
        if (before.is(";") || before.is("{") || before.is("}")) {
            statement = i;
            elsewhere = false;
            plain = words = true;
        }
        elsewhere = elsewhere || token.is("device") || token.is("threadgroup") || token.is("constant");
        if ((token.is("&") || token.is("&&")) && !ends_operand(before)) {  // of a location
            Index name = i + 1;
            while (name + 1 < body_.end && (source_[name].is("(") || source_[name].is("*"))) ++name;
            changing_.insert(source_[name].text);
        }
        // A pointer or a reference, which is declared; `auto [a, b] =`; `for (T x : values)`.
        if (!elsewhere && declares_indirect(i, statement, words)) {
            changing_.insert(behind.text);
            insert_value_names(i + 3);
        }
        if (!elsewhere) find_reference(i, plain);
        words = words && (token.is_identifier() || token.is("::"));
        plain = plain && (token.is_identifier() || token.is("::") || token.is("<") || token.is(">") || token.is("*") ||
                          token.is("&") || token.is(","));
        if (token.is("[") && !source_.opens_attribute(i)) find_structured_binding(i);
        if (token.is("=") && pointers_.contains(before.text) && !source_[i - 2].is("*")) insert_value_names(i + 1);
        if (token.is(":") && before.is_identifier() && ends_type(source_[i - 2])) changing_.insert(before.text);
        if (token.is_identifier() && becomes_pointer(arrays, i)) changing_.insert(token.text);
        if ((before.is(".") || before.is("->")) && becomes_pointer(lanes_.fields, i)) insert_location(i + 1);
        if (token.is("(") || token.is("{")) find_passed_on(i);
    }
}

// The arguments of a call or a constructor that may store through them, and the object of a call.
void FunctionSync::Aliases::find_passed_on(Index open) {
    const bool call = source_[open].is("(");
    const Token &before = source_[open - 1];
    Index name = open - 1;
    if (before.is(">")) {
        for (Index steps = 0; name > body_.begin && !source_[name].is("<") && steps < longest_location; ++steps) --name;
        if (name > body_.begin) --name;
    }
    const bool object = name > body_.begin + 1 && (source_[name - 1].is(".") || source_[name - 1].is("->"));
    if (call && object) insert_location(name + 1);
    const bool variable = call && !object && is_declared(source_[name].text) && !declares(name);
    const bool computed = call && (before.is("]") || (before.is(")") && !ends_cast(open - 1)));
    if (variable || computed) {
        insert_argument_names(open);  // whatever is called
        if (lanes_.calls_write) insert_location(open);
        return;
    }
    const bool constructed = (!call || declares(name)) && name > body_.begin && source_[name].is_identifier();
    const Token &type = source_[name - 1];
    if (lanes_.writing.contains(source_[name].text) ||
        (constructed && (type.is(">") || lanes_.writing.contains(type.text))))
        insert_argument_names(open);
}

}  // namespace smtl::msl
