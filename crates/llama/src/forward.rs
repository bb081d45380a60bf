//! The forward pass of a Llama through the layers of one device: encoded into a command buffer, or recorded for many.

use super::config::ModelConfig;
use super::error::Result;
use super::model::Model;
use super::scratch::Scratch;
use super::weights::{LayerWeights, OutputWeights, Vector, Weights};
use metal_bridge::Buffer;
use metal_bridge::ops::{AttentionShape, KvCache, LaunchTarget, Ops, RopePairing, RopeShape, View};

/// Which rows' logits are wanted.
#[derive(Clone, Copy)]
pub(super) enum Outputs<'a> {
    /// None: another pass follows with more rows.
    None,
    /// Those of the last row. They go to a scratch buffer, and the token of the largest to another.
    Last,
    /// Those of all rows. They go to this buffer, and the token of the last row's largest to its scratch buffer.
    All(&'a Buffer),
}

/// A forward pass on its way to a target.
///
/// Its dispatches run concurrently. There is a barrier between two dispatches only if the later one must come after
/// the earlier one.
pub(super) struct Pass<'a> {
    config: &'a ModelConfig,
    weights: &'a Weights,
    ops: &'a Ops,
    caches: &'a [KvCache],
    scratch: &'a Scratch,
    target: &'a mut dyn LaunchTarget,
    dispatches: usize,
}

impl<'a> Pass<'a> {
    /// A pass through these weights, which are of one device of the model.
    pub fn new(
        model: &'a Model,
        weights: &'a Weights,
        ops: &'a Ops,
        caches: &'a [KvCache],
        scratch: &'a Scratch,
        target: &'a mut dyn LaunchTarget,
    ) -> Self {
        Self {
            config: model.config(),
            weights,
            ops,
            caches,
            scratch,
            target,
            dispatches: 0,
        }
    }

    /// Records the computation of `rows` tokens, which follow `past` tokens in the caches: they lie at `start` in the token
    /// buffer, or what the device before this one made of them is in the residual stream. Gives the number of dispatches.
    pub fn encode(
        mut self,
        start: usize,
        rows: usize,
        past: usize,
        outputs: Outputs<'_>,
    ) -> Result<usize> {
        let (weights, scratch) = (self.weights, self.scratch);
        if let Some(embedding) = &weights.embedding {
            let tokens = View::new(&scratch.tokens, start * size_of::<u32>());
            self.dispatch(|ops, target| {
                ops.embed(target, embedding, tokens, &scratch.hidden, rows)
            })?;
            self.barrier()?;
        }
        for (layer, cache) in weights.layers.iter().zip(self.caches) {
            self.attention(layer, cache, rows, past)?;
            self.feed_forward(layer, rows)?;
        }
        if let Some(output) = &weights.output {
            match outputs {
                Outputs::None => {}
                Outputs::Last => {
                    self.logits(output, rows - 1, 1, &scratch.logits)?;
                    self.best(View::new(&scratch.logits, 0))?;
                }
                Outputs::All(logits) => {
                    self.logits(output, 0, rows, logits)?;
                    let row_bytes = self.config.vocabulary * size_of::<f32>();
                    self.best(View::new(logits, (rows - 1) * row_bytes))?;
                }
            }
        }
        Ok(self.dispatches)
    }

    fn attention(
        &mut self,
        layer: &LayerWeights,
        cache: &KvCache,
        rows: usize,
        past: usize,
    ) -> Result<()> {
        let (config, weights, scratch) = (self.config, self.weights, self.scratch);
        self.norm(&layer.attention_norm, 0, rows)?;
        self.barrier()?;
        for (weight, out) in [
            (&layer.query, &scratch.queries),
            (&layer.key, &scratch.keys),
            (&layer.value, &scratch.values),
        ] {
            self.dispatch(|ops, target| ops.linear(target, weight, &scratch.normed, out, rows))?;
        }
        self.barrier()?;
        for (heads, out) in [
            (config.heads, &scratch.queries),
            (config.kv_heads, &scratch.keys),
        ] {
            let shape = RopeShape {
                rows,
                heads,
                head_size: config.head_dim,
                pairs: config.pairs(),
                first_position: past,
                pairing: RopePairing::Interleaved,
            };
            self.dispatch_at_position(|ops, target| {
                ops.rope(target, out, &weights.rope_frequencies, &shape)
            })?;
        }
        self.barrier()?;
        self.dispatch_at_position(|ops, target| {
            ops.kv_append(target, cache, &scratch.keys, &scratch.values, rows, past)
        })?;
        self.barrier()?;
        let shape = AttentionShape {
            heads: config.heads,
            rows,
            past,
            scale: config.attention_scale,
        };
        self.dispatch_at_position(|ops, target| {
            ops.attention(target, cache, &scratch.queries, &scratch.attended, &shape)
        })?;
        self.barrier()?;
        let weight = &layer.attention_output;
        self.dispatch(|ops, target| {
            ops.linear_add(target, weight, &scratch.attended, &scratch.hidden, rows)
        })?;
        self.barrier()
    }

    fn feed_forward(&mut self, layer: &LayerWeights, rows: usize) -> Result<()> {
        let (config, scratch) = (self.config, self.scratch);
        self.norm(&layer.feed_forward_norm, 0, rows)?;
        self.barrier()?;
        for (weight, out) in [(&layer.gate, &scratch.gate), (&layer.up, &scratch.up)] {
            self.dispatch(|ops, target| ops.linear(target, weight, &scratch.normed, out, rows))?;
        }
        self.barrier()?;
        let (gate, up) = (&scratch.gate, &scratch.up);
        let count = rows * config.feed_forward;
        self.dispatch(|ops, target| ops.silu_multiply(target, gate, up, gate, count))?;
        self.barrier()?;
        self.dispatch(|ops, target| {
            ops.linear_add(target, &layer.down, gate, &scratch.hidden, rows)
        })?;
        self.barrier()
    }

    /// The token of the largest logit of a row.
    fn best(&mut self, logits: View<'_>) -> Result<()> {
        let (vocabulary, best) = (self.config.vocabulary, &self.scratch.best);
        self.barrier()?;
        self.dispatch(|ops, target| ops.argmax(target, logits, best, 1, vocabulary))
    }

    /// The logits of `rows` rows from row `first` on.
    fn logits(
        &mut self,
        output: &OutputWeights,
        first: usize,
        rows: usize,
        logits: &Buffer,
    ) -> Result<()> {
        let scratch = self.scratch;
        self.norm(&output.norm, first, rows)?;
        self.barrier()?;
        self.dispatch(|ops, target| {
            ops.linear(target, &output.matrix, &scratch.normed, logits, rows)
        })
    }

    /// Norms `rows` rows of the residual stream from row `first` on.
    fn norm(&mut self, weight: &Vector, first: usize, rows: usize) -> Result<()> {
        let (scratch, width, epsilon) = (self.scratch, self.config.width, self.config.norm_epsilon);
        let hidden = View::new(&scratch.hidden, first * width * size_of::<f32>());
        self.dispatch(|ops, target| {
            ops.rms_norm(
                target,
                hidden,
                weight.view(),
                &scratch.normed,
                rows,
                width,
                epsilon,
            )
        })
    }

    /// Launches what is the same for every position: a target that has it already keeps it.
    fn dispatch(
        &mut self,
        launch: impl FnOnce(&Ops, &mut dyn LaunchTarget) -> metal_bridge::Result<()>,
    ) -> Result<()> {
        if self.target.keep() {
            self.dispatches += 1;
            return Ok(());
        }
        self.dispatch_at_position(launch)
    }

    fn dispatch_at_position(
        &mut self,
        launch: impl FnOnce(&Ops, &mut dyn LaunchTarget) -> metal_bridge::Result<()>,
    ) -> Result<()> {
        launch(self.ops, self.target)?;
        self.dispatches += 1;
        Ok(())
    }

    fn barrier(&mut self) -> Result<()> {
        Ok(self.target.memory_barrier()?)
    }
}
