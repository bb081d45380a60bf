//! Sorted rows and their indices, against Rust's stable sort.

use std::cmp::Ordering;

use half::{bf16, f16};
use metal_bridge::Error;
use metal_bridge::ops::{DataType, Ops, SortOrder, Tensor, View};
use rand::Rng;
use rand::seq::SliceRandom;

use super::rows::both;
use super::spread::{Spread, number, positions, shape_of_rank};
use super::values::{Sample, read, room, samples};
use crate::support::{buffer, ops, refused, rng, run};

/// NaN is the largest, and zeros are equal.
fn compare<T: Sample>(a: &T, b: &T) -> Ordering {
    // Large integers are not exact as floats, but their own order is that of their type.
    let whole = |x: &T| match T::DATA_TYPE {
        DataType::I64 => bytemuck::pod_read_unaligned::<i64>(bytemuck::bytes_of(x)),
        _ => 0,
    };
    match (a.exact().is_nan(), b.exact().is_nan()) {
        (false, false) => {
            let order = a.exact().partial_cmp(&b.exact()).unwrap();
            order.then(whole(a).cmp(&whole(b)))
        }
        (a, b) => a.cmp(&b),
    }
}

/// The first `limit` indices of a row.
fn model<T: Sample>(row: &[T], descending: bool, limit: usize) -> Vec<u32> {
    let mut indices: Vec<u32> = (0..row.len() as u32).collect();
    indices.sort_by(|a, b| {
        let order = compare(&row[*a as usize], &row[*b as usize]);
        if descending { order.reverse() } else { order }
    });
    indices.truncate(limit);
    indices
}

fn bits<T: Sample>(values: &[T]) -> &[u8] {
    bytemuck::cast_slice(values)
}

/// Sorts rows, or takes the first `limit` elements of each.
fn sorts<T: Sample>(ops: &Ops, x: &[T], columns: usize, descending: bool, limit: usize) {
    let rows = x.len() / columns;
    let order = SortOrder {
        axis: 1,
        descending,
    };
    let bytes = Ops::sort_scratch(&[rows, columns], 1).unwrap();
    let scratch = buffer(&vec![0xFFu8; bytes.max(4)]);
    let (x_buffer, y_buffer, indices_buffer) = (
        buffer(x),
        room::<T>(rows * limit),
        room::<u32>(rows * limit),
    );
    let x_tensor = Tensor::of::<T>(&x_buffer, &[rows, columns]).unwrap();
    let y = Tensor::of::<T>(&y_buffer, &[rows, limit]).unwrap();
    let indices = Tensor::of::<u32>(&indices_buffer, &[rows, limit]).unwrap();
    run(|encoder| match limit == columns {
        true => ops.sort(encoder, order, x_tensor, y, indices, &scratch),
        false => ops.top_k(encoder, order, x_tensor, y, indices, &scratch),
    });
    let exact: Vec<u32> = x
        .chunks(columns)
        .flat_map(|row| model(row, descending, limit))
        .collect();
    let what = format!(
        "{} {rows} {columns} {descending} {limit}",
        T::DATA_TYPE.name()
    );
    assert!(read::<u32>(&indices_buffer) == exact, "indices of {what}");
    let values: Vec<T> = exact
        .iter()
        .enumerate()
        .map(|(position, index)| x[position / limit * columns + *index as usize])
        .collect();
    assert!(
        bits(&read::<T>(&y_buffer)) == bits(&values),
        "elements of {what}"
    );
}

fn all_lengths<T: Sample>(seed: u64) {
    let mut rng = rng(seed);
    for (round, columns) in [1, 2, 15, 16, 17, 32, 33, 100, 1000]
        .into_iter()
        .enumerate()
    {
        let mut x: Vec<T> = samples(&mut rng, 3 * columns);
        x.shuffle(&mut rng);
        let descending = round % 2 == 1;
        for ops in both() {
            sorts(ops, &x, columns, descending, columns);
            sorts(ops, &x, columns, !descending, (columns / 3).clamp(1, 40));
        }
    }
}

#[test]
fn rows_of_floats_are_sorted() {
    all_lengths::<f32>(350);
    all_lengths::<f16>(351);
    all_lengths::<bf16>(352);
}

#[test]
fn rows_of_integers_are_sorted() {
    all_lengths::<i8>(353);
    all_lengths::<u8>(354);
    all_lengths::<i32>(355);
    all_lengths::<u32>(356);
    all_lengths::<i64>(357);
}

/// Many equal elements keep their order; all limits between a run and the row are right.
#[test]
fn long_rows_are_stable() {
    let mut rng = rng(358);
    let x: Vec<i8> = (0..20_011).map(|_| rng.random_range(-3..4)).collect();
    for ops in both() {
        sorts(ops, &x, x.len(), false, x.len());
        sorts(ops, &x, x.len(), true, x.len());
        for limit in [1, 15, 16, 17, 40, 1023, 1025, 20_010] {
            sorts(ops, &x, x.len(), limit % 2 == 0, limit);
        }
    }
}

/// Rows of one run and of several whose first elements are selected, or, if more than 64 are wanted, sorted.
fn few_of_long_rows<T: Sample>(seed: u64) {
    let mut rng = rng(seed);
    for columns in [40, 256, 257, 1024, 1025, 2050, 4999] {
        // Each value is in many places: NaN, infinities and zeros of either sign, numbers, and one of them alone.
        let special: Vec<T> = samples(&mut rng, 20);
        let mut x: Vec<T> = (0..3 * columns)
            .map(|_| special[rng.random_range(0..20)])
            .collect();
        x.extend(vec![special[rng.random_range(0..20)]; columns]);
        x.extend(samples::<T>(&mut rng, columns));
        for limit in [1, 16, 63, 64, 65] {
            for ops in both() {
                let limit = limit.min(columns - 1);
                sorts(ops, &x, columns, limit % 2 == 0, limit);
                sorts(ops, &x, columns, limit % 2 != 0, limit);
            }
        }
    }
}

#[test]
fn few_of_long_rows_of_floats() {
    few_of_long_rows::<f32>(360);
    few_of_long_rows::<f16>(361);
    few_of_long_rows::<bf16>(362);
}

#[test]
fn few_of_long_rows_of_integers() {
    few_of_long_rows::<i8>(363);
    few_of_long_rows::<u8>(364);
    few_of_long_rows::<i32>(365);
    few_of_long_rows::<u32>(366);
    few_of_long_rows::<i64>(367);
}

#[test]
fn rows_in_and_against_order() {
    for ops in both() {
        let up: Vec<f32> = (0..777).map(|i| i as f32 / 7.0 - 50.0).collect();
        let down: Vec<f32> = up.iter().rev().copied().collect();
        for x in [up, down] {
            for limit in [1, 10, 64, 777] {
                sorts(ops, &x, 777, false, limit);
                sorts(ops, &x, 777, true, limit);
            }
        }
    }
}

#[test]
fn every_axis_and_layout_is_sorted() {
    let mut rng = rng(359);
    for round in 0..60 {
        let rank = rng.random_range(1..=4);
        let mut shape = shape_of_rank(&mut rng, rank);
        let axis = rng.random_range(0..rank);
        shape[axis] = rng.random_range(0..70);
        if round % 5 == 4 {
            shape.fill(2);
            shape[axis] = rng.random_range(1025..1100);
        }
        let limit = if round % 3 == 0 && shape[axis] < 70 {
            shape[axis]
        } else {
            rng.random_range(0..=shape[axis].min(69))
        };
        let mut small = shape.clone();
        small[axis] = limit;
        let values: Vec<i32> = (0..shape.iter().product())
            .map(|_| rng.random_range(-9..9))
            .collect();
        let x = Spread::of(&mut rng, &shape, &values);
        let (y, indices) = (
            Spread::room::<i32>(&mut rng, &small),
            Spread::room::<u32>(&mut rng, &small),
        );
        let scratch = buffer(&vec![0u8; Ops::sort_scratch(&shape, axis).unwrap() + 8]);
        let order = SortOrder {
            axis,
            descending: round % 4 < 2,
        };
        let (x_tensor, y_tensor, indices_tensor) = (
            x.tensor::<i32>(),
            y.tensor::<i32>(),
            indices.tensor::<u32>(),
        );
        let ops = both()[round % 2];
        let view = View::new(&scratch, 8);
        let asks_for_elements = round % 6 != 0 || limit < shape[axis];
        run(|encoder| match asks_for_elements {
            true => ops.top_k(encoder, order, x_tensor, y_tensor, indices_tensor, view),
            false => ops.argsort(encoder, order, x_tensor, indices_tensor, view),
        });
        let (mut exact, mut exact_indices) = (Vec::new(), Vec::new());
        for position in positions(&small) {
            let at = |i: usize| {
                let mut other = position.clone();
                other[axis] = i;
                values[number(&shape, &other)]
            };
            let row: Vec<i32> = (0..shape[axis]).map(at).collect();
            let index = model(&row, order.descending, limit)[position[axis]];
            exact.push(row[index as usize]);
            exact_indices.push(index);
        }
        assert_eq!(
            indices.read::<u32>(),
            exact_indices,
            "{shape:?} {order:?} {limit}"
        );
        if asks_for_elements {
            assert_eq!(y.read::<i32>(), exact, "{shape:?} {order:?} {limit}");
        }
    }
}

#[test]
fn bad_sorts_are_refused_by_name() {
    let (x_buffer, y_buffer) = (buffer(&[1.0f32; 64]), buffer(&[0.0f32; 64]));
    let (indices_buffer, scratch) = (buffer(&[9u32; 64]), buffer(&[7u32; 128]));
    let x = |shape: &[usize]| Tensor::of::<f32>(&x_buffer, shape).unwrap();
    let y = |shape: &[usize]| Tensor::of::<f32>(&y_buffer, shape).unwrap();
    let indices = |shape: &[usize]| Tensor::of::<u32>(&indices_buffer, shape).unwrap();
    let of = |axis| SortOrder {
        axis,
        descending: false,
    };
    let says = |error: Error, text: &str| assert!(error.to_string().contains(text), "{error}");
    let sort = |axis, x, y, indices| {
        refused(|encoder| ops().sort(encoder, of(axis), x, y, indices, &scratch))
    };
    says(
        sort(1, x(&[64]), y(&[64]), indices(&[64])),
        "x of shape [64] does not have an axis 1",
    );
    says(
        sort(0, x(&[64]), y(&[64]), indices(&[63])),
        "indices have the shape [63], but must have x's shape [64]",
    );
    says(
        sort(0, x(&[64]), y(&[63]), indices(&[64])),
        "y has the shape [63], but must have the indices' shape [64]",
    );
    says(
        sort(0, x(&[64]), y(&[64]), y(&[64])),
        "indices has elements of type f32",
    );
    says(
        sort(0, x(&[64]), x(&[64]), indices(&[64])),
        "x and y overlap",
    );
    let shifted = Tensor::of::<f32>(View::new(&indices_buffer, 4), &[63]).unwrap();
    says(
        sort(0, x(&[63]), shifted, indices(&[63])),
        "indices and y overlap",
    );
    let integers = Tensor::of::<i32>(&y_buffer, &[64]).unwrap();
    says(
        sort(0, x(&[64]), integers, indices(&[64])),
        "y has elements of type i32",
    );
    says(sort(0, x(&[65]), y(&[65]), indices(&[65])), "260 bytes");
    let shared = indices(&[1]).broadcast_to(&[64]).unwrap();
    says(
        sort(0, x(&[64]), y(&[64]), shared),
        "several positions may share an element",
    );
    let top_k = |shape: &[usize]| {
        refused(|encoder| {
            ops().top_k(
                encoder,
                of(0),
                x(&[4, 4]),
                y(shape),
                indices(shape),
                &scratch,
            )
        })
    };
    says(
        top_k(&[5, 4]),
        "indices of shape [5, 4] are not the first ones of x of shape [4, 4] along axis 0",
    );
    says(top_k(&[4, 3]), "are not the first ones");
    let with_scratch = |scratch: View<'_>| {
        refused(|encoder| ops().argsort(encoder, of(0), x(&[64]), indices(&[64]), scratch))
    };
    says(
        with_scratch(View::new(&scratch, 4)),
        "scratch takes 512 bytes at offset 4 of a buffer of 512",
    );
    says(with_scratch(View::new(&scratch, 2)), "scratch at offset 2");
    let large = buffer(&[0u32; 192]);
    let inside = Tensor::of::<u32>(View::new(&large, 256), &[64]).unwrap();
    let error = refused(|encoder| ops().argsort(encoder, of(0), x(&[64]), inside, &large));
    says(error, "indices and scratch overlap");
    assert_eq!(Ops::sort_scratch(&[3, 16], 1).unwrap(), 0);
    assert_eq!(Ops::sort_scratch(&[3, 17], 1).unwrap(), 3 * 17 * 4);
    assert_eq!(Ops::sort_scratch(&[3, 33], 1).unwrap(), 3 * 33 * 8);
    assert!(Ops::sort_scratch(&[3], 1).is_err());
    assert!(matches!(
        Ops::sort_scratch(&[1 << 31], 0),
        Err(Error::OutOfRange(_))
    ));
    assert_eq!(read::<u32>(&indices_buffer), [9; 64]);
    assert_eq!(read::<u32>(&scratch), [7; 128]);
    assert_eq!(read::<f32>(&y_buffer), [0.0; 64]);
}
