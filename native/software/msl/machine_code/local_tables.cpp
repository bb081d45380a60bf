#include "local_tables.h"

#include "msl/include/smtl/abi.h"

namespace smtl::msl {

std::string rename_local_tables(std::string_view code) {
    constexpr std::string_view start = "__const.";
    std::string text;
    text.reserve(code.size());
    bool is_quoted = false;
    while (!code.empty()) {
        const char letter = code.front();
        const bool is_name = letter == '@' && !is_quoted;
        text += letter;
        code.remove_prefix(1);
        if (letter == '"') is_quoted = !is_quoted;
        if (!is_name) continue;
        // A name with other characters than those of C's stands in quotes.
        const std::size_t quote = code.starts_with('"');
        if (!code.substr(quote).starts_with(start)) continue;
        text += code.substr(0, quote);
        text += SMTL_LOCAL_TABLE_START;
        code.remove_prefix(quote + start.size());
        is_quoted = quote != 0;
    }
    return text;
}

}  // namespace smtl::msl
