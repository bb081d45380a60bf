//! `unary.metal`: functions of one argument, constants and copies of rectangles.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

use crate::buffers::{Arg, size, sizes, value};
use crate::check::{Approx, approx, exact};
use crate::layout::{VIEWS, count, extent, gather, indices};
use crate::rig::{File, Grid};
use crate::types::Type;

/// A function: its name, where it is tried, its value and how far the kernel may be off in a type's arithmetic, before
/// the result is rounded.
struct Function {
    name: &'static str,
    range: std::ops::Range<f64>,
    reference: fn(Type, f64) -> Approx,
}

/// Units in the last place that Metal's functions may be off by, in fast arithmetic, where the tests evaluate them.
const ULPS: f64 = 4.0;

/// A value with a relative error of so many roundings.
fn relative(kind: Type, value: f64, roundings: f64) -> Approx {
    approx(value, value.abs() * roundings * kind.epsilon())
}

/// The error function, by its series, which converges everywhere and loses no more than ten digits below four.
fn erf(x: f64) -> f64 {
    let mut term = x;
    let mut sum = x;
    for n in 1..200 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    FRAC_2_SQRT_PI * sum
}

/// What the package's formula for the error function (Abramowitz and Stegun 7.1.26) may be off by.
const ERF_ERROR: f64 = 1.5e-7 + 1e-6;

const FUNCTIONS: [Function; 21] = [
    Function {
        name: "copy",
        range: -9.0..9.0,
        reference: |_, x| exact(x),
    },
    Function {
        name: "neg",
        range: -9.0..9.0,
        reference: |_, x| exact(-x),
    },
    Function {
        name: "abs",
        range: -9.0..9.0,
        reference: |_, x| exact(x.abs()),
    },
    Function {
        name: "relu",
        range: -9.0..9.0,
        reference: |_, x| exact(x.max(0.0)),
    },
    Function {
        name: "ceil",
        range: -9.0..9.0,
        reference: |_, x| exact(x.ceil()),
    },
    Function {
        name: "floor",
        range: -9.0..9.0,
        reference: |_, x| exact(x.floor()),
    },
    Function {
        name: "round",
        range: -9.0..9.0,
        reference: |_, x| exact(x.round()),
    },
    Function {
        name: "sign",
        range: -9.0..9.0,
        reference: |_, x| exact(x.signum()),
    },
    Function {
        name: "sqr",
        range: -9.0..9.0,
        reference: |_, x| exact(x * x),
    },
    Function {
        name: "sqrt",
        range: 0.01..99.0,
        reference: |kind, x| relative(kind, x.sqrt(), ULPS),
    },
    Function {
        name: "recip",
        range: 0.01..99.0,
        reference: |kind, x| relative(kind, x.recip(), ULPS),
    },
    Function {
        name: "exp",
        range: -8.0..8.0,
        reference: |kind, x| relative(kind, x.exp(), ULPS),
    },
    Function {
        name: "log",
        range: 0.01..99.0,
        // Near one the logarithm is small and its error absolute.
        reference: |kind, x| {
            approx(
                x.ln(),
                ULPS * kind.epsilon() * x.ln().abs() + 2f64.powi(-21),
            )
        },
    },
    Function {
        name: "sin",
        range: -3.0..3.0,
        reference: |kind, x| relative(kind, x.sin(), ULPS),
    },
    Function {
        name: "cos",
        range: -3.0..3.0,
        reference: |kind, x| approx(x.cos(), ULPS * kind.epsilon()),
    },
    Function {
        name: "tanh",
        range: -9.0..9.0,
        reference: |kind, x| relative(kind, x.tanh(), 2.0 * ULPS),
    },
    Function {
        name: "erf",
        range: -3.9..3.9,
        reference: |_, x| approx(erf(x), ERF_ERROR),
    },
    Function {
        name: "sigmoid",
        range: -8.0..8.0,
        // The exponential, the sum and the reciprocal are rounded to the type.
        reference: |kind, x| relative(kind, 1.0 / (1.0 + (-x).exp()), 2.0 * ULPS),
    },
    Function {
        name: "silu",
        range: -8.0..8.0,
        reference: |kind, x| relative(kind, x / (1.0 + (-x).exp()), 2.0 * ULPS),
    },
    Function {
        name: "gelu_erf",
        range: -3.9..3.9,
        reference: |_, x| {
            approx(
                x * (1.0 + erf(x * FRAC_1_SQRT_2)) / 2.0,
                x.abs() * ERF_ERROR,
            )
        },
    },
    Function {
        name: "gelu",
        range: -3.9..7.0,
        // Where the hyperbolic tangent is close to -1, the sum cancels: its error is absolute. The argument's roundings
        // (six, of about its own size) come to the result through the tangent's slope.
        reference: |kind, x| {
            if x > 5.0 {
                return exact(x);
            }
            let beta = FRAC_2_SQRT_PI * FRAC_1_SQRT_2 * (x + 0.044715 * x.powi(3));
            let slope = 1.0 - beta.tanh().powi(2);
            let error = 0.5 * x.abs() * (6.0 * beta.abs() * slope + 2.0 * ULPS);
            approx(0.5 * x * (1.0 + beta.tanh()), error * kind.epsilon())
        },
    },
];

/// The package's grid for kernels whose threads take several elements, eight bytes together.
pub fn tiles(kind: Type, length: usize) -> Grid {
    Grid::Linear(length.div_ceil((8 / kind.size()).max(1)))
}

pub fn run(file: &File) {
    for function in &FUNCTIONS {
        for kind in Type::FLOATS {
            contiguous(file, function, kind);
            strided(file, function, kind);
        }
    }
    for kind in [Type::U8, Type::U32, Type::I64] {
        let copy = Function {
            name: "copy",
            range: 0.0..250.0,
            reference: |_, x| exact(x),
        };
        contiguous(file, &copy, kind);
        strided(file, &copy, kind);
    }
    for kind in Type::ALL {
        constants(file, kind);
        constants_strided(file, kind);
    }
    for kind in Type::ALL.into_iter().chain([Type::I16, Type::I32]) {
        rectangles(file, kind);
    }
}

fn contiguous(file: &File, function: &Function, kind: Type) {
    let kernel = format!("{}_{}", function.name, kind.name());
    for (length, offset) in [(1, 0), (37, 3), (1000, 0), (2049, 5)] {
        let values = file.values(kind, length as u64, length, function.range.clone());
        let (input, output) = (
            file.input_at(kind, offset, &values),
            file.output(kind, length),
        );
        let arguments = [size(length), Arg::In(&input), Arg::Out(&output)];
        let launched = file.launch(&kernel, &[], &arguments, tiles(kind, length));
        let expected: Vec<_> = values
            .iter()
            .map(|x| (function.reference)(kind, *x))
            .collect();
        let case = format!("{length} elements, offset {offset}");
        file.check(&kernel, &case, launched, &output, &expected);
    }
}

fn strided(file: &File, function: &Function, kind: Type) {
    let kernel = format!("{}_{}_strided", function.name, kind.name());
    for (shape, strides) in VIEWS {
        let (length, room) = (count(shape), extent(shape, strides));
        let values = file.values(kind, room as u64, room, function.range.clone());
        let (input, output) = (file.input_at(kind, 2, &values), file.output(kind, length));
        let arguments = [
            size(length),
            size(shape.len()),
            sizes(shape),
            sizes(strides),
            Arg::In(&input),
            Arg::Out(&output),
        ];
        let launched = file.launch(&kernel, &[], &arguments, Grid::Linear(length));
        let elements = gather(&values, shape, strides);
        let expected: Vec<_> = elements
            .iter()
            .map(|x| (function.reference)(kind, *x))
            .collect();
        let case = format!("{shape:?} by {strides:?}");
        file.check(&kernel, &case, launched, &output, &expected);
    }
}

/// The same value everywhere.
fn constants(file: &File, kind: Type) {
    let kernel = format!("const_set_{}", kind.name());
    for length in [1, 37, 2049] {
        let constant = kind.nearest(17.5);
        let output = file.output(kind, length);
        let bytes = Arg::Bytes(kind.encode(&[constant]));
        let arguments = [size(length), bytes, Arg::Out(&output)];
        let launched = file.launch(&kernel, &[], &arguments, tiles(kind, length));
        let case = format!("{length} elements");
        file.check_exact(&kernel, &case, launched, &output, &vec![constant; length]);
    }
}

/// The same value at every element of a view; what lies between them stays.
fn constants_strided(file: &File, kind: Type) {
    let kernel = format!("const_set_{}_strided", kind.name());
    // Those of the views in which no two elements share an address: the kernel's threads would race for it.
    for (shape, strides) in VIEWS
        .into_iter()
        .filter(|(_, strides)| !strides.contains(&0))
    {
        let (constant, room) = (kind.nearest(17.5), extent(shape, strides));
        let mut expected = file.values(kind, room as u64, room, 0.0..9.0);
        let output = file.output_holding(kind, &expected);
        let length = count(shape);
        let arguments = [
            size(length),
            size(shape.len()),
            sizes(shape),
            sizes(strides),
            Arg::Bytes(kind.encode(&[constant])),
            Arg::Out(&output),
        ];
        let launched = file.launch(&kernel, &[], &arguments, Grid::Linear(length));
        for offset in indices(shape, strides) {
            expected[offset] = constant;
        }
        let case = format!("{shape:?} by {strides:?}");
        file.check_exact(&kernel, &case, launched, &output, &expected);
    }
}

/// Rows of one tensor to rows of another that are further apart.
fn rectangles(file: &File, kind: Type) {
    let kernel = format!("copy2d_{}", kind.name());
    for (rows, columns, from, to) in [(1, 1, 1, 1), (7, 33, 40, 35), (64, 5, 5, 8)] {
        let values = file.values(kind, rows as u64, rows * from, 0.0..99.0);
        let mut expected = vec![0.0; rows * to];
        let (input, output) = (
            file.input_at(kind, 3, &values),
            file.output_holding(kind, &expected),
        );
        let length = |length: usize| value(length as i64);
        let arguments = [
            length(rows),
            length(columns),
            length(from),
            length(to),
            Arg::In(&input),
            Arg::Out(&output),
        ];
        let grid = Grid::Threads((rows, columns).into(), (4, 8).into());
        let launched = file.launch(&kernel, &[], &arguments, grid);
        for (row, line) in values.chunks(from).enumerate() {
            expected[row * to..][..columns].copy_from_slice(&line[..columns]);
        }
        let case = format!("{rows} rows of {columns}, {from} to {to} apart");
        file.check_exact(&kernel, &case, launched, &output, &expected);
    }
}
