//! Poolings, and images in other sizes.

use bytemuck::{NoUninit, Pod, Zeroable};
use strum::IntoStaticStr;

use crate::error::{Error, Failure, Result};
use crate::metal::compute::ComputeEncoder;
use crate::metal::device::Size;
use crate::ops::launch::{Cost, Grid, Launch};
use crate::ops::pipelines::{Constant, KernelName};
use crate::ops::shader::Shader;
use crate::ops::tensor::view::Tensor;
use crate::ops::tensor::walk::{
    KernelNames, kernel_names, read_operand, require_float, require_type, write_operand,
};
use crate::ops::tensor::window::{Images, Window};
use crate::ops::{LaneExecution, Ops};

const POOLINGS: KernelNames = kernel_names!("pool");
const RESAMPLINGS: KernelNames = kernel_names!("resample");

/// What becomes of the elements of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Pooling {
    /// The largest one; NaN if one is, and negative infinity without any.
    Max,
    /// Their mean, in which the zeros of the padding count as elements.
    Average,
    /// Their mean without the padding; NaN without any element.
    AverageInside,
}

impl Pooling {
    /// All poolings.
    pub const ALL: [Pooling; 3] = [Pooling::Max, Pooling::Average, Pooling::AverageInside];
}

/// The windows of a pooling over an input of `D` spatial dimensions, 1 or 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Windows<const D: usize> {
    /// Elements of a window, at least 1.
    pub size: [usize; D],
    /// Positions of the input from one window to the next, at least 1.
    pub stride: [usize; D],
    /// What is before and after the input: nothing for a maximum, zeros for a mean.
    pub padding: [[usize; 2]; D],
    /// Positions of the input from one element of a window to the next, at least 1.
    pub dilation: [usize; D],
}

impl<const D: usize> Windows<D> {
    /// Windows of this size side by side, without padding.
    pub fn of(size: [usize; D]) -> Windows<D> {
        Windows {
            size,
            stride: size,
            padding: [[0; 2]; D],
            dilation: [1; D],
        }
    }
}

/// How an image gets another size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Interpolation {
    /// The element number `floor(i size / new size)` for the new element number `i`.
    Nearest,
    /// What is on the line between two elements, in two dimensions between four. The new element number `i` is at `(i + 1/2)
    /// size / new size - 1/2`, or at the first or last element if that is outside.
    Linear,
    /// The same, with the first and the last elements on top of one another: at `i (size - 1) / (new size - 1)`.
    LinearAlignedCorners,
}

impl Interpolation {
    /// All interpolations.
    pub const ALL: [Interpolation; 3] = [
        Interpolation::Nearest,
        Interpolation::Linear,
        Interpolation::LinearAlignedCorners,
    ];
}

/// `Images` of `shaders/tensor/images.h`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct ImagesArguments {
    channels: u32,
    per_thread: u32,
    x_size: [u32; 2],
    y_size: [u32; 2],
    x_strides: [u64; 4],
    y_strides: [u64; 4],
}

/// `PoolingArguments` of `shaders/tensor/pooling.metal`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct PoolingArguments {
    images: ImagesArguments,
    window: [u32; 2],
    stride: [u32; 2],
    padding: [u32; 2],
    padding_after: [u32; 2],
    dilation: [u32; 2],
}

/// An operation on each channel of each image.
struct Operation {
    function: &'static str,
    shader: Shader,
    kernel: &'static str,
    code: u32,
    variant: &'static str,
    /// The product of these numbers is that of the floating-point operations.
    flops: [usize; 3],
}

impl Ops {
    /// The largest element, or the mean, of each window of `x`: `x` is `[n, c, w]` or `[n, c, h, w]`, `y` `[n, c, out]` with
    /// `out = (size + padding - dilation (window - 1) - 1) / stride + 1` without its fraction, or with the fraction rounded up if
    /// the last window then begins before the padding that follows `x`; both have one type, which is a float. What lies with
    /// channels last is [permuted](Tensor::permute) to this order. A mean of `m` elements is wrong by at most
    /// `(m + 1) u mean(|x|)`, with `u = 2^-24`, before it is rounded to its type. Kernel `pool` of that type.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] for integers; [`Error::InvalidArgument`] if types or shapes do not fit, for a window, a stride or a
    /// dilation of 0, if rows or columns, their padding and the reach of the window are together more than 31 bits count, if
    /// the tensors overlap, or if positions of `y` share an element; [`Error::OutOfRange`] if elements are not inside their
    /// buffer, if 31 bits do not count a dimension, or if images, channels and rows of `y` are 2^32 or more together, or,
    /// where `x` lies with channels last, images, rows and columns; [`Error::Misaligned`] if they do not begin at a multiple
    /// of their size.
    pub fn pool<'a, const D: usize>(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        pooling: Pooling,
        x: impl Into<Tensor<'a>>,
        windows: &Windows<D>,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        const FUNCTION: &str = "Ops::pool";
        let (x, y) = (x.into(), y.into());
        let (x_images, y_images) = (
            Images::new::<D>(FUNCTION, "x", &x)?,
            Images::new::<D>(FUNCTION, "y", &y)?,
        );
        let size = match D {
            1 => [1, windows.size[0]],
            _ => [windows.size[0], windows.size[D - 1]],
        };
        let Windows {
            stride,
            padding,
            dilation,
            ..
        } = windows;
        let window = Window::new(FUNCTION, size, stride, padding, dilation)?;
        window.check_sizes(FUNCTION, false, true, &x_images, &y_images)?;
        let operation = Operation {
            function: FUNCTION,
            shader: Shader::Pooling,
            kernel: POOLINGS[x.data_type() as usize],
            code: pooling as u32,
            variant: pooling.into(),
            flops: [y.count(), size[0], size[1]],
        };
        operation.encode(self, encoder, (x, x_images), (y, y_images), |images| {
            PoolingArguments {
                images,
                window: window.size,
                stride: window.stride,
                padding: window.padding,
                padding_after: window.padding_after.map(|padding| padding as u32),
                dilation: window.dilation,
            }
        })
    }

    /// [`Ops::pool`] with as many windows as `y` has results: the window of result `i` goes from `floor(i size / out)` to before
    /// `ceil((i + 1) size / out)`. `x` is `[n, c, w]` or `[n, c, h, w]`, and `y` has the same dimensions, the spatial ones of
    /// any size. Kernel `pool`.
    ///
    /// # Errors
    ///
    /// Those of [`Ops::pool`]; [`Error::InvalidArgument`] also if there are results but no elements.
    pub fn adaptive_pool<'a>(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        pooling: Pooling,
        x: impl Into<Tensor<'a>>,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        const FUNCTION: &str = "Ops::adaptive_pool";
        let (x, y) = (x.into(), y.into());
        let (x_images, y_images) = resized(FUNCTION, &x, &y)?;
        let operation = Operation {
            function: FUNCTION,
            shader: Shader::Pooling,
            kernel: POOLINGS[x.data_type() as usize],
            code: pooling as u32 | 4,
            variant: pooling.into(),
            flops: [
                y_images.shape[0] * y_images.shape[1],
                elements_of_windows(x_images.shape[2], y_images.shape[2]),
                elements_of_windows(x_images.shape[3], y_images.shape[3]),
            ],
        };
        operation.encode(self, encoder, (x, x_images), (y, y_images), |images| {
            PoolingArguments {
                images,
                ..PoolingArguments::zeroed()
            }
        })
    }

    /// `y` is `x` in another size: `x` is `[n, c, w]` or `[n, c, h, w]`, and `y` has the same dimensions, the spatial ones of any
    /// size; both have one type, which is a float. Positions are exact, by integers; an interpolated element is wrong by at most
    /// `6 u max(|x|)` of its neighbours, with `u = 2^-24`, before it is rounded to its type. Kernel `resample` of that type.
    ///
    /// # Errors
    ///
    /// Those of [`Ops::adaptive_pool`].
    pub fn resample<'a>(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        interpolation: Interpolation,
        x: impl Into<Tensor<'a>>,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        const FUNCTION: &str = "Ops::resample";
        let (x, y) = (x.into(), y.into());
        let (x_images, y_images) = resized(FUNCTION, &x, &y)?;
        let operation = Operation {
            function: FUNCTION,
            shader: Shader::Resampling,
            kernel: RESAMPLINGS[x.data_type() as usize],
            code: interpolation as u32,
            variant: interpolation.into(),
            flops: match interpolation {
                Interpolation::Nearest => [0; 3],
                // A product and a sum for each element that has a part in the result: two of each spatial dimension.
                _ => [y.count(), 2, 1 << (x.rank() - 2)],
            },
        };
        operation.encode(self, encoder, (x, x_images), (y, y_images), |images| images)
    }
}

impl Operation {
    /// Checks the tensors and encodes the dispatch with what `arguments` makes of the images.
    fn encode<A: NoUninit>(
        self,
        ops: &Ops,
        encoder: &mut ComputeEncoder<'_>,
        (x, x_images): (Tensor<'_>, Images),
        (y, y_images): (Tensor<'_>, Images),
        arguments: impl FnOnce(ImagesArguments) -> A,
    ) -> Result<()> {
        let function = self.function;
        require_float(function, "x", &x)?;
        require_type(function, "y", &y, x.data_type())?;
        y.require_own_elements(function, "y")?;
        let refused = |message| Err(Error::InvalidArgument(Failure::new(function, message)));
        if x.shape()[..2] != y.shape()[..2] {
            return refused(format!(
                "y of shape {:?} does not have the images and channels of x of shape {:?}",
                y.shape(),
                x.shape()
            ));
        }
        let operands = [
            read_operand(function, "x", &x)?,
            write_operand(function, "y", &y)?,
        ];
        if y.count() == 0 {
            return operands
                .iter()
                .try_for_each(|operand| operand.check(function));
        }
        let [images, channels, rows, columns] = y_images.shape;
        // Long runs of neighbours are what lanes like, of either kind.
        let takes_channels = x_images.strides[1] == 1 && x_images.strides[3] != 1 && channels > 1;
        let (along, others) = match takes_channels {
            true => (channels, [images, rows, columns]),
            false => (columns, [images, channels, rows]),
        };
        let (per_thread, threads) = match ops.lanes {
            LaneExecution::InTurn => (128, 32),
            LaneExecution::Lockstep => (1, 256),
        };
        let others = others
            .iter()
            .try_fold(1usize, |all, &count| all.checked_mul(count));
        let Some(others) = others.filter(|count| u32::try_from(*count).is_ok()) else {
            let message = format!(
                "y of shape {:?} takes more threads than a grid may have",
                y.shape()
            );
            return Err(Error::OutOfRange(Failure::new(function, message)));
        };
        let across = along.div_ceil(per_thread);
        let width = across.min(threads);
        let kernel = KernelName::new(self.shader, self.kernel)
            .with(Constant::Uint(1, self.code))
            .with(Constant::Bool(2, takes_channels));
        let launch = Launch {
            function,
            pipeline: &ops.pipelines.pipeline(kernel)?,
            arguments: arguments(ImagesArguments {
                channels: channels as u32,
                per_thread: per_thread as u32,
                x_size: x_images.size(),
                y_size: y_images.size(),
                x_strides: x_images.strides.map(|stride| stride as u64),
                y_strides: y_images.strides.map(|stride| stride as u64),
            }),
            operands: &operands,
            cost: Cost::new(y.data_type().name(), self.flops).with_variant(Some(self.variant)),
            threadgroup_memory: 0,
            grid: Grid::Threads {
                grid: Size::new(across, others, 1),
                threadgroup: Size::new(width, others.min(threads / width), 1),
            },
        };
        // SAFETY: each thread writes some results inside of y, and reads rows and columns of x that are inside of it.
        unsafe { launch.encode(encoder) }
    }
}

/// How many elements the windows of an adaptive pooling have together along an axis. Each window ends where the next one begins,
/// but two have an element in common if it lies across that place.
fn elements_of_windows(size: usize, windows: usize) -> usize {
    let (mut divisor, mut rest) = (size, windows);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    size + windows - divisor
}

/// `x` and `y` as images; an error if there are results but `x` has no elements.
fn resized(function: &'static str, x: &Tensor<'_>, y: &Tensor<'_>) -> Result<(Images, Images)> {
    let images = |name, tensor: &Tensor<'_>| match x.rank() {
        3 => Images::new::<1>(function, name, tensor),
        _ => Images::new::<2>(function, name, tensor),
    };
    let (x_images, y_images) = (images("x", x)?, images("y", y)?);
    if x_images.shape[2..].contains(&0) && y.count() > 0 {
        let message = format!(
            "x of shape {:?} has no elements, so y of shape {:?} must have none",
            x.shape(),
            y.shape()
        );
        return Err(Error::InvalidArgument(Failure::new(function, message)));
    }
    Ok((x_images, y_images))
}
