#include "machine_code.h"

#include <optional>
#include <unistd.h>
#include <vector>

#include "device_attributes.h"
#include "initialiser_order.h"
#include "initialisers.h"
#include "msl/compile/file.h"
#include "operations.h"
#include "padding.h"
#include "saturation.h"

namespace smtl::msl {

ProcessResult compile_object(const Dialect &dialect, const std::string &precompiled, const std::string &folder,
                             const std::string &object, bool initialises) {
    const std::string code = folder + "/code", edited = folder + "/edited";
    const std::vector<std::string> arguments = Toolchain::shared().compile_arguments(dialect);
    std::vector<std::string> first = arguments;
    first.insert(first.end(), {"-include-pch", precompiled + "/library.pch", "-w", "-x", "c++", "-", "-S", "-emit-llvm",
                               "-Xclang", "-disable-llvm-passes", "-o", code});
    // The optimiser does not compute a vector of three that is stored as one of four.
    if (initialises) first.insert(first.end(), {"-Xclang", "-fpreserve-vec3-type"});
    ProcessResult result = Toolchain::shared().run(first, folder + "/input", folder);
    std::optional<std::string> text = result.succeeded ? read_file(code) : std::nullopt;
    (void)unlink(code.c_str());
    if (text) {
        text = order_initialisers(*text);
        if (!text) result.errors = not_computed;
    }
    if (text) text = drop_device_attributes(define_padding(define_operations(*text, !dialect.sanitize)));
    if (text && expands_saturation && !dialect.sanitize) text = expand_saturation(*text);
    if (!text || !write_file(edited, *text)) {
        result.succeeded = false;
        return result;
    }
    std::vector<std::string> second = arguments;
    second.insert(second.end(), {"-w", "-x", "ir", edited, "-c", "-o", object});
    result = Toolchain::shared().run(second, "", folder);
    (void)unlink(edited.c_str());
    return result;
}

ProcessResult compile_facts(const Dialect &dialect, const std::string &precompiled, const std::string &folder,
                            const std::string &object) {
    std::vector<std::string> arguments = Toolchain::shared().compile_arguments(dialect);
    arguments.insert(arguments.end(),
                     {"-include-pch", precompiled + "/library.pch", "-w", "-x", "c++", "-", "-c", "-o", object});
    return Toolchain::shared().run(arguments, folder + "/input", folder);
}

}  // namespace smtl::msl
