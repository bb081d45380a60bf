//! Rotary position embeddings of `reduce.metal`: pairs of elements, turned by an angle that depends on the position.

use crate::buffers::{Arg, size};
use crate::check::{Approx, approx};
use crate::rig::{File, Grid};
use crate::types::Type;

/// A tensor of batches, heads, positions and elements.
struct Shape {
    batches: usize,
    heads: usize,
    positions: usize,
    elements: usize,
}

const SHAPES: [Shape; 3] = [
    Shape {
        batches: 1,
        heads: 1,
        positions: 1,
        elements: 2,
    },
    Shape {
        batches: 2,
        heads: 3,
        positions: 7,
        elements: 10,
    },
    Shape {
        batches: 3,
        heads: 4,
        positions: 33,
        elements: 64,
    },
];

impl Shape {
    fn count(&self) -> usize {
        self.batches * self.heads * self.positions * self.elements
    }

    /// Angles of one batch.
    fn angles(&self) -> usize {
        self.positions * self.elements / 2
    }
}

/// Which elements a kernel turns together, and in which order the tensor has its dimensions.
struct Variant {
    name: &'static str,
    /// Neighbours, rather than elements half a row apart.
    interleaved: bool,
    /// Positions come before heads.
    positions_first: bool,
}

const VARIANTS: [Variant; 3] = [
    Variant {
        name: "rope_i",
        interleaved: true,
        positions_first: false,
    },
    Variant {
        name: "rope",
        interleaved: false,
        positions_first: false,
    },
    Variant {
        name: "rope_thd",
        interleaved: false,
        positions_first: true,
    },
];

pub fn run(file: &File) {
    for variant in &VARIANTS {
        for kind in Type::FLOATS {
            for shape in &SHAPES {
                turn(file, variant, kind, shape, false);
                turn(file, variant, kind, shape, true);
            }
        }
    }
}

/// `own_angles`: each batch has angles of its own.
fn turn(file: &File, variant: &Variant, kind: Type, shape: &Shape, own_angles: bool) {
    let kernel = format!("{}_{}", variant.name, kind.name());
    let Shape {
        batches,
        heads,
        positions,
        elements,
    } = *shape;
    let angles = shape.angles() * if own_angles { batches } else { 1 };
    let values = file.values(kind, 1, shape.count(), -2.0..2.0);
    let turns = file.random(2, angles, -3.0..3.0);
    let rounded = |function: fn(f64) -> f64| -> Vec<f64> {
        turns
            .iter()
            .map(|angle| kind.nearest(function(*angle)))
            .collect()
    };
    let (cos, sin) = (rounded(f64::cos), rounded(f64::sin));
    let input = file.input_at(kind, 3, &values);
    let (cosines, sines) = (file.input_at(kind, 1, &cos), file.input_at(kind, 2, &sin));
    let output = file.output(kind, values.len());
    let stride = if own_angles {
        heads * positions * elements
    } else {
        0
    };
    let mut arguments = match variant.name {
        "rope_i" => vec![size(batches * heads), size(positions * elements)],
        "rope" => vec![
            size(batches * heads),
            size(positions * elements),
            size(elements),
        ],
        _ => vec![size(batches), size(positions), size(heads), size(elements)],
    };
    arguments.extend([
        size(stride),
        Arg::In(&input),
        Arg::In(&cosines),
        Arg::In(&sines),
        Arg::Out(&output),
    ]);
    let launched = file.launch(&kernel, &[], &arguments, Grid::Linear(values.len() / 2));
    let mut expected = vec![
        Approx {
            value: 0.0,
            error: 0.0
        };
        values.len()
    ];
    for row in 0..batches * heads * positions {
        let position = match variant.positions_first {
            true => row / heads % positions,
            false => row % positions,
        };
        let batch = if own_angles {
            row / (heads * positions)
        } else {
            0
        };
        for pair in 0..elements / 2 {
            let (first, second) = match variant.interleaved {
                true => (2 * pair, 2 * pair + 1),
                false => (pair, pair + elements / 2),
            };
            let (first, second) = (row * elements + first, row * elements + second);
            let angle = batch * shape.angles() + position * (elements / 2) + pair;
            let (x, y, c, s) = (values[first], values[second], cos[angle], sin[angle]);
            // Both products are rounded, at their sizes.
            let sum = |a: f64, b: f64| approx(a + b, (a.abs() + b.abs()) * kind.epsilon());
            expected[first] = sum(x * c, -y * s);
            expected[second] = sum(x * s, y * c);
        }
    }
    let case =
        format!("{batches} batches of {heads} heads, {positions} positions, {elements} elements");
    file.check(&kernel, &case, launched, &output, &expected);
}
