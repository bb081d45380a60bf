//! Apple's Metal for Rust inference engines, through a hand-written Objective-C bridge.
//!
//! Rust threads have no autorelease pool, and Metal autoreleases in almost every call. So no call to Metal is made from
//! Rust here: Objective-C makes it, inside `@autoreleasepool` and an exception guard, and offers it through a C ABI. This
//! crate owns what comes back. On Linux the same bridge runs on a software Metal, which executes the same shading language
//! on the CPU.
//!
//! # Layers
//!
//! | layer | what it gives you | where |
//! |---|---|---|
//! | engine | GGUF files, tokenizers, sampling, text | the crate `metal-bridge-llama` |
//! | backend | a device, a queue, memory and the kernels in one object; calls that run at once or in batches; metrics | [`MetalBackend`], [`MetalOps`], [`Batch`], [`Metrics`] |
//! | operations | products, norms, attention, ... as safe calls that encode kernels | [`ops`] |
//! | handles | Metal's objects with Metal's names, sound in safe code | this page |
//! | bridge | the C ABI, for C and C++ too | `native/include/metal_bridge.h` |
//!
//! # Metal and this crate
//!
//! | Metal | here | what is different |
//! |---|---|---|
//! | `MTLCreateSystemDefaultDevice`, `MTLCopyAllDevices` | [`Device::system_default`], [`Device::all`] | a [`Result`]: no device is [`Error::NoDevice`] |
//! | `peerGroupID`, `location`, `maxTransferRate` | [`Device::position`], [`devices`] | what joins two devices; how fast they copy is measured |
//! | `MTLBuffer`, `contents` | [`Buffer`], [`Buffer::wait_read`], [`Buffer::wait_write`] | guards, which wait for the GPU and keep it out |
//! | `newBufferWithBytesNoCopy` | [`Device::new_buffer_with_mmap`], [`Device::new_buffer_no_copy`] | the memory's owner goes along |
//! | `didModifyRange:` | the end of a [`WriteGuard`] | |
//! | `MTLCommandQueue`, `MTLCommandBuffer` | [`CommandQueue`], [`CommandBuffer`] | stays on its thread, until it is committed |
//! | `commit`, `waitUntilCompleted`, `addCompletedHandler:` | [`CommandBuffer::commit`], [`Submission`] | consumes the command buffer; a `Future` |
//! | `MTLComputeCommandEncoder`, `MTLBlitCommandEncoder` | [`ComputeEncoder`], [`BlitEncoder`] | one at a time; the drop ends it |
//! | `dispatchThreads:` | [`ComputeEncoder::dispatch_threads`] | `unsafe`: nobody checks what a kernel does |
//! | `MTLIndirectCommandBuffer` | [`indirect`] | encoding a dispatch is `unsafe`, executing it is not |
//! | `MTLLibrary`, `MTLFunction`, `MTLFunctionConstantValues` | [`Library`], [`Function`], [`FunctionConstantValues`] | |
//! | `MTLComputePipelineState`, reflection | [`ComputePipeline`], [`ComputePipeline::arguments`] | |
//! | `MTLLinkedFunctions`, `MTLVisibleFunctionTable` | [`ComputePipelineDescriptor`], [`VisibleFunctionTable`] | a table does not change while a command buffer uses it |
//! | `MTLDynamicLibrary` | [`DynamicLibrary`] | |
//! | `MPSMatrixMultiplication`, `MPSGraph`, ... | [`mps`] | operands are checked at each encode |
//! | `MTLSharedEvent` | [`SharedEvent`] | every wait has a timeout |
//! | `NSError`, assertions, exceptions | [`Error`] | arguments are checked before Metal, which would abort, sees them |
//!
//! # Examples
//!
//! Each is a whole program; `is_available` lets them pass if there is no Metal.
//!
//! 1. Ask what there is:
//!
//! ```
//! use metal_bridge::Device;
//!
//! if metal_bridge::is_available() {
//!     for device in Device::all()? {
//!         println!("{}: buffers up to {} bytes", device.name(), device.limits().max_buffer_length);
//!     }
//! }
//! # Ok::<(), metal_bridge::Error>(())
//! ```
//!
//! 2. Multiply by a quantized matrix, in one call:
//!
//! ```
//! use metal_bridge::ops::WeightType;
//! use metal_bridge::{MetalBackend, MetalOps};
//!
//! # if !metal_bridge::is_available() { return Ok(()); }
//! let metal = MetalOps::new(MetalBackend::initialize()?);
//! // One row of 32 elements in Q8_0: the scale 1.0 as f16, then 32 bytes.
//! let mut row = vec![0x00, 0x3c];
//! row.extend([2u8; 32]);
//! let weight = metal.backend().weight(&row, 1, 32, WeightType::Q8_0)?;
//! assert_eq!(metal.linear(&weight, &[0.5; 32])?, [32.0]);
//! # Ok::<(), metal_bridge::Error>(())
//! ```
//!
//! 3. Run a kernel of your own:
//!
//! ```
//! use metal_bridge::{CompileOptions, Device, DispatchType, StorageMode};
//!
//! # if !metal_bridge::is_available() { return Ok(()); }
//! let device = Device::system_default()?;
//! let source = "kernel void square(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] *= x[i]; }";
//! let library = device.new_library_with_source(source, &CompileOptions::new())?;
//! let pipeline = device.new_compute_pipeline_state(&library.new_function("square")?)?;
//! let buffer = device.new_buffer_with_data(&[1.0f32, 2.0, 3.0], StorageMode::Shared)?;
//!
//! let queue = device.new_command_queue()?;
//! let mut commands = queue.command_buffer()?;
//! let mut encoder = commands.compute_command_encoder(DispatchType::Serial)?;
//! encoder.set_compute_pipeline_state(&pipeline)?;
//! encoder.set_buffer(&buffer, 0, 0)?;
//! // SAFETY: three threads, each on one of the three floats.
//! unsafe { encoder.dispatch_threads(3, 3)? };
//! encoder.end_encoding()?;
//! commands.commit()?.wait()?;
//! assert_eq!(*buffer.wait_read::<f32>()?, [1.0, 4.0, 9.0]);
//! # Ok::<(), metal_bridge::Error>(())
//! ```
//!
//! 4. Let CPU and GPU share a buffer: reading waits for the GPU by itself, and what would race is an error:
//!
//! ```
//! use metal_bridge::{Device, Error, StorageMode};
//!
//! # if !metal_bridge::is_available() { return Ok(()); }
//! let device = Device::system_default()?;
//! let buffer = device.new_buffer_with_data(&[0u8; 64], StorageMode::Shared)?;
//! let mut commands = device.new_command_queue()?.command_buffer()?;
//! let mut blit = commands.blit_command_encoder()?;
//! blit.fill(&buffer, 0..64, 7)?;
//! blit.end_encoding()?;
//! // Recorded and not committed: nobody but this program could end the wait.
//! assert!(matches!(buffer.wait_read::<u8>(), Err(Error::InUse(_))));
//! commands.commit()?;
//! assert_eq!(*buffer.wait_read::<u8>()?, [7; 64]);
//! # Ok::<(), metal_bridge::Error>(())
//! ```
//!
//! 5. Await the GPU, or be called by it:
//!
//! ```
//! use metal_bridge::{CommandQueue, Result};
//!
//! async fn two_steps(queue: &CommandQueue) -> Result<()> {
//!     let first = queue.command_buffer()?.commit()?;
//!     first.on_completed(|completed| println!("the GPU took {:?}", completed.times().gpu_duration()));
//!     first.await?;
//!     queue.command_buffer()?.commit()?.await
//! }
//! ```
//!
//! 6. Tell a story: see the crate `metal-bridge-llama`.
//!
//! 7. Find out what is wrong with a kernel, on the software Metal: see [`sanitizer`].
//!
//! # Safety
//!
//! Safe code cannot race with the GPU, read freed memory or run off a buffer: [`Buffer`] says how CPU access is kept apart
//! from the GPU's, and `docs/safety.md` in the repository goes through the whole argument. What is left to the caller is
//! what a kernel of the caller's own does ([`ComputeEncoder::dispatch_threads`]).
//!
//! # Threads
//!
//! Every handle can be sent to and shared by any thread, except command buffers that are not committed and their encoders.
//! To encode on several threads, give each thread a command buffer of its own.
//!
//! # Features
//!
//! `software` (default) builds the software Metal on systems other than Apple's. Without it, the crate needs no native
//! toolchain on those systems, [`is_available`] is false and every constructor of [`Device`] returns [`Error::NoDevice`].

#![warn(missing_docs)]
#![deny(unsafe_op_in_unsafe_fn)]
#![warn(clippy::undocumented_unsafe_blocks)]

pub mod analysis;
mod backend;
pub mod command_buffer_error;
pub mod devices;
mod error;
pub mod groups;
mod headers;
pub mod indirect;
pub mod memory;
mod metal;
pub mod mps;
pub mod ops;
pub mod sanitizer;
#[cfg(software_metal)]
pub mod software;
pub mod sys;

pub use backend::{
    AllocatedTensor, Allocation, Batch, Choice, MetalBackend, MetalOps, Metrics, OperationMetrics,
    Peak, Qkv,
};
pub use error::{Error, Failure, Result};
pub use headers::inline_headers;
pub use metal::blit::BlitEncoder;
pub use metal::buffer::{Buffer, StorageMode};
pub use metal::command::CommandBuffer;
pub use metal::completion::{Completed, Times};
pub use metal::compute::{ComputeEncoder, DispatchType, MAX_BINDINGS, MAX_INLINE_BYTES};
pub use metal::device::{Device, DeviceLimits, GpuFamily, Size, is_available};
pub use metal::device_position::{DeviceLocation, DevicePosition, PeerGroup};
pub use metal::event::{SharedEvent, WeakSharedEvent};
pub use metal::function_constants::{ConstantValue, FunctionConstantValues};
pub use metal::functions::descriptor::{
    ComputePipelineDescriptor, ForwardProgressUsage, LinkedFunctions,
};
pub use metal::functions::dynamic_library::DynamicLibrary;
pub use metal::functions::table::{FunctionHandle, VisibleFunctionTable};
pub use metal::guards::{ReadGuard, WriteGuard};

pub use metal::library::{
    CompileOptions, Function, LanguageVersion, Library, LibraryType, MathMode,
};
pub use metal::loan::Loan;
pub use metal::no_copy::page_size;
pub use metal::pipeline::{Argument, ArgumentAccess, ArgumentKind, ComputePipeline};
pub use metal::queue::CommandQueue;
pub use metal::statistics::{LiveObjects, ObjectKind};
pub use metal::submission::{CommandBufferStatus, Submission};

/// The example of the page about several devices.
#[cfg(doctest)]
#[doc = include_str!("../docs/devices.md")]
struct DevicesPage;

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
