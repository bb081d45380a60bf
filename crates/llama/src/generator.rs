//! [`Generator`]: how a text goes on from each of its logits.

use std::ops::ControlFlow;

use super::batch::Batch;
use super::draft::Drafter;
use super::error::Result;
use super::log_probability::LogProbabilities;
use super::sampling::{Sampler, Sampling};
use super::tokenizer::TextStream;

/// How many of a text's last tokens its drafts come from, so that a long text is not read through for each token.
const LOOK_BACK: usize = 8192;

/// How to generate.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GenerateOptions {
    /// The most tokens to generate; by default until the model ends the text or the context is full.
    pub max_tokens: Option<usize>,
    /// How tokens are chosen.
    pub sampling: Sampling,
    /// Goes on after end tokens, for benchmarks.
    pub ignore_end: bool,
    /// Whether each [`Piece`] has log probabilities, and of how many of the likeliest tokens beside the chosen one.
    pub log_probabilities: Option<usize>,
}

/// What a generated token adds to the text.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece<'a> {
    /// The characters that are whole now: none while a character lacks bytes of the next tokens.
    pub text: &'a str,
    /// The token; `None` for what remains of an unfinished character when the text has ended.
    pub token: Option<u32>,
    /// Those of the token, if [`GenerateOptions::log_probabilities`] asks for them. The last piece has none if it is
    /// what remains of an unfinished character, for no token of its own.
    pub log_probabilities: Option<LogProbabilities>,
}

/// Why generation stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The model ended the text.
    End,
    /// There are as many tokens as were asked for.
    MaxTokens,
    /// The session's context is full.
    Context,
    /// The callback stopped it.
    Callback,
    /// [`Sampling::constraint`] lets nothing come after the text.
    Constraint,
}

/// The generated part of a text.
#[derive(Debug)]
pub(super) struct Generator {
    options: GenerateOptions,
    sampler: Sampler,
    drafter: Drafter,
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
            drafter: Drafter::default(),
            stream: TextStream::new(),
            tokens: Vec::new(),
            bytes: Vec::new(),
        })
    }

    /// At most `most` tokens that may come after `next`, which comes after those that the slot holds.
    pub fn draft(&self, batch: &Batch, slot: usize, next: u32, most: usize) -> Vec<u32> {
        let room = batch.context() - batch.position(slot) - 1;
        // The last token of a text is not computed.
        let left = self.options.max_tokens.unwrap_or(usize::MAX) - self.tokens.len();
        let most = most.min(room).min(left.saturating_sub(1));
        if most == 0 {
            return Vec::new();
        }
        let held = batch.held(slot);
        let last = &held[held.len().saturating_sub(LOOK_BACK)..];
        let text = [last, &[next]].concat();
        self.drafter.draft(&text, most)
    }

    /// Chooses the tokens after those that the slot holds: after a draft as many as it has of them, and one more. The slot then holds all
    /// but the last. Gives that one if another shall follow it: it has to be fed before.
    pub fn next(
        &mut self,
        batch: &mut Batch,
        slot: usize,
        mut on_piece: impl FnMut(Piece<'_>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<StopReason, u32>> {
        let (before, drafted) = (batch.before_draft(slot), batch.position(slot));
        let mut position = before;
        let outcome = loop {
            match self.choose(batch, slot, position, &mut on_piece) {
                Ok(ControlFlow::Continue(token))
                    if batch.held(slot).get(position) == Some(&token) =>
                {
                    position += 1;
                }
                outcome => break outcome,
            }
        };
        self.drafter.learn(drafted - before, position - before);
        batch.accept(slot, position);
        outcome
    }

    /// Chooses the token after the first `position` tokens of the slot.
    fn choose(
        &mut self,
        batch: &Batch,
        slot: usize,
        position: usize,
        on_piece: &mut impl FnMut(Piece<'_>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<StopReason, u32>> {
        let max_tokens = self.options.max_tokens;
        if max_tokens == Some(0) {
            return Ok(ControlFlow::Break(StopReason::MaxTokens));
        }
        let token = batch.sample(slot, position, &mut self.sampler)?;
        let tokenizer = batch.model().tokenizer();
        if tokenizer.is_end(token) && !self.options.ignore_end {
            return Ok(ControlFlow::Break(StopReason::End));
        }
        self.tokens.push(token);
        self.bytes.clear();
        tokenizer.decode_token(token, &mut self.bytes);
        let log_probabilities = self.options.log_probabilities;
        let log_probabilities = log_probabilities
            .map(|count| batch.log_probabilities(slot, position, token, count))
            .transpose()?;
        let text = self.stream.push(&self.bytes);
        let piece = Piece {
            text: &text,
            token: Some(token),
            log_probabilities,
        };
        let stop = if on_piece(piece).is_break() {
            StopReason::Callback
        } else if self.sampler.is_finished() && !self.options.ignore_end {
            StopReason::Constraint
        } else if position == batch.context() {
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
                token: None,
                log_probabilities: None,
            });
        }
        self.tokens
    }
}
