//! NaN and infinities in the operands of the engine's kernels: a result is NaN, infinite or finite where it is so in float64.
//! The tests of argmax, of experts and of attention have more of them.

use crate::support::{Guarded, buffer, ops, rng, run, uniform};
use metal_bridge::ops::{Gate, RopePairing, RopeShape, Weight, WeightType};
use metal_bridge::{Buffer, ComputeEncoder, Result};

type Encode = dyn Fn(&mut ComputeEncoder<'_>, &[Buffer], &Guarded) -> Result<()>;
/// The result, of the operands and of what was in its place.
type Reference = dyn Fn(&[Vec<f64>], &[f64]) -> Vec<f64>;

struct Case {
    name: &'static str,
    /// How many elements each operand has.
    operands: &'static [usize],
    results: usize,
    /// Whether what is in the result's place is an operand too.
    is_in_place: bool,
    encode: Box<Encode>,
    reference: Box<Reference>,
}

impl Case {
    fn check(&self) {
        let mut rng = rng(60);
        let mut values: Vec<Vec<f32>> = (self.operands.iter().chain([&self.results]))
            .map(|&count| uniform(&mut rng, count))
            .collect();
        let poisoned = self.operands.len() + usize::from(self.is_in_place);
        for operand in 0..poisoned {
            let last = values[operand].len() - 1;
            for position in [0, last / 2, last] {
                for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                    let before = std::mem::replace(&mut values[operand][position], value);
                    let what = format!("{}: {value} at {position} of operand {operand}", self.name);
                    self.compare(&what, &values);
                    values[operand][position] = before;
                }
            }
        }
    }

    fn compare(&self, what: &str, values: &[Vec<f32>]) {
        let (start, operands) = values.split_last().expect("the result's place");
        let buffers: Vec<Buffer> = operands.iter().map(|values| buffer(values)).collect();
        let y = Guarded::holding(start);
        run(|encoder| (self.encode)(encoder, &buffers, &y));
        let double = |values: &Vec<f32>| values.iter().map(|&value| f64::from(value)).collect();
        let operands: Vec<Vec<f64>> = operands.iter().map(double).collect();
        let exact = (self.reference)(&operands, &double(start));
        let found = y.read::<f32>();
        assert_eq!(found.len(), exact.len(), "{what}");
        for (index, (found, exact)) in found.iter().zip(exact).enumerate() {
            let found = f64::from(*found);
            let is_right = (found.is_nan() && exact.is_nan())
                || found == exact
                || (exact.is_finite() && (found - exact).abs() <= 1e-5 * (1.0 + exact.abs()));
            assert!(is_right, "{what}: element {index} is {found}, not {exact}");
        }
    }
}

fn elements(name: &'static str, gate: Gate, of: fn(f64, f64) -> f64) -> Case {
    Case {
        name,
        operands: &[6, 6],
        results: 6,
        is_in_place: false,
        encode: Box::new(move |encoder, x, y| ops().gate(encoder, gate, &x[0], &x[1], y.view(), 6)),
        reference: Box::new(move |x, _| x[0].iter().zip(&x[1]).map(|(&a, &b)| of(a, b)).collect()),
    }
}

/// 0 at minus infinity, as documented.
fn silu(a: f64) -> f64 {
    if a == f64::NEG_INFINITY {
        return 0.0;
    }
    a / (1.0 + (-a).exp())
}

#[test]
fn gates_are_not_finite_where_they_are_in_float64() {
    elements("SiLU", Gate::Silu, |a, b| silu(a) * b).check();
    let gelu = |a: f64, b: f64| {
        let inner = (2.0 / std::f64::consts::PI).sqrt() * (a + 0.044715 * a.powi(3));
        let gate = match a == f64::NEG_INFINITY {
            true => 0.0,
            false => 0.5 * a * (1.0 + inner.tanh()),
        };
        gate * b
    };
    elements("GELU", Gate::GeluTanh, gelu).check();
    // Comparisons with NaN are false, so it stays.
    let clamped = |a: f64, b: f64| {
        let a = if a > 7.0 { 7.0 } else { a };
        silu(1.702 * a) / 1.702 * (b.clamp(-7.0, 7.0) + 1.0)
    };
    elements("clamped", Gate::Clamped, clamped).check();
    let cap = Case {
        name: "soft cap",
        operands: &[],
        results: 6,
        is_in_place: true,
        encode: Box::new(|encoder, _, y| ops().soft_cap(encoder, y.view(), 6, 30.0)),
        reference: Box::new(|_, y| y.iter().map(|y| 30.0 * (y / 30.0).tanh()).collect()),
    };
    cap.check();
}

fn norm(x: &[f64], weight: &[f64]) -> Vec<f64> {
    let rows = x.chunks(weight.len());
    let row = |row: &[f64]| -> Vec<f64> {
        let mean = row.iter().map(|x| x * x).sum::<f64>() / row.len() as f64;
        let all = row.iter().zip(weight);
        all.map(|(x, weight)| x / (mean + 1e-5).sqrt() * weight)
            .collect()
    };
    rows.flat_map(row).collect()
}

fn sum(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

#[test]
fn norms_are_not_finite_where_they_are_in_float64() {
    let plain = Case {
        name: "norm",
        operands: &[140, 70],
        results: 140,
        is_in_place: false,
        encode: Box::new(|encoder, x, y| {
            ops().rms_norm(encoder, &x[0], &x[1], y.view(), 2, 70, 1e-5)
        }),
        reference: Box::new(|x, _| norm(&x[0], &x[1])),
    };
    let of_sum = Case {
        name: "norm of a sum",
        operands: &[140, 140, 70],
        encode: Box::new(|encoder, x, y| {
            ops().add_rms_norm(encoder, &x[0], &x[1], &x[2], y.view(), 2, 70, 1e-5)
        }),
        reference: Box::new(|x, _| norm(&sum(&x[0], &x[1]), &x[2])),
        ..plain
    };
    let added = Case {
        name: "norm that is added",
        operands: &[140, 70],
        is_in_place: true,
        encode: Box::new(|encoder, x, y| {
            ops().rms_norm_add(encoder, &x[0], &x[1], y.view(), 2, 70, 1e-5)
        }),
        reference: Box::new(|x, y| sum(&norm(&x[0], &x[1]), y)),
        ..of_sum
    };
    for case in [plain, of_sum, added] {
        case.check();
    }
}

#[test]
fn rotated_pairs_are_not_finite_where_they_are_in_float64() {
    let shape = RopeShape {
        rows: 2,
        heads: 2,
        head_size: 6,
        pairs: 2,
        magnitude: 1.5,
        first_position: 0,
        pairing: RopePairing::HalfSplit,
    };
    let reference = move |frequencies: &[f64], x: &[f64]| {
        let mut y = x.to_vec();
        for (index, head) in y.chunks_mut(shape.head_size).enumerate() {
            for pair in 0..shape.pairs {
                let angle = (index / shape.heads) as f64 * frequencies[pair];
                let (sine, cosine) = angle.sin_cos();
                let (a, b) = (head[pair], head[pair + shape.pairs]);
                head[pair] = 1.5 * (a * cosine - b * sine);
                head[pair + shape.pairs] = 1.5 * (a * sine + b * cosine);
            }
        }
        y
    };
    let case = Case {
        name: "rope",
        operands: &[2],
        results: 24,
        is_in_place: true,
        encode: Box::new(move |encoder, x, y| ops().rope(encoder, y.view(), &x[0], &shape)),
        reference: Box::new(move |x, y| reference(&x[0], y)),
    };
    case.check();
}

/// Rows of 2 experts each, and 3 columns.
#[test]
fn mixtures_are_not_finite_where_they_are_in_float64() {
    let mix = |x: &[f64], shares: &[f64], y: &[f64]| -> Vec<f64> {
        let element = |(index, y): (usize, &f64)| {
            let (row, column) = (index / 3, index % 3);
            let of = |slot: usize| shares[row * 2 + slot] * x[(row * 2 + slot) * 3 + column];
            y + 0.5 * (of(0) + of(1))
        };
        y.iter().enumerate().map(element).collect()
    };
    let case = Case {
        name: "mixture",
        operands: &[12, 4],
        results: 6,
        is_in_place: true,
        encode: Box::new(|encoder, x, y| {
            ops().mix_experts(encoder, &x[0], &x[1], y.view(), 2, 2, 3, 0.5)
        }),
        reference: Box::new(move |x, y| mix(&x[0], &x[1], y)),
    };
    case.check();
}

const COLUMNS: usize = 40;

/// The weights of the last operand: `rows` rows of 40.
fn weight(x: &[Buffer], rows: usize) -> Weight {
    let buffer = x.last().expect("weights").clone();
    Weight::new(buffer, 0, rows, COLUMNS, WeightType::F32).expect("a weight")
}

/// One row, and so many that simdgroup matrices multiply: 40 columns fill no tile of either.
#[test]
fn products_are_not_finite_where_they_are_in_float64() {
    let product = |rows: &'static [usize; 2], m: usize| Case {
        name: "product",
        operands: rows,
        results: m * 3,
        is_in_place: false,
        encode: Box::new(move |encoder, x, y| {
            ops().linear(encoder, &weight(x, 3), &x[0], y.view(), m)
        }),
        reference: Box::new(|x, _| {
            let of = |row: &[f64], w: &[f64]| row.iter().zip(w).map(|(x, w)| x * w).sum();
            let of_row =
                |row: &[f64]| -> Vec<f64> { x[1].chunks(COLUMNS).map(|w| of(row, w)).collect() };
            x[0].chunks(COLUMNS).flat_map(of_row).collect()
        }),
    };
    product(&[COLUMNS, 3 * COLUMNS], 1).check();
    product(&[12 * COLUMNS, 3 * COLUMNS], 12).check();
    let rows = Case {
        name: "rows of a table",
        operands: &[3 * COLUMNS],
        results: 2 * COLUMNS,
        is_in_place: false,
        encode: Box::new(|encoder, x, y| {
            ops().embed(encoder, &weight(x, 3), &buffer(&[2u32, 0]), y.view(), 2)
        }),
        reference: Box::new(|x, _| [&x[0][2 * COLUMNS..], &x[0][..COLUMNS]].concat()),
    };
    rows.check();
}
