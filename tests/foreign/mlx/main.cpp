// MLX's kernels through metal-cpp: main HEADERS TABLE [PART-OF-A-NAME]. The name is that of a case or of a section of
// the table.
#include <cstdio>
#include <exception>

#include "agree.h"
#include "pipelines.h"

int main(int count, char **arguments) try {
    if (count < 3) {
        std::fprintf(stderr, "usage: %s HEADERS TABLE [PART-OF-A-NAME]\n", arguments[0]);
        return 2;
    }
    const auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
    const auto device = NS::TransferPtr(MTL::CreateSystemDefaultDevice());
    const char *only = count > 3 ? arguments[3] : "";
    const Agreement agreement = run_kernels(device.get(), arguments[1], only);
    std::printf("%zu of %zu kernels agree\n", agreement.agree, agreement.kernels);
    const Counts made = make_pipelines(device.get(), arguments[1], arguments[2], only);
    std::printf("%zu of %zu libraries, %zu of %zu pipelines\n", made.libraries, made.sections, made.pipelines,
                made.kernels);
    return made.pipelines == made.kernels && agreement.agree == agreement.kernels ? 0 : 1;
} catch (const std::exception &problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 1;
}
