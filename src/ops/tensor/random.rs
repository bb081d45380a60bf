//! Random numbers that depend on their number alone.

use crate::error::{Error, Failure, Result};
use crate::metal::compute::ComputeEncoder;
use crate::ops::Ops;
use crate::ops::shader::Shader;
use crate::ops::tensor::arrange::invalid;
use crate::ops::tensor::layout::Layout;
use crate::ops::tensor::view::Tensor;
use crate::ops::tensor::walk::{Elementwise, Extra, KernelNames, kernel_names};

const BITS: KernelNames = kernel_names!("random_bits");
const UNIFORMS: KernelNames = kernel_names!("uniform");
const NORMALS: KernelNames = kernel_names!("normal");

/// Random words, each with a number: those of Philox 4x32-10 (Salmon, Moraes, Dror and Shaw 2011, "Parallel random numbers: as
/// easy as 1, 2, 3") with the key `seed`. The counter of word group `n` is `n` in its lower half and `stream` in its upper half.
/// Element number `i` of a tensor, in row-major order, takes group `offset + i` (modulo 2^64), whatever its strides are: equal
/// values on all devices and in all layouts. Who asks for more numbers goes on at the offset behind the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Random {
    /// Numbers of different seeds have nothing to do with each other.
    pub seed: u64,
    /// Neither do those of different streams of one seed.
    pub stream: u64,
    /// The number of the first element.
    pub offset: u64,
}

impl Ops {
    /// `y = ` random bits, for integers of any type: the lowest ones of the group's first two words. Kernel `random_bits` of that
    /// type.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] for floats; otherwise those of [`Ops::unary`].
    pub fn random_bits<'a>(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        random: Random,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        let y = y.into();
        let is_right = !y.data_type().is_float();
        self.random(
            ("Ops::random_bits", &BITS, is_right),
            encoder,
            random,
            [0.0; 2],
            y,
        )
    }

    /// `y = low + (high - low) u`, where `u` is uniform in `[0, 1)`: a multiple of 2^-24, by the upper bits of the group's first
    /// word. Computed as `f32` with one rounding, and rounded to the type of `y`, which is a float: `high` itself is then among
    /// the results. Kernel `uniform` of that type.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] for integers; [`Error::InvalidArgument`] if `low` exceeds `high`, or if they or their difference
    /// are not finite; otherwise those of [`Ops::unary`].
    pub fn uniform<'a>(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        random: Random,
        low: f32,
        high: f32,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        const FUNCTION: &str = "Ops::uniform";
        let y = y.into();
        let width = high - low;
        if !(low.is_finite() && width.is_finite()) {
            let message = format!("low ({low}), high ({high}) and their difference must be finite");
            return Err(invalid(FUNCTION, message));
        }
        if width < 0.0 {
            let message = format!("low ({low}) must not exceed high ({high})");
            return Err(invalid(FUNCTION, message));
        }
        let is_right = y.data_type().is_float();
        self.random(
            (FUNCTION, &UNIFORMS, is_right),
            encoder,
            random,
            [low, width],
            y,
        )
    }

    /// `y = mean + deviation n`, where `n` is normal with mean 0 and standard deviation 1, of the group's first two words (Box and
    /// Muller 1958): `sqrt(-2 log u) cos(2 pi v)`, at most 6.8 in size. Computed as `f32` with polynomials that give equal bits on
    /// all devices, off by about 2^-22 of the result or of `deviation`, and rounded to the type of `y`, which is a float. Kernel
    /// `normal` of that type.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] for integers; [`Error::InvalidArgument`] if `deviation` is negative, or if it or `mean` is not
    /// finite; otherwise those of [`Ops::unary`].
    pub fn normal<'a>(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        random: Random,
        mean: f32,
        deviation: f32,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        const FUNCTION: &str = "Ops::normal";
        let y = y.into();
        if !mean.is_finite() {
            let message = format!("mean ({mean}) must be finite");
            return Err(invalid(FUNCTION, message));
        }
        if !(deviation.is_finite() && deviation >= 0.0) {
            let message = format!("deviation ({deviation}) must be finite and not negative");
            return Err(invalid(FUNCTION, message));
        }
        let is_right = y.data_type().is_float();
        self.random(
            (FUNCTION, &NORMALS, is_right),
            encoder,
            random,
            [mean, deviation],
            y,
        )
    }

    fn random(
        &self,
        (function, kernels, is_right): (&'static str, &KernelNames, bool),
        encoder: &mut ComputeEncoder<'_>,
        random: Random,
        [first, second]: [f32; 2],
        y: Tensor<'_>,
    ) -> Result<()> {
        if !is_right {
            let message = format!(
                "y has elements of type {}, which this operation does not support",
                y.data_type().name()
            );
            return Err(Error::Unsupported(Failure::new(function, message)));
        }
        // The offsets of a tensor without gaps are the numbers of its elements.
        let numbers = Layout::contiguous(y.shape()).ok_or_else(|| {
            let message = format!(
                "y of shape {:?} has too many elements to be numbered",
                y.shape()
            );
            Error::OutOfRange(Failure::new(function, message))
        })?;
        let extra = Extra {
            numbers: &[numbers],
            parameters: [
                random.seed,
                random.stream,
                random.offset,
                first.to_bits().into(),
                second.to_bits().into(),
            ],
        };
        Elementwise {
            function,
            shader: Shader::Random,
            kernel: kernels[y.data_type() as usize],
            constants: &[],
            scalar: 0,
            variant: None,
            y,
            inputs: &[],
        }
        .encode_with(self, encoder, extra)
    }
}
