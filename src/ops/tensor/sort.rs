//! Sorted rows, and the indices that sort them.

use bytemuck::{Pod, Zeroable};

use crate::error::{Error, Failure, Result};
use crate::metal::compute::ComputeEncoder;
use crate::metal::device::Size;
use crate::ops::launch::{Cost, Grid, Launch, Operand, check_operands, elements};
use crate::ops::pipelines::{Constant, KernelName};
use crate::ops::shader::Shader;
use crate::ops::tensor::arrange::{invalid, require_axis};
use crate::ops::tensor::data_type::DataType;
use crate::ops::tensor::layout::{Layout, Walk};
use crate::ops::tensor::rows::{Axes, axes_of};
use crate::ops::tensor::view::Tensor;
use crate::ops::tensor::walk::{
    KernelNames, kernel_names, read_operand, require_type, write_operand,
};
use crate::ops::{LaneExecution, Ops, View};

const KERNELS: KernelNames = kernel_names!("sort");

/// `first_run` of `shaders/tensor/sort.metal`.
const FIRST_RUN: usize = 16;

/// `most_kept` of `shaders/tensor/sort.metal`: so many are selected at most.
const MOST_KEPT: usize = 64;

/// Bytes of an index.
const INDEX: usize = 4;

/// What is sorted by what. Equal elements keep their order, zeros of either sign are equal, and NaN is larger than all numbers,
/// as in PyTorch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SortOrder {
    /// The elements along this axis are sorted, at each position of the others.
    pub axis: usize,
    /// The largest element comes first.
    pub descending: bool,
}

/// `Sorting` of `shaders/tensor/sort.metal`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Arguments {
    size: u64,
    limit: u64,
    width: u64,
    flip: u64,
    per_thread: u32,
    kept_rank: u32,
    x_stride: u64,
    to_stride: u64,
    kept: Axes,
}

/// The passes of a sort.
struct Sort<'a> {
    function: &'static str,
    x: Tensor<'a>,
    order: SortOrder,
    indices: Tensor<'a>,
    scratch: View<'a>,
    /// Of `x` along the axis.
    size: usize,
    /// Positions of the other axes.
    rows: usize,
}

impl Ops {
    /// `y = x`, sorted along an axis, and `indices` where in `x` each element was: `x`, `y` and `indices` have one shape, `x` and `y`
    /// one type, of any kind, and `indices` the type `u32`. `scratch` is memory for what lies between the passes,
    /// [`Ops::sort_scratch`] bytes of it. A merge sort: a pass over runs of 16 elements, one for each doubling of their length, and
    /// a [`Ops::gather`]. Rows may have any length; few long ones use all of a device. Kernels `sort` of the type of `x`, `gather`.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] for an axis that `x` does not have, if types or shapes do not fit, if a tensor that is written
    /// or `scratch` overlaps another one, or if positions of one that is written share an element; [`Error::OutOfRange`] if
    /// elements are not inside their buffer, or for 2^31 elements along the axis or 2^32 rows or more; [`Error::Misaligned`] if
    /// they do not begin at a multiple of their size.
    pub fn sort<'a>(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        order: SortOrder,
        x: impl Into<Tensor<'a>>,
        y: impl Into<Tensor<'a>>,
        indices: impl Into<Tensor<'a>>,
        scratch: impl Into<View<'a>>,
    ) -> Result<()> {
        const FUNCTION: &str = "Ops::sort";
        let (x, y, indices) = (x.into(), Some(y.into()), indices.into());
        require_whole(FUNCTION, &x, &indices)?;
        self.sorted(FUNCTION, encoder, order, (x, y, indices, scratch.into()))
    }

    /// `indices = ` where in `x` the elements are that are first along an axis, second, and so on: [`Ops::sort`] without the
    /// elements. Kernel `sort`.
    ///
    /// # Errors
    ///
    /// Those of [`Ops::sort`].
    pub fn argsort<'a>(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        order: SortOrder,
        x: impl Into<Tensor<'a>>,
        indices: impl Into<Tensor<'a>>,
        scratch: impl Into<View<'a>>,
    ) -> Result<()> {
        const FUNCTION: &str = "Ops::argsort";
        let (x, indices) = (x.into(), indices.into());
        require_whole(FUNCTION, &x, &indices)?;
        self.sorted(FUNCTION, encoder, order, (x, None, indices, scratch.into()))
    }

    /// The first `k` elements of [`Ops::sort`] along an axis, in order, and where in `x` they are: `y` and `indices` have the size
    /// `k` along the axis, at most that of `x`, and the shape of `x` besides. [`SortOrder::descending`] asks for the largest ones.
    /// `scratch` as for [`Ops::sort`]. No pass keeps more than `k` elements of a run, and if `k` is at most 64, the first pass
    /// selects them from runs of hundreds of elements instead of sorting these. Kernels `sort`, `gather`.
    ///
    /// # Errors
    ///
    /// Those of [`Ops::sort`].
    pub fn top_k<'a>(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        order: SortOrder,
        x: impl Into<Tensor<'a>>,
        y: impl Into<Tensor<'a>>,
        indices: impl Into<Tensor<'a>>,
        scratch: impl Into<View<'a>>,
    ) -> Result<()> {
        let tensors = (x.into(), Some(y.into()), indices.into(), scratch.into());
        self.sorted("Ops::top_k", encoder, order, tensors)
    }

    /// The bytes that [`Ops::sort`], [`Ops::argsort`] and [`Ops::top_k`] need beside their tensors, for `x` of this shape: none for
    /// up to 16 elements along the axis, 4 for each element of `x` up to 32, and 8 beyond.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] for an axis that the shape does not have, [`Error::OutOfRange`] for 2^31 elements along the
    /// axis or more, or for more bytes than can be counted.
    pub fn sort_scratch(shape: &[usize], axis: usize) -> Result<usize> {
        const FUNCTION: &str = "Ops::sort_scratch";
        let Some(&size) = shape.get(axis) else {
            let message = format!("the shape {shape:?} does not have an axis {axis}");
            return Err(invalid(FUNCTION, message));
        };
        scratch_bytes(FUNCTION, shape, size)
    }

    fn sorted(
        &self,
        function: &'static str,
        encoder: &mut ComputeEncoder<'_>,
        order: SortOrder,
        (x, y, indices, scratch): (Tensor<'_>, Option<Tensor<'_>>, Tensor<'_>, View<'_>),
    ) -> Result<()> {
        let axis = order.axis;
        require_axis(function, "x", &x, axis)?;
        require_type(function, "indices", &indices, DataType::U32)?;
        let fits = indices.rank() == x.rank()
            && (0..x.rank()).all(|dimension| match indices.shape()[dimension] {
                count if dimension == axis => count <= x.shape()[axis],
                count => count == x.shape()[dimension],
            });
        if !fits {
            let message = format!(
                "indices of shape {:?} are not the first ones of x of shape {:?} along axis {axis}",
                indices.shape(),
                x.shape()
            );
            return Err(invalid(function, message));
        }
        indices.require_own_elements(function, "indices")?;
        let scratch_bytes = scratch_bytes(function, x.shape(), x.shape()[axis])?;
        let mut operands = vec![
            read_operand(function, "x", &x)?,
            write_operand(function, "indices", &indices)?,
            Operand::write("scratch", scratch, scratch_bytes, INDEX),
        ];
        if let Some(y) = &y {
            if y.shape() != indices.shape() {
                let message = format!(
                    "y has the shape {:?}, but must have the indices' shape {:?}",
                    y.shape(),
                    indices.shape()
                );
                return Err(invalid(function, message));
            }
            operands.push(write_operand(function, "y", y)?);
        }
        // Before the gather, which calls the indices `index`.
        check_operands(function, &operands)?;
        if let Some(y) = y {
            self.gather_for(function, None, (x, axis, indices, y))?;
        }
        if indices.count() == 0 {
            return Ok(());
        }
        let sort = Sort {
            function,
            x,
            order,
            indices,
            scratch,
            size: x.shape()[axis],
            rows: x.count() / x.shape()[axis],
        };
        sort.encode(self, encoder)?;
        match y {
            Some(y) => {
                encoder.barrier_between_passes()?;
                self.gather_for(function, Some(encoder), (x, axis, indices, y))
            }
            None => Ok(()),
        }
    }
}

impl Sort<'_> {
    fn encode(&self, ops: &Ops, encoder: &mut ComputeEncoder<'_>) -> Result<()> {
        let merges = merges(self.size, self.first_run(ops));
        // A pass must not fail after another one is encoded.
        for pass in 0..=merges {
            self.grid(ops, pass)?;
        }
        for pass in 0..=merges {
            if pass > 0 {
                encoder.barrier_between_passes()?;
            }
            self.pass(ops, encoder, pass, pass == merges)?;
        }
        Ok(())
    }

    /// One half of the scratch memory, as indices in the order of rows.
    fn half(&self, number: usize) -> View<'_> {
        let bytes = self.size * self.rows * INDEX;
        View::new(
            self.scratch.buffer(),
            self.scratch.offset() + number % 2 * bytes,
        )
    }

    /// Indices that are wanted of a row.
    fn limit(&self) -> usize {
        self.indices.shape()[self.order.axis]
    }

    fn selects(&self) -> bool {
        self.limit() <= MOST_KEPT && self.limit() < self.size
    }

    /// Elements of a run that the first pass sorts, or selects from.
    fn first_run(&self, ops: &Ops) -> usize {
        match ops.lanes {
            _ if !self.selects() => FIRST_RUN,
            LaneExecution::InTurn => 1024,
            LaneExecution::Lockstep => 256,
        }
    }

    /// Elements that a run has before a pass; 0 before the first one.
    fn width(&self, ops: &Ops, pass: usize) -> usize {
        match pass {
            0 => 0,
            merge => self.first_run(ops) << (merge - 1),
        }
    }

    /// The grid, and how many elements of the first pass, or indices of another one, a thread has.
    fn grid(&self, ops: &Ops, pass: usize) -> Result<(Grid, usize)> {
        let (mut per_thread, threads) = match ops.lanes {
            LaneExecution::InTurn => (1024, 32),
            LaneExecution::Lockstep => (FIRST_RUN, 256),
        };
        let columns = if pass == 0 {
            per_thread = self.first_run(ops).max(per_thread);
            self.size.div_ceil(per_thread)
        } else {
            let pair = 2 * self.width(ops, pass);
            self.size.div_ceil(pair) * pair.min(self.limit()).div_ceil(per_thread)
        };
        if u32::try_from(self.rows).is_err() {
            let message = format!(
                "x of shape {:?} takes more threads than a grid may have",
                self.x.shape()
            );
            return Err(Error::OutOfRange(Failure::new(self.function, message)));
        }
        let width = columns.min(threads);
        let grid = Grid::Threads {
            grid: Size::new(columns, self.rows, 1),
            threadgroup: Size::new(width, self.rows.min(threads / width), 1),
        };
        Ok((grid, per_thread))
    }

    fn pass(
        &self,
        ops: &Ops,
        encoder: &mut ComputeEncoder<'_>,
        pass: usize,
        is_last: bool,
    ) -> Result<()> {
        let (x, axis) = (&self.x, self.order.axis);
        let others: Vec<usize> = (0..x.rank()).filter(|other| *other != axis).collect();
        let x_rows = x.layout().along(&others);
        let (to_rows, to_stride) = if is_last {
            let layout = self.indices.layout();
            (layout.along(&others), layout.strides()[axis])
        } else {
            // In the order of rows, each without gaps.
            let mut strides = vec![0; others.len()];
            let mut stride = self.size;
            for (dimension, size) in x_rows.shape().iter().enumerate().rev() {
                strides[dimension] = stride;
                stride *= size;
            }
            let layout = Layout::strided(x_rows.shape(), &strides);
            (layout.expect("x has as many elements"), 1)
        };
        let kept = Walk::new(&[x_rows, to_rows]);
        let bytes = self.size * self.rows * INDEX;
        let target = if is_last {
            write_operand(self.function, "indices", &self.indices)?
        } else {
            Operand::write("scratch", self.half(pass), bytes, INDEX)
        };
        let mut operands = vec![read_operand(self.function, "x", x)?, target];
        if pass > 0 {
            let from = self.half(pass - 1);
            operands.push(Operand::read("scratch", from, bytes, INDEX));
        }
        let kernel = KernelName::new(Shader::Sort, KERNELS[x.data_type() as usize])
            .with(Constant::Bool(3, pass > 0))
            .with(Constant::Bool(4, pass == 0 && self.selects()));
        let (grid, per_thread) = self.grid(ops, pass)?;
        let launch = Launch {
            function: self.function,
            pipeline: &ops.pipelines.pipeline(kernel)?,
            arguments: Arguments {
                size: self.size as u64,
                limit: self.limit() as u64,
                width: self.width(ops, pass) as u64,
                flip: if self.order.descending { u64::MAX } else { 0 },
                per_thread: per_thread as u32,
                kept_rank: kept.shape.len() as u32,
                x_stride: x.strides()[axis] as u64,
                to_stride: to_stride as u64,
                kept: axes_of(&kept, [0, 1]),
            },
            operands: &operands,
            cost: Cost::bytes_only(x.data_type().name()),
            threadgroup_memory: 0,
            grid,
        };
        // SAFETY: the kernel goes to rows of x and of the target, which the grid counts, and holds indices of x within its row,
        // whatever the scratch memory has. It writes at most `limit` of them from the start of each run on, and the last pass has
        // one run. If it selects, `limit` is at most `MOST_KEPT`.
        unsafe { launch.encode(encoder) }
    }
}

/// The passes after the first one, for rows of this size.
fn merges(size: usize, first_run: usize) -> usize {
    let runs = size.div_ceil(first_run).max(1);
    runs.next_power_of_two().ilog2() as usize
}

fn scratch_bytes(function: &'static str, shape: &[usize], size: usize) -> Result<usize> {
    let halves = merges(size, FIRST_RUN).min(2);
    elements(function, "the axis", &[size])?;
    let counted = shape
        .iter()
        .try_fold(halves * INDEX, |bytes, size| bytes.checked_mul(*size));
    counted.ok_or_else(|| {
        let message = format!(
            "x of shape {shape:?} is too large to sort: its scratch memory exceeds the address space"
        );
        Error::OutOfRange(Failure::new(function, message))
    })
}

/// An error unless all elements are asked for.
fn require_whole(function: &'static str, x: &Tensor<'_>, indices: &Tensor<'_>) -> Result<()> {
    if x.shape() == indices.shape() {
        return Ok(());
    }
    let message = format!(
        "indices have the shape {:?}, but must have x's shape {:?}",
        indices.shape(),
        x.shape()
    );
    Err(invalid(function, message))
}
