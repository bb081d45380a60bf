//! Rotary embedding against float64: both pairings, factors, scaling, positions far out.

use crate::support::{EPSILON, Guarded, assert_close, buffer, ops, refused, rng, run, uniform};
use metal_bridge::Error;
use metal_bridge::ops::{RopePairing, RopeShape, rope_frequencies};

/// Rotates in float64, by the definition; with the tolerance of each element.
fn reference(x: &[f32], shape: &RopeShape, frequencies: &[f64]) -> Vec<(f64, f64)> {
    let mut result: Vec<(f64, f64)> = x.iter().map(|value| (f64::from(*value), 0.0)).collect();
    for (index, head) in result.chunks_mut(shape.head_size).enumerate() {
        let position = (shape.first_position + index / shape.heads) as f64;
        for (pair, frequency) in frequencies.iter().enumerate() {
            let (first, second) = match shape.pairing {
                RopePairing::Interleaved => (2 * pair, 2 * pair + 1),
                RopePairing::HalfSplit => (pair, pair + shape.pairs),
            };
            let angle = position * frequency;
            let (sine, cosine) = angle.sin_cos();
            let (a, b) = (head[first].0, head[second].0);
            // The frequency and the angle are rounded once each, the sine and cosine to a few units.
            let allowed = (a.abs() + b.abs()) * EPSILON * (2.0 * angle + 8.0);
            let magnitude = f64::from(shape.magnitude);
            head[first] = ((a * cosine - b * sine) * magnitude, allowed * magnitude);
            head[second] = ((a * sine + b * cosine) * magnitude, allowed * magnitude);
        }
    }
    result
}

fn check(shape: RopeShape, base: f64, scale: f64, factors: Option<&[f32]>) {
    let mut rng = rng((shape.rows * 31 + shape.heads * 7 + shape.first_position) as u64);
    let x = uniform(&mut rng, shape.rows * shape.heads * shape.head_size);
    let y = Guarded::holding(&x);
    let frequencies = rope_frequencies(base, 2 * shape.pairs, scale, factors).expect("frequencies");
    let frequency_buffer = buffer(&frequencies);
    run(|encoder| ops().rope(encoder, y.view(), &frequency_buffer, &shape));
    let exact: Vec<f64> = (0..shape.pairs)
        .map(|pair| {
            let factor = factors.map_or(1.0, |factors| f64::from(factors[pair]));
            scale / factor / base.powf(pair as f64 / shape.pairs as f64)
        })
        .collect();
    assert_close(
        &format!("{shape:?}"),
        &y.read(),
        reference(&x, &shape, &exact),
    );
}

fn shape(
    rows: usize,
    heads: usize,
    head_size: usize,
    first_position: usize,
    pairing: RopePairing,
) -> RopeShape {
    RopeShape {
        rows,
        heads,
        head_size,
        pairs: head_size / 2,
        magnitude: 1.0,
        first_position,
        pairing,
    }
}

#[test]
fn both_pairings_agree_with_float64_at_all_sizes() {
    for pairing in [RopePairing::Interleaved, RopePairing::HalfSplit] {
        for (rows, heads, head_size) in [
            (1, 1, 2),
            (1, 32, 64),
            (5, 4, 128),
            (3, 8, 32),
            (2, 3, 80),
            (33, 1, 6),
        ] {
            for first_position in [0, 1, 511] {
                check(
                    shape(rows, heads, head_size, first_position, pairing),
                    10_000.0,
                    1.0,
                    None,
                );
            }
        }
    }
}

#[test]
fn positions_far_out_agree_with_float64() {
    for first_position in [4095, 100_000, 1_000_000] {
        check(
            shape(2, 2, 128, first_position, RopePairing::Interleaved),
            500_000.0,
            1.0,
            None,
        );
    }
}

#[test]
fn scaling_and_factors_agree_with_float64() {
    let factors: Vec<f32> = (0..32).map(|pair| 1.0 + pair as f32 / 4.0).collect();
    check(
        shape(4, 2, 64, 77, RopePairing::Interleaved),
        500_000.0,
        1.0,
        Some(&factors),
    );
    check(
        shape(4, 2, 64, 77, RopePairing::HalfSplit),
        10_000.0,
        0.25,
        Some(&factors),
    );
    check(
        shape(4, 2, 64, 77, RopePairing::Interleaved),
        10_000.0,
        0.125,
        None,
    );
}

#[test]
fn elements_past_the_pairs_stay() {
    for pairing in [RopePairing::Interleaved, RopePairing::HalfSplit] {
        check(
            RopeShape {
                pairs: 5,
                magnitude: 1.25,
                ..shape(3, 2, 24, 9, pairing)
            },
            10_000.0,
            1.0,
            None,
        );
    }
}

#[test]
fn bad_shapes_are_refused() {
    let (x, frequencies) = (buffer(&[0.0f32; 64]), buffer(&[1.0f32; 8]));
    let good = shape(2, 2, 16, 0, RopePairing::Interleaved);
    let rope = |shape: RopeShape| refused(|encoder| ops().rope(encoder, &x, &frequencies, &shape));
    assert!(matches!(
        rope(RopeShape { pairs: 9, ..good }),
        Error::InvalidArgument(_)
    ));
    assert!(matches!(
        rope(RopeShape { rows: 3, ..good }),
        Error::OutOfRange(_)
    ));
    assert!(matches!(
        rope(RopeShape {
            first_position: u32::MAX as usize,
            ..good
        }),
        Error::OutOfRange(_)
    ));
    let error = rope(RopeShape {
        heads: 1,
        head_size: 32,
        pairs: 16,
        ..good
    });
    assert!(
        matches!(error, Error::OutOfRange(_)) && error.to_string().contains("frequencies"),
        "{error}"
    );
}
