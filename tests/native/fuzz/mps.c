/* Kernels of Metal Performance Shaders. */
#include "fuzz.h"
#include "metal_bridge_mps.h"

#include <stdint.h>

static void refuse_size(verdict *v, size_t size) {
    refuse_if(v, size == 0, MTB_INVALID_ARGUMENT);
    refuse_if(v, size > INT32_MAX, MTB_OUT_OF_RANGE);
}

/* Sizes none of which is zero. */
static bool are_too_many(const size_t *sizes, int count) {
    size_t product = 1;
    for (int i = 0; i < count; i++)
        if (__builtin_mul_overflow(product, sizes[i], &product) || product > INT32_MAX) return true;
    return false;
}

static void make_products(void) {
    int number;
    device_model *device = pick_device(&number);
    size_t rows = any_size(), columns = any_size(), inner = any_size();
    verdict v = {0};
    refuse_if(&v, !device, MTB_INVALID_ARGUMENT);
    refuse_size(&v, rows), refuse_size(&v, columns);
    verdict of_vector = v;
    refuse_size(&v, inner);
    refuse_if(&v, are_too_many((size_t[]){rows, columns}, 2), MTB_OUT_OF_RANGE);
    refuse_if(&v, are_too_many((size_t[]){rows, inner}, 2), MTB_OUT_OF_RANGE);
    refuse_if(&v, are_too_many((size_t[]){inner, columns}, 2), MTB_OUT_OF_RANGE);
    mtb_mps_matrix_multiplication product = {.transpose_left = one_in(2),
                                             .transpose_right = one_in(2),
                                             .result_rows = rows,
                                             .result_columns = columns,
                                             .interior_columns = inner,
                                             .alpha = 1};
    mtb_mps_kernel_release(MAKE(&v, mtb_mps_matrix_multiplication_create, HANDLE(device), &product));
    refuse_if(&of_vector, are_too_many((size_t[]){rows, columns}, 2), MTB_OUT_OF_RANGE);
    mtb_mps_matrix_vector_multiplication vector_product = {
        .transpose = one_in(2), .rows = rows, .columns = columns, .beta = 1};
    mtb_mps_kernel_release(
        MAKE(&of_vector, mtb_mps_matrix_vector_multiplication_create, HANDLE(device), &vector_product));
    verdict of_arrays = {0};
    refuse_if(&of_arrays, !device, MTB_INVALID_ARGUMENT);
    mtb_mps_array_multiplication array_product = {.has_addend = one_in(2), .alpha = 1, .beta = 2};
    mtb_mps_kernel_release(MAKE(&of_arrays, mtb_mps_array_multiplication_create, HANDLE(device), &array_product));
    verdict of_top = of_arrays;
    refuse_if(&of_top, rows == 0, MTB_INVALID_ARGUMENT);
    refuse_if(&of_top, rows > MTB_MPS_MAX_TOP_K, MTB_OUT_OF_RANGE);
    mtb_mps_kernel_release(MAKE(&of_top, mtb_mps_matrix_find_top_k_create, HANDLE(device), rows));
}

static void make_graphs(void) {
    int number;
    device_model *device = pick_device(&number);
    size_t a = any_size(), b = any_size();
    uint32_t layout = any_enumerator(2);
    verdict v = {0};
    refuse_if(&v, !device || layout > 1, MTB_INVALID_ARGUMENT);
    refuse_size(&v, a), refuse_size(&v, b);
    verdict of_normalization = v;
    refuse_if(&of_normalization, are_too_many((size_t[]){a, b, 3, 2}, 4), MTB_OUT_OF_RANGE);
    mtb_mps_batch_normalization normalization = {.data_type = MTB_TYPE_FLOAT,
                                                 .layout = (mtb_mps_layout)layout,
                                                 .batch = a,
                                                 .channels = b,
                                                 .height = 3,
                                                 .width = 2,
                                                 .has_gamma = one_in(2),
                                                 .has_beta = one_in(2)};
    mtb_mps_kernel_release(MAKE(&of_normalization, mtb_mps_batch_normalization_create, HANDLE(device), &normalization));
    /* A convolution of a x a pixels by weights of b x b. */
    verdict of_convolution = v;
    size_t side = a >= b ? a - b + 1 : 0;
    refuse_if(&of_convolution, a < b, MTB_INVALID_ARGUMENT);
    refuse_if(&of_convolution,
              are_too_many((size_t[]){a, a}, 2) || are_too_many((size_t[]){b, b}, 2) ||
                  are_too_many((size_t[]){side, side}, 2),
              MTB_OUT_OF_RANGE);
    mtb_mps_convolution_2d convolution = {
        MTB_TYPE_HALF, (mtb_mps_layout)layout, MTB_MPS_OIHW, 1, 1, 1, a, a, b, b, 1, 1, 1, 1, 0, 0, 0, 0, 1, true};
    mtb_mps_kernel_release(MAKE(&of_convolution, mtb_mps_convolution_2d_create, HANDLE(device), &convolution));
    verdict of_attention = {0};
    refuse_if(&of_attention, !device, MTB_INVALID_ARGUMENT);
    refuse_size(&of_attention, a), refuse_size(&of_attention, b);
    refuse_if(&of_attention, are_too_many((size_t[]){a, 4}, 2) || are_too_many((size_t[]){b, 4}, 2), MTB_OUT_OF_RANGE);
    refuse_if(&of_attention, are_too_many((size_t[]){a, b, 2}, 3), MTB_OUT_OF_RANGE);
    mtb_mps_attention attention = {MTB_TYPE_FLOAT, 1, 2, 1, a, b, 2, 2, 0, 0, 1};
    mtb_mps_kernel_release(MAKE(&of_attention, mtb_mps_attention_create, HANDLE(device), &attention));
}

typedef struct {
    size_t begin, end;
} range;

/* A matrix of floats in a buffer, which may leave it. */
static mtb_mps_array any_matrix(verdict *v, const buffer_model *buffer, size_t rows, size_t columns, range *range) {
    size_t offset = any_offset_in_buffer(), stride = one_in(4) ? any_size() : columns * 4, length;
    refuse_if(v, offset % 4 != 0 || stride % 4 != 0, MTB_MISALIGNED);
    refuse_if(v, stride < columns * 4, MTB_INVALID_ARGUMENT);
    bool is_far = __builtin_mul_overflow(rows - 1, stride, &length) ||
                  __builtin_add_overflow(length, columns * 4, &length) ||
                  __builtin_add_overflow(length, offset, &length) || length > buffer->length;
    size_t whole;
    is_far = is_far || __builtin_mul_overflow(rows, stride, &whole);
    refuse_if(v, is_far, MTB_OUT_OF_RANGE);
    range->begin = offset, range->end = length;
    return (mtb_mps_array){.buffer = buffer->handle,
                           .offset = offset,
                           .data_type = MTB_TYPE_FLOAT,
                           .rank = 2,
                           .shape = {rows, columns},
                           .strides = {stride, 4}};
}

static void encode_kernel(void) {
    command_model **picked = PICK(all.commands);
    command_model *commands = picked ? *picked : NULL;
    buffer_model *in = PICK(all.buffers), *out = PICK(all.buffers);
    int number;
    device_model *device = pick_device(&number);
    if (!device || !in || !out) return;
    if (!mtb_mps_supports_device(device->handle)) return;
    mtb_mps_kernel *kernel = MAKE((&(verdict){0}), mtb_mps_matrix_softmax_create, device->handle, one_in(2));
    size_t rows = 1 + below(4), columns = 1 + below(4);
    verdict v = {0};
    refuse_if(&v, !commands, MTB_INVALID_ARGUMENT);
    refuse_if(&v, commands && (commands->is_committed || commands->is_encoding), MTB_INVALID_STATE);
    refuse_if(&v, commands && commands->device != number, MTB_WRONG_DEVICE);
    refuse_if(&v, in->device != number || out->device != number, MTB_WRONG_DEVICE);
    range read, written;
    mtb_mps_array operands[] = {any_matrix(&v, in, rows, columns, &read), any_matrix(&v, out, rows, columns, &written)};
    refuse_if(&v, in == out && read.begin < written.end && written.begin < read.end, MTB_INVALID_ARGUMENT);
    size_t count = one_in(16) ? any_size() : 2;
    refuse_if(&v, count != 2, MTB_INVALID_ARGUMENT);
    CALL(&v, mtb_mps_kernel_encode, kernel, HANDLE(commands), operands, count);
    mtb_mps_kernel_release(mtb_mps_kernel_retain(kernel));
    mtb_mps_kernel_release(kernel);
}

const action mps_actions[] = {make_products, make_graphs, encode_kernel, encode_kernel, encode_kernel};
const uint32_t mps_action_count = sizeof mps_actions / sizeof *mps_actions;
