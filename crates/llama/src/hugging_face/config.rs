//! Translates `config.json` into the keys of a GGUF file.
//!
//! A class of Hugging Face's `transformers` reads the keys that it knows. What the engine cannot do of them is an error here;
//! other keys change nothing there either.

use metal_bridge::ops::MAX_HEAD_SIZE;
use serde_json::Value as Json;

use super::error::Result;
use super::families::{Family, Windows, classes};
use super::folder::Fields;
use super::keys::Keys;
use crate::gguf::{Array, Value};

/// What the translation of tensors needs of it.
pub(super) struct Config {
    pub family: &'static Family,
    pub layers: u32,
    pub heads: u32,
    pub kv_heads: u32,
    /// Elements of a head.
    pub head_size: u32,
    pub context: u32,
    pub experts: u32,
    /// Tokens that have an embedding, if the file says it.
    pub embeddings: Option<u32>,
    /// Whether the logits are computed with the embeddings, if the file says it.
    pub is_tied: Option<bool>,
}

/// The values that the keys of a class may have so that the engine does what `transformers` does.
const REQUIRED: &[(&str, bool)] = &[
    ("norm_topk_prob", true),
    ("use_bidirectional_attention", false),
];

impl Config {
    /// Reads the file and writes the keys, without those of the rotary embedding.
    pub fn read(fields: &Fields) -> Result<(Self, Keys)> {
        let classes_given = fields.texts("architectures")?.unwrap_or_default();
        let Some(class) = classes_given.first() else {
            return Err(fields.missing("architectures"));
        };
        let Some(family) = Family::named(class) else {
            let supported = classes();
            return Err(fields.unsupported(format!(
                "the architecture {class:?} (supported are {supported})"
            )));
        };
        if fields.get("quantization_config").is_some() {
            return Err(fields.unsupported("a quantized model (quantization_config)"));
        }
        for &(key, only) in REQUIRED {
            if fields.flag(key)?.is_some_and(|value| value != only) {
                return Err(fields.unsupported(format!("{key} {}", !only)));
            }
        }
        for key in ["hidden_activation", "hidden_act"] {
            match fields.text(key)? {
                None => continue,
                Some(activation) if activation == family.activation => break,
                Some(other) => return Err(fields.unsupported(format!("{key} {other:?}"))),
            }
        }
        let required = |key: &str| fields.count(key)?.ok_or_else(|| fields.missing(key));
        let (width, heads) = (required("hidden_size")?, required("num_attention_heads")?);
        let head_size = fields.count("head_dim")?;
        let config = Self {
            family,
            layers: required("num_hidden_layers")?,
            heads,
            kv_heads: fields.count("num_key_value_heads")?.unwrap_or(heads),
            head_size: head_size.unwrap_or(width.checked_div(heads).unwrap_or(0)),
            context: required("max_position_embeddings")?,
            experts: experts(fields, family)?,
            embeddings: fields.count("vocab_size")?,
            is_tied: fields.flag("tie_word_embeddings")?,
        };
        for (key, count) in [
            ("num_attention_heads", config.heads),
            ("num_key_value_heads", config.kv_heads),
            ("head_dim", config.head_size),
        ] {
            if count == 0 {
                return Err(fields.wrong(key, "a positive number"));
            }
        }
        // The divisors of a rotary embedding are made from it.
        if config.head_size as usize > MAX_HEAD_SIZE {
            let what = format!("a head of more than {MAX_HEAD_SIZE} elements");
            return Err(fields.unsupported(what));
        }
        let mut keys = Keys::new(family.architecture);
        keys.count("context_length", config.context);
        keys.count("embedding_length", width);
        keys.count("block_count", config.layers);
        keys.count("feed_forward_length", required("intermediate_size")?);
        keys.count("attention.head_count", config.heads);
        keys.count("attention.head_count_kv", config.kv_heads);
        if let Some(size) = head_size {
            keys.count("attention.key_length", size);
            keys.count("attention.value_length", size);
        }
        if let Some(embeddings) = config.embeddings {
            keys.count("vocab_size", embeddings);
        }
        let epsilon = fields.number("rms_norm_eps")?;
        keys.float(
            "attention.layer_norm_rms_epsilon",
            epsilon.ok_or_else(|| fields.missing("rms_norm_eps"))?,
        );
        windows(fields, &config, &mut keys)?;
        experts_keys(fields, &config, &mut keys)?;
        scales(fields, family, &mut keys)?;
        layers_without_rope(fields, family, config.layers)?;
        Ok((config, keys))
    }
}

/// The number of experts; 0 without experts.
fn experts(fields: &Fields, family: &Family) -> Result<u32> {
    if family.experts.is_none() {
        return Ok(0);
    }
    let count = match fields.count("num_experts")? {
        Some(count) => Some(count),
        None => fields.count("num_local_experts")?,
    };
    count.ok_or_else(|| fields.missing("num_experts"))
}

fn experts_keys(fields: &Fields, config: &Config, keys: &mut Keys) -> Result<()> {
    if config.family.experts.is_none() {
        return Ok(());
    }
    let has_dense = fields
        .list("mlp_only_layers")?
        .is_some_and(|list| !list.is_empty());
    if has_dense || fields.count("decoder_sparse_step")?.unwrap_or(1) != 1 {
        let what =
            "a mixture of experts in some layers only (mlp_only_layers, decoder_sparse_step)";
        return Err(fields.unsupported(what));
    }
    let used = fields.count("num_experts_per_tok")?;
    keys.count("expert_count", config.experts);
    keys.count(
        "expert_used_count",
        used.ok_or_else(|| fields.missing("num_experts_per_tok"))?,
    );
    if let Some(length) = fields.count("moe_intermediate_size")? {
        keys.count("expert_feed_forward_length", length);
    }
    Ok(())
}

fn windows(fields: &Fields, config: &Config, keys: &mut Keys) -> Result<()> {
    let length = fields.count("sliding_window")?;
    let types = fields.texts("layer_types")?;
    let is_window = |kind: &str| match kind {
        "sliding_attention" => Ok(true),
        "full_attention" => Ok(false),
        other => Err(fields.unsupported(format!("the layer type {other:?}"))),
    };
    let types: Option<Vec<bool>> = types
        .map(|types| types.into_iter().map(is_window).collect())
        .transpose()?;
    let some_have = |wanted: bool| (types.iter().flatten()).any(|&has| has == wanted);
    match config.family.windows {
        Windows::Never => {}
        Windows::IfUsed => {
            let is_used = fields.flag("use_sliding_window")?.unwrap_or(false);
            if (is_used && length.is_some()) || some_have(true) {
                return Err(fields.unsupported("use_sliding_window"));
            }
        }
        Windows::All => {
            if length.is_some() && some_have(false) {
                return Err(fields.unsupported("a window in some layers only (layer_types)"));
            }
            if let Some(length) = length {
                keys.count("attention.sliding_window", length);
            }
        }
        Windows::AllButOneOf(period) => {
            let length = length.ok_or_else(|| fields.missing("sliding_window"))?;
            keys.count("attention.sliding_window", length);
            const PATTERN: &str = "attention.sliding_window_pattern";
            match (types, fields.count("sliding_window_pattern")?) {
                (Some(types), _) => keys.set(PATTERN, Value::Array(Array::Bool(types))),
                (None, given) => keys.count(PATTERN, given.unwrap_or(period)),
            }
        }
    }
    Ok(())
}

/// Factors on embeddings, scores, what layers add, and logits, and soft caps.
fn scales(fields: &Fields, family: &Family, keys: &mut Keys) -> Result<()> {
    const SCALES: [(&str, &str); 4] = [
        ("attention_multiplier", "attention.scale"),
        ("embedding_multiplier", "embedding_scale"),
        ("residual_multiplier", "residual_scale"),
        ("logits_scaling", "logit_scale"),
    ];
    const CAPS: [&str; 2] = ["attn_logit_softcapping", "final_logit_softcapping"];
    let required =
        |key: &str| -> Result<f64> { fields.number(key)?.ok_or_else(|| fields.missing(key)) };
    if family.architecture == "granite" {
        for (key, scale) in SCALES {
            keys.float(scale, required(key)?);
        }
    }
    if family.architecture == "gemma2" {
        for key in CAPS {
            keys.float(key, required(key)?);
        }
    }
    if family.architecture == "gemma3" {
        for key in CAPS {
            if fields.get(key).is_some() {
                return Err(fields.unsupported(format!("{key} of this architecture")));
            }
        }
    }
    if family.architecture.starts_with("gemma") {
        // In single precision, as the engine computes the scale of files that do not say it.
        let scale = (required("query_pre_attn_scalar")? as f32).sqrt().recip();
        keys.float("attention.scale", f64::from(scale));
    }
    Ok(())
}

/// Refuses other layers without a rotary embedding than the engine's.
fn layers_without_rope(fields: &Fields, family: &Family, layers: u32) -> Result<()> {
    let list = fields.list("no_rope_layers")?;
    let Some(list) = list.filter(|_| family.architecture == "smollm3") else {
        return Ok(());
    };
    let has_rope = |layer: usize| u64::from((layer + 1) % 4 != 0);
    let mut all = list.iter().enumerate();
    let is_known = list.len() == layers as usize
        && all.all(|(layer, has)| has.as_u64() == Some(has_rope(layer)));
    match is_known {
        true => Ok(()),
        false => {
            let layers = Json::from(list.to_vec());
            Err(fields.unsupported(format!("no_rope_layers {layers}")))
        }
    }
}
