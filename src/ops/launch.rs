//! [`Launch`]: one dispatch, checked before anything is encoded.

use bytemuck::NoUninit;

use crate::error::{Error, Failure, Result};
use crate::metal;
use crate::metal::compute::ComputeEncoder;
use crate::metal::device::Size;
use crate::metal::dispatches::Work;
use crate::metal::hazards::Reach;
use crate::metal::pipeline::ComputePipeline;
use crate::ops::view::{Extent, View, overlap};

/// What a kernel does with a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Write,
    /// Written; an input may lie exactly there, since the kernel goes element by element.
    WriteInPlace,
}

/// A buffer argument: where it is and how far the kernel goes in it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operand<'a> {
    name: &'static str,
    view: View<'a>,
    extent: Extent,
    alignment: usize,
    access: Access,
    /// Bytes that the kernel moves, if it does not go to all of them.
    moved: Option<usize>,
}

impl<'a> Operand<'a> {
    /// `bytes` bytes that the kernel reads.
    pub(crate) fn read(
        name: &'static str,
        view: View<'a>,
        extent: impl Into<Extent>,
        alignment: usize,
    ) -> Operand<'a> {
        Operand {
            name,
            view,
            extent: extent.into(),
            alignment,
            access: Access::Read,
            moved: None,
        }
    }

    /// `bytes` bytes that the kernel writes, and that no other operand overlaps.
    pub(crate) fn write(
        name: &'static str,
        view: View<'a>,
        extent: impl Into<Extent>,
        alignment: usize,
    ) -> Operand<'a> {
        Operand {
            name,
            view,
            extent: extent.into(),
            alignment,
            access: Access::Write,
            moved: None,
        }
    }

    /// The same operand, which may also be one of the inputs.
    pub(crate) fn in_place(self) -> Operand<'a> {
        Operand {
            access: Access::WriteInPlace,
            ..self
        }
    }

    /// The same operand, of which the kernel goes to no more than `bytes` bytes, wherever they lie.
    pub(crate) fn moving(self, bytes: usize) -> Operand<'a> {
        Operand {
            moved: Some(bytes.min(self.extent.bytes)),
            ..self
        }
    }

    /// The range that the kernel reads or writes.
    fn reach(&self) -> Reach<'a> {
        Reach {
            buffer: self.view.buffer(),
            bytes: self.view.range(self.extent.bytes),
            access: match self.access {
                Access::Read => metal::access::Access::Read,
                Access::Write | Access::WriteInPlace => metal::access::Access::Write,
            },
        }
    }

    /// Checks that the buffer holds it and that it is aligned.
    pub(crate) fn check(&self, function: &'static str) -> Result<()> {
        self.view
            .check(function, self.name, self.extent.bytes, self.alignment)
    }

    fn conflicts(&self, other: &Operand<'_>) -> bool {
        if self.access == Access::Read && other.access == Access::Read {
            return false;
        }
        let same =
            self.view.offset() == other.view.offset() && self.extent.bytes == other.extent.bytes;
        let in_place = [self.access, other.access] == [Access::WriteInPlace, Access::Read]
            || [self.access, other.access] == [Access::Read, Access::WriteInPlace];
        self.view.overlaps(self.extent, &other.view, other.extent) && !(same && in_place)
    }
}

/// What metrics say of a dispatch besides its bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    variant: Option<&'static str>,
    data_type: &'static str,
    flops: u64,
}

impl Cost {
    /// The product of `factors` floating-point operations, in elements of this type.
    pub(crate) fn new<const N: usize>(data_type: &'static str, factors: [usize; N]) -> Cost {
        Cost {
            variant: None,
            data_type,
            flops: factors
                .iter()
                .fold(1, |all, factor| all.saturating_mul(*factor as u64)),
        }
    }

    /// No floating-point operations worth counting: the bytes say what the dispatch costs.
    pub(crate) fn bytes_only(data_type: &'static str) -> Cost {
        Cost {
            variant: None,
            data_type,
            flops: 0,
        }
    }

    /// The same, for this one of the things that the method computes.
    pub(crate) fn with_variant(self, variant: Option<&'static str>) -> Cost {
        Cost { variant, ..self }
    }
}

/// One dispatch of one of our kernels: `arguments` is bound at index 0, the operands at 1 and up.
pub(crate) struct Launch<'a, A> {
    /// The operation, for errors.
    pub(crate) function: &'static str,
    pub(crate) pipeline: &'a ComputePipeline,
    pub(crate) arguments: A,
    pub(crate) operands: &'a [Operand<'a>],
    /// The type of the elements, and the floating-point operations of the dispatch, as `Metrics` defines them.
    pub(crate) cost: Cost,
    /// Bytes of dynamic threadgroup memory at index 0; zero for none.
    pub(crate) threadgroup_memory: usize,
    pub(crate) grid: Grid,
}

/// Checks that each operand is inside its buffer and aligned, and that none is written where another one is.
pub(crate) fn check_operands(function: &'static str, operands: &[Operand<'_>]) -> Result<()> {
    for (index, operand) in operands.iter().enumerate() {
        operand.check(function)?;
        if let Some(other) = operands[..index]
            .iter()
            .find(|other| operand.conflicts(other))
        {
            let [theirs, own] = [other, operand].map(|one| one.view.range(one.extent.bytes));
            let message = overlap(other.name, theirs, operand.name, own);
            return Err(Error::InvalidArgument(Failure::new(function, message)));
        }
    }
    Ok(())
}

/// How a dispatch is divided into threadgroups.
pub(crate) enum Grid {
    /// `grid` counts threads; threadgroups at the edge are smaller.
    Threads { grid: Size, threadgroup: Size },
    /// `groups` counts whole threadgroups.
    Threadgroups { groups: Size, threadgroup: Size },
}

impl Grid {
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

impl<A: NoUninit> Launch<'_, A> {
    /// Checks the operands and encodes the dispatch.
    ///
    /// # Safety
    ///
    /// With these arguments and this grid the kernel stays within the operands as they are described here.
    pub(crate) unsafe fn encode(self, encoder: &mut ComputeEncoder<'_>) -> Result<()> {
        check_operands(self.function, self.operands)?;
        encoder.set_compute_pipeline_state(self.pipeline)?;
        encoder.set_value(&self.arguments, 0)?;
        // An operand without elements may lie in a buffer, or at the end of one, that does not hold what Metal wants of an
        // argument. The kernel does not look at it, so another one stands in for it.
        let stand_in = self
            .operands
            .iter()
            .find(|operand| operand.extent.bytes > 0);
        for (index, operand) in self.operands.iter().enumerate() {
            let bound = stand_in
                .filter(|_| operand.extent.bytes == 0)
                .unwrap_or(operand);
            let (buffer, offset) = (bound.view.buffer(), bound.view.offset());
            match operand.access {
                Access::Read => encoder.set_buffer_read_only(buffer, offset, index + 1)?,
                Access::Write | Access::WriteInPlace => {
                    encoder.set_buffer(buffer, offset, index + 1)?
                }
            }
        }
        // Kernels without threadgroup memory set zero here: otherwise the length that an earlier dispatch of the encoder has
        // set would count against the limit.
        encoder.set_threadgroup_memory_length(self.threadgroup_memory, 0)?;
        encoder.note(self.work(), self.operands.iter().map(Operand::reach))?;
        // SAFETY: every operand was checked to lie within its buffer, and the caller promises that the kernel stays within
        // them; the sources under shaders/ are plain arithmetic that ends on any data.
        unsafe {
            match self.grid {
                Grid::Threads { grid, threadgroup } => encoder.dispatch_threads(grid, threadgroup),
                Grid::Threadgroups {
                    groups,
                    threadgroup,
                } => encoder.dispatch_threadgroups(groups, threadgroup),
            }
        }
    }
}

impl<A> Launch<'_, A> {
    fn work(&self) -> Work {
        let moved = |operand: &Operand<'_>| operand.moved.unwrap_or(operand.extent.bytes) as u64;
        Work {
            operation: self.function,
            variant: self.cost.variant,
            data_type: self.cost.data_type,
            flops: self.cost.flops,
            bytes: self.operands.iter().map(moved).sum(),
        }
    }
}

/// The most elements of a dimension. Kernels count in 32 bits, in steps that go past the last element.
pub(crate) const MAX_DIMENSION: usize = i32::MAX as usize;

/// The product of `factors`, as a number of elements; an error if a dimension exceeds [`MAX_DIMENSION`] or the product
/// exceeds the address space.
pub(crate) fn elements(function: &'static str, what: &str, factors: &[usize]) -> Result<usize> {
    at_most(function, what, factors, usize::MAX)
}

/// [`elements`] if the product does not exceed `most`.
pub(crate) fn at_most(
    function: &'static str,
    what: &str,
    factors: &[usize],
    most: usize,
) -> Result<usize> {
    let product = factors
        .iter()
        .try_fold(1usize, |product, &factor| product.checked_mul(factor));
    match product {
        Some(product)
            if product <= most && factors.iter().all(|&factor| factor <= MAX_DIMENSION) =>
        {
            Ok(product)
        }
        _ => {
            let message = format!("{what} with dimensions {factors:?} is too large for a kernel");
            Err(Error::OutOfRange(Failure::new(function, message)))
        }
    }
}

/// [`elements`] in bytes of 4-byte elements.
pub(crate) fn bytes4(function: &'static str, what: &str, factors: &[usize]) -> Result<usize> {
    match elements(function, what, factors)?.checked_mul(4) {
        Some(bytes) => Ok(bytes),
        None => {
            let message = format!(
                "{what} with dimensions {factors:?} takes more bytes than an address space has"
            );
            Err(Error::OutOfRange(Failure::new(function, message)))
        }
    }
}
