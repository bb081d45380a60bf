//! [`Session`]: one text in the making, with its KV cache.

use std::time::{Duration, Instant};

use super::config::ModelConfig;
use super::error::{Error, Result};
use super::forward::Outputs;
use super::log_probability::LogProbabilities;
use super::model::Model;
use super::part::Part;
use super::running::Running;
use super::sampling::{Sampler, SamplingError};
use super::scratch::Scratch;
use metal_bridge::devices::Communicator;
use metal_bridge::memory::Memory;
use metal_bridge::ops::{KvElement, KvShape};
use metal_bridge::{Buffer, StorageMode};

/// What a [`Session`] has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionOptions {
    /// The most tokens that the session can hold; by default the model's context, but not more than 4096, since the
    /// cache is allocated whole.
    pub context: Option<usize>,
    /// The most tokens of a prompt that are computed at once.
    pub batch: usize,
    /// How the cache stores keys and values. F16 halves the cache's memory and rounds: the logits of a long text then
    /// differ by some 1e-4 if the text is fed in other batches.
    pub cache_element: KvElement,
    /// Records the dispatches of a token once and replays them for each token that is fed alone, which takes the CPU less time.
    /// The results are the same. The devices have to
    /// [execute](metal_bridge::Device::supports_indirect_command_buffers) indirect command buffers.
    pub replay: bool,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self {
            context: None,
            batch: 256,
            cache_element: KvElement::F32,
            replay: false,
        }
    }
}

/// The context of a session by default, if the model's is not smaller.
const DEFAULT_CONTEXT: usize = 4096;

/// What a session has asked of the GPU so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Command buffers committed, but not those of copies between devices.
    pub command_buffers: u64,
    /// Kernels dispatched in them.
    pub dispatches: u64,
}

/// A text in the making on a [`Model`]: the keys and values of its tokens so far, and its position.
///
/// All buffers are made with the session; only [`feed_with_logits`](Session::feed_with_logits) makes one more. After an
/// error the session holds the tokens that it held before the call, and can be fed again.
#[derive(Debug)]
pub struct Session {
    model: Model,
    /// For each device of the model.
    parts: Vec<Part>,
    /// Joins the queues of several devices.
    communicator: Option<Communicator>,
    context: usize,
    position: usize,
    /// Whether the scratch buffers hold the logits of the token before `position`.
    has_logits: bool,
    counts: Counts,
    host_time: Duration,
}

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
        let config = model.config();
        let context = options
            .context
            .unwrap_or(config.context.min(DEFAULT_CONTEXT));
        if context == 0 || context > config.context {
            let reason = format!(
                "the context must be from 1 to {} tokens, not {context}",
                config.context
            );
            return Err(Error::Unsupported(reason));
        }
        if options.batch == 0 {
            let reason = "the batch must have at least one token";
            return Err(Error::Unsupported(reason.into()));
        }
        let shape = KvShape {
            element: options.cache_element,
            kv_heads: config.kv_heads,
            capacity: context,
            head_size: config.head_dim,
        };
        let batch = options.batch.min(context);
        let stages = model.stages().iter();
        let parts: Vec<Part> = stages
            .map(|stage| Part::new(model, stage, &shape, batch, options.replay))
            .collect::<Result<_>>()?;
        let communicator = match parts.len() {
            1 => None,
            _ => Some(communicator(model, &parts)?),
        };
        Ok(Self {
            model: model.clone(),
            parts,
            communicator,
            context,
            position: 0,
            has_logits: false,
            counts: Counts::default(),
            host_time: Duration::ZERO,
        })
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The most tokens that the session can hold.
    pub fn context(&self) -> usize {
        self.context
    }

    /// The tokens that the session holds.
    pub fn position(&self) -> usize {
        self.position
    }

    /// What has been asked of the GPU so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The time that the CPU has taken so far to encode command buffers and to commit them.
    pub fn host_time(&self) -> Duration {
        self.host_time
    }

    /// Forgets the tokens from `position` on; does nothing if there are none.
    pub fn truncate(&mut self, position: usize) {
        if position < self.position {
            self.position = position;
            self.has_logits = false;
        }
    }

    /// Adds tokens to the text: commits one command buffer for each batch of them, then waits for all.
    ///
    /// # Errors
    ///
    /// [`Error::NoTokens`], [`Error::ContextExceeded`] and [`Error::NoSuchToken`] before anything is done,
    /// [`Error::Metal`] if the GPU fails; the session holds what it held before.
    pub fn feed(&mut self, tokens: &[u32]) -> Result<()> {
        self.check(tokens)?;
        self.has_logits = false;
        self.tokens().wait_copy_from_slice(0, tokens)?;
        let (batch, mut running, mut outcome) = (self.batch(), Running::default(), Ok(()));
        for start in (0..tokens.len()).step_by(batch) {
            let rows = batch.min(tokens.len() - start);
            let outputs = if start + rows == tokens.len() {
                Outputs::Last
            } else {
                Outputs::None
            };
            outcome = self.submit(start, rows, outputs, &mut running);
            if outcome.is_err() {
                break;
            }
        }
        // Nothing may still run when the caller tries again.
        outcome = outcome.and(running.wait());
        outcome?;
        self.position += tokens.len();
        self.has_logits = true;
        Ok(())
    }

    /// Adds tokens and returns the logits after each of them: a row of the vocabulary's size for each token. For
    /// evaluation: makes a buffer for the rows of a batch, and waits for each batch.
    ///
    /// # Errors
    ///
    /// As for [`feed`](Self::feed).
    pub fn feed_with_logits(&mut self, tokens: &[u32]) -> Result<Vec<f32>> {
        self.check(tokens)?;
        self.has_logits = false;
        self.tokens().wait_copy_from_slice(0, tokens)?;
        let vocabulary = self.config().vocabulary;
        let batch = self.batch().min(tokens.len());
        let device = self.outputs().logits.device();
        let rows_buffer = device.new_buffer(batch * vocabulary * 4, StorageMode::Shared)?;
        let mut logits = vec![0.0; tokens.len() * vocabulary];
        for start in (0..tokens.len()).step_by(batch) {
            let rows = batch.min(tokens.len() - start);
            let mut running = Running::default();
            let outcome = self.submit(start, rows, Outputs::All(&rows_buffer), &mut running);
            outcome.and(running.wait())?;
            rows_buffer.wait_copy_to_slice(
                0,
                &mut logits[start * vocabulary..(start + rows) * vocabulary],
            )?;
        }
        let last = &logits[(tokens.len() - 1) * vocabulary..];
        self.outputs().logits.wait_copy_from_slice(0, last)?;
        self.position += tokens.len();
        self.has_logits = true;
        Ok(logits)
    }

    /// The logits of the next token: one for each token of the vocabulary.
    ///
    /// # Errors
    ///
    /// [`Error::NoTokens`] before the first tokens, after a truncation, and after a feed that failed with
    /// [`Error::Metal`]: the next feed brings logits again.
    pub fn logits(&self) -> Result<Vec<f32>> {
        self.check_logits()?;
        let mut logits = vec![0.0; self.config().vocabulary];
        self.outputs().logits.wait_copy_to_slice(0, &mut logits)?;
        Ok(logits)
    }

    /// Chooses the next token, and does not add it to the text. Greedy samplers take the token that the GPU found
    /// best; the others read the logits.
    ///
    /// # Errors
    ///
    /// [`Error::NoTokens`] as for [`logits`](Self::logits), [`Error::Sampling`] if no logit is a finite number.
    pub fn sample(&self, sampler: &mut Sampler) -> Result<u32> {
        self.check_logits()?;
        let logits = self.outputs().logits.wait_read::<f32>()?;
        if sampler.is_greedy() {
            let best = self.outputs().best.wait_read::<u32>()?[0];
            // Infinity is the GPU's best: then the sampler looks through the others.
            if logits
                .get(best as usize)
                .is_some_and(|logit| logit.is_finite())
            {
                return Ok(best);
            }
        }
        Ok(sampler.sample(&logits)?)
    }

    /// How likely the model finds `token` as the next one, and the `count` tokens that it finds likeliest.
    ///
    /// # Errors
    ///
    /// [`Error::NoTokens`] as for [`logits`](Self::logits), [`Error::NoSuchToken`], and [`Error::Sampling`] if the
    /// token's logit is not a finite number.
    pub fn log_probabilities(&self, token: u32, count: usize) -> Result<LogProbabilities> {
        self.check_logits()?;
        self.check_token(token)?;
        let logits = self.outputs().logits.wait_read::<f32>()?;
        let found = LogProbabilities::of(&logits, token, count);
        Ok(found.ok_or(SamplingError::NoLogits)?)
    }

    fn config(&self) -> &ModelConfig {
        self.model.config()
    }

    fn check(&self, tokens: &[u32]) -> Result<()> {
        if tokens.is_empty() {
            return Err(Error::NoTokens);
        }
        if tokens.len() > self.context - self.position {
            let (position, context) = (self.position, self.context);
            return Err(Error::ContextExceeded {
                tokens: tokens.len(),
                position,
                context,
            });
        }
        tokens.iter().try_for_each(|&token| self.check_token(token))
    }

    pub(super) fn check_token(&self, token: u32) -> Result<()> {
        let vocabulary = self.config().vocabulary;
        match (token as usize) < vocabulary {
            true => Ok(()),
            false => Err(Error::NoSuchToken { token, vocabulary }),
        }
    }

    fn check_logits(&self) -> Result<()> {
        if self.has_logits {
            Ok(())
        } else {
            Err(Error::NoTokens)
        }
    }

    /// The most rows of one pass.
    fn batch(&self) -> usize {
        self.parts[0].scratch.batch
    }

    /// Where the first device reads tokens.
    fn tokens(&self) -> &Buffer {
        &self.parts[0].scratch.tokens
    }

    /// The buffers of the last device, which has the logits.
    fn outputs(&self) -> &Scratch {
        &self.parts[self.parts.len() - 1].scratch
    }

    /// Commits the computation of the `rows` tokens that lie at `start` in the token buffer, on one device after the other.
    fn submit(
        &mut self,
        start: usize,
        rows: usize,
        outputs: Outputs<'_>,
        running: &mut Running,
    ) -> Result<()> {
        let past = self.position + start;
        for index in 0..self.parts.len() {
            let before = self.communicator.as_ref().filter(|_| index > 0);
            if let Some(communicator) = before {
                let (from, to) = (&self.parts[index - 1].scratch, &self.parts[index].scratch);
                let bytes = rows * self.config().width * size_of::<f32>();
                let (from, to) = (&from.hidden, &to.hidden);
                running.sends(communicator.send(index - 1, from, 0..bytes, index, to, 0)?);
            }
            let begin = Instant::now();
            let (part, stage) = (&mut self.parts[index], &self.model.stages()[index]);
            let (commands, dispatches) =
                part.encode(&self.model, stage, start, rows, past, outputs)?;
            running.computes(commands.commit()?);
            self.host_time += begin.elapsed();
            self.counts.command_buffers += 1;
            self.counts.dispatches += dispatches as u64;
        }
        Ok(())
    }
}

/// Joins the queues, so that a device has what the one before it computed before it goes on.
fn communicator(model: &Model, parts: &[Part]) -> Result<Communicator> {
    let queues = model
        .devices()
        .zip(parts)
        .map(|(device, part)| Memory::new(device)?.transfer_queue(&part.queue));
    let queues: Vec<_> = queues.collect::<metal_bridge::Result<_>>()?;
    Ok(Communicator::with_queues(&queues)?)
}
