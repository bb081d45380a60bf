//! [`Reduced`]: the one launcher of the kernels that make something of all elements along some axes.

use std::cmp::Reverse;

use bytemuck::{Pod, Zeroable};

use crate::error::{Error, Failure, Result};
use crate::metal::compute::ComputeEncoder;
use crate::metal::device::Size;
use crate::metal::pipeline::ComputePipeline;
use crate::ops::launch::{Cost, Grid, Launch, Operand};
use crate::ops::pipelines::{Constant, KernelName, SIMD_WIDTH};
use crate::ops::shader::Shader;
use crate::ops::tensor::layout::{Layout, MAX_RANK, Walk};
use crate::ops::tensor::view::Tensor;
use crate::ops::tensor::walk::{read_operand, write_operand};
use crate::ops::{LaneExecution, Ops};

/// `max_threads` of `shaders/tensor/partials.h`.
const MAX_THREADS: usize = 256;

/// `Axes` of `shaders/tensor/partials.h`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct Axes {
    shape: [u64; MAX_RANK],
    strides: [[u64; 2]; MAX_RANK],
}

/// `Rows` of `shaders/tensor/partials.h`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct Arguments {
    count: u64,
    runs: u64,
    divisor: f32,
    order: u32,
    width: u32,
    kept_rank: u32,
    rank: u32,
    unused: u32,
    kept: Axes,
    reduced: Axes,
}

/// An operation on each row of `x`: all elements along `axes` at one position of the other axes.
pub(super) struct Reduced<'a> {
    pub(super) function: &'static str,
    pub(super) shader: Shader,
    pub(super) kernel: &'static str,
    /// The function constant number 1.
    pub(super) operation: Constant,
    pub(super) divisor: f32,
    /// The order of a scan.
    pub(super) order: u32,
    pub(super) x: Tensor<'a>,
    /// Each is one of `x`, and named once.
    pub(super) axes: &'a [usize],
    pub(super) y: Tensor<'a>,
    /// How `y` lies in the shape of `x`.
    pub(super) y_layout: Layout,
    /// Whether `y` may be `x`.
    pub(super) in_place: bool,
    /// What the method computes, if it computes several things.
    pub(super) variant: Option<&'static str>,
}

/// How the elements are divided among threads.
pub(super) struct Division {
    pub(super) is_alone: bool,
    pub(super) is_dense: bool,
    /// How many neighbouring results a thread takes at once.
    columns: usize,
    results: usize,
    /// Elements of a result.
    count: usize,
}

impl Reduced<'_> {
    /// Checks the tensors and encodes the dispatch. The kernel reads all elements of `x` and writes all of `y`.
    pub(super) fn encode(self, ops: &Ops, encoder: &mut ComputeEncoder<'_>) -> Result<()> {
        let function = self.function;
        self.y.require_own_elements(function, "y")?;
        let operands = self.operands()?;
        if self.y.count() == 0 {
            return operands
                .iter()
                .try_for_each(|operand| operand.check(function));
        }
        let layouts = [*self.x.layout(), self.y_layout];
        let (kept, reduced) = walks(self.axes, &layouts);
        let division = Division::new(function, &self.y, ops.lanes, &kept, &reduced, self.in_place)?;
        let kernel = KernelName::new(self.shader, self.kernel)
            .with(Constant::Bool(0, division.is_dense))
            .with(self.operation)
            .with(Constant::Bool(2, division.is_alone));
        let pipeline = ops.pipelines.pipeline(kernel)?;
        let (mut arguments, grid) = division.arguments(&pipeline, self.divisor, &kept, &reduced);
        arguments.order = self.order;
        let launch = Launch {
            function,
            pipeline: &pipeline,
            arguments,
            operands: &operands,
            cost: Cost::new(self.x.data_type().name(), [self.x.count()]).with_variant(self.variant),
            threadgroup_memory: 0,
            grid,
        };
        // SAFETY: the kernel has one thread or threadgroup for each position of `kept`, and goes to the positions of `reduced`
        // from there: together the positions of `x`, whose offsets in `x` and `y` are inside the extents of the operands.
        unsafe { launch.encode(encoder) }
    }

    fn operands(&self) -> Result<[Operand<'_>; 2]> {
        let (x, y) = (&self.x, &self.y);
        let is_same = x.require_apart(self.function, "x", y, self.in_place.then_some(y))?;
        let read = read_operand(self.function, "x", x)?;
        let write = write_operand(self.function, "y", y)?;
        Ok([read, if is_same { write.in_place() } else { write }])
    }
}

/// The walks through the results, and through the elements of one along `axes`: neighbours in the memory of the first tensor
/// come after one another. Each axis is one of the layouts, which have one shape, and is named once.
pub(super) fn walks<const N: usize>(axes: &[usize], layouts: &[Layout; N]) -> (Walk<N>, Walk<N>) {
    let x = &layouts[0];
    let mut axes = axes.to_vec();
    axes.sort_by_key(|axis| Reverse(x.strides()[*axis].wrapping_sub(1)));
    // Runs of a few elements are not worth their beginnings, though the elements of long ones lie further apart.
    let size = |axis: &usize| x.shape()[*axis];
    let longest = axes.iter().copied().max_by_key(size);
    if let (Some(last), Some(longest)) = (axes.last().copied(), longest) {
        if size(&last) < 8 && size(&longest) >= 4 * size(&last) {
            axes.retain(|axis| *axis != longest);
            axes.push(longest);
        }
    }
    let kept: Vec<usize> = (0..x.rank()).filter(|axis| !axes.contains(axis)).collect();
    let along = |axes: &[usize]| Walk::new(&layouts.each_ref().map(|layout| layout.along(axes)));
    // Sizes beside one of 0 need not have a product.
    let axes: &[usize] = match axes.iter().find(|axis| x.shape()[**axis] == 0) {
        Some(empty) => &[*empty],
        None => &axes,
    };
    (along(&kept), along(axes))
}

impl Division {
    /// The first two tensors of the walks are x and y. `writes_rows` says that the kernel writes all elements of a row.
    pub(super) fn new<const N: usize>(
        function: &'static str,
        y: &Tensor<'_>,
        lanes: LaneExecution,
        kept: &Walk<N>,
        reduced: &Walk<N>,
        writes_rows: bool,
    ) -> Result<Division> {
        let results = kept.shape.iter().product::<usize>();
        if u32::try_from(results).is_err() {
            let message = format!(
                "y of shape {:?} takes more threads than a grid may have",
                y.shape()
            );
            return Err(Error::OutOfRange(Failure::new(function, message)));
        }
        let count = reduced.shape.iter().product();
        // Threads of a GPU that run together should read neighbouring elements: those of a row, or those of neighbouring
        // rows if there are enough of them. Threads of a grid are counted in 32 bits.
        let are_columns = kept.strides[0][0] == 1 && reduced.strides[0][0] != 1;
        let are_many = results > u32::MAX as usize / SIMD_WIDTH;
        let is_alone = match lanes {
            LaneExecution::InTurn => true,
            LaneExecution::Lockstep => {
                count < SIMD_WIDTH || are_many || (are_columns && results >= 1024)
            }
        };
        let is_dense = reduced.strides[0][0] == 1 && (!writes_rows || reduced.strides[0][1] == 1);
        let columns = match lanes {
            LaneExecution::InTurn if are_columns && !writes_rows => {
                columns_at_once(kept.shape[0], results, lanes.block())
            }
            _ => 1,
        };
        Ok(Division {
            is_alone,
            is_dense,
            columns,
            results,
            count,
        })
    }

    /// What the kernel gets, and the grid.
    pub(super) fn arguments<const N: usize>(
        &self,
        pipeline: &ComputePipeline,
        divisor: f32,
        kept: &Walk<N>,
        reduced: &Walk<N>,
    ) -> (Arguments, Grid) {
        let most = pipeline
            .max_total_threads_per_threadgroup()
            .clamp(SIMD_WIDTH, MAX_THREADS);
        let (grid, width) = self.grid(kept.shape[0], reduced.shape[0], 1 << most.ilog2());
        let arguments = Arguments {
            count: self.count as u64,
            runs: reduced.shape[1..].iter().product::<usize>() as u64,
            divisor,
            order: 0,
            width: width as u32,
            kept_rank: kept.shape.len() as u32,
            rank: reduced.shape.len() as u32,
            unused: 0,
            kept: axes_of(kept, [0, 1]),
            reduced: axes_of(reduced, [0, 1]),
        };
        (arguments, grid)
    }

    /// The grid, and how many threads go side by side along runs of `run` elements, or how many results of a row of them a thread
    /// takes. `most` is a power of two.
    fn grid(&self, row: usize, run: usize, most: usize) -> (Grid, usize) {
        if self.is_alone {
            // Long rows do not wait for one another in a threadgroup.
            let is_long = self.count * self.columns >= 4096;
            let threads = if is_long { 1 } else { SIMD_WIDTH };
            let all = self.results / row * row.div_ceil(self.columns);
            let grid = Grid::Threads {
                grid: all.into(),
                threadgroup: threads.min(all).into(),
            };
            return (grid, self.columns);
        }
        let threads = match self.count {
            count if count < most => count.next_power_of_two().max(SIMD_WIDTH),
            _ => most,
        };
        let threads = threads.min(1 << (u32::MAX as usize / self.results).ilog2());
        let grid = Grid::Threadgroups {
            groups: self.results.into(),
            threadgroup: Size::new(threads, 1, 1),
        };
        (grid, threads.min(1 << run.ilog2()))
    }
}

/// How many of the `results`, which lie in rows, a thread takes at once, at most `block`: as many as leave several parts for the
/// cores, but not less than some cache lines. Few beside each other would not pay for the loops over them.
fn columns_at_once(row: usize, results: usize, block: usize) -> usize {
    const PARTS: usize = 16;
    const FEWEST: usize = 32;
    match row {
        0..8 => 1,
        _ => (results / PARTS).clamp(FEWEST, block).min(row),
    }
}

/// How a walk goes through these two of its tensors.
pub(super) fn axes_of<const N: usize>(walk: &Walk<N>, tensors: [usize; 2]) -> Axes {
    let mut axes = Axes {
        shape: [1; MAX_RANK],
        strides: [[0; 2]; MAX_RANK],
    };
    for (axis, (size, strides)) in walk.shape.iter().zip(&walk.strides).enumerate() {
        axes.shape[axis] = *size as u64;
        axes.strides[axis] = tensors.map(|tensor| strides[tensor] as u64);
    }
    axes
}
