//! What kernels that ran computed, and where their lanes parted: in all, and by source line.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use super::{BranchProfile, KernelProfile, OperationProfile, Operations};

impl Operations {
    /// The types and their counts.
    pub fn by_type(&self) -> [(&'static str, u64); 6] {
        [
            ("float", self.float),
            ("half", self.half),
            ("bfloat", self.bfloat),
            ("int", self.int),
            ("long", self.long),
            ("functions", self.functions),
        ]
    }

    /// Those that rooflines are about: of floating-point numbers, with one for each function.
    pub fn floating_point(&self) -> u64 {
        self.float + self.half + self.bfloat + self.functions
    }
}

impl AddAssign for Operations {
    fn add_assign(&mut self, other: Operations) {
        self.float += other.float;
        self.half += other.half;
        self.bfloat += other.bfloat;
        self.int += other.int;
        self.long += other.long;
        self.functions += other.functions;
    }
}

impl KernelProfile {
    /// The operations of all lines.
    pub fn all_operations(&self) -> Operations {
        let mut sum = Operations::default();
        for one in &self.operations {
            sum += one.operations;
        }
        sum
    }

    /// The operations by source line. `instruction` is one of those that the line has.
    pub fn operations_by_line(&self) -> Vec<OperationProfile> {
        let mut lines = BTreeMap::<_, OperationProfile>::new();
        for one in &self.operations {
            lines
                .entry((&one.at.file, one.at.line))
                .and_modify(|line| line.operations += one.operations)
                .or_insert_with(|| one.clone());
        }
        lines.into_values().collect()
    }

    /// The branches by source line: those of one line are one.
    pub fn branches_by_line(&self) -> Vec<BranchProfile> {
        let mut lines = BTreeMap::<_, BranchProfile>::new();
        for one in &self.branches {
            lines
                .entry((&one.at.file, one.at.line))
                .and_modify(|line| line.absorb(one))
                .or_insert_with(|| one.clone());
        }
        lines.into_values().collect()
    }
}

impl BranchProfile {
    fn absorb(&mut self, other: &BranchProfile) {
        self.executions += other.executions;
        self.lanes += other.lanes;
        self.all_lanes += other.all_lanes;
        self.taken += other.taken;
        self.diverged += other.diverged;
        self.unmatched += other.unmatched;
    }
}
