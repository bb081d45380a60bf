//! The engine against exact answers: a float64 forward pass recorded for the shipped model, and one computed here for
//! models of random weights.

use crate::reference::Reference;
use crate::support::{
    best_and_margin, relative_l2, session, shipped, small, to_f64, tokens, write_model,
};
use metal_bridge::ops::{KvElement, WeightType};
use metal_bridge_llama::gguf::{Gguf, TensorType};
use metal_bridge_llama::{Model, Session, SessionOptions};
use metal_bridge_workloads::synthetic::{SyntheticModel, VocabularyKind};
use safetensors::SafeTensors;

/// What logits may differ from the exact ones, relative to their length.
const TOLERANCE: f64 = 1e-3;
/// The most that two orders of the same computation may differ by.
const SAME: f64 = 1e-4;

/// Prompts with the exact logits after each of their tokens.
fn recorded() -> Vec<(Vec<u32>, Vec<Vec<f64>>)> {
    let bytes = include_bytes!("../../../../models/tiny-stories/reference-q8_0.safetensors");
    let tensors = SafeTensors::deserialize(bytes).unwrap();
    let four = |b: &[u8]| [b[0], b[1], b[2], b[3]];
    (0..3)
        .map(|prompt| {
            let tokens = tensors.tensor(&format!("tokens.{prompt}")).unwrap();
            let tokens: Vec<u32> = tokens
                .data()
                .chunks_exact(4)
                .map(|b| u32::from_le_bytes(four(b)))
                .collect();
            let logits = tensors.tensor(&format!("logits.{prompt}")).unwrap();
            let [rows, columns] = logits.shape() else {
                panic!("logits of shape {:?}", logits.shape())
            };
            let floats: Vec<f64> = logits
                .data()
                .chunks_exact(4)
                .map(|b| f64::from(f32::from_le_bytes(four(b))))
                .collect();
            assert_eq!(floats.len(), rows * columns);
            (
                tokens,
                floats.chunks_exact(*columns).map(<[f64]>::to_vec).collect(),
            )
        })
        .collect()
}

/// Checks every row, and the greedy choice if the exact margin is too wide for the row's error to change it.
fn check(found: &[f32], expected: &[Vec<f64>], tolerance: f64) -> f64 {
    let vocabulary = expected[0].len();
    assert_eq!(found.len(), expected.len() * vocabulary);
    let mut worst = 0f64;
    let mut chosen = 0;
    for (position, (found, expected)) in found.chunks_exact(vocabulary).zip(expected).enumerate() {
        let distance = relative_l2(found, expected);
        assert!(
            distance < tolerance,
            "position {position}: {distance:.2e} from the exact logits"
        );
        worst = worst.max(distance);
        let (best, margin) = best_and_margin(expected);
        // Two logits can each be off by as much as the whole row.
        let length = expected.iter().map(|e| e * e).sum::<f64>().sqrt();
        if margin > 2.0 * distance * length {
            assert_eq!(
                best_and_margin(&to_f64(found)).0,
                best,
                "position {position}"
            );
            chosen += 1;
        }
    }
    assert!(
        chosen * 2 > expected.len(),
        "only {chosen} of {} choices are clear",
        expected.len()
    );
    worst
}

#[test]
fn the_shipped_model_gives_the_recorded_logits() {
    let model = shipped();
    for (tokens, expected) in recorded() {
        let mut session = session(&model, 512);
        // The last token of a text that has ended was never fed to the reference.
        let fed = &tokens[..expected.len()];
        let worst = check(
            &session.feed_with_logits(fed).unwrap(),
            &expected,
            TOLERANCE,
        );
        println!(
            "{} positions, at most {worst:.2e} from the exact logits",
            fed.len()
        );
    }
}

#[test]
fn prefill_in_batches_equals_token_by_token() {
    let model = shipped();
    let (tokens, expected) = recorded().swap_remove(0);
    let tokens = &tokens[..expected.len().min(60)];
    let mut one_by_one = session(&model, 1);
    let single: Vec<f32> = tokens
        .iter()
        .flat_map(|&token| {
            one_by_one.feed(&[token]).unwrap();
            one_by_one.logits().unwrap()
        })
        .collect();
    check(&single, &expected[..tokens.len()], TOLERANCE);
    for batch in [tokens.len(), 33, 7] {
        let mut session = session(&model, batch);
        let logits = session.feed_with_logits(tokens).unwrap();
        for (position, (found, expected)) in logits
            .chunks_exact(1024)
            .zip(single.chunks_exact(1024))
            .enumerate()
        {
            let distance = relative_l2(found, &to_f64(expected));
            assert!(
                distance < SAME,
                "batch {batch}, position {position}: {distance:.2e}"
            );
        }
        // Generation uses only the last row.
        session.truncate(0);
        session.feed(tokens).unwrap();
        let last = to_f64(&single[(tokens.len() - 1) * 1024..]);
        assert!(relative_l2(&session.logits().unwrap(), &last) < SAME);
    }
}

#[test]
fn greedy_decoding_follows_the_recorded_tokens() {
    let model = shipped();
    for (tokens, expected) in recorded() {
        let mut session = session(&model, 32);
        let mut sampler = metal_bridge_llama::sampling::Sampler::new(Default::default()).unwrap();
        for (position, expected) in expected.iter().enumerate() {
            session.feed(&tokens[position..=position]).unwrap();
            let (best, margin) = best_and_margin(expected);
            if margin > 2.0 * TOLERANCE * expected.iter().map(|e| e * e).sum::<f64>().sqrt() {
                assert_eq!(
                    session.sample(&mut sampler).unwrap() as usize,
                    best,
                    "position {position}"
                );
            }
        }
    }
}

#[test]
fn a_cache_of_bytes_gives_nearly_the_recorded_logits() {
    let model = shipped();
    let options = SessionOptions {
        cache_element: KvElement::Q8_0,
        ..SessionOptions::default()
    };
    let mut worst = 0f64;
    for (tokens, expected) in recorded() {
        let mut session = Session::with_options(&model, &options).unwrap();
        let logits = session.feed_with_logits(&tokens).unwrap();
        let rows = logits.chunks_exact(expected[0].len()).zip(&expected);
        let distances = rows.map(|(found, expected)| relative_l2(found, expected));
        worst = distances.fold(worst, f64::max);
    }
    println!("at most {worst:.2e} from the recorded logits");
    // More than any other cache loses, so these are bytes.
    assert!(worst > TOLERANCE && worst < 2e-2, "{worst:.2e}");
}

/// Feeds a model of random weights and compares with the float64 forward pass.
fn compare(model: &SyntheticModel, seed: u64, count: usize, element: KvElement, tolerance: f64) {
    let file = write_model(model, seed);
    let reference = Reference::new(Gguf::open(&file.path).unwrap());
    let tokens = tokens(count, model.vocabulary as usize);
    let expected = reference.logits(&tokens);
    let loaded = Model::load(&crate::support::device(), &file.path).unwrap();
    let options = SessionOptions {
        cache_element: element,
        batch: 48,
        ..SessionOptions::default()
    };
    let mut session = Session::with_options(&loaded, &options).unwrap();
    let logits = session.feed_with_logits(&tokens).unwrap();
    let worst = check(&logits, &expected, tolerance);
    println!(
        "{:?} with {element:?} caches: at most {worst:.2e} from the exact logits",
        model.matrix_types
    );
}

#[test]
fn llama_3_settings_equal_the_float64_forward_pass() {
    let model = SyntheticModel {
        layers: 22,
        width: 64,
        heads: 8,
        kv_heads: 2,
        // Not the width divided by the heads.
        head_dim: 16,
        feed_forward: 160,
        vocabulary: 512,
        context: 256,
        rope_base: 500_000.0,
        rope_factors: true,
        tied_output: true,
        vocabulary_kind: VocabularyKind::BytePair,
        ..SyntheticModel::tiny_llama()
    };
    compare(&model, 22, 72, KvElement::F16, TOLERANCE);
    compare(&model, 23, 72, KvElement::F32, SAME);
}

/// As many matrices as there are types: each has another.
#[test]
fn a_mixture_of_all_weight_types_is_exact() {
    let matrix_types = WeightType::ALL.map(|kind| {
        let of = TensorType::of(kind);
        assert_eq!(of.weight_type(), Some(kind));
        of
    });
    let mixed = SyntheticModel {
        width: 256,
        feed_forward: 256,
        head_dim: 64,
        matrix_types: matrix_types.to_vec(),
        ..small()
    };
    compare(&mixed, 4, 40, KvElement::F32, SAME);
}

/// What each type gives alone, with the tables of tokens too.
#[test]
fn common_weight_types_are_exact() {
    for matrix_type in [
        TensorType::F32,
        TensorType::F16,
        TensorType::Q8_0,
        TensorType::Q4_0,
    ] {
        let alone = SyntheticModel {
            matrix_types: vec![matrix_type],
            ..small()
        };
        compare(&alone, 4, 40, KvElement::F32, SAME);
    }
}

#[test]
fn linear_rope_scaling_and_single_heads_are_exact() {
    let scaled = SyntheticModel {
        rope_scale: Some(4.0),
        ..small()
    };
    compare(&scaled, 5, 40, KvElement::F32, SAME);
    let heads = SyntheticModel {
        heads: 2,
        kv_heads: 2,
        head_dim: 64,
        ..small()
    };
    compare(&heads, 6, 40, KvElement::F32, SAME);
    let one_head = SyntheticModel {
        heads: 1,
        kv_heads: 1,
        head_dim: 128,
        ..small()
    };
    compare(&one_head, 7, 40, KvElement::F32, SAME);
}
