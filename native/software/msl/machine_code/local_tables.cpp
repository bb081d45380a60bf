#include "local_tables.h"

#include "msl/include/smtl/abi.h"

namespace smtl::msl {

std::string rename_local_tables(std::string_view code) {
    constexpr std::string_view name = "@__const.";
    std::string text;
    text.reserve(code.size());
    bool is_quoted = false;
    while (!code.empty()) {
        if (!is_quoted && code.starts_with(name)) {
            text += "@" SMTL_LOCAL_TABLE_START;
            code.remove_prefix(name.size());
            continue;
        }
        if (code.front() == '"') is_quoted = !is_quoted;
        text += code.front();
        code.remove_prefix(1);
    }
    return text;
}

}  // namespace smtl::msl
