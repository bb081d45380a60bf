// A setting that cannot be read is named on standard error: a program that seems to be checked would not be.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>

#include "check.h"
#include "support/settings.h"

int main() {
    const std::string wrong[][2] = {{"SOFTWARE_METAL_POISON", "on"}, {"SOFTWARE_METAL_SHUFFLE", "-1"},
                                    {"SOFTWARE_METAL_DELAY", "5ms"}, {"SOFTWARE_METAL_TIMEOUT", "-1"},
                                    {"SOFTWARE_METAL_LINK", "5"},    {"SOFTWARE_METAL_FAIL_COMMAND_BUFFER", "1:x"}};
    for (const auto &[name, value] : wrong) setenv(name.c_str(), value.c_str(), 1);
    setenv("SOFTWARE_METAL_GUARD", "0x1", 1);
    setenv("SOFTWARE_METAL_FAIL_ALLOCATION", "0", 1);
    setenv("SOFTWARE_METAL_THREADS", "", 1);

    int ends[2];
    CHECK(pipe(ends) == 0);
    const int standard_error = dup(2);
    dup2(ends[1], 2);
    const smtl_settings *const settings = smtl_settings_get();
    dup2(standard_error, 2);
    close(ends[1]);
    std::string said(4096, '\0');
    said.resize(static_cast<std::size_t>(std::max<ssize_t>(0, read(ends[0], said.data(), said.size()))));

    std::string expected;
    for (const auto &[name, value] : wrong) {
        const std::string line =
            "software Metal: " + name + ": '" + value + "' is not a value that it takes, and counts as not given\n";
        if (!CHECK(said.find(line) != std::string::npos)) std::fprintf(stderr, "%s", line.c_str());
        expected += line;
    }
    if (!CHECK(said.size() == expected.size())) std::fprintf(stderr, "%s", said.c_str());
    CHECK(!settings->poison && !settings->shuffle.on && settings->delay == 0 && settings->timeout == 120);
    CHECK(settings->link.bytes_per_second == 0 && settings->fail_command_buffer.nth == 0 && settings->guard);
    return check::report("engine/settings_test");
}
