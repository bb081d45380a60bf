//! Products of matrices of bytes: exact as integers, and with scales against float64.

use half::{bf16, f16};
use metal_bridge::Error;
use metal_bridge::ops::{DataType, Matmul, Ops, Tensor, Unary};
use rand::Rng;
use rand::rngs::SmallRng;

use super::{ACTIVATIONS, Operand, activated, positions};
use crate::support::{EPSILON, buffer, ops, refused, rng, run};
use crate::tensor::rows::both;
use crate::tensor::values::{Sample, half_unit, least, read, room};

/// The least and the largest number now and then, so that sums become as large as they can.
fn byte<T: Sample>(rng: &mut SmallRng) -> T {
    T::nearest(match rng.random_range(0..4) {
        0 => -128.0,
        1 => 255.0,
        _ => rng.random_range(-128.0..255.0f64).round(),
    })
}

fn sizes(rng: &mut SmallRng) -> [usize; 3] {
    [(); 3].map(|()| match rng.random_range(0..4) {
        0 => rng.random_range(1..6),
        1 => rng.random_range(30..36),
        2 => rng.random_range(60..70),
        _ => rng.random_range(1..20),
    })
}

fn sums_are_exact<T: Sample>(ops: &Ops, seed: u64) {
    let mut rng = rng(seed);
    for round in 0..12 {
        let [m, n, mut k] = sizes(&mut rng);
        if round % 3 == 0 {
            k += 600;
        }
        let a = Operand::<T>::new(&mut rng, &[2, m, k], byte);
        let b = Operand::<i8>::new(&mut rng, &[k, n], byte);
        let c = Operand::<i32>::new(&mut rng, &[m, n], |rng| rng.random());
        let bias = Operand::<i32>::new(&mut rng, &[n], |rng| rng.random());
        let y = Operand::<i32>::new(&mut rng, &[2, m, n], |_| 7);
        let options = Matmul {
            c: (round % 2 == 0).then(|| c.tensor()),
            bias: (round % 2 == 0).then(|| bias.tensor()),
            ..Matmul::default()
        };
        run(|encoder| ops.matmul(encoder, options, a.tensor(), b.tensor(), y.tensor()));
        for (index, found) in positions(&y.shape).zip(y.read()) {
            let [batch, i, j] = index[..] else {
                unreachable!()
            };
            let products = (0..k).map(|at| a.at(&[batch, i, at]).exact() * b.at(&[at, j]).exact());
            let mut exact = products.sum::<f64>() as i32;
            if round % 2 == 0 {
                exact = exact
                    .wrapping_add(c.at(&[i, j]))
                    .wrapping_add(bias.at(&[j]));
            }
            assert_eq!(found, exact, "round {round}: {m}, {n}, {k} at {index:?}");
        }
    }
}

#[test]
fn products_of_bytes_are_exact() {
    for ops in both() {
        sums_are_exact::<i8>(ops, 320);
        sums_are_exact::<u8>(ops, 321);
    }
}

/// Scales by row, by column and by group, in all combinations.
fn scaled<Y: Sample>(ops: &Ops, seed: u64) {
    let mut rng = rng(seed);
    for round in 0..18 {
        let [m, n, _] = sizes(&mut rng);
        let groups = [1, 3, 5][round % 3];
        let group = [32, 7, 200][round / 6];
        let k = groups * group;
        let a = Operand::<i8>::new(&mut rng, &[m, k], byte);
        let b = Operand::<i8>::new(&mut rng, &[k, n], byte);
        let scale = |rng: &mut SmallRng| rng.random_range(-0.01..0.01f32);
        let by_group = |size| {
            if groups == 1 {
                vec![size]
            } else {
                vec![size, groups]
            }
        };
        let scale_a = Operand::<f32>::new(
            &mut rng,
            &if round % 2 == 0 { by_group(m) } else { vec![m] },
            scale,
        );
        let scale_b = Operand::<f32>::new(&mut rng, &by_group(n), scale);
        let bias = Operand::<Y>::new(&mut rng, &[n], |rng| {
            Y::nearest(rng.random_range(-1.0..1.0))
        });
        let y = Operand::<Y>::new(&mut rng, &[m, n], |_| Y::nearest(f64::NAN));
        let (has_a, has_b) = (round % 4 != 3, round % 4 != 1);
        let activation = ACTIVATIONS[round % ACTIVATIONS.len()];
        let options = Matmul {
            alpha: 0.5,
            bias: Some(bias.tensor()),
            activation,
            scale_a: has_a.then(|| scale_a.tensor()),
            scale_b: has_b.then(|| scale_b.tensor()),
            ..Matmul::default()
        };
        run(|encoder| ops.matmul(encoder, options, a.tensor(), b.tensor(), y.tensor()));
        for (index, found) in positions(&y.shape).zip(y.read()) {
            let [i, j] = index[..] else { unreachable!() };
            let of = |is_given: bool, scale: &Operand<f32>, row: usize, at: usize| match scale
                .shape
                .len()
            {
                _ if !is_given => 1.0,
                1 => f64::from(scale.at(&[row])),
                _ => f64::from(scale.at(&[row, at / group])),
            };
            let (mut sum, mut size) = (0.0, 0.0);
            for at in 0..k {
                let term = a.at(&[i, at]).exact() * b.at(&[at, j]).exact();
                let term = 0.5 * term * of(has_a, &scale_a, i, at) * of(has_b, &scale_b, j, at);
                (sum, size) = (sum + term, size + term.abs());
            }
            let terms = k as f64 / 16.0 + groups as f64 + 3.0;
            let gamma = terms * EPSILON / (1.0 - terms * EPSILON);
            let rest = bias.at(&[j]).exact();
            let before = gamma * size + 3.0 * EPSILON * (size + rest.abs());
            let (exact, lost) = activated(activation, sum + rest, before);
            let rounding = match Y::DATA_TYPE {
                DataType::F32 => 0.0,
                half => (exact.abs() + lost) * half_unit(half) + least(half),
            };
            let off = (found.exact() - exact).abs();
            assert!(
                off <= lost + rounding,
                "round {round} at {index:?}: {found:?} is not {exact}: off by {off:e}, allowed {:e}",
                lost + rounding
            );
        }
    }
}

#[test]
fn scaled_products_of_bytes_agree_with_float64() {
    for ops in both() {
        scaled::<f32>(ops, 330);
        scaled::<f16>(ops, 331);
        scaled::<bf16>(ops, 332);
    }
}

/// More than `i32` holds wraps, and what a step of floats holds exactly is not exceeded.
#[test]
fn the_largest_sums_wrap() {
    let k = 70_000;
    let (a_buffer, b_buffer, y_buffer) = (buffer(&[255u8]), buffer(&[-128i8]), room::<i32>(1));
    let a = Tensor::of::<u8>(&a_buffer, &[1, 1])
        .unwrap()
        .broadcast_to(&[1, k])
        .unwrap();
    let b = Tensor::of::<i8>(&b_buffer, &[1, 1])
        .unwrap()
        .broadcast_to(&[k, 1])
        .unwrap();
    let y = Tensor::of::<i32>(&y_buffer, &[1, 1]).unwrap();
    for ops in both() {
        run(|encoder| ops.matmul(encoder, Matmul::default(), a, b, y));
        assert_eq!(read::<i32>(&y_buffer), [(255 * -128 * k as i64) as i32]);
    }
}

#[test]
fn bad_products_of_bytes_are_refused_by_name() {
    let (x_buffer, y_buffer) = (buffer(&[1u8; 64]), buffer(&[0u8; 64]));
    let x = Tensor::of::<i8>(&x_buffer, &[4, 4]).unwrap();
    let y = Tensor::of::<i32>(&y_buffer, &[4, 4]).unwrap();
    let floats = Tensor::of::<f32>(&y_buffer, &[4, 4]).unwrap();
    let scale = |shape: &[usize]| Some(Tensor::of::<f32>(&x_buffer, shape).unwrap());
    let none = Matmul::default();
    let says = |options: Matmul<'_>, y: Tensor<'_>, text: &str| -> Error {
        let error = refused(|encoder| ops().matmul(encoder, options, x, x, y));
        assert!(error.to_string().contains(text), "{error}");
        error
    };
    let added = Matmul {
        c: Some(y),
        beta: 0.5,
        ..none
    };
    let activated = Matmul {
        activation: Some(Unary::Relu),
        ..none
    };
    let scaled = Matmul {
        scale_b: scale(&[4]),
        ..none
    };
    for (options, text) in [
        (Matmul { alpha: 2.0, ..none }, "alpha must be 1, not 2"),
        (added, "beta must be 1, not 0.5"),
        (activated, "Relu must be left out"),
        (scaled, "scale_b must be left out"),
    ] {
        let error = says(options, y, text);
        assert!(matches!(error, Error::Unsupported(_)), "{error}");
        let whole = format!("y has elements of type i32, so {text}");
        assert!(error.to_string().contains(&whole), "{error}");
    }
    says(
        Matmul {
            scale_a: scale(&[3]),
            ..none
        },
        floats,
        "scale_a has the shape [3]",
    );
    says(
        Matmul {
            scale_a: scale(&[4, 3]),
            ..none
        },
        floats,
        "scale_a has the shape [4, 3]",
    );
    let two = Matmul {
        scale_a: scale(&[4, 2]),
        scale_b: scale(&[4, 4]),
        ..none
    };
    says(two, floats, "scale_b has the shape [4, 4]");
    says(
        Matmul {
            scale_a: Some(x),
            ..none
        },
        floats,
        "scale_a has elements of type i8",
    );
    let bytes = Tensor::of::<i8>(&y_buffer, &[4, 4]).unwrap();
    says(
        none,
        bytes,
        "a product of i8 and i8 cannot be written to y of type i8",
    );
    let unsigned = Tensor::of::<u8>(&x_buffer, &[4, 4]).unwrap();
    let error = refused(|encoder| ops().matmul(encoder, none, x, unsigned, y));
    assert!(
        error
            .to_string()
            .contains("a of type i8 cannot be multiplied by b of type u8"),
        "{error}"
    );
    assert_eq!(read::<u8>(&y_buffer), [0; 64]);
}

/// Without a product the scales do not matter, even if they are not finite.
#[test]
fn scales_of_no_product_are_not_read() {
    let (x, scales) = (buffer(&[1i8; 64]), buffer(&[f32::INFINITY; 16]));
    let (bias, y_buffer) = (buffer(&[2.0f32; 16]), room::<f32>(128));
    let scale = |shape: &[usize]| Some(Tensor::of::<f32>(&scales, shape).unwrap());
    // Few rows and many, few columns and many; no elements to add up, and a factor of 0.
    for (m, n) in [(2, 8), (8, 8), (8, 2)] {
        for (k, alpha) in [(0, 1.0), (4, 0.0)] {
            let options = Matmul {
                alpha,
                bias: Some(Tensor::of::<f32>(&bias, &[n]).unwrap()),
                scale_a: scale(&[m]),
                scale_b: scale(&[n]),
                ..Matmul::default()
            };
            let (a, b) = (Tensor::of::<i8>(&x, &[m, k]), Tensor::of::<i8>(&x, &[k, n]));
            let y = Tensor::of::<f32>(&y_buffer, &[m, n]).unwrap();
            run(|encoder| ops().matmul(encoder, options, a.unwrap(), b.unwrap(), y));
            assert_eq!(
                read::<f32>(&y_buffer)[..m * n],
                vec![2.0; m * n],
                "{m} {n} {k}"
            );
        }
    }
}
