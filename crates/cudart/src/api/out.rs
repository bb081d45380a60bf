//! [`Out`]: the caller's pointer to a result.

use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::codes::cudaErrorInvalidValue;
use crate::runtime::failure::{Failed, Outcome};

/// A result pointer that was checked, to be written to once everything has worked.
pub(crate) struct Out<'a, T> {
    pointer: NonNull<T>,
    _borrow: PhantomData<&'a mut T>,
}

/// # Safety
///
/// `pointer` is NULL, or valid for a write of a `T` during the call.
pub(crate) unsafe fn out<'a, T>(pointer: *mut T, name: &str) -> Outcome<Out<'a, T>> {
    let Some(pointer) = NonNull::new(pointer) else {
        return Err(Failed::new(
            cudaErrorInvalidValue,
            format!("{name} is NULL"),
        ));
    };
    Ok(Out {
        pointer,
        _borrow: PhantomData,
    })
}

/// Writes a result, unless `pointer` is NULL because the caller does not want the result.
///
/// # Safety
///
/// As for [`out`].
pub(crate) unsafe fn set_if_wanted<T>(pointer: *mut T, value: T) {
    if !pointer.is_null() {
        // SAFETY: the caller's promise, which says nothing about the alignment: see below.
        unsafe { pointer.write_unaligned(value) }
    }
}

impl<T> Out<'_, T> {
    pub(crate) fn set(self, value: T) {
        // SAFETY: `out`'s caller has promised that the result can be written. C does not promise that it is aligned for
        // Rust's type, which may be stricter than its own.
        unsafe { self.pointer.as_ptr().write_unaligned(value) }
    }
}
