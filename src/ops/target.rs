//! [`LaunchTarget`]: what takes the launches of operations.

use crate::error::Result;
use crate::metal::compute::ComputeEncoder;
use crate::metal::device::Size;
use crate::metal::dispatches::Work;
use crate::metal::hazards::Reach;
use crate::metal::pipeline::ComputePipeline;
use crate::ops::operand::Operand;

/// How a dispatch is divided into threadgroups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Grid {
    /// `grid` counts threads; threadgroups at the edge are smaller.
    Threads { grid: Size, threadgroup: Size },
    /// `groups` counts whole threadgroups.
    Threadgroups { groups: Size, threadgroup: Size },
}

impl Grid {
    /// Threadgroups of so many threads side by side along x.
    pub(crate) fn of_lanes(groups: Size, threads: usize) -> Grid {
        Grid::Threadgroups {
            groups,
            threadgroup: threads.into(),
        }
    }

    /// Threadgroups of so many threads, for a kernel that knows a thread by its number in the threadgroup: side by side along
    /// x or, if the grid would then have more threads along x than 32 bits count, along y.
    pub(crate) fn of_groups(groups: Size, threads: usize) -> Grid {
        let fits = groups.width <= u32::MAX as usize / threads;
        let threadgroup = if fits {
            Size::new(threads, 1, 1)
        } else {
            Size::new(1, threads, 1)
        };
        Grid::Threadgroups {
            groups,
            threadgroup,
        }
    }
}

/// What a target takes: a launch whose operands were checked.
pub struct Dispatch<'a> {
    pub(crate) function: &'static str,
    pub(crate) pipeline: &'a ComputePipeline,
    pub(crate) arguments: &'a [u8],
    pub(super) operands: &'a [Operand<'a>],
    pub(crate) work: Work,
    pub(crate) threadgroup_memory: usize,
    pub(crate) grid: Grid,
}

impl<'a> Dispatch<'a> {
    /// What is bound, each with its index. An operand without elements may lie in a buffer, or at the end of one, that does not
    /// hold what Metal wants of an argument. The kernel does not look at it, so another one stands in for it: one that is
    /// written, since an indirect command counts what lies behind a written argument as written.
    pub(crate) fn bound(&self) -> impl Iterator<Item = (usize, &'a Operand<'a>)> + use<'a> {
        let with_elements = self
            .operands
            .iter()
            .filter(|operand| operand.has_elements());
        let stand_in = with_elements.max_by_key(|operand| !operand.is_read_only());
        let operands = self.operands.iter().enumerate();
        operands.map(move |(index, operand)| {
            let other = stand_in.filter(|_| !operand.has_elements());
            (index + 1, other.unwrap_or(operand))
        })
    }

    /// The ranges that the kernel reads or writes.
    pub(crate) fn reaches(&self) -> impl Iterator<Item = Reach<'a>> + Clone + use<'a> {
        self.operands.iter().map(Operand::reach)
    }
}

/// What takes the launches of the engine's operations: a [`ComputeEncoder`], or a
/// [`SequenceRecorder`](crate::ops::SequenceRecorder), which records them once for many executions.
pub trait LaunchTarget: launches::Take {
    /// Lets later launches see what earlier ones wrote.
    ///
    /// # Errors
    ///
    /// [`Error::Internal`](crate::Error::Internal).
    fn memory_barrier(&mut self) -> Result<()>;

    /// Whether the target has the next launch from an earlier recording and keeps it: then the call that would launch it is left
    /// out. See [`SequenceRecorder`](crate::ops::SequenceRecorder).
    fn keep(&mut self) -> bool {
        false
    }
}

/// Public, as what a public trait is made of has to be, in a module that is not: nobody else can be a target.
pub(super) mod launches {
    use super::{Dispatch, Result};

    pub trait Take {
        /// # Safety
        ///
        /// The operands were checked, and with these arguments and this grid the kernel stays within them.
        unsafe fn take(&mut self, dispatch: &Dispatch<'_>) -> Result<()>;
    }
}

impl LaunchTarget for ComputeEncoder<'_> {
    fn memory_barrier(&mut self) -> Result<()> {
        ComputeEncoder::memory_barrier(self)
    }
}

impl launches::Take for ComputeEncoder<'_> {
    unsafe fn take(&mut self, dispatch: &Dispatch<'_>) -> Result<()> {
        self.set_compute_pipeline_state(dispatch.pipeline)?;
        self.set_bytes(dispatch.arguments, 0)?;
        for (index, operand) in dispatch.bound() {
            let view = operand.view();
            match operand.is_read_only() {
                true => self.set_buffer_read_only(view.buffer(), view.offset(), index)?,
                false => self.set_buffer(view.buffer(), view.offset(), index)?,
            }
        }
        // Kernels without threadgroup memory set zero here: otherwise the length that an earlier dispatch of the encoder has
        // set would count against the limit.
        self.set_threadgroup_memory_length(dispatch.threadgroup_memory, 0)?;
        self.note(dispatch.work, dispatch.reaches())?;
        // SAFETY: every operand was checked to lie within its buffer, and the caller promises that the kernel stays within
        // them; the sources under shaders/ are plain arithmetic that ends on any data.
        unsafe {
            match dispatch.grid {
                Grid::Threads { grid, threadgroup } => self.dispatch_threads(grid, threadgroup),
                Grid::Threadgroups {
                    groups,
                    threadgroup,
                } => self.dispatch_threadgroups(groups, threadgroup),
            }
        }
    }
}
