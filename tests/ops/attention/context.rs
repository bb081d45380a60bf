//! A text of random keys, values and queries, and what attention gives of them in float64.

use crate::support::{EPSILON, Guarded, assert_close, both, buffer, device, rng, run, uniform};
use half::f16;
use metal_bridge::Buffer;
use metal_bridge::ops::{AttentionShape, KV_PAGE_POSITIONS, KvCache, KvElement, KvShape};
use std::cell::OnceCell;

/// Keys, values and queries of a whole context, and the shape of its cache.
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
    /// Keys and values as the cache has them: whoever changes them does so before the first row.
    stored: OnceCell<(Vec<f64>, Vec<f64>)>,
}

impl Context {
    pub fn random((shape, length): (KvShape, usize), heads: usize, magnitude: f32) -> Context {
        let mut rng = rng((length * 131 + shape.head_size * 7 + heads) as u64);
        let mut numbers = |heads: usize, magnitude: f32| -> Vec<f32> {
            let values = uniform(&mut rng, length * heads * shape.head_size);
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
            stored: OnceCell::new(),
        }
    }

    /// A table of all pages of the cache, in the order of nothing.
    pub fn table(&self) -> Buffer {
        let pages = self.shape.pages as u32;
        // Coprime to any number of pages here, so that each page comes once.
        buffer(
            &(0..pages)
                .map(|page| (page * 101 + 1) % pages)
                .collect::<Vec<u32>>(),
        )
    }

    /// The numbers that the cache has in the place of these.
    fn stored(&self, values: &[f32]) -> Vec<f64> {
        match self.shape.element {
            KvElement::F32 => values.iter().copied().map(f64::from).collect(),
            KvElement::F16 => {
                let rounded = |&value| f16::from_f32(value).to_f64();
                values.iter().map(rounded).collect()
            }
            KvElement::Q8_0 => values.chunks(32).flat_map(quantized).collect(),
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
        let stored = || (self.stored(&self.k), self.stored(&self.v));
        let (k, v) = self.stored.get_or_init(stored);
        let largest_value = v.iter().fold(0.0, |largest: f64, v| largest.max(v.abs()));
        let mut result = Vec::with_capacity(self.heads * head_size);
        for head in 0..self.heads {
            let query = &self.q[(row * self.heads + head) * head_size..][..head_size];
            let of = |cache: &[f64], key: usize, element: usize| {
                cache[(key * kv_heads + head / group) * head_size + element]
            };
            let mut scores = Vec::with_capacity(row + 1);
            let mut score_error: f64 = 0.0;
            let first = (self.window).map_or(0, |window| (row + 1).saturating_sub(window));
            for key in first..=row {
                let terms = (0..head_size)
                    .map(|i| f64::from(self.scale) * f64::from(query[i]) * of(k, key, i));
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
                    .map(|(key, weight)| weight / total * of(v, first + key, element));
                let (sum, magnitude) = terms.fold((0.0, 0.0), |(sum, size), term| {
                    (sum + term, size + term.abs())
                });
                // The smallest weights are no floats.
                let lost = largest_value * weights.len() as f64 * f64::from(f32::MIN_POSITIVE);
                result.push((sum, magnitude * allowed + lost));
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
        let table = &self.table();
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
            let shape = AttentionShape {
                heads: self.heads,
                rows,
                past,
                scale: self.scale,
                window: self.window,
                soft_cap: self.soft_cap,
            };
            run(|encoder| both()[0].kv_append(encoder, &cache, table, &k, &v, rows, past));
            let exact = (past..past + rows).flat_map(|row| self.exact_row(row));
            let exact: Vec<(f64, f64)> = exact.collect();
            for ops in both() {
                let y = Guarded::new(rows * self.heads * head_size);
                run(|encoder| {
                    let y = y.view();
                    match self.sinks.as_slice() {
                        [] => ops.attention(encoder, &cache, table, &q, y, &shape),
                        sinks => {
                            let sinks = &buffer(sinks);
                            ops.attention_with_sinks(encoder, &cache, table, &q, sinks, y, &shape)
                        }
                    }
                });
                let what = format!("{:?}, {shape:?}, {ops:?}", self.shape);
                assert_close(&what, &y.read(), exact.iter().copied());
            }
            past += rows;
        }
    }
}

/// A cache with room for a context of this length, and a page more.
pub fn shape(
    element: KvElement,
    kv_heads: usize,
    length: usize,
    head_size: usize,
) -> (KvShape, usize) {
    let shape = KvShape {
        element,
        kv_heads,
        pages: length.div_ceil(KV_PAGE_POSITIONS) + 1,
        head_size,
    };
    (shape, length)
}

/// A block of 32 numbers, quantized and back.
fn quantized(block: &[f32]) -> Vec<f64> {
    if block.iter().any(|value| value.is_nan()) {
        return vec![f64::NAN; block.len()];
    }
    let limit = 127.0 * f16::MAX.to_f32();
    let clamped = |value: &f32| value.clamp(-limit, limit);
    let largest = block
        .iter()
        .map(clamped)
        .fold(0.0, |a: f32, b| a.max(b.abs()));
    let scale = largest / 127.0;
    let factor = if scale > 0.0 { 1.0 / scale } else { 0.0 };
    let number = |value| f64::from((clamped(value) * factor).round().clamp(-127.0, 127.0));
    let scale = f16::from_f32(scale).to_f64();
    block.iter().map(|value| number(value) * scale).collect()
}
