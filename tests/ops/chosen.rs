//! Who computes a product or a convolution: kernels for lanes that run in turn, kernels for lanes in lockstep, or Metal Performance
//! Shaders.

use std::sync::OnceLock;

use metal_bridge::ops::Ops;
use metal_bridge::{Choice, MetalBackend, MetalOps};

use crate::support::device;
use crate::tensor::rows::both;

#[derive(Clone, Copy)]
pub enum By {
    Kernels(&'static Ops),
    /// As far as they can compute it.
    Mps,
}

impl From<&'static Ops> for By {
    fn from(ops: &'static Ops) -> By {
        By::Kernels(ops)
    }
}

pub fn everyone() -> [By; 3] {
    let [in_turn, lockstep] = both();
    [By::Kernels(in_turn), By::Kernels(lockstep), By::Mps]
}

/// Operations that take Metal Performance Shaders wherever these can compute them.
pub fn mps() -> &'static MetalOps {
    static OPS: OnceLock<MetalOps> = OnceLock::new();
    OPS.get_or_init(|| {
        let ops = MetalOps::new(MetalBackend::with_device(device()).expect("a backend"));
        ops.set_choice(Choice::Mps);
        ops
    })
}
