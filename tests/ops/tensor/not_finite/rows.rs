//! Rows of softmaxes, norms, scans and products with NaN and infinities, in every type of floats. Numbers are small integers,
//! so that what is finite is exact or nearly so.

use half::{bf16, f16};
use metal_bridge::ops::{Convolution, DataType, Matmul, Norm, Ops, ScanOrder, Tensor};
use rand::Rng;
use rand::rngs::SmallRng;

use crate::chosen::{By, computed_by_mps};
use crate::support::{buffer, rng, run};
use crate::tensor::products::{Operand, positions};
use crate::tensor::rows::both;
use crate::tensor::values::{Sample, is_close, is_same, read, room};

const INFINITY: f64 = f64::INFINITY;

/// Less than a step of lanes, and several.
const COLUMNS: [usize; 3] = [4, 70, 700];

/// Rows of `number`, one without and five with others among them: first, last, and in the middle.
fn rows_of(columns: usize, number: f64) -> Vec<Vec<f64>> {
    let among = |others: &[(usize, f64)]| {
        let mut row = vec![number; columns];
        others.iter().for_each(|(at, value)| row[*at] = *value);
        row
    };
    let (middle, last) = (columns / 2, columns - 1);
    vec![
        among(&[]),
        among(&[(last, f64::NAN)]),
        among(&[(middle, INFINITY)]),
        among(&[(0, -INFINITY), (middle, -INFINITY)]),
        among(&[(0, INFINITY), (last, -INFINITY)]),
        vec![-INFINITY; columns],
        among(&[]),
    ]
}

/// Runs a call on rows and compares with what `exact` makes of each of them.
fn rows_agree<T: Sample>(
    what: &str,
    rows: &[Vec<f64>],
    call: impl Fn(&Ops, Tensor<'_>, Tensor<'_>),
    exact: impl Fn(&[f64]) -> Vec<f64>,
) {
    let columns = rows[0].len();
    let x: Vec<T> = rows.iter().flatten().map(|x| T::nearest(*x)).collect();
    for ops in both() {
        let (x_buffer, y_buffer) = (buffer(&x), room::<T>(x.len()));
        let tensor = |buffer| Tensor::of::<T>(buffer, &[rows.len(), columns]).unwrap();
        call(ops, tensor(&x_buffer), tensor(&y_buffer));
        for (number, (row, y)) in rows
            .iter()
            .zip(read::<T>(&y_buffer).chunks(columns))
            .enumerate()
        {
            for (at, (exact, y)) in exact(row).into_iter().zip(y).enumerate() {
                assert!(
                    is_close(*y, exact, 16.0),
                    "{what}, {:?}: row {number} of {columns} at {at} is {y:?}, not {exact}",
                    T::DATA_TYPE
                );
            }
        }
    }
}

fn softmaxes<T: Sample>() {
    for columns in COLUMNS {
        for is_log in [false, true] {
            let call = |ops: &Ops, x: Tensor<'_>, y: Tensor<'_>| {
                run(|encoder| match is_log {
                    true => ops.log_softmax(encoder, x, 1, y),
                    false => ops.softmax(encoder, x, 1, y),
                });
            };
            rows_agree::<T>("softmax", &rows_of(columns, 1.0), call, |row| {
                let largest = row.iter().copied().fold(-INFINITY, f64::max);
                let sum: f64 = row.iter().map(|x| (x - largest).exp()).sum();
                let of = |x: &f64| match is_log {
                    true => x - largest - sum.ln(),
                    false => (x - largest).exp() / sum,
                };
                row.iter().map(of).collect()
            });
        }
    }
}

#[test]
fn softmaxes_of_what_is_not_finite() {
    softmaxes::<f32>();
    softmaxes::<f16>();
    softmaxes::<bf16>();
}

fn norms<T: Sample>() {
    let norm = Norm {
        epsilon: 0.25,
        ..Norm::default()
    };
    for columns in COLUMNS {
        for is_rms in [false, true] {
            let call = |ops: &Ops, x: Tensor<'_>, y: Tensor<'_>| {
                run(|encoder| match is_rms {
                    true => ops.rms_norm_along(encoder, x, &[1], &norm, y),
                    false => ops.layer_norm(encoder, x, &[1], &norm, y),
                });
            };
            rows_agree::<T>("a norm", &rows_of(columns, 3.0), call, |row| {
                let count = row.len() as f64;
                let mean = if is_rms {
                    0.0
                } else {
                    row.iter().sum::<f64>() / count
                };
                let squares: f64 = row.iter().map(|x| (x - mean).powi(2)).sum();
                let root = (squares / count + 0.25).sqrt();
                row.iter().map(|x| (x - mean) / root).collect()
            });
        }
    }
}

#[test]
fn norms_of_what_is_not_finite() {
    norms::<f32>();
    norms::<f16>();
    norms::<bf16>();
}

/// Sums up to 70 and products of ones are exact in each type.
fn scans<T: Sample>() {
    for (columns, product) in [(4, false), (70, false), (4, true), (700, true)] {
        for (exclusive, reverse) in [(false, false), (true, false), (false, true), (true, true)] {
            let order = ScanOrder { exclusive, reverse };
            let call = |ops: &Ops, x: Tensor<'_>, y: Tensor<'_>| {
                run(|encoder| match product {
                    true => ops.cumprod(encoder, x, 1, order, y),
                    false => ops.cumsum(encoder, x, 1, order, y),
                });
            };
            rows_agree::<T>("a scan", &rows_of(columns, 1.0), call, |row| {
                let mut y = vec![0.0; row.len()];
                let mut sum = if product { 1.0 } else { 0.0 };
                for i in 0..row.len() {
                    let at = if reverse { row.len() - 1 - i } else { i };
                    let before = sum;
                    sum = if product {
                        sum * row[at]
                    } else {
                        sum + row[at]
                    };
                    y[at] = if exclusive { before } else { sum };
                }
                y
            });
        }
    }
}

#[test]
fn scans_of_what_is_not_finite() {
    scans::<f32>();
    scans::<f16>();
    scans::<bf16>();
}

/// An operand of any strides, but of Metal Performance Shaders one without gaps.
fn operand<T: Sample>(
    rng: &mut SmallRng,
    by: By,
    shape: &[usize],
    value: impl FnMut(&mut SmallRng) -> T,
) -> Operand<T> {
    match by {
        By::Kernels(_) => Operand::new(rng, shape, value),
        By::Mps(_) => {
            let strides = (0..shape.len()).map(|axis| shape[axis + 1..].iter().product());
            Operand::strided(rng, shape, &Vec::from_iter(strides), value)
        }
    }
}

/// Small integers, and `others` at these numbers.
fn integers<T: Sample>(
    rng: &mut SmallRng,
    by: By,
    shape: &[usize],
    others: &[(usize, f64)],
) -> Operand<T> {
    let mut number = 0;
    operand(rng, by, shape, |rng| {
        number += 1;
        let other = others.iter().find(|(at, _)| *at == number - 1);
        T::nearest(other.map_or_else(|| rng.random_range(1..4).into(), |(_, value)| *value))
    })
}

/// NaN, infinity and negative zeros in rows of A, a column of B, an element of C and of the bias. What y held before was NaN, which
/// nobody may read.
fn products<T: Sample>(seed: u64, by: impl Into<By>) {
    let (mut rng, k, by) = (rng(seed), 40, by.into());
    for [m, n] in PRODUCTS {
        let others = [
            (k + 3, f64::NAN),
            (3 * k - 1, INFINITY),
            // Infinity times zero.
            (5, -0.0),
        ];
        let a = integers::<T>(&mut rng, by, &[m, k], &others);
        let b = integers::<T>(&mut rng, by, &[k, n], &[(5 * n + 1, -INFINITY)]);
        let c = integers::<T>(&mut rng, by, &[m, n], &[(0, f64::NAN)]);
        let bias = integers::<T>(&mut rng, by, &[n], &[(2, INFINITY)]);
        let y = operand::<T>(&mut rng, by, &[m, n], |_| T::nearest(f64::NAN));
        // Metal Performance Shaders have neither.
        let is_all = matches!(by, By::Kernels(_));
        let options = Matmul {
            c: is_all.then_some(c.tensor()),
            bias: is_all.then_some(bias.tensor()),
            ..Matmul::default()
        };
        match by {
            By::Kernels(ops) => {
                run(|encoder| ops.matmul(encoder, options, a.tensor(), b.tensor(), y.tensor()));
            }
            By::Mps(ops) => {
                let done = ops.matmul_with(options, a.tensor(), b.tensor(), y.tensor());
                done.expect("multiplies");
            }
        }
        for (index, found) in positions(&y.shape).zip(y.read()) {
            let [i, j] = index[..] else { unreachable!() };
            let terms = (0..k).map(|at| a.at(&[i, at]).exact() * b.at(&[at, j]).exact());
            let mut sum = terms.sum::<f64>();
            if is_all {
                sum += c.at(&[i, j]).exact() + bias.at(&[j]).exact();
            }
            let exact = T::nearest(sum);
            assert!(
                is_same(found, exact),
                "{:?} {m} {n} at {index:?}: {found:?} is not {exact:?}",
                T::DATA_TYPE
            );
        }
    }
}

const PRODUCTS: [[usize; 2]; 4] = [[3, 40], [40, 3], [9, 33], [70, 67]];

#[test]
fn products_of_what_is_not_finite() {
    for ops in both() {
        products::<f32>(350, ops);
        products::<f16>(351, ops);
        products::<bf16>(352, ops);
    }
}

#[test]
fn products_of_what_is_not_finite_through_mps() {
    computed_by_mps(2 * PRODUCTS.len() as u64, |by| {
        products::<f32>(356, by);
        products::<f16>(357, by);
    });
}

/// Images of several channels, a window that reaches beyond their edges, and a bias.
fn convolutions<T: Sample>(seed: u64, by: impl Into<By>) {
    let (mut rng, by) = (rng(seed), by.into());
    let (channels, outputs, [rows, columns]) = (4, 5, [9, 11]);
    let options = Convolution {
        padding: [[1, 1]; 2],
        ..Convolution::default()
    };
    let others = [
        (2 * 99 + 3 * 11 + 4, f64::NAN),
        (99 + 98, INFINITY),
        // Infinity times zero.
        (5 * 11 + 7, -0.0),
    ];
    let x = integers::<T>(&mut rng, by, &[1, channels, rows, columns], &others);
    // The middle of a window, which lies within the image everywhere.
    let shape = [outputs, channels, 3, 3];
    let w = integers::<T>(&mut rng, by, &shape, &[(4, -INFINITY)]);
    let bias = integers::<T>(&mut rng, by, &[outputs], &[(3, INFINITY)]);
    let y = operand::<T>(&mut rng, by, &[1, outputs, rows, columns], |_| {
        T::nearest(0.0)
    });
    // Metal Performance Shaders do not get one of `f16`.
    let has_bias = matches!(by, By::Kernels(_)) || T::DATA_TYPE == DataType::F32;
    let of_bias = has_bias.then_some(bias.tensor());
    let (of_x, of_w, of_y) = (x.tensor(), w.tensor(), y.tensor());
    match by {
        By::Kernels(ops) => {
            run(|encoder| ops.convolution(encoder, of_x, of_w, of_bias, &options, of_y));
        }
        By::Mps(ops) => {
            let done = ops.convolution(of_x, of_w, of_bias, &options, of_y);
            done.expect("convolves");
        }
    }
    for (index, found) in positions(&y.shape).zip(y.read()) {
        let [_, output, row, column] = index[..] else {
            unreachable!()
        };
        let mut sum = match has_bias {
            true => bias.at(&[output]).exact(),
            false => 0.0,
        };
        for at in positions(&[channels, 3, 3]) {
            let (y, x_at) = (row + at[1], column + at[2]);
            if (1..=rows).contains(&y) && (1..=columns).contains(&x_at) {
                let weight = w.at(&[output, at[0], at[1], at[2]]).exact();
                sum += x.at(&[0, at[0], y - 1, x_at - 1]).exact() * weight;
            }
        }
        let exact = T::nearest(sum);
        assert!(
            is_same(found, exact),
            "{:?} at {index:?}: {found:?} is not {exact:?}",
            T::DATA_TYPE
        );
    }
}

#[test]
fn convolutions_of_what_is_not_finite() {
    for ops in both().into_iter().chain(both()) {
        convolutions::<f32>(353, ops);
        convolutions::<f16>(354, ops);
        convolutions::<bf16>(355, ops);
    }
}

#[test]
fn convolutions_of_what_is_not_finite_through_mps() {
    computed_by_mps(2, |by| {
        convolutions::<f32>(358, by);
        convolutions::<f16>(359, by);
    });
}
