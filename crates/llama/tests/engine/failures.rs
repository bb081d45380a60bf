//! A GPU that fails and memory that runs out, at every point of loading and generating: a typed error, and everything still
//! usable. The software Metal injects a failure into whichever command buffer or allocation of the process comes next, so each
//! test has a process of its own.

use std::ops::ControlFlow;

use crate::scheduler::{Listener, request, run, scheduler, tell};
use crate::support::{
    assert_live, device, session, settled, shipped, shipped_path, small, tokens, write_model,
};
use metal_bridge::Error as MetalError;
use metal_bridge::command_buffer_error::PAGE_FAULT;
use metal_bridge_llama::{Error, GenerateOptions, Model, Request, Scheduler, Session};
use metal_bridge_test_support::{failures, in_child};

fn story(session: &mut Session, pieces: &mut Vec<String>) -> Result<(), Error> {
    session.truncate(0);
    pieces.clear();
    let options = GenerateOptions {
        max_tokens: Some(12),
        ..GenerateOptions::default()
    };
    let generation = session.generate("Once upon a time", &options, |piece| {
        pieces.push(piece.to_owned());
        ControlFlow::Continue(())
    });
    generation.map(|_| ())
}

#[test]
fn a_session_goes_on_after_a_gpu_error() {
    in_child("failures::a_session_goes_on_after_a_gpu_error", || {
        let mut session = session(&shipped(), 64);
        let (mut whole, mut pieces) = (Vec::new(), Vec::new());
        story(&mut session, &mut whole).unwrap();
        let live = settled();
        for nth in [1, 2, 7] {
            failures::fail_command_buffer(nth, PAGE_FAULT);
            let error = story(&mut session, &mut pieces).unwrap_err();
            let Error::Metal(MetalError::CommandBuffer(failure)) = &error else {
                panic!("{error}")
            };
            assert_eq!(failure.code(), PAGE_FAULT);
            // What was generated before the failure was streamed.
            assert_eq!(pieces, whole[..nth as usize - 1]);
            assert_live(&live);
        }
        story(&mut session, &mut pieces).unwrap();
        assert_eq!(pieces, whole);
    });
}

#[test]
fn a_failure_leaves_the_session_as_it_was() {
    in_child("failures::a_failure_leaves_the_session_as_it_was", || {
        let file = write_model(&small(), 5);
        let model = Model::load(&device(), &file.path).unwrap();
        let tokens = tokens(40, 320);
        let mut undisturbed = session(&model, 8);
        undisturbed.feed(&tokens).unwrap();
        let mut disturbed = session(&model, 8);
        disturbed.feed(&tokens[..10]).unwrap();
        // The rest is fed in four batches; each of them fails once.
        for nth in 1..=4 {
            failures::fail_command_buffer(nth, PAGE_FAULT);
            let error = disturbed.feed(&tokens[10..]).unwrap_err();
            assert!(
                matches!(error, Error::Metal(MetalError::CommandBuffer(_))),
                "{error}"
            );
            assert_eq!(disturbed.position(), 10);
            assert!(matches!(disturbed.logits(), Err(Error::NoTokens)));
        }
        disturbed.feed(&tokens[10..]).unwrap();
        assert_eq!(disturbed.logits().unwrap(), undisturbed.logits().unwrap());
    });
}

#[test]
fn every_allocation_may_fail() {
    in_child("failures::every_allocation_may_fail", || {
        let device = device();
        let attempt = || -> Result<Vec<f32>, Error> {
            let model = Model::load(&device, shipped_path())?;
            let mut session = Session::new(&model)?;
            session.feed(&[1, 2, 3])?;
            session.logits()
        };
        let expected = attempt().unwrap();
        let live = settled();
        let mut failures = 0;
        for nth in 1.. {
            failures::fail_allocation(nth);
            match attempt() {
                Err(Error::Metal(MetalError::OutOfMemory(_))) => failures += 1,
                Err(other) => panic!("allocation {nth}: {other}"),
                Ok(logits) => {
                    assert_eq!(logits, expected);
                    break;
                }
            }
            assert_live(&live);
        }
        // The weights, the rotary frequencies, keys and values of four layers, and the scratch buffers.
        assert!(failures >= 2 + 8 + 11, "only {failures} allocations");
    });
}

#[test]
fn texts_go_on_where_a_pass_of_several_failed() {
    in_child(
        "failures::texts_go_on_where_a_pass_of_several_failed",
        || {
            let model = shipped();
            let tell = |nth| {
                let mut scheduler = scheduler(&model, 3, 16);
                if let Some(nth) = nth {
                    failures::fail_command_buffer(nth, PAGE_FAULT);
                }
                let listeners = [4, 9, 20].map(|length| {
                    let listener = Listener::default();
                    scheduler.add(request(tokens(length, 300), 6), listener.clone());
                    listener
                });
                run(&mut scheduler);
                listeners.map(|listener| listener.told.take())
            };
            let undisturbed = tell(None);
            let mut ended = 0;
            for nth in 1..=8 {
                for (told, expected) in tell(Some(nth)).iter().zip(&undisturbed) {
                    match &told.outcome {
                        // It was alone in its pass.
                        Some(Err(Error::Metal(MetalError::CommandBuffer(_)))) => {
                            ended += 1;
                            assert!(expected.text.starts_with(&told.text));
                        }
                        _ => told.assert_same(expected, &format!("failure {nth}")),
                    }
                }
            }
            assert_eq!(ended, 2, "the two passes of the longest prompt");
        },
    );
}

#[test]
fn a_lost_device_ends_all_texts_and_the_scheduler_goes_on() {
    in_child(
        "failures::a_lost_device_ends_all_texts_and_the_scheduler_goes_on",
        || {
            let mut scheduler = scheduler(&shipped(), 2, 64);
            let tell = |scheduler: &mut _| {
                let listeners = [4, 9, 20].map(|length| {
                    let listener = Listener::default();
                    let request = request(tokens(length, 300), 6);
                    Scheduler::add(scheduler, request, listener.clone());
                    listener
                });
                run(scheduler);
                listeners.map(|listener| listener.told.take())
            };
            let expected = tell(&mut scheduler);
            failures::lose_device(3);
            for told in tell(&mut scheduler) {
                assert!(
                    matches!(told.outcome, Some(Err(Error::Metal(_)))),
                    "{told:?}"
                );
            }
            failures::reset();
            for (told, expected) in tell(&mut scheduler).iter().zip(&expected) {
                told.assert_same(expected, "after the loss");
            }
        },
    );
}

/// Texts that part in a page that another one has known get a copy of it.
#[test]
fn a_page_that_was_not_copied_is_of_no_text() {
    in_child("failures::a_page_that_was_not_copied_is_of_no_text", || {
        let mut scheduler = scheduler(&shipped(), 2, 64);
        let mut tell = |prompt: &[u32]| {
            let request = Request {
                uses_cache: true,
                ..request(prompt.to_vec(), 6)
            };
            let told = tell(&mut scheduler, request);
            assert_eq!(scheduler.pages().0, 0);
            told
        };
        let first = tokens(40, 300);
        tell(&first);
        let parted = [&first[..20], &[7, 8, 9]].concat();
        // The copy is the first command buffer.
        failures::fail_command_buffer(1, PAGE_FAULT);
        let outcome = tell(&parted).outcome;
        let Some(Err(Error::Metal(MetalError::CommandBuffer(_)))) = outcome else {
            panic!("{outcome:?}")
        };
        // Nothing of the failed text is known.
        assert_eq!(tell(&parted).answer().kept, 20);
        assert_eq!(tell(&first).answer().kept, 39);
    });
}
