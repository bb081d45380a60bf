#include "queries.h"

#include <iterator>
#include <map>
#include <string_view>

namespace smtl::msl {

std::pair<Index, std::string> constant_query(const Source &source, const ProgramConstants &constants, Index begin,
                                             Index end) {
    constexpr Index longest = 64;  // queries of queries of queries
    const Index past = begin + 1 < end && source[begin + 1].is("(") ? source.skip_group(begin + 1, end) : begin + 1;
    if (past - begin > longest) return {past, {}};
    Index name = past;
    for (Index j = begin + 2; j + 1 < past; ++j)
        if (source[j].is_identifier()) name = j;
    if (name == past) return {past, {}};
    // A using declaration or another namespace's name may lead to the constant, but not to what answers for it.
    const auto first = constants.by_name.lower_bound(source[name].text), last = constants.by_name.end();
    const auto is_it = [&](auto constant) { return constant != last && constant->first == source[name].text; };
    if (is_it(first) && !is_it(std::next(first)) && first->second.value.empty())
        return {past, "(::" + qualified(*first->second.scope, "smtl_defined_" + first->first) + ")"};
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
