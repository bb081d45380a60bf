//! [`Statistics`]: what a memory has moved and what it holds.

use std::fmt;
use std::time::Duration;

use super::Memory;
use crate::metal::device::Device;
use crate::metal::statistics::LiveObjects;
use crate::sys;

impl Memory {
    /// Bytes that Metal may have allocated for the memory, in use and kept.
    pub fn budget(&self) -> u64 {
        self.statistics().budget
    }

    /// What was transferred and what the pools hold.
    pub fn statistics(&self) -> Statistics {
        Statistics::of(self)
    }

    /// Lets counts and times begin again at zero. What is in use and kept is not changed.
    pub fn reset_statistics(&self) {
        // SAFETY: the memory is live.
        unsafe { sys::mtb_memory_reset_statistics(self.as_ptr()) }
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let statistics = self.statistics();
        f.debug_struct("Memory")
            .field("device", self.device())
            .field("staging", &statistics.staging)
            .finish()
    }
}

/// What bytes move from and to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum TransferKind {
    HostToShared,
    HostToManaged,
    HostToPrivate,
    SharedToHost,
    ManagedToHost,
    PrivateToHost,
    HostToHost,
    BufferToBuffer,
    /// Between devices, through a remote view.
    Peer,
    /// Between devices, by way of system memory.
    PeerStaged,
    Fill,
}

const KINDS: usize = sys::MTB_TRANSFER_KIND_COUNT as usize;

impl TransferKind {
    /// Every kind.
    pub const ALL: [TransferKind; KINDS] = [
        TransferKind::HostToShared,
        TransferKind::HostToManaged,
        TransferKind::HostToPrivate,
        TransferKind::SharedToHost,
        TransferKind::ManagedToHost,
        TransferKind::PrivateToHost,
        TransferKind::HostToHost,
        TransferKind::BufferToBuffer,
        TransferKind::Peer,
        TransferKind::PeerStaged,
        TransferKind::Fill,
    ];

    fn to_sys(self) -> sys::mtb_transfer_kind {
        match self {
            TransferKind::HostToShared => sys::MTB_TRANSFER_HOST_TO_SHARED,
            TransferKind::HostToManaged => sys::MTB_TRANSFER_HOST_TO_MANAGED,
            TransferKind::HostToPrivate => sys::MTB_TRANSFER_HOST_TO_PRIVATE,
            TransferKind::SharedToHost => sys::MTB_TRANSFER_SHARED_TO_HOST,
            TransferKind::ManagedToHost => sys::MTB_TRANSFER_MANAGED_TO_HOST,
            TransferKind::PrivateToHost => sys::MTB_TRANSFER_PRIVATE_TO_HOST,
            TransferKind::HostToHost => sys::MTB_TRANSFER_HOST_TO_HOST,
            TransferKind::BufferToBuffer => sys::MTB_TRANSFER_BUFFER_TO_BUFFER,
            TransferKind::Peer => sys::MTB_TRANSFER_PEER,
            TransferKind::PeerStaged => sys::MTB_TRANSFER_PEER_STAGED,
            TransferKind::Fill => sys::MTB_TRANSFER_FILL,
        }
    }

    /// What the kind is called in tables.
    pub fn name(self) -> &'static str {
        match self {
            TransferKind::HostToShared => "host to shared",
            TransferKind::HostToManaged => "host to managed",
            TransferKind::HostToPrivate => "host to private",
            TransferKind::SharedToHost => "shared to host",
            TransferKind::ManagedToHost => "managed to host",
            TransferKind::PrivateToHost => "private to host",
            TransferKind::HostToHost => "host to host",
            TransferKind::BufferToBuffer => "buffer to buffer",
            TransferKind::Peer => "peer",
            TransferKind::PeerStaged => "peer, staged",
            TransferKind::Fill => "fill",
        }
    }
}

/// Transfers of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TransferStatistics {
    /// How many.
    pub count: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// The time that the copying took, by the GPU's times or the CPU's clock. Copies of one command buffer share its
    /// time by their bytes.
    pub time: Duration,
}

impl TransferStatistics {
    /// Gigabytes (10^9) a second; zero if no time has passed.
    pub fn gigabytes_per_second(&self) -> f64 {
        let nanoseconds = self.time.as_nanos();
        if nanoseconds == 0 {
            return 0.0;
        }
        self.bytes as f64 / nanoseconds as f64
    }
}

impl From<sys::mtb_transfer_statistics> for TransferStatistics {
    fn from(raw: sys::mtb_transfer_statistics) -> TransferStatistics {
        TransferStatistics {
            count: raw.count,
            bytes: raw.bytes,
            time: Duration::from_nanos(raw.nanoseconds),
        }
    }
}

/// What is kept to be used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PoolStatistics {
    /// Requests that a kept object met.
    pub hits: u64,
    /// Requests that needed a new object.
    pub misses: u64,
    /// Given back to Metal: idle, over the limit, or under pressure.
    pub trimmed: u64,
    /// Bytes of what is in use.
    pub bytes_in_use: u64,
    /// Bytes of what is kept.
    pub bytes_kept: u64,
    /// The most bytes that were ever held, in use and kept.
    pub high_water_bytes: u64,
    /// Objects in use.
    pub objects_in_use: u64,
    /// Objects kept.
    pub objects_kept: u64,
}

impl PoolStatistics {
    const ZERO: sys::mtb_pool_statistics = sys::mtb_pool_statistics {
        hits: 0,
        misses: 0,
        trimmed: 0,
        bytes_in_use: 0,
        bytes_kept: 0,
        high_water_bytes: 0,
        objects_in_use: 0,
        objects_kept: 0,
    };
}

impl PoolStatistics {
    /// The statistics of a live arena.
    pub(super) fn of_arena(arena: *const sys::mtb_arena) -> PoolStatistics {
        let mut raw = PoolStatistics::ZERO;
        // SAFETY: the caller's arena is live, and the result is ours.
        unsafe { sys::mtb_arena_get_statistics(arena, &mut raw) };
        PoolStatistics::from(raw)
    }
}

impl From<sys::mtb_pool_statistics> for PoolStatistics {
    fn from(raw: sys::mtb_pool_statistics) -> PoolStatistics {
        let sys::mtb_pool_statistics {
            hits,
            misses,
            trimmed,
            bytes_in_use,
            bytes_kept,
            high_water_bytes,
            objects_in_use,
            objects_kept,
        } = raw;
        PoolStatistics {
            hits,
            misses,
            trimmed,
            bytes_in_use,
            bytes_kept,
            high_water_bytes,
            objects_in_use,
            objects_kept,
        }
    }
}

/// What a [`Memory`] has moved and what it holds, at one time. It prints as tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Statistics {
    transfers: [TransferStatistics; KINDS],
    /// Memory between host and buffers.
    pub staging: PoolStatistics,
    /// Buffers of [`Memory::allocate`].
    pub buffers: PoolStatistics,
    /// Queues of [`Memory::acquire_queue`].
    pub queues: PoolStatistics,
    /// Bytes that Metal has allocated for the memory.
    pub held: u64,
    /// The most bytes that it may have.
    pub budget: u64,
    /// Command buffers committed for transfers.
    pub command_buffers: u64,
    /// Objects of the bridge in the whole process.
    pub live_objects: LiveObjects,
}

impl Statistics {
    pub(super) fn of(memory: &Memory) -> Statistics {
        let none = sys::mtb_transfer_statistics {
            count: 0,
            bytes: 0,
            nanoseconds: 0,
        };
        let mut raw = sys::mtb_memory_statistics {
            transfers: [none; KINDS],
            staging: PoolStatistics::ZERO,
            buffers: PoolStatistics::ZERO,
            queues: PoolStatistics::ZERO,
            held: 0,
            budget: 0,
            command_buffers: 0,
        };
        // SAFETY: the memory is live, and the result is ours.
        unsafe { sys::mtb_memory_get_statistics(memory.as_ptr(), &mut raw) };
        Statistics {
            transfers: TransferKind::ALL.map(|kind| raw.transfers[kind.to_sys() as usize].into()),
            staging: raw.staging.into(),
            buffers: raw.buffers.into(),
            queues: raw.queues.into(),
            held: raw.held,
            budget: raw.budget,
            command_buffers: raw.command_buffers,
            live_objects: Device::live_objects(),
        }
    }

    /// Transfers of this kind.
    pub fn transfers(&self, kind: TransferKind) -> TransferStatistics {
        self.transfers[kind as usize]
    }
}

/// Two tables, one of the transfers that there were and one of the pools, and a line of what is alive.
impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<18}{:>10}{:>16}{:>12}{:>9}",
            "transfers", "count", "bytes", "ms", "GB/s"
        )?;
        for kind in TransferKind::ALL {
            let transfers = self.transfers(kind);
            if transfers.count > 0 {
                writeln!(
                    f,
                    "{:<18}{:>10}{:>16}{:>12.3}{:>9.2}",
                    kind.name(),
                    transfers.count,
                    transfers.bytes,
                    transfers.time.as_secs_f64() * 1e3,
                    transfers.gigabytes_per_second()
                )?;
            }
        }
        writeln!(
            f,
            "{:<10}{:>10}{:>10}{:>10}{:>10}{:>8}{:>15}{:>15}{:>15}",
            "pools",
            "hits",
            "misses",
            "trimmed",
            "in use",
            "kept",
            "bytes in use",
            "bytes kept",
            "most bytes"
        )?;
        let pools = [
            ("staging", &self.staging),
            ("buffers", &self.buffers),
            ("queues", &self.queues),
        ];
        for (name, pool) in pools {
            writeln!(
                f,
                "{name:<10}{:>10}{:>10}{:>10}{:>10}{:>8}{:>15}{:>15}{:>15}",
                pool.hits,
                pool.misses,
                pool.trimmed,
                pool.objects_in_use,
                pool.objects_kept,
                pool.bytes_in_use,
                pool.bytes_kept,
                pool.high_water_bytes
            )?;
        }
        write!(
            f,
            "{} of {} bytes held; {} command buffers for transfers; alive: {}",
            self.held, self.budget, self.command_buffers, self.live_objects
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_index() {
        for (index, kind) in TransferKind::ALL.into_iter().enumerate() {
            assert_eq!((kind as usize, kind.to_sys() as usize), (index, index));
        }
    }

    #[test]
    fn statistics_read_as_tables() {
        let mut statistics = Statistics {
            held: 5,
            budget: 1 << 30,
            command_buffers: 3,
            ..Statistics::default()
        };
        statistics.transfers[TransferKind::HostToPrivate as usize] = TransferStatistics {
            count: 2,
            bytes: 4_000_000,
            time: Duration::from_millis(2),
        };
        statistics.staging.hits = 7;
        let text = statistics.to_string();
        let fields = |name: &str| -> Vec<String> {
            let line = text.lines().find(|line| line.starts_with(name));
            let rest = &line.unwrap_or_else(|| panic!("no {name} in:\n{text}"))[name.len()..];
            rest.split_whitespace().map(str::to_owned).collect()
        };
        assert_eq!(fields("host to private"), ["2", "4000000", "2.000", "2.00"]);
        assert_eq!(fields("staging")[..2], ["7", "0"]);
        // Only the kinds that there were.
        assert!(!text.contains("fill"), "{text}");
        assert!(
            text.ends_with(
                "5 of 1073741824 bytes held; 3 command buffers for transfers; alive: none"
            ),
            "{text}"
        );
    }
}
