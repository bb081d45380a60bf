//! The weights of a model, by layer and part.

use std::collections::BTreeSet;
use std::ops::Range;

use super::architecture::Biases;
use super::config::{LayerConfig, ModelConfig};
use super::error::{Error, Result};
use super::frequencies::{Rope, load_ropes};
use super::gguf::Gguf;
use super::loader::{Loader, Vector};
use metal_bridge::Device;
use metal_bridge::ops::{Epilogue, ExpertShape, Weight};

const EMBEDDING: &str = "token_embd.weight";
const OUTPUT_NORM: &str = "output_norm.weight";
const OUTPUT: &str = "output.weight";

/// The weights of a model that one device holds: some of its layers, and what comes before the first or after the last.
#[derive(Debug)]
pub(super) struct Weights {
    /// On the device of the first layer.
    pub embedding: Option<Weight>,
    pub layers: Vec<LayerWeights>,
    /// On the device of the last layer.
    pub output: Option<OutputWeights>,
    /// As many as the model has rotary embeddings.
    pub ropes: Vec<Rope>,
}

/// The weights after the last layer.
#[derive(Debug)]
pub(super) struct OutputWeights {
    pub norm: Vector,
    pub matrix: Linear,
}

/// A matrix, and the bias of its products if they have one.
#[derive(Debug)]
pub(super) struct Linear {
    pub weight: Weight,
    pub bias: Option<Vector>,
}

impl Linear {
    fn plain(weight: Weight) -> Self {
        Self { weight, bias: None }
    }

    /// What a product with the matrix does besides.
    pub fn epilogue(&self) -> Epilogue<'_> {
        Epilogue {
            bias: self.bias.as_ref().map(Vector::view),
            ..Epilogue::default()
        }
    }
}

/// The weights of one layer. What is optional, some architectures have.
#[derive(Debug)]
pub(super) struct LayerWeights {
    pub config: LayerConfig,
    pub attention_norm: Vector,
    pub query: Linear,
    pub key: Linear,
    pub value: Linear,
    /// The norms of each head of the queries, and of the keys.
    pub head_norms: Option<[Vector; 2]>,
    /// A score of each head that no key has.
    pub sinks: Option<Vector>,
    pub attention_output: Linear,
    pub attention_post_norm: Option<Vector>,
    pub feed_forward_norm: Vector,
    pub feed_forward: FeedForward,
    pub feed_forward_post_norm: Option<Vector>,
}

/// A feed-forward layer: one, or several of which a token goes to some.
#[derive(Debug)]
pub(super) struct FeedForward {
    /// What chooses among experts. The matrices of all of them are then in one, one after the other.
    pub router: Option<(Linear, ExpertShape)>,
    pub gate: Linear,
    pub up: Linear,
    pub down: Linear,
}

impl Weights {
    /// The weights of these layers, for the device. Adds the names of their tensors to `used`.
    pub fn load<'a>(
        device: &'a Device,
        gguf: &'a Gguf,
        config: &ModelConfig,
        layers: Range<usize>,
        used: &'a mut BTreeSet<String>,
    ) -> Result<Self> {
        let (width, vocabulary) = (config.width, config.vocabulary);
        let (is_first, is_last) = (layers.start == 0, layers.end == config.layers.len());
        let output_name = match gguf.tensor(OUTPUT) {
            Ok(_) => OUTPUT,
            // A model without such a matrix computes the logits with its embeddings.
            Err(_) => EMBEDDING,
        };
        let is_needed = |name: &str| match layer_of(name) {
            Some(layer) => layers.contains(&layer),
            None => {
                (is_first && name == EMBEDDING)
                    || (is_last && [OUTPUT_NORM, output_name].contains(&name))
            }
        };
        let mut loader = Loader::new(device, gguf, is_needed, used)?;
        let embedding = is_first
            .then(|| loader.matrix(EMBEDDING, vocabulary, width))
            .transpose()?;
        let layers = layers
            .map(|layer| LayerWeights::load(&mut loader, layer, config))
            .collect::<Result<_>>()?;
        let output = is_last.then(|| {
            Ok::<_, Error>(OutputWeights {
                norm: loader.vector(OUTPUT_NORM, width)?,
                matrix: Linear::plain(match &embedding {
                    Some(embedding) if output_name == EMBEDDING => embedding.clone(),
                    _ => loader.matrix(output_name, vocabulary, width)?,
                }),
            })
        });
        let output = output.transpose()?;
        let ropes = load_ropes(device, &mut loader, config)?;
        Ok(Self {
            embedding,
            layers,
            output,
            ropes,
        })
    }
}

/// Bytes of the weights of each layer.
pub(super) fn layer_sizes(gguf: &Gguf, layers: usize) -> Vec<u64> {
    let mut sizes = vec![0u64; layers];
    for tensor in gguf.tensors() {
        if let Some(size) = layer_of(tensor.name()).and_then(|layer| sizes.get_mut(layer)) {
            *size = size.saturating_add(tensor.byte_len());
        }
    }
    sizes
}

/// Refuses a file with tensors that nothing has asked for, such as experts: without them the results would be
/// wrong.
pub(super) fn refuse_leftovers(gguf: &Gguf, used: &BTreeSet<String>) -> Result<()> {
    let mut tensors = gguf.tensors().iter();
    match tensors.find(|tensor| !used.contains(tensor.name())) {
        Some(tensor) => Err(Error::Unsupported(format!(
            "the model has a tensor {:?}, which this engine does not use",
            tensor.name()
        ))),
        None => Ok(()),
    }
}

/// The number of the layer that a tensor belongs to, by its name.
fn layer_of(name: &str) -> Option<usize> {
    let (layer, _) = name.strip_prefix("blk.")?.split_once('.')?;
    layer.parse().ok()
}

impl LayerWeights {
    fn load(loader: &mut Loader<'_>, layer: usize, config: &ModelConfig) -> Result<Self> {
        let mut parts = Parts { loader, layer };
        let (width, head_dim) = (config.width, config.head_dim);
        let [query, key, value] = parts.query_key_value(config)?;
        let has = config.parts;
        Ok(Self {
            config: config.layers[layer],
            attention_norm: parts.norm("attn_norm", width)?,
            query,
            key,
            value,
            head_norms: match has.head_norms {
                true => Some([
                    parts.norm("attn_q_norm", head_dim)?,
                    parts.norm("attn_k_norm", head_dim)?,
                ]),
                false => None,
            },
            sinks: match has.sinks {
                true => Some(parts.norm("attn_sinks", config.heads)?),
                false => None,
            },
            attention_output: parts.linear(
                "attn_output",
                width,
                config.query_width(),
                has.biases == Biases::All,
            )?,
            attention_post_norm: match has.post_norms {
                true => Some(parts.norm("post_attention_norm", width)?),
                false => None,
            },
            feed_forward_norm: parts.norm(has.feed_forward_norm, width)?,
            feed_forward: match config.experts {
                None => parts.feed_forward(config)?,
                Some(experts) => parts.experts(config, experts)?,
            },
            feed_forward_post_norm: match has.post_norms {
                true => Some(parts.norm("post_ffw_norm", width)?),
                false => None,
            },
        })
    }
}

/// The parts of one layer in the file.
struct Parts<'a, 'b> {
    loader: &'a mut Loader<'b>,
    layer: usize,
}

impl Parts<'_, '_> {
    fn name(&self, part: &str) -> String {
        format!("blk.{}.{part}", self.layer)
    }

    /// The weights of a norm, or another vector of that kind of name.
    fn norm(&mut self, part: &str, length: usize) -> Result<Vector> {
        let name = self.name(&format!("{part}.weight"));
        self.loader.vector(&name, length)
    }

    fn bias(&mut self, part: &str, length: usize) -> Result<Vector> {
        let name = self.name(&format!("{part}.bias"));
        self.loader.vector(&name, length)
    }

    fn matrix(&mut self, part: &str, rows: usize, columns: usize) -> Result<Weight> {
        let name = self.name(&format!("{part}.weight"));
        self.loader.matrix(&name, rows, columns)
    }

    /// A matrix, with a bias if it needs one or the file has it.
    fn linear(
        &mut self,
        part: &str,
        rows: usize,
        columns: usize,
        needs_bias: bool,
    ) -> Result<Linear> {
        let has_bias = needs_bias || self.has_bias(part);
        Ok(Linear {
            weight: self.matrix(part, rows, columns)?,
            bias: match has_bias {
                true => Some(self.bias(part, rows)?),
                false => None,
            },
        })
    }

    fn has_bias(&self, part: &str) -> bool {
        self.loader.has(&self.name(&format!("{part}.bias")))
    }

    /// Three matrices, or the rows of one.
    fn query_key_value(&mut self, config: &ModelConfig) -> Result<[Linear; 3]> {
        const FUSED: &str = "attn_qkv";
        let (width, queries, keys) = (config.width, config.query_width(), config.kv_width());
        if self.loader.has(&self.name(&format!("{FUSED}.weight"))) {
            let fused = self.matrix(FUSED, queries + 2 * keys, width)?;
            let ends = [0, queries, queries + keys, queries + 2 * keys];
            let rows = |part: usize| fused.rows_of(ends[part]..ends[part + 1]);
            return Ok([rows(0)?, rows(1)?, rows(2)?].map(Linear::plain));
        }
        let needs_bias = config.parts.biases != Biases::IfGiven;
        Ok([
            self.linear("attn_q", queries, width, needs_bias)?,
            self.linear("attn_k", keys, width, needs_bias)?,
            self.linear("attn_v", keys, width, needs_bias)?,
        ])
    }

    fn feed_forward(&mut self, config: &ModelConfig) -> Result<FeedForward> {
        let [gate, up] = self.gate_and_up(config)?;
        Ok(FeedForward {
            router: None,
            gate,
            up,
            down: self.linear("ffn_down", config.width, config.feed_forward, false)?,
        })
    }

    fn experts(&mut self, config: &ModelConfig, shape: ExpertShape) -> Result<FeedForward> {
        let (width, feed_forward) = (config.width, config.feed_forward);
        let (needs_bias, count) = (config.parts.biases == Biases::All, shape.experts);
        let router = self.linear("ffn_gate_inp", count, width, needs_bias)?;
        let mut of_all = |part: &str, rows, columns| -> Result<Linear> {
            let [weight, bias] =
                ["weight", "bias"].map(|kind| self.name(&format!("{part}.{kind}")));
            Ok(Linear {
                weight: self.loader.matrices(&weight, count, rows, columns)?,
                bias: match needs_bias {
                    true => Some(self.loader.vectors(&bias, count, rows)?),
                    false => None,
                },
            })
        };
        Ok(FeedForward {
            gate: of_all("ffn_gate_exps", feed_forward, width)?,
            up: of_all("ffn_up_exps", feed_forward, width)?,
            down: of_all("ffn_down_exps", width, feed_forward)?,
            router: Some((router, shape)),
        })
    }

    /// Two matrices, or the rows of one that has as many as both.
    fn gate_and_up(&mut self, config: &ModelConfig) -> Result<[Linear; 2]> {
        let (width, feed_forward) = (config.width, config.feed_forward);
        let has_gate = self.loader.has(&self.name("ffn_gate.weight"));
        let up_rows = self.loader.rows(&self.name("ffn_up.weight"));
        if !has_gate && up_rows == Some(2 * feed_forward as u64) {
            let fused = self.matrix("ffn_up", 2 * feed_forward, width)?;
            let rows = |from: usize| fused.rows_of(from..from + feed_forward);
            return Ok([rows(0)?, rows(feed_forward)?].map(Linear::plain));
        }
        Ok([
            self.linear("ffn_gate", feed_forward, width, false)?,
            self.linear("ffn_up", feed_forward, width, false)?,
        ])
    }
}
