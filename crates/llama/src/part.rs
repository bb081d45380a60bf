//! [`Part`]: what a session has on one device.

use super::error::{Error, Result};
use super::forward::{Outputs, Pass};
use super::model::{Model, Stage};
use super::scratch::Scratch;
use metal_bridge::ops::{DispatchSequence, KvCache, KvShape};
use metal_bridge::{CommandBuffer, CommandQueue, DispatchType};

/// What a session has on one device.
#[derive(Debug)]
pub(super) struct Part {
    pub queue: CommandQueue,
    /// For each layer of the device.
    caches: Vec<KvCache>,
    pub scratch: Scratch,
    /// The dispatches of a token that is fed alone, if the session replays them.
    sequence: Option<DispatchSequence>,
}

impl Part {
    /// Allocates the buffers, and compiles the kernels of decoding, short prompts and whole batches, by recording each into a
    /// command buffer that is dropped: which kernel computes a product depends on the number of rows.
    pub fn new(
        model: &Model,
        stage: &Stage,
        shape: &KvShape,
        batch: usize,
        replay: bool,
    ) -> Result<Self> {
        let (device, layers) = (stage.ops.device(), stage.weights.layers.len());
        let bytes = (shape.bytes()? as u64)
            .saturating_mul(2)
            .saturating_mul(layers as u64);
        let limit = device.limits().recommended_max_working_set_size;
        if bytes > limit {
            return Err(Error::CacheTooLarge {
                context: shape.capacity,
                bytes,
                limit,
            });
        }
        let mut part = Self {
            caches: (0..layers)
                .map(|_| KvCache::new(device, shape))
                .collect::<Result<_, _>>()?,
            queue: device.new_command_queue()?,
            scratch: Scratch::new(device, model.config(), shape.capacity, batch)?,
            sequence: None,
        };
        for rows in [32, 8, batch].map(|rows| rows.min(batch)) {
            part.encode(model, stage, 0, rows, 0, Outputs::Last)?;
        }
        let (_, dispatches) = part.encode(model, stage, 0, 1, 0, Outputs::Last)?;
        if replay {
            part.sequence = Some(DispatchSequence::new(device, dispatches)?);
            part.encode(model, stage, 0, 1, 0, Outputs::Last)?;
        }
        Ok(part)
    }

    /// Makes a command buffer of a pass, as [`Pass::encode`] says, and counts its dispatches.
    pub fn encode(
        &mut self,
        model: &Model,
        stage: &Stage,
        start: usize,
        rows: usize,
        past: usize,
        outputs: Outputs<'_>,
    ) -> Result<(CommandBuffer, usize)> {
        let (weights, caches, scratch) = (&stage.weights, &self.caches, &self.scratch);
        // What the sequence keeps is right for these rows only. They come alone, so no earlier pass still executes it.
        let is_single = (start, rows) == (0, 1) && matches!(outputs, Outputs::Last);
        let sequence = self.sequence.as_mut().filter(|_| is_single);
        let mut commands = self.queue.command_buffer()?;
        let mut encoder = commands.compute_command_encoder(DispatchType::Concurrent)?;
        let dispatches = match sequence {
            None => {
                let ops = &stage.ops;
                Pass::new(model, weights, ops, caches, scratch, &mut encoder)
                    .encode(start, rows, past, outputs)?
            }
            Some(sequence) => {
                let (ops, mut recorder) = (stage.recordable()?, sequence.record()?);
                let dispatches = Pass::new(model, weights, ops, caches, scratch, &mut recorder)
                    .encode(start, rows, past, outputs)?;
                recorder.finish()?;
                sequence.execute(&mut encoder)?;
                dispatches
            }
        };
        encoder.end_encoding()?;
        Ok((commands, dispatches))
    }
}
