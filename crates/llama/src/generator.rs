//! [`Generator`]: how a text goes on from each of its logits.

use std::ops::ControlFlow;

use super::batch::Batch;
use super::error::Result;
use super::generate::{GenerateOptions, Piece, StopReason};
use super::sampling::Sampler;
use super::tokenizer::TextStream;

/// The generated part of a text.
#[derive(Debug)]
pub(super) struct Generator {
    options: GenerateOptions,
    sampler: Sampler,
    stream: TextStream,
    tokens: Vec<u32>,
    /// Those of one token.
    bytes: Vec<u8>,
}

impl Generator {
    /// A text that begins with `prompt`.
    pub fn new(batch: &Batch, prompt: &[u32], options: &GenerateOptions) -> Result<Self> {
        let mut sampler = Sampler::new(options.sampling.clone())?;
        for &(token, _) in &options.sampling.logit_bias {
            batch.check_token(token)?;
        }
        sampler.add_prompt(prompt);
        Ok(Self {
            options: options.clone(),
            sampler,
            stream: TextStream::new(),
            tokens: Vec::new(),
            bytes: Vec::new(),
        })
    }

    /// Chooses the token after those that the slot holds. Gives the token if another one shall follow it: it has to be fed before.
    pub fn next(
        &mut self,
        batch: &Batch,
        slot: usize,
        mut on_piece: impl FnMut(Piece<'_>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<StopReason, u32>> {
        let max_tokens = self.options.max_tokens;
        if max_tokens == Some(0) {
            return Ok(ControlFlow::Break(StopReason::MaxTokens));
        }
        let token = batch.sample(slot, &mut self.sampler)?;
        let tokenizer = batch.model().tokenizer();
        if tokenizer.is_end(token) && !self.options.ignore_end {
            return Ok(ControlFlow::Break(StopReason::End));
        }
        self.tokens.push(token);
        self.bytes.clear();
        tokenizer.decode_token(token, &mut self.bytes);
        let log_probabilities = self.options.log_probabilities;
        let log_probabilities = log_probabilities
            .map(|count| batch.log_probabilities(slot, token, count))
            .transpose()?;
        let text = self.stream.push(&self.bytes);
        let piece = Piece {
            text: &text,
            log_probabilities,
        };
        let stop = if on_piece(piece).is_break() {
            StopReason::Callback
        } else if batch.position(slot) == batch.context() {
            StopReason::Context
        } else if max_tokens == Some(self.tokens.len()) {
            StopReason::MaxTokens
        } else {
            return Ok(ControlFlow::Continue(token));
        };
        Ok(ControlFlow::Break(stop))
    }

    /// Gives the rest of an unfinished character to the callback, and the generated tokens.
    pub fn finish(
        mut self,
        stop: StopReason,
        mut on_piece: impl FnMut(Piece<'_>) -> ControlFlow<()>,
    ) -> Vec<u32> {
        let rest = self.stream.finish();
        if !rest.is_empty() && stop != StopReason::Callback {
            // The generation has ended: the answer can no longer stop it.
            let _ = on_piece(Piece {
                text: &rest,
                log_probabilities: None,
            });
        }
        self.tokens
    }
}
