/* Metal Performance Shaders: Apple's own matrix products, convolutions and attention, encoded into the command buffers
 * of metal_bridge.h. What that header says of handles, errors, strings and threads holds here too.
 *
 * A kernel (mtb_mps_kernel) is an MPSKernel, or an MPSGraph of one operation. It is made once for a device and a size,
 * and encoded any number of times, each time with operands: elements in buffers, described by an mtb_mps_array. Any
 * thread may use a kernel at the same time as others; while one thread encodes a kernel, others wait for it.
 *
 * Every function that makes a kernel fails with MTB_UNSUPPORTED if mtb_mps_supports_device is false or the system lacks
 * the class, with MTB_INVALID_ARGUMENT for NULL, a zero size, an unknown enumerator or a scale that is not finite, and
 * with MTB_OUT_OF_RANGE for sizes beyond what Metal takes.
 */
#ifndef METAL_BRIDGE_MPS_H
#define METAL_BRIDGE_MPS_H

#include "metal_bridge.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mtb_mps_kernel mtb_mps_kernel; /* MPSKernel, or MPSGraph */

/* The most dimensions of an operand. */
#define MTB_MPS_MAX_RANK 4u

/* The most values that a kernel for the largest values of a row finds: Metal's limit. */
#define MTB_MPS_MAX_TOP_K 16u

/* Elements in a buffer. The kernel tells what becomes of them:
 *   a matrix     MPSMatrix: rows x columns, or matrices x rows x columns
 *   a vector     MPSVector: length, or vectors x length
 *   an array     MPSNDArray or MPSGraphTensorData: any rank up to MTB_MPS_MAX_RANK, packed
 * The element at (i, j, ...) lies at byte offset + i * strides[0] + j * strides[1] + ... of the buffer. */
typedef struct mtb_mps_array {
    mtb_buffer *buffer;
    /* Bytes, a multiple of an element's size. An array at another offset than zero needs macOS 15. */
    size_t offset;
    /* MTB_TYPE_FLOAT, MTB_TYPE_HALF, for arrays also MTB_TYPE_BFLOAT, which needs macOS 14; MTB_TYPE_UINT for indices.
     */
    mtb_data_type data_type;
    /* The number of dimensions that follow, 1 or more. */
    size_t rank;
    /* Elements, none of them zero, the slowest dimension first. Fewer than 2^31 altogether. */
    size_t shape[MTB_MPS_MAX_RANK];
    /* Bytes from an element to the next one of the same dimension. The last stride is an element's size, each other one
     * a multiple of it and at least as long as what the later dimensions take. From matrix to matrix it is also a
     * multiple of that from row to row. */
    size_t strides[MTB_MPS_MAX_RANK];
} mtb_mps_array;

/* MPSSupportsMTLDevice; false for NULL. */
bool mtb_mps_supports_device(const mtb_device *device);

mtb_mps_kernel *mtb_mps_kernel_retain(mtb_mps_kernel *kernel);
void mtb_mps_kernel_release(mtb_mps_kernel *kernel);
/* Encodes the kernel: encodeToCommandBuffer:... of its class. `operands` are `count` arrays in the order that the
 * kernel's own comment gives. Results are written, and the others are read; a result shares no bytes with another
 * operand. MTB_INVALID_STATE if an encoder of the command buffer is open or the command buffer is committed,
 * MTB_INVALID_ARGUMENT for shapes and types that do not fit and for results that overlap other operands,
 * MTB_OUT_OF_RANGE for operands that leave their buffer, MTB_MISALIGNED, MTB_WRONG_DEVICE, MTB_UNSUPPORTED. Nothing is
 * encoded then. After MTB_EXCEPTION nobody knows what was encoded: the command buffer can no longer be committed. */
mtb_status mtb_mps_kernel_encode(mtb_mps_kernel *kernel, mtb_command_buffer *command_buffer,
                                 const mtb_mps_array *operands, size_t count, mtb_error **error);

/* --------------------------------------------------------------------------------------- matrices and vectors */

typedef struct mtb_mps_matrix_multiplication {
    bool transpose_left;
    bool transpose_right;
    size_t result_rows;
    size_t result_columns;
    size_t interior_columns;
    double alpha;
    double beta;
} mtb_mps_matrix_multiplication;

/* MPSMatrixMultiplication: result = alpha * op(left) * op(right) + beta * result. Operands: the matrices left, right,
 * result, all of one floating-point type and with equal numbers of matrices. */
mtb_mps_kernel *mtb_mps_matrix_multiplication_create(mtb_device *device,
                                                     const mtb_mps_matrix_multiplication *descriptor,
                                                     mtb_error **error);

typedef struct mtb_mps_matrix_vector_multiplication {
    bool transpose;
    size_t rows;
    size_t columns;
    double alpha;
    double beta;
} mtb_mps_matrix_vector_multiplication;

/* MPSMatrixVectorMultiplication: result = alpha * op(matrix) * vector + beta * result, where op(matrix) has rows x
 * columns. Operands: a matrix, the vectors vector and result, all of one floating-point type. One matrix, one vector.
 */
mtb_mps_kernel *mtb_mps_matrix_vector_multiplication_create(mtb_device *device,
                                                            const mtb_mps_matrix_vector_multiplication *descriptor,
                                                            mtb_error **error);

/* MPSMatrixSoftMax, or MPSMatrixLogSoftMax: of each row. Operands: the matrices input and result, of one shape and one
 * floating-point type. */
mtb_mps_kernel *mtb_mps_matrix_softmax_create(mtb_device *device, bool is_logarithm, mtb_error **error);

/* MPSMatrixFindTopK: the `count` largest values of each row, the largest first, and their columns. Operands: the
 * matrices input, indices (MTB_TYPE_UINT) and values; input and values of one floating-point type; indices and values
 * have `count` columns. MTB_OUT_OF_RANGE over MTB_MPS_MAX_TOP_K. */
mtb_mps_kernel *mtb_mps_matrix_find_top_k_create(mtb_device *device, size_t count, mtb_error **error);

/* ----------------------------------------------------------------------------------------------------- arrays */

typedef struct mtb_mps_array_multiplication {
    bool transpose_left;
    bool transpose_right;
    bool has_addend;
    double alpha;
    double beta;
} mtb_mps_array_multiplication;

/* MPSNDArrayMatrixMultiplication (macOS 15): result = alpha * op(left) * op(right) + beta * addend, of the matrices in
 * the last two dimensions. Where the left or the right operand has size 1 in another dimension, its matrix counts for
 * all of the other one's. Operands: the arrays left, right, addend (with `has_addend` alone; of the result's shape) and
 * result, all of one floating-point type. Arrays with fewer than four dimensions count as having sizes of 1 before
 * them. */
mtb_mps_kernel *mtb_mps_array_multiplication_create(mtb_device *device, const mtb_mps_array_multiplication *descriptor,
                                                    mtb_error **error);

/* ----------------------------------------------------------------------------------- MPSGraphs of one operation */

/* The order of a picture's dimensions, the slowest first. */
typedef enum mtb_mps_layout {
    MTB_MPS_NCHW = 0,
    MTB_MPS_NHWC = 1
} mtb_mps_layout;

/* The order of the dimensions of weights: output channels, input channels of a group, height and width of the kernel.
 */
typedef enum mtb_mps_weights_layout {
    MTB_MPS_OIHW = 0,
    MTB_MPS_HWIO = 1
} mtb_mps_weights_layout;

typedef struct mtb_mps_convolution_2d {
    mtb_data_type data_type;
    mtb_mps_layout layout;
    mtb_mps_weights_layout weights_layout;
    size_t batch;
    size_t input_channels;
    size_t output_channels;
    size_t input_height;
    size_t input_width;
    size_t kernel_height;
    size_t kernel_width;
    size_t stride_y;
    size_t stride_x;
    size_t dilation_y;
    size_t dilation_x;
    size_t padding_top;
    size_t padding_bottom;
    size_t padding_left;
    size_t padding_right;
    /* Divides the channels of the input and of the output. */
    size_t groups;
    bool has_bias;
} mtb_mps_convolution_2d;

/* convolution2DWithSourceTensor:...: the kernel is not flipped, and the padding is zeroes. The result has
 * (height + paddings - dilation * (kernel_height - 1) - 1) / stride + 1 rows, rounded down, and columns likewise.
 * Operands: the arrays input, weights, bias (with `has_bias` alone; one dimension of output_channels) and result. */
mtb_mps_kernel *mtb_mps_convolution_2d_create(mtb_device *device, const mtb_mps_convolution_2d *descriptor,
                                              mtb_error **error);

typedef struct mtb_mps_batch_normalization {
    mtb_data_type data_type;
    mtb_mps_layout layout;
    size_t batch;
    size_t channels;
    size_t height;
    size_t width;
    double epsilon;
    bool has_gamma;
    bool has_beta;
} mtb_mps_batch_normalization;

/* normalizationWithTensor:...: result = (input - mean) / sqrt(variance + epsilon) * gamma + beta, each for its channel.
 * Operands: the arrays input, mean, variance, gamma (with `has_gamma` alone), beta (with `has_beta` alone) and result;
 * those between the first and the last have one dimension of channels. */
mtb_mps_kernel *mtb_mps_batch_normalization_create(mtb_device *device, const mtb_mps_batch_normalization *descriptor,
                                                   mtb_error **error);

typedef struct mtb_mps_attention {
    mtb_data_type data_type;
    size_t batch;
    /* A multiple of key_heads. */
    size_t query_heads;
    size_t key_heads;
    size_t queries;
    size_t keys;
    /* The elements of a query or key, and those of a value. */
    size_t head_size;
    size_t value_size;
    /* Zero for no mask; otherwise `batch` or 1, and `query_heads` or 1. */
    size_t mask_batch;
    size_t mask_heads;
    double scale;
} mtb_mps_attention;

/* scaledDotProductAttentionWithQueryTensor:... (macOS 15): result = softmax(scale * query * key^T + mask) * value, for
 * each head. Operands: the arrays query (batch x query_heads x queries x head_size), key (batch x key_heads x keys x
 * head_size), value (batch x key_heads x keys x value_size), mask (if there is one: mask_batch x mask_heads x queries x
 * keys) and result (batch x query_heads x queries x value_size). */
mtb_mps_kernel *mtb_mps_attention_create(mtb_device *device, const mtb_mps_attention *descriptor, mtb_error **error);

#ifdef __cplusplus
}
#endif

#endif
