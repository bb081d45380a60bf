/* Arrays of several dimensions, and their products. */
#import "core/checks.h"
#import "core/guard.h"
#import "mps/kernel.h"

MPSDataType mtbi_mps_type(mtb_data_type data_type) {
    if (data_type == MTB_TYPE_UINT) return MPSDataTypeUInt32;
    if (@available(macOS 14.0, *))
        if (data_type == MTB_TYPE_BFLOAT) return MPSDataTypeBFloat16;
    return data_type == MTB_TYPE_HALF ? MPSDataTypeFloat16 : MPSDataTypeFloat32;
}

MPSNDArray *mtbi_mps_nd_array(const mtb_mps_array *array) {
    NSUInteger sizes[MTB_MPS_MAX_RANK];
    for (size_t i = 0; i < array->rank; i++) sizes[i] = array->shape[array->rank - 1 - i];
    MPSNDArrayDescriptor *descriptor = [MPSNDArrayDescriptor descriptorWithDataType:mtbi_mps_type(array->data_type)
                                                                     dimensionCount:array->rank
                                                                     dimensionSizes:sizes];
    if (@available(macOS 15.0, *)) {
        [descriptor setPreferPackedRows:YES];
        return [[[MPSNDArray alloc] initWithBuffer:array->buffer->metal offset:array->offset
                                        descriptor:descriptor] autorelease];
    }
    return nil;
}

static MPSNDArray *operand(const mtb_mps_array *array, bool is_transposed) {
    MPSNDArray *stored = mtbi_mps_nd_array(array);
    if (!stored || !is_transposed) return stored;
    MPSNDArrayDescriptor *descriptor = [stored descriptor];
    [descriptor transposeDimension:0 withDimension:1];
    if (@available(macOS 15.0, *)) return [stored arrayViewWithDescriptor:descriptor];
    return nil;
}

static bool multiply(const mtb_mps_kernel *kernel, id<MTLCommandBuffer> command_buffer, const mtb_mps_array *arrays) {
    MPSNDArray *left = operand(&arrays[0], kernel->multiplication.transpose_left);
    MPSNDArray *right = operand(&arrays[1], kernel->multiplication.transpose_right);
    MPSNDArray *addend = kernel->multiplication.has_addend ? operand(&arrays[2], false) : nil;
    MPSNDArray *result = operand(&arrays[kernel->count - 1], false);
    if (!left || !right || !result || (kernel->multiplication.has_addend && !addend)) return false;
    NSArray *sources = [NSArray arrayWithObjects:left, right, addend, nil];
    [(MPSNDArrayMatrixMultiplication *)kernel->metal encodeToCommandBuffer:command_buffer sourceArrays:sources
                                                          destinationArray:result];
    return true;
}

static mtb_status fail_shapes(const char *what, size_t dimension, size_t is, size_t should_be, mtb_error **error,
                              const char *function) {
    return mtbi_fail(error, function, MTB_INVALID_ARGUMENT,
                     "the array `%s` has size %zu in dimension %zu, and needs %zu", what, is, dimension, should_be);
}

static mtb_status check_shapes(const mtb_mps_kernel *kernel, const mtb_mps_array *arrays, mtb_error **error,
                               const char *function) {
    const size_t *left = arrays[0].shape, *right = arrays[1].shape;
    bool transpose_left = kernel->multiplication.transpose_left,
         transpose_right = kernel->multiplication.transpose_right;
    size_t inner = transpose_left ? left[2] : left[3];
    size_t right_inner = transpose_right ? 3 : 2;
    size_t result[MTB_MPS_MAX_RANK] = {0, 0, transpose_left ? left[3] : left[2], transpose_right ? right[2] : right[3]};
    if (right[right_inner] != inner)
        return fail_shapes("right", right_inner, right[right_inner], inner, error, function);
    for (size_t i = 0; i < 2; i++) {
        if (left[i] != right[i] && left[i] != 1 && right[i] != 1)
            return fail_shapes("right", i, right[i], left[i], error, function);
        result[i] = left[i] == 1 ? right[i] : left[i];
    }
    for (size_t k = 2; k < kernel->count; k++)
        for (size_t i = 0; i < MTB_MPS_MAX_RANK; i++)
            if (arrays[k].shape[i] != result[i])
                return fail_shapes(kernel->operands[k].name, i, arrays[k].shape[i], result[i], error, function);
    return MTB_OK;
}

static void add(mtb_mps_kernel *kernel, const char *name, bool is_result) {
    kernel->operands[kernel->count++] =
        (mtbi_mps_operand){.name = name,
                           .form = MTBI_MPS_ARRAY,
                           .is_result = is_result,
                           .rank = MTB_MPS_MAX_RANK,
                           .shape = {MTBI_MPS_ANY, MTBI_MPS_ANY, MTBI_MPS_ANY, MTBI_MPS_ANY}};
}

mtb_mps_kernel *mtb_mps_array_multiplication_create(mtb_device *device, const mtb_mps_array_multiplication *descriptor,
                                                    mtb_error **error) {
    mtb_mps_kernel *kernel = NULL;
    mtbi_error_clear(error);
    MTBI_ENTER
    if (GIVEN(descriptor) || mtbi_mps_check_scales(descriptor->alpha, descriptor->beta, error, __func__)) return NULL;
    if (GIVEN(device)) return NULL;
    if (![MPSNDArray instancesRespondToSelector:@selector(initWithBuffer:offset:descriptor:)]) {
        FAIL(error, MTB_UNSUPPORTED, "this system has no arrays in buffers: they need macOS 15");
        return NULL;
    }
    kernel = mtbi_mps_kernel_begin(device, @"MPSNDArrayMatrixMultiplication", error, __func__);
    if (!kernel) return NULL;
    kernel->encode = multiply;
    kernel->check = check_shapes;
    kernel->multiplication = *descriptor;
    add(kernel, "left", false);
    add(kernel, "right", false);
    if (descriptor->has_addend) add(kernel, "addend", false);
    add(kernel, "result", true);
    MPSNDArrayMatrixMultiplication *metal =
        [[MPSNDArrayMatrixMultiplication alloc] initWithDevice:device->metal
                                                   sourceCount:descriptor->has_addend ? 3 : 2];
    [metal setAlpha:descriptor->alpha];
    [metal setBeta:descriptor->beta];
    return mtbi_mps_kernel_finish(kernel, metal, error, __func__);
    MTBI_LEAVE((mtb_mps_kernel_release(kernel), mtbi_fail_with_exception(error, __func__, exception), NULL))
}
