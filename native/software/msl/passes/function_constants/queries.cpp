#include "queries.h"

#include <map>
#include <string_view>

namespace smtl::msl {

std::pair<Index, std::string> constant_query(const Source &source, Index begin, Index end) {
    constexpr Index longest = 64;  // queries of queries of queries
    const Index past = begin + 1 < end && source[begin + 1].is("(") ? source.skip_group(begin + 1, end) : begin + 1;
    if (past - begin > longest) return {past, {}};
    Index name = past;
    for (Index j = begin + 2; j + 1 < past; ++j)
        if (source[j].is_identifier()) name = j;
    if (name == past) return {past, {}};
    return {past, source.spelling({begin + 1, name}) + "smtl_defined_" + std::string(source[name].text) +
                      source.spelling({name + 1, past})};
}

void edit_constant_queries(Source &source, Translation &translation) {
    std::multimap<std::string_view, FunctionConstant &> constants;
    for (FunctionConstant &constant : translation.constants) constants.emplace(constant.name, constant);
    for (Index i = 0; i + 1 < source.size(); ++i) {
        if (!source[i].is("is_function_constant_defined")) continue;
        const auto [past, query] = constant_query(source, i, source.size() - 1);
        if (query.empty()) continue;
        for (Index name = i + 2; name + 1 < past; ++name) {
            const auto [first, last] = constants.equal_range(source[name].text);
            for (auto constant = first; constant != last && !constant->second.optional; ++constant)
                constant->second.optional = true;
            if (source[name].is_identifier() && source[name + 1].is(")"))
                source[name].replace("smtl_defined_" + std::string(source[name].text));
        }
        source[i].erase();
    }
}

}  // namespace smtl::msl
