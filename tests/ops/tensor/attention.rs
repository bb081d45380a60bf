//! Attention of tensors against float64.

use half::{bf16, f16};
use metal_bridge::ops::{Attention, Causality, DataType, Element, KeyLengths, Ops, Tensor, View};
use metal_bridge::{Buffer, Error};
use rand::Rng;
use rand::rngs::SmallRng;

use super::layouts::{places, random_strides};
use super::rows::{both, lockstep};
use super::values::{Sample, half_unit, least, read, room};
use crate::support::{EPSILON, buffer, ops, refused, rng, run};

type Shape = [usize; 4];

/// How the lengths of a case are told.
#[derive(Debug, Clone, PartialEq)]
enum Lengths {
    Whole,
    Each(Vec<i32>),
    Offsets(Vec<u32>),
}

#[derive(Debug, Clone)]
struct Case {
    batch: usize,
    /// Of queries, and of keys and values.
    heads: [usize; 2],
    rows: usize,
    keys: usize,
    /// Of queries and keys, and of values.
    size: [usize; 2],
    causality: Causality,
    mask: Option<DataType>,
    lengths: Lengths,
}

/// A tensor in a buffer with its exact values in row-major order.
struct Values {
    buffer: Buffer,
    offset: usize,
    strides: Shape,
    shape: Shape,
    values: Vec<f64>,
}

fn random<T: Sample>(rng: &mut SmallRng, shape: Shape, is_dense: bool, magnitude: f64) -> Values {
    let strides: Shape = match is_dense {
        true => [
            shape[1] * shape[2] * shape[3],
            shape[2] * shape[3],
            shape[3],
            1,
        ],
        false => random_strides(rng, &shape).try_into().unwrap(),
    };
    let places = places(&shape, &strides);
    let offset = rng.random_range(0..3);
    let all: Vec<T> = (0..offset + places.iter().max().unwrap() + 1)
        .map(|_| T::nearest(magnitude * rng.random_range(-1.0..1.0)))
        .collect();
    Values {
        buffer: buffer(&all),
        offset: offset * size_of::<T>(),
        strides,
        shape,
        values: places.iter().map(|at| all[offset + at].exact()).collect(),
    }
}

impl Values {
    fn tensor(&self, data_type: DataType) -> Tensor<'_> {
        let view = View::new(&self.buffer, self.offset);
        Tensor::strided(view, data_type, &self.shape, &self.strides).unwrap()
    }

    /// The elements along the last dimension at a position of the others.
    fn row(&self, [a, b, c]: [usize; 3]) -> &[f64] {
        let [_, heads, rows, size] = self.shape;
        &self.values[((a * heads + b) * rows + c) * size..][..size]
    }
}

impl Case {
    /// The keys that a row may see by lengths and order.
    fn keys_of(&self, batch: usize, row: usize) -> std::ops::Range<usize> {
        let (begin, count, rows, index) = match &self.lengths {
            Lengths::Whole => (0, self.keys, self.rows, row),
            Lengths::Each(all) => (
                0,
                (all[batch].max(0) as usize).min(self.keys),
                self.rows,
                row,
            ),
            Lengths::Offsets(all) => {
                let found = all
                    .windows(2)
                    .find(|pair| (pair[0]..pair[1]).contains(&(row as u32)));
                let Some(pair) = found else {
                    return 0..0;
                };
                let begin = pair[0] as usize;
                let count = (pair[1] as usize).min(self.keys) - begin;
                (begin, count, count, row - begin)
            }
        };
        let seen = match self.causality {
            Causality::None => count,
            Causality::FromFirst => (index + 1).min(count),
            Causality::FromLast => (index + 1 + count).saturating_sub(rows).min(count),
        };
        begin..begin + seen
    }

    /// Runs it and compares every row.
    fn check<T: Sample>(&self, ops: &Ops, rng: &mut SmallRng, is_dense: bool) {
        let [heads, kv_heads] = self.heads;
        let [size, value_size] = self.size;
        let q = random::<T>(rng, [self.batch, heads, self.rows, size], is_dense, 2.0);
        let k = random::<T>(rng, [self.batch, kv_heads, self.keys, size], is_dense, 2.0);
        let v = random::<T>(
            rng,
            [self.batch, kv_heads, self.keys, value_size],
            is_dense,
            1.0,
        );
        // One mask for all heads.
        let mask_shape = [self.batch, 1, self.rows, self.keys];
        let mask = match self.mask {
            Some(DataType::U8) => Some(random::<u8>(rng, mask_shape, is_dense, 2.0)),
            Some(DataType::F32) => Some(random::<f32>(rng, mask_shape, is_dense, 1.0)),
            Some(_) => Some(random::<T>(rng, mask_shape, is_dense, 1.0)),
            None => None,
        };
        let y_shape = [self.batch, heads, self.rows, value_size];
        let y_strides: Shape = match is_dense {
            true => [
                heads * self.rows * value_size,
                self.rows * value_size,
                value_size,
                1,
            ],
            false => random_strides(rng, &y_shape).try_into().unwrap(),
        };
        let y_places = places(&y_shape, &y_strides);
        let y_buffer = room::<T>(y_places.iter().max().unwrap() + 1);
        let y = Tensor::strided(&y_buffer, T::DATA_TYPE, &y_shape, &y_strides).unwrap();
        let lengths_buffer = match &self.lengths {
            Lengths::Whole => buffer(&[0u32]),
            Lengths::Each(all) => buffer(all),
            Lengths::Offsets(all) => buffer(all),
        };
        let attention = Attention {
            mask: mask.as_ref().map(|mask| mask.tensor(self.mask.unwrap())),
            causality: self.causality,
            scale: None,
            lengths: match &self.lengths {
                Lengths::Whole => KeyLengths::Whole,
                Lengths::Each(all) => {
                    KeyLengths::Each(Tensor::of::<i32>(&lengths_buffer, &[all.len()]).unwrap())
                }
                Lengths::Offsets(all) => {
                    KeyLengths::Offsets(Tensor::of::<u32>(&lengths_buffer, &[all.len()]).unwrap())
                }
            },
        };
        let tensors = [&q, &k, &v].map(|values| values.tensor(T::DATA_TYPE));
        run(|encoder| {
            let [q, k, v] = tensors;
            ops.scaled_dot_product_attention(encoder, q, k, v, &attention, y)
        });
        let y = read::<T>(&y_buffer);
        let mut at = 0;
        for batch in 0..self.batch {
            for head in 0..heads {
                for row in 0..self.rows {
                    let mask_row = mask.as_ref().map(|mask| mask.row([batch, 0, row]));
                    let kv_head = head / (heads / kv_heads);
                    let exact = self.exact_row(
                        q.row([batch, head, row]),
                        mask_row,
                        (&k, &v),
                        [batch, kv_head, row],
                    );
                    for (e, (exact, lost)) in exact.into_iter().enumerate() {
                        let rounding = match T::DATA_TYPE {
                            DataType::F32 => EPSILON * exact.abs(),
                            half => (exact.abs() + lost) * half_unit(half) + least(half),
                        };
                        let found = y[y_places[at]].exact();
                        assert!(
                            (found - exact).abs() <= lost + rounding,
                            "{self:?} {}: {found} is not {exact} at {batch} {head} {row} {e}, allowed {lost:e}",
                            T::DATA_TYPE.name()
                        );
                        at += 1;
                    }
                }
            }
        }
    }

    fn exact_row(
        &self,
        query: &[f64],
        mask: Option<&[f64]>,
        (k, v): (&Values, &Values),
        [batch, kv_head, row]: [usize; 3],
    ) -> Vec<(f64, f64)> {
        let scale = f64::from(1.0 / (self.size[0] as f32).sqrt());
        let mut largest_size = 0.0f64;
        let mut scores = Vec::new();
        for key in self.keys_of(batch, row) {
            let terms = query
                .iter()
                .zip(k.row([batch, kv_head, key]))
                .map(|(q, k)| scale * q * k);
            let (score, size) = terms.fold((0.0, 0.0), |(sum, size), term| {
                (sum + term, size + term.abs())
            });
            let added = match (mask, self.mask) {
                (Some(mask), Some(DataType::U8)) if mask[key] == 0.0 => continue,
                (Some(mask), Some(DataType::F32 | DataType::F16 | DataType::BF16)) => mask[key],
                _ => 0.0,
            };
            largest_size = largest_size.max(size + added.abs());
            scores.push((key, score + added));
        }
        let largest = scores
            .iter()
            .fold(f64::NEG_INFINITY, |most, (_, score)| most.max(*score));
        let weights: Vec<(usize, f64)> = scores
            .iter()
            .map(|(key, score)| (*key, (score - largest).exp()))
            .collect();
        let sum: f64 = weights.iter().map(|(_, weight)| weight).sum();
        let count = weights.len() as f64;
        let lost =
            2.0 * (self.size[0] as f64 + 2.0) * EPSILON * largest_size + (count + 40.0) * EPSILON;
        (0..self.size[1])
            .map(|e| {
                let terms = weights
                    .iter()
                    .map(|(key, weight)| weight / sum * v.row([batch, kv_head, *key])[e]);
                let (exact, size) = terms.fold((0.0, 0.0), |(sum, size), term| {
                    (sum + term, size + term.abs())
                });
                (exact, lost * size)
            })
            .collect()
    }
}

fn plain() -> Case {
    Case {
        batch: 2,
        heads: [4, 2],
        rows: 37,
        keys: 70,
        size: [64, 64],
        causality: Causality::None,
        mask: None,
        lengths: Lengths::Whole,
    }
}

#[test]
fn heads_of_all_sizes_and_types_agree() {
    let mut rng = rng(500);
    for (i, size) in [64, 80, 128, 256, 7].into_iter().enumerate() {
        let case = Case {
            size: [size, if i == 1 { 96 } else { size }],
            heads: [[4, 2], [3, 3], [2, 1], [1, 1], [6, 2]][i],
            rows: [37, 5, 1, 33, 2][i],
            batch: 1 + i % 2,
            ..plain()
        };
        for ops in both() {
            case.check::<f32>(ops, &mut rng, i != 1);
        }
    }
    plain().check::<f16>(ops(), &mut rng, true);
    plain().check::<bf16>(lockstep(), &mut rng, true);
    plain().check::<bf16>(ops(), &mut rng, false);
}

/// Everything that hides keys; the masks hide all keys of some rows.
#[test]
fn masks_orders_and_lengths_agree() {
    let mut rng = rng(510);
    let each = Lengths::Each(vec![9, -1, 3]);
    let (random, offsets) = ([DataType::U8, DataType::F32], vec![2, 2, 9, 40, 70]);
    let small = Case {
        batch: 3,
        heads: [2, 1],
        rows: 6,
        keys: 11,
        size: [8, 8],
        ..plain()
    };
    let sequences = Case {
        batch: 1,
        heads: [2, 2],
        rows: 66,
        keys: 66,
        size: [16, 16],
        lengths: Lengths::Offsets(offsets),
        ..plain()
    };
    let cases = [
        Case {
            mask: Some(random[0]),
            ..small.clone()
        },
        Case {
            mask: Some(random[1]),
            causality: Causality::FromFirst,
            ..small.clone()
        },
        Case {
            causality: Causality::FromLast,
            ..small.clone()
        },
        Case {
            causality: Causality::FromLast,
            rows: 15,
            ..small.clone()
        },
        Case {
            lengths: each.clone(),
            causality: Causality::FromLast,
            ..small.clone()
        },
        Case {
            lengths: each,
            mask: Some(random[0]),
            ..small
        },
        sequences.clone(),
        Case {
            causality: Causality::FromFirst,
            ..sequences
        },
    ];
    for case in &cases {
        for ops in both() {
            for is_dense in [true, false] {
                case.check::<f32>(ops, &mut rng, is_dense);
            }
        }
    }
    let halves = Case {
        mask: Some(DataType::F16),
        ..plain()
    };
    halves.check::<f16>(ops(), &mut rng, true);
}

/// What lengths hide may be anything; what rows see may make them NaN.
#[test]
fn rows_of_what_is_not_finite() {
    let (infinity, nan) = (f32::INFINITY, f32::NAN);
    let q = buffer(&[1.0f32, 0.0, 1.0, 1.0, 2.0, 0.0]);
    let k = buffer(&[1.0f32, 0.0, 0.0, infinity, nan, nan]);
    let v = buffer(&[5.0f32, 6.0, 7.0, 8.0, nan, infinity]);
    let (y_buffer, lengths) = (room::<f32>(6), buffer(&[1u32]));
    let of = |buffer| Tensor::of::<f32>(buffer, &[1, 1, 3, 2]).unwrap();
    for ops in both() {
        for (length, expected) in [(1u32, [5.0, 6.0]), (0, [0.0, 0.0])] {
            lengths.wait_write::<u32>().expect("writable")[0] = length;
            let attention = Attention {
                lengths: KeyLengths::Each(Tensor::of::<u32>(&lengths, &[1]).unwrap()),
                ..Attention::default()
            };
            let y = of(&y_buffer);
            run(|encoder| {
                ops.scaled_dot_product_attention(encoder, of(&q), of(&k), of(&v), &attention, y)
            });
            assert_eq!(read::<f32>(&y_buffer), [expected; 3].as_flattened());
        }
        let all = Attention::default();
        let y = of(&y_buffer);
        run(|encoder| ops.scaled_dot_product_attention(encoder, of(&q), of(&k), of(&v), &all, y));
        assert!(read::<f32>(&y_buffer).iter().all(|y| y.is_nan()));
    }
}

#[test]
fn bad_attention_is_refused_by_name() {
    let (x, y_buffer) = (buffer(&[1.0f32; 4096]), buffer(&[0.0f32; 512]));
    let of = |buffer, shape: &[usize]| Tensor::of::<f32>(buffer, shape).unwrap();
    let (q, k, y) = (
        of(&x, &[1, 4, 3, 8]),
        of(&x, &[1, 2, 5, 8]),
        of(&y_buffer, &[1, 4, 3, 8]),
    );
    let plain = Attention::default();
    let says = |error: Error, text: &str| assert!(error.to_string().contains(text), "{error}");
    let attention = |[q, k, v, y]: [Tensor<'_>; 4], options: Attention<'_>, text: &str| {
        let error =
            refused(|encoder| ops().scaled_dot_product_attention(encoder, q, k, v, &options, y));
        says(error, text);
    };
    let fit = "do not fit together";
    attention([q, of(&x, &[1, 3, 5, 8]), k, y], plain, fit);
    attention(
        [q, of(&x, &[1, 3, 5, 8]), of(&x, &[1, 3, 5, 8]), y],
        plain,
        fit,
    );
    attention([q, k, of(&x, &[1, 2, 6, 8]), y], plain, fit);
    attention([q, k, k, of(&y_buffer, &[1, 4, 3, 7])], plain, fit);
    attention(
        [of(&x, &[4, 3, 8]), k, k, y],
        plain,
        "each must have 4 dimensions",
    );
    let wide = of(&x, &[1, 1, 1, 257]);
    attention(
        [wide, wide, wide, of(&y_buffer, &[1, 1, 1, 257])],
        plain,
        "from 1 to 256",
    );
    let scaled = Attention {
        scale: Some(f32::NAN),
        ..plain
    };
    attention([q, k, k, y], scaled, "the scale is NaN");
    let masked = |mask| Attention {
        mask: Some(mask),
        ..plain
    };
    attention(
        [q, k, k, y],
        masked(of(&x, &[4, 5])),
        "mask of shape [4, 5] does not broadcast",
    );
    let halves = Tensor::of::<f16>(&x, &[3, 5]).unwrap();
    attention(
        [q, k, k, y],
        masked(halves),
        "mask has elements of type f16",
    );
    let lengths = |lengths| Attention { lengths, ..plain };
    let two = Tensor::of::<u32>(&x, &[2]).unwrap();
    attention(
        [q, k, k, y],
        lengths(KeyLengths::Each(two)),
        "lengths has the shape [2]",
    );
    attention(
        [q, k, k, y],
        lengths(KeyLengths::Offsets(two)),
        "lengths are offsets",
    );
    let one = of(&x, &[1]);
    attention(
        [q, k, k, y],
        lengths(KeyLengths::Each(one)),
        "lengths has elements of type f32",
    );
    attention([q, k, k, of(&x, &[1, 4, 3, 8])], plain, "q and y overlap");
    attention(
        [
            q,
            k,
            of(&x, &[1, 2, 5, 8]).permute(&[0, 1, 2, 3]).unwrap(),
            halves,
        ],
        plain,
        "y has",
    );
    let integers = Tensor::new(&x, <i32 as Element>::DATA_TYPE, &[1, 4, 3, 8]).unwrap();
    let error =
        refused(|encoder| ops().scaled_dot_product_attention(encoder, integers, k, k, &plain, y));
    assert!(matches!(error, Error::Unsupported(_)), "{error}");
    let nothing = of(&x, &[1, 4, 0, 8]);
    let no_y = of(&y_buffer, &[1, 4, 0, 8]);
    run(|encoder| ops().scaled_dot_product_attention(encoder, nothing, k, k, &plain, no_y));
    assert_eq!(read::<f32>(&y_buffer), [0.0; 512]);
    // Without keys all rows are 0.
    let none = of(&x, &[1, 2, 0, 8]);
    run(|encoder| ops().scaled_dot_product_attention(encoder, q, none, none, &plain, y));
    assert_eq!(read::<f32>(&y_buffer), [0.0; 512]);
}
