//! [`analyze_coalescing`]: the cache lines that SIMD-groups touch.

use super::SIMD_WIDTH;
use super::span::{check_size, distinct_units};
use crate::error::Result;

/// What accesses to device memory ask for, and the cache lines that they touch, counted for each SIMD-group apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Coalescing {
    /// SIMD-groups, the last of which may be a part of one.
    pub simdgroups: u64,
    /// Bytes that the threads ask for; those that several threads of a SIMD-group ask for count once.
    pub bytes: u64,
    /// Lines of 64 bytes.
    pub lines_of_64: u64,
    /// Lines of 128 bytes.
    pub lines_of_128: u64,
    /// Lines of 128 bytes that would be touched if each SIMD-group's bytes lay side by side from a line's beginning.
    pub least_lines_of_128: u64,
}

impl Coalescing {
    /// The share of the lines' bytes, of 128 each, that was asked for: 1 is the best. It is 1 if there is no access.
    pub fn efficiency(&self) -> f64 {
        match self.lines_of_128 {
            0 => 1.0,
            lines => self.bytes as f64 / (lines * 128) as f64,
        }
    }
}

/// Counts the cache lines that accesses of `size` bytes touch, at offsets in bytes from the beginning of a line: one offset
/// a thread, in the order of `thread_position_in_grid`. 32 threads in turn are a SIMD-group.
///
/// # Errors
///
/// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if `size` is not 1 to 1024;
/// [`Error::OutOfRange`](crate::Error::OutOfRange) if an access reaches beyond 64 bits.
pub fn analyze_coalescing(offsets: &[u64], size: u64) -> Result<Coalescing> {
    const FUNCTION: &str = "analyze_coalescing";
    check_size(size, FUNCTION)?;
    let count = |group: &[u64], unit| -> Result<u64> {
        let touched = distinct_units(group, size, unit, FUNCTION)?;
        Ok(touched.len() as u64)
    };
    let mut total = Coalescing::default();
    for group in offsets.chunks(SIMD_WIDTH) {
        let bytes = count(group, 1)?;
        total.simdgroups += 1;
        total.bytes += bytes;
        total.lines_of_64 += count(group, 64)?;
        total.lines_of_128 += count(group, 128)?;
        total.least_lines_of_128 += bytes.div_ceil(128);
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use proptest::prelude::*;
    use std::collections::HashSet;

    /// As one SIMD-group, byte by byte.
    fn counted(offsets: &[u64], size: u64, unit: u64) -> u64 {
        let bytes = offsets.iter().flat_map(|&at| at..at + size);
        let units: HashSet<u64> = bytes.map(|byte| byte / unit).collect();
        units.len() as u64
    }

    #[test]
    fn strides_touch_the_lines_that_they_cross() {
        for stride in 1..=64 {
            let offsets: Vec<u64> = (0..64).map(|thread| thread * stride * 4).collect();
            let found = analyze_coalescing(&offsets, 4).unwrap();
            let lines = |bytes: u64| {
                let per_group = |group: u64| {
                    let lines = (group * 32..group * 32 + 32).map(|i| i * stride * 4 / bytes);
                    lines.collect::<HashSet<_>>().len() as u64
                };
                per_group(0) + per_group(1)
            };
            let expected = Coalescing {
                simdgroups: 2,
                bytes: 256,
                lines_of_64: lines(64),
                lines_of_128: lines(128),
                least_lines_of_128: 2,
            };
            assert_eq!(found, expected, "{stride}");
        }
        // Known without the formula: side by side, every other float, a line each.
        for (stride, lines) in [(1, 2), (2, 4), (32, 64), (64, 64)] {
            let offsets: Vec<u64> = (0..64).map(|thread| thread * stride * 4).collect();
            let found = analyze_coalescing(&offsets, 4).unwrap();
            assert_eq!(found.lines_of_128, lines, "{stride}");
            assert_eq!(found.efficiency(), 2.0 / lines as f64, "{stride}");
        }
    }

    #[test]
    fn what_lies_across_lines_touches_one_more() {
        let offsets: Vec<u64> = (0..32).map(|thread| 4 + thread * 4).collect();
        let found = analyze_coalescing(&offsets, 4).unwrap();
        assert_eq!((found.lines_of_64, found.lines_of_128), (3, 2));
        assert_eq!(found.least_lines_of_128, 1);
    }

    #[test]
    fn threads_that_read_one_byte_ask_for_it_once() {
        let found = analyze_coalescing(&[5; 40], 1).unwrap();
        assert_eq!(
            (found.simdgroups, found.bytes, found.lines_of_64),
            (2, 2, 2)
        );
        assert_eq!(analyze_coalescing(&[], 4).unwrap(), Coalescing::default());
        assert_eq!(Coalescing::default().efficiency(), 1.0);
    }

    #[test]
    fn wrong_accesses_are_errors() {
        for size in [0, 1025, u64::MAX] {
            for offsets in [&[0][..], &[]] {
                let result = analyze_coalescing(offsets, size);
                assert!(matches!(result, Err(Error::InvalidArgument(_))), "{size}");
                let result = crate::analysis::bank_conflicts(offsets, size);
                assert!(matches!(result, Err(Error::InvalidArgument(_))), "{size}");
            }
        }
        let result = analyze_coalescing(&[u64::MAX - 2], 4);
        assert!(matches!(result, Err(Error::OutOfRange(_))));
        let last = analyze_coalescing(&[u64::MAX - 3], 4).unwrap();
        assert_eq!(last.lines_of_64, 1);
    }

    proptest! {
        #[test]
        fn random_accesses_are_counted(
            offsets in prop::collection::vec(0u64..600, 0..100),
            size in 1u64..20,
        ) {
            let found = analyze_coalescing(&offsets, size).unwrap();
            let groups = offsets.chunks(32);
            let sum = |unit| groups.clone().map(|group| counted(group, size, unit)).sum::<u64>();
            prop_assert_eq!(found.bytes, sum(1));
            prop_assert_eq!(found.lines_of_64, sum(64));
            prop_assert_eq!(found.lines_of_128, sum(128));
        }
    }
}
