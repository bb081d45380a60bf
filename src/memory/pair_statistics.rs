//! [`PairStatistics`]: what a memory has moved between its device and each of the others.

use super::Memory;
use super::statistics::{TransferKind, TransferStatistics};
use crate::sys;

/// Transfers between a memory's device and another one, in one direction and by one route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PairStatistics {
    /// The other device's ([`Device::registry_id`](crate::Device::registry_id)).
    pub other_registry_id: u64,
    /// Whether the bytes came from the other device, or went there.
    pub is_from_other: bool,
    /// The route: [`TransferKind::Peer`] or [`TransferKind::PeerStaged`].
    pub kind: TransferKind,
    /// How many, how many bytes, and how fast.
    pub transfers: TransferStatistics,
}

impl Memory {
    /// What the transfers of the kinds [`Peer`](TransferKind::Peer) and [`PeerStaged`](TransferKind::PeerStaged) consist of: the pairs
    /// of devices that there were transfers between, by the other device, direction and route. It counts from the last
    /// [`reset_statistics`](Memory::reset_statistics) on.
    pub fn pair_statistics(&self) -> Vec<PairStatistics> {
        // SAFETY: the memory is live, and nothing is written.
        let count =
            unsafe { sys::mtb_memory_get_pair_statistics(self.as_ptr(), std::ptr::null_mut(), 0) };
        let mut raw = vec![sys::mtb_pair_statistics::default(); count];
        // SAFETY: the memory is live, and so many pairs are ours to write.
        let filled = unsafe {
            sys::mtb_memory_get_pair_statistics(self.as_ptr(), raw.as_mut_ptr(), raw.len())
        };
        // Meanwhile other threads may have reset them, or have added some.
        raw.truncate(filled);
        let mut pairs: Vec<PairStatistics> = raw.into_iter().map(PairStatistics::from).collect();
        pairs.sort_by_key(|pair| (pair.other_registry_id, pair.is_from_other, pair.kind as u32));
        pairs
    }
}

impl From<sys::mtb_pair_statistics> for PairStatistics {
    fn from(raw: sys::mtb_pair_statistics) -> PairStatistics {
        let is_staged = raw.kind == sys::MTB_TRANSFER_PEER_STAGED;
        PairStatistics {
            other_registry_id: raw.other_registry_id,
            is_from_other: raw.is_from_other,
            kind: match is_staged {
                true => TransferKind::PeerStaged,
                false => TransferKind::Peer,
            },
            transfers: raw.transfers.into(),
        }
    }
}
