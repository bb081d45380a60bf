/* Convolutions of pictures. */
#import "core/checks.h"
#import "core/guard.h"
#import "mps/graph.h"

/* How many positions the kernel has along one dimension: zero if it is longer than the padded input. */
static size_t positions(size_t input, size_t before, size_t after, size_t kernel, size_t stride, size_t dilation) {
    size_t length = input + before + after, reach = dilation * (kernel - 1) + 1;
    return reach > length ? 0 : (length - reach) / stride + 1;
}

static size_t result_height(const mtb_mps_convolution_2d *of) {
    return positions(of->input_height, of->padding_top, of->padding_bottom, of->kernel_height, of->stride_y,
                     of->dilation_y);
}

static size_t result_width(const mtb_mps_convolution_2d *of) {
    return positions(of->input_width, of->padding_left, of->padding_right, of->kernel_width, of->stride_x,
                     of->dilation_x);
}

static mtb_status check(const mtb_mps_convolution_2d *of, mtb_error **error, const char *function) {
    REQUIRE(mtbi_check_given(of, "descriptor", error, function));
    REQUIRE(mtbi_mps_check_picture(of->data_type, of->layout, error, function));
    if (of->weights_layout != MTB_MPS_OIHW && of->weights_layout != MTB_MPS_HWIO)
        return mtbi_fail(error, function, MTB_INVALID_ARGUMENT, "unknown weights layout %u",
                         (unsigned)of->weights_layout);
    const struct {
        size_t size;
        const char *name;
    } sizes[] = {
        {of->batch, "pictures"},
        {of->input_channels, "input channels"},
        {of->output_channels, "output channels"},
        {of->input_height, "the input's rows"},
        {of->input_width, "the input's columns"},
        {of->kernel_height, "the kernel's rows"},
        {of->kernel_width, "the kernel's columns"},
        {of->groups, "groups"},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        REQUIRE(mtbi_mps_check_size(sizes[i].size, sizes[i].name, error, function));
    REQUIRE(mtbi_mps_check_step(of->stride_y, "stride in rows", error, function));
    REQUIRE(mtbi_mps_check_step(of->stride_x, "stride in columns", error, function));
    REQUIRE(mtbi_mps_check_step(of->dilation_y, "dilation in rows", error, function));
    REQUIRE(mtbi_mps_check_step(of->dilation_x, "dilation in columns", error, function));
    REQUIRE(mtbi_mps_check_padding(of->padding_top, "padding above", error, function));
    REQUIRE(mtbi_mps_check_padding(of->padding_bottom, "padding below", error, function));
    REQUIRE(mtbi_mps_check_padding(of->padding_left, "padding to the left", error, function));
    REQUIRE(mtbi_mps_check_padding(of->padding_right, "padding to the right", error, function));
    if (of->input_channels % of->groups || of->output_channels % of->groups)
        return mtbi_fail(error, function, MTB_INVALID_ARGUMENT,
                         "%zu groups do not divide %zu input channels and %zu output channels", of->groups,
                         of->input_channels, of->output_channels);
    if (result_height(of) == 0 || result_width(of) == 0)
        return mtbi_fail(error, function, MTB_INVALID_ARGUMENT,
                         "the kernel of %zu x %zu, dilated by %zu x %zu, is larger than the padded input of %zu x %zu",
                         of->kernel_height, of->kernel_width, of->dilation_y, of->dilation_x,
                         of->input_height + of->padding_top + of->padding_bottom,
                         of->input_width + of->padding_left + of->padding_right);
    const size_t input[] = {of->batch, of->input_channels, of->input_height, of->input_width};
    const size_t weights[] = {of->output_channels, of->input_channels / of->groups, of->kernel_height,
                              of->kernel_width};
    const size_t result[] = {of->batch, of->output_channels, result_height(of), result_width(of)};
    REQUIRE(mtbi_mps_check_elements(input, 4, "input", error, function));
    REQUIRE(mtbi_mps_check_elements(weights, 4, "weights", error, function));
    return mtbi_mps_check_elements(result, 4, "result", error, function);
}

static MPSGraphConvolution2DOpDescriptor *describe(const mtb_mps_convolution_2d *of) {
    bool is_first = of->weights_layout == MTB_MPS_OIHW;
    return [MPSGraphConvolution2DOpDescriptor
        descriptorWithStrideInX:of->stride_x
                      strideInY:of->stride_y
                dilationRateInX:of->dilation_x
                dilationRateInY:of->dilation_y
                         groups:of->groups
                    paddingLeft:of->padding_left
                   paddingRight:of->padding_right
                     paddingTop:of->padding_top
                  paddingBottom:of->padding_bottom
                   paddingStyle:MPSGraphPaddingStyleExplicit
                     dataLayout:of->layout == MTB_MPS_NCHW ? MPSGraphTensorNamedDataLayoutNCHW
                                                           : MPSGraphTensorNamedDataLayoutNHWC
                  weightsLayout:is_first ? MPSGraphTensorNamedDataLayoutOIHW : MPSGraphTensorNamedDataLayoutHWIO];
}

static MPSGraphTensor *weights(mtb_mps_kernel *kernel, const mtb_mps_convolution_2d *of) {
    size_t inputs = of->input_channels / of->groups, height = of->kernel_height, width = of->kernel_width;
    const size_t oihw[] = {of->output_channels, inputs, height, width};
    const size_t hwio[] = {height, width, inputs, of->output_channels};
    const size_t *shape = of->weights_layout == MTB_MPS_OIHW ? oihw : hwio;
    return mtbi_mps_graph_input(kernel, "weights", of->data_type, shape, MTB_MPS_MAX_RANK);
}

mtb_mps_kernel *mtb_mps_convolution_2d_create(mtb_device *device, const mtb_mps_convolution_2d *descriptor,
                                              mtb_error **error) {
    const mtb_mps_convolution_2d *of = descriptor;
    mtb_mps_kernel *kernel = NULL;
    size_t shape[MTB_MPS_MAX_RANK];
    mtbi_error_clear(error);
    MTBI_ENTER
    if (check(of, error, __func__)) return NULL;
    kernel = mtbi_mps_graph_begin(device, error, __func__);
    if (!kernel) return NULL;
    mtbi_mps_order(of->layout, of->batch, of->input_channels, of->input_height, of->input_width, shape);
    MPSGraphTensor *input = mtbi_mps_graph_input(kernel, "input", of->data_type, shape, MTB_MPS_MAX_RANK);
    MPSGraphTensor *result = [mtbi_mps_graph(kernel) convolution2DWithSourceTensor:input
                                                                     weightsTensor:weights(kernel, of)
                                                                        descriptor:describe(of)
                                                                              name:nil];
    if (of->has_bias)
        result =
            [mtbi_mps_graph(kernel) additionWithPrimaryTensor:result
                                              secondaryTensor:mtbi_mps_graph_channels(kernel, "bias", of->data_type,
                                                                                      of->layout, of->output_channels)
                                                         name:nil];
    mtbi_mps_order(of->layout, of->batch, of->output_channels, result_height(of), result_width(of), shape);
    return mtbi_mps_graph_finish(kernel, result, of->data_type, shape, MTB_MPS_MAX_RANK, error, __func__);
    MTBI_LEAVE((mtb_mps_kernel_release(kernel), mtbi_fail_with_exception(error, __func__, exception), NULL))
}
