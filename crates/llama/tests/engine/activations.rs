//! Sessions that round activations to 8 bits: how far their logits are off, and that their texts are the same beside others.

use crate::architectures::path;
use crate::scheduler::{Listener, VOCABULARY, alone_in, options, request, run};
use crate::support::{
    assert_live, device, relative_l2, settled, shipped, small, to_f64, tokens, write_model,
};
use metal_bridge::ops::{Activations, WeightType};
use metal_bridge::{Device, ObjectKind};
use metal_bridge_llama::gguf::Gguf;
use metal_bridge_llama::{Model, Scheduler, Session, SessionOptions};
use metal_bridge_test_support::in_child;
use metal_bridge_workloads::wide;

/// The error of a product with rounded activations, relative to its length. An element is off by up to half of its block's
/// scale, which is a 254th of the largest of 32 elements, and evenly so: by `largest` / (127 * sqrt(12)) in the mean of squares. The
/// largest of 32 normally distributed elements is about 2.3 times as large as their mean.
const OF_PRODUCT: f64 = 2.3 / (127.0 * 3.46);

fn int8(options: SessionOptions) -> SessionOptions {
    SessionOptions {
        activations: Activations::Int8,
        ..options
    }
}

/// Logits of a prompt and of a token behind it.
fn logits(model: &Model, options: &SessionOptions) -> Vec<f32> {
    let mut session = Session::with_options(model, options).unwrap();
    let tokens = tokens(6, model.config().vocabulary);
    let mut logits = session.feed_with_logits(&tokens[..5]).unwrap();
    session.feed(&tokens[5..]).unwrap();
    logits.extend(session.logits().unwrap());
    logits
}

#[test]
fn rounding_moves_logits_by_what_it_must_and_no_more() {
    let folder = tempfile::tempdir().unwrap();
    for fixture in ["llama3", "mixtral"] {
        let gguf = Gguf::open(path(fixture, "gguf")).unwrap();
        for kind in WeightType::ALL {
            let file = folder.path().join("model.gguf");
            wide::write(&gguf, kind, &file).unwrap();
            let model = Model::load(&device(), &file).unwrap();
            let f32 = SessionOptions::default();
            let [exact, rounded] = [f32, int8(f32)].map(|options| logits(&model, &options));
            let vocabulary = model.config().vocabulary;
            let rows = rounded.chunks(vocabulary).zip(exact.chunks(vocabulary));
            let distances = rows.map(|(found, right)| relative_l2(found, &to_f64(right)));
            let mut distances: Vec<f64> = distances.collect();
            distances.sort_by(f64::total_cmp);
            // A row of which a layer chooses another expert is further off.
            let counted = match fixture {
                "mixtral" => distances.len() / 2,
                _ => distances.len() - 1,
            };
            let distance = distances[counted];
            if !kind.has_blocks() {
                assert_eq!(rounded, exact, "{fixture} in {kind:?}");
                continue;
            }
            // Four products in a row for each layer, and that of the logits, whose errors are independent of each other.
            let products = 4 * model.config().layers.len() + 1;
            let most = 2.0 * OF_PRODUCT * (products as f64).sqrt();
            assert!(
                distance > 1e-4 && distance < most,
                "{fixture} in {kind:?}: {distance:.2e} from those of f32, {most:.2e} allowed"
            );
        }
    }
}

#[test]
fn a_rounded_text_is_the_same_whatever_runs_beside_it() {
    let model = shipped();
    for (slots, batch, draft_tokens) in [(5, 16, 0), (3, 40, 6)] {
        let whole = int8(options(batch));
        let options = SessionOptions {
            draft_tokens,
            ..whole
        };
        let mut scheduler = Scheduler::new(&model, slots, &options).unwrap();
        let texts: Vec<_> = (0..8)
            .map(|index| {
                let prompt = tokens(60, VOCABULARY)[index..][..3 + 2 * index].repeat(2);
                let mut request = request(prompt, 12 + index);
                // Half of the texts say two tokens again and again, so that drafts are right.
                let likely = (100..102).filter(|_| index % 2 == 0);
                let likely = likely.map(|token| (token, 100.0));
                request.options.sampling.logit_bias = likely.collect();
                let listener = Listener::default();
                scheduler.add(request.clone(), listener.clone());
                scheduler.step();
                (request, listener)
            })
            .collect();
        run(&mut scheduler);
        let counts = scheduler.counts();
        assert_eq!(counts.drafted > 0, draft_tokens > 0, "{counts:?}");
        for (index, (request, listener)) in texts.iter().enumerate() {
            let empty = Scheduler::new(&model, 1, &whole).unwrap();
            let alone = alone_in(empty, request, listener);
            let what = format!("text {index} of {slots} slots");
            listener.told.borrow().assert_same(&alone, &what);
        }
    }
}

#[test]
fn replayed_dispatches_round_as_encoded_ones() {
    let file = write_model(&small(), 31);
    let model = Model::load(&device(), &file.path).unwrap();
    let options = int8(SessionOptions::default());
    let replay = SessionOptions {
        replay: true,
        ..options
    };
    assert_eq!(logits(&model, &replay), logits(&model, &options));
}

#[test]
fn rounding_takes_no_objects_and_no_command_buffers() {
    in_child(
        "activations::rounding_takes_no_objects_and_no_command_buffers",
        || {
            let model = shipped();
            let options = int8(SessionOptions::default());
            let mut session = Session::with_options(&model, &options).unwrap();
            session.feed(&tokens(9, VOCABULARY)).unwrap();
            let before = settled();
            let counts = session.counts();
            for token in tokens(10, VOCABULARY) {
                session.feed(&[token]).unwrap();
            }
            assert_eq!((session.counts() - counts).command_buffers, 10);
            let made = |kind| Device::live_objects().made(kind) - before.made(kind);
            assert_eq!(made(ObjectKind::Buffer), 0);
            assert_live(&before);
        },
    );
}
