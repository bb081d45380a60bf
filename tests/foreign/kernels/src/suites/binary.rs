//! `binary.metal`: arithmetic and comparisons of two tensors, each contiguous, a view or a single value.

use crate::buffers::{Arg, size, sizes};
use crate::check::{Approx, approx, exact};
use crate::layout::{VIEWS, contiguous, count, extent, gather};
use crate::rig::File;
use crate::suites::unary::tiles;
use crate::types::Type;

/// An operation: its name, whether it gives truth values, its result.
struct Operation {
    name: &'static str,
    compares: bool,
    reference: fn(Type, f64, f64) -> Approx,
}

fn truth(value: bool) -> Approx {
    exact(f64::from(u8::from(value)))
}

const OPERATIONS: [Operation; 12] = [
    Operation {
        name: "badd",
        compares: false,
        reference: |kind, x, y| arithmetic(kind, x + y),
    },
    Operation {
        name: "bsub",
        compares: false,
        reference: |kind, x, y| arithmetic(kind, x - y),
    },
    Operation {
        name: "bmul",
        compares: false,
        reference: |kind, x, y| arithmetic(kind, x * y),
    },
    Operation {
        name: "bdiv",
        compares: false,
        reference: divide,
    },
    Operation {
        name: "bminimum",
        compares: false,
        reference: |_, x, y| exact(x.min(y)),
    },
    Operation {
        name: "bmaximum",
        compares: false,
        reference: |_, x, y| exact(x.max(y)),
    },
    Operation {
        name: "eq",
        compares: true,
        reference: |_, x, y| truth(x == y),
    },
    Operation {
        name: "ne",
        compares: true,
        reference: |_, x, y| truth(x != y),
    },
    Operation {
        name: "le",
        compares: true,
        reference: |_, x, y| truth(x <= y),
    },
    Operation {
        name: "lt",
        compares: true,
        reference: |_, x, y| truth(x < y),
    },
    Operation {
        name: "ge",
        compares: true,
        reference: |_, x, y| truth(x >= y),
    },
    Operation {
        name: "gt",
        compares: true,
        reference: |_, x, y| truth(x > y),
    },
];

/// Rounded once by floats, wrapped around by integers.
fn arithmetic(kind: Type, value: f64) -> Approx {
    exact(if kind.is_float() {
        value
    } else {
        kind.nearest(value)
    })
}

/// Fast arithmetic may multiply by a reciprocal: 2.5 units in the last place.
fn divide(kind: Type, x: f64, y: f64) -> Approx {
    match kind.is_float() {
        true => approx(x / y, (x / y).abs() * 5.0 * kind.epsilon()),
        false => exact((x / y).trunc()),
    }
}

/// How an operand lies, as the ends of the kernels' names say it.
#[derive(Clone, Copy, PartialEq)]
enum Operand {
    Contiguous,
    View,
    Scalar,
}

use Operand::{Contiguous, Scalar, View};

/// The kernels beside the one for two contiguous tensors.
const VARIANTS: [(&str, Operand, Operand); 8] = [
    ("strided", View, View),
    ("lstrided", View, Contiguous),
    ("rstrided", Contiguous, View),
    ("scalar", Scalar, Scalar),
    ("cs", Contiguous, Scalar),
    ("sc", Scalar, Contiguous),
    ("rss", Scalar, View),
    ("lss", View, Scalar),
];

pub fn run(file: &File) {
    for operation in &OPERATIONS {
        for kind in Type::ALL {
            plain(file, operation, kind);
            for (variant, left, right) in VARIANTS {
                let kernel = format!("{}_{}_{variant}", operation.name, kind.name());
                for (shape, strides) in VIEWS {
                    indexed(
                        file,
                        operation,
                        kind,
                        &kernel,
                        (left, right),
                        (shape, strides),
                    );
                }
            }
        }
    }
}

/// Operands whose products and quotients are what the type is made for: unsigned integers wrap around, `i64` is signed
/// and needs more than 32 bits.
fn operands(file: &File, kind: Type, seed: u64, length: usize) -> Vec<f64> {
    let values = match kind {
        Type::U8 => file.values(kind, seed, length, 1.0..255.0),
        Type::U32 => file.values(kind, seed, length, 1.0..67_000_000.0),
        Type::I64 => file.values(kind, seed, length, -90_000_000.0..-1.0),
        _ => file.values(kind, seed, length, 0.5..9.0),
    };
    // Every seventh is the same, so that comparisons meet equal operands.
    let seventh = |(index, value)| {
        if index % 7 == 0 {
            kind.nearest(2.0)
        } else {
            value
        }
    };
    values.into_iter().enumerate().map(seventh).collect()
}

fn result_type(operation: &Operation, kind: Type) -> Type {
    if operation.compares { Type::U8 } else { kind }
}

fn plain(file: &File, operation: &Operation, kind: Type) {
    let kernel = format!("{}_{}", operation.name, kind.name());
    for (length, offset) in [(1, 0), (37, 3), (2049, 5)] {
        let (x, y) = (
            operands(file, kind, 1, length),
            operands(file, kind, 2, length),
        );
        let (left, right) = (file.input_at(kind, offset, &x), file.input_at(kind, 1, &y));
        let output = file.output(result_type(operation, kind), length);
        let arguments = [
            size(length),
            Arg::In(&left),
            Arg::In(&right),
            Arg::Out(&output),
        ];
        let launched = file.launch(&kernel, &[], &arguments, tiles(kind, length));
        let case = format!("{length} elements, offset {offset}");
        file.check(
            &kernel,
            &case,
            launched,
            &output,
            &expected(operation, kind, &x, &y),
        );
    }
}

fn expected(operation: &Operation, kind: Type, x: &[f64], y: &[f64]) -> Vec<Approx> {
    let pairs = x.iter().zip(y);
    pairs
        .map(|(x, y)| (operation.reference)(kind, *x, *y))
        .collect()
}

fn indexed(
    file: &File,
    operation: &Operation,
    kind: Type,
    kernel: &str,
    (left, right): (Operand, Operand),
    (shape, strides): (&[usize], &[usize]),
) {
    let length = count(shape);
    let dense = contiguous(shape);
    let zeros = vec![0; shape.len()];
    let strides_of = |operand: Operand| match operand {
        Contiguous => dense.as_slice(),
        View => strides,
        Scalar => zeros.as_slice(),
    };
    let values = |operand, seed| operands(file, kind, seed, extent(shape, strides_of(operand)));
    let (x, y) = (values(left, 3), values(right, 4));
    let inputs = (file.input_at(kind, 2, &x), file.input_at(kind, 1, &y));
    let output = file.output(result_type(operation, kind), length);
    let arguments = [
        size(length),
        size(shape.len()),
        sizes(shape),
        sizes(strides_of(left)),
        sizes(strides_of(right)),
        Arg::In(&inputs.0),
        Arg::In(&inputs.1),
        Arg::Out(&output),
    ];
    let launched = file.launch(kernel, &[], &arguments, tiles(kind, length));
    let (x, y) = (
        gather(&x, shape, strides_of(left)),
        gather(&y, shape, strides_of(right)),
    );
    let case = format!("{shape:?} by {strides:?}");
    file.check(
        kernel,
        &case,
        launched,
        &output,
        &expected(operation, kind, &x, &y),
    );
}
