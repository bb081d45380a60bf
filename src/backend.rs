//! [`MetalBackend`] and [`MetalOps`]: a device, a queue and the kernels in one object, and calls on slices of the host that run
//! at once. For engines that want one call; those that want to encode a whole token into one command buffer use
//! [`Ops`] with a [`ComputeEncoder`].

use bytemuck::Pod;

use crate::error::{Error, Failure, Result};
use crate::metal::buffer::{Buffer, StorageMode};
use crate::metal::command::CommandBuffer;
use crate::metal::compute::{ComputeEncoder, DispatchType};
use crate::metal::device::{Device, DeviceLimits};
use crate::metal::queue::CommandQueue;
use crate::metal::submission::Submission;
use crate::ops::{Ops, Weight, WeightType};

/// A device with a queue and the kernels. Clones share all three.
#[derive(Debug, Clone)]
pub struct MetalBackend {
    queue: CommandQueue,
    ops: Ops,
}

impl MetalBackend {
    /// The backend on the device that computes best: one that is neither low-power nor removable before others, and of
    /// those the one with the most memory. On a Mac with one GPU, that one.
    ///
    /// # Errors
    ///
    /// [`Error::NoDevice`] if there is none; those of [`MetalBackend::with_device`].
    pub fn new() -> Result<MetalBackend> {
        let rank = |device: &Device| {
            let limits = device.limits();
            (
                !limits.is_low_power,
                !limits.is_removable,
                limits.recommended_max_working_set_size,
            )
        };
        let devices =
            Device::all().or_else(|_| Device::system_default().map(|device| vec![device]))?;
        let best = devices
            .into_iter()
            .max_by_key(rank)
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
        })
    }

    /// The device.
    pub fn device(&self) -> &Device {
        self.ops.device()
    }

    /// The queue that everything of this backend is submitted to.
    pub fn queue(&self) -> &CommandQueue {
        &self.queue
    }

    /// The kernels.
    pub fn ops(&self) -> &Ops {
        &self.ops
    }

    /// The device's name.
    pub fn name(&self) -> &str {
        self.device().name()
    }

    /// How far the device goes.
    pub fn limits(&self) -> &DeviceLimits {
        self.device().limits()
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

    fn shared<T: Pod>(&self, values: &[T]) -> Result<Buffer> {
        self.device()
            .new_buffer_with_data(values, StorageMode::Shared)
    }
}

/// What [`MetalOps::qkv_projection`] gives, each row-major with a row for every row of x.
#[derive(Debug, Clone, PartialEq)]
pub struct Qkv {
    /// Queries, `[m, wq.rows()]`.
    pub q: Vec<f32>,
    /// Keys, `[m, wk.rows()]`.
    pub k: Vec<f32>,
    /// Values, `[m, wv.rows()]`.
    pub v: Vec<f32>,
}

/// The operations on slices of the host: each call copies its inputs, submits one command buffer, waits, and copies the result
/// out. The numbers of rows follow from the slices' lengths. Every call may fail as the [`Ops`] call of its name, as the
/// making of buffers, and as the GPU; [`Error::InvalidArgument`] says that a slice's length does not fit.
///
/// ```no_run
/// use metal_bridge::ops::WeightType;
/// use metal_bridge::{MetalBackend, MetalOps};
///
/// let metal = MetalOps::new(MetalBackend::new()?);
/// let identity = [1.0f32, 0.0, 0.0, 1.0];
/// let weight = metal.backend().weight(bytemuck::bytes_of(&identity), 2, 2, WeightType::F32)?;
/// assert_eq!(metal.matmul(&weight, &[3.0, 4.0])?, [3.0, 4.0]);
/// # Ok::<(), metal_bridge::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct MetalOps {
    backend: MetalBackend,
}

impl MetalOps {
    /// The operations on `backend`.
    pub fn new(backend: MetalBackend) -> MetalOps {
        MetalOps { backend }
    }

    /// The backend.
    pub fn backend(&self) -> &MetalBackend {
        &self.backend
    }

    /// `x . W^T` for `x` of `[m, weight.columns()]`, with weights of any type: `[m, weight.rows()]`.
    ///
    /// # Errors
    ///
    /// See [`MetalOps`].
    pub fn matmul(&self, weight: &Weight, x: &[f32]) -> Result<Vec<f32>> {
        let [y] = self.products("MetalOps::matmul", x, [weight])?;
        Ok(y)
    }

    /// The projections of a layer's input to queries, keys and values, in one command buffer.
    ///
    /// # Errors
    ///
    /// See [`MetalOps`]; the three matrices need the same number of columns.
    pub fn qkv_projection(&self, x: &[f32], wq: &Weight, wk: &Weight, wv: &Weight) -> Result<Qkv> {
        let [q, k, v] = self.products("MetalOps::qkv_projection", x, [wq, wk, wv])?;
        Ok(Qkv { q, k, v })
    }

    /// The rows of `table` that `ids` name: `[ids.len(), table.columns()]`.
    ///
    /// # Errors
    ///
    /// See [`MetalOps`]; [`Error::OutOfRange`] for an id past the table.
    pub fn embed(&self, table: &Weight, ids: &[u32]) -> Result<Vec<f32>> {
        if let Some(id) = ids.iter().find(|id| **id as usize >= table.rows()) {
            let message = format!("row {id} of a table of {}", table.rows());
            return Err(Error::OutOfRange(Failure::new("MetalOps::embed", message)));
        }
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let ids_buffer = self.backend.shared(ids)?;
        self.compute(ids.len() * table.columns(), |encoder, y| {
            self.backend
                .ops
                .embed(encoder, table, &ids_buffer, y, ids.len())
        })
    }

    /// The RMS norm of each row of `x`, whose rows are as long as `weight`.
    ///
    /// # Errors
    ///
    /// See [`MetalOps`].
    pub fn rms_norm(&self, x: &[f32], weight: &[f32], epsilon: f32) -> Result<Vec<f32>> {
        let columns = weight.len();
        let Some(rows) = rows_of("MetalOps::rms_norm", x, columns)? else {
            return Ok(Vec::new());
        };
        let (x_buffer, weight) = (self.backend.shared(x)?, self.backend.shared(weight)?);
        self.compute(x.len(), |encoder, y| {
            self.backend
                .ops
                .rms_norm(encoder, &x_buffer, &weight, y, rows, columns, epsilon)
        })
    }

    /// `silu(a) * b`, the gate of SwiGLU, element by element.
    ///
    /// # Errors
    ///
    /// See [`MetalOps`].
    pub fn silu_multiply(&self, a: &[f32], b: &[f32]) -> Result<Vec<f32>> {
        if a.len() != b.len() {
            let message = format!(
                "the operands have {} and {} elements, but must have the same number",
                a.len(),
                b.len()
            );
            return Err(Error::InvalidArgument(Failure::new(
                "MetalOps::silu_multiply",
                message,
            )));
        }
        if a.is_empty() {
            return Ok(Vec::new());
        }
        let (a_buffer, b_buffer) = (self.backend.shared(a)?, self.backend.shared(b)?);
        self.compute(a.len(), |encoder, y| {
            self.backend
                .ops
                .silu_multiply(encoder, &a_buffer, &b_buffer, y, a.len())
        })
    }

    /// `x . W^T` for several matrices, in one command buffer.
    fn products<const N: usize>(
        &self,
        function: &'static str,
        x: &[f32],
        weights: [&Weight; N],
    ) -> Result<[Vec<f32>; N]> {
        let mut results = [const { Vec::new() }; N];
        if let Some(other) = weights
            .iter()
            .find(|weight| weight.columns() != weights[0].columns())
        {
            let message = format!(
                "the matrices have {} and {} columns, but must have the same number",
                weights[0].columns(),
                other.columns()
            );
            return Err(Error::InvalidArgument(Failure::new(function, message)));
        }
        let Some(m) = rows_of(function, x, weights[0].columns())? else {
            return Ok(results);
        };
        let x = self.backend.shared(x)?;
        let outputs = weights
            .iter()
            .map(|weight| self.output(function, &[m, weight.rows()]))
            .collect::<Result<Vec<_>>>()?;
        let submission = self.backend.submit(|encoder| {
            weights
                .iter()
                .zip(&outputs)
                .try_for_each(|(weight, y)| self.backend.ops.matmul(encoder, weight, &x, y, m))
        })?;
        submission.wait()?;
        for (result, output) in results.iter_mut().zip(&outputs) {
            *result = output.wait_read::<f32>()?.to_vec();
        }
        Ok(results)
    }

    /// Runs one operation with a result of `count` elements.
    fn compute(
        &self,
        count: usize,
        encode: impl FnOnce(&mut ComputeEncoder<'_>, &Buffer) -> Result<()>,
    ) -> Result<Vec<f32>> {
        let y = self.output("MetalOps", &[count])?;
        self.backend.submit(|encoder| encode(encoder, &y))?.wait()?;
        Ok(y.wait_read::<f32>()?.to_vec())
    }

    /// Room for a result.
    fn output(&self, function: &'static str, shape: &[usize]) -> Result<Buffer> {
        let bytes = crate::ops::bytes4(function, "the result", shape)?;
        self.backend.device().new_buffer(bytes, StorageMode::Shared)
    }
}

/// The number of rows of `columns` elements in `x`; none if it is empty.
fn rows_of(function: &'static str, x: &[f32], columns: usize) -> Result<Option<usize>> {
    if columns == 0 || x.len() % columns != 0 {
        let message = format!(
            "{} elements are not a whole number of rows of {columns}",
            x.len()
        );
        return Err(Error::InvalidArgument(Failure::new(function, message)));
    }
    Ok((!x.is_empty()).then_some(x.len() / columns))
}
