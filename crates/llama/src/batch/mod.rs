//! [`Batch`]: texts in the making that are computed together.

mod logits;
mod seating;

use std::ops::Range;
use std::time::{Duration, Instant};

use crate::counts::Counts;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::options::SessionOptions;
use crate::pages::{Pages, Table};
use crate::part::Part;
use crate::plan::{Outputs, Plan, Run, passes};
use crate::running::Running;
use crate::scratch::Scratch;
use metal_bridge::devices::Communicator;
use metal_bridge::memory::Memory;
use metal_bridge::ops::{KV_PAGE_POSITIONS, KvShape};
use metal_bridge::{Buffer, StorageMode};

/// The context of a text by default, if the model's is not smaller.
const DEFAULT_CONTEXT: usize = 4096;

/// Texts on one model, each in a slot. They have the pages of the caches in common. A pass reads the weights once for all the texts that it feeds, but
/// an expert of a mixture for each row that chose it.
#[derive(Debug)]
pub(super) struct Batch {
    model: Model,
    /// For each device of the model.
    parts: Vec<Part>,
    /// Joins the queues of several devices.
    communicator: Option<Communicator>,
    context: usize,
    /// The most rows of a pass of prompts.
    rows: usize,
    draft_tokens: usize,
    slots: Vec<Slot>,
    pages: Pages,
    counts: Counts,
    host_time: Duration,
}

#[derive(Clone, Debug, Default)]
struct Slot {
    /// Tokens that the caches hold.
    held: Vec<u32>,
    /// The pages that hold them, and perhaps some more.
    table: Table,
    /// Whether the devices do not have the table yet.
    has_new_table: bool,
    /// Whether pages of other texts may take the place of its own.
    shares: bool,
    /// The rows of the scratch buffers that hold the logits after the last tokens.
    logits: Range<usize>,
}

/// Tokens for the text of a slot.
#[derive(Clone, Debug)]
pub(super) struct Feed {
    pub slot: usize,
    pub tokens: Vec<u32>,
    /// After how many of the last tokens logits are wanted: after all if they are a next token and its draft.
    pub logits: usize,
}

impl Feed {
    /// A next token and the draft behind it.
    pub fn next(slot: usize, token: u32, draft: Vec<u32>) -> Self {
        let tokens = [vec![token], draft].concat();
        let logits = tokens.len();
        Self {
            slot,
            tokens,
            logits,
        }
    }
}

impl Batch {
    /// Empty slots: allocates their buffers, and compiles the kernels that they need. Errors are those of
    /// [`Session::with_options`](crate::Session::with_options).
    pub fn new(model: &Model, slots: usize, options: &SessionOptions) -> Result<Self> {
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
        if slots == 0 {
            let reason = "a batch must have at least one slot";
            return Err(Error::Unsupported(reason.into()));
        }
        if options.replay && slots != 1 {
            let reason = format!("dispatches are replayed for one text, not for {slots}");
            return Err(Error::Unsupported(reason));
        }
        let context_pages = context.div_ceil(KV_PAGE_POSITIONS);
        let pages = match options.cache {
            None => context_pages.saturating_mul(slots),
            Some(tokens) => tokens.div_ceil(KV_PAGE_POSITIONS),
        };
        if pages < context_pages {
            let reason = format!("the caches must hold the {context} tokens of a context");
            return Err(Error::Unsupported(reason));
        }
        let shape = KvShape {
            element: options.cache_element,
            kv_heads: config.kv_heads,
            pages,
            head_size: config.head_dim,
        };
        let stages = model.stages().iter();
        let parts: Vec<Part> = stages
            .map(|stage| Part::new(model, stage, slots, context, &shape, options))
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
            rows: options.batch,
            draft_tokens: options.draft_tokens,
            slots: vec![Slot::default(); slots],
            pages: Pages::new(pages),
            counts: Counts::default(),
            host_time: Duration::ZERO,
        })
    }

    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The most tokens of a text.
    pub fn context(&self) -> usize {
        self.context
    }

    /// How many tokens a slot holds.
    pub fn position(&self, slot: usize) -> usize {
        self.held(slot).len()
    }

    /// The tokens that a slot holds.
    pub fn held(&self, slot: usize) -> &[u32] {
        &self.slots[slot].held
    }

    pub fn counts(&self) -> Counts {
        self.counts
    }

    pub fn host_time(&self) -> Duration {
        self.host_time
    }

    /// The most rows of a pass of prompts.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The most tokens of all drafts in a pass.
    pub fn draft_tokens(&self) -> usize {
        self.draft_tokens
    }

    /// Adds tokens to texts, each of another slot, in as few passes as they need, and waits for all. Then there are the logits of these
    /// texts, and of no others. After an error each slot holds what it held before, without logits.
    pub fn feed(&mut self, feeds: &[Feed]) -> Result<()> {
        for feed in feeds {
            self.prepare(feed.slot, &feed.tokens)?;
        }
        self.forget_logits();
        let runs = feeds.iter().map(|feed| Run {
            slot: feed.slot,
            past: self.position(feed.slot),
            rows: feed.tokens.len(),
            logits: feed.logits,
        });
        // As the passes take them.
        let (next, long): (Vec<_>, Vec<_>) = runs.zip(feeds).partition(|(run, _)| run.is_next());
        let (mut runs, mut tokens) = (Vec::new(), 0);
        for (run, feed) in next.into_iter().chain(long) {
            self.tokens()
                .wait_copy_from_slice(tokens * size_of::<u32>(), &feed.tokens)?;
            tokens += feed.tokens.len();
            runs.push(run);
        }
        let (mut running, mut outcome) = (Running::default(), Ok(()));
        let (mut start, mut logits) = (0, 0);
        for runs in passes(&runs, self.rows) {
            let outputs = Outputs::Wanted(logits);
            let plan = Plan {
                start,
                runs,
                outputs,
            };
            outcome = self.submit(&plan, &mut running);
            if outcome.is_err() {
                break;
            }
            start += plan.rows();
            logits += plan.wanted().len();
        }
        // Nothing may still run when the caller tries again.
        outcome.and(running.wait())?;
        for feed in feeds {
            self.slots[feed.slot].held.extend(&feed.tokens);
        }
        let mut rows = 0;
        for run in runs {
            self.slots[run.slot].logits = rows..rows + run.logits;
            rows += run.logits;
        }
        Ok(())
    }

    /// Adds tokens to the text of a slot, and returns the logits after each of them: makes a buffer for the rows of a pass, and waits
    /// for each pass.
    pub fn feed_with_logits(&mut self, slot: usize, tokens: &[u32]) -> Result<Vec<f32>> {
        let vocabulary = self.model.config().vocabulary;
        let logits = self.feed_with_rows(slot, tokens, vocabulary, |rows| Outputs::All(rows))?;
        let last = &logits[(tokens.len() - 1) * vocabulary..];
        self.outputs().logits.wait_copy_from_slice(0, last)?;
        self.slots[slot].logits = 0..1;
        Ok(logits)
    }

    /// Adds tokens to the text of a slot, and returns what the output matrix would take after each of them. There are no logits then.
    pub fn feed_with_states(&mut self, slot: usize, tokens: &[u32]) -> Result<Vec<f32>> {
        let width = self.model.config().width;
        self.feed_with_rows(slot, tokens, width, |rows| Outputs::States(rows))
    }

    /// Adds tokens, and returns a row of `columns` elements for each.
    fn feed_with_rows(
        &mut self,
        slot: usize,
        tokens: &[u32],
        columns: usize,
        outputs: impl Fn(&Buffer) -> Outputs<'_>,
    ) -> Result<Vec<f32>> {
        self.prepare(slot, tokens)?;
        self.forget_logits();
        self.tokens().wait_copy_from_slice(0, tokens)?;
        let batch = self.rows.min(tokens.len());
        let device = self.outputs().logits.device();
        let rows_buffer = device.new_buffer(batch * columns * 4, StorageMode::Shared)?;
        let mut values = vec![0.0; tokens.len() * columns];
        for start in (0..tokens.len()).step_by(batch) {
            let rows = batch.min(tokens.len() - start);
            let run = Run {
                slot,
                past: self.position(slot) + start,
                rows,
                logits: 1,
            };
            let plan = Plan {
                start,
                runs: vec![run],
                outputs: outputs(&rows_buffer),
            };
            let mut running = Running::default();
            let outcome = self.submit(&plan, &mut running);
            outcome.and(running.wait())?;
            let values = &mut values[start * columns..(start + rows) * columns];
            rows_buffer.wait_copy_to_slice(0, values)?;
        }
        self.slots[slot].held.extend(tokens);
        Ok(values)
    }

    /// Gives a text pages for tokens that can be computed.
    fn prepare(&mut self, slot: usize, tokens: &[u32]) -> Result<()> {
        self.check(self.position(slot), tokens)?;
        self.reserve(slot, tokens.len())?;
        self.write_table(slot)
    }

    /// Checks tokens that are to follow `position` others.
    pub fn check(&self, position: usize, tokens: &[u32]) -> Result<()> {
        if tokens.is_empty() {
            return Err(Error::NoTokens);
        }
        let context = self.context;
        if tokens.len() > context - position {
            return Err(Error::ContextExceeded {
                tokens: tokens.len(),
                position,
                context,
            });
        }
        tokens.iter().try_for_each(|&token| self.check_token(token))
    }

    pub fn check_token(&self, token: u32) -> Result<()> {
        let vocabulary = self.model.config().vocabulary;
        match (token as usize) < vocabulary {
            true => Ok(()),
            false => Err(Error::NoSuchToken { token, vocabulary }),
        }
    }

    /// Where the first device reads tokens.
    fn tokens(&self) -> &Buffer {
        &self.parts[0].scratch.tokens
    }

    /// The buffers of the last device, which has the logits.
    fn outputs(&self) -> &Scratch {
        &self.parts[self.parts.len() - 1].scratch
    }

    /// Commits the computation of a plan, on one device after the other.
    fn submit(&mut self, plan: &Plan<'_>, running: &mut Running) -> Result<()> {
        for index in 0..self.parts.len() {
            let before = self.communicator.as_ref().filter(|_| index > 0);
            if let Some(communicator) = before {
                let (from, to) = (&self.parts[index - 1].scratch, &self.parts[index].scratch);
                let bytes = plan.rows() * self.model.config().width * size_of::<f32>();
                let (from, to) = (&from.hidden, &to.hidden);
                running.sends(communicator.send(index - 1, from, 0..bytes, index, to, 0)?);
            }
            let begin = Instant::now();
            let (part, stage) = (&mut self.parts[index], &self.model.stages()[index]);
            let (commands, dispatches) = part.encode(&self.model, stage, plan)?;
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
