/* simdgroup_matrix. Lane 0 does the work of its simdgroup on whole matrices; the ordering with other lanes comes from
 * the barriers that correct programs have anyway. Only `thread_elements()` gives every lane its two elements: a matrix
 * is then `distributed` until it is assigned to. */
#ifndef SMTL_MATRIX_H
#define SMTL_MATRIX_H

#include <msl/vector.h>

#include "exchange.h"
#include "tile.h"

/* 0 if the source has no `thread_elements`: matrices need not keep track then of how they are laid out. */
#ifndef SMTL_USES_THREAD_ELEMENTS
#define SMTL_USES_THREAD_ELEMENTS 1
#endif

namespace metal {

template <class T, int Columns, int Rows = Columns> class simdgroup_matrix;

}  // namespace metal

namespace smtl {

/* Whole: lane 0 has all elements. Distributed: each lane has its own two. */
enum class matrix_layout : uint8_t {
    undefined,
    whole,
    distributed
};

#if SMTL_USES_THREAD_ELEMENTS
/* A thread of the kernel has called `thread_elements()`. In a kernel that never does (while others of its source do)
 * nothing refers to the variable but reads, and the optimiser removes these. */
SMTL_LIBRARY_VARIABLE static bool elements_in_use = false;
#endif

SMTL_INLINE bool is_leader() { return current_lane() == 0; }

/* Where a lane's two elements are: in a row, side by side. */
struct element_position {
    uint32_t row, column;
};

SMTL_INLINE element_position position_of_lane(uint32_t lane) {
    const uint32_t quad = lane / 4;
    return {(quad & 4) + lane / 2 % 4, (quad & 2) * 2 + lane % 2 * 2};
}

struct element_pair {
    float first, second;
};

SMTL_INLINE float *pair_in(const tile &m, uint32_t lane) {
    const element_position at = position_of_lane(lane);
    return (float *)&m + tile_index(at.row, at.column);
}

SMTL_INLINE element_pair get_pair(const tile &m, uint32_t lane) {
    const float *const first = pair_in(m, lane);
    return {first[0], first[2]};
}

/* The tile whose elements the lanes gave, starting `offset` bytes into their values of `stride` bytes. */
SMTL_TILE_FUNCTION void assemble(tile &to, const smtl_exchange *exchange, uint32_t stride, uint32_t offset) {
    for (uint32_t lane = 0; lane < simd_width; ++lane) {
        element_pair pair;
        __builtin_memcpy(&pair, exchange->values + lane * stride + offset, sizeof(pair));
        float *const first = pair_in(to, lane);
        first[0] = pair.first;
        first[2] = pair.second;
    }
}

/* Lane 0 gave the address of its tile; the others gave any. */
SMTL_TILE_FUNCTION void publish(const smtl_exchange *exchange, tile &to) { to = *value_of<const tile *>(exchange, 0); }

/* The pairs of three operands. */
struct operand_pairs {
    element_pair a, b, c;
};

template <class T> SMTL_TILE_FUNCTION void multiply_distributed(const smtl_exchange *exchange, tile &to) {
    tile a, b, c;
    assemble(a, exchange, sizeof(operand_pairs), offsetof(operand_pairs, a));
    assemble(b, exchange, sizeof(operand_pairs), offsetof(operand_pairs, b));
    assemble(c, exchange, sizeof(operand_pairs), offsetof(operand_pairs, c));
    multiply_add(to, a, b, c);
    round_tile<T>(to);
}

/* A lane's two elements of a matrix that is whole, out of a meeting. Like the product below called, not inlined:
 * sources that unroll their products hold hundreds of them, and a meeting is long where it is compiled. */
SMTL_TILE_FUNCTION element_pair pair_of_whole(const tile &m, uint32_t site) {
    const tile *const address = &m;
    const tile *const whole = combined<tile>(meet(site, address), publish);
    return get_pair(*whole, current_lane());
}

/* A distributed matrix: the lane's own two elements, as type T. */
template <class T> SMTL_INLINE element_pair own_pair(const tile &m) {
    const T *const own = reinterpret_cast<const T *>(&m);
    return {widen_element(own[0]), widen_element(own[1])};
}
template <class T> SMTL_INLINE void set_own_pair(tile &m, element_pair pair) {
    T *const own = reinterpret_cast<T *>(&m);
    own[0] = T(pair.first);
    own[1] = T(pair.second);
}

template <class T> SMTL_INLINE element_pair pair_of(const tile &m, matrix_layout layout, uint32_t site) {
    return layout == matrix_layout::whole ? pair_of_whole(m, site) : own_pair<T>(m);
}

struct operand_layouts {
    matrix_layout a, b, c;
};

/* Lanes with elements of their own give them all in one meeting and take theirs of the product. */
template <class D, class A, class B, class C>
SMTL_TILE_FUNCTION void multiply_in_parts(tile &d, const tile &a, const tile &b, const tile &c, operand_layouts layouts,
                                          uint32_t site) {
    const operand_pairs operands = {pair_of<A>(a, layouts.a, site), pair_of<B>(b, layouts.b, site),
                                    pair_of<C>(c, layouts.c, site)};
    smtl_exchange *const exchange = meet(site, operands);
    set_own_pair<D>(d, get_pair(*combined<tile>(exchange, multiply_distributed<D>), current_lane()));
}

/* Origins are given as 0 or as two numbers. */
struct matrix_origin {
    uint64_t column = 0, row = 0;
    SMTL_INLINE matrix_origin(uint64_t both) : column(both), row(both) {}
    template <class T> SMTL_INLINE matrix_origin(metal::vec<T, 2> origin) : column(origin[0]), row(origin[1]) {}
};

struct matrix_access;

}  // namespace smtl

namespace metal {

template <class T> class simdgroup_matrix<T, 8, 8> {
public:
    using storage_type = vec<T, 2>;

    simdgroup_matrix() = default;
    SMTL_INLINE simdgroup_matrix(const simdgroup_matrix &other) { *this = other; }
    SMTL_INLINE simdgroup_matrix &operator=(const simdgroup_matrix &other) {
        if (smtl::is_leader() || other.is_distributed()) tile_ = other.tile_;
        set_layout(other.layout());
        return *this;
    }
    /* `value` on the diagonal, zero elsewhere. */
    SMTL_INLINE explicit simdgroup_matrix(T value) {
        fill(0.0f);
        if (smtl::is_leader())
            for (uint32_t i = 0; i < smtl::tile_size; ++i)
                ((float *)&tile_)[smtl::tile_index(i, i)] = smtl::widen_element(value);
    }

#if SMTL_USES_THREAD_ELEMENTS
    SMTL_INLINE storage_type &thread_elements(SMTL_SITE) {
        asm volatile("" : "+m"(smtl::elements_in_use));
        smtl::elements_in_use = true;
        distribute(site);
        return reinterpret_cast<storage_type &>(tile_);
    }
    SMTL_INLINE const storage_type &thread_elements(SMTL_SITE) const {
        return const_cast<simdgroup_matrix *>(this)->thread_elements(site);
    }
#endif

private:
    friend smtl::matrix_access;

    SMTL_INLINE void fill(float value) {
        if (smtl::is_leader())
            for (smtl::row_pair &pair : tile_.pairs) pair = smtl::row_pair(value);
        set_layout(smtl::matrix_layout::whole);
    }
    SMTL_INLINE void distribute(uint32_t site) {
        if (layout() == smtl::matrix_layout::whole) smtl::set_own_pair<T>(tile_, smtl::pair_of_whole(tile_, site));
        set_layout(smtl::matrix_layout::distributed);
    }

    /* Distributed: the lane's own two are at the start, as type T. */
    smtl::tile tile_;
#if SMTL_USES_THREAD_ELEMENTS
    SMTL_INLINE bool is_distributed() const {
        return smtl::elements_in_use && layout_ == smtl::matrix_layout::distributed;
    }
    SMTL_INLINE smtl::matrix_layout layout() const { return layout_; }
    SMTL_INLINE void set_layout(smtl::matrix_layout layout) { layout_ = layout; }
    smtl::matrix_layout layout_ = smtl::matrix_layout::undefined;
#else
    static constexpr bool is_distributed() { return false; }
    static constexpr smtl::matrix_layout layout() { return smtl::matrix_layout::whole; }
    static constexpr void set_layout(smtl::matrix_layout) {}
#endif
};

using simdgroup_float8x8 = simdgroup_matrix<float, 8, 8>;
using simdgroup_half8x8 = simdgroup_matrix<_Float16, 8, 8>;
using simdgroup_bfloat8x8 = simdgroup_matrix<__bf16, 8, 8>;

}  // namespace metal

namespace smtl {

/* What the functions of Metal do with matrices, behind their public face. */
struct matrix_access {
    template <class T> using matrix = metal::simdgroup_matrix<T, 8, 8>;

    template <class T> static SMTL_INLINE void fill(matrix<T> &m, T value) { m.fill(widen_element(value)); }

    template <class T>
    static SMTL_INLINE void load(matrix<T> &m, const T *from, uint64_t stride, matrix_origin origin, bool transpose) {
        if (is_leader()) {
            const T *const first = from + origin.row * stride + origin.column;
            touch_rows(first, stride, tile_size, tile_size, 0);
            load_tile(m.tile_, first, stride, transpose);
        }
        m.set_layout(matrix_layout::whole);
    }

    template <class T>
    static SMTL_INLINE void store(const matrix<T> &m, T *to, uint64_t stride, matrix_origin origin, bool transpose) {
        T *const first = to + origin.row * stride + origin.column;
        if (m.is_distributed()) {
            const element_position at = position_of_lane(current_lane());
            const element_pair own = own_pair<T>(m.tile_);
            first[transpose ? at.column * stride + at.row : at.row * stride + at.column] = T(own.first);
            first[transpose ? (at.column + 1) * stride + at.row : at.row * stride + at.column + 1] = T(own.second);
        } else if (is_leader()) {
            touch_rows(first, stride, tile_size, tile_size, SMTL_TOUCH_WRITE);
            store_tile(m.tile_, first, stride, transpose);
        }
    }

    template <class D, class A, class B, class C>
    static SMTL_INLINE void multiply_add(matrix<D> &d, const matrix<A> &a, const matrix<B> &b, const matrix<C> &c,
                                         [[maybe_unused]] uint32_t site) {
#if SMTL_USES_THREAD_ELEMENTS
        if (a.is_distributed() || b.is_distributed() || c.is_distributed()) {
            multiply_in_parts<D, A, B, C>(d.tile_, a.tile_, b.tile_, c.tile_, {a.layout(), b.layout(), c.layout()},
                                          site);
            d.set_layout(matrix_layout::distributed);
            return;
        }
#endif
        if (is_leader()) {
            smtl::multiply_add(d.tile_, a.tile_, b.tile_, c.tile_);
            if constexpr (sizeof(D) < sizeof(float)) round_tile<D>(d.tile_);
        }
        d.set_layout(matrix_layout::whole);
    }
};

}  // namespace smtl

namespace metal {

template <class T, int Columns, int Rows = Columns>
SMTL_INLINE simdgroup_matrix<T, Columns, Rows> make_filled_simdgroup_matrix(T value) {
    simdgroup_matrix<T, Columns, Rows> result;
    smtl::matrix_access::fill(result, value);
    return result;
}

template <class T, int Columns, int Rows = Columns>
SMTL_INLINE simdgroup_matrix<T, Columns, Rows> make_diagonal_simdgroup_matrix(T value) {
    return simdgroup_matrix<T, Columns, Rows>(value);
}

template <class T>
SMTL_INLINE void simdgroup_load(simdgroup_matrix<T, 8, 8> &d, const smtl::not_deduced<T> *src,
                                uint64_t elements_per_row = 8, smtl::matrix_origin matrix_origin = 0,
                                bool transpose_matrix = false) {
    smtl::matrix_access::load(d, src, elements_per_row, matrix_origin, transpose_matrix);
}

template <class T>
SMTL_INLINE void simdgroup_store(const simdgroup_matrix<T, 8, 8> &a, smtl::not_deduced<T> *dst,
                                 uint64_t elements_per_row = 8, smtl::matrix_origin matrix_origin = 0,
                                 bool transpose_matrix = false) {
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
    simdgroup_matrix<D, 8, 8> zero;
    smtl::matrix_access::fill(zero, D(0));
    smtl::matrix_access::multiply_add(d, a, b, zero, site);
}

template <class T>
SMTL_INLINE simdgroup_matrix<T, 8, 8> operator*(const simdgroup_matrix<T, 8, 8> &a,
                                                const simdgroup_matrix<T, 8, 8> &b) {
    simdgroup_matrix<T, 8, 8> product;
    simdgroup_multiply(product, a, b);
    return product;
}

}  // namespace metal

#endif
