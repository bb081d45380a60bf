#include "member_spaces.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "msl/source/attributes.h"
#include "msl/source/declarators.h"

namespace smtl::msl {
namespace {

using Words = std::set<std::string_view>;

// One member, as far as it is told apart from others.
struct Member {
    Declaration *declaration;
    Words spaces;  // of the object; empty: none is named
    Words qualifiers;  // of the object, without spaces
    std::string body;  // its parameters' names are numbers, and their defaults stand before it
    Index result_space = 0;  // what the function gives back lies where the object does
};

// The members of one name and with the same parameters.
using Overloads = std::vector<Member>;

class Members {
public:
    explicit Members(Source &source) : source_(source) {}
    void read(Declaration &declaration);
    void merge();
    void drop_spaces();

private:
    Member read_object(Declaration &declaration) const;
    std::string read_parameters(const Declaration &declaration, Member &member) const;
    void refuse_if_spaces_decide(const Overloads &overloads) const;

    Source &source_;
    std::map<std::string, Overloads> overloads_;
};

Member Members::read_object(Declaration &declaration) const {
    Member member{&declaration, {}, {}, {}};
    for (Index i = declaration.parameters->end + 1; i < declaration.head_end; ++i) {
        const AddressSpace space = space_named(source_, i);
        if (space != AddressSpace::none) member.spaces.insert(source_[i].text);
        if (space == AddressSpace::constant && !declaration.constructor) member.qualifiers.insert("const");
        for (std::string_view qualifier : {"const", "volatile", "&", "&&"})
            if (source_[i].is(qualifier)) member.qualifiers.insert(qualifier);
    }
    for (Index i = declaration.begin; i < declaration.name_begin; ++i)
        if (member.spaces.contains(source_[i].text)) member.result_space = i;
    return member;
}

// What tells parameters apart: their types, with address spaces.
std::string Members::read_parameters(const Declaration &declaration, Member &member) const {
    std::string types;
    std::map<std::string_view, std::string> numbers;
    for (const Range &part : source_.split_commas(*declaration.parameters)) {
        const Declarator declarator = read_parameter(source_, part).declarator;
        const auto placeholder = "#" + std::to_string(numbers.size());
        if (declarator.name != 0) numbers.emplace(source_[declarator.name].text, placeholder);
        Index i = part.begin;
        for (; i < part.end && !source_[i].is("="); ++i)
            if (source_.opens_attribute(i))
                i = source_.skip_group(i, part.end) - 1;
            else if (i != declarator.name || declarator.name == 0)
                (types += ' ') += source_[i].text;
        types += ',';
        member.body += source_.spelling({i, part.end}) + ",";
    }
    for (Index i = declaration.head_end; i < declaration.end; ++i) {
        const bool part_of_object = source_[i - 1].is(".") || source_[i - 1].is("->") || source_[i - 1].is("::");
        const auto number = part_of_object ? numbers.end() : numbers.find(source_[i].text);
        (member.body += ' ') += number == numbers.end() ? source_[i].text : std::string_view(number->second);
    }
    return types;
}

void Members::read(Declaration &declaration) {
    Member member = read_object(declaration);
    std::string key;
    for (const std::string &outer : *declaration.scope) key += outer + "::";
    if (declaration.template_parameters) key += "<" + source_.spelling(*declaration.template_parameters) + ">";
    key += source_.spelling({declaration.name_begin, declaration.name_end});
    key += declaration.kind == DeclarationKind::function ? "(" : ";(";
    key += read_parameters(declaration, member);
    overloads_[key].push_back(std::move(member));
}

// Clang chooses by qualifiers alone. That is Metal's choice if each space has members with the same qualifiers, or all
// say the same.
void Members::refuse_if_spaces_decide(const Overloads &overloads) const {
    std::map<Words, std::set<Words>> qualifiers;
    std::map<Words, std::string_view> bodies;
    bool same = true;
    for (const Member &member : overloads) {
        qualifiers[member.spaces].insert(member.qualifiers);
        same = same && member.body == overloads.front().body;
    }
    if (same || qualifiers.size() == 1) return;
    for (const Member &member : overloads) {
        const std::string_view first = bodies.emplace(member.qualifiers, member.body).first->second;
        if (first == member.body && qualifiers[member.spaces] == qualifiers.begin()->second) continue;
        source_.problem(member.declaration->begin,
                        "members that differ only in the address space of their object must have the same body");
        return;
    }
}

void Members::merge() {
    for (auto &[key, overloads] : overloads_) {
        refuse_if_spaces_decide(overloads);
        std::map<Words, const Member *> kept;
        bool results_follow = overloads.size() > 1;
        for (const Member &member : overloads) results_follow = results_follow && member.result_space != 0;
        for (Member &member : overloads) {
            const Member &first = *kept.emplace(member.qualifiers, &member).first->second;
            if (&first != &member && first.spaces != member.spaces) {
                source_.erase({member.declaration->begin, member.declaration->end});
                member.declaration->erased = true;
            } else if (results_follow) {
                source_[member.result_space].replace("");
            }
        }
    }
}

// Behind the parameters of all members, also of types that are local to a function.
void Members::drop_spaces() {
    for (Index i = 1; i + 1 < source_.size(); ++i) {
        if (!source_[i - 1].is(")")) continue;
        bool unchanging = false;
        std::vector<Index> spaces;
        Index end = i;
        for (; end + 1 < source_.size(); ++end) {
            const AddressSpace space = space_named(source_, end);
            if (space != AddressSpace::none)
                spaces.push_back(end);
            else if (!source_[end].is("const") && !source_[end].is("volatile") && !source_[end].is("noexcept"))
                break;
            unchanging = unchanging || source_[end].is("const");
        }
        const Token &past = source_[end];
        const bool member = past.is("{") || past.is(";") || past.is(":") || past.is("=") || past.is("->");
        if (spaces.empty() || !member) continue;
        // `X() constant` constructs in constant memory; no constructor can be const.
        const Index name = source_.group_begin(i - 1) - 1;
        const bool constructor = past.is(":") || source_[name - 1].is("{") || source_[name - 1].is("}") ||
                                 source_[name - 1].is(";") || source_[name - 1].is(":") ||
                                 source_[name - 1].is("constexpr") || source_[name - 1].is("explicit");
        for (Index space : spaces) {
            const bool readable = source_[space].is("constant") && !constructor && !unchanging;
            source_[space].replace(readable ? "const" : "");
        }
    }
}

}  // namespace

void merge_members(Source &source, Declarations &declarations) {
    Members members(source);
    members.drop_spaces();
    for (Declaration &declaration : declarations) {
        if (!declaration.parameters || (!declaration.member && declaration.name_end < declaration.name_begin + 2))
            continue;
        if (declaration.deleted_for_space) {
            source.erase({declaration.begin, declaration.end});
            declaration.erased = true;
        } else if (declaration.kind == DeclarationKind::function || declaration.kind == DeclarationKind::prototype) {
            members.read(declaration);
        }
    }
    members.merge();
}

}  // namespace smtl::msl
