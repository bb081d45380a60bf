//! Each architecture against Hugging Face's own implementation: tiny random models, whose logits were recorded in float64
//! (`models/architectures/make.py`).

use std::path::PathBuf;

use crate::reference::Reference;
use crate::scheduler::{self, Listener};
use crate::support::{device, relative_l2};
use metal_bridge::Device;
use metal_bridge::ops::KvElement;
use metal_bridge_llama::gguf::Gguf;
use metal_bridge_llama::{Model, Scheduler, Session, SessionOptions};
use metal_bridge_test_support::in_child_with;
use safetensors::SafeTensors;

/// What logits may differ from the exact ones, relative to the length of their row, with caches of F32.
const TOLERANCE: f64 = 1e-5;
/// The same with caches of F16.
const ROUNDED: f64 = 1e-3;

/// What the float64 forward pass may differ by: the recorded logits are F32.
const EXACT: f64 = 1e-6;

/// The fixtures' names.
const ALL: [&str; 14] = [
    "llama3",
    "llama-linear",
    "llama-yarn",
    "mistral",
    "qwen2",
    "qwen3",
    "mixtral",
    "qwen3moe",
    "gpt-oss",
    "smollm3",
    "granite",
    "phi3",
    "gemma2",
    "gemma3",
];

pub fn path(name: &str, extension: &str) -> PathBuf {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/architectures");
    PathBuf::from(format!("{folder}/{name}.{extension}"))
}

/// Tokens, the context of the session that they are for, and the exact logits after each of them.
struct Text {
    tokens: Vec<u32>,
    context: usize,
    rows: Vec<Vec<f64>>,
}

fn texts(name: &str) -> Vec<Text> {
    let bytes = std::fs::read(path(name, "safetensors")).unwrap();
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    let words = |name: String| -> Option<Vec<u32>> {
        let data = tensors.tensor(&name).ok()?.data().to_vec();
        let word = |b: &[u8]| u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
        Some(data.chunks_exact(4).map(word).collect())
    };
    let text = |index: usize| {
        let tokens = words(format!("tokens.{index}"))?;
        let logits = words(format!("logits.{index}")).unwrap();
        let logits: Vec<f64> = (logits.iter())
            .map(|&bits| f64::from(f32::from_bits(bits)))
            .collect();
        let rows = logits.chunks_exact(logits.len() / tokens.len());
        Some(Text {
            rows: rows.map(<[f64]>::to_vec).collect(),
            context: words(format!("context.{index}")).unwrap()[0] as usize,
            tokens,
        })
    };
    (0..).map_while(text).collect()
}

fn session(model: &Model, text: &Text, options: SessionOptions) -> Session {
    let options = SessionOptions {
        context: Some(text.context),
        ..options
    };
    Session::with_options(model, &options).unwrap()
}

fn check(what: &str, found: &[f32], rows: &[Vec<f64>], tolerance: f64) -> f64 {
    assert_eq!(found.len(), rows.iter().map(Vec::len).sum::<usize>());
    let found = found.chunks_exact(rows[0].len());
    let distances = found.zip(rows).map(|(found, row)| relative_l2(found, row));
    let mut worst = 0f64;
    for (position, distance) in distances.enumerate() {
        assert!(
            distance < tolerance,
            "{what}, position {position}: {distance:.2e} from the exact logits"
        );
        worst = worst.max(distance);
    }
    worst
}

/// The logits after each token, if each is fed alone.
fn one_by_one(session: &mut Session, tokens: &[u32]) -> Vec<f32> {
    let each = tokens.iter().flat_map(|&token| {
        session.feed(&[token]).unwrap();
        session.logits().unwrap()
    });
    each.collect()
}

/// The tests' own forward pass, which others compare with.
fn check_reference(name: &str, text: &Text) {
    let gguf = Gguf::open(path(name, "gguf")).unwrap();
    let logits = Reference::with_context(gguf, text.context).logits(&text.tokens);
    for (position, (found, row)) in logits.iter().zip(&text.rows).enumerate() {
        let found: Vec<f32> = found.iter().map(|&logit| logit as f32).collect();
        let distance = relative_l2(&found, row);
        assert!(
            distance < EXACT,
            "{name}, position {position}: {distance:.2e}"
        );
    }
    assert_eq!(logits.len(), text.rows.len());
}

/// All at once, in batches that end in the middle of windows, and token by token.
fn check_text(name: &str, model: &Model, text: &Text) {
    let Text { tokens, rows, .. } = text;
    let mut worst = 0f64;
    for (batch, cache_element, tolerance) in [
        (64, KvElement::F32, TOLERANCE),
        (9, KvElement::F32, TOLERANCE),
        (5, KvElement::F32, TOLERANCE),
        (9, KvElement::F16, ROUNDED),
    ] {
        let what = format!("{name}, {cache_element:?}, batch {batch}");
        let options = SessionOptions {
            batch,
            cache_element,
            ..SessionOptions::default()
        };
        let mut session = session(model, text, options);
        let logits = session.feed_with_logits(tokens).unwrap();
        let distance = check(&what, &logits, rows, tolerance);
        if tolerance == TOLERANCE {
            worst = worst.max(distance);
        }
    }
    let single = [false, true].map(|replay| {
        let options = SessionOptions {
            replay,
            ..SessionOptions::default()
        };
        one_by_one(&mut session(model, text, options), tokens)
    });
    assert!(single[0] == single[1], "{name}: replayed logits differ");
    let what = format!("{name}, token by token");
    let distance = check(&what, &single[0], rows, TOLERANCE);
    println!("{name}: at most {:.2e}", worst.max(distance));
}

#[test]
fn logits_are_those_of_hugging_face() {
    let mut wrong = Vec::new();
    for name in ALL {
        let check = || {
            let model = Model::load(&device(), path(name, "gguf")).unwrap();
            let texts = texts(name);
            assert!(!texts.is_empty());
            for text in &texts {
                check_text(name, &model, text);
                check_reference(name, text);
            }
        };
        // Every architecture is looked at, also after one that is wrong.
        if std::panic::catch_unwind(check).is_err() {
            wrong.push(name);
        }
    }
    assert_eq!(wrong, [""; 0]);
}

/// Layers with a rotary embedding of their own lie on another device than those before them.
#[cfg(software_metal)]
#[test]
fn two_devices_share_layers_of_two_kinds() {
    in_child_with(
        "architectures::two_devices_share_layers_of_two_kinds",
        &[("SOFTWARE_METAL_DEVICES", "2")],
        || {
            let devices = Device::all().unwrap();
            assert_eq!(devices.len(), 2);
            let [one, two] = [&devices[..1], &devices].map(|devices| {
                let model = Model::load(devices, path("gemma3", "gguf")).unwrap();
                let text = &texts("gemma3")[0];
                let mut session = session(&model, text, SessionOptions::default());
                session.feed_with_logits(&text.tokens).unwrap()
            });
            assert!(one == two);
            check("gemma3", &two, &texts("gemma3")[0].rows, TOLERANCE);
        },
    );
}

/// Prompts of three lengths, one of them in several passes, beside each other and with drafts, and alone: where a row lies in a pass must
/// matter nowhere.
#[test]
fn texts_beside_each_other_are_those_that_they_are_alone() {
    let options = SessionOptions {
        draft_tokens: 9,
        ..scheduler::options(12)
    };
    let mut accepted = 0;
    for name in ALL {
        let model = Model::load(&device(), path(name, "gguf")).unwrap();
        let tokens = &texts(name)[0].tokens;
        let mut together = Scheduler::new(&model, 3, &options).unwrap();
        let parts = [&tokens[..5], &tokens[2..], &tokens[1..12]];
        let texts = parts.map(|prompt| {
            let (request, listener) =
                (scheduler::request(prompt.to_vec(), 16), Listener::default());
            together.add(request.clone(), listener.clone());
            together.step();
            (request, listener)
        });
        scheduler::run(&mut together);
        accepted += together.counts().accepted;
        for (request, listener) in &texts {
            let alone = scheduler::alone(&model, 12, request, listener);
            let what = format!("{name}, {} tokens", request.prompt.len());
            listener.told.borrow().assert_same(&alone, &what);
        }
        // The first token's logits are those of a session, and so of the recorded ones.
        let (request, listener) = &texts[1];
        let mut session = Session::new(&model).unwrap();
        session.feed(&request.prompt).unwrap();
        let told = listener.told.borrow();
        let first = session
            .log_probabilities(told.answer().tokens[0], 0)
            .unwrap();
        approx::assert_abs_diff_eq!(
            told.log_probabilities[0],
            first.chosen.value,
            epsilon = 1e-4
        );
    }
    assert!(accepted > 0);
}
