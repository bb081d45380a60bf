//! [`MetalBackend`] and [`MetalOps`]: a device, a queue, memory and the kernels in one object, and calls that run at once. For
//! engines that want one call, or a [`Batch`] of them; those that order dispatches themselves use
//! [`Ops`](crate::ops::Ops) with a [`ComputeEncoder`](crate::ComputeEncoder).

mod allocated_tensor;
mod allocations;
mod at_once;
mod at_once_layers;
mod at_once_tensors;
mod batch;
mod choice;
mod choice_file;
mod contest;
mod kernels;
mod measuring;
mod metal_backend;
mod metrics;
mod mps_convolution;
mod mps_kernels;
mod mps_product;
mod peak;
mod recorder;
mod scratch;
mod slices;

pub use allocated_tensor::AllocatedTensor;
pub use allocations::Allocation;
pub use batch::Batch;
pub use choice::Choice;
pub use metal_backend::MetalBackend;
pub use metrics::{Metrics, OperationMetrics, Peak};
pub use slices::{MetalOps, Qkv};
