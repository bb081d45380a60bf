//! What all kernels have in common.

use std::fmt;
use std::sync::Arc;

use super::operand::{NdArray, Operand};
use crate::error::Result;
use crate::metal::access::Access;
use crate::metal::command::CommandBuffer;
use crate::metal::handle::{Handle, check, create};
use crate::sys;

/// The most operands of a kernel: those of a batch normalization.
const MAX_OPERANDS: usize = 6;

/// A kernel, whatever it computes. Clones share it.
#[derive(Clone)]
pub(super) struct Kernel(Arc<Handle<sys::mtb_mps_kernel>>);

impl Kernel {
    /// # Safety
    ///
    /// That of [`create`].
    pub(super) unsafe fn create(
        make: impl FnOnce(*mut *mut sys::mtb_error) -> *mut sys::mtb_mps_kernel,
    ) -> Result<Kernel> {
        // SAFETY: the caller's promise.
        let handle = unsafe { create(make) }?;
        Ok(Kernel(Arc::new(handle)))
    }

    /// Encodes the kernel with its operands, in the order of the header.
    pub(super) fn encode(
        &self,
        function: &'static str,
        commands: &mut CommandBuffer,
        operands: &[(&Operand, Access)],
    ) -> Result<()> {
        let mut arrays = [operands[0].0.to_sys(); MAX_OPERANDS];
        for ((operand, _), array) in operands.iter().zip(&mut arrays) {
            operand.check_end(function)?;
            *array = operand.to_sys();
        }
        let uses = operands
            .iter()
            .map(|(operand, access)| (operand.buffer(), *access));
        let (kernel, count) = (self.0.as_ptr(), operands.len());
        // SAFETY: all are live, and Metal stays within the operands, which the bridge checks.
        commands.encode(function, uses, |raw| unsafe {
            check(|error| sys::mtb_mps_kernel_encode(kernel, raw, arrays.as_ptr(), count, error))
        })
    }

    /// The same for a kernel that writes its last operand; those that are not given are left out.
    pub(super) fn encode_arrays(
        &self,
        function: &'static str,
        commands: &mut CommandBuffer,
        read: &[Option<&NdArray>],
        result: &NdArray,
    ) -> Result<()> {
        let mut operands = [(&result.0, Access::Write); MAX_OPERANDS];
        let mut count = 0;
        for array in read.iter().flatten() {
            operands[count] = (&array.0, Access::Read);
            count += 1;
        }
        self.encode(function, commands, &operands[..=count])
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:p}", self.0.as_ptr())
    }
}
