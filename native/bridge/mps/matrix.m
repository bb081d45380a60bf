/* Kernels over matrices and vectors. */
#import "core/checks.h"
#import "core/guard.h"
#import "mps/kernel.h"

static MPSMatrix *matrix(const mtb_mps_array *array) {
    MPSMatrixDescriptor *descriptor = [MPSMatrixDescriptor matrixDescriptorWithRows:array->shape[1]
                                                                            columns:array->shape[2]
                                                                           matrices:array->shape[0]
                                                                           rowBytes:array->strides[1]
                                                                        matrixBytes:array->strides[0]
                                                                           dataType:mtbi_mps_type(array->data_type)];
    return [[[MPSMatrix alloc] initWithBuffer:array->buffer->metal offset:array->offset
                                   descriptor:descriptor] autorelease];
}

static MPSVector *vector(const mtb_mps_array *array) {
    MPSVectorDescriptor *descriptor = [MPSVectorDescriptor vectorDescriptorWithLength:array->shape[1]
                                                                              vectors:array->shape[0]
                                                                          vectorBytes:array->strides[0]
                                                                             dataType:mtbi_mps_type(array->data_type)];
    return [[[MPSVector alloc] initWithBuffer:array->buffer->metal offset:array->offset
                                   descriptor:descriptor] autorelease];
}

static bool multiply(const mtb_mps_kernel *kernel, id<MTLCommandBuffer> command_buffer, const mtb_mps_array *arrays) {
    MPSMatrix *left = matrix(&arrays[0]), *right = matrix(&arrays[1]), *result = matrix(&arrays[2]);
    if (!left || !right || !result) return false;
    [(MPSMatrixMultiplication *)kernel->metal encodeToCommandBuffer:command_buffer leftMatrix:left rightMatrix:right
                                                       resultMatrix:result];
    return true;
}

static mtb_status check_multiplication(const mtb_mps_matrix_multiplication *descriptor, mtb_error **error,
                                       const char *function) {
    REQUIRE(mtbi_check_given(descriptor, "descriptor", error, function));
    REQUIRE(mtbi_mps_check_size(descriptor->result_rows, "the result's rows", error, function));
    REQUIRE(mtbi_mps_check_size(descriptor->result_columns, "the result's columns", error, function));
    REQUIRE(mtbi_mps_check_size(descriptor->interior_columns, "interior columns", error, function));
    const size_t left[] = {descriptor->result_rows, descriptor->interior_columns};
    const size_t right[] = {descriptor->interior_columns, descriptor->result_columns};
    const size_t result[] = {descriptor->result_rows, descriptor->result_columns};
    REQUIRE(mtbi_mps_check_elements(left, 2, "left matrix", error, function));
    REQUIRE(mtbi_mps_check_elements(right, 2, "right matrix", error, function));
    REQUIRE(mtbi_mps_check_elements(result, 2, "result", error, function));
    return mtbi_mps_check_scales(descriptor->alpha, descriptor->beta, error, function);
}

mtb_mps_kernel *mtb_mps_matrix_multiplication_create(mtb_device *device,
                                                     const mtb_mps_matrix_multiplication *descriptor,
                                                     mtb_error **error) {
    mtb_mps_kernel *kernel = NULL;
    mtbi_error_clear(error);
    MTBI_ENTER
    if (check_multiplication(descriptor, error, __func__)) return NULL;
    kernel = mtbi_mps_kernel_begin(device, @"MPSMatrixMultiplication", error, __func__);
    if (!kernel) return NULL;
    size_t rows = descriptor->result_rows, columns = descriptor->result_columns, inner = descriptor->interior_columns;
    bool left = descriptor->transpose_left, right = descriptor->transpose_right;
    kernel->encode = multiply;
    mtbi_mps_kernel_add_matrix(kernel, "left", false, left ? inner : rows, left ? rows : inner);
    mtbi_mps_kernel_add_matrix(kernel, "right", false, right ? columns : inner, right ? inner : columns);
    mtbi_mps_kernel_add_matrix(kernel, "result", true, rows, columns);
    MPSMatrixMultiplication *metal = [[MPSMatrixMultiplication alloc] initWithDevice:device->metal transposeLeft:left
                                                                      transposeRight:right
                                                                          resultRows:rows
                                                                       resultColumns:columns
                                                                     interiorColumns:inner
                                                                               alpha:descriptor->alpha
                                                                                beta:descriptor->beta];
    return mtbi_mps_kernel_finish(kernel, metal, error, __func__);
    MTBI_LEAVE((mtb_mps_kernel_release(kernel), mtbi_fail_with_exception(error, __func__, exception), NULL))
}

static bool multiply_vector(const mtb_mps_kernel *kernel, id<MTLCommandBuffer> command_buffer,
                            const mtb_mps_array *arrays) {
    MPSMatrix *left = matrix(&arrays[0]);
    MPSVector *right = vector(&arrays[1]), *result = vector(&arrays[2]);
    if (!left || !right || !result) return false;
    [(MPSMatrixVectorMultiplication *)kernel->metal encodeToCommandBuffer:command_buffer inputMatrix:left
                                                              inputVector:right
                                                             resultVector:result];
    return true;
}

static mtb_status check_vector_multiplication(const mtb_mps_matrix_vector_multiplication *descriptor, mtb_error **error,
                                              const char *function) {
    REQUIRE(mtbi_check_given(descriptor, "descriptor", error, function));
    REQUIRE(mtbi_mps_check_size(descriptor->rows, "rows", error, function));
    REQUIRE(mtbi_mps_check_size(descriptor->columns, "columns", error, function));
    const size_t matrix[] = {descriptor->rows, descriptor->columns};
    REQUIRE(mtbi_mps_check_elements(matrix, 2, "matrix", error, function));
    return mtbi_mps_check_scales(descriptor->alpha, descriptor->beta, error, function);
}

mtb_mps_kernel *mtb_mps_matrix_vector_multiplication_create(mtb_device *device,
                                                            const mtb_mps_matrix_vector_multiplication *descriptor,
                                                            mtb_error **error) {
    mtb_mps_kernel *kernel = NULL;
    mtbi_error_clear(error);
    MTBI_ENTER
    if (check_vector_multiplication(descriptor, error, __func__)) return NULL;
    kernel = mtbi_mps_kernel_begin(device, @"MPSMatrixVectorMultiplication", error, __func__);
    if (!kernel) return NULL;
    size_t rows = descriptor->rows, columns = descriptor->columns;
    bool transpose = descriptor->transpose;
    kernel->encode = multiply_vector;
    mtbi_mps_kernel_add_matrix(kernel, "matrix", false, transpose ? columns : rows, transpose ? rows : columns);
    kernel->operands[0].shape[0] = 1;
    mtbi_mps_kernel_add_vector(kernel, "vector", false, columns);
    mtbi_mps_kernel_add_vector(kernel, "result", true, rows);
    MPSMatrixVectorMultiplication *metal = [[MPSMatrixVectorMultiplication alloc] initWithDevice:device->metal
                                                                                       transpose:transpose
                                                                                            rows:rows
                                                                                         columns:columns
                                                                                           alpha:descriptor->alpha
                                                                                            beta:descriptor->beta];
    return mtbi_mps_kernel_finish(kernel, metal, error, __func__);
    MTBI_LEAVE((mtb_mps_kernel_release(kernel), mtbi_fail_with_exception(error, __func__, exception), NULL))
}

static bool softmax(const mtb_mps_kernel *kernel, id<MTLCommandBuffer> command_buffer, const mtb_mps_array *arrays) {
    MPSMatrix *input = matrix(&arrays[0]), *result = matrix(&arrays[1]);
    if (!input || !result) return false;
    [(MPSMatrixSoftMax *)kernel->metal encodeToCommandBuffer:command_buffer inputMatrix:input resultMatrix:result];
    return true;
}

mtb_mps_kernel *mtb_mps_matrix_softmax_create(mtb_device *device, bool is_logarithm, mtb_error **error) {
    mtb_mps_kernel *kernel = NULL;
    mtbi_error_clear(error);
    MTBI_ENTER
    NSString *name = is_logarithm ? @"MPSMatrixLogSoftMax" : @"MPSMatrixSoftMax";
    kernel = mtbi_mps_kernel_begin(device, name, error, __func__);
    if (!kernel) return NULL;
    kernel->encode = softmax;
    mtbi_mps_kernel_add_matrix(kernel, "input", false, 0, 0);
    mtbi_mps_kernel_add_matrix(kernel, "result", true, 0, 0);
    MPSMatrixSoftMax *metal = [[NSClassFromString(name) alloc] initWithDevice:device->metal];
    return mtbi_mps_kernel_finish(kernel, metal, error, __func__);
    MTBI_LEAVE((mtb_mps_kernel_release(kernel), mtbi_fail_with_exception(error, __func__, exception), NULL))
}

static bool find_top_k(const mtb_mps_kernel *kernel, id<MTLCommandBuffer> command_buffer, const mtb_mps_array *arrays) {
    MPSMatrix *input = matrix(&arrays[0]), *indices = matrix(&arrays[1]), *values = matrix(&arrays[2]);
    if (!input || !indices || !values) return false;
    [(MPSMatrixFindTopK *)kernel->metal encodeToCommandBuffer:command_buffer inputMatrix:input resultIndexMatrix:indices
                                            resultValueMatrix:values];
    return true;
}

static mtb_status check_columns(const mtb_mps_kernel *kernel, const mtb_mps_array *arrays, mtb_error **error,
                                const char *function) {
    size_t columns = arrays[0].shape[2], count = kernel->operands[1].shape[2];
    if (columns >= count) return MTB_OK;
    return mtbi_fail(error, function, MTB_INVALID_ARGUMENT, "the matrix `input` has %zu columns, and needs %zu or more",
                     columns, count);
}

static mtb_status check_top_k(size_t count, mtb_error **error, const char *function) {
    REQUIRE(mtbi_mps_check_size(count, "values", error, function));
    if (count <= MTB_MPS_MAX_TOP_K) return MTB_OK;
    return mtbi_fail(error, function, MTB_OUT_OF_RANGE, "the number of values is %zu: the most is %u", count,
                     MTB_MPS_MAX_TOP_K);
}

mtb_mps_kernel *mtb_mps_matrix_find_top_k_create(mtb_device *device, size_t count, mtb_error **error) {
    mtb_mps_kernel *kernel = NULL;
    mtbi_error_clear(error);
    MTBI_ENTER
    if (check_top_k(count, error, __func__)) return NULL;
    kernel = mtbi_mps_kernel_begin(device, @"MPSMatrixFindTopK", error, __func__);
    if (!kernel) return NULL;
    kernel->encode = find_top_k;
    mtbi_mps_kernel_add_matrix(kernel, "input", false, 0, 0);
    mtbi_mps_kernel_add_matrix(kernel, "indices", true, 0, count);
    mtbi_mps_kernel_add_matrix(kernel, "values", true, 0, count);
    kernel->operands[1].data_type = MTB_TYPE_UINT;
    kernel->check = check_columns;
    MPSMatrixFindTopK *metal = [[MPSMatrixFindTopK alloc] initWithDevice:device->metal numberOfTopKValues:count];
    return mtbi_mps_kernel_finish(kernel, metal, error, __func__);
    MTBI_LEAVE((mtb_mps_kernel_release(kernel), mtbi_fail_with_exception(error, __func__, exception), NULL))
}
