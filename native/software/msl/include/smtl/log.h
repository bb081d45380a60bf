/* What os_log does in a kernel that was compiled with logging: the message goes, unformatted, into the buffer that the
 * command buffer brought for it. */
#ifndef SMTL_LOG_H
#define SMTL_LOG_H

#include <msl/packed.h>

#include "touch.h"

namespace smtl {

template <class T> SMTL_INLINE uint64_t log_bits(T value, smtl_log_value &described) {
    described.size = sizeof(T);
    if constexpr (metal::is_pointer_v<T>) {
        described.kind = SMTL_LOG_UNSIGNED;
        return reinterpret_cast<uintptr_t>(value);
    } else if constexpr (metal::is_enum_v<T>) {
        return log_bits(static_cast<__underlying_type(T)>(value), described);
    } else if constexpr (metal::is_floating_point_v<T>) {
        described.kind = SMTL_LOG_FLOAT;
        return __builtin_bit_cast(uint64_t, static_cast<double>(static_cast<float>(value)));
    } else {
        described.kind = metal::is_signed_v<T> ? SMTL_LOG_SIGNED : SMTL_LOG_UNSIGNED;
        return static_cast<uint64_t>(value);
    }
}

template <class T> SMTL_INLINE smtl_log_value log_value(const T &value) {
    smtl_log_value described = {};
    if constexpr (metal::is_vector_v<T>) {
        described.components = T::size;
        for (uint32_t i = 0; i < T::size; ++i) {
            const metal::make_scalar_t<T> component = value[i];
            described.bits[i] = log_bits(component, described);
        }
    } else {
        described.components = 1;
        described.bits[0] = log_bits(value, described);
    }
    return described;
}

template <class T, int N> SMTL_INLINE smtl_log_value log_value(const metal::packed_vec<T, N> &value) {
    return log_value(metal::vec<T, N>(value));
}

/* Not inlined: kernels that log are not in a hurry, and this is long. */
SMTL_UNINSTRUMENTED __attribute__((noinline)) inline void
write_log(uint32_t type, const char *const (&texts)[SMTL_LOG_TEXTS], const smtl_log_value *values, uint32_t count) {
    smtl_log_buffer *const buffer = current_core()->log;
    if (buffer == nullptr) return;
    smtl_log_record record = {};
    record.type = type;
    record.value_count = count;
    uint64_t size = sizeof record + count * sizeof *values;
    for (uint32_t i = 0; i < SMTL_LOG_TEXTS; ++i) {
        record.text_sizes[i] = static_cast<uint32_t>(__builtin_strlen(texts[i]));
        size += record.text_sizes[i];
    }
    size = (size + 7) & ~uint64_t(7);
    const uint64_t offset = __atomic_fetch_add(&buffer->used, size, __ATOMIC_RELAXED);
    if (offset > buffer->capacity || size > buffer->capacity - offset) {
        __atomic_fetch_add(&buffer->dropped, 1, __ATOMIC_RELAXED);
        return;
    }
    record.size = size;
    unsigned char *to = buffer->bytes + offset;
    unsigned char *const start = to;
    const auto put = [&](const void *from, uint64_t length) SMTL_UNINSTRUMENTED {
        for (uint64_t i = 0; i < length; ++i) to[i] = static_cast<const unsigned char *>(from)[i];
        to += length;
    };
    put(&record, sizeof record);
    put(values, count * sizeof *values);
    for (uint32_t i = 0; i < SMTL_LOG_TEXTS; ++i) put(texts[i], record.text_sizes[i]);
    /* A kernel that is ended before this has written no message. */
    __atomic_store_n(&reinterpret_cast<smtl_log_record *>(start)->complete, 1u, __ATOMIC_RELEASE);
}

template <class... Arguments>
SMTL_INLINE void log(uint32_t type, const char *subsystem, const char *category, const char *format,
                     const Arguments &...arguments) {
    const char *const texts[SMTL_LOG_TEXTS] = {subsystem, category, format};
    /* One more, since there are no arrays of nothing. */
    const smtl_log_value values[] = {log_value(arguments)..., smtl_log_value{}};
    write_log(type, texts, values, sizeof...(Arguments));
}

}  // namespace smtl

#endif
