//! How threads' accesses lie in memory, and how many threads a core holds: what decides how fast a kernel can be.
//!
//! The functions compute from what they are given, without a device: the offsets that the threads of a grid access, in the
//! threads' order, or the sizes of a dispatch. A [`Profile`] has the same figures of kernels that ran on the software Metal, by
//! source line. `docs/analysis.md` in the repository says what the figures mean.
//!
//! ```
//! use metal_bridge::analysis::{AccessPattern, analyze_coalescing, bank_conflicts, detect_access_pattern};
//!
//! // Each thread reads the first float of a row of 256 bytes.
//! let offsets: Vec<u64> = (0..64).map(|thread| thread * 256).collect();
//! assert_eq!(detect_access_pattern(&offsets), Some(AccessPattern::Strided { stride: 256 }));
//! let coalescing = analyze_coalescing(&offsets, 4)?;
//! assert_eq!(coalescing.bytes, 256);
//! assert_eq!(coalescing.lines_of_128, 64);
//! assert_eq!(coalescing.efficiency(), 0.03125);
//! // In threadgroup memory all 32 floats of a SIMD-group would lie in one bank.
//! assert_eq!(bank_conflicts(&offsets, 4)?.degree(), 32.0);
//! # Ok::<(), metal_bridge::Error>(())
//! ```
//!
//! | elsewhere | here |
//! |---|---|
//! | `detect_access_pattern` | [`detect_access_pattern`] |
//! | `analyze_coalescing` | [`analyze_coalescing`], [`bank_conflicts`] |
//! | `calculate_occupancy` | [`calculate_occupancy`] |
//! | `optimization_recommendations` | [`optimization_recommendations`], of a [`Profile`] |

mod advice;
mod banks;
mod coalescing;
mod cost;
mod lines;
mod occupancy;
mod operations;
mod pattern;
mod plausible;
mod profile;
mod reading;
mod recommendation;
mod roofline;
mod span;

pub use advice::optimization_recommendations;
pub use banks::{BankConflicts, bank_conflicts};
pub use coalescing::{Coalescing, analyze_coalescing};
pub use occupancy::{CoreLimits, Limit, Occupancy, calculate_occupancy};
pub use pattern::{AccessPattern, detect_access_pattern};
pub use profile::{
    AccessProfile, BranchProfile, KernelProfile, MeetingProfile, Object, ObjectProfile,
    OperationProfile, Operations, Profile, SourceLine, Space,
};
pub use recommendation::{Advice, Recommendation};
pub use roofline::{Bound, Gpu, Roofline};

/// Threads of a SIMD-group, on all of Apple's GPUs.
const SIMD_WIDTH: usize = 32;
