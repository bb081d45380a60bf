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
        // As many as a prompt may fill, and one for the next token of each text.
        let batch = options.batch.min(context.saturating_mul(texts)).max(texts);
        let mut part = Self {
            cache: Cache::new(device, layers, texts, context, shape)?,
            queue: device.new_command_queue()?,
            scratch: Scratch::new(device, model.config(), texts, context, batch)?,
            sequence: None,
            fixed: options.deterministic.then(|| {
                // Prompts have those that a whole batch has.
                let prompts = stage.ops.product_kernels_of(batch);
                let kernels = [ProductKernels::Vector, prompts];
                kernels.map(|kernels| stage.ops.with_product_kernels(kernels))
            }),
        };
        for rows in [32, 8, batch].map(|rows| rows.min(batch).min(context)) {
            part.encode(model, stage, &first_tokens(1, rows))?;
        }
        let several = |some: &usize| (2..=texts).contains(some);
        for texts in [2, 9, texts].into_iter().filter(several) {
            part.encode(model, stage, &first_tokens(texts, 1))?;
        }
        let token = first_tokens(1, 1);
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
            && plan.runs[0].has_logits;
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

/// A pass of the first `rows` tokens of each of these texts.
fn first_tokens(texts: usize, rows: usize) -> Plan<'static> {
    let run = |slot| Run {
        slot,
        past: 0,
        rows,
        has_logits: true,
    };
    Plan {
        start: 0,
        runs: (0..texts).map(run).collect(),
        outputs: Outputs::Wanted(0),
    }
}
