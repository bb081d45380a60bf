//! [`Device`]: a GPU, and the maker of everything else.

use std::fmt;
use std::iter;
use std::sync::Arc;

use super::handle::{Handle, create};
use crate::error::{Error, Result};
use crate::sys;

/// Whether this system has a Metal device that [`Device::system_default`] would give.
///
/// Always false in a build without a Metal.
pub fn is_available() -> bool {
    // SAFETY: takes nothing and may be called from any thread.
    cfg!(metal_backend) && unsafe { sys::mtb_device_count() } > 0
}

/// A GPU (`MTLDevice`). Clones share it.
///
/// Every object made from a device keeps it alive.
#[derive(Clone)]
pub struct Device {
    inner: Arc<DeviceInner>,
}

struct DeviceInner {
    handle: Handle<sys::mtb_device>,
    limits: DeviceLimits,
    name: String,
    registry_id: u64,
}

/// A device's properties and limits. Sizes are in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceLimits {
    /// What the device can use without hurting its performance (`recommendedMaxWorkingSetSize`).
    pub recommended_max_working_set_size: u64,
    /// The largest buffer (`maxBufferLength`).
    pub max_buffer_length: u64,
    /// Threadgroup memory, static and dynamic together (`maxThreadgroupMemoryLength`).
    pub max_threadgroup_memory_length: u64,
    /// The largest threadgroup in each dimension (`maxThreadsPerThreadgroup`).
    pub max_threads_per_threadgroup: Size,
    /// CPU and GPU share their memory (`hasUnifiedMemory`).
    pub has_unified_memory: bool,
    /// The device favours low power over speed (`isLowPower`).
    pub is_low_power: bool,
    /// The device can be unplugged (`isRemovable`).
    pub is_removable: bool,
    /// The device drives no display (`isHeadless`).
    pub is_headless: bool,
    /// The lanes of a simdgroup run one after another, as on a CPU, and not at the same time, as on a GPU.
    pub runs_lanes_in_turn: bool,
}

/// Three extents, in threads or in threadgroups (`MTLSize`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Size {
    /// The first, fastest dimension.
    pub width: usize,
    /// The second dimension.
    pub height: usize,
    /// The third dimension.
    pub depth: usize,
}

impl Size {
    /// A size of three dimensions.
    pub const fn new(width: usize, height: usize, depth: usize) -> Size {
        Size {
            width,
            height,
            depth,
        }
    }

    pub(crate) fn to_sys(self) -> sys::mtb_size {
        sys::mtb_size {
            width: self.width,
            height: self.height,
            depth: self.depth,
        }
    }
}

impl From<usize> for Size {
    fn from(width: usize) -> Size {
        Size::new(width, 1, 1)
    }
}

impl From<(usize, usize)> for Size {
    fn from((width, height): (usize, usize)) -> Size {
        Size::new(width, height, 1)
    }
}

impl From<(usize, usize, usize)> for Size {
    fn from((width, height, depth): (usize, usize, usize)) -> Size {
        Size::new(width, height, depth)
    }
}

/// A set of features that devices have in common (`MTLGPUFamily`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum GpuFamily {
    Apple1 = sys::MTB_FAMILY_APPLE1 as isize,
    Apple2 = sys::MTB_FAMILY_APPLE2 as isize,
    Apple3 = sys::MTB_FAMILY_APPLE3 as isize,
    Apple4 = sys::MTB_FAMILY_APPLE4 as isize,
    Apple5 = sys::MTB_FAMILY_APPLE5 as isize,
    Apple6 = sys::MTB_FAMILY_APPLE6 as isize,
    Apple7 = sys::MTB_FAMILY_APPLE7 as isize,
    Apple8 = sys::MTB_FAMILY_APPLE8 as isize,
    Apple9 = sys::MTB_FAMILY_APPLE9 as isize,
    Apple10 = sys::MTB_FAMILY_APPLE10 as isize,
    Mac2 = sys::MTB_FAMILY_MAC2 as isize,
    Common1 = sys::MTB_FAMILY_COMMON1 as isize,
    Common2 = sys::MTB_FAMILY_COMMON2 as isize,
    Common3 = sys::MTB_FAMILY_COMMON3 as isize,
    Metal3 = sys::MTB_FAMILY_METAL3 as isize,
    Metal4 = sys::MTB_FAMILY_METAL4 as isize,
}

impl GpuFamily {
    /// Every family that this crate knows, the oldest of each line first.
    pub const ALL: [GpuFamily; 16] = [
        GpuFamily::Apple1,
        GpuFamily::Apple2,
        GpuFamily::Apple3,
        GpuFamily::Apple4,
        GpuFamily::Apple5,
        GpuFamily::Apple6,
        GpuFamily::Apple7,
        GpuFamily::Apple8,
        GpuFamily::Apple9,
        GpuFamily::Apple10,
        GpuFamily::Mac2,
        GpuFamily::Common1,
        GpuFamily::Common2,
        GpuFamily::Common3,
        GpuFamily::Metal3,
        GpuFamily::Metal4,
    ];
}

impl Device {
    /// The system's preferred device (`MTLCreateSystemDefaultDevice`, or the first of `MTLCopyAllDevices` if that
    /// gives none, as in a process without a window server session).
    ///
    /// # Errors
    ///
    /// [`Error::NoDevice`] if there is none.
    pub fn system_default() -> Result<Device> {
        if !cfg!(metal_backend) {
            return Err(Error::NoDevice);
        }
        // SAFETY: returns an owned device, or NULL and an owned error.
        let handle = unsafe { create(|error| sys::mtb_device_create_default(error)) }?;
        Ok(Device::new(handle))
    }

    /// The device at `index` of `MTLCopyAllDevices`.
    ///
    /// # Errors
    ///
    /// [`Error::NoDevice`] if there is no device at all, [`Error::NoSuchDevice`] past the last one.
    pub fn at(index: usize) -> Result<Device> {
        if !cfg!(metal_backend) {
            return Err(Error::NoDevice);
        }
        // SAFETY: returns an owned device, or NULL and an owned error.
        let handle = unsafe { create(|error| sys::mtb_device_create_at(index, error)) };
        match handle {
            Ok(handle) => Ok(Device::new(handle)),
            Err(Error::NoDevice) => match Device::count() {
                0 => Err(Error::NoDevice),
                count => Err(Error::NoSuchDevice { index, count }),
            },
            Err(error) => Err(error),
        }
    }

    /// Every device of the system (`MTLCopyAllDevices`).
    ///
    /// # Errors
    ///
    /// [`Error::NoDevice`] if there is none.
    pub fn all() -> Result<Vec<Device>> {
        // Not by the count alone, which is zero too if Metal cannot tell: this call says why.
        let first = Device::at(0);
        iter::once(first)
            .chain((1..Device::count()).map(Device::at))
            .collect()
    }

    /// The number of devices that [`Device::all`] gives; zero in a build without a Metal, and where Metal cannot tell.
    pub fn count() -> usize {
        if !cfg!(metal_backend) {
            return 0;
        }
        // SAFETY: takes nothing and may be called from any thread.
        unsafe { sys::mtb_device_count() }
    }

    fn new(handle: Handle<sys::mtb_device>) -> Device {
        let zero = sys::mtb_size {
            width: 0,
            height: 0,
            depth: 0,
        };
        let mut info = sys::mtb_device_info {
            name: std::ptr::null(),
            registry_id: 0,
            recommended_max_working_set_size: 0,
            max_buffer_length: 0,
            max_threadgroup_memory_length: 0,
            max_threads_per_threadgroup: zero,
            has_unified_memory: false,
            is_low_power: false,
            is_removable: false,
            is_headless: false,
            runs_lanes_in_turn: false,
        };
        // SAFETY: both are live; the name lives as long as the device and is copied here.
        let name = unsafe {
            sys::mtb_device_get_info(handle.as_ptr(), &mut info);
            sys::text(info.name)
        };
        let threads = info.max_threads_per_threadgroup;
        let limits = DeviceLimits {
            recommended_max_working_set_size: info.recommended_max_working_set_size,
            max_buffer_length: info.max_buffer_length,
            max_threadgroup_memory_length: info.max_threadgroup_memory_length,
            max_threads_per_threadgroup: Size::new(threads.width, threads.height, threads.depth),
            has_unified_memory: info.has_unified_memory,
            is_low_power: info.is_low_power,
            is_removable: info.is_removable,
            is_headless: info.is_headless,
            runs_lanes_in_turn: info.runs_lanes_in_turn,
        };
        Device {
            inner: Arc::new(DeviceInner {
                handle,
                limits,
                name,
                registry_id: info.registry_id,
            }),
        }
    }

    pub(crate) fn as_ptr(&self) -> *mut sys::mtb_device {
        self.inner.handle.as_ptr()
    }

    /// The device's name (`name`).
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// The same number for every handle of one GPU (`registryID`).
    pub fn registry_id(&self) -> u64 {
        self.inner.registry_id
    }

    /// The device's properties and limits.
    pub fn limits(&self) -> &DeviceLimits {
        &self.inner.limits
    }

    /// Whether the device has the features of `family` (`supportsFamily:`).
    pub fn supports_family(&self, family: GpuFamily) -> bool {
        // SAFETY: the device is live.
        unsafe { sys::mtb_device_supports_family(self.as_ptr(), family as i64) }
    }

    /// Bytes that this process has allocated on the device now (`currentAllocatedSize`).
    pub fn current_allocated_size(&self) -> u64 {
        // SAFETY: the device is live.
        unsafe { sys::mtb_device_current_allocated_size(self.as_ptr()) }
    }
}

impl PartialEq for Device {
    fn eq(&self, other: &Device) -> bool {
        self.registry_id() == other.registry_id()
    }
}

impl Eq for Device {}

/// For calls that take several devices: a slice of this one.
impl AsRef<[Device]> for Device {
    fn as_ref(&self) -> &[Device] {
        std::slice::from_ref(self)
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device")
            .field("name", &self.name())
            .field("registry_id", &self.registry_id())
            .finish()
    }
}
