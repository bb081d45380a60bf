// A source's kernels and diagnostics as JSON, for programs that print them.
#include <algorithm>
#include <cstring>
#include <exception>

#include "library.h"
#include "msl/reflection/data_type.h"

namespace smtl::msl {
namespace {

// JSON in the making: values with commas between them.
class Json {
public:
    void open(char bracket) {
        separate();
        text_ += bracket;
    }
    void close(char bracket) { text_ += bracket; }
    void key(std::string_view name) {
        string(name);
        text_ += ':';
    }
    void number(std::uint64_t value) {
        separate();
        text_ += std::to_string(value);
    }
    void boolean(bool value) {
        separate();
        text_ += value ? "true" : "false";
    }
    // Takes any bytes. JSON is UTF-8, so bytes that are not are replaced.
    void string(std::string_view value) {
        separate();
        text_ += '"';
        while (!value.empty()) {
            const std::size_t length = sequence_length(value);
            const char c = value[0];
            if (length == 0) {
                text_ += "\\ufffd";
            } else if (c == '"' || c == '\\') {
                text_ += {'\\', c};
            } else if (static_cast<unsigned char>(c) < 0x20) {
                constexpr char digits[] = "0123456789abcdef";
                text_ += {'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]};
            } else {
                text_ += value.substr(0, length);
            }
            value.remove_prefix(std::max<std::size_t>(length, 1));
        }
        text_ += '"';
    }
    // A key and its value.
    void field(std::string_view name, std::string_view value) {
        key(name);
        string(value);
    }
    void field(std::string_view name, const char *value) { field(name, std::string_view(value)); }
    void field(std::string_view name, bool value) {
        key(name);
        boolean(value);
    }
    void field(std::string_view name, std::uint64_t value) {
        key(name);
        number(value);
    }
    void field(std::string_view name, std::uint32_t value) { field(name, std::uint64_t{value}); }
    const std::string &text() const { return text_; }

private:
    void separate() {
        if (!text_.empty() && std::strchr("{[:,", text_.back()) == nullptr) text_ += ',';
    }
    // The length of the UTF-8 character at the start; 0 if there is none.
    static std::size_t sequence_length(std::string_view text) {
        const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
        const unsigned first = byte(0);
        if (first < 0x80) return 1;
        const std::size_t length = first >= 0xc2 && first < 0xe0   ? 2
                                   : first >= 0xe0 && first < 0xf0 ? 3
                                   : first >= 0xf0 && first < 0xf5 ? 4
                                                                   : 0;
        for (std::size_t i = 1; i < length; ++i)
            if ((byte(i) & 0xc0) != 0x80) return 0;
        // Not UTF-8: encodings that are too long, surrogates, numbers beyond the last character.
        if ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) >= 0xa0) ||
            (first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) >= 0x90))
            return 0;
        return length;
    }

    std::string text_;
};

void describe_members(Json &json, const smtl_type *type) {
    json.key("members");
    json.open('[');
    for (std::size_t i = 0; type && i < type->member_count; ++i) {
        const smtl_member &member = type->members[i];
        json.open('{');
        json.field("name", member.name);
        json.field("offset", member.offset);
        json.field("index", member.argument_index);
        json.field("type", data_type_name(member.type->data_type));
        json.field("size", member.type->size);
        json.close('}');
    }
    json.close(']');
}

void describe_kernels(Json &json, smtl_library *library) {
    json.key("kernels");
    json.open('[');
    for (std::size_t i = 0; library && i < library->reflection.kernels.size(); ++i) {
        json.open('{');
        json.field("name", library->reflection.kernels[i].name);
        json.field("max_total_threads_per_threadgroup", library->reflection.thread_limits[i]);
        json.key("arguments");
        json.open('[');
        for (const smtl_argument &argument : library->arguments[i]) {
            json.open('{');
            json.field("index", argument.index);
            json.field("name", argument.name);
            json.field("type", argument.type);
            json.field("kind", argument.kind == SMTL_ARGUMENT_BUFFER ? "buffer" : "threadgroup");
            json.field("access", argument.access == SMTL_ACCESS_READ_ONLY ? "read" : "read_write");
            json.field("size", argument.type_size);
            json.field("conditional", argument.conditional);
            describe_members(json, argument.kind == SMTL_ARGUMENT_BUFFER ? smtl_library_pointee(library, &argument)
                                                                         : nullptr);
            json.close('}');
        }
        json.close(']');
        json.close('}');
    }
    json.close(']');
}

void describe_constants(Json &json, const smtl_library *library) {
    json.key("function_constants");
    json.open('[');
    for (std::size_t i = 0; library && i < library->constants.size(); ++i) {
        const smtl_function_constant &constant = library->constants[i];
        json.open('{');
        json.field("name", constant.name);
        json.field("index", constant.index);
        json.field("type", data_type_name(constant.data_type));
        json.field("required", constant.required);
        json.close('}');
    }
    json.close(']');
}

void describe_diagnostics(Json &json, const Diagnostics &diagnostics) {
    json.key("diagnostics");
    json.open('[');
    for (const Diagnostic &diagnostic : diagnostics) {
        json.open('{');
        json.field("file", diagnostic.file);
        json.field("line", diagnostic.line);
        json.field("column", diagnostic.column);
        json.field("severity", diagnostic.severity == Severity::none ? "note" : severity_name(diagnostic.severity));
        json.field("message", diagnostic.message);
        json.field("source", diagnostic.quoted);
        json.field("caret", diagnostic.column);
        json.close('}');
    }
    json.close(']');
}

bool same(const Diagnostic &a, const Diagnostic &b) {
    return a.file == b.file && a.line == b.line && a.message == b.message;
}

std::string check(std::string_view source, const Options &options, bool strict) {
    Diagnostics diagnostics;
    const std::unique_ptr<smtl_library> library = compile(source, options, diagnostics);
    bool succeeded = library != nullptr;
    if (strict) {
        Diagnostics complaints;
        succeeded = lint(source, options, complaints) && succeeded;
        for (Diagnostic &complaint : complaints) {
            const bool known = std::any_of(diagnostics.begin(), diagnostics.end(),
                                           [&](const Diagnostic &other) { return same(other, complaint); });
            if (!known) diagnostics.push_back(std::move(complaint));
        }
    }
    Json json;
    json.open('{');
    json.field("succeeded", succeeded);
    describe_kernels(json, library.get());
    describe_constants(json, library.get());
    describe_diagnostics(json, diagnostics);
    json.close('}');
    return json.text();
}

}  // namespace
}  // namespace smtl::msl

extern "C" char *smtl_check(const char *source, size_t length, const smtl_compile_options *options, bool strict) {
    try {
        return strdup(
            smtl::msl::check(smtl::msl::read_source(source, length), smtl::msl::read_options(options), strict).c_str());
    } catch (const std::exception &) {
        return nullptr;
    }
}
