//! A Llama's forward pass in double precision, written for clarity: nothing of the engine is used but the GGUF reader.

use metal_bridge_llama::gguf::{Gguf, TensorInfo};
use metal_bridge_workloads::formats;

pub struct Reference {
    gguf: Gguf,
    heads: usize,
    kv_heads: usize,
    head_dim: usize,
    layers: usize,
    epsilon: f64,
    rope_base: f64,
    rope_divisor: f64,
    rope_factors: Option<Vec<f64>>,
}

struct Matrix {
    columns: usize,
    weights: Vec<f64>,
}

impl Matrix {
    fn row(&self, row: usize) -> &[f64] {
        &self.weights[row * self.columns..(row + 1) * self.columns]
    }

    fn times(&self, x: &[f64]) -> Vec<f64> {
        assert_eq!(x.len(), self.columns);
        self.weights
            .chunks_exact(self.columns)
            .map(|row| dot(row, x))
            .collect()
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn add(x: &mut [f64], y: &[f64]) {
    x.iter_mut().zip(y).for_each(|(x, y)| *x += y);
}

impl Reference {
    pub fn new(gguf: Gguf) -> Self {
        let integer = |key: &str| {
            gguf.get_u64(&format!("llama.{key}"))
                .unwrap()
                .map(|v| v as usize)
        };
        let float = |key: &str| {
            gguf.get_f32(&format!("llama.{key}"))
                .unwrap()
                .map(f64::from)
        };
        let heads = integer("attention.head_count").unwrap();
        let width = integer("embedding_length").unwrap();
        let factors = gguf
            .tensor("rope_freqs.weight")
            .ok()
            .map(|tensor| dequantize(&gguf, tensor));
        Self {
            heads,
            kv_heads: integer("attention.head_count_kv").unwrap(),
            head_dim: integer("attention.key_length").unwrap_or(width / heads),
            layers: integer("block_count").unwrap(),
            epsilon: float("attention.layer_norm_rms_epsilon").unwrap(),
            rope_base: float("rope.freq_base").unwrap(),
            rope_divisor: float("rope.scaling.factor").unwrap_or(1.0),
            rope_factors: factors,
            gguf,
        }
    }

    /// The logits after each of `tokens`.
    pub fn logits(&self, tokens: &[u32]) -> Vec<Vec<f64>> {
        let output = match self.gguf.tensor("output.weight") {
            Ok(_) => self.matrix("output.weight"),
            Err(_) => self.matrix("token_embd.weight"),
        };
        let states = self.states(tokens);
        states.iter().map(|state| output.times(state)).collect()
    }

    /// What the output matrix takes after each of `tokens`.
    pub fn states(&self, tokens: &[u32]) -> Vec<Vec<f64>> {
        let embedding = self.matrix("token_embd.weight");
        let mut hidden: Vec<Vec<f64>> = tokens
            .iter()
            .map(|&token| embedding.row(token as usize).to_vec())
            .collect();
        for layer in 0..self.layers {
            let name = |part: &str| format!("blk.{layer}.{part}.weight");
            self.attention(&mut hidden, &name);
            self.feed_forward(&mut hidden, &name);
        }
        hidden
            .iter()
            .map(|x| self.norm(x, "output_norm.weight"))
            .collect()
    }

    fn attention(&self, hidden: &mut [Vec<f64>], name: &dyn Fn(&str) -> String) {
        let [query, key, value, output] =
            ["attn_q", "attn_k", "attn_v", "attn_output"].map(|part| self.matrix(&name(part)));
        let normed: Vec<Vec<f64>> = hidden
            .iter()
            .map(|x| self.norm(x, &name("attn_norm")))
            .collect();
        let rotated = |matrix: &Matrix| -> Vec<Vec<f64>> {
            normed
                .iter()
                .enumerate()
                .map(|(position, x)| self.rotate(matrix.times(x), position))
                .collect()
        };
        let (queries, keys) = (rotated(&query), rotated(&key));
        let values: Vec<Vec<f64>> = normed.iter().map(|x| value.times(x)).collect();
        let dim = self.head_dim;
        for (position, x) in hidden.iter_mut().enumerate() {
            let mut attended = vec![0.0; self.heads * dim];
            for (head, out) in attended.chunks_exact_mut(dim).enumerate() {
                let shared = head / (self.heads / self.kv_heads) * dim;
                let of_head = |x: &[f64]| x[shared..shared + dim].to_vec();
                let q = &queries[position][head * dim..(head + 1) * dim];
                let scores: Vec<f64> = keys[..=position]
                    .iter()
                    .map(|k| dot(q, &of_head(k)) / (dim as f64).sqrt())
                    .collect();
                let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let weights: Vec<f64> =
                    scores.iter().map(|score| (score - largest).exp()).collect();
                let total: f64 = weights.iter().sum();
                for (weight, value) in weights.iter().zip(&values) {
                    let scaled: Vec<f64> =
                        of_head(value).iter().map(|v| v * weight / total).collect();
                    add(out, &scaled);
                }
            }
            add(x, &output.times(&attended));
        }
    }

    fn feed_forward(&self, hidden: &mut [Vec<f64>], name: &dyn Fn(&str) -> String) {
        let [gate, up, down] =
            ["ffn_gate", "ffn_up", "ffn_down"].map(|part| self.matrix(&name(part)));
        for x in hidden {
            let normed = self.norm(x, &name("ffn_norm"));
            let product: Vec<f64> = gate
                .times(&normed)
                .iter()
                .zip(up.times(&normed))
                .map(|(g, u)| g / (1.0 + (-g).exp()) * u)
                .collect();
            add(x, &down.times(&product));
        }
    }

    fn rotate(&self, mut x: Vec<f64>, position: usize) -> Vec<f64> {
        for head in x.chunks_exact_mut(self.head_dim) {
            for (pair, elements) in head.chunks_exact_mut(2).enumerate() {
                let factor = self
                    .rope_factors
                    .as_ref()
                    .map_or(1.0, |factors| factors[pair]);
                let frequency = self
                    .rope_base
                    .powf(-2.0 * pair as f64 / self.head_dim as f64)
                    / factor;
                let (sin, cos) = (position as f64 / self.rope_divisor * frequency).sin_cos();
                let [a, b] = [elements[0], elements[1]];
                elements.copy_from_slice(&[a * cos - b * sin, a * sin + b * cos]);
            }
        }
        x
    }

    fn norm(&self, x: &[f64], name: &str) -> Vec<f64> {
        let weights = dequantize(&self.gguf, self.gguf.tensor(name).unwrap());
        let scale = (dot(x, x) / x.len() as f64 + self.epsilon).sqrt().recip();
        x.iter()
            .zip(weights)
            .map(|(x, weight)| x * scale * weight)
            .collect()
    }

    fn matrix(&self, name: &str) -> Matrix {
        let tensor = self.gguf.tensor(name).unwrap();
        Matrix {
            columns: tensor.dimensions()[0] as usize,
            weights: dequantize(&self.gguf, tensor),
        }
    }
}

fn dequantize(gguf: &Gguf, tensor: &TensorInfo) -> Vec<f64> {
    let kind = tensor.element_type().weight_type();
    let bytes = gguf.tensor_bytes(tensor).unwrap();
    formats::decode(kind.expect("a type that is compared"), &bytes)
}
