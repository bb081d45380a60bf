//! `reduce.metal`: sums, products, extremes and their indices, over the last dimension of a tensor. Its softmax, norms and
//! rotations are in `normalize.rs` and `rotate.rs`.

use crate::buffers::{Arg, uints, value};
use crate::check::{Approx, approx, exact};
use crate::layout::{count, extent, gather};
use crate::rig::{File, Grid, groups};
use crate::suites::{normalize, rotate};
use crate::types::Type;

/// A reduction: its name, the values it is tried on, its result for one row.
struct Reduction {
    name: &'static str,
    /// The result is the index of an element.
    indices: bool,
    range: fn(Type) -> std::ops::Range<f64>,
    reference: fn(Type, &[f64]) -> Approx,
}

/// Tensors of which the last dimension is reduced: odd and round, from a threadgroup of one thread to full ones.
const SHAPES: [&[usize]; 6] = [
    &[3, 1],
    &[2, 2],
    &[2, 3, 37],
    &[3, 64],
    &[2, 1000],
    &[2, 4099],
];

/// The same, and where their elements lie.
const VIEWS: [(&[usize], &[usize]); 4] = [
    (&[5, 37], &[1, 5]),
    (&[4, 3, 130], &[130, 0, 1]),
    (&[2, 3, 5, 66], &[990, 66, 198, 1]),
    (&[2, 2, 2, 3, 7], &[84, 42, 21, 7, 1]),
];

/// Roundings on the way from an element to the result: one for each element that a thread takes, one for each step of
/// the tree that joins the threads.
pub fn depth(length: usize) -> f64 {
    let width = threads(length);
    (length.div_ceil(width) + width.ilog2() as usize + 1) as f64
}

/// The threads that the package's host code gives a row.
pub fn threads(length: usize) -> usize {
    (length / 2).next_power_of_two().min(1024)
}

fn small(kind: Type) -> std::ops::Range<f64> {
    if kind.is_float() {
        -1.0..2.0
    } else {
        0.0..250.0
    }
}

fn best(row: &[f64], better: fn(f64, f64) -> bool) -> (usize, f64) {
    let first = (0, row[0]);
    row.iter().copied().enumerate().fold(
        first,
        |best, next| {
            if better(next.1, best.1) { next } else { best }
        },
    )
}

fn reductions() -> [Reduction; 6] {
    [
        Reduction {
            name: "fast_sum",
            indices: false,
            range: small,
            reference: |kind, row| {
                let sum = row.iter().sum::<f64>();
                let size = row.iter().map(|x| x.abs()).sum::<f64>();
                match kind.is_float() {
                    true => approx(sum, size * depth(row.len()) * kind.epsilon()),
                    false => exact(kind.nearest(sum)),
                }
            },
        },
        Reduction {
            name: "fast_mul",
            indices: false,
            range: |kind| {
                if kind.is_float() {
                    0.98..1.02
                } else {
                    1.0..4.0
                }
            },
            reference: |kind, row| match kind.is_float() {
                // Products by one are exact; the others are rounded once each.
                true => {
                    let product = row.iter().product::<f64>();
                    let rounded = row.iter().filter(|x| **x != 1.0).count();
                    approx(product, product * rounded as f64 * kind.epsilon())
                }
                false => exact(
                    row.iter()
                        .fold(1.0, |product, x| wrapped(kind, product * x)),
                ),
            },
        },
        Reduction {
            name: "fast_max",
            indices: false,
            range: small,
            reference: |_, row| exact(best(row, |a, b| a > b).1),
        },
        Reduction {
            name: "fast_min",
            indices: false,
            range: small,
            reference: |_, row| exact(best(row, |a, b| a < b).1),
        },
        Reduction {
            name: "fast_argmax",
            indices: true,
            range: small,
            reference: |_, row| exact(best(row, |a, b| a > b).0 as f64),
        },
        Reduction {
            name: "fast_argmin",
            indices: true,
            range: small,
            reference: |_, row| exact(best(row, |a, b| a < b).0 as f64),
        },
    ]
}

/// Integers of more than 53 bits would not be exact here: products of 64 bits stay below.
fn wrapped(kind: Type, product: f64) -> f64 {
    if kind == Type::I64 {
        product
    } else {
        kind.nearest(product)
    }
}

pub fn run(file: &File) {
    for reduction in reductions() {
        for kind in Type::ALL {
            for shape in SHAPES {
                dense(file, &reduction, kind, shape);
            }
            for (shape, strides) in VIEWS {
                strided(file, &reduction, kind, shape, strides);
            }
        }
    }
    normalize::run(file);
    rotate::run(file);
}

fn values(file: &File, reduction: &Reduction, kind: Type, room: usize) -> Vec<f64> {
    let values = file.values(kind, room as u64, room, (reduction.range)(kind));
    if reduction.name != "fast_mul" {
        return values;
    }
    // About twenty factors that are not one: few enough that roundings do not hide the product, and that it stays exact
    // in integers.
    let factor = |(index, value)| {
        if index % (1 + room / 20) == 0 {
            value
        } else {
            1.0
        }
    };
    values.into_iter().enumerate().map(factor).collect()
}

fn expected(reduction: &Reduction, kind: Type, elements: &[f64], row: usize) -> Vec<Approx> {
    let rows = elements.chunks(row);
    rows.map(|row| (reduction.reference)(kind, row)).collect()
}

/// A threadgroup for each row.
pub fn rows(rows: usize, length: usize) -> Grid {
    groups((rows, 1, 1), (threads(length), 1, 1))
}

fn dense(file: &File, reduction: &Reduction, kind: Type, shape: &[usize]) {
    let kernel = format!("{}_{}", reduction.name, kind.name());
    let (total, row) = (count(shape), shape[shape.len() - 1]);
    let values = values(file, reduction, kind, total);
    let result = if reduction.indices { Type::U32 } else { kind };
    let (input, output) = (
        file.input_at(kind, 3, &values),
        file.output(result, total / row),
    );
    let arguments = [
        value(total as u32),
        value(shape.len() as u32),
        uints(shape),
        value(row as u32),
        Arg::In(&input),
        Arg::Out(&output),
    ];
    let launched = file.launch(&kernel, &[], &arguments, rows(total / row, row));
    let expected = expected(reduction, kind, &values, row);
    file.check(&kernel, &format!("{shape:?}"), launched, &output, &expected);
}

fn strided(file: &File, reduction: &Reduction, kind: Type, shape: &[usize], strides: &[usize]) {
    let kernel = format!("{}_{}_strided", reduction.name, kind.name());
    let (total, row) = (count(shape), shape[shape.len() - 1]);
    let values = values(file, reduction, kind, extent(shape, strides));
    let result = if reduction.indices { Type::U32 } else { kind };
    let (input, output) = (
        file.input_at(kind, 3, &values),
        file.output(result, total / row),
    );
    let arguments = [
        value(total as u32),
        value(shape.len() as u32),
        uints(shape),
        uints(strides),
        value(row as u32),
        Arg::In(&input),
        Arg::Out(&output),
    ];
    let launched = file.launch(&kernel, &[], &arguments, rows(total / row, row));
    let expected = expected(reduction, kind, &gather(&values, shape, strides), row);
    let case = format!("{shape:?} by {strides:?}");
    file.check(&kernel, &case, launched, &output, &expected);
}
