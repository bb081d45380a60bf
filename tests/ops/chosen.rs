//! Who computes a product or a convolution: kernels for lanes that run in turn, kernels for lanes in lockstep, or Metal Performance
//! Shaders.

use std::sync::OnceLock;

use half::f16;
use metal_bridge::ops::Ops;
use metal_bridge::{Choice, MetalBackend, MetalOps};

use crate::support::{device, rng};
use crate::tensor::convolution::{dense, random_case};
use crate::tensor::products::{Case, Operand, small};
use crate::tensor::rows::both;
use crate::tensor::values::Sample;

#[derive(Clone, Copy)]
pub enum By {
    Kernels(&'static Ops),
    /// Metal Performance Shaders, as far as they can compute it.
    Mps(&'static MetalOps),
}

impl From<&'static Ops> for By {
    fn from(ops: &'static Ops) -> By {
        By::Kernels(ops)
    }
}

pub fn everyone() -> [By; 3] {
    let [in_turn, lockstep] = both();
    [By::Kernels(in_turn), By::Kernels(lockstep), By::Mps(mps())]
}

/// Operations that take Metal Performance Shaders wherever these can compute them.
pub fn mps() -> &'static MetalOps {
    static OPS: OnceLock<MetalOps> = OnceLock::new();
    OPS.get_or_init(own_mps)
}

fn own_mps() -> MetalOps {
    let ops = MetalOps::new(MetalBackend::with_device(device()).expect("a backend"));
    ops.set_choice(Choice::Mps);
    ops
}

/// Runs what Metal Performance Shaders have to compute, all `calls` of it, and not leave to the kernels.
pub fn computed_by_mps(calls: u64, run: impl FnOnce(By)) {
    let ops: &'static MetalOps = Box::leak(Box::new(own_mps()));
    ops.enable_metrics(true);
    run(By::Mps(ops));
    let metrics = ops.metrics();
    let theirs = metrics.operations().into_iter();
    let theirs = theirs.filter(|operation| operation.variant == Some("MPS"));
    assert_eq!(theirs.map(|operation| operation.calls).sum::<u64>(), calls);
}

/// Metal Performance Shaders take dense images and weights, with any window.
#[test]
fn windows_that_mps_computes_agree() {
    let mut rng = rng(320);
    const ROUNDS: usize = 24;
    computed_by_mps(ROUNDS as u64, |by| {
        for round in 0..ROUNDS {
            // A window may be larger than its image: then there is nothing to compute.
            let mut case = loop {
                let case = random_case(&mut rng, false, 0);
                if !case.y().contains(&0) {
                    break case;
                }
            };
            // The biases of the model have gaps.
            case.has_bias = false;
            let strides = [case.x, case.weight(), case.y()].map(|shape| dense(shape, false));
            match round % 3 {
                0 => case.check::<f16>(by, &mut rng, strides),
                _ => case.check::<f32>(by, &mut rng, strides),
            }
        }
    });
}

/// Metal Performance Shaders take matrices whose rows or columns lie without gaps, in batches or alone, and add to y.
fn products_of_mps<T: Sample>(seed: u64, by: By) -> u64 {
    let mut rng = rng(seed);
    let mut calls = 0;
    for (batches, m, n, k) in [
        (1, 33, 65, 40),
        (3, 17, 20, 96),
        (1, 1, 64, 130),
        (2, 64, 1, 7),
    ] {
        for turned in 0..4 {
            let strides = |is_turned: bool, rows: usize, columns: usize| match is_turned {
                true => [rows * columns, 1, rows],
                false => [rows * columns, columns, 1],
            };
            let mut operand = |is_turned, rows, columns| {
                let strides = strides(is_turned, rows, columns);
                Operand::<T>::strided(&mut rng, &[batches, rows, columns], &strides, small)
            };
            let case = Case::<T, T> {
                a: operand(turned & 1 != 0, m, k),
                b: operand(turned & 2 != 0, k, n),
                c: None,
                bias: None,
                y: operand(false, m, n),
                alpha: -0.75,
                beta: 1.0,
                activation: None,
            };
            case.run(by);
            case.check(&format!("{batches} x {m} x {n} x {k}, layout {turned}"));
            calls += 1;
        }
    }
    calls
}

#[test]
fn products_that_mps_computes_agree_with_float64() {
    computed_by_mps(32, |by| {
        assert_eq!(
            products_of_mps::<f32>(320, by) + products_of_mps::<f16>(321, by),
            32
        );
    });
}
