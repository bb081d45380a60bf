//! Products of matrices.

use half::f16;
use metal_bridge::ops::Matmul;

use super::{BYTES, Room, halves};
use crate::support::ops;
use crate::tensor::large::{holding, repeated, with_large_buffers};
use crate::tensor::rows::both;

#[test]
#[ignore = "writes 4 GiB four times, and reads it three times"]
fn products_beyond_2_to_the_31() {
    with_large_buffers("sampled::products::products_beyond_2_to_the_31", || {
        let room = Room::new(BYTES);
        let few = halves(&[2.0, 3.0, 1.0, 4.0]);
        // More results than 31 bits count, of one product and of many.
        let (rows, columns) = ((1 << 15) + 2, 1 << 16);
        let ones = repeated::<f16>(&few, &[2, columns]);
        for ops in both() {
            room.check::<f16, f16>(
                "product",
                (ops, &[rows, 2], &[rows, columns]),
                |ops, e, x, y| ops.matmul(e, Matmul::default(), x, ones, y),
                |x, i| 2.0 * (x(&[i[0], 0]) + x(&[i[0], 1])),
            );
            room.check::<f16, f16>(
                "product of a column",
                (ops, &[1, columns], &[rows, columns]),
                |ops, e, x, y| {
                    let column = repeated::<f16>(&few, &[rows, 1]);
                    ops.matmul(e, Matmul::default(), column, x, y)
                },
                |x, i| 2.0 * x(&[0, i[1]]),
            );
            let batches = (1 << 17) + 1;
            room.check::<f16, f16>(
                "products of a batch",
                (ops, &[batches, 128, 2], &[batches, 128, 128]),
                |ops, e, x, y| {
                    let b = repeated::<f16>(&few, &[1, 2, 128]);
                    ops.matmul(e, Matmul::default(), x, b, y)
                },
                |x, i| 2.0 * (x(&[i[0], i[1], 0]) + x(&[i[0], i[1], 1])),
            );
        }
        // More elements of an operand than 32 bits count: of `gemv`, then of `gemm`. Lanes in lockstep would take minutes.
        let ops = ops();
        let (rows, k) = ((1 << 22) + 3, 1 << 10);
        let three = holding(&[3i8; 4]);
        for columns in [1, 5] {
            room.check::<i8, i32>(
                "product of a large operand",
                (ops, &[rows, k], &[rows, columns]),
                |ops, e, x, y| {
                    let b = repeated::<i8>(&three, &[k, columns]);
                    ops.matmul(e, Matmul::default(), x, b, y)
                },
                |x, i| (0..k).map(|at| 3.0 * x(&[i[0], at])).sum(),
            );
        }
        room.check::<i8, i32>(
            "product by a large operand",
            (ops, &[k, rows], &[5, rows]),
            |ops, e, x, y| {
                let a = repeated::<i8>(&three, &[5, k]);
                ops.matmul(e, Matmul::default(), a, x, y)
            },
            |x, i| (0..k).map(|at| 3.0 * x(&[at, i[1]])).sum(),
        );
    });
}
