//! Matrix products against float64: every weight format, one row to many, sizes that fill no tile.

use crate::support::{
    self, EPSILON, Guarded, Matrix, THOROUGH, assert_close, both, buffer, buffer_at, matrix, ops,
    refused, rng, run, uniform,
};
use metal_bridge::Error;
use metal_bridge::ops::{Epilogue, ProductKernels, View, Weight, WeightType};

/// `x . W^T` and how far off single precision may be: errors of sums of k terms grow like the square root of k, in units of the
/// terms' magnitudes.
fn reference<'a>(
    w: &'a Matrix,
    x: &'a [f32],
    start: &'a [f32],
) -> impl Iterator<Item = (f64, f64)> + 'a {
    let k = w.weight.columns();
    let allowed = (8.0 + 2.0 * (k as f64).sqrt()) * EPSILON;
    x.chunks(k).enumerate().flat_map(move |(m, x)| {
        (0..w.weight.rows()).map(move |n| {
            let start = start
                .get(m * w.weight.rows() + n)
                .map_or(0.0, |value| f64::from(*value));
            let terms = w.row(n).iter().zip(x).map(|(w, x)| w * f64::from(*x));
            let (sum, magnitude) = terms.fold((start, start.abs()), |(sum, magnitude), term| {
                (sum + term, magnitude + term.abs())
            });
            (sum, magnitude * allowed)
        })
    })
}

fn check(kind: WeightType, m: usize, n: usize, k: usize, magnitude: f32) {
    let what = format!("{kind:?}, m {m}, n {n}, k {k}, magnitude {magnitude}");
    let mut rng = rng((m * 1_000_003 + n * 1009 + k) as u64);
    let w = matrix(&mut rng, kind, n, k, magnitude, 32);
    let x: Vec<f32> = uniform(&mut rng, m * k);
    let x_buffer = buffer_at(4, &x);
    let x_view = View::new(&x_buffer, 4);
    for ops in both() {
        let y = Guarded::new(m * n);
        run(|encoder| ops.linear(encoder, &w.weight, x_view, y.view(), m));
        assert_close(&what, &y.read(), reference(&w, &x, &[]));
    }
}

#[test]
fn one_row_and_few_agree_with_float64() {
    for kind in THOROUGH {
        for m in [1, 2, 3, 4, 5, 7, 8] {
            for (n, k) in [(1, 32), (3, 64), (4, 96), (33, 32), (127, 160), (130, 544)] {
                check(kind, m, n, k, 1.0);
            }
        }
    }
}

#[test]
fn many_rows_agree_with_float64() {
    for kind in THOROUGH {
        for m in [9, 16, 31, 32, 33, 64, 65, 100] {
            for (n, k) in [(1, 32), (63, 64), (64, 32), (65, 96), (130, 160)] {
                check(kind, m, n, k, 1.0);
            }
        }
    }
}

#[test]
fn columns_that_fill_no_block_agree_with_float64() {
    for kind in [WeightType::F32, WeightType::F16] {
        for k in [1, 2, 3, 5, 15, 16, 17, 31, 33, 47, 63, 65] {
            for m in [1, 3, 11, 40] {
                check(kind, m, 7, k, 1.0);
            }
        }
    }
}

#[test]
fn every_format_agrees_with_float64() {
    for kind in WeightType::ALL {
        check(kind, 1, 37, 768, 1.0);
        check(kind, 9, 37, 768, 1.0);
    }
}

#[test]
fn shapes_of_llama_agree_with_float64() {
    for kind in THOROUGH {
        check(kind, 1, 2048, 2048, 1.0);
        check(kind, 1, 256, 2048, 1.0);
        check(kind, 1, 512, 5632, 1.0);
        check(kind, 40, 256, 2048, 1.0);
    }
}

#[test]
fn magnitudes_far_from_one_agree_with_float64() {
    for kind in THOROUGH {
        for m in [1, 4, 20] {
            check(kind, m, 65, 128, 40_000.0);
            check(kind, m, 65, 128, 0.01);
        }
    }
}

#[test]
fn results_are_added_to_what_is_there() {
    let mut rng = rng(7);
    for kind in THOROUGH {
        for m in [1, 4, 40, 70] {
            let w = matrix(&mut rng, kind, 67, 96, 1.0, 0);
            let x = uniform(&mut rng, m * 96);
            let start = uniform(&mut rng, m * 67);
            let x_buffer = buffer(&x);
            for ops in both() {
                let y = Guarded::holding(&start);
                run(|encoder| ops.linear_add(encoder, &w.weight, &x_buffer, y.view(), m));
                assert_close(
                    &format!("{kind:?}, m {m}"),
                    &y.read(),
                    reference(&w, &x, &start),
                );
            }
        }
    }
}

/// Every kernel ends with the same arithmetic: a bias, a scale, and what is there already.
#[test]
fn biases_and_scales_agree_with_float64() {
    let mut rng = rng(10);
    let (n, k, scale) = (67, 96, 0.3f32);
    for kind in [WeightType::F32, WeightType::Q8_0] {
        for m in [1, 4, 12, 70] {
            let w = matrix(&mut rng, kind, n, k, 1.0, 0);
            let (x, start, bias) = (
                uniform(&mut rng, m * k),
                uniform(&mut rng, m * n),
                uniform(&mut rng, n),
            );
            let (x_buffer, bias_buffer) = (buffer(&x), buffer_at(4, &bias));
            for ops in both() {
                let y = Guarded::holding(&start);
                let epilogue = Epilogue {
                    bias: Some(View::new(&bias_buffer, 4)),
                    scale,
                    accumulate: true,
                };
                run(|encoder| {
                    ops.linear_with(encoder, &w.weight, &x_buffer, y.view(), m, &epilogue)
                });
                let exact = reference(&w, &x, &[]).enumerate().map(|(index, product)| {
                    let (bias, start) = (f64::from(bias[index % n]), f64::from(start[index]));
                    let sum = start + f64::from(scale) * (product.0 + bias);
                    (sum, product.1 + 4.0 * EPSILON * (bias.abs() + start.abs()))
                });
                assert_close(&format!("{kind:?}, m {m}"), &y.read(), exact);
            }
        }
    }
    let w = matrix(&mut rng, WeightType::F32, 4, 8, 1.0, 0);
    let (x, y) = (buffer(&[0.0f32; 8]), buffer(&[0.0f32; 4]));
    let with = |epilogue: Epilogue<'_>| {
        refused(|encoder| ops().linear_with(encoder, &w.weight, &x, &y, 1, &epilogue))
    };
    let error = with(Epilogue {
        scale: f32::NAN,
        ..Epilogue::default()
    });
    assert!(matches!(error, Error::InvalidArgument(_)), "{error}");
    let error = with(Epilogue {
        bias: Some(View::new(&x, 20)),
        ..Epilogue::default()
    });
    assert!(
        matches!(error, Error::OutOfRange(_)) && error.to_string().contains("the bias"),
        "{error}"
    );
}

/// Rows of x do not reach into each other's results: what is not finite stays in its row.
#[test]
fn infinities_stay_in_their_rows() {
    let mut rng = rng(8);
    for m in [3, 4, 12, 70] {
        let w = matrix(&mut rng, WeightType::F32, 70, 40, 1.0, 0);
        let mut x = uniform(&mut rng, m * 40);
        x[40] = f32::INFINITY;
        let x_buffer = buffer(&x);
        for ops in both() {
            let y = Guarded::new(m * 70);
            run(|encoder| ops.linear(encoder, &w.weight, &x_buffer, y.view(), m));
            for (index, value) in y.read::<f32>().iter().enumerate() {
                assert_eq!(
                    value.is_finite(),
                    index / 70 != 1,
                    "m {m}, row {}, column {}",
                    index / 70,
                    index % 70
                );
            }
        }
    }
}

/// Few rows and many take different kernels: both have to give the same numbers, since prefill and decode meet in one cache.
#[test]
fn few_rows_and_many_agree() {
    let mut rng = rng(9);
    for kind in THOROUGH {
        let (n, k, m) = (96, 512, 40);
        let w = matrix(&mut rng, kind, n, k, 1.0, 0);
        let x = uniform(&mut rng, m * k);
        let (together, apart) = (Guarded::new(m * n), Guarded::new(m * n));
        let x_buffer = buffer(&x);
        let many = ops().with_product_kernels(ProductKernels::Matrix);
        run(|encoder| {
            many.linear(encoder, &w.weight, &x_buffer, together.view(), m)?;
            (0..m).try_for_each(|row| {
                let x = View::new(&x_buffer, row * k * 4);
                let y = View::new(apart.view().buffer(), apart.view().offset() + row * n * 4);
                ops().linear(encoder, &w.weight, x, y, 1)
            })
        });
        let (together, apart) = (together.read::<f32>(), apart.read::<f32>());
        let difference: f64 = together
            .iter()
            .zip(&apart)
            .map(|(a, b)| f64::from(a - b).powi(2))
            .sum();
        let size: f64 = apart.iter().map(|a| f64::from(*a).powi(2)).sum();
        assert!(
            (difference / size).sqrt() < 1e-6,
            "{kind:?}: {}",
            (difference / size).sqrt()
        );
    }
}

#[test]
fn nothing_to_do_is_nothing_done() {
    let w = matrix(&mut rng(1), WeightType::Q8_0, 4, 32, 1.0, 0);
    let x = buffer(&[0.0f32; 32]);
    let y = Guarded::holding(&[3.5; 4]);
    run(|encoder| ops().linear(encoder, &w.weight, &x, y.view(), 0));
    assert_eq!(y.read::<f32>(), [3.5; 4]);
}

#[test]
fn what_does_not_fit_is_refused() {
    let w = matrix(&mut rng(2), WeightType::F32, 4, 8, 1.0, 0);
    let (x, y) = (buffer(&[0.0f32; 16]), buffer(&[0.0f32; 8]));
    let linear =
        |x: View<'_>, y: View<'_>, m| refused(|encoder| ops().linear(encoder, &w.weight, x, y, m));
    let at = View::new;

    let error = linear(at(&x, 0), at(&y, 0), 3);
    assert!(matches!(error, Error::OutOfRange(_)), "{error}");
    assert!(
        error
            .to_string()
            .contains("x takes 96 bytes at offset 0 of a buffer of 64"),
        "{error}"
    );
    let error = linear(at(&x, 0), at(&y, 20), 1);
    assert!(
        matches!(error, Error::OutOfRange(_)) && error.to_string().contains("y takes 16 bytes"),
        "{error}"
    );
    let error = linear(at(&x, 0), at(&y, usize::MAX - 3), 1);
    assert!(matches!(error, Error::OutOfRange(_)), "{error}");
    let error = linear(at(&x, 2), at(&y, 0), 1);
    assert!(matches!(error, Error::Misaligned(_)), "{error}");
    let error = linear(at(&x, 0), at(&x, 16), 1);
    assert!(
        matches!(error, Error::InvalidArgument(_)) && error.to_string().contains("overlap"),
        "{error}"
    );
    let error = linear(at(&x, 0), at(&y, 0), usize::MAX / 2);
    assert!(matches!(error, Error::OutOfRange(_)), "{error}");
    // Next to each other is not overlapping, and the encoder's buffers are usable after errors.
    run(|encoder| ops().linear(encoder, &w.weight, at(&x, 0), at(&x, 32), 1));
}

#[test]
fn what_is_not_a_weight_is_refused() {
    let some = buffer(&[0u8; 340]);
    let make = |offset, rows, columns, kind| Weight::new(some.clone(), offset, rows, columns, kind);
    assert!(make(0, 10, 32, WeightType::Q8_0).is_ok());
    for (offset, rows, columns, kind) in [
        (0, 0, 32, WeightType::F32),
        (0, 2, 0, WeightType::F16),
        (0, 1, 33, WeightType::Q8_0),
        (0, 1, 16, WeightType::Q4_0),
    ] {
        let error = make(offset, rows, columns, kind).unwrap_err();
        assert!(matches!(error, Error::InvalidArgument(_)), "{error}");
    }
    for (offset, rows, columns, kind) in [
        (0, 11, 32, WeightType::Q8_0),
        (2, 10, 32, WeightType::Q8_0),
        (342, 1, 1, WeightType::F16),
        (0, u32::MAX as usize, u32::MAX as usize, WeightType::F32),
    ] {
        let error = make(offset, rows, columns, kind).unwrap_err();
        assert!(matches!(error, Error::OutOfRange(_)), "{error}");
    }
    for (offset, kind) in [
        (2, WeightType::F32),
        (1, WeightType::F16),
        (1, WeightType::Q4_0),
    ] {
        let error = make(offset, 1, 32, kind).unwrap_err();
        assert!(matches!(error, Error::Misaligned(_)), "{error}");
    }
}

#[test]
fn rows_of_a_weight_are_a_weight() {
    let mut rng = rng(11);
    for kind in [WeightType::F32, WeightType::Q8_0] {
        let w = matrix(&mut rng, kind, 9, 64, 1.0, 32);
        let x = uniform(&mut rng, 64);
        let (x_buffer, y) = (buffer(&x), Guarded::new(4));
        let rows = w.weight.rows_of(3..7).unwrap();
        run(|encoder| ops().linear(encoder, &rows, &x_buffer, y.view(), 1));
        let exact = reference(&w, &x, &[]).skip(3).take(4);
        assert_close(&format!("{kind:?}"), &y.read(), exact);
        let beyond = w.weight.rows_of(3..10).unwrap_err();
        assert!(matches!(beyond, Error::OutOfRange(_)), "{beyond}");
        let none = w.weight.rows_of(3..3).unwrap_err();
        assert!(matches!(none, Error::InvalidArgument(_)), "{none}");
    }
}

/// GPUs older than Apple's seventh family have no simdgroup matrices.
#[test]
fn kernels_without_matrices_agree_with_the_others() {
    support::again_without_matrices("linear::few_rows_and_many_agree");
}
