//! [`Allocation`]: memory that the runtime knows, and the Metal buffers of it.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, RwLock};

use metal_bridge::sys::{self, Handle, create};

use crate::memory::addresses::Range;
use crate::memory::pages::Pages;
use crate::memory::ranges::Ranges;
use crate::memory::system::page_size;
use crate::runtime::device_state::DeviceState;
use crate::runtime::failure::{Outcome, allocation_failed};
use crate::runtime::lock::lock;
use crate::types::cudaHostRegisterReadOnly;

pub(crate) type Buffer = Arc<Handle<sys::mtb_buffer>>;

/// All memory that the runtime knows, by address.
pub(crate) static ALLOCATIONS: RwLock<Ranges<Arc<Allocation>>> = RwLock::new(Ranges::new());

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `cudaMalloc` and its like: a private buffer.
    Device,
    /// `cudaMallocHost` and its like.
    Pinned,
    /// `cudaHostRegister`: the caller's memory.
    Registered,
    /// `cudaMallocManaged`.
    Managed,
}

pub(crate) struct Allocation {
    pub(crate) kind: Kind,
    pub(crate) start: usize,
    pub(crate) length: usize,
    pub(crate) flags: u32,
    /// The state of the device that was current.
    pub(crate) state: Arc<DeviceState>,
    /// Whether the program has asked for the address that kernels see, which may then stand in memory.
    pub(crate) address_taken: AtomicBool,
    memory: Memory,
}

enum Memory {
    Private {
        buffer: Buffer,
        /// The device's addresses: the CPU finds nothing there.
        _addresses: Range,
    },
    Host(Host),
}

/// Memory of the host. Each device that uses it has a buffer of it.
struct Host {
    /// Whole pages: the allocation begins somewhere in the first.
    first: usize,
    pages: usize,
    /// Set if the runtime made the memory. Buffers hold it too: the last holder frees it.
    mapping: Option<Arc<Pages>>,
    buffers: Mutex<BTreeMap<i32, Buffer>>,
}

impl Allocation {
    /// A device's own memory, at addresses that the CPU cannot use.
    pub(crate) fn on_device(state: &Arc<DeviceState>, length: usize) -> Outcome<Allocation> {
        let memory = state.memory.as_ptr();
        // SAFETY: the memory is live; the call returns an owned buffer, or NULL and an owned error.
        let buffer = unsafe {
            create(|error| {
                sys::mtb_memory_allocate(memory, length, sys::MTB_STORAGE_PRIVATE, error)
            })
        }
        .map_err(allocation_failed)?;
        let addresses = Range::take(length)?;
        Ok(Allocation {
            kind: Kind::Device,
            start: addresses.start,
            length,
            flags: 0,
            state: state.clone(),
            address_taken: AtomicBool::new(false),
            memory: Memory::Private {
                buffer: Arc::new(buffer),
                _addresses: addresses,
            },
        })
    }

    /// Memory of the host that devices use where it is.
    pub(crate) fn on_host(
        state: &Arc<DeviceState>,
        kind: Kind,
        length: usize,
        flags: u32,
    ) -> Outcome<Allocation> {
        let mapping = Pages::new(length)?;
        let start = mapping.start();
        let pages = length.next_multiple_of(page_size());
        let host = Host {
            first: start,
            pages,
            mapping: Some(Arc::new(mapping)),
            buffers: Mutex::default(),
        };
        Allocation::of_host(state, kind, start, length, flags, host)
    }

    /// The caller's memory, in these whole pages.
    pub(crate) fn registered(
        state: &Arc<DeviceState>,
        (start, length): (usize, usize),
        (first, pages): (usize, usize),
        flags: u32,
    ) -> Outcome<Allocation> {
        let host = Host {
            first,
            pages,
            mapping: None,
            buffers: Mutex::default(),
        };
        Allocation::of_host(state, Kind::Registered, start, length, flags, host)
    }

    fn of_host(
        state: &Arc<DeviceState>,
        kind: Kind,
        start: usize,
        length: usize,
        flags: u32,
        host: Host,
    ) -> Outcome<Allocation> {
        let allocation = Allocation {
            kind,
            start,
            length,
            flags,
            state: state.clone(),
            address_taken: AtomicBool::new(false),
            memory: Memory::Host(host),
        };
        // Memory that cannot be a buffer is refused now, and not at its first use.
        allocation.buffer(state)?;
        Ok(allocation)
    }

    /// The buffer to use on this device, and the allocation's offset in it. A private buffer is always one of its own
    /// device.
    pub(crate) fn buffer(&self, state: &DeviceState) -> Outcome<(Buffer, usize)> {
        match &self.memory {
            Memory::Private { buffer, .. } => Ok((buffer.clone(), 0)),
            Memory::Host(host) => {
                let mut buffers = lock(&host.buffers);
                let index = state.device.index;
                let buffer = match buffers.get(&index) {
                    Some(buffer) => buffer.clone(),
                    None => buffers.entry(index).or_insert(host.buffer(state)?).clone(),
                };
                Ok((buffer, self.start - host.first))
            }
        }
    }

    /// Whether the caller registered the memory as read-only.
    pub(crate) fn is_read_only(&self) -> bool {
        self.kind == Kind::Registered && self.flags & cudaHostRegisterReadOnly != 0
    }

    /// Whether the CPU can use the memory.
    pub(crate) fn is_on_host(&self) -> bool {
        matches!(self.memory, Memory::Host(_))
    }
}

impl Host {
    fn buffer(&self, state: &DeviceState) -> Outcome<Buffer> {
        let pages = self.mapping.clone().map_or(ptr::null(), Arc::into_raw);
        // SAFETY: the device is live; the pages are mapped, ours for as long as `pages` is held, or the caller's, who
        // has promised to unregister them first. The deallocator takes what `into_raw` gave, or NULL.
        let created = unsafe {
            create(|error| {
                sys::mtb_buffer_create_no_copy(
                    state.device.handle.as_ptr(),
                    ptr::with_exposed_provenance_mut(self.first),
                    self.pages,
                    sys::MTB_STORAGE_SHARED,
                    Some(release_pages),
                    pages.cast_mut().cast(),
                    error,
                )
            })
        };
        match created {
            Ok(buffer) => Ok(Arc::new(buffer)),
            Err(error) => {
                // SAFETY: the call failed, so the pages are still ours.
                unsafe { release_pages(ptr::null_mut(), 0, pages.cast_mut().cast()) };
                Err(allocation_failed(error))
            }
        }
    }
}

/// The deallocator of buffers of host memory.
unsafe extern "C" fn release_pages(_bytes: *mut c_void, _length: usize, pages: *mut c_void) {
    if !pages.is_null() {
        // SAFETY: `Arc::into_raw` gave it, and it is given back once.
        drop(unsafe { Arc::from_raw(pages.cast::<Pages>().cast_const()) });
    }
}
