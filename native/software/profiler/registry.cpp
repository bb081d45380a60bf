#include "registry.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <unistd.h>

#include "include/SoftwareMetal/SoftwareMetal.h"
#include "json.h"
#include "support/file_replacement.h"
#include "support/settings.h"

namespace smtl::profile {
namespace {

pid_t profiled_process = 0;

/* The setting, in which %p stands for the number of the process. */
std::string file_name() {
    std::string name = smtl_settings_get()->profile;
    const std::string number = std::to_string(getpid());
    for (size_t at = name.find("%p"); at != std::string::npos; at = name.find("%p", at + number.size()))
        name.replace(at, 2, number);
    return name;
}

}  // namespace

/* Never destroyed: threads may run on while the process ends. */
registry &registry::shared() {
    static registry *const only = new registry;
    return *only;
}

registry::registry() {
    profiled_process = getpid();
    std::atexit([] {
        /* A child of fork has only a copy of what its parent counted. */
        if (getpid() == profiled_process) shared().write_file();
    });
}

void registry::add(const std::string &path, const std::string &kernel, const kernel_counts &counts) {
    const std::lock_guard guard(mutex_);
    kernel_profile &profile = kernels_[{kernel, path}];
    profile.counts.add(counts);
    std::vector<uint32_t> offsets;
    const auto note = [&](uint32_t offset) {
        if (!profile.lines.contains(offset)) offsets.push_back(offset);
    };
    for (const auto &[site, ignored] : counts.accesses) note(site.offset);
    for (const auto &[offset, ignored] : counts.barriers) note(offset);
    for (const auto &[offset, ignored] : counts.simd_functions) note(offset);
    for (const auto &[offset, ignored] : counts.operations) note(offset);
    for (const auto &[byte, branch] : counts.branches) note(branch.offset);
    sanitize::locate_together(path, offsets);
    for (const uint32_t offset : offsets) profile.lines[offset] = sanitize::locate(path, offset);
}

std::string registry::text() const {
    const std::lock_guard guard(mutex_);
    std::vector<named_profile> all;
    for (const auto &[key, profile] : kernels_) all.push_back({key.first, &profile});
    return to_json(all);
}

void registry::write_file() const {
    const std::string name = file_name(), contents = text();
    const int cause = smtl_replace_file(name.c_str(), contents.data(), contents.size());
    if (cause != 0)
        std::fprintf(stderr, "software Metal: SOFTWARE_METAL_PROFILE: cannot write %s: %s\n", name.c_str(),
                     std::strerror(cause));
}

}  // namespace smtl::profile

char *smtl_profile_copy(void) {
    if (smtl_settings_get()->sanitize != 0 || !smtl_kernels_are_instrumented()) return nullptr;
    return strdup(smtl::profile::registry::shared().text().c_str());
}
