#include "product.h"

#include <memory>
#include <new>

#include "dnnl.h"
#include "loops.h"
#include "numbers.h"

namespace {

/* Numbers of the result that are computed at once: what is converted for them fits in the caches' neighbourhood. */
constexpr size_t block_rows = 512, block_columns = 1024;

struct matrix {
    uint8_t *bytes;
    uint32_t type;
    size_t rows, columns, row_stride, column_stride;

    matrix part(size_t row, size_t row_count, size_t column, size_t column_count) const {
        return {bytes + row * row_stride + column * column_stride,
                type,
                row_count,
                column_count,
                row_stride,
                column_stride};
    }
    matrix transposed() const { return {bytes, type, columns, rows, column_stride, row_stride}; }
};

matrix matrix_at(const smtl_tensor &tensor, uint8_t *bytes) {
    const uint32_t row = tensor.rank - 2, column = tensor.rank - 1;
    return {
        bytes, tensor.type, tensor.lengths[row], tensor.lengths[column], tensor.strides[row], tensor.strides[column]};
}

/* A matrix as oneDNN takes one: floats, rows side by side. */
struct panel {
    float *numbers;
    size_t stride;
    bool transposed;
};

/* The matrix as it lies, if its rows are rows of floats. */
bool lies_in_rows(const matrix &m, panel &result) {
    constexpr size_t size = sizeof(float);
    const size_t stride = m.rows == 1 ? m.columns * size : m.row_stride;
    const bool fits = m.type == SMTL_FLOAT32 && (m.columns == 1 || m.column_stride == size) && stride % size == 0 &&
                      stride / size >= m.columns;
    if (fits) result = {reinterpret_cast<float *>(m.bytes), stride / size, false};
    return fits;
}

class converter {
public:
    /* Floats for a matrix of `count` numbers; false for want of memory. */
    bool reserve(size_t count) {
        if (count > capacity_) {
            numbers_.reset(new (std::nothrow) float[count]);
            capacity_ = numbers_ == nullptr ? 0 : count;
        }
        return numbers_ != nullptr || count == 0;
    }
    float *numbers() { return numbers_.get(); }

    bool convert(const matrix &m, panel &result) {
        if (lies_in_rows(m, result)) return true;
        if (lies_in_rows(m.transposed(), result)) {
            result.transposed = true;
            return true;
        }
        if (!reserve(m.rows * m.columns)) return false;
        /* Along what lies side by side. */
        const bool transposed = m.row_stride < m.column_stride;
        const matrix from = transposed ? m.transposed() : m;
        float *to = numbers_.get();
        smtl::in_parts(from.rows, (32 << 10) / (from.columns + 1), [&](size_t begin, size_t end) {
            for (size_t row = begin; row < end; ++row)
                smtl_read_numbers(to + row * from.columns, from.bytes + row * from.row_stride, from.type,
                                  from.column_stride, from.columns);
        });
        result = {to, from.columns, transposed};
        return true;
    }

private:
    std::unique_ptr<float[]> numbers_;
    size_t capacity_ = 0;
};

class multiplier {
public:
    multiplier(const smtl_product &product, char **reason) : product_(product), reason_(reason) {}

    bool run(const matrix &left, const matrix &right, const matrix &addend, const matrix &result) {
        const size_t interior = left.columns;
        for (size_t column = 0; column < result.columns; column += block_columns) {
            const size_t columns = std::min(block_columns, result.columns - column);
            panel b;
            if (!right_.convert(right.part(0, interior, column, columns), b)) return false;
            for (size_t row = 0; row < result.rows; row += block_rows) {
                const size_t rows = std::min(block_rows, result.rows - row);
                panel a;
                if (!left_.convert(left.part(row, rows, 0, interior), a)) return false;
                if (!run_block(a, b, interior, addend.part(row, rows, column, columns),
                               result.part(row, rows, column, columns)))
                    return false;
            }
        }
        return true;
    }

private:
    bool run_block(const panel &a, const panel &b, size_t interior, const matrix &addend, const matrix &result) {
        panel c;
        const bool in_place = lies_in_rows(result, c);
        if (!in_place) {
            if (!result_.reserve(result.rows * result.columns)) return false;
            c = {result_.numbers(), result.columns, false};
        }
        const float beta = product_.beta;
        if (beta != 0 && !(in_place && addend.bytes == result.bytes))
            for (size_t row = 0; row < result.rows; ++row)
                smtl_read_numbers(c.numbers + row * c.stride, addend.bytes + row * addend.row_stride, addend.type,
                                  addend.column_stride, result.columns);
        if (!smtl_dnnl_product(a.transposed, b.transposed, (int64_t)result.rows, (int64_t)result.columns,
                               (int64_t)interior, product_.alpha, a.numbers, (int64_t)a.stride, b.numbers,
                               (int64_t)b.stride, beta, c.numbers, (int64_t)c.stride, reason_))
            return false;
        for (size_t row = 0; row < result.rows && !in_place; ++row)
            smtl_write_numbers(result.bytes + row * result.row_stride, result.type, result.column_stride,
                               c.numbers + row * c.stride, result.columns);
        return true;
    }

    const smtl_product &product_;
    char **const reason_;
    converter left_, right_, result_;
};

}  // namespace

bool smtl_product_run(const smtl_product *product, char **reason) {
    const smtl_tensor &result = product->result;
    const uint32_t batch_rank = result.rank - 2;
    size_t batch = 1;
    for (uint32_t i = 0; i < batch_rank; ++i) batch *= result.lengths[i];
    multiplier multiplier(*product, reason);
    for (size_t i = 0; i < batch; ++i) {
        const auto at = [&](const smtl_tensor &tensor) {
            return matrix_at(tensor, smtl::address_at(tensor, result.lengths, batch_rank, i));
        };
        if (!multiplier.run(at(product->left), at(product->right), at(product->addend), at(result))) return false;
    }
    return true;
}
