//! The part of a layer in which tokens see those before them: the only one that knows texts and positions.

use super::Pass;
use crate::error::Result;
use crate::frequencies::Rope;
use crate::loader::Vector;
use crate::plan::{Plan, Run};
use crate::weights::LayerWeights;
use metal_bridge::ops::{AttentionShape, RopeShape, View};

impl Pass<'_> {
    /// Attention of a layer, from its norm to what it adds to the residual stream.
    pub(super) fn attention(
        &mut self,
        index: usize,
        layer: &LayerWeights,
        plan: &Plan<'_>,
    ) -> Result<()> {
        let (config, scratch, rows) = (self.config, self.scratch, plan.rows());
        self.norm(&layer.attention_norm, 0..rows, 0)?;
        self.barrier()?;
        let products = [&layer.query, &layer.key, &layer.value];
        self.round(&products, &scratch.normed, rows)?;
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
            for (first, run) in plan.placed() {
                self.rope(&self.weights.ropes[rope], first, &run)?;
            }
            self.barrier()?;
        }
        let row = |buffer, first| View::new(buffer, first * config.kv_width() * size_of::<f32>());
        for (first, run) in plan.placed() {
            let (cache, table) = (self.cache.layer(index), self.cache.table(run.slot));
            let (keys, values) = (row(&scratch.keys, first), row(&scratch.values, first));
            self.dispatch_at_position(|ops, target| {
                ops.kv_append(target, cache, table, keys, values, run.rows, run.past)
            })?;
        }
        self.barrier()?;
        for (first, run) in plan.placed() {
            // A token's sums do not depend on the draft behind it.
            let pieces: Vec<Run> = match run.is_next() {
                true => run.single_rows().collect(),
                false => vec![run],
            };
            for piece in pieces {
                self.attend(index, layer, first + piece.past - run.past, &piece)?;
            }
        }
        self.barrier()?;
        let (output, norm) = (&layer.attention_output, &layer.attention_post_norm);
        self.add_to_hidden(output, &scratch.attended, norm.as_ref(), rows)
    }

    /// Attention of a run, whose rows begin at `first`, over its text.
    fn attend(
        &mut self,
        index: usize,
        layer: &LayerWeights,
        first: usize,
        run: &Run,
    ) -> Result<()> {
        let (config, scratch) = (self.config, self.scratch);
        let shape = AttentionShape {
            heads: config.heads,
            rows: run.rows,
            past: run.past,
            scale: config.attention_scale,
            window: layer.config.window,
            soft_cap: config.attention_soft_cap,
        };
        let (cache, table) = (self.cache.layer(index), self.cache.table(run.slot));
        let row = |buffer| View::new(buffer, first * config.query_width() * size_of::<f32>());
        let (queries, attended) = (row(&scratch.queries), row(&scratch.attended));
        self.dispatch_at_position(|ops, target| match &layer.sinks {
            None => ops.attention(target, cache, table, queries, attended, &shape),
            Some(sinks) => {
                let sinks = sinks.view();
                ops.attention_with_sinks(target, cache, table, queries, sinks, attended, &shape)
            }
        })
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

    /// Rotates queries and keys of a run, whose rows begin at `first`.
    fn rope(&mut self, rope: &Rope, first: usize, run: &Run) -> Result<()> {
        let (config, scratch) = (self.config, self.scratch);
        let context = self.cache.context;
        for (heads, out) in [
            (config.heads, &scratch.queries),
            (config.kv_heads, &scratch.keys),
        ] {
            let shape = RopeShape {
                rows: run.rows,
                heads,
                head_size: config.head_dim,
                pairs: config.pairs(),
                magnitude: rope.magnitude,
                first_position: run.past,
                pairing: config.rope_pairing,
            };
            let out = View::new(out, first * heads * config.head_dim * size_of::<f32>());
            self.dispatch_at_position(|ops, target| {
                ops.rope(target, out, rope.frequencies(context), &shape)
            })?;
        }
        Ok(())
    }
}
