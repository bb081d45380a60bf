//! [`Session`]: one text in the making, with its KV cache.

use std::time::Duration;

use super::batch::{Batch, Feed};
use super::counts::Counts;
#[cfg(doc)]
use super::error::Error;
use super::error::Result;
use super::log_probability::LogProbabilities;
use super::model::Model;
use super::options::SessionOptions;
use super::sampling::Sampler;

/// A text in the making on a [`Model`]: the keys and values of its tokens so far, and its position.
///
/// All buffers are made with the session; only [`feed_with_logits`](Session::feed_with_logits) makes one more. After an
/// error the session holds the tokens that it held before the call, and can be fed again.
#[derive(Debug)]
pub struct Session {
    /// With one slot.
    batch: Batch,
}

/// The slot of a session.
const SLOT: usize = 0;

impl Session {
    /// A session with the default options.
    ///
    /// # Errors
    ///
    /// As for [`with_options`](Self::with_options).
    pub fn new(model: &Model) -> Result<Self> {
        Self::with_options(model, &SessionOptions::default())
    }

    /// An empty session: allocates its buffers and compiles the kernels that it needs.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] for a context beyond the model's or a batch of no tokens, [`Error::CacheTooLarge`],
    /// [`Error::Metal`] if the device has not enough memory, a kernel does not compile, or dispatches are to be replayed on a
    /// device that cannot.
    pub fn with_options(model: &Model, options: &SessionOptions) -> Result<Self> {
        let batch = Batch::new(model, 1, options)?;
        Ok(Self { batch })
    }

    /// The model.
    pub fn model(&self) -> &Model {
        self.batch.model()
    }

    /// The most tokens that the session can hold.
    pub fn context(&self) -> usize {
        self.batch.context()
    }

    /// The tokens that the session holds.
    pub fn tokens(&self) -> &[u32] {
        self.batch.held(SLOT)
    }

    /// How many tokens the session holds.
    pub fn position(&self) -> usize {
        self.batch.position(SLOT)
    }

    /// What has been asked of the GPU so far.
    pub fn counts(&self) -> Counts {
        self.batch.counts()
    }

    /// The time that the CPU has taken so far to encode command buffers and to commit them.
    pub fn host_time(&self) -> Duration {
        self.batch.host_time()
    }

    /// Forgets the tokens from `position` on; does nothing if there are none.
    pub fn truncate(&mut self, position: usize) {
        self.batch.truncate(SLOT, position);
    }

    /// Adds tokens to the text: commits one command buffer for each batch of them, then waits for all.
    ///
    /// # Errors
    ///
    /// [`Error::NoTokens`], [`Error::ContextExceeded`] and [`Error::NoSuchToken`] before anything is done,
    /// [`Error::Metal`] if the GPU fails; the session holds what it held before.
    pub fn feed(&mut self, tokens: &[u32]) -> Result<()> {
        self.batch.feed(&[Feed {
            slot: SLOT,
            tokens: tokens.to_vec(),
            logits: 1,
        }])
    }

    /// Adds tokens and returns the logits after each of them: a row of the vocabulary's size for each token. For
    /// evaluation: makes a buffer for the rows of a batch, and waits for each batch.
    ///
    /// # Errors
    ///
    /// As for [`feed`](Self::feed).
    pub fn feed_with_logits(&mut self, tokens: &[u32]) -> Result<Vec<f32>> {
        self.batch.feed_with_logits(SLOT, tokens)
    }

    /// [`Batch::feed_with_states`] of its slot.
    pub(super) fn feed_with_states(&mut self, tokens: &[u32]) -> Result<Vec<f32>> {
        self.batch.feed_with_states(SLOT, tokens)
    }

    /// The logits of the next token: one for each token of the vocabulary.
    ///
    /// # Errors
    ///
    /// [`Error::NoTokens`] before the first tokens, after a truncation, and after a feed that failed with
    /// [`Error::Metal`]: the next feed brings logits again.
    pub fn logits(&self) -> Result<Vec<f32>> {
        self.batch.logits(SLOT)
    }

    /// Chooses the next token, and does not add it to the text. Greedy samplers take the token that the GPU found
    /// best; the others read the logits.
    ///
    /// # Errors
    ///
    /// [`Error::NoTokens`] as for [`logits`](Self::logits), [`Error::Sampling`] if no logit is a finite number.
    pub fn sample(&self, sampler: &mut Sampler) -> Result<u32> {
        self.batch.sample(SLOT, self.position(), sampler)
    }

    /// How likely the model finds `token` as the next one, and the `count` tokens that it finds likeliest.
    ///
    /// # Errors
    ///
    /// [`Error::NoTokens`] as for [`logits`](Self::logits), [`Error::NoSuchToken`], and [`Error::Sampling`] if the
    /// token's logit is not a finite number.
    pub fn log_probabilities(&self, token: u32, count: usize) -> Result<LogProbabilities> {
        let position = self.position();
        self.batch.log_probabilities(SLOT, position, token, count)
    }

    /// Its batch, and its slot there.
    pub(super) fn slot(&mut self) -> (&mut Batch, usize) {
        (&mut self.batch, SLOT)
    }
}
