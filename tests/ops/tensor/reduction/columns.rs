//! Reductions along an axis whose elements do not lie side by side, while the results do: as those of rows of a copy in
//! which they do.

use half::{bf16, f16};
use metal_bridge::ops::{ArgReduction, Ops, Reduction, Tensor};
use rand::Rng;

use super::REDUCTIONS;
use crate::support::{EPSILON, buffer, ops, rng, run};
use crate::tensor::rows::{both, indices_of, rows_of};
use crate::tensor::values::{Sample, half_unit, read, room};

/// Matrices, their rows and columns: less and more rows than a step takes, parts of all widths.
const SHAPES: [[usize; 3]; 6] = [
    [1, 5, 7],
    [1, 19, 8],
    [1, 8, 300],
    [3, 27, 45],
    [1, 3, 4500],
    [1, 9000, 16],
];

/// Small integers, whose sums are exact, and what is not finite among floats.
fn numbers<T: Sample>(count: usize) -> Vec<T> {
    let mut rng = rng(98);
    let mut x: Vec<T> = (0..count)
        .map(|_| T::nearest(rng.random_range(0..6).into()))
        .collect();
    if T::DATA_TYPE.is_float() {
        for (at, value) in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY]
            .into_iter()
            .enumerate()
        {
            x[count / 2 + at] = T::nearest(value);
        }
    }
    x
}

/// The columns of each matrix as rows.
fn transposed<T: Copy>(x: &[T], [_, rows, columns]: [usize; 3]) -> Vec<T> {
    x.chunks(rows * columns)
        .flat_map(|matrix| (0..columns * rows).map(move |i| matrix[i % rows * columns + i / rows]))
        .collect()
}

fn agree<T: Sample>(by: &[&Ops]) {
    for shape @ [matrices, rows, columns] in SHAPES {
        let x = numbers::<T>(matrices * rows * columns);
        let turned = transposed(&x, shape);
        let x_buffer = buffer(&x);
        let x = Tensor::of::<T>(&x_buffer, &shape).unwrap();
        let results = [matrices, columns];
        for reduction in REDUCTIONS.into_iter().filter(|of| of.has(T::DATA_TYPE)) {
            let found = by.iter().map(|ops| {
                let y_buffer = room::<T>(matrices * columns);
                let y = Tensor::of::<T>(&y_buffer, &results).unwrap();
                run(|encoder| ops.reduce(encoder, reduction, x, &[1], y));
                read::<T>(&y_buffer)
            });
            let found = Vec::from_iter(found).concat();
            let exact = rows_of(ops(), reduction, &turned, rows);
            for (y, exact) in found.into_iter().zip(exact.into_iter().cycle()) {
                let (y, exact) = (y.exact(), exact.exact());
                // Rounded in another order.
                let allowed = match reduction {
                    Reduction::Prod | Reduction::Var { .. } | Reduction::LogSumExp => {
                        exact.abs() * (64.0 * EPSILON).max(room_of::<T>())
                    }
                    _ => 0.0,
                };
                let agrees =
                    y == exact || (y - exact).abs() <= allowed || (y.is_nan() && exact.is_nan());
                assert!(agrees, "{reduction:?} of {shape:?}: {y} is not {exact}");
            }
        }
        for reduction in ArgReduction::ALL {
            let exact = indices_of(ops(), reduction, &turned, rows);
            for ops in by {
                let y_buffer = room::<u32>(matrices * columns);
                let y = Tensor::of::<u32>(&y_buffer, &results).unwrap();
                run(|encoder| ops.arg_reduce(encoder, reduction, x, 1, y));
                assert_eq!(read::<u32>(&y_buffer), exact, "{reduction:?} of {shape:?}");
            }
        }
    }
}

/// What two roundings to the type may be apart.
fn room_of<T: Sample>() -> f64 {
    2.0 * half_unit(T::DATA_TYPE)
}

#[test]
fn columns_give_what_rows_give() {
    // Each type's kernels for lanes in lockstep take long to compile; these are of every kind and size.
    agree::<f32>(&both());
    agree::<bf16>(&both());
    agree::<u8>(&both());
    agree::<i64>(&both());
    agree::<f16>(&[ops()]);
    agree::<i8>(&[ops()]);
    agree::<i32>(&[ops()]);
    agree::<u32>(&[ops()]);
}
