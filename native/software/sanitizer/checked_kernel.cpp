/* What the engine asks for when it loads an instrumented kernel and launches it. */
#include "engine/hooks.h"

#include "checked_launch.h"
#include "image.h"

namespace smtl {
namespace {

class checked_kernel : public kernel_checks {
public:
    explicit checked_kernel(std::unique_ptr<sanitize::image> image) : image_(std::move(image)) {}

    size_t threadgroup_memory() const override { return image_->threadgroup_memory(); }
    void name_argument(bool threadgroup, uint32_t index, const char *name) override {
        (threadgroup ? names_.threadgroup : names_.buffers)[index] = name;
    }
    std::unique_ptr<launch_checks> begin(const smtl_launch &launch, const char *kernel) override {
        return std::make_unique<sanitize::checked_launch>(launch, kernel, *image_, names_);
    }

private:
    const std::unique_ptr<sanitize::image> image_;
    sanitize::argument_names names_;
};

}  // namespace

std::unique_ptr<kernel_checks> kernel_checks::load(const std::string &path, uintptr_t base, uintptr_t end,
                                                   const smtl_sanitized_globals &globals, std::string &problem) {
    std::unique_ptr<sanitize::image> image = sanitize::image::read(path, base, end, globals, problem);
    return image == nullptr ? nullptr : std::make_unique<checked_kernel>(std::move(image));
}

}  // namespace smtl
