//! [`ResidencySet`]: buffers that stay resident, so that the GPU need not wait for them.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::error::Result;
use crate::metal::buffer::Buffer;
use crate::metal::device::Device;
use crate::metal::handle::{Handle, check, create, nanoseconds};
use crate::metal::queue::CommandQueue;
use crate::sys;

/// Buffers that stay resident, so that the GPU need not wait for them (`MTLResidencySet`). Clones share the set.
/// Systems evict memory that was idle for a second, and decoding slows down until the memory is back:
/// [`request`](ResidencySet::request) keeps a set resident through such pauses.
///
/// ```
/// use std::time::Duration;
/// use metal_bridge::{Device, StorageMode};
///
/// # if !metal_bridge::is_available() { return Ok(()); }
/// let device = Device::system_default()?;
/// let weights = device.new_buffer(1 << 20, StorageMode::Private)?;
/// if device.supports_residency_sets() {
///     let set = device.new_residency_set()?;
///     set.add(&weights)?;
///     set.commit()?;
///     set.request(Duration::from_secs(180))?;
/// }
/// # Ok::<(), metal_bridge::Error>(())
/// ```
#[derive(Clone)]
pub struct ResidencySet {
    inner: Arc<SetInner>,
}

struct SetInner {
    handle: Handle<sys::mtb_residency_set>,
    device: Device,
}

impl Device {
    /// Whether the system has residency sets (macOS 15).
    pub fn supports_residency_sets(&self) -> bool {
        // SAFETY: the device is live.
        unsafe { sys::mtb_device_supports_residency_sets(self.as_ptr()) }
    }

    /// Makes an empty residency set (`newResidencySetWithDescriptor:error:`).
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`](crate::Error::Unsupported) if the system has none,
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn new_residency_set(&self) -> Result<ResidencySet> {
        // SAFETY: returns an owned set, or NULL and an owned error.
        let handle =
            unsafe { create(|error| sys::mtb_residency_set_create(self.as_ptr(), error)) }?;
        Ok(ResidencySet {
            inner: Arc::new(SetInner {
                handle,
                device: self.clone(),
            }),
        })
    }
}

impl ResidencySet {
    fn as_ptr(&self) -> *mut sys::mtb_residency_set {
        self.inner.handle.as_ptr()
    }

    /// The device that the set belongs to.
    pub fn device(&self) -> &Device {
        &self.inner.device
    }

    /// Adds a buffer, from the next [`commit`](ResidencySet::commit) on (`addAllocation:`). The set keeps it alive.
    ///
    /// # Errors
    ///
    /// [`Error::WrongDevice`](crate::Error::WrongDevice).
    pub fn add(&self, buffer: &Buffer) -> Result<()> {
        let (set, buffer) = (self.as_ptr(), buffer.as_ptr());
        // SAFETY: both are live.
        unsafe { check(|error| sys::mtb_residency_set_add_buffer(set, buffer, error)) }
    }

    /// Takes a buffer out, from the next [`commit`](ResidencySet::commit) on (`removeAllocation:`).
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`](crate::Error::NotFound) if it is not in the set.
    pub fn remove(&self, buffer: &Buffer) -> Result<()> {
        let (set, buffer) = (self.as_ptr(), buffer.as_ptr());
        // SAFETY: both are live.
        unsafe { check(|error| sys::mtb_residency_set_remove_buffer(set, buffer, error)) }
    }

    /// Lets what was added and taken out take effect (`commit`).
    ///
    /// # Errors
    ///
    /// [`Error::Internal`](crate::Error::Internal).
    pub fn commit(&self) -> Result<()> {
        // SAFETY: the set is live.
        unsafe { check(|error| sys::mtb_residency_set_commit(self.as_ptr(), error)) }
    }

    /// Makes the set resident now (`requestResidency`), and again every half second until `keep_alive` is over: zero
    /// for once, `Duration::MAX` until [`end`](ResidencySet::end).
    ///
    /// # Errors
    ///
    /// [`Error::Internal`](crate::Error::Internal).
    pub fn request(&self, keep_alive: Duration) -> Result<()> {
        let keep_alive = nanoseconds(keep_alive);
        // SAFETY: the set is live.
        unsafe { check(|error| sys::mtb_residency_set_request(self.as_ptr(), keep_alive, error)) }
    }

    /// Lets the system take the memory if it needs it (`endResidency`), and requests no more.
    ///
    /// # Errors
    ///
    /// [`Error::Internal`](crate::Error::Internal).
    pub fn end(&self) -> Result<()> {
        // SAFETY: the set is live.
        unsafe { check(|error| sys::mtb_residency_set_end(self.as_ptr(), error)) }
    }

    /// Bytes of the set's buffers (`allocatedSize`).
    pub fn allocated_size(&self) -> u64 {
        // SAFETY: the set is live.
        unsafe { sys::mtb_residency_set_allocated_size(self.as_ptr()) }
    }
}

impl CommandQueue {
    /// Makes the set's buffers resident for every command buffer of the queue (`addResidencySet:`). A queue takes 32 sets.
    ///
    /// # Errors
    ///
    /// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Unsupported`](crate::Error::Unsupported);
    /// [`Error::OutOfRange`](crate::Error::OutOfRange) if the queue has 32 others.
    pub fn add_residency_set(&self, set: &ResidencySet) -> Result<()> {
        let (queue, set) = (self.as_ptr(), set.as_ptr());
        // SAFETY: both are live.
        unsafe { check(|error| sys::mtb_command_queue_add_residency_set(queue, set, error)) }
    }

    /// Undoes [`add_residency_set`](CommandQueue::add_residency_set) (`removeResidencySet:`).
    ///
    /// # Errors
    ///
    /// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Unsupported`](crate::Error::Unsupported).
    pub fn remove_residency_set(&self, set: &ResidencySet) -> Result<()> {
        let (queue, set) = (self.as_ptr(), set.as_ptr());
        // SAFETY: both are live.
        unsafe { check(|error| sys::mtb_command_queue_remove_residency_set(queue, set, error)) }
    }
}

impl fmt::Debug for ResidencySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResidencySet")
            .field("allocated_size", &self.allocated_size())
            .finish()
    }
}
