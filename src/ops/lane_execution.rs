//! [`LaneExecution`]: what a device's lanes are good at.

use crate::metal::device::Device;

/// How a device runs the 32 lanes of a simdgroup: it decides how the matrix-vector kernels deal out their work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LaneExecution {
    /// In lockstep, as GPUs do: neighbouring lanes should read neighbouring bytes, so that their loads become one.
    Lockstep,
    /// One after another, as the software Metal does: each lane should read a long row of its own from end to end, and
    /// ask nothing of the others.
    InTurn,
}

impl LaneExecution {
    pub(super) fn of(device: &Device) -> LaneExecution {
        if device.limits().runs_lanes_in_turn {
            LaneExecution::InTurn
        } else {
            LaneExecution::Lockstep
        }
    }

    /// Up to this many rows of activations the kernels for few rows make a product with weights faster than simdgroup matrices. Where
    /// lanes run in turn, one lane computes the matrices of a simdgroup, and nothing is gained by them.
    pub(super) fn most_rows_for_vectors(self) -> usize {
        match self {
            LaneExecution::Lockstep => 8,
            LaneExecution::InTurn => usize::MAX,
        }
    }

    /// Elements of a block of `shaders/tensor/tensor.h`: what registers hold, or what makes a vector loop.
    pub(super) fn block(self) -> usize {
        match self {
            LaneExecution::Lockstep => 8,
            LaneExecution::InTurn => 256,
        }
    }
}
