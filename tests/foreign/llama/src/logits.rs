//! The same files through both engines: the logits after each token of a text, which is fed at once and token by token.

use std::path::{Path, PathBuf};

use metal_bridge::Device;
use metal_bridge::ops::{KvElement, WeightType};
use metal_bridge_llama::gguf::Gguf;
use metal_bridge_llama::{Model, Session, SessionOptions, quantize};
use metal_bridge_workloads::wide;
use safetensors::SafeTensors;

use crate::llama_cpp::{self, Outputs};

/// The fixtures of `crates/llama/tests/data/architectures`, with the logits of Hugging Face's implementations.
const FIXTURES: [&str; 14] = [
    "llama3",
    "llama-linear",
    "llama-yarn",
    "mistral",
    "mixtral",
    "qwen2",
    "qwen3",
    "qwen3moe",
    "gpt-oss",
    "smollm3",
    "granite",
    "phi3",
    "gemma2",
    "gemma3",
];

/// What of llama.cpp is known to compute otherwise than Hugging Face's implementation, and this engine with it: why.
fn known(name: &str) -> Option<&'static str> {
    Some(match name {
        "qwen2 fixture F32" | "qwen2 fixture F16" => {
            "llama.cpp wants heads that are as wide as the model together"
        }
        name if name.starts_with("gpt-oss") => {
            "llama.cpp rounds the pairs at which YaRN begins and ends"
        }
        _ => return None,
    })
}

/// Tokens that a text may have for llama.cpp, which does not know windows of these architectures and sees keys before them.
fn most_tokens(name: &str) -> usize {
    match name {
        name if name.starts_with("mistral") => 7,
        name if name.starts_with("phi3") => 11,
        _ => usize::MAX,
    }
}

/// What the logits of the two may differ by, relative to the length of their row: llama.cpp rounds activations to the type that its
/// products have with a format of weights, to halves, to bfloats or to bytes.
fn tolerance(name: &str, kind: WeightType) -> f64 {
    match kind {
        // llama.cpp takes the GELU from a table of halves.
        WeightType::F32 if name.starts_with("gemma") => 1e-3,
        WeightType::F32 => 5e-6,
        WeightType::F16 => 5e-3,
        WeightType::BF16 => 3e-2,
        _ => 1e-1,
    }
}

/// How many rows of a hundred may differ by more: a rounded activation can send a token to another expert.
fn others(name: &str, kind: WeightType) -> usize {
    let has_experts = name.contains("moe") || name.starts_with("mixtral");
    match has_experts && kind != WeightType::F32 {
        true => 10,
        false => 0,
    }
}

/// Compares everything with one of `only` in its name; gives how many comparisons failed.
pub fn compare(only: &[String]) -> usize {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("model.gguf");
    let mut failures = 0;
    for name in FIXTURES {
        let path = fixture(name, "gguf");
        let gguf = Gguf::open(&path).expect("a fixture");
        let mut run = |what: &str, kind, path: &Path| {
            let name = format!("{name} {what}");
            if only.is_empty() || only.iter().any(|part| name.contains(part.as_str())) {
                failures += usize::from(!agree(&name, kind, path));
            }
        };
        run("fixture F32", WeightType::F32, &path);
        let out = std::fs::File::create(&file).expect("a file");
        quantize::quantize(&gguf, WeightType::F16, out).expect("halves");
        run("fixture F16", WeightType::F16, &file);
        for kind in WeightType::ALL {
            // Heads of 12 elements do not fill the width.
            if name != "llama-linear" {
                wide::write(&gguf, kind, &file).expect("a model");
                run(&format!("wide {kind:?}"), kind, &file);
            }
        }
    }
    failures
}

fn fixture(name: &str, extension: &str) -> PathBuf {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../crates/llama/tests/data/architectures"
    );
    PathBuf::from(format!("{folder}/{name}.{extension}"))
}

fn words(name: &str, tensor: &str) -> Vec<u32> {
    let bytes = std::fs::read(fixture(name, "safetensors")).expect("recorded logits");
    let tensors = SafeTensors::deserialize(&bytes).expect("recorded logits");
    let data = tensors
        .tensor(tensor)
        .expect("recorded logits")
        .data()
        .to_vec();
    data.chunks_exact(4)
        .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        .collect()
}

/// What Hugging Face's implementation gives in double precision for so many tokens.
fn exact(name: &str, tokens: usize) -> Vec<f64> {
    let (all, bits) = (words(name, "tokens.0"), words(name, "logits.0"));
    let logits = bits.iter().map(|&bits| f32::from_bits(bits).into());
    logits.take(bits.len() / all.len() * tokens).collect()
}

/// Whether both give nearly the same logits, or differ as they are known to.
fn agree(name: &str, kind: WeightType, path: &Path) -> bool {
    let fixture = name.split(' ').next().unwrap_or(name);
    let mut tokens = words(fixture, "tokens.0");
    tokens.truncate(most_tokens(name));
    let pair = ours(path, &tokens).and_then(|ours| Ok((ours, theirs(path, &tokens)?)));
    let (ours, theirs) = match pair {
        Ok(pair) => pair,
        Err(reason) => {
            println!("{name:26} {}", known(name).unwrap_or(&reason));
            return known(name).is_some();
        }
    };
    let expected = ours.iter().map(|&x| f64::from(x)).collect::<Vec<_>>();
    let rows = 2 * tokens.len();
    let distances = distances(&theirs, &expected, rows);
    let far = distances
        .iter()
        .filter(|&&distance| distance > tolerance(name, kind))
        .count();
    let worst = distances.iter().copied().fold(0.0, f64::max);
    print!("{name:26} {rows:3} rows, at most {worst:.1e}");
    if far > 0 {
        print!(", {far} above {:.0e}", tolerance(name, kind));
    }
    if name.ends_with("fixture F32") {
        let exact = exact(fixture, tokens.len());
        let of = |logits: &[f32]| {
            let rows = self::distances(logits, &[&exact[..], &exact[..]].concat(), rows);
            rows.into_iter().fold(0.0, f64::max)
        };
        print!(
            "; from Hugging Face: ours {:.1e}, llama.cpp's {:.1e}",
            of(&ours),
            of(&theirs)
        );
    }
    let agrees = far * 100 <= others(name, kind) * rows;
    let verdict = match (agrees, known(name)) {
        (true, None) => String::new(),
        (false, Some(reason)) => format!("; {reason}"),
        (false, None) => "; DIFFERS".to_owned(),
        (true, Some(_)) => "; agrees, and is known not to".to_owned(),
    };
    println!("{verdict}");
    agrees == known(name).is_none()
}

/// The distance of each row from the other's, relative to its length.
fn distances(found: &[f32], expected: &[f64], rows: usize) -> Vec<f64> {
    assert_eq!(found.len(), expected.len());
    let columns = expected.len() / rows;
    let pairs = found
        .chunks_exact(columns)
        .zip(expected.chunks_exact(columns));
    let of_row = |(found, row): (&[f32], &[f64])| {
        let differences = found
            .iter()
            .zip(row)
            .map(|(&f, e)| (f64::from(f) - e).powi(2));
        let length: f64 = row.iter().map(|e| e * e).sum();
        let distance = (differences.sum::<f64>() / length).sqrt();
        if distance.is_nan() {
            f64::INFINITY
        } else {
            distance
        }
    };
    pairs.map(of_row).collect()
}

/// All at once, and token by token.
fn ours(path: &Path, tokens: &[u32]) -> Result<Vec<f32>, String> {
    let run = || -> Result<_, metal_bridge_llama::Error> {
        let model = Model::load(&Device::system_default()?, path)?;
        let options = SessionOptions {
            cache_element: KvElement::F32,
            ..SessionOptions::default()
        };
        let mut session = Session::with_options(&model, &options)?;
        let mut logits = session.feed_with_logits(tokens)?;
        session.truncate(0);
        for &token in tokens {
            session.feed(&[token])?;
            logits.extend(session.logits()?);
        }
        Ok(logits)
    };
    run().map_err(|error| error.to_string())
}

fn theirs(path: &Path, tokens: &[u32]) -> llama_cpp::Result<Vec<f32>> {
    let model = llama_cpp::Model::load(path)?;
    let mut context = model.context(64, 1)?;
    let mut logits = context.feed(tokens, Outputs::All)?;
    context.clear();
    for &token in tokens {
        logits.extend(context.feed(&[token], Outputs::Last)?);
    }
    Ok(logits)
}
