/* What the work of Metal Performance Shaders is done on: numbers in memory with a stride for each dimension. */
#ifndef SMTL_TENSOR_H
#define SMTL_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SMTL_MAX_RANK 16u

/* As MPSDataType has them: the low 16 bits are the bits of an element. */
enum {
    SMTL_FLOAT32 = 0x10000020u,
    SMTL_FLOAT16 = 0x10000010u,
    SMTL_BFLOAT16 = 0x90000010u,
    SMTL_INT8 = 0x20000008u,
    SMTL_INT16 = 0x20000010u,
    SMTL_INT32 = 0x20000020u,
    SMTL_UINT8 = 8u,
    SMTL_UINT16 = 16u,
    SMTL_UINT32 = 32u,
};

/* The slowest dimension comes first. A stride of 0 repeats what is there. */
typedef struct {
    uint8_t *bytes;
    uint32_t type;
    uint32_t rank;
    size_t lengths[SMTL_MAX_RANK];
    size_t strides[SMTL_MAX_RANK]; /* in bytes */
} smtl_tensor;

static inline size_t smtl_type_size(uint32_t type) { return (type & 0xffffu) / 8; }
static inline bool smtl_is_float(uint32_t type) {
    return type == SMTL_FLOAT32 || type == SMTL_FLOAT16 || type == SMTL_BFLOAT16;
}
/* Whether there are conversions from the type. */
static inline bool smtl_is_readable(uint32_t type) {
    return smtl_is_float(type) || type == SMTL_INT8 || type == SMTL_INT16 || type == SMTL_INT32 || type == SMTL_UINT8 ||
           type == SMTL_UINT16 || type == SMTL_UINT32;
}

static inline size_t smtl_tensor_count(const smtl_tensor *tensor) {
    size_t count = 1;
    for (uint32_t i = 0; i < tensor->rank; i++) count *= tensor->lengths[i];
    return count;
}

#ifdef __cplusplus
}
#endif
#endif
