#include "checked_kernel.h"

#include "checked_launch.h"

namespace smtl::sanitize {
namespace {

class checked_kernel : public kernel_checks {
public:
    explicit checked_kernel(std::unique_ptr<image> code) : image_(std::move(code)) {}

    size_t threadgroup_memory() const override { return image_->threadgroup_memory(); }
    void name_argument(bool threadgroup, uint32_t index, const char *name) override {
        (threadgroup ? names_.threadgroup : names_.buffers)[index] = name;
    }
    std::unique_ptr<launch_checks> begin(const smtl_launch &launch, const char *kernel) override {
        return std::make_unique<checked_launch>(launch, kernel, *image_, names_);
    }

private:
    const std::unique_ptr<image> image_;
    argument_names names_;
};

}  // namespace

std::unique_ptr<kernel_checks> check_kernel(std::unique_ptr<image> code) {
    return std::make_unique<checked_kernel>(std::move(code));
}

}  // namespace smtl::sanitize
