//! [`Elementwise`]: the one launcher of the kernels that walk through tensors element by element.

use bytemuck::{Pod, Zeroable};

use crate::error::{Error, Failure, Result};
use crate::metal::compute::ComputeEncoder;
use crate::metal::device::Size;
use crate::ops::Ops;
use crate::ops::lane_execution::LaneExecution;
use crate::ops::launch::{Grid, Launch, Operand};
use crate::ops::pipelines::{Constant, KernelName};
use crate::ops::shader::Shader;
use crate::ops::tensor::data_type::DataType;
use crate::ops::tensor::layout::{MAX_RANK, Walk};
use crate::ops::tensor::view::Tensor;

/// The most tensors of an operation, as in `shaders/tensor.h`.
pub(super) const MAX_TENSORS: usize = 4;

/// `Walk` of `shaders/tensor.h`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct Arguments {
    scalar: u64,
    per_thread: u32,
    rank: u32,
    shape: [u64; MAX_RANK],
    strides: [[u64; MAX_TENSORS]; MAX_RANK],
}

impl Arguments {
    /// For kernels whose threads take nothing of the innermost dimension, and find all others with `places_of`. There is room
    /// for one dimension less.
    pub(super) fn of_rows(walk: &Walk<MAX_TENSORS>) -> Arguments {
        let mut arguments = Arguments {
            scalar: 0,
            per_thread: 1,
            rank: walk.shape.len() as u32 + 1,
            shape: [1; MAX_RANK],
            strides: [[0; MAX_TENSORS]; MAX_RANK],
        };
        for (axis, (size, strides)) in walk.shape.iter().zip(&walk.strides).enumerate() {
            arguments.shape[axis + 1] = *size as u64;
            arguments.strides[axis + 1] = strides.map(|stride| stride as u64);
        }
        arguments
    }
}

/// The names of a kernel for each type of elements, in the order of [`DataType::ALL`].
pub(super) type KernelNames = [&'static str; 8];

macro_rules! kernel_names {
    ($prefix:literal) => {
        [
            concat!($prefix, "_f32"),
            concat!($prefix, "_f16"),
            concat!($prefix, "_bf16"),
            concat!($prefix, "_i8"),
            concat!($prefix, "_u8"),
            concat!($prefix, "_i32"),
            concat!($prefix, "_u32"),
            concat!($prefix, "_i64"),
        ]
    };
}
pub(super) use kernel_names;

/// An operation that computes each element of `y` from the elements of the inputs at the same position.
pub(super) struct Elementwise<'a> {
    pub(super) function: &'static str,
    pub(super) shader: Shader,
    pub(super) kernel: &'static str,
    /// Its function constants behind `is_dense`, which is number 0.
    pub(super) constants: &'a [Constant],
    /// What the operation has besides tensors, as bits.
    pub(super) scalar: u64,
    pub(super) y: Tensor<'a>,
    /// With their names in errors; they broadcast to the shape of `y`.
    pub(super) inputs: &'a [(&'static str, Tensor<'a>)],
}

impl Elementwise<'_> {
    /// Checks the tensors and encodes the dispatch. The kernel reads the inputs at each position of `y` and writes `y` there.
    pub(super) fn encode(self, ops: &Ops, encoder: &mut ComputeEncoder<'_>) -> Result<()> {
        let function = self.function;
        self.y.require_own_elements(function, "y")?;
        let mut layouts = [*self.y.layout(); MAX_TENSORS];
        let bytes = self.y.extent(function, "y")?;
        let mut operands = Vec::with_capacity(MAX_TENSORS);
        operands
            .push(Operand::write("y", self.y.view(), bytes, self.y.data_type().size()).in_place());
        for (place, (name, input)) in self.inputs.iter().enumerate() {
            let whole = input.broadcast(function, name, self.y.shape())?;
            let extent = whole.extent(function, name)?;
            if !whole.is_same_elements(&self.y)
                && whole.view().overlaps(extent, &self.y.view(), bytes)
            {
                let message =
                    format!("{name} and y overlap in their buffer, but are not the same elements");
                return Err(Error::InvalidArgument(Failure::new(function, message)));
            }
            layouts[place + 1] = *whole.layout();
            operands.push(Operand::read(
                name,
                whole.view(),
                extent,
                whole.data_type().size(),
            ));
        }
        // What is not a tensor of this operation has the strides of y, so that it hinders nothing.
        let walk = Walk::new(&layouts);
        let is_dense = walk.strides[0].iter().all(|stride| *stride == 1);
        let (arguments, grid) = self.arguments(&walk, ops.lanes, is_dense)?;
        let Some(grid) = grid else {
            return operands
                .iter()
                .try_for_each(|operand| operand.check(function));
        };
        let kernel = KernelName::new(self.shader, self.kernel).with(Constant::Bool(0, is_dense));
        let kernel = self
            .constants
            .iter()
            .fold(kernel, |kernel, constant| kernel.with(*constant));
        let launch = Launch {
            function,
            pipeline: &ops.pipelines.pipeline(kernel)?,
            arguments,
            operands: &operands,
            threadgroup_memory: 0,
            grid,
        };
        // SAFETY: the kernel stays at the positions of the walk, whose places are inside the extents of the operands.
        unsafe { launch.encode(encoder) }
    }

    /// What the kernel gets, and the grid; no grid if there are no elements.
    fn arguments(
        &self,
        walk: &Walk<MAX_TENSORS>,
        lanes: LaneExecution,
        is_dense: bool,
    ) -> Result<(Arguments, Option<Grid>)> {
        // Neighbouring threads of a GPU should read neighbouring elements; one that runs alone should have a long row.
        let (per_thread, threads) = match (lanes, is_dense) {
            (LaneExecution::InTurn, _) => (2 * lanes.block(), 32),
            (LaneExecution::Lockstep, true) => (lanes.block(), 256),
            (LaneExecution::Lockstep, false) => (1, 256),
        };
        let mut arguments = Arguments {
            scalar: self.scalar,
            per_thread: per_thread as u32,
            rank: walk.shape.len() as u32,
            shape: [1; MAX_RANK],
            strides: [[0; MAX_TENSORS]; MAX_RANK],
        };
        for (axis, (size, strides)) in walk.shape.iter().zip(&walk.strides).enumerate() {
            arguments.shape[axis] = *size as u64;
            arguments.strides[axis] = strides.map(|stride| stride as u64);
        }
        if self.y.count() == 0 {
            return Ok((arguments, None));
        }
        let columns = walk.shape[0].div_ceil(per_thread);
        let rows = walk.shape[1..].iter().product::<usize>();
        if u32::try_from(columns).is_err() || u32::try_from(rows).is_err() {
            let message = format!(
                "y of shape {:?} takes more threads than a grid may have",
                self.y.shape()
            );
            return Err(Error::OutOfRange(Failure::new(self.function, message)));
        }
        let width = columns.min(threads);
        let grid = Grid::Threads {
            grid: Size::new(columns, rows, 1),
            threadgroup: Size::new(width, rows.min(threads / width), 1),
        };
        Ok((arguments, Some(grid)))
    }
}

/// An error if `tensor` does not have elements of type `wanted`.
pub(super) fn require_type(
    function: &'static str,
    name: &str,
    tensor: &Tensor<'_>,
    wanted: DataType,
) -> Result<()> {
    if tensor.data_type() == wanted {
        return Ok(());
    }
    let message = format!(
        "{name} has elements of type {}, but this operation needs {}",
        tensor.data_type().name(),
        wanted.name()
    );
    Err(Error::InvalidArgument(Failure::new(function, message)))
}

/// An error unless `x` has elements of one of the floats.
pub(super) fn require_float(function: &'static str, x: &Tensor<'_>) -> Result<()> {
    if x.data_type().is_float() {
        return Ok(());
    }
    let message = format!("it is not an operation of {}", x.data_type().name());
    Err(Error::Unsupported(Failure::new(function, message)))
}

/// All of `tensor` as an operand that a kernel reads.
pub(super) fn read_operand<'a>(
    function: &'static str,
    name: &'static str,
    tensor: &Tensor<'a>,
) -> Result<Operand<'a>> {
    let bytes = tensor.extent(function, name)?;
    let alignment = tensor.data_type().size();
    Ok(Operand::read(name, tensor.view(), bytes, alignment))
}
