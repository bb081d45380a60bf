//! What all elements along some axes give.

use strum::IntoStaticStr;

use crate::error::{Error, Failure, Result};
use crate::metal::compute::ComputeEncoder;
use crate::ops::Ops;
use crate::ops::pipelines::Constant;
use crate::ops::shader::Shader;
use crate::ops::tensor::data_type::DataType;
use crate::ops::tensor::layout::{Layout, MAX_RANK};
use crate::ops::tensor::rows::Reduced;
use crate::ops::tensor::view::Tensor;
use crate::ops::tensor::walk::{KernelNames, kernel_names, require_type};

const REDUCTIONS: KernelNames = kernel_names!("reduce");
const ARG_REDUCTIONS: KernelNames = kernel_names!("arg_reduce");

/// A function of all elements along some axes, `n` of them. The result has their type: integers wrap, floats of 16 bits are
/// computed with as `f32` and rounded once. In what follows, `u` is 2^-24.
///
/// The bounds hold if no sum, product or square on the way leaves the range of `f32`, at either end; the order of the elements is
/// not determined. Otherwise the result may be infinite, NaN or 0 where the exact one is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum Reduction {
    /// The sum; 0 of no elements. Of floats it is wrong by at most `u |y| + (m u)^2 sum(|x|)` before it is rounded to its type,
    /// where `m <= n` additions follow one another: `n / 256 + 80` along a dense axis (`n / 2048 + 20` on a GPU), and no more
    /// than `n / 2^20 + 4200`.
    Sum,
    /// The sum divided by `n`, of floats; NaN of no elements.
    Mean,
    /// The product; 1 of no elements. Of floats it is wrong by at most `1.01 n u |y|`.
    Prod,
    /// The smallest element; NaN if one is.
    Min,
    /// The largest element; NaN if one is.
    Max,
    /// The variance, of floats: the sum of the squares of `x - mean(x)`, divided by `n - correction`, or by 0 if that is
    /// negative. The mean comes first, and with twice the digits of `f32`, so that the result is wrong by no more than about
    /// `8 u |y|`, however large the mean is.
    Var {
        /// What is subtracted from `n`: 1 for an estimate from a sample, 0 for the variance of the elements themselves.
        correction: u32,
    },
    /// `log(sum(exp(x)))` of floats, relative to the largest element so that nothing overflows; negative infinity of no
    /// elements. Wrong by at most `u |y| + 12 u (1 + |log(n)|)`.
    LogSumExp,
}

impl Reduction {
    /// All functions, the variance for a sample.
    pub const ALL: [Reduction; 7] = [
        Reduction::Sum,
        Reduction::Mean,
        Reduction::Prod,
        Reduction::Min,
        Reduction::Max,
        Reduction::Var { correction: 1 },
        Reduction::LogSumExp,
    ];

    /// The number in `shaders/tensor/reduction.metal`.
    fn code(self) -> u32 {
        match self {
            Reduction::Sum => 0,
            Reduction::Mean => 1,
            Reduction::Prod => 2,
            Reduction::Min => 3,
            Reduction::Max => 4,
            Reduction::Var { .. } => 5,
            Reduction::LogSumExp => 6,
        }
    }

    /// Whether tensors of this type have the function: all floats do.
    pub fn has(self, data_type: DataType) -> bool {
        match self {
            Reduction::Sum | Reduction::Prod | Reduction::Min | Reduction::Max => true,
            Reduction::Mean | Reduction::Var { .. } | Reduction::LogSumExp => data_type.is_float(),
        }
    }

    fn has_result_of_nothing(self) -> bool {
        !matches!(self, Reduction::Min | Reduction::Max)
    }
}

/// Which element's index is asked for: the first one of several that are equal, and the first NaN if there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum ArgReduction {
    /// The smallest element.
    Min,
    /// The largest element.
    Max,
}

impl ArgReduction {
    /// Both.
    pub const ALL: [ArgReduction; 2] = [ArgReduction::Min, ArgReduction::Max];
}

impl Ops {
    /// `y = f(x along axes)`: `x` has any shape, `y` the shape of `x` in which the `axes` are left out or have size 1; both
    /// have one type. Without axes every element is reduced alone. Kernel `reduce` of that type. A GPU reduces a row by a
    /// threadgroup, and what runs lanes in turn by a thread: few long rows do not use all of either.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] if the type does not have the function ([`Reduction::has`]); [`Error::InvalidArgument`] for an
    /// axis that `x` does not have or that is named twice, if types or shapes do not fit, for the minimum or maximum of no
    /// elements, if the tensors overlap, or if positions of `y` share an element; [`Error::OutOfRange`] if elements are not
    /// inside their buffer, or for 2^32 results or more; [`Error::Misaligned`] if they do not begin at a multiple of their
    /// size.
    pub fn reduce<'a>(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        reduction: Reduction,
        x: impl Into<Tensor<'a>>,
        axes: &[usize],
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        const FUNCTION: &str = "Ops::reduce";
        let (x, y) = (x.into(), y.into());
        require_type(FUNCTION, "y", &y, x.data_type())?;
        if !reduction.has(x.data_type()) {
            let message = format!(
                "x has elements of type {}, which {reduction:?} does not support",
                x.data_type().name()
            );
            return Err(Error::Unsupported(Failure::new(FUNCTION, message)));
        }
        let y_layout = layout_in(FUNCTION, &x, axes, &y)?;
        let count = require_elements(FUNCTION, &x, axes, reduction.has_result_of_nothing())?;
        let divisor = match reduction {
            Reduction::Var { correction } => count.saturating_sub(correction as usize) as f32,
            _ => 1.0,
        };
        Reduced {
            function: FUNCTION,
            shader: Shader::Reduction,
            kernel: REDUCTIONS[x.data_type() as usize],
            operation: Constant::Uint(1, reduction.code()),
            divisor,
            order: 0,
            x,
            axes,
            y,
            y_layout,
            in_place: false,
            variant: Some(reduction.into()),
        }
        .encode(self, encoder)
    }

    /// `y = ` the index along `axis` of the smallest or largest element of `x`: `x` has any shape and type, `y` is of type
    /// `u32` and has the shape of `x` in which `axis` is left out or has size 1. Kernel `arg_reduce` of the type of `x`.
    ///
    /// # Errors
    ///
    /// Those of [`Ops::reduce`]; [`Error::OutOfRange`] also if an index would not fit into `u32`.
    pub fn arg_reduce<'a>(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        reduction: ArgReduction,
        x: impl Into<Tensor<'a>>,
        axis: usize,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        const FUNCTION: &str = "Ops::arg_reduce";
        let (x, y, axes) = (x.into(), y.into(), [axis]);
        require_type(FUNCTION, "y", &y, DataType::U32)?;
        let y_layout = layout_in(FUNCTION, &x, &axes, &y)?;
        let count = require_elements(FUNCTION, &x, &axes, false)?;
        if u32::try_from(count).is_err() {
            let message = format!("axis {axis} of x has {count} elements, beyond what u32 counts");
            return Err(Error::OutOfRange(Failure::new(FUNCTION, message)));
        }
        Reduced {
            function: FUNCTION,
            shader: Shader::Reduction,
            kernel: ARG_REDUCTIONS[x.data_type() as usize],
            operation: Constant::Uint(1, reduction as u32),
            divisor: 1.0,
            order: 0,
            x,
            axes: &axes,
            y,
            y_layout,
            in_place: false,
            variant: Some(reduction.into()),
        }
        .encode(self, encoder)
    }
}

/// An error unless each axis is one of `x` and named once.
pub(super) fn require_axes(
    function: &'static str,
    x: &Tensor<'_>,
    axes: &[usize],
) -> Result<[bool; MAX_RANK]> {
    let mut named = [false; MAX_RANK];
    for &axis in axes {
        let message = if axis >= x.rank() {
            format!("x of shape {:?} does not have an axis {axis}", x.shape())
        } else if std::mem::replace(&mut named[axis], true) {
            format!("the axis {axis} of x is named twice")
        } else {
            continue;
        };
        return Err(Error::InvalidArgument(Failure::new(function, message)));
    }
    Ok(named)
}

/// How `y` lies in the shape of `x`: along `axes` its elements repeat.
fn layout_in(
    function: &'static str,
    x: &Tensor<'_>,
    axes: &[usize],
    y: &Tensor<'_>,
) -> Result<Layout> {
    let is_reduced = require_axes(function, x, axes)?;
    let keeps_axes = y.rank() == x.rank();
    let mut strides = [0; MAX_RANK];
    let mut own = y.shape().iter().zip(y.strides());
    let mut fits = true;
    for (axis, &size) in x.shape().iter().enumerate() {
        if is_reduced[axis] && !keeps_axes {
            continue;
        }
        let wanted = if is_reduced[axis] { 1 } else { size };
        match own.next() {
            Some((&size, _)) if size != wanted => fits = false,
            Some((_, &stride)) if !is_reduced[axis] => strides[axis] = stride,
            Some(_) => {}
            None => fits = false,
        }
    }
    let layout = Layout::strided(x.shape(), &strides[..x.rank()]);
    match layout.filter(|_| fits && own.next().is_none()) {
        Some(layout) => Ok(layout),
        None => {
            let message = format!(
                "y of shape {:?} is not x of shape {:?} without the axes {axes:?}",
                y.shape(),
                x.shape()
            );
            Err(Error::InvalidArgument(Failure::new(function, message)))
        }
    }
}

/// How many elements a result has; an error if there are none and nothing is the result of none.
fn require_elements(
    function: &'static str,
    x: &Tensor<'_>,
    axes: &[usize],
    may_be_empty: bool,
) -> Result<usize> {
    let sizes = axes.iter().map(|axis| x.shape()[*axis]);
    // Another dimension may have no elements, and then the others may be of any size.
    let count = sizes.fold(1usize, |count, size| count.saturating_mul(size));
    if count == 0 && !may_be_empty {
        let message = format!(
            "x of shape {:?} has no elements along the axes {axes:?}",
            x.shape()
        );
        return Err(Error::InvalidArgument(Failure::new(function, message)));
    }
    Ok(count)
}
