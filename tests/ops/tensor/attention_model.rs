//! Attention in float64, and the comparison of a kernel's with it.

use metal_bridge::Buffer;
use metal_bridge::ops::{Attention, Causality, DataType, KeyLengths, Ops, Tensor, View};
use rand::Rng;
use rand::rngs::SmallRng;

use super::layouts::{offsets, random_strides};
use super::values::{Sample, half_unit, least, read, room};
use crate::support::{EPSILON, buffer, run};

type Shape = [usize; 4];

/// How the lengths of a case are told.
#[derive(Debug, Clone, PartialEq)]
pub enum Lengths {
    Whole,
    Each(Vec<i32>),
    Offsets(Vec<u32>),
}

/// How the scores of a case change from key to key.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scores {
    Small,
    /// Hundreds: one key takes all the weight, and exponentials of the others vanish.
    Steep,
    /// Each above all before it, so that every step of keys corrects what came before.
    Rising,
    Falling,
    /// Equal ones.
    Level,
}

#[derive(Debug, Clone)]
pub struct Case {
    pub batch: usize,
    /// Heads of queries, and of keys and values.
    pub heads: [usize; 2],
    pub rows: usize,
    pub keys: usize,
    /// Elements of a query or key, and of a value.
    pub size: [usize; 2],
    pub causality: Causality,
    pub mask: Option<DataType>,
    pub lengths: Lengths,
    pub scores: Scores,
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
    values::<T>(rng, shape, is_dense, |rng, _| {
        magnitude * rng.random_range(-1.0..1.0)
    })
}

/// The elements that `value` gives for the rows that they are in.
fn values<T: Sample>(
    rng: &mut SmallRng,
    shape: Shape,
    is_dense: bool,
    value: impl Fn(&mut SmallRng, usize) -> f64,
) -> Values {
    let strides: Shape = match is_dense {
        true => [
            shape[1] * shape[2] * shape[3],
            shape[2] * shape[3],
            shape[3],
            1,
        ],
        false => random_strides(rng, &shape).try_into().unwrap(),
    };
    let offsets = offsets(&shape, &strides);
    let offset = rng.random_range(0..3);
    let mut all: Vec<T> = (0..offset + offsets.iter().max().unwrap() + 1)
        .map(|_| T::nearest(value(rng, 0)))
        .collect();
    for (number, at) in offsets.iter().enumerate() {
        all[offset + at] = T::nearest(value(rng, number / shape[3] % shape[2]));
    }
    Values {
        buffer: buffer(&all),
        offset: offset * size_of::<T>(),
        strides,
        shape,
        values: offsets.iter().map(|at| all[offset + at].exact()).collect(),
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
    pub fn check<T: Sample>(&self, ops: &Ops, rng: &mut SmallRng, is_dense: bool) {
        let [heads, kv_heads] = self.heads;
        let [size, value_size] = self.size;
        let (q_shape, k_shape) = (
            [self.batch, heads, self.rows, size],
            [self.batch, kv_heads, self.keys, size],
        );
        let scores = self.scores;
        let q = values::<T>(rng, q_shape, is_dense, |rng, _| match scores {
            Scores::Small => 2.0 * rng.random_range(-1.0..1.0),
            Scores::Steep => 30.0 * rng.random_range(-1.0..1.0),
            Scores::Rising | Scores::Falling => 1.0,
            Scores::Level => 0.0,
        });
        let k = values::<T>(rng, k_shape, is_dense, |rng, key| match scores {
            Scores::Small | Scores::Level => 2.0 * rng.random_range(-1.0..1.0),
            Scores::Steep => 30.0 * rng.random_range(-1.0..1.0),
            Scores::Rising => key as f64 / 32.0,
            Scores::Falling => key as f64 / -32.0,
        });
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
        let y_offsets = offsets(&y_shape, &y_strides);
        let y_buffer = room::<T>(y_offsets.iter().max().unwrap() + 1);
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
                        let found = y[y_offsets[at]].exact();
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
