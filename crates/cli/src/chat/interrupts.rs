//! Ctrl-C: it interrupts an answer, and otherwise ends the program.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use super::settings::Settings;
use crate::failure::Failure;

const IDLE: u8 = 0;
const ANSWERING: u8 = 1;
const INTERRUPTED: u8 = 2;

/// What a shell reports of a program that SIGINT ended.
const ENDED_BY_INTERRUPT: i32 = 130;

pub struct Interrupts {
    state: Arc<AtomicU8>,
}

impl Interrupts {
    /// Before an interrupt ends the program, the terminal gets its settings back.
    pub fn watch(settings: Option<Arc<Settings>>) -> Result<Self, Failure> {
        let state = Arc::new(AtomicU8::new(IDLE));
        let shared = Arc::clone(&state);
        let on_interrupt = move || {
            let answering = shared.compare_exchange(
                ANSWERING,
                INTERRUPTED,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
            // A second Ctrl-C ends an answer that does not come.
            if answering.is_err() {
                if let Some(settings) = &settings {
                    settings.restore();
                }
                std::process::exit(ENDED_BY_INTERRUPT);
            }
        };
        ctrlc::set_handler(on_interrupt).map_err(Failure::new)?;
        Ok(Self { state })
    }

    /// Until the result is dropped, an interrupt is for it.
    pub fn answering(&self) -> Answering<'_> {
        self.state.store(ANSWERING, Ordering::Relaxed);
        Answering { state: &self.state }
    }
}

pub struct Answering<'a> {
    state: &'a AtomicU8,
}

impl Answering<'_> {
    pub fn is_interrupted(&self) -> bool {
        self.state.load(Ordering::Relaxed) == INTERRUPTED
    }
}

impl Drop for Answering<'_> {
    fn drop(&mut self) {
        self.state.store(IDLE, Ordering::Relaxed);
    }
}
