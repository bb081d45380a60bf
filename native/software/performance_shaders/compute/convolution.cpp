#include "convolution.h"

#include <memory>
#include <new>

#include "elementwise.h"

namespace {

using floats = std::unique_ptr<float[]>;

/* A tensor of packed floats with the same order of dimensions in memory; false for want of memory. */
bool make_floats(const smtl_tensor &tensor, smtl_tensor &made, floats &memory) {
    memory.reset(new (std::nothrow) float[smtl_tensor_count(&tensor)]);
    made = tensor;
    made.type = SMTL_FLOAT32;
    made.bytes = reinterpret_cast<uint8_t *>(memory.get());
    size_t stride = sizeof(float);
    bool done[4] = {};
    for (uint32_t round = 0; round < tensor.rank; ++round) {
        uint32_t next = tensor.rank;
        for (uint32_t i = tensor.rank; i-- > 0;)
            if (!done[i] && (next == tensor.rank || tensor.strides[i] < tensor.strides[next])) next = i;
        done[next] = true;
        made.strides[next] = stride;
        stride *= tensor.lengths[next];
    }
    return memory != nullptr;
}

bool copy(const smtl_tensor &from, const smtl_tensor &to, char **reason) {
    smtl_elementwise copy = {};
    copy.function = SMTL_COPY;
    copy.count = 1;
    copy.operands[0] = from;
    copy.result = to;
    return smtl_elementwise_run(&copy, reason);
}

bool is_float_at_floats(const smtl_tensor &tensor) {
    bool aligned = tensor.type == SMTL_FLOAT32;
    for (uint32_t i = 0; i < tensor.rank; ++i) aligned = aligned && tensor.strides[i] % sizeof(float) == 0;
    return aligned;
}

void describe(const smtl_tensor &tensor, int64_t *lengths, int64_t *strides) {
    for (uint32_t i = 0; i < tensor.rank; ++i) {
        lengths[i] = (int64_t)tensor.lengths[i];
        strides[i] = (int64_t)(tensor.strides[i] / sizeof(float));
    }
}

}  // namespace

bool smtl_convolution_run(const smtl_convolution_call *call, char **reason) {
    smtl_tensor source = call->source, weights = call->weights, result = call->result;
    floats source_memory, weights_memory, result_memory;
    if (!is_float_at_floats(source) &&
        !(make_floats(call->source, source, source_memory) && copy(call->source, source, reason)))
        return false;
    if (!is_float_at_floats(weights) &&
        !(make_floats(call->weights, weights, weights_memory) && copy(call->weights, weights, reason)))
        return false;
    const bool aside = !is_float_at_floats(result);
    if (aside && !make_floats(call->result, result, result_memory)) return false;

    smtl_convolution shape = {};
    describe(source, shape.source_lengths, shape.source_strides);
    describe(result, shape.result_lengths, shape.result_strides);
    describe(weights, shape.weights_lengths + 1, shape.weights_strides + 1);
    shape.weights_lengths[0] = call->groups;
    shape.weights_lengths[1] /= call->groups;
    shape.weights_strides[0] = shape.weights_lengths[1] * shape.weights_strides[1];
    for (int i = 0; i < 2; ++i) {
        shape.strides[i] = call->strides[i];
        shape.dilations[i] = (int64_t)call->dilations[i] - 1;
        shape.before[i] = call->before[i];
        shape.after[i] = call->after[i];
    }
    const auto numbers = [](const smtl_tensor &tensor) { return reinterpret_cast<float *>(tensor.bytes); };
    return smtl_dnnl_convolution(&shape, numbers(source), numbers(weights), call->kept, numbers(result), reason) &&
           (!aside || copy(result, call->result, reason));
}
