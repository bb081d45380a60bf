#include "harness.h"

#include "metal_bridge_mps.h"

#include <float.h>
#include <math.h>

static mtb_mps_array matrix(mtb_buffer *buffer, size_t rows, size_t columns) {
    return (mtb_mps_array){.buffer = buffer,
                           .data_type = MTB_TYPE_FLOAT,
                           .rank = 2,
                           .shape = {rows, columns},
                           .strides = {columns * sizeof(float), sizeof(float)}};
}

static mtb_mps_kernel *make_softmax(void) {
    mtb_mps_kernel *kernel;
    MAKE(kernel, mtb_mps_matrix_softmax_create(shared.device, false, &error));
    return kernel;
}

static void kernels_run(void) {
    mtb_buffer *in = make_buffer(64), *out = make_buffer(64);
    float *values = mtb_buffer_contents(in), *results = mtb_buffer_contents(out);
    for (int i = 0; i < 6; i++) values[i] = (float)i;
    mtb_mps_kernel *kernel = make_softmax();
    mtb_command_buffer *command_buffer = make_command_buffer();
    const mtb_mps_array operands[] = {matrix(in, 2, 3), matrix(out, 2, 3)};
    CHECK_OK(mtb_mps_kernel_encode(kernel, command_buffer, operands, 2, &error));
    /* What was encoded needs neither. */
    mtb_mps_kernel_release(kernel);
    mtb_buffer_release(in);
    run(command_buffer);
    float sum = 1 + expf(-1) + expf(-2);
    for (int i = 0; i < 6; i++) CHECK(fabsf(results[i] - expf((float)(i % 3) - 2) / sum) < 4 * FLT_EPSILON);
    mtb_buffer_release(out);
}

static void encodes_are_checked(void) {
    mtb_buffer *in = make_buffer(64), *out = make_buffer(64);
    mtb_mps_kernel *kernel = mtb_mps_kernel_retain(make_softmax());
    mtb_mps_kernel_release(kernel);
    mtb_command_buffer *command_buffer = make_command_buffer();
    mtb_mps_array operands[] = {matrix(in, 2, 3), matrix(out, 2, 3)};
    CHECK_FAILS(mtb_mps_kernel_encode(NULL, command_buffer, operands, 2, &error), MTB_INVALID_ARGUMENT,
                "`kernel` is NULL");
    CHECK_FAILS(mtb_mps_kernel_encode(kernel, NULL, operands, 2, &error), MTB_INVALID_ARGUMENT, "`command_buffer` is");
    CHECK_FAILS(mtb_mps_kernel_encode(kernel, command_buffer, NULL, 2, &error), MTB_INVALID_ARGUMENT, "`operands` is");
    CHECK_FAILS(mtb_mps_kernel_encode(kernel, command_buffer, operands, 1, &error), MTB_INVALID_ARGUMENT, "got 1");
    CHECK_FAILS(mtb_mps_kernel_encode(kernel, command_buffer, operands, 3, &error), MTB_INVALID_ARGUMENT, "got 3");
    for (int i = 0; i < 2; i++) {
        const mtb_mps_array right = operands[i];
        operands[i].buffer = NULL;
        CHECK_FAILS(mtb_mps_kernel_encode(kernel, command_buffer, operands, 2, &error), MTB_INVALID_ARGUMENT,
                    "is NULL");
        operands[i] = right;
        operands[i].data_type = (mtb_data_type)0;
        CHECK_FAILS(mtb_mps_kernel_encode(kernel, command_buffer, operands, 2, &error), MTB_INVALID_ARGUMENT, "type 0");
        operands[i].data_type = MTB_TYPE_BFLOAT;
        CHECK_FAILS(mtb_mps_kernel_encode(kernel, command_buffer, operands, 2, &error), MTB_INVALID_ARGUMENT,
                    "type 121");
        operands[i] = right;
        const size_t ranks[] = {0, 1, 4, SIZE_MAX};
        for (int k = 0; k < 4; k++) {
            operands[i].rank = ranks[k];
            CHECK_FAILS(mtb_mps_kernel_encode(kernel, command_buffer, operands, 2, &error), MTB_INVALID_ARGUMENT,
                        "dimensions, not 2 to 3");
        }
        operands[i] = right;
        operands[i].strides[1] = 8;
        CHECK_FAILS(mtb_mps_kernel_encode(kernel, command_buffer, operands, 2, &error), MTB_INVALID_ARGUMENT,
                    "the stride 8 in dimension 2, and not 4 bytes");
        operands[i] = right;
    }
    operands[0].shape[0] = operands[1].shape[0] = SIZE_MAX;
    CHECK_FAILS(mtb_mps_kernel_encode(kernel, command_buffer, operands, 2, &error), MTB_OUT_OF_RANGE, "too long");
    operands[0].shape[0] = operands[1].shape[0] = UINT32_MAX;
    CHECK_FAILS(mtb_mps_kernel_encode(kernel, command_buffer, operands, 2, &error), MTB_OUT_OF_RANGE, "elements");
    run(command_buffer);
    mtb_mps_kernel_release(kernel);
    mtb_buffer_release(in);
    mtb_buffer_release(out);
}

static void states_are_checked(void) {
    mtb_buffer *in = make_buffer(64), *out = make_buffer(64);
    const mtb_mps_array operands[] = {matrix(in, 2, 3), matrix(out, 2, 3)};
    mtb_mps_kernel *kernel = make_softmax();
    mtb_command_buffer *command_buffer = make_command_buffer();
    mtb_blit_encoder *blit;
    MAKE(blit, mtb_blit_encoder_create(command_buffer, &error));
    CHECK_FAILS(mtb_mps_kernel_encode(kernel, command_buffer, operands, 2, &error), MTB_INVALID_STATE,
                "has not been ended");
    CHECK_OK(mtb_blit_encoder_end(blit, &error));
    mtb_blit_encoder_release(blit);
    CHECK_OK(mtb_mps_kernel_encode(kernel, command_buffer, operands, 2, &error));
    CHECK_OK(mtb_command_buffer_commit(command_buffer, &error));
    CHECK_FAILS(mtb_mps_kernel_encode(kernel, command_buffer, operands, 2, &error), MTB_INVALID_STATE,
                "been committed");
    CHECK_OK(mtb_command_buffer_wait(command_buffer, &error));
    mtb_command_buffer_release(command_buffer);
    mtb_mps_kernel_release(kernel);
    mtb_buffer_release(in);
    mtb_buffer_release(out);
}

static void kernels_need_devices_and_descriptors(void) {
    mtb_device *none = NULL, *device = shared.device;
    CHECK(mtb_mps_supports_device(device) && !mtb_mps_supports_device(none));
    CHECK(!mtb_mps_kernel_retain(NULL));
    mtb_mps_kernel_release(NULL);
    const mtb_mps_matrix_multiplication product = {.result_rows = 1, .result_columns = 1, .interior_columns = 1};
    const mtb_mps_matrix_vector_multiplication vector_product = {.rows = 1, .columns = 1};
    const mtb_mps_array_multiplication array_product = {.alpha = 1};
    const mtb_mps_convolution_2d convolution = {
        MTB_TYPE_HALF, MTB_MPS_NHWC, MTB_MPS_HWIO, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 1, false};
    const mtb_mps_batch_normalization normalization = {MTB_TYPE_FLOAT, MTB_MPS_NCHW, 1, 1, 1, 1, 0, false, false};
    const mtb_mps_attention attention = {MTB_TYPE_FLOAT, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1};
    CHECK_FAILS(mtb_mps_matrix_multiplication_create(none, &product, &error), MTB_INVALID_ARGUMENT, "`device`");
    CHECK_FAILS(mtb_mps_matrix_multiplication_create(device, NULL, &error), MTB_INVALID_ARGUMENT, "`descriptor`");
    CHECK_FAILS(mtb_mps_matrix_vector_multiplication_create(none, &vector_product, &error), MTB_INVALID_ARGUMENT,
                "`device`");
    CHECK_FAILS(mtb_mps_matrix_vector_multiplication_create(device, NULL, &error), MTB_INVALID_ARGUMENT,
                "`descriptor`");
    CHECK_FAILS(mtb_mps_matrix_softmax_create(none, true, &error), MTB_INVALID_ARGUMENT, "`device`");
    CHECK_FAILS(mtb_mps_matrix_find_top_k_create(none, 1, &error), MTB_INVALID_ARGUMENT, "`device`");
    CHECK_FAILS(mtb_mps_array_multiplication_create(none, &array_product, &error), MTB_INVALID_ARGUMENT, "`device`");
    CHECK_FAILS(mtb_mps_array_multiplication_create(device, NULL, &error), MTB_INVALID_ARGUMENT, "`descriptor`");
    CHECK_FAILS(mtb_mps_convolution_2d_create(none, &convolution, &error), MTB_INVALID_ARGUMENT, "`device`");
    CHECK_FAILS(mtb_mps_convolution_2d_create(device, NULL, &error), MTB_INVALID_ARGUMENT, "`descriptor`");
    CHECK_FAILS(mtb_mps_batch_normalization_create(none, &normalization, &error), MTB_INVALID_ARGUMENT, "`device`");
    CHECK_FAILS(mtb_mps_batch_normalization_create(device, NULL, &error), MTB_INVALID_ARGUMENT, "`descriptor`");
    CHECK_FAILS(mtb_mps_attention_create(none, &attention, &error), MTB_INVALID_ARGUMENT, "`device`");
    CHECK_FAILS(mtb_mps_attention_create(device, NULL, &error), MTB_INVALID_ARGUMENT, "`descriptor`");
    mtb_mps_convolution_2d wrong = convolution;
    wrong.layout = (mtb_mps_layout)2;
    CHECK_FAILS(mtb_mps_convolution_2d_create(device, &wrong, &error), MTB_INVALID_ARGUMENT, "unknown layout 2");
    wrong = convolution;
    wrong.weights_layout = (mtb_mps_weights_layout)2;
    CHECK_FAILS(mtb_mps_convolution_2d_create(device, &wrong, &error), MTB_INVALID_ARGUMENT,
                "unknown weights layout 2");
    wrong = convolution;
    wrong.padding_left = SIZE_MAX;
    CHECK_FAILS(mtb_mps_convolution_2d_create(device, &wrong, &error), MTB_INVALID_ARGUMENT, "to the left");
}

const test mps_tests[] = {
    {"mps: kernels run", kernels_run},
    {"mps: encodes are checked", encodes_are_checked},
    {"mps: states are checked", states_are_checked},
    {"mps: kernels need devices and descriptors", kernels_need_devices_and_descriptors},
    {NULL, NULL},
};
