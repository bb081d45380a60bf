#include "space_dependence.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "msl/source/attributes.h"
#include "msl/source/declarators.h"

namespace smtl::msl {
namespace {

// Numbers, vectors and matrices: `uint`, `half4`, `float3x3`.
bool is_arithmetic(std::string_view type) {
    constexpr std::array<std::string_view, 18> scalars = {
        "bool", "char",   "uchar", "short",  "ushort", "int",     "uint",     "long",      "ulong",
        "half", "bfloat", "float", "size_t", "int8_t", "uint8_t", "unsigned", "ptrdiff_t", "signed"};
    while (!type.empty() && ((type.back() >= '2' && type.back() <= '4') || type.back() == 'x')) type.remove_suffix(1);
    return std::find(scalars.begin(), scalars.end(), type) != scalars.end();
}

// One parameter, as far as it decides which arguments it takes.
struct Taken {
    std::string spaces;  // of what it points or refers to
    std::string type;  // without spaces, `const` and what makes it a pointer or reference
    std::string erased;  // all of it but for its spaces
    bool pointer = false;
    bool reference = false;
    bool constant = false;
    bool optional = false;
    bool pack = false;
};

// No argument suits both: neither converts to what the other one takes.
bool exclude(const Taken &a, const Taken &b) {
    if (!is_arithmetic(a.type) || !is_arithmetic(b.type) || a.pack || b.pack) return false;
    if (a.pointer && b.pointer) return a.type != b.type;
    if (a.pointer != b.pointer) return (a.pointer ? b : a).type != "bool";
    return a.reference && b.reference && !a.constant && !b.constant && a.type != b.type;
}

struct Overload {
    std::vector<Taken> parameters;
    std::size_t fewest = 0, most = 0;  // arguments
    std::string types, spaces;  // of all parameters
    const Declaration *declaration = nullptr;
    const Taken &at(std::size_t i) const { return parameters[std::min(i, parameters.size() - 1)]; }
};

// Some call could have either, and the address spaces decide.
bool spaces_decide(const Overload &a, const Overload &b) {
    if (a.parameters.empty() || b.parameters.empty() || a.fewest > b.most || b.fewest > a.most) return false;
    const std::size_t count = std::max(a.parameters.size(), b.parameters.size());
    bool differ = false;
    for (std::size_t i = 0; i < std::min({count, a.most, b.most}); ++i) {
        if (exclude(a.at(i), b.at(i))) return false;
        differ = differ || a.at(i).spaces != b.at(i).spaces;
    }
    return differ;
}

class Dependence {
public:
    Dependence(Source &source, const Declarations &declarations) : source_(source), declarations_(declarations) {}
    bool of_overloads();
    bool of_template_arguments() const;

private:
    void read_names();
    Taken read_taken(Range part) const;
    Overload read_overload(const Declaration &declaration) const;
    std::set<Index> complete_specialisations() const;
    bool compares_types(Index name, Index past) const;
    bool meet(const Declaration &a, const Declaration &b) const;
    bool decide_among(const std::vector<Overload> &overloads) const;

    Source &source_;
    const Declarations &declarations_;
    std::set<std::string_view> imported_;  // `name` of `using a::name;`
    std::set<std::string_view> parameters_;  // types that templates are given
    std::set<std::string_view> aliases_;  // of types with address spaces
};

void Dependence::read_names() {
    for (Index i = 0; i + 1 < source_.size(); ++i) {
        if (source_[i].is("typename") || source_[i].is("class")) parameters_.insert(source_[i + 1].text);
        const bool typedefs = source_[i].is("typedef");
        if (!typedefs && !source_[i].is("using")) continue;
        const Index end = source_.skip_to_semicolon(i, source_.size() - 1);
        bool spaces = false, assigned = false;
        std::string_view last;
        for (Index j = i + 1; j < end && !source_[j].is("using") && !source_[j].is("typedef"); ++j) {
            if (source_[j].is("{")) j = source_.skip_group(j, end) - 1;
            const bool space = space_named(source_, j) != AddressSpace::none;
            spaces = spaces || space || aliases_.contains(source_[j].text);
            if (source_[j].is("=") && !typedefs) {
                assigned = true;
            } else if (source_[j].is_identifier() && !space && !assigned) {
                last = source_[j].text;
            }
        }
        if (spaces) aliases_.insert(last);
        if (!typedefs && !assigned) imported_.insert(last);
    }
}

Taken Dependence::read_taken(Range part) const {
    Taken taken;
    Index end = part.begin;
    while (end < part.end && !source_[end].is("=")) end = source_.skip_part(end, part.end);
    taken.optional = end < part.end;
    bool alias = false;
    std::string stars;
    for (Index i = part.begin; i < end; ++i) {
        const Token &token = source_[i];
        if (source_.opens_attribute(i)) {
            i = source_.skip_group(i, end) - 1;
        } else if (space_named(source_, i) != AddressSpace::none || aliases_.contains(token.text)) {
            (taken.spaces += token.text) += ' ';
            alias = alias || aliases_.contains(token.text);
            taken.constant = taken.constant || token.is("constant");
        } else if (token.is("const")) {
            taken.constant = true;
        } else if (token.is("*") || token.is("[")) {
            taken.pointer = true;
            stars += '*';
        } else if (token.is("&") || token.is("&&")) {
            taken.reference = true;
            stars += token.text;
        } else if (token.is("...")) {
            taken.pack = true;
        }
    }
    Specifiers specifiers;
    const Index declarator = read_specifiers(source_, part.begin, end, specifiers);
    for (Index i = part.begin; i < declarator; ++i) {
        const Token &token = source_[i];
        if (source_.opens_attribute(i)) {
            i = source_.skip_group(i, declarator) - 1;
        } else if (space_named(source_, i) == AddressSpace::none && !token.is("const") && !token.is("metal") &&
                   !token.is("::")) {
            if (!taken.type.empty()) taken.type += ' ';
            taken.type += token.text;
        }
    }
    taken.erased = (taken.constant ? "const " : "") + taken.type + stars;
    // A value lies in no space but the thread's.
    if (!taken.pointer && !taken.reference && !alias) taken.spaces.clear();
    return taken;
}

Overload Dependence::read_overload(const Declaration &declaration) const {
    Overload overload;
    overload.declaration = &declaration;
    for (const std::string &outer : *declaration.scope) overload.types += outer + "::";
    for (const Range &part : source_.split_commas(*declaration.parameters)) {
        if (part.empty() || (part.end == part.begin + 1 && source_[part.begin].is("void"))) continue;
        Taken taken = read_taken(part);
        if (!taken.optional && !taken.pack) overload.fewest = overload.parameters.size() + 1;
        overload.most = taken.pack ? std::numeric_limits<std::size_t>::max()
                                   : std::max(overload.most, overload.parameters.size() + 1);
        overload.types += taken.erased + ",";
        overload.spaces += taken.spaces + ",";
        overload.parameters.push_back(std::move(taken));
    }
    return overload;
}

// Members of different types meet where one of these takes over the other's. `a + b` looks for members and others.
bool Dependence::meet(const Declaration &a, const Declaration &b) const {
    Index symbol = a.name_begin;
    while (symbol < a.name_end && !source_[symbol].is("operator")) ++symbol;
    const bool free_operator = ++symbol <= a.name_end && !source_[symbol].is("(") && !source_[symbol].is("[") &&
                               !source_[symbol].is("=") && !source_[symbol].is("->");
    if (free_operator || imported_.contains(own_name(source_, a)) || imported_.contains(own_name(source_, b)))
        return true;
    const auto is_friend = [&](const Declaration &declaration) {
        for (Index i = declaration.begin; i < declaration.name_begin; ++i) {
            if (source_[i].is("friend")) return true;
        }
        return false;
    };
    const bool member = a.member && !is_friend(a), other_member = b.member && !is_friend(b);
    return member == other_member && (!member || *a.scope == *b.scope);
}

bool Dependence::of_overloads() {
    read_names();
    std::map<std::string, std::vector<Overload>> overloads;
    for (const Declaration &declaration : declarations_) {
        const bool function =
            declaration.kind == DeclarationKind::function || declaration.kind == DeclarationKind::prototype;
        if (!function || !declaration.parameters || declaration.kernel || declaration.deleted_for_space) continue;
        std::string name(declaration.constructor ? "" : own_name(source_, declaration));
        for (Index i = declaration.name_begin; name.starts_with("operator") && i < declaration.name_end; ++i) {
            if (source_[i].is("operator")) name = source_.spelling({i, declaration.name_end});
        }
        overloads[name].push_back(read_overload(declaration));
    }
    return std::any_of(overloads.begin(), overloads.end(),
                       [&](const auto &named) { return decide_among(named.second); });
}

// What was merged exists in several spaces and says the same in each. Two such leave the choice to their other
// differences if both exist in the same spaces.
bool Dependence::decide_among(const std::vector<Overload> &overloads) const {
    std::map<std::string, std::set<std::string>> spaces;
    std::set<std::string> merged;
    for (const Overload &overload : overloads) {
        spaces[overload.types].insert(overload.spaces);
        if (overload.declaration->erased) merged.insert(overload.types);
    }
    if (std::all_of(overloads.begin(), overloads.end(),
                    [&](const Overload &overload) { return overload.spaces == overloads.front().spaces; }))
        return false;
    constexpr std::size_t most_compared = 128;
    if (overloads.size() > most_compared) return true;
    for (const Overload &a : overloads) {
        for (const Overload &b : overloads) {
            const bool same = a.types == b.types ? merged.contains(a.types) : spaces[a.types] == spaces[b.types];
            if (&a < &b && !same && spaces_decide(a, b) && meet(*a.declaration, *b.declaration)) return true;
        }
    }
    return false;
}

// Specialisations of one template for pointers to every space, which say the same for each whatever the qualifiers are:
// `using type = remove_cv_t<T>`.
std::set<Index> Dependence::complete_specialisations() const {
    struct Family {
        std::set<std::string_view> spaces;
        std::set<std::string> bodies;
        std::vector<Index> arguments;
        bool qualified = false;
    };
    std::map<std::string, Family> families;
    for (const Declaration &declaration : declarations_) {
        const auto &parameters = declaration.template_parameters;
        if (declaration.kind != DeclarationKind::type || !parameters || declaration.body.empty()) continue;
        std::string head;
        for (const std::string &outer : *declaration.scope) head += outer + "::";
        std::set<std::string_view> names, spaces;
        for (const Range &part : source_.split_commas(*parameters)) {
            if (!part.empty()) names.insert(source_[part.end - 1].text);
        }
        Index arguments = 0;
        for (Index i = declaration.begin; i < declaration.head_end; ++i) {
            if (i > parameters->end && source_[i].is("<") && arguments == 0) arguments = i;
            if (space_named(source_, i) == AddressSpace::none) (head += source_[i].text) += ' ';
            if (space_named(source_, i) != AddressSpace::none) spaces.insert(source_[i].text);
        }
        if (spaces.size() != 1) continue;
        Family &family = families[head];
        family.spaces.insert(spaces.begin(), spaces.end());
        family.bodies.insert(source_.spelling(declaration.body));
        family.arguments.push_back(arguments);
        for (Index i = declaration.body.begin; i < declaration.body.end; ++i)
            family.qualified =
                family.qualified ||
                (names.contains(source_[i].text) &&
                 !(source_[i - 1].is("<") && (source_[i - 2].is("remove_cv_t") || source_[i - 2].is("remove_cv"))));
    }
    std::set<Index> complete;
    for (const auto &[head, family] : families) {
        if (family.spaces.size() == 4 && family.bodies.size() == 1 && !family.qualified)
            complete.insert(family.arguments.begin(), family.arguments.end());
    }
    return complete;
}

// `is_same_v<T, decltype(p)>`: two types of which the source says nothing, and which could be pointers.
bool Dependence::compares_types(Index name, Index past) const {
    if (!source_[name].is("is_same") && !source_[name].is("is_same_v")) return false;
    constexpr Index longest = 256;  // one could stand in another one
    if (past - name > longest) return true;
    for (const Range &part : source_.split_commas({name + 2, past - 1})) {
        bool unknown = part.end == part.begin + 1 && parameters_.contains(source_[part.begin].text);
        for (Index i = part.begin; i < part.end; ++i) unknown = unknown || source_[i].is("decltype");
        if (!unknown) return false;
    }
    return true;
}

// The parameters of templates, the operands of casts and the elements of arrays tell no two types apart; what stands
// within these could.
bool Dependence::of_template_arguments() const {
    const Index end = source_.size() - 1;
    const std::set<Index> complete = complete_specialisations();
    Index arguments_end = 0;  // of those around
    for (Index i = 1; i < end; ++i) {
        if (i < arguments_end) {
            const Index past = source_[i].is("<") ? source_.skip_angles(i, end).value_or(0) : 0;
            if (past != 0 && compares_types(i - 1, past)) return true;
            if (space_named(source_, i) != AddressSpace::none || aliases_.contains(source_[i].text)) return true;
            continue;
        }
        if (!source_[i].is("<") || complete.contains(i)) continue;
        const Token &name = source_[i - 1];
        if (!name.is_identifier() || name.is("template") || name.text.ends_with("_cast") || name.is("array")) continue;
        arguments_end = source_.skip_angles(i, end).value_or(0);
        if (arguments_end != 0 && compares_types(i - 1, arguments_end)) return true;
    }
    return false;
}

}  // namespace

bool depends_on_spaces(Source &source, const Declarations &declarations) {
    Dependence dependence(source, declarations);
    return dependence.of_overloads() || dependence.of_template_arguments();
}

}  // namespace smtl::msl
