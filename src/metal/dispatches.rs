//! [`Dispatches`]: what an encoder keeps of its dispatches so that it can place the barriers itself.

use super::hazards::Hazards;

/// What a dispatch does, for statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Work {
    /// The operation.
    pub(crate) operation: &'static str,
    /// What the method computes, if it computes several things.
    pub(crate) variant: Option<&'static str>,
    /// The type of the elements.
    pub(crate) data_type: &'static str,
    /// Floating-point operations.
    pub(crate) flops: u64,
    /// Bytes that are read and written.
    pub(crate) bytes: u64,
}

impl Work {
    /// What nobody has told of.
    pub(super) const OTHER: Work = Work {
        operation: "other",
        variant: None,
        data_type: "-",
        flops: 0,
        bytes: 0,
    };
}

/// What a concurrent encoder keeps of its dispatches.
#[derive(Debug, Default)]
pub(crate) struct Dispatches {
    pub(super) hazards: Hazards,
    /// All that was noted, under the names of the first; none if there was no work.
    pub(super) work: Option<Work>,
    /// Whether the next dispatch has been noted.
    pub(super) is_next_noted: bool,
}

impl Dispatches {
    /// Adds to what was noted.
    pub(super) fn add(&mut self, work: Work) {
        let all = self.work.get_or_insert(Work {
            flops: 0,
            bytes: 0,
            ..work
        });
        all.flops = all.flops.saturating_add(work.flops);
        all.bytes = all.bytes.saturating_add(work.bytes);
    }
}
