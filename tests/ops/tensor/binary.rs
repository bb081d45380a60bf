//! Every function and comparison of two tensors, for every type.

use half::{bf16, f16};
use metal_bridge::ops::{Binary, Comparison, Ops, Right, Tensor};

use super::rows::both;
use super::spread::{Encode, layouts_agree};
use super::values::{Sample, is_close, read, room, samples};
use crate::support::{buffer, rng, run};

const OPERATIONS: [Binary; 8] = [
    Binary::Add,
    Binary::Sub,
    Binary::Mul,
    Binary::Div,
    Binary::Min,
    Binary::Max,
    Binary::Pow,
    Binary::Mod,
];

type Holds = fn(f64, f64) -> bool;

const COMPARISONS: [(Comparison, Holds); 6] = [
    (Comparison::Equal, |a, b| a == b),
    (Comparison::NotEqual, |a, b| a != b),
    (Comparison::Less, |a, b| a < b),
    (Comparison::LessEqual, |a, b| a <= b),
    (Comparison::Greater, |a, b| a > b),
    (Comparison::GreaterEqual, |a, b| a >= b),
];

/// All pairs of some elements.
pub fn pairs<T: Sample>(seed: u64) -> (Vec<T>, Vec<T>) {
    let some: Vec<T> = samples(&mut rng(seed), 45);
    let all = || some.iter().flat_map(|a| some.iter().map(|b| (*a, *b)));
    (
        all().map(|pair| pair.0).collect(),
        all().map(|pair| pair.1).collect(),
    )
}

/// The results with a tensor on the right, and with each of some numbers there.
fn results<T: Sample>(ops: &Ops, operation: Binary, a: &[T], b: &[T]) -> Vec<(T, T, T)> {
    let (a_buffer, b_buffer) = (buffer(a), buffer(b));
    let y_buffer = room::<T>(a.len());
    let tensor = |buffer| Tensor::of::<T>(buffer, &[a.len()]).unwrap();
    let (x, y) = (tensor(&a_buffer), tensor(&y_buffer));
    run(|encoder| ops.binary(encoder, operation, x, tensor(&b_buffer), y));
    let whole = read::<T>(&y_buffer);
    let mut all: Vec<_> = a
        .iter()
        .zip(b)
        .zip(whole)
        .map(|((a, b), y)| (*a, *b, y))
        .collect();
    for &scalar in &b[..12] {
        run(|encoder| ops.binary(encoder, operation, x, Right::scalar(scalar), y));
        let whole = read::<T>(&y_buffer);
        all.extend(a.iter().zip(whole).map(|(a, y)| (*a, scalar, y)));
    }
    all
}

fn exact_of_floats(operation: Binary, a: f64, b: f64) -> f64 {
    let nan = a.is_nan() || b.is_nan();
    match operation {
        Binary::Add => a + b,
        Binary::Sub => a - b,
        Binary::Mul => a * b,
        Binary::Div => a / b,
        Binary::Min | Binary::Max if nan => f64::NAN,
        Binary::Min => a.min(b),
        Binary::Max => a.max(b),
        Binary::Pow => a.powf(b),
        _ => {
            let rest = a % b;
            if rest != 0.0 && (rest < 0.0) != (b < 0.0) {
                rest + b
            } else {
                rest
            }
        }
    }
}

/// What a function of two elements gives, for each type.
pub trait Arithmetic: Sample {
    fn assert_right(operation: Binary, a: Self, b: Self, y: Self);
}

macro_rules! float_arithmetic {
    ($($rust:ty),*) => {
        $(impl Arithmetic for $rust {
            fn assert_right(operation: Binary, a: Self, b: Self, y: Self) {
                let units = match operation {
                    Binary::Min | Binary::Max => 0.0,
                    Binary::Pow => 16.0,
                    _ => 0.5,
                };
                let exact = exact_of_floats(operation, a.exact(), b.exact());
                assert!(
                    is_close(y, exact, units),
                    "{operation:?} of {a:?} and {b:?}, {}: {y:?} is not {exact}",
                    stringify!($rust)
                );
            }
        })*
    };
}

float_arithmetic!(f32, f16, bf16);

macro_rules! integer_arithmetic {
    ($($rust:ty),*) => {
        $(impl Arithmetic for $rust {
            fn assert_right(operation: Binary, a: Self, b: Self, y: Self) {
                let exact = match operation {
                    Binary::Add => a.wrapping_add(b),
                    Binary::Sub => a.wrapping_sub(b),
                    Binary::Mul => a.wrapping_mul(b),
                    Binary::Div if b == 0 => 0,
                    Binary::Div => a.wrapping_div(b),
                    Binary::Min => a.min(b),
                    Binary::Max => a.max(b),
                    Binary::Pow => power(a.into(), b.into()) as $rust,
                    _ if b == 0 => 0,
                    _ => {
                        let (a, b) = (i128::from(a), i128::from(b));
                        let rest = a % b;
                        (if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest }) as $rust
                    }
                };
                assert_eq!(y, exact, "{operation:?} of {a} and {b}, {}", stringify!($rust));
            }
        })*
    };
}

integer_arithmetic!(i8, u8, i32, u32, i64);

fn arithmetic<T: Arithmetic>(seed: u64) {
    let (a, b) = pairs::<T>(seed);
    for operation in OPERATIONS {
        for (a, b, y) in both().map(|ops| results(ops, operation, &a, &b)).concat() {
            T::assert_right(operation, a, b, y);
        }
    }
}

#[test]
fn arithmetic_of_floats_agrees_with_float64() {
    arithmetic::<f32>(60);
    arithmetic::<f16>(61);
    arithmetic::<bf16>(62);
}

/// Wrapped to 128 bits, whose lower bits are those of any type that wraps.
fn power(a: i128, b: i128) -> i128 {
    if b < 0 {
        return match a {
            1 => 1,
            -1 if b % 2 == 0 => 1,
            -1 => -1,
            _ => 0,
        };
    }
    let (mut result, mut base, mut rest) = (1i128, a, b);
    while rest > 0 {
        if rest & 1 == 1 {
            result = result.wrapping_mul(base);
        }
        base = base.wrapping_mul(base);
        rest >>= 1;
    }
    result
}

#[test]
fn arithmetic_of_integers_is_exact() {
    arithmetic::<i8>(63);
    arithmetic::<u8>(63);
    arithmetic::<i32>(63);
    arithmetic::<u32>(63);
    arithmetic::<i64>(63);
}

fn comparisons<T: Sample>(holds: impl Fn(Comparison, T, T) -> bool) {
    let (a, b) = pairs::<T>(64);
    let (a_buffer, b_buffer) = (buffer(&a), buffer(&b));
    let y_buffer = room::<u8>(a.len());
    let tensor = |buffer| Tensor::of::<T>(buffer, &[a.len()]).unwrap();
    let y = Tensor::of::<u8>(&y_buffer, &[a.len()]).unwrap();
    let all = both().map(|ops| COMPARISONS.map(|(comparison, _)| (ops, comparison)));
    for &(ops, comparison) in all.as_flattened() {
        let exact: Vec<u8> = a
            .iter()
            .zip(&b)
            .map(|(a, b)| holds(comparison, *a, *b).into())
            .collect();
        run(|encoder| ops.compare(encoder, comparison, tensor(&a_buffer), tensor(&b_buffer), y));
        assert_eq!(
            read::<u8>(&y_buffer),
            exact,
            "{comparison:?} of {}",
            T::DATA_TYPE.name()
        );
        let scalar = b[2];
        let exact: Vec<u8> = a
            .iter()
            .map(|a| holds(comparison, *a, scalar).into())
            .collect();
        run(|encoder| {
            ops.compare(
                encoder,
                comparison,
                tensor(&a_buffer),
                Right::scalar(scalar),
                y,
            )
        });
        assert_eq!(
            read::<u8>(&y_buffer),
            exact,
            "{comparison:?} of {} and {scalar:?}",
            T::DATA_TYPE.name()
        );
    }
}

#[test]
fn comparisons_take_every_layout() {
    fn compares<T: Sample + PartialOrd>(seed: u64) {
        let encode: Encode =
            |ops, encoder, [a, b], y| ops.compare(encoder, Comparison::Less, a, b, y);
        layouts_agree(seed, encode, |a: T, b| u8::from(a < b));
    }
    compares::<f32>(67);
    compares::<f16>(68);
    compares::<bf16>(69);
    compares::<i8>(67);
    compares::<u8>(68);
    compares::<i32>(69);
    compares::<u32>(67);
    compares::<i64>(68);
}

#[test]
fn comparisons_hold_as_in_rust() {
    fn of_floats(comparison: Comparison, a: f64, b: f64) -> bool {
        let (_, holds) = COMPARISONS
            .into_iter()
            .find(|known| known.0 == comparison)
            .unwrap();
        holds(a, b)
    }
    comparisons::<f32>(|c, a, b| of_floats(c, a.into(), b.into()));
    comparisons::<f16>(|c, a, b| of_floats(c, a.into(), b.into()));
    comparisons::<bf16>(|c, a, b| of_floats(c, a.into(), b.into()));
    comparisons::<i8>(|c, a, b| of_floats(c, a.into(), b.into()));
    comparisons::<u8>(|c, a, b| of_floats(c, a.into(), b.into()));
    comparisons::<i32>(|c, a, b| of_floats(c, a.into(), b.into()));
    comparisons::<u32>(|c, a, b| of_floats(c, a.into(), b.into()));
    // The difference of two is exact.
    comparisons::<i64>(|c, a, b| of_floats(c, (i128::from(a) - i128::from(b)) as f64, 0.0));
}
