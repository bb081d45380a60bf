/* How a graph of one operation is made and encoded. */
#import "mps/graph.h"

#import "core/checks.h"

/* MPSGraph may commit the command buffer that it encodes into, and go on with another one: a matter of speed alone.
 * Here the command buffer is the caller's, so this one stays as it is. */
@interface MTBICommandBuffer : MPSCommandBuffer
@end

@implementation MTBICommandBuffer
- (void)commitAndContinue {
}
@end

static NSArray *numbers(const size_t *shape, size_t rank) {
    NSMutableArray *numbers = [NSMutableArray arrayWithCapacity:rank];
    for (size_t i = 0; i < rank; i++) [numbers addObject:[NSNumber numberWithUnsignedLong:shape[i]]];
    return numbers;
}

/* The operand in the shape that the graph knows. */
static MPSGraphTensorData *data(const mtb_mps_array *array, MPSGraphTensor *tensor) {
    if (array->offset == 0)
        return [[[MPSGraphTensorData alloc] initWithMTLBuffer:array->buffer->metal shape:[tensor shape]
                                                     dataType:[tensor dataType]] autorelease];
    mtb_mps_array seen = *array;
    seen.rank = [[tensor shape] count];
    for (size_t i = 0; i < seen.rank; i++) seen.shape[i] = [[[tensor shape] objectAtIndex:i] unsignedLongValue];
    MPSNDArray *metal = mtbi_mps_nd_array(&seen);
    return metal ? [[[MPSGraphTensorData alloc] initWithMPSNDArray:metal] autorelease] : nil;
}

static bool encode(const mtb_mps_kernel *kernel, id<MTLCommandBuffer> command_buffer, const mtb_mps_array *arrays) {
    NSMutableDictionary *feeds = [NSMutableDictionary dictionary], *results = [NSMutableDictionary dictionary];
    for (size_t i = 0; i < kernel->count; i++) {
        MPSGraphTensor *tensor = [kernel->tensors objectAtIndex:i];
        MPSGraphTensorData *operand = data(&arrays[i], tensor);
        if (!operand) return false;
        [kernel->operands[i].is_result ? results : feeds setObject:operand forKey:tensor];
    }
    MPSCommandBuffer *metal = [[[MTBICommandBuffer alloc] initWithCommandBuffer:command_buffer] autorelease];
    [mtbi_mps_graph(kernel) encodeToCommandBuffer:metal feeds:feeds targetOperations:nil resultsDictionary:results
                              executionDescriptor:nil];
    if ([command_buffer status] >= MTLCommandBufferStatusCommitted)
        [NSException raise:NSInternalInconsistencyException format:@"MPSGraph committed the command buffer"];
    return true;
}

/* Arrays that do not begin at the start of their buffer need a class that older systems lack. */
static mtb_status check_offsets(const mtb_mps_kernel *kernel, const mtb_mps_array *arrays, mtb_error **error,
                                const char *function) {
    if ([MPSNDArray instancesRespondToSelector:@selector(initWithBuffer:offset:descriptor:)]) return MTB_OK;
    for (size_t i = 0; i < kernel->count; i++)
        if (arrays[i].offset)
            return mtbi_fail(error, function, MTB_UNSUPPORTED,
                             "the array `%s` begins at byte %zu of its buffer: this system needs 0, before macOS 15",
                             kernel->operands[i].name, arrays[i].offset);
    return MTB_OK;
}

mtb_mps_kernel *mtbi_mps_graph_begin(mtb_device *device, mtb_error **error, const char *function) {
    mtb_mps_kernel *kernel = mtbi_mps_kernel_begin(device, @"MPSGraph", error, function);
    if (!kernel) return NULL;
    kernel->encode = encode;
    kernel->check = check_offsets;
    kernel->tensors = [[NSMutableArray alloc] init];
    return mtbi_mps_kernel_finish(kernel, [[MPSGraph alloc] init], error, function);
}

static void add(mtb_mps_kernel *kernel, const char *name, bool is_result, mtb_data_type data_type, const size_t *shape,
                size_t rank) {
    mtbi_mps_operand *operand = &kernel->operands[kernel->count++];
    *operand = (mtbi_mps_operand){
        .name = name, .form = MTBI_MPS_ARRAY, .is_result = is_result, .data_type = data_type, .rank = rank};
    for (size_t i = 0; i < rank; i++) operand->shape[i] = shape[i];
}

static MPSGraphTensor *placeholder(mtb_mps_kernel *kernel, mtb_data_type data_type, const size_t *shape, size_t rank) {
    MPSGraphTensor *tensor = [mtbi_mps_graph(kernel) placeholderWithShape:numbers(shape, rank)
                                                                 dataType:mtbi_mps_type(data_type)
                                                                     name:nil];
    [(NSMutableArray *)kernel->tensors addObject:tensor];
    return tensor;
}

MPSGraphTensor *mtbi_mps_graph_input(mtb_mps_kernel *kernel, const char *name, mtb_data_type data_type,
                                     const size_t *shape, size_t rank) {
    add(kernel, name, false, data_type, shape, rank);
    return placeholder(kernel, data_type, shape, rank);
}

MPSGraphTensor *mtbi_mps_graph_channels(mtb_mps_kernel *kernel, const char *name, mtb_data_type data_type,
                                        mtb_mps_layout layout, size_t channels) {
    size_t seen[MTB_MPS_MAX_RANK];
    mtbi_mps_order(layout, 1, channels, 1, 1, seen);
    add(kernel, name, false, data_type, &channels, 1);
    return placeholder(kernel, data_type, seen, MTB_MPS_MAX_RANK);
}

mtb_mps_kernel *mtbi_mps_graph_finish(mtb_mps_kernel *kernel, MPSGraphTensor *tensor, mtb_data_type data_type,
                                      const size_t *shape, size_t rank, mtb_error **error, const char *function) {
    if (!tensor || ![[tensor shape] isEqual:numbers(shape, rank)]) {
        mtb_mps_kernel_release(kernel);
        mtbi_fail(error, function, MTB_INTERNAL, "MPSGraph gives a result of another shape than this call expects");
        return NULL;
    }
    add(kernel, "result", true, data_type, shape, rank);
    [(NSMutableArray *)kernel->tensors addObject:tensor];
    return kernel;
}

void mtbi_mps_order(mtb_mps_layout layout, size_t batch, size_t channels, size_t height, size_t width,
                    size_t shape[MTB_MPS_MAX_RANK]) {
    bool is_last = layout == MTB_MPS_NHWC;
    shape[0] = batch;
    shape[is_last ? 3 : 1] = channels;
    shape[is_last ? 1 : 2] = height;
    shape[is_last ? 2 : 3] = width;
}

mtb_status mtbi_mps_check_type(mtb_data_type data_type, mtb_error **error, const char *function) {
    if (!mtbi_mps_is_float(MTBI_MPS_ARRAY, data_type))
        return mtbi_fail(error, function, MTB_INVALID_ARGUMENT, "elements of type %u: the kernel takes %s",
                         (unsigned)data_type, mtbi_mps_float_names(MTBI_MPS_ARRAY));
    bool knows_bfloat = false;
    if (@available(macOS 14.0, *)) knows_bfloat = true;
    if (data_type != MTB_TYPE_BFLOAT || knows_bfloat) return MTB_OK;
    return mtbi_fail(error, function, MTB_UNSUPPORTED, "this system's MPSGraph has no bfloat: it needs macOS 14");
}

mtb_status mtbi_mps_check_picture(mtb_data_type data_type, mtb_mps_layout layout, mtb_error **error,
                                  const char *function) {
    REQUIRE(mtbi_mps_check_type(data_type, error, function));
    if (layout == MTB_MPS_NCHW || layout == MTB_MPS_NHWC) return MTB_OK;
    return mtbi_fail(error, function, MTB_INVALID_ARGUMENT, "unknown layout %u", (unsigned)layout);
}
