//! The accesses of a kernel by source line.

use std::collections::BTreeMap;

use super::plausible::MOST_STRIDES;
use super::{AccessProfile, KernelProfile};

impl KernelProfile {
    /// The accesses by source line: those that one line makes to one object in the same way are one, though they are several
    /// instructions where a loop is unrolled or a function is inlined. `instruction` is the first of them.
    pub fn accesses_by_line(&self) -> Vec<AccessProfile> {
        let mut lines = BTreeMap::<_, AccessProfile>::new();
        for access in &self.accesses {
            let object = &access.object;
            let way = (access.writes, access.atomic, access.collective, access.size);
            let at = (&access.at.file, access.at.line);
            let key = (at, object.space, object.argument, &object.name, way);
            lines
                .entry(key)
                .and_modify(|line| line.absorb(access))
                .or_insert_with(|| access.clone());
        }
        lines.into_values().collect()
    }
}

impl AccessProfile {
    fn absorb(&mut self, other: &AccessProfile) {
        self.executions += other.executions;
        self.lanes += other.lanes;
        self.all_lanes += other.all_lanes;
        self.bytes += other.bytes;
        self.lines_of_64 += other.lines_of_64;
        self.lines_of_128 += other.lines_of_128;
        self.least_lines_of_128 += other.least_lines_of_128;
        self.misaligned += other.misaligned;
        self.turns += other.turns;
        self.least_turns += other.least_turns;
        self.broadcast += other.broadcast;
        self.sequential += other.sequential;
        self.strided += other.strided;
        self.gathered += other.gathered;
        self.unmatched += other.unmatched;
        for &(stride, count) in &other.strides {
            let known = self.strides.iter().position(|known| known.0 == stride);
            match known {
                Some(index) => self.strides[index].1 += count,
                None if self.strides.len() < MOST_STRIDES => self.strides.push((stride, count)),
                None => {}
            }
        }
    }
}
