//! The kernels under `shaders/` as safe calls that encode into a [`ComputeEncoder`](crate::ComputeEncoder).
//!
//! | operation | call | kernel |
//! |---|---|---|
//! | matrix product with f32, f16, Q8_0 or Q4_0 weights | [`Ops::matmul`], [`Ops::matmul_add`] | `matvec.metal`, `matvec_blocks.metal`, `matmul.metal` |
//! | embedding rows | [`Ops::embed`] | `embed.metal` |
//! | RMS norm, also with a residual added first | [`Ops::rms_norm`], [`Ops::add_rms_norm`] | `norm.metal` |
//! | rotary embedding | [`Ops::rope`], [`rope_frequencies`] | `rope.metal` |
//! | attention over a KV cache | [`Ops::kv_append`], [`Ops::attention`] | `kv_append.metal`, `attention_vector.metal`, `attention_tile.metal` |
//! | SiLU gate, addition, scaling, copy | [`Ops::silu_multiply`], [`Ops::add`], [`Ops::scale`], [`Ops::copy`] | `elementwise.metal` |
//! | largest element | [`Ops::argmax`] | `argmax.metal` |
//!
//! Activations are 32-bit floats, row-major. Every call checks shapes, alignment, buffer ranges and overlaps before it encodes
//! anything; one that fails dispatches nothing, though what it has bound by then stays bound. Calls are encoded, not run:
//! results are there when the command buffer has completed. A serial encoder runs them in order; in a concurrent one, barriers between dependent calls are the
//! caller's to place, as with any dispatch.

mod argmax;
mod attention;
mod elementwise;
mod embed;
mod kernels;
mod kv_cache;
mod launch;
mod matmul;
mod norm;
mod rope;
mod source;
mod view;
mod weight;

use std::fmt;
use std::sync::Arc;

use crate::error::Result;
use crate::metal::device::{Device, GpuFamily};
use kernels::Kernels;
pub(crate) use launch::bytes4;

pub use attention::AttentionShape;
pub use kv_cache::{KvCache, KvElement, KvShape};
pub use rope::{RopePairing, RopeShape, rope_frequencies};
pub use source::shader_sources;
pub use view::View;
pub use weight::{Weight, WeightType};

/// Threads of a simdgroup. The kernels are written for this width, which all Apple GPUs have; others are refused.
const SIMD_WIDTH: usize = 32;

/// The operations on one device. Clones share the compiled kernels; each kernel is compiled when it is first used.
#[derive(Clone)]
pub struct Ops {
    kernels: Arc<Kernels>,
    lanes: LaneExecution,
    /// The device has simdgroup matrices: GPUs of Intel Macs have none, and do with the kernels for few rows.
    has_matrices: bool,
}

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
    fn of(device: &Device) -> LaneExecution {
        if device.limits().runs_lanes_in_turn {
            LaneExecution::InTurn
        } else {
            LaneExecution::Lockstep
        }
    }
}

impl Ops {
    /// The operations on `device`. Compiles nothing yet: that the kernels cannot run on a device, since its simdgroups have
    /// not 32 threads, is [`Error::Unsupported`](crate::Error::Unsupported) at the first use of one.
    ///
    /// # Errors
    ///
    /// None today.
    pub fn new(device: &Device) -> Result<Ops> {
        Ops::with_lane_execution(device, LaneExecution::of(device))
    }

    /// The operations on `device`, spread as for lanes that run in this way. The results are equal up to rounding.
    ///
    /// # Errors
    ///
    /// Those of [`Ops::new`].
    pub fn with_lane_execution(device: &Device, lanes: LaneExecution) -> Result<Ops> {
        Ok(Ops {
            kernels: Arc::new(Kernels::new(device)),
            lanes,
            has_matrices: device.supports_family(GpuFamily::Apple7),
        })
    }

    /// The device that the kernels are compiled for.
    pub fn device(&self) -> &Device {
        self.kernels.device()
    }
}

impl fmt::Debug for Ops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ops")
            .field("device", self.device())
            .finish_non_exhaustive()
    }
}
