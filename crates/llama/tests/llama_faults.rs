//! A GPU that fails and memory that runs out, at every point of loading and generating: a typed error, and everything
//! still usable. The faults are the software Metal's, and of the whole process: one test at a time.
#![cfg(all(metal_backend, feature = "software", not(target_vendor = "apple")))]

mod llama_support;

use std::ops::ControlFlow;
use std::sync::{Mutex, MutexGuard, PoisonError};

use llama_support::{
    assert_live, device, session, settled, shipped, shipped_path, small, tokens, write_model,
};
use metal_bridge::Error as MetalError;
use metal_bridge::command_buffer_error::PAGE_FAULT;
use metal_bridge_llama::{Error, GenerateOptions, Model, Session};

// From native/software/include/SoftwareMetal/SoftwareMetal.h.
unsafe extern "C" {
    fn smtl_inject_allocation_failure(nth: u64);
    fn smtl_inject_command_buffer_error(nth: u64, code: u64);
    fn smtl_clear_injections();
}

/// Holds other tests off; turns every fault off in the end.
struct Faults {
    _turn: MutexGuard<'static, ()>,
}

impl Faults {
    fn new() -> Self {
        static TURN: Mutex<()> = Mutex::new(());
        Self {
            _turn: TURN.lock().unwrap_or_else(PoisonError::into_inner),
        }
    }

    fn fail_allocation(&self, nth: u64) {
        // SAFETY: takes a number, from any thread.
        unsafe { smtl_inject_allocation_failure(nth) }
    }

    fn fail_command_buffer(&self, nth: u64) {
        // SAFETY: takes numbers, from any thread.
        unsafe { smtl_inject_command_buffer_error(nth, PAGE_FAULT as u64) }
    }
}

impl Drop for Faults {
    fn drop(&mut self) {
        // SAFETY: takes nothing, from any thread.
        unsafe { smtl_clear_injections() }
    }
}

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
fn a_gpu_error_in_mid_generation_is_an_error_and_the_session_goes_on() {
    let faults = Faults::new();
    let mut session = session(&shipped(), 64);
    let (mut whole, mut pieces) = (Vec::new(), Vec::new());
    story(&mut session, &mut whole).unwrap();
    let live = settled();
    for nth in [1, 2, 7] {
        faults.fail_command_buffer(nth);
        let error = story(&mut session, &mut pieces).unwrap_err();
        let Error::Metal(MetalError::CommandBuffer(failure)) = &error else {
            panic!("{error}")
        };
        assert_eq!(failure.code(), PAGE_FAULT);
        // What was generated before the fault was streamed.
        assert_eq!(pieces, whole[..nth as usize - 1]);
        assert_live(&live);
    }
    story(&mut session, &mut pieces).unwrap();
    assert_eq!(pieces, whole);
}

#[test]
fn a_fault_leaves_the_session_where_it_stood() {
    let faults = Faults::new();
    let file = write_model(&small(), 5);
    let model = Model::load(&device(), &file.path).unwrap();
    let tokens = tokens(40, 320);
    let mut undisturbed = session(&model, 8);
    undisturbed.feed(&tokens).unwrap();
    let mut disturbed = session(&model, 8);
    disturbed.feed(&tokens[..10]).unwrap();
    // Of the four batches of the rest each fails once.
    for nth in 1..=4 {
        faults.fail_command_buffer(nth);
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
}

#[test]
fn every_allocation_may_fail() {
    let faults = Faults::new();
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
        faults.fail_allocation(nth);
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
}
