//! [`MeasureOptions`]: how [`Topology::measure`](super::Topology::measure) measures.

use std::time::Duration;

use crate::error::{Error, Failure, Result};

/// How [`Topology::measure`](super::Topology::measure) measures.
///
/// ```
/// use metal_bridge::devices::MeasureOptions;
///
/// let options = MeasureOptions::new().bytes(64 << 20).repeats(21);
/// # let _ = options;
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeasureOptions {
    pub(super) bytes: usize,
    pub(super) repeats: usize,
    pub(super) warm_ups: usize,
    pub(super) timeout: Duration,
    pub(super) peer_access: bool,
}

impl Default for MeasureOptions {
    fn default() -> MeasureOptions {
        MeasureOptions {
            bytes: 32 << 20,
            repeats: 11,
            warm_ups: 2,
            timeout: Duration::from_secs(60),
            peer_access: true,
        }
    }
}

impl MeasureOptions {
    /// The defaults.
    pub fn new() -> MeasureOptions {
        MeasureOptions::default()
    }

    /// Bytes of a copy that the bandwidth is measured with: 32 MiB by default. A multiple of 4, which copies between peers need,
    /// and not zero.
    pub fn bytes(mut self, bytes: usize) -> MeasureOptions {
        self.bytes = bytes;
        self
    }

    /// Copies of each size whose median counts: 11 by default, and not zero.
    pub fn repeats(mut self, repeats: usize) -> MeasureOptions {
        self.repeats = repeats;
        self
    }

    /// Copies of each size before those that count: 2 by default.
    pub fn warm_ups(mut self, warm_ups: usize) -> MeasureOptions {
        self.warm_ups = warm_ups;
        self
    }

    /// How long to wait for each copy: a minute by default.
    pub fn timeout(mut self, timeout: Duration) -> MeasureOptions {
        self.timeout = timeout;
        self
    }

    /// Whether copies between peers read through remote views, which is the default, or go by way of system memory. Figures
    /// of both say where [`Memory::disable_peer_access`](crate::memory::Memory::disable_peer_access) pays.
    pub fn peer_access(mut self, peer_access: bool) -> MeasureOptions {
        self.peer_access = peer_access;
        self
    }

    pub(super) fn check(&self) -> Result<()> {
        let failure = |message: &'static str| Failure::new("Topology::measure", message);
        if self.bytes == 0 || self.repeats == 0 {
            let message = "a measurement needs at least 4 bytes and one repeat";
            return Err(Error::InvalidArgument(failure(message)));
        }
        if self.bytes % 4 != 0 {
            let message = format!("{} bytes are not a multiple of 4", self.bytes);
            return Err(Error::Misaligned(Failure::new(
                "Topology::measure",
                message,
            )));
        }
        Ok(())
    }
}
