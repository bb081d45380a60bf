/* Checks of operands. Metal would abort, or run off the buffer. */
#include "mps/operand.h"

#include "core/checks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Metal counts the elements of an operand in 31 bits. */
static const size_t most_elements = INT32_MAX;

static const char *const form_names[] = {
    [MTBI_MPS_MATRIX] = "matrix", [MTBI_MPS_VECTOR] = "vector", [MTBI_MPS_ARRAY] = "array"};
/* The fewest dimensions of an operand as the caller gives it. */
static const size_t least_ranks[] = {[MTBI_MPS_MATRIX] = 2, [MTBI_MPS_VECTOR] = 1, [MTBI_MPS_ARRAY] = 1};

/* An operand that is being checked. */
typedef struct {
    const mtbi_mps_operand *wanted;
    const char *form;
    mtb_error **error;
    const char *function;
} check;

#define REFUSE(of, status, format, ...) \
    mtbi_fail((of)->error, (of)->function, status, "the %s `%s` " format, (of)->form, (of)->wanted->name, __VA_ARGS__)

size_t mtbi_mps_element_size(mtb_data_type data_type) {
    switch (data_type) {
    case MTB_TYPE_FLOAT:
    case MTB_TYPE_UINT: return 4;
    case MTB_TYPE_HALF:
    case MTB_TYPE_BFLOAT: return 2;
    default: return 0;
    }
}

bool mtbi_mps_is_float(mtbi_mps_form form, mtb_data_type data_type) {
    if (data_type == MTB_TYPE_BFLOAT) return form == MTBI_MPS_ARRAY;
    return data_type == MTB_TYPE_FLOAT || data_type == MTB_TYPE_HALF;
}

const char *mtbi_mps_float_names(mtbi_mps_form form) {
    return form == MTBI_MPS_ARRAY ? "MTB_TYPE_FLOAT, MTB_TYPE_HALF and MTB_TYPE_BFLOAT"
                                  : "MTB_TYPE_FLOAT and MTB_TYPE_HALF";
}

static mtb_status check_positive(size_t value, const char *quantity, const char *what, mtb_error **error,
                                 const char *function) {
    if (value == 0) return mtbi_fail(error, function, MTB_INVALID_ARGUMENT, "the %s%s is zero", quantity, what);
    if (value > most_elements)
        return mtbi_fail(error, function, MTB_OUT_OF_RANGE, "the %s%s is %zu: the most is %zu", quantity, what, value,
                         most_elements);
    return MTB_OK;
}

mtb_status mtbi_mps_check_size(size_t size, const char *what, mtb_error **error, const char *function) {
    return check_positive(size, "number of ", what, error, function);
}

mtb_status mtbi_mps_check_step(size_t step, const char *what, mtb_error **error, const char *function) {
    return check_positive(step, "", what, error, function);
}

mtb_status mtbi_mps_check_padding(size_t padding, const char *what, mtb_error **error, const char *function) {
    if (padding < most_elements) return MTB_OK;
    /* SIZE_MAX is what a caller's -1 becomes. */
    mtb_status status = padding == SIZE_MAX ? MTB_INVALID_ARGUMENT : MTB_OUT_OF_RANGE;
    return mtbi_fail(error, function, status, "the %s is %zu: the most is %zu", what, padding, most_elements - 1);
}

mtb_status mtbi_mps_check_elements(const size_t *shape, size_t rank, const char *what, mtb_error **error,
                                   const char *function) {
    size_t elements = 1;
    for (size_t i = 0; i < rank; i++)
        if (__builtin_mul_overflow(elements, shape[i], &elements) || elements > most_elements)
            return mtbi_fail(error, function, MTB_OUT_OF_RANGE, "the %s has more than %zu elements", what,
                             most_elements);
    return MTB_OK;
}

mtb_status mtbi_mps_check_scales(double alpha, double beta, mtb_error **error, const char *function) {
    if (isfinite(alpha) && isfinite(beta)) return MTB_OK;
    return mtbi_fail(error, function, MTB_INVALID_ARGUMENT, "alpha is %g and beta is %g: both must be finite", alpha,
                     beta);
}

/* "2 x 3 x 4", for messages. */
static const char *shape_text(const size_t *shape, size_t rank, char text[128]) {
    size_t length = 0;
    text[0] = 0;
    for (size_t i = 0; i < rank; i++)
        length += (size_t)snprintf(text + length, 128 - length, i ? " x %zu" : "%zu", shape[i]);
    return text;
}

static mtb_status check_type(const check *of, mtb_data_type type, const mtb_mps_array *first) {
    mtb_data_type wanted = of->wanted->data_type;
    if (!wanted && !first && mtbi_mps_is_float(of->wanted->form, type)) return MTB_OK;
    if (!wanted && !first)
        return REFUSE(of, MTB_INVALID_ARGUMENT, "has elements of type %u: the kernel takes %s", (unsigned)type,
                      mtbi_mps_float_names(of->wanted->form));
    if (!wanted) wanted = first->data_type;
    if (type == wanted) return MTB_OK;
    return REFUSE(of, MTB_INVALID_ARGUMENT, "has elements of type %u, and needs type %u", (unsigned)type,
                  (unsigned)wanted);
}

/* Puts the dimensions that were left out before the others. */
static mtb_status complete(const check *of, mtb_mps_array *array) {
    size_t least = least_ranks[of->wanted->form], most = of->wanted->rank;
    if (array->rank < least || array->rank > most)
        return REFUSE(of, MTB_INVALID_ARGUMENT, "has %zu dimensions, not %zu to %zu", array->rank, least, most);
    for (; array->rank < most; array->rank++) {
        memmove(array->shape + 1, array->shape, array->rank * sizeof *array->shape);
        memmove(array->strides + 1, array->strides, array->rank * sizeof *array->strides);
        array->shape[0] = 1;
        if (__builtin_mul_overflow(array->shape[1], array->strides[1], &array->strides[0]))
            return REFUSE(of, MTB_OUT_OF_RANGE, "has the stride %zu: too long for any buffer", array->strides[1]);
    }
    return MTB_OK;
}

static mtb_status check_shape(const check *of, const mtb_mps_array *array, const mtb_mps_array *first) {
    size_t wanted[MTB_MPS_MAX_RANK];
    bool fits = true;
    for (size_t i = 0; i < of->wanted->rank; i++) {
        wanted[i] = of->wanted->shape[i];
        if (wanted[i] == 0 && first) wanted[i] = first->shape[i];
        if (wanted[i] == 0 || wanted[i] == MTBI_MPS_ANY) wanted[i] = array->shape[i];
        fits = fits && array->shape[i] == wanted[i];
    }
    char is[128], should_be[128];
    if (!fits)
        return REFUSE(of, MTB_INVALID_ARGUMENT, "is %s, and should be %s", shape_text(array->shape, array->rank, is),
                      shape_text(wanted, of->wanted->rank, should_be));
    for (size_t i = 0; i < array->rank; i++)
        if (array->shape[i] == 0)
            return REFUSE(of, MTB_INVALID_ARGUMENT, "is %s: no size may be zero",
                          shape_text(array->shape, array->rank, is));
    return mtbi_mps_check_elements(array->shape, array->rank, of->wanted->name, of->error, of->function);
}

/* The strides, and where the last element ends. */
static mtb_status check_layout(const check *of, const mtb_mps_array *array, size_t *length) {
    size_t size = mtbi_mps_element_size(array->data_type), inner = size;
    bool is_packed = of->wanted->form == MTBI_MPS_ARRAY;
    *length = size;
    if (array->offset % size != 0)
        return REFUSE(of, MTB_MISALIGNED, "begins at byte %zu, not a multiple of an element's %zu bytes", array->offset,
                      size);
    for (size_t i = array->rank; i-- > 0;) {
        size_t stride = array->strides[i], reach;
        if (stride % size != 0)
            return REFUSE(of, MTB_MISALIGNED, "has the stride %zu, not a multiple of an element's %zu bytes", stride,
                          size);
        if (stride < inner || ((is_packed || i + 1 == array->rank) && stride != inner))
            return REFUSE(of, MTB_INVALID_ARGUMENT, "has the stride %zu in dimension %zu, %s %zu bytes", stride, i,
                          stride < inner ? "less than" : "and not", inner);
        if (__builtin_mul_overflow(array->shape[i], stride, &inner) ||
            __builtin_mul_overflow(array->shape[i] - 1, stride, &reach) ||
            __builtin_add_overflow(*length, reach, length))
            return REFUSE(of, MTB_OUT_OF_RANGE, "has the stride %zu: too long for any buffer", stride);
    }
    if (of->wanted->form == MTBI_MPS_MATRIX && array->strides[0] % array->strides[1] != 0)
        return REFUSE(of, MTB_MISALIGNED, "has the stride %zu from matrix to matrix, not a multiple of %zu",
                      array->strides[0], array->strides[1]);
    if (array->offset > array->buffer->length || *length > array->buffer->length - array->offset)
        return REFUSE(of, MTB_OUT_OF_RANGE, "ends past the end of its buffer: %zu bytes at offset %zu of %zu", *length,
                      array->offset, array->buffer->length);
    return MTB_OK;
}

static mtb_status check_one(const check *of, const mtb_device *device, mtb_mps_array *array, const mtb_mps_array *first,
                            size_t *length) {
    REQUIRE(mtbi_check_given(array->buffer, of->wanted->name, of->error, of->function));
    REQUIRE(mtbi_check_device(device, array->buffer->device, of->wanted->name, of->error, of->function));
    REQUIRE(check_type(of, array->data_type, first));
    REQUIRE(complete(of, array));
    REQUIRE(check_shape(of, array, first));
    return check_layout(of, array, length);
}

mtb_status mtbi_mps_check_operands(const mtb_device *device, const mtbi_mps_operand *operands, size_t count,
                                   const mtb_mps_array *given, mtb_mps_array *arrays, mtb_error **error,
                                   const char *function) {
    size_t lengths[MTBI_MPS_MAX_OPERANDS];
    for (size_t i = 0; i < count; i++) {
        const check of = {&operands[i], form_names[operands[i].form], error, function};
        arrays[i] = given[i];
        REQUIRE(check_one(&of, device, &arrays[i], i ? &arrays[0] : NULL, &lengths[i]));
        for (size_t j = 0; j < i; j++) {
            if (!operands[i].is_result || arrays[i].buffer->metal != arrays[j].buffer->metal) continue;
            bool is_before = arrays[i].offset + lengths[i] <= arrays[j].offset;
            bool is_after = arrays[j].offset + lengths[j] <= arrays[i].offset;
            if (!is_before && !is_after)
                return REFUSE(&of, MTB_INVALID_ARGUMENT,
                              "overlaps `%s`: %zu bytes at %zu and %zu bytes at %zu of one buffer", operands[j].name,
                              lengths[i], arrays[i].offset, lengths[j], arrays[j].offset);
        }
    }
    return MTB_OK;
}
