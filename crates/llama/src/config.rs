//! [`ModelConfig`]: the hyperparameters of a model.

use metal_bridge::ops::{ExpertShape, Gate, MAX_HEAD_SIZE, RopePairing};

use super::architecture::{Architecture, Biases, Experts, Windows};
use super::error::{Error, Result};
use super::gguf::{Gguf, Required};
use super::keys::{Keys, checked_dimension};
use super::rope::{RopeConfig, has_long_rope};

/// The most experts of a layer: the choice among them takes time that grows with the number of them times how many are
/// used.
const MAX_EXPERTS: usize = 4096;

const LOGIT_SCALE: &str = "logit_scale";

/// The shape of a model and the constants of its computation.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelConfig {
    /// The architecture, as the file names it.
    pub architecture: &'static str,
    /// The model's name, if the file has one.
    pub name: Option<String>,
    /// What differs from layer to layer.
    pub layers: Vec<LayerConfig>,
    /// Elements of a token's hidden state.
    pub width: usize,
    /// Query heads.
    pub heads: usize,
    /// Key and value heads; each serves `heads / kv_heads` query heads.
    pub kv_heads: usize,
    /// Elements of a head.
    pub head_dim: usize,
    /// Elements of a head that the rotary embedding turns.
    pub rope_dim: usize,
    /// Elements of the feed-forward layer, or of each of its experts.
    pub feed_forward: usize,
    /// The experts of the feed-forward layers, if these are mixtures, and how many of them a token goes to.
    pub experts: Option<ExpertShape>,
    /// The activation of the feed-forward layer.
    pub gate: Gate,
    /// Tokens in the vocabulary: rows of the embedding matrix.
    pub vocabulary: usize,
    /// The most tokens that the model was trained for.
    pub context: usize,
    /// Added to the mean square in RMS norms.
    pub norm_epsilon: f32,
    /// The rotary embeddings of the layers.
    pub ropes: Vec<RopeConfig>,
    /// Which elements of a head the rotary embedding turns together.
    pub rope_pairing: RopePairing,
    /// Factor on attention scores.
    pub attention_scale: f32,
    /// Soft cap of attention scores.
    pub attention_soft_cap: Option<f32>,
    /// Factor on embeddings.
    pub embedding_scale: f32,
    /// Factor on what layers add to the residual stream.
    pub residual_scale: f32,
    /// Factor on logits.
    pub logit_scale: f32,
    /// Soft cap of logits.
    pub logit_soft_cap: Option<f32>,
    /// How embeddings are made of hidden states, as the file numbers it.
    pub pooling_type: Option<u64>,
    /// Which parts a layer has.
    pub(crate) parts: Parts,
}

/// What differs from layer to layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerConfig {
    /// The most keys that a token sees: its own and those right before it. `None`: all.
    pub window: Option<usize>,
    /// Which of the model's rotary embeddings the layer has, if it has one.
    pub rope: Option<usize>,
}

/// Parts that layers have in some architectures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    pub biases: Biases,
    pub sinks: bool,
    pub feed_forward_norm: &'static str,
    pub head_norms: bool,
    pub post_norms: bool,
}

impl ModelConfig {
    /// Reads and checks the hyperparameters.
    ///
    /// # Errors
    ///
    /// [`Error::UnsupportedArchitecture`] and [`Error::Unsupported`] for models that the engine does not run, and for keys of the
    /// architecture that it does not know, [`Error::Gguf`] for keys that are missing or of a wrong type, [`Error::Hyperparameter`]
    /// for impossible values.
    pub fn from_gguf(gguf: &Gguf) -> Result<Self> {
        const ARCHITECTURE: &str = "general.architecture";
        let name = gguf.get_str(ARCHITECTURE).required(ARCHITECTURE)?;
        let Some(architecture) = Architecture::named(name) else {
            return Err(Error::UnsupportedArchitecture(name.to_owned()));
        };
        let keys = Keys::new(gguf, architecture.name);
        let heads = Heads::from_keys(&keys)?;
        let layers = keys.dimension("block_count")?;
        if layers > gguf.tensors().len() {
            let reason = format!("the file has only {} tensors", gguf.tensors().len());
            return Err(keys.refused("block_count", layers, reason));
        }
        let embedding = gguf.tensor("token_embd.weight")?;
        let vocabulary = embedding.dimensions().get(1).copied().unwrap_or(1);
        let context = keys.dimension("context_length")?;
        let experts = experts(&keys, architecture)?;
        let ropes = ropes(&keys, architecture, context, heads.rope_size, gguf)?;
        let scale = |name: &str| match architecture.has_scales {
            true => Ok(keys.optional_float(name)?.unwrap_or(1.0)),
            false => Ok::<_, Error>(1.0),
        };
        let soft_cap = |name: &str| match architecture.has_soft_caps {
            true => keys.float(name).map(Some),
            false => Ok(None),
        };
        let embedding_scale = match architecture.has_wide_embeddings {
            true => (heads.width as f32).sqrt(),
            false => scale("embedding_scale")?,
        };
        let config = Self {
            architecture: architecture.name,
            name: gguf.get_str("general.name")?.map(str::to_owned),
            layers: layer_configs(&keys, architecture, layers, ropes.len())?,
            width: heads.width,
            heads: heads.queries,
            kv_heads: heads.keys,
            head_dim: heads.size,
            rope_dim: heads.rope_size,
            feed_forward: feed_forward(&keys, experts.is_some())?,
            experts,
            gate: architecture.gate,
            vocabulary: checked_dimension("token_embd.weight", vocabulary)?,
            context,
            norm_epsilon: keys.float("attention.layer_norm_rms_epsilon")?,
            ropes,
            rope_pairing: architecture.pairing,
            attention_scale: match keys.optional_float("attention.scale")? {
                Some(scale) => scale,
                None => heads.scale(architecture, layers),
            },
            attention_soft_cap: soft_cap("attn_logit_softcapping")?,
            embedding_scale,
            residual_scale: scale("residual_scale")?,
            logit_scale: logit_factor(&keys, scale(LOGIT_SCALE)?)?,
            logit_soft_cap: soft_cap("final_logit_softcapping")?,
            pooling_type: keys.count("pooling_type")?,
            parts: Parts {
                biases: architecture.biases,
                sinks: architecture.has_sinks,
                feed_forward_norm: architecture.feed_forward_norm,
                head_norms: architecture.has_head_norms,
                post_norms: architecture.has_post_norms,
            },
        };
        keys.refuse_unknown()?;
        Ok(config)
    }

    /// Pairs of elements that the rotary embedding turns.
    pub(crate) fn pairs(&self) -> usize {
        self.rope_dim / 2
    }

    /// Elements of all query heads of a token.
    pub(crate) fn query_width(&self) -> usize {
        self.heads * self.head_dim
    }

    /// Elements of all key heads, or value heads, of a token.
    pub(crate) fn kv_width(&self) -> usize {
        self.kv_heads * self.head_dim
    }
}

/// The heads of attention.
struct Heads {
    width: usize,
    queries: usize,
    keys: usize,
    size: usize,
    rope_size: usize,
}

impl Heads {
    fn from_keys(keys: &Keys<'_>) -> Result<Self> {
        const COUNT: &str = "attention.head_count";
        const KV_COUNT: &str = "attention.head_count_kv";
        const SIZE: &str = "attention.key_length";
        let heads = keys.dimension(COUNT)?;
        let width = keys.dimension("embedding_length")?;
        let kv_heads = keys.optional_dimension(KV_COUNT)?.unwrap_or(heads);
        if heads % kv_heads != 0 {
            let reason = format!("{heads} query heads do not divide evenly among them");
            return Err(keys.refused(KV_COUNT, kv_heads, reason));
        }
        let key_length = keys.optional_dimension(SIZE)?;
        let head_dim = match key_length {
            Some(head_dim) => head_dim,
            None if width % heads == 0 => width / heads,
            None => {
                let missing = keys.key(SIZE);
                let reason =
                    format!("it must divide the width {width}, since {missing} is missing");
                return Err(keys.refused(COUNT, heads, reason));
            }
        };
        if head_dim % 4 != 0 || head_dim > MAX_HEAD_SIZE {
            let possible = format!("a multiple of 4 up to {MAX_HEAD_SIZE}");
            return Err(match key_length {
                Some(_) => keys.refused(SIZE, head_dim, format!("it must be {possible}")),
                None => {
                    let reason = format!(
                        "this gives heads of {head_dim} elements, which must be {possible}"
                    );
                    keys.refused(COUNT, heads, reason)
                }
            });
        }
        const VALUE_SIZE: &str = "attention.value_length";
        let value_dim = keys.optional_dimension(VALUE_SIZE)?.unwrap_or(head_dim);
        if value_dim != head_dim {
            let reason = format!(
                "the length of values differs from that of keys ({head_dim}), which is not supported"
            );
            return Err(keys.refused(VALUE_SIZE, value_dim, reason));
        }
        const ROPE_SIZE: &str = "rope.dimension_count";
        let rope_dim = keys.optional_dimension(ROPE_SIZE)?.unwrap_or(head_dim);
        if rope_dim % 2 != 0 || rope_dim > head_dim {
            let reason = format!("not an even number up to the head's {head_dim}");
            return Err(keys.refused(ROPE_SIZE, rope_dim, reason));
        }
        Ok(Self {
            width,
            queries: heads,
            keys: kv_heads,
            size: head_dim,
            rope_size: rope_dim,
        })
    }

    /// The factor on attention scores of a file that does not say it.
    fn scale(&self, architecture: &Architecture, layers: usize) -> f32 {
        let size = match architecture.scaled_by_width == Some(layers) {
            true => self.width as f32 / self.queries as f32,
            false => self.size as f32,
        };
        size.sqrt().recip()
    }
}

/// The rotary embedding of most layers, and then that of layers with a window if it is another.
fn ropes(
    keys: &Keys<'_>,
    architecture: &Architecture,
    context: usize,
    dimensions: usize,
    gguf: &Gguf,
) -> Result<Vec<RopeConfig>> {
    let is_whole = architecture.has_whole_yarn;
    let has_long = has_long_rope(gguf);
    let from_keys = RopeConfig::from_keys(keys, context, dimensions, has_long, is_whole)?;
    let mut ropes = vec![from_keys];
    if let Some(base) = architecture.window_rope_base {
        const BASE: &str = "rope.freq_base_swa";
        let base = keys.optional_float(BASE)?.unwrap_or(base);
        ropes.push(RopeConfig::plain(keys, BASE, base, dimensions)?);
    }
    Ok(ropes)
}

/// What logits are multiplied by, of what the file says that they are divided by.
fn logit_factor(keys: &Keys<'_>, scale: f32) -> Result<f32> {
    let factor = scale.recip();
    if !factor.is_finite() {
        let reason = "too small to divide logits by".into();
        return Err(keys.refused(LOGIT_SCALE, scale, reason));
    }
    Ok(factor)
}

fn experts(keys: &Keys<'_>, architecture: &Architecture) -> Result<Option<ExpertShape>> {
    const COUNT: &str = "expert_count";
    const USED: &str = "expert_used_count";
    const SHARED: &str = "expert_shared_feed_forward_length";
    let is_given = match architecture.experts {
        Experts::Never => false,
        // Files without experts may say that there are none.
        Experts::IfGiven => keys.count(COUNT)?.is_some_and(|count| count > 0),
        Experts::Always => true,
    };
    if !is_given {
        if architecture.experts == Experts::IfGiven {
            keys.count(USED)?;
        }
        return Ok(None);
    }
    if let Some(length) = keys.count(SHARED)?.filter(|&length| length > 0) {
        let reason = "experts that all tokens share are not supported".into();
        return Err(keys.refused(SHARED, length, reason));
    }
    let (experts, used) = (keys.dimension(COUNT)?, keys.dimension(USED)?);
    if experts > MAX_EXPERTS {
        let reason = format!("more than {MAX_EXPERTS} experts are not supported");
        return Err(keys.refused(COUNT, experts, reason));
    }
    if used > experts {
        let reason = format!("there are only {experts} experts");
        return Err(keys.refused(USED, used, reason));
    }
    Ok(Some(ExpertShape { experts, used }))
}

/// Elements of a feed-forward layer, or of an expert.
fn feed_forward(keys: &Keys<'_>, has_experts: bool) -> Result<usize> {
    let of_experts = match has_experts {
        true => keys.optional_dimension("expert_feed_forward_length")?,
        false => None,
    };
    // It may be missing, or be that of layers which the model does not have, if experts have a length of their own.
    const DENSE: &str = "feed_forward_length";
    match of_experts {
        Some(length) => {
            keys.count(DENSE)?;
            Ok(length)
        }
        None => keys.dimension(DENSE),
    }
}

fn layer_configs(
    keys: &Keys<'_>,
    architecture: &Architecture,
    layers: usize,
    ropes: usize,
) -> Result<Vec<LayerConfig>> {
    const WINDOW: &str = "attention.sliding_window";
    let window = match architecture.windows {
        Windows::Never => None,
        // Files without a window may say so.
        Windows::IfGiven if keys.count(WINDOW)? == Some(0) => None,
        Windows::IfGiven => keys.optional_dimension(WINDOW)?,
        Windows::AllButOneOf(_) => Some(keys.dimension(WINDOW)?),
    };
    let pattern = match window {
        None => None,
        Some(_) => keys.pattern("attention.sliding_window_pattern", layers)?,
    };
    let layer = |layer: usize| {
        let has_window =
            (pattern.as_ref()).map_or(architecture.has_window(layer), |all| all[layer]);
        let window = window.filter(|_| has_window);
        // The last one is that of windows, if there are two.
        let rope = if window.is_some() { ropes - 1 } else { 0 };
        LayerConfig {
            window,
            rope: architecture.has_rope(layer).then_some(rope),
        }
    };
    Ok((0..layers).map(layer).collect())
}
