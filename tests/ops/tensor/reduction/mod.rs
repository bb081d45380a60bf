//! Every reduction, for every type, against float64 or exact integers.

use half::{bf16, f16};
use metal_bridge::ops::{ArgReduction, DataType, Ops, Reduction};
use rand::Rng;

use crate::support::{EPSILON, ops, rng};
use crate::tensor::rows::{both, indices_of, lockstep, rows_of};
use crate::tensor::values::{Sample, half_unit, is_same, least, samples};

mod axes;
mod columns;

pub const VAR: Reduction = Reduction::Var { correction: 1 };

pub const REDUCTIONS: [Reduction; 7] = [
    Reduction::Sum,
    Reduction::Mean,
    Reduction::Prod,
    Reduction::Min,
    Reduction::Max,
    VAR,
    Reduction::LogSumExp,
];

/// The result of a row, and how far the kernel may be from it before it rounds to its type.
fn exact_of(reduction: Reduction, row: &[f64], additions: f64) -> (f64, f64) {
    let count = row.len() as f64;
    let sum: f64 = row.iter().sum();
    let sizes: f64 = row.iter().map(|x| x.abs()).sum();
    let lost = (additions * EPSILON).powi(2) * sizes;
    match reduction {
        Reduction::Sum => (sum, EPSILON * sum.abs() + lost),
        Reduction::Mean => {
            let mean = sum / count;
            (mean, 2.0 * EPSILON * mean.abs() + lost / count)
        }
        Reduction::Prod => {
            let product: f64 = row.iter().product();
            (product, 1.01 * count * EPSILON * product.abs())
        }
        Reduction::Min => (row.iter().copied().fold(f64::INFINITY, f64::min), 0.0),
        Reduction::Max => (row.iter().copied().fold(f64::NEG_INFINITY, f64::max), 0.0),
        Reduction::Var { correction } => {
            let mean = sum / count;
            let squares: f64 = row.iter().map(|x| (x - mean).powi(2)).sum();
            let variance = squares / (count - f64::from(correction));
            (variance, 8.0 * EPSILON * variance)
        }
        _ => {
            let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = row.iter().map(|x| (x - largest).exp()).sum();
            let value = largest + sum.ln();
            let lost = 12.0 * EPSILON * (1.0 + count.ln());
            (value, EPSILON * value.abs() + lost)
        }
    }
}

/// Compares the rows of a matrix that has none but finite results.
fn agrees<T: Sample>(ops: &Ops, reduction: Reduction, x: &[T], columns: usize) {
    let additions = columns as f64 / 256.0 + 80.0;
    let results = rows_of(ops, reduction, x, columns);
    for (row, y) in x.chunks(columns).zip(results) {
        let row: Vec<f64> = row.iter().map(|x| x.exact()).collect();
        let (exact, lost) = exact_of(reduction, &row, additions);
        let rounding = match T::DATA_TYPE {
            DataType::F32 => 0.0,
            half => exact.abs() * half_unit(half) * (1.0 + EPSILON),
        };
        let off = (y.exact() - exact).abs();
        assert!(
            off <= lost + rounding + least(T::DATA_TYPE),
            "{reduction:?} of {columns} {}: {y:?} is not {exact}: off by {off:e}, allowed {lost:e}",
            T::DATA_TYPE.name()
        );
    }
}

/// Numbers near 1, of both signs.
fn near_one<T: Sample>(seed: u64, count: usize) -> Vec<T> {
    let mut rng = rng(seed);
    let mut next = || rng.random_range(0.95..1.05) * if rng.random_bool(0.5) { 1.0 } else { -1.0 };
    (0..count).map(|_| T::nearest(next())).collect()
}

fn floats<T: Sample>(seed: u64) {
    for reduction in REDUCTIONS {
        for (rows, columns) in [(40, 3), (3, 61), (2, 1291)] {
            let x = near_one::<T>(seed, rows * columns);
            for ops in both() {
                agrees(ops, reduction, &x, columns);
            }
        }
    }
}

#[test]
fn reductions_of_floats_agree_with_float64() {
    floats::<f32>(90);
    floats::<f16>(91);
    floats::<bf16>(92);
}

#[test]
fn long_rows_agree_with_float64_in_threadgroups() {
    for reduction in REDUCTIONS {
        let x = near_one::<f32>(93, 2 * 5003);
        agrees(lockstep(), reduction, &x, 5003);
    }
}

/// Sums of a million that a loop over floats would lose, and those that cancel.
#[test]
fn long_sums_keep_their_bound() {
    let mut rng = rng(94);
    for count in [255, 256, 8191, 1_000_003] {
        let positive: Vec<f32> = (0..count).map(|_| rng.random_range(0.0..1.0)).collect();
        let cancelling: Vec<f32> = (0..count)
            .map(|i| (if i % 2 == 0 { 1e7 } else { -1e7 }) + rng.random_range(-1.0..1.0))
            .collect();
        // The first one is large, and what follows is less than half a unit in its last place.
        let small: Vec<f32> = (0..count)
            .map(|i| if i == 0 { 16777216.0 } else { 0.7 })
            .collect();
        for x in [positive, cancelling, small] {
            for ops in both() {
                for reduction in [Reduction::Sum, Reduction::Mean, VAR] {
                    agrees(ops, reduction, &x, count);
                }
            }
        }
    }
}

#[test]
fn variances_do_not_cancel() {
    for correction in [0, 1, 5] {
        // The mean lies between two floats.
        let x: Vec<f32> = (0..3000u16).map(|i| 1e8 + 8.0 * f32::from(i % 2)).collect();
        for ops in both() {
            agrees(ops, Reduction::Var { correction }, &x, 1000);
        }
    }
    let variance =
        |correction, x: &[f32]| rows_of(ops(), Reduction::Var { correction }, x, x.len())[0];
    assert!(variance(1, &[3.0]).is_nan());
    assert_eq!(variance(0, &[3.0]), 0.0);
    assert_eq!(variance(7, &[1.0, 2.0, 3.0]), f32::INFINITY);
    assert!(variance(0, &[1.0, f32::INFINITY]).is_nan());
}

/// Rows with what is not finite, repeated so that each partial result of a block meets it.
fn not_finite<T: Sample>() {
    let (nan, infinity, most) = (f64::NAN, f64::INFINITY, f64::from(f32::MAX));
    // The sum, the least, the largest one, and the logarithm of the sum of exponentials.
    let mut rows = vec![
        (
            [1.0, infinity, 2.0, -1.0],
            [infinity, -1.0, infinity, infinity],
        ),
        (
            [1.0, -infinity, 2.0, infinity],
            [nan, -infinity, infinity, infinity],
        ),
        (
            [0.0, infinity, 2.0, 1.0],
            [infinity, 0.0, infinity, infinity],
        ),
        (
            [infinity, 0.0, 1.0, 2.0],
            [infinity, 0.0, infinity, infinity],
        ),
        ([1.0, nan, -infinity, 5.0], [nan; 4]),
        ([-infinity; 4], [-infinity; 4]),
    ];
    // Sums of half floats are those of an `f32`.
    if T::DATA_TYPE == DataType::F32 {
        rows.push(([most, most, 1.0, 1.0], [infinity, 1.0, most, most]));
    }
    for (ops, all_repeats) in both().into_iter().zip([[1, 17, 700], [17, 100, 700]]) {
        for repeats in all_repeats {
            for (row, [sum, least, largest, log_sum]) in &rows {
                let x: Vec<f64> = row.iter().cycle().take(4 * repeats).copied().collect();
                // In any order: the sign changes with each number, and 0 and infinity give NaN wherever they meet.
                let product: f64 = x.iter().product();
                let mut exact = vec![
                    (Reduction::Sum, *sum),
                    (Reduction::Mean, *sum),
                    (Reduction::Prod, product),
                    (Reduction::Min, *least),
                    (Reduction::Max, *largest),
                    (Reduction::LogSumExp, *log_sum),
                ];
                if row.iter().any(|x| !x.is_finite()) {
                    exact.push((VAR, nan));
                }
                let x: Vec<T> = x.into_iter().map(T::nearest).collect();
                for (reduction, exact) in exact {
                    let y = rows_of(ops, reduction, &x, x.len())[0];
                    assert!(
                        is_same(y, T::nearest(exact)),
                        "{reduction:?} of {row:?}, {}: {y:?} is not {exact}",
                        T::DATA_TYPE.name()
                    );
                }
            }
        }
    }
}

#[test]
fn reductions_of_what_is_not_finite() {
    not_finite::<f32>();
    not_finite::<f16>();
    not_finite::<bf16>();
}

macro_rules! integers {
    ($($rust:ty),*) => {
        $(for columns in [1, 3, 70, 523] {
            let x: Vec<$rust> = samples(&mut rng(95), columns * 4);
            let exact = |reduction, fold: fn($rust, $rust) -> $rust| {
                let exact: Vec<$rust> = x
                    .chunks(columns)
                    .map(|row| row.iter().copied().reduce(fold).unwrap())
                    .collect();
                for ops in both() {
                    let found = rows_of(ops, reduction, &x, columns);
                    assert_eq!(found, exact, "{reduction:?} of {columns}");
                }
            };
            exact(Reduction::Sum, |a, b| a.wrapping_add(b));
            exact(Reduction::Prod, |a, b| a.wrapping_mul(b));
            exact(Reduction::Min, |a, b| a.min(b));
            exact(Reduction::Max, |a, b| a.max(b));
        })*
    };
}

#[test]
fn reductions_of_integers_are_exact() {
    integers!(i8, u8, i32, u32, i64);
}

fn extremes<T: Sample + PartialOrd>() {
    let mut rng = rng(96);
    for columns in [1, 5, 67, 1030] {
        let mut x: Vec<T> = (0..columns * 12)
            .map(|_| T::nearest(rng.random_range(0..40).into()))
            .collect();
        if T::DATA_TYPE.is_float() && columns > 1 {
            x[columns / 2] = T::nearest(f64::NAN);
            x[columns - 1] = T::nearest(f64::NAN);
            x[columns] = T::nearest(f64::INFINITY);
            x[2 * columns] = T::nearest(f64::NEG_INFINITY);
        }
        for (reduction, sign) in [(ArgReduction::Min, 1.0), (ArgReduction::Max, -1.0)] {
            // The first one that no other is ahead of.
            let key = |x: T| sign * x.exact();
            let first = |row: &[T]| {
                let ahead = |a: T, b: T| key(a) < key(b) || (key(a).is_nan() && !key(b).is_nan());
                let best = (1..row.len())
                    .fold(0, |best, i| if ahead(row[i], row[best]) { i } else { best });
                best as u32
            };
            let exact: Vec<u32> = x.chunks(columns).map(first).collect();
            for ops in both() {
                assert_eq!(
                    indices_of(ops, reduction, &x, columns),
                    exact,
                    "{reduction:?} of {columns} {}",
                    T::DATA_TYPE.name()
                );
            }
        }
    }
}

#[test]
fn indices_are_those_of_the_first_extremes() {
    extremes::<f32>();
    extremes::<f16>();
    extremes::<bf16>();
    extremes::<i8>();
    extremes::<u8>();
    extremes::<i32>();
    extremes::<u32>();
    extremes::<i64>();
    // Beyond what a float counts.
    let x = [i64::MAX - 1, i64::MAX, i64::MIN + 1, i64::MIN];
    assert_eq!(indices_of(ops(), ArgReduction::Max, &x, 4), [1]);
    assert_eq!(indices_of(ops(), ArgReduction::Min, &x, 4), [3]);
}
