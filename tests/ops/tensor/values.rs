//! Tensors with their exact values: what the tests of all types share.

use half::{bf16, f16};
use metal_bridge::Buffer;
use metal_bridge::ops::{DataType, Element};
use rand::Rng;
use rand::rngs::SmallRng;

use crate::support::buffer;

/// An element and its value as a number: exact, but for large numbers of type `i64`.
pub trait Sample: Element + PartialEq + std::fmt::Debug {
    fn exact(self) -> f64;
    /// The nearest element.
    fn nearest(value: f64) -> Self;
    fn random(rng: &mut SmallRng) -> Self;
}

/// Half a unit in the last place of a float of this type, relative to the float.
pub fn half_unit(data_type: DataType) -> f64 {
    match data_type {
        DataType::F16 => 2f64.powi(-11),
        DataType::BF16 => 2f64.powi(-8),
        _ => 2f64.powi(-24),
    }
}

/// The least positive float of this type.
pub fn least(data_type: DataType) -> f64 {
    match data_type {
        DataType::F16 => 2f64.powi(-24),
        DataType::BF16 => 2f64.powi(-133),
        _ => 2f64.powi(-149),
    }
}

macro_rules! float_samples {
    ($($rust:ty),*) => {
        $(impl Sample for $rust {
            fn exact(self) -> f64 {
                f64::from(self)
            }
            fn nearest(value: f64) -> Self {
                <$rust>::from_f32(value as f32)
            }
            /// A number of any size, but often near 1.
            fn random(rng: &mut SmallRng) -> Self {
                let size = if rng.random_bool(0.2) { rng.random_range(-30.0..14.0) } else { rng.random_range(-3.0..4.0) };
                let sign = if rng.random_bool(0.5) { 1.0 } else { -1.0 };
                Self::nearest(sign * f64::exp2(size))
            }
        })*
    };
}

trait FromF32 {
    fn from_f32(value: f32) -> Self;
}

impl FromF32 for f32 {
    fn from_f32(value: f32) -> f32 {
        value
    }
}

float_samples!(f32, f16, bf16);

macro_rules! integer_samples {
    ($($rust:ty),*) => {
        $(impl Sample for $rust {
            fn exact(self) -> f64 {
                self as f64
            }
            fn nearest(value: f64) -> Self {
                value as $rust
            }
            /// Small ones, all, and those at the ends.
            fn random(rng: &mut SmallRng) -> Self {
                match rng.random_range(0..8) {
                    0 => <$rust>::MIN,
                    1 => <$rust>::MAX,
                    2 | 3 => rng.random(),
                    _ => (rng.random_range(0..12) as $rust).wrapping_sub(4),
                }
            }
        })*
    };
}

integer_samples!(i8, u8, i32, u32, i64);

/// Whether `y` is the exact value but for `units` in the last place of an `f32`, and the rounding to its type after that.
pub fn is_close<T: Sample>(y: T, exact: f64, units: f64) -> bool {
    let relative = 2.0 * units * half_unit(DataType::F32) + half_unit(T::DATA_TYPE);
    let bound = exact.abs() * relative + least(T::DATA_TYPE) + units * f64::from(f32::MIN_POSITIVE);
    let nearest = T::nearest(exact).exact();
    let (y, largest) = (y.exact(), T::nearest(f64::MAX).exact());
    y == nearest
        || (y.is_nan() && exact.is_nan())
        || (y - exact).abs() <= bound
        || (y.abs() == largest.abs() && nearest.abs() * (1.0 + relative) >= largest.abs())
}

/// Whether they are equal, or both NaN.
pub fn is_same<T: Sample>(y: T, exact: T) -> bool {
    y == exact || (y.exact().is_nan() && exact.exact().is_nan())
}

/// `value`, but once in a while infinity of either sign or NaN; of integers the numbers nearest to these.
pub fn or_not_finite<T: Sample>(rng: &mut SmallRng, value: T) -> T {
    match rng.random_range(0..100) {
        0 => T::nearest(f64::INFINITY),
        1 => T::nearest(f64::NEG_INFINITY),
        2 => T::nearest(f64::NAN),
        _ => value,
    }
}

/// Random elements, after those that calculations stumble over.
pub fn samples<T: Sample>(rng: &mut SmallRng, count: usize) -> Vec<T> {
    let special = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -2.5,
        1.5,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        100.0,
        -100.0,
        1e-40,
        6e-5,
        -6e-8,
        3e38,
    ];
    special
        .iter()
        .map(|value| T::nearest(*value))
        .chain(std::iter::repeat_with(|| T::random(rng)))
        .take(count)
        .collect()
}

/// A buffer for `count` elements, full of a byte that no test expects.
pub fn room<T: Sample>(count: usize) -> Buffer {
    buffer(&vec![0xA5u8; count * size_of::<T>()])
}

pub fn read<T: Sample>(buffer: &Buffer) -> Vec<T> {
    buffer.wait_read::<T>().expect("readable").to_vec()
}
