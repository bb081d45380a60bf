//! Rotary embeddings, and how they are stretched.

use std::f64::consts::TAU;

use metal_bridge::ops::RopePairing;
use metal_bridge_llama::{RopeScaling, Yarn};

use super::Reference;

/// What makes a layer's rotary embedding.
pub(super) struct Rotation {
    /// The angle of each pair from one position to the next.
    angles: Vec<f64>,
    magnitude: f64,
}

impl Reference {
    pub(super) fn rotation(&self, rope: usize) -> Rotation {
        let (config, rope) = (&self.config, &self.config.ropes[rope]);
        let (base, dim) = (f64::from(rope.base), config.rope_dim);
        let (name, yarn) = match rope.scaling {
            RopeScaling::LongRope { original_context } => {
                let is_long = self.context > original_context;
                let kind = if is_long { "long" } else { "short" };
                (format!("rope_factors_{kind}"), None)
            }
            RopeScaling::Linear { .. } => ("rope_freqs".to_owned(), None),
            RopeScaling::Yarn(yarn) => ("rope_freqs".to_owned(), Some(yarn)),
        };
        let divisors = self.vector(&name);
        let angle = |pair: usize| {
            let frequency = base.powf(-2.0 * pair as f64 / dim as f64);
            let divisor = divisors.as_ref().map_or(1.0, |all| all[pair]);
            let stretch = match (rope.scaling, &yarn) {
                (RopeScaling::Linear { factor }, _) => f64::from(factor).recip(),
                (_, Some(yarn)) => yarn_factor(yarn, base, pair, dim),
                _ => 1.0,
            };
            frequency / divisor * stretch
        };
        Rotation {
            angles: (0..dim / 2).map(angle).collect(),
            magnitude: f64::from(rope.magnitude),
        }
    }

    pub(super) fn rotate(&self, head: &mut [f64], rotation: &Rotation, position: usize) {
        let half = rotation.angles.len();
        for (pair, angle) in rotation.angles.iter().enumerate() {
            let [one, other] = match self.config.rope_pairing {
                RopePairing::Interleaved => [2 * pair, 2 * pair + 1],
                RopePairing::HalfSplit => [pair, pair + half],
            };
            let (sin, cos) = (position as f64 * angle).sin_cos();
            let [a, b] = [head[one], head[other]].map(|x| x * rotation.magnitude);
            (head[one], head[other]) = (a * cos - b * sin, a * sin + b * cos);
        }
    }
}

/// What YaRN multiplies a pair's frequency by: 1 for fast ones, and one over the factor for slow ones.
fn yarn_factor(yarn: &Yarn, base: f64, pair: usize, dim: usize) -> f64 {
    let pair_of = |turns: f32| {
        let length = yarn.original_context as f64 / (f64::from(turns) * TAU);
        dim as f64 * length.ln() / (2.0 * base.ln())
    };
    let (mut first, mut last) = (pair_of(yarn.fast), pair_of(yarn.slow));
    if yarn.is_whole {
        (first, last) = (first.floor(), last.ceil());
    }
    let (first, last) = (first.max(0.0), last.min(dim as f64 - 1.0));
    let slowness = ((pair as f64 - first) / (last - first).max(0.001)).clamp(0.0, 1.0);
    1.0 - slowness + slowness / f64::from(yarn.factor)
}
