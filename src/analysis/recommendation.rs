//! [`Recommendation`]: one change to a kernel, with what it is worth.

use std::fmt;

use serde::Serialize;

use super::SourceLine;

/// What to change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Advice {
    /// Neighbouring threads access memory far apart.
    Coalesce,
    /// The bytes of a SIMD-group lie side by side, across one line more than they have to.
    Align,
    /// Lanes meet in a bank of threadgroup memory.
    AvoidBankConflicts,
    /// Threads read bytes that others have read.
    Reuse,
    /// All lanes of a SIMD-group change one address atomically.
    CombineAtomics,
    /// Lanes of a SIMD-group do not take part.
    Converge,
    /// Some SIMD-groups wait for others at a barrier.
    Balance,
    /// Threadgroups are not multiples of 32 threads.
    FillSimdgroups,
    /// Threadgroup memory keeps threadgroups out of a core.
    Occupy,
    /// Memory limits the kernel: an object is most of what it moves.
    MoveLess,
    /// Arithmetic limits the kernel: a line is most of what it computes.
    ComputeLess,
}

/// One change, with what it is worth.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Recommendation {
    /// What to change.
    pub advice: Advice,
    /// The kernel's name.
    pub kernel: String,
    /// The line; of file "" and line 0 if it is about the whole kernel.
    #[serde(flatten)]
    pub at: SourceLine,
    /// The share of all kernels' cost that the change saves at most, from 0 to 1: an estimate.
    pub gain: f64,
    /// What was counted.
    pub figure: String,
    /// What to change.
    pub change: String,
}

impl fmt::Display for Recommendation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at.line {
            0 => write!(f, "kernel {}", self.kernel)?,
            line => write!(f, "{}:{line} (kernel {})", self.at.file, self.kernel)?,
        }
        let percent = 100.0 * self.gain;
        write!(
            f,
            ": saves up to {percent:.0} %: {}; {}",
            self.figure, self.change
        )
    }
}
