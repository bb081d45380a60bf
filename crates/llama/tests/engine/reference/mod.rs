//! The forward pass of each architecture in double precision, written for clarity. Nothing of the engine is used but the GGUF reader
//! and the hyperparameters; which parts a layer has follows from its tensors. `architectures.rs` compares it with Hugging Face's own
//! implementations.

mod rotation;

use std::f64::consts::FRAC_2_PI;

use metal_bridge::ops::Gate;
use metal_bridge_llama::gguf::{Gguf, TensorInfo};
use metal_bridge_llama::{LayerConfig, ModelConfig};
use metal_bridge_workloads::formats;

pub struct Reference {
    gguf: Gguf,
    config: ModelConfig,
    /// The tokens that a session has room for.
    context: usize,
}

/// A matrix, or several of one shape.
struct Matrix {
    columns: usize,
    weights: Vec<f64>,
    /// What is added to a product, if something is.
    bias: Option<Vec<f64>>,
}

impl Matrix {
    fn row(&self, row: usize) -> &[f64] {
        &self.weights[row * self.columns..(row + 1) * self.columns]
    }

    fn times(&self, x: &[f64]) -> Vec<f64> {
        assert_eq!(x.len(), self.columns);
        let mut product: Vec<f64> = self
            .weights
            .chunks_exact(self.columns)
            .map(|row| dot(row, x))
            .collect();
        if let Some(bias) = &self.bias {
            add(&mut product, bias);
        }
        product
    }

    /// Parts of so many rows each.
    fn split(&self, parts: &[usize]) -> Vec<Matrix> {
        let mut first = 0;
        let part = |&rows: &usize| {
            let start = first;
            first += rows;
            let weights = &self.weights[start * self.columns..first * self.columns];
            Matrix {
                columns: self.columns,
                weights: weights.to_vec(),
                bias: self.bias.as_ref().map(|bias| bias[start..first].to_vec()),
            }
        };
        parts.iter().map(part).collect()
    }
}

/// The hidden states of tokens.
type Hidden = [Vec<f64>];

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn add(x: &mut [f64], y: &[f64]) {
    assert_eq!(x.len(), y.len());
    x.iter_mut().zip(y).for_each(|(x, y)| *x += y);
}

fn capped(x: f64, cap: Option<f32>) -> f64 {
    cap.map_or(x, |cap| f64::from(cap) * (x / f64::from(cap)).tanh())
}

fn gated(gate: Gate, g: f64, u: f64) -> f64 {
    let sigmoid = |x: f64| (1.0 + (-x).exp()).recip();
    match gate {
        Gate::Silu => g * sigmoid(g) * u,
        Gate::GeluTanh => {
            let inner = FRAC_2_PI.sqrt() * (g + 0.044715 * g.powi(3));
            0.5 * g * (1.0 + inner.tanh()) * u
        }
        Gate::Clamped => {
            let (g, u) = (g.min(7.0), u.clamp(-7.0, 7.0));
            g * sigmoid(1.702 * g) * (u + 1.0)
        }
    }
}

impl Reference {
    /// Of a session with the model's whole context.
    pub fn new(gguf: Gguf) -> Self {
        let config = ModelConfig::from_gguf(&gguf).unwrap();
        let context = config.context;
        Self::with_context(gguf, context)
    }

    /// Of a session with room for so many tokens.
    pub fn with_context(gguf: Gguf, context: usize) -> Self {
        Self {
            config: ModelConfig::from_gguf(&gguf).unwrap(),
            gguf,
            context,
        }
    }

    /// The logits after each of `tokens`.
    pub fn logits(&self, tokens: &[u32]) -> Vec<Vec<f64>> {
        let output = (self.matrix("output")).unwrap_or_else(|| self.needed("token_embd"));
        let (scale, cap) = (self.config.logit_scale, self.config.logit_soft_cap);
        let logit = |x: &f64| capped(x * f64::from(scale), cap);
        let states = self.states(tokens);
        let rows = states.iter().map(|state| output.times(state));
        rows.map(|row| row.iter().map(logit).collect()).collect()
    }

    /// What the output matrix takes after each of `tokens`.
    pub fn states(&self, tokens: &[u32]) -> Vec<Vec<f64>> {
        let embedding = self.needed("token_embd");
        let scale = f64::from(self.config.embedding_scale);
        let mut hidden: Vec<Vec<f64>> = tokens
            .iter()
            .map(|&token| embedding.row(token as usize).iter().map(|x| x * scale))
            .map(Iterator::collect)
            .collect();
        for (index, layer) in self.config.layers.iter().enumerate() {
            let name = |part: &str| format!("blk.{index}.{part}");
            self.attention(&mut hidden, layer, &name);
            self.feed_forward(&mut hidden, &name);
        }
        self.norms(&hidden, "output_norm")
    }

    fn attention(&self, hidden: &mut Hidden, layer: &LayerConfig, name: &dyn Fn(&str) -> String) {
        let (config, dim) = (&self.config, self.config.head_dim);
        let widths = [config.heads, config.kv_heads, config.kv_heads].map(|heads| heads * dim);
        let matrices = match self.matrix(&name("attn_qkv")) {
            Some(all) => all.split(&widths),
            None => ["attn_q", "attn_k", "attn_v"]
                .map(|part| self.needed(&name(part)))
                .into(),
        };
        let normed = self.norms(hidden, &name("attn_norm"));
        let products =
            |matrix: &Matrix| -> Vec<Vec<f64>> { normed.iter().map(|x| matrix.times(x)).collect() };
        let rotation = layer.rope.map(|rope| self.rotation(rope));
        let rotated = |matrix: &Matrix, norm: &str| {
            let mut rows = products(matrix);
            for (position, row) in rows.iter_mut().enumerate() {
                for head in row.chunks_exact_mut(dim) {
                    if let Some(weights) = self.vector(&name(norm)) {
                        head.copy_from_slice(&self.norm(head, &weights));
                    }
                    if let Some(rotation) = &rotation {
                        self.rotate(head, rotation, position);
                    }
                }
            }
            rows
        };
        let queries = rotated(&matrices[0], "attn_q_norm");
        let keys = rotated(&matrices[1], "attn_k_norm");
        let values = products(&matrices[2]);
        let sinks = self.vector(&name("attn_sinks"));
        let output = self.needed(&name("attn_output"));
        let mut added = Vec::new();
        for (position, queries) in queries.iter().enumerate() {
            let first = layer
                .window
                .map_or(0, |seen| (position + 1).saturating_sub(seen));
            let mut attended = vec![0.0; widths[0]];
            for (head, out) in attended.chunks_exact_mut(dim).enumerate() {
                let shared = head / (config.heads / config.kv_heads) * dim;
                let query = &queries[head * dim..(head + 1) * dim];
                let score = |key: &Vec<f64>| {
                    let score = dot(query, &key[shared..shared + dim]);
                    capped(
                        score * f64::from(config.attention_scale),
                        config.attention_soft_cap,
                    )
                };
                let scores: Vec<f64> = keys[first..=position].iter().map(score).collect();
                let sink = sinks.as_ref().map(|sinks| sinks[head]);
                let all = || scores.iter().copied().chain(sink);
                let largest = all().fold(f64::NEG_INFINITY, f64::max);
                let total: f64 = all().map(|score| (score - largest).exp()).sum();
                for (score, value) in scores.iter().zip(&values[first..]) {
                    let weight = (score - largest).exp() / total;
                    let value = value[shared..shared + dim].iter().map(|v| v * weight);
                    add(out, &value.collect::<Vec<_>>());
                }
            }
            added.push(output.times(&attended));
        }
        // gpt-oss has this name for the norm before the feed-forward layer.
        let has_post_norm = self.vector(&name("ffn_norm")).is_some();
        let post_norm = name("post_attention_norm");
        self.add_to_hidden(hidden, added, has_post_norm.then_some(&*post_norm));
    }

    fn feed_forward(&self, hidden: &mut Hidden, name: &dyn Fn(&str) -> String) {
        let norm = ["ffn_norm", "post_attention_norm"].map(name);
        let norm = norm.iter().find(|norm| self.vector(norm).is_some());
        let normed = self.norms(hidden, norm.unwrap());
        let added = match self.matrix(&name("ffn_gate_inp")) {
            Some(router) => self.experts(&normed, &router, name),
            None => {
                let up = self.needed(&name("ffn_up"));
                let (gate, up) = match self.matrix(&name("ffn_gate")) {
                    Some(gate) => (gate, up),
                    None => {
                        let [gate, up] = up
                            .split(&[self.config.feed_forward; 2])
                            .try_into()
                            .ok()
                            .unwrap();
                        (gate, up)
                    }
                };
                let down = self.needed(&name("ffn_down"));
                let out = normed.iter().map(|x| self.gate(&gate, &up, &down, x));
                out.collect()
            }
        };
        self.add_to_hidden(hidden, added, Some(&name("post_ffw_norm")));
    }

    fn gate(&self, gate: &Matrix, up: &Matrix, down: &Matrix, x: &[f64]) -> Vec<f64> {
        let (g, u) = (gate.times(x), up.times(x));
        let product = g.iter().zip(u).map(|(&g, u)| gated(self.config.gate, g, u));
        down.times(&product.collect::<Vec<_>>())
    }

    /// The sum of what the experts with the largest logits give, with the softmax over these as weights.
    fn experts(
        &self,
        normed: &Hidden,
        router: &Matrix,
        name: &dyn Fn(&str) -> String,
    ) -> Vec<Vec<f64>> {
        let (shape, ff) = (self.config.experts.unwrap(), self.config.feed_forward);
        let [gates, ups, downs] =
            [("gate", ff), ("up", ff), ("down", self.config.width)].map(|(part, rows)| {
                let all = self.needed(&name(&format!("ffn_{part}_exps")));
                all.split(&vec![rows; shape.experts])
            });
        let mix = |x: &Vec<f64>| {
            let logits = router.times(x);
            let mut order: Vec<usize> = (0..logits.len()).collect();
            order.sort_by(|&a, &b| logits[b].total_cmp(&logits[a]));
            let shares = order[..shape.used].iter().map(|&e| (e, logits[e].exp()));
            let total: f64 = shares.clone().map(|(_, share)| share).sum();
            let mut sum = vec![0.0; self.config.width];
            for (e, share) in shares {
                let given = self.gate(&gates[e], &ups[e], &downs[e], x);
                let given = given.iter().map(|x| x * share / total);
                add(&mut sum, &given.collect::<Vec<_>>());
            }
            sum
        };
        normed.iter().map(mix).collect()
    }

    /// By way of a norm, if the file has it.
    fn add_to_hidden(&self, hidden: &mut Hidden, added: Vec<Vec<f64>>, norm: Option<&str>) {
        let norm = norm.and_then(|norm| self.vector(norm));
        let scale = f64::from(self.config.residual_scale);
        for (x, mut added) in hidden.iter_mut().zip(added) {
            if let Some(weights) = &norm {
                added = self.norm(&added, weights);
            }
            added.iter_mut().for_each(|x| *x *= scale);
            add(x, &added);
        }
    }

    fn norms(&self, rows: &Hidden, name: &str) -> Vec<Vec<f64>> {
        let weights = self.vector(name).unwrap();
        rows.iter().map(|x| self.norm(x, &weights)).collect()
    }

    fn norm(&self, x: &[f64], weights: &[f64]) -> Vec<f64> {
        let epsilon = f64::from(self.config.norm_epsilon);
        let scale = (dot(x, x) / x.len() as f64 + epsilon).sqrt().recip();
        let weighted = x.iter().zip(weights);
        weighted.map(|(x, weight)| x * scale * weight).collect()
    }

    fn vector(&self, name: &str) -> Option<Vec<f64>> {
        let tensor = self.gguf.tensor(&format!("{name}.weight")).ok()?;
        Some(dequantize(&self.gguf, tensor))
    }

    fn matrix(&self, name: &str) -> Option<Matrix> {
        let tensor = self.gguf.tensor(&format!("{name}.weight")).ok()?;
        let bias = self.gguf.tensor(&format!("{name}.bias")).ok();
        Some(Matrix {
            columns: tensor.dimensions()[0] as usize,
            weights: dequantize(&self.gguf, tensor),
            bias: bias.map(|tensor| dequantize(&self.gguf, tensor)),
        })
    }

    fn needed(&self, name: &str) -> Matrix {
        (self.matrix(name)).unwrap_or_else(|| panic!("no matrix {name:?}"))
    }
}

fn dequantize(gguf: &Gguf, tensor: &TensorInfo) -> Vec<f64> {
    let kind = tensor.element_type().weight_type();
    let bytes = gguf.tensor_bytes(tensor).unwrap();
    formats::decode(kind.expect("a type that is compared"), &bytes)
}
