//! `cast.metal`: every type to every type.

use crate::buffers::{Arg, size, sizes};
use crate::check::{Approx, approx, exact};
use crate::layout::{VIEWS, count, extent, gather};
use crate::rig::{File, Grid};
use crate::suites::unary::tiles;
use crate::types::Type;
use crate::types::Type::{Bf16, F16, F32, I64, U8, U32};

/// Floats round to the nearest, by way of `float` at most; integers cut what is behind the point, or wrap around.
fn reference(to: Type, value: f64) -> Approx {
    match to.is_float() {
        true => approx(value, value.abs() * Type::F32.epsilon()),
        false => exact(to.nearest(value)),
    }
}

/// Values of a type that the other one's range has: what a float beyond an integer's range becomes is not defined.
fn values(file: &File, from: Type, to: Type, count: usize) -> Vec<f64> {
    let range = match (from, to) {
        (F32 | F16 | Bf16, U8 | U32) | (U8 | U32, F16) => 0.0..250.0,
        (F32 | F16 | Bf16, _) | (I64, F16) => -250.0..250.0,
        // Beyond 32 bits: narrower integers keep the lowest.
        _ => -9e9..9e9,
    };
    file.values(from, count as u64, count, range)
}

pub fn run(file: &File) {
    for from in Type::ALL {
        for to in Type::ALL {
            contiguous(file, from, to);
            strided(file, from, to);
        }
    }
}

fn contiguous(file: &File, from: Type, to: Type) {
    let kernel = format!("cast_{}_{}", from.name(), to.name());
    for (length, offset) in [(1, 0), (37, 3), (2049, 5)] {
        let values = values(file, from, to, length);
        let (input, output) = (
            file.input_at(from, offset, &values),
            file.output(to, length),
        );
        let arguments = [size(length), Arg::In(&input), Arg::Out(&output)];
        let launched = file.launch(&kernel, &[], &arguments, tiles(from, length));
        let expected: Vec<_> = values.iter().map(|value| reference(to, *value)).collect();
        let case = format!("{length} elements, offset {offset}");
        file.check(&kernel, &case, launched, &output, &expected);
    }
}

fn strided(file: &File, from: Type, to: Type) {
    let kernel = format!("cast_{}_{}_strided", from.name(), to.name());
    for (shape, strides) in VIEWS {
        let (length, room) = (count(shape), extent(shape, strides));
        let values = values(file, from, to, room);
        let (input, output) = (file.input_at(from, 2, &values), file.output(to, length));
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
        let expected: Vec<_> = elements.iter().map(|value| reference(to, *value)).collect();
        let case = format!("{shape:?} by {strides:?}");
        file.check(&kernel, &case, launched, &output, &expected);
    }
}
