//! [`Destination`]: what a transfer writes.

use bytemuck::Pod;

use super::buffer_place::BufferPlace;
use super::download::{Download, Receiver};
use super::host_end::{HasRows, Owned, Rows, Values};
use super::host_memory::{Unwritten, lent_values_mut};
use super::place::{End, Extent};
use crate::error::{Error, Failure, Result};

/// What a transfer writes: one of the types below. Programs cannot add others.
///
/// Borrowed host memory is borrowed for `'h`, which a transfer that is run does not outlive.
///
/// # Safety
///
/// Host memory of the end is valid, and nobody else reads it or writes to it, for `'h`; or until what the end owns is dropped
/// or has come back. An end that was not initialised has a size, and no rows with gaps: the transfer writes all of it.
#[diagnostic::on_unimplemented(
    message = "a transfer cannot write to `{Self}`",
    note = "a destination is `Buffer::at`, `Buffer::range` or `Buffer::rows`, a mutably borrowed slice, vector or array, `Values`, `Owned`, or `Rows` of host memory"
)]
pub unsafe trait Destination<'h> {
    /// What the transfer returns: nothing, or the [`Download`] of values that it owns until then.
    type Output;

    /// The end of a copy from `source`.
    #[doc(hidden)]
    fn into_end(self, function: &'static str, source: &End) -> Result<(End, Self::Output)>;
}

// SAFETY: there is no host memory.
unsafe impl<'h> Destination<'h> for BufferPlace<'_> {
    type Output = ();

    fn into_end(self, function: &'static str, _: &End) -> Result<(End, ())> {
        Ok((self.end(function)?, ()))
    }
}

// SAFETY: the values are borrowed for 'h, from everybody else.
unsafe impl<'h, T: Pod> Destination<'h> for &'h mut [T] {
    type Output = ();

    fn into_end(self, _: &'static str, _: &End) -> Result<(End, ())> {
        Ok((End::host(self.as_mut_ptr(), self.len()), ()))
    }
}

// SAFETY: as for the slice.
unsafe impl<'h, T: Pod> Destination<'h> for &'h mut Vec<T> {
    type Output = ();

    fn into_end(self, function: &'static str, source: &End) -> Result<(End, ())> {
        self.as_mut_slice().into_end(function, source)
    }
}

// SAFETY: as for the slice.
unsafe impl<'h, T: Pod, const N: usize> Destination<'h> for &'h mut [T; N] {
    type Output = ();

    fn into_end(self, function: &'static str, source: &End) -> Result<(End, ())> {
        self.as_mut_slice().into_end(function, source)
    }
}

// SAFETY: the receiver, which the end owns, keeps the values where they are, for nobody else, until the transfer has ended.
unsafe impl<'h, T: Pod, O> Destination<'h> for Owned<O, T>
where
    O: AsMut<[T]> + Send + 'static,
{
    type Output = Download<O>;

    fn into_end(self, _: &'static str, _: &End) -> Result<(End, Download<O>)> {
        let (values, count) = lent_values_mut(&self.owner);
        let (receiver, download) = Receiver::new(self.owner);
        Ok((End::host(values, count).owned_by(receiver), download))
    }
}

// SAFETY: as for an owner; the end has the size of all the values, and no rows with gaps.
unsafe impl<'h, T: Pod + Send> Destination<'h> for Values<T> {
    type Output = Download<Vec<T>>;

    fn into_end(self, function: &'static str, source: &End) -> Result<(End, Download<Vec<T>>)> {
        let count = self.count;
        let Some(length) = count.checked_mul(size_of::<T>()) else {
            let message = format!("{count} values take more bytes than the address space has");
            return Err(Error::OutOfRange(Failure::new(function, message)));
        };
        // Before memory for it is allocated: nobody asks the host for more than a source can have.
        let extent = source.common_extent(function, Some(Extent::bytes(length)))?;
        source.place(function, extent)?;
        let Some(mut values) = Unwritten::<T>::new(count) else {
            let message = format!("the host has no memory for {length} bytes");
            return Err(Error::OutOfMemory(Failure::new(function, message)));
        };
        let end = End::host(values.as_mut_ptr(), count);
        let (receiver, download) = Receiver::new(values);
        Ok((end.owned_by(receiver), download))
    }
}

// SAFETY: the memory is that of the end, as its own type promises; values that nobody has written have no rows.
unsafe impl<'h, E: Destination<'h> + HasRows> Destination<'h> for Rows<E> {
    type Output = E::Output;

    fn into_end(self, function: &'static str, source: &End) -> Result<(End, E::Output)> {
        let (end, output) = self.memory.into_end(function, source)?;
        Ok((end.in_rows(self.pitch), output))
    }
}
