//! [`Source`]: what a transfer reads.

use bytemuck::Pod;

use super::buffer_place::BufferPlace;
use super::host_end::{HasRows, Owned, Rows, Staged};
use super::host_memory::lent_values;
use super::place::End;
use crate::error::Result;
use crate::sys;

/// What a transfer reads: one of the types below. Programs cannot add others.
///
/// Borrowed host memory is borrowed for `'h`, which a transfer that is run does not outlive.
///
/// # Safety
///
/// Host memory of the end is valid, and nobody writes to it, for `'h`; or until what the end owns is dropped; or, if the end
/// is staged, for as long as the value itself.
#[diagnostic::on_unimplemented(
    message = "a transfer cannot read `{Self}`",
    note = "a source is `Buffer::at`, `Buffer::range` or `Buffer::rows`, a borrowed slice, vector or array, `Staged`, `Owned`, or `Rows` of host memory"
)]
pub unsafe trait Source<'h> {
    #[doc(hidden)]
    fn into_end(self, function: &'static str) -> Result<End>;
}

// SAFETY: there is no host memory.
unsafe impl<'h> Source<'h> for BufferPlace<'_> {
    fn into_end(self, function: &'static str) -> Result<End> {
        self.end(function)
    }
}

// SAFETY: the values are borrowed for 'h.
unsafe impl<'h, T: Pod> Source<'h> for &'h [T] {
    fn into_end(self, _: &'static str) -> Result<End> {
        Ok(End::host(self.as_ptr().cast_mut(), self.len()))
    }
}

// SAFETY: as for the slice.
unsafe impl<'h, T: Pod> Source<'h> for &'h Vec<T> {
    fn into_end(self, function: &'static str) -> Result<End> {
        self.as_slice().into_end(function)
    }
}

// SAFETY: as for the slice.
unsafe impl<'h, T: Pod, const N: usize> Source<'h> for &'h [T; N] {
    fn into_end(self, function: &'static str) -> Result<End> {
        self.as_slice().into_end(function)
    }
}

// SAFETY: the values are borrowed for as long as this is.
unsafe impl<'h, T: Pod> Source<'h> for Staged<'_, T> {
    fn into_end(self, function: &'static str) -> Result<End> {
        let mut end = self.0.into_end(function)?;
        end.host_memory = sys::MTB_HOST_COPIED;
        Ok(end)
    }
}

// SAFETY: the end owns the owner, which keeps the values as they are until it is dropped.
unsafe impl<'h, T: Pod, O> Source<'h> for Owned<O, T>
where
    O: AsRef<[T]> + Send + 'static,
{
    fn into_end(self, _: &'static str) -> Result<End> {
        let (values, count) = lent_values(&self.owner);
        Ok(End::host(values, count).owned_by(self.owner))
    }
}

// SAFETY: the memory is that of the end, as its own type promises.
unsafe impl<'h, E: Source<'h> + HasRows> Source<'h> for Rows<E> {
    fn into_end(self, function: &'static str) -> Result<End> {
        Ok(self.memory.into_end(function)?.in_rows(self.pitch))
    }
}
