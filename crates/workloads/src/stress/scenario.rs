//! What a run repeats: buffers made, used and dropped, in the patterns that made plain bindings crash.

use std::sync::mpsc;
use std::thread;

use metal_bridge::ops::{Ops, Weight, WeightType};
use metal_bridge::{
    Buffer, CommandBuffer, CommandQueue, Device, DispatchType, StorageMode, Submission,
};

use super::error::{Error, Result};
use super::projection::Projection;

/// A pattern of use. Every projection makes a buffer for its weights, its input and its output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scenario {
    /// The first `projections` (1 to 3) of queries, keys and values, for this many tokens and layers.
    Projections {
        /// 1: queries alone; 2: and keys; 3: and values.
        projections: usize,
        /// One command buffer each.
        tokens: usize,
        /// Layers in each command buffer.
        layers: usize,
    },
    /// This many outputs alive at once.
    Alive(usize),
    /// This many buffers made and dropped, one after another; one in 10,000 is the output of a projection.
    Sequence(usize),
}

/// Where and when the handles are dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drops {
    /// On the thread that made them, after the GPU is done.
    Here,
    /// On another thread.
    Elsewhere,
    /// While the GPU still uses the objects.
    WhileInUse,
}

impl Drops {
    /// Every way.
    pub const ALL: [Drops; 3] = [Drops::Here, Drops::Elsewhere, Drops::WhileInUse];
}

/// TinyLlama's: queries, keys and values of a layer, as rows by columns.
const QKV: [(usize, usize); 3] = [(2048, 2048), (256, 2048), (256, 2048)];
const SMALL: (usize, usize) = (32, 64);

/// Command buffers of [`Scenario::Alive`] hold this many dispatches.
const DISPATCHES_AT_ONCE: usize = 256;
/// Bytes of a buffer of [`Scenario::Sequence`].
const SEQUENCE_BYTES: usize = 64;
const SEQUENCE_CHECK_EVERY: usize = 10_000;

/// Runs scenarios on a device. Holds no buffers between them.
pub struct Runner {
    queue: CommandQueue,
    ops: Ops,
    qkv: Vec<Projection>,
    small: Projection,
}

impl Runner {
    /// Makes up the weights, and computes the exact results in float64.
    ///
    /// # Errors
    ///
    /// Those of [`Device::new_command_queue`] and [`Ops::new`].
    pub fn new(device: &Device) -> Result<Runner> {
        let projection = |(seed, &(rows, columns))| Projection::new(rows, columns, seed);
        Ok(Runner {
            queue: device.new_command_queue()?,
            ops: Ops::new(device)?,
            qkv: (1u64..).zip(&QKV).map(projection).collect(),
            small: projection((9, &SMALL)),
        })
    }

    /// The device that the scenarios run on.
    pub fn device(&self) -> &Device {
        self.queue.device()
    }

    /// Runs `scenario` on the calling thread. Returns the largest relative deviation of a result from float64.
    ///
    /// # Errors
    ///
    /// Whatever making a buffer, encoding and the GPU can fail with.
    pub fn run(&self, scenario: Scenario, drops: Drops) -> Result<f64> {
        match scenario {
            Scenario::Projections {
                projections,
                tokens,
                layers,
            } => self.projections(projections, tokens, layers, drops),
            Scenario::Alive(count) => self.alive(count, drops),
            Scenario::Sequence(count) => self.sequence(count, drops),
        }
    }

    fn projections(
        &self,
        projections: usize,
        tokens: usize,
        layers: usize,
        drops: Drops,
    ) -> Result<f64> {
        let Some(wanted) = self
            .qkv
            .get(..projections)
            .filter(|wanted| !wanted.is_empty())
        else {
            let message = format!(
                "{projections} projections: there are 1 to {}",
                self.qkv.len()
            );
            return Err(Error::new(message));
        };
        let mut worst = 0.0f64;
        for _ in 0..tokens {
            let all: Vec<&Projection> = (0..layers).flat_map(|_| wanted).collect();
            worst = worst.max(self.batch(&all, drops)?);
        }
        Ok(worst)
    }

    fn alive(&self, count: usize, drops: Drops) -> Result<f64> {
        let mut outputs = Vec::with_capacity(count);
        let mut batches = Vec::new();
        while outputs.len() < count {
            let dispatches = DISPATCHES_AT_ONCE.min(count - outputs.len());
            let batch = self.encode(&vec![&self.small; dispatches])?;
            outputs.extend(batch.outputs.iter().cloned());
            batches.push(batch);
            if drops != Drops::WhileInUse {
                batches
                    .drain(..)
                    .try_for_each(|batch| discard(batch, drops))?;
            }
        }
        // Dropped while they run: the outputs are waited for through their own buffers.
        drop(batches);
        let mut worst = 0.0f64;
        for output in &outputs {
            worst = worst.max(self.small.deviation(&output.wait_read::<f32>()?));
        }
        Ok(worst)
    }

    fn sequence(&self, count: usize, drops: Drops) -> Result<f64> {
        // If another thread is to drop the buffers, it lives here; it ends with the channel.
        thread::scope(|scope| {
            let (sender, receiver) = mpsc::sync_channel::<Buffer>(64);
            let elsewhere = drops == Drops::Elsewhere;
            if elsewhere {
                scope.spawn(move || receiver.into_iter().for_each(drop));
            }
            let mut worst = 0.0f64;
            for made in 0..count {
                if made % SEQUENCE_CHECK_EVERY == 0 {
                    worst = worst.max(self.batch(&[&self.small], drops)?);
                }
                let buffer = self
                    .device()
                    .new_buffer(SEQUENCE_BYTES, StorageMode::Shared)?;
                if elsewhere {
                    // The receiver lives as long as the sender does.
                    let _ = sender.send(buffer);
                }
            }
            Ok(worst)
        })
    }

    /// One command buffer of these projections: made, run, dropped, compared.
    fn batch(&self, projections: &[&Projection], drops: Drops) -> Result<f64> {
        let mut worst = 0.0f64;
        let mut compare = |outputs: &[Buffer]| -> Result<()> {
            for (projection, output) in projections.iter().zip(outputs) {
                worst = worst.max(projection.deviation(&output.wait_read::<f32>()?));
            }
            Ok(())
        };
        if drops == Drops::WhileInUse {
            let outputs = self.encode_held(projections)?;
            compare(&outputs)?;
        } else {
            let batch = self.encode(projections)?;
            batch.submission.wait()?;
            compare(&batch.outputs)?;
            discard(batch, drops)?;
        }
        Ok(worst)
    }

    fn encode(&self, projections: &[&Projection]) -> Result<Batch> {
        let mut commands = self.queue.command_buffer()?;
        let (inputs, outputs) = self.record(&mut commands, projections)?;
        Ok(Batch {
            submission: commands.commit()?,
            inputs,
            outputs,
        })
    }

    /// Commits the projections behind an event, drops all handles but the outputs while the GPU waits for it, and lets
    /// the GPU go on.
    fn encode_held(&self, projections: &[&Projection]) -> Result<Vec<Buffer>> {
        let event = self.device().new_shared_event()?;
        let mut commands = self.queue.command_buffer()?;
        commands.encode_wait_for_event(&event, 1)?;
        let (inputs, outputs) = self.record(&mut commands, projections)?;
        drop(commands.commit()?);
        drop(inputs);
        event.set_signaled_value(1)?;
        Ok(outputs)
    }

    fn record(
        &self,
        commands: &mut CommandBuffer,
        projections: &[&Projection],
    ) -> Result<(Vec<Buffer>, Vec<Buffer>)> {
        let mut inputs = Vec::with_capacity(2 * projections.len());
        let mut outputs = Vec::with_capacity(projections.len());
        let mut encoder = commands.compute_command_encoder(DispatchType::Serial)?;
        for Projection {
            rows,
            columns,
            weights,
            x,
            ..
        } in projections
        {
            let weights = self
                .device()
                .new_buffer_with_data(weights, StorageMode::Shared)?;
            let x = self.device().new_buffer_with_data(x, StorageMode::Shared)?;
            let y = self
                .device()
                .new_buffer(rows * size_of::<f32>(), StorageMode::Shared)?;
            let weight = Weight::new(weights.clone(), 0, *rows, *columns, WeightType::Q8_0)?;
            self.ops.linear(&mut encoder, &weight, &x, &y, 1)?;
            inputs.extend([weights, x]);
            outputs.push(y);
        }
        encoder.end_encoding()?;
        Ok((inputs, outputs))
    }
}

/// A command buffer's handles.
struct Batch {
    submission: Submission,
    inputs: Vec<Buffer>,
    outputs: Vec<Buffer>,
}

fn discard(batch: Batch, drops: Drops) -> Result<()> {
    let Batch {
        submission,
        inputs,
        outputs,
    } = batch;
    submission.wait()?;
    let handles = (submission, inputs, outputs);
    if drops == Drops::Elsewhere {
        // A drop does not panic. If one did, the panic hook would have reported it.
        let _ = thread::spawn(move || drop(handles)).join();
    }
    Ok(())
}
