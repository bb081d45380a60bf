//! [`MetalOps`], and its operations on slices of the host.

use std::sync::Arc;

use bytemuck::Pod;

use crate::backend::choice::Chooser;
use crate::backend::metal_backend::MetalBackend;
use crate::backend::mps_kernels::{Convolutions, Products};
use crate::backend::recorder::Recorder;
use crate::backend::scratch::Lent;
use crate::error::{Error, Failure, Result};
use crate::metal::buffer::Buffer;
use crate::metal::compute::ComputeEncoder;
use crate::ops::Weight;

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

/// Operations that have run when the call returns, each in a command buffer of its own:
///
/// - on tensors, as [`MetalOps::binary`], and on plain buffers of `f32`, as [`MetalOps::add`] and [`MetalOps::matmul`]: nothing
///   is copied and no buffer is made;
/// - on addresses of [`MetalBackend::allocate`], as [`MetalOps::add_ptr`]: the backend finds the memory, and refuses what is not
///   its own. Calls on tensors take addresses too, by [`MetalBackend::tensor_at`];
/// - on slices of the host, as [`MetalOps::linear`]: inputs and the result are copied, and the numbers of rows follow from the
///   slices' lengths. Buffers for that, if they have at most 64 MiB, are kept for later calls: 16 of them at most.
///
/// Every call may fail as the [`Ops`](crate::ops::Ops) call of its name and as the GPU; those on slices also as the making
/// of buffers, and with [`Error::InvalidArgument`] if a slice's length does not fit.
///
/// ```no_run
/// use metal_bridge::ops::WeightType;
/// use metal_bridge::{MetalBackend, MetalOps};
///
/// let metal = MetalOps::new(MetalBackend::initialize()?);
/// let identity = [1.0f32, 0.0, 0.0, 1.0];
/// let weight = metal.backend().weight(bytemuck::bytes_of(&identity), 2, 2, WeightType::F32)?;
/// assert_eq!(metal.linear(&weight, &[3.0, 4.0])?, [3.0, 4.0]);
/// # Ok::<(), metal_bridge::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct MetalOps {
    pub(super) backend: Arc<MetalBackend>,
    pub(super) recorder: Arc<Recorder>,
    pub(super) chooser: Arc<Chooser>,
    pub(super) products: Arc<Products>,
    pub(super) convolutions: Arc<Convolutions>,
}

impl MetalOps {
    /// The operations on `backend`, which others may share.
    pub fn new(backend: impl Into<Arc<MetalBackend>>) -> MetalOps {
        MetalOps {
            backend: backend.into(),
            recorder: Arc::default(),
            chooser: Arc::default(),
            products: Arc::default(),
            convolutions: Arc::default(),
        }
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
    pub fn linear(&self, weight: &Weight, x: &[f32]) -> Result<Vec<f32>> {
        let [y] = self.products("MetalOps::linear", x, [weight])?;
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
            let message = format!(
                "row {id} is past the end of a table of {} rows",
                table.rows()
            );
            return Err(Error::OutOfRange(Failure::new("MetalOps::embed", message)));
        }
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let ids_buffer = self.holding(ids)?;
        self.compute(ids.len() * table.columns(), |encoder, y| {
            self.backend
                .ops()
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
        let (x_buffer, weight) = (self.holding(x)?, self.holding(weight)?);
        self.compute(x.len(), |encoder, y| {
            self.backend
                .ops()
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
        let (a_buffer, b_buffer) = (self.holding(a)?, self.holding(b)?);
        self.compute(a.len(), |encoder, y| {
            self.backend
                .ops()
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
        let x = self.holding(x)?;
        let outputs = weights
            .iter()
            .map(|weight| self.output(function, &[m, weight.rows()]))
            .collect::<Result<Vec<_>>>()?;
        let mut batch = self.batch();
        for (weight, y) in weights.iter().zip(&outputs) {
            batch.encode(|ops, encoder| ops.linear(encoder, weight, &x, y, m))?;
        }
        batch.run()?;
        for ((result, output), weight) in results.iter_mut().zip(&outputs).zip(weights) {
            *result = first(output, m * weight.rows())?;
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
        self.at_once(|encoder| encode(encoder, &y))?;
        first(&y, count)
    }

    /// Room for a result.
    fn output(&self, function: &'static str, shape: &[usize]) -> Result<Lent<'_>> {
        let bytes = crate::ops::bytes4(function, "the result", shape)?;
        let backend = &self.backend;
        backend.scratch.take(backend.metal_device(), bytes)
    }

    fn holding<T: Pod>(&self, values: &[T]) -> Result<Lent<'_>> {
        let backend = &self.backend;
        backend.scratch.holding(backend.metal_device(), values)
    }
}

/// The first `count` floats.
fn first(buffer: &Buffer, count: usize) -> Result<Vec<f32>> {
    Ok(buffer.wait_read_range::<f32>(0..count)?.to_vec())
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
