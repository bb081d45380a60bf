/* A program whose numbers have a decimal comma: settings are read, and kernels' messages written, as without it. */
#include <cstdlib>
#include <string>
#include <vector>

#include "check.h"
#include "comma_locale.h"
#include "compiled_source.h"
#include "engine/log.h"
#include "support/settings.h"

namespace {

const std::string source = head + R"(
#include <metal_logging>
kernel void tell(device float *x [[buffer(0)]]) { os_log_default.log("%f %g %.1v2f", 0.5f, x[0], float2(1.5, 2.5)); }
kernel void spin(device volatile float *x [[buffer(0)]]) { while (x[0] == 0.25f) {} }
)";

void keep(void *text, const smtl_log_message *message) { *static_cast<std::string *>(text) += message->text; }

}  // namespace

int main() {
    set_comma_locale();
    setenv("SOFTWARE_METAL_TIMEOUT", "0.5", 1);
    CHECK(smtl_settings_get()->timeout == 0.5);
    smtl_compile_options options{};
    options.enable_logging = true;
    const compiled library(source, &options);
    if (!CHECK(library.library != nullptr)) {
        std::fprintf(stderr, "%s", library.log.c_str());
        return check::report("engine/locale_test");
    }
    const auto load = [&](const char *name) {
        char *error = nullptr;
        smtl_kernel *const kernel = smtl_kernel_load(library.specialize(name, {}).c_str(), "smtl_entry", &error);
        if (!CHECK(kernel != nullptr)) std::fprintf(stderr, "%s\n", error);
        std::free(error);
        return kernel;
    };
    smtl_kernel *const tell = load("tell"), *const spin = load("spin");
    std::vector<float> x = {0.25f};

    launch telling(tell);
    telling.raw.log = smtl_log_create(4096);
    CHECK(telling.buffer(0, x).run({1}, {1}).empty());
    std::string text;
    CHECK(smtl_log_deliver(telling.raw.log, keep, &text) == 0);
    if (!CHECK(text == "0.500000 0.25 1.5,2.5")) std::fprintf(stderr, "'%s'\n", text.c_str());
    smtl_log_free(telling.raw.log);

    const std::string why = launch(spin).buffer(0, x).run({1}, {1});
    if (!CHECK(why.find(" 0.5 s ") != std::string::npos)) std::fprintf(stderr, "'%s'\n", why.c_str());
    smtl_kernel_release(tell);
    smtl_kernel_release(spin);
    /* What the program itself prints is as before. */
    char own[8];
    std::snprintf(own, sizeof own, "%.1f", 0.5);
    CHECK(own[1] == localeconv()->decimal_point[0]);
    return check::report("engine/locale_test");
}
