//! Kernels over matrices and vectors.

use metal_bridge::mps::{
    self, DataType, MatrixFindTopK, MatrixLogSoftMax, MatrixMultiplication,
    MatrixMultiplicationDescriptor, MatrixSoftMax, MatrixVectorMultiplication,
    MatrixVectorMultiplicationDescriptor,
};
use metal_bridge_test_support::device;

use crate::support::*;

#[test]
fn the_device_supports_the_kernels() {
    assert!(mps::is_supported(device()));
}

/// Rows and columns of an operand as it is stored.
fn stored(transpose: bool, rows: usize, columns: usize) -> (usize, usize) {
    if transpose {
        (columns, rows)
    } else {
        (rows, columns)
    }
}

fn check_product(
    descriptor: &MatrixMultiplicationDescriptor,
    data_type: DataType,
    matrices: usize,
    strided: fn(usize, usize, usize) -> Strided,
) {
    let of = descriptor;
    let (m, n, k) = (of.result_rows, of.result_columns, of.interior_columns);
    let (left_rows, left_columns) = stored(of.transpose_left, m, k);
    let (right_rows, right_columns) = stored(of.transpose_right, k, n);
    let left = Elements::random(strided(matrices, left_rows, left_columns), data_type, 1);
    let right = Elements::random(strided(matrices, right_rows, right_columns), data_type, 2);
    // What the result holds before does not matter if it is not asked for.
    let before = if of.beta == 0.0 { f64::NAN } else { 0.5 };
    let strided = strided(matrices, m, n);
    let result = Elements::new(strided, data_type, &vec![before; strided.count()]);

    let kernel = MatrixMultiplication::with_descriptor(device(), of).unwrap();
    run(|commands| kernel.encode(commands, &left.matrix(), &right.matrix(), &result.matrix()));

    let at = |elements: &Elements, transpose: bool, matrix: usize, row: usize, column: usize| {
        let (row, column) = if transpose {
            (column, row)
        } else {
            (row, column)
        };
        let strided = &elements.strided;
        elements.values[(matrix * strided.rows + row) * strided.columns + column]
    };
    let exact = (0..matrices * m * n).map(|index| {
        let (matrix, row, column) = (index / (m * n), index / n % m, index % n);
        let products = (0..k).map(|i| {
            at(&left, of.transpose_left, matrix, row, i)
                * at(&right, of.transpose_right, matrix, i, column)
        });
        let (sum, magnitude) = products.fold((0.0, 0.0), |(sum, magnitude), product| {
            (sum + product, magnitude + product.abs())
        });
        let kept = if of.beta == 0.0 { 0.0 } else { of.beta * 0.5 };
        let magnitude = of.alpha.abs() * magnitude + kept.abs();
        (of.alpha * sum + kept, sum_bound(data_type, k, magnitude))
    });
    let what = format!("{of:?} of {matrices} {data_type:?}");
    result.assert_close(&what, exact);
}

const PLAIN: MatrixMultiplicationDescriptor = MatrixMultiplicationDescriptor {
    transpose_left: false,
    transpose_right: false,
    result_rows: 1,
    result_columns: 1,
    interior_columns: 1,
    alpha: 1.0,
    beta: 0.0,
};

#[test]
fn products_of_odd_sizes_and_transposes() {
    for (result_rows, result_columns, interior_columns) in
        [(1, 1, 1), (1, 17, 5), (13, 1, 9), (7, 11, 1), (33, 65, 70)]
    {
        for transposes in 0..4 {
            for data_type in FLOATS {
                let descriptor = MatrixMultiplicationDescriptor {
                    transpose_left: transposes & 1 != 0,
                    transpose_right: transposes & 2 != 0,
                    result_rows,
                    result_columns,
                    interior_columns,
                    ..PLAIN
                };
                check_product(&descriptor, data_type, 1, Strided::packed);
                check_product(&descriptor, data_type, 3, Strided::spread);
            }
        }
    }
}

#[test]
fn products_are_scaled_and_added() {
    for (alpha, beta) in [(1.0, 1.0), (-0.5, 2.0), (0.0, 1.0), (2.0, 0.0), (0.0, 0.0)] {
        for data_type in FLOATS {
            let descriptor = MatrixMultiplicationDescriptor {
                result_rows: 9,
                result_columns: 10,
                interior_columns: 19,
                transpose_right: true,
                alpha,
                beta,
                ..PLAIN
            };
            check_product(&descriptor, data_type, 2, Strided::spread);
        }
    }
}

#[test]
fn products_of_a_matrix_and_a_vector() {
    for (rows, columns) in [(1, 1), (1, 31), (29, 1), (67, 33)] {
        for (transpose, data_type) in [false, true]
            .into_iter()
            .flat_map(|transpose| FLOATS.map(|data_type| (transpose, data_type)))
        {
            let (alpha, beta) = (1.5, -2.0);
            let (matrix_rows, matrix_columns) = stored(transpose, rows, columns);
            let strided = Strided::spread(1, matrix_rows, matrix_columns);
            let matrix = Elements::random(strided, data_type, 3);
            let vector = Elements::random(Strided::spread(1, 1, columns), data_type, 4);
            let result = Elements::random(Strided::spread(1, 1, rows), data_type, 5);
            let descriptor = MatrixVectorMultiplicationDescriptor {
                transpose,
                rows,
                columns,
                alpha,
                beta,
            };
            let kernel =
                MatrixVectorMultiplication::with_descriptor(device(), &descriptor).unwrap();
            run(|commands| {
                let (vector, result) = (vector.vector(), result.vector());
                kernel.encode(commands, &matrix.matrix(), &vector, &result)
            });
            let exact = (0..rows).map(|row| {
                let products = (0..columns).map(|column| {
                    let index = if transpose {
                        column * rows + row
                    } else {
                        row * columns + column
                    };
                    alpha * matrix.values[index] * vector.values[column]
                });
                let kept = beta * result.values[row];
                let (sum, magnitude) = products.fold((kept, kept.abs()), |(sum, of), product| {
                    (sum + product, of + product.abs())
                });
                (sum, sum_bound(data_type, columns, magnitude))
            });
            result.assert_close(&format!("{descriptor:?} of {data_type:?}"), exact);
        }
    }
}

#[test]
fn softmax_of_rows() {
    for (rows, columns) in [(1, 1), (3, 2), (5, 129)] {
        for data_type in FLOATS {
            let strided = Strided::spread(2, rows, columns);
            let count = strided.count();
            // Large ones too: an exponential of each alone would overflow.
            let values: Vec<f64> = (0..count)
                .map(|i| (i * 37 % 101) as f64 * 3.0 - 90.0)
                .collect();
            let input = Elements::new(strided, data_type, &values);
            let result = Elements::new(strided, data_type, &vec![f64::NAN; count]);
            let logarithm = Elements::new(strided, data_type, &vec![f64::NAN; count]);
            let softmax = MatrixSoftMax::new(device()).unwrap();
            let log_softmax = MatrixLogSoftMax::new(device()).unwrap();
            run(|commands| {
                softmax.encode(commands, &input.matrix(), &result.matrix())?;
                log_softmax.encode(commands, &input.matrix(), &logarithm.matrix())
            });
            let rows: Vec<&[f64]> = input.values.chunks(columns).collect();
            let logarithms = rows.iter().flat_map(|row| {
                let largest = row.iter().copied().fold(f64::MIN, f64::max);
                let sum: f64 = row.iter().map(|value| (value - largest).exp()).sum();
                row.iter().map(move |value| value - largest - sum.ln())
            });
            let logarithms: Vec<f64> = logarithms.collect();
            let what = format!("{rows:?} x {columns} of {data_type:?}", rows = rows.len());
            // The exponent may be off by the rounding of the difference, up to 300.
            let bound = |exact: f64| {
                let relative = 300.0 * rounding(DataType::Float32) + 2.0 * rounding(data_type);
                exact.abs() * relative
                    + columns as f64 * rounding(DataType::Float32)
                    + 2f64.powi(-25)
            };
            result.assert_close(
                &what,
                logarithms.iter().map(|of| (of.exp(), bound(of.exp()))),
            );
            logarithm.assert_close(&what, logarithms.iter().map(|of| (*of, bound(*of))));
        }
    }
}

#[test]
fn largest_values_of_rows() {
    for (rows, columns, k) in [(1, 1, 1), (4, 7, 3), (3, 16, 16), (2, 300, 5)] {
        for data_type in FLOATS {
            let strided = Strided::spread(2, rows, columns);
            // Different ones in each row, exact in either type.
            let value = |i: usize| ((i % columns * 7 + i / columns * 3) % 1024) as f64 - 100.0;
            let values: Vec<f64> = (0..strided.count()).map(value).collect();
            let input = Elements::new(strided, data_type, &values);
            let strided = Strided::spread(2, rows, k);
            let found = Elements::new(strided, data_type, &vec![0.0; strided.count()]);
            let indices = Elements::new(strided, DataType::UInt32, &vec![0.0; strided.count()]);
            let kernel = MatrixFindTopK::new(device(), k).unwrap();
            run(|commands| {
                let (indices, found) = (indices.matrix(), found.matrix());
                kernel.encode(commands, &input.matrix(), &indices, &found)
            });
            let (found, indices) = (found.read(), indices.read());
            for (row, values) in input.values.chunks(columns).enumerate() {
                let mut sorted = values.to_vec();
                sorted.sort_by(|a, b| b.total_cmp(a));
                sorted.dedup();
                assert!(sorted.len() == columns, "the test's values differ");
                assert_eq!(found[row * k..][..k], sorted[..k]);
                for i in row * k..(row + 1) * k {
                    assert_eq!(values[indices[i] as usize], found[i]);
                }
            }
        }
    }
}
