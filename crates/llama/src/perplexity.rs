//! [`Perplexity`]: how well a model foretells a text, and which of the text's tokens count.

use std::ops::Range;

use super::log_probability::LogSoftmax;

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

    /// Before the first of `of_windows` windows.
    pub(super) fn of_windows(of_windows: usize) -> Self {
        Self {
            of_windows,
            ..Self::default()
        }
    }

    pub(super) fn count(&mut self, surprise: f64) {
        self.tokens += 1;
        self.sum += surprise;
        self.sum_of_squares += surprise * surprise;
    }
}

/// The negative logarithm of the probability that `logits` give to `token`.
pub(super) fn surprise(logits: &[f32], token: u32) -> Option<f64> {
    let softmax = LogSoftmax::of(logits.iter().copied());
    let surprise = -softmax.at(*logits.get(token as usize)?);
    Some(surprise).filter(|surprise| surprise.is_finite())
}

/// Where the windows lie in a text, and which of their tokens count.
pub(super) struct Windows {
    pub context: usize,
    step: usize,
    pub count: usize,
    /// Tokens at the end of a window that count.
    counted: usize,
}

impl Windows {
    pub fn new(
        tokens: usize,
        context: usize,
        options: &PerplexityOptions,
    ) -> Result<Self, PerplexityError> {
        let (step, counted) = match options.stride {
            None if context < 3 => return Err(PerplexityError::ContextTooSmall(context)),
            None => (context, context - context / 2 - 1),
            Some(stride) if (1..context).contains(&stride) => (stride, stride),
            Some(stride) => return Err(PerplexityError::Stride { stride, context }),
        };
        if tokens < context {
            return Err(PerplexityError::TextTooShort { tokens, context });
        }
        let all = (tokens - context) / step + 1;
        Ok(Self {
            context,
            step,
            count: options.windows.map_or(all, |most| all.min(most)),
            counted,
        })
    }

    pub fn starts(&self) -> impl Iterator<Item = usize> {
        (0..self.count).map(|window| window * self.step)
    }

    pub fn foretold(&self) -> Range<usize> {
        self.context - self.counted..self.context
    }
}
