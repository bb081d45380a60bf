//! Addresses for what programs allocate, from regions that the process never gives back. So the runtime recognises an
//! address that was freed, and no other code gets memory there.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::mem;
use std::sync::{PoisonError, RwLock};

use crate::codes::cudaErrorMemoryAllocation;
use crate::memory::system::{page_size, reserve};
use crate::runtime::failure::{Failed, Outcome};

/// Bytes of a region, unless one allocation needs more.
const REGION: usize = 1 << 30;
/// At most this many freed ranges, and this many bytes in all, are set aside before they are given again: the runtime
/// then recognises stale pointers for longer.
const RANGES_SET_ASIDE: usize = 1024;
const BYTES_SET_ASIDE: usize = 1 << 40;

static SPACE: RwLock<Space> = RwLock::new(Space::new());

/// Whole pages that only the holder may use until this is dropped, and a page after them that nobody may use.
#[derive(Debug)]
pub(crate) struct Range {
    pub(crate) start: usize,
    pub(crate) length: usize,
}

impl Range {
    /// Addresses for at least this many bytes. Nothing is mapped there.
    pub(crate) fn take(length: usize) -> Outcome<Range> {
        let page = page_size();
        let pages = length.checked_next_multiple_of(page);
        let Some((length, whole)) = pages.and_then(|p| Some((p, p.checked_add(page)?))) else {
            let message = format!("{length} bytes are more than the address space has");
            return Err(Failed::new(cudaErrorMemoryAllocation, message));
        };
        let mut space = SPACE.write().unwrap_or_else(PoisonError::into_inner);
        let start = space.take(whole, reserve).ok_or_else(|| {
            let message = format!("the system has no addresses for {length} bytes");
            Failed::new(cudaErrorMemoryAllocation, message)
        })?;
        Ok(Range { start, length })
    }
}

impl Drop for Range {
    fn drop(&mut self) {
        let mut space = SPACE.write().unwrap_or_else(PoisonError::into_inner);
        space.give_back(self.start, self.length + page_size());
    }
}

/// Whether one of these bytes lies in a region, where only [`Range::take`] gives addresses.
pub(crate) fn are_kept(start: usize, length: usize) -> bool {
    let space = SPACE.read().unwrap_or_else(PoisonError::into_inner);
    space.overlaps(start, length)
}

struct Space {
    /// Start and length of every region that there ever was.
    regions: BTreeMap<usize, usize>,
    /// Ranges that can be given: lengths by start, and the same by length. Adjacent ranges are merged.
    free: BTreeMap<usize, usize>,
    free_by_length: BTreeSet<(usize, usize)>,
    /// Ranges that were given back and are set aside, the oldest first.
    aside: VecDeque<(usize, usize)>,
    aside_bytes: usize,
}

impl Space {
    const fn new() -> Space {
        Space {
            regions: BTreeMap::new(),
            free: BTreeMap::new(),
            free_by_length: BTreeSet::new(),
            aside: VecDeque::new(),
            aside_bytes: 0,
        }
    }

    fn overlaps(&self, start: usize, length: usize) -> bool {
        let end = start.saturating_add(length);
        let before = self.regions.range(..end).next_back();
        before.is_some_and(|(region, length)| start < region + length)
    }

    /// The start of `length` bytes. `reserve` gives the start of new regions.
    fn take(&mut self, length: usize, reserve: impl Fn(usize) -> Option<usize>) -> Option<usize> {
        if let Some(start) = self.take_free(length) {
            return Some(start);
        }
        let sizes = [REGION.max(length), length];
        let region = sizes
            .into_iter()
            .find_map(|size| Some((reserve(size)?, size)));
        match region {
            Some((start, size)) => {
                self.regions.insert(start, size);
                self.add_free(start, size);
            }
            None => {
                for (start, length) in mem::take(&mut self.aside) {
                    self.add_free(start, length);
                }
                self.aside_bytes = 0;
            }
        }
        self.take_free(length)
    }

    /// Takes the bytes from the shortest free range that is long enough.
    fn take_free(&mut self, length: usize) -> Option<usize> {
        let (whole, start) = *self.free_by_length.range((length, 0)..).next()?;
        self.remove_free(start, whole);
        if whole > length {
            self.insert_free(start + length, whole - length);
        }
        Some(start)
    }

    fn give_back(&mut self, start: usize, length: usize) {
        self.aside.push_back((start, length));
        self.aside_bytes += length;
        while self.aside.len() > RANGES_SET_ASIDE || self.aside_bytes > BYTES_SET_ASIDE {
            let Some((start, length)) = self.aside.pop_front() else {
                break;
            };
            self.aside_bytes -= length;
            self.add_free(start, length);
        }
    }

    fn add_free(&mut self, mut start: usize, mut length: usize) {
        let before = self.free.range(..start).next_back();
        if let Some((&before, &size)) = before.filter(|&(before, size)| before + size == start) {
            self.remove_free(before, size);
            (start, length) = (before, size + length);
        }
        if let Some(&size) = self.free.get(&(start + length)) {
            self.remove_free(start + length, size);
            length += size;
        }
        self.insert_free(start, length);
    }

    fn insert_free(&mut self, start: usize, length: usize) {
        self.free.insert(start, length);
        self.free_by_length.insert((length, start));
    }

    fn remove_free(&mut self, start: usize, length: usize) {
        self.free.remove(&start);
        self.free_by_length.remove(&(length, start));
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};

    use super::*;
    use crate::memory::ranges::Ranges;

    /// A system with this many bytes of addresses.
    fn system(bytes: usize) -> impl Fn(usize) -> Option<usize> {
        let (next, end) = (Cell::new(1_usize << 20), (1 << 20) + bytes);
        move |length| {
            let start = next.get();
            next.set(start.checked_add(length).filter(|next| *next <= end)?);
            Some(start)
        }
    }

    #[test]
    fn no_address_is_given_twice_and_all_are_kept() {
        let (mut space, reserve) = (Space::new(), system(64 * REGION));
        let mut random = SmallRng::seed_from_u64(1);
        let (mut given, mut starts) = (Ranges::new(), Vec::new());
        for _ in 0..20_000 {
            if starts.is_empty() || random.random_bool(0.5) {
                let length = 1 << random.random_range(12..28);
                let start = space.take(length, &reserve).unwrap();
                assert!(given.insert(start, length, length));
                assert!(space.overlaps(start, length) && space.overlaps(start - 1, 2));
                starts.push(start);
            } else {
                let start = starts.swap_remove(random.random_range(0..starts.len()));
                let length = given.remove(start).unwrap();
                space.give_back(start, length);
                assert!(space.overlaps(start, length));
            }
        }
        let end = (1 << 20) + space.regions.values().sum::<usize>();
        assert!(space.overlaps(end - 1, 1) && !space.overlaps(end, 9));
        assert!(!space.overlaps(0, 1 << 20) && !space.overlaps(usize::MAX, 9));
        for start in starts {
            space.give_back(start, given.remove(start).unwrap());
        }
        for (start, length) in mem::take(&mut space.aside) {
            space.add_free(start, length);
        }
        let free: usize = space.free.values().sum();
        assert_eq!(free, space.regions.values().sum::<usize>());
        assert_eq!(space.free.len(), space.free_by_length.len());
    }

    #[test]
    fn what_was_freed_is_given_late_and_given_again() {
        let (mut space, reserve) = (Space::new(), system(64 * REGION));
        let first = space.take(4096, &reserve).unwrap();
        space.give_back(first, 4096);
        let mut round = || {
            let start = space.take(4096, &reserve).unwrap();
            space.give_back(start, 4096);
            start
        };
        assert!((0..RANGES_SET_ASIDE - 1).all(|_| round() != first));
        for _ in 0..1_000_000 {
            round();
        }
        assert_eq!(space.regions.len(), 1);
    }

    #[test]
    fn what_is_set_aside_is_given_when_nothing_else_is_left() {
        let (mut space, reserve) = (Space::new(), system(REGION + 8192));
        let first = space.take(8192, &reserve).unwrap();
        let rest = space.take(REGION - 8192, &reserve).unwrap();
        // The system has too few addresses left for a region, but enough for this.
        assert!(space.take(8192, &reserve).is_some());
        assert_eq!(space.take(4096, &reserve), None);
        space.give_back(first, 8192);
        assert_eq!(space.take(8192, &reserve), Some(first));
        space.give_back(first, 8192);
        space.give_back(rest, REGION - 8192);
        assert_eq!(space.take(REGION, &reserve), Some(first));
    }

    #[test]
    fn large_ranges_are_set_aside_up_to_a_number_of_bytes() {
        let (mut space, reserve) = (Space::new(), system(64 * BYTES_SET_ASIDE));
        for _ in 0..100 {
            let start = space.take(BYTES_SET_ASIDE / 4, &reserve).unwrap();
            space.give_back(start, BYTES_SET_ASIDE / 4);
        }
        assert!(space.regions.len() <= 6, "{} regions", space.regions.len());
    }
}
