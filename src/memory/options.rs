//! [`MemoryOptions`]: how much a [`Memory`](super::Memory) may hold.

use std::time::Duration;

use crate::metal::handle::nanoseconds;
use crate::sys;

/// How much a [`Memory`](super::Memory) may hold, and for how long it keeps what nobody uses.
///
/// ```
/// use std::time::Duration;
/// use metal_bridge::memory::MemoryOptions;
///
/// let options = MemoryOptions::new()
///     .budget(8 << 30)
///     .staging_limit(256 << 20)
///     .idle(Duration::from_secs(1));
/// # let _ = options;
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryOptions {
    budget: Option<u64>,
    staging_limit: Option<u64>,
    cache_limit: Option<u64>,
    idle: Option<Duration>,
}

impl MemoryOptions {
    /// The defaults.
    pub fn new() -> MemoryOptions {
        MemoryOptions::default()
    }

    /// Bytes that Metal may have allocated for the memory, in use and kept: by default the device's
    /// [`recommended_max_working_set_size`](crate::DeviceLimits::recommended_max_working_set_size). Buffers count with their
    /// lengths, heaps with their sizes; a managed buffer counts once, also where Metal keeps two copies of it.
    pub fn budget(mut self, bytes: u64) -> MemoryOptions {
        self.budget = Some(bytes);
        self
    }

    /// Bytes of staging, in use and kept: 64 MiB by default. What transfers need beyond it at once is not kept for later
    /// transfers, but counts against the budget, as all staging does.
    pub fn staging_limit(mut self, bytes: u64) -> MemoryOptions {
        self.staging_limit = Some(bytes);
        self
    }

    /// Bytes of buffers that are kept for the next allocation after their last use: a quarter of the budget by default.
    pub fn cache_limit(mut self, bytes: u64) -> MemoryOptions {
        self.cache_limit = Some(bytes);
        self
    }

    /// How long what is kept may go unused before it goes back to Metal: 5 seconds by default; `Duration::MAX` keeps it for ever.
    pub fn idle(mut self, time: Duration) -> MemoryOptions {
        self.idle = Some(time);
        self
    }

    /// Zero is the bridge's default, so the smallest size that can be asked for is 1.
    pub(super) fn to_sys(&self) -> sys::mtb_memory_options {
        let bytes = |limit: Option<u64>| limit.map_or(0, |bytes| bytes.max(1));
        sys::mtb_memory_options {
            budget: bytes(self.budget),
            staging_limit: bytes(self.staging_limit),
            cache_limit: bytes(self.cache_limit),
            idle_ns: self.idle.map_or(0, |time| nanoseconds(time).max(1)),
        }
    }
}
