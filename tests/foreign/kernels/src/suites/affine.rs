//! `affine.metal`: `x * mul + add`, powers and ELU.

use crate::buffers::{Arg, size, sizes, value};
use crate::check::{Approx, approx};
use crate::layout::{VIEWS, count, extent, gather};
use crate::rig::{File, Grid};
use crate::suites::unary::tiles;
use crate::types::Type;

/// A family of kernels: its name, what it is given beside the tensor, its types, its values, its reference.
struct Operation {
    name: &'static str,
    parameters: &'static [f32],
    types: &'static [Type],
    range: std::ops::Range<f64>,
    reference: fn(Type, f64) -> Approx,
}

const MUL: f64 = 1.5;
const ADD: f64 = -0.25;
const POWER: f64 = 1.75;
const ALPHA: f64 = 0.75;

fn operations() -> [Operation; 3] {
    [
        Operation {
            name: "affine",
            parameters: &[MUL as f32, ADD as f32],
            types: &Type::ALL,
            range: 1.0..100.0,
            // One rounding to a float, which is exact for these numbers in the integers.
            reference: |kind, x| {
                let y = x * MUL + ADD;
                let y = if kind.is_float() { y } else { y.trunc() };
                approx(
                    y,
                    y.abs() * Type::F32.epsilon() * f64::from(kind.is_float()),
                )
            },
        },
        Operation {
            name: "powf",
            parameters: &[POWER as f32],
            types: &Type::FLOATS,
            range: 0.01..20.0,
            // `exp2(y * log2(x))`: an error of the product of the logarithms becomes a relative one.
            reference: |_, x| {
                let y = x.powf(POWER);
                let relative = 8.0 + 4.0 * (POWER * x.log2()).abs();
                approx(y, y * relative * Type::F32.epsilon())
            },
        },
        Operation {
            name: "elu",
            parameters: &[ALPHA as f32],
            types: &Type::FLOATS,
            range: -6.0..6.0,
            // The exponential and the difference are rounded to the type, at a size of at most one.
            reference: |kind, x| match x > 0.0 {
                true => approx(x, 0.0),
                false => approx(ALPHA * x.exp_m1(), ALPHA * 6.0 * kind.epsilon()),
            },
        },
    ]
}

pub fn run(file: &File) {
    for operation in operations() {
        for kind in operation.types {
            contiguous(file, &operation, *kind);
            strided(file, &operation, *kind);
        }
    }
}

fn contiguous(file: &File, operation: &Operation, kind: Type) {
    let kernel = format!("{}_{}", operation.name, kind.name());
    for (length, offset) in [(1, 0), (37, 3), (1000, 0), (2049, 5)] {
        let values = file.values(kind, length as u64, length, operation.range.clone());
        let (input, output) = (
            file.input_at(kind, offset, &values),
            file.output(kind, length),
        );
        let mut arguments = vec![size(length)];
        arguments.extend(
            operation
                .parameters
                .iter()
                .map(|parameter| value(*parameter)),
        );
        arguments.extend([Arg::In(&input), Arg::Out(&output)]);
        let launched = file.launch(&kernel, &[], &arguments, tiles(kind, length));
        let expected: Vec<_> = values
            .iter()
            .map(|x| (operation.reference)(kind, *x))
            .collect();
        let case = format!("{length} elements, offset {offset}");
        file.check(&kernel, &case, launched, &output, &expected);
    }
}

fn strided(file: &File, operation: &Operation, kind: Type) {
    let kernel = format!("{}_{}_strided", operation.name, kind.name());
    for (shape, strides) in VIEWS {
        let (length, room) = (count(shape), extent(shape, strides));
        let values = file.values(kind, room as u64, room, operation.range.clone());
        let (input, output) = (file.input_at(kind, 2, &values), file.output(kind, length));
        let mut arguments = vec![
            size(length),
            size(shape.len()),
            sizes(shape),
            sizes(strides),
        ];
        arguments.extend(
            operation
                .parameters
                .iter()
                .map(|parameter| value(*parameter)),
        );
        arguments.extend([Arg::In(&input), Arg::Out(&output)]);
        let launched = file.launch(&kernel, &[], &arguments, Grid::Linear(length));
        let elements = gather(&values, shape, strides);
        let expected: Vec<_> = elements
            .iter()
            .map(|x| (operation.reference)(kind, *x))
            .collect();
        let case = format!("{shape:?} by {strides:?}");
        file.check(&kernel, &case, launched, &output, &expected);
    }
}
