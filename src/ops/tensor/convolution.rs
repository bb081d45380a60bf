//! Convolutions and transposed convolutions of images and of sequences.

use bytemuck::{Pod, Zeroable};

use crate::error::{Error, Failure, Result};
use crate::metal::compute::ComputeEncoder;
use crate::metal::device::Size;
use crate::ops::launch::{Cost, Grid, Launch, MAX_DIMENSION, at_most, elements};
use crate::ops::pipelines::{Constant, KernelName};
use crate::ops::shader::Shader;
use crate::ops::tensor::view::Tensor;
use crate::ops::tensor::walk::{
    KernelNames, kernel_names, read_operand, require_float, require_type, write_operand,
};
use crate::ops::tensor::window::{Images, Window};
use crate::ops::{LaneExecution, Ops};

const KERNELS: KernelNames = kernel_names!("convolution");

/// How a kernel of weights goes over an input of `D` spatial dimensions, 1 or 2. The default takes every position, without
/// padding, and all channels in one group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Convolution<const D: usize> {
    /// Positions of the input from one window to the next, at least 1.
    pub stride: [usize; D],
    /// Zeros before and after the input.
    pub padding: [[usize; 2]; D],
    /// Positions of the input from one element of a window to the next, at least 1.
    pub dilation: [usize; D],
    /// Groups of neighbouring channels: each group of outputs sees its group of inputs. As many groups as channels make a
    /// depthwise convolution.
    pub groups: usize,
}

impl<const D: usize> Default for Convolution<D> {
    fn default() -> Self {
        Convolution {
            stride: [1; D],
            padding: [[0; 2]; D],
            dilation: [1; D],
            groups: 1,
        }
    }
}

/// `ConvolutionArguments` of `shaders/tensor/convolution.metal`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Arguments {
    x_channels: u32,
    y_channels: u32,
    groups: u32,
    depth: u32,
    x_size: [u32; 2],
    y_size: [u32; 2],
    kernel_size: [u32; 2],
    stride: [u32; 2],
    padding: [u32; 2],
    dilation: [u32; 2],
    x_strides: [u64; 4],
    y_strides: [u64; 4],
    weight_strides: [u64; 5],
    bias_stride: u64,
}

/// The tensors of a convolution.
struct Tensors<'a> {
    x: Tensor<'a>,
    weight: Tensor<'a>,
    bias: Option<Tensor<'a>>,
    y: Tensor<'a>,
}

impl Ops {
    /// `y[n, o, p] = sum(x[n, i, stride p + dilation k - padding] weight[o, i, k]) + bias[o]`, the sum over the channels `i` of
    /// the group of `o` and the positions `k` of the window; what is outside of `x` is 0. `x` is `[n, c, w]` or `[n, c, h, w]`,
    /// `weight` `[o, c / groups, window]`, `bias` `[o]`, `y` `[n, o, out]`, where `out = (size + padding - dilation
    /// (window - 1) - 1) / stride + 1` without its fraction; all have one type, which is a float. What lies with channels last is
    /// [permuted](Tensor::permute) to this order. Sums are of `f32`: with `m` terms and `u = 2^-24`
    /// an element is wrong by at most `1.01 m u sum(|x weight|) + u |y|` before it is rounded to its type. Kernel `convolution`
    /// of that type.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] for integers; [`Error::InvalidArgument`] if types or shapes do not fit, for a stride, a dilation, a
    /// window or groups of 0, if rows or columns, their padding and the reach of the window are together more than 31 bits
    /// count, if `y` overlaps another tensor, or if positions of `y` share an element; [`Error::OutOfRange`] if elements are
    /// not inside their buffer, or if 31 bits do not count a dimension, the terms of a sum, or the groups of all images;
    /// [`Error::Misaligned`] if they do not begin at a multiple of their size.
    pub fn convolution<'a, const D: usize>(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        x: impl Into<Tensor<'a>>,
        weight: impl Into<Tensor<'a>>,
        bias: Option<Tensor<'a>>,
        convolution: &Convolution<D>,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        let tensors = Tensors {
            x: x.into(),
            weight: weight.into(),
            bias,
            y: y.into(),
        };
        self.convolve("Ops::convolution", encoder, false, tensors, convolution)
    }

    /// The transposed convolution, which spreads `x` as [`Ops::convolution`] gathers it: `y[n, o, p] = sum(x[n, i, q]
    /// weight[i, o, k]) + bias[o]` over all channels `i` of the group and all `q` and `k` with `stride q + dilation k - padding
    /// = p`. Here `weight` is `[c, o / groups, window]`. The size of `y` is `stride (size - 1) - padding + dilation (window -
    /// 1) + 1`, or up to `max(stride, dilation) - 1` more, which other libraries call output padding. It is computed as a
    /// convolution of `x` with zeros between and around its elements: infinities and NaN of the weights, times these zeros, make
    /// NaN also where they take no part in the sum. Kernel `convolution`.
    ///
    /// # Errors
    ///
    /// Those of [`Ops::convolution`].
    pub fn transposed_convolution<'a, const D: usize>(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        x: impl Into<Tensor<'a>>,
        weight: impl Into<Tensor<'a>>,
        bias: Option<Tensor<'a>>,
        convolution: &Convolution<D>,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        const FUNCTION: &str = "Ops::transposed_convolution";
        let tensors = Tensors {
            x: x.into(),
            weight: weight.into(),
            bias,
            y: y.into(),
        };
        self.convolve(FUNCTION, encoder, true, tensors, convolution)
    }

    fn convolve<const D: usize>(
        &self,
        function: &'static str,
        encoder: &mut ComputeEncoder<'_>,
        is_transposed: bool,
        tensors: Tensors<'_>,
        convolution: &Convolution<D>,
    ) -> Result<()> {
        let Tensors { x, weight, bias, y } = tensors;
        require_float(function, "x", &x)?;
        require_type(function, "weight", &weight, x.data_type())?;
        require_type(function, "y", &y, x.data_type())?;
        y.require_own_elements(function, "y")?;
        let [mut x_images, weights, mut y_images] = [
            Images::new::<D>(function, "x", &x)?,
            Images::new::<D>(function, "weight", &weight)?,
            Images::new::<D>(function, "y", &y)?,
        ];
        let groups = convolution.groups;
        let (from, to) = match is_transposed {
            false => (1, 0),
            true => (0, 1),
        };
        // The sizes of weights that x and y ask for, groups in the dimension that counts all channels of one of them.
        let [x_channels, y_channels] =
            [x_images.shape[1], y_images.shape[1]].map(|channels| channels / groups.max(1));
        let fits = groups > 0
            && x_images.shape[1] % groups == 0
            && y_images.shape[1] % groups == 0
            && x_images.shape[0] == y_images.shape[0]
            && weights.shape[0] == [y_images.shape[1], x_images.shape[1]][to]
            && weights.shape[1] == [x_channels, y_channels][to];
        if !fits {
            let message = format!(
                "x of shape {:?}, weight of shape {:?}, y of shape {:?} and {groups} groups do not fit together",
                x.shape(),
                weight.shape(),
                y.shape()
            );
            return Err(Error::InvalidArgument(Failure::new(function, message)));
        }
        let window = Window::new(
            function,
            [weights.shape[2], weights.shape[3]],
            &convolution.stride,
            &convolution.padding,
            &convolution.dilation,
        )?;
        window.check_sizes(function, is_transposed, false, &x_images, &y_images)?;
        // A transposed result may have rows and columns more, which get the bias alone.
        if window.is_point() && x_images.shape[2..] == y_images.shape[2..] {
            x_images.join_rows(&mut y_images);
        }
        let mut operands = vec![
            read_operand(function, "x", &x)?,
            read_operand(function, "weight", &weight)?,
            write_operand(function, "y", &y)?,
        ];
        if let Some(bias) = &bias {
            require_type(function, "bias", bias, x.data_type())?;
            if bias.shape() != [y_images.shape[1]] {
                let message = format!(
                    "bias has the shape {:?}, but y of shape {:?} needs [{}], an element for each channel",
                    bias.shape(),
                    y.shape(),
                    y_images.shape[1]
                );
                return Err(Error::InvalidArgument(Failure::new(function, message)));
            }
            operands.push(read_operand(function, "bias", bias)?);
        }
        if y.count() == 0 {
            return operands
                .iter()
                .try_for_each(|operand| operand.check(function));
        }
        let count = |what: &str, factors: &[usize]| {
            at_most(function, what, factors, MAX_DIMENSION).map(|product| product as u32)
        };
        let depth = count("a sum", &[x_channels, weights.shape[2], weights.shape[3]])?;
        let positions = elements(function, "y", &y_images.shape[2..])?;
        let planes = count("x in groups", &[x_images.shape[0], groups])?;
        let [w0, w1, w2, w3] = weights.strides.map(|stride| stride as u64);
        let own = [w0, w1][to];
        let group_stride = match is_transposed {
            false => w0.saturating_mul(y_channels as u64),
            true => w0.saturating_mul(x_channels as u64),
        };
        let kernel = KernelName::new(Shader::Convolution, KERNELS[x.data_type() as usize])
            .with(Constant::Bool(1, is_transposed))
            .with(Constant::Bool(2, bias.is_some()));
        // As in the shader: positions and channels of a tile, and its threads.
        let (tile_positions, tile_channels, threads) = match self.lanes {
            LaneExecution::InTurn => (128, 128, 1),
            LaneExecution::Lockstep => (64, 32, 128),
        };
        let launch = Launch {
            function,
            pipeline: &self.pipelines.pipeline(kernel)?,
            arguments: Arguments {
                x_channels: x_channels as u32,
                y_channels: y_channels as u32,
                groups: groups as u32,
                depth,
                x_size: x_images.size(),
                y_size: y_images.size(),
                kernel_size: window.size,
                stride: window.stride,
                padding: window.padding,
                dilation: window.dilation,
                x_strides: x_images.strides.map(|stride| stride as u64),
                y_strides: y_images.strides.map(|stride| stride as u64),
                weight_strides: [group_stride, own, [w0, w1][from], w2, w3],
                bias_stride: bias.map_or(0, |bias| bias.strides()[0] as u64),
            },
            operands: &operands,
            // Each element of one side meets the weights of its group's channels of the other.
            cost: Cost::new(
                x.data_type().name(),
                [
                    2,
                    [y.count(), x.count()][to],
                    [x_channels, y_channels][to],
                    weights.shape[2],
                    weights.shape[3],
                ],
            ),
            threadgroup_memory: 0,
            grid: Grid::of_groups(
                Size::new(
                    positions.div_ceil(tile_positions),
                    y_channels.div_ceil(tile_channels),
                    planes as usize,
                ),
                threads,
            ),
        };
        // SAFETY: tiles are cut where positions or channels end; rows and columns of x are read only if they are inside; weights
        // are read at offsets below `depth`. So all offsets are inside the extents of the operands.
        unsafe { launch.encode(encoder) }
    }
}
