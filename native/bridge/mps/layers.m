/* Normalization and attention. */
#import "core/checks.h"
#import "core/guard.h"
#import "mps/graph.h"

#include <math.h>

static mtb_status check_normalization(const mtb_mps_batch_normalization *of, mtb_error **error, const char *function) {
    REQUIRE(mtbi_check_given(of, "descriptor", error, function));
    REQUIRE(mtbi_mps_check_picture(of->data_type, of->layout, error, function));
    REQUIRE(mtbi_mps_check_size(of->batch, "pictures", error, function));
    REQUIRE(mtbi_mps_check_size(of->channels, "channels", error, function));
    REQUIRE(mtbi_mps_check_size(of->height, "rows", error, function));
    REQUIRE(mtbi_mps_check_size(of->width, "columns", error, function));
    const size_t input[] = {of->batch, of->channels, of->height, of->width};
    REQUIRE(mtbi_mps_check_elements(input, 4, "input", error, function));
    if (isfinite(of->epsilon) && of->epsilon >= 0) return MTB_OK;
    return mtbi_fail(error, function, MTB_INVALID_ARGUMENT, "epsilon is %g: it must be finite and not negative",
                     of->epsilon);
}

mtb_mps_kernel *mtb_mps_batch_normalization_create(mtb_device *device, const mtb_mps_batch_normalization *descriptor,
                                                   mtb_error **error) {
    const mtb_mps_batch_normalization *of = descriptor;
    mtb_mps_kernel *kernel = NULL;
    size_t shape[MTB_MPS_MAX_RANK];
    mtbi_error_clear(error);
    MTBI_ENTER
    if (check_normalization(of, error, __func__)) return NULL;
    kernel = mtbi_mps_graph_begin(device, error, __func__);
    if (!kernel) return NULL;
    mtb_data_type type = of->data_type;
    mtbi_mps_order(of->layout, of->batch, of->channels, of->height, of->width, shape);
    MPSGraphTensor *input = mtbi_mps_graph_input(kernel, "input", type, shape, MTB_MPS_MAX_RANK);
    MPSGraphTensor *mean = mtbi_mps_graph_channels(kernel, "mean", type, of->layout, of->channels);
    MPSGraphTensor *variance = mtbi_mps_graph_channels(kernel, "variance", type, of->layout, of->channels);
    MPSGraphTensor *gamma =
        of->has_gamma ? mtbi_mps_graph_channels(kernel, "gamma", type, of->layout, of->channels) : nil;
    MPSGraphTensor *beta = of->has_beta ? mtbi_mps_graph_channels(kernel, "beta", type, of->layout, of->channels) : nil;
    MPSGraphTensor *result = [mtbi_mps_graph(kernel) normalizationWithTensor:input meanTensor:mean
                                                              varianceTensor:variance
                                                                 gammaTensor:gamma
                                                                  betaTensor:beta
                                                                     epsilon:(float)of->epsilon
                                                                        name:nil];
    return mtbi_mps_graph_finish(kernel, result, type, shape, MTB_MPS_MAX_RANK, error, __func__);
    MTBI_LEAVE((mtb_mps_kernel_release(kernel), mtbi_fail_with_exception(error, __func__, exception), NULL))
}

static mtb_status check_mask(const mtb_mps_attention *of, mtb_error **error, const char *function) {
    if (of->mask_batch == 0 && of->mask_heads == 0) return MTB_OK;
    if (of->mask_batch != 1 && of->mask_batch != of->batch)
        return mtbi_fail(error, function, MTB_INVALID_ARGUMENT, "the mask's batch is %zu: it must be 1 or %zu",
                         of->mask_batch, of->batch);
    if (of->mask_heads != 1 && of->mask_heads != of->query_heads)
        return mtbi_fail(error, function, MTB_INVALID_ARGUMENT,
                         "the mask's number of heads is %zu: it must be 1 or %zu", of->mask_heads, of->query_heads);
    return MTB_OK;
}

static mtb_status check_attention(const mtb_mps_attention *of, mtb_error **error, const char *function) {
    REQUIRE(mtbi_check_given(of, "descriptor", error, function));
    REQUIRE(mtbi_mps_check_type(of->data_type, error, function));
    REQUIRE(mtbi_mps_check_size(of->batch, "sequences", error, function));
    REQUIRE(mtbi_mps_check_size(of->query_heads, "heads of queries", error, function));
    REQUIRE(mtbi_mps_check_size(of->key_heads, "heads of keys", error, function));
    REQUIRE(mtbi_mps_check_size(of->queries, "queries", error, function));
    REQUIRE(mtbi_mps_check_size(of->keys, "keys", error, function));
    REQUIRE(mtbi_mps_check_size(of->head_size, "elements of a key", error, function));
    REQUIRE(mtbi_mps_check_size(of->value_size, "elements of a value", error, function));
    if (of->query_heads % of->key_heads)
        return mtbi_fail(error, function, MTB_INVALID_ARGUMENT, "%zu heads of keys do not divide %zu heads of queries",
                         of->key_heads, of->query_heads);
    const size_t query[] = {of->batch, of->query_heads, of->queries, of->head_size};
    const size_t key[] = {of->batch, of->key_heads, of->keys, of->head_size};
    const size_t value[] = {of->batch, of->key_heads, of->keys, of->value_size};
    const size_t scores[] = {of->batch, of->query_heads, of->queries, of->keys};
    const size_t result[] = {of->batch, of->query_heads, of->queries, of->value_size};
    REQUIRE(mtbi_mps_check_elements(query, 4, "query", error, function));
    REQUIRE(mtbi_mps_check_elements(key, 4, "key", error, function));
    REQUIRE(mtbi_mps_check_elements(value, 4, "value", error, function));
    REQUIRE(mtbi_mps_check_elements(scores, 4, "product of query and key", error, function));
    REQUIRE(mtbi_mps_check_elements(result, 4, "result", error, function));
    REQUIRE(check_mask(of, error, function));
    if (isfinite(of->scale)) return MTB_OK;
    return mtbi_fail(error, function, MTB_INVALID_ARGUMENT, "the scale is %g: it must be finite", of->scale);
}

/* A selector that older systems lack. */
static bool has_attention(void) {
    SEL selector = @selector(scaledDotProductAttentionWithQueryTensor:keyTensor:valueTensor:maskTensor:scale:name:);
    return [MPSGraph instancesRespondToSelector:selector];
}

static MPSGraphTensor *attend(mtb_mps_kernel *kernel, const mtb_mps_attention *of) {
    const size_t query[] = {of->batch, of->query_heads, of->queries, of->head_size};
    const size_t key[] = {of->batch, of->key_heads, of->keys, of->head_size};
    const size_t value[] = {of->batch, of->key_heads, of->keys, of->value_size};
    const size_t mask[] = {of->mask_batch, of->mask_heads, of->queries, of->keys};
    mtb_data_type type = of->data_type;
    MPSGraphTensor *queries = mtbi_mps_graph_input(kernel, "query", type, query, MTB_MPS_MAX_RANK);
    MPSGraphTensor *keys = mtbi_mps_graph_input(kernel, "key", type, key, MTB_MPS_MAX_RANK);
    MPSGraphTensor *values = mtbi_mps_graph_input(kernel, "value", type, value, MTB_MPS_MAX_RANK);
    MPSGraphTensor *masks = of->mask_batch ? mtbi_mps_graph_input(kernel, "mask", type, mask, MTB_MPS_MAX_RANK) : nil;
    if (@available(macOS 15.0, *))
        return [mtbi_mps_graph(kernel) scaledDotProductAttentionWithQueryTensor:queries keyTensor:keys
                                                                    valueTensor:values
                                                                     maskTensor:masks
                                                                          scale:(float)of->scale
                                                                           name:nil];
    return nil;
}

mtb_mps_kernel *mtb_mps_attention_create(mtb_device *device, const mtb_mps_attention *descriptor, mtb_error **error) {
    mtb_mps_kernel *kernel = NULL;
    mtbi_error_clear(error);
    MTBI_ENTER
    if (check_attention(descriptor, error, __func__)) return NULL;
    kernel = mtbi_mps_graph_begin(device, error, __func__);
    if (!kernel) return NULL;
    if (!has_attention()) {
        FAIL(error, MTB_UNSUPPORTED, "this system's MPSGraph has no attention: it needs macOS 15");
        mtb_mps_kernel_release(kernel);
        return NULL;
    }
    const size_t shape[] = {descriptor->batch, descriptor->query_heads, descriptor->queries, descriptor->value_size};
    return mtbi_mps_graph_finish(kernel, attend(kernel, descriptor), descriptor->data_type, shape, MTB_MPS_MAX_RANK,
                                 error, __func__);
    MTBI_LEAVE((mtb_mps_kernel_release(kernel), mtbi_fail_with_exception(error, __func__, exception), NULL))
}
