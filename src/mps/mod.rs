//! Metal Performance Shaders: Apple's own products, convolutions and attention over buffers, with Apple's names in snake case.
//!
//! A kernel is made once for a device and a size. Each encode writes it into a [`CommandBuffer`](crate::CommandBuffer) that has no
//! open encoder, with operands that describe elements in buffers: [`Matrix`], [`Vector`] and [`NdArray`]. The buffers are then in use until the
//! command buffer has completed, as those of an encoder are.
//!
//! | `MPS...` | here | what it computes |
//! |---|---|---|
//! | `MPSMatrixMultiplication` | [`MatrixMultiplication`] | `alpha * op(left) * op(right) + beta * result` |
//! | `MPSMatrixVectorMultiplication` | [`MatrixVectorMultiplication`] | `alpha * op(matrix) * vector + beta * result` |
//! | `MPSMatrixSoftMax`, `MPSMatrixLogSoftMax` | [`MatrixSoftMax`], [`MatrixLogSoftMax`] | of each row |
//! | `MPSMatrixFindTopK` | [`MatrixFindTopK`] | the largest values of each row, and their columns |
//! | `MPSNDArrayMatrixMultiplication` | [`NdArrayMatrixMultiplication`] | products of matrices in arrays of up to four dimensions |
//! | `MPSGraph`, `convolution2D...` | [`Convolution2d`] | convolution of pictures, with groups and bias |
//! | `MPSGraph`, `normalization...` | [`BatchNormalization`] | with statistics that are given |
//! | `MPSGraph`, `scaledDotProductAttention...` | [`ScaledDotProductAttention`] | `softmax(scale * query * key^T + mask) * value` |
//!
//! On Apple's systems the kernels are Apple's. On the software Metal they need the library oneDNN.
//!
//! Elements are `f32` or `f16`; those of arrays, which graphs take too, are also `bf16`, from macOS 14 on. Of Apple's other types, bytes
//! are for [`MatrixMultiplication`] alone, which then gives `f32`: [`Ops::matmul`](crate::ops::Ops::matmul) multiplies them, and adds
//! their products up as `i32`.
//!
//! ```
//! use metal_bridge::mps::{self, DataType, Matrix, MatrixMultiplication};
//! use metal_bridge::{Device, StorageMode};
//!
//! # if !metal_bridge::is_available() { return Ok(()); }
//! let device = Device::system_default()?;
//! if !mps::is_supported(&device) {
//!     return Ok(());
//! }
//! let a = device.new_buffer_with_data(&[1.0f32, 2.0, 3.0, 4.0], StorageMode::Shared)?;
//! let b = device.new_buffer_with_data(&[1.0f32, 0.0, 0.0, 2.0], StorageMode::Shared)?;
//! let c = device.new_buffer(16, StorageMode::Shared)?;
//! let [a, b, result] = [&a, &b, &c].map(|buffer| Matrix::new(buffer, 2, 2, DataType::Float32));
//!
//! let product = MatrixMultiplication::new(&device, 2, 2, 2)?;
//! let mut commands = device.new_command_queue()?.command_buffer()?;
//! product.encode(&mut commands, &a, &b, &result)?;
//! commands.commit()?.wait()?;
//! assert_eq!(*c.wait_read::<f32>()?, [1.0, 4.0, 3.0, 8.0]);
//! # Ok::<(), metal_bridge::Error>(())
//! ```
//!
//! # Errors
//!
//! Each `new` gives [`Error::Unsupported`](crate::Error::Unsupported) if the device or the system lacks the kernel,
//! [`Error::InvalidArgument`](crate::Error::InvalidArgument) for a size of zero or a scale that is not finite, and
//! [`Error::OutOfRange`](crate::Error::OutOfRange) for a size of 2^31 or more.
//!
//! Each `encode` gives `InvalidArgument` for operands whose shapes or types do not fit the kernel and for a result that overlaps
//! another operand; `OutOfRange` for operands that leave their buffer or have 2^31 elements or more; `Misaligned` for an offset or a
//! stride that is not a multiple of an element's size; `WrongDevice`; `InUse` while a guard for CPU access conflicts; `ReadOnly` for a
//! result; `Unsupported`; and `InvalidState` after an encoder was leaked. Nothing is encoded then, and nothing written. `Internal`
//! means that Metal raised an exception: the command buffer can no longer be committed.

mod graph;
mod kernel;
mod matrix;
mod nd_array;
mod operand;

pub use graph::{
    BatchNormalization, BatchNormalizationDescriptor, ChannelParameters, Convolution2d,
    Convolution2dDescriptor, Layout, ScaledDotProductAttention,
    ScaledDotProductAttentionDescriptor, WeightsLayout,
};
pub use matrix::{
    MAX_TOP_K, MatrixFindTopK, MatrixLogSoftMax, MatrixMultiplication,
    MatrixMultiplicationDescriptor, MatrixSoftMax, MatrixVectorMultiplication,
    MatrixVectorMultiplicationDescriptor,
};
pub use nd_array::{NdArrayMatrixMultiplication, NdArrayMatrixMultiplicationDescriptor};
pub use operand::{DataType, Matrix, NdArray, Vector};

use crate::metal::device::Device;
use crate::sys;

/// Whether the device can run the kernels of this module (`MPSSupportsMTLDevice`).
pub fn is_supported(device: &Device) -> bool {
    // SAFETY: the device is live.
    unsafe { sys::mtb_mps_supports_device(device.as_ptr()) }
}
