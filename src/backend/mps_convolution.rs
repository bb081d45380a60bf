//! Convolutions of images by Metal Performance Shaders.

use crate::backend::batch::Batch;
use crate::backend::choice::Faster;
use crate::backend::contest::{Contest, exponent};
use crate::backend::mps_product::element;
use crate::backend::slices::MetalOps;
use crate::error::Result;
use crate::metal::buffer::Buffer;
use crate::metal::command::CommandBuffer;
use crate::metal::compute::DispatchType;
use crate::metal::dispatches::Work;
use crate::mps::{Convolution2d, Convolution2dDescriptor, Layout, NdArray, WeightsLayout};
use crate::ops::{Convolution, DataType, Tensor};

/// The operation, in statistics.
const FUNCTION: &str = "Ops::convolution";

/// The order of the dimensions in memory, where channels come first and last. Weights have theirs.
const CHANNELS_FIRST: [usize; 4] = [0, 1, 2, 3];
const CHANNELS_LAST: [usize; 4] = [0, 2, 3, 1];
const WEIGHTS_LAST: [usize; 4] = [2, 3, 1, 0];

/// Whether the elements follow each other without gaps, with the dimensions in this order. The stride of a dimension with one element
/// does not matter.
fn is_packed(tensor: &Tensor<'_>, order: [usize; 4]) -> bool {
    let mut next = 1;
    order.iter().rev().all(|&dimension| {
        let (size, stride) = (tensor.shape()[dimension], tensor.strides()[dimension]);
        let fits = size == 1 || stride == next;
        next *= size;
        fits
    })
}

/// Elements side by side, of `f32`: a graph rounds to `f16` before it adds the bias, and the kernels round once.
fn fits_bias(bias: &Tensor<'_>) -> bool {
    let is_row = bias.rank() == 1 && (bias.strides()[0] == 1 || bias.count() == 1);
    is_row && bias.data_type() == DataType::F32
}

/// A convolution that Metal Performance Shaders can compute.
pub(super) struct Images<'a> {
    x: Tensor<'a>,
    weight: Tensor<'a>,
    bias: Option<Tensor<'a>>,
    y: Tensor<'a>,
    convolution: Convolution<2>,
    descriptor: Convolution2dDescriptor,
}

impl<'a> Images<'a> {
    /// None for a convolution that they cannot compute, or that is wrong: then the kernels' call says why.
    fn of<const D: usize>(
        x: &Tensor<'a>,
        weight: &Tensor<'a>,
        bias: Option<Tensor<'a>>,
        convolution: &Convolution<D>,
        y: &Tensor<'a>,
    ) -> Option<Images<'a>> {
        let convolution = Convolution {
            stride: convolution.stride[..].try_into().ok()?,
            padding: convolution.padding[..].try_into().ok()?,
            dilation: convolution.dilation[..].try_into().ok()?,
            groups: convolution.groups,
        };
        let element = element(x.data_type())?;
        let all = [Some(*x), Some(*weight), bias, Some(*y)];
        let is_simple = [x, weight, y].iter().all(|of| of.rank() == 4)
            && all
                .iter()
                .flatten()
                .all(|of| of.data_type() == x.data_type() && of.count() > 0)
            && bias.is_none_or(|bias| fits_bias(&bias))
            && weight.shape()[1].checked_mul(convolution.groups) == Some(x.shape()[1]);
        if !is_simple {
            return None;
        }
        let both = |order| is_packed(x, order) && is_packed(y, order);
        let layout = match () {
            () if both(CHANNELS_FIRST) => Layout::Nchw,
            () if both(CHANNELS_LAST) => Layout::Nhwc,
            () => return None,
        };
        let weights_layout = match () {
            () if is_packed(weight, CHANNELS_FIRST) => WeightsLayout::Oihw,
            () if is_packed(weight, WEIGHTS_LAST) => WeightsLayout::Hwio,
            () => return None,
        };
        let padding = convolution.padding;
        let descriptor = Convolution2dDescriptor {
            data_type: element,
            layout,
            weights_layout,
            batch: x.shape()[0],
            input_channels: x.shape()[1],
            output_channels: weight.shape()[0],
            input_size: [x.shape()[2], x.shape()[3]],
            kernel_size: [weight.shape()[2], weight.shape()[3]],
            stride: convolution.stride,
            dilation: convolution.dilation,
            padding_before: padding.map(|[before, _]| before),
            padding_after: padding.map(|[_, after]| after),
            groups: convolution.groups,
            has_bias: bias.is_some(),
        };
        Some(Images {
            x: *x,
            weight: *weight,
            bias,
            y: *y,
            convolution,
            descriptor,
        })
    }

    /// The elements in the order in which they lie in memory.
    fn array(&self, tensor: &Tensor<'_>, order: [usize; 4]) -> Result<NdArray> {
        let shape = order.map(|dimension| tensor.shape()[dimension]);
        let array = NdArray::new(tensor.view().buffer(), &shape, self.descriptor.data_type)?;
        Ok(array.with_offset(tensor.view().offset()))
    }

    fn orders(&self) -> [[usize; 4]; 2] {
        let images = match self.descriptor.layout {
            Layout::Nchw => CHANNELS_FIRST,
            Layout::Nhwc => CHANNELS_LAST,
        };
        match self.descriptor.weights_layout {
            WeightsLayout::Oihw => [images, CHANNELS_FIRST],
            WeightsLayout::Hwio => [images, WEIGHTS_LAST],
        }
    }
}

impl Contest for Images<'_> {
    fn class(&self) -> String {
        let of = &self.descriptor;
        let sizes = [of.batch, of.input_channels, of.output_channels, of.groups].map(exponent);
        let image = of.input_size.map(exponent);
        format!(
            "convolution {} {:?} {:?} {sizes:?} {image:?} by {:?} stride {:?} dilation {:?}",
            self.x.data_type().name(),
            of.layout,
            of.weights_layout,
            of.kernel_size,
            of.stride,
            of.dilation
        )
    }

    fn work(&self) -> Work {
        let terms = self.weight.count() / self.weight.shape()[0];
        let all = [Some(self.x), Some(self.weight), self.bias, Some(self.y)];
        let elements = all.iter().flatten().map(|of| of.count() as u64);
        let bytes = elements.fold(0u64, u64::saturating_add);
        Work {
            operation: FUNCTION,
            variant: Some(super::contest::MPS),
            data_type: self.x.data_type().name(),
            flops: 2u64
                .saturating_mul(self.y.count() as u64)
                .saturating_mul(terms as u64),
            bytes: bytes.saturating_mul(self.x.data_type().size() as u64),
        }
    }

    fn encode(&self, ops: &MetalOps, commands: &mut CommandBuffer) -> Result<()> {
        let device = ops.backend().metal_device();
        let make = || Convolution2d::new(device, &self.descriptor);
        let kernel = ops.convolutions.get(self.descriptor, make)?;
        let [images, weights] = self.orders();
        let bias = self.bias.map(|bias| {
            let array = NdArray::new(
                bias.view().buffer(),
                bias.shape(),
                self.descriptor.data_type,
            )?;
            Ok::<_, crate::Error>(array.with_offset(bias.view().offset()))
        });
        let bias = bias.transpose()?;
        let x = self.array(&self.x, images)?;
        let y = self.array(&self.y, images)?;
        let weights = self.array(&self.weight, weights)?;
        kernel.encode(commands, &x, &weights, bias.as_ref(), &y)
    }

    fn memory(&self) -> Vec<usize> {
        let all = [Some(self.x), Some(self.weight), Some(self.y), self.bias];
        all.iter().flatten().map(Tensor::memory).collect()
    }

    fn rehearse(
        &self,
        ops: &MetalOps,
        commands: &mut CommandBuffer,
        memory: &[Buffer],
        who: Faster,
    ) -> Result<()> {
        let tensor = |buffer, of: &Tensor<'_>| {
            Tensor::strided(buffer, of.data_type(), of.shape(), of.strides())
        };
        let x = tensor(&memory[0], &self.x)?;
        let weight = tensor(&memory[1], &self.weight)?;
        let y = tensor(&memory[2], &self.y)?;
        let bias = self
            .bias
            .map(|bias| tensor(&memory[3], &bias))
            .transpose()?;
        let convolution = &self.convolution;
        match (who, Images::of(&x, &weight, bias, convolution, &y)) {
            (Faster::Mps, Some(images)) => images.encode(ops, commands),
            _ => {
                let mut encoder = commands.compute_command_encoder(DispatchType::Serial)?;
                let kernels = ops.backend().ops();
                kernels.convolution(&mut encoder, x, weight, bias, convolution, y)
            }
        }
    }
}

impl Batch<'_> {
    /// Queues [`Ops::convolution`](crate::ops::Ops::convolution), or the same convolution through Metal Performance Shaders
    /// ([`Choice`](crate::Choice)).
    ///
    /// # Errors
    ///
    /// See [`Batch::encode`].
    pub fn convolution<'a, const D: usize>(
        &mut self,
        x: impl Into<Tensor<'a>>,
        weight: impl Into<Tensor<'a>>,
        bias: Option<Tensor<'a>>,
        convolution: &Convolution<D>,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        let (x, weight, y) = (x.into(), weight.into(), y.into());
        if self.queue_mps(Images::of(&x, &weight, bias, convolution, &y))? {
            return Ok(());
        }
        self.encode(|ops, encoder| ops.convolution(encoder, x, weight, bias, convolution, y))
    }
}

impl MetalOps {
    /// [`Ops::convolution`](crate::ops::Ops::convolution), at once, or the same convolution through Metal Performance Shaders
    /// ([`Choice`](crate::Choice)).
    ///
    /// # Errors
    ///
    /// See [`MetalOps`].
    pub fn convolution<'a, const D: usize>(
        &self,
        x: impl Into<Tensor<'a>>,
        weight: impl Into<Tensor<'a>>,
        bias: Option<Tensor<'a>>,
        convolution: &Convolution<D>,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        let mut batch = self.batch();
        batch.convolution(x, weight, bias, convolution, y)?;
        batch.run()
    }
}
