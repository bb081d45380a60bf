//! [`Profile`]: how kernels that ran on the software Metal accessed memory, and what they computed.

use serde::{Deserialize, Serialize};

use super::{AccessPattern, BankConflicts, Coalescing};

/// What the software Metal has counted of the kernels that ran. The fields are sums over all launches.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Profile {
    /// Of this form: 1.
    pub version: u32,
    /// The kernels that ran, by name. Specializations of one kernel are kernels of their own.
    pub kernels: Vec<KernelProfile>,
}

/// One kernel.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct KernelProfile {
    /// Its name.
    pub name: String,
    /// Launches.
    pub launches: u64,
    /// Threadgroups that ran.
    pub threadgroups: u64,
    /// SIMD-groups of these threadgroups; the last of a threadgroup may have fewer than 32 threads.
    pub simdgroups: u64,
    /// Threads of all grids.
    pub threads: u64,
    /// Threads of the largest launch, by dimension.
    pub grid: [u32; 3],
    /// The largest launch's threads of a threadgroup.
    pub threads_per_threadgroup: [u32; 3],
    /// Bytes of threadgroup memory of the largest launch: variables and arguments.
    pub threadgroup_memory: u64,
    /// Instructions that access memory, in the order of the machine code.
    pub accesses: Vec<AccessProfile>,
    /// Calls of `threadgroup_barrier`.
    pub barriers: Vec<MeetingProfile>,
    /// Calls of functions in which the lanes of a SIMD-group meet: `simd_sum`, `simd_shuffle`, `simdgroup_barrier`, ...
    pub simd_functions: Vec<MeetingProfile>,
    /// Its operations: several entries may be of one line.
    #[serde(default)]
    pub operations: Vec<OperationProfile>,
    /// Its branches, in the order of the source.
    #[serde(default)]
    pub branches: Vec<BranchProfile>,
    /// What the kernel accessed.
    pub objects: Vec<ObjectProfile>,
}

/// Where an instruction is in the source.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SourceLine {
    /// As the source or its `#line` names it, `program_source` by default; empty if it is not known.
    pub file: String,
    /// From 1; 0 if it is not known.
    pub line: u32,
    /// The function that contains the line; empty if it is not known.
    pub function: String,
    /// Where the instruction is in the kernel's machine code: it tells the instructions of one line apart.
    pub instruction: u32,
}

/// A kind of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Space {
    /// An argument of the address spaces `device` and `constant`.
    Buffer,
    /// Threadgroup memory: an argument or a variable.
    Threadgroup,
    /// A table that the source declares `constant`.
    ConstantTable,
    /// Memory that no argument holds: reached through a pointer in a buffer.
    Elsewhere,
}

/// An object in memory.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Object {
    /// The kind of memory.
    pub space: Space,
    /// The name of the kernel's argument or variable; empty if it is not known.
    #[serde(rename = "object")]
    pub name: String,
    /// The argument's index; -1 if it is not an argument.
    pub argument: i64,
}

/// An instruction that accesses one object, in accesses of one size. An execution is a SIMD-group's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AccessProfile {
    /// Where it is.
    #[serde(flatten)]
    pub at: SourceLine,
    /// What it accesses.
    #[serde(flatten)]
    pub object: Object,
    /// Bytes that each lane accesses.
    pub size: u64,
    /// Whether it writes.
    pub writes: bool,
    /// Whether it is atomic.
    pub atomic: bool,
    /// Whether the SIMD-group loads or stores a matrix together: `size` is then that of a row, and the pattern that of the
    /// eight rows.
    pub collective: bool,
    /// Times that a SIMD-group executed it.
    pub executions: u64,
    /// Lanes that took part.
    pub lanes: u64,
    /// Lanes that the SIMD-groups have.
    pub all_lanes: u64,
    /// Different bytes that an execution asks for, summed.
    pub bytes: u64,
    /// Lines of 64 bytes.
    pub lines_of_64: u64,
    /// Lines of 128 bytes.
    pub lines_of_128: u64,
    /// Lines of 128 bytes if the bytes of each execution lay side by side from a line's beginning.
    pub least_lines_of_128: u64,
    /// Executions whose bytes lie side by side and touch one line more than they have to.
    pub misaligned: u64,
    /// Turns of threadgroup memory; 0 for other memory.
    pub turns: u64,
    /// Turns without conflicts.
    pub least_turns: u64,
    /// Executions whose lanes access one address.
    pub broadcast: u64,
    /// Executions whose lanes access what lies side by side, in order.
    pub sequential: u64,
    /// Executions whose lanes are another number of bytes apart, all the same.
    pub strided: u64,
    /// Executions whose lanes follow no such order.
    pub gathered: u64,
    /// Strides in bytes and their executions, of up to 128 strides.
    pub strides: Vec<(i64, u64)>,
    /// Accesses of single lanes that are in no other figure, for lack of memory.
    pub unmatched: u64,
}

/// A call in which threads meet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MeetingProfile {
    /// Where it is.
    #[serde(flatten)]
    pub at: SourceLine,
    /// Times that a threadgroup, or for SIMD-group functions a SIMD-group, met there.
    pub executions: u64,
    /// Threads that met.
    pub lanes: u64,
    /// Threads of the threadgroups or SIMD-groups.
    pub all_lanes: u64,
    /// Of barriers: instructions with accesses that the SIMD-groups executed since the barrier before.
    pub work: u64,
    /// The same if all SIMD-groups had executed as many as the busiest.
    pub full_work: u64,
}

/// Operations by type, as the source says them: those of all lanes. A component of a vector counts one, a product that is added
/// (`fma`) two, a negation and a comparison none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Operations {
    /// Of `float`.
    pub float: u64,
    /// Of `half`.
    pub half: u64,
    /// Of `bfloat`.
    pub bfloat: u64,
    /// Of integers of up to 32 bits, indices and loop counters among them.
    pub int: u64,
    /// Of integers of 64 bits.
    pub long: u64,
    /// Calls of functions such as `exp`, `sqrt` and `sin`, of any floating-point type.
    pub functions: u64,
}

/// The operations of a source line, or of a part of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OperationProfile {
    /// Where they are.
    #[serde(flatten)]
    pub at: SourceLine,
    /// How many there were.
    #[serde(flatten)]
    pub operations: Operations,
}

/// A branch: an `if`, a test of a loop, a `?:`, an operand of `&&` or `||`, a `switch`. An execution is a SIMD-group's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BranchProfile {
    /// Where it is.
    #[serde(flatten)]
    pub at: SourceLine,
    /// Times that a SIMD-group came to it.
    pub executions: u64,
    /// Lanes that came to it.
    pub lanes: u64,
    /// Lanes that the SIMD-groups have.
    pub all_lanes: u64,
    /// Lanes for which the condition was true, or which a `switch` has a case for.
    pub taken: u64,
    /// Executions whose lanes went different ways.
    pub diverged: u64,
    /// Single lanes that are in no other figure, for lack of memory.
    pub unmatched: u64,
}

/// What was accessed of one object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ObjectProfile {
    /// The object.
    #[serde(flatten)]
    pub object: Object,
    /// Launches that accessed it.
    pub launches: u64,
    /// Its bytes; the most of all launches.
    pub length: u64,
    /// Bytes that all lanes together asked to read.
    pub asked_to_read: u64,
    /// Bytes that all lanes together wrote.
    pub asked_to_write: u64,
    /// Different bytes that a launch read, summed over launches.
    pub read: u64,
    /// Different bytes that a launch wrote.
    pub written: u64,
    /// Lines of 128 bytes that a launch read from.
    pub lines_read: u64,
    /// Lines of 128 bytes that a launch wrote to.
    pub lines_written: u64,
    /// Whether the figures of different bytes have all accesses: false beyond 256 MiB.
    pub complete: bool,
}

impl AccessProfile {
    /// The cache lines, as [`analyze_coalescing`](super::analyze_coalescing) counts them.
    pub fn coalescing(&self) -> Coalescing {
        Coalescing {
            simdgroups: self.executions,
            bytes: self.bytes,
            lines_of_64: self.lines_of_64,
            lines_of_128: self.lines_of_128,
            least_lines_of_128: self.least_lines_of_128,
        }
    }

    /// The turns of threadgroup memory, as [`bank_conflicts`](super::bank_conflicts) counts them.
    pub fn bank_conflicts(&self) -> BankConflicts {
        BankConflicts {
            simdgroups: self.executions,
            turns: self.turns,
            least_turns: self.least_turns,
        }
    }

    /// The pattern that most executions follow, a stride in bytes, and how many do; `None` without an execution. Of equal
    /// counts, the simpler pattern.
    pub fn pattern(&self) -> Option<(AccessPattern, u64)> {
        let strided = self.strides.iter();
        let strided = strided.map(|&(stride, count)| (AccessPattern::Strided { stride }, count));
        let mut all = vec![(AccessPattern::Broadcast, self.broadcast)];
        all.push((AccessPattern::Sequential, self.sequential));
        all.extend(strided);
        all.push((AccessPattern::Gathered, self.gathered));
        let most = all.iter().map(|&(_, count)| count).max()?;
        all.into_iter()
            .find(|&(_, count)| count == most && most > 0)
    }
}

impl ObjectProfile {
    /// How often each byte that a launch reads is read, by all lanes: `None` if none is, or if not all accesses are known.
    pub fn reuse(&self) -> Option<f64> {
        (self.read > 0 && self.complete).then(|| self.asked_to_read as f64 / self.read as f64)
    }

    /// Bytes of the lines that a launch reads from, of 128 bytes each, that nobody reads in that launch.
    pub fn unread(&self) -> u64 {
        (self.lines_read * 128).saturating_sub(self.read)
    }
}
