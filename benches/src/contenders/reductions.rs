//! Reductions as plain loops over rows, which the compiler makes vectors of, on all cores.

use half::{bf16, f16};
use rayon::prelude::*;

use super::part;

/// Results side by side that do not wait for one another: several vectors of the widest registers.
const LANES: usize = 64;

/// An element that vectors are able to widen.
pub trait Element: Copy + Send + Sync {
    fn widened(self) -> f32;
}

impl Element for f32 {
    fn widened(self) -> f32 {
        self
    }
}

impl Element for f16 {
    /// Of finite numbers. The crate's own conversion goes one by one.
    #[inline(always)]
    fn widened(self) -> f32 {
        let bits = u32::from(self.to_bits());
        let size = f32::from_bits((bits & 0x7fff) << 13) * f32::from_bits(0x7780_0000);
        f32::from_bits(size.to_bits() | (bits & 0x8000) << 16)
    }
}

impl Element for bf16 {
    #[inline(always)]
    fn widened(self) -> f32 {
        f32::from_bits(u32::from(self.to_bits()) << 16)
    }
}

/// What a row gives.
#[derive(Clone, Copy)]
pub enum Reduction {
    Sum,
    Mean,
    Max,
    /// For a sample.
    Variance,
    /// Where the first of the largest elements is.
    ArgMax,
}

impl Reduction {
    /// `y` of each row of `x`.
    ///
    /// # Panics
    /// If `x` does not have as many rows as `y` has elements.
    pub fn of_rows<T: Element>(self, x: &[T], y: &mut [f32]) {
        let width = x.len() / y.len();
        assert_eq!(x.len(), y.len() * width);
        let rows = part(y.len());
        x.par_chunks(rows * width)
            .zip(y.par_chunks_mut(rows))
            .for_each(|(x, y)| {
                for (x, y) in x.chunks_exact(width).zip(y) {
                    *y = self.of_row(x);
                }
            });
    }

    fn of_row<T: Element>(self, x: &[T]) -> f32 {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the processor has both.
            return unsafe { self.of_row_avx2(x) };
        }
        self.of(x)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn of_row_avx2<T: Element>(self, x: &[T]) -> f32 {
        self.of(x)
    }

    #[inline(always)]
    fn of<T: Element>(self, x: &[T]) -> f32 {
        let count = x.len() as f32;
        let add = |sum: f32, value: f32| sum + value;
        match self {
            Reduction::Sum => folded(x, 0.0, |value| value, add),
            Reduction::Mean => folded(x, 0.0, |value| value, add) / count,
            Reduction::Max => folded(x, f32::NEG_INFINITY, |value| value, larger),
            Reduction::Variance => {
                let mean = folded(x, 0.0, |value| value, add) / count;
                let square = |value: f32| (value - mean) * (value - mean);
                folded(x, 0.0, square, add) / (count - 1.0)
            }
            Reduction::ArgMax => {
                let largest = folded(x, f32::NEG_INFINITY, |value| value, larger);
                let place = x.iter().position(|value| value.widened() == largest);
                place.unwrap_or(0) as f32
            }
        }
    }
}

#[inline(always)]
fn larger(a: f32, b: f32) -> f32 {
    if b > a { b } else { a }
}

#[inline(always)]
fn folded<T: Element>(
    x: &[T],
    start: f32,
    of: impl Fn(f32) -> f32,
    join: impl Fn(f32, f32) -> f32,
) -> f32 {
    let mut all = [start; LANES];
    let chunks = x.chunks_exact(LANES);
    let rest = chunks.remainder().iter();
    let rest = rest.fold(start, |all, value| join(all, of(value.widened())));
    for chunk in chunks {
        for (all, value) in all.iter_mut().zip(chunk) {
            *all = join(*all, of(value.widened()));
        }
    }
    all.into_iter().fold(rest, join)
}

/// `y` = the sums of the columns of `x`, whose rows are as long as `y`.
///
/// # Panics
/// If `x` does not consist of such rows.
pub fn sums_of_columns<T: Element>(x: &[T], y: &mut [f32]) {
    let width = y.len();
    assert_eq!(x.len() % width, 0);
    let sums = x
        .par_chunks(part(x.len() / width) * width)
        .map(|rows| {
            let mut sums = vec![0.0f32; width];
            for row in rows.chunks_exact(width) {
                add_row(&mut sums, row);
            }
            sums
        })
        .reduce(
            || vec![0.0; width],
            |mut a, b| {
                add_row(&mut a, &b);
                a
            },
        );
    y.copy_from_slice(&sums);
}

fn add_row<T: Element>(sums: &mut [f32], row: &[T]) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has it.
        return unsafe { add_row_avx2(sums, row) };
    }
    add_row_plain(sums, row);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn add_row_avx2<T: Element>(sums: &mut [f32], row: &[T]) {
    add_row_plain(sums, row);
}

#[inline(always)]
fn add_row_plain<T: Element>(sums: &mut [f32], row: &[T]) {
    for (sum, value) in sums.iter_mut().zip(row) {
        *sum += value.widened();
    }
}
