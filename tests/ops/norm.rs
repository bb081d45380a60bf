//! RMS norm against float64.

use crate::support::{
    EPSILON, Guarded, assert_close, buffer, buffer_at, ops, refused, rng, run, uniform,
};
use metal_bridge::Error;

/// The norm of one row, with what single precision may be off: the sum of squares has no cancellation, so a few roundings.
fn reference<'a>(
    x: &'a [f64],
    weight: &'a [f32],
    epsilon: f32,
) -> impl Iterator<Item = (f64, f64)> + 'a {
    let mean = x.iter().map(|x| x * x).sum::<f64>() / x.len() as f64;
    let scale = 1.0 / (mean + f64::from(epsilon)).sqrt();
    let allowed = (8.0 + (x.len() as f64).sqrt() / 4.0) * EPSILON;
    x.iter().zip(weight).map(move |(x, weight)| {
        let exact = x * scale * f64::from(*weight);
        (exact, exact.abs() * allowed)
    })
}

fn double(values: &[f32]) -> Vec<f64> {
    values.iter().map(|value| f64::from(*value)).collect()
}

fn check(rows: usize, columns: usize, magnitude: f32, epsilon: f32) {
    let mut rng = rng((rows * 7919 + columns) as u64);
    let x: Vec<f32> = uniform(&mut rng, rows * columns)
        .iter()
        .map(|value| value * magnitude)
        .collect();
    let weight = uniform(&mut rng, columns);
    let y = Guarded::new(rows * columns);
    let (x_buffer, weight_buffer) = (buffer(&x), buffer_at(4, &weight));
    let weight_view = metal_bridge::ops::View::new(&weight_buffer, 4);
    run(|encoder| {
        ops().rms_norm(
            encoder,
            &x_buffer,
            weight_view,
            y.view(),
            rows,
            columns,
            epsilon,
        )
    });
    let x = double(&x);
    let exact = x
        .chunks(columns)
        .flat_map(|row| reference(row, &weight, epsilon));
    assert_close(
        &format!("{rows} by {columns} of {magnitude}"),
        &y.read(),
        exact,
    );
}

#[test]
fn all_sizes_agree_with_float64() {
    for rows in [1, 2, 5] {
        for columns in [
            1, 2, 3, 4, 5, 31, 32, 33, 127, 128, 129, 130, 256, 1000, 2048, 4096, 5000,
        ] {
            check(rows, columns, 1.0, 1e-5);
        }
    }
}

#[test]
fn magnitudes_far_from_one_agree_with_float64() {
    check(3, 300, 1e15, 1e-6);
    check(3, 300, 1e-3, 1e-5);
    check(3, 300, 1e-12, 1e-5);
}

#[test]
fn zeros_stay_zeros() {
    let y = Guarded::new(64);
    let (x, weight) = (buffer(&[-0.0f32; 64]), buffer(&[1.5f32; 64]));
    run(|encoder| ops().rms_norm(encoder, &x, &weight, y.view(), 1, 64, 1e-6));
    assert_close("zeros", &y.read(), [(0.0, 0.0); 64]);
}

#[test]
fn a_result_may_replace_its_input() {
    let mut rng = rng(31);
    let (x, weight) = (uniform(&mut rng, 3 * 50), uniform(&mut rng, 50));
    let y = Guarded::holding(&x);
    let weight_buffer = buffer(&weight);
    run(|encoder| ops().rms_norm(encoder, y.view(), &weight_buffer, y.view(), 3, 50, 1e-5));
    let x = double(&x);
    assert_close(
        "in place",
        &y.read(),
        x.chunks(50).flat_map(|row| reference(row, &weight, 1e-5)),
    );
}

#[test]
fn a_residual_is_added_first() {
    for (rows, columns) in [(1, 1), (2, 7), (3, 64), (2, 513), (1, 2048)] {
        let mut rng = rng(columns as u64);
        let (x, residual) = (
            uniform(&mut rng, rows * columns),
            uniform(&mut rng, rows * columns),
        );
        let weight = uniform(&mut rng, columns);
        let (sum, y) = (Guarded::holding(&x), Guarded::new(rows * columns));
        let (residual_buffer, weight_buffer) = (buffer(&residual), buffer(&weight));
        run(|encoder| {
            let columns_and_rest = (rows, columns, 1e-5);
            let (rows, columns, epsilon) = columns_and_rest;
            ops().add_rms_norm(
                encoder,
                sum.view(),
                &residual_buffer,
                &weight_buffer,
                y.view(),
                rows,
                columns,
                epsilon,
            )
        });
        let expected: Vec<f32> = x.iter().zip(&residual).map(|(a, b)| a + b).collect();
        assert_eq!(sum.read::<f32>(), expected, "the sum, {rows} by {columns}");
        let expected = double(&expected);
        let exact = expected
            .chunks(columns)
            .flat_map(|row| reference(row, &weight, 1e-5));
        assert_close(&format!("the norm, {rows} by {columns}"), &y.read(), exact);
    }
}

#[test]
fn a_norm_may_be_added_to_a_residual() {
    for (rows, columns) in [(1, 1), (2, 7), (3, 64), (2, 513), (1, 2048)] {
        let mut rng = rng(columns as u64);
        let (x, residual) = (
            uniform(&mut rng, rows * columns),
            uniform(&mut rng, rows * columns),
        );
        let weight = uniform(&mut rng, columns);
        let (y, x_buffer, weight_buffer) =
            (Guarded::holding(&residual), buffer(&x), buffer(&weight));
        run(|encoder| {
            let weight = &weight_buffer;
            ops().rms_norm_add(encoder, &x_buffer, weight, y.view(), rows, columns, 1e-5)
        });
        let x = double(&x);
        let norms = x
            .chunks(columns)
            .flat_map(|row| reference(row, &weight, 1e-5));
        let exact = norms.zip(&residual).map(|((norm, allowed), residual)| {
            let sum = norm + f64::from(*residual);
            (sum, allowed + sum.abs() * EPSILON)
        });
        assert_close(&format!("{rows} by {columns}"), &y.read(), exact);
    }
    let some = buffer(&[0.0f32; 8]);
    let error = refused(|encoder| ops().rms_norm_add(encoder, &some, &some, &some, 1, 8, 1e-5));
    assert!(matches!(error, Error::InvalidArgument(_)), "{error}");
}

#[test]
fn bad_shapes_are_refused() {
    let some = buffer(&[0.0f32; 8]);
    let other = buffer(&[0.0f32; 8]);
    let norm = |rows, columns, epsilon| {
        refused(|encoder| ops().rms_norm(encoder, &some, &some, &other, rows, columns, epsilon))
    };
    assert!(matches!(norm(3, 3, 1e-5), Error::OutOfRange(_)));
    assert!(matches!(norm(1, 0, 1e-5), Error::InvalidArgument(_)));
    assert!(matches!(norm(1, 8, -1.0), Error::InvalidArgument(_)));
    assert!(matches!(norm(1, 8, f32::NAN), Error::InvalidArgument(_)));
    let error =
        refused(|encoder| ops().add_rms_norm(encoder, &some, &some, &other, &other, 1, 4, 1e-5));
    assert!(matches!(error, Error::InvalidArgument(_)), "{error}");
}
