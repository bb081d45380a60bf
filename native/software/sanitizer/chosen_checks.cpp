#include "sanitizer.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

uint32_t check_named(std::string_view name) {
    if (name == "bounds") return SMTL_SANITIZE_BOUNDS;
    if (name == "race") return SMTL_SANITIZE_RACE;
    if (name == "uninit") return SMTL_SANITIZE_UNINIT;
    if (name == "all") return SMTL_SANITIZE_BOUNDS | SMTL_SANITIZE_RACE | SMTL_SANITIZE_UNINIT;
    return 0;
}

uint32_t read_environment() {
    const char *text = std::getenv("SOFTWARE_METAL_SANITIZE");
    std::string_view rest = text != nullptr ? text : "";
    uint32_t checks = 0;
    while (!rest.empty()) {
        const size_t comma = rest.find(',');
        const std::string_view name = rest.substr(0, comma);
        const uint32_t check = check_named(name);
        /* A misspelt check that passes for a clean run would be worse than a line too many. */
        if (check == 0 && !name.empty() && name != "0")
            std::fprintf(stderr,
                         "software Metal: SOFTWARE_METAL_SANITIZE knows bounds, race, uninit and all, not '%.*s'\n",
                         int(name.size()), name.data());
        checks |= check;
        rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
    }
    return checks;
}

} // namespace

extern "C" const uint64_t smtl_sanitizer_stack_shadow_offset = uint64_t(1) << 44;

uint32_t smtl_sanitizer_checks(void) {
    static const uint32_t checks = read_environment();
    return checks;
}
