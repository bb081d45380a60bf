//! [`bank_conflicts`]: the banks of threadgroup memory.

use super::SIMD_WIDTH;
use super::span::{check_size, distinct_units};
use crate::error::Result;

const BANKS: u64 = 32;
const BANK_BYTES: u64 = 4;

/// What accesses to threadgroup memory take, where 32 banks give a word of 4 bytes each in a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct BankConflicts {
    /// SIMD-groups, the last of which may be a part of one.
    pub simdgroups: u64,
    /// Turns, which are as many as the words of a SIMD-group in its fullest bank. Threads that read one word share it.
    pub turns: u64,
    /// Turns that as many words would take without a conflict.
    pub least_turns: u64,
}

impl BankConflicts {
    /// How many times longer the accesses take than without conflicts: 1 is the best. It is 1 if there is no access.
    pub fn degree(&self) -> f64 {
        match self.least_turns {
            0 => 1.0,
            least => self.turns as f64 / least as f64,
        }
    }
}

/// Counts the conflicts of accesses of `size` bytes at offsets in bytes in threadgroup memory: one offset a thread, in the
/// order of `thread_index_in_threadgroup`. 32 threads in turn are a SIMD-group.
///
/// # Errors
///
/// Those of [`analyze_coalescing`](super::analyze_coalescing).
pub fn bank_conflicts(offsets: &[u64], size: u64) -> Result<BankConflicts> {
    const FUNCTION: &str = "bank_conflicts";
    check_size(size, FUNCTION)?;
    let mut total = BankConflicts::default();
    for group in offsets.chunks(SIMD_WIDTH) {
        let words = distinct_units(group, size, BANK_BYTES, FUNCTION)?;
        let mut banks = [0; BANKS as usize];
        for word in &words {
            banks[(word % BANKS) as usize] += 1;
        }
        total.simdgroups += 1;
        total.turns += banks.iter().max().expect("there are 32");
        total.least_turns += (words.len() as u64).div_ceil(BANKS);
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of one SIMD-group, for words of 4 bytes.
    fn turns(offset: impl Fn(u64) -> u64) -> u64 {
        let offsets: Vec<u64> = (0..32).map(offset).collect();
        let found = bank_conflicts(&offsets, 4).unwrap();
        assert_eq!(found.simdgroups, 1);
        found.turns
    }

    #[test]
    fn strides_conflict_as_often_as_they_share_factors_with_32() {
        for stride in 1..=64u64 {
            let shared = 1 << stride.trailing_zeros().min(5);
            assert_eq!(turns(|lane| lane * stride * 4), shared, "{stride}");
        }
    }

    #[test]
    fn every_degree_is_counted() {
        for degree in 1..=32u64 {
            // Some lanes in bank 0, each with a word of its own; the others elsewhere.
            let offset = |lane: u64| 4 * if lane < degree { lane * 32 } else { lane };
            assert_eq!(turns(offset), degree, "{degree}");
        }
    }

    #[test]
    fn one_word_for_all_is_one_turn() {
        assert_eq!(turns(|_| 64), 1);
        assert_eq!(turns(|lane| lane / 2 * 4), 1);
        // Bytes of one word.
        assert_eq!(bank_conflicts(&[0, 1, 2, 3], 1).unwrap().turns, 1);
    }

    #[test]
    fn wide_accesses_need_more_turns_and_are_no_conflicts() {
        let offsets: Vec<u64> = (0..32).map(|lane| lane * 16).collect();
        let found = bank_conflicts(&offsets, 16).unwrap();
        assert_eq!((found.turns, found.least_turns), (4, 4));
        assert_eq!(found.degree(), 1.0);
        assert_eq!(bank_conflicts(&[], 4).unwrap().degree(), 1.0);
    }
}
