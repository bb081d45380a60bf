//! Tensors without elements: no call computes anything, and a sum of nothing is 0.

use half::f16;
use metal_bridge::ops::{
    Comparison, Convolution, Interpolation, Norm, Pooling, RunningStatistics, Tensor, Windows,
};

use super::rows::both;
use super::values::{read, room};
use crate::support::{buffer, run};

#[test]
fn calls_without_elements_write_nothing() {
    let (x_buffer, y_buffer, other) = (
        buffer(&[1.0f32; 64]),
        buffer(&[7.0f32; 64]),
        buffer(&[0.5f32; 64]),
    );
    let x = |shape: &[usize]| Tensor::of::<f32>(&x_buffer, shape).unwrap();
    let y = |shape: &[usize]| Tensor::of::<f32>(&y_buffer, shape).unwrap();
    let scales = |shape: &[usize]| Tensor::of::<f32>(&other, shape).unwrap();
    let bytes = |shape: &[usize]| Tensor::of::<u8>(&x_buffer, shape).unwrap();
    let norm = Norm::default();
    let windows = Windows::of([2, 2]);
    let plain = Convolution::<2>::default();
    for ops in both() {
        // No images, no channels, no rows, no columns.
        for shape in [[0, 4, 3, 3], [2, 0, 3, 3], [2, 4, 0, 3], [2, 4, 3, 0]] {
            let (x, y) = (x(&shape), y(&shape));
            let channels = scales(&shape[1..2]);
            run(|encoder| {
                ops.group_norm(encoder, x, 2, &norm, y)?;
                ops.batch_norm(encoder, x, channels, channels, &norm, y)?;
                ops.batch_norm_training(encoder, x, None, &norm, y)?;
                ops.triu(encoder, x, 0, y)?;
                ops.tril(encoder, x, 0, y)?;
                ops.convert(encoder, x, y)?;
                ops.convert(encoder, x, Tensor::of::<f16>(&y_buffer, &shape)?)?;
                ops.convert(encoder, scales(&[1]), y)?;
                ops.select(encoder, bytes(&shape), x, x, y)?;
                ops.select(encoder, bytes(&[1]), scales(&[]), x, y)?;
                let holds = Tensor::of::<u8>(&y_buffer, &shape)?;
                ops.compare(encoder, Comparison::Equal, x, x, holds)?;
                ops.compare(
                    encoder,
                    Comparison::Less,
                    x,
                    scales(&[3]).narrow(0, 0, 1)?,
                    holds,
                )
            });
        }
        for (from, to) in [
            ([0, 4, 4, 4], [0, 4, 2, 2]),
            ([2, 0, 4, 4], [2, 0, 2, 2]),
            ([2, 4, 1, 4], [2, 4, 0, 2]),
            ([2, 4, 4, 1], [2, 4, 2, 0]),
        ] {
            for pooling in Pooling::ALL {
                run(|encoder| {
                    ops.pool(encoder, pooling, x(&from), &windows, y(&to))?;
                    ops.adaptive_pool(encoder, pooling, x(&from), y(&to))
                });
            }
            for interpolation in Interpolation::ALL {
                run(|encoder| ops.resample(encoder, interpolation, x(&from), y(&to)));
            }
        }
        let running = RunningStatistics {
            mean: scales(&[0]),
            variance: scales(&[0]),
            momentum: 0.1,
        };
        let index = |shape: &[usize]| Tensor::of::<i32>(&x_buffer, shape).unwrap();
        run(|encoder| {
            ops.batch_norm_training(encoder, x(&[2, 0, 3]), Some(running), &norm, y(&[2, 0, 3]))?;
            // No images, no channels of y.
            let (w, none) = (scales(&[2, 3, 2, 2]), scales(&[2, 0, 2, 2]));
            let of_none = y(&[0, 3, 4, 4]);
            ops.transposed_convolution(encoder, x(&[0, 2, 3, 3]), w, None, &plain, of_none)?;
            let of_none = y(&[1, 0, 4, 4]);
            ops.transposed_convolution(encoder, x(&[1, 2, 3, 3]), none, None, &plain, of_none)?;
            // No index, no class; no row, no column.
            ops.one_hot(encoder, index(&[0]), y(&[0, 4]))?;
            ops.one_hot(encoder, index(&[4]), y(&[4, 0]))?;
            ops.embedding(encoder, x(&[4, 2]), index(&[0, 3]), y(&[0, 3, 2]))?;
            ops.embedding(encoder, x(&[4, 0]), index(&[3]), y(&[3, 0]))
        });
    }
    for (buffer, value) in [(&x_buffer, 1.0), (&y_buffer, 7.0), (&other, 0.5)] {
        assert_eq!(read::<f32>(buffer), [value; 64]);
    }
}

#[test]
fn results_of_nothing_are_zeros_or_the_bias() {
    let (x_buffer, bias_buffer) = (buffer(&[1.0f32; 16]), buffer(&[3.0f32, -2.0]));
    let x = |shape: &[usize]| Tensor::of::<f32>(&x_buffer, shape).unwrap();
    let bias = Tensor::of::<f32>(&bias_buffer, &[2]).unwrap();
    let index = Tensor::of::<i32>(&x_buffer, &[2]).unwrap();
    let plain = Convolution::<1>::default();
    for ops in both() {
        let y_buffer = room::<f32>(8);
        let y = |shape: &[usize]| Tensor::of::<f32>(&y_buffer, shape).unwrap();
        let (none, w) = (x(&[1, 0, 2]), x(&[0, 2, 3]));
        run(|encoder| {
            ops.transposed_convolution(encoder, none, w, Some(bias), &plain, y(&[1, 2, 4]))
        });
        assert_eq!(
            read::<f32>(&y_buffer),
            [3.0, 3.0, 3.0, 3.0, -2.0, -2.0, -2.0, -2.0]
        );
        run(|encoder| ops.transposed_convolution(encoder, none, w, None, &plain, y(&[1, 2, 4])));
        assert_eq!(read::<f32>(&y_buffer), [0.0; 8]);
        // Rows of a table without any.
        let y_buffer = room::<f32>(8);
        let y = Tensor::of::<f32>(&y_buffer, &[2, 4]).unwrap();
        run(|encoder| ops.embedding(encoder, x(&[0, 4]), index, y));
        assert_eq!(read::<f32>(&y_buffer), [0.0; 8]);
    }
}
