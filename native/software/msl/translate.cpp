// The walk over scopes and declarations. It understands as much C++ as tells functions, types, variables and templates
// apart; whatever it does not recognise is left for clang to judge.
#include "msl/passes/translator.h"

namespace smtl::msl {
namespace {

bool is_class_key(std::string_view text) {
    return text == "struct" || text == "class" || text == "union" || text == "enum";
}

// Operators with a parenthesised operand that is no parameter list.
bool takes_parentheses(std::string_view text) {
    return text == "decltype" || text == "alignas" || text == "__attribute__" || text == "__attribute" ||
           text == "noexcept" || text == "__declspec" || text == "typeof" || text == "__typeof__" ||
           text == "explicit" || text == "sizeof";
}

// Each type is looked through for each type around it, and its name stands in those of all its members.
constexpr std::size_t deepest_nesting = 64;
constexpr std::size_t longest_scope = 4096;

}  // namespace

Translation translate(std::string_view preprocessed, Purpose purpose) {
    Translator erased(preprocessed, purpose, false);
    Translation translation = erased.run();
    return erased.depends_on_spaces() ? Translator(preprocessed, purpose, true).run() : std::move(translation);
}

Translation Translator::run() {
    result_.source = source_;
    match_brackets();
    // What else could be found then follows from it.
    if (std::optional<Problem> problem = find_open_bracket()) {
        result_.problems = {std::move(*problem)};
        return std::move(result_);
    }
    refuse_what_metal_has_not();
    erase_address_spaces_and_attributes();
    walk_scope(0, tokens_.size() - 1, ScopeKind::file_or_namespace);
    if (!checking_) keep_lanes_in_step();
    edit_evaluated_constants();
    edit_constant_queries();
    edit_literals();
    edit_component_assignments();
    edit_casts();
    if (distinct_ && !checking_) edit_conditionals();
    reject_double();
    if (checking_) {
        check_tokens();
        check_recursion();
    }
    edit_pragmas();
    reject_stray_kernels();
    reject_stray_spaces();
    note_spaces_of_types();
    for (const Token &token : tokens_) result_.thread_elements = result_.thread_elements || token.is("thread_elements");
    result_.address_spaces = distinct_;
    result_.text = write(tokens_);
    return std::move(result_);
}

void Translator::walk_scope(Index begin, Index end, ScopeKind kind) {
    std::size_t length = 0;
    for (const std::string &name : scope_) length += name.size();
    if (scope_.size() > deepest_nesting || length > longest_scope)
        return problem(begin, "namespaces and types are nested too deeply, or their names are too long");
    for (Index i = begin; i < end;) {
        const Token &token = tokens_[i];
        const bool access = kind == ScopeKind::type && i + 1 < end && tokens_[i + 1].is(":") &&
                            (token.is("public") || token.is("private") || token.is("protected"));
        if (access) {
            i += 2;
        } else if (token.is(";") || token.is("}")) {
            ++i;
        } else if (token.is("namespace") || (token.is("inline") && tokens_[i + 1].is("namespace"))) {
            i = walk_namespace(i, end);
        } else if (token.is("extern") && tokens_[i + 1].kind == TokenKind::string && tokens_[i + 2].is("{")) {
            i += 3;  // its declarations belong to this scope; its `}` is skipped above
        } else if (token.is("using") || token.is("typedef") || token.is("static_assert") ||
                   token.is("_Static_assert")) {
            const Index past = skip_to_semicolon(i, end);
            place_statements(i, past, Place::program);
            i = past;
        } else {
            const Index next = walk_declaration(i, end, kind);
            i = next > i ? next : i + 1;
        }
    }
}

Index Translator::walk_namespace(Index begin, Index end) {
    Index i = begin;
    while (!tokens_[i].is("namespace")) ++i;
    ++i;
    const std::size_t depth = scope_.size();
    bool named = false;
    for (; i < end && !tokens_[i].is("{") && !tokens_[i].is(";") && !tokens_[i].is("="); ++i) {
        if (opens_attribute(i)) {
            i = skip_group(i, end) - 1;
        } else if (tokens_[i].is_identifier()) {
            scope_.emplace_back(tokens_[i].text);
            named = true;
        }
    }
    if (i >= end || !tokens_[i].is("{")) {  // an alias
        scope_.resize(depth);
        return skip_to_semicolon(i, end);
    }
    if (!named) scope_.emplace_back();
    const Index past = skip_group(i, end);
    walk_scope(i + 1, past - 1, ScopeKind::file_or_namespace);
    scope_.resize(depth);
    return past;
}

// Reads up to where the head ends. Angle brackets are followed so that parentheses in template arguments are not taken
// for parameters.
Declaration Translator::read_head(Index begin, Index end) {
    Declaration declaration;
    declaration.begin = begin;
    Index i = begin;
    Index last_name = begin;  // where the latest (qualified) name starts
    bool joined = false;      // the previous token was `::`
    while (i < end) {
        const Token &token = tokens_[i];
        if (opens_attribute(i)) {
            const Index past = skip_group(i, end);
            for (const Attribute &attribute : attributes_in({i, past})) {
                if (attribute.name == "kernel") declaration.kernel = true;
                if (attribute.name == "max_total_threads_per_threadgroup")
                    declaration.thread_limit = attribute.arguments;
                if (attribute.name != "host_name") continue;
                for (Index a = attribute.arguments.begin; a < attribute.arguments.end; ++a) {
                    const std::string_view text = tokens_[a].text;
                    if (tokens_[a].kind == TokenKind::string && text.size() >= 2) {
                        declaration.host_name += text.substr(1, text.size() - 2);
                    }
                }
            }
            i = past;
        } else if (token.is("template")) {
            if (i + 1 < end && tokens_[i + 1].is("<")) {
                const auto past = skip_angles(i + 1, end);
                if (!past) break;
                declaration.template_parameters = Range{i + 2, *past - 1};
                i = *past;
            } else {
                declaration.explicit_instantiation = !joined;
                ++i;
            }
        } else if (token.is("kernel") && !joined) {
            declaration.kernel = true;
            ++i;
        } else if (takes_parentheses(token.text)) {
            ++i;
            if (i < end && tokens_[i].is("(")) i = skip_group(i, end);
        } else if (token.is("operator")) {
            if (!joined) last_name = i;
            ++i;
            // The operator's own parentheses or brackets, or the type it converts to, up to the parameters.
            if (i + 1 < end && tokens_[i].is("(") && tokens_[i + 1].is(")")) i += 2;
            while (i < end && !tokens_[i].is("(") && !tokens_[i].is(";") && !tokens_[i].is("{")) ++i;
            joined = false;
        } else if (token.is_identifier()) {
            if (is_class_key(token.text) && declaration.class_key == 0) declaration.class_key = i;
            if (!joined) last_name = i;
            joined = false;
            ++i;
            if (i < end && tokens_[i].is("<")) {
                if (const auto past = skip_angles(i, end)) i = *past;
            }
        } else if (token.is("::")) {
            if (!joined && (i == begin || !tokens_[i - 1].is_identifier()) && !tokens_[i == 0 ? 0 : i - 1].is(">"))
                last_name = i;
            joined = true;
            ++i;
        } else if (token.is("~")) {
            if (!joined) last_name = i;
            joined = true;
            ++i;
        } else if (token.is("(")) {
            const Index past = skip_group(i, end);
            if (!declaration.parameters) {
                declaration.parameters = Range{i + 1, past - 1};
                declaration.name_begin = last_name;
                declaration.name_end = i;
            }
            i = past;
        } else if (token.is("[")) {
            i = skip_group(i, end);
        } else if (token.is("{") || token.is(";") || token.is("=") || token.is(":") || token.is("}")) {
            break;
        } else {
            ++i;
        }
    }
    declaration.head_end = i;
    if (!declaration.parameters) {
        declaration.name_begin = last_name;
        declaration.name_end = i;
    }
    return declaration;
}

// Where the body of a function starts, past a constructor's initialisers; `end` where there is none.
Index Translator::body_begin(const Declaration &declaration, Index end) const {
    Index i = declaration.head_end;
    if (i < end && tokens_[i].is(":")) {
        for (++i; i < end;) {
            // A member's or base's name, then its initialiser.
            while (i < end && !tokens_[i].is("(") && !tokens_[i].is("{") && !tokens_[i].is(";")) {
                if (tokens_[i].is("<")) {
                    if (const auto past = skip_angles(i, end)) {
                        i = *past;
                        continue;
                    }
                }
                ++i;
            }
            if (i >= end || tokens_[i].is(";")) return end;
            i = skip_group(i, end);
            if (i < end && tokens_[i].is("...")) ++i;
            if (i >= end || !tokens_[i].is(",")) break;
            ++i;
        }
    }
    return i < end && tokens_[i].is("{") ? i : end;
}

Index Translator::walk_declaration(Index begin, Index end, ScopeKind kind) {
    Declaration declaration = read_head(begin, end);
    const bool in_type = kind == ScopeKind::type && !scope_.empty();
    if (in_type && declaration.parameters && scope_.back().starts_with(tokens_[declaration.name_begin].text)) {
        // `X() constant` constructs in constant memory; no constructor can be const.
        declaration.constructor = true;
        for (Index i = declaration.parameters->end; i < declaration.head_end; ++i) {
            if (tokens_[i].is("constant")) tokens_[i].erase();
        }
    }
    if (in_type && declaration.parameters && is_deleted_for_space(declaration, end)) {
        const Index past = skip_to_semicolon(begin, end);
        mark_placed({begin, past});
        erase_range({begin, past});
        return past;
    }
    declaration.member = in_type;
    if (declaration.parameters) note_parameters(declaration);
    if (keeps_spaces() && in_type && declaration.parameters) qualify_member(declaration);
    if (distinct_ && declaration.parameters) qualify_parameters(*declaration.parameters);
    if (checking_ && declaration.parameters) check_parameters(declaration);
    if (kind != ScopeKind::type && (tokens_[begin].is("vertex") || tokens_[begin].is("fragment"))) {
        problem(begin,
                "'" + std::string(tokens_[begin].text) + "' functions are not supported: kernels alone are executed");
        tokens_[begin].erase();
    }
    if (declaration.kernel && !declaration.parameters && !declaration.explicit_instantiation) {
        problem(begin, "'kernel' belongs to a function");
    }
    if (declaration.kernel && declaration.parameters) edit_buffer_arrays(*declaration.parameters);
    if (declaration.kernel) {
        for (Index i = begin; i < declaration.head_end; ++i) {
            if (tokens_[i].is("kernel")) tokens_[i].erase();
        }
    }
    if (declaration.explicit_instantiation && declaration.kernel) {
        const Index past = skip_to_semicolon(begin, end);
        add_kernel_instantiation(declaration, past - 1);
        return past;
    }
    if (declaration.parameters) {
        const bool body = declaration.head_end < end &&
                          (tokens_[declaration.head_end].is("{") || tokens_[declaration.head_end].is(":"));
        if (!body && kind != ScopeKind::type)
            place_variables(begin, skip_to_semicolon(declaration.head_end, end), Place::program);
        mark_placed({begin, declaration.head_end});
        if (body) return walk_function(declaration, end, kind);
        const Index past = skip_to_semicolon(declaration.head_end, end);
        // `X() = default;`, and the declarations of members, which unlike those of functions cannot be repeated.
        if (in_type) (void)erase_if_duplicate(declaration, {declaration.head_end, past});
        if (checking_) edit_constant_variable(declaration, past, kind);
        return past;
    }
    if (declaration.class_key != 0 || tokens_[begin].is("struct") || tokens_[begin].is("enum"))
        return walk_type(declaration, end, kind);
    return walk_variable(declaration, end, kind);
}

// `S &operator=(S) device = delete;` takes from objects in one address space what those in others have; nothing tells
// objects apart here.
bool Translator::is_deleted_for_space(const Declaration &declaration, Index end) const {
    if (declaration.head_end + 1 >= end || !tokens_[declaration.head_end].is("=") ||
        !tokens_[declaration.head_end + 1].is("delete"))
        return false;
    for (Index i = declaration.parameters->end; i < declaration.head_end; ++i) {
        if (space_named(i) != AddressSpace::none) return true;
    }
    return false;
}

Index Translator::walk_function(const Declaration &declaration, Index end, ScopeKind kind) {
    const Index open = body_begin(declaration, end);
    if (open >= end) return skip_to_semicolon(declaration.head_end, end);
    const Index past = skip_group(open, end);
    place_statements(open + 1, past - 1, Place::block);
    if ((!keeps_spaces() || kind == ScopeKind::type) && erase_if_duplicate(declaration, {declaration.head_end, past}))
        return past;
    if (checking_) note_function(declaration, {open, past});
    lanes_.bodies.emplace_back(declaration, Range{open, past});
    if (declaration.kernel) add_kernel_definition(declaration, past - 1);
    return past;
}

Index Translator::walk_type(const Declaration &declaration, Index end, ScopeKind) {
    Index open = declaration.head_end;
    while (open < end && !tokens_[open].is("{") && !tokens_[open].is(";")) ++open;  // past the bases
    if (open >= end || tokens_[open].is(";")) return skip_to_semicolon(declaration.begin, end);
    const Index past = skip_group(open, end);
    if (!keeps_spaces() && erase_if_duplicate(declaration, {open, past})) return skip_to_semicolon(past, end);
    const Index key = declaration.class_key != 0 ? declaration.class_key : declaration.begin;
    if (!tokens_[key].is("enum")) {
        scope_.push_back(spelling({key + 1, declaration.head_end}));
        walk_scope(open + 1, past - 1, ScopeKind::type);
        scope_.pop_back();
    }
    return skip_to_semicolon(past, end);
}

Index Translator::walk_variable(const Declaration &declaration, Index end, ScopeKind kind) {
    const Index past = skip_to_semicolon(declaration.begin, end);
    place_variables(declaration.begin, past, kind == ScopeKind::type ? Place::type : Place::program);
    if (kind == ScopeKind::type) note_member({declaration.begin, past});
    edit_constant_variable(declaration, past, kind);
    return past;
}

// What no declaration has taken.
void Translator::reject_stray_kernels() {
    for (Index i = 0; i < tokens_.size(); ++i) {
        if (tokens_[i].is("kernel") && !tokens_[i].replaced)
            problem(i, "'kernel' belongs to a function of a namespace");
    }
}

}  // namespace smtl::msl
