// `threadgroup float tile[32];` in a function becomes thread-local storage: all threads of a threadgroup run as fibers
// of one system thread. `threadgroup float *p = tile;` declares a pointer, which is private to each thread. What is not
// understood would be private, too, and nobody would notice: it is an error.
#include <algorithm>
#include <utility>

#include "translator.h"

namespace smtl::msl {
namespace {

bool opens_condition(const Token &token) {
    return token.is("if") || token.is("for") || token.is("while") || token.is("switch") || token.is("constexpr");
}

}  // namespace

void Translator::mark_placed(Range range) {
    for (Index i = range.begin; i < range.end; ++i) {
        if (space_named(i) != AddressSpace::none) placed_.insert(i);
    }
}

// Statements are found by what may stand before them; whatever else is taken for one has no address space outside of
// parentheses and angle brackets.
void Translator::place_statements(Index begin, Index end, Place place) {
    std::set<Index> behind_conditions, types;
    std::vector<Place> places{place};
    std::size_t inner_statements = 0;
    for (Index i = begin; i < end; ++i) {
        const Token &previous = tokens_[i == 0 ? 0 : i - 1];
        const bool within = previous.is("(") && i > begin + 1 && opens_condition(tokens_[i - 2]);
        // Each that begins within another one is read to the same end; nobody writes as many. What is then not found to
        // be a declaration is an error, as everywhere.
        constexpr std::size_t deepest = 64;
        const bool first = i == begin || previous.is(";") || previous.is("{") || previous.is("}");
        const bool inner =
            previous.is(":") || previous.is("else") || previous.is("do") || behind_conditions.contains(i);
        inner_statements = first ? 0 : inner_statements + inner;
        const bool begins = first || (inner && inner_statements < deepest);
        if (within) behind_conditions.insert(skip_group(i - 1, end));
        if (begins || within) {
            Specifiers specifiers;
            const Index declarators = read_specifiers(i, end, specifiers);
            if (specifiers.body != 0) types.insert(specifiers.body);
            if (specifiers.typed && declarators < end)
                place_variables(i, std::min(skip_to_semicolon(i, end), end), within ? Place::statement : places.back());
        }
        if (tokens_[i].is("{")) places.push_back(types.contains(i) ? Place::type : Place::block);
        if (tokens_[i].is("}") && places.size() > 1) places.pop_back();
    }
}

// Of the declaration before the semicolon that ends at `end`; of one in a condition before its parenthesis.
void Translator::place_variables(Index begin, Index end, Place place) {
    if (tokens_[begin].is("using")) {
        while (begin < end && !tokens_[begin].is("=")) ++begin;
        return begin < end ? place_variables(begin + 1, end, Place::alias) : void();
    }
    if (tokens_[end - 1].is(";")) --end;
    Specifiers specifiers;
    Index i = read_specifiers(begin, end, specifiers);
    // What stands behind the body of a type belongs to the declaration that began before it.
    for (Index space : specifiers.spaces) {
        if (!placed_.insert(space).second) return;
    }
    if (specifiers.alias) place = Place::alias;
    std::vector<Declarator> declarators;
    bool shared = false;
    for (bool more = specifiers.typed; more; ++i) {
        Declarator &declarator = declarators.emplace_back();
        declarator.begin = i;
        i = declarator.end = read_declarator(i, end, declarator);
        declarator.shared = lies_in_threadgroup(specifiers, declarator, place);
        shared = shared || declarator.shared;
        more = i < end && tokens_[i].is(",");
    }
    if (shared) share_variables(specifiers, declarators, end);
}

// Reports what cannot lie where it is said to.
bool Translator::lies_in_threadgroup(const Specifiers &specifiers, const Declarator &declarator, Place place) {
    placed_.insert(declarator.spaces.begin(), declarator.spaces.end());
    placed_.insert(declarator.other_spaces.begin(), declarator.other_spaces.end());
    std::vector<Index> spaces = declarator.spaces;
    if (!declarator.indirect) spaces.insert(spaces.end(), specifiers.spaces.begin(), specifiers.spaces.end());
    Index at = 0;
    for (Index space : spaces) {
        if (tokens_[space].is("threadgroup_imageblock")) problem(space, "imageblocks are not supported");
        if (space_named(space) == AddressSpace::threadgroup || space_named(space) == AddressSpace::device) at = space;
    }
    if (at == 0) return false;
    if (place == Place::alias) {
        depends_on_spaces_ = true;  // clang finds what is declared with such a type
        return false;
    }
    if (declarator.name == 0 || (declarator.called && place == Place::type)) return false;
    const std::string name = "'" + std::string(tokens_[declarator.name].text) + "'",
                      space = "the " + std::string(tokens_[at].text) + " address space";
    if (declarator.reference) {
        problem(at, name + " is a reference: its address space stands before the '&'");
    } else if (place == Place::type) {
        problem(at, name + " is a member, which lies where its object does: it cannot be in " + space);
    } else if (space_named(at) == AddressSpace::device) {
        problem(at, name + " cannot be in the device address space: buffers are arguments of kernels");
    } else if (place == Place::program) {
        problem(at, name + " cannot be in the threadgroup address space outside of a function");
    } else if (place == Place::statement) {
        problem(at, name + " is in the threadgroup address space: its declaration is a statement of its own");
    } else if (declarator.called || declarator.initialised) {
        problem(at, name + " is in the threadgroup address space, which cannot be initialized");
    } else {
        shared_variables_[declarator.name] = declarator.array;
        return true;
    }
    return false;
}

// Where some declarators are shared and others pointers, each kind gets a declaration of its own. Clang's C++ for
// OpenCL, in which sources are checked, wants such variables in kernels only, and templates cannot be kernels there:
// the names become types, and references to such types in threadgroup memory.
void Translator::share_variables(const Specifiers &specifiers, const std::vector<Declarator> &declarators, Index end) {
    const Range head{specifiers.begin, declarators.front().begin};
    for (Index i = head.begin; i < head.end; ++i) {
        if (tokens_[i].is("static")) tokens_[i].erase();
        if (tokens_[i].is("alignas"))
            tokens_[i].replace("_Alignas");  // which stands anywhere, as the other does in front
    }
    const std::string plain = written(head);
    const Index at = specifiers.spaces.empty() ? head.begin : specifiers.spaces.front();
    Token &first = tokens_[at];
    const Token unshared = first;
    const std::string before = first.replaced ? first.replacement : std::string(first.text);
    if (!checking_) {
        first.replace("static SMTL_THREADGROUP_STORAGE " + before);
    } else {
        first.replace(specifiers.spaces.empty() ? "typedef " + before : "typedef");
    }
    const std::string storing = written(head);
    if (!declarators.front().shared) first = unshared;
    std::string references;
    for (std::size_t i = 0; i < declarators.size(); ++i) {
        const Declarator &declarator = declarators[i];
        if (i > 0 && declarator.shared != declarators[i - 1].shared) {
            if (specifiers.body != 0)
                return problem(
                    declarator.begin,
                    "a type is defined here: declare what is in the threadgroup address space apart from pointers");
            tokens_[declarators[i - 1].end].replace("; " + std::exchange(references, {}) +
                                                    (declarator.shared ? storing : plain) + " ");
        }
        if (!checking_ || !declarator.shared) continue;
        const std::string variable(tokens_[declarator.name].text), type = "smtl_type_of_" + variable;
        for (Index space : declarator.spaces) tokens_[space].replace("");
        tokens_[declarator.name].replace(type);
        references += " threadgroup " + type + " &" + variable + " = *smtl_threadgroup_memory<" + type + ">();";
    }
    tokens_[end].appended += references;
}

// Types that carry an address space of their own, and those of variables in one: `f<threadgroup float>`,
// `decltype(tile)`. What is declared with them only clang knows.
void Translator::note_spaces_of_types() {
    std::set<std::string_view> shared;
    for (const auto &[name, array] : shared_variables_) shared.insert(tokens_[name].text);
    for (Index i = 1; i + 1 < tokens_.size(); ++i) {
        const bool derived = tokens_[i].is("decltype") || tokens_[i].is("typeof") || tokens_[i].is("__typeof__");
        const Index operand_end = derived && !shared.empty() ? skip_group(i + 1, tokens_.size() - 1) : i;
        for (Index j = i + 1; j < operand_end; ++j)
            depends_on_spaces_ = depends_on_spaces_ || shared.contains(tokens_[j].text);
        if (space_named(i) != AddressSpace::threadgroup && space_named(i) != AddressSpace::device) continue;
        const auto qualifies = [&](Index j) { return tokens_[j].is("const") || tokens_[j].is("volatile"); };
        Index before = i - 1;
        while (before > 0 && qualifies(before)) --before;
        if (!tokens_[before].is("<") && !tokens_[before].is(",")) continue;
        const Index end = tokens_.size() - 1;
        Specifiers specifiers;
        Index past = read_specifiers(i, end, specifiers);
        while (past < end && tokens_[past].is("[")) past = skip_group(past, end);
        depends_on_spaces_ =
            depends_on_spaces_ || (specifiers.typed && (tokens_[past].is(">") || tokens_[past].is(",")));
    }
}

// Outside of parentheses and of template arguments an address space belongs to a declaration, or to the type that a
// function gives back.
void Translator::reject_stray_spaces() {
    std::vector<Index> open;
    Index angles_end = 0;
    for (Index i = 0; i + 1 < tokens_.size(); ++i) {
        const Token &token = tokens_[i];
        if (token.is("(") || token.is("[") || token.is("{")) open.push_back(i);
        if ((token.is(")") || token.is("]") || token.is("}")) && !open.empty()) open.pop_back();
        if (token.is("<")) angles_end = std::max(angles_end, skip_angles(i, tokens_.size() - 1).value_or(0));
        const AddressSpace space = space_named(i);
        const bool matters = space == AddressSpace::threadgroup || space == AddressSpace::device;
        if (!matters || i < angles_end || placed_.contains(i) || (!open.empty() && !tokens_[open.back()].is("{")))
            continue;
        Index before = i == 0 ? 0 : i - 1;
        while (before > 0 && (tokens_[before].is("const") || tokens_[before].is("volatile"))) --before;
        if (tokens_[before].is("->") || tokens_[before].is("operator")) continue;
        problem(i, "'" + std::string(token.text) + "' qualifies no variable here, and no pointer or reference");
    }
}

}  // namespace smtl::msl
