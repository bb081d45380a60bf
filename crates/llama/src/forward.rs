//! The forward pass of a model through the layers of one device: encoded into a command buffer, or recorded for many.

use super::config::ModelConfig;
use super::error::Result;
use super::frequencies::Rope;
use super::loader::Vector;
use super::model::Model;
use super::scratch::{ExpertScratch, Scratch};
use super::weights::{FeedForward, LayerWeights, Linear, OutputWeights, Weights};
use metal_bridge::Buffer;
use metal_bridge::ops::{
    AttentionShape, Epilogue, ExpertShape, KvCache, LaunchTarget, Ops, RopeShape, View,
};

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
                let (hidden, scale) = (&scratch.hidden, self.config.embedding_scale);
                ops.embed_scaled(target, embedding, tokens, hidden, rows, scale)
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
        let (config, scratch) = (self.config, self.scratch);
        self.norm(&layer.attention_norm, 0, rows)?;
        self.barrier()?;
        for (linear, out) in [
            (&layer.query, &scratch.queries),
            (&layer.key, &scratch.keys),
            (&layer.value, &scratch.values),
        ] {
            self.linear(linear, &scratch.normed, out, rows)?;
        }
        self.barrier()?;
        if let Some(norms) = &layer.head_norms {
            self.norm_heads(norms, rows)?;
            self.barrier()?;
        }
        if let Some(rope) = layer.config.rope {
            self.rope(&self.weights.ropes[rope], rows, past)?;
            self.barrier()?;
        }
        self.dispatch_at_position(|ops, target| {
            ops.kv_append(target, cache, &scratch.keys, &scratch.values, rows, past)
        })?;
        self.barrier()?;
        let shape = AttentionShape {
            heads: config.heads,
            rows,
            past,
            scale: config.attention_scale,
            window: layer.config.window,
            soft_cap: config.attention_soft_cap,
        };
        self.dispatch_at_position(|ops, target| {
            let (queries, attended) = (&scratch.queries, &scratch.attended);
            match &layer.sinks {
                None => ops.attention(target, cache, queries, attended, &shape),
                Some(sinks) => {
                    let sinks = sinks.view();
                    ops.attention_with_sinks(target, cache, queries, sinks, attended, &shape)
                }
            }
        })?;
        self.barrier()?;
        let (output, norm) = (&layer.attention_output, &layer.attention_post_norm);
        self.add_to_hidden(output, &scratch.attended, norm.as_ref(), rows)
    }

    fn feed_forward(&mut self, layer: &LayerWeights, rows: usize) -> Result<()> {
        let (config, scratch) = (self.config, self.scratch);
        self.norm(&layer.feed_forward_norm, 0, rows)?;
        self.barrier()?;
        let all = &layer.feed_forward;
        if let (Some((router, shape)), Some(experts)) = (&all.router, &scratch.experts) {
            return self.experts(all, router, shape, experts, rows);
        }
        for (linear, out) in [(&all.gate, &scratch.gate), (&all.up, &scratch.up)] {
            self.linear(linear, &scratch.normed, out, rows)?;
        }
        self.barrier()?;
        self.gate(rows * config.feed_forward)?;
        let norm = layer.feed_forward_post_norm.as_ref();
        self.add_to_hidden(&all.down, &scratch.gate, norm, rows)
    }

    /// The experts that the router chooses for each row, and only these.
    fn experts(
        &mut self,
        all: &FeedForward,
        router: &Linear,
        shape: &ExpertShape,
        experts: &ExpertScratch,
        rows: usize,
    ) -> Result<()> {
        let (config, scratch) = (self.config, self.scratch);
        let ExpertScratch {
            logits,
            chosen,
            shares,
            given,
        } = experts;
        self.linear(router, &scratch.normed, logits, rows)?;
        self.barrier()?;
        self.dispatch(|ops, target| {
            ops.choose_experts(target, logits, chosen, shares, rows, shape)
        })?;
        self.barrier()?;
        let choice = (shape, chosen);
        let normed = &scratch.normed;
        self.linear_chosen(&all.gate, choice, normed, true, &scratch.gate, rows)?;
        self.linear_chosen(&all.up, choice, normed, true, &scratch.up, rows)?;
        self.barrier()?;
        self.gate(rows * shape.used * config.feed_forward)?;
        self.linear_chosen(&all.down, choice, &scratch.gate, false, given, rows)?;
        self.barrier()?;
        self.dispatch(|ops, target| {
            let (hidden, width, scale) = (&scratch.hidden, config.width, config.residual_scale);
            ops.mix_experts(
                target, given, shares, hidden, rows, shape.used, width, scale,
            )
        })?;
        self.barrier()
    }

    /// The products with the matrices of the chosen experts, of rows that all of them share or of rows of their own.
    fn linear_chosen(
        &mut self,
        linear: &Linear,
        (shape, chosen): (&ExpertShape, &Buffer),
        x: &Buffer,
        is_shared: bool,
        out: &Buffer,
        rows: usize,
    ) -> Result<()> {
        let (weight, epilogue) = (&linear.weight, linear.epilogue());
        self.dispatch(|ops, target| {
            ops.linear_chosen(
                target, weight, chosen, x, is_shared, out, rows, shape, &epilogue,
            )
        })
    }

    /// Multiplies the activated gate with the other factor, and puts the product in its place.
    fn gate(&mut self, count: usize) -> Result<()> {
        let (activation, gate, up) = (self.config.gate, &self.scratch.gate, &self.scratch.up);
        self.dispatch(|ops, target| ops.gate(target, activation, gate, up, gate, count))?;
        self.barrier()
    }

    fn linear(&mut self, linear: &Linear, x: &Buffer, out: &Buffer, rows: usize) -> Result<()> {
        let (weight, epilogue) = (&linear.weight, linear.epilogue());
        self.dispatch(|ops, target| ops.linear_with(target, weight, x, out, rows, &epilogue))
    }

    /// Adds a product to the residual stream, by way of its norm if there is one.
    fn add_to_hidden(
        &mut self,
        linear: &Linear,
        x: &Buffer,
        norm: Option<&Vector>,
        rows: usize,
    ) -> Result<()> {
        let (config, scratch) = (self.config, self.scratch);
        match norm {
            None => {
                let epilogue = Epilogue {
                    scale: config.residual_scale,
                    accumulate: true,
                    ..linear.epilogue()
                };
                self.dispatch(|ops, target| {
                    let (weight, hidden) = (&linear.weight, &scratch.hidden);
                    ops.linear_with(target, weight, x, hidden, rows, &epilogue)
                })?;
            }
            Some(norm) => {
                self.linear(linear, x, &scratch.normed, rows)?;
                self.barrier()?;
                self.dispatch(|ops, target| {
                    let (normed, hidden) = (&scratch.normed, &scratch.hidden);
                    let (width, epsilon) = (config.width, config.norm_epsilon);
                    ops.rms_norm_add(target, normed, norm.view(), hidden, rows, width, epsilon)
                })?;
            }
        }
        self.barrier()
    }

    /// Norms each head of the queries and of the keys.
    fn norm_heads(&mut self, norms: &[Vector; 2], rows: usize) -> Result<()> {
        let (config, scratch) = (self.config, self.scratch);
        let [queries, keys] = norms;
        for (heads, norm, x) in [
            (config.heads, queries, &scratch.queries),
            (config.kv_heads, keys, &scratch.keys),
        ] {
            let (heads, size, epsilon) = (rows * heads, config.head_dim, config.norm_epsilon);
            self.dispatch(|ops, target| {
                ops.rms_norm(target, x, norm.view(), x, heads, size, epsilon)
            })?;
        }
        Ok(())
    }

    /// Rotates queries and keys.
    fn rope(&mut self, rope: &Rope, rows: usize, past: usize) -> Result<()> {
        let (config, scratch) = (self.config, self.scratch);
        let context = self.caches[0].shape().capacity;
        for (heads, out) in [
            (config.heads, &scratch.queries),
            (config.kv_heads, &scratch.keys),
        ] {
            let shape = RopeShape {
                rows,
                heads,
                head_size: config.head_dim,
                pairs: config.pairs(),
                magnitude: rope.magnitude,
                first_position: past,
                pairing: config.rope_pairing,
            };
            self.dispatch_at_position(|ops, target| {
                ops.rope(target, out, rope.frequencies(context), &shape)
            })?;
        }
        Ok(())
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
        let (config, scratch) = (self.config, self.scratch);
        self.norm(&output.norm, first, rows)?;
        self.barrier()?;
        let epilogue = Epilogue {
            scale: config.logit_scale,
            ..output.matrix.epilogue()
        };
        self.dispatch(|ops, target| {
            let (weight, normed) = (&output.matrix.weight, &scratch.normed);
            ops.linear_with(target, weight, normed, logits, rows, &epilogue)
        })?;
        let Some(cap) = config.logit_soft_cap else {
            return Ok(());
        };
        self.barrier()?;
        let count = rows * config.vocabulary;
        self.dispatch(|ops, target| ops.soft_cap(target, logits, count, cap))
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
