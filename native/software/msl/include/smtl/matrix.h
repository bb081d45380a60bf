/* simdgroup_matrix. Lane 0 does the work of its simdgroup on whole matrices; the ordering with other lanes comes from the
 * barriers that correct programs have anyway. Only `thread_elements()` gives every lane its two elements: a matrix is
 * then `distributed` until an operation wants it whole again. */
#ifndef SMTL_MATRIX_H
#define SMTL_MATRIX_H

#include "exchange.h"
#include "tile.h"

namespace metal {

template <class T, int N> struct vec;

template <class T, int Columns, int Rows = Columns> class simdgroup_matrix;

} // namespace metal

namespace smtl {

enum class matrix_layout : uint8_t { undefined, whole, distributed };

SMTL_INLINE bool is_leader() { return current_lane() == 0; }

/* Where a lane's two elements are: in a row, side by side. */
SMTL_INLINE uint32_t element_of_lane(uint32_t lane) {
    const uint32_t quad = lane / 4;
    const uint32_t row = (quad & 4) + lane / 2 % 4, column = (quad & 2) * 2 + lane % 2 * 2;
    return row * tile_size + column;
}

struct element_pair {
    float first, second;
};

SMTL_INLINE void set_pair(tile &to, uint32_t lane, element_pair pair) {
    float *const elements = (float *)&to + element_of_lane(lane);
    elements[0] = pair.first;
    elements[1] = pair.second;
}

/* The tile whose elements the lanes gave, starting `offset` bytes into their values of `stride` bytes. */
inline __attribute__((noinline)) tile assemble(const smtl_exchange *exchange, uint32_t stride, uint32_t offset) {
    tile result;
    for (uint32_t lane = 0; lane < simd_width; ++lane) {
        element_pair pair;
        __builtin_memcpy(&pair, exchange->values + lane * stride + offset, sizeof(pair));
        set_pair(result, lane, pair);
    }
    return result;
}

/* Lane 0 gave the address of its tile; the others gave any. */
inline __attribute__((noinline)) void publish(const smtl_exchange *exchange, tile &to) {
    to = *value_of<const tile *>(exchange, 0);
}

/* The pairs of three operands. */
struct operand_pairs {
    element_pair a, b, c;
};

template <class T> tile round_tile(const tile &m) {
    tile result;
    for (uint32_t r = 0; r < tile_size; ++r)
        result.rows[r] = tile_element<T>::round(m.rows[r]);
    return result;
}

template <class T> __attribute__((noinline)) void multiply_distributed(const smtl_exchange *exchange, tile &to) {
    constexpr uint32_t stride = sizeof(operand_pairs);
    tile a = assemble(exchange, stride, offsetof(operand_pairs, a));
    const tile b = assemble(exchange, stride, offsetof(operand_pairs, b));
    const tile c = assemble(exchange, stride, offsetof(operand_pairs, c));
    to = round_tile<T>(multiply_add(a, b, c));
}

/* Origins are given as 0 or as two numbers. */
struct matrix_origin {
    uint64_t column = 0, row = 0;
    SMTL_INLINE matrix_origin(uint64_t both) : column(both), row(both) {}
    template <class T> SMTL_INLINE matrix_origin(metal::vec<T, 2> origin) : column(origin[0]), row(origin[1]) {}
};

struct matrix_access;

} // namespace smtl

namespace metal {

template <class T> class simdgroup_matrix<T, 8, 8> {
  public:
    using storage_type = vec<T, 2>;

    simdgroup_matrix() = default;
    /* `value` on the diagonal, zero elsewhere. */
    SMTL_INLINE explicit simdgroup_matrix(T value) : layout_(smtl::matrix_layout::whole) {
        const float v = smtl::widen_element(value);
        for (uint32_t r = 0; r < smtl::tile_size; ++r)
            for (uint32_t c = 0; c < smtl::tile_size; ++c)
                tile_.rows[r][c] = r == c ? v : 0.0f;
    }

    SMTL_INLINE storage_type &thread_elements(SMTL_SITE) {
        if (layout_ == smtl::matrix_layout::whole)
            distribute(site);
        layout_ = smtl::matrix_layout::distributed;
        return reinterpret_cast<storage_type &>(tile_);
    }
    SMTL_INLINE const storage_type &thread_elements(SMTL_SITE) const {
        return const_cast<simdgroup_matrix *>(this)->thread_elements(site);
    }

  private:
    friend smtl::matrix_access;

    SMTL_INLINE smtl::element_pair pair() const {
        const T *const elements = reinterpret_cast<const T *>(&tile_);
        return {smtl::widen_element(elements[0]), smtl::widen_element(elements[1])};
    }
    SMTL_INLINE void set_pair(const float *elements) {
        T *const own = reinterpret_cast<T *>(&tile_);
        own[0] = T(elements[0]);
        own[1] = T(elements[1]);
    }
    SMTL_INLINE void distribute(uint32_t site) {
        const smtl::tile *const address = &tile_;
        smtl_exchange *const exchange = smtl::meet(site, address);
        const smtl::tile *const whole = smtl::combined<smtl::tile>(exchange, smtl::publish);
        set_pair((const float *)whole + smtl::element_of_lane(smtl::current_lane()));
    }
    SMTL_INLINE void make_whole(uint32_t site) {
        if (layout_ == smtl::matrix_layout::distributed) {
            const smtl_exchange *const exchange = smtl::meet(site, pair());
            if (smtl::is_leader())
                tile_ = smtl::assemble(exchange, sizeof(smtl::element_pair), 0);
        }
        layout_ = smtl::matrix_layout::whole;
    }

    /* Whole: lane 0 has all elements here. Distributed: each lane has its own two at the start, as type T. */
    smtl::tile tile_;
    smtl::matrix_layout layout_ = smtl::matrix_layout::undefined;
};

using simdgroup_float8x8 = simdgroup_matrix<float, 8, 8>;
using simdgroup_half8x8 = simdgroup_matrix<_Float16, 8, 8>;
using simdgroup_bfloat8x8 = simdgroup_matrix<__bf16, 8, 8>;

} // namespace metal

namespace smtl {

/* What the functions of Metal do with matrices, behind their public face. */
struct matrix_access {
    template <class T> using matrix = metal::simdgroup_matrix<T, 8, 8>;

    template <class T> static SMTL_INLINE bool is_distributed(const matrix<T> &m) {
        return m.layout_ == matrix_layout::distributed;
    }

    /* In every lane: no lane need be asked later. */
    template <class T> static SMTL_INLINE matrix<T> filled(T value) {
        matrix<T> result;
        result.layout_ = matrix_layout::whole;
        for (uint32_t r = 0; r < tile_size; ++r)
            result.tile_.rows[r] = tile_row(widen_element(value));
        return result;
    }

    template <class T, class From>
    static SMTL_INLINE void load(matrix<T> &m, const From *from, uint64_t stride, matrix_origin origin, bool transpose) {
        if (is_leader()) {
            const tile loaded = load_tile(from + origin.row * stride + origin.column, stride);
            m.tile_ = transpose ? transposed(loaded) : loaded;
        }
        m.layout_ = matrix_layout::whole;
    }

    template <class T>
    static SMTL_INLINE void store(const matrix<T> &m, T *to, uint64_t stride, matrix_origin origin, bool transpose) {
        T *const first = to + origin.row * stride + origin.column;
        if (is_distributed(m)) {
            const uint32_t element = element_of_lane(current_lane());
            const uint32_t row = element / tile_size, column = element % tile_size;
            const T *const own = reinterpret_cast<const T *>(&m.tile_);
            first[transpose ? column * stride + row : row * stride + column] = own[0];
            first[transpose ? (column + 1) * stride + row : row * stride + column + 1] = own[1];
        } else if (is_leader()) {
            store_tile(first, stride, transpose ? transposed(m.tile_) : m.tile_);
        }
    }

    template <class D, class A, class B, class C>
    static SMTL_INLINE void multiply_add(matrix<D> &d, const matrix<A> &a, const matrix<B> &b, const matrix<C> &c,
                                         uint32_t site) {
        if (is_distributed(a) || is_distributed(b) || is_distributed(c)) {
            multiply_in_parts(d, a, b, c, site);
            return;
        }
        if (is_leader())
            d.tile_ = round_tile<D>(smtl::multiply_add(const_cast<tile &>(a.tile_), b.tile_, c.tile_));
        d.layout_ = matrix_layout::whole;
    }

  private:
    /* Lanes with elements of their own give them all in one meeting and take theirs of the product. */
    template <class D, class A, class B, class C>
    static SMTL_INLINE void multiply_in_parts(matrix<D> &d, matrix<A> a, matrix<B> b, matrix<C> c, uint32_t site) {
        a.thread_elements(site);
        b.thread_elements(site);
        c.thread_elements(site);
        smtl_exchange *const exchange = meet(site, operand_pairs{a.pair(), b.pair(), c.pair()});
        const tile *const product = combined<tile>(exchange, multiply_distributed<D>);
        d.set_pair((const float *)product + element_of_lane(current_lane()));
        d.layout_ = matrix_layout::distributed;
    }
};

} // namespace smtl

namespace metal {

template <class T, int Columns, int Rows = Columns>
SMTL_INLINE simdgroup_matrix<T, Columns, Rows> make_filled_simdgroup_matrix(T value) {
    return smtl::matrix_access::filled<T>(value);
}

template <class T, int Columns, int Rows = Columns>
SMTL_INLINE simdgroup_matrix<T, Columns, Rows> make_diagonal_simdgroup_matrix(T value) {
    return simdgroup_matrix<T, Columns, Rows>(value);
}

template <class T>
SMTL_INLINE void simdgroup_load(simdgroup_matrix<T, 8, 8> &d, const T *src, uint64_t elements_per_row = 8,
                                smtl::matrix_origin matrix_origin = 0, bool transpose_matrix = false) {
    smtl::matrix_access::load(d, src, elements_per_row, matrix_origin, transpose_matrix);
}

template <class T>
SMTL_INLINE void simdgroup_store(const simdgroup_matrix<T, 8, 8> &a, T *dst, uint64_t elements_per_row = 8,
                                 smtl::matrix_origin matrix_origin = 0, bool transpose_matrix = false) {
    smtl::matrix_access::store(a, dst, elements_per_row, matrix_origin, transpose_matrix);
}

/* d = a * b + c */
template <class D, class A, class B, class C>
SMTL_INLINE void simdgroup_multiply_accumulate(simdgroup_matrix<D, 8, 8> &d, const simdgroup_matrix<A, 8, 8> &a,
                                               const simdgroup_matrix<B, 8, 8> &b, const simdgroup_matrix<C, 8, 8> &c,
                                               SMTL_SITE) {
    smtl::matrix_access::multiply_add(d, a, b, c, site);
}

/* d = a * b */
template <class D, class A, class B>
SMTL_INLINE void simdgroup_multiply(simdgroup_matrix<D, 8, 8> &d, const simdgroup_matrix<A, 8, 8> &a,
                                    const simdgroup_matrix<B, 8, 8> &b, SMTL_SITE) {
    const simdgroup_matrix<D, 8, 8> zero = smtl::matrix_access::filled<D>(D(0));
    smtl::matrix_access::multiply_add(d, a, b, zero, site);
}

template <class T>
SMTL_INLINE simdgroup_matrix<T, 8, 8> operator*(const simdgroup_matrix<T, 8, 8> &a, const simdgroup_matrix<T, 8, 8> &b) {
    simdgroup_matrix<T, 8, 8> product;
    simdgroup_multiply(product, a, b);
    return product;
}

} // namespace metal

#endif
