#include "declarators.h"

#include <array>

#include "attributes.h"

namespace smtl::msl {
namespace {

// Words that do not change the type; a qualifier after `*` belongs to the pointer.
constexpr std::array<std::string_view, 20> specifiers = {
    "const",    "volatile",     "static",     "constexpr",    "inline",       "extern",   "mutable",
    "register", "friend",       "typename",   "virtual",      "explicit",     "template", "restrict",
    "__const",  "__volatile__", "__restrict", "__restrict__", "thread_local", "kernel"};
// Several of these make one type.
constexpr std::array<std::string_view, 6> arithmetic_words = {"unsigned", "signed", "char", "short", "int", "long"};
constexpr std::array<std::string_view, 5> with_parentheses = {"__attribute__", "__attribute", "alignas", "_Alignas",
                                                              "__declspec"};
constexpr std::array<std::string_view, 4> type_operators = {"decltype", "typeof", "__typeof__", "__typeof"};
constexpr std::array<std::string_view, 4> class_keys = {"struct", "class", "union", "enum"};

// Past `a::b<c>::d`.
Index past_type_name(const Source &source, Index i, Index end) {
    while (i < end) {
        if (source[i].is("::") || source[i].is("template")) {
            ++i;
            continue;
        }
        if (!source[i].is_identifier()) return i;
        ++i;
        if (i < end && source[i].is("<")) i = source.skip_angles(i, end).value_or(i);
        if (i >= end || !source[i].is("::")) return i;
    }
    return i;
}

// Past `name : bases { members }`, of which all but the name may be absent.
Index read_class(const Source &source, Index i, Index end, Specifiers &read) {
    if (i < end && (source[i].is("class") || source[i].is("struct"))) ++i;  // of an enumeration
    for (Index past = i; i < end && (past = past_attribute(source, i, end)) > i;) i = past;
    i = past_type_name(source, i, end);
    Index open = i;
    if (open < end && (source[open].is(":") || source[open].is("final")))
        while (open < end && !source[open].is("{") && !source[open].is(";")) ++open;
    if (open >= end || !source[open].is("{")) return i;
    read.body = open;
    return source.skip_group(open, end);
}

}  // namespace

Index past_attribute(const Source &source, Index i, Index end) {
    if (source.opens_attribute(i)) return source.skip_group(i, end);
    if (source[i].is_one_of(with_parentheses) && i + 1 < end && source[i + 1].is("("))
        return source.skip_group(i + 1, end);
    return past_coherence(source, i, end);
}

Index read_specifiers(const Source &source, Index i, Index end, Specifiers &read) {
    read.begin = end;
    while (i < end) {
        const Token &token = source[i];
        // A list in brackets stays before everything else.
        if (read.begin == end && !source.opens_attribute(i)) read.begin = i;
        if (const Index past = past_attribute(source, i, end); past > i) {
            i = past;
            continue;
        }
        const bool type_follows =
            token.is("::") || (token.is_identifier() && !read.typed) || token.is_one_of(arithmetic_words);
        const AddressSpace space = space_named(source, i);
        if (space != AddressSpace::none) {
            read.spaces.push_back(i++);
        } else if (token.is("typedef")) {
            read.alias = true;
            ++i;
        } else if (token.is_one_of(specifiers)) {
            ++i;
        } else if (token.is_one_of(type_operators) && i + 1 < end && source[i + 1].is("(")) {
            read.typed = true;
            i = source.skip_group(i + 1, end);
        } else if (token.is_one_of(class_keys)) {
            read.typed = true;
            i = read_class(source, i + 1, end, read);
        } else if (type_follows) {
            read.typed = true;
            i = past_type_name(source, i, end);
        } else {
            break;
        }
    }
    return i;
}

namespace {

// Pointers, references and words before the name, or before the parenthesis around it.
Index read_prefix(const Source &source, Index i, Index end, Declarator &read) {
    for (bool qualified = false; i < end;) {
        const Token &token = source[i];
        if (const Index past = past_attribute(source, i, end); past > i) {
            i = past;
        } else if (token.is("*") || token.is("&") || token.is("&&")) {
            read.indirect = qualified = true;
            read.reference = !token.is("*");
            read.other_spaces.insert(read.other_spaces.end(), read.spaces.begin(), read.spaces.end());
            read.spaces.clear();
            ++i;
        } else if (qualified && space_named(source, i) != AddressSpace::none) {
            read.spaces.push_back(i++);
        } else if (token.is_one_of(specifiers)) {
            ++i;
        } else if (token.is("::") || (token.is_identifier() && i + 1 < end && source[i + 1].is("::"))) {
            ++i;  // of a pointer to a member
        } else if (token.is("...")) {
            ++i;  // of a parameter pack
        } else {
            break;
        }
    }
    return i;
}

// What follows the name, or the parenthesis around it, up to a comma.
Index read_suffix(const Source &source, Index i, Index end, Declarator &read) {
    for (; i < end; ++i) {
        const Token &token = source[i];
        if (const Index past = past_attribute(source, i, end); past > i) {
            i = past - 1;
        } else if (token.is("[")) {
            read.array = true;
            i = source.skip_group(i, end) - 1;
        } else if (token.is("(")) {
            read.called = true;
            i = source.skip_group(i, end) - 1;
        } else if (!read.called || token.is(",") || token.is("=") || token.is("{") || token.is(":")) {
            break;
        } else if (space_named(source, i) != AddressSpace::none) {
            read.other_spaces.push_back(i);  // of a member's object
        } else if (token.is("<") && source.may_open_arguments(i)) {
            i = source.skip_angles(i, end).value_or(i + 1) - 1;
        }
    }
    read.initialised = i < end && (source[i].is("=") || source[i].is("{"));
    while (i < end && !source[i].is(","))
        if (source[i].is("(") || source[i].is("[") || source[i].is("{"))
            i = source.skip_group(i, end);
        else if (source[i].is("<") && source.may_open_arguments(i))
            i = source.skip_angles(i, end).value_or(i + 1);
        else
            ++i;
    return i;
}

}  // namespace

// Of all the pointers and references that a declarator makes, the one next to the name is what the variable is.
Index read_declarator(const Source &source, Index i, Index end, Declarator &read) {
    std::vector<Range> around;  // what follows the parentheses around the name
    for (;;) {
        i = read_prefix(source, i, end, read);
        if (i + 1 >= end || !source[i].is("(") || source[i + 1].is(")")) break;
        const Index past = source.skip_group(i, end);
        around.push_back({past, end});
        ++i;
        end = past - 1;
    }
    if (i < end && source[i].is_identifier() && space_named(source, i) == AddressSpace::none) read.name = i++;
    i = read_suffix(source, i, end, read);
    for (; !around.empty(); around.pop_back()) i = read_suffix(source, around.back().begin, around.back().end, read);
    return i;
}

Parameter read_parameter(const Source &source, Range range) {
    Parameter read;
    const Index declarator = read_specifiers(source, range.begin, range.end, read.specifiers);
    (void)read_declarator(source, declarator, range.end, read.declarator);
    return read;
}

}  // namespace smtl::msl
