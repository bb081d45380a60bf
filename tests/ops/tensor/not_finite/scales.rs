//! Scales that are not finite, of products of bytes and of blocks of weights. All numbers are small, and the scales powers
//! of two, so that each result is exact and can be demanded.

use half::{bf16, f16};
use metal_bridge::ops::{Matmul, Ops, Tensor, Weight, WeightType};
use rand::Rng;
use rand::rngs::SmallRng;

use crate::support::{buffer, rng, run};
use crate::tensor::products::{Operand, positions};
use crate::tensor::rows::both;
use crate::tensor::values::{Sample, is_same, read, room};

const SPECIAL: [f32; 3] = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY];

fn power(rng: &mut SmallRng) -> f32 {
    [0.25, 0.5, 1.0][rng.random_range(0..3)]
}

/// Positive elements: a sum of them is not 0, and infinity times the sum of a group is what it is term by term.
fn positive<T: Sample>(rng: &mut SmallRng) -> T {
    T::nearest(rng.random_range(1..4).into())
}

/// Few rows, few columns, tiles, and more than a tile.
const SIZES: [[usize; 2]; 4] = [[2, 40], [40, 2], [9, 9], [70, 67]];

/// The scales of a product: by row or column, and by group, with some of them not finite.
struct Scales {
    operand: Operand<f32>,
    groups: usize,
}

impl Scales {
    fn new(rng: &mut SmallRng, size: usize, groups: usize, special: f32) -> Scales {
        let shape = match groups {
            1 => vec![size],
            _ => vec![size, groups],
        };
        // The first of few, and of many also one in their middle.
        let mut number = 0;
        let spoiled = [
            0,
            if size > 8 {
                groups * (size / 2) + groups - 1
            } else {
                0
            },
        ];
        let operand = Operand::new(rng, &shape, |rng| {
            number += 1;
            match spoiled.contains(&(number - 1)) {
                true => special,
                false => power(rng),
            }
        });
        Scales { operand, groups }
    }

    fn at(&self, row: usize, group: usize) -> f64 {
        match self.groups {
            1 => self.operand.at(&[row]).into(),
            _ => self.operand.at(&[row, group]).into(),
        }
    }
}

fn products_of_bytes<T: Sample, Y: Sample>(ops: &Ops, seed: u64) {
    let mut rng = rng(seed);
    for (round, [m, n]) in SIZES.into_iter().cycle().take(12).enumerate() {
        let (groups, group) = ([1, 3, 2][round / 4], [40, 7, 32][round / 4]);
        let special = SPECIAL[round % 3];
        let a = Operand::<T>::new(&mut rng, &[m, groups * group], positive);
        let b = Operand::<i8>::new(&mut rng, &[groups * group, n], positive);
        let y = Operand::<Y>::new(&mut rng, &[m, n], |_| Y::nearest(f64::NAN));
        let (scale_a, scale_b) = (
            Scales::new(&mut rng, m, groups, special),
            Scales::new(&mut rng, n, groups, special),
        );
        for (has_a, has_b) in [(true, false), (false, true), (true, true)] {
            let options = Matmul {
                alpha: 0.5,
                scale_a: has_a.then(|| scale_a.operand.tensor()),
                scale_b: has_b.then(|| scale_b.operand.tensor()),
                ..Matmul::default()
            };
            run(|encoder| ops.matmul(encoder, options, a.tensor(), b.tensor(), y.tensor()));
            for (index, found) in positions(&y.shape).zip(y.read()) {
                let [i, j] = index[..] else { unreachable!() };
                let of_group = |number: usize| {
                    let keys = number * group..(number + 1) * group;
                    let terms = keys.map(|at| a.at(&[i, at]).exact() * b.at(&[at, j]).exact());
                    let of = |is_given: bool, scales: &Scales, row| match is_given {
                        true => scales.at(row, number),
                        false => 1.0,
                    };
                    terms.sum::<f64>() * of(has_a, &scale_a, i) * of(has_b, &scale_b, j)
                };
                let exact = Y::nearest(0.5 * (0..groups).map(of_group).sum::<f64>());
                assert!(
                    is_same(found, exact),
                    "{m} {n}, {groups} groups, {special} in a {has_a} b {has_b} at {index:?}: {found:?} is not {exact:?}"
                );
            }
        }
    }
}

#[test]
fn scales_of_bytes_spoil_what_they_scale() {
    for ops in both() {
        products_of_bytes::<i8, f32>(ops, 340);
        products_of_bytes::<u8, f32>(ops, 341);
        products_of_bytes::<i8, f16>(ops, 342);
        products_of_bytes::<u8, bf16>(ops, 343);
    }
}

/// Weights of positive elements, whose blocks have the scales that `scale` gives by row and block; and their elements.
fn weights(
    rng: &mut SmallRng,
    kind: WeightType,
    [rows, columns]: [usize; 2],
    scale: impl Fn(&mut SmallRng, usize, usize) -> f32,
) -> (Weight, Vec<f64>) {
    let (mut bytes, mut exact) = (Vec::new(), Vec::new());
    for row in 0..rows {
        for block in 0..columns / 32 {
            let scale = f16::from_f32(scale(rng, row, block));
            bytes.extend(scale.to_le_bytes());
            let quants = [(); 32].map(|()| rng.random_range(1..8u8));
            match kind {
                WeightType::Q8_0 => bytes.extend(quants),
                // The first half of the elements is in the lower bits.
                _ => bytes.extend((0..16).map(|at| (quants[at] + 8) | (quants[at + 16] + 8) << 4)),
            }
            exact.extend(quants.map(|quant| scale.to_f64() * f64::from(quant)));
        }
    }
    let weight = Weight::new(buffer(&bytes), 0, rows, columns, kind).expect("a weight");
    (weight, exact)
}

#[test]
fn scales_of_blocks_spoil_the_columns_of_their_rows() {
    let (mut rng, k) = (rng(344), 96);
    for (round, [m, n]) in SIZES
        .into_iter()
        .chain([[1, 37]])
        .cycle()
        .take(15)
        .enumerate()
    {
        for kind in [WeightType::Q8_0, WeightType::Q4_0] {
            let special = SPECIAL[round % 3];
            let (weight, elements) = weights(&mut rng, kind, [n, k], |rng, row, block| {
                match (row, block) {
                    (0, 1) => special,
                    // Not in the first block, and in the last row of an odd number.
                    (row, 2) if row > 8 && row + 1 == n => special,
                    _ => power(rng),
                }
            });
            let x: Vec<f32> = (0..m * k).map(|_| positive(&mut rng)).collect();
            let (x_buffer, before) = (buffer(&x), vec![3.0f32; m * n]);
            let x_tensor = Tensor::of::<f32>(&x_buffer, &[m, k]).unwrap();
            for (ops, adds) in both()
                .into_iter()
                .flat_map(|ops| [(ops, false), (ops, true)])
            {
                let y_buffer = if adds {
                    buffer(&before)
                } else {
                    room::<f32>(m * n)
                };
                let y = Tensor::of::<f32>(&y_buffer, &[m, n]).unwrap();
                run(|encoder| match adds {
                    true => ops.matmul_weights_add(encoder, &weight, x_tensor, y),
                    false => ops.matmul_weights(encoder, &weight, x_tensor, y),
                });
                for (at, found) in read::<f32>(&y_buffer).into_iter().enumerate() {
                    let (row, column) = (at / n, at % n);
                    let (x, w) = (&x[row * k..][..k], &elements[column * k..][..k]);
                    let sum: f64 = x.iter().zip(w).map(|(x, w)| f64::from(*x) * w).sum();
                    let exact = (sum + if adds { 3.0 } else { 0.0 }) as f32;
                    assert!(
                        is_same(found, exact),
                        "{kind:?} {m} {n}, {special} at {row} {column}, adds {adds}: {found} is not {exact}"
                    );
                }
            }
        }
    }
}
