//! Images in other sizes against float64.

use half::{bf16, f16};
use metal_bridge::ops::Interpolation;
use rand::Rng;

use super::pooling::{Image, agrees};
use super::rows::both;
use super::values::Sample;
use crate::support::{EPSILON, rng, run};

/// The two elements that a result lies between, and how near the second is.
fn source(
    interpolation: Interpolation,
    size: usize,
    results: usize,
    at: usize,
) -> (usize, usize, f64) {
    let (from, to) = (size as f64, results as f64);
    let position = match interpolation {
        Interpolation::Nearest => return (at * size / results, 0, 0.0),
        Interpolation::Linear => ((at as f64 + 0.5) * from / to - 0.5).max(0.0),
        Interpolation::LinearAlignedCorners if results == 1 => 0.0,
        Interpolation::LinearAlignedCorners => at as f64 * (from - 1.0) / (to - 1.0),
    };
    // float64 may be just beside an element.
    let first = ((position + 1e-12).floor() as usize).min(size - 1);
    let part = position - first as f64;
    (
        first,
        (first + 1).min(size - 1),
        if part < 1e-12 { 0.0 } else { part },
    )
}

/// An element without a part in the result may be infinite.
fn between(a: f64, b: f64, part: f64) -> f64 {
    if part == 0.0 {
        return a;
    }
    a * (1.0 - part) + b * part
}

fn other_sizes<T: Sample>(seed: u64) {
    let mut rng = rng(seed);
    let all = [
        Interpolation::Nearest,
        Interpolation::Linear,
        Interpolation::LinearAlignedCorners,
    ];
    for round in 0..24 {
        let (ops, interpolation) = (both()[round % 2], all[round / 2 % 3]);
        let mut pair = |from: usize, to: usize| [(); 2].map(|()| rng.random_range(from..=to));
        let ([n, c], [h, w], sizes) = (pair(1, 4), pair(1, 9), pair(1, 20));
        let x = Image::<T>::random(&mut rng, [n, c, h, w]);
        let sizes = [sizes[0], sizes[1] + if round % 5 == 0 { 140 } else { 0 }];
        agrees::<T>(
            &mut rng,
            [n, c, sizes[0], sizes[1]],
            &format!("{interpolation:?} {:?} {sizes:?}", x.shape),
            |y| run(|encoder| ops.resample(encoder, interpolation, x.tensor(), y)),
            |plane, row, column| {
                let (top, bottom, down) = source(interpolation, h, sizes[0], row);
                let (left, right, along) = source(interpolation, w, sizes[1], column);
                let line = |row| between(x.at(plane, row, left), x.at(plane, row, right), along);
                let exact = between(line(top), line(bottom), down);
                let is_copy = interpolation == Interpolation::Nearest;
                (exact, if is_copy { 0.0 } else { 6.0 * EPSILON })
            },
        );
    }
}

#[test]
fn other_sizes_agree_with_float64() {
    other_sizes::<f32>(420);
    other_sizes::<f16>(421);
    other_sizes::<bf16>(422);
}
