//! The softmax and its logarithm against float64.

use half::{bf16, f16};
use metal_bridge::Error;
use metal_bridge::ops::{DataType, Ops, Tensor, View};
use rand::Rng;

use super::layouts::{offsets, random_strides};
use super::rows::both;
use super::values::{Sample, half_unit, least, read, room};
use crate::support::{EPSILON, buffer, ops, refused, rng, run};

/// Encodes the softmax, or its logarithm.
fn softmax(ops: &Ops, is_log: bool, x: Tensor<'_>, axis: usize, y: Tensor<'_>) {
    run(|encoder| {
        if is_log {
            ops.log_softmax(encoder, x, axis, y)
        } else {
            ops.softmax(encoder, x, axis, y)
        }
    });
}

/// Compares a row with float64.
fn agrees<T: Sample>(is_log: bool, x: &[T], y: &[T]) {
    let largest = x
        .iter()
        .fold(f64::NEG_INFINITY, |most, x| most.max(x.exact()));
    let sum: f64 = x.iter().map(|x| (x.exact() - largest).exp()).sum();
    for (x, y) in x.iter().zip(y) {
        let below = x.exact() - largest;
        let (exact, lost) = if is_log {
            let exact = below - sum.ln();
            (exact, 12.0 * EPSILON * (1.0 + exact.abs()))
        } else {
            let exact = below.exp() / sum;
            // What is less than the least normal float may be 0.
            let lost = (12.0 - below) * EPSILON * exact + f64::from(f32::MIN_POSITIVE);
            (exact, lost)
        };
        let rounding = match T::DATA_TYPE {
            DataType::F32 => 0.0,
            half => exact.abs() * half_unit(half) * (1.0 + EPSILON) + least(half),
        };
        let off = (y.exact() - exact).abs();
        let is_same = y.exact() == exact;
        assert!(
            is_same || off <= lost + rounding,
            "{x:?} of {} {}, logarithm {is_log}: {y:?} is not {exact}: off by {off:e}, allowed {lost:e}",
            x.exact(),
            T::DATA_TYPE.name()
        );
    }
}

fn rows<T: Sample>(ops: &Ops, seed: u64) {
    let mut rng = rng(seed);
    for (count, columns) in [(33, 2), (3, 61), (2, 1291)] {
        let x: Vec<T> = (0..count * columns)
            .map(|i| {
                T::nearest(if i % 11 == 0 {
                    -95.0
                } else {
                    rng.random_range(-20.0..20.0)
                })
            })
            .collect();
        for is_log in [false, true] {
            let (x_buffer, y_buffer) = (buffer(&x), room::<T>(x.len()));
            let tensor = |buffer| Tensor::of::<T>(buffer, &[count, columns]).unwrap();
            softmax(ops, is_log, tensor(&x_buffer), 1, tensor(&y_buffer));
            let y = read::<T>(&y_buffer);
            for (x, y) in x.chunks(columns).zip(y.chunks(columns)) {
                agrees(is_log, x, y);
            }
            softmax(ops, is_log, tensor(&x_buffer), 1, tensor(&x_buffer));
            assert_eq!(read::<T>(&x_buffer), y, "in place");
        }
    }
}

#[test]
fn rows_agree_with_float64() {
    for ops in both() {
        rows::<f32>(ops, 100);
        rows::<f16>(ops, 101);
        rows::<bf16>(ops, 102);
    }
}

#[test]
fn every_axis_and_layout_agrees() {
    let mut rng = rng(104);
    for round in 0..40 {
        let shape: Vec<usize> = (0..rng.random_range(1..=4))
            .map(|_| rng.random_range(1..40) / 3 + 1)
            .collect();
        let axis = rng.random_range(0..shape.len());
        let (x_strides, y_strides) = (
            random_strides(&mut rng, &shape),
            random_strides(&mut rng, &shape),
        );
        let (x_offsets, y_offsets) = (offsets(&shape, &x_strides), offsets(&shape, &y_strides));
        let offset = rng.random_range(0..3);
        let x: Vec<f32> = (0..offset + x_offsets.iter().max().unwrap() + 1)
            .map(|_| rng.random_range(-9.0..9.0))
            .collect();
        let (x_buffer, y_buffer) = (buffer(&x), room::<f32>(y_offsets.iter().max().unwrap() + 1));
        let x_tensor = Tensor::strided(
            View::new(&x_buffer, 4 * offset),
            DataType::F32,
            &shape,
            &x_strides,
        );
        let y_tensor = Tensor::strided(&y_buffer, DataType::F32, &shape, &y_strides);
        softmax(
            both()[round % 2],
            round % 4 > 1,
            x_tensor.unwrap(),
            axis,
            y_tensor.unwrap(),
        );
        let y = read::<f32>(&y_buffer);
        let inner: usize = shape[axis + 1..].iter().product();
        for first in (0..x_offsets.len()).filter(|position| position / inner % shape[axis] == 0) {
            let row = (0..shape[axis]).map(|i| first + i * inner);
            let (x, y): (Vec<f32>, Vec<f32>) = row
                .map(|at| (x[offset + x_offsets[at]], y[y_offsets[at]]))
                .unzip();
            agrees(round % 4 > 1, &x, &y);
        }
        // Between the elements nothing has changed.
        let untouched = f32::from_le_bytes([0xA5; 4]);
        let others = (0..y.len()).filter(|index| !y_offsets.contains(index));
        assert!(others.into_iter().all(|index| y[index] == untouched));
    }
}

#[test]
fn rows_of_what_is_not_finite() {
    let infinity = f32::INFINITY;
    let x = [
        [1.0, f32::NAN],
        [-infinity, -infinity],
        [infinity, 1.0],
        [-infinity, 3.0],
        [3e38, -3e38],
    ];
    let x_buffer = buffer(x.as_flattened());
    let y_buffer = room::<f32>(10);
    let tensor = |buffer| Tensor::of::<f32>(buffer, &[5, 2]).unwrap();
    for ops in both() {
        softmax(ops, false, tensor(&x_buffer), 1, tensor(&y_buffer));
        let y = read::<f32>(&y_buffer);
        assert!(y[..6].iter().all(|y| y.is_nan()), "{y:?}");
        assert_eq!(y[6..], [0.0, 1.0, 1.0, 0.0]);
        softmax(ops, true, tensor(&x_buffer), 1, tensor(&y_buffer));
        let y = read::<f32>(&y_buffer);
        assert!(y[..6].iter().all(|y| y.is_nan()), "{y:?}");
        assert_eq!(y[6..], [-infinity, 0.0, 0.0, -infinity]);
    }
}

#[test]
fn bad_softmaxes_are_refused_by_name() {
    let (x_buffer, y_buffer) = (buffer(&[1.0f32; 16]), buffer(&[0.0f32; 16]));
    let of = |buffer, shape: &[usize]| Tensor::of::<f32>(buffer, shape).unwrap();
    let x = of(&x_buffer, &[4, 4]);
    let says = |x: Tensor<'_>, axis, y: Tensor<'_>, text: &str| {
        for is_log in [false, true] {
            let error = refused(|encoder| match is_log {
                true => ops().log_softmax(encoder, x, axis, y),
                false => ops().softmax(encoder, x, axis, y),
            });
            assert!(error.to_string().contains(text), "{error}");
        }
    };
    says(x, 2, of(&y_buffer, &[4, 4]), "does not have an axis 2");
    says(
        of(&x_buffer, &[]),
        0,
        of(&y_buffer, &[]),
        "does not have an axis 0",
    );
    says(
        x,
        1,
        of(&y_buffer, &[4]),
        "y has the shape [4], but must have x's shape [4, 4]",
    );
    says(x, 1, x.permute(&[1, 0]).unwrap(), "x and y overlap");
    let shifted = Tensor::of::<f32>(View::new(&x_buffer, 4), &[3]).unwrap();
    says(of(&x_buffer, &[3]), 0, shifted, "x and y overlap");
    let repeated = of(&y_buffer, &[1]).broadcast_to(&[4]).unwrap();
    says(
        of(&x_buffer, &[4]),
        0,
        repeated,
        "several positions may share an element",
    );
    says(of(&x_buffer, &[17]), 0, of(&y_buffer, &[17]), "68 bytes");
    let integers = Tensor::of::<i32>(&x_buffer, &[4]).unwrap();
    says(
        integers,
        0,
        of(&y_buffer, &[4]),
        "y has elements of type f32",
    );
    let error = refused(|encoder| ops().softmax(encoder, integers, 0, integers));
    assert!(matches!(error, Error::Unsupported(_)), "{error}");
    let nothing = of(&x_buffer, &[4, 0]);
    softmax(ops(), false, nothing, 1, nothing);
    softmax(ops(), false, nothing, 0, nothing);
    assert_eq!(read::<f32>(&y_buffer), [0.0; 16]);
}
