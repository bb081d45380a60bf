//! Layer norm, RMS norm, group norm and batch norm against float64.

use half::{bf16, f16};
use metal_bridge::Error;
use metal_bridge::ops::{DataType, Norm, Ops, RunningStatistics, Tensor, View};
use rand::Rng;
use rand::rngs::SmallRng;

use super::layouts::{offsets, random_strides};
use super::rows::both;
use super::values::{Sample, half_unit, least, read, room};
use crate::support::{EPSILON, buffer, ops, refused, rng, run};

/// The mean of a row and what it is divided by, for the tests' model.
pub fn statistics(row: &[f64], is_rms: bool, epsilon: f32) -> (f64, f64) {
    let count = row.len() as f64;
    let mean = if is_rms {
        0.0
    } else {
        row.iter().sum::<f64>() / count
    };
    let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
    (mean, (variance + f64::from(epsilon)).sqrt())
}

/// Fails unless `y` is near `normalized * weight + bias`, where `size` is the largest distance of the row from 0, normalized.
pub fn agrees<T: Sample>(y: T, normalized: f64, (weight, bias): (f64, f64), size: f64, what: &str) {
    let exact = normalized * weight + bias;
    let lost = 16.0 * EPSILON * (normalized * weight).abs()
        + 2.0 * EPSILON * exact.abs()
        + EPSILON * EPSILON * size * weight.abs();
    let rounding = match T::DATA_TYPE {
        DataType::F32 => f64::from(f32::MIN_POSITIVE),
        half => exact.abs() * half_unit(half) * (1.0 + EPSILON) + least(half),
    };
    let (found, off) = (y.exact(), (y.exact() - exact).abs());
    let is_right = match exact.is_finite() {
        true => off <= lost + rounding,
        false => found == exact || (found.is_nan() && exact.is_nan()),
    };
    assert!(
        is_right,
        "{what}, {}: {} is not {exact}: off by {off:e}, allowed {lost:e} and {rounding:e}",
        T::DATA_TYPE.name(),
        found
    );
}

pub fn numbers<T: Sample>(rng: &mut SmallRng, count: usize, centre: f64) -> Vec<T> {
    (0..count)
        .map(|_| T::nearest(centre + rng.random_range(-2.0..2.0)))
        .collect()
}

fn exact<T: Sample>(values: &[T]) -> Vec<f64> {
    values.iter().map(|value| value.exact()).collect()
}

/// Layer norm and RMS norm of rows, with scales of type `S`.
fn rows<T: Sample, S: Sample>(ops: &Ops, seed: u64, centre: f64) {
    let mut rng = rng(seed);
    for (count, columns) in [(35, 3), (3, 61), (2, 1291)] {
        let x = numbers::<T>(&mut rng, count * columns, centre);
        let weight = numbers::<S>(&mut rng, columns, 0.0);
        let bias = numbers::<S>(&mut rng, columns, 0.0);
        let (weights, biases) = (buffer(&weight), buffer(&bias));
        for is_rms in [false, true] {
            // Not at a multiple of what larger types are aligned for.
            let x_buffer = buffer(&[&x[..1], &x].concat());
            let y_buffer = room::<T>(x.len() + 1);
            let tensor = |buffer| {
                Tensor::of::<T>(View::new(buffer, size_of::<T>()), &[count, columns]).unwrap()
            };
            let norm = Norm {
                weight: Some(Tensor::of::<S>(&weights, &[columns]).unwrap()),
                bias: Some(Tensor::of::<S>(&biases, &[columns]).unwrap()),
                epsilon: 1e-3,
            };
            let normalize = |x: Tensor<'_>, y: Tensor<'_>| {
                run(|encoder| match is_rms {
                    true => ops.rms_norm_along(encoder, x, &[1], &norm, y),
                    false => ops.layer_norm(encoder, x, &[1], &norm, y),
                })
            };
            normalize(tensor(&x_buffer), tensor(&y_buffer));
            let y = &read::<T>(&y_buffer)[1..];
            for (x, y) in x.chunks(columns).zip(y.chunks(columns)) {
                let x = exact(x);
                let (mean, root) = statistics(&x, is_rms, 1e-3);
                for i in 0..columns {
                    let scales = (weight[i].exact(), bias[i].exact());
                    let size = (centre.abs() + 2.0) / root;
                    agrees(y[i], (x[i] - mean) / root, scales, size, "a row");
                }
            }
            normalize(tensor(&x_buffer), tensor(&x_buffer));
            assert_eq!(&read::<T>(&x_buffer)[1..], y, "in place");
        }
    }
}

#[test]
fn rows_agree_with_float64() {
    for (ops, seed) in both().into_iter().zip([200, 210]) {
        rows::<f32, f32>(ops, seed, 0.5);
        rows::<f32, f32>(ops, seed + 1, 4096.5);
        rows::<f16, f16>(ops, seed + 2, 0.5);
        rows::<bf16, f32>(ops, seed + 3, 0.5);
    }
}

/// Random shapes, axes and strides, weights of random shapes; every way that scales may lie along a row.
#[test]
fn every_layout_agrees() {
    let mut rng = rng(220);
    for round in 0..80 {
        let shape: Vec<usize> = (0..rng.random_range(1..=4))
            .map(|_| rng.random_range(1..40) / 3 + 1)
            .collect();
        let mut axes: Vec<usize> = (0..shape.len()).collect();
        axes.retain(|_| rng.random_bool(0.6));
        let kept = |axis: usize| !axes.contains(&axis);
        let strides = [(); 2].map(|()| random_strides(&mut rng, &shape));
        let own: Vec<usize> = shape
            .iter()
            .map(|size| if rng.random_bool(0.3) { 1 } else { *size })
            .collect();
        let own_strides = random_strides(&mut rng, &own);
        let repeated: Vec<usize> = (0..shape.len())
            .map(|axis| {
                if own[axis] == shape[axis] {
                    own_strides[axis]
                } else {
                    0
                }
            })
            .collect();
        let [x_offsets, y_offsets] = strides.each_ref().map(|strides| offsets(&shape, strides));
        let weight_offsets = offsets(&shape, &repeated);
        let size = |offsets: &[usize]| offsets.iter().max().unwrap() + 1;
        let offset = rng.random_range(0..3);
        let x = numbers::<f32>(&mut rng, offset + size(&x_offsets), 1.0);
        let weight = numbers::<f32>(&mut rng, size(&offsets(&own, &own_strides)), 0.0);
        let bias = numbers::<f32>(&mut rng, weight.len(), 0.0);
        let (x_buffer, weights, biases) = (buffer(&x), buffer(&weight), buffer(&bias));
        let y_buffer = room::<f32>(size(&y_offsets));
        let norm = Norm {
            weight: Some(Tensor::strided(&weights, DataType::F32, &own, &own_strides).unwrap()),
            bias: Some(Tensor::strided(&biases, DataType::F32, &own, &own_strides).unwrap()),
            ..Norm::default()
        };
        let x_view = View::new(&x_buffer, 4 * offset);
        let x_tensor = Tensor::strided(x_view, DataType::F32, &shape, &strides[0]).unwrap();
        let y_tensor = Tensor::strided(&y_buffer, DataType::F32, &shape, &strides[1]).unwrap();
        let ops = both()[round % 2];
        run(|encoder| ops.layer_norm(encoder, x_tensor, &axes, &norm, y_tensor));
        let y = read::<f32>(&y_buffer);
        // Positions with equal offsets along what is kept are a row.
        let kept_strides: Vec<usize> = (0..shape.len())
            .map(|axis| {
                if kept(axis) {
                    shape[axis + 1..].iter().product()
                } else {
                    0
                }
            })
            .collect();
        let mut members = vec![Vec::new(); x_offsets.len()];
        for (position, row) in offsets(&shape, &kept_strides).into_iter().enumerate() {
            members[row].push(position);
        }
        for row in members.iter().filter(|row| !row.is_empty()) {
            let values: Vec<f64> = row
                .iter()
                .map(|at| x[offset + x_offsets[*at]].exact())
                .collect();
            let (mean, root) = statistics(&values, false, 1e-5);
            for (at, x) in row.iter().zip(&values) {
                let index = weight_offsets[*at];
                let scales = (weight[index].exact(), bias[index].exact());
                let what = format!("{shape:?} {strides:?} {axes:?} {own:?}");
                agrees(
                    y[y_offsets[*at]],
                    (x - mean) / root,
                    scales,
                    3.0 / root,
                    &what,
                );
            }
        }
        let untouched = f32::from_le_bytes([0xA5; 4]);
        let mut is_result = vec![false; y.len()];
        y_offsets.iter().for_each(|index| is_result[*index] = true);
        assert!((0..y.len()).all(|index| is_result[index] || y[index] == untouched));
    }
}

#[test]
fn rows_of_what_is_not_finite() {
    let x = [
        [1.0, f32::NAN, 0.0],
        [1.0, f32::INFINITY, 0.0],
        [5.0, 5.0, 5.0],
    ];
    let (x_buffer, y_buffer) = (buffer(x.as_flattened()), room::<f32>(9));
    let tensor = |buffer| Tensor::of::<f32>(buffer, &[3, 3]).unwrap();
    let norm = Norm {
        epsilon: 0.25,
        ..Norm::default()
    };
    for ops in both() {
        let (x, y) = (tensor(&x_buffer), tensor(&y_buffer));
        run(|encoder| ops.layer_norm(encoder, x, &[1], &norm, y));
        let y = read::<f32>(&y_buffer);
        assert!(y[..6].iter().all(|y| y.is_nan()), "{y:?}");
        assert_eq!(y[6..], [0.0; 3]);
        let (x, y) = (tensor(&x_buffer), tensor(&y_buffer));
        run(|encoder| ops.rms_norm_along(encoder, x, &[1], &norm, y));
        let y = read::<f32>(&y_buffer);
        assert!(y[..3].iter().all(|y| y.is_nan()), "{y:?}");
        assert!(y[3] == 0.0 && y[4].is_nan() && y[5] == 0.0, "{y:?}");
        for y in &y[6..] {
            agrees(*y, 5.0 / 25.25f64.sqrt(), (1.0, 0.0), 0.0, "a finite row");
        }
    }
}

#[test]
fn bad_norms_are_refused_by_name() {
    let (x_buffer, y_buffer, other) = (
        buffer(&[1.0f32; 24]),
        buffer(&[0.0f32; 24]),
        buffer(&[0.5f32; 24]),
    );
    let of = |buffer, shape: &[usize]| Tensor::of::<f32>(buffer, shape).unwrap();
    let (x, y) = (of(&x_buffer, &[2, 4, 3]), of(&y_buffer, &[2, 4, 3]));
    let plain = Norm::default();
    let says = |error: Error, text: &str| assert!(error.to_string().contains(text), "{error}");
    let layer = |axes: &[usize], norm: &Norm<'_>, y: Tensor<'_>, text: &str| {
        says(
            refused(|encoder| ops().layer_norm(encoder, x, axes, norm, y)),
            text,
        );
        says(
            refused(|encoder| ops().rms_norm_along(encoder, x, axes, norm, y)),
            text,
        );
    };
    layer(&[3], &plain, y, "does not have an axis 3");
    layer(&[1, 1], &plain, y, "the axis 1 of x is named twice");
    layer(&[2], &plain, of(&y_buffer, &[24]), "y has the shape [24]");
    let overlapping = Tensor::of::<f32>(View::new(&x_buffer, 4), &[2, 3, 3]).unwrap();
    let within = x.narrow(1, 0, 3).unwrap();
    let error = refused(|encoder| ops().layer_norm(encoder, within, &[2], &plain, overlapping));
    says(error, "x and y overlap");
    let scaled = |weight, bias| Norm {
        weight,
        bias,
        ..Norm::default()
    };
    let integers = Tensor::of::<i32>(&other, &[3]).unwrap();
    let halves = Tensor::of::<f16>(&other, &[3]).unwrap();
    let weight = of(&other, &[4]);
    layer(
        &[2],
        &scaled(Some(weight), None),
        y,
        "weight of shape [4] does not broadcast",
    );
    layer(
        &[2],
        &scaled(Some(integers), None),
        y,
        "weight has elements of type i32",
    );
    let mixed = scaled(Some(of(&other, &[3])), Some(halves));
    layer(
        &[2],
        &mixed,
        y,
        "bias has elements of type f16, but this operation needs f32",
    );
    layer(
        &[2],
        &scaled(Some(of(&y_buffer, &[3])), None),
        y,
        "weight and y overlap",
    );
    for epsilon in [-1.0, f32::NAN, f32::INFINITY] {
        let norm = Norm { epsilon, ..plain };
        layer(&[2], &norm, y, "it must be finite and not negative");
    }
    let error = refused(|encoder| ops().layer_norm(encoder, integers, &[0], &plain, integers));
    assert!(matches!(error, Error::Unsupported(_)), "{error}");
    let group = |x: Tensor<'_>, groups, norm: &Norm<'_>, text: &str| {
        says(
            refused(|encoder| ops().group_norm(encoder, x, groups, norm, y)),
            text,
        );
    };
    group(x, 3, &plain, "has 4 channels, and there are 3 groups");
    group(x, 0, &plain, "has 4 channels, and there are 0 groups");
    group(of(&x_buffer, &[24]), 2, &plain, "does not have channels");
    group(
        x,
        2,
        &scaled(Some(of(&other, &[3])), None),
        "weight has the shape [3]",
    );
    let batch = |running, x: Tensor<'_>, y: Tensor<'_>, text: &str| {
        says(
            refused(|encoder| ops().batch_norm_training(encoder, x, Some(running), &plain, y)),
            text,
        );
    };
    let running = |mean, variance, momentum| RunningStatistics {
        mean,
        variance,
        momentum,
    };
    let (mean, variance) = (of(&other, &[4]), of(&other, &[8]).narrow(0, 4, 4).unwrap());
    batch(running(mean, variance, 1.5), x, y, "the momentum is 1.5");
    batch(running(mean, mean, 0.1), x, y, "mean and variance overlap");
    batch(
        running(mean, of(&y_buffer, &[4]), 0.1),
        x,
        y,
        "variance and y overlap",
    );
    let repeated = of(&other, &[1]).broadcast_to(&[4]).unwrap();
    batch(
        running(repeated, variance, 0.1),
        x,
        y,
        "several positions may share an element",
    );
    let (one, one_y) = (of(&x_buffer, &[1, 4]), of(&y_buffer, &[1, 4]));
    batch(
        running(mean, variance, 0.1),
        one,
        one_y,
        "at least 2 elements in each channel",
    );
    let nothing = of(&x_buffer, &[2, 0, 3]);
    run(|encoder| ops().layer_norm(encoder, nothing, &[2], &plain, nothing));
    run(|encoder| ops().layer_norm(encoder, nothing, &[1], &plain, nothing));
    assert_eq!(read::<f32>(&y_buffer), [0.0; 24]);
    assert_eq!(read::<f32>(&other), [0.5; 24]);
}
