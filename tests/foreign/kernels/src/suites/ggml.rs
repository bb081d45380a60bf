//! The kernels of `quantized.metal` that know nothing of blocks, which ggml's graph operations are made of.

use std::f64::consts::FRAC_2_SQRT_PI;

use crate::buffers::{Arg, value};
use crate::check::{Approx, approx, exact};
use crate::rig::{File, Grid, groups};
use crate::suites::sort::is_order;
use crate::types::Type;
use crate::types::Type::{F16, F32};

/// A function of each element: its kernel, elements a thread, parameters, its value.
type Function = (&'static str, usize, &'static [f32], fn(f64) -> f64);

const FUNCTIONS: [Function; 17] = [
    ("scale", 1, &[1.75], |x| x * 1.75),
    ("scale_4", 4, &[1.75], |x| x * 1.75),
    ("clamp", 1, &[-1.5, 2.25], |x| x.clamp(-1.5, 2.25)),
    ("relu", 1, &[], |x| x.max(0.0)),
    ("leaky_relu_f32", 1, &[0.125], |x| {
        if x > 0.0 { x } else { x * 0.125 }
    }),
    ("sigmoid", 1, &[], |x| 1.0 / (1.0 + (-x).exp())),
    ("tanh", 1, &[], f64::tanh),
    ("gelu", 1, &[], gelu),
    ("gelu_4", 4, &[], gelu),
    ("gelu_quick", 1, &[], |x| x / (1.0 + (-1.702 * x).exp())),
    ("gelu_quick_4", 4, &[], |x| x / (1.0 + (-1.702 * x).exp())),
    ("silu", 1, &[], |x| x / (1.0 + (-x).exp())),
    ("silu_4", 4, &[], |x| x / (1.0 + (-x).exp())),
    ("sqr", 1, &[], |x| x * x),
    ("sin", 1, &[], f64::sin),
    ("cos", 1, &[], f64::cos),
    ("sqrt", 1, &[], |x| x.abs().sqrt()),
];

fn gelu(x: f64) -> f64 {
    let inner = FRAC_2_SQRT_PI / 2f64.sqrt() * x * (1.0 + 0.044715 * x * x);
    0.5 * x * (1.0 + inner.tanh())
}

pub fn run(file: &File) {
    for function in &FUNCTIONS {
        for length in [4, 36, 2052] {
            elementwise(file, function, length);
        }
    }
    for (name, operation) in OPERATIONS {
        two_tensors(file, name, operation);
        a_row(file, name, operation);
    }
    for (rows, length, threads) in [(3, 36, 32), (2, 1000, 256), (2, 4096, 1024)] {
        norms(file, rows, length, threads);
        for (kernel, mask) in [("soft_max_f32", F32), ("soft_max_f16", F16)] {
            softmax(file, kernel, mask, (rows, length, threads));
            softmax(
                file,
                &format!("{kernel}_4"),
                mask,
                (rows, length, threads / 4),
            );
        }
    }
    for (rows, columns) in [(1, 1), (3, 37), (2, 1000)] {
        order(file, "asc", rows, columns);
        order(file, "desc", rows, columns);
    }
    for (from, to) in [(F32, F32), (F32, F16), (F16, F16), (F16, F32)] {
        copies(file, from, to);
    }
    counts(file);
}

fn elementwise(file: &File, (name, vector, parameters, function): &Function, length: usize) {
    let kernel = format!("kernel_{name}");
    // Roots are taken of what the other functions' sign does not matter for.
    let range = if *name == "sqrt" {
        0.01..9.0
    } else {
        -3.0..3.0
    };
    let values = file.values(F32, length as u64, length, range);
    let (input, output) = (file.input_at(F32, 4, &values), file.output(F32, length));
    let mut arguments = vec![Arg::In(&input), Arg::Out(&output)];
    arguments.extend(parameters.iter().map(|parameter| value(*parameter)));
    // The kernels have no bound of their own.
    let grid = Grid::Threads((length / vector).into(), 32.into());
    let launched = file.launch(&kernel, &[], &arguments, grid);
    // A few roundings at the size of the argument, which is more than the result's where it cancels.
    let expected: Vec<_> = values
        .iter()
        .map(|x| {
            approx(
                function(*x),
                8.0 * (x.abs() + function(*x).abs()) * F32.epsilon(),
            )
        })
        .collect();
    file.check(
        &kernel,
        &format!("{length} elements"),
        launched,
        &output,
        &expected,
    );
}

/// An operation on two numbers.
type Operation = fn(f64, f64) -> f64;

const OPERATIONS: [(&str, Operation); 4] = [
    ("add", |x, y| x + y),
    ("sub", |x, y| x - y),
    ("mul", |x, y| x * y),
    ("div", |x, y| x / y),
];

fn combined(operation: Operation, x: f64, y: f64) -> Approx {
    let result = operation(x, y);
    // Fast arithmetic may multiply by a reciprocal.
    approx(result, 4.0 * result.abs() * F32.epsilon())
}

/// Lengths of dimensions, the fastest first, and the bytes between elements of each.
fn described(shape: [usize; 4]) -> Vec<Arg<'static>> {
    let mut stride = 4;
    let strides = shape.map(|length| {
        stride *= length;
        (stride / length) as u64
    });
    let lengths = shape.iter().map(|length| value(*length as i64));
    lengths.chain(strides.into_iter().map(value)).collect()
}

/// The second tensor repeats along every dimension.
fn two_tensors(file: &File, name: &str, operation: Operation) {
    let kernel = format!("kernel_{name}");
    let (shape, small) = ([37, 4, 6, 2], [37, 2, 3, 1]);
    let x = file.values(F32, 1, shape.iter().product(), 0.5..9.0);
    let y = file.values(F32, 2, small.iter().product(), 0.5..9.0);
    let (left, right) = (file.input_at(F32, 3, &x), file.input_at(F32, 1, &y));
    let output = file.output(F32, x.len());
    let mut arguments = vec![Arg::In(&left), Arg::In(&right), Arg::Out(&output)];
    for shape in [shape, small, shape] {
        arguments.extend(described(shape));
    }
    arguments.push(value(0i64));
    let grid = groups((shape[1], shape[2], shape[3]), (32, 1, 1));
    let launched = file.launch(&kernel, &[], &arguments, grid);
    let pair = |(index, x): (usize, &f64)| {
        let (mut rest, mut other, mut stride) = (index, 0, 1);
        for (length, repeated) in shape.iter().zip(small) {
            other += rest % length % repeated * stride;
            rest /= length;
            stride *= repeated;
        }
        combined(operation, *x, y[other])
    };
    let expected: Vec<_> = x.iter().enumerate().map(pair).collect();
    file.check(
        &kernel,
        &format!("{shape:?} and {small:?}"),
        launched,
        &output,
        &expected,
    );
}

/// The second tensor is a row, in vectors of four; its length goes to the last binding but two.
fn a_row(file: &File, name: &str, operation: Operation) {
    let kernel = format!("kernel_{name}_row");
    let (rows, length) = (5, 36);
    let x = file.values(F32, 1, rows * length, 0.5..9.0);
    let y = file.values(F32, 2, length, 0.5..9.0);
    let (left, right) = (file.input_at(F32, 4, &x), file.input_at(F32, 4, &y));
    let output = file.output(F32, x.len());
    let mut arguments = vec![Arg::In(&left), Arg::In(&right), Arg::Out(&output)];
    arguments.resize_with(28, || Arg::Nothing);
    arguments.push(value((length / 4) as u64));
    let grid = Grid::Threads((x.len() / 4).into(), 16.into());
    let launched = file.launch(&kernel, &[], &arguments, grid);
    let pairs = x.iter().zip(y.iter().cycle());
    let expected: Vec<_> = pairs.map(|(x, y)| combined(operation, *x, *y)).collect();
    file.check(
        &kernel,
        &format!("{rows} rows of {length}"),
        launched,
        &output,
        &expected,
    );
}

const EPSILON: f64 = 1e-3;

/// Rows less their mean where that is wanted, and over the root of their mean square.
fn norms(file: &File, rows: usize, length: usize, threads: usize) {
    let values = file.values(F32, 1, rows * length, -2.0..5.0);
    let input = file.input_at(F32, 4, &values);
    for (name, centres) in [("kernel_norm", true), ("kernel_rms_norm", false)] {
        let output = file.output(F32, values.len());
        let arguments = [
            Arg::In(&input),
            Arg::Out(&output),
            value(length as i64),
            value(4 * length as u64),
            value(EPSILON as f32),
        ];
        let grid = groups((rows, 1, 1), (threads, 1, 1));
        let launched = file.launch_with_memory(name, &[], &arguments, 4 * threads, grid);
        let row = |row: &[f64]| -> Vec<Approx> {
            let count = row.len() as f64;
            let mean = if centres {
                row.iter().sum::<f64>() / count
            } else {
                0.0
            };
            let square = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
            let factor = (square + EPSILON).sqrt().recip();
            let error = (count / threads as f64 + 32.0) * F32.epsilon();
            let element = |x: &f64| approx((x - mean) * factor, (x.abs() + 5.0) * factor * error);
            row.iter().map(element).collect()
        };
        let expected: Vec<_> = values.chunks(length).flat_map(row).collect();
        file.check(
            name,
            &format!("{rows} rows of {length}"),
            launched,
            &output,
            &expected,
        );
    }
}

/// Scaled, a mask of another type added, exponentials over their sum.
fn softmax(file: &File, name: &str, mask: Type, (rows, length, threads): (usize, usize, usize)) {
    let kernel = format!("kernel_{name}");
    let threads = threads.max(32);
    let scale = 0.5;
    let values = file.values(F32, 1, rows * length, -4.0..4.0);
    let added = file.values(mask, 2, rows * length, -2.0..2.0);
    let (input, masks) = (
        file.input_at(F32, 4, &values),
        file.input_at(mask, 8, &added),
    );
    let output = file.output(F32, values.len());
    let arguments = [
        Arg::In(&input),
        Arg::In(&masks),
        Arg::Out(&output),
        value(length as i64),
        value(rows as i64),
        value(1i64),
        value(scale as f32),
        value(0f32),
        value(1f32),
        value(1f32),
        value(1u32),
    ];
    let grid = groups((rows, 1, 1), (threads, 1, 1));
    let launched = file.launch_with_memory(&kernel, &[], &arguments, 128, grid);
    let row = |(values, added): (&[f64], &[f64])| -> Vec<Approx> {
        let scores: Vec<f64> = values
            .iter()
            .zip(added)
            .map(|(x, m)| x * scale + m)
            .collect();
        let sum: f64 = scores.iter().map(|score| score.exp()).sum();
        let error = (length as f64 / threads as f64 + 64.0) * F32.epsilon();
        scores
            .iter()
            .map(|score| approx(score.exp() / sum, score.exp() / sum * error))
            .collect()
    };
    let pairs = values.chunks(length).zip(added.chunks(length));
    let expected: Vec<_> = pairs.flat_map(row).collect();
    file.check(
        &kernel,
        &format!("{rows} rows of {length}"),
        launched,
        &output,
        &expected,
    );
}

fn order(file: &File, direction: &str, rows: usize, columns: usize) {
    let kernel = format!("kernel_argsort_f32_i32_{direction}");
    let values = file.values(F32, columns as u64, rows * columns, -9.0..9.0);
    let (input, output) = (
        file.input_at(F32, 3, &values),
        file.output(Type::I32, values.len()),
    );
    let padded = columns.next_power_of_two();
    let arguments = [
        Arg::In(&input),
        Arg::Out(&output),
        value(columns as i64),
        value(padded as i64),
    ];
    let grid = groups((1, rows, 1), (padded, 1, 1));
    let memory = (4 * padded).max(16);
    let outcome = file
        .launch_with_memory(&kernel, &[], &arguments, memory, grid)
        .and_then(|()| is_order(&output, F32, &values, columns, direction == "asc"));
    file.note(&kernel, &format!("{rows} rows of {columns}"), outcome);
}

/// Rows that are further apart than they are long, packed.
fn copies(file: &File, from: Type, to: Type) {
    let kernel = format!("kernel_cpy_{}_{}", from.name(), to.name());
    let (rows, length, pitch) = (5usize, 37usize, 40usize);
    let values = file.values(from, 1, rows * pitch, -9.0..9.0);
    let (input, output) = (
        file.input_at(from, 3, &values),
        file.output(to, rows * length),
    );
    let mut arguments = vec![Arg::In(&input), Arg::Out(&output)];
    for (pitch, kind) in [(pitch, from), (length, to)] {
        arguments.extend([length, rows, 1, 1].map(|length| value(length as i64)));
        let strides = [1, pitch, pitch * rows, pitch * rows];
        arguments.extend(strides.map(|stride| value((stride * kind.size()) as u64)));
    }
    let launched = file.launch(&kernel, &[], &arguments, groups((rows, 1, 1), (32, 1, 1)));
    let taken = values.chunks(pitch).flat_map(|row| &row[..length]);
    let expected: Vec<_> = taken.map(|number| exact(*number)).collect();
    file.check(
        &kernel,
        &format!("{rows} rows of {length}"),
        launched,
        &output,
        &expected,
    );
}

fn counts(file: &File) {
    let (kernel, length) = ("kernel_arange_f32", 1000);
    let output = file.output(F32, length);
    let arguments = [
        Arg::Out(&output),
        value(length as i64),
        value(2.5f32),
        value(0.25f32),
    ];
    let launched = file.launch(kernel, &[], &arguments, groups((1, 1, 1), (64, 1, 1)));
    let expected: Vec<f64> = (0..length).map(|index| 2.5 + 0.25 * index as f64).collect();
    file.check_exact(
        kernel,
        &format!("{length} numbers"),
        launched,
        &output,
        &expected,
    );
}
