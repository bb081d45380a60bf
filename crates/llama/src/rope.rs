//! [`RopeConfig`]: the rotary embedding of a model's layers, and how it is stretched for long texts.

use std::f64::consts::TAU;

use super::error::{Error, Result};
use super::gguf::Gguf;
use super::keys::Keys;
use metal_bridge::ops::rope_frequencies;

/// Divisors of the frequencies for sessions that are longer than the original context.
pub(super) const LONG_DIVISORS: &str = "rope_factors_long.weight";

/// A rotary embedding: its frequencies, and their scaling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RopeConfig {
    /// Base of the frequencies.
    pub base: f32,
    /// How frequencies are scaled, besides by the file's own divisors.
    pub scaling: RopeScaling,
    /// What rotated elements are multiplied by.
    pub magnitude: f32,
}

/// How the frequencies of a rotary embedding are scaled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RopeScaling {
    /// All are divided by this factor: 1 leaves them as they are.
    Linear {
        /// The factor.
        factor: f32,
    },
    /// The slow ones are divided, the fast ones are not.
    Yarn(Yarn),
    /// The file has divisors for sessions up to the original context, and others for longer sessions (Ding et al. 2024,
    /// arXiv:2402.13753).
    LongRope {
        /// Tokens that the model was trained for before it was stretched.
        original_context: usize,
    },
}

/// What YaRN scales frequencies by (Peng et al. 2023, arXiv:2309.00071).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Yarn {
    /// The factor by which the slow frequencies are divided.
    pub factor: f32,
    /// Tokens that the model was trained for before it was stretched.
    pub original_context: usize,
    /// From so many turns in the original context on, frequencies are fast.
    pub fast: f32,
    /// Up to so many turns, frequencies are slow.
    pub slow: f32,
    /// Whether the pairs that turn so often are counted in whole numbers.
    pub is_whole: bool,
}

impl Yarn {
    /// What the frequency of each pair of `dimensions` is divided by.
    fn divisors(&self, base: f64, dimensions: usize) -> Vec<f32> {
        // The pair that turns so many times in the original context.
        let pair_of = |turns: f32| {
            let length = self.original_context as f64 / (f64::from(turns) * TAU);
            dimensions as f64 * length.ln() / (2.0 * base.ln())
        };
        let [mut first, mut last] = [self.fast, self.slow].map(pair_of);
        if self.is_whole {
            (first, last) = (first.floor(), last.ceil());
        }
        let (first, last) = (first.max(0.0), last.min(dimensions as f64 - 1.0));
        let width = if last == first { 0.001 } else { last - first };
        let divisor = |pair: usize| {
            let slowness = ((pair as f64 - first) / width).clamp(0.0, 1.0);
            (slowness / f64::from(self.factor) + 1.0 - slowness).recip() as f32
        };
        (0..dimensions / 2).map(divisor).collect()
    }
}

impl RopeConfig {
    pub(super) fn from_keys(
        keys: &Keys<'_>,
        context: usize,
        dimensions: usize,
        has_long: bool,
        is_whole: bool,
    ) -> Result<Self> {
        const BASE: &str = "rope.freq_base";
        const ORIGINAL_CONTEXT: &str = "rope.scaling.original_context_length";
        const FACTOR: &str = "rope.scaling.factor";
        const OLD_FACTOR: &str = "rope.scale_linear";
        const MAGNITUDE: &str = "rope.scaling.attn_factor";
        let kind = keys.text("rope.scaling.type")?;
        let original_context = keys.optional_dimension(ORIGINAL_CONTEXT)?;
        // Files from before the first key existed have the second one.
        let factors = [FACTOR, OLD_FACTOR].map(|name| keys.optional_float(name));
        let [new, old] = factors;
        let (new, old) = (new?, old?);
        let factor = new.or(old);
        let base = keys.optional_float(BASE)?.unwrap_or(10_000.0);
        let plain = Self::plain(keys, BASE, base, dimensions)?;
        let given_magnitude = keys.optional_float(MAGNITUDE)?.unwrap_or(1.0);
        let mut magnitude = given_magnitude;
        let scaling = match kind {
            None | Some("longrope") if has_long => RopeScaling::LongRope {
                original_context: keys.dimension(ORIGINAL_CONTEXT)?,
            },
            None | Some("linear") => RopeScaling::Linear {
                factor: factor.unwrap_or(1.0),
            },
            Some("none") => RopeScaling::Linear { factor: 1.0 },
            Some("yarn") => {
                let factor = keys.float(FACTOR)?;
                // The pairs are counted in powers of the base.
                if base <= 1.0 {
                    let reason = "YaRN needs a base above 1".into();
                    return Err(keys.refused(BASE, base, reason));
                }
                magnitude *= 1.0 + 0.1 * factor.max(1.0).ln();
                let turns = |name: &str, default| {
                    Ok::<_, Error>(keys.optional_float(name)?.unwrap_or(default))
                };
                RopeScaling::Yarn(Yarn {
                    factor,
                    original_context: original_context.unwrap_or(context),
                    fast: turns("rope.scaling.yarn_beta_fast", 32.0)?,
                    slow: turns("rope.scaling.yarn_beta_slow", 1.0)?,
                    is_whole,
                })
            }
            Some(other) => {
                return Err(Error::Unsupported(format!(
                    "rotary scaling of type {other:?} ({})",
                    keys.key("rope.scaling.type")
                )));
            }
        };
        if !magnitude.is_finite() {
            let reason = "too large to multiply elements by".into();
            return Err(keys.refused(MAGNITUDE, given_magnitude, reason));
        }
        let config = Self {
            scaling,
            magnitude,
            ..plain
        };
        // Those of the base alone are sound, so the factor is at fault.
        match (config.frequencies(dimensions, None), factor) {
            (Err(error), Some(factor)) => {
                let name = if new.is_some() { FACTOR } else { OLD_FACTOR };
                Err(keys.refused(name, factor, error.to_string()))
            }
            (outcome, _) => Ok(outcome.map(|_| config)?),
        }
    }

    /// Frequencies that follow from the base of this key alone.
    pub(super) fn plain(keys: &Keys<'_>, key: &str, base: f32, dimensions: usize) -> Result<Self> {
        let config = Self {
            base,
            scaling: RopeScaling::Linear { factor: 1.0 },
            magnitude: 1.0,
        };
        match config.frequencies(dimensions, None) {
            Ok(_) => Ok(config),
            Err(error) => Err(keys.refused(key, base, error.to_string())),
        }
    }

    /// The angle by which each pair of `dimensions` turns from one position to the next.
    pub(super) fn frequencies(
        &self,
        dimensions: usize,
        divisors: Option<&[f32]>,
    ) -> metal_bridge::Result<Vec<f32>> {
        let base = f64::from(self.base);
        match self.scaling {
            RopeScaling::Linear { factor } => {
                rope_frequencies(base, dimensions, f64::from(factor).recip(), divisors)
            }
            RopeScaling::LongRope { .. } => rope_frequencies(base, dimensions, 1.0, divisors),
            RopeScaling::Yarn(yarn) => {
                let mut all = yarn.divisors(base, dimensions);
                for (own, divisor) in all.iter_mut().zip(divisors.unwrap_or_default()) {
                    *own *= divisor;
                }
                rope_frequencies(base, dimensions, 1.0, Some(&all))
            }
        }
    }
}

/// Whether the file has divisors for long sessions.
pub(super) fn has_long_rope(gguf: &Gguf) -> bool {
    gguf.tensor(LONG_DIVISORS).is_ok()
}
