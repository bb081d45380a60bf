//! Translates the rotary embedding of `config.json` into keys, and tensors of divisors.

use std::f64::consts::TAU;

use super::config::Config;
use super::error::{DirectoryError, Result};
use super::folder::Fields;
use super::keys::Keys;
use crate::gguf::{self, Made, TensorInfo, TensorType, Value};

/// Writes the keys; the result are the tensors of divisors.
pub(super) fn translate(
    fields: &Fields,
    config: &Config,
    keys: &mut Keys,
) -> Result<Vec<TensorInfo>> {
    // Since version 5 of `transformers` there is one object with all of it. Where windows have an embedding of their own, it
    // has an object for each.
    let mut given = match fields.object("rope_parameters")? {
        Some(parameters) => Some(parameters),
        None => fields.object("rope_scaling")?,
    };
    let mut of_windows = fields.number("rope_local_base_freq")?;
    if let Some(all) = &given {
        if let Some(full) = all.object("full_attention")? {
            if let Some(windows) = all.object("sliding_attention")? {
                refuse_scaling(&windows)?;
                of_windows = windows.number("rope_theta")?;
            }
            given = Some(full);
        }
    }
    let within = |key: &str| -> Result<Option<f64>> {
        let own = given.as_ref().map(|given| given.number(key)).transpose()?;
        match own.flatten() {
            Some(value) => Ok(Some(value)),
            None => fields.number(key),
        }
    };
    let base = match within("rope_theta")? {
        Some(base) => base,
        // Files of the first two Llamas do not have the key.
        None if config.family.class == "LlamaForCausalLM" => 10_000.0,
        None => return Err(fields.missing("rope_theta")),
    };
    keys.float("rope.freq_base", base);
    if let Some(base) = of_windows {
        keys.float("rope.freq_base_swa", base);
    }
    if let Some(part) = within("partial_rotary_factor")? {
        let size = f64::from(config.head_size) * part;
        keys.count("rope.dimension_count", size as u32);
    }
    let original = within("original_max_position_embeddings")?;
    match &given {
        Some(given) => scaling(given, config, base, original, keys),
        None => Ok(Vec::new()),
    }
}

fn kind(given: &Fields) -> Result<&str> {
    let kind = given.text("rope_type")?;
    Ok(kind.or(given.text("type")?).unwrap_or("default"))
}

fn refuse_scaling(windows: &Fields) -> Result<()> {
    match kind(windows)? {
        "default" => Ok(()),
        other => Err(windows.unsupported(format!("rotary scaling {other:?} of windows"))),
    }
}

fn scaling(
    given: &Fields,
    config: &Config,
    base: f64,
    original: Option<f64>,
    keys: &mut Keys,
) -> Result<Vec<TensorInfo>> {
    let required =
        |key: &str| -> Result<f64> { given.number(key)?.ok_or_else(|| given.missing(key)) };
    const ORIGINAL: &str = "original_max_position_embeddings";
    let kind = kind(given)?;
    if kind == "linear" || kind == "yarn" {
        keys.set("rope.scaling.type", Value::String(kind.into()));
        keys.float("rope.scaling.factor", required("factor")?);
    }
    match kind {
        "default" | "linear" => Ok(Vec::new()),
        "yarn" => {
            yarn(given, original, keys)?;
            Ok(Vec::new())
        }
        "llama3" => {
            let original = original.ok_or_else(|| given.missing(ORIGINAL))?;
            let (low, high) = (required("low_freq_factor")?, required("high_freq_factor")?);
            let factor = required("factor")?;
            let half = config.head_size / 2;
            let divisor = |pair: u32| {
                let frequency = base.powf(-f64::from(pair) / f64::from(half));
                let turns = original * frequency / TAU;
                let smooth = ((turns - low) / (high - low)).clamp(0.0, 1.0);
                1.0 / ((1.0 - smooth) / factor + smooth)
            };
            let divisors = (0..half).map(divisor);
            Ok(vec![vector("rope_freqs.weight", divisors)?])
        }
        "longrope" | "su" if config.family.architecture == "phi3" => {
            let original = original.ok_or_else(|| given.missing(ORIGINAL))?;
            keys.count("rope.scaling.original_context_length", original as u32);
            let stretch = f64::from(config.context) / original;
            let magnitude = match given.number("attention_factor")? {
                Some(magnitude) => magnitude,
                None if stretch <= 1.0 => 1.0,
                None => (1.0 + stretch.ln() / original.ln()).sqrt(),
            };
            keys.float("rope.scaling.attn_factor", magnitude);
            let list = |key: &str, name: &str| {
                let list = given.numbers(key)?.ok_or_else(|| given.missing(key))?;
                vector(name, list.into_iter())
            };
            Ok(vec![
                list("long_factor", "rope_factors_long.weight")?,
                list("short_factor", "rope_factors_short.weight")?,
            ])
        }
        other => Err(given.unsupported(format!("rotary scaling {other:?}"))),
    }
}

fn yarn(given: &Fields, original: Option<f64>, keys: &mut Keys) -> Result<()> {
    for key in ["mscale", "mscale_all_dim"] {
        if given.get(key).is_some() {
            return Err(given.unsupported(format!("{key} of YaRN")));
        }
    }
    if given.flag("truncate")? == Some(false) {
        return Err(given.unsupported("truncate false of YaRN"));
    }
    if let Some(original) = original {
        keys.count("rope.scaling.original_context_length", original as u32);
    }
    for (key, name) in [
        ("beta_fast", "rope.scaling.yarn_beta_fast"),
        ("beta_slow", "rope.scaling.yarn_beta_slow"),
    ] {
        if let Some(turns) = given.number(key)? {
            keys.float(name, turns);
        }
    }
    if let (Some(magnitude), Some(factor)) =
        (given.number("attention_factor")?, given.number("factor")?)
    {
        // Files have what the factor's own magnitude is multiplied by.
        let own = 1.0 + 0.1 * factor.max(1.0).ln();
        keys.float("rope.scaling.attn_factor", magnitude / own);
    }
    Ok(())
}

fn vector(name: &str, values: impl Iterator<Item = f64>) -> Result<TensorInfo> {
    let bytes: Vec<u8> = values
        .flat_map(|value| (value as f32).to_le_bytes())
        .collect();
    let length = bytes.len() as u64 / 4;
    gguf::made(name, &[length], TensorType::F32, Made::Bytes(bytes)).map_err(|reason| {
        DirectoryError::Tensor {
            tensor: name.to_owned(),
            reason,
        }
    })
}
