#include "queries.h"

#include <map>
#include <string_view>

namespace smtl::msl {
namespace {

constexpr std::size_t most_of_one_name = 16;

}  // namespace

std::pair<Index, std::string> constant_query(const Source &source, const ProgramConstants &constants, Index begin,
                                             Index end) {
    constexpr Index longest = 64;  // queries of queries of queries
    const Index past = begin + 1 < end && source[begin + 1].is("(") ? source.skip_group(begin + 1, end) : begin + 1;
    if (past - begin > longest) return {past, {}};
    Index name = past;
    for (Index j = begin + 2; j + 1 < past; ++j)
        if (source[j].is_identifier()) name = j;
    if (name == past) return {past, {}};
    // A using declaration may lead to a constant, but not to what answers for it. So of several with one name the one
    // is found that has the address.
    std::string query;
    std::size_t count = 0;
    for (auto constant = constants.by_name.lower_bound(source[name].text);
         constant != constants.by_name.end() && constant->first == source[name].text && count <= most_of_one_name;
         ++constant) {
        if (!constant->second.value.empty()) continue;
        const Scope &scope = *constant->second.scope;
        query += (count++ == 0 ? "" : " || ") + std::string("(::smtl::is_same_object(") +
                 source.spelling({begin + 2, past - 1}) + ", ::" + qualified(scope, constant->first) +
                 ") && ::" + qualified(scope, "smtl_defined_" + constant->first) + ")";
    }
    if (count > 0 && count <= most_of_one_name) return {past, "(" + query + ")"};
    return {past, source.spelling({begin + 1, name}) + "smtl_defined_" + std::string(source[name].text) +
                      source.spelling({name + 1, past})};
}

void edit_constant_queries(Source &source, const ProgramConstants &constants, Translation &translation) {
    std::multimap<std::string_view, FunctionConstant &> declared;
    for (FunctionConstant &constant : translation.constants) declared.emplace(constant.name, constant);
    for (Index i = 0; i + 1 < source.size(); ++i) {
        if (!source[i].is("is_function_constant_defined")) continue;
        const auto [past, query] = constant_query(source, constants, i, source.size() - 1);
        if (query.empty()) continue;
        for (Index name = i + 2; name + 1 < past; ++name) {
            const auto [first, last] = declared.equal_range(source[name].text);
            for (auto constant = first; constant != last && !constant->second.optional; ++constant)
                constant->second.optional = true;
        }
        source.erase({i, past});
        source[i].replace(query);
    }
}

}  // namespace smtl::msl
