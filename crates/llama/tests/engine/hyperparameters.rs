//! Hyperparameters that no model can have, or that the engine does not run.

use crate::models::{Parts, refusal};
use crate::support::{device, small, write_model};
use metal_bridge_llama::gguf::{Array, Value};
use metal_bridge_llama::{Error, Model};

#[test]
fn impossible_hyperparameters_are_named() {
    for (key, value, part) in [
        (
            "llama.attention.head_count",
            Value::U32(0),
            "is 0: not between 1 and",
        ),
        (
            "llama.attention.head_count_kv",
            Value::U32(3),
            "4 query heads do not divide evenly among them",
        ),
        (
            "llama.attention.value_length",
            Value::U32(32),
            "the length of values differs from that of keys (16)",
        ),
        (
            "llama.attention.key_length",
            Value::U32(6),
            "it must be a multiple of 4 up to 256",
        ),
        (
            "llama.rope.dimension_count",
            Value::U32(18),
            "not an even number up to the head's 16",
        ),
        (
            "llama.rope.freq_base",
            Value::F32(f32::NAN),
            "not a positive number",
        ),
        (
            "llama.attention.layer_norm_rms_epsilon",
            Value::F32(-1.0),
            "not a positive number",
        ),
        (
            "llama.rope.scaling.factor",
            Value::F32(0.0),
            "not a positive number",
        ),
        (
            "llama.rope.freq_base",
            Value::F32(1e-40),
            "not finite at every position",
        ),
        (
            "llama.rope.scaling.factor",
            Value::F32(1e-40),
            "not finite at every position",
        ),
        (
            "llama.rope.scale_linear",
            Value::F32(1e-40),
            "not finite at every position",
        ),
        (
            "llama.context_length",
            Value::U64(u64::MAX),
            "not between 1 and",
        ),
        (
            "llama.embedding_length",
            Value::String("64".into()),
            "is string, expected an unsigned integer",
        ),
    ] {
        let error = refusal(|parts| parts.set(key, value));
        assert!(
            error.to_string().contains(part) && error.to_string().contains(key),
            "{error}"
        );
    }
    let error = refusal(|parts| {
        parts.remove("llama.attention.key_length");
        parts.set("llama.attention.head_count", Value::U32(32));
    });
    let expected = "\"llama.attention.head_count\" is 32: this gives heads of 2 elements";
    assert!(error.to_string().contains(expected), "{error}");
    let error = refusal(|parts| parts.remove("llama.context_length"));
    assert_eq!(
        error.to_string(),
        "metadata key \"llama.context_length\" is missing"
    );
    let error = refusal(|parts| {
        let texts = (0..400).map(|id| id.to_string()).collect();
        parts.set("tokenizer.ggml.tokens", Value::Array(Array::String(texts)));
        parts.remove("tokenizer.ggml.scores");
        parts.remove("tokenizer.ggml.token_type");
    });
    assert!(
        error
            .to_string()
            .contains("400 tokens: there are only 320 embeddings"),
        "{error}"
    );
}

#[test]
fn mixtures_that_the_engine_does_not_run_are_named() {
    for (key, value, part) in [
        ("expert_count", 4097, "is 4097: more than 4096 experts"),
        (
            "expert_shared_feed_forward_length",
            8,
            "is 8: experts that all tokens share",
        ),
        // None: what is missing then are the experts' tensors.
        (
            "expert_shared_feed_forward_length",
            0,
            "\"blk.0.ffn_gate_inp.weight\"",
        ),
    ] {
        let error = refusal(|parts| {
            parts.set("llama.expert_count", Value::U32(4));
            parts.set("llama.expert_used_count", Value::U32(2));
            parts.set(&format!("llama.{key}"), Value::U32(value));
        });
        assert!(error.to_string().contains(part), "{error}");
    }
}

/// Each with the keys that make YaRN, of which the last one is impossible.
#[test]
fn yarn_that_gives_no_numbers_is_named() {
    for (key, value, part) in [
        ("rope.freq_base", 1.0, "YaRN needs a base above 1"),
        ("rope.scaling.factor", 1e-40, "not finite at every position"),
        (
            "rope.scaling.attn_factor",
            f32::MAX,
            "too large to multiply elements by",
        ),
    ] {
        let key = format!("llama.{key}");
        let error = refusal(|parts| {
            parts.set("llama.rope.scaling.type", Value::String("yarn".into()));
            parts.set("llama.rope.scaling.factor", Value::F32(4.0));
            parts.set(&key, Value::F32(value));
        });
        let is_named = matches!(&error, Error::Hyperparameter { key: named, .. } if *named == key);
        assert!(is_named && error.to_string().contains(part), "{error}");
    }
}

#[test]
fn a_window_of_no_tokens_is_none() {
    let file = write_model(&small(), 6);
    let mut parts = Parts::of(&file);
    parts.set("llama.attention.sliding_window", Value::U32(0));
    parts.write(&file.path);
    let model = Model::load(&device(), &file.path).unwrap();
    assert!((model.config().layers.iter()).all(|layer| layer.window.is_none()));
}

#[test]
fn logits_are_not_divided_by_almost_nothing() {
    let error = refusal(|parts| {
        for (key, _) in &mut parts.metadata {
            *key = key.replace("llama.", "granite.");
        }
        parts.set("general.architecture", Value::String("granite".into()));
        parts.set("granite.logit_scale", Value::F32(1e-42));
    });
    let expected = "too small to divide logits by";
    assert!(error.to_string().contains("granite.logit_scale"), "{error}");
    assert!(error.to_string().contains(expected), "{error}");
}
