//! [`Sampling`]: how the next token is chosen, and what no setting may be.

use crate::constraint::{Constraint, ConstraintError};

/// How the next token is chosen.
///
/// First, `constraint` leaves out the tokens that may not come next. The order of the other steps is llama.cpp's: `logit_bias` and the
/// penalties change logits. Then, the `top_k` best tokens are kept; of these, the fewest whose probabilities add up to `top_p`; then those
/// that are likely enough beside the best one (`min_p`). Last, `temperature` flattens or sharpens the probabilities, and one token is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampling {
    /// Divides the logits before drawing. 0 is greedy: always the best token.
    pub temperature: f32,
    /// How many of the best tokens to draw from; 0 is all.
    pub top_k: usize,
    /// Draw from the fewest tokens whose probabilities add up to this; 1 is all.
    pub top_p: f32,
    /// Draw from the tokens that have at least this part of the best one's probability; 0 is all.
    pub min_p: f32,
    /// As in llama.cpp: divides the logits above 0 of the last [`repeat_last_n`](Self::repeat_last_n) tokens, and
    /// multiplies the others. 1 changes nothing.
    pub repeat_penalty: f32,
    /// How many of the last tokens of the prompt and the text [`repeat_penalty`](Self::repeat_penalty) is for; 0 is
    /// none, and `usize::MAX` all.
    pub repeat_last_n: usize,
    /// As in OpenAI's interface: taken from a token's logit for each time that it is in the generated text. From -2 to
    /// 2.
    pub frequency_penalty: f32,
    /// As in OpenAI's interface: taken once from the logit of each token that is in the generated text. From -2 to 2.
    pub presence_penalty: f32,
    /// As in OpenAI's interface: tokens, and what is added to their logits, from -100 to 100. Tokens beyond the
    /// vocabulary have no logits.
    pub logit_bias: Vec<(u32, f32)>,
    /// What the generated text may be. A text that may not go on ends there.
    pub constraint: Option<Constraint>,
    /// Equal seeds draw equal tokens from equal logits.
    pub seed: u64,
}

impl Default for Sampling {
    /// Greedy, without penalties. [`repeat_last_n`](Self::repeat_last_n) is llama.cpp's 64.
    fn default() -> Self {
        Self {
            temperature: 0.0,
            top_k: 0,
            top_p: 1.0,
            min_p: 0.0,
            repeat_penalty: 1.0,
            repeat_last_n: 64,
            frequency_penalty: 0.0,
            presence_penalty: 0.0,
            logit_bias: Vec::new(),
            constraint: None,
            seed: 0,
        }
    }
}

/// A setting of [`Sampling`] out of its range, or logits that cannot be sampled from.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SamplingError {
    /// The temperature is negative or not a number.
    #[error("temperature {0} is not a number from 0 up")]
    Temperature(f32),
    /// `top_p` is outside of 0 to 1.
    #[error("top-p {0} is not between 0 and 1")]
    TopP(f32),
    /// `min_p` is outside of 0 to 1.
    #[error("min-p {0} is not between 0 and 1")]
    MinP(f32),
    /// `repeat_penalty` is not positive.
    #[error("repeat penalty {0} is not a number above 0")]
    RepeatPenalty(f32),
    /// `frequency_penalty` is outside of -2 to 2.
    #[error("frequency penalty {0} is not between -2 and 2")]
    FrequencyPenalty(f32),
    /// `presence_penalty` is outside of -2 to 2.
    #[error("presence penalty {0} is not between -2 and 2")]
    PresencePenalty(f32),
    /// A bias of `logit_bias` is outside of -100 to 100.
    #[error("the logit bias {bias} of token {token} is not between -100 and 100")]
    LogitBias {
        /// The token.
        token: u32,
        /// Its bias.
        bias: f32,
    },
    /// No logit is a number: the model's weights or its computation are broken.
    #[error("none of the logits is a finite number")]
    NoLogits,
    /// The constraint lets the text neither go on nor end.
    #[error(transparent)]
    Constraint(#[from] ConstraintError),
}

impl Sampling {
    /// Whether nothing changes logits or leaves some out.
    pub(super) fn leaves_logits(&self) -> bool {
        let repeats = self.repeat_penalty != 1.0 && self.repeat_last_n > 0;
        !repeats
            && !self.penalizes_text()
            && self.logit_bias.is_empty()
            && self.constraint.is_none()
    }

    /// Whether there are penalties for tokens of the generated text.
    pub(super) fn penalizes_text(&self) -> bool {
        self.frequency_penalty != 0.0 || self.presence_penalty != 0.0
    }

    /// Refuses settings out of their ranges.
    pub(super) fn check(&self) -> Result<(), SamplingError> {
        let is_positive = |number: f32| number.is_finite() && number > 0.0;
        if !(is_positive(self.temperature) || self.temperature == 0.0) {
            return Err(SamplingError::Temperature(self.temperature));
        }
        if !(0.0..=1.0).contains(&self.top_p) {
            return Err(SamplingError::TopP(self.top_p));
        }
        if !(0.0..=1.0).contains(&self.min_p) {
            return Err(SamplingError::MinP(self.min_p));
        }
        if !is_positive(self.repeat_penalty) {
            return Err(SamplingError::RepeatPenalty(self.repeat_penalty));
        }
        if !(-2.0..=2.0).contains(&self.frequency_penalty) {
            return Err(SamplingError::FrequencyPenalty(self.frequency_penalty));
        }
        if !(-2.0..=2.0).contains(&self.presence_penalty) {
            return Err(SamplingError::PresencePenalty(self.presence_penalty));
        }
        let mut biases = self.logit_bias.iter();
        match biases.find(|(_, bias)| !(-100.0..=100.0).contains(bias)) {
            Some(&(token, bias)) => Err(SamplingError::LogitBias { token, bias }),
            None => Ok(()),
        }
    }
}
