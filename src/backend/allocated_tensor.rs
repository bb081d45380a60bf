//! [`AllocatedTensor`].

use crate::metal::buffer::Buffer;
use crate::ops::{DataType, Layout, Tensor, View};

/// A tensor in memory of [`MetalBackend::allocate`](crate::MetalBackend::allocate), which
/// [`MetalBackend::tensor_at`](crate::MetalBackend::tensor_at) finds by its address. Every operation on tensors takes a reference
/// to it as a [`Tensor`]. It keeps the memory, also when somebody deallocates it.
#[derive(Debug, Clone)]
pub struct AllocatedTensor {
    pub(super) buffer: Buffer,
    /// Bytes from the start of the buffer.
    pub(super) offset: usize,
    pub(super) data_type: DataType,
    pub(super) layout: Layout,
}

impl AllocatedTensor {
    /// The tensor, from which others are made: transposed, or a part of it.
    pub fn tensor(&self) -> Tensor<'_> {
        let view = View::new(&self.buffer, self.offset);
        Tensor::with_layout(view, self.data_type, self.layout)
    }
}

impl<'a> From<&'a AllocatedTensor> for Tensor<'a> {
    fn from(allocated: &'a AllocatedTensor) -> Tensor<'a> {
        allocated.tensor()
    }
}
