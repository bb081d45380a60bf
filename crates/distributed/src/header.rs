//! [`Header`]: what each rank tells the others of an operation before any of its data moves.

use std::fmt;

use metal_bridge::devices::Combine;
use metal_bridge::ops::DataType;

/// Bytes of a header.
pub(crate) const HEADER: usize = 80;

/// The first bytes of every header. Another version of the crate may say other things, and is refused.
const MAGIC: u32 = 0x4d42_4401;

/// The key of a gathering whose own part is where the whole has it.
pub(crate) const IN_BUFFER: i64 = 1;

const VERSION: &str = env!("CARGO_PKG_VERSION");

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    World,
    Barrier,
    Split,
    AllReduce,
    AllGather,
    ReduceScatter,
    Broadcast,
    Send,
    Receive,
}

const KINDS: [Kind; 9] = [
    Kind::World,
    Kind::Barrier,
    Kind::Split,
    Kind::AllReduce,
    Kind::AllGather,
    Kind::ReduceScatter,
    Kind::Broadcast,
    Kind::Send,
    Kind::Receive,
];

impl Kind {
    /// Whether it is between two ranks.
    pub(crate) fn is_pairwise(self) -> bool {
        matches!(self, Kind::Send | Kind::Receive)
    }

    /// Whether it is a call of the CPU, not ordered with those of queues.
    pub(crate) fn is_of_host(self) -> bool {
        matches!(self, Kind::World | Kind::Barrier | Kind::Split)
    }

    fn name(self) -> &'static str {
        match self {
            Kind::World => "world",
            Kind::Barrier => "barrier",
            Kind::Split => "split",
            Kind::AllReduce => "all_reduce",
            Kind::AllGather => "all_gather",
            Kind::ReduceScatter => "reduce_scatter",
            Kind::Broadcast => "broadcast",
            Kind::Send => "send",
            Kind::Receive => "receive",
        }
    }
}

/// What a rank is about to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) kind: Kind,
    pub(crate) data_type: Option<DataType>,
    pub(crate) combine: Option<Combine>,
    /// The rank that a broadcast comes from, or the other rank of a pair: of the world.
    pub(crate) root: usize,
    /// How many operations of all ranks the communicator had before: of queues, or of the CPU.
    pub(crate) ordinal: u64,
    /// Elements of the whole.
    pub(crate) count: usize,
    /// Elements of this rank's part, if each rank has one.
    pub(crate) own: usize,
    /// Which part of the world, and the order in it. The key of a gathering is [`IN_BUFFER`] if the rank's part is in the whole.
    pub(crate) color: i64,
    pub(crate) key: i64,
    /// The first number that the rank has not given to a communicator.
    pub(crate) next_context: usize,
    /// The rank's GPU failed before: it takes part by this header alone.
    pub(crate) has_failed: bool,
}

impl Header {
    pub(crate) fn new(kind: Kind) -> Header {
        Header {
            kind,
            data_type: None,
            combine: None,
            root: 0,
            ordinal: 0,
            count: 0,
            own: 0,
            color: 0,
            key: 0,
            next_context: 0,
            has_failed: false,
        }
    }

    pub(crate) fn encode(&self) -> [u8; HEADER] {
        let type_index = |data_type| DataType::ALL.iter().position(|other| *other == data_type);
        let numbers = [
            self.root as u64,
            self.ordinal,
            self.count as u64,
            self.own as u64,
            self.color as u64,
            self.key as u64,
            self.next_context as u64,
        ];
        let mut bytes = [0; HEADER];
        bytes[..4].copy_from_slice(&MAGIC.to_le_bytes());
        bytes[4] = KINDS
            .iter()
            .position(|kind| *kind == self.kind)
            .unwrap_or(0) as u8;
        bytes[5] = self
            .data_type
            .and_then(type_index)
            .map_or(u8::MAX, |index| index as u8);
        bytes[6] = self.combine.map_or(u8::MAX, number_of);
        bytes[7] = self.has_failed.into();
        for (slot, number) in bytes[8..].chunks_exact_mut(8).zip(numbers) {
            slot.copy_from_slice(&number.to_le_bytes());
        }
        let version = VERSION.as_bytes();
        let version = &version[..version.len().min(HEADER - 64)];
        bytes[64..64 + version.len()].copy_from_slice(version);
        bytes
    }

    /// The header of another rank, or what is wrong with it.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Header, String> {
        let Some(bytes) = bytes.first_chunk::<HEADER>() else {
            return Err(format!("something of {} bytes", bytes.len()));
        };
        let version = String::from_utf8_lossy(&bytes[64..]);
        let version = version.trim_end_matches('\0');
        if bytes[..4] != MAGIC.to_le_bytes() || version != VERSION {
            return Err(format!(
                "another version of this crate ({version:?}, and this is {VERSION})"
            ));
        }
        let number = |index: usize| {
            let mut number = [0; 8];
            number.copy_from_slice(&bytes[8 + index * 8..16 + index * 8]);
            u64::from_le_bytes(number)
        };
        let Some(kind) = KINDS.get(usize::from(bytes[4])) else {
            return Err(format!("an operation with the number {}", bytes[4]));
        };
        Ok(Header {
            kind: *kind,
            data_type: DataType::ALL.get(usize::from(bytes[5])).copied(),
            combine: [Combine::Sum, Combine::Min, Combine::Max]
                .get(usize::from(bytes[6]))
                .copied(),
            root: number(0) as usize,
            ordinal: number(1),
            count: number(2) as usize,
            own: number(3) as usize,
            color: number(4) as i64,
            key: number(5) as i64,
            next_context: number(6) as usize,
            has_failed: bytes[7] != 0,
        })
    }

    /// Whether a rank with this header and the rank `other` with `theirs` are in the same operation.
    pub(crate) fn agrees(&self, own_rank: usize, other: usize, theirs: &Header) -> bool {
        let same = self.data_type == theirs.data_type && self.count == theirs.count;
        match (self.kind, theirs.kind) {
            (Kind::Send, Kind::Receive) | (Kind::Receive, Kind::Send) => {
                same && self.root == other && theirs.root == own_rank
            }
            (Kind::Send | Kind::Receive, _) => false,
            (ours, kind) => {
                ours == kind
                    && same
                    && self.combine == theirs.combine
                    && self.root == theirs.root
                    && self.ordinal == theirs.ordinal
            }
        }
    }
}

fn number_of(combine: Combine) -> u8 {
    match combine {
        Combine::Min => 1,
        Combine::Max => 2,
        _ => 0,
    }
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name())?;
        if let Some(data_type) = self.data_type {
            write!(f, " of {} {}", self.count, data_type.name())?;
        }
        match self.combine {
            None => {}
            Some(Combine::Min) => f.write_str(" (smallest)")?,
            Some(Combine::Max) => f.write_str(" (largest)")?,
            Some(_) => f.write_str(" (sum)")?,
        }
        match self.kind {
            Kind::Broadcast | Kind::Receive => write!(f, " from rank {}", self.root)?,
            Kind::Send => write!(f, " to rank {}", self.root)?,
            _ => {}
        }
        match self.kind {
            Kind::World | Kind::Send | Kind::Receive => Ok(()),
            Kind::Barrier | Kind::Split => write!(f, " (call {} of the CPU)", self.ordinal),
            _ => write!(f, " (operation {} of the communicator)", self.ordinal),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        Header {
            data_type: Some(DataType::BF16),
            combine: Some(Combine::Max),
            root: 3,
            ordinal: 1 << 40,
            count: 12345,
            own: 7,
            color: -1,
            key: i64::MIN,
            next_context: 5,
            has_failed: true,
            ..Header::new(Kind::ReduceScatter)
        }
    }

    #[test]
    fn headers_come_back_as_they_were() {
        for kind in KINDS {
            let header = Header { kind, ..header() };
            assert_eq!(Header::decode(&header.encode()), Ok(header));
        }
        let plain = Header::new(Kind::Barrier);
        assert_eq!(Header::decode(&plain.encode()), Ok(plain));
    }

    #[test]
    fn another_version_is_refused() {
        let bytes = header().encode();
        for at in [0, 3, 64, 65] {
            let mut other = bytes;
            other[at] ^= 4;
            let refused = Header::decode(&other).unwrap_err();
            assert!(refused.contains("version"), "{refused}");
        }
        assert!(Header::decode(&bytes[..HEADER - 1]).is_err());
    }

    #[test]
    fn only_what_may_differ_differs() {
        let ours = header();
        assert!(ours.agrees(
            0,
            1,
            &Header {
                own: 9,
                color: 2,
                key: 1,
                ..header()
            }
        ));
        for theirs in [
            Header {
                kind: Kind::AllReduce,
                ..header()
            },
            Header {
                data_type: None,
                ..header()
            },
            Header {
                combine: Some(Combine::Sum),
                ..header()
            },
            Header {
                root: 2,
                ..header()
            },
            Header {
                ordinal: 2,
                ..header()
            },
            Header {
                count: 2,
                ..header()
            },
        ] {
            assert!(!ours.agrees(0, 1, &theirs), "{theirs:?}");
        }
    }

    #[test]
    fn a_send_goes_with_the_receive_of_the_other() {
        let send = Header {
            root: 1,
            ..Header::new(Kind::Send)
        };
        let receive = Header {
            root: 0,
            ordinal: 8,
            ..Header::new(Kind::Receive)
        };
        assert!(send.agrees(0, 1, &receive) && receive.agrees(1, 0, &send));
        assert!(!send.agrees(
            0,
            1,
            &Header {
                root: 2,
                ..receive.clone()
            }
        ));
        assert!(!send.agrees(0, 1, &send) && !receive.agrees(0, 1, &receive));
        assert!(!send.agrees(
            0,
            1,
            &Header {
                count: 1,
                ..receive
            }
        ));
        assert!(!Header::new(Kind::Barrier).agrees(0, 1, &send));
    }
}
