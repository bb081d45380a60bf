//! [`Ranges`]: ranges of addresses that do not overlap, found from any address inside by binary search.

use std::collections::BTreeMap;

pub(crate) struct Ranges<T> {
    /// By their first address: length and value. No length is zero.
    ranges: BTreeMap<usize, (usize, T)>,
}

/// Where a range of addresses lies.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found<T> {
    /// All of it lies in one known range, this many bytes after the range's start.
    Inside(T, usize),
    /// No byte of it lies in a known range.
    Outside,
    /// A part of it lies in a known range, or it runs past the last address.
    Straddling,
}

impl<T: Clone> Ranges<T> {
    pub(crate) const fn new() -> Ranges<T> {
        Ranges {
            ranges: BTreeMap::new(),
        }
    }

    /// Adds a range. False, and nothing is added, if it is empty, overlaps a known range, or runs past the last
    /// address.
    pub(crate) fn insert(&mut self, start: usize, length: usize, value: T) -> bool {
        let is_free = length > 0 && matches!(self.find(start, length), Found::Outside);
        if is_free {
            self.ranges.insert(start, (length, value));
        }
        is_free
    }

    /// The value of the range that starts at `start`.
    pub(crate) fn get(&self, start: usize) -> Option<&T> {
        self.ranges.get(&start).map(|(_, value)| value)
    }

    /// Removes the range that starts at `start`.
    pub(crate) fn remove(&mut self, start: usize) -> Option<T> {
        self.ranges.remove(&start).map(|(_, value)| value)
    }

    /// Where the bytes from `start` on lie. A length of 0 is looked up like one byte.
    pub(crate) fn find(&self, start: usize, length: usize) -> Found<T> {
        let Some(last) = start.checked_add(length.max(1) - 1) else {
            return Found::Straddling;
        };
        // The last range that starts at or before the last byte. If an earlier range overlaps too, this one starts
        // behind the first byte, so the bytes straddle.
        let Some((first, (size, value))) = self.ranges.range(..=last).next_back() else {
            return Found::Outside;
        };
        let end = first + (size - 1);
        if end < start {
            Found::Outside
        } else if *first <= start && last <= end {
            Found::Inside(value.clone(), start - first)
        } else {
            Found::Straddling
        }
    }

    pub(crate) fn remove_where(&mut self, mut is_gone: impl FnMut(&T) -> bool) -> Vec<T> {
        let mut removed = Vec::new();
        self.ranges.retain(|_, (_, value)| {
            let stays = !is_gone(value);
            if !stays {
                removed.push(value.clone());
            }
            stays
        });
        removed
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &T> {
        self.ranges.values().map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};

    /// Against a model that has the owner of every address.
    #[test]
    fn a_range_is_found_from_every_address_inside() {
        const SPACE: usize = 300;
        for seed in 0..50 {
            let mut random = SmallRng::seed_from_u64(seed);
            let mut ranges = Ranges::new();
            let mut model = [None; SPACE];
            for id in 0..200 {
                let start = random.random_range(0..SPACE);
                let length = random.random_range(0..12).min(SPACE - start);
                if random.random_bool(0.5) {
                    let is_free =
                        length > 0 && model[start..start + length].iter().all(Option::is_none);
                    assert_eq!(ranges.insert(start, length, id), is_free);
                    if is_free {
                        model[start..start + length].fill(Some((id, start)));
                    }
                } else {
                    let owner = model[start].filter(|(_, first)| *first == start);
                    assert_eq!(ranges.remove(start), owner.map(|(id, _)| id));
                    if let Some(owner) = owner {
                        for byte in model.iter_mut().filter(|byte| **byte == Some(owner)) {
                            *byte = None;
                        }
                    }
                }
                for start in 0..SPACE {
                    let length = random.random_range(0..9).min(SPACE - start);
                    let covered = &model[start..start + length.max(1)];
                    let expected = match covered[0] {
                        Some((id, first)) if covered.iter().all(|o| *o == Some((id, first))) => {
                            Found::Inside(id, start - first)
                        }
                        None if covered.iter().all(Option::is_none) => Found::Outside,
                        _ => Found::Straddling,
                    };
                    assert_eq!(ranges.find(start, length), expected, "{start} {length}");
                }
            }
        }
    }

    #[test]
    fn ranges_end_with_the_address_space() {
        let mut ranges = Ranges::new();
        assert!(ranges.insert(usize::MAX - 3, 4, 'a'));
        assert_eq!(ranges.find(usize::MAX, 1), Found::Inside('a', 3));
        assert_eq!(ranges.find(usize::MAX, 2), Found::Straddling);
        assert!(!ranges.insert(usize::MAX - 1, 4, 'b'));
        assert!(!ranges.insert(0, 0, 'c'));
    }
}
