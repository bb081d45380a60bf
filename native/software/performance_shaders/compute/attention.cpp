#include "attention.h"

#include <memory>
#include <new>

#include "loops.h"
#include "numbers.h"
#include "product.h"
#include "rows.h"

namespace {

/* Rows of scores that exist at once. */
constexpr size_t block_rows = 256;

/* One matrix of the tensor, `count` rows of it from `row` on. */
smtl_tensor matrix(const smtl_tensor &tensor, const size_t *lengths, uint32_t outer, size_t index, size_t row,
                   size_t count) {
    smtl_tensor part = {
        smtl::address_at(tensor, lengths, outer, index) + row * tensor.strides[outer], tensor.type, 2, {}, {}};
    part.lengths[0] = count;
    part.strides[0] = tensor.strides[outer];
    part.lengths[1] = tensor.lengths[outer + 1];
    part.strides[1] = tensor.strides[outer + 1];
    return part;
}

/* Adds the one row of the matrix. */
void add(const smtl_tensor &row, float *numbers, size_t count) {
    float stretch[512];
    const size_t most = sizeof stretch / sizeof stretch[0];
    for (size_t begin = 0; begin < count; begin += most) {
        const size_t size = std::min(most, count - begin);
        smtl_read_numbers(stretch, row.bytes + begin * row.strides[1], row.type, row.strides[1], size);
        for (size_t i = 0; i < size; ++i) numbers[begin + i] += stretch[i];
    }
}

void transpose(smtl_tensor &tensor) {
    std::swap(tensor.lengths[0], tensor.lengths[1]);
    std::swap(tensor.strides[0], tensor.strides[1]);
}

}  // namespace

bool smtl_attention_run(const smtl_attention *attention, char **reason) {
    const smtl_tensor &query = attention->query, &key = attention->key, &mask = attention->mask;
    const uint32_t outer = query.rank - 2;
    const size_t rows = query.lengths[outer], keys = key.lengths[outer];
    size_t matrices = 1;
    for (uint32_t i = 0; i < outer; ++i) matrices *= query.lengths[i];
    const size_t block = std::min(rows, block_rows);
    std::unique_ptr<float[]> numbers(new (std::nothrow) float[block * keys]);
    if (numbers == nullptr) return false;
    float *const scores = numbers.get();

    for (size_t i = 0; i < matrices; ++i) {
        const auto part = [&](const smtl_tensor &tensor, size_t row, size_t count) {
            return matrix(tensor, query.lengths, outer, i, row, count);
        };
        for (size_t row = 0; row < rows; row += block) {
            const size_t count = std::min(block, rows - row);
            smtl_tensor all = {reinterpret_cast<uint8_t *>(scores),
                               SMTL_FLOAT32,
                               2,
                               {count, keys},
                               {keys * sizeof(float), sizeof(float)}};
            smtl_product product = {part(query, row, count), part(key, 0, keys), all, all, attention->scale, 0};
            transpose(product.right);
            if (!smtl_product_run(&product, reason)) return false;
            smtl::in_parts(count, (8 << 10) / (keys + 1), [&](size_t begin, size_t end) {
                for (size_t r = begin; r < end; ++r) {
                    if (mask.bytes != nullptr) add(part(mask, row + r, 1), scores + r * keys, keys);
                    smtl_softmax_row(scores + r * keys, keys, false);
                }
            });
            const smtl_tensor result = part(attention->result, row, count);
            product = {all, part(attention->value, 0, keys), result, result, 1, 0};
            if (!smtl_product_run(&product, reason)) return false;
        }
    }
    return true;
}
