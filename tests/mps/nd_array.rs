//! Products of arrays.

use metal_bridge::mps::{
    DataType, NdArrayMatrixMultiplication, NdArrayMatrixMultiplicationDescriptor,
};
use metal_bridge_test_support::device;

use crate::support::*;

fn count(shape: &[usize]) -> usize {
    shape.iter().product()
}

fn elements(shape: &[usize], data_type: DataType, offset: usize, seed: u64) -> Elements {
    let strided = Strided {
        offset,
        ..Strided::packed(1, 1, count(shape))
    };
    Elements::random(strided, data_type, seed)
}

/// Where the matrix for `result`'s first two indices begins, where sizes of 1 count for all.
fn matrix(shape: &[usize; 4], result: [usize; 2]) -> usize {
    let at = |dimension: usize| {
        if shape[dimension] == 1 {
            0
        } else {
            result[dimension]
        }
    };
    (at(0) * shape[1] + at(1)) * shape[2] * shape[3]
}

#[test]
fn products_of_arrays_are_broadcast_and_transposed() {
    let (m, n, k) = (5, 7, 9);
    for (left_batch, right_batch) in [
        ([1, 1], [1, 1]),
        ([2, 3], [2, 3]),
        ([2, 1], [1, 3]),
        ([1, 1], [2, 3]),
    ] {
        for case in 0..24 {
            let (transpose_left, transpose_right) = (case & 1 != 0, case & 2 != 0);
            let data_type = ARRAY_FLOATS[case >> 3];
            let beta = (case & 4 != 0).then_some(-0.5);
            let offset = if case & 4 != 0 { 4 } else { 0 };
            let alpha = if case & 4 != 0 { 2.0 } else { 1.0 };
            let pair = |is: bool, a: usize, b: usize| if is { [b, a] } else { [a, b] };
            let [a, b] = pair(transpose_left, m, k);
            let left_shape = [left_batch[0], left_batch[1], a, b];
            let [a, b] = pair(transpose_right, k, n);
            let right_shape = [right_batch[0], right_batch[1], a, b];
            let batch = [
                left_batch[0].max(right_batch[0]),
                left_batch[1].max(right_batch[1]),
            ];
            let result_shape = [batch[0], batch[1], m, n];

            let left = elements(&left_shape, data_type, offset, 1);
            let right = elements(&right_shape, data_type, offset, 2);
            let addend = elements(&result_shape, data_type, offset, 3);
            let result = elements(&result_shape, data_type, offset, 4);
            let descriptor = NdArrayMatrixMultiplicationDescriptor {
                transpose_left,
                transpose_right,
                alpha,
                beta,
            };
            let kernel = NdArrayMatrixMultiplication::new(device(), &descriptor).unwrap();
            // Sizes of 1 before the others may be left out.
            let left_array = match left_batch {
                [1, 1] => left.array(&left_shape[2..]),
                _ => left.array(&left_shape),
            };
            let added = beta.map(|_| addend.array(&result_shape));
            run(|commands| {
                kernel.encode(
                    commands,
                    &left_array,
                    &right.array(&right_shape),
                    added.as_ref(),
                    &result.array(&result_shape),
                )
            });
            let exact = (0..count(&result_shape)).map(|index| {
                let (at, row, column) = (index / (m * n), index / n % m, index % n);
                let at = [at / batch[1], at % batch[1]];
                let products = (0..k).map(|i| {
                    let [a, b] = pair(transpose_left, row, i);
                    let left = left.values[matrix(&left_shape, at) + a * left_shape[3] + b];
                    let [a, b] = pair(transpose_right, i, column);
                    alpha * left * right.values[matrix(&right_shape, at) + a * right_shape[3] + b]
                });
                let kept = beta.map_or(0.0, |beta| beta * addend.values[index]);
                let (sum, magnitude) = products.fold((kept, kept.abs()), |(sum, of), product| {
                    (sum + product, of + product.abs())
                });
                (sum, sum_bound(data_type, k, magnitude))
            });
            result.assert_close(
                &format!("{descriptor:?} of {left_shape:?} {data_type:?}"),
                exact,
            );
        }
    }
}
