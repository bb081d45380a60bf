//! The guards through which the CPU accesses a [`Buffer`]: they are slices.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::slice;

use bytemuck::Pod;

use super::access::Access;
use super::buffer::{Buffer, StorageMode};
use crate::sys;

/// Values inside a buffer, which the CPU sees and whose address fits their type.
pub(crate) struct Values<'a, T> {
    pub(crate) buffer: &'a Buffer,
    // A pointer, not a reference: the access ends inside `drop`, while a reference would last through it.
    pub(crate) values: NonNull<T>,
    pub(crate) count: usize,
}

impl<T: Pod> Values<'_, T> {
    /// # Safety
    ///
    /// Nobody writes the values as long as the slice lives.
    unsafe fn as_slice(&self) -> &[T] {
        // SAFETY: they are inside the buffer and aligned, and any bytes are a `T: Pod`; the rest is the caller's promise.
        unsafe { slice::from_raw_parts(self.values.as_ptr(), self.count) }
    }

    /// The end of an access that has begun.
    fn end(&self, access: Access) {
        self.buffer.inner().tracker().end_cpu(access);
    }
}

/// CPU access to read a [`Buffer`], as a slice. While it lives, no command buffer that writes the buffer can be encoded.
pub struct ReadGuard<'a, T: Pod> {
    pub(crate) values: Values<'a, T>,
    pub(crate) values_are: PhantomData<&'a [T]>,
}

// SAFETY: as a `&[T]` with a `&Buffer`; the tracker is locked by any thread and released by any other.
unsafe impl<T: Pod + Sync> Send for ReadGuard<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Pod + Sync> Sync for ReadGuard<'_, T> {}

impl<T: Pod> Deref for ReadGuard<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the tracker keeps writers out.
        unsafe { self.values.as_slice() }
    }
}

impl<T: Pod> Drop for ReadGuard<'_, T> {
    fn drop(&mut self) {
        self.values.end(Access::Read);
    }
}

impl<T: Pod + fmt::Debug> fmt::Debug for ReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.deref().fmt(f)
    }
}

/// CPU access to write a [`Buffer`], as a slice. While it lives, nothing else can use the buffer. Dropping it tells Metal
/// what changed in a managed buffer (`didModifyRange:`).
pub struct WriteGuard<'a, T: Pod> {
    pub(crate) values: Values<'a, T>,
    pub(crate) values_are: PhantomData<&'a mut [T]>,
}

// SAFETY: as a `&mut [T]` with a `&Buffer`; the tracker is locked by any thread and released by any other.
unsafe impl<T: Pod + Send> Send for WriteGuard<'_, T> {}
// SAFETY: as a `&&mut [T]`.
unsafe impl<T: Pod + Sync> Sync for WriteGuard<'_, T> {}

impl<T: Pod> Deref for WriteGuard<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the tracker keeps all others out.
        unsafe { self.values.as_slice() }
    }
}

impl<T: Pod> DerefMut for WriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as for `Values::as_slice` and `deref`, and the guard is borrowed exclusively.
        unsafe { slice::from_raw_parts_mut(self.values.values.as_ptr(), self.values.count) }
    }
}

impl<T: Pod> Drop for WriteGuard<'_, T> {
    fn drop(&mut self) {
        let Values {
            buffer,
            values,
            count,
        } = self.values;
        let inner = buffer.inner();
        let length = count * size_of::<T>();
        if let (StorageMode::Managed, Some(contents), 1..) =
            (buffer.storage_mode(), inner.contents(), length)
        {
            let offset = values.addr().get() - contents.addr().get();
            let buffer = buffer.as_ptr();
            // SAFETY: the buffer is live and the range inside it. The call fails for ranges and modes only, which are
            // right here, so there is no error to look at.
            unsafe { sys::mtb_buffer_did_modify_range(buffer, offset, length, ptr::null_mut()) };
        }
        self.values.end(Access::Write);
    }
}

impl<T: Pod + fmt::Debug> fmt::Debug for WriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.deref().fmt(f)
    }
}
