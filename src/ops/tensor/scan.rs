//! Sums and products along an axis up to each element.

use crate::error::Result;
use crate::metal::compute::ComputeEncoder;
use crate::ops::Ops;
use crate::ops::pipelines::Constant;
use crate::ops::shader::Shader;
use crate::ops::tensor::arrange::{invalid, require_axis};
use crate::ops::tensor::rows::Reduced;
use crate::ops::tensor::view::Tensor;
use crate::ops::tensor::walk::{KernelNames, kernel_names, require_type};

const KERNELS: KernelNames = kernel_names!("scan");

/// Which elements of an axis count for each result. By default those from the first one up to the one at its own position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ScanOrder {
    /// Without the one at its own position: the first result is that of no elements, 0 or 1.
    pub exclusive: bool,
    /// From the last element on, and down.
    pub reverse: bool,
}

impl Ops {
    /// `y[i] = x[0] + .. + x[i]` along `axis`, or in another [`ScanOrder`]: `x` and `y` have one shape and one type. Integers
    /// wrap, floats of 16 bits are computed with as `f32` and rounded once. With `u = 2^-24`, a float is wrong by at most
    /// `u |y| + 70 i u^2 sum(|x|)` before that, if no sum on the way leaves the range of `f32`; the order of the
    /// additions is not determined. `y` may be `x`. Kernel `scan` of that type. A GPU scans a row by a threadgroup, or by
    /// a thread if rows are short or are neighbouring columns.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for an axis that `x` does not have, if types or shapes do not
    /// fit, if the tensors overlap otherwise than by being the same elements, or if positions of `y` share an element;
    /// [`Error::OutOfRange`](crate::Error::OutOfRange) if elements are not inside their buffer, or for 2^32 rows or more;
    /// [`Error::Misaligned`](crate::Error::Misaligned) if they do not begin at a multiple of their size.
    pub fn cumsum<'a>(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        x: impl Into<Tensor<'a>>,
        axis: usize,
        order: ScanOrder,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        self.scan("Ops::cumsum", encoder, (x.into(), axis, y.into()), order, 0)
    }

    /// `y[i] = x[0] .. x[i]` along `axis`, the products, otherwise as [`Ops::cumsum`]. A float is wrong by at most
    /// `1.01 i u |y|`, if no product on the way leaves the range of `f32`; the order of the factors is not determined.
    ///
    /// # Errors
    ///
    /// Those of [`Ops::cumsum`].
    pub fn cumprod<'a>(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        x: impl Into<Tensor<'a>>,
        axis: usize,
        order: ScanOrder,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        self.scan(
            "Ops::cumprod",
            encoder,
            (x.into(), axis, y.into()),
            order,
            1,
        )
    }

    fn scan(
        &self,
        function: &'static str,
        encoder: &mut ComputeEncoder<'_>,
        (x, axis, y): (Tensor<'_>, usize, Tensor<'_>),
        order: ScanOrder,
        products: u32,
    ) -> Result<()> {
        require_type(function, "y", &y, x.data_type())?;
        require_axis(function, "x", &x, axis)?;
        if x.shape() != y.shape() {
            let message = format!(
                "y has the shape {:?}, but must have x's shape {:?}",
                y.shape(),
                x.shape()
            );
            return Err(invalid(function, message));
        }
        let order = u32::from(order.exclusive) | u32::from(order.reverse) << 1;
        Reduced {
            function,
            shader: Shader::Scan,
            kernel: KERNELS[x.data_type() as usize],
            operation: Constant::Uint(1, products),
            divisor: 1.0,
            order,
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
