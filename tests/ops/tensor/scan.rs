//! Sums and products up to each element, against float64 and exact integers.

use half::{bf16, f16};
use metal_bridge::Error;
use metal_bridge::ops::{DataType, Ops, ScanOrder, Tensor};
use rand::Rng;

use super::rows::both;
use super::spread::{Spread, number, positions, shape_of_rank};
use super::values::{Sample, half_unit, least, read, room, samples};
use crate::support::{EPSILON, buffer, ops, refused, rng, run};

const ORDERS: [ScanOrder; 4] = [
    ScanOrder {
        exclusive: false,
        reverse: false,
    },
    ScanOrder {
        exclusive: true,
        reverse: false,
    },
    ScanOrder {
        exclusive: false,
        reverse: true,
    },
    ScanOrder {
        exclusive: true,
        reverse: true,
    },
];

fn scan(ops: &Ops, products: bool, x: Tensor<'_>, axis: usize, order: ScanOrder, y: Tensor<'_>) {
    run(|encoder| match products {
        true => ops.cumprod(encoder, x, axis, order, y),
        false => ops.cumsum(encoder, x, axis, order, y),
    });
}

/// What a row gives by a loop.
fn model<T: Copy>(x: &[T], order: ScanOrder, start: T, join: impl Fn(T, T) -> T) -> Vec<T> {
    let mut y = vec![start; x.len()];
    let mut sum = start;
    for i in 0..x.len() {
        let i = if order.reverse { x.len() - 1 - i } else { i };
        let before = sum;
        sum = join(sum, x[i]);
        y[i] = if order.exclusive { before } else { sum };
    }
    y
}

fn integers<T: Sample>(seed: u64, add: fn(T, T) -> T, multiply: fn(T, T) -> T) {
    let mut rng = rng(seed);
    let one = T::nearest(1.0);
    let zero = T::nearest(0.0);
    for ops in both() {
        for (round, columns) in [1, 31, 517, 2500].into_iter().enumerate() {
            let x: Vec<T> = samples(&mut rng, 2 * columns);
            let x: Vec<T> = x
                .iter()
                .map(|x| if *x == zero { one } else { *x })
                .collect();
            let (x_buffer, y_buffer) = (buffer(&x), room::<T>(x.len()));
            let tensor = |buffer| Tensor::of::<T>(buffer, &[2, columns]).unwrap();
            let order = ORDERS[round % 4];
            for products in [false, true] {
                scan(
                    ops,
                    products,
                    tensor(&x_buffer),
                    1,
                    order,
                    tensor(&y_buffer),
                );
                let exact = x.chunks(columns).flat_map(|row| match products {
                    true => model(row, order, one, multiply),
                    false => model(row, order, zero, add),
                });
                assert_eq!(
                    read::<T>(&y_buffer),
                    exact.collect::<Vec<_>>(),
                    "{columns} {products}"
                );
            }
        }
    }
}

#[test]
fn integers_wrap() {
    integers::<i32>(340, i32::wrapping_add, i32::wrapping_mul);
    integers::<u8>(341, u8::wrapping_add, u8::wrapping_mul);
    integers::<i64>(342, i64::wrapping_add, i64::wrapping_mul);
    integers::<i8>(348, i8::wrapping_add, i8::wrapping_mul);
    integers::<u32>(349, u32::wrapping_add, u32::wrapping_mul);
}

/// Numbers of both signs and many sizes: a plain sum would lose more than the bound allows.
fn sums<T: Sample>(seed: u64) {
    let mut rng = rng(seed);
    for ops in both() {
        for (round, columns) in [33, 1025, 5000].into_iter().enumerate() {
            let x: Vec<T> = (0..columns)
                .map(|_| {
                    T::nearest(
                        rng.random_range(-1.0..1.0)
                            + if rng.random_bool(0.1) { 1000.0 } else { 0.0 },
                    )
                })
                .collect();
            for order in [ORDERS[round], ORDERS[round + 1]] {
                let (x_buffer, y_buffer) = (buffer(&x), room::<T>(columns));
                let tensor = |buffer| Tensor::of::<T>(buffer, &[columns]).unwrap();
                scan(ops, false, tensor(&x_buffer), 0, order, tensor(&y_buffer));
                let y = read::<T>(&y_buffer);
                let values: Vec<f64> = x.iter().map(|x| x.exact()).collect();
                let sizes: Vec<f64> = values.iter().map(|x| x.abs()).collect();
                let exact = model(&values, order, 0.0, |a, b| a + b);
                let size = model(&sizes, order, 0.0, |a, b| a + b);
                for i in 0..columns {
                    let steps = if order.reverse { columns - i } else { i + 1 } as f64;
                    let lost = EPSILON * exact[i].abs() + (steps * EPSILON).powi(2) * size[i];
                    let rounding = match T::DATA_TYPE {
                        DataType::F32 => 0.0,
                        half => (exact[i].abs() + lost) * half_unit(half) + least(half),
                    };
                    let off = (y[i].exact() - exact[i]).abs();
                    let is_far = T::nearest(exact[i]).exact().is_infinite();
                    assert!(
                        is_far || off <= lost + rounding,
                        "{i} of {columns} {order:?}: off by {off:e}"
                    );
                }
                scan(ops, false, tensor(&x_buffer), 0, order, tensor(&x_buffer));
                assert_eq!(read::<T>(&x_buffer), y, "in place");
            }
        }
    }
}

#[test]
fn sums_are_compensated() {
    sums::<f32>(343);
    sums::<f16>(344);
    sums::<bf16>(345);
}

/// Factors near 1, so that no product leaves the range of the type.
fn products<T: Sample>(seed: u64) {
    let mut rng = rng(seed);
    let most = if T::DATA_TYPE == DataType::F16 {
        0.2
    } else {
        1.0
    };
    for ops in both() {
        for (round, order) in ORDERS.into_iter().enumerate() {
            let x: Vec<T> = (0..1500 - round)
                .map(|_| T::nearest(f64::exp2(rng.random_range(-most..most))))
                .collect();
            let (x_buffer, y_buffer) = (buffer(&x), room::<T>(x.len()));
            let tensor = |buffer| Tensor::of::<T>(buffer, &[x.len()]).unwrap();
            scan(ops, true, tensor(&x_buffer), 0, order, tensor(&y_buffer));
            let values: Vec<f64> = x.iter().map(|x| x.exact()).collect();
            let exact = model(&values, order, 1.0, |a, b| a * b);
            for (i, (y, exact)) in read::<T>(&y_buffer).iter().zip(exact).enumerate() {
                let steps = if order.reverse { x.len() - i } else { i + 1 };
                let lost = 1.01 * steps as f64 * EPSILON * exact;
                let rounding = match T::DATA_TYPE {
                    DataType::F32 => 0.0,
                    half => (exact + lost) * half_unit(half) + least(half),
                };
                let off = (y.exact() - exact).abs();
                assert!(
                    off <= lost + rounding,
                    "{i} {order:?}: {y:?} is not {exact}"
                );
            }
        }
    }
}

#[test]
fn products_are_close() {
    products::<f32>(346);
    products::<f16>(350);
    products::<bf16>(351);
}

#[test]
fn every_axis_and_layout_is_scanned() {
    let mut rng = rng(347);
    for round in 0..80 {
        let rank = rng.random_range(1..=4);
        let mut shape = shape_of_rank(&mut rng, rank);
        let axis = rng.random_range(0..rank);
        shape[axis] = rng.random_range(0..90);
        let values: Vec<i32> = (0..shape.iter().product())
            .map(|_| rng.random_range(-99..99))
            .collect();
        let x = Spread::of(&mut rng, &shape, &values);
        let y = Spread::room::<i32>(&mut rng, &shape);
        let order = ORDERS[round % 8 / 2];
        scan(
            both()[round % 2],
            false,
            x.tensor::<i32>(),
            axis,
            order,
            y.tensor::<i32>(),
        );
        let exact: Vec<i32> = positions(&shape)
            .iter()
            .map(|position| {
                let row: Vec<i32> = (0..shape[axis])
                    .map(|i| {
                        let mut other = position.clone();
                        other[axis] = i;
                        values[number(&shape, &other)]
                    })
                    .collect();
                model(&row, order, 0, |a, b| a + b)[position[axis]]
            })
            .collect();
        assert_eq!(y.read::<i32>(), exact, "{shape:?} {axis} {order:?}");
    }
}

#[test]
fn what_is_not_finite_stays_so() {
    let x = [1.0, f32::INFINITY, 2.0, f32::NEG_INFINITY, 3.0];
    for ops in both() {
        let mut long = vec![0.0f32; 40];
        long.extend(x);
        let (x_buffer, y_buffer) = (buffer(&long), room::<f32>(long.len()));
        let tensor = |buffer| Tensor::of::<f32>(buffer, &[long.len()]).unwrap();
        scan(
            ops,
            false,
            tensor(&x_buffer),
            0,
            ORDERS[0],
            tensor(&y_buffer),
        );
        let y = &read::<f32>(&y_buffer)[39..];
        assert_eq!(y[..4], [0.0, 1.0, f32::INFINITY, f32::INFINITY]);
        assert!(y[4].is_nan() && y[5].is_nan(), "{y:?}");
    }
}

#[test]
fn bad_scans_are_refused_by_name() {
    let (x_buffer, y_buffer) = (buffer(&[1.0f32; 16]), buffer(&[0.0f32; 16]));
    let of = |buffer, shape: &[usize]| Tensor::of::<f32>(buffer, shape).unwrap();
    let says = |x: Tensor<'_>, axis, y: Tensor<'_>, text: &str| {
        let error = refused(|encoder| ops().cumsum(encoder, x, axis, ScanOrder::default(), y));
        assert!(error.to_string().contains(text), "{error}");
    };
    let (x, y) = (of(&x_buffer, &[4, 4]), of(&y_buffer, &[4, 4]));
    says(x, 2, y, "x of shape [4, 4] does not have an axis 2");
    says(
        x,
        1,
        of(&y_buffer, &[4]),
        "y has the shape [4], but must have x's shape [4, 4]",
    );
    says(x, 1, x.permute(&[1, 0]).unwrap(), "x and y overlap");
    says(of(&x_buffer, &[17]), 0, of(&y_buffer, &[17]), "68 bytes");
    let integers = Tensor::of::<i32>(&x_buffer, &[4, 4]).unwrap();
    says(integers, 1, y, "y has elements of type f32");
    let shared = of(&y_buffer, &[1]).broadcast_to(&[4, 4]).unwrap();
    says(x, 1, shared, "several positions may share an element");
    let odd = Tensor::of::<f32>(metal_bridge::ops::View::new(&x_buffer, 2), &[3]).unwrap();
    let error = refused(|encoder| {
        ops().cumprod(encoder, odd, 0, ScanOrder::default(), of(&y_buffer, &[3]))
    });
    assert!(matches!(error, Error::Misaligned(_)), "{error}");
    assert_eq!(read::<f32>(&y_buffer), [0.0; 16]);
}
