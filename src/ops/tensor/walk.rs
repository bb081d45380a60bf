//! [`Walked`]: the one launcher of the kernels that walk through tensors; [`Elementwise`]: those that go element by element.

use bytemuck::{Pod, Zeroable};

use crate::error::{Error, Failure, Result};
use crate::metal::compute::ComputeEncoder;
use crate::metal::device::Size;
use crate::ops::Ops;
use crate::ops::lane_execution::LaneExecution;
use crate::ops::launch::{Cost, Grid, Launch, Operand, check_operands};
use crate::ops::pipelines::{Constant, KernelName};
use crate::ops::shader::Shader;
use crate::ops::tensor::data_type::DataType;
use crate::ops::tensor::layout::{Layout, MAX_RANK, Walk};
use crate::ops::tensor::view::Tensor;

/// The most tensors of an operation, as in `shaders/tensor/tensor.h`.
pub(super) const MAX_TENSORS: usize = 4;

/// The most numbers of an operation besides its scalar, as in `shaders/tensor/tensor.h`.
pub(super) const MAX_PARAMETERS: usize = 5;

/// Elements of a row that a thread takes where lanes run in turn and an operand is transposed: their cache lines stay in the
/// first-level cache while the threads after it read what else they hold.
const TRANSPOSED_PER_THREAD: usize = 32;

/// `Walk` of `shaders/tensor/tensor.h`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct Arguments {
    scalar: u64,
    per_thread: u32,
    rank: u32,
    shape: [u64; MAX_RANK],
    strides: [[u64; MAX_TENSORS]; MAX_RANK],
    parameters: [u64; MAX_PARAMETERS],
}

impl Arguments {
    /// For kernels whose threads take nothing of the innermost dimension, and find all others with `offsets_of`. There is room
    /// for one dimension less.
    pub(super) fn of_rows(walk: &Walk<MAX_TENSORS>) -> Arguments {
        let mut arguments = Arguments {
            scalar: 0,
            per_thread: 1,
            rank: walk.shape.len() as u32 + 1,
            shape: [1; MAX_RANK],
            strides: [[0; MAX_TENSORS]; MAX_RANK],
            parameters: [0; MAX_PARAMETERS],
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
    /// What the method computes, if it computes several things.
    pub(super) variant: Option<&'static str>,
    /// With their names in errors; they broadcast to the shape of `y`.
    pub(super) inputs: &'a [(&'static str, Tensor<'a>)],
}

/// What some elementwise operations have besides tensors and one number.
#[derive(Clone, Copy, Default)]
pub(super) struct Extra<'a> {
    /// Layouts in the shape of `y` without memory: their offsets, which come after those of the inputs, are numbers.
    pub(super) numbers: &'a [Layout],
    pub(super) parameters: [u64; MAX_PARAMETERS],
}

impl Elementwise<'_> {
    /// Checks the tensors and encodes the dispatch. The kernel reads the inputs at each position of `y` and writes `y` there.
    pub(super) fn encode(self, ops: &Ops, encoder: &mut ComputeEncoder<'_>) -> Result<()> {
        self.encode_with(ops, encoder, Extra::default())
    }

    /// [`Elementwise::encode`] with something extra.
    pub(super) fn encode_with(
        self,
        ops: &Ops,
        encoder: &mut ComputeEncoder<'_>,
        extra: Extra<'_>,
    ) -> Result<()> {
        let mut parts = self.parts()?;
        parts.extend(extra.numbers.iter().map(|layout| Part {
            layout: *layout,
            operand: None,
        }));
        let walked = Walked {
            function: self.function,
            scalar: self.scalar,
            parameters: extra.parameters,
            parts: &parts,
            per_thread: None,
            cost: self.cost(),
        };
        let kernel = |is_dense| {
            let kernel = KernelName::new(self.shader, self.kernel);
            let constants = self.constants.iter();
            constants.fold(
                kernel.with(Constant::Bool(0, is_dense)),
                |kernel, constant| kernel.with(*constant),
            )
        };
        // SAFETY: the kernel stays at the positions of the walk: it has no other addresses.
        unsafe { walked.encode(ops, encoder, &walked.walk(), kernel) }
    }

    /// Checks all that [`Elementwise::encode`] does, and encodes nothing.
    pub(super) fn check(&self, ops: &Ops) -> Result<()> {
        let walked = Walked {
            function: self.function,
            scalar: self.scalar,
            parameters: [0; MAX_PARAMETERS],
            parts: &self.parts()?,
            per_thread: None,
            cost: self.cost(),
        };
        walked.check(ops)
    }

    /// The floating-point operations of each element, if it computes at all.
    fn cost(&self) -> Cost {
        let computed = self.inputs.first().map_or(&self.y, |(_, input)| input);
        let data_type = computed.data_type().name();
        let cost = match self.shader {
            Shader::Unary | Shader::Binary => Cost::new(data_type, [self.y.count()]),
            // Random bits are not computed with; other numbers are scaled and shifted.
            Shader::Random if computed.data_type().is_float() => {
                Cost::new(data_type, [2, self.y.count()])
            }
            _ => Cost::bytes_only(data_type),
        };
        cost.with_variant(self.variant)
    }

    fn parts(&self) -> Result<Vec<Part<'_>>> {
        let function = self.function;
        self.y.require_own_elements(function, "y")?;
        let mut parts = Vec::with_capacity(MAX_TENSORS);
        let y = write_operand(function, "y", &self.y)?.in_place();
        parts.push(Part {
            layout: *self.y.layout(),
            operand: Some(y),
        });
        for (name, input) in self.inputs {
            let whole = input.broadcast(function, name, self.y.shape())?;
            whole.require_apart(function, name, &self.y, Some(&self.y))?;
            parts.push(Part::read(function, name, &whole, *whole.layout())?);
        }
        Ok(parts)
    }
}

/// A tensor of a walk: the offset of each position, and the operand that it is an offset in.
pub(super) struct Part<'a> {
    /// All parts of a walk have one shape.
    pub(super) layout: Layout,
    /// None if the offset itself is what the kernel wants to know.
    pub(super) operand: Option<Operand<'a>>,
}

impl<'a> Part<'a> {
    /// A tensor that is read, in a walk with this layout.
    pub(super) fn read(
        function: &'static str,
        name: &'static str,
        tensor: &Tensor<'a>,
        layout: Layout,
    ) -> Result<Part<'a>> {
        let operand = Some(read_operand(function, name, tensor)?);
        Ok(Part { layout, operand })
    }

    /// The tensor `y`, which is written, in a walk with this layout.
    pub(super) fn write(
        function: &'static str,
        y: &Tensor<'a>,
        layout: Layout,
    ) -> Result<Part<'a>> {
        let operand = Some(write_operand(function, "y", y)?);
        Ok(Part { layout, operand })
    }
}

/// One dispatch of a kernel that walks through several tensors of one shape: the launcher behind [`Elementwise`], and of
/// kernels that go somewhere else from each position.
pub(super) struct Walked<'a> {
    pub(super) function: &'static str,
    pub(super) scalar: u64,
    pub(super) parameters: [u64; MAX_PARAMETERS],
    /// At least one, at most [`MAX_TENSORS`]; the operands are bound in this order.
    pub(super) parts: &'a [Part<'a>],
    /// Elements along the innermost dimension for a thread, if the kernel asks for a number of its own.
    pub(super) per_thread: Option<usize>,
    pub(super) cost: Cost,
}

impl Walked<'_> {
    pub(super) fn walk(&self) -> Walk<MAX_TENSORS> {
        // What is not a tensor of this operation has the strides of the first, so that it hinders nothing.
        let mut layouts = [self.parts[0].layout; MAX_TENSORS];
        for (layout, part) in layouts.iter_mut().zip(self.parts) {
            *layout = part.layout;
        }
        let mut walk = Walk::new(&layouts);
        walk.shorten_others();
        walk
    }

    fn operands(&self) -> Vec<Operand<'_>> {
        self.parts.iter().filter_map(|part| part.operand).collect()
    }

    /// Checks all that [`Walked::encode`] does, and encodes nothing.
    pub(super) fn check(&self, ops: &Ops) -> Result<()> {
        check_operands(self.function, &self.operands())?;
        self.arguments(&self.walk(), ops.lanes, false).map(drop)
    }

    /// Checks the operands and encodes the dispatch of the kernel, which is told whether all parts lie without gaps.
    ///
    /// # Safety
    ///
    /// Whatever data the tensors have, the kernel stays within the operands; `walk` is that of the parts.
    pub(super) unsafe fn encode(
        &self,
        ops: &Ops,
        encoder: &mut ComputeEncoder<'_>,
        walk: &Walk<MAX_TENSORS>,
        kernel: impl FnOnce(bool) -> KernelName,
    ) -> Result<()> {
        let is_dense = walk.strides[0].iter().all(|stride| *stride == 1);
        let (arguments, grid) = self.arguments(walk, ops.lanes, is_dense)?;
        let Some(grid) = grid else {
            return check_operands(self.function, &self.operands());
        };
        let launch = Launch {
            function: self.function,
            pipeline: &ops.pipelines.pipeline(kernel(is_dense))?,
            arguments,
            operands: &self.operands(),
            cost: self.cost,
            threadgroup_memory: 0,
            grid,
        };
        // SAFETY: the offsets of the walk are inside the extents of the operands, and the caller promises the rest.
        unsafe { launch.encode(encoder) }
    }

    /// What the kernel gets, and the grid; no grid if there are no elements.
    fn arguments(
        &self,
        walk: &Walk<MAX_TENSORS>,
        lanes: LaneExecution,
        is_dense: bool,
    ) -> Result<(Arguments, Option<Grid>)> {
        // Neighbouring threads of a GPU should read neighbouring elements. One that runs alone should have a long row; if an
        // operand is transposed, a short one, and the threads after it should read the rest of the operand's cache lines.
        let transposed = match lanes {
            LaneExecution::InTurn => walk.transposed_axis(),
            LaneExecution::Lockstep => None,
        };
        let (per_thread, threads) = match (lanes, is_dense) {
            (LaneExecution::InTurn, _) if transposed.is_some() => (TRANSPOSED_PER_THREAD, 32),
            (LaneExecution::InTurn, _) => (2 * lanes.block(), 32),
            (LaneExecution::Lockstep, true) => (lanes.block(), 256),
            (LaneExecution::Lockstep, false) => (1, 256),
        };
        let per_thread = self
            .per_thread
            .unwrap_or(per_thread)
            .max(walk.shape[0].div_ceil(u32::MAX as usize));
        let mut arguments = Arguments {
            scalar: self.scalar,
            per_thread: per_thread as u32,
            rank: walk.shape.len() as u32,
            shape: [1; MAX_RANK],
            strides: [[0; MAX_TENSORS]; MAX_RANK],
            parameters: self.parameters,
        };
        for (axis, (size, strides)) in walk.shape.iter().zip(&walk.strides).enumerate() {
            arguments.shape[axis] = *size as u64;
            arguments.strides[axis] = strides.map(|stride| stride as u64);
        }
        if let Some(axis) = transposed {
            arguments.shape.swap(1, axis);
            arguments.strides.swap(1, axis);
        }
        let whole = &self.parts[0].layout;
        if whole.count() == 0 {
            return Ok((arguments, None));
        }
        let columns = walk.shape[0].div_ceil(per_thread);
        let rows = walk.shape[1..].iter().product::<usize>();
        if u32::try_from(per_thread).is_err() || u32::try_from(rows).is_err() {
            let message = format!(
                "y of shape {:?} takes more threads than a grid may have",
                whole.shape()
            );
            return Err(Error::OutOfRange(Failure::new(self.function, message)));
        }
        let width = if transposed.is_some() {
            1
        } else {
            columns.min(threads)
        };
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

/// An error unless `tensor` has elements of one of the floats.
pub(super) fn require_float(function: &'static str, name: &str, tensor: &Tensor<'_>) -> Result<()> {
    if tensor.data_type().is_float() {
        return Ok(());
    }
    let message = format!(
        "{name} has elements of type {}, but this operation needs f32, f16 or bf16",
        tensor.data_type().name()
    );
    Err(Error::Unsupported(Failure::new(function, message)))
}

/// All of `tensor` as an operand that a kernel reads.
pub(super) fn read_operand<'a>(
    function: &'static str,
    name: &'static str,
    tensor: &Tensor<'a>,
) -> Result<Operand<'a>> {
    let extent = tensor.extent(function, name)?;
    let alignment = tensor.data_type().size();
    Ok(Operand::read(name, tensor.view(), extent, alignment).moving(tensor.memory()))
}

/// All of `tensor` as an operand that a kernel writes.
pub(super) fn write_operand<'a>(
    function: &'static str,
    name: &'static str,
    tensor: &Tensor<'a>,
) -> Result<Operand<'a>> {
    let extent = tensor.extent(function, name)?;
    let alignment = tensor.data_type().size();
    Ok(Operand::write(name, tensor.view(), extent, alignment).moving(tensor.memory()))
}
