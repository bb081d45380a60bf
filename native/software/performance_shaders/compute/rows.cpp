#include "rows.h"

#include <atomic>
#include <cmath>
#include <memory>
#include <new>

#include "loops.h"
#include "numbers.h"

namespace {

using floats = std::unique_ptr<float[]>;

/* Calls work(row, numbers) for the index of each row of the tensor, with memory for the row's numbers. False for want
 * of memory. */
template <typename function> bool for_rows(const smtl_tensor &tensor, const function &work) {
    const size_t length = tensor.lengths[tensor.rank - 1],
                 rows = smtl_tensor_count(&tensor) / std::max<size_t>(length, 1);
    std::atomic<bool> failed{false};
    smtl::in_parts(rows, (16 << 10) / (length + 1), [&](size_t begin, size_t end) {
        floats numbers(new (std::nothrow) float[length]);
        if (numbers == nullptr) {
            failed = true;
            return;
        }
        for (size_t row = begin; row < end; ++row) work(row, numbers.get());
    });
    return !failed;
}

bool is_larger(float a, float b) { return a > b || (std::isnan(b) && !std::isnan(a)); }

}  // namespace

void smtl_softmax_row(float *numbers, size_t count, bool logarithm) {
    float largest = -INFINITY;
    for (size_t i = 0; i < count; ++i) largest = is_larger(numbers[i], largest) ? numbers[i] : largest;
    double sum = 0;
    for (size_t i = 0; i < count; ++i) {
        const float power = std::exp(numbers[i] - largest);
        sum += power;
        if (!logarithm) numbers[i] = power;
    }
    const float scale = (float)(1 / sum), shift = (float)std::log(sum);
    for (size_t i = 0; i < count; ++i) numbers[i] = logarithm ? numbers[i] - largest - shift : numbers[i] * scale;
}

bool smtl_softmax_run(const smtl_softmax *softmax, char **) {
    const smtl_tensor &source = softmax->source, &result = softmax->result;
    const uint32_t last = source.rank - 1;
    return for_rows(source, [&](size_t row, float *numbers) {
        const size_t length = source.lengths[last];
        smtl_read_numbers(numbers, smtl::address_at(source, source.lengths, last, row), source.type,
                          source.strides[last], length);
        smtl_softmax_row(numbers, length, softmax->logarithm);
        smtl_write_numbers(smtl::address_at(result, source.lengths, last, row), result.type, result.strides[last],
                           numbers, length);
    });
}

bool smtl_top_k_run(const smtl_top_k *top_k, char **) {
    const smtl_tensor &source = top_k->source, &values = top_k->values, &indices = top_k->indices;
    const uint32_t last = source.rank - 1;
    return for_rows(source, [&](size_t row, float *numbers) {
        const size_t length = source.lengths[last];
        smtl_read_numbers(numbers, smtl::address_at(source, source.lengths, last, row), source.type,
                          source.strides[last], length);
        /* The best so far, in order. */
        uint32_t best[16];
        uint32_t found = 0;
        for (uint32_t i = 0; i < length; ++i) {
            if (found == top_k->count && !is_larger(numbers[i], numbers[best[found - 1]])) continue;
            uint32_t at = found == top_k->count ? found - 1 : found++;
            for (; at > 0 && is_larger(numbers[i], numbers[best[at - 1]]); --at) best[at] = best[at - 1];
            best[at] = i;
        }
        float chosen[16];
        uint8_t *index = smtl::address_at(indices, source.lengths, last, row);
        for (uint32_t i = 0; i < found; ++i) {
            chosen[i] = numbers[best[i]];
            *reinterpret_cast<uint32_t *>(index + i * indices.strides[last]) = best[i] + top_k->index_offset;
        }
        smtl_write_numbers(smtl::address_at(values, source.lengths, last, row), values.type, values.strides[last],
                           chosen, found);
    });
}
