//! Damage to the bytes of a file, whatever its format.

use proptest::prelude::*;
use proptest::sample::Index;

/// One change of a file's bytes.
#[derive(Clone, Debug)]
pub enum Damage {
    Flip(Index, u8),
    Set(Index, u8),
    Plant64(Index, u64),
    Plant32(Index, u32),
    Truncate(Index),
    Remove(Index, usize),
    Repeat(Index, usize),
    Swap(Index, Index),
}

pub fn damages() -> impl Strategy<Value = Damage> {
    let at = any::<Index>;
    prop_oneof![
        (at(), 0..8u8).prop_map(|(at, bit)| Damage::Flip(at, 1 << bit)),
        (at(), any::<u8>()).prop_map(|(at, byte)| Damage::Set(at, byte)),
        (at(), numbers()).prop_map(|(at, value)| Damage::Plant64(at, value)),
        (at(), numbers()).prop_map(|(at, value)| Damage::Plant32(at, value as u32)),
        at().prop_map(Damage::Truncate),
        (at(), 1..64usize).prop_map(|(at, count)| Damage::Remove(at, count)),
        (at(), 1..64usize).prop_map(|(at, count)| Damage::Repeat(at, count)),
        (at(), at()).prop_map(|(one, other)| Damage::Swap(one, other)),
    ]
}

/// Numbers at the edges of types and of sizes, and others.
pub fn numbers() -> impl Strategy<Value = u64> {
    prop_oneof![
        (0..64u64).prop_map(|below| u64::MAX - below),
        (0..64u32).prop_map(|bit| 1 << bit),
        (1..64u32).prop_map(|bit| (1 << bit) - 1),
        0..1000u64,
        any::<u64>(),
    ]
}

impl Damage {
    /// Changes `bytes`, mostly in the first `header` of them, where the counts and offsets are.
    pub fn inflict(&self, bytes: &mut Vec<u8>, header: usize) {
        let length = bytes.len();
        let reach = header.min(length);
        if reach == 0 {
            return;
        }
        match self {
            Self::Flip(at, bits) => bytes[at.index(reach)] ^= bits,
            Self::Set(at, byte) => bytes[at.index(reach)] = *byte,
            Self::Plant64(at, value) => plant(bytes, at.index(reach), &value.to_le_bytes()),
            Self::Plant32(at, value) => plant(bytes, at.index(reach), &value.to_le_bytes()),
            Self::Truncate(at) => bytes.truncate(at.index(length)),
            Self::Remove(at, count) => {
                let at = at.index(reach);
                bytes.drain(at..(at + count).min(length));
            }
            Self::Repeat(at, count) => {
                let at = at.index(reach);
                let piece = bytes[at..(at + count).min(length)].to_vec();
                bytes.splice(at..at, piece);
            }
            Self::Swap(one, other) => {
                let (one, other) = (one.index(reach), other.index(reach));
                let count = 32.min(length - one.max(other));
                (0..count).for_each(|i| bytes.swap(one + i, other + i));
            }
        }
    }
}

fn plant(bytes: &mut [u8], at: usize, value: &[u8]) {
    let count = value.len().min(bytes.len() - at);
    bytes[at..at + count].copy_from_slice(&value[..count]);
}
