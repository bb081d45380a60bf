//! The softmax of rows and its logarithm.

use crate::error::{Error, Failure, Result};
use crate::metal::compute::ComputeEncoder;
use crate::ops::Ops;
use crate::ops::pipelines::Constant;
use crate::ops::shader::Shader;
use crate::ops::tensor::reduction::require_axes;
use crate::ops::tensor::rows::Reduced;
use crate::ops::tensor::view::Tensor;
use crate::ops::tensor::walk::{KernelNames, kernel_names, require_float, require_type};

const KERNELS: KernelNames = kernel_names!("softmax");

impl Ops {
    /// `y = exp(x) / sum(exp(x))`, the sum along `axis`: `x` and `y` have one shape, of any rank, and one type, which is a float.
    /// The exponents are relative to the largest one, so that none overflows; a row with NaN or positive infinity, or without
    /// anything but negative infinity, becomes NaN. Floats of 16 bits are computed with as `f32` and rounded once. With
    /// `u = 2^-24` and the row's largest element `max`, an element is wrong by at most `(12 + |x - max|) u y` before that.
    /// `y` may be `x`. Kernel `softmax` of that type.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] for integers; [`Error::InvalidArgument`] for an axis that `x` does not have, if types or shapes do
    /// not fit, if the tensors overlap otherwise than by being the same elements, or if positions of `y` share an element;
    /// [`Error::OutOfRange`] if elements are not inside their buffer, or for 2^32 rows or more; [`Error::Misaligned`] if they
    /// do not begin at a multiple of their size.
    pub fn softmax<'a>(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        x: impl Into<Tensor<'a>>,
        axis: usize,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        self.softmax_of("Ops::softmax", encoder, false, (x.into(), axis, y.into()))
    }

    /// `y = x - log(sum(exp(x)))`, the sum along `axis`: the logarithm of [`Ops::softmax`], without its underflow, wrong by at
    /// most `12 u (1 + |y|)`. Shapes, types and what is not finite as there. Kernel `softmax`.
    ///
    /// # Errors
    ///
    /// Those of [`Ops::softmax`].
    pub fn log_softmax<'a>(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        x: impl Into<Tensor<'a>>,
        axis: usize,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        let tensors = (x.into(), axis, y.into());
        self.softmax_of("Ops::log_softmax", encoder, true, tensors)
    }

    fn softmax_of(
        &self,
        function: &'static str,
        encoder: &mut ComputeEncoder<'_>,
        is_log: bool,
        (x, axis, y): (Tensor<'_>, usize, Tensor<'_>),
    ) -> Result<()> {
        require_type(function, "y", &y, x.data_type())?;
        require_float(function, "x", &x)?;
        require_axes(function, &x, &[axis])?;
        if x.shape() != y.shape() {
            let message = format!(
                "y has the shape {:?}, but must have x's shape {:?}",
                y.shape(),
                x.shape()
            );
            return Err(Error::InvalidArgument(Failure::new(function, message)));
        }
        Reduced {
            function,
            shader: Shader::Softmax,
            kernel: KERNELS[x.data_type() as usize],
            operation: Constant::Bool(1, is_log),
            divisor: 1.0,
            order: 0,
            x,
            axes: &[axis],
            y,
            y_layout: *y.layout(),
            in_place: true,
            variant: None,
        }
        .encode(self, encoder)
    }
}
