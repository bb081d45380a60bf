//! [`Arena`]: scratch buffers out of heaps.

use std::fmt;
use std::sync::Arc;

use super::Memory;
use super::statistics::PoolStatistics;
use crate::error::Result;
use crate::metal::buffer::{Buffer, CpuAccess, StorageMode};
use crate::metal::handle::{Handle, create};
use crate::sys;

/// What an [`Arena`] is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArenaOptions {
    storage_mode: StorageMode,
    block_bytes: usize,
    limit: usize,
}

impl ArenaOptions {
    /// Private buffers, out of heaps of 16 MiB, up to the memory's budget.
    pub fn new() -> ArenaOptions {
        ArenaOptions {
            storage_mode: StorageMode::Private,
            block_bytes: 0,
            limit: 0,
        }
    }

    /// Where the buffers' bytes live: shared or private.
    pub fn storage_mode(mut self, storage_mode: StorageMode) -> ArenaOptions {
        self.storage_mode = storage_mode;
        self
    }

    /// Bytes by which the arena grows; it grows by more if one buffer needs more.
    pub fn block_bytes(mut self, bytes: usize) -> ArenaOptions {
        self.block_bytes = bytes.max(1);
        self
    }

    /// Bytes that the arena may have.
    pub fn limit(mut self, bytes: usize) -> ArenaOptions {
        self.limit = bytes.max(1);
        self
    }
}

impl Default for ArenaOptions {
    fn default() -> ArenaOptions {
        ArenaOptions::new()
    }
}

/// Scratch buffers of one storage mode, out of heaps (`MTLHeap`) that grow with the need. Clones share it.
/// A buffer of an arena is a [`Buffer`] like any other. Its range of the heap is free again once its last handle is gone and every command
/// buffer that it was bound in has completed. A new buffer still holds what the range held before.
///
/// ```
/// use metal_bridge::memory::{ArenaOptions, Memory};
/// use metal_bridge::{Device, StorageMode};
///
/// # if !metal_bridge::is_available() { return Ok(()); }
/// let memory = Memory::new(&Device::system_default()?)?;
/// let arena = memory.new_arena(&ArenaOptions::new().block_bytes(1 << 20))?;
/// for _token in 0..3 {
///     // The same memory each time, once the GPU is done with it.
///     let activations = arena.allocate(256 << 10)?;
///     drop(activations);
/// }
/// # Ok::<(), metal_bridge::Error>(())
/// ```
#[derive(Clone)]
pub struct Arena {
    inner: Arc<ArenaInner>,
}

struct ArenaInner {
    handle: Handle<sys::mtb_arena>,
    memory: Memory,
    storage_mode: StorageMode,
}

impl Memory {
    /// An arena, whose heaps count against the budget of this memory.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for managed storage,
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn new_arena(&self, options: &ArenaOptions) -> Result<Arena> {
        let ArenaOptions {
            storage_mode,
            block_bytes,
            limit,
        } = *options;
        let (memory, mode) = (self.as_ptr(), storage_mode.to_sys());
        // SAFETY: returns an owned arena, or NULL and an owned error.
        let handle = unsafe {
            create(|error| sys::mtb_arena_create(memory, mode, block_bytes, limit, error))
        }?;
        Ok(Arena {
            inner: Arc::new(ArenaInner {
                handle,
                memory: self.clone(),
                storage_mode,
            }),
        })
    }
}

impl Arena {
    fn as_ptr(&self) -> *mut sys::mtb_arena {
        self.inner.handle.as_ptr()
    }

    /// The memory whose budget the arena counts against.
    pub fn memory(&self) -> &Memory {
        &self.inner.memory
    }

    /// Where the buffers' bytes live.
    pub fn storage_mode(&self) -> StorageMode {
        self.inner.storage_mode
    }

    /// A buffer of `length` bytes, whose contents are whatever was there before (`newBufferWithLength:options:` of a
    /// heap).
    ///
    /// # Errors
    ///
    /// [`Error::OverBudget`](crate::Error::OverBudget) past the arena's limit or the memory's budget; the others as for
    /// [`Device::new_buffer`](crate::Device::new_buffer).
    pub fn allocate(&self, length: usize) -> Result<Buffer> {
        // SAFETY: returns an owned buffer, or NULL and an owned error.
        let handle =
            unsafe { create(|error| sys::mtb_arena_allocate(self.as_ptr(), length, error)) }?;
        Ok(Buffer::new(
            self.memory().device(),
            handle,
            length,
            self.storage_mode(),
            CpuAccess::ReadWrite,
        ))
    }

    /// Gives heaps with nothing in them back to Metal. Returns the bytes.
    pub fn trim(&self) -> u64 {
        // SAFETY: the arena is live.
        unsafe { sys::mtb_arena_trim(self.as_ptr()) }
    }

    /// What the arena holds. Misses are buffers that needed a new heap. The bytes kept are the heaps' free space; the objects
    /// kept are the heaps with nothing in them.
    pub fn statistics(&self) -> PoolStatistics {
        PoolStatistics::of_arena(self.as_ptr())
    }
}

impl fmt::Debug for Arena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arena")
            .field("storage_mode", &self.storage_mode())
            .field("statistics", &self.statistics())
            .finish()
    }
}
