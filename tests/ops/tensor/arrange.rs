//! Tensors one behind the other, padded, repeated and filled.

use half::{bf16, f16};
use metal_bridge::ops::{DataType, Tensor, View};
use metal_bridge::{Error, Result};
use rand::Rng;

use super::rows::both;
use super::spread::{Spread, number, positions, shape_of_rank, small};
use super::values::{Sample, read, room};
use crate::support::{buffer, ops, refused, rng, run};

fn concatenates<T: Sample>(seed: u64) {
    let mut rng = rng(seed);
    for round in 0..30 {
        let rank = rng.random_range(1..=4);
        let mut shape = shape_of_rank(&mut rng, rank);
        let axis = rng.random_range(0..rank);
        let sizes: Vec<usize> = (0..rng.random_range(0..5))
            .map(|_| rng.random_range(0..7))
            .collect();
        let mut inputs = Vec::new();
        for &size in &sizes {
            shape[axis] = size;
            let values: Vec<T> = small(&mut rng, shape.iter().product());
            let spread = Spread::of(&mut rng, &shape, &values);
            inputs.push((shape.clone(), values, spread));
        }
        shape[axis] = sizes.iter().sum();
        let y = Spread::room::<T>(&mut rng, &shape);
        let tensors: Vec<_> = inputs.iter().map(|input| input.2.tensor::<T>()).collect();
        run(|encoder| both()[round % 2].concat(encoder, &tensors, axis, y.tensor::<T>()));
        let exact: Vec<T> = positions(&shape)
            .into_iter()
            .map(|mut position| {
                let input = inputs.iter().find(|(own, ..)| {
                    let is_here = position[axis] < own[axis];
                    position[axis] -= if is_here { 0 } else { own[axis] };
                    is_here
                });
                let (own, values, _) = input.unwrap();
                values[number(own, &position)]
            })
            .collect();
        assert_eq!(
            y.read::<T>(),
            exact,
            "{:?} {shape:?} {axis} {sizes:?}",
            T::DATA_TYPE
        );
    }
}

/// Elements of each size; kernels are by size.
#[test]
fn inputs_come_one_behind_the_other() {
    concatenates::<u8>(300);
    concatenates::<f16>(307);
    concatenates::<i32>(308);
    concatenates::<i64>(309);
}

#[test]
fn an_input_may_be_its_part() {
    let y_buffer = buffer(&(0..12).collect::<Vec<i32>>());
    let x_buffer = buffer(&[100, 101, 102]);
    let y = Tensor::of::<i32>(&y_buffer, &[4, 3]).unwrap();
    let x = Tensor::of::<i32>(&x_buffer, &[1, 3]).unwrap();
    let part = |start, count| y.narrow(0, start, count).unwrap();
    run(|encoder| ops().concat(encoder, &[part(0, 2), x, part(3, 1)], 0, y));
    let exact = [0, 1, 2, 3, 4, 5, 100, 101, 102, 9, 10, 11];
    assert_eq!(read::<i32>(&y_buffer), exact);
    let error = refused(|encoder| ops().concat(encoder, &[x, part(0, 3)], 0, y));
    let text = "x[1] and y overlap in their buffer";
    assert!(error.to_string().contains(text), "{error}");
    // One without elements has no byte in common with y, wherever it begins.
    let nothing = y.narrow(0, 2, 0).unwrap();
    let whole = [part(0, 2), nothing, part(2, 2)];
    run(|encoder| ops().concat(encoder, &whole, 0, y));
    assert_eq!(read::<i32>(&y_buffer), exact);
    let inner = y.narrow(0, 1, 2).unwrap().narrow(1, 1, 1).unwrap();
    run(|encoder| ops().pad(encoder, inner, &[[1, 1], [1, 1]], 7, y));
    assert_eq!(
        read::<i32>(&y_buffer),
        [7, 7, 7, 7, 4, 7, 7, 101, 7, 7, 7, 7]
    );
}

fn pads<T: Sample>(seed: u64, value: T) {
    let mut rng = rng(seed);
    for round in 0..25 {
        let rank = rng.random_range(0..=4);
        let shape = shape_of_rank(&mut rng, rank);
        let padding: Vec<[usize; 2]> = (0..rank)
            .map(|_| [rng.random_range(0..4), rng.random_range(0..3)])
            .collect();
        let padded: Vec<usize> = shape
            .iter()
            .zip(&padding)
            .map(|(size, [a, b])| size + a + b)
            .collect();
        let values: Vec<T> = small(&mut rng, shape.iter().product());
        let x = Spread::of(&mut rng, &shape, &values);
        let y = Spread::room::<T>(&mut rng, &padded);
        run(|encoder| {
            both()[round % 2].pad(encoder, x.tensor::<T>(), &padding, value, y.tensor::<T>())
        });
        let exact: Vec<T> = positions(&padded)
            .iter()
            .map(|position| {
                let inner: Option<Vec<usize>> = (0..rank)
                    .map(|axis| {
                        position[axis]
                            .checked_sub(padding[axis][0])
                            .filter(|i| *i < shape[axis])
                    })
                    .collect();
                inner.map_or(value, |inner| values[number(&shape, &inner)])
            })
            .collect();
        assert_eq!(y.read::<T>(), exact, "{shape:?} {padding:?}");
    }
}

#[test]
fn padding_surrounds() {
    pads::<f32>(301, -0.5);
    pads::<f16>(302, f16::INFINITY);
    pads::<u8>(303, 255);
    pads::<i64>(304, i64::MIN);
}

fn repeats<T: Sample>(seed: u64) {
    let mut rng = rng(seed);
    for round in 0..32 {
        let rank = rng.random_range(1..=4);
        let shape = shape_of_rank(&mut rng, rank);
        let values: Vec<T> = small(&mut rng, shape.iter().product());
        let x = Spread::of(&mut rng, &shape, &values);
        let is_tile = round % 4 < 2;
        let axis = rng.random_range(0..rank);
        let times: Vec<usize> = (0..rank)
            .map(|dimension| {
                if is_tile || dimension == axis {
                    rng.random_range(0..4)
                } else {
                    1
                }
            })
            .collect();
        let repeated: Vec<usize> = shape
            .iter()
            .zip(&times)
            .map(|(size, times)| size * times)
            .collect();
        let y = Spread::room::<T>(&mut rng, &repeated);
        let (x_tensor, y_tensor) = (x.tensor::<T>(), y.tensor::<T>());
        run(|encoder| match is_tile {
            true => both()[round % 2].tile(encoder, x_tensor, &times, y_tensor),
            false => both()[round % 2].repeat(encoder, x_tensor, axis, times[axis], y_tensor),
        });
        let exact: Vec<T> = positions(&repeated)
            .iter()
            .map(|position| {
                let of = |dimension: usize| match is_tile {
                    true => position[dimension] % shape[dimension],
                    false => position[dimension] / times[dimension],
                };
                values[number(&shape, &(0..rank).map(of).collect::<Vec<_>>())]
            })
            .collect();
        assert_eq!(
            y.read::<T>(),
            exact,
            "{:?} {shape:?} {times:?} {is_tile}",
            T::DATA_TYPE
        );
    }
}

#[test]
fn whole_tensors_and_elements_repeat() {
    repeats::<i8>(305);
    repeats::<bf16>(310);
    repeats::<i32>(311);
    repeats::<i64>(312);
}

/// Axes that repeat are two dimensions each, but not where nothing is repeated.
#[test]
fn tiles_without_elements_take_few_dimensions() {
    let buffer = buffer(&[1.0f32; 288]);
    for (shape, times) in [
        ([2, 4, 2, 6, 3], [0, 1, 3, 2, 2]),
        ([0, 2, 2, 2, 2], [2; 5]),
        ([2; 5], [2, 2, 2, 2, 0]),
        ([0; 5], [2; 5]),
    ] {
        let tiled: Vec<usize> = (0..5).map(|axis| shape[axis] * times[axis]).collect();
        let x = Tensor::of::<f32>(&buffer, &shape).unwrap();
        let y = room::<f32>(1);
        let y = Tensor::of::<f32>(&y, &tiled).unwrap();
        for ops in both() {
            run(|encoder| ops.tile(encoder, x, &times, y));
        }
    }
}

fn fills<T: Sample>(value: T) {
    let mut rng = rng(306);
    for (round, shape) in [&[][..], &[3, 5], &[2, 700], &[0, 4]]
        .into_iter()
        .enumerate()
    {
        let y = Spread::room::<T>(&mut rng, shape);
        run(|encoder| both()[round % 2].fill(encoder, value, y.tensor::<T>()));
        assert!(y.read::<T>().iter().all(|y| *y == value));
    }
}

#[test]
fn one_number_is_everywhere() {
    fills::<f32>(-1.25);
    fills::<f16>(f16::from_f32(-3.0));
    fills::<i8>(-128);
    fills::<i64>(i64::MIN + 5);
}

#[test]
fn bad_arrangements_are_refused_by_name() {
    let (x_buffer, y_buffer) = (buffer(&[1.0f32; 16]), room::<f32>(16));
    let before = read::<f32>(&y_buffer);
    let x = |shape: &[usize]| Tensor::of::<f32>(&x_buffer, shape).unwrap();
    let y = |shape: &[usize]| Tensor::of::<f32>(&y_buffer, shape).unwrap();
    let concat = |inputs: &[Tensor<'_>], axis, y: Tensor<'_>, text: &str| {
        let error = refused(|encoder| ops().concat(encoder, inputs, axis, y));
        assert!(error.to_string().contains(text), "{error}");
    };
    concat(
        &[x(&[2, 2])],
        2,
        y(&[2, 2]),
        "y of shape [2, 2] does not have an axis 2",
    );
    concat(
        &[x(&[2, 2]), x(&[2, 3])],
        0,
        y(&[4, 2]),
        "x[1] of shape [2, 3] does not fit into y",
    );
    concat(
        &[x(&[2, 2]), x(&[3, 2])],
        0,
        y(&[4, 2]),
        "x[1] of shape [3, 2] does not fit into y",
    );
    concat(&[x(&[4])], 0, y(&[4, 2]), "x[0] of shape [4] does not fit");
    concat(
        &[x(&[2, 2])],
        0,
        y(&[4, 2]),
        "another size along axis 0 than all inputs together, 2",
    );
    concat(&[], 0, y(&[4]), "all inputs together, 0");
    let integers = Tensor::of::<i32>(&x_buffer, &[2, 2]).unwrap();
    concat(
        &[x(&[2, 2]), integers],
        0,
        y(&[4, 2]),
        "x[1] has elements of type i32",
    );
    concat(&[x(&[2, 2]), x(&[15, 2])], 0, y(&[17, 2]), "136 bytes");
    let odd = Tensor::of::<f32>(View::new(&x_buffer, 2), &[1]).unwrap();
    concat(&[x(&[2]), odd], 0, y(&[3]), "x[1] at offset 2");
    let shared = Tensor::strided(&y_buffer, DataType::F32, &[2, 2], &[1, 1]).unwrap();
    concat(
        &[x(&[2, 2])],
        0,
        shared,
        "several positions may share an element",
    );
    let pad = |x: Tensor<'_>, padding: &[[usize; 2]], y: Tensor<'_>, text: &str| {
        let error = refused(|encoder| ops().pad(encoder, x, padding, 0.0f32, y));
        assert!(error.to_string().contains(text), "{error}");
    };
    pad(
        x(&[2]),
        &[[1, 1]],
        y(&[5]),
        "y of shape [5] is not x of shape [2] with the padding [[1, 1]]",
    );
    pad(x(&[2]), &[], y(&[2]), "with the padding []");
    pad(x(&[2]), &[[usize::MAX, 1]], y(&[2]), "with the padding");
    pad(
        integers,
        &[[0, 0]; 2],
        y(&[2, 2]),
        "x has elements of type i32",
    );
    pad(y(&[2]), &[[1, 1]], y(&[4]), "x and y overlap");
    pad(x(&[17]), &[[1, 0]], y(&[18]), "72 bytes");
    pad(
        x(&[17]),
        &[[0, 0]],
        y(&[16])
            .broadcast_to(&[17, 16])
            .unwrap()
            .narrow(1, 0, 1)
            .unwrap(),
        "is not x",
    );
    let tile = |times: &[usize], y: Tensor<'_>| -> Error {
        refused(|encoder| ops().tile(encoder, x(&[2, 2]), times, y))
    };
    let error = tile(&[2, 3], y(&[4, 4]));
    assert!(
        error
            .to_string()
            .contains("is not x of shape [2, 2] repeated [2, 3] times"),
        "{error}"
    );
    let error = refused(|encoder| ops().repeat(encoder, x(&[2]), 1, 2, y(&[4])));
    assert!(
        error.to_string().contains("does not have an axis 1"),
        "{error}"
    );
    let many = |buffer, size| -> Result<Tensor<'_>> { Tensor::of::<f32>(buffer, &[size; 5]) };
    let error =
        refused(|encoder| ops().tile(encoder, many(&x_buffer, 2)?, &[2; 5], many(&y_buffer, 4)?));
    assert!(matches!(error, Error::Unsupported(_)), "{error}");
    let error = refused(|encoder| ops().fill(encoder, 1i32, y(&[2])));
    assert!(
        error.to_string().contains("y has elements of type f32"),
        "{error}"
    );
    assert_eq!(
        bytemuck::cast_slice::<f32, u8>(&read::<f32>(&y_buffer)),
        bytemuck::cast_slice::<f32, u8>(&before)
    );
}
