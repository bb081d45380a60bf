//! [`ModelConfig`]: the hyperparameters of a model in the Llama architecture.

use metal_bridge::ops::MAX_HEAD_SIZE;

use super::error::{Error, Result};
use super::gguf::{Gguf, Required};

/// The shape of a Llama and the constants of its computation.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelConfig {
    /// The model's name, if the file has one.
    pub name: Option<String>,
    /// The number of layers.
    pub layers: usize,
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
    /// Elements of the feed-forward layer.
    pub feed_forward: usize,
    /// Tokens in the vocabulary: rows of the embedding matrix.
    pub vocabulary: usize,
    /// The most tokens that the model was trained for.
    pub context: usize,
    /// Added to the mean square in RMS norms.
    pub norm_epsilon: f32,
    /// Base of the rotary embedding's frequencies.
    pub rope_base: f32,
    /// Factor on positions: the reciprocal of a linear scaling factor, or 1.
    pub rope_scale: f64,
    /// Factor on attention scores.
    pub attention_scale: f32,
}

/// The largest dimension of a model: products of two fit into 64 bits, and kernels count in 32 bits.
const MAX_DIMENSION: u64 = 1 << 24;

impl ModelConfig {
    /// Reads and checks the hyperparameters.
    ///
    /// # Errors
    ///
    /// [`Error::UnsupportedArchitecture`] and [`Error::Unsupported`] for models that are not plain Llamas,
    /// [`Error::Gguf`] for keys that are missing or of a wrong type, [`Error::Hyperparameter`] for impossible values.
    pub fn from_gguf(gguf: &Gguf) -> Result<Self> {
        const ARCHITECTURE: &str = "general.architecture";
        let architecture = gguf.get_str(ARCHITECTURE).required(ARCHITECTURE)?;
        if architecture != "llama" {
            return Err(Error::UnsupportedArchitecture(architecture.to_owned()));
        }
        if gguf.get_u64("llama.expert_count")?.unwrap_or(0) > 0 {
            return Err(Error::Unsupported(
                "a mixture of experts (llama.expert_count)".into(),
            ));
        }
        let keys = Keys { gguf };
        let heads = keys.dimension("llama.attention.head_count")?;
        let width = keys.dimension("llama.embedding_length")?;
        let kv_heads = keys
            .optional_dimension("llama.attention.head_count_kv")?
            .unwrap_or(heads);
        if heads % kv_heads != 0 {
            let reason = format!("{heads} query heads do not divide evenly among them");
            return Err(hyperparameter(
                "llama.attention.head_count_kv",
                kv_heads,
                reason,
            ));
        }
        let key_length = keys.optional_dimension("llama.attention.key_length")?;
        let head_dim = match key_length {
            Some(head_dim) => head_dim,
            None if width % heads == 0 => width / heads,
            None => {
                let reason = format!(
                    "it must divide the width {width}, since llama.attention.key_length is missing"
                );
                return Err(hyperparameter("llama.attention.head_count", heads, reason));
            }
        };
        if head_dim % 4 != 0 || head_dim > MAX_HEAD_SIZE {
            let possible = format!("a multiple of 4 up to {MAX_HEAD_SIZE}");
            return Err(match key_length {
                Some(_) => {
                    let reason = format!("it must be {possible}");
                    hyperparameter("llama.attention.key_length", head_dim, reason)
                }
                None => {
                    let reason = format!(
                        "this gives heads of {head_dim} elements, which must be {possible}"
                    );
                    hyperparameter("llama.attention.head_count", heads, reason)
                }
            });
        }
        let value_dim = keys
            .optional_dimension("llama.attention.value_length")?
            .unwrap_or(head_dim);
        if value_dim != head_dim {
            let reason = format!(
                "the length of values differs from that of keys ({head_dim}), which is not supported"
            );
            return Err(hyperparameter(
                "llama.attention.value_length",
                value_dim,
                reason,
            ));
        }
        let rope_dim = keys
            .optional_dimension("llama.rope.dimension_count")?
            .unwrap_or(head_dim);
        if rope_dim % 2 != 0 || rope_dim > head_dim {
            let reason = format!("not an even number up to the head's {head_dim}");
            return Err(hyperparameter(
                "llama.rope.dimension_count",
                rope_dim,
                reason,
            ));
        }
        let embedding = gguf.tensor("token_embd.weight")?;
        let vocabulary = embedding.dimensions().get(1).copied().unwrap_or(1);
        Ok(Self {
            name: gguf.get_str("general.name")?.map(str::to_owned),
            layers: keys.dimension("llama.block_count")?,
            width,
            heads,
            kv_heads,
            head_dim,
            rope_dim,
            feed_forward: keys.dimension("llama.feed_forward_length")?,
            vocabulary: checked_dimension("token_embd.weight", vocabulary)?,
            context: keys.dimension("llama.context_length")?,
            norm_epsilon: keys.float("llama.attention.layer_norm_rms_epsilon", None)?,
            rope_base: keys.float("llama.rope.freq_base", Some(10_000.0))?,
            rope_scale: keys.rope_scale()?,
            attention_scale: keys.float(
                "llama.attention.scale",
                Some((head_dim as f32).sqrt().recip()),
            )?,
        })
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

struct Keys<'a> {
    gguf: &'a Gguf,
}

impl Keys<'_> {
    fn dimension(&self, key: &str) -> Result<usize> {
        Ok(Ok(self.optional_dimension(key)?).required(key)?)
    }

    fn optional_dimension(&self, key: &str) -> Result<Option<usize>> {
        self.gguf
            .get_u64(key)?
            .map(|value| checked_dimension(key, value))
            .transpose()
    }

    /// A positive float.
    fn float(&self, key: &str, default: Option<f32>) -> Result<f32> {
        let value = Ok(self.gguf.get_f32(key)?.or(default)).required(key)?;
        if !(value.is_finite() && value > 0.0) {
            return Err(hyperparameter(key, value, "not a positive number".into()));
        }
        Ok(value)
    }

    fn rope_scale(&self) -> Result<f64> {
        const TYPE: &str = "llama.rope.scaling.type";
        let linear = match self.gguf.get_str(TYPE)? {
            None | Some("linear") => true,
            Some("none") => false,
            Some(other) => {
                return Err(Error::Unsupported(format!(
                    "rotary scaling of type {other:?} ({TYPE})"
                )));
            }
        };
        // Files from before the first key existed have the second one.
        let keys = ["llama.rope.scaling.factor", "llama.rope.scale_linear"];
        let key = keys
            .into_iter()
            .find(|key| linear && self.gguf.get(key).is_some());
        let factor = key.map_or(Ok(1.0), |key| self.float(key, None))?;
        Ok(f64::from(factor).recip())
    }
}

fn checked_dimension(key: &str, value: u64) -> Result<usize> {
    match usize::try_from(value) {
        Ok(dimension) if (1..=MAX_DIMENSION).contains(&value) => Ok(dimension),
        _ => Err(hyperparameter(
            key,
            value,
            format!("not between 1 and {MAX_DIMENSION}"),
        )),
    }
}

fn hyperparameter(key: &str, value: impl ToString, reason: String) -> Error {
    Error::Hyperparameter {
        key: key.to_owned(),
        value: value.to_string(),
        reason,
    }
}
