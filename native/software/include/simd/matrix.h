/* Making matrices and calculating with them. */
#ifndef SMTL_SIMD_MATRIX_H
#define SMTL_SIMD_MATRIX_H

#include <simd/geometry.h>
#include <simd/matrix_types.h>

#define SMTL_SIMD_MATRIX_COLUMNS(T, R)                                                                                 \
    SMTL_SIMD_FUNCTION simd_##T##2x##R simd_matrix(simd_##T##R a, simd_##T##R b) { return (simd_##T##2x##R){{a, b}}; } \
    SMTL_SIMD_FUNCTION simd_##T##3x##R simd_matrix(simd_##T##R a, simd_##T##R b, simd_##T##R c) {                      \
        return (simd_##T##3x##R){{a, b, c}};                                                                           \
    }                                                                                                                  \
    SMTL_SIMD_FUNCTION simd_##T##4x##R simd_matrix(simd_##T##R a, simd_##T##R b, simd_##T##R c, simd_##T##R d) {       \
        return (simd_##T##4x##R){{a, b, c, d}};                                                                        \
    }
/* The algebra of matrices of C columns and R rows. */
#define SMTL_SIMD_MATRIX_ALGEBRA(T, C, R)                                                                           \
    SMTL_SIMD_FUNCTION simd_##T##C##x##R simd_add(simd_##T##C##x##R x, simd_##T##C##x##R y) {                       \
        for (int c = 0; c < C; c++) {                                                                               \
            x.columns[c] += y.columns[c];                                                                           \
        }                                                                                                           \
        return x;                                                                                                   \
    }                                                                                                               \
    SMTL_SIMD_FUNCTION simd_##T##C##x##R simd_sub(simd_##T##C##x##R x, simd_##T##C##x##R y) {                       \
        for (int c = 0; c < C; c++) {                                                                               \
            x.columns[c] -= y.columns[c];                                                                           \
        }                                                                                                           \
        return x;                                                                                                   \
    }                                                                                                               \
    SMTL_SIMD_FUNCTION simd_##T##C##x##R simd_mul(simd_##T##1 a, simd_##T##C##x##R x) {                             \
        for (int c = 0; c < C; c++) {                                                                               \
            x.columns[c] *= a;                                                                                      \
        }                                                                                                           \
        return x;                                                                                                   \
    }                                                                                                               \
    SMTL_SIMD_FUNCTION simd_##T##C##x##R simd_linear_combination(simd_##T##1 a, simd_##T##C##x##R x, simd_##T##1 b, \
                                                                 simd_##T##C##x##R y) {                             \
        return simd_add(simd_mul(a, x), simd_mul(b, y));                                                            \
    }                                                                                                               \
    SMTL_SIMD_FUNCTION simd_##T##R##x##C simd_transpose(simd_##T##C##x##R x) {                                      \
        simd_##T##R##x##C turned;                                                                                   \
        for (int r = 0; r < R; r++) {                                                                               \
            for (int c = 0; c < C; c++) {                                                                           \
                turned.columns[r][c] = x.columns[c][r];                                                             \
            }                                                                                                       \
        }                                                                                                           \
        return turned;                                                                                              \
    }                                                                                                               \
    SMTL_SIMD_FUNCTION simd_##T##R simd_mul(simd_##T##C##x##R x, simd_##T##C y) {                                   \
        simd_##T##R sum = x.columns[0] * y[0];                                                                      \
        for (int c = 1; c < C; c++) {                                                                               \
            sum += x.columns[c] * y[c];                                                                             \
        }                                                                                                           \
        return sum;                                                                                                 \
    }                                                                                                               \
    SMTL_SIMD_FUNCTION simd_##T##C simd_mul(simd_##T##R x, simd_##T##C##x##R y) {                                   \
        simd_##T##C product;                                                                                        \
        for (int c = 0; c < C; c++) {                                                                               \
            product[c] = simd_dot(x, y.columns[c]);                                                                 \
        }                                                                                                           \
        return product;                                                                                             \
    }                                                                                                               \
    SMTL_SIMD_FUNCTION simd_bool simd_equal(simd_##T##C##x##R x, simd_##T##C##x##R y) {                             \
        simd_bool equal = 1;                                                                                        \
        for (int c = 0; c < C; c++) {                                                                               \
            equal &= simd_equal(x.columns[c], y.columns[c]);                                                        \
        }                                                                                                           \
        return equal;                                                                                               \
    }                                                                                                               \
    SMTL_SIMD_FUNCTION simd_bool simd_almost_equal_elements(simd_##T##C##x##R x, simd_##T##C##x##R y,               \
                                                            simd_##T##1 tolerance) {                                \
        simd_bool near = 1;                                                                                         \
        for (int c = 0; c < C; c++) {                                                                               \
            const simd_##T##R difference = x.columns[c] - y.columns[c];                                             \
            /* A NaN is near to nothing. */                                                                         \
            near &= simd_norm_inf(difference) <= tolerance && simd_equal(difference, difference);                   \
        }                                                                                                           \
        return near;                                                                                                \
    }
/* The product of R rows by C columns with C rows by N columns. */
#define SMTL_SIMD_MATRIX_PRODUCT(T, N, C, R)                                                  \
    SMTL_SIMD_FUNCTION simd_##T##N##x##R simd_mul(simd_##T##C##x##R x, simd_##T##N##x##C y) { \
        simd_##T##N##x##R product;                                                            \
        for (int n = 0; n < N; n++) {                                                         \
            product.columns[n] = simd_mul(x, y.columns[n]);                                   \
        }                                                                                     \
        return product;                                                                       \
    }
#define SMTL_SIMD_MATRIX_PRODUCTS(T, C, R) \
    SMTL_SIMD_MATRIX_PRODUCT(T, 2, C, R)   \
    SMTL_SIMD_MATRIX_PRODUCT(T, 3, C, R)   \
    SMTL_SIMD_MATRIX_PRODUCT(T, 4, C, R)
/* The inverse by elimination with the largest pivot; of what has none it is infinities and NaNs. */
#define SMTL_SIMD_MATRIX_SQUARE(T, N)                                                                                  \
    SMTL_SIMD_FUNCTION simd_##T##N##x##N simd_diagonal_matrix(simd_##T##N diagonal) {                                  \
        simd_##T##N##x##N x;                                                                                           \
        for (int c = 0; c < N; c++) {                                                                                  \
            x.columns[c] = 0;                                                                                          \
            x.columns[c][c] = diagonal[c];                                                                             \
        }                                                                                                              \
        return x;                                                                                                      \
    }                                                                                                                  \
    SMTL_SIMD_FUNCTION simd_##T##N##x##N simd_inverse(simd_##T##N##x##N x) {                                           \
        const simd_##T##N ones = 1;                                                                                    \
        simd_##T##N##x##N y = simd_diagonal_matrix(ones);                                                              \
        for (int c = 0; c < N; c++) {                                                                                  \
            int pivot = c;                                                                                             \
            for (int r = c + 1; r < N; r++) {                                                                          \
                pivot =                                                                                                \
                    __builtin_fabs((double)x.columns[r][c]) > __builtin_fabs((double)x.columns[pivot][c]) ? r : pivot; \
            }                                                                                                          \
            const simd_##T##N moved = x.columns[pivot], moved_too = y.columns[pivot];                                  \
            x.columns[pivot] = x.columns[c];                                                                           \
            y.columns[pivot] = y.columns[c];                                                                           \
            x.columns[c] = moved / moved[c];                                                                           \
            y.columns[c] = moved_too / moved[c];                                                                       \
            for (int r = 0; r < N; r++) {                                                                              \
                const simd_##T##1 factor = r == c ? 0 : x.columns[r][c];                                               \
                x.columns[r] -= factor * x.columns[c];                                                                 \
                y.columns[r] -= factor * y.columns[c];                                                                 \
            }                                                                                                          \
        }                                                                                                              \
        return y;                                                                                                      \
    }
/* By cofactors: exact for small integers, as the shading language's. */
#define SMTL_SIMD_DETERMINANTS(T)                                                                                      \
    SMTL_SIMD_FUNCTION simd_##T##1 simd_determinant(simd_##T##2x2 x) {                                                 \
        return x.columns[0].x * x.columns[1].y - x.columns[1].x * x.columns[0].y;                                      \
    }                                                                                                                  \
    SMTL_SIMD_FUNCTION simd_##T##1 simd_determinant(simd_##T##3x3 x) {                                                 \
        const simd_##T##3 a = x.columns[0], b = x.columns[1], c = x.columns[2];                                        \
        return a.x * (b.y * c.z - b.z * c.y) + a.y * (b.z * c.x - b.x * c.z) + a.z * (b.x * c.y - b.y * c.x);          \
    }                                                                                                                  \
    SMTL_SIMD_FUNCTION simd_##T##1 simd_determinant(simd_##T##4x4 x) {                                                 \
        const simd_##T##4 a = x.columns[0], b = x.columns[1], c = x.columns[2], d = x.columns[3];                      \
        return (a.x * b.y - a.y * b.x) * (c.z * d.w - c.w * d.z) - (a.x * b.z - a.z * b.x) * (c.y * d.w - c.w * d.y) + \
               (a.x * b.w - a.w * b.x) * (c.y * d.z - c.z * d.y) + (a.y * b.z - a.z * b.y) * (c.x * d.w - c.w * d.x) - \
               (a.y * b.w - a.w * b.y) * (c.x * d.z - c.z * d.x) + (a.z * b.w - a.w * b.z) * (c.x * d.y - c.y * d.x);  \
    }
#define SMTL_SIMD_MATRIX_FUNCTIONS(T)              \
    SMTL_SIMD_MATRIX_COLUMNS(T, 2)                 \
    SMTL_SIMD_MATRIX_COLUMNS(T, 3)                 \
    SMTL_SIMD_MATRIX_COLUMNS(T, 4)                 \
    SMTL_SIMD_SHAPES(SMTL_SIMD_MATRIX_ALGEBRA, T)  \
    SMTL_SIMD_SHAPES(SMTL_SIMD_MATRIX_PRODUCTS, T) \
    SMTL_SIMD_MATRIX_SQUARE(T, 2)                  \
    SMTL_SIMD_MATRIX_SQUARE(T, 3)                  \
    SMTL_SIMD_MATRIX_SQUARE(T, 4)                  \
    SMTL_SIMD_DETERMINANTS(T)
SMTL_SIMD_MATRIX_FUNCTIONS(half)
SMTL_SIMD_MATRIX_FUNCTIONS(float)
SMTL_SIMD_MATRIX_FUNCTIONS(double)
#undef SMTL_SIMD_MATRIX_COLUMNS
#undef SMTL_SIMD_MATRIX_ALGEBRA
#undef SMTL_SIMD_MATRIX_PRODUCT
#undef SMTL_SIMD_MATRIX_PRODUCTS
#undef SMTL_SIMD_MATRIX_SQUARE
#undef SMTL_SIMD_DETERMINANTS
#undef SMTL_SIMD_MATRIX_FUNCTIONS

/* The same with rows in place of columns, and the matrix that changes nothing. */
#define SMTL_SIMD_MATRIX_ROWS(T, C)                                                                         \
    SMTL_SIMD_FUNCTION simd_##T##C##x2 simd_matrix_from_rows(simd_##T##C a, simd_##T##C b) {                \
        return simd_transpose(simd_matrix(a, b));                                                           \
    }                                                                                                       \
    SMTL_SIMD_FUNCTION simd_##T##C##x3 simd_matrix_from_rows(simd_##T##C a, simd_##T##C b, simd_##T##C c) { \
        return simd_transpose(simd_matrix(a, b, c));                                                        \
    }                                                                                                       \
    SMTL_SIMD_FUNCTION simd_##T##C##x4 simd_matrix_from_rows(simd_##T##C a, simd_##T##C b, simd_##T##C c,   \
                                                             simd_##T##C d) {                               \
        return simd_transpose(simd_matrix(a, b, c, d));                                                     \
    }
#define SMTL_SIMD_MATRIX_CONSTANTS(T)                                                                     \
    SMTL_SIMD_MATRIX_ROWS(T, 2)                                                                           \
    SMTL_SIMD_MATRIX_ROWS(T, 3)                                                                           \
    SMTL_SIMD_MATRIX_ROWS(T, 4)                                                                           \
    static const simd_##T##2x2 matrix_identity_##T##2x2 __attribute__((__unused__)) = {{{1, 0}, {0, 1}}}; \
    static const simd_##T##3x3 matrix_identity_##T##3x3                                                   \
        __attribute__((__unused__)) = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};                                \
    static const simd_##T##4x4 matrix_identity_##T##4x4                                                   \
        __attribute__((__unused__)) = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}};
SMTL_SIMD_MATRIX_CONSTANTS(half)
SMTL_SIMD_MATRIX_CONSTANTS(float)
SMTL_SIMD_MATRIX_CONSTANTS(double)
#undef SMTL_SIMD_MATRIX_ROWS
#undef SMTL_SIMD_MATRIX_CONSTANTS

/* The older names. */
#define matrix_add simd_add
#define matrix_sub simd_sub
#define matrix_scale simd_mul
#define matrix_multiply simd_mul
#define matrix_linear_combination simd_linear_combination
#define matrix_transpose simd_transpose
#define matrix_determinant simd_determinant
#define matrix_invert simd_inverse
#define matrix_equal simd_equal
#define matrix_almost_equal_elements simd_almost_equal_elements
#define matrix_from_columns simd_matrix
#define matrix_from_rows simd_matrix_from_rows
#define matrix_from_diagonal simd_diagonal_matrix

#endif
