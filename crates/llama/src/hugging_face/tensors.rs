//! Translates names and shapes of tensors into those of a GGUF file.

use std::collections::BTreeMap;

use metal_bridge::ops::WeightType;
use safetensors::Dtype;

use super::config::Config;
use super::error::{DirectoryError, Result};
use super::shards::Source;
use crate::gguf::{self, Joined, Made, Span, TensorInfo, TensorType};

const OUTPUT: &str = "lm_head.weight";
/// Frequencies that old files have; they follow from the keys.
const FREQUENCIES: &str = ".rotary_emb.inv_freq";

/// The matrices of experts of one kind, by the name of the tensor of all and by the expert's number.
type Experts<'a> = BTreeMap<String, BTreeMap<u32, &'a Source>>;

/// Translates the tensors of a directory, which are sorted by their names.
pub(super) fn translate(sources: &[Source], config: &Config) -> Result<Vec<TensorInfo>> {
    let has_output = (sources.iter()).any(|source| source.name == OUTPUT);
    let is_tied = config.is_tied.unwrap_or(!has_output);
    if !is_tied && !has_output {
        return Err(DirectoryError::MissingTensor {
            file: "tie_word_embeddings of config.json is false".into(),
            tensor: OUTPUT.into(),
        });
    }
    let (mut tensors, mut experts) = (Vec::new(), Experts::new());
    for source in sources {
        // The embeddings take the place of a matrix that is tied to them, whatever it holds.
        if (is_tied && source.name == OUTPUT) || source.name.ends_with(FREQUENCIES) {
            continue;
        }
        match name(&source.name, config)? {
            Name::Tensor(name) => tensors.push(tensor(name, source, config)?),
            Name::Expert(name, expert) => {
                experts.entry(name).or_default().insert(expert, source);
            }
        }
    }
    for (name, sources) in experts {
        tensors.push(of_experts(&name, &sources, config.experts)?);
    }
    Ok(tensors)
}

/// What a tensor becomes.
enum Name {
    Tensor(String),
    /// A part of the tensor of this name: the matrix of an expert.
    Expert(String, u32),
}

fn name(name: &str, config: &Config) -> Result<Name> {
    let unknown = || DirectoryError::Tensor {
        tensor: name.to_owned(),
        reason: format!("{} does not have it", config.family.class),
    };
    match name {
        "model.embed_tokens.weight" => return Ok(Name::Tensor("token_embd.weight".into())),
        "model.norm.weight" => return Ok(Name::Tensor("output_norm.weight".into())),
        OUTPUT => return Ok(Name::Tensor("output.weight".into())),
        _ => {}
    }
    let within = name.strip_prefix("model.layers.").ok_or_else(unknown)?;
    let (layer, part) = within.split_once('.').ok_or_else(unknown)?;
    let layer: u32 = layer.parse().map_err(|_| unknown())?;
    let (part, kind) = part.rsplit_once('.').ok_or_else(unknown)?;
    if layer >= config.layers || !["weight", "bias"].contains(&kind) {
        return Err(unknown());
    }
    if let Some(part) = config.family.part(part) {
        return Ok(Name::Tensor(format!("blk.{layer}.{part}.{kind}")));
    }
    let experts = config.family.experts.as_ref().ok_or_else(unknown)?;
    let part = part.strip_prefix(experts.prefix).ok_or_else(unknown)?;
    let (expert, part) = part.split_once('.').ok_or_else(unknown)?;
    let expert: u32 = expert.parse().map_err(|_| unknown())?;
    let mut matrices = experts.matrices.iter();
    match matrices.find(|matrix| matrix.0 == part) {
        Some((_, part)) if kind == "weight" && expert < config.experts => {
            let name = format!("blk.{layer}.{part}.{kind}");
            Ok(Name::Expert(name, expert))
        }
        _ => Err(unknown()),
    }
}

fn element_type(source: &Source) -> Result<TensorType> {
    match source.info.dtype {
        Dtype::F32 => Ok(TensorType::F32),
        Dtype::F16 => Ok(TensorType::F16),
        Dtype::BF16 => Ok(TensorType::of(WeightType::BF16)),
        other => Err(DirectoryError::Tensor {
            tensor: source.name.clone(),
            reason: format!("elements of type {other} are not supported; F32, F16 and BF16 are"),
        }),
    }
}

/// The dimensions of a tensor, the contiguous one first.
fn dimensions(source: &Source) -> Vec<u64> {
    let shape = source.info.shape.iter();
    shape.rev().map(|&length| length as u64).collect()
}

fn span(source: &Source) -> Span {
    let (start, end) = source.info.data_offsets;
    Span {
        file: source.file,
        offset: source.offset,
        byte_len: (end - start) as u64,
    }
}

fn tensor(name: String, source: &Source, config: &Config) -> Result<TensorInfo> {
    let invalid = |reason| DirectoryError::Tensor {
        tensor: source.name.clone(),
        reason,
    };
    let (dimensions, element_type) = (dimensions(source), element_type(source)?);
    let is_part = |part: &str| name.contains(&format!(".{part}."));
    let heads = match config.family.is_interleaved {
        true if is_part("attn_q") => Some(config.heads),
        true if is_part("attn_k") => Some(config.kv_heads),
        _ => None,
    };
    if let Some(heads) = heads {
        let rows = dimensions
            .get(1)
            .or(dimensions.first())
            .copied()
            .unwrap_or(1);
        if dimensions.len() > 2 || rows % (2 * u64::from(heads)) != 0 {
            let shape = &source.info.shape;
            let reason = format!("shape {shape:?} does not divide among {heads} heads of pairs");
            return Err(invalid(reason));
        }
    }
    let plus_one = config.family.has_small_norms && name.ends_with("norm.weight");
    // The engine's vectors are F32, as those of GGUF files.
    let target = match dimensions.len() {
        2.. if !plus_one => element_type,
        _ => TensorType::F32,
    };
    if heads.is_none() && !plus_one && target == element_type {
        let place = (source.file, source.offset);
        return gguf::in_file(&name, &dimensions, element_type, place).map_err(invalid);
    }
    let joined = Joined {
        spans: vec![span(source)],
        element_type,
        interleaved_heads: heads.map(|heads| heads as usize),
        plus_one,
    };
    gguf::made(&name, &dimensions, target, Made::Joined(joined)).map_err(invalid)
}

/// The matrices of all experts as one tensor.
fn of_experts(name: &str, sources: &BTreeMap<u32, &Source>, count: u32) -> Result<TensorInfo> {
    let invalid = |reason| DirectoryError::Tensor {
        tensor: name.to_owned(),
        reason,
    };
    let missing = |expert| invalid(format!("the matrix of expert {expert} is missing"));
    let is_there = |expert: &u32| sources.contains_key(expert);
    if let Some(expert) = (0..count).find(|expert| !is_there(expert)) {
        return Err(missing(expert));
    }
    let Some(first) = sources.get(&0) else {
        return Err(missing(0));
    };
    let form = |source: &Source| (source.info.shape.clone(), source.info.dtype);
    if let Some((expert, _)) = (sources.iter()).find(|(_, source)| form(source) != form(first)) {
        let reason = format!("the matrix of expert {expert} has another shape or type");
        return Err(invalid(reason));
    }
    let mut dimensions = dimensions(first);
    dimensions.push(u64::from(count));
    let element_type = element_type(first)?;
    let joined = Joined {
        spans: sources.values().map(|source| span(source)).collect(),
        element_type,
        interleaved_heads: None,
        plus_one: false,
    };
    gguf::made(name, &dimensions, element_type, Made::Joined(joined)).map_err(invalid)
}
