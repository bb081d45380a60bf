//! Graphs of one operation (`MPSGraph`).

use super::kernel::Kernel;
use super::operand::{DataType, NdArray};
use crate::error::Result;
use crate::metal::command::CommandBuffer;
use crate::metal::device::Device;
use crate::sys;

/// The order of a picture's dimensions, the slowest first (`MPSGraphTensorNamedDataLayout`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Layout {
    /// Pictures, channels, rows, columns.
    Nchw,
    /// Pictures, rows, columns, channels.
    Nhwc,
}

impl Layout {
    fn to_sys(self) -> sys::mtb_mps_layout {
        match self {
            Layout::Nchw => sys::MTB_MPS_NCHW,
            Layout::Nhwc => sys::MTB_MPS_NHWC,
        }
    }
}

/// The order of the dimensions of a convolution's weights, the slowest first (`MPSGraphTensorNamedDataLayout`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WeightsLayout {
    /// Output channels, input channels of a group, rows, columns.
    Oihw,
    /// Rows, columns, input channels of a group, output channels.
    Hwio,
}

/// What a [`Convolution2d`] computes (`MPSGraphConvolution2DOpDescriptor`). Where there are two numbers, they are for rows and for columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Convolution2dDescriptor {
    /// The elements' type: `Float32`, `Float16` or `BFloat16`.
    pub data_type: DataType,
    /// The order of the dimensions of input and result.
    pub layout: Layout,
    /// The order of the dimensions of the weights.
    pub weights_layout: WeightsLayout,
    /// Pictures.
    pub batch: usize,
    /// Channels of the input.
    pub input_channels: usize,
    /// Channels of the result.
    pub output_channels: usize,
    /// Rows and columns of the input.
    pub input_size: [usize; 2],
    /// Rows and columns of the weights.
    pub kernel_size: [usize; 2],
    /// From one position of the weights to the next.
    pub stride: [usize; 2],
    /// From one weight to the next: 1 for weights without gaps.
    pub dilation: [usize; 2],
    /// Zeroes before the first row and column.
    pub padding_before: [usize; 2],
    /// Zeroes after the last row and column.
    pub padding_after: [usize; 2],
    /// Divides the channels of the input and of the result: each group of the result sees its group of the input.
    pub groups: usize,
    /// Whether the kernel takes a bias for each channel of the result.
    pub has_bias: bool,
}

impl Convolution2dDescriptor {
    /// One picture with stride and dilation 1, without padding, groups and bias, in NCHW and OIHW.
    pub fn new(
        data_type: DataType,
        input_channels: usize,
        output_channels: usize,
        input_size: [usize; 2],
        kernel_size: [usize; 2],
    ) -> Convolution2dDescriptor {
        Convolution2dDescriptor {
            data_type,
            layout: Layout::Nchw,
            weights_layout: WeightsLayout::Oihw,
            batch: 1,
            input_channels,
            output_channels,
            input_size,
            kernel_size,
            stride: [1; 2],
            dilation: [1; 2],
            padding_before: [0; 2],
            padding_after: [0; 2],
            groups: 1,
            has_bias: false,
        }
    }

    fn to_sys(self) -> sys::mtb_mps_convolution_2d {
        sys::mtb_mps_convolution_2d {
            data_type: self.data_type.to_sys(),
            layout: self.layout.to_sys(),
            weights_layout: match self.weights_layout {
                WeightsLayout::Oihw => sys::MTB_MPS_OIHW,
                WeightsLayout::Hwio => sys::MTB_MPS_HWIO,
            },
            batch: self.batch,
            input_channels: self.input_channels,
            output_channels: self.output_channels,
            input_height: self.input_size[0],
            input_width: self.input_size[1],
            kernel_height: self.kernel_size[0],
            kernel_width: self.kernel_size[1],
            stride_y: self.stride[0],
            stride_x: self.stride[1],
            dilation_y: self.dilation[0],
            dilation_x: self.dilation[1],
            padding_top: self.padding_before[0],
            padding_bottom: self.padding_after[0],
            padding_left: self.padding_before[1],
            padding_right: self.padding_after[1],
            groups: self.groups,
            has_bias: self.has_bias,
        }
    }
}

/// `result[n][o][y][x] = bias[o] + sum over i, ky, kx of weights[o][i][ky][kx] * input[n][g + i][y * sy + ky * dy - py][x * sx + kx * dx - px]`,
/// with stride `s`, dilation `d`, zeroes for the padding `p`, and `g` the first input channel of the group of `o`
/// (`convolution2DWithSourceTensor:weightsTensor:descriptor:name:`). The result has
/// `(size + padding_before + padding_after - dilation * (kernel_size - 1) - 1) / stride + 1` rows and columns, rounded down.
#[derive(Debug, Clone)]
pub struct Convolution2d(Kernel);

impl Convolution2d {
    /// The kernel that `descriptor` describes.
    ///
    /// # Errors
    ///
    /// See [the module](crate::mps#errors).
    pub fn new(device: &Device, descriptor: &Convolution2dDescriptor) -> Result<Convolution2d> {
        let (device, descriptor) = (device.as_ptr(), descriptor.to_sys());
        // SAFETY: returns an owned kernel, or NULL and an owned error.
        let kernel = unsafe {
            Kernel::create(|error| sys::mtb_mps_convolution_2d_create(device, &descriptor, error))
        };
        kernel.map(Convolution2d)
    }

    /// Encodes the convolution. `bias` is given if and only if the descriptor says so: one dimension of `output_channels`.
    ///
    /// # Errors
    ///
    /// See [the module](crate::mps#errors).
    pub fn encode(
        &self,
        commands: &mut CommandBuffer,
        input: &NdArray,
        weights: &NdArray,
        bias: Option<&NdArray>,
        result: &NdArray,
    ) -> Result<()> {
        let read = [Some(input), Some(weights), bias];
        self.0
            .encode_arrays("Convolution2d::encode", commands, &read, result)
    }
}

/// What a [`BatchNormalization`] computes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BatchNormalizationDescriptor {
    /// The elements' type: `Float32`, `Float16` or `BFloat16`.
    pub data_type: DataType,
    /// The order of the dimensions of input and result.
    pub layout: Layout,
    /// Pictures.
    pub batch: usize,
    /// Channels.
    pub channels: usize,
    /// Rows and columns.
    pub size: [usize; 2],
    /// Added to the variance: not negative.
    pub epsilon: f64,
    /// Whether the kernel takes a factor for each channel.
    pub has_gamma: bool,
    /// Whether the kernel takes an addend for each channel.
    pub has_beta: bool,
}

/// `result = (input - mean) / sqrt(variance + epsilon) * gamma + beta`, each for its channel
/// (`normalizationWithTensor:meanTensor:varianceTensor:gammaTensor:betaTensor:epsilon:name:`).
#[derive(Debug, Clone)]
pub struct BatchNormalization(Kernel);

/// The statistics and parameters of a [`BatchNormalization`]: arrays of one dimension of channels.
#[derive(Debug, Clone, Copy)]
pub struct ChannelParameters<'a> {
    /// Subtracted.
    pub mean: &'a NdArray,
    /// Divided by, as a square root.
    pub variance: &'a NdArray,
    /// The factor, if and only if the descriptor says so.
    pub gamma: Option<&'a NdArray>,
    /// The addend, if and only if the descriptor says so.
    pub beta: Option<&'a NdArray>,
}

impl BatchNormalization {
    /// The kernel that `descriptor` describes.
    ///
    /// # Errors
    ///
    /// See [the module](crate::mps#errors).
    pub fn new(
        device: &Device,
        descriptor: &BatchNormalizationDescriptor,
    ) -> Result<BatchNormalization> {
        let descriptor = sys::mtb_mps_batch_normalization {
            data_type: descriptor.data_type.to_sys(),
            layout: descriptor.layout.to_sys(),
            batch: descriptor.batch,
            channels: descriptor.channels,
            height: descriptor.size[0],
            width: descriptor.size[1],
            epsilon: descriptor.epsilon,
            has_gamma: descriptor.has_gamma,
            has_beta: descriptor.has_beta,
        };
        let device = device.as_ptr();
        // SAFETY: returns an owned kernel, or NULL and an owned error.
        let kernel = unsafe {
            Kernel::create(|error| {
                sys::mtb_mps_batch_normalization_create(device, &descriptor, error)
            })
        };
        kernel.map(BatchNormalization)
    }

    /// Encodes the normalization.
    ///
    /// # Errors
    ///
    /// See [the module](crate::mps#errors).
    pub fn encode(
        &self,
        commands: &mut CommandBuffer,
        input: &NdArray,
        parameters: &ChannelParameters<'_>,
        result: &NdArray,
    ) -> Result<()> {
        let ChannelParameters {
            mean,
            variance,
            gamma,
            beta,
        } = *parameters;
        let read = [Some(input), Some(mean), Some(variance), gamma, beta];
        self.0
            .encode_arrays("BatchNormalization::encode", commands, &read, result)
    }
}

/// What a [`ScaledDotProductAttention`] computes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScaledDotProductAttentionDescriptor {
    /// The elements' type: `Float32`, `Float16` or `BFloat16`.
    pub data_type: DataType,
    /// Sequences.
    pub batch: usize,
    /// Heads of queries: a multiple of `key_heads`.
    pub query_heads: usize,
    /// Heads of keys and values.
    pub key_heads: usize,
    /// Queries of a sequence.
    pub queries: usize,
    /// Keys and values of a sequence.
    pub keys: usize,
    /// Elements of a query and of a key.
    pub head_size: usize,
    /// Elements of a value.
    pub value_size: usize,
    /// The factor of the products of queries and keys.
    pub scale: f64,
    /// If the kernel takes a mask: its sequences (`batch` or 1) and heads (`query_heads` or 1).
    pub mask: Option<[usize; 2]>,
}

/// `result = softmax(scale * query * key^T + mask) * value`, for each head
/// (`scaledDotProductAttentionWithQueryTensor:keyTensor:valueTensor:maskTensor:scale:name:`). Needs macOS 15.
#[derive(Debug, Clone)]
pub struct ScaledDotProductAttention(Kernel);

impl ScaledDotProductAttention {
    /// The kernel that `descriptor` describes.
    ///
    /// # Errors
    ///
    /// See [the module](crate::mps#errors).
    pub fn new(
        device: &Device,
        descriptor: &ScaledDotProductAttentionDescriptor,
    ) -> Result<ScaledDotProductAttention> {
        let [mask_batch, mask_heads] = descriptor.mask.unwrap_or_default();
        let descriptor = sys::mtb_mps_attention {
            data_type: descriptor.data_type.to_sys(),
            batch: descriptor.batch,
            query_heads: descriptor.query_heads,
            key_heads: descriptor.key_heads,
            queries: descriptor.queries,
            keys: descriptor.keys,
            head_size: descriptor.head_size,
            value_size: descriptor.value_size,
            mask_batch,
            mask_heads,
            scale: descriptor.scale,
        };
        let device = device.as_ptr();
        // SAFETY: returns an owned kernel, or NULL and an owned error.
        let kernel = unsafe {
            Kernel::create(|error| sys::mtb_mps_attention_create(device, &descriptor, error))
        };
        kernel.map(ScaledDotProductAttention)
    }

    /// Encodes the attention. The shapes: `query` is `batch` x `query_heads` x `queries` x `head_size`, `key` `batch` x `key_heads` x
    /// `keys` x `head_size`, `value` `batch` x `key_heads` x `keys` x `value_size`, `mask`, given if and only if the descriptor says so,
    /// the mask's sequences x its heads x `queries` x `keys`, and `result` `batch` x `query_heads` x `queries` x `value_size`.
    ///
    /// # Errors
    ///
    /// See [the module](crate::mps#errors).
    pub fn encode(
        &self,
        commands: &mut CommandBuffer,
        query: &NdArray,
        key: &NdArray,
        value: &NdArray,
        mask: Option<&NdArray>,
        result: &NdArray,
    ) -> Result<()> {
        let read = [Some(query), Some(key), Some(value), mask];
        self.0
            .encode_arrays("ScaledDotProductAttention::encode", commands, &read, result)
    }
}
