//! Apple's Metal for Rust inference engines, through a hand-written Objective-C bridge.

#![warn(missing_docs)]
#![deny(unsafe_op_in_unsafe_fn)]

mod access;
mod backend;
mod blit;
mod buffer;
mod callback;
mod command;
mod compute;
mod constants;
mod device;
mod error;
mod event;
mod handle;
mod library;
pub mod llama;
mod no_copy;
pub mod ops;
mod pipeline;
mod queue;
mod statistics;
pub mod stress;
mod submission;
#[allow(missing_docs)]
mod sys;

pub use backend::{MetalBackend, MetalOps, Qkv};
pub use blit::BlitEncoder;
pub use buffer::{Buffer, ReadGuard, StorageMode, WriteGuard};
pub use command::CommandBuffer;
pub use compute::{ComputeEncoder, DispatchType, MAX_BINDINGS, MAX_INLINE_BYTES};
pub use constants::{ConstantValue, FunctionConstantValues};
pub use device::{Device, DeviceLimits, GpuFamily, Size, is_available};
pub use error::{Error, Failure, Result};
pub use event::SharedEvent;
pub use library::{CompileOptions, Function, LanguageVersion, Library, MathMode};
pub use no_copy::page_size;
pub use pipeline::{Argument, ArgumentAccess, ArgumentKind, ComputePipeline};
pub use queue::CommandQueue;
pub use statistics::{LiveObjects, ObjectKind};
pub use submission::{CommandBufferStatus, Completed, Submission, Times};
