//! `ternary.metal`: one of two tensors where a third says so, each contiguous or a view by a function constant.

use crate::buffers::{Arg, size, sizes};
use crate::layout::{VIEWS, contiguous, count, extent, gather};
use crate::rig::{Constants, File};
use crate::suites::unary::tiles;
use crate::types::Type;

/// The condition and both tensors are contiguous.
pub const CONSTANTS: &Constants = &[(0, true), (1, true), (2, true)];

pub fn run(file: &File) {
    for condition in [Type::U8, Type::U32, Type::I64] {
        for kind in Type::ALL {
            for contiguous in [
                [true; 3],
                [false; 3],
                [true, false, true],
                [false, true, false],
            ] {
                for (shape, strides) in VIEWS {
                    check(file, condition, kind, contiguous, (shape, strides));
                }
            }
        }
    }
}

fn check(
    file: &File,
    condition: Type,
    kind: Type,
    dense: [bool; 3],
    (shape, strides): (&[usize], &[usize]),
) {
    let kernel = format!("where_{}_{}", condition.name(), kind.name());
    let length = count(shape);
    let plain = contiguous(shape);
    let strides_of = |dense: bool| if dense { plain.as_slice() } else { strides };
    let [decides, yes, no] = dense.map(strides_of);
    let conditions = file.values(condition, 1, extent(shape, decides), 0.0..3.0);
    let chosen = file.values(kind, 2, extent(shape, yes), 1.0..99.0);
    let other = file.values(kind, 3, extent(shape, no), 100.0..199.0);
    let inputs = [
        file.input_at(condition, 1, &conditions),
        file.input_at(kind, 2, &chosen),
        file.input_at(kind, 3, &other),
    ];
    let output = file.output(kind, length);
    let arguments = [
        size(length),
        size(shape.len()),
        sizes(shape),
        sizes(decides),
        sizes(yes),
        sizes(no),
        Arg::In(&inputs[0]),
        Arg::In(&inputs[1]),
        Arg::In(&inputs[2]),
        Arg::Out(&output),
    ];
    let constants = [(0, dense[0]), (1, dense[1]), (2, dense[2])];
    let launched = file.launch(&kernel, &constants, &arguments, tiles(kind, length));
    let conditions = gather(&conditions, shape, decides);
    let (chosen, other) = (gather(&chosen, shape, yes), gather(&other, shape, no));
    let pick = |index: usize| match conditions[index] != 0.0 {
        true => chosen[index],
        false => other[index],
    };
    let expected: Vec<f64> = (0..length).map(pick).collect();
    let case = format!("{shape:?} by {strides:?}, contiguous {dense:?}");
    file.check_exact(&kernel, &case, launched, &output, &expected);
}
