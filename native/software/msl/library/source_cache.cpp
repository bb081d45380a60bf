#include "source_cache.h"

#include <algorithm>

#include "msl/compile/cache.h"
#include "msl/compile/file.h"
#include "msl/compile/hash.h"
#include "msl/compile/toolchain.h"
#include "msl/reflection/serial.h"
#include "msl/source/token.h"

#include "support/settings.h"

namespace smtl::msl {
namespace {

constexpr const char *file_name = "/library";

// `#include "..."` looks beside the source, and so finds another file in another folder. The other words depend on more
// than the text.
bool looks_elsewhere(std::string_view source) {
    for (std::string_view word : {"__has_include", "__has_embed", "__DATE__", "__TIME__", "__TIMESTAMP__"})
        if (source.find(word) != std::string_view::npos) return true;
    for (std::string_view word : {"include", "import", "embed"}) {
        for (std::size_t at = source.find(word); at != std::string_view::npos; at = source.find(word, at + 1)) {
            const std::size_t next = source.find_first_not_of(" \t", at + word.size());
            if (next != std::string_view::npos && source[next] == '"') return true;
        }
    }
    return false;
}

}  // namespace

std::string source_key(std::string_view source, const Options &options) {
    if (!options.include_paths.empty() || looks_elsewhere(source)) return {};
    Hash hash;
    hash.add(Toolchain::shared().fingerprint).add(source).add(options.name);
    hash.add(options.language_version)
        .add(static_cast<std::uint64_t>(options.math_mode))
        .add(std::uint64_t{smtl_kernels_are_instrumented()})
        .add(std::uint64_t{smtl_kernels_are_counted()})
        .add(std::uint64_t{options.enable_logging})
        .add(static_cast<std::uint64_t>(options.exports));
    for (const auto &[name, value] : options.macros) hash.add(name).add(value ? "=" + *value : "");
    return "source-" + hash.digest();
}

bool stands_alone(std::string_view preprocessed) {
    for (std::size_t p = 0; p < preprocessed.size();) {
        const std::size_t newline = std::min(preprocessed.find('\n', p), preprocessed.size());
        const std::string_view line = preprocessed.substr(p, newline - p);
        p = newline + 1;
        SourceLocation location;
        // The number behind the name is 1 where a file is entered.
        const bool entered =
            line.starts_with("# ") && (line.ends_with("\" 1") || line.find("\" 1 ") != std::string_view::npos);
        if (!entered || !read_line_marker(line, location)) continue;
        if (!location.file.starts_with("<") && !location.file.starts_with(Toolchain::shared().headers + "/"))
            return false;
    }
    return true;
}

std::unique_ptr<smtl_library> recall_library(const std::string &key, Diagnostics &diagnostics) {
    const std::string entry = Cache::shared().find(key);
    if (entry.empty()) return nullptr;
    const std::string bytes = read_file(entry + file_name).value_or("");
    Reader reader(bytes);
    auto library = std::make_unique<smtl_library>();
    library->dialect.math_mode = static_cast<smtl_math_mode>(reader.number());
    library->dialect.thread_elements = reader.number() != 0;
    library->dialect.sanitize = reader.number() != 0;
    library->dialect.counted = reader.number() != 0;
    library->dialect.logging = reader.number() != 0;
    library->key = reader.text();
    library->translated = reader.text();
    Diagnostics warnings(reader.count());
    for (Diagnostic &warning : warnings) {
        warning.file = reader.text();
        warning.line = reader.number();
        warning.column = reader.number();
        warning.severity = static_cast<Severity>(reader.number());
        warning.message = reader.text();
        warning.quoted = reader.text();
    }
    std::optional<Reflection> reflection = deserialize(reader.text());
    if (!reader.good() || !reflection) return nullptr;
    library->reflection = std::move(*reflection);
    library->describe();
    diagnostics = std::move(warnings);
    return library;
}

void remember_library(const std::string &key, const smtl_library &library, const Diagnostics &diagnostics) {
    Writer writer;
    writer.number(static_cast<std::uint64_t>(library.dialect.math_mode));
    writer.number(library.dialect.thread_elements);
    writer.number(library.dialect.sanitize);
    writer.number(library.dialect.counted);
    writer.number(library.dialect.logging);
    writer.text(library.key);
    writer.text(library.translated);
    writer.number(diagnostics.size());
    for (const Diagnostic &diagnostic : diagnostics) {
        writer.text(diagnostic.file);
        writer.number(diagnostic.line);
        writer.number(diagnostic.column);
        writer.number(static_cast<std::uint64_t>(diagnostic.severity));
        writer.text(diagnostic.message);
        writer.text(diagnostic.quoted);
    }
    writer.text(serialize(library.reflection));
    // An entry that cannot be written is compiled again next time.
    (void)Cache::shared().entry(
        key, [&](const std::string &folder) { return write_file(folder + file_name, writer.take()); });
}

}  // namespace smtl::msl
