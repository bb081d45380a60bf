#include "threadgroup_variables.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "msl/source/attributes.h"
#include "msl/source/declarators.h"

namespace smtl::msl {
namespace {

bool begins_no_variable(const Token &token) {
    constexpr std::array<std::string_view, 12> texts = {"if",   "for",    "while", "switch",  "do", "else",
                                                        "case", "return", "{",     "default", "}",  ";"};
    return token.is_one_of(texts);
}

// What a declaration stands in, or that it declares the name of a type.
enum class Context {
    program,
    type,
    block,
    statement,
    alias
};

class Allocation {
public:
    explicit Allocation(Source &source) : source_(source) {}
    ThreadgroupVariables allocate(const Declarations &declarations);

private:
    void mark_accounted(Range range);
    void allocate_in(Index begin, Index end, Context context);
    void allocate_variables(Index begin, Index end, Context context);
    bool lies_in_threadgroup(const Specifiers &specifiers, const Declarator &declarator, Context context);
    void share_variables(const Specifiers &specifiers, const std::vector<Declarator> &declarators, Index end);

    Source &source_;
    ThreadgroupVariables variables_;
};

ThreadgroupVariables Allocation::allocate(const Declarations &declarations) {
    for (const Declaration &declaration : declarations) {
        const auto &[begin, end] = Range{declaration.begin, declaration.end};
        const bool function = declaration.kind == DeclarationKind::function,
                   prototype = declaration.kind == DeclarationKind::prototype;
        if (declaration.erased) {
            mark_accounted({begin, end});
        } else if (declaration.kind == DeclarationKind::statement) {
            allocate_in(begin, end, Context::program);
        } else if (declaration.kind == DeclarationKind::variable) {
            allocate_variables(begin, end, declaration.member ? Context::type : Context::program);
        } else if (function || prototype) {
            if (prototype && !declaration.member) allocate_variables(begin, end, Context::program);
            mark_accounted({begin, declaration.head_end});
            if (!declaration.body.empty())
                allocate_in(declaration.body.begin + 1, declaration.body.end - 1, Context::block);
        }
    }
    return std::move(variables_);
}

void Allocation::mark_accounted(Range range) {
    for (Index i = range.begin; i < range.end; ++i)
        if (space_named(source_, i) != AddressSpace::none) variables_.accounted.insert(i);
}

// Statements are found by what may stand before them; whatever else is taken for one has no address space outside of
// parentheses and angle brackets.
void Allocation::allocate_in(Index begin, Index end, Context context) {
    std::set<Index> behind_conditions, types;
    std::map<Index, std::size_t> read;  // how many have been read to where a statement ends
    std::vector<Index> heads;           // where the conditions around end
    std::vector<Context> contexts{context};
    for (Index i = begin; i < end; ++i) {
        const Token &previous = source_[i == 0 ? 0 : i - 1];
        const bool within = previous.is("(") && i > begin + 1 && begins_head(source_[i - 2]);
        const bool begins = i == begin || previous.is(";") || previous.is("{") || previous.is("}") ||
                            previous.is(":") || previous.is("else") || previous.is("do") ||
                            behind_conditions.contains(i);
        while (!heads.empty() && heads.back() <= i) heads.pop_back();
        if (within) heads.push_back(*behind_conditions.insert(source_.skip_group(i - 1, end)).first);
        // Each that begins within another one is read to the same end; nobody writes as many. What is then not found to
        // be a declaration is an error, as everywhere.
        constexpr std::size_t deepest = 64;
        const Index stop = std::min(source_.skip_to_semicolon(i, end), end);
        if ((begins || within) && !begins_no_variable(source_[i]) && heads.size() < deepest && read[stop]++ < deepest) {
            Specifiers specifiers;
            const Index declarators = read_specifiers(source_, i, end, specifiers);
            if (specifiers.body != 0) types.insert(specifiers.body);
            if (specifiers.typed && declarators < end)
                allocate_variables(i, stop, within ? Context::statement : contexts.back());
        }
        if (source_[i].is("{")) contexts.push_back(types.contains(i) ? Context::type : Context::block);
        if (source_[i].is("}") && contexts.size() > 1) contexts.pop_back();
    }
}

// Reads the declaration before the semicolon that ends at `end`, or before the parenthesis that ends a condition.
void Allocation::allocate_variables(Index begin, Index end, Context context) {
    while (source_[begin].is("using")) {
        while (begin < end && !source_[begin].is("=")) ++begin;
        if (begin >= end) return;
        ++begin;
        context = Context::alias;
    }
    if (source_[end - 1].is(";")) --end;
    Specifiers specifiers;
    Index i = read_specifiers(source_, begin, end, specifiers);
    // What stands behind the body of a type belongs to the declaration that began before it.
    for (Index space : specifiers.spaces)
        if (!variables_.accounted.insert(space).second) return;
    if (specifiers.alias) context = Context::alias;
    bool is_static = false, unchanging = context != Context::block;
    for (Index j = begin; j < i; ++j) {
        if (specifiers.body != 0 && j == specifiers.body) j = source_.skip_group(j, i) - 1;
        is_static = is_static || source_[j].is("static");
        unchanging = unchanging || source_[j].is("const") || source_[j].is("constexpr") || source_[j].is("constant") ||
                     source_[j].is("threadgroup");
    }
    if (is_static && !unchanging)
        source_.problem(begin, "static variables of functions must be in the constant address space");
    std::vector<Declarator> declarators;
    bool shared = false;
    for (bool more = specifiers.typed; more; ++i) {
        Declarator &declarator = declarators.emplace_back();
        declarator.begin = i;
        i = declarator.end = read_declarator(source_, i, end, declarator);
        declarator.shared = lies_in_threadgroup(specifiers, declarator, context);
        shared = shared || declarator.shared;
        more = i < end && source_[i].is(",");
    }
    if (shared) share_variables(specifiers, declarators, end);
}

// Reports what cannot lie where it is said to.
bool Allocation::lies_in_threadgroup(const Specifiers &specifiers, const Declarator &declarator, Context context) {
    variables_.accounted.insert(declarator.spaces.begin(), declarator.spaces.end());
    variables_.accounted.insert(declarator.other_spaces.begin(), declarator.other_spaces.end());
    std::vector<Index> spaces = declarator.spaces;
    if (!declarator.indirect) spaces.insert(spaces.end(), specifiers.spaces.begin(), specifiers.spaces.end());
    Index at = 0;
    for (Index space : spaces) {
        if (source_[space].is("threadgroup_imageblock")) source_.problem(space, "imageblocks are not supported");
        if (space_named(source_, space) == AddressSpace::threadgroup ||
            space_named(source_, space) == AddressSpace::device)
            at = space;
    }
    if (at == 0) return false;
    // What is declared with an alias clang finds.
    if (context == Context::alias) return false;
    if (declarator.name == 0 || (declarator.called && context == Context::type)) return false;
    const std::string name = "'" + std::string(source_[declarator.name].text) + "'",
                      space = "the " + std::string(source_[at].text) + " address space";
    if (declarator.reference) {
        source_.problem(at, name + " is a reference: write its address space before the '&'");
    } else if (context == Context::type) {
        source_.problem(at, name + " is a member and cannot name " + space + ": it lies in its object's");
    } else if (space_named(source_, at) == AddressSpace::device) {
        source_.problem(at, name + " cannot be in the device address space: pass it to the kernel as a buffer");
    } else if (context == Context::program) {
        source_.problem(at, name + " cannot be in the threadgroup address space: declare it in a function");
    } else if (context == Context::statement) {
        source_.problem(at, name + " is in the threadgroup address space: declare it in a statement of its own");
    } else if (declarator.called || declarator.initialised) {
        source_.problem(
            at, name + " is in the threadgroup address space and cannot have an initializer: assign to it later");
    } else {
        variables_.shared[declarator.name] = declarator.array;
        return true;
    }
    return false;
}

// If some declarators are shared and others are pointers, each kind gets a declaration of its own. Clang's C++ for
// OpenCL, in which sources are checked, wants shared variables in kernels only, and templates cannot be kernels there:
// the names become types, and references to such types in threadgroup memory.
void Allocation::share_variables(const Specifiers &specifiers, const std::vector<Declarator> &declarators, Index end) {
    const Range head{specifiers.begin, declarators.front().begin};
    for (Index i = head.begin; i < head.end; ++i) {
        if (source_[i].is("static")) source_[i].erase();
        if (source_[i].is("alignas"))
            source_[i].replace("_Alignas");  // which stands anywhere, as the other does in front
    }
    const std::string plain = source_.written(head);
    const Index at = specifiers.spaces.empty() ? head.begin : specifiers.spaces.front();
    Token &first = source_[at];
    const Token unshared = first;
    const std::string before = first.replaced ? first.replacement : std::string(first.text);
    if (!source_.checking())
        first.replace("static SMTL_THREADGROUP_STORAGE " + before);
    else
        first.replace(specifiers.spaces.empty() ? "typedef " + before : "typedef");
    const std::string storing = source_.written(head);
    if (!declarators.front().shared) first = unshared;
    std::string references;
    for (std::size_t i = 0; i < declarators.size(); ++i) {
        const Declarator &declarator = declarators[i];
        if (i > 0 && declarator.shared != declarators[i - 1].shared) {
            if (specifiers.body != 0)
                return source_.problem(
                    declarator.begin,
                    "a declaration that defines a type cannot declare both pointers and variables in the threadgroup "
                    "address space: write two declarations");
            source_[declarators[i - 1].end].replace("; " + std::exchange(references, {}) +
                                                    (declarator.shared ? storing : plain) + " ");
        }
        if (!source_.checking() || !declarator.shared) continue;
        const std::string variable(source_[declarator.name].text), type = "smtl_type_of_" + variable;
        for (Index space : declarator.spaces) source_[space].replace("");
        source_[declarator.name].replace(type);
        references += " threadgroup " + type + " &" + variable + " = *smtl_threadgroup_memory<" + type + ">();";
    }
    source_[end].appended += references;
}

}  // namespace

ThreadgroupVariables allocate_threadgroup_variables(Source &source, const Declarations &declarations) {
    return Allocation(source).allocate(declarations);
}

void reject_stray_spaces(Source &source, const ThreadgroupVariables &variables) {
    std::vector<Index> open;
    Index angles_end = 0, alias_end = 0;
    for (Index i = 0; i + 1 < source.size(); ++i) {
        const Token &token = source[i];
        if (token.is("(") || token.is("[") || token.is("{")) open.push_back(i);
        if ((token.is(")") || token.is("]") || token.is("}")) && !open.empty()) open.pop_back();
        if (token.is("<")) angles_end = std::max(angles_end, source.skip_angles(i, source.size() - 1).value_or(0));
        // The alias is a template's: others have been read as declarations.
        if (token.is("using")) alias_end = source.skip_to_semicolon(i, source.size() - 1);
        const AddressSpace space = space_named(source, i);
        const bool matters = space == AddressSpace::threadgroup || space == AddressSpace::device;
        if (!matters || i < angles_end || i < alias_end || variables.accounted.contains(i) ||
            (!open.empty() && !source[open.back()].is("{")))
            continue;
        Index before = i == 0 ? 0 : i - 1;
        while (before > 0 && (source[before].is("const") || source[before].is("volatile"))) --before;
        if (source[before].is("->") || source[before].is("operator")) continue;
        source.problem(i, "'" + std::string(token.text) + "' must qualify a variable, a pointer or a reference");
    }
}

}  // namespace smtl::msl
