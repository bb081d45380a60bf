//! Models of any architecture with rows as wide as the widest blocks, so that their matrices can be in every format: the parts of
//! another model, and random weights.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use metal_bridge::ops::WeightType;
use metal_bridge_llama::ModelConfig;
use metal_bridge_llama::gguf::{Gguf, GgufWriter, TensorInfo, TensorType, Value};
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

use crate::formats;

/// Elements of a hidden state, of all query heads, and of a feed-forward layer: a block of the K formats.
const WIDTH: u64 = 256;

/// Writes a model with the architecture, first layer, vocabulary and size of heads of `like`, whose matrices have random weights in a
/// format. Equal arguments give equal files.
///
/// # Errors
///
/// What the file system reports; [`io::ErrorKind::InvalidData`] if the engine does not run models like that one, or heads of its size are
/// not 256 elements wide together.
pub fn write(like: &Gguf, kind: WeightType, path: impl AsRef<Path>) -> io::Result<()> {
    let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
    let config = ModelConfig::from_gguf(like).map_err(invalid)?;
    let heads = heads(&config);
    if heads * config.head_dim as u64 != WIDTH || heads % config.kv_heads as u64 != 0 {
        let reason = format!("no heads of {} are {WIDTH} wide", config.head_dim);
        return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
    }
    let mut writer = GgufWriter::new();
    for (key, value) in like.metadata() {
        let hyperparameter = (key.strip_prefix(config.architecture))
            .and_then(|key| key.strip_prefix('.'))
            .unwrap_or_default();
        let size = match hyperparameter {
            "embedding_length" | "feed_forward_length" | "expert_feed_forward_length" => {
                Some(WIDTH)
            }
            "attention.head_count" => Some(heads),
            "block_count" => Some(1),
            _ => None,
        };
        // As all files have them, and llama.cpp wants them.
        let value = size.map_or(value.clone(), |size| Value::U32(size as u32));
        writer.metadata(key, value);
    }
    let is_of_another_layer = |name: &str| name.starts_with("blk.") && !name.starts_with("blk.0.");
    for tensor in like.tensors() {
        if is_of_another_layer(tensor.name()) {
            continue;
        }
        let element_type = match is_matrix(tensor) {
            true => TensorType::of(kind),
            false => TensorType::F32,
        };
        writer.tensor(tensor.name(), &dimensions(tensor, &config), element_type)?;
    }
    let mut random = Pcg64Mcg::seed_from_u64(14);
    let mut file = BufWriter::new(File::create(path)?);
    writer.write(&mut file, |tensor, out| {
        let name = tensor.name();
        if is_frequencies(name) {
            let same = like.tensor(name).map_err(io::Error::other)?;
            return out.write_all(&like.tensor_bytes(same).map_err(io::Error::other)?);
        }
        let count = tensor.element_count() as usize;
        let mut fill = |kind, size| formats::random(kind, count, size, &mut random);
        if is_matrix(tensor) {
            return out.write_all(&fill(kind, 1.2 / (WIDTH as f32).sqrt()));
        }
        if !name.ends_with("norm.weight") {
            return out.write_all(&fill(WeightType::F32, 0.4));
        }
        let floats = formats::decode(WeightType::F32, &fill(WeightType::F32, 0.2));
        let mut floats = floats.iter().map(|x| 1.0 + *x as f32);
        floats.try_for_each(|float| out.write_all(&float.to_le_bytes()))
    })?;
    file.flush()
}

/// Query heads of a wide model.
fn heads(config: &ModelConfig) -> u64 {
    WIDTH / config.head_dim as u64
}

fn is_matrix(tensor: &TensorInfo) -> bool {
    tensor.dimensions().len() > 1 && tensor.name().ends_with(".weight")
}

/// Whether a tensor divides the frequencies of the rotary embedding.
fn is_frequencies(name: &str) -> bool {
    name.starts_with("rope_")
}

/// The dimensions that a tensor has in the wide model.
fn dimensions(tensor: &TensorInfo, config: &ModelConfig) -> Vec<u64> {
    let old = tensor.dimensions();
    if is_frequencies(tensor.name()) {
        return old.to_vec();
    }
    let (stem, kind) = tensor.name().rsplit_once('.').unwrap_or_default();
    let part = stem.rsplit('.').next().unwrap_or_default();
    let keys = (config.kv_heads * config.head_dim) as u64;
    // The numbers of experts and tokens stay.
    let last = old.last().copied().unwrap_or(1);
    let mut dimensions = match part {
        "attn_q_norm" | "attn_k_norm" => vec![last],
        "attn_sinks" => vec![heads(config)],
        "attn_k" | "attn_v" => vec![WIDTH, keys],
        "attn_qkv" => vec![WIDTH, WIDTH + 2 * keys],
        "token_embd" | "output" | "ffn_gate_inp" => vec![WIDTH, last],
        "ffn_gate_exps" | "ffn_up_exps" | "ffn_down_exps" => vec![WIDTH, WIDTH, last],
        // Some architectures have the gate in it too.
        "ffn_up" => vec![WIDTH, last / config.feed_forward as u64 * WIDTH],
        _ if part.ends_with("norm") => vec![WIDTH],
        _ => vec![WIDTH, WIDTH],
    };
    // A bias has the rows of its matrix.
    if kind == "bias" {
        dimensions.remove(0);
    }
    dimensions
}
