//! A text of random keys, values and queries, and what attention gives of them in float64.

use crate::support::{EPSILON, Guarded, assert_close, buffer, device, ops, rng, run, uniform};
use half::f16;
use metal_bridge::Buffer;
use metal_bridge::ops::{AttentionShape, KvCache, KvElement, KvShape};

/// Keys, values and queries of a whole context, and its shape.
pub struct Context {
    pub shape: KvShape,
    pub heads: usize,
    pub scale: f32,
    pub window: Option<usize>,
    pub soft_cap: Option<f32>,
    /// One for each head, or none.
    pub sinks: Vec<f32>,
    pub q: Vec<f32>,
    pub k: Vec<f32>,
    pub v: Vec<f32>,
}

impl Context {
    pub fn random(shape: KvShape, heads: usize, magnitude: f32) -> Context {
        let mut rng = rng((shape.capacity * 131 + shape.head_size * 7 + heads) as u64);
        let mut numbers = |heads: usize, magnitude: f32| -> Vec<f32> {
            let values = uniform(&mut rng, shape.capacity * heads * shape.head_size);
            values.into_iter().map(|value| value * magnitude).collect()
        };
        let (q, k, v) = (
            numbers(heads, magnitude),
            numbers(shape.kv_heads, magnitude),
            numbers(shape.kv_heads, 1.0),
        );
        Context {
            shape,
            heads,
            scale: 1.0 / (shape.head_size as f32).sqrt(),
            window: None,
            soft_cap: None,
            sinks: Vec::new(),
            q,
            k,
            v,
        }
    }

    fn stored(&self, value: f32) -> f64 {
        match self.shape.element {
            KvElement::F32 => value.into(),
            KvElement::F16 => f16::from_f32(value).to_f64(),
        }
    }

    /// What row `row` of the context gives, with the tolerance of each element.
    pub fn exact_row(&self, row: usize) -> Vec<(f64, f64)> {
        let KvShape {
            kv_heads,
            head_size,
            ..
        } = self.shape;
        let group = self.heads / kv_heads;
        let mut result = Vec::with_capacity(self.heads * head_size);
        for head in 0..self.heads {
            let query = &self.q[(row * self.heads + head) * head_size..][..head_size];
            let of = |cache: &[f32], key: usize, element: usize| {
                self.stored(cache[(key * kv_heads + head / group) * head_size + element])
            };
            let mut scores = Vec::with_capacity(row + 1);
            let mut score_error: f64 = 0.0;
            let first = (self.window).map_or(0, |window| (row + 1).saturating_sub(window));
            for key in first..=row {
                let terms = (0..head_size)
                    .map(|i| f64::from(self.scale) * f64::from(query[i]) * of(&self.k, key, i));
                let (sum, magnitude) = terms.fold((0.0, 0.0), |(sum, size), term| {
                    (sum + term, size + term.abs())
                });
                scores.push(match self.soft_cap.map(f64::from) {
                    None => sum,
                    Some(cap) => cap * (sum / cap).tanh(),
                });
                score_error =
                    score_error.max(magnitude * (8.0 + 2.0 * (head_size as f64).sqrt()) * EPSILON);
            }
            let sink = (self.sinks.get(head)).map_or(f64::NEG_INFINITY, |&sink| f64::from(sink));
            let largest = scores.iter().copied().fold(sink, f64::max);
            let weights: Vec<f64> = scores.iter().map(|score| (score - largest).exp()).collect();
            let total = weights.iter().sum::<f64>() + (sink - largest).exp();
            // Errors of a score and of its exponential scale its weight; sums add theirs.
            let allowed = 2.0 * score_error + (32.0 + 2.0 * (row as f64 + 1.0).sqrt()) * EPSILON;
            for element in 0..head_size {
                let terms = weights
                    .iter()
                    .enumerate()
                    .map(|(key, weight)| weight / total * of(&self.v, first + key, element));
                let (sum, magnitude) = terms.fold((0.0, 0.0), |(sum, size), term| {
                    (sum + term, size + term.abs())
                });
                result.push((sum, magnitude * allowed));
            }
        }
        result
    }

    /// Fills a cache in batches of these sizes and compares what each batch gives.
    pub fn check(&self, batches: &[usize]) {
        let KvShape {
            kv_heads,
            head_size,
            ..
        } = self.shape;
        let cache = KvCache::new(device(), &self.shape).expect("a cache");
        let mut past = 0;
        for &rows in batches {
            let of = |values: &[f32], heads: usize| -> Buffer {
                buffer(&values[past * heads * head_size..][..rows * heads * head_size])
            };
            let (q, k, v) = (
                of(&self.q, self.heads),
                of(&self.k, kv_heads),
                of(&self.v, kv_heads),
            );
            let y = Guarded::new(rows * self.heads * head_size);
            let shape = AttentionShape {
                heads: self.heads,
                rows,
                past,
                scale: self.scale,
                window: self.window,
                soft_cap: self.soft_cap,
            };
            run(|encoder| {
                ops().kv_append(encoder, &cache, &k, &v, rows, past)?;
                match self.sinks.as_slice() {
                    [] => ops().attention(encoder, &cache, &q, y.view(), &shape),
                    sinks => {
                        let sinks = &buffer(sinks);
                        ops().attention_with_sinks(encoder, &cache, &q, sinks, y.view(), &shape)
                    }
                }
            });
            let exact = (past..past + rows).flat_map(|row| self.exact_row(row));
            assert_close(&format!("{:?}, {shape:?}", self.shape), &y.read(), exact);
            past += rows;
        }
    }
}

pub fn shape(element: KvElement, kv_heads: usize, capacity: usize, head_size: usize) -> KvShape {
    KvShape {
        element,
        kv_heads,
        capacity,
        head_size,
    }
}
