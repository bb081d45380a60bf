//! Generation: from a prompt to text, piece by piece.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use super::batch::Feed;
use super::counts::Counts;
use super::error::Result;
use super::generator::{GenerateOptions, Generator, Piece, StopReason};
use super::session::Session;

/// A callback for pieces that gives their texts to one for texts.
pub(super) fn texts(
    mut on_text: impl FnMut(&str) -> ControlFlow<()>,
) -> impl FnMut(Piece<'_>) -> ControlFlow<()> {
    move |piece| match piece.text {
        "" => ControlFlow::Continue(()),
        text => on_text(text),
    }
}

/// What was generated, and what it took.
#[derive(Clone, Debug)]
pub struct Generation {
    /// The generated tokens, without the end token. The session does not hold the last of them, since nothing was
    /// generated after it, unless generation stopped at the [`End`](StopReason::End). Feed it first to go on.
    pub tokens: Vec<u32>,
    /// Why it stopped.
    pub stop: StopReason,
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// Time from the prompt to its logits.
    pub prefill: Duration,
    /// Time from the prompt's logits to the end.
    pub decode: Duration,
    /// Tokens that the session added in that time.
    pub decoded_tokens: usize,
    /// Time of the CPU in `decode` for encoding command buffers and committing them.
    pub decode_host: Duration,
    /// What was asked of the GPU.
    pub counts: Counts,
}

impl Generation {
    /// Prompt tokens a second.
    pub fn prefill_rate(&self) -> f64 {
        rate(self.prompt_tokens, self.prefill)
    }

    /// Decoded tokens a second.
    pub fn decode_rate(&self) -> f64 {
        rate(self.decoded_tokens, self.decode)
    }

    /// The time of the CPU for a decoded token, if there are any.
    pub fn decode_host_per_token(&self) -> Option<Duration> {
        let tokens = u32::try_from(self.decoded_tokens)
            .ok()
            .filter(|&count| count > 0)?;
        Some(self.decode_host / tokens)
    }
}

fn rate(tokens: usize, time: Duration) -> f64 {
    if tokens == 0 {
        0.0
    } else {
        tokens as f64 / time.as_secs_f64()
    }
}

impl Session {
    /// Adds `prompt` to the text and generates what comes after it. `on_text` is given the generated text piece by
    /// piece, always whole characters, and can stop the generation.
    ///
    /// The prompt is encoded as the beginning of a text. To go on with a text that is in the session, encode the next
    /// words with [`Tokenizer::encode_plain`](super::tokenizer::Tokenizer::encode_plain). Put the token before them that
    /// the session lacks, as [`Generation::tokens`] says, and call [`generate_tokens`](Self::generate_tokens).
    ///
    /// # Errors
    ///
    /// As for [`generate_tokens`](Self::generate_tokens), and [`Error::Tokenizer`](super::Error::Tokenizer) if the
    /// prompt cannot be encoded.
    pub fn generate(
        &mut self,
        prompt: &str,
        options: &GenerateOptions,
        on_text: impl FnMut(&str) -> ControlFlow<()>,
    ) -> Result<Generation> {
        let tokens = self.model().tokenizer().encode(prompt)?;
        self.generate_tokens(&tokens, options, on_text)
    }

    /// [`generate`](Self::generate) for a prompt that is encoded already. Penalties are for tokens of the prompt and of
    /// what comes after it: those that the session held before do not count.
    ///
    /// # Errors
    ///
    /// [`Error::NoTokens`](super::Error::NoTokens) and [`Error::ContextExceeded`](super::Error::ContextExceeded) for
    /// the prompt, [`Error::NoSuchToken`](super::Error::NoSuchToken) for one of the prompt or of
    /// [`Sampling::logit_bias`](super::sampling::Sampling::logit_bias), [`Error::Sampling`](super::Error::Sampling) for bad settings or broken logits,
    /// [`Error::Metal`](super::Error::Metal) if the GPU fails. What was generated before stays in the session.
    pub fn generate_tokens(
        &mut self,
        prompt: &[u32],
        options: &GenerateOptions,
        on_text: impl FnMut(&str) -> ControlFlow<()>,
    ) -> Result<Generation> {
        self.generate_after(&[], prompt, options, texts(on_text))
    }

    /// [`generate_tokens`](Self::generate_tokens) where the prompt begins with tokens that the session holds: penalties
    /// are for them, too.
    pub(super) fn generate_after(
        &mut self,
        held: &[u32],
        prompt: &[u32],
        options: &GenerateOptions,
        mut on_piece: impl FnMut(Piece<'_>) -> ControlFlow<()>,
    ) -> Result<Generation> {
        let (batch, _) = self.slot();
        let whole = [held, prompt].concat();
        let mut generator = Generator::new(batch, &whole, options)?;
        let before = self.counts();
        let start = Instant::now();
        self.feed(prompt)?;
        let prefilled = Instant::now();
        let (prefilled_position, prefilled_host) = (self.position(), self.host_time());

        let stop = loop {
            let (batch, slot) = self.slot();
            match generator.next(batch, slot, &mut on_piece)? {
                ControlFlow::Continue(token) => {
                    let most = batch.draft_tokens();
                    let draft = generator.draft(batch, slot, token, most);
                    batch.feed(&[Feed::next(slot, token, draft)])?;
                }
                ControlFlow::Break(stop) => break stop,
            }
        };
        let tokens = generator.finish(stop, on_piece);
        Ok(Generation {
            stop,
            prompt_tokens: prompt.len(),
            prefill: prefilled - start,
            decode: prefilled.elapsed(),
            decoded_tokens: self.position() - prefilled_position,
            decode_host: self.host_time() - prefilled_host,
            tokens,
            counts: self.counts() - before,
        })
    }
}
