//! The high-level calls on host slices.

use crate::support::{self, EPSILON, assert_close, matrix, rng, uniform};
use metal_bridge::ops::{Weight, WeightType};
use metal_bridge::{Error, MetalBackend, MetalOps};

fn metal() -> MetalOps {
    MetalOps::new(MetalBackend::with_device(support::device()).expect("a backend"))
}

/// Products in float64, with a tolerance that grows with the number of terms.
fn products<'a>(w: &'a support::Matrix, x: &'a [f32]) -> impl Iterator<Item = (f64, f64)> + 'a {
    let columns = w.weight.columns();
    let allowed = (8.0 + 2.0 * (columns as f64).sqrt()) * EPSILON;
    x.chunks(columns).flat_map(move |x| {
        (0..w.weight.rows()).map(move |n| {
            let terms = w.row(n).iter().zip(x).map(|(w, x)| w * f64::from(*x));
            let (sum, size) = terms.fold((0.0, 0.0), |(sum, size), term| {
                (sum + term, size + term.abs())
            });
            (sum, size * allowed)
        })
    })
}

#[test]
fn a_backend_finds_its_device() {
    let backend = MetalBackend::new().expect("a backend");
    assert!(!backend.name().is_empty());
    assert_eq!(backend.limits(), backend.device().limits());
    assert_eq!(backend.queue().device(), backend.ops().device());
}

#[test]
fn one_call_gives_all_three_projections() {
    let (metal, mut rng) = (metal(), rng(60));
    for kind in WeightType::ALL {
        let [q, k, v] = [96, 32, 32].map(|rows| matrix(&mut rng, kind, rows, 64, 1.0, 0));
        for m in [1, 5, 18] {
            let x = uniform(&mut rng, m * 64);
            let qkv = metal
                .qkv_projection(&x, &q.weight, &k.weight, &v.weight)
                .expect("projects");
            assert_close("q", &qkv.q, products(&q, &x));
            assert_close("k", &qkv.k, products(&k, &x));
            assert_close("v", &qkv.v, products(&v, &x));
            assert_eq!(metal.matmul(&q.weight, &x).expect("multiplies"), qkv.q);
        }
    }
}

#[test]
fn norm_gate_and_rows_agree_with_float64() {
    let (metal, mut rng) = (metal(), rng(61));
    let (x, weight) = (uniform(&mut rng, 2 * 48), uniform(&mut rng, 48));
    let exact = x.chunks(48).flat_map(|row| {
        let mean = row.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>() / 48.0;
        let scale = 1.0 / (mean + f64::from(1e-5f32)).sqrt();
        row.iter()
            .zip(&weight)
            .map(move |(x, weight)| f64::from(*x) * scale * f64::from(*weight))
    });
    let norm = metal.rms_norm(&x, &weight, 1e-5).expect("norms");
    assert_close(
        "norm",
        &norm,
        exact.map(|value| (value, value.abs() * 12.0 * EPSILON)),
    );

    let (a, b) = (uniform(&mut rng, 37), uniform(&mut rng, 37));
    let exact = a
        .iter()
        .zip(&b)
        .map(|(a, b)| f64::from(*a) / (1.0 + (-f64::from(*a)).exp()) * f64::from(*b));
    let gate = metal.silu_multiply(&a, &b).expect("gates");
    assert_close(
        "gate",
        &gate,
        exact.map(|value| (value, value.abs() * 20.0 * EPSILON)),
    );

    let table = matrix(&mut rng, WeightType::Q8_0, 5, 32, 1.0, 0);
    let rows = metal.embed(&table.weight, &[4, 0]).expect("embeds");
    let exact = table
        .row(4)
        .iter()
        .chain(table.row(0))
        .map(|value| (*value, value.abs() * EPSILON));
    assert_close("rows", &rows, exact);
}

#[test]
fn nothing_in_gives_nothing_out() {
    let metal = metal();
    let w = matrix(&mut rng(62), WeightType::F32, 3, 4, 1.0, 0);
    assert!(metal.matmul(&w.weight, &[]).expect("multiplies").is_empty());
    assert!(metal.embed(&w.weight, &[]).expect("embeds").is_empty());
    assert!(
        metal
            .rms_norm(&[], &[1.0; 4], 1e-5)
            .expect("norms")
            .is_empty()
    );
    assert!(metal.silu_multiply(&[], &[]).expect("gates").is_empty());
}

#[test]
fn lengths_that_do_not_fit_are_refused() {
    let metal = metal();
    let (w, other) = (
        matrix(&mut rng(63), WeightType::F32, 3, 4, 1.0, 0),
        matrix(&mut rng(64), WeightType::F32, 3, 5, 1.0, 0),
    );
    let invalid = |result: Result<Vec<f32>, Error>| {
        let error = result.expect_err("is refused");
        assert!(matches!(error, Error::InvalidArgument(_)), "{error}");
    };
    invalid(metal.matmul(&w.weight, &[0.0; 5]));
    invalid(
        metal
            .qkv_projection(&[0.0; 20], &w.weight, &w.weight, &other.weight)
            .map(|qkv| qkv.v),
    );
    invalid(metal.rms_norm(&[0.0; 5], &[1.0; 4], 1e-5));
    invalid(metal.rms_norm(&[], &[], 1e-5));
    invalid(metal.silu_multiply(&[0.0; 5], &[1.0; 4]));
    let error = metal.embed(&w.weight, &[0, 3]).unwrap_err();
    assert!(
        matches!(error, Error::OutOfRange(_))
            && error.to_string().contains("row 3 of a table of 3"),
        "{error}"
    );
    let error = metal
        .backend()
        .weight(&[0; 35], 1, 32, WeightType::Q8_0)
        .unwrap_err();
    assert!(matches!(error, Error::InvalidArgument(_)), "{error}");
    let weight: Weight = metal
        .backend()
        .weight(&[0; 34], 1, 32, WeightType::Q8_0)
        .expect("a weight");
    assert_eq!(weight.bytes(), 34);
}
