#include "machine_code.h"

#include <optional>
#include <unistd.h>
#include <vector>

#include "counted_operations.h"
#include "device_attributes.h"
#include "external_functions.h"
#include "half_order.h"
#include "initialiser_order.h"
#include "initialiser_values.h"
#include "initialisers.h"
#include "known_addresses.h"
#include "local_tables.h"
#include "msl/compile/file.h"
#include "operations.h"
#include "text/own_definitions.h"
#include "padding.h"
#include "saturation.h"

namespace smtl::msl {

ProcessResult compile_object(const Dialect &dialect, const std::string &precompiled, const std::string &folder,
                             const std::string &object, bool initialises, bool exports) {
    const std::string code = folder + "/code", edited = folder + "/edited";
    const std::vector<std::string> arguments = Toolchain::shared().compile_arguments(dialect);
    ProcessResult result;
    // Clang's code, before its optimiser.
    const auto intermediate = [&](bool stores_three) -> std::optional<std::string> {
        std::vector<std::string> first = arguments;
        first.insert(first.end(), {"-include-pch", precompiled + "/library.pch", "-w", "-x", "c++", "-", "-S",
                                   "-emit-llvm", "-Xclang", "-disable-llvm-passes", "-o", code});
        if (stores_three) first.insert(first.end(), {"-Xclang", "-fpreserve-vec3-type"});
        result = Toolchain::shared().run(first, folder + "/input", folder);
        const std::optional<std::string> text = result.succeeded ? read_file(code) : std::nullopt;
        (void)unlink(code.c_str());
        std::optional<std::string> ordered = text ? order_initialisers(*text) : std::nullopt;
        if (text && !ordered) result.errors = not_computed;
        result.succeeded = ordered.has_value();
        return ordered;
    };
    const auto compile_from = [&](const std::string &input, std::vector<std::string> options) {
        options.insert(options.begin(), arguments.begin(), arguments.end());
        options.insert(options.end(), {"-w", "-x", "ir", input});
        result = Toolchain::shared().run(options, "", folder);
        (void)unlink(input.c_str());
        return result.succeeded;
    };
    const auto compile_text = [&](std::string edited_text, const std::vector<std::string> &options) {
        // Before the other changes: these are not what the source says.
        if (dialect.counted) edited_text = count_operations(edited_text);
        edited_text = name_external_functions(keep_definitions_apart(edited_text), exports);
        edited_text = drop_device_attributes(define_padding(define_operations(edited_text, !dialect.sanitize)));
        edited_text = keep_order_of_halves(edited_text);
        if (expands_saturation && !dialect.sanitize) edited_text = expand_saturation(edited_text);
        if (dialect.sanitize) edited_text = rename_local_tables(hide_known_addresses(edited_text));
        result.succeeded = write_file(edited, edited_text);
        return result.succeeded && compile_from(edited, options);
    };
    const std::vector<std::string> to_object = {"-c", "-o", object};
    // The optimiser computes variables only from what it has simplified before: some need it twice. Loops stay as they
    // are for the second time. An instrumented kernel is not optimised twice: accesses would be lost.
    const std::vector<std::string> to_code = {"-fno-vectorize",
                                              "-fno-slp-vectorize",
                                              "-mllvm",
                                              "-unroll-runtime=false",
                                              "-mllvm",
                                              "-unroll-allow-partial=false",
                                              "-S",
                                              "-emit-llvm",
                                              "-o",
                                              code};
    const auto is_complete = [&] {
        return !initialises || !has_initialisers(read_file(object).value_or(""), dialect.sanitize);
    };
    // The optimiser does not compute a vector of three that is stored as one of four, unless it is computed locally.
    std::optional<std::string> text = intermediate(initialises);
    if (!text || !compile_text(*text, to_object) || is_complete()) return result;
    text = intermediate(false);
    if (!text) return result;
    const std::string local = compute_values_locally(*text);
    const bool made = dialect.sanitize ? compile_text(local, to_object)
                                       : compile_text(local, to_code) && compile_from(code, to_object);
    if (!made) result.errors = not_computed;
    return result;
}

}  // namespace smtl::msl
