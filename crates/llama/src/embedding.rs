//! [`Session::embed`]: a vector that stands for a text.

use super::config::ModelConfig;
use super::error::{Error, Result};
use super::session::Session;

/// What becomes of the hidden states of a text's tokens: one vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pooling {
    /// Their mean.
    Mean,
    /// That of the last token.
    Last,
}

impl Pooling {
    /// What the model's file names, or else the mean.
    fn of(config: &ModelConfig) -> Result<Self> {
        match config.pooling_type {
            // llama.cpp calls 0 none: a vector for each token.
            None | Some(0 | 1) => Ok(Self::Mean),
            Some(3) => Ok(Self::Last),
            Some(kind) => {
                let reason = format!("embeddings of pooling type {kind}");
                Err(Error::Unsupported(reason))
            }
        }
    }
}

impl Session {
    /// The embedding of a text: the hidden states of its tokens after the last norm, which the output matrix would take, pooled, and
    /// divided by the length of the result. The session then holds these tokens, and no logits.
    ///
    /// Without a `pooling` it is the one that the model's file names, or else the mean.
    ///
    /// # Errors
    ///
    /// As for [`feed`](Self::feed); [`Error::Unsupported`] for a model with another pooling, and if the states are not finite numbers.
    pub fn embed(&mut self, tokens: &[u32], pooling: Option<Pooling>) -> Result<Vec<f32>> {
        let pooling = match pooling {
            Some(pooling) => pooling,
            None => Pooling::of(self.model().config())?,
        };
        let width = self.model().config().width;
        self.truncate(0);
        let states = self.feed_with_states(tokens)?;
        let mut sums = vec![0.0; width];
        let used = match pooling {
            Pooling::Mean => &states[..],
            Pooling::Last => &states[states.len() - width..],
        };
        for state in used.chunks_exact(width) {
            let pairs = sums.iter_mut().zip(state);
            pairs.for_each(|(sum, &value)| *sum += f64::from(value));
        }
        // The length divides out the number of tokens, too.
        let length = sums.iter().map(|sum| sum * sum).sum::<f64>().sqrt();
        if !length.is_finite() {
            let reason = "the hidden states of the text are not finite numbers";
            return Err(Error::Unsupported(reason.into()));
        }
        // A text of zeros has no direction.
        let length = if length > 0.0 { length } else { 1.0 };
        Ok(sums.iter().map(|sum| (sum / length) as f32).collect())
    }
}
