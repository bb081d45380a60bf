/* MPSGraph's convolutions against float64. */
#include "graph_test.h"

typedef struct {
    int batch, channels, height, width;
    int results, weights_height, weights_width, groups;
    int stride_y, stride_x, dilation_y, dilation_x;
    MPSGraphPaddingStyle style;
    int top, bottom, left, right; /* explicit ones */
    BOOL nhwc, hwio;
    MPSDataType type;
} convolution_case;

static void pad(MPSGraphPaddingStyle style, int length, int reach, int stride, int *before, int *after) {
    if (style == MPSGraphPaddingStyleExplicit) return;
    const int results = (length + stride - 1) / stride, covered = (results - 1) * stride + reach;
    const int total = style == MPSGraphPaddingStyleTF_VALID || covered < length ? 0 : covered - length;
    *before = style == MPSGraphPaddingStyleTF_SAME ? total / 2 : total - total / 2;
    *after = total - *before;
}

/* The same with constant weights, twice, and for another source as well: nothing changes. */
static void check_constant_weights(MPSGraph *graph, MPSGraphTensor *a, MPSGraphTensor *w, MPSGraphTensorData *x,
                                   MPSGraphTensorData *y, MPSGraphConvolution2DOpDescriptor *descriptor,
                                   MPSGraphTensorData *expected) {
    id<MTLBuffer> numbers = [[y mpsndarray] userBuffer];
    MPSGraphTensor *constant = [graph constantWithData:[NSData dataWithBytes:[numbers contents] length:[numbers length]]
                                                 shape:[w shape]
                                              dataType:[w dataType]];
    MPSGraphTensor *any = [graph placeholderWithShape:nil dataType:[a dataType] name:@"any"];
    MPSGraphTensor *result = [graph convolution2DWithSourceTensor:any weightsTensor:constant descriptor:descriptor
                                                             name:nil];
    NSMutableArray *larger = [[[a shape] mutableCopy] autorelease];
    [larger replaceObjectAtIndex:0
                      withObject:[NSNumber numberWithUnsignedLong:[[larger objectAtIndex:0] unsignedLongValue] + 1]];
    MPSGraphTensorData *other = random_data(larger, [a dataType]);
    id<MTLBuffer> source = [[x mpsndarray] userBuffer];
    memcpy([[[other mpsndarray] userBuffer] contents], [source contents], [source length]);
    for (int i = 0; i < 3; i++) {
        MPSGraphTensorData *fed = i == 2 ? other : x;
        NSDictionary *results = run_graph(graph, feeds(any, fed, nil), [NSArray arrayWithObject:result]);
        double *p = values(expected), *q = values([results objectForKey:result]);
        NSUInteger wrong = 0;
        for (NSUInteger j = 0; j < count_of([expected shape]); j++)
            wrong += !is_close(q[j], p[j], 2 * rounding([a dataType], p[j]) + 0x1p-18);
        CHECK(wrong == 0);
        release_values(p, q, NULL, NULL);
    }
}

static void check_convolution(convolution_case c) {
    const int inputs = c.channels / c.groups;
    const int reach_y = (c.weights_height - 1) * c.dilation_y + 1, reach_x = (c.weights_width - 1) * c.dilation_x + 1;
    pad(c.style, c.height, reach_y, c.stride_y, &c.top, &c.bottom);
    pad(c.style, c.width, reach_x, c.stride_x, &c.left, &c.right);
    const int height = (c.height + c.top + c.bottom - reach_y) / c.stride_y + 1;
    const int width = (c.width + c.left + c.right - reach_x) / c.stride_x + 1;
    NSArray *source_shape =
        c.nhwc ? SHAPE(c.batch, c.height, c.width, c.channels) : SHAPE(c.batch, c.channels, c.height, c.width);
    NSArray *weights_shape = c.hwio ? SHAPE(c.weights_height, c.weights_width, inputs, c.results)
                                    : SHAPE(c.results, inputs, c.weights_height, c.weights_width);
    MPSGraph *graph = [[MPSGraph new] autorelease];
    MPSGraphTensor *a = [graph placeholderWithShape:source_shape dataType:c.type name:@"a"];
    MPSGraphTensor *w = [graph placeholderWithShape:weights_shape dataType:c.type name:@"w"];
    const BOOL is_explicit = c.style == MPSGraphPaddingStyleExplicit;
    MPSGraphConvolution2DOpDescriptor *descriptor = [MPSGraphConvolution2DOpDescriptor
        descriptorWithStrideInX:(NSUInteger)c.stride_x
                      strideInY:(NSUInteger)c.stride_y
                dilationRateInX:(NSUInteger)c.dilation_x
                dilationRateInY:(NSUInteger)c.dilation_y
                         groups:(NSUInteger)c.groups
                    paddingLeft:(NSUInteger)(is_explicit ? c.left : 77) /* counts for explicit ones alone */
                   paddingRight:(NSUInteger)c.right
                     paddingTop:(NSUInteger)c.top
                  paddingBottom:(NSUInteger)c.bottom
                   paddingStyle:c.style
                     dataLayout:c.nhwc ? MPSGraphTensorNamedDataLayoutNHWC : MPSGraphTensorNamedDataLayoutNCHW
                  weightsLayout:c.hwio ? MPSGraphTensorNamedDataLayoutHWIO : MPSGraphTensorNamedDataLayoutOIHW];
    MPSGraphTensor *result = [graph convolution2DWithSourceTensor:a weightsTensor:w descriptor:descriptor name:nil];
    CHECK([[result shape]
        isEqual:c.nhwc ? SHAPE(c.batch, height, width, c.results) : SHAPE(c.batch, c.results, height, width)]);
    MPSGraphTensorData *x = random_data(source_shape, c.type), *y = random_data(weights_shape, c.type);
    NSDictionary *results = run_graph(graph, feeds(a, x, w, y, nil), [NSArray arrayWithObject:result]);
    double *p = values(x), *q = values(y), *r = values([results objectForKey:result]);
    if (c.batch > 1) check_constant_weights(graph, a, w, x, y, descriptor, [results objectForKey:result]);
    NSUInteger wrong = 0;
    for (int i = 0; i < c.batch * c.results * height * width; i++) {
        const int n = i / width / height / c.results, o = i / width / height % c.results, h = i / width % height;
        const int group = o / (c.results / c.groups);
        double sum = 0, size = 0;
        for (int k = 0; k < inputs; k++) {
            const int channel = group * inputs + k;
            for (int v = 0; v < c.weights_height; v++) {
                for (int u = 0; u < c.weights_width; u++) {
                    const int row = h * c.stride_y + v * c.dilation_y - c.top;
                    const int column = i % width * c.stride_x + u * c.dilation_x - c.left;
                    if (row < 0 || row >= c.height || column < 0 || column >= c.width) continue;
                    const int at = c.nhwc ? ((n * c.height + row) * c.width + column) * c.channels + channel
                                          : ((n * c.channels + channel) * c.height + row) * c.width + column;
                    const int weight = c.hwio ? ((v * c.weights_width + u) * inputs + k) * c.results + o
                                              : ((o * inputs + k) * c.weights_height + v) * c.weights_width + u;
                    sum += p[at] * q[weight];
                    size += fabs(p[at] * q[weight]);
                }
            }
        }
        const int at = c.nhwc ? ((n * height + h) * width + i % width) * c.results + o : i;
        const double tolerance = (inputs * c.weights_height * c.weights_width + 2) * 0x1p-24 * size;
        wrong += !is_close(r[at], sum, tolerance + rounding(c.type, sum));
    }
    CHECK(wrong == 0);
    release_values(p, q, r, NULL);
}

static void test_sizes(void) {
    for (unsigned t = 0; t < TYPES; t++) {
        for (int layout = 0; layout < 4; layout++) {
            const convolution_case base = {.batch = 2,
                                           .channels = 6,
                                           .height = 11,
                                           .width = 9,
                                           .results = 4,
                                           .weights_height = 3,
                                           .weights_width = 3,
                                           .groups = 1,
                                           .stride_y = 1,
                                           .stride_x = 1,
                                           .dilation_y = 1,
                                           .dilation_x = 1,
                                           .nhwc = layout & 1,
                                           .hwio = layout >> 1,
                                           .type = types[t]};
            @autoreleasepool {
                convolution_case c = base;
                c.top = c.bottom = c.left = c.right = 1;
                check_convolution(c);
                c = base;
                c.weights_height = 1;
                c.weights_width = 1;
                check_convolution(c);
                c = base;
                c.stride_y = 2;
                c.stride_x = 3;
                c.weights_width = 5;
                c.top = 2;
                c.right = 3;
                check_convolution(c);
                c = base;
                c.dilation_y = 3;
                c.dilation_x = 2;
                c.groups = 2;
                c.left = 4;
                check_convolution(c);
                c = base; /* a depthwise one */
                c.groups = 6;
                c.results = 12;
                check_convolution(c);
            }
        }
    }
}

static void test_padding_styles(void) {
    const MPSGraphPaddingStyle styles[] = {MPSGraphPaddingStyleTF_VALID, MPSGraphPaddingStyleTF_SAME,
                                           MPSGraphPaddingStyleONNX_SAME_LOWER};
    for (unsigned i = 0; i < 3; i++) {
        for (int stride = 1; stride < 4; stride++) {
            check_convolution((convolution_case){.batch = 1,
                                                 .channels = 3,
                                                 .height = 10,
                                                 .width = 7,
                                                 .results = 5,
                                                 .weights_height = 2,
                                                 .weights_width = 4,
                                                 .groups = 1,
                                                 .stride_y = stride,
                                                 .stride_x = stride,
                                                 .dilation_y = 1,
                                                 .dilation_x = 1,
                                                 .style = styles[i],
                                                 .type = MPSDataTypeFloat32});
        }
    }
}

/* More shapes than are kept. */
static void test_many_shapes(void) {
    for (int i = 0; i < 140; i++) {
        @autoreleasepool {
            check_convolution((convolution_case){.batch = 1,
                                                 .channels = 1,
                                                 .height = 1,
                                                 .width = 1 + i % 135,
                                                 .results = 1,
                                                 .weights_height = 1,
                                                 .weights_width = 1,
                                                 .groups = 1,
                                                 .stride_y = 1,
                                                 .stride_x = 1,
                                                 .dilation_y = 1,
                                                 .dilation_x = 1,
                                                 .type = MPSDataTypeFloat32});
        }
    }
}

int main(void) {
    @autoreleasepool {
        begin_tests();
        RUN(test_sizes);
        RUN(test_padding_styles);
        RUN(test_many_shapes);
        return end_tests();
    }
}
