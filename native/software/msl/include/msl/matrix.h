// Matrices, column by column.
#pragma once

#include "geometric.h"

namespace metal {

template <class T, int Columns, int Rows = Columns> struct matrix {
    using column = vec<T, Rows>;
    column columns[Columns];

    matrix() = default;
    // A diagonal matrix.
    SMTL_FUNCTION explicit constexpr matrix(T diagonal) : columns{} {
        for (int i = 0; i < Columns; ++i) {
            T list[Rows] = {};
            if (i < Rows) list[i] = diagonal;
            columns[i] = gather(list);
        }
    }
    // Columns, or all elements in the order of columns.
    template <int N = Columns, class = enable_if_t<N == 2>>
    SMTL_FUNCTION constexpr matrix(column a, column b) : columns{a, b} {}
    template <int N = Columns, class = enable_if_t<N == 3>>
    SMTL_FUNCTION constexpr matrix(column a, column b, column c) : columns{a, b, c} {}
    template <int N = Columns, class = enable_if_t<N == 4>>
    SMTL_FUNCTION constexpr matrix(column a, column b, column c, column d) : columns{a, b, c, d} {}
    template <class... S, class = enable_if_t<sizeof...(S) == Columns * Rows && (is_convertible_v<S, T> && ...)>,
              class = void>
    SMTL_FUNCTION constexpr matrix(S... elements) : columns{} {
        const T list[] = {T(elements)...};
        for (int i = 0; i < Columns; ++i) columns[i] = gather(list + i * Rows);
    }
    template <class U, class = enable_if_t<!is_same_v<T, U>>>
    SMTL_FUNCTION explicit constexpr matrix(const matrix<U, Columns, Rows> &other)
        : matrix(of_columns([&](int i) { return column(other.columns[i]); })) {}

    SMTL_FUNCTION column &operator[](int i) & { return columns[i]; }
    SMTL_FUNCTION constexpr const column &operator[](int i) const & { return columns[i]; }

    friend SMTL_FUNCTION constexpr matrix operator+(const matrix &a, const matrix &b) {
        return of_columns([&](int i) { return a.columns[i] + b.columns[i]; });
    }
    friend SMTL_FUNCTION constexpr matrix operator-(const matrix &a, const matrix &b) {
        return of_columns([&](int i) { return a.columns[i] - b.columns[i]; });
    }
    friend SMTL_FUNCTION constexpr matrix operator-(const matrix &a) { return a * T(-1); }
    friend SMTL_FUNCTION constexpr matrix operator*(const matrix &a, T factor) {
        return of_columns([&](int i) { return a.columns[i] * factor; });
    }
    friend SMTL_FUNCTION constexpr matrix operator*(T factor, const matrix &a) { return a * factor; }
    friend SMTL_FUNCTION column operator*(const matrix &a, vec<T, Columns> v) {
        // Rounded to halves at the end alone, as `dot` is.
        using C = smtl_detail::computed_vec<T, Rows>;
        const smtl_detail::computed_vec<T, Columns> x(v);
        C sum = fma(C(a.columns[1]), C(x.y), C(a.columns[0]) * x.x);
        if constexpr (Columns > 2) sum = fma(C(a.columns[2]), C(x.z), sum);
        if constexpr (Columns > 3) sum = fma(C(a.columns[3]), C(x.w), sum);
        return column(sum);
    }
    friend SMTL_FUNCTION vec<T, Columns> operator*(column v, const matrix &a) {
        return matrix<T, Rows, Columns>::of_elements([&](int i) { return dot(v, a.columns[i]); });
    }
    template <int OtherColumns>
    friend SMTL_FUNCTION matrix<T, OtherColumns, Rows> operator*(const matrix &a,
                                                                 const matrix<T, OtherColumns, Columns> &b) {
        return matrix<T, OtherColumns, Rows>::of_columns([&](int i) { return a * b.columns[i]; });
    }
    SMTL_FUNCTION matrix &operator+=(const matrix &other) & { return *this = *this + other; }
    SMTL_FUNCTION matrix &operator-=(const matrix &other) & { return *this = *this - other; }
    SMTL_FUNCTION matrix &operator*=(T factor) & { return *this = *this * factor; }
    SMTL_FUNCTION matrix &operator*=(const matrix &other) & { return *this = *this * other; }

    friend SMTL_FUNCTION bool operator==(const matrix &a, const matrix &b) {
        bool equal = true;
        for (int i = 0; i < Columns; ++i) equal = equal && all(a.columns[i] == b.columns[i]);
        return equal;
    }
    friend SMTL_FUNCTION bool operator!=(const matrix &a, const matrix &b) { return !(a == b); }

    // A matrix of what `f` says of each column, and a column of what it says of each row. Without loops: the optimiser
    // evaluates no loop that initialises a variable of the program.
    template <class F> static SMTL_FUNCTION constexpr matrix of_columns(F f) {
        if constexpr (Columns == 2)
            return matrix(f(0), f(1));
        else if constexpr (Columns == 3)
            return matrix(f(0), f(1), f(2));
        else
            return matrix(f(0), f(1), f(2), f(3));
    }
    template <class F> static SMTL_FUNCTION column of_elements(F f) {
        if constexpr (Rows == 2)
            return column(f(0), f(1));
        else if constexpr (Rows == 3)
            return column(f(0), f(1), f(2));
        else
            return column(f(0), f(1), f(2), f(3));
    }

private:
    // A constant expression where the elements are: vectors cannot be indexed in these.
    static SMTL_FUNCTION constexpr column gather(const T *list) {
        if constexpr (Rows == 2)
            return column(list[0], list[1]);
        else if constexpr (Rows == 3)
            return column(list[0], list[1], list[2]);
        else
            return column(list[0], list[1], list[2], list[3]);
    }
};

template <class T, int Columns, int Rows>
SMTL_FUNCTION matrix<T, Rows, Columns> transpose(const matrix<T, Columns, Rows> &a) {
    using result = matrix<T, Rows, Columns>;
    return result::of_columns([&](int j) { return result::of_elements([&](int i) { return T(a.columns[i][j]); }); });
}

namespace smtl_detail {
// The determinant by expansion along the first column.
template <class T, int N> SMTL_FUNCTION float determinant_of(const T (&a)[N][N]) {
    if constexpr (N == 2) {
        return a[0][0] * a[1][1] - a[1][0] * a[0][1];
    } else {
        float sum = 0.0f;
        for (int r = 0; r < N; ++r) {
            T minor[N - 1][N - 1];
            for (int i = 1; i < N; ++i) {
                for (int j = 0, k = 0; j < N; ++j)
                    if (j != r) minor[i - 1][k++] = a[i][j];
            }
            sum += (r % 2 == 0 ? 1.0f : -1.0f) * a[0][r] * determinant_of(minor);
        }
        return sum;
    }
}
}  // namespace smtl_detail

template <class T, int N> SMTL_FUNCTION T determinant(const matrix<T, N, N> &a) {
    float elements[N][N];
    for (int i = 0; i < N; ++i)
        for (int j = 0; j < N; ++j) elements[i][j] = float(a.columns[i][j]);
    return T(smtl_detail::determinant_of(elements));
}

}  // namespace metal

// clang-format off: it would spread the last lines
#define SMTL_MATRIX_NAMES(T) \
    using T##2x2 = ::metal::matrix<T, 2, 2>; \
    using T##2x3 = ::metal::matrix<T, 2, 3>; \
    using T##2x4 = ::metal::matrix<T, 2, 4>; \
    using T##3x2 = ::metal::matrix<T, 3, 2>; \
    using T##3x3 = ::metal::matrix<T, 3, 3>; \
    using T##3x4 = ::metal::matrix<T, 3, 4>; \
    using T##4x2 = ::metal::matrix<T, 4, 2>; \
    using T##4x3 = ::metal::matrix<T, 4, 3>; \
    using T##4x4 = ::metal::matrix<T, 4, 4>; \
    SMTL_IN_METAL(T##2x2) SMTL_IN_METAL(T##2x3) SMTL_IN_METAL(T##2x4) \
    SMTL_IN_METAL(T##3x2) SMTL_IN_METAL(T##3x3) SMTL_IN_METAL(T##3x4) \
    SMTL_IN_METAL(T##4x2) SMTL_IN_METAL(T##4x3) SMTL_IN_METAL(T##4x4)
// clang-format on
SMTL_MATRIX_NAMES(half)
SMTL_MATRIX_NAMES(float)
