#include "structures.h"

#include <algorithm>
#include <utility>

#include "msl/source/attributes.h"

namespace smtl::msl {
namespace {

using Tokens = std::vector<Token>;
using Index = std::size_t;

bool opens(const Token &token) { return token.is("{") || token.is("(") || token.is("["); }
bool closes(const Token &token) { return token.is("}") || token.is(")") || token.is("]"); }

Index past_group(const Tokens &tokens, Index open) {
    int depth = 0;
    for (Index i = open; i < tokens.size(); ++i) {
        depth += opens(tokens[i]);
        depth -= closes(tokens[i]);
        if (depth == 0) return i + 1;
    }
    return tokens.size();
}

// The operand of `id(...)` in a list of attributes; empty if there is none.
std::string index_among(const Tokens &attributes, Index begin, Index end) {
    for (Index i = begin; i + 1 < end; i = opens(attributes[i]) ? past_group(attributes, i) : i + 1) {
        if (!attributes[i].is("id") || !attributes[i + 1].is("(")) continue;
        const Index past = past_group(attributes, i + 1);
        if (past > end) return {};
        return std::string(attributes[i + 1].text.data(), attributes[past - 1].text.data() + 1);
    }
    return {};
}

// Reads a list of attributes from the comment before a token that the list has become.
std::string index_before(const Token &token) {
    const std::size_t begin = token.leading.find("/*");
    if (begin == std::string_view::npos) return {};
    const std::string_view text = token.leading.substr(begin + 2);
    const Tokens inside = tokenize(text.substr(0, text.find("*/")));
    return index_among(inside, 0, inside.size() - 1);
}

// `int *a, b[2]` up to the token at `end`: nothing if one is not a plain member.
std::optional<std::vector<Member>> read_statement(const Tokens &tokens, Index begin, Index end) {
    std::vector<Member> members;
    std::string last_word, index;
    bool has_type = false;
    int depth = 0;
    const auto finish = [&] {
        if (!has_type || last_word.empty()) return false;
        members.push_back({std::exchange(last_word, {}), std::exchange(index, {})});
        return true;
    };
    for (Index i = begin; i < end; ++i) {
        const Token &token = tokens[i];
        if (std::string found = index_before(token); !found.empty()) index = std::move(found);
        if (token.is("[")) {
            const Index past = past_group(tokens, i);
            std::string found = tokens[i + 1].is("[") ? index_among(tokens, i + 2, past - 2) : "";
            if (!found.empty()) index = std::move(found);
            i = past - 1;
            continue;
        }
        depth += token.is("<");
        depth -= token.is(">");
        // Lengths may be computed.
        if (depth > 0) {
            if (opens(token)) i = past_group(tokens, i) - 1;
            continue;
        }
        if (token.is("(") || token.is(":") || token.is("static") || token.is("using") || token.is("typedef") ||
            token.is("{"))
            return std::nullopt;
        if (token.is("=")) {
            while (i + 1 < end && !tokens[i + 1].is(","))
                i = opens(tokens[i + 1]) ? past_group(tokens, i + 1) - 1 : i + 1;
        } else if (token.is(",")) {
            if (!finish()) return std::nullopt;
        } else if (is_word_of_a_type(token)) {
            has_type = has_type || !last_word.empty();
            last_word = std::string(token.text);
        }
    }
    if (std::string found = index_before(tokens[end]); !found.empty()) index = std::move(found);
    if (!finish()) return std::nullopt;
    return members;
}

std::optional<std::vector<Member>> read_body(const Tokens &tokens, Index begin, Index end) {
    std::vector<Member> members;
    for (Index i = begin; i < end;) {
        Index stop = i;
        while (stop < end && !tokens[stop].is(";")) stop = opens(tokens[stop]) ? past_group(tokens, stop) : stop + 1;
        if (stop > i && !tokens[i].is("static_assert")) {
            auto statement = read_statement(tokens, i, stop);
            if (!statement) return std::nullopt;
            for (Member &member : *statement) members.push_back(std::move(member));
        }
        i = stop + 1;
    }
    return members;
}

}  // namespace

bool is_word_of_a_type(const Token &token) {
    return token.is_identifier() && !token.is("const") && !token.is("struct") && !token.is("volatile") &&
           address_space_named(token.text) == AddressSpace::none;
}

// `struct name { ... }` and `typedef struct { ... } name`, wherever they stand.
Structures::Structures(std::string_view translated) : tokens_(tokenize(translated)) {
    const Tokens &tokens = tokens_;
    std::vector<std::pair<Index, std::string>> around;  // where it ends, and what stands before the names in it
    const auto enter = [&](Index open, const std::string &scope) {
        around.emplace_back(past_group(tokens, open), (around.empty() ? "" : around.back().second) + scope);
    };
    for (Index i = 0; i + 2 < tokens.size(); ++i) {
        while (!around.empty() && i >= around.back().first) around.pop_back();
        if (tokens[i].is("namespace")) {
            std::string scope;
            Index open = i + 1;
            for (; open < tokens.size() && (tokens[open].is_identifier() || tokens[open].is(":")); ++open)
                scope += tokens[open].text;
            // The compiler leaves out the names of inline namespaces.
            const bool is_said = !scope.empty() && (i == 0 || !tokens[i - 1].is("inline"));
            if (open < tokens.size() && tokens[open].is("{")) enter(open, is_said ? scope + "::" : "");
        }
        if (!tokens[i].is("struct")) continue;
        const bool tagged = tokens[i + 1].is_identifier();
        const Index open = i + (tagged ? 2 : 1);
        if (open >= tokens.size() || !tokens[open].is("{")) continue;
        const Index past = past_group(tokens, open);
        const std::string before = around.empty() ? "" : around.back().second;
        const auto add = [&](std::string_view name) {
            bodies_[std::string(name)].push_back({before + std::string(name), open, past});
        };
        const bool aliased = i > 0 && tokens[i - 1].is("typedef") && past < tokens.size();
        if (tagged) add(tokens[i + 1].text);
        if (aliased && (!tagged || tokens[past].text != tokens[i + 1].text)) add(tokens[past].text);
        if (tagged) enter(open, std::string(tokens[i + 1].text) + "::");
    }
}

const std::vector<Structures::Body> &Structures::bodies(const std::string &name) const {
    static const std::vector<Body> none;
    const auto found = bodies_.find(std::string_view(name).substr(name.rfind(':') + 1));
    return found == bodies_.end() ? none : found->second;
}

bool Structures::is_alone(const std::string &name) const { return bodies(name).size() == 1; }

std::optional<std::vector<Member>> Structures::members(const std::string &name) const {
    const std::vector<Body> &named = bodies(name);
    const auto has_name = [&](const Body &body) { return body.name == name; };
    const auto body = named.size() == 1 ? named.begin() : std::find_if(named.begin(), named.end(), has_name);
    if (body == named.end() || std::count_if(body + 1, named.end(), has_name) != 0) return std::nullopt;
    return read_body(tokens_, body->open + 1, body->past - 1);
}

}  // namespace smtl::msl
