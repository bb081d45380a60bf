//! The forward pass of a model through the layers of one device: encoded into a command buffer, or recorded for many.

mod attention;
mod products;

use std::ops::Range;

use crate::cache::Cache;
use crate::config::ModelConfig;
use crate::error::Result;
use crate::loader::Vector;
use crate::model::Model;
use crate::plan::{Outputs, Plan};
use crate::scratch::{ExpertScratch, Scratch};
use crate::weights::{FeedForward, LayerWeights, Linear, OutputWeights, Weights};
use metal_bridge::Buffer;
use metal_bridge::ops::{Epilogue, ExpertShape, LaunchTarget, Ops, View};

/// The operations that a pass takes its products from.
#[derive(Clone, Copy)]
pub(super) struct PassOps<'a> {
    pub layers: &'a Ops,
    /// For the logits.
    pub output: &'a Ops,
}

impl<'a> PassOps<'a> {
    /// The same for all products.
    pub fn same(ops: &'a Ops) -> Self {
        Self {
            layers: ops,
            output: ops,
        }
    }
}

/// A forward pass on its way to a target.
///
/// Its dispatches run concurrently. There is a barrier between two dispatches only if the later one must come after
/// the earlier one.
pub(super) struct Pass<'a> {
    config: &'a ModelConfig,
    weights: &'a Weights,
    ops: PassOps<'a>,
    cache: &'a Cache,
    scratch: &'a Scratch,
    target: &'a mut dyn LaunchTarget,
    dispatches: usize,
}

impl<'a> Pass<'a> {
    /// A pass through these weights, which are of one device of the model.
    pub fn new(
        model: &'a Model,
        weights: &'a Weights,
        ops: PassOps<'a>,
        cache: &'a Cache,
        scratch: &'a Scratch,
        target: &'a mut dyn LaunchTarget,
    ) -> Self {
        Self {
            config: model.config(),
            weights,
            ops,
            cache,
            scratch,
            target,
            dispatches: 0,
        }
    }

    /// Records the computation of a plan, whose tokens lie in the token buffer, or what the device before this one made of
    /// them is in the residual stream. Gives the number of dispatches.
    pub fn encode(mut self, plan: &Plan<'_>) -> Result<usize> {
        let (weights, scratch, rows) = (self.weights, self.scratch, plan.rows());
        if let Some(embedding) = &weights.embedding {
            let tokens = View::new(&scratch.tokens, plan.start * size_of::<u32>());
            self.dispatch(|ops, target| {
                let (hidden, scale) = (&scratch.hidden, self.config.embedding_scale);
                ops.embed_scaled(target, embedding, tokens, hidden, rows, scale)
            })?;
            self.barrier()?;
        }
        for (index, layer) in weights.layers.iter().enumerate() {
            self.attention(index, layer, plan)?;
            self.feed_forward(layer, rows)?;
        }
        if let Some(output) = &weights.output {
            self.outputs(output, plan)?;
        }
        Ok(self.dispatches)
    }

    fn feed_forward(&mut self, layer: &LayerWeights, rows: usize) -> Result<()> {
        let (config, scratch) = (self.config, self.scratch);
        self.norm(&layer.feed_forward_norm, 0..rows, 0)?;
        self.barrier()?;
        let all = &layer.feed_forward;
        if let (Some((router, shape)), Some(experts)) = (&all.router, &scratch.experts) {
            return self.experts(all, router, shape, experts, rows);
        }
        self.round(&[&all.gate, &all.up], &scratch.normed, rows)?;
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
        self.round(&[&all.gate, &all.up], &scratch.normed, rows)?;
        // The router's few products are not of rounded rows: a logit that is a little off chooses another expert.
        self.dispatch(|ops, target| {
            let (weight, epilogue) = (&router.weight, router.epilogue());
            ops.linear_with(target, weight, &scratch.normed, logits, rows, &epilogue)
        })?;
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
        let slots = rows * shape.used;
        self.gate(slots * config.feed_forward)?;
        self.round(&[&all.down], &scratch.gate, slots)?;
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

    /// Multiplies the activated gate with the other factor, and puts the product in its place.
    fn gate(&mut self, count: usize) -> Result<()> {
        let (activation, gate, up) = (self.config.gate, &self.scratch.gate, &self.scratch.up);
        self.dispatch(|ops, target| ops.gate(target, activation, gate, up, gate, count))?;
        self.barrier()
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
        self.round(&[linear], x, rows)?;
        match norm {
            None => {
                let epilogue = Epilogue {
                    scale: config.residual_scale,
                    accumulate: true,
                    ..linear.epilogue()
                };
                let (ops, hidden) = (self.ops.layers, View::new(&scratch.hidden, 0));
                self.linear_with(ops, linear, x, hidden, rows, &epilogue)?;
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

    /// The logits that the plan wants.
    fn outputs(&mut self, output: &OutputWeights, plan: &Plan<'_>) -> Result<()> {
        let (scratch, row_bytes) = (self.scratch, self.config.vocabulary * size_of::<f32>());
        match plan.outputs {
            Outputs::Wanted(first) => {
                let wanted = plan.wanted();
                if wanted.is_empty() {
                    return Ok(());
                }
                let logits = View::new(&scratch.logits, first * row_bytes);
                let best = View::new(&scratch.best, first * size_of::<u32>());
                self.logits(output, &wanted, logits)?;
                self.best(logits, best, wanted.len())
            }
            Outputs::All(all) => {
                let rows: Vec<usize> = (0..plan.rows()).collect();
                self.logits(output, &rows, View::new(all, 0))?;
                let last = View::new(all, (rows.len() - 1) * row_bytes);
                self.best(last, View::new(&scratch.best, 0), 1)
            }
            Outputs::States(all) => self.norm_into(&output.norm, 0..plan.rows(), View::new(all, 0)),
        }
    }

    /// The tokens of the largest logits of rows.
    fn best(&mut self, logits: View<'_>, best: View<'_>, rows: usize) -> Result<()> {
        let vocabulary = self.config.vocabulary;
        self.barrier()?;
        self.dispatch(|ops, target| ops.argmax(target, logits, best, rows, vocabulary))
    }

    /// The logits of these rows.
    fn logits(&mut self, output: &OutputWeights, rows: &[usize], logits: View<'_>) -> Result<()> {
        let (config, scratch) = (self.config, self.scratch);
        let mut normed = 0;
        for rows in rows.chunk_by(|before, after| before + 1 == *after) {
            self.norm(&output.norm, rows[0]..rows[0] + rows.len(), normed)?;
            normed += rows.len();
        }
        self.barrier()?;
        let epilogue = Epilogue {
            scale: config.logit_scale,
            ..output.matrix.epilogue()
        };
        let (ops, count) = (self.ops.output, rows.len());
        self.round(&[&output.matrix], &scratch.normed, count)?;
        self.linear_with(
            ops,
            &output.matrix,
            &scratch.normed,
            logits,
            count,
            &epilogue,
        )?;
        let Some(cap) = config.logit_soft_cap else {
            return Ok(());
        };
        self.barrier()?;
        let count = rows.len() * config.vocabulary;
        self.dispatch(|ops, target| ops.soft_cap(target, logits, count, cap))
    }

    /// Norms these rows of the residual stream. The results begin at row `out`.
    fn norm(&mut self, weight: &Vector, rows: Range<usize>, out: usize) -> Result<()> {
        let out = out * self.config.width * size_of::<f32>();
        self.norm_into(weight, rows, View::new(&self.scratch.normed, out))
    }

    fn norm_into(&mut self, weight: &Vector, rows: Range<usize>, normed: View<'_>) -> Result<()> {
        let (scratch, width, epsilon) = (self.scratch, self.config.width, self.config.norm_epsilon);
        let hidden = View::new(&scratch.hidden, rows.start * width * size_of::<f32>());
        self.dispatch(|ops, target| {
            let weight = weight.view();
            ops.rms_norm(target, hidden, weight, normed, rows.len(), width, epsilon)
        })
    }

    /// Launches what is the same for every position: a target that has it already keeps it.
    fn dispatch(
        &mut self,
        launch: impl FnOnce(&Ops, &mut dyn LaunchTarget) -> metal_bridge::Result<()>,
    ) -> Result<()> {
        self.dispatch_with(self.ops.layers, launch)
    }

    fn dispatch_with(
        &mut self,
        ops: &Ops,
        launch: impl FnOnce(&Ops, &mut dyn LaunchTarget) -> metal_bridge::Result<()>,
    ) -> Result<()> {
        if !self.target.keep() {
            launch(ops, self.target)?;
        }
        self.dispatches += 1;
        Ok(())
    }

    fn dispatch_at_position(
        &mut self,
        launch: impl FnOnce(&Ops, &mut dyn LaunchTarget) -> metal_bridge::Result<()>,
    ) -> Result<()> {
        launch(self.ops.layers, self.target)?;
        self.dispatches += 1;
        Ok(())
    }

    fn barrier(&mut self) -> Result<()> {
        Ok(self.target.memory_barrier()?)
    }
}
