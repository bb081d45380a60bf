#import "SMTLGraph.h"

#include "performance_shaders/compute/convolution.h"

#define UNSIGNED(value) (unsigned long)(value)

static bool run_convolution(const void *argument, smtl_host_failure *failure) {
    return smtl_convolution_run(argument, &failure->message);
}

@implementation MPSGraphConvolution2DOpDescriptor

@synthesize strideInX = _strideInX;
@synthesize strideInY = _strideInY;
@synthesize dilationRateInX = _dilationRateInX;
@synthesize dilationRateInY = _dilationRateInY;
@synthesize paddingLeft = _paddingLeft;
@synthesize paddingRight = _paddingRight;
@synthesize paddingTop = _paddingTop;
@synthesize paddingBottom = _paddingBottom;
@synthesize paddingStyle = _paddingStyle;
@synthesize dataLayout = _dataLayout;
@synthesize weightsLayout = _weightsLayout;
@synthesize groups = _groups;

- (instancetype)init {
    self = [super init];
    _strideInX = _strideInY = _dilationRateInX = _dilationRateInY = _groups = 1;
    _weightsLayout = MPSGraphTensorNamedDataLayoutOIHW;
    return self;
}

+ (instancetype)descriptorWithStrideInX:(NSUInteger)strideInX
                              strideInY:(NSUInteger)strideInY
                        dilationRateInX:(NSUInteger)dilationRateInX
                        dilationRateInY:(NSUInteger)dilationRateInY
                                 groups:(NSUInteger)groups
                            paddingLeft:(NSUInteger)paddingLeft
                           paddingRight:(NSUInteger)paddingRight
                             paddingTop:(NSUInteger)paddingTop
                          paddingBottom:(NSUInteger)paddingBottom
                           paddingStyle:(MPSGraphPaddingStyle)paddingStyle
                             dataLayout:(MPSGraphTensorNamedDataLayout)dataLayout
                          weightsLayout:(MPSGraphTensorNamedDataLayout)weightsLayout {
    MPSGraphConvolution2DOpDescriptor *descriptor = [self descriptorWithStrideInX:strideInX strideInY:strideInY
                                                                  dilationRateInX:dilationRateInX
                                                                  dilationRateInY:dilationRateInY
                                                                           groups:groups
                                                                     paddingStyle:paddingStyle
                                                                       dataLayout:dataLayout
                                                                    weightsLayout:weightsLayout];
    [descriptor setExplicitPaddingWithPaddingLeft:paddingLeft paddingRight:paddingRight paddingTop:paddingTop
                                    paddingBottom:paddingBottom];
    return descriptor;
}

+ (instancetype)descriptorWithStrideInX:(NSUInteger)strideInX
                              strideInY:(NSUInteger)strideInY
                        dilationRateInX:(NSUInteger)dilationRateInX
                        dilationRateInY:(NSUInteger)dilationRateInY
                                 groups:(NSUInteger)groups
                           paddingStyle:(MPSGraphPaddingStyle)paddingStyle
                             dataLayout:(MPSGraphTensorNamedDataLayout)dataLayout
                          weightsLayout:(MPSGraphTensorNamedDataLayout)weightsLayout {
    MPSGraphConvolution2DOpDescriptor *descriptor = [[[self alloc] init] autorelease];
    descriptor->_strideInX = strideInX;
    descriptor->_strideInY = strideInY;
    descriptor->_dilationRateInX = dilationRateInX;
    descriptor->_dilationRateInY = dilationRateInY;
    descriptor->_groups = groups;
    descriptor->_paddingStyle = paddingStyle;
    descriptor->_dataLayout = dataLayout;
    descriptor->_weightsLayout = weightsLayout;
    return descriptor;
}

- (void)setExplicitPaddingWithPaddingLeft:(NSUInteger)paddingLeft
                             paddingRight:(NSUInteger)paddingRight
                               paddingTop:(NSUInteger)paddingTop
                            paddingBottom:(NSUInteger)paddingBottom {
    _paddingLeft = paddingLeft;
    _paddingRight = paddingRight;
    _paddingTop = paddingTop;
    _paddingBottom = paddingBottom;
}

- (id)copyWithZone:(NSZone *)zone {
    return NSCopyObject(self, 0, zone);
}

@end

/* One direction. */
typedef struct {
    NSUInteger stride, dilation, before, after;
} side;

@interface SMTLConvolution : SMTLGraphOperation {
@public
    MPSGraphConvolution2DOpDescriptor *_descriptor;
    smtl_dnnl_weights *_kept; /* if the weights are a constant */
}
@end

@implementation SMTLConvolution

- (void)dealloc {
    smtl_dnnl_weights_free(_kept);
    [_descriptor release];
    [super dealloc];
}

static smtl_tensor permute(const smtl_tensor *tensor, const int *order) {
    smtl_tensor result = *tensor;
    for (int i = 0; i < 4; i++) {
        result.lengths[i] = tensor->lengths[order[i]];
        result.strides[i] = tensor->strides[order[i]];
    }
    return result;
}

static const int as_it_is[] = {0, 1, 2, 3};
static const int from_nhwc[] = {0, 3, 1, 2}, to_nhwc[] = {0, 2, 3, 1}, from_hwio[] = {3, 2, 0, 1};

/* Batch, channels, height, width. */
- (smtl_tensor)source:(const smtl_tensor *)tensor {
    return permute(tensor, [_descriptor dataLayout] == MPSGraphTensorNamedDataLayoutNHWC ? from_nhwc : as_it_is);
}

- (smtl_tensor)weights:(const smtl_tensor *)tensor {
    return permute(tensor, [_descriptor weightsLayout] == MPSGraphTensorNamedDataLayoutHWIO ? from_hwio : as_it_is);
}

- (void)checkDescriptor:(const char *)where {
    MPSGraphConvolution2DOpDescriptor *d = _descriptor;
    const NSUInteger values[] = {[d strideInX], [d strideInY], [d dilationRateInX], [d dilationRateInY], [d groups]};
    static const char *const names[] = {"strideInX", "strideInY", "dilationRateInX", "dilationRateInY", "groups"};
    for (unsigned i = 0; i < sizeof values / sizeof values[0]; i++) {
        SMTL_REQUIRE(values[i] > 0 && values[i] <= INT32_MAX, where, @"%s %lu is not between 1 and 2^31", names[i],
                     UNSIGNED(values[i]));
    }
    const NSUInteger paddings[] = {[d paddingLeft], [d paddingRight], [d paddingTop], [d paddingBottom]};
    for (unsigned i = 0; i < sizeof paddings / sizeof paddings[0]; i++)
        SMTL_REQUIRE(paddings[i] <= INT32_MAX, where, @"a padding of %lu is not below 2^31", UNSIGNED(paddings[i]));
    SMTL_REQUIRE([d dataLayout] == MPSGraphTensorNamedDataLayoutNCHW ||
                     [d dataLayout] == MPSGraphTensorNamedDataLayoutNHWC,
                 where, @"dataLayout %lu is neither NCHW nor NHWC", UNSIGNED([d dataLayout]));
    SMTL_REQUIRE([d weightsLayout] == MPSGraphTensorNamedDataLayoutOIHW ||
                     [d weightsLayout] == MPSGraphTensorNamedDataLayoutHWIO,
                 where, @"weightsLayout %lu is neither OIHW nor HWIO", UNSIGNED([d weightsLayout]));
    SMTL_REQUIRE([d paddingStyle] != MPSGraphPaddingStyleExplicitOffset &&
                     [d paddingStyle] <= MPSGraphPaddingStyleONNX_SAME_LOWER,
                 where, @"paddingStyle %lu is not supported", UNSIGNED([d paddingStyle]));
}

/* Height and width, with the padding that the style gives for these lengths. */
- (void)sides:(side *)sides of:(const smtl_tensor *)source weights:(const smtl_tensor *)weights {
    MPSGraphConvolution2DOpDescriptor *d = _descriptor;
    sides[0] = (side){[d strideInY], [d dilationRateInY], [d paddingTop], [d paddingBottom]};
    sides[1] = (side){[d strideInX], [d dilationRateInX], [d paddingLeft], [d paddingRight]};
    const MPSGraphPaddingStyle style = [d paddingStyle];
    for (int i = 0; i < 2 && style != MPSGraphPaddingStyleExplicit; i++) {
        const NSUInteger length = source->lengths[2 + i];
        const NSUInteger reach = (weights->lengths[2 + i] - 1) * sides[i].dilation + 1;
        const NSUInteger covered = ((length + sides[i].stride - 1) / sides[i].stride - 1) * sides[i].stride + reach;
        const NSUInteger total = style == MPSGraphPaddingStyleTF_VALID || covered < length ? 0 : covered - length;
        sides[i].before = style == MPSGraphPaddingStyleONNX_SAME_LOWER ? total - total / 2 : total / 2;
        sides[i].after = total - sides[i].before;
    }
}

- (smtl_tensor)resultOf:(const smtl_tensor *)inputs where:(const char *)where {
    [self checkDescriptor:where];
    SMTL_REQUIRE(inputs[0].rank == 4 && inputs[1].rank == 4, where, @"source %@ and weights %@ must have 4 dimensions",
                 SMTLDescribeLengths(inputs[0].lengths, inputs[0].rank),
                 SMTLDescribeLengths(inputs[1].lengths, inputs[1].rank));
    const smtl_tensor source = [self source:&inputs[0]], weights = [self weights:&inputs[1]];
    const NSUInteger groups = [_descriptor groups], channels = source.lengths[1];
    SMTL_REQUIRE(channels % groups == 0 && weights.lengths[0] % groups == 0 && weights.lengths[1] == channels / groups,
                 where, @"%lu source channels, %lu result channels and weights for %lu do not fit %lu groups",
                 UNSIGNED(channels), UNSIGNED(weights.lengths[0]), UNSIGNED(weights.lengths[1]), UNSIGNED(groups));
    side sides[2];
    [self sides:sides of:&source weights:&weights];
    smtl_tensor result = source;
    result.lengths[1] = weights.lengths[0];
    for (int i = 0; i < 2; i++) {
        const NSUInteger padded = source.lengths[2 + i] + sides[i].before + sides[i].after;
        const NSUInteger reach = (weights.lengths[2 + i] - 1) * sides[i].dilation + 1;
        SMTL_REQUIRE(reach <= padded, where, @"weights that reach over %lu elements exceed the padded source's %lu",
                     UNSIGNED(reach), UNSIGNED(padded));
        result.lengths[2 + i] = (padded - reach) / sides[i].stride + 1;
    }
    result.type = _type;
    return [_descriptor dataLayout] == MPSGraphTensorNamedDataLayoutNHWC ? permute(&result, to_nhwc) : result;
}

- (void)record:(const SMTLGraphStep *)step inputs:(const smtl_tensor *)inputs result:(const smtl_tensor *)result {
    smtl_convolution_call call = {.source = [self source:&inputs[0]],
                                  .weights = [self weights:&inputs[1]],
                                  .result = [self source:result],
                                  .groups = (uint32_t)[_descriptor groups],
                                  .kept = _kept};
    [step->encoder->_buffer keep:self];
    side sides[2];
    [self sides:sides of:&call.source weights:&call.weights];
    for (int i = 0; i < 2; i++) {
        call.strides[i] = (uint32_t)sides[i].stride;
        call.dilations[i] = (uint32_t)sides[i].dilation;
        call.before[i] = (uint32_t)sides[i].before;
        call.after[i] = (uint32_t)sides[i].after;
    }
    SMTLRecordStep(step, run_convolution, &call, sizeof call);
}

@end

void SMTLNameConvolution(void) {}

@implementation MPSGraph (MPSGraphConvolutionOps)

- (MPSGraphTensor *)convolution2DWithSourceTensor:(MPSGraphTensor *)source
                                    weightsTensor:(MPSGraphTensor *)weights
                                       descriptor:(MPSGraphConvolution2DOpDescriptor *)descriptor
                                             name:(NSString *)name {
    const char *where = "-[MPSGraph convolution2DWithSourceTensor:weightsTensor:descriptor:name:]";
    SMTL_REQUIRE(source != nil && weights != nil && descriptor != nil, where,
                 @"the tensors and the descriptor must not be nil");
    SMTLConvolution *convolution =
        [[SMTLConvolution alloc] initWithInputs:[NSArray arrayWithObjects:source, weights, nil] name:name];
    convolution->_descriptor = [descriptor copy];
    SMTLGraphOperation *origin = (SMTLGraphOperation *)[weights operation];
    convolution->_kept = [origin isSource] && ![origin isPlaceholder] ? smtl_dnnl_weights_create() : NULL;
    return [self add:convolution where:where];
}

@end
