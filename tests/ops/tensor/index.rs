//! Gathered elements against a model in plain loops.

use half::f16;
use metal_bridge::Error;
use metal_bridge::ops::{Ops, Tensor, View};
use rand::Rng;
use rand::rngs::SmallRng;

use super::rows::both;
use super::spread::{Spread, number, positions, shape_of_rank, small};
use super::values::{Sample, read, room};
use crate::support::{buffer, ops, refused, rng, run};

/// Indices for an axis of this size; some of them point outside.
pub fn indices<I: Sample>(rng: &mut SmallRng, count: usize, size: usize) -> Vec<I> {
    (0..count)
        .map(|_| match rng.random_range(0..12) {
            0 => I::nearest(-1.0),
            1 => I::nearest(f64::MIN),
            2 => I::nearest(f64::MAX),
            3 => I::nearest(size as f64),
            _ => I::nearest(rng.random_range(0..=size) as f64),
        })
        .collect()
}

/// The index as a position, if it is one.
pub fn inside<I: Sample>(index: I, size: usize) -> Option<usize> {
    let index = index.exact();
    (index >= 0.0 && index < size as f64).then_some(index as usize)
}

pub fn at(position: &[usize], axis: usize, index: usize) -> Vec<usize> {
    let mut position = position.to_vec();
    position[axis] = index;
    position
}

fn gathers<T: Sample, I: Sample>(seed: u64, rounds: usize) {
    let mut rng = rng(seed);
    for round in 0..rounds {
        let rank = rng.random_range(1..=4);
        let shape = shape_of_rank(&mut rng, rank);
        let axis = rng.random_range(0..rank);
        let y_shape: Vec<usize> = (0..rank)
            .map(|other| rng.random_range(1..=if other == axis { 9 } else { shape[other] }))
            .collect();
        // An axis of size 1 repeats.
        let index_shape: Vec<usize> = y_shape
            .iter()
            .map(|size| if rng.random_bool(0.2) { 1 } else { *size })
            .collect();
        let values: Vec<T> = small(&mut rng, shape.iter().product());
        let index: Vec<I> = indices(&mut rng, index_shape.iter().product(), shape[axis]);
        let x = Spread::of(&mut rng, &shape, &values);
        let index_tensor = Spread::of(&mut rng, &index_shape, &index);
        let y = Spread::room::<T>(&mut rng, &y_shape);
        let tensors = (x.tensor::<T>(), index_tensor.tensor::<I>(), y.tensor::<T>());
        run(|encoder| both()[round % 2].gather(encoder, tensors.0, axis, tensors.1, tensors.2));
        let exact: Vec<T> = positions(&y_shape)
            .iter()
            .map(|position| {
                let own: Vec<usize> = position
                    .iter()
                    .zip(&index_shape)
                    .map(|(i, size)| *i.min(&(size - 1)))
                    .collect();
                inside(index[number(&index_shape, &own)], shape[axis])
                    .map_or(T::nearest(0.0), |i| {
                        values[number(&shape, &at(position, axis, i))]
                    })
            })
            .collect();
        assert_eq!(y.read::<T>(), exact, "{shape:?} {axis} {index:?}");
    }
}

#[test]
fn elements_are_gathered() {
    gathers::<f32, i32>(320, 30);
    gathers::<f16, u32>(321, 15);
    gathers::<u8, i64>(322, 15);
    gathers::<i64, i64>(323, 15);
}

fn embeds<I: Sample>(ops: &Ops, seed: u64) {
    let mut rng = rng(seed);
    let (table, width) = (37, 1111);
    let values: Vec<f32> = (0..table * width).map(|i| i as f32).collect();
    for (round, shape) in [&[][..], &[5], &[2, 3, 2]].into_iter().enumerate() {
        let index: Vec<I> = indices(&mut rng, shape.iter().product(), table);
        let index_tensor = Spread::of(&mut rng, shape, &index);
        let x_buffer = buffer(&values);
        let x = Tensor::of::<f32>(&x_buffer, &[table, width]).unwrap();
        let y_buffer = room::<f32>(index.len() * width);
        let whole = [shape, &[width]].concat();
        let y = Tensor::of::<f32>(&y_buffer, &whole).unwrap();
        run(|encoder| match round {
            1 => ops.index_select(encoder, x, 0, index_tensor.tensor::<I>(), y),
            _ => ops.embedding(encoder, x, index_tensor.tensor::<I>(), y),
        });
        let row = |index: &I| match inside(*index, table) {
            Some(row) => values[row * width..][..width].to_vec(),
            None => vec![0.0; width],
        };
        assert_eq!(
            read::<f32>(&y_buffer),
            index.iter().flat_map(row).collect::<Vec<_>>()
        );
    }
}

#[test]
fn rows_are_selected_by_any_shape() {
    for ops in both() {
        embeds::<i32>(ops, 324);
        embeds::<u32>(ops, 325);
        embeds::<i64>(ops, 326);
    }
    // Along an inner axis, from a view.
    let x_buffer = buffer(&(0..24).collect::<Vec<i32>>());
    let (index_buffer, y_buffer) = (buffer(&[2u32, 9, 0]), room::<i32>(24));
    let x = Tensor::of::<i32>(&x_buffer, &[2, 3, 4])
        .unwrap()
        .permute(&[0, 2, 1])
        .unwrap();
    let index = Tensor::of::<u32>(&index_buffer, &[3]).unwrap();
    let y = Tensor::of::<i32>(&y_buffer, &[2, 3, 3]).unwrap();
    run(|encoder| ops().index_select(encoder, x, 1, index, y));
    let exact = [2, 6, 10, 0, 0, 0, 0, 4, 8, 14, 18, 22, 0, 0, 0, 12, 16, 20];
    assert_eq!(read::<i32>(&y_buffer)[..18], exact);
}

#[test]
fn axes_without_elements_have_no_index() {
    let (x_buffer, index_buffer) = (buffer(&[1i32; 4]), buffer(&[0u32; 4]));
    let y_buffer = buffer(&[7i32; 4]);
    let none = Tensor::of::<i32>(View::new(&x_buffer, 16), &[2, 0]).unwrap();
    let index = Tensor::of::<u32>(&index_buffer, &[2, 2]).unwrap();
    let y = Tensor::of::<i32>(&y_buffer, &[2, 2]).unwrap();
    let x = Tensor::of::<i32>(&x_buffer, &[2, 2]).unwrap();
    run(|encoder| {
        ops().scatter(encoder, x, 1, index, none)?;
        ops().scatter_add(encoder, x, 1, index, none)?;
        ops().scatter_add(encoder, none, 1, index.narrow(1, 0, 0)?, y)
    });
    assert_eq!(read::<i32>(&y_buffer), [7; 4]);
    run(|encoder| ops().gather(encoder, none, 1, index, y));
    assert_eq!(read::<i32>(&y_buffer), [0; 4]);
    assert_eq!(read::<i32>(&x_buffer), [1; 4]);
}

#[test]
fn bad_indices_are_refused_by_name() {
    let (x_buffer, y_buffer) = (buffer(&[1i32; 16]), buffer(&[0i32; 16]));
    let of = |buffer, shape: &[usize]| Tensor::of::<i32>(buffer, shape).unwrap();
    let index_buffer = buffer(&[0i32; 16]);
    let says = |error: Error, text: &str| assert!(error.to_string().contains(text), "{error}");
    let gather = |x: &[usize], axis, index: Tensor<'_>, y: Tensor<'_>| {
        refused(|encoder| ops().gather(encoder, of(&x_buffer, x), axis, index, y))
    };
    let (i, y) = (of(&index_buffer, &[2, 2]), of(&y_buffer, &[2, 2]));
    says(
        gather(&[2, 2], 2, i, y),
        "x of shape [2, 2] does not have an axis 2",
    );
    says(
        gather(&[1, 2], 1, i, y),
        "y of shape [2, 2] must not be larger than x of shape [1, 2] along any axis but 1",
    );
    says(
        gather(&[4], 0, i, y),
        "y of shape [2, 2] must have as many dimensions as x of shape [4]",
    );
    says(
        gather(&[2, 2], 0, of(&index_buffer, &[3, 2]), y),
        "index of shape [3, 2] does not broadcast",
    );
    let halves = Tensor::of::<f16>(&index_buffer, &[2, 2]).unwrap();
    says(
        gather(&[2, 2], 0, halves, y),
        "index has elements of type f16, but this operation needs i32",
    );
    says(gather(&[2, 2], 0, y, y), "overlap in their buffer");
    says(
        gather(
            &[17, 1],
            0,
            of(&index_buffer, &[1, 1]),
            of(&y_buffer, &[1, 1]),
        ),
        "68 bytes",
    );
    let shared = of(&y_buffer, &[1]).broadcast_to(&[2, 2]).unwrap();
    says(
        gather(&[2, 2], 0, i, shared),
        "several positions may share an element",
    );
    let floats = Tensor::of::<f32>(&y_buffer, &[2, 2]).unwrap();
    says(gather(&[2, 2], 0, i, floats), "y has elements of type f32");
    let error = refused(|encoder| ops().index_select(encoder, of(&x_buffer, &[2, 2]), 0, i, y));
    says(
        error,
        "is not x of shape [2, 2] with an index of shape [2, 2] along axis 0",
    );
    let error = refused(|encoder| {
        ops().embedding(encoder, of(&x_buffer, &[2, 3]), of(&index_buffer, &[2]), y)
    });
    says(
        error,
        "y of shape [2, 2] is not rows of x of shape [2, 3] by an index of shape [2]",
    );
    let error = refused(|encoder| {
        ops().embedding(
            encoder,
            of(&x_buffer, &[2]),
            of(&index_buffer, &[]),
            of(&y_buffer, &[]),
        )
    });
    says(error, "is not rows of x");
    let scatter = |x: &[usize], y: Tensor<'_>| {
        refused(|encoder| ops().scatter_add(encoder, of(&x_buffer, x), 0, i, y))
    };
    says(
        scatter(&[2, 3], y),
        "index of shape [2, 2] does not broadcast to [2, 3]",
    );
    says(
        scatter(&[2, 2], of(&y_buffer, &[2, 1])),
        "x of shape [2, 2] must not be larger than y of shape [2, 1] along any axis but 0",
    );
    says(
        scatter(&[2, 2], shared),
        "several positions may share an element",
    );
    assert_eq!(read::<i32>(&y_buffer), [0; 16]);
}
