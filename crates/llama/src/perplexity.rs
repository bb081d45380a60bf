//! Perplexity: how well a model foretells a text.

use std::ops::Range;

use super::error::Result;
use super::session::Session;

/// The most rows of logits that are read back at once.
const ROWS: usize = 32;

/// Why a perplexity cannot be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PerplexityError {
    /// The text does not fill one window.
    #[error("the text has {tokens} tokens, but one window takes {context}")]
    TextTooShort {
        /// Tokens of the text.
        tokens: usize,
        /// Tokens of a window: the session's context.
        context: usize,
    },
    /// A window of the session's context leaves no token to count.
    #[error("a context of {0} tokens is too small: the least is 3")]
    ContextTooSmall(usize),
    /// The stride is zero, or so long that a window's first token, which nothing foretells, would count.
    #[error("the stride must be from 1 to {} tokens, not {stride}", context - 1)]
    Stride {
        /// The stride.
        stride: usize,
        /// Tokens of a window: the session's context.
        context: usize,
    },
    /// The logits give a token of the text no probability: some are infinite or no numbers.
    #[error("the logits before token {0} of the text give it no probability")]
    NoProbability(usize),
}

/// Which tokens of a text count.
///
/// A window is as long as the session's context. Each window is computed from an empty session, and where the model's texts begin
/// with a begin token, that token replaces the first one of each window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PerplexityOptions {
    /// Without a stride, windows lie side by side, and the second half of each counts. With one, a window begins that many tokens
    /// after the one before it, and as many tokens at its end count: nearly every token then has a long text before it.
    pub stride: Option<usize>,
    /// The most windows; by default all that the text fills.
    pub windows: Option<usize>,
}

/// The mean of the tokens' surprise, and what it was measured over.
///
/// The surprise of a token is the negative natural logarithm of the probability that the model gave it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Perplexity {
    /// Windows that were computed.
    pub windows: usize,
    /// Windows in all.
    pub of_windows: usize,
    /// Tokens that counted.
    pub tokens: usize,
    sum: f64,
    sum_of_squares: f64,
}

impl Perplexity {
    /// The mean surprise of a token; not a number before any was counted.
    pub fn mean(&self) -> f64 {
        self.sum / self.tokens as f64
    }

    /// The perplexity: e to the power of the mean.
    pub fn value(&self) -> f64 {
        self.mean().exp()
    }

    /// The standard error of [`value`](Self::value), as if tokens were independent; `None` for less than two tokens.
    pub fn standard_error(&self) -> Option<f64> {
        let tokens = self.tokens as f64;
        let variance = self.sum_of_squares / tokens - self.mean().powi(2);
        // Rounding may leave less than zero where all surprises are equal.
        (self.tokens > 1).then(|| self.value() * (variance.max(0.0) / (tokens - 1.0)).sqrt())
    }

    fn count(&mut self, surprise: f64) {
        self.tokens += 1;
        self.sum += surprise;
        self.sum_of_squares += surprise * surprise;
    }
}

impl Session {
    /// The perplexity of `tokens`, by the method of llama.cpp. `on_window` is given the result so far after each window.
    /// The session then holds the tokens of the last window.
    ///
    /// # Errors
    ///
    /// [`Error::Perplexity`](super::Error::Perplexity) for a text, a context or a stride that does not fit, and for logits that are not finite;
    /// otherwise as for [`feed`](Self::feed).
    pub fn perplexity(
        &mut self,
        tokens: &[u32],
        options: &PerplexityOptions,
        mut on_window: impl FnMut(&Perplexity),
    ) -> Result<Perplexity> {
        let windows = Windows::new(tokens.len(), self.context(), options)?;
        let tokenizer = self.model().tokenizer();
        let begin = tokenizer.bos().filter(|_| tokenizer.adds_bos());
        let mut result = Perplexity {
            of_windows: windows.count,
            ..Perplexity::default()
        };
        for start in windows.starts() {
            let mut window = tokens[start..start + windows.context].to_vec();
            if let Some(begin) = begin {
                window[0] = begin;
            }
            self.truncate(0);
            self.count_surprises(&window, windows.foretold(), start, &mut result)?;
            result.windows += 1;
            on_window(&result);
        }
        Ok(result)
    }

    /// Feeds all of `window` but its last token, and counts the surprises of the tokens at `foretold`.
    fn count_surprises(
        &mut self,
        window: &[u32],
        foretold: Range<usize>,
        start: usize,
        result: &mut Perplexity,
    ) -> Result<()> {
        let vocabulary = self.model().config().vocabulary;
        // The logits after a token are the next one's.
        let read = foretold.start - 1..foretold.end - 1;
        if read.start > 0 {
            self.feed(&window[..read.start])?;
        }
        for first in read.clone().step_by(ROWS) {
            let rows = first..read.end.min(first + ROWS);
            let logits = self.feed_with_logits(&window[rows.clone()])?;
            for (row, logits) in rows.zip(logits.chunks_exact(vocabulary)) {
                let surprise = surprise(logits, window[row + 1])
                    .ok_or(PerplexityError::NoProbability(start + row + 1))?;
                result.count(surprise);
            }
        }
        Ok(())
    }
}

/// The negative logarithm of the probability that `logits` give to `token`.
fn surprise(logits: &[f32], token: u32) -> Option<f64> {
    let best = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let distance = |logit: f32| f64::from(logit) - f64::from(best);
    let total: f64 = logits.iter().map(|&logit| distance(logit).exp()).sum();
    let surprise = total.ln() - distance(*logits.get(token as usize)?);
    Some(surprise).filter(|surprise| surprise.is_finite())
}

/// Where the windows lie in a text, and which of their tokens count.
struct Windows {
    context: usize,
    step: usize,
    count: usize,
    /// Tokens at the end of a window that count.
    counted: usize,
}

impl Windows {
    fn new(tokens: usize, context: usize, options: &PerplexityOptions) -> Result<Self> {
        let (step, counted) = match options.stride {
            None if context < 3 => return Err(PerplexityError::ContextTooSmall(context).into()),
            None => (context, context - context / 2 - 1),
            Some(stride) if (1..context).contains(&stride) => (stride, stride),
            Some(stride) => return Err(PerplexityError::Stride { stride, context }.into()),
        };
        if tokens < context {
            return Err(PerplexityError::TextTooShort { tokens, context }.into());
        }
        let all = (tokens - context) / step + 1;
        Ok(Self {
            context,
            step,
            count: options.windows.map_or(all, |most| all.min(most)),
            counted,
        })
    }

    fn starts(&self) -> impl Iterator<Item = usize> {
        (0..self.count).map(|window| window * self.step)
    }

    fn foretold(&self) -> Range<usize> {
        self.context - self.counted..self.context
    }
}
