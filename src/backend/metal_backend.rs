//! [`MetalBackend`].

use bytemuck::Pod;
use once_cell::sync::OnceCell;

use crate::backend::allocated_tensor::AllocatedTensor;
use crate::backend::allocations::{Allocation, Allocations};
use crate::backend::kernels::{Kernels, threads_for, threads_for_2d};
use crate::backend::scratch::Scratch;
use crate::error::{Error, Failure, Result};
use crate::memory::{Memory, TransferQueue};
use crate::metal::buffer::{Buffer, StorageMode};
use crate::metal::command::CommandBuffer;
use crate::metal::compute::{ComputeEncoder, DispatchType};
use crate::metal::device::{Device, DeviceLimits, Size};
use crate::metal::library::CompileOptions;
use crate::metal::pipeline::ComputePipeline;
use crate::metal::queue::CommandQueue;
use crate::metal::submission::Submission;
use crate::ops::{Element, Ops, Weight, WeightType};

/// A device with a queue, memory and kernels. Share it in an [`Arc`](std::sync::Arc).
#[derive(Debug)]
pub struct MetalBackend {
    queue: CommandQueue,
    ops: Ops,
    pub(super) allocations: Allocations,
    kernels: Kernels,
    pub(super) scratch: Scratch,
    /// Made for the first copy of a buffer that the host cannot see.
    transfers: OnceCell<TransferQueue>,
}

/// What devices are compared by: the greatest computes best.
fn rank(limits: &DeviceLimits) -> (bool, bool, u64) {
    (
        !limits.is_low_power,
        !limits.is_removable,
        limits.recommended_max_working_set_size,
    )
}

impl MetalBackend {
    /// Whether there is a device.
    pub fn is_available() -> bool {
        crate::is_available()
    }

    /// The backend on the device that computes best: one that is neither low-power nor removable before others, and of
    /// those the one with the most memory. On a Mac with one GPU, that one.
    ///
    /// # Errors
    ///
    /// [`Error::NoDevice`] if there is none; those of [`MetalBackend::with_device`].
    pub fn initialize() -> Result<MetalBackend> {
        let devices =
            Device::all().or_else(|_| Device::system_default().map(|device| vec![device]))?;
        let best = devices
            .into_iter()
            .max_by_key(|device| rank(device.limits()))
            .ok_or(Error::NoDevice)?;
        MetalBackend::with_device(&best)
    }

    /// The backend on `device`.
    ///
    /// # Errors
    ///
    /// Those of [`Device::new_command_queue`] and [`Ops::new`].
    pub fn with_device(device: &Device) -> Result<MetalBackend> {
        Ok(MetalBackend {
            queue: device.new_command_queue()?,
            ops: Ops::new(device)?,
            allocations: Allocations::default(),
            kernels: Kernels::default(),
            scratch: Scratch::default(),
            transfers: OnceCell::new(),
        })
    }

    /// The device.
    pub fn metal_device(&self) -> &Device {
        self.ops.device()
    }

    /// The queue that everything of this backend is submitted to.
    pub fn queue(&self) -> &CommandQueue {
        &self.queue
    }

    /// The kernels, for calls that are encoded.
    pub fn ops(&self) -> &Ops {
        &self.ops
    }

    /// The device's name.
    pub fn name(&self) -> &str {
        self.metal_device().name()
    }

    /// How far the device goes.
    pub fn limits(&self) -> &DeviceLimits {
        self.metal_device().limits()
    }

    /// Records what `encode` encodes into one command buffer, in order, and commits it.
    ///
    /// # Errors
    ///
    /// Those of `encode`, after which nothing is committed, and of the command buffer.
    pub fn submit(
        &self,
        encode: impl FnOnce(&mut ComputeEncoder<'_>) -> Result<()>,
    ) -> Result<Submission> {
        let mut commands: CommandBuffer = self.queue.command_buffer()?;
        let mut encoder = commands.compute_command_encoder(DispatchType::Serial)?;
        encode(&mut encoder)?;
        encoder.end_encoding()?;
        commands.commit()
    }

    /// `bytes` bytes that host and GPU share, whose address operations on pointers take. They are zero.
    ///
    /// # Errors
    ///
    /// Those of [`Device::new_buffer`].
    pub fn allocate(&self, bytes: usize) -> Result<Allocation> {
        let buffer = self.create_buffer(bytes, StorageMode::Shared)?;
        // A new buffer may hold what was in its memory before.
        buffer.wait_write::<u8>()?.fill(0);
        self.allocations.add(buffer).ok_or_else(|| {
            let message = "shared memory has no address for the host";
            Error::NotVisible(Failure::new("MetalBackend::allocate", message))
        })
    }

    /// Gives memory of [`MetalBackend::allocate`] back. Operations that have not completed keep it until then.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if `address` does not begin an allocation, or that has not `bytes` bytes.
    pub fn deallocate(&self, address: *const u8, bytes: usize) -> Result<()> {
        self.allocations
            .remove("MetalBackend::deallocate", address, bytes)
    }

    /// The row-major elements without gaps at `address`, which may be inside an allocation: what every operation on tensors
    /// takes as a [`Tensor`](crate::ops::Tensor), at once, in a [`Batch`](crate::Batch) or in an encoder.
    ///
    /// ```
    /// use metal_bridge::ops::Unary;
    /// use metal_bridge::{MetalBackend, MetalOps};
    ///
    /// if MetalBackend::is_available() {
    ///     let metal = MetalOps::new(MetalBackend::initialize()?);
    ///     let backend = metal.backend();
    ///     let memory = backend.allocate(6 * size_of::<f32>())?;
    ///     let x: *const f32 = memory.address.as_ptr().cast();
    ///     let rows = backend.tensor_at(x, &[2, 3])?;
    ///     metal.unary(Unary::Exp, &rows, &rows)?;
    ///     metal.softmax(&rows, 1, &rows)?;
    ///     // SAFETY: the calls have ended, and nothing else uses the memory.
    ///     assert!((unsafe { x.read() } - 1.0 / 3.0).abs() < 1e-6);
    /// }
    /// # Ok::<(), metal_bridge::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the address is not memory of this backend, or has been deallocated, or for a shape that a
    /// tensor cannot have; [`Error::OutOfRange`] if the allocation ends earlier. An address between elements is an error of the
    /// operation ([`Error::Misaligned`]).
    pub fn tensor_at<T: Element>(
        &self,
        address: *const T,
        shape: &[usize],
    ) -> Result<AllocatedTensor> {
        self.allocations
            .tensor("MetalBackend::tensor_at", "the tensor", address, shape)
    }

    /// A buffer of `bytes` bytes.
    ///
    /// # Errors
    ///
    /// Those of [`Device::new_buffer`].
    pub fn create_buffer(&self, bytes: usize, mode: StorageMode) -> Result<Buffer> {
        self.metal_device().new_buffer(bytes, mode)
    }

    /// A buffer that holds `values`.
    ///
    /// # Errors
    ///
    /// Those of [`Device::new_buffer`] and [`MetalBackend::copy_from_host`].
    pub fn create_buffer_with_data<T: Pod>(
        &self,
        values: &[T],
        mode: StorageMode,
    ) -> Result<Buffer> {
        if mode != StorageMode::Private {
            return self.metal_device().new_buffer_with_data(values, mode);
        }
        let buffer = self.create_buffer(size_of_val(values), mode)?;
        self.copy_from_host(values, &buffer)?;
        Ok(buffer)
    }

    /// Copies the first bytes of `buffer` to `values`, after all that was submitted before.
    ///
    /// # Errors
    ///
    /// Those of a transfer ([`TransferQueue::copy`]): [`Error::OutOfRange`] if the buffer is shorter, [`Error::InUse`].
    pub fn copy_buffer_to_host<T: Pod>(&self, buffer: &Buffer, values: &mut [T]) -> Result<()> {
        self.transfers()?.copy(buffer.at(0), values).run()?;
        Ok(())
    }

    /// Copies `values` to the first bytes of `buffer`, after all that was submitted before.
    ///
    /// # Errors
    ///
    /// As for [`MetalBackend::copy_buffer_to_host`].
    pub fn copy_from_host<T: Pod>(&self, values: &[T], buffer: &Buffer) -> Result<()> {
        self.transfers()?.copy(values, buffer.at(0)).run()?;
        Ok(())
    }

    fn transfers(&self) -> Result<&TransferQueue> {
        self.transfers
            .get_or_try_init(|| Memory::new(self.metal_device())?.transfer_queue(&self.queue))
    }

    /// Compiles a source of the user's own. Returns the names of its kernels, which [`MetalBackend::get_compute_pipeline`]
    /// takes from here on, also in place of kernels of the same names.
    ///
    /// # Errors
    ///
    /// Those of [`Device::new_library_with_source`].
    pub fn register_kernels(&self, source: &str, options: &CompileOptions) -> Result<Vec<String>> {
        self.kernels.register(self.metal_device(), source, options)
    }

    /// The pipeline of a registered kernel, made when it is first asked for.
    ///
    /// It does not find the crate's own kernels: most need function constants, and only [`Ops`](crate::ops::Ops) knows these and
    /// the layout of the arguments.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if no source that was registered has the kernel; those of
    /// [`Device::new_compute_pipeline_state`].
    pub fn get_compute_pipeline(&self, name: &str) -> Result<ComputePipeline> {
        self.kernels.pipeline(self.metal_device(), name)
    }

    /// How many threads a threadgroup should have for a grid of `threads`: a multiple of the execution width, at most 256 and
    /// at most what the pipeline's registers allow (`maxTotalThreadsPerThreadgroup`), and no more than the grid needs.
    pub fn optimal_thread_group_size(&self, pipeline: &ComputePipeline, threads: usize) -> usize {
        threads_for(pipeline, threads)
    }

    /// The same in two dimensions: at most as wide as the execution width, so that neighbours of a row share a simdgroup.
    pub fn optimal_thread_group_size_2d(&self, pipeline: &ComputePipeline, grid: Size) -> Size {
        threads_for_2d(pipeline, grid)
    }

    /// A weight matrix of `rows` by `columns` elements, copied from `bytes`, which are laid out as `kind` says.
    ///
    /// # Errors
    ///
    /// Those of [`Weight::new`]; [`Error::InvalidArgument`] if the bytes are not as many as the shape takes.
    pub fn weight(
        &self,
        bytes: &[u8],
        rows: usize,
        columns: usize,
        kind: WeightType,
    ) -> Result<Weight> {
        if let Some(needed) = kind
            .bytes(rows, columns)
            .filter(|needed| *needed != bytes.len())
        {
            let message = format!(
                "{rows} by {columns} elements of {kind:?} take {needed} bytes, not {}",
                bytes.len()
            );
            return Err(Error::InvalidArgument(Failure::new(
                "MetalBackend::weight",
                message,
            )));
        }
        Weight::new(self.shared(bytes)?, 0, rows, columns, kind)
    }

    pub(super) fn shared<T: Pod>(&self, values: &[T]) -> Result<Buffer> {
        self.create_buffer_with_data(values, StorageMode::Shared)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn power_then_place_then_memory_decide() {
        let limits = |is_low_power, is_removable, memory| DeviceLimits {
            is_low_power,
            is_removable,
            recommended_max_working_set_size: memory,
            max_buffer_length: 0,
            max_threadgroup_memory_length: 0,
            max_threads_per_threadgroup: Size::new(1, 1, 1),
            has_unified_memory: false,
            is_headless: false,
            runs_lanes_in_turn: false,
        };
        // From the best on.
        let devices = [
            limits(false, false, 2),
            limits(false, false, 1),
            limits(false, true, 8),
            limits(true, false, 16),
            limits(true, true, 32),
        ];
        assert!(devices.is_sorted_by(|better, worse| rank(better) > rank(worse)));
    }
}
