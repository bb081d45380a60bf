/* What the engine asks for when it loads an instrumented kernel: the sanitizer's checks of it, or its profile. */
#include "engine/hooks.h"
#include "profiled_launch.h"
#include "sanitizer/checked_kernel.h"
#include "support/settings.h"

namespace smtl {
namespace {

class profiled_kernel : public kernel_checks {
public:
    explicit profiled_kernel(std::unique_ptr<sanitize::image> code) : image_(std::move(code)) {}

    size_t threadgroup_memory() const override { return image_->threadgroup_memory(); }
    void name_argument(bool threadgroup, uint32_t index, const char *name) override {
        (threadgroup ? names_.threadgroup : names_.buffers)[index] = name;
    }
    std::unique_ptr<launch_checks> begin(const smtl_launch &launch, const char *kernel) override {
        return std::make_unique<profile::profiled_launch>(launch, kernel, *image_, names_);
    }

private:
    const std::unique_ptr<sanitize::image> image_;
    profile::argument_names names_;
};

}  // namespace

std::unique_ptr<kernel_checks> kernel_checks::load(const std::string &path, uintptr_t base, uintptr_t end,
                                                   const smtl_sanitized_globals &globals, std::string &problem) {
    std::unique_ptr<sanitize::image> code = sanitize::image::read(path, base, end, globals, problem);
    if (code == nullptr) return nullptr;
    if (smtl_settings_get()->sanitize != 0) return sanitize::check_kernel(std::move(code));
    return std::make_unique<profiled_kernel>(std::move(code));
}

}  // namespace smtl
