#include "log.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "msl/include/smtl/abi.h"
#include "support/numbers.h"

namespace smtl {
namespace {

/* The digits that a width or a precision keeps: nobody reads wider fields. */
constexpr size_t most_digits = 3;

/* A directive such as `%-8.3v4hlf`, without what does not matter here: each value has its type with it. */
struct directive {
    std::string flags; /* with width and precision */
    bool narrow = false, narrower = false; /* h, hh */
    char conversion = 0;                   /* 0: the text is not a directive */
    size_t length = 0;                     /* of its text */
};

directive read_directive(std::string_view text) {
    directive read;
    size_t at = 1;
    const auto peek = [&] { return at < text.size() ? text[at] : '\0'; };
    const auto digits = [&] {
        const size_t first = at;
        while (std::isdigit(static_cast<unsigned char>(peek()))) ++at;
        read.flags += text.substr(first, std::min(at - first, most_digits));
    };
    while (peek() != '\0' && std::strchr("-+ #0", peek()) != nullptr) read.flags += text[at++];
    digits();
    if (peek() == '.') {
        read.flags += text[at++];
        digits();
    }
    if (peek() == 'v') /* the value itself says how many components it has */
        do ++at;
        while (std::isdigit(static_cast<unsigned char>(peek())));
    const size_t modifiers = at;
    while (peek() != '\0' && std::strchr("hlqjzt", peek()) != nullptr) ++at;
    const std::string_view modifier = text.substr(modifiers, at - modifiers);
    read.narrow = modifier == "h";
    read.narrower = modifier == "hh";
    if (peek() != '\0' && std::strchr("diouxXcfFeEgGaApsn%", peek()) != nullptr) read.conversion = text[at++];
    read.length = at;
    return read;
}

__attribute__((format(printf, 1, 2))) std::string print(const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    const int length = smtl_vsnprintf(nullptr, 0, format, arguments);
    std::string text(length < 0 ? 0 : size_t(length), '\0');
    smtl_vsnprintf(text.data(), text.size() + 1, format, again);
    va_end(again);
    va_end(arguments);
    return text;
}

double as_double(const smtl_log_value &value, uint64_t bits) {
    if (value.kind == SMTL_LOG_FLOAT) return __builtin_bit_cast(double, bits);
    return value.kind == SMTL_LOG_SIGNED ? double(int64_t(bits)) : double(bits);
}

uint64_t as_integer(const smtl_log_value &value, uint64_t bits) {
    if (value.kind != SMTL_LOG_FLOAT) return bits;
    const double number = __builtin_bit_cast(double, bits);
    return std::fabs(number) < 0x1p63 ? uint64_t(int64_t(number)) : 0;
}

/* The integer in the lowest `bytes` bytes. */
int64_t sign_extended(uint64_t bits, unsigned bytes) {
    const unsigned unused = 64 - 8 * bytes;
    return int64_t(bits << unused) >> unused;
}

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wformat-nonliteral"
#pragma clang diagnostic ignored "-Wformat-security"
std::string print_component(const directive &how, const smtl_log_value &value, uint64_t bits) {
    const std::string start = "%" + how.flags;
    const char conversion = how.conversion;
    if (std::strchr("fFeEgGaA", conversion) != nullptr)
        return print((start + conversion).c_str(), as_double(value, bits));
    const uint64_t integer = as_integer(value, bits);
    if (conversion == 'p') return print("0x%llx", static_cast<unsigned long long>(integer));
    if (conversion == 'c') return print((start + 'c').c_str(), int(static_cast<unsigned char>(integer)));
    /* A value that is smaller than an int is passed as an int. */
    const unsigned passed = value.kind == SMTL_LOG_FLOAT || value.size > sizeof(int) ? sizeof integer : sizeof(int);
    const unsigned bytes = how.narrower ? 1 : how.narrow ? 2 : passed;
    const std::string format = start + "ll" + conversion;
    if (conversion == 'd' || conversion == 'i')
        return print(format.c_str(), static_cast<long long>(sign_extended(integer, bytes)));
    return print(format.c_str(), static_cast<unsigned long long>(integer << (64 - 8 * bytes) >> (64 - 8 * bytes)));
}
#pragma clang diagnostic pop

std::string print_value(const directive &how, const smtl_log_value &value) {
    if (how.conversion == 's' || how.conversion == 'n')
        return "(no text)"; /* kernels have no strings, and nothing is written back to them */
    std::string text;
    for (uint32_t i = 0; i < std::min<uint32_t>(value.components, SMTL_LOG_COMPONENTS); ++i)
        text += (i == 0 ? "" : ",") + print_component(how, value, value.bits[i]);
    return text;
}

std::string format_message(std::string_view format, const smtl_log_value *values, uint32_t count) {
    std::string text;
    uint32_t next = 0;
    while (!format.empty()) {
        const size_t plain = std::min(format.find('%'), format.size());
        text += format.substr(0, plain);
        format.remove_prefix(plain);
        if (format.empty()) break;
        const directive how = read_directive(format);
        if (how.conversion == 0)
            text += format.substr(0, how.length);
        else if (how.conversion == '%')
            text += '%';
        else
            text += next < count ? print_value(how, values[next++]) : "(no value)";
        format.remove_prefix(how.length);
    }
    return text;
}

/* Whether the whole record lies in the buffer. A kernel may have written over it. */
bool is_sound(const smtl_log_record &record, uint64_t left) {
    uint64_t size = sizeof record + uint64_t(record.value_count) * sizeof(smtl_log_value);
    for (const uint32_t text : record.text_sizes) size += text;
    return record.size <= left && record.size % 8 == 0 && size <= record.size;
}

}  // namespace
}  // namespace smtl

smtl_log_buffer *smtl_log_create(size_t capacity) {
    auto *buffer = static_cast<smtl_log_buffer *>(std::calloc(1, sizeof(smtl_log_buffer) + capacity));
    if (buffer != nullptr) buffer->capacity = capacity;
    return buffer;
}

void smtl_log_free(smtl_log_buffer *buffer) { std::free(buffer); }

uint64_t smtl_log_deliver(const smtl_log_buffer *buffer, void (*receive)(void *, const smtl_log_message *),
                          void *context) {
    const uint64_t end = std::min(buffer->used, buffer->capacity);
    for (uint64_t offset = 0; end - offset >= sizeof(smtl_log_record);) {
        smtl_log_record record;
        std::memcpy(&record, buffer->bytes + offset, sizeof record);
        if (record.size < sizeof record || !smtl::is_sound(record, end - offset)) break;
        if (record.complete != 0) {
            try {
                const unsigned char *at = buffer->bytes + offset + sizeof record;
                std::vector<smtl_log_value> values(record.value_count);
                for (smtl_log_value &value : values) {
                    std::memcpy(&value, at, sizeof value);
                    at += sizeof value;
                }
                std::string texts[SMTL_LOG_TEXTS];
                for (uint32_t i = 0; i < SMTL_LOG_TEXTS; at += record.text_sizes[i], ++i)
                    texts[i].assign(reinterpret_cast<const char *>(at), record.text_sizes[i]);
                const std::string text = smtl::format_message(texts[2], values.data(), record.value_count);
                const smtl_log_message message = {record.type, texts[0].c_str(), texts[1].c_str(), text.c_str()};
                receive(context, &message);
            } catch (const std::bad_alloc &) {
                /* This message is lost; the others need not be. */
            }
        }
        offset += record.size;
    }
    return buffer->dropped;
}
