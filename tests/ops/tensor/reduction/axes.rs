//! Axes, layouts, rows without elements, and what reductions refuse.

use half::bf16;
use metal_bridge::Error;
use metal_bridge::ops::{ArgReduction, DataType, Matmul, Reduction, Tensor, View};
use rand::Rng;

use super::{REDUCTIONS, VAR};
use crate::support::{buffer, ops, refused, rng, run};
use crate::tensor::layouts::{offsets, random_shape, random_strides};
use crate::tensor::rows::both;
use crate::tensor::spread::{Spread, positions, repeated};
use crate::tensor::values::{Sample, read, room};

#[test]
fn every_layout_and_all_axes_give_sums_of_a_model() {
    let mut rng = rng(97);
    for round in 0..200 {
        let shape = random_shape(&mut rng);
        let mut strides = random_strides(&mut rng, &shape);
        for stride in &mut strides {
            if rng.random_bool(0.1) {
                *stride = 0;
            }
        }
        let is_reduced: Vec<bool> = shape.iter().map(|_| rng.random_bool(0.5)).collect();
        let mut axes: Vec<usize> = (0..shape.len()).filter(|axis| is_reduced[*axis]).collect();
        if rng.random_bool(0.5) {
            axes.reverse();
        }
        let keeps_axes = rng.random_bool(0.5);
        let y_shape: Vec<usize> = (0..shape.len())
            .filter(|axis| keeps_axes || !is_reduced[*axis])
            .map(|axis| if is_reduced[axis] { 1 } else { shape[axis] })
            .collect();
        let y_strides = random_strides(&mut rng, &y_shape);
        // The offset in y of each position of x: along the axes nothing moves.
        let mut own = y_strides.iter();
        let moves: Vec<usize> = (0..shape.len())
            .map(|axis| match is_reduced[axis] {
                true if keeps_axes => own.next().map(|_| 0).unwrap(),
                true => 0,
                false => *own.next().unwrap(),
            })
            .collect();
        let (x_offsets, y_offsets) = (offsets(&shape, &strides), offsets(&shape, &moves));
        let offset = rng.random_range(0..3);
        let values: Vec<i32> = (0..offset + x_offsets.iter().max().unwrap() + 1)
            .map(|_| rng.random_range(-1000..1000))
            .collect();
        let mut expected = vec![i32::from_le_bytes([0xA5; 4]); y_offsets.iter().max().unwrap() + 1];
        y_offsets.iter().for_each(|index| expected[*index] = 0);
        for (x, y) in x_offsets.iter().zip(&y_offsets) {
            expected[*y] += values[offset + x];
        }
        let x_buffer = buffer(&values);
        let y_buffer = room::<i32>(expected.len());
        let x = Tensor::strided(
            View::new(&x_buffer, offset * 4),
            DataType::I32,
            &shape,
            &strides,
        );
        let y = Tensor::strided(&y_buffer, DataType::I32, &y_shape, &y_strides);
        let (x, y) = (x.unwrap(), y.unwrap());
        run(|encoder| both()[round % 2].reduce(encoder, Reduction::Sum, x, &axes, y));
        assert_eq!(
            read::<i32>(&y_buffer),
            expected,
            "{shape:?} {strides:?} {axes:?} {y_strides:?}"
        );
    }
}

/// Few different numbers, so that many extremes are there twice.
fn indices_of_every_layout<T: Sample>(seed: u64) {
    let mut rng = rng(seed);
    for round in 0..60 {
        let shape = random_shape(&mut rng);
        if shape.is_empty() {
            continue;
        }
        let axis = rng.random_range(0..shape.len());
        // x may repeat along any axis.
        let own: Vec<usize> = shape
            .iter()
            .map(|size| if rng.random_bool(0.1) { 1 } else { *size })
            .collect();
        let values: Vec<T> = (0..own.iter().product())
            .map(|_| T::nearest(rng.random_range(0..9).into()))
            .collect();
        let mut y_shape = shape.clone();
        match rng.random_bool(0.5) {
            true => y_shape[axis] = 1,
            false => drop(y_shape.remove(axis)),
        }
        let x = Spread::of(&mut rng, &own, &values);
        let y = Spread::room::<u32>(&mut rng, &y_shape);
        let reduction = [ArgReduction::Min, ArgReduction::Max][round / 2 % 2];
        run(|encoder| {
            let x = x.tensor::<T>().broadcast_to(&shape)?;
            both()[round % 2].arg_reduce(encoder, reduction, x, axis, y.tensor::<u32>())
        });
        let mut kept = shape.clone();
        kept[axis] = 1;
        let exact = positions(&kept).into_iter().map(|mut position| {
            let mut best = (0, None);
            for at in 0..shape[axis] {
                position[axis] = at;
                let value = values[repeated(&own, &position)].exact();
                let is_better = best.1.is_none_or(|best| match reduction {
                    ArgReduction::Min => value < best,
                    _ => value > best,
                });
                if is_better {
                    best = (at as u32, Some(value));
                }
            }
            best.0
        });
        assert_eq!(
            y.read::<u32>(),
            Vec::from_iter(exact),
            "{reduction:?} of {:?}, {shape:?} of {own:?} along {axis}",
            T::DATA_TYPE
        );
    }
}

#[test]
fn every_layout_and_axis_gives_indices_of_a_model() {
    indices_of_every_layout::<f32>(99);
    indices_of_every_layout::<bf16>(100);
    indices_of_every_layout::<u8>(101);
    indices_of_every_layout::<i64>(102);
}

/// Enough neighbouring columns that a GPU gives each of them a thread.
#[test]
fn columns_are_reduced() {
    let x: Vec<i32> = (0..1100 * 40).collect();
    let (x_buffer, y_buffer) = (buffer(&x), room::<i32>(1100));
    let x = Tensor::of::<i32>(&x_buffer, &[40, 1100]).unwrap();
    let y = Tensor::of::<i32>(&y_buffer, &[1100]).unwrap();
    let exact: Vec<i32> = (0..1100).map(|i| 40 * i + 1100 * (39 * 40 / 2)).collect();
    for ops in both() {
        run(|encoder| ops.reduce(encoder, Reduction::Sum, x, &[0], y));
        assert_eq!(read::<i32>(&y_buffer), exact);
    }
}

#[test]
fn rows_without_elements_and_tensors_of_rank_0() {
    let x_buffer = buffer(&[4.0f32; 8]);
    let y_buffer = buffer(&[7.0f32; 2]);
    let tensor = |buffer, shape: &[usize]| Tensor::of::<f32>(buffer, shape).unwrap();
    let y = tensor(&y_buffer, &[2]);
    let expected = [0.0, f32::NAN, 1.0, 0.0, 0.0, f32::NAN, f32::NEG_INFINITY];
    for (reduction, expected) in REDUCTIONS.into_iter().zip(expected) {
        for (shape, axes) in [
            (vec![2, 0], vec![1]),
            (vec![0, 2, usize::MAX, 9], vec![0, 2, 3]),
        ] {
            let x =
                Tensor::strided(&x_buffer, DataType::F32, &shape, &vec![1; shape.len()]).unwrap();
            if matches!(reduction, Reduction::Min | Reduction::Max) {
                let error = refused(|encoder| ops().reduce(encoder, reduction, x, &axes, y));
                assert!(
                    error.to_string().contains("has no elements along the axes"),
                    "{error}"
                );
                continue;
            }
            run(|encoder| ops().reduce(encoder, reduction, x, &axes, y));
            for found in read::<f32>(&y_buffer) {
                assert!(
                    found == expected || (found.is_nan() && expected.is_nan()),
                    "{reduction:?}: {found}"
                );
            }
        }
    }
    // No results, so that nothing is computed.
    let before = read::<f32>(&y_buffer);
    let (x, nothing) = (tensor(&x_buffer, &[0, 5]), tensor(&y_buffer, &[0]));
    run(|encoder| ops().reduce(encoder, Reduction::Max, x, &[1], nothing));
    assert!(
        before
            .iter()
            .zip(read::<f32>(&y_buffer))
            .all(|(a, b)| a.to_bits() == b.to_bits())
    );
    let (x, y) = (tensor(&x_buffer, &[]), tensor(&y_buffer, &[]));
    run(|encoder| ops().reduce(encoder, Reduction::Sum, x, &[], y));
    assert_eq!(read::<f32>(&y_buffer)[0], 4.0);
}

/// What has no elements needs no bytes: it may lie in a buffer, or at the end of one, where an element would not fit.
#[test]
fn tensors_without_elements_need_no_memory() {
    let (byte, y_buffer) = (buffer(&[0u8]), buffer(&[7.0f32; 4]));
    let end = View::new(&y_buffer, 16);
    for view in [View::from(&byte), end] {
        let x = |shape: &[usize]| Tensor::of::<f32>(view, shape).unwrap();
        for ops in both() {
            let y = Tensor::of::<f32>(&y_buffer, &[4]).unwrap();
            run(|encoder| ops.reduce(encoder, Reduction::Prod, x(&[4, 0]), &[1], y));
            assert_eq!(read::<f32>(&y_buffer), [1.0; 4]);
            let y = Tensor::of::<f32>(&y_buffer, &[2, 2]).unwrap();
            let options = Matmul::default();
            run(|encoder| ops.matmul(encoder, options, x(&[2, 0]), x(&[0, 2]), y));
            assert_eq!(read::<f32>(&y_buffer), [0.0; 4]);
        }
    }
}

#[test]
fn bad_reductions_are_refused_by_name() {
    let (x_buffer, y_buffer) = (buffer(&[1.0f32; 24]), buffer(&[0.0f32; 24]));
    let x = Tensor::of::<f32>(&x_buffer, &[2, 3, 4]).unwrap();
    let y = |shape: &[usize]| Tensor::of::<f32>(&y_buffer, shape).unwrap();
    let sum = |x: Tensor<'_>, axes: &[usize], y: Tensor<'_>| {
        refused(|encoder| ops().reduce(encoder, Reduction::Sum, x, axes, y))
    };
    let says = |error: Error, text: &str| {
        assert!(matches!(error, Error::InvalidArgument(_)), "{error}");
        assert!(error.to_string().contains(text), "{error}");
    };
    says(sum(x, &[3], y(&[2, 3])), "does not have an axis 3");
    says(
        sum(x, &[1, 1], y(&[2, 4])),
        "the axis 1 of x is named twice",
    );
    for shape in [&[3, 4][..], &[2, 4, 1], &[2, 3, 4], &[2], &[2, 4, 1, 1]] {
        says(
            sum(x, &[1], y(shape)),
            "is not x of shape [2, 3, 4] without the axes [1]",
        );
    }
    let inside = Tensor::of::<f32>(View::new(&x_buffer, 92), &[]).unwrap();
    says(sum(x, &[0, 1, 2], inside), "x and y overlap");
    says(sum(x, &[], x), "x and y overlap");
    let shared = Tensor::strided(&y_buffer, DataType::F32, &[2, 3], &[1, 1]).unwrap();
    says(
        sum(x, &[2], shared),
        "several positions may share an element",
    );
    let integers = Tensor::of::<i32>(&y_buffer, &[2, 3]).unwrap();
    says(sum(x, &[2], integers), "y has elements of type i32");
    let far = Tensor::of::<f32>(&x_buffer, &[5, 5]).unwrap();
    assert!(matches!(sum(far, &[1], y(&[5])), Error::OutOfRange(_)));
    let odd = Tensor::of::<f32>(View::new(&x_buffer, 2), &[5]).unwrap();
    assert!(matches!(sum(odd, &[0], y(&[])), Error::Misaligned(_)));
    let whole = Tensor::of::<i32>(&x_buffer, &[2, 3]).unwrap();
    let y_whole = Tensor::of::<i32>(&y_buffer, &[2]).unwrap();
    for reduction in [Reduction::Mean, VAR, Reduction::LogSumExp] {
        assert!(!reduction.has(DataType::I32));
        let error = refused(|encoder| ops().reduce(encoder, reduction, whole, &[1], y_whole));
        assert!(matches!(error, Error::Unsupported(_)), "{error}");
    }
    let arg = |x: Tensor<'_>, y: Tensor<'_>| {
        refused(|encoder| ops().arg_reduce(encoder, ArgReduction::Max, x, 0, y))
    };
    says(arg(x, y(&[3, 4])), "but this operation needs u32");
    let indices = Tensor::of::<u32>(&y_buffer, &[]).unwrap();
    let none = Tensor::of::<f32>(&x_buffer, &[0]).unwrap();
    says(arg(none, indices), "has no elements along the axes [0]");
    let long = Tensor::of::<f32>(&x_buffer, &[1])
        .unwrap()
        .broadcast_to(&[1 << 32])
        .unwrap();
    assert!(matches!(arg(long, indices), Error::OutOfRange(_)));
    let many = long.broadcast_to(&[1, 1 << 32]).unwrap();
    let y_many = Tensor::of::<f32>(&y_buffer, &[1 << 32]).unwrap();
    assert!(matches!(sum(many, &[0], y_many), Error::OutOfRange(_)));
    assert_eq!(read::<f32>(&y_buffer), [0.0; 24]);
}
