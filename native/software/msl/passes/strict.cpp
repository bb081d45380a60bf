// The rules of Metal that clang does not know even where it knows address spaces, and the spelling that it wants for
// what Metal spells otherwise.
#include <algorithm>
#include <array>
#include <set>

#include "translator.h"

namespace smtl::msl {
namespace {

bool names_space(const Token &token) {
    return token.is("device") || token.is("constant") || token.is("thread") || token.is("threadgroup") ||
           token.is("threadgroup_imageblock");
}

// What C++ has and Metal has not.
constexpr std::array<std::string_view, 9> rejected = {"virtual", "throw",  "try",  "catch",       "new",
                                                      "delete",  "typeid", "goto", "dynamic_cast"};
// Keywords of OpenCL that are names like any other in Metal.
constexpr std::array<std::string_view, 8> reserved = {"global",    "local",      "generic",    "pipe",
                                                      "read_only", "write_only", "read_write", "uniform"};

template <std::size_t N> bool is_one_of(std::string_view text, const std::array<std::string_view, N> &list) {
    for (std::string_view item : list) {
        if (item == text) return true;
    }
    return false;
}

}  // namespace

// Members serve objects in every address space, as those of our library do: `float get() const device` loses the space.
// Executed, so does the type that refers to the object itself, in `device S &operator+=(S other) device`.
void Translator::qualify_member(const Declaration &declaration) {
    bool placed = false;
    for (Index i = declaration.parameters->end; i < declaration.head_end; ++i) {
        if (!names_space(tokens_[i])) continue;
        const bool readable = tokens_[i].is("constant") && !declaration.constructor && !tokens_[i - 1].is("const");
        tokens_[i].replace(readable ? "const" : "");
        placed = true;
    }
    if (!placed || checking_) return;
    bool itself = false;
    for (Index i = declaration.begin; i < declaration.name_begin; ++i)
        itself = itself || scope_.back().starts_with(tokens_[i].text);
    for (Index i = declaration.begin; itself && i < declaration.name_begin; ++i) {
        if (names_space(tokens_[i])) tokens_[i].replace(tokens_[i].is("constant") ? "const" : "");
    }
}

// `constant uint n`: a parameter that is a value lies in no space but the thread's. `threadgroup float a[4]` is a
// pointer, which clang takes only where it is written as one.
void Translator::qualify_parameters(Range parameters) {
    for (const Range &part : split_commas(parameters)) {
        Index space = part.end, bounds = part.end;
        bool value = true;
        for (Index i = part.begin; i < part.end && !tokens_[i].is("="); ++i) {
            if (opens_attribute(i)) {
                i = skip_group(i, part.end) - 1;
            } else if (tokens_[i].is("<")) {
                i = skip_angles(i, part.end).value_or(i + 1) - 1;
            } else if (tokens_[i].is("[")) {
                if (bounds == part.end) bounds = i;
                i = skip_group(i, part.end) - 1;
            } else if (names_space(tokens_[i]) && space == part.end) {
                space = i;
            } else if (tokens_[i].is("*") || tokens_[i].is("&")) {
                value = false;
            }
        }
        if (!value || space == part.end) continue;
        if (bounds == part.end) {
            tokens_[space].replace(tokens_[space].is("constant") ? "const" : "");
        } else if (tokens_[bounds - 1].is_identifier()) {
            tokens_[bounds - 1].replace("(*" + std::string(tokens_[bounds - 1].text) + ")");
            erase_range({bounds, skip_group(bounds, part.end)});
        }
    }
}

// What lives as long as the program is constant: of a type's variables those that are static, of a namespace's all.
void Translator::check_program_variable(const Declaration &declaration, ScopeKind kind) {
    bool is_static = kind == ScopeKind::file_or_namespace;
    for (Index i = declaration.begin; i < declaration.head_end; ++i) {
        // Members of classes are no variables where they stand alone; templates declare for others.
        if (tokens_[i].is("using") || tokens_[i].is("friend") || tokens_[i].is("sampler") || tokens_[i].is("concept"))
            return;
        is_static = is_static || tokens_[i].is("static");
    }
    const Token &stop = tokens_[declaration.head_end];
    if (is_static && (stop.is("=") || stop.is(";") || stop.is("{"))) {
        problem(declaration.head_end - 1, "variables of the program belong to the constant address space: '" +
                                              std::string(tokens_[declaration.head_end - 1].text) + "'");
    }
}

void Translator::note_function(const Declaration &declaration, Range body) {
    check_local_pointers(body);
    const Index name = declaration.name_end - 1;
    if (!tokens_[name].is_identifier() || declaration.template_parameters) return;
    FunctionBody &function = functions_[std::string(tokens_[name].text)];
    function.name = name;
    function.body = body;
    ++function.definitions;
}

// Every pointer and reference says where it points to.
void Translator::check_parameters(const Declaration &declaration) {
    for (const Range &part : split_commas(*declaration.parameters)) {
        if (address_space_of(part) != AddressSpace::none) continue;
        for (Index i = part.begin; i < part.end;) {
            if (tokens_[i].is("=")) break;
            if (tokens_[i].is("(") || tokens_[i].is("[")) {
                i = skip_group(i, part.end);
                continue;
            }
            if (tokens_[i].is("<")) {
                if (const auto past = skip_angles(i, part.end)) {
                    i = *past;
                    continue;
                }
            }
            if (tokens_[i].is("*") || tokens_[i].is("&")) {
                problem(i, "a pointer or reference needs an explicit address space");
                break;
            }
            ++i;
        }
    }
}

// A declaration `T *name` or `T &name` at the start of a statement. `a * b` alone says nothing, so nobody writes it
// there; `auto` deduces its address space.
void Translator::check_local_pointers(Range body) {
    for (Index i = body.begin + 1; i < body.end; ++i) {
        const Token &previous = tokens_[i - 1];
        const bool begins =
            previous.is(";") || previous.is("{") || previous.is("}") || (previous.is("(") && tokens_[i - 2].is("for"));
        if (!begins) continue;
        Index j = i;
        bool named = false;
        for (; j < body.end; ++j) {
            const Token &token = tokens_[j];
            if (names_space(token) || token.is("auto") || token.is("return")) break;
            if (token.is("<")) {
                const auto past = skip_angles(j, body.end);
                if (!past) break;
                j = *past - 1;
            } else if (token.is_identifier()) {
                named = true;
            } else if (!token.is("::")) {
                break;
            }
        }
        const Index symbol = j;
        while (j < body.end && (tokens_[j].is("*") || tokens_[j].is("&") || tokens_[j].is("const"))) ++j;
        if (!named || j == symbol || j + 1 >= body.end || !tokens_[j].is_identifier()) continue;
        const Token &next = tokens_[j + 1];
        if (next.is("=") || next.is(";") || next.is(",") || next.is("[") || next.is("{") || next.is(":")) {
            problem(symbol, "a pointer or reference needs an explicit address space");
        }
    }
}

// Clang gives pointers to functions an address space where templates take them as arguments, and then finds none that
// fits. References to functions have none, and are called the same.
void Translator::refer_to_functions(Range template_parameters) {
    for (Index i = template_parameters.begin; i + 3 < template_parameters.end; ++i) {
        const bool pointer =
            tokens_[i].is("(") && tokens_[i + 1].is("*") && tokens_[i + 2].is_identifier() && tokens_[i + 3].is(")");
        if (pointer) tokens_[i + 1].replace("&");
    }
}

void Translator::check_tokens() {
    for (Index i = 0; i < tokens_.size(); ++i) {
        Token &token = tokens_[i];
        if (!token.is_identifier() || token.replaced) continue;
        if (token.is("template") && tokens_[i + 1].is("<")) {
            constexpr Index longest = 1 << 11;  // templates of templates of templates
            if (const auto past = skip_angles(i + 1, tokens_.size() - 1))
                refer_to_functions({i + 2, std::min(*past, i + longest)});
        }
        const bool deleted = token.is("delete") && i > 0 && tokens_[i - 1].is("=");
        if (is_one_of(token.text, rejected) && !deleted) {
            problem(i, "'" + std::string(token.text) + "' is not supported in Metal");
        } else if (is_one_of(token.text, reserved) || (token.is("private") && !tokens_[i + 1].is(":"))) {
            token.replace(std::string(token.text) + "_");
        }
    }
}

// Functions that call themselves, directly or through others. Names with one definition only: which of several a call
// means is not known here.
void Translator::check_recursion() {
    struct Visit {
        std::string_view name;
        Range body;  // what is left of it
    };
    std::set<std::string_view> finished, active;
    std::vector<Visit>
        visits;  // each called by the one before it, without a call of ours: sources may be deeper than stacks
    const auto visit = [&](std::string_view name) {
        const auto found = functions_.find(name);
        if (found == functions_.end() || found->second.definitions != 1 || finished.contains(name)) return;
        if (active.insert(name).second) return visits.push_back({found->first, found->second.body});
        problem(found->second.name, "'" + std::string(name) + "' calls itself: recursion is not supported in Metal");
        finished.insert(name);
    };
    for (const auto &[name, function] : functions_) {
        visit(name);
        while (!visits.empty()) {
            Range &body = visits.back().body;
            const Index i = body.begin++;
            if (i + 1 < body.end) {
                const bool member = tokens_[i - 1].is(".") || tokens_[i - 1].is("->") || tokens_[i - 1].is("::");
                if (tokens_[i].is_identifier() && tokens_[i + 1].is("(") && !member) visit(tokens_[i].text);
                continue;
            }
            active.erase(visits.back().name);
            finished.insert(visits.back().name);
            visits.pop_back();
        }
    }
}

}  // namespace smtl::msl
