//! Tokens a second of both engines with all threads of a machine, in turns, so that both see the same load.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use metal_bridge::Device;
use metal_bridge::ops::WeightType;
use metal_bridge_llama::gguf::TensorType;
use metal_bridge_llama::{Model, Session, SessionOptions};
use metal_bridge_workloads::synthetic::SyntheticModel;

use crate::llama_cpp::{self, Outputs};

/// Tokens of a prompt, and tokens that are fed alone after it.
const PROMPT: usize = 128;
const ALONE: usize = 48;
const ROUNDS: usize = 5;

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
            layers: 4,
            matrix_types: vec![TensorType::of(kind)],
            ..SyntheticModel::tiny_llama()
        };
        model.write(&path, 1).expect("a model");
        path
    };
    let shipped = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../models/tiny-stories/tiny-stories-q8_0.gguf"
    );
    let models: [(&str, &dyn Fn() -> PathBuf); 4] = [
        ("tiny-stories Q8_0", &|| shipped.into()),
        ("4 layers of TinyLlama, Q8_0", &|| {
            synthetic(WeightType::Q8_0)
        }),
        ("4 layers of TinyLlama, Q4_K", &|| {
            synthetic(WeightType::Q4_K)
        }),
        ("4 layers of TinyLlama, F16", &|| synthetic(WeightType::F16)),
    ];
    let is_wanted =
        |name: &str| only.is_empty() || only.iter().any(|part| name.contains(part.as_str()));
    let mut failures = 0;
    for (name, path) in models.into_iter().filter(|(name, _)| is_wanted(name)) {
        match compare(&path()) {
            Ok((ours, theirs)) => {
                println!(
                    "{name:28} ours:      {}\n{:28} llama.cpp: {}",
                    ours.rates(),
                    "",
                    theirs.rates()
                );
            }
            Err(reason) => {
                println!("{name:28} {reason}");
                failures += 1;
            }
        }
    }
    failures
}

/// The least times of several rounds.
fn compare(path: &Path) -> Result<(Times, Times), String> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let run = |error: metal_bridge_llama::Error| error.to_string();
    let device = Device::system_default().map_err(|error| error.to_string())?;
    let model = Model::load(&device, path).map_err(run)?;
    let options = SessionOptions {
        context: Some(PROMPT + ALONE),
        batch: PROMPT,
        ..SessionOptions::default()
    };
    let mut session = Session::with_options(&model, &options).map_err(run)?;
    let theirs = llama_cpp::Model::load(path)?;
    let mut context = theirs.context(PROMPT + ALONE, threads)?;
    let tokens: Vec<u32> = (0..PROMPT + ALONE)
        .map(|i| (i * 97 % 1000) as u32)
        .collect();
    let mut best: Option<(Times, Times)> = None;
    // The first round compiles kernels and reads the file.
    for round in 0..=ROUNDS {
        session.truncate(0);
        context.clear();
        let ours = time(&tokens, |tokens| session.feed(tokens).map_err(run))?;
        let theirs = time(&tokens, |tokens| {
            context.feed(tokens, Outputs::Last).map(drop)
        })?;
        if round > 0 {
            best = Some(best.map_or((ours, theirs), |(a, b)| (a.least(ours), b.least(theirs))));
        }
    }
    best.ok_or_else(|| "no rounds".to_owned())
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
