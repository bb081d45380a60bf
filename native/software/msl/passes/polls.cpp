#include "polls.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <vector>

namespace smtl::msl {
namespace {

constexpr std::array<std::string_view, 10> atomics = {
    "atomic_load_explicit",      "atomic_exchange_explicit",  "atomic_compare_exchange_weak_explicit",
    "atomic_fetch_add_explicit", "atomic_fetch_sub_explicit", "atomic_fetch_and_explicit",
    "atomic_fetch_or_explicit",  "atomic_fetch_xor_explicit", "atomic_fetch_min_explicit",
    "atomic_fetch_max_explicit",
};

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
    std::vector<Index> calls;  // of atomic functions, outside of loops
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
                for (const Index call : function->second.calls) edit(call);
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
            if (is_poll(i, declaration.body.end)) {
                if (repeated)
                    edit(i);
                else
                    function.calls.push_back(i);
            } else if (declared_.contains(source_[i].text)) {
                if (repeated)
                    repeat(source_[i].text);
                else
                    function.called.push_back(source_[i].text);
            }
        }
        functions_.emplace(own_name(source_, declaration), std::move(function));
    }

    // An atomic function of Metal's, unless it is a statement of its own.
    bool is_poll(Index name, Index end) const {
        if (!source_[name].is_one_of(atomics) || declared_.contains(source_[name].text)) return false;
        Index begin = name;
        if (source_[begin - 1].is("::")) begin -= source_[begin - 2].is("metal") ? 2 : 1;
        if (source_[begin - 1].is("::")) --begin;
        const Token &before = source_[begin - 1];
        if (before.is("::") || before.is(".") || before.is("->")) return false;
        const Index open = opening(name, end);
        if (open + 1 >= end || !source_[open].is("(") || source_[open + 1].is(")")) return false;
        const Token &head = before.is(")") ? source_[source_.group_begin(begin - 1) - 1] : before;
        const bool statement =
            before.is(";") || before.is("{") || before.is("}") || before.is("else") || is_loop(head) || head.is("if");
        return !statement || !source_[source_.skip_group(open, end)].is(";");
    }

    Index opening(Index name, Index end) const {
        return source_[name + 1].is("<") ? source_.skip_angles(name + 1, end).value_or(end) : name + 1;
    }

    void edit(Index name) {
        const Index past = source_.skip_group(opening(name, source_.size() - 1), source_.size() - 1);
        source_[past - 2].appended += ", ::smtl::in_loop()";
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
