//! Seeded matrices in every weight format that the benchmarks use.

use half::f16;
use rand::{Rng, SeedableRng, rngs::SmallRng};

/// Weights that share a scale in Q8_0.
const BLOCK: usize = 32;

/// `count` values, uniform in `-1.0..1.0`, the same for the same seed.
pub fn uniform(count: usize, seed: u64) -> Vec<f32> {
    let mut rng = SmallRng::seed_from_u64(seed);
    (0..count).map(|_| rng.random_range(-1.0..1.0)).collect()
}

/// The values in half precision.
pub fn to_f16(values: &[f32]) -> Vec<f16> {
    values.iter().copied().map(f16::from_f32).collect()
}

/// The values as GGUF's Q8_0: blocks of an f16 scale and 32 signed bytes.
pub fn to_q8_0(values: &[f32]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(values.len() / BLOCK * (BLOCK + 2));
    for block in values.chunks_exact(BLOCK) {
        let largest = block.iter().fold(0.0f32, |m, v| m.max(v.abs()));
        let scale = largest / 127.0;
        let inverse = if scale > 0.0 { 1.0 / scale } else { 0.0 };
        bytes.extend_from_slice(&f16::from_f32(scale).to_le_bytes());
        bytes.extend(block.iter().map(|v| (v * inverse).round() as i8 as u8));
    }
    bytes
}
