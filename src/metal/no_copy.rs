//! Buffers over memory that the program has already (`newBufferWithBytesNoCopy:length:options:deallocator:`).

use std::ffi::c_void;
use std::ops::Range;
use std::sync::Arc;

use memmap2::MmapRaw;

use super::buffer::{Buffer, CpuAccess, StorageMode};
use super::device::Device;
use super::handle::create;
use super::lent_owner::LentOwner;
use crate::error::{Error, Failure, Result};
use crate::sys::{self, contain_panic};

/// Bytes of a page of virtual memory, the unit of no-copy buffers: 16384 on Apple silicon, 4096 on most others.
///
/// 4096 in a build without a Metal.
pub fn page_size() -> usize {
    if !cfg!(metal_backend) {
        return 4096;
    }
    // SAFETY: takes nothing and may be called from any thread.
    unsafe { sys::mtb_page_size() }
}

/// What keeps the memory of a no-copy buffer alive, dropped by the deallocator.
type Owner = Box<dyn Send>;

impl Device {
    /// Makes a buffer over the bytes of `owner`, which it keeps until neither the buffer nor a command buffer needs
    /// them. The program reaches them through the buffer only.
    ///
    /// If the GPU is the last to need the bytes, the owner is dropped on a thread of Metal's. There, a wait for work
    /// that has not completed fails with [`Error::Deadlock`], whatever the work's queue.
    ///
    /// The address and the length have to be multiples of [`page_size`], as those of a `memmap2::MmapMut` are.
    ///
    /// # Errors
    ///
    /// [`Error::Misaligned`], [`Error::InvalidArgument`] for no bytes and for a private buffer, [`Error::OutOfRange`],
    /// [`Error::OutOfMemory`].
    pub fn new_buffer_no_copy<O>(&self, owner: O, storage_mode: StorageMode) -> Result<Buffer>
    where
        O: AsMut<[u8]> + Send + 'static,
    {
        let owner = LentOwner::new(owner);
        // SAFETY: `owner` is ours alone, and never touched again until it is dropped: its bytes stay borrowed.
        let bytes = unsafe { (*owner.as_ptr()).as_mut() };
        let (pointer, length) = (bytes.as_mut_ptr(), bytes.len());
        // SAFETY: the bytes are exclusively borrowed from the owner until it is dropped.
        unsafe {
            self.no_copy(
                pointer,
                length,
                length,
                storage_mode,
                CpuAccess::ReadWrite,
                Box::new(owner),
            )
        }
    }

    /// Makes a read-only shared buffer over the bytes of `owner`. It keeps this reference to `owner` until neither the
    /// buffer nor a command buffer needs the bytes. Others may go on reading them.
    ///
    /// The address and the length have to be multiples of [`page_size`].
    ///
    /// # Errors
    ///
    /// [`Error::Misaligned`], [`Error::InvalidArgument`] for no bytes, [`Error::OutOfRange`], [`Error::OutOfMemory`].
    pub fn new_buffer_no_copy_read_only<O>(&self, owner: Arc<O>) -> Result<Buffer>
    where
        O: AsRef<[u8]> + Send + Sync + ?Sized + 'static,
    {
        let bytes = (*owner).as_ref();
        let (pointer, length) = (bytes.as_ptr().cast_mut(), bytes.len());
        // SAFETY: the bytes stay borrowed from `owner`, which lives, shared, until the deallocator drops this
        // reference; nobody writes them, since the buffer is read only.
        unsafe {
            self.no_copy(
                pointer,
                length,
                length,
                StorageMode::Shared,
                CpuAccess::ReadOnly,
                Box::new(owner),
            )
        }
    }

    /// Makes a read-only shared buffer over a range of a mapped file, in bytes from the start of the mapping.
    ///
    /// The range has to begin on a multiple of [`page_size`] in memory; it may end anywhere, and the buffer's length is
    /// the range's. Kernels must not read the rest of the last page. A weight file as a whole is such a range.
    ///
    /// Only the GPU sees the bytes: another process may change the file, so a Rust reference to them would be unsound.
    ///
    /// # Errors
    ///
    /// [`Error::Misaligned`], [`Error::InvalidArgument`] for an empty range, [`Error::OutOfRange`] for one that leaves
    /// the mapping or is longer than the device's largest buffer, [`Error::OutOfMemory`].
    pub fn new_buffer_with_mmap(&self, map: Arc<MmapRaw>, range: Range<usize>) -> Result<Buffer> {
        const FUNCTION: &str = "Device::new_buffer_with_mmap";
        if range.start > range.end || range.end > map.len() {
            let message = format!(
                "the range {range:?} is not inside the mapping, which has {} bytes",
                map.len()
            );
            return Err(Error::OutOfRange(Failure::new(FUNCTION, message)));
        }
        let length = range.end - range.start;
        // SAFETY: the start lies in the mapping or at its end.
        let pointer = unsafe { map.as_ptr().add(range.start) }.cast_mut();
        // Metal wants whole pages, and a mapping's last page is there to its end.
        let whole = length.next_multiple_of(page_size());
        // SAFETY: the pages are mapped, readable, while `map` lives, which the owner is; the buffer is read only.
        unsafe {
            self.no_copy(
                pointer,
                whole,
                length,
                StorageMode::Shared,
                CpuAccess::Hidden,
                Box::new(map),
            )
        }
    }

    /// # Safety
    ///
    /// The `mapped` bytes at `pointer` stay valid until `owner` is dropped. Until then, others beside the buffer only
    /// read them ([`CpuAccess::ReadOnly`]), may do anything ([`CpuAccess::Hidden`]), or do not touch them
    /// ([`CpuAccess::ReadWrite`]).
    unsafe fn no_copy(
        &self,
        pointer: *mut u8,
        mapped: usize,
        length: usize,
        storage_mode: StorageMode,
        cpu_access: CpuAccess,
        owner: Owner,
    ) -> Result<Buffer> {
        let context = Box::into_raw(Box::new(owner));
        let (bytes, mode) = (pointer.cast::<c_void>(), storage_mode.to_sys());
        // SAFETY: the memory is valid until the deallocator drops the owner, and the context is a boxed owner.
        let handle = unsafe {
            create(|error| {
                let deallocator = Some(release_owner as unsafe extern "C" fn(_, _, _));
                sys::mtb_buffer_create_no_copy(
                    self.as_ptr(),
                    bytes,
                    mapped,
                    mode,
                    deallocator,
                    context.cast(),
                    error,
                )
            })
        };
        match handle {
            Ok(handle) => Ok(Buffer::new(self, handle, length, storage_mode, cpu_access)),
            Err(error) => {
                // SAFETY: the call failed, so the deallocator is not called and the context is still ours.
                drop(unsafe { Box::from_raw(context) });
                Err(error)
            }
        }
    }
}

/// The deallocator of every no-copy buffer.
unsafe extern "C" fn release_owner(_bytes: *mut c_void, _length: usize, context: *mut c_void) {
    // SAFETY: the context is a boxed owner, and the bridge calls this once.
    let owner = unsafe { Box::from_raw(context.cast::<Owner>()) };
    contain_panic(|| drop(owner));
}
