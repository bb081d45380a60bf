//! Products with the model's matrices, of activations as they are or rounded to 8 bits.

use super::Pass;
use crate::error::Result;
use crate::weights::Linear;
use metal_bridge::Buffer;
use metal_bridge::ops::{Epilogue, ExpertShape, Ops, View};

impl<'a> Pass<'a> {
    /// Rounds rows of `x` for these matrices, if one of them multiplies rounded rows: all those with blocks, if the session
    /// rounds. Comes after a barrier, since rows that were rounded before may be in use until then.
    pub(super) fn round(&mut self, linears: &[&Linear], x: &Buffer, rows: usize) -> Result<()> {
        let first = linears.iter().find_map(|linear| {
            let rounded = self.rounded(linear)?;
            Some((rounded, linear.weight.columns()))
        });
        let Some((rounded, columns)) = first else {
            return Ok(());
        };
        self.dispatch(|ops, target| ops.round_activations(target, x, rounded, rows, columns))?;
        self.barrier()
    }

    /// Where the rounded rows lie that this matrix multiplies.
    fn rounded(&self, linear: &Linear) -> Option<&'a Buffer> {
        let rounded = self.scratch.rounded.as_ref();
        rounded.filter(|_| linear.weight.kind().has_blocks())
    }

    /// A product with rows of `x`, which were [rounded](Self::round) if need be.
    pub(super) fn linear(
        &mut self,
        linear: &Linear,
        x: &Buffer,
        out: &Buffer,
        rows: usize,
    ) -> Result<()> {
        let (ops, epilogue) = (self.ops.layers, linear.epilogue());
        self.linear_with(ops, linear, x, View::new(out, 0), rows, &epilogue)
    }

    /// The same, with the operations of the caller and what these make of the product.
    pub(super) fn linear_with(
        &mut self,
        ops: &Ops,
        linear: &Linear,
        x: &Buffer,
        out: View<'_>,
        rows: usize,
        epilogue: &Epilogue<'_>,
    ) -> Result<()> {
        let (weight, rounded) = (&linear.weight, self.rounded(linear));
        self.dispatch_with(ops, |ops, target| match rounded {
            None => ops.linear_with(target, weight, x, out, rows, epilogue),
            Some(x) => ops.linear_rounded(target, weight, x, out, rows, epilogue),
        })
    }

    /// The products with the matrices of the chosen experts, of rows that all of them share or of rows of their own, which were
    /// [rounded](Self::round) if need be.
    pub(super) fn linear_chosen(
        &mut self,
        linear: &Linear,
        (shape, chosen): (&ExpertShape, &Buffer),
        x: &Buffer,
        is_shared: bool,
        out: &Buffer,
        rows: usize,
    ) -> Result<()> {
        let (weight, epilogue) = (&linear.weight, linear.epilogue());
        let rounded = self.rounded(linear);
        self.dispatch(|ops, target| match rounded {
            None => ops.linear_chosen(
                target, weight, chosen, x, is_shared, out, rows, shape, &epilogue,
            ),
            Some(x) => ops.linear_chosen_rounded(
                target, weight, chosen, x, is_shared, out, rows, shape, &epilogue,
            ),
        })
    }
}
