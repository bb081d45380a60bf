#include "machine_code.h"

#include <optional>
#include <unistd.h>
#include <vector>

#include "device_attributes.h"
#include "initialiser_order.h"
#include "initialiser_values.h"
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
    ProcessResult result = Toolchain::shared().run(first, folder + "/input", folder);
    std::optional<std::string> text = result.succeeded ? read_file(code) : std::nullopt;
    (void)unlink(code.c_str());
    if (text) {
        text = order_initialisers(*text);
        if (!text) result.errors = not_computed;
    }
    if (text) text = compute_values_locally(*text);
    if (text) text = drop_device_attributes(define_padding(define_operations(*text, !dialect.sanitize)));
    if (text && expands_saturation && !dialect.sanitize) text = expand_saturation(*text);
    if (!text || !write_file(edited, *text)) {
        result.succeeded = false;
        return result;
    }
    const auto compile_from = [&](const std::string &input, std::vector<std::string> options) {
        options.insert(options.begin(), arguments.begin(), arguments.end());
        options.insert(options.end(), {"-w", "-x", "ir", input});
        result = Toolchain::shared().run(options, "", folder);
        (void)unlink(input.c_str());
        return result.succeeded;
    };
    // The optimiser computes variables only from what it has simplified before. An instrumented kernel is not optimised
    // twice: accesses would be lost.
    const bool twice = initialises && !dialect.sanitize;
    if (twice && !compile_from(edited, {"-fno-vectorize", "-fno-slp-vectorize", "-S", "-emit-llvm", "-o", code}))
        return result;
    (void)compile_from(twice ? code : edited, {"-c", "-o", object});
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
