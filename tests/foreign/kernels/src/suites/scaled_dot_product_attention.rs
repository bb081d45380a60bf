//! `scaled_dot_product_attention.metal`: attention of one query, in one pass and in two. That of many is in
//! `tiled_attention.rs`.

use crate::buffers::{Arg, Output, size, value};
use crate::check::{Approx, approx};
use crate::rig::{Constants, File, groups};
use crate::suites::tiled_attention;
use crate::types::Type;

/// No mask, whole tiles, not causal.
pub const CONSTANTS: &Constants = &[
    (20, false),
    (200, true),
    (201, true),
    (300, false),
    (301, false),
];

/// Rows of queries, keys and values, by batch and head.
pub struct Tensors {
    pub kind: Type,
    pub batches: usize,
    pub heads: usize,
    /// Heads of keys and values, each for several of queries.
    pub shared_heads: usize,
    pub queries: usize,
    pub keys: usize,
    pub width: usize,
    pub scale: f64,
    /// Scores are bent by a hyperbolic tangent below this size; 1 for not.
    pub cap: f64,
}

/// What the kernels round on the way, and to which type.
#[derive(Clone, Copy)]
pub struct Rounded {
    /// Queries, after the scale has been multiplied into them.
    pub queries: Type,
    /// Sums over a part of the keys.
    pub partial_sums: Type,
}

pub struct Values {
    pub q: Vec<f64>,
    pub k: Vec<f64>,
    pub v: Vec<f64>,
}

impl Tensors {
    /// Random ones.
    pub fn values(&self, file: &File) -> Values {
        let rows = |heads, rows| self.batches * heads * rows * self.width;
        let keys = rows(self.shared_heads, self.keys);
        Values {
            q: file.values(self.kind, 1, rows(self.heads, self.queries), -1.0..1.0),
            k: file.values(self.kind, 2, keys, -1.0..1.0),
            v: file.values(self.kind, 3, keys, -1.0..1.0),
        }
    }

    /// What each query gives. `score` takes a query's head, its number, a key's number and the product, and says the
    /// score, or nothing if the key is hidden.
    pub fn reference(
        &self,
        values: &Values,
        rounded: Rounded,
        score: impl Fn(usize, usize, usize, f64) -> Option<f64>,
    ) -> Vec<Approx> {
        let width = self.width;
        let mut expected = Vec::new();
        for (row, q) in values.q.chunks(width).enumerate() {
            let (head, query) = (row / self.queries, row % self.queries);
            let shared = head / self.heads * self.shared_heads
                + head % self.heads / (self.heads / self.shared_heads);
            let range = shared * self.keys * width..(shared + 1) * self.keys * width;
            let (keys, rows) = (&values.k[range.clone()], &values.v[range]);
            let dot = |k: &[f64]| k.iter().zip(q).map(|(k, q)| k * q).sum::<f64>() * self.scale;
            let size = |k: &[f64]| k.iter().zip(q).map(|(k, q)| (k * q).abs()).sum::<f64>();
            let largest_size = keys.chunks(width).map(size).fold(0.0, f64::max) * self.scale;
            let scores = keys.chunks(width).enumerate();
            let scores = scores.map(|(key, k)| score(head, query, key, dot(k)));
            let scores: Vec<f64> = scores.map(|s| s.unwrap_or(f64::NEG_INFINITY)).collect();
            let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let weights: Vec<f64> = scores.iter().map(|s| (s - largest).exp()).collect();
            let total: f64 = weights.iter().sum();
            for column in 0..width {
                let terms = weights
                    .iter()
                    .zip(rows.chunks(width))
                    .map(|(w, v)| w * v[column]);
                let (sum, magnitude) = terms.fold((0.0, 0.0), |(sum, size), term| {
                    (sum + term, size + term.abs())
                });
                // A score's error is a relative one of its weight, on both sides of the division.
                let score = largest_size * rounded.queries.epsilon();
                let float = (width + self.keys + 16) as f64 * Type::F32.epsilon();
                let relative = 2.0 * (score + float) + rounded.partial_sums.epsilon();
                expected.push(approx(sum / total, magnitude / total * relative));
            }
        }
        expected
    }
}

pub fn run(file: &File) {
    for kind in Type::FLOATS {
        // The widths that the package's host code allows; 72 and 80 are not multiples of a simdgroup.
        for width in [32, 64, 96, 128, 256, 512] {
            let one = Tensors {
                kind,
                batches: 2,
                heads: 4,
                shared_heads: 2,
                queries: 1,
                keys: 77,
                width,
                scale: (width as f64).sqrt().recip(),
                cap: 1.0,
            };
            vector(file, &one, false);
            two_passes(file, &Tensors { keys: 531, ..one }, false);
            if width == 64 {
                vector(
                    file,
                    &Tensors {
                        batches: 1,
                        cap: 3.0,
                        ..one
                    },
                    true,
                );
                two_passes(
                    file,
                    &Tensors {
                        batches: 1,
                        keys: 300,
                        cap: 3.0,
                        ..one
                    },
                    true,
                );
            }
        }
    }
    tiled_attention::run(file);
}

/// What the one-query kernels call a type.
fn vector_name(kind: Type) -> &'static str {
    match kind {
        Type::F16 => "float16_t",
        Type::Bf16 => "bfloat16_t",
        _ => "float",
    }
}

/// Which keys each head sees: none for about a quarter of the positions.
pub fn bits(file: &File, count: usize) -> Vec<f64> {
    let numbers = file.random(4, count, 0.0..4.0);
    numbers
        .into_iter()
        .map(|number| f64::from(u8::from(number >= 1.0)))
        .collect()
}

/// The arguments after the buffers, and the answer.
fn one_query(tensors: &Tensors) -> Vec<Arg<'static>> {
    let head = tensors.keys * tensors.width;
    vec![
        value((tensors.heads / tensors.shared_heads) as i32),
        value(tensors.keys as i32),
        size(head),
        size(head),
        value((tensors.scale / tensors.cap) as f32),
        value(tensors.cap as f32),
    ]
}

fn one_query_reference(
    tensors: &Tensors,
    values: &Values,
    partial_sums: Type,
    mask: Option<&[f64]>,
) -> Vec<Approx> {
    let rounded = Rounded {
        queries: Type::F32,
        partial_sums,
    };
    tensors.reference(values, rounded, |head, _, key, product| {
        let seen = mask.is_none_or(|mask| mask[head * tensors.keys + key] != 0.0);
        let bent = match tensors.cap == 1.0 {
            true => product,
            false => (product / tensors.cap).tanh() * tensors.cap,
        };
        seen.then_some(bent)
    })
}

/// What is tried, in words.
pub fn case(tensors: &Tensors, masked: bool) -> String {
    let Tensors {
        batches,
        heads,
        shared_heads,
        queries,
        keys,
        cap,
        ..
    } = tensors;
    format!(
        "{batches} batches of {heads} heads on {shared_heads}, {queries} queries, {keys} keys, cap {cap}, masked: {masked}"
    )
}

fn vector(file: &File, tensors: &Tensors, masked: bool) {
    let kernel = format!(
        "sdpa_vector_{}_{}",
        vector_name(tensors.kind),
        tensors.width
    );
    let values = tensors.values(file);
    let [q, k, v] = [&values.q, &values.k, &values.v].map(|v| file.input_at(tensors.kind, 8, v));
    let rows = tensors.batches * tensors.heads;
    let mask = masked.then(|| bits(file, rows * tensors.keys));
    let hidden = mask.as_ref().map(|mask| file.input(Type::U8, mask));
    let output = file.output(tensors.kind, values.q.len());
    let mut arguments = vec![Arg::In(&q), Arg::In(&k), Arg::In(&v), Arg::Out(&output)];
    arguments.extend(one_query(tensors));
    if let Some(hidden) = &hidden {
        arguments.extend([Arg::In(hidden), value(1i32), value(tensors.keys as i32)]);
    }
    let grid = groups((1, rows, 1), (1024, 1, 1));
    let launched = file.launch(&kernel, &[(20, masked)], &arguments, grid);
    let expected = one_query_reference(tensors, &values, Type::F32, mask.as_deref());
    file.check(
        &kernel,
        &case(tensors, masked),
        launched,
        &output,
        &expected,
    );
}

/// Blocks of keys that the first pass of two keeps apart.
const BLOCKS: usize = 32;

fn two_passes(file: &File, tensors: &Tensors, masked: bool) {
    let (name, width) = (vector_name(tensors.kind), tensors.width);
    let first = format!("sdpa_vector_2pass_1_{name}_{width}");
    let second = format!("sdpa_vector_2pass_2_{name}_{width}");
    let values = tensors.values(file);
    let [q, k, v] = [&values.q, &values.k, &values.v].map(|v| file.input_at(tensors.kind, 8, v));
    let rows = tensors.batches * tensors.heads;
    let mask = masked.then(|| bits(file, rows * tensors.keys));
    let hidden = mask.as_ref().map(|mask| file.input(Type::U8, mask));
    let partial: Output = file.output(Type::F32, rows * BLOCKS * width);
    let sums = file.output(Type::F32, rows * BLOCKS);
    let largest = file.output(Type::F32, rows * BLOCKS);
    let output = file.output(tensors.kind, values.q.len());
    let mut arguments = vec![Arg::In(&q), Arg::In(&k), Arg::In(&v)];
    arguments.extend([Arg::Out(&partial), Arg::Out(&sums), Arg::Out(&largest)]);
    arguments.extend(one_query(tensors));
    if let Some(hidden) = &hidden {
        arguments.extend([Arg::In(hidden), value(1i32), value(tensors.keys as i32)]);
    }
    let grid = groups((1, rows, BLOCKS), (8 * 32, 1, 1));
    let launched = file
        .launch(&first, &[(20, masked)], &arguments, grid)
        .and_then(|()| {
            let arguments = [
                Arg::Made(&partial),
                Arg::Made(&sums),
                Arg::Made(&largest),
                Arg::Out(&output),
            ];
            file.launch(&second, &[], &arguments, groups((1, rows, 1), (1024, 1, 1)))
        });
    // The first pass rounds its sums to the type, though it stores floats.
    let expected = one_query_reference(tensors, &values, tensors.kind, mask.as_deref());
    for kernel in [&first, &second] {
        file.check(
            kernel,
            &case(tensors, masked),
            launched.clone(),
            &output,
            &expected,
        );
    }
}
