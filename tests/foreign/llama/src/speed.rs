//! Tokens a second of both engines with all threads of a machine, in turns, so that both see the same load. Ours runs with
//! activations in f32, and rounded to 8 bits, as llama.cpp does in blocks of another size.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use metal_bridge::Device;
use metal_bridge::ops::{Activations, WeightType};
use metal_bridge_llama::gguf::TensorType;
use metal_bridge_llama::{Model, Session, SessionOptions};
use metal_bridge_workloads::synthetic::SyntheticModel;

use crate::llama_cpp::{self, Outputs};

/// Tokens of a prompt, and tokens that are fed alone after it.
const PROMPT: usize = 512;
const ALONE: usize = 32;
const ROUNDS: usize = 3;

/// What one engine took for a prompt and for the tokens after it.
#[derive(Clone, Copy)]
struct Times {
    prompt: Duration,
    alone: Duration,
}

impl Times {
    fn least(self, other: Self) -> Self {
        Self {
            prompt: self.prompt.min(other.prompt),
            alone: self.alone.min(other.alone),
        }
    }

    fn rates(self) -> String {
        let rate = |count: usize, time: Duration| count as f64 / time.as_secs_f64();
        let (prompt, alone) = (rate(PROMPT, self.prompt), rate(ALONE, self.alone));
        format!("prompt {prompt:8.1}, alone {alone:8.1} tokens/s")
    }
}

/// Measures models with one of `only` in their names; gives how many could not be.
pub fn measure(only: &[String]) -> usize {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let synthetic = |kind: WeightType| {
        let path = folder.path().join(format!("{kind:?}.gguf"));
        let model = SyntheticModel {
            matrix_types: vec![TensorType::of(kind)],
            ..SyntheticModel::tiny_llama()
        };
        model.write(&path, 1).expect("a model");
        path
    };
    let models: [(&str, &dyn Fn() -> PathBuf); 3] = [
        ("TinyLlama's shape, Q8_0", &|| synthetic(WeightType::Q8_0)),
        ("TinyLlama's shape, Q4_K", &|| synthetic(WeightType::Q4_K)),
        ("TinyLlama's shape, F16", &|| synthetic(WeightType::F16)),
    ];
    let is_wanted =
        |name: &str| only.is_empty() || only.iter().any(|part| name.contains(part.as_str()));
    let mut failures = 0;
    for (name, path) in models.into_iter().filter(|(name, _)| is_wanted(name)) {
        match compare(&path()) {
            Ok(engines) => {
                for (engine, times) in engines {
                    println!("{name:28} {engine:10} {}", times.rates());
                }
            }
            Err(reason) => {
                println!("{name:28} {reason}");
                failures += 1;
            }
        }
    }
    failures
}

/// The least times of several rounds, of each engine.
fn compare(path: &Path) -> Result<[(&'static str, Times); 3], String> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let run = |error: metal_bridge_llama::Error| error.to_string();
    let device = Device::system_default().map_err(|error| error.to_string())?;
    let model = Model::load(&device, path).map_err(run)?;
    let session = |activations| {
        let options = SessionOptions {
            context: Some(PROMPT + ALONE),
            activations,
            ..SessionOptions::default()
        };
        Session::with_options(&model, &options).map_err(run)
    };
    let (mut exact, mut rounded) = (session(Activations::F32)?, session(Activations::Int8)?);
    let theirs = llama_cpp::Model::load(path)?;
    let mut context = theirs.context(PROMPT + ALONE, threads)?;
    let tokens: Vec<u32> = (0..PROMPT + ALONE)
        .map(|i| (i * 97 % 1000) as u32)
        .collect();
    let mut round = || -> Result<[Times; 3], String> {
        exact.truncate(0);
        rounded.truncate(0);
        context.clear();
        Ok([
            time(&tokens, |tokens| exact.feed(tokens).map_err(run))?,
            time(&tokens, |tokens| rounded.feed(tokens).map_err(run))?,
            time(&tokens, |tokens| {
                context.feed(tokens, Outputs::Last).map(drop)
            })?,
        ])
    };
    // The first round compiles kernels and reads the file.
    round()?;
    let mut best = round()?;
    for _ in 1..ROUNDS {
        let times = round()?;
        best = std::array::from_fn(|i| best[i].least(times[i]));
    }
    let [exact, rounded, theirs] = best;
    Ok([("f32", exact), ("8 bits", rounded), ("llama.cpp", theirs)])
}

fn time(
    tokens: &[u32],
    mut feed: impl FnMut(&[u32]) -> Result<(), String>,
) -> Result<Times, String> {
    let start = Instant::now();
    feed(&tokens[..PROMPT])?;
    let prompt = start.elapsed();
    for token in tokens[PROMPT..].chunks_exact(1) {
        feed(token)?;
    }
    let alone = start.elapsed() - prompt;
    Ok(Times { prompt, alone })
}
