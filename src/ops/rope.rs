//! Rotary position embedding.

use bytemuck::{Pod, Zeroable};

use crate::error::{Error, Failure, Result};
use crate::metal::device::Size;
use crate::ops::launch::{Cost, Grid, Launch, Operand, bytes4};
use crate::ops::pipelines::{Constant, KernelName, SIMD_WIDTH};
use crate::ops::shader::Shader;
use crate::ops::{LaunchTarget, Ops, View};

/// Which elements of a head are rotated together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RopePairing {
    /// Elements 2i and 2i + 1: the original, and what llama.cpp's GGUF files of the llama architecture are permuted for.
    Interleaved,
    /// Elements i and i + pairs: GPT-NeoX, and the models as Hugging Face has them.
    HalfSplit,
}

/// What [`Ops::rope`] rotates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RopeShape {
    /// Rows of x: consecutive positions.
    pub rows: usize,
    /// Heads of a row.
    pub heads: usize,
    /// Elements of a head.
    pub head_size: usize,
    /// Pairs rotated in a head; elements past `2 * pairs` stay as they are.
    pub pairs: usize,
    /// What rotated elements are multiplied by: 1, or what a model's scaling asks for, such as YaRN (Peng et al. 2023,
    /// arXiv:2309.00071).
    pub magnitude: f32,
    /// The position of the first row.
    pub first_position: usize,
    /// Which elements make a pair.
    pub pairing: RopePairing,
}

/// The positions that a row can be at: they are counted in 32 bits.
const POSITIONS: f32 = 4_294_967_296.0;

/// The angle, in radians a position, by which each pair is rotated: `scale * base^(-2i / dimensions) / factors[i]` for the pair
/// `i` of `dimensions / 2` (Su et al. 2021, arXiv:2104.09864).
///
/// `scale` is 1, or the reciprocal of a linear scaling factor; `factors` are a model's own, as in the GGUF tensor
/// `rope_freqs.weight`. Computed in double precision: the positions multiply whatever error is in the frequencies.
///
/// # Errors
///
/// [`Error::InvalidArgument`] if `dimensions` is odd or zero, `base` or `scale` is not positive and finite, there is
/// not one factor for each pair, a factor is zero or not finite, or the angle at some position is not a finite f32.
pub fn rope_frequencies(
    base: f64,
    dimensions: usize,
    scale: f64,
    factors: Option<&[f32]>,
) -> Result<Vec<f32>> {
    let invalid = |message: String| {
        Err(Error::InvalidArgument(Failure::new(
            "rope_frequencies",
            message,
        )))
    };
    let pairs = dimensions / 2;
    if dimensions % 2 != 0 || pairs == 0 {
        return invalid(format!(
            "the dimensions have to be even and at least 2, not {dimensions}"
        ));
    }
    for (name, value) in [("base", base), ("scale", scale)] {
        if !(value > 0.0 && value.is_finite()) {
            return invalid(format!(
                "the {name} has to be finite and greater than 0, not {value}"
            ));
        }
    }
    if let Some(factors) = factors {
        if factors.len() != pairs {
            return invalid(format!(
                "{pairs} pairs of dimensions need as many factors, not {}",
                factors.len()
            ));
        }
        if let Some(factor) = factors
            .iter()
            .find(|factor| **factor == 0.0 || !factor.is_finite())
        {
            return invalid(format!(
                "a factor is {factor}, but factors must be finite and not 0"
            ));
        }
    }
    let frequency = |pair: usize| {
        let factor = factors.map_or(1.0, |factors| f64::from(factors[pair]));
        (scale * base.powf(-((2 * pair) as f64) / dimensions as f64) / factor) as f32
    };
    let frequencies: Vec<f32> = (0..pairs).map(frequency).collect();
    let is_finite = |frequency: &f32| (frequency * POSITIONS).is_finite();
    match frequencies
        .iter()
        .position(|frequency| !is_finite(frequency))
    {
        Some(pair) => invalid(format!(
            "pair {pair} turns by {} radians a position, which is not finite at every position",
            frequencies[pair]
        )),
        None => Ok(frequencies),
    }
}

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Arguments {
    first_position: u32,
    heads: u32,
    head_size: u32,
    pairs: u32,
    magnitude: f32,
}

impl Ops {
    /// Rotates `x`, `[rows, heads, head_size]`, in place; row r is at position `first_position + r`. `frequencies` is `[pairs]`,
    /// from [`rope_frequencies`]. Kernel `rope`.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the pairs exceed half a head or the magnitude is not finite, [`Error::OutOfRange`] if a position exceeds 2^32 - 1;
    /// otherwise as for [`Ops::linear`].
    pub fn rope<'a>(
        &self,
        target: &mut dyn LaunchTarget,
        x: impl Into<View<'a>>,
        frequencies: impl Into<View<'a>>,
        shape: &RopeShape,
    ) -> Result<()> {
        const FUNCTION: &str = "Ops::rope";
        let RopeShape {
            rows,
            heads,
            head_size,
            pairs,
            magnitude,
            first_position,
            pairing,
        } = *shape;
        if pairs > head_size / 2 {
            let message =
                format!("{pairs} pairs of dimensions do not fit in a head of {head_size}");
            return Err(Error::InvalidArgument(Failure::new(FUNCTION, message)));
        }
        if !magnitude.is_finite() {
            let message = format!("magnitude ({magnitude}) must be finite");
            return Err(Error::InvalidArgument(Failure::new(FUNCTION, message)));
        }
        let bytes = bytes4(FUNCTION, "x", &[rows, heads, head_size])?;
        if first_position
            .checked_add(rows)
            .is_none_or(|end| u32::try_from(end).is_err())
        {
            let message = format!("{rows} positions from {first_position} on go beyond 2^32 - 1");
            return Err(Error::OutOfRange(Failure::new(FUNCTION, message)));
        }
        let operands = [
            Operand::write("x", x.into(), bytes, 4),
            Operand::read(
                "frequencies",
                frequencies.into(),
                bytes4(FUNCTION, "frequencies", &[pairs])?,
                4,
            ),
        ];
        if rows == 0 || heads == 0 || pairs == 0 {
            return Ok(());
        }
        let half_split = Constant::Bool(0, pairing == RopePairing::HalfSplit);
        let launch = Launch {
            function: FUNCTION,
            pipeline: &self
                .pipelines
                .pipeline(KernelName::new(Shader::Rope, "rope").with(half_split))?,
            arguments: Arguments {
                first_position: first_position as u32,
                heads: heads as u32,
                head_size: head_size as u32,
                pairs: pairs as u32,
                magnitude,
            },
            operands: &operands,
            cost: Cost::new("f32", [2, rows, heads, pairs]),
            threadgroup_memory: 0,
            grid: Grid::Threads {
                grid: Size::new(pairs, rows, 1),
                threadgroup: SIMD_WIDTH.into(),
            },
        };
        // SAFETY: the kernel touches the first 2 * pairs elements of each head of x[rows, heads, head_size].
        unsafe { launch.encode(target) }
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_abs_diff_eq;

    use super::*;

    #[test]
    fn frequencies_fall_from_scale_by_the_base() {
        let plain = rope_frequencies(10_000.0, 64, 0.5, None).unwrap();
        assert_eq!(plain.len(), 32);
        assert_eq!(plain[0], 0.5);
        assert_abs_diff_eq!(f64::from(plain[16]), 0.5 / 100.0, epsilon = 1e-9);
        let factors: Vec<f32> = (1..=32).map(|factor| factor as f32).collect();
        let divided = rope_frequencies(10_000.0, 64, 0.5, Some(&factors)).unwrap();
        assert_abs_diff_eq!(divided[3] * 4.0, plain[3], epsilon = 1e-7);
    }

    #[test]
    fn impossible_settings_are_named() {
        for (base, dimensions, scale, factors, part) in [
            (1e4, 7, 1.0, None, "not 7"),
            (1e4, 0, 1.0, None, "at least 2, not 0"),
            (
                -1.0,
                8,
                1.0,
                None,
                "base has to be finite and greater than 0, not -1",
            ),
            (
                1e4,
                8,
                f64::NAN,
                None,
                "scale has to be finite and greater than 0, not NaN",
            ),
            (
                1e4,
                8,
                1.0,
                Some(&[1.0f32; 3][..]),
                "4 pairs of dimensions need as many factors, not 3",
            ),
            (
                1e4,
                8,
                1.0,
                Some(&[1.0f32, 1.0, 0.0, 1.0][..]),
                "a factor is 0, but factors must be finite and not 0",
            ),
            (1e-40, 8, 1.0, None, "pair 3 turns by"),
        ] {
            let error = rope_frequencies(base, dimensions, scale, factors).unwrap_err();
            assert!(error.to_string().contains(part), "{error}");
        }
    }
}
