//! [`Memory::enable_peer_access`] and its opposite.

use super::Memory;
use crate::error::Result;
use crate::metal::device::Device;
use crate::metal::handle::check;
use crate::sys;

impl Memory {
    /// Lets copies between the memory's device and a peer of it read private buffers through remote views, as they do from the
    /// beginning. For transfers that are recorded from now on.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`](crate::Error::Unsupported) for a device that is not a peer,
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for the memory's own.
    pub fn enable_peer_access(&self, peer: &Device) -> Result<()> {
        self.set_peer_access(peer, true)
    }

    /// Lets copies between the memory's device and a peer of it go by way of system memory, as between devices that are not peers.
    /// [`MeasureOptions::peer_access`](crate::devices::MeasureOptions::peer_access) tells whether that is faster.
    ///
    /// # Errors
    ///
    /// Those of [`enable_peer_access`](Memory::enable_peer_access).
    pub fn disable_peer_access(&self, peer: &Device) -> Result<()> {
        self.set_peer_access(peer, false)
    }

    fn set_peer_access(&self, peer: &Device, has_access: bool) -> Result<()> {
        // SAFETY: both are live.
        unsafe {
            check(|error| {
                sys::mtb_memory_set_peer_access(self.as_ptr(), peer.as_ptr(), has_access, error)
            })
        }
    }
}
