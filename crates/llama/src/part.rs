//! [`Part`]: what texts have on one device.

use super::cache::Cache;
use super::error::Result;
use super::forward::{Pass, PassOps};
use super::model::{Model, Stage};
use super::options::SessionOptions;
use super::plan::{Outputs, Plan, Run};
use super::scratch::Scratch;
use metal_bridge::ops::{DispatchSequence, KvShape, Ops, ProductKernels};
use metal_bridge::{CommandBuffer, CommandQueue, DispatchType};

/// What the texts of a batch have on one device.
#[derive(Debug)]
pub(super) struct Part {
    pub queue: CommandQueue,
    pub cache: Cache,
    pub scratch: Scratch,
    /// The dispatches of a token that is fed alone, if they are replayed.
    sequence: Option<DispatchSequence>,
    /// The operations on next tokens and on prompts, if these differ.
    fixed: Option<[Ops; 2]>,
}

impl Part {
    /// Allocates the buffers, and compiles the kernels of decoding, short prompts and whole batches, by recording each into a
    /// command buffer that is dropped: which kernel computes a product depends on the number of rows.
    pub fn new(
        model: &Model,
        stage: &Stage,
        texts: usize,
        context: usize,
        shape: &KvShape,
        options: &SessionOptions,
    ) -> Result<Self> {
        let (device, layers) = (stage.ops.device(), stage.weights.layers.len());
        let prompts = options.batch.min(context.saturating_mul(texts));
        // One for the next token of each text, and those of drafts.
        let next = texts.saturating_add(options.draft_tokens);
        let next = next.min(context.saturating_mul(texts));
        let batch = prompts.max(next);
        let mut part = Self {
            cache: Cache::new(device, layers, texts, context, shape)?,
            queue: device.new_command_queue()?,
            scratch: Scratch::new(
                device,
                model.config(),
                context.saturating_mul(texts),
                batch,
                next,
                options.activations,
            )?,
            sequence: None,
            fixed: options.deterministic.then(|| {
                // Prompts have those that a whole batch of them has.
                let prompts = stage.ops.product_kernels_of(prompts);
                let kernels = [ProductKernels::Vector, prompts];
                kernels.map(|kernels| stage.ops.with_product_kernels(kernels))
            }),
        };
        for rows in [32, 8, batch].map(|rows| rows.min(batch).min(context)) {
            part.encode(model, stage, &first_tokens(rows))?;
        }
        // As many rows of next tokens as there may be, whether they are a draft's or other texts'.
        for rows in [2, 9, next].map(|rows| rows.min(next)) {
            part.encode(model, stage, &first_next_tokens(rows, texts, context))?;
        }
        let token = first_tokens(1);
        let (_, dispatches) = part.encode(model, stage, &token)?;
        if options.replay {
            part.sequence = Some(DispatchSequence::new(device, dispatches)?);
            part.encode(model, stage, &token)?;
        }
        Ok(part)
    }

    /// Makes a command buffer of a pass, as [`Pass::encode`] says, and counts its dispatches.
    pub fn encode(
        &mut self,
        model: &Model,
        stage: &Stage,
        plan: &Plan<'_>,
    ) -> Result<(CommandBuffer, usize)> {
        let (weights, cache, scratch) = (&stage.weights, &self.cache, &self.scratch);
        // What the sequence keeps is right for these rows only. They come alone, so no earlier pass still executes it.
        let is_single = (plan.start, plan.rows()) == (0, 1)
            && matches!(plan.outputs, Outputs::Wanted(0))
            && plan.runs[0].logits == 1;
        let sequence = self.sequence.as_mut().filter(|_| is_single);
        let mut commands = self.queue.command_buffer()?;
        let mut encoder = commands.compute_command_encoder(DispatchType::Concurrent)?;
        let dispatches = match sequence {
            None => {
                let ops = match &self.fixed {
                    None => PassOps::same(&stage.ops),
                    Some([tokens, _]) if plan.is_decoding() => PassOps::same(tokens),
                    Some([tokens, prompts]) => PassOps {
                        layers: prompts,
                        output: tokens,
                    },
                };
                Pass::new(model, weights, ops, cache, scratch, &mut encoder).encode(plan)?
            }
            Some(sequence) => {
                let (ops, mut recorder) = (stage.recordable()?, sequence.record()?);
                let ops = PassOps::same(ops);
                let dispatches =
                    Pass::new(model, weights, ops, cache, scratch, &mut recorder).encode(plan)?;
                recorder.finish()?;
                sequence.execute(&mut encoder)?;
                dispatches
            }
        };
        encoder.end_encoding()?;
        Ok((commands, dispatches))
    }
}

/// A pass of the first `rows` tokens of a prompt.
fn first_tokens(rows: usize) -> Plan<'static> {
    first_runs([(rows, 1)])
}

/// A pass of `rows` next tokens: one of each text, and a draft of the first text if there are not so many texts.
fn first_next_tokens(rows: usize, texts: usize, context: usize) -> Plan<'static> {
    let texts = rows.min(texts);
    let first = (rows - texts + 1).min(context);
    let rows = (0..texts).map(|slot| if slot == 0 { first } else { 1 });
    first_runs(rows.map(|rows| (rows, rows)))
}

/// A pass of the first tokens of texts: how many, and after how many of the last of them logits are wanted.
fn first_runs(runs: impl IntoIterator<Item = (usize, usize)>) -> Plan<'static> {
    let runs = runs.into_iter().enumerate();
    let runs = runs.map(|(slot, (rows, logits))| Run {
        slot,
        past: 0,
        rows,
        logits,
    });
    Plan {
        start: 0,
        runs: runs.collect(),
        outputs: Outputs::Wanted(0),
    }
}
