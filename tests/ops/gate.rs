//! Gates and soft caps against float64.

use crate::support::{EPSILON, Guarded, assert_close, buffer, ops, refused, rng, run, uniform};
use metal_bridge::Error;
use metal_bridge::ops::{Gate, View};

const COUNTS: [usize; 10] = [1, 2, 3, 4, 5, 255, 256, 1023, 1025, 5632];

#[test]
fn silu_multiply_agrees_with_float64() {
    let mut rng = rng(41);
    for count in COUNTS {
        let mut a: Vec<f32> = uniform(&mut rng, count)
            .iter()
            .map(|value| value * 12.0)
            .collect();
        let extremes = [
            0.0,
            -0.0,
            1e-30,
            -1e-30,
            88.0,
            -88.0,
            200.0,
            -200.0,
            1e30,
            -3e38,
            f32::NEG_INFINITY,
        ];
        for (value, extreme) in a.iter_mut().skip(3).zip(extremes) {
            *value = extreme;
        }
        let b = uniform(&mut rng, count);
        let y = Guarded::new(count);
        let (a_buffer, b_buffer) = (buffer(&a), buffer(&b));
        run(|encoder| ops().silu_multiply(encoder, &a_buffer, &b_buffer, y.view(), count));
        let exact = a.iter().zip(&b).map(|(a, b)| {
            let (a, b) = (f64::from(*a), f64::from(*b));
            // At minus infinity the limit.
            let exact = if a < -1e300 {
                0.0
            } else {
                a / (1.0 + (-a).exp()) * b
            };
            // The exponent's own rounding shows as a relative error of its size. The second term is what silu is where its
            // exponential overflows.
            let relative = (16.0 + 2.0 * a.abs().min(90.0)) * EPSILON;
            (exact, exact.abs() * relative + 3e-37)
        });
        assert_close(&format!("{count} gates"), &y.read(), exact);
    }
}

#[test]
fn the_gate_of_gelu_agrees_with_float64() {
    let mut rng = rng(43);
    for count in COUNTS {
        let mut a: Vec<f32> = uniform(&mut rng, count)
            .iter()
            .map(|value| value * 12.0)
            .collect();
        let extremes = [
            0.0, -0.0, 1e-30, 9.99, 10.01, -9.99, -10.01, 1e20, -1e20, 3e38,
        ];
        for (value, extreme) in a.iter_mut().skip(3).zip(extremes) {
            *value = extreme;
        }
        let b = uniform(&mut rng, count);
        let y = Guarded::new(count);
        let (a_buffer, b_buffer) = (buffer(&a), buffer(&b));
        let gate = Gate::GeluTanh;
        run(|encoder| ops().gate(encoder, gate, &a_buffer, &b_buffer, y.view(), count));
        let exact = a.iter().zip(&b).map(|(a, b)| {
            let (a, b) = (f64::from(*a), f64::from(*b));
            let inner = (2.0 / std::f64::consts::PI).sqrt() * (a + 0.044715 * a.powi(3));
            let exact = 0.5 * a * (1.0 + inner.tanh()) * b;
            // One is added to a hyperbolic tangent near -1: its error does not shrink with the sum.
            let allowed = 16.0 * EPSILON * (exact.abs() + (a * b).abs().min(10.0 * b.abs()));
            (exact, allowed)
        });
        assert_close(&format!("{count} gates"), &y.read(), exact);
    }
}

#[test]
fn the_clamped_gate_agrees_with_float64() {
    let mut rng = rng(45);
    for count in [1, 6, 1025] {
        let mut numbers = || -> Vec<f32> {
            let values = uniform(&mut rng, count);
            values.into_iter().map(|value| value * 12.0).collect()
        };
        let (a, b) = (numbers(), numbers());
        let y = Guarded::new(count);
        let (a_buffer, b_buffer, gate) = (buffer(&a), buffer(&b), Gate::Clamped);
        run(|encoder| ops().gate(encoder, gate, &a_buffer, &b_buffer, y.view(), count));
        let exact = a.iter().zip(&b).map(|(a, b)| {
            let (a, b) = (f64::from(*a).min(7.0), f64::from(*b).clamp(-7.0, 7.0));
            let gate = a / (1.0 + (-1.702 * a).exp());
            let allowed = gate.abs() * (b.abs() + 1.0) * (16.0 + 4.0 * a.abs()) * EPSILON;
            (gate * (b + 1.0), allowed)
        });
        assert_close(&format!("{count} gates"), &y.read(), exact);
    }
}

#[test]
fn soft_caps_agree_with_float64() {
    let mut rng = rng(44);
    for (count, cap) in [(1, 30.0f32), (6, 1.0), (1025, 30.0), (255, 1e-3)] {
        let mut x: Vec<f32> = uniform(&mut rng, count)
            .iter()
            .map(|value| value * 100.0)
            .collect();
        for (value, extreme) in x.iter_mut().skip(3).zip([0.0, 1e-20, 1e30, -1e30]) {
            *value = extreme;
        }
        let y = Guarded::holding(&x);
        run(|encoder| ops().soft_cap(encoder, y.view(), count, cap));
        let cap = f64::from(cap);
        let exact = x.iter().map(|x| {
            let exact = cap * (f64::from(*x) / cap).tanh();
            (exact, exact.abs() * 16.0 * EPSILON + 1e-37)
        });
        assert_close(&format!("{count} of {cap}"), &y.read(), exact);
    }
    let x = buffer(&[0.0f32; 4]);
    for cap in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        let error = refused(|encoder| ops().soft_cap(encoder, &x, 4, cap));
        assert!(matches!(error, Error::InvalidArgument(_)), "{error}");
    }
}

#[test]
fn a_gate_may_replace_its_inputs() {
    let mut rng = rng(42);
    let (a, b) = (uniform(&mut rng, 77), uniform(&mut rng, 77));
    let (left, right) = (Guarded::holding(&a), Guarded::holding(&b));
    let apart = Guarded::new(77);
    run(|encoder| {
        ops().silu_multiply(encoder, left.view(), right.view(), apart.view(), 77)?;
        ops().silu_multiply(encoder, left.view(), right.view(), left.view(), 77)
    });
    assert_eq!(left.read::<f32>(), apart.read::<f32>());
    let left = Guarded::holding(&a);
    run(|encoder| ops().silu_multiply(encoder, left.view(), right.view(), right.view(), 77));
    assert_eq!(right.read::<f32>(), apart.read::<f32>());
}

#[test]
fn what_does_not_fit_or_overlaps_is_refused() {
    let (a, b) = (buffer(&[0.0f32; 16]), buffer(&[0.0f32; 16]));
    let error = refused(|encoder| ops().silu_multiply(encoder, &a, &b, &a, 17));
    assert!(matches!(error, Error::OutOfRange(_)), "{error}");
    let error = refused(|encoder| ops().silu_multiply(encoder, &a, &b, View::new(&a, 4), 8));
    assert!(matches!(error, Error::InvalidArgument(_)), "{error}");
    let error = refused(|encoder| ops().silu_multiply(encoder, View::new(&a, 1), &b, &b, 2));
    assert!(matches!(error, Error::Misaligned(_)), "{error}");
    let error = refused(|encoder| ops().silu_multiply(encoder, &a, &b, &b, usize::MAX));
    assert!(matches!(error, Error::OutOfRange(_)), "{error}");
}
