//! Scattered elements against a model in plain loops.

use half::{bf16, f16};
use metal_bridge::ops::Tensor;
use rand::Rng;

use super::index::{at, indices, inside};
use super::rows::both;
use super::spread::{Spread, number, positions, shape_of_rank, small};
use super::values::{Sample, is_same, or_not_finite, read};
use crate::support::{EPSILON, buffer, ops, rng, run};

fn scatters<T: Sample, I: Sample>(seed: u64, rounds: usize) {
    let mut rng = rng(seed);
    for round in 0..rounds {
        let rank = rng.random_range(1..=4);
        let shape = shape_of_rank(&mut rng, rank);
        let axis = rng.random_range(0..rank);
        let mut x_shape: Vec<usize> = shape
            .iter()
            .map(|size| rng.random_range(1..=*size))
            .collect();
        x_shape[axis] = rng.random_range(0..=shape[axis]);
        // No two positions of x have one position in y: along the axis the indices are an order of some, or point outside.
        let first = rng.random_range(0..shape[axis]);
        let index: Vec<I> = positions(&x_shape)
            .iter()
            .map(|position| match rng.random_range(0..6) {
                0 if I::DATA_TYPE.is_signed() => I::nearest(-1.0),
                0 | 1 => I::nearest(f64::MAX),
                _ => I::nearest(((first + position[axis]) % shape[axis]) as f64),
            })
            .collect();
        let values: Vec<T> = small(&mut rng, index.len());
        let before: Vec<T> = small(&mut rng, shape.iter().product());
        let x = Spread::of(&mut rng, &x_shape, &values);
        let index_tensor = Spread::of(&mut rng, &x_shape, &index);
        let y = Spread::of(&mut rng, &shape, &before);
        let tensors = (x.tensor::<T>(), index_tensor.tensor::<I>(), y.tensor::<T>());
        run(|encoder| both()[round % 2].scatter(encoder, tensors.0, axis, tensors.1, tensors.2));
        let mut exact = before;
        for ((position, index), value) in positions(&x_shape).iter().zip(&index).zip(&values) {
            if let Some(i) = inside(*index, shape[axis]) {
                exact[number(&shape, &at(position, axis, i))] = *value;
            }
        }
        assert_eq!(
            y.read::<T>(),
            exact,
            "{shape:?} {x_shape:?} {axis} {index:?}"
        );
    }
}

#[test]
fn elements_are_scattered() {
    scatters::<f32, i32>(327, 30);
    scatters::<bf16, u32>(328, 15);
    scatters::<u8, i64>(329, 15);
    scatters::<i64, i32>(330, 15);
}

#[test]
fn of_several_for_one_element_one_is_there() {
    let x_buffer = buffer(&[10, 11, 12, 13]);
    let (index_buffer, y_buffer) = (buffer(&[1, 1, 1, 3]), buffer(&[0, 1, 2, 3]));
    let tensor = |buffer| Tensor::of::<i32>(buffer, &[4]).unwrap();
    // As on a GPU, threads would race for the element, which the sanitizer reports.
    run(|encoder| {
        ops().scatter(
            encoder,
            tensor(&x_buffer),
            0,
            tensor(&index_buffer),
            tensor(&y_buffer),
        )
    });
    let y = read::<i32>(&y_buffer);
    assert!(
        (10..=12).contains(&y[1]) && y[0] == 0 && y[2] == 2 && y[3] == 13,
        "{y:?}"
    );
}

/// Sums of integers that wrap, as far as `i64` has them.
fn adds<T: Sample, I: Sample>(seed: u64, rounds: usize, add: impl Fn(T, T) -> T) {
    let mut rng = rng(seed);
    for round in 0..rounds {
        let rank = rng.random_range(1..=4);
        let shape = shape_of_rank(&mut rng, rank);
        let axis = rng.random_range(0..rank);
        let mut x_shape: Vec<usize> = shape
            .iter()
            .map(|size| rng.random_range(1..=*size))
            .collect();
        x_shape[axis] = rng.random_range(0..30);
        let index_shape: Vec<usize> = x_shape
            .iter()
            .map(|size| if rng.random_bool(0.2) { 1 } else { *size })
            .collect();
        let index: Vec<I> = indices(&mut rng, index_shape.iter().product(), shape[axis]);
        let values: Vec<T> = (0..x_shape.iter().product())
            .map(|_| {
                let value = T::random(&mut rng);
                or_not_finite(&mut rng, value)
            })
            .collect();
        let before: Vec<T> = (0..shape.iter().product())
            .map(|_| T::random(&mut rng))
            .collect();
        let x = Spread::of(&mut rng, &x_shape, &values);
        let index_tensor = Spread::of(&mut rng, &index_shape, &index);
        let y = Spread::of(&mut rng, &shape, &before);
        let tensors = (x.tensor::<T>(), index_tensor.tensor::<I>(), y.tensor::<T>());
        run(|encoder| {
            both()[round % 2].scatter_add(encoder, tensors.0, axis, tensors.1, tensors.2)
        });
        let mut exact = before;
        for (position, value) in positions(&x_shape).iter().zip(&values) {
            let own: Vec<usize> = position
                .iter()
                .zip(&index_shape)
                .map(|(i, size)| *i.min(&(size - 1)))
                .collect();
            if let Some(i) = inside(index[number(&index_shape, &own)], shape[axis]) {
                let target = number(&shape, &at(position, axis, i));
                exact[target] = add(exact[target], *value);
            }
        }
        let is_right = y
            .read::<T>()
            .into_iter()
            .zip(exact)
            .all(|(y, exact)| is_same(y, exact));
        assert!(is_right, "{shape:?} {x_shape:?} {axis} {index:?}");
    }
}

#[test]
fn elements_are_added_in_order() {
    adds::<f32, i32>(331, 40, |a, b| a + b);
    adds::<f16, u32>(332, 15, |a, b| f16::from_f32(a.to_f32() + b.to_f32()));
    adds::<bf16, u32>(333, 15, |a, b| bf16::from_f32(a.to_f32() + b.to_f32()));
    adds::<i8, i64>(334, 15, i8::wrapping_add);
    adds::<i64, i64>(335, 15, i64::wrapping_add);
    adds::<u8, i32>(337, 15, u8::wrapping_add);
    adds::<u32, i64>(338, 15, u32::wrapping_add);
    adds::<i32, u32>(339, 15, i32::wrapping_add);
}

/// The gradient of an embedding: rows added to rows, and one long column.
#[test]
fn many_rows_are_added() {
    let mut rng = rng(336);
    let (count, width) = (500, 1300);
    for (rows, columns) in [(count, width), (width * count, 1)] {
        let x: Vec<f32> = (0..rows * columns)
            .map(|_| rng.random_range(-1.0..1.0))
            .collect();
        let index: Vec<u32> = (0..rows).map(|_| rng.random_range(0..7)).collect();
        let (x_buffer, index_buffer) = (buffer(&x), buffer(&index));
        let x_tensor = Tensor::of::<f32>(&x_buffer, &[rows, columns]).unwrap();
        let index_tensor = Tensor::of::<u32>(&index_buffer, &[rows, 1]).unwrap();
        let (mut exact, mut sizes) = (vec![0.0; 7 * columns], vec![0.0; 7 * columns]);
        for (number, x) in x.iter().enumerate() {
            let target = index[number / columns] as usize * columns + number % columns;
            exact[target] += f64::from(*x);
            sizes[target] += f64::from(x.abs());
        }
        let mut first = None;
        for ops in both() {
            let y_buffer = buffer(&vec![0.0f32; 7 * columns]);
            let y = Tensor::of::<f32>(&y_buffer, &[7, columns]).unwrap();
            run(|encoder| ops.scatter_add(encoder, x_tensor, 0, index_tensor, y));
            let y = read::<f32>(&y_buffer);
            for (target, y) in y.iter().enumerate() {
                let bound = 1.01 * rows as f64 * EPSILON * sizes[target];
                assert!(
                    (f64::from(*y) - exact[target]).abs() <= bound,
                    "{y} {}",
                    exact[target]
                );
            }
            assert_eq!(*first.get_or_insert(y.clone()), y, "equal bits");
        }
    }
}
