//! The high-level calls on host slices.

use crate::support::{self, EPSILON, THOROUGH, assert_close, matrix, metal, rng, uniform};
use metal_bridge::ops::{Tensor, Unary, Weight, WeightType};
use metal_bridge::{CompileOptions, Error, MetalBackend, Size, StorageMode};
use metal_bridge_test_support::MODES;

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
    let backend = MetalBackend::initialize().expect("a backend");
    assert!(!backend.name().is_empty());
    assert_eq!(backend.limits(), backend.metal_device().limits());
    assert_eq!(backend.queue().device(), backend.ops().device());
}

#[test]
fn one_call_gives_all_three_projections() {
    let (metal, mut rng) = (metal(), rng(60));
    for kind in THOROUGH {
        let [q, k, v] = [96, 32, 32].map(|rows| matrix(&mut rng, kind, rows, 64, 1.0, 0));
        for m in [1, 5, 18] {
            let x = uniform(&mut rng, m * 64);
            let qkv = metal
                .qkv_projection(&x, &q.weight, &k.weight, &v.weight)
                .expect("projects");
            assert_close("q", &qkv.q, products(&q, &x));
            assert_close("k", &qkv.k, products(&k, &x));
            assert_close("v", &qkv.v, products(&v, &x));
            assert_eq!(metal.linear(&q.weight, &x).expect("multiplies"), qkv.q);
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
    assert!(metal.linear(&w.weight, &[]).expect("multiplies").is_empty());
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
    invalid(metal.linear(&w.weight, &[0.0; 5]));
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
            && error
                .to_string()
                .contains("row 3 is past the end of a table of 3 rows"),
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

#[test]
fn operations_run_at_once_on_buffers() {
    let metal = metal();
    let backend = metal.backend();
    let buffer = |values: &[f32]| backend.create_buffer_with_data(values, StorageMode::Shared);
    let (a, b) = (
        buffer(&[1.0, 2.0, 3.0, 4.0]),
        buffer(&[10.0, 20.0, 30.0, 0.0]),
    );
    let (a, b) = (a.expect("a buffer"), b.expect("a buffer"));
    let y = backend
        .create_buffer(16, StorageMode::Private)
        .expect("a buffer");
    let mut values = [0.0f32; 4];
    metal.add(&a, &b, &y, 3).expect("adds");
    metal.modulo(&b, &a, &b, 4).expect("divides");
    backend
        .copy_buffer_to_host(&y, &mut values[..3])
        .expect("copies");
    assert_eq!(values, [11.0, 22.0, 33.0, 0.0]);
    backend
        .copy_buffer_to_host(&b, &mut values)
        .expect("copies");
    assert_eq!(values, [0.0; 4]);
    backend.copy_from_host(&[-1.0f32, 5.0], &y).expect("copies");
    let first = Tensor::of::<f32>(&y, &[2]).expect("a tensor");
    metal.unary(Unary::Abs, first, first).expect("computes");
    backend
        .copy_buffer_to_host(&y, &mut values[..2])
        .expect("copies");
    assert_eq!(values[..2], [1.0, 5.0]);
    let error = metal
        .add(&a, &b, &y, 5)
        .expect_err("five elements in buffers of four");
    assert!(matches!(error, Error::OutOfRange(_)), "{error}");
    let mut long = [0.0f32; 5];
    let error = backend
        .copy_buffer_to_host(&y, &mut long)
        .expect_err("a buffer of four");
    assert!(matches!(error, Error::OutOfRange(_)), "{error}");
}

#[test]
fn buffers_of_every_mode_carry_values() {
    let metal = metal();
    let backend = metal.backend();
    for mode in MODES {
        let a = backend
            .create_buffer_with_data(&[1.0f32, 2.0, 3.0], mode)
            .expect("a buffer");
        let y = backend.create_buffer(12, mode).expect("a buffer");
        let sums = || {
            let mut sums = [0.0f32; 3];
            metal.add(&a, &a, &y, 3).expect("adds");
            backend.copy_buffer_to_host(&y, &mut sums).expect("copies");
            sums
        };
        assert_eq!(sums(), [2.0, 4.0, 6.0], "{mode:?}");
        backend.copy_from_host(&[-1.0f32, 5.0], &a).expect("copies");
        assert_eq!(sums(), [-2.0, 10.0, 6.0], "{mode:?}");
    }
}

#[test]
fn registered_kernels_have_pipelines() {
    let metal = metal();
    let backend = metal.backend();
    let source = |factor: &str| {
        format!(
            "kernel void scale_all(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {{ x[i] *= {factor}; }}"
        )
    };
    let error = backend
        .get_compute_pipeline("scale_all")
        .expect_err("nothing is registered");
    assert!(matches!(error, Error::NotFound(_)), "{error}");
    let names = backend
        .register_kernels(&source("2"), &CompileOptions::new())
        .expect("compiles");
    assert_eq!(names, ["scale_all"]);
    let x = backend
        .create_buffer_with_data(&[1.0f32; 100], StorageMode::Shared)
        .expect("a buffer");
    let run = || {
        let pipeline = backend
            .get_compute_pipeline("scale_all")
            .expect("a pipeline");
        let threads = backend.optimal_thread_group_size(&pipeline, 100);
        assert_eq!(threads % pipeline.thread_execution_width(), 0);
        let submission = backend.submit(|encoder| {
            encoder.set_compute_pipeline_state(&pipeline)?;
            encoder.set_buffer(&x, 0, 0)?;
            // SAFETY: one thread for each of the hundred floats.
            unsafe { encoder.dispatch_threads(100, threads) }
        });
        submission.expect("commits").wait().expect("completes");
    };
    run();
    run();
    assert_eq!(*x.wait_read::<f32>().expect("readable"), [4.0; 100]);
    backend
        .register_kernels(&source("0.5"), &CompileOptions::new())
        .expect("compiles");
    run();
    assert_eq!(*x.wait_read::<f32>().expect("readable"), [2.0; 100]);
    assert!(
        backend
            .register_kernels("kernel void broken(", &CompileOptions::new())
            .is_err()
    );
    run();
}

#[test]
fn threadgroups_follow_the_grid_and_the_pipeline() {
    let metal = metal();
    let backend = metal.backend();
    let source = "kernel void plain(device float *x [[buffer(0)]]) { x[0] = 1; }
        [[max_total_threads_per_threadgroup(64)]] kernel void narrow(device float *x [[buffer(0)]]) { x[0] = 1; }";
    backend
        .register_kernels(source, &CompileOptions::new())
        .expect("compiles");
    let plain = backend.get_compute_pipeline("plain").expect("a pipeline");
    let narrow = backend.get_compute_pipeline("narrow").expect("a pipeline");
    let sizes = |pipeline| {
        [0, 1, 32, 33, 255, 256, usize::MAX]
            .map(|threads| backend.optimal_thread_group_size(pipeline, threads))
    };
    assert_eq!(sizes(&plain), [32, 32, 32, 64, 256, 256, 256]);
    assert_eq!(sizes(&narrow), [32, 32, 32, 64, 64, 64, 64]);
    let flat = |width, height| {
        let size = backend.optimal_thread_group_size_2d(&plain, Size::new(width, height, 1));
        (size.width, size.height)
    };
    assert_eq!(flat(1000, 1000), (32, 8));
    assert_eq!(flat(1000, 1), (32, 1));
    assert_eq!(flat(3, 500), (3, 85));
    assert_eq!(flat(0, 0), (1, 1));
}
