//! Sessions that replay a token's dispatches: the logits of those that encode them, bit for bit.

use std::ops::ControlFlow;

use crate::support::{device, settled, shipped, small, tokens, write_model};
use metal_bridge::ops::KvElement;
use metal_bridge::{Device, ObjectKind};
use metal_bridge_llama::sampling::Sampling;
use metal_bridge_llama::{GenerateOptions, Model, Session, SessionOptions};
use metal_bridge_test_support::in_child;
use metal_bridge_workloads::synthetic::SyntheticModel;

fn options(replay: bool) -> SessionOptions {
    SessionOptions {
        batch: 8,
        replay,
        ..SessionOptions::default()
    }
}

fn pair(model: &Model, options: SessionOptions) -> [Session; 2] {
    [false, true].map(|replay| {
        let options = SessionOptions { replay, ..options };
        Session::with_options(model, &options).unwrap()
    })
}

/// Feeds both the same tokens, in parts of these lengths, and compares their logits after each.
fn feed_both(sessions: &mut [Session; 2], text: &[u32], lengths: &[usize]) {
    let mut rest = text;
    for &length in lengths {
        let part;
        (part, rest) = rest.split_at(length);
        let [encoded, replayed] = sessions.each_mut().map(|session| {
            session.feed(part).unwrap();
            session.logits().unwrap()
        });
        let position = sessions[0].position();
        assert!(encoded == replayed, "the logits at position {position}");
    }
}

/// Attention's grid grows with the length: at the 65th and the 129th position.
#[test]
fn tokens_and_prompts_in_any_order_give_the_same_logits() {
    let model = SyntheticModel {
        context: 160,
        head_dim: 32,
        ..small()
    };
    let file = write_model(&model, 21);
    let model = Model::load(&device(), &file.path).unwrap();
    for cache_element in [KvElement::F32, KvElement::F16, KvElement::Q8_0] {
        let mut sessions = pair(
            &model,
            SessionOptions {
                cache_element,
                ..options(false)
            },
        );
        let tokens = tokens(150, 320);
        // A prompt whose last batch is one token, and then tokens between prompts.
        feed_both(&mut sessions, &tokens, &[9, 1, 1, 5, 1, 17, 1, 1]);
        feed_both(&mut sessions, &tokens[36..], &[1; 100]);
        sessions.iter_mut().for_each(|session| session.truncate(60));
        feed_both(&mut sessions, &tokens[36..], &[1; 12]);
        sessions.iter_mut().for_each(|session| session.truncate(0));
        feed_both(&mut sessions, &tokens, &[1, 1, 8, 1]);
        let all = sessions
            .each_mut()
            .map(|session| session.feed_with_logits(&tokens[..12]).unwrap());
        assert!(all[0] == all[1]);
        feed_both(&mut sessions, &tokens, &[1, 1]);
    }
}

#[test]
fn the_shipped_model_tells_the_same_stories() {
    let model = shipped();
    let mut sessions = pair(&model, options(false));
    for temperature in [0.0, 0.9] {
        let options = GenerateOptions {
            max_tokens: Some(90),
            sampling: Sampling {
                temperature,
                seed: 4,
                ..Sampling::default()
            },
            ignore_end: true,
            ..GenerateOptions::default()
        };
        let [encoded, replayed] = sessions.each_mut().map(|session| {
            session.truncate(0);
            let quiet = |_: &str| ControlFlow::Continue(());
            session
                .generate("Once upon a time", &options, quiet)
                .unwrap()
        });
        assert_eq!(encoded.tokens, replayed.tokens);
        assert_eq!(encoded.tokens.len(), 90);
        assert_eq!(encoded.counts, replayed.counts);
        assert!(
            replayed
                .decode_host_per_token()
                .is_some_and(|host| !host.is_zero())
        );
        assert!(replayed.decode_host <= replayed.decode);
    }
}

#[test]
fn replays_make_command_buffers_and_encoders_only() {
    in_child(
        "replay::replays_make_command_buffers_and_encoders_only",
        || {
            let before_all = settled();
            let model = shipped();
            let mut session = Session::with_options(&model, &options(true)).unwrap();
            session.feed(&[1, 306, 9]).unwrap();
            let before = settled();
            // Past the 65th position: commands of attention are encoded again.
            for token in tokens(70, 320) {
                session.feed(&[token]).unwrap();
            }
            let after = Device::live_objects();
            for kind in ObjectKind::ALL {
                let made = after.made(kind) - before.made(kind);
                match kind {
                    ObjectKind::CommandBuffer | ObjectKind::ComputeEncoder => {
                        assert_eq!(made, 70, "{kind:?}")
                    }
                    _ => assert_eq!(made, 0, "{kind:?}"),
                }
            }
            drop((session, model));
            crate::support::assert_live(&before_all);
        },
    );
}

/// The software Metal injects failures, and has as many devices as a test likes.
#[cfg(software_metal)]
mod software {
    use super::*;
    use metal_bridge::Error as MetalError;
    use metal_bridge::command_buffer_error::PAGE_FAULT;
    use metal_bridge_llama::Error;
    use metal_bridge_test_support::{failures, in_child_with};

    #[test]
    fn several_devices_replay_their_parts() {
        in_child_with(
            "replay::software::several_devices_replay_their_parts",
            &[("SOFTWARE_METAL_DEVICES", "2")],
            || {
                let file = write_model(&small(), 3);
                let model = Model::load(&Device::all().unwrap(), &file.path).unwrap();
                assert_eq!(model.devices().len(), 2);
                let mut sessions = pair(&model, options(false));
                feed_both(&mut sessions, &tokens(20, 320), &[5, 1, 1, 9, 1, 1]);
                assert_eq!(sessions[0].counts(), sessions[1].counts());
            },
        );
    }

    #[test]
    fn a_replay_that_fails_leaves_the_session_as_it_was() {
        in_child(
            "replay::software::a_replay_that_fails_leaves_the_session_as_it_was",
            || {
                let file = write_model(&small(), 5);
                let model = Model::load(&device(), &file.path).unwrap();
                let (mut sessions, tokens) = (pair(&model, options(false)), tokens(20, 320));
                feed_both(&mut sessions, &tokens, &[6, 1]);
                for _ in 0..3 {
                    failures::fail_command_buffer(1, PAGE_FAULT);
                    let error = sessions[1].feed(&tokens[7..8]).unwrap_err();
                    assert!(
                        matches!(&error, Error::Metal(MetalError::CommandBuffer(_))),
                        "{error}"
                    );
                    assert_eq!(sessions[1].position(), 7);
                    assert!(matches!(sessions[1].logits(), Err(Error::NoTokens)));
                }
                feed_both(&mut sessions, &tokens[7..], &[1, 1, 3, 1]);
            },
        );
    }

    #[test]
    fn every_allocation_of_a_replay_may_fail() {
        in_child(
            "replay::software::every_allocation_of_a_replay_may_fail",
            || {
                let file = write_model(&small(), 6);
                let model = Model::load(&device(), &file.path).unwrap();
                // The kernels are compiled once a model.
                let attempt = || -> Result<Vec<f32>, Error> {
                    let mut session = Session::with_options(&model, &options(true))?;
                    session.feed(&[1])?;
                    session.feed(&[2])?;
                    session.logits()
                };
                let expected = attempt().unwrap();
                let live = settled();
                for nth in 1.. {
                    failures::fail_allocation(nth);
                    match attempt() {
                        Err(Error::Metal(MetalError::OutOfMemory(_))) => {}
                        Err(other) => panic!("allocation {nth}: {other}"),
                        Ok(logits) => {
                            assert!(logits == expected);
                            // Keys and values of two layers, scratch buffers, and the arguments.
                            assert!(nth > 4 + 11 + 1, "only {nth} allocations");
                            break;
                        }
                    }
                    crate::support::assert_live(&live);
                }
            },
        );
    }
}
