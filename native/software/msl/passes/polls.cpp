#include "polls.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace smtl::msl {
namespace {

constexpr std::array<std::string_view, 10> atomics = {
    "atomic_load_explicit",      "atomic_exchange_explicit",  "atomic_compare_exchange_weak_explicit",
    "atomic_fetch_add_explicit", "atomic_fetch_sub_explicit", "atomic_fetch_and_explicit",
    "atomic_fetch_or_explicit",  "atomic_fetch_xor_explicit", "atomic_fetch_min_explicit",
    "atomic_fetch_max_explicit",
};

constexpr std::array<std::string_view, 3> without_value = {"atomic_store_explicit", "atomic_min_explicit",
                                                           "atomic_max_explicit"};

// What an atomic function in a loop tells the engine, as its last argument.
constexpr std::string_view polls = ", ::smtl::in_loop()", changes = ", ::smtl::in_statement()";

bool is_atomic(const Token &token) { return token.is_one_of(atomics) || token.is_one_of(without_value); }

bool is_loop(const Token &token) { return token.is("for") || token.is("while") || token.is("do"); }

// Past the statement that begins there, or farther, where an `else` is another statement's.
Index past_statement(const Source &source, Index i, Index end) {
    Index unfinished = 0;  // loops that end with `while (...);`
    while (i < end) {
        if (source[i].is("do")) {
            ++unfinished;
            ++i;
            continue;
        }
        if (is_loop(source[i]) || source[i].is("if") || source[i].is("switch")) {
            i += source[i + 1].is("constexpr") ? 2 : 1;
            if (i < end && source[i].is("(")) i = source.skip_group(i, end);
            continue;
        }
        i = source[i].is("{") ? source.skip_group(i, end) : source.skip_to_semicolon(i, end);
        if (i < end && source[i].is("else")) {
            ++i;
            continue;
        }
        if (unfinished == 0) return i;
        for (; unfinished > 0 && i < end && source[i].is("while"); --unfinished) i = source.skip_to_semicolon(i, end);
        if (unfinished > 0) return end;
    }
    return end;
}

struct Function {
    std::vector<std::pair<Index, std::string_view>> calls;  // of atomic functions outside of loops, and what they tell
    std::vector<std::string_view> called;
};

class Polls {
public:
    Polls(Source &source, const Declarations &declarations) : source_(source) {
        for (const Declaration &declaration : declarations)
            if (declaration.parameters) declared_.insert(own_name(source, declaration));
        for (const Declaration &declaration : declarations)
            if (declaration.kind == DeclarationKind::function && !declaration.erased) read(declaration);
        while (!unread_.empty()) {
            const std::string_view name = unread_.back();
            unread_.pop_back();
            const auto [begin, end] = functions_.equal_range(name);
            for (auto function = begin; function != end; ++function) {
                for (const auto &[call, told] : function->second.calls) edit(call, told);
                for (const std::string_view called : function->second.called) repeat(called);
            }
        }
    }

private:
    void read(const Declaration &declaration) {
        Function function;
        Index loop_end = 0;
        for (Index i = declaration.body.begin; i < declaration.body.end; ++i) {
            if (is_loop(source_[i]) && i >= loop_end) loop_end = past_statement(source_, i, declaration.body.end);
            if (!source_[i].is_identifier() || !(source_[i + 1].is("(") || source_[i + 1].is("<"))) continue;
            const bool repeated = i < loop_end;
            if (const std::string_view told = told_by(i, declaration.body.end); !told.empty()) {
                if (repeated)
                    edit(i, told);
                else
                    function.calls.emplace_back(i, told);
            } else if (declared_.contains(source_[i].text)) {
                if (repeated)
                    repeat(source_[i].text);
                else
                    function.called.push_back(source_[i].text);
            }
        }
        functions_.emplace(own_name(source_, declaration), std::move(function));
    }

    // What an atomic function of Metal's tells the engine; empty for anything else. A function polls if its value is
    // used.
    std::string_view told_by(Index name, Index end) const {
        if (!is_atomic(source_[name]) || declared_.contains(source_[name].text)) return {};
        Index begin = name;
        if (source_[begin - 1].is("::")) begin -= source_[begin - 2].is("metal") ? 2 : 1;
        if (source_[begin - 1].is("::")) --begin;
        const Token &before = source_[begin - 1];
        if (before.is("::") || before.is(".") || before.is("->")) return {};
        const Index open = opening(name, end);
        if (open + 1 >= end || !source_[open].is("(") || source_[open + 1].is(")")) return {};
        if (source_[name].is_one_of(without_value)) return changes;
        const Token &head = before.is(")") ? source_[source_.group_begin(begin - 1) - 1] : before;
        const bool statement =
            before.is(";") || before.is("{") || before.is("}") || before.is("else") || is_loop(head) || head.is("if");
        return statement && source_[source_.skip_group(open, end)].is(";") ? changes : polls;
    }

    Index opening(Index name, Index end) const {
        return source_[name + 1].is("<") ? source_.skip_angles(name + 1, end).value_or(end) : name + 1;
    }

    void edit(Index name, std::string_view told) {
        const Index past = source_.skip_group(opening(name, source_.size() - 1), source_.size() - 1);
        source_[past - 2].appended += told;
    }

    void repeat(std::string_view name) {
        if (repeated_.insert(name).second) unread_.push_back(name);
    }

    Source &source_;
    std::set<std::string_view> declared_;
    std::multimap<std::string_view, Function> functions_;
    std::set<std::string_view> repeated_;  // called in loops
    std::vector<std::string_view> unread_;
};

}  // namespace

void edit_polls(Source &source, const Declarations &declarations) {
    for (Index i = 0; i < source.size(); ++i) {
        if (!source[i].is_one_of(atomics)) continue;
        (void)Polls(source, declarations);
        return;
    }
}

}  // namespace smtl::msl
