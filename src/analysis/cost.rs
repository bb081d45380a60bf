//! An estimate of what accesses cost, from what was counted alone.

use super::{AccessProfile, KernelProfile, Space};

impl AccessProfile {
    /// An estimate of what the accesses cost: lines of 128 bytes, or turns of threadgroup memory, which move as much.
    ///
    /// Reads of one address by whole SIMD-groups cost nothing, nor do constant tables: GPUs load such values once. If all lanes
    /// of a SIMD-group change one address atomically, each lane counts.
    pub fn estimated_cost(&self) -> u64 {
        let is_broadcast = self.broadcast == self.executions && self.lanes > self.executions;
        match (self.object.space, self.atomic) {
            (_, true) if is_broadcast => self.lanes,
            (Space::Threadgroup, _) => self.turns,
            (Space::ConstantTable, _) => 0,
            _ if is_broadcast && !self.writes => 0,
            _ => self.lines_of_128,
        }
    }
}

impl KernelProfile {
    /// The sum of [`AccessProfile::estimated_cost`].
    pub fn estimated_cost(&self) -> u64 {
        let accesses = self.accesses.iter();
        accesses.map(AccessProfile::estimated_cost).sum()
    }
}
