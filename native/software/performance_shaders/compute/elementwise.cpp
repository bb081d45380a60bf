#include "elementwise.h"

#include <cmath>

#include "loops.h"
#include "numbers.h"

namespace {

/* Numbers that are converted at once. */
constexpr size_t stretch = 512;

/* Joins dimensions that lie behind each other in every tensor. */
void join_dimensions(smtl_elementwise &all) {
    const auto joins = [](const smtl_tensor &tensor, uint32_t i) {
        return tensor.strides[i] == tensor.strides[i + 1] * tensor.lengths[i + 1];
    };
    const auto drop = [](smtl_tensor &tensor, uint32_t i) {
        tensor.lengths[i] *= tensor.lengths[i + 1];
        tensor.strides[i] = tensor.strides[i + 1];
        for (uint32_t j = i + 1; j + 1 < tensor.rank; ++j) {
            tensor.lengths[j] = tensor.lengths[j + 1];
            tensor.strides[j] = tensor.strides[j + 1];
        }
        --tensor.rank;
    };
    for (uint32_t i = all.result.rank; i-- > 1;) {
        bool joined = joins(all.result, i - 1);
        for (uint32_t k = 0; k < all.count; ++k)
            joined = joined && (all.operands[k].bytes == nullptr || joins(all.operands[k], i - 1));
        if (!joined) continue;
        drop(all.result, i - 1);
        for (uint32_t k = 0; k < all.count; ++k)
            if (all.operands[k].bytes != nullptr) drop(all.operands[k], i - 1);
    }
}

void apply(const smtl_elementwise &all, float (*numbers)[stretch], size_t count) {
    float *const x = numbers[0], *const y = numbers[1];
    switch (all.function) {
    case SMTL_COPY: return;
    case SMTL_RELU:
        for (size_t i = 0; i < count; ++i) x[i] = x[i] < 0 ? 0 : x[i];
        return;
    case SMTL_ADD:
        for (size_t i = 0; i < count; ++i) x[i] += y[i];
        return;
    case SMTL_MULTIPLY:
        for (size_t i = 0; i < count; ++i) x[i] *= y[i];
        return;
    case SMTL_NORMALIZE: {
        const float *const variance = numbers[2], *const gamma = numbers[3], *const beta = numbers[4];
        for (size_t i = 0; i < count; ++i) x[i] = (x[i] - y[i]) / std::sqrt(variance[i] + all.epsilon);
        if (all.operands[3].bytes != nullptr)
            for (size_t i = 0; i < count; ++i) x[i] *= gamma[i];
        if (all.operands[4].bytes != nullptr)
            for (size_t i = 0; i < count; ++i) x[i] += beta[i];
        return;
    }
    }
}

void run_row(const smtl_elementwise &all, size_t row, size_t length) {
    float numbers[SMTL_MOST_OPERANDS][stretch];
    const smtl_tensor &result = all.result;
    const uint32_t last = result.rank - 1;
    uint8_t *const to = smtl::address_at(result, result.lengths, last, row);
    for (size_t begin = 0; begin < length; begin += stretch) {
        const size_t count = std::min(stretch, length - begin);
        for (uint32_t k = 0; k < all.count; ++k) {
            const smtl_tensor &operand = all.operands[k];
            if (operand.bytes == nullptr) continue;
            smtl_read_numbers(numbers[k],
                              smtl::address_at(operand, result.lengths, last, row) + begin * operand.strides[last],
                              operand.type, operand.strides[last], count);
        }
        apply(all, numbers, count);
        smtl_write_numbers(to + begin * result.strides[last], result.type, result.strides[last], numbers[0], count);
    }
}

/* At least one dimension. */
void extend(smtl_tensor &tensor) {
    if (tensor.rank == 0) {
        tensor.rank = 1;
        tensor.lengths[0] = 1;
        tensor.strides[0] = smtl_type_size(tensor.type);
    }
}

/* The sum of the numbers that `tensor` has from `bytes` on, in its dimensions from `first`, or of their squared
 * distances from `mean`. */
double sum_of(const smtl_tensor &tensor, uint32_t first, const uint8_t *bytes, bool squares, double mean) {
    if (first + 1 < tensor.rank) {
        double sum = 0;
        for (size_t i = 0; i < tensor.lengths[first]; ++i)
            sum += sum_of(tensor, first + 1, bytes + i * tensor.strides[first], squares, mean);
        return sum;
    }
    const size_t length = first < tensor.rank ? tensor.lengths[first] : 1;
    const size_t stride = first < tensor.rank ? tensor.strides[first] : 0;
    float numbers[stretch];
    double sum = 0;
    for (size_t begin = 0; begin < length; begin += stretch) {
        const size_t count = std::min(stretch, length - begin);
        smtl_read_numbers(numbers, bytes + begin * stride, tensor.type, stride, count);
        for (size_t i = 0; i < count; ++i) sum += squares ? (numbers[i] - mean) * (numbers[i] - mean) : numbers[i];
    }
    return sum;
}

}  // namespace

bool smtl_elementwise_run(const smtl_elementwise *elementwise, char **) {
    smtl_elementwise all = *elementwise;
    extend(all.result);
    for (uint32_t k = 0; k < all.count; ++k)
        if (all.operands[k].bytes != nullptr) extend(all.operands[k]);
    join_dimensions(all);
    const size_t length = all.result.lengths[all.result.rank - 1], rows = smtl_tensor_count(&all.result) / length;
    smtl::in_parts(rows, (16 << 10) / (length + 1), [&](size_t begin, size_t end) {
        for (size_t row = begin; row < end; ++row) run_row(all, row, length);
    });
    return true;
}

bool smtl_reduction_run(const smtl_reduction *reduction, char **) {
    const smtl_tensor &source = reduction->source, &mean = reduction->mean, &result = reduction->result;
    const uint32_t kept = result.rank;
    const size_t rows = smtl_tensor_count(&result);
    const double count = (double)(smtl_tensor_count(&source) / rows);
    smtl::in_parts(rows, (size_t)((16 << 10) / (count + 1)), [&](size_t begin, size_t end) {
        for (size_t row = begin; row < end; ++row) {
            const uint8_t *bytes = smtl::address_at(source, result.lengths, kept, row);
            float value;
            if (reduction->variance && mean.bytes != nullptr)
                smtl_read_numbers(&value, smtl::address_at(mean, result.lengths, kept, row), mean.type, 0, 1);
            else
                value = (float)(sum_of(source, kept, bytes, false, 0) / count);
            if (reduction->variance) value = (float)(sum_of(source, kept, bytes, true, value) / count);
            smtl_write_numbers(smtl::address_at(result, result.lengths, kept, row), result.type, 0, &value, 1);
        }
    });
    return true;
}
