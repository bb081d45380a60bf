#include "elements.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "msl/source/attributes.h"
#include "msl/source/declarators.h"

namespace smtl::msl {
namespace {

using Names = std::set<std::string_view>;

// No real expression is longer, and no real declaration.
constexpr std::size_t longest = 1 << 8;

// The names of variables, members and functions whose type is an array or may stand for one.
class ArrayNames {
public:
    explicit ArrayNames(const Source &source) : source_(source) {
        arrays_.insert("array");
        guesses_.insert("auto");
        for (Index i = 1; i + 2 < source.size(); ++i) {
            if (!source[i].is_identifier()) continue;
            if (source[i].is("template") && source[i + 1].is("<")) read_template(i + 1);
            if (source[i].is("using") && source[i + 2].is("=")) read_alias(i);
            const bool array = arrays_.contains(source[i].text);
            if (array || guesses_.contains(source[i].text)) read_declarators(i, array);
        }
    }
    bool contains(std::string_view name) const { return names_.contains(name); }

private:
    void read_template(Index open) {
        const Index past = source_.skip_angles(open, source_.size() - 1).value_or(open);
        for (Index i = open; i + 1 < past && i - open < longest; ++i)
            if (source_[i].is("typename") || source_[i].is("class")) guesses_.insert(source_[i + 1].text);
    }

    void read_alias(Index word) {
        const Index past = source_.skip_to_semicolon(word, source_.size() - 1);
        for (Index i = word + 3; i < past && i - word < longest; ++i)
            if (arrays_.contains(source_[i].text)) arrays_.insert(source_[word + 1].text);
    }

    // What stands between a type and the name that it declares.
    bool is_prefix(Index i) const {
        const Token &token = source_[i];
        return token.is("*") || token.is("&") || token.is("&&") || token.is("(") || token.is("const") ||
               token.is("volatile") || token.is("constexpr") || space_named(source_, i) != AddressSpace::none;
    }

    void read_declarators(Index type, bool array) {
        const Index end = source_.size() - 1;
        bool reference = false;
        Index i = type + 1;
        if (source_[i].is("<")) i = source_.skip_angles(i, end).value_or(end);
        for (; i < end && is_prefix(i); ++i) reference = reference || source_[i].is("&") || source_[i].is("&&");
        // Templates have many pointers to their parameters, few of which are arrays. What is neither a pointer
        // nor a reference lies in the thread's own memory.
        if (i >= end || !source_[i].is_identifier() || !(array || reference || source_[type].is("auto"))) return;
        const bool alias = type > 0 && is_typedef(type);
        for (std::size_t steps = 0; i < end && steps < longest; ++steps) {
            (alias ? arrays_ : names_).insert(source_[i].text);
            for (++i; i < end && steps < longest && !source_[i].is(",") && !source_[i].is(";") && !source_[i].is(")");
                 ++steps)
                i = source_.skip_part(i, end);
            if (i >= end || !source_[i].is(",")) return;
            for (++i; i < end && is_prefix(i);) ++i;
            // The type of a parameter.
            if (i >= end || !source_[i].is_identifier() || source_[i + 1].is_identifier() || source_[i + 1].is("::"))
                return;
        }
    }

    bool is_typedef(Index type) const {
        for (Index i = type; i > 0 && type - i < longest; --i) {
            if (source_[i].is("typedef")) return true;
            if (source_[i].is(";") || source_[i].is("{") || source_[i].is("}") || source_[i].is("(")) return false;
        }
        return false;
    }

    const Source &source_;
    Names arrays_;  // types
    Names guesses_;  // types that may be arrays
    Names names_;
};

class Elements {
public:
    Elements(Source &source, const Declarations &declarations) : source_(source), names_(source) {
        for (const Declaration &declaration : declarations)
            if (declaration.parameters) functions_.insert(own_name(source, declaration));
    }

    void edit() {
        std::vector<Index> open;
        for (Index i = 2; i + 1 < source_.size(); ++i) {
            const Token &token = source_[i];
            if (token.is(";") || token.is("{") || token.is("}")) statement_ = i + 1;
            if (token.is("(") || token.is("[") || token.is("{")) {
                if (token.is("[") && !source_.opens_attribute(i)) qualify(i - 1, i, open);
                open.push_back(i);
            } else if (token.is(")") || token.is("]") || token.is("}")) {
                if (!open.empty()) open.pop_back();
            } else if (gives_elements(i)) {
                qualify(i - 1, i, open);
            } else if (token.is(":") && !open.empty() && is_loop(open.back())) {
                const Index past = source_.skip_group(open.back(), source_.size() - 1);
                if (chain_begin(past - 2) == i + 1) qualify(past - 2, past - 1, open);
            }
        }
    }

private:
    // A member of an array is called behind the dot.
    bool gives_elements(Index dot) const {
        constexpr std::array<std::string_view, 5> members = {"data", "begin", "end", "front", "back"};
        return (source_[dot].is(".") || source_[dot].is("->")) && source_[dot + 1].is_one_of(members) &&
               source_[dot + 2].is("(");
    }

    bool is_loop(Index open) const { return open > 0 && source_[open].is("(") && source_[open - 1].is("for"); }

    // Where the names, members, subscripts, calls and parentheses start that end with the token; nothing if that
    // cannot be told.
    std::optional<Index> chain_begin(Index last) const {
        for (Index i = last; i > 1 && last - i < longest;) {
            while (source_[i].is(")") || source_[i].is("]")) {
                const Index open = source_.group_begin(i);
                if (open == i || open < 3 || last - open > longest) return std::nullopt;
                if (source_[i].is(")")) {
                    // Behind another parenthesis it may be what a cast converts.
                    if (source_[open - 1].is(")") || source_[open - 1].is(">")) return std::nullopt;
                    if (!ends_operand(source_[open - 1])) return open;
                }
                i = open - 1;
            }
            if (!source_[i].is_identifier()) return std::nullopt;
            if (!source_[i - 1].is(".") && !source_[i - 1].is("->") && !source_[i - 1].is("::")) return i;
            i -= 2;
        }
        return std::nullopt;
    }

    bool may_be_array(Index last) const {
        Index open = last;
        for (std::size_t steps = 0; steps < longest; ++steps) {
            open = source_.group_begin(last);
            if (open == last || open < 4) break;
            const bool element = source_[last].is("]"), member = source_[last].is(")") && gives_elements(open - 2);
            if (!element && !member) break;
            last = open - (element ? 1 : 3);
        }
        if (!source_[last].is(")")) return names_.contains(source_[last].text);
        if (open == last || open < 4 || last - open > longest) return false;
        if (ends_operand(source_[open - 1])) return names_.contains(source_[open - 1].text);
        for (Index i = open + 1; i < last; ++i)
            if (names_.contains(source_[i].text)) return true;
        return false;
    }

    // Whether an expression begins there from which a reference or a pointer may be made, and not a declarator. Indices
    // are values.
    bool may_be_lvalue(Index begin, const std::vector<Index> &open) const {
        constexpr std::array<std::string_view, 23> before_expressions = {
            "=", "?",  ":",  "{",  "return", "+",  "-",  "/", "%",  "^",  "|",   "!",
            "~", "||", "&&", "==", "!=",     "<=", ">=", "<", "<<", ">>", "case"};
        const Token &before = source_[begin - 1];
        if (!open.empty() && source_[open.back()].is("[")) return false;
        if (before.is("(")) return !is_around_declarator(begin - 1, open);
        if (before.is(",")) return !open.empty() && !is_loop(open.back()) && is_list(open.back());
        if (before.is(">")) return source_.group_begin(begin - 1) == begin - 1;
        if (before.is("&") && !ends_operand(source_[begin - 2])) return true;
        if (before.is("&") || before.is("*")) return begin > 3 && is_value(begin - 2);
        return before.is_one_of(before_expressions);
    }

    // `threadgroup S (tile[4])`, `float (a), (tile[4])`: whether the parenthesis stands around a declarator. What
    // converts to numbers gives values, and needs no space either.
    bool is_around_declarator(Index parenthesis, const std::vector<Index> &open) const {
        const Index last = parenthesis - 1;
        if (source_[last].is(",")) return open.size() > 1 && !is_list(open[open.size() - 2]);
        if (names_arithmetic_type(source_[last].text) || space_named(source_, last) != AddressSpace::none) return true;
        if (parenthesis - statement_ > longest) return false;
        Specifiers specifiers;
        if (read_specifiers(source_, statement_, parenthesis, specifiers) != parenthesis) return false;
        const Index past = source_[last].is(">") ? source_.group_begin(last) : parenthesis;
        const Token &name = source_[std::max<Index>(past, 1) - 1];
        return !functions_.contains(name.text) && !names_.contains(name.text) && !begins_no_declaration(name) &&
               !begins_head(name);
    }

    // Whether an operand ends there, and certainly no type.
    bool is_value(Index last) const {
        const Token &token = source_[last], &before = source_[last - 1];
        if (token.is_identifier()) return before.is(".") || before.is("->");
        return ends_operand(token);
    }

    // Whether it begins a list of arguments or values, and not of declarators.
    bool is_list(Index open) const {
        if (source_[open].is("(")) return true;
        if (open == 0) return false;
        for (const char *before : {"=", "(", ",", "{", "return"})
            if (source_[open - 1].is(before)) return true;
        return false;
    }

    // Whether the expression that goes on at `i` is assigned to: that needs no space, and passes may repeat it.
    bool is_assigned(Index i) const {
        const Index end = source_.size() - 1;
        for (std::size_t steps = 0; i < end && steps < longest; ++steps)
            if (source_[i].is("[") || source_[i].is("("))
                i = source_.skip_group(i, end);
            else if (source_[i].is(".") || source_[i].is("->"))
                i += 2;
            else
                break;
        constexpr std::array<std::string_view, 13> assignments = {
            "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "++", "--"};
        return i < end && source_[i].is_one_of(assignments);
    }

    // The expression that ends with `last`, and before `behind`.
    void qualify(Index last, Index behind, const std::vector<Index> &open) {
        if (!may_be_array(last)) return;
        const std::optional<Index> begin = chain_begin(last);
        if (!begin || *begin < 2 || source_[*begin].erased || source_[behind].erased) return;
        if (!may_be_lvalue(*begin, open) || is_assigned(behind)) return;
        const bool pointer = source_[behind].is("->");
        source_[*begin].replace((pointer ? " ::smtl::qualified(*" : " ::smtl::qualified(") +
                                source_.written({*begin, *begin + 1}));
        source_[last].appended.insert(0, ")");
        if (pointer) source_[behind].replace(".");
    }

    Source &source_;
    const ArrayNames names_;
    Names functions_;
    Index statement_ = 0;  // where it begins
};

}  // namespace

void qualify_elements(Source &source, const Declarations &declarations) {
    for (Index i = 0; i + 1 < source.size(); ++i)
        if (source[i].is("array") && source[i].is_identifier()) return Elements(source, declarations).edit();
}

}  // namespace smtl::msl
