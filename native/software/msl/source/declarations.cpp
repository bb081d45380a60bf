#include "declarations.h"

#include <utility>

#include "attributes.h"
#include "literal.h"

namespace smtl::msl {
namespace {

bool is_class_key(std::string_view text) {
    return text == "struct" || text == "class" || text == "union" || text == "enum";
}

// Operators with a parenthesised operand that is not a parameter list.
bool takes_parentheses(std::string_view text) {
    return text == "decltype" || text == "alignas" || text == "__attribute__" || text == "__attribute" ||
           text == "noexcept" || text == "__declspec" || text == "typeof" || text == "__typeof__" ||
           text == "explicit" || text == "sizeof";
}

// A type is searched once for each type around it, and its name is part of the names of all its members.
constexpr std::size_t deepest_nesting = 64;
constexpr std::size_t longest_scope = 4096;

// Reads up to where the head ends. Angle brackets are followed so that parentheses in template arguments are not taken
// for parameters.
Declaration read_head(const Source &source, Index begin, Index end) {
    Declaration declaration;
    declaration.begin = begin;
    Index i = begin;
    Index last_name = begin;  // where the latest (qualified) name starts
    bool joined = false;      // the previous token was `::`
    while (i < end) {
        const Token &token = source[i];
        if (source.opens_attribute(i)) {
            const Index past = source.skip_group(i, end);
            for (const Attribute &attribute : attributes_in(source, {i, past})) {
                if (attribute.name == "kernel") declaration.kernel = true;
                if (attribute.name == "visible" || attribute.name == "stitchable") declaration.visible = true;
                if (attribute.name == "max_total_threads_per_threadgroup")
                    declaration.thread_limit = attribute.arguments;
                if (attribute.name != "host_name") continue;
                for (Index a = attribute.arguments.begin; a < attribute.arguments.end; ++a)
                    if (source[a].kind == TokenKind::string) declaration.host_name += string_contents(source[a].text);
            }
            i = past;
        } else if (token.is("template")) {
            if (i + 1 < end && source[i + 1].is("<")) {
                const auto past = source.skip_angles(i + 1, end);
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
            if (i < end && source[i].is("(")) i = source.skip_group(i, end);
        } else if (token.is("operator")) {
            if (!joined) last_name = i;
            ++i;
            // The operator's own parentheses or brackets, or the type it converts to, up to the parameters.
            if (i + 1 < end && source[i].is("(") && source[i + 1].is(")")) i += 2;
            while (i < end && !source[i].is("(") && !source[i].is(";") && !source[i].is("{")) ++i;
            joined = false;
        } else if (token.is_identifier()) {
            if (is_class_key(token.text) && declaration.class_key == 0) declaration.class_key = i;
            if (!joined) last_name = i;
            joined = false;
            ++i;
            if (i < end && source[i].is("<")) {
                if (const auto past = source.skip_angles(i, end)) i = *past;
            }
        } else if (token.is("::")) {
            if (!joined && (i == begin || !source[i - 1].is_identifier()) && !source[i == 0 ? 0 : i - 1].is(">"))
                last_name = i;
            joined = true;
            ++i;
        } else if (token.is("~")) {
            if (!joined) last_name = i;
            joined = true;
            ++i;
        } else if (token.is("(") && !declaration.parameters && i + 3 < end && source[i + 1].is_identifier() &&
                   source[i + 2].is(")") && source[i + 3].is("(") && i > begin) {
            last_name = i + 1;  // `uint (name)(uint i)`
            joined = false;
            i += 3;
        } else if (token.is("(")) {
            const Index past = source.skip_group(i, end);
            if (!declaration.parameters) {
                declaration.parameters = Range{i + 1, past - 1};
                declaration.name_begin = last_name;
                declaration.name_end = i;
            }
            i = past;
        } else if (token.is("[")) {
            i = source.skip_group(i, end);
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

// Whether `struct A *p`, and no type, is declared: behind the type's name stands more than what declares a type.
bool only_names_type(const Source &source, Index key, Index end) {
    Index i = key + 1;
    while (i < end && (is_class_key(source[i].text) || takes_parentheses(source[i].text) || source.opens_attribute(i) ||
                       source[i].is("(")))
        i = source[i].is_identifier() ? i + 1 : source.skip_group(i, end);
    for (bool joined = true; i < end && (source[i].is("::") || (joined && source[i].is_identifier()));) {
        joined = source[i].is("::");
        ++i;
        if (i < end && source[i].is("<")) i = source.skip_angles(i, end).value_or(i + 1);
    }
    return i < end && !source[i].is("final") &&
           (source[i].is_identifier() || source[i].is("*") || source[i].is("&") || source[i].is("&&"));
}

// Where the body of a function starts, past a constructor's initialisers; `end` if there is none.
Index body_begin(const Source &source, const Declaration &declaration, Index end) {
    Index i = declaration.head_end;
    if (i < end && source[i].is(":")) {
        for (++i; i < end;) {
            // A member's or base's name, then its initialiser.
            while (i < end && !source[i].is("(") && !source[i].is("{") && !source[i].is(";")) {
                if (source[i].is("<")) {
                    if (const auto past = source.skip_angles(i, end)) {
                        i = *past;
                        continue;
                    }
                }
                ++i;
            }
            if (i >= end || source[i].is(";")) return end;
            i = source.skip_group(i, end);
            if (i < end && source[i].is("...")) ++i;
            if (i >= end || !source[i].is(",")) break;
            ++i;
        }
    }
    return i < end && source[i].is("{") ? i : end;
}

// `S &operator=(S) device = delete;` takes from objects in one address space what those in others have; nothing tells
// objects apart here.
bool is_deleted_for_space(const Source &source, const Declaration &declaration, Index end) {
    if (declaration.head_end + 1 >= end || !source[declaration.head_end].is("=") ||
        !source[declaration.head_end + 1].is("delete"))
        return false;
    for (Index i = declaration.parameters->end; i < declaration.head_end; ++i)
        if (space_named(source, i) != AddressSpace::none) return true;
    return false;
}

class DeclarationReader {
public:
    explicit DeclarationReader(Source &source) : source_(source), scope_(std::make_shared<const Scope>()) {}
    Declarations read() {
        read_scope({0, source_.size() - 1}, false);
        return std::move(declarations_);
    }

private:
    void read_scope(Range range, bool type);
    void read_inner(Scope scope, Range range, bool type);
    Index read_namespace(Index begin, Index end);
    Index read_declaration(Index begin, Index end, bool type);
    Index read_type(Declaration &declaration, Index end);

    Source &source_;
    std::shared_ptr<const Scope> scope_;
    Declarations declarations_;
};

void DeclarationReader::read_scope(Range range, bool type) {
    std::size_t length = 0;
    for (const std::string &name : *scope_) length += name.size();
    if (scope_->size() > deepest_nesting || length > longest_scope)
        return source_.problem(range.begin, "namespaces and types are nested too deeply: at most " +
                                                std::to_string(deepest_nesting) + " levels, and " +
                                                std::to_string(longest_scope) + " characters of names");
    const Index end = range.end;
    for (Index i = range.begin; i < end;) {
        const Token &token = source_[i];
        const bool access = type && i + 1 < end && source_[i + 1].is(":") &&
                            (token.is("public") || token.is("private") || token.is("protected"));
        if (access) {
            i += 2;
        } else if (token.is(";") || token.is("}")) {
            ++i;
        } else if (token.is("namespace") || (token.is("inline") && source_[i + 1].is("namespace"))) {
            i = read_namespace(i, end);
        } else if (token.is("extern") && source_[i + 1].kind == TokenKind::string && source_[i + 2].is("{")) {
            i += 3;  // its declarations belong to this scope; its `}` is skipped above
        } else {
            const Index next = read_declaration(i, end, type);
            i = next > i ? next : i + 1;
        }
    }
}

void DeclarationReader::read_inner(Scope scope, Range range, bool type) {
    const std::shared_ptr<const Scope> outer = std::exchange(scope_, std::make_shared<const Scope>(std::move(scope)));
    read_scope(range, type);
    scope_ = outer;
}

Index DeclarationReader::read_namespace(Index begin, Index end) {
    Index i = begin;
    while (!source_[i].is("namespace")) ++i;
    ++i;
    Scope scope = *scope_;
    bool named = false;
    for (; i < end && !source_[i].is("{") && !source_[i].is(";") && !source_[i].is("="); ++i) {
        if (source_.opens_attribute(i)) {
            i = source_.skip_group(i, end) - 1;
        } else if (source_[i].is_identifier()) {
            scope.emplace_back(source_[i].text);
            named = true;
        }
    }
    if (i >= end || !source_[i].is("{")) return source_.skip_to_semicolon(i, end);  // an alias
    if (!named) scope.emplace_back();
    const Index past = source_.skip_group(i, end);
    read_inner(std::move(scope), {i + 1, past - 1}, false);
    return past;
}

Index DeclarationReader::read_declaration(Index begin, Index end, bool type) {
    const Token &first = source_[begin];
    if (first.is("using") || first.is("typedef") || first.is("static_assert") || first.is("_Static_assert")) {
        Declaration &statement = declarations_.emplace_back();
        statement.kind = DeclarationKind::statement;
        statement.begin = begin;
        statement.scope = scope_;
        return statement.end = source_.skip_to_semicolon(begin, end);
    }
    Declaration declaration = read_head(source_, begin, end);
    declaration.scope = scope_;
    declaration.member = type;
    const Index head_end = declaration.head_end;
    declaration.constructor =
        type && declaration.parameters && scope_->back().starts_with(source_[declaration.name_begin].text);
    if (declaration.explicit_instantiation && declaration.kernel) {
        declaration.kind = DeclarationKind::kernel_instantiation;
        declaration.end = source_.skip_to_semicolon(begin, end);
    } else if (declaration.parameters && head_end < end && (source_[head_end].is("{") || source_[head_end].is(":"))) {
        declaration.kind = DeclarationKind::function;
        const Index open = body_begin(source_, declaration, end);
        declaration.end = open < end ? source_.skip_group(open, end) : source_.skip_to_semicolon(head_end, end);
        if (open < end) declaration.body = {open, declaration.end};
    } else if (declaration.parameters) {
        declaration.kind = DeclarationKind::prototype;
        declaration.deleted_for_space = type && is_deleted_for_space(source_, declaration, end);
        declaration.end = source_.skip_to_semicolon(head_end, end);
    } else if (const Index key = declaration.class_key != 0 ? declaration.class_key : begin;
               is_class_key(source_[key].text) && !only_names_type(source_, key, end)) {
        declaration.kind = DeclarationKind::type;
        return read_type(declaration, end);
    } else {
        declaration.kind = DeclarationKind::variable;
        declaration.end = source_.skip_to_semicolon(begin, end);
    }
    return declarations_.emplace_back(std::move(declaration)).end;
}

Index DeclarationReader::read_type(Declaration &declaration, Index end) {
    Index open = declaration.head_end;
    while (open < end && !source_[open].is("{") && !source_[open].is(";")) ++open;  // past the bases
    const bool defined = open < end && source_[open].is("{");
    const Index past = defined ? source_.skip_group(open, end) : declaration.begin;
    if (defined) declaration.body = {open, past};
    const Index declaration_end = declaration.end = source_.skip_to_semicolon(past, end);
    const Index key = declaration.class_key != 0 ? declaration.class_key : declaration.begin;
    const Range head{key + 1, declaration.head_end};
    declarations_.push_back(std::move(declaration));
    if (!defined || source_[key].is("enum")) return declaration_end;
    Scope scope = *scope_;
    scope.push_back(source_.spelling(head));
    read_inner(std::move(scope), {open + 1, past - 1}, true);
    return declaration_end;
}

}  // namespace

Declarations read_declarations(Source &source) { return DeclarationReader(source).read(); }

std::string_view own_name(const Source &source, const Declaration &declaration) {
    Index name = declaration.name_begin;
    for (Index i = name; i < declaration.name_end; ++i) {
        if (source[i].is("operator")) return source[i].text;
        if (source[i].is_identifier()) name = i;
        if (source[i].is("<")) i = source.skip_angles(i, declaration.name_end).value_or(i + 1) - 1;
    }
    return source[name].text;
}

std::string qualified(const Scope &scope, std::string_view name) {
    std::string text;
    for (const std::string &outer : scope)
        if (!outer.empty()) text += outer + "::";
    text += name;
    return text;
}

std::string full_name(const Source &source, const Declaration &declaration) {
    return qualified(*declaration.scope, source.spelling({declaration.name_begin, declaration.name_end}));
}

}  // namespace smtl::msl
