//! [`Out`]: a place of the caller's for a result.

use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::codes::cudaErrorInvalidValue;
use crate::runtime::failure::{Failed, Outcome};

/// A place that was checked, to be written once everything has worked.
pub(crate) struct Out<'a, T> {
    place: NonNull<T>,
    _place: PhantomData<&'a mut T>,
}

/// # Safety
///
/// `place` is NULL, or valid for a write of a `T` during the call.
pub(crate) unsafe fn out<'a, T>(place: *mut T, name: &str) -> Outcome<Out<'a, T>> {
    let Some(place) = NonNull::new(place) else {
        return Err(Failed::new(
            cudaErrorInvalidValue,
            format!("{name} is NULL"),
        ));
    };
    Ok(Out {
        place,
        _place: PhantomData,
    })
}

/// Writes a result, unless `place` is NULL because the caller does not want the result.
///
/// # Safety
///
/// As for [`out`].
pub(crate) unsafe fn set_if_wanted<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: the caller's promise, which says nothing about the alignment: see below.
        unsafe { place.write_unaligned(value) }
    }
}

impl<T> Out<'_, T> {
    pub(crate) fn set(self, value: T) {
        // SAFETY: `out`'s caller has promised that the place can be written. C does not promise that it is aligned for
        // Rust's type, which may be stricter than its own.
        unsafe { self.place.as_ptr().write_unaligned(value) }
    }
}
