//! [`Launch`]: one dispatch, checked before anything is encoded.

use bytemuck::NoUninit;

use crate::error::{Error, Failure, Result};
use crate::metal::dispatches::Work;
use crate::metal::pipeline::ComputePipeline;
use crate::ops::LaunchTarget;
pub(crate) use crate::ops::operand::{Operand, check_operands};
use crate::ops::target::Dispatch;
pub(crate) use crate::ops::target::Grid;

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

impl<A: NoUninit> Launch<'_, A> {
    /// Checks the operands and gives the launch to the target.
    ///
    /// # Safety
    ///
    /// With these arguments and this grid the kernel stays within the operands as they are described here.
    pub(crate) unsafe fn encode(self, target: &mut dyn LaunchTarget) -> Result<()> {
        check_operands(self.function, self.operands)?;
        let dispatch = Dispatch {
            function: self.function,
            pipeline: self.pipeline,
            arguments: bytemuck::bytes_of(&self.arguments),
            operands: self.operands,
            work: self.work(),
            threadgroup_memory: self.threadgroup_memory,
            grid: self.grid,
        };
        // SAFETY: they were checked, and the rest is the caller's promise.
        unsafe { target.take(&dispatch) }
    }
}

impl<A> Launch<'_, A> {
    fn work(&self) -> Work {
        Work {
            operation: self.function,
            variant: self.cost.variant,
            data_type: self.cost.data_type,
            flops: self.cost.flops,
            bytes: self.operands.iter().map(Operand::moved_bytes).sum(),
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
