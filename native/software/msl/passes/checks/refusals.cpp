#include "refusals.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smtl::msl {
namespace {

// Attributes in GNU's spelling, and of gnu:: and clang::; headers that shaders share with programs have some of them.
constexpr std::array<std::string_view, 39> attributes = {"aligned",
                                                         "always_inline",
                                                         "annotate",
                                                         "artificial",
                                                         "cold",
                                                         "const",
                                                         "convergent",
                                                         "deprecated",
                                                         "diagnose_if",
                                                         "enable_if",
                                                         "enum_extensibility",
                                                         "ext_vector_type",
                                                         "fallthrough",
                                                         "flag_enum",
                                                         "flatten",
                                                         "gnu_inline",
                                                         "hot",
                                                         "likely",
                                                         "malloc",
                                                         "may_alias",
                                                         "minsize",
                                                         "nodebug",
                                                         "noduplicate",
                                                         "noinline",
                                                         "nomerge",
                                                         "nonnull",
                                                         "noreturn",
                                                         "nothrow",
                                                         "optnone",
                                                         "overloadable",
                                                         "packed",
                                                         "pure",
                                                         "returns_nonnull",
                                                         "swift_name",
                                                         "unavailable",
                                                         "unlikely",
                                                         "unused",
                                                         "vector_size",
                                                         "warn_unused_result"};
// What `#pragma` may begin with; of `clang` and `GCC`, what may follow. METAL's go with the translation.
constexpr std::array<std::string_view, 7> pragmas = {"METAL", "STDC", "mark", "once", "pack", "unroll", "nounroll"};
constexpr std::array<std::string_view, 7> compiler_pragmas = {"assume_nonnull", "system_header", "loop",    "fp",
                                                              "diagnostic",     "unroll",        "optimize"};
// Other pragmas that compilers act upon. One that no compiler knows is ignored silently, as everywhere.
constexpr std::array<std::string_view, 21> refused_pragmas = {
    "alloc_text", "bss_seg",    "code_seg",         "comment",  "const_seg",       "data_seg",  "detect_mismatch",
    "export",     "function",   "include_alias",    "init_seg", "intrinsic",       "ms_struct", "pointers_to_members",
    "pop_macro",  "push_macro", "redefine_extname", "section",  "strict_gs_check", "vtordisp",  "weak"};
constexpr std::array<std::string_view, 8> words = {"asm",     "__asm",    "__asm__",      "__declspec",
                                                   "_Pragma", "__pragma", "thread_local", "__thread"};
// Other spellings of brackets, by which no pass would find what they enclose, and of what begins a directive.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> digraphs = {
    {{"<:", "["}, {":>", "]"}, {"<%", "{"}, {"%>", "}"}, {"%:", "#"}}};
// Names of our own, among them macros that make words of words.
constexpr std::array<std::string_view, 3> prefixes = {"SMTL_", "smtl_", "__int_c"};

std::string_view without_underscores(std::string_view name) {
    const bool both = name.size() > 4 && name.starts_with("__") && name.ends_with("__");
    return both ? name.substr(2, name.size() - 4) : name;
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\r' || c == '\0'; }

// Whether a backslash at `p` makes one line of two.
bool joins_lines(std::string_view text, std::size_t p) {
    do ++p;
    while (p < text.size() && text[p] != '\n' && is_blank(text[p]));
    return p < text.size() && text[p] == '\n';
}

bool joins_lines(std::string_view leading) {
    for (std::size_t p = leading.find('\\'); p != std::string_view::npos; p = leading.find('\\', p + 1))
        if (joins_lines(leading, p)) return true;
    return false;
}

// `visibility("default")` and `visibility("hidden")` say what a dynamic library exports (passes/exported_functions.h).
// Clang does not see them: it would export variables too.
bool take_visibility(Source &source, Index name, Range part) {
    if (without_underscores(source[name].text) != "visibility" || part.end != name + 4 || !source[name + 1].is("("))
        return false;
    const std::string_view value = source[name + 2].text;
    if (value != "\"default\"" && value != "\"hidden\"") return false;
    source[name].replace("unused");
    source.erase({name + 1, part.end});
    return true;
}

void refuse_attribute(Source &source, Index name, Range part) {
    if (part.empty() || take_visibility(source, name, part) ||
        is_one_of(without_underscores(source[name].text), attributes))
        return;
    source.problem(name, "attribute '" + std::string(source[name].text) + "' is not supported in Metal");
}

// `threadgroup atomic_float`: no function takes it.
void refuse_atomic_type(Source &source, Index name) {
    Index past = name + 1;
    std::string type(source[name].text);
    if (type == "atomic" && source[past].is("<") && past + 2 < source.size() && source[past + 2].is(">")) {
        const std::string_view argument = source[past + 1].text;
        if (argument == "float" || argument == "ulong") {
            type += "_" + std::string(argument);
            past += 3;
        }
    }
    const bool named = type != "atomic";
    if (named && type != "atomic_float" && type != "atomic_ulong") return;
    // Which type a template's `atomic` stands for is known only when the compiler fills it in.
    if (!named) past = source[past].is("<") ? source.skip_angles(past, source.size()).value_or(past) : past;
    if (!named && past == name + 1) return;
    const auto qualifies = [&](Index i) { return source[i].is("const") || source[i].is("volatile"); };
    Index before = name;
    if (name >= 2 && source[name - 1].is("::") && source[name - 2].is("metal")) before -= 2;
    while (before > 0 && qualifies(before - 1)) --before;
    while (past + 1 < source.size() && qualifies(past)) ++past;
    if ((before == 0 || !source[before - 1].is("threadgroup")) && !source[past].is("threadgroup")) return;
    if (named) return source.problem(name, "'" + type + "' must be in the device address space");
    if (!source.checking()) source[name].replace("smtl_threadgroup_atomic");
}

// `[[gnu::name]]`; what has no namespace is Metal's own, or standard.
void refuse_attribute_list(Source &source, Index open) {
    const Index past = source.skip_group(open, source.size());
    if (!source[open + 1].leading.empty() || source.skip_group(open + 1, past) + 1 != past ||
        !source[past - 1].leading.empty()) {
        return source.problem(
            open, "an attribute list must begin with '[[' and end with ']]', without blanks between the brackets");
    }
    for (const Range &part : source.split_commas({open + 2, past - 2})) {
        if (part.empty()) continue;
        if (source[part.begin].is("using")) source.problem(part.begin, "'using' is not supported in attributes");
        if (part.end - part.begin > 2 && source[part.begin + 1].is("::"))
            refuse_attribute(source, part.begin + 2, part);
        // erase_metal_attributes makes a comment of it.
        if (!source[part.begin].is("id")) continue;
        for (Index i = part.begin; i < part.end; ++i) {
            const bool quoted = source[i].kind == TokenKind::string || source[i].kind == TokenKind::character;
            if (quoted || (source[i].is("*") && source[i + 1].is("/")))
                source.problem(i, "[[id]] needs an index, as in '[[id(0)]]'");
        }
    }
}

// Whether the attribute has to go.
bool refuse_pragma(Source &source, const std::vector<Token> &found, Index token, std::size_t offset) {
    const std::string_view first = found.size() > 1 ? found[1].text : std::string_view();
    if (is_one_of(first, pragmas)) return false;
    const bool compiler = first == "clang" || first == "GCC";
    if (compiler && found.size() > 2 && found[2].is_one_of(compiler_pragmas)) return false;
    if (compiler || is_one_of(first, refused_pragmas)) {
        const std::string name =
            std::string(first) + (compiler && found.size() > 2 ? " " + std::string(found[2].text) : "");
        source.problem(token, "'#pragma " + name + "' is not supported in Metal", offset);
    }
    return true;
}

// Before a token, on lines of their own. The preprocessor has followed all of them except pragmas; macros made what
// looks like one now.
void refuse_directives(Source &source, Index token) {
    const std::string_view leading = source[token].leading;
    if (leading.find('#') == std::string_view::npos) return;
    std::string kept;
    bool changed = false;
    for (std::size_t p = 0; p < leading.size();) {
        const std::size_t newline = std::min(leading.find('\n', p), leading.size());
        const std::string_view line = leading.substr(p, newline - p);
        std::size_t i = 0;
        while (i < line.size() && is_blank(line[i])) ++i;
        SourceLocation location;
        bool erased = false;
        // The preprocessor puts a blank before what macros made.
        const bool made = i > 0;
        if (i < line.size() && line[i] == '#' && (made || !read_line_marker(line, location))) {
            const std::vector<Token> found = tokenize(line.substr(i + 1));
            if (made || !found.front().is("pragma"))
                source.problem(token, "'#' is not allowed here: a macro cannot make a directive", p + i);
            else
                erased = refuse_pragma(source, found, token, p + i);
        }
        changed = changed || erased;
        // As long as before, so that columns in messages stay right.
        kept += erased ? std::string(line.size(), ' ') : std::string(line);
        if (newline < leading.size()) kept += '\n';
        p = newline + 1;
    }
    if (changed) source.replace_leading(token, std::move(kept));
}

}  // namespace

void refuse_what_metal_has_not(Source &source) {
    for (Index i = 0; i < source.size(); ++i) {
        refuse_directives(source, i);
        const Token &token = source[i];
        // The preprocessor has joined all lines that were to be joined. The compiler would join words at what still
        // looks like a line's end.
        const bool joined = token.is("\\") && joins_lines("\\" + std::string(source[i + 1].leading), 0);
        if (joined || joins_lines(token.leading))
            source.problem(i, "there must be nothing between '\\' and the end of the line");
        if (token.is("[") && i + 1 < source.size() && source[i + 1].is("[")) refuse_attribute_list(source, i);
        for (const auto &[digraph, bracket] : digraphs)
            if (token.is(digraph))
                source.problem(i,
                               "'" + std::string(digraph) + "' is not supported: write '" + std::string(bracket) + "'");
        if (!token.is_identifier()) continue;
        if (token.text.starts_with("atomic")) refuse_atomic_type(source, i);
        const bool ours =
            token.is("smtl") || std::any_of(prefixes.begin(), prefixes.end(),
                                            [&](std::string_view prefix) { return token.text.starts_with(prefix); });
        if (ours)
            source.problem(i, "the software Metal keeps the name '" + std::string(token.text) + "' for itself");
        else if (token.is_one_of(words))
            source.problem(i, "'" + std::string(token.text) + "' is not supported in Metal");
        if ((token.is("__attribute__") || token.is("__attribute")) && source[i + 1].is("(") && source[i + 2].is("("))
            for (const Range &part : source.split_commas({i + 3, source.skip_group(i + 2, source.size()) - 1}))
                refuse_attribute(source, part.begin, part);
    }
}

}  // namespace smtl::msl
