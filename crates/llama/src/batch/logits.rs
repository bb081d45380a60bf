//! What texts choose from: the logits after their last tokens, of which some may be a draft.

use super::{Batch, Slot};
use crate::error::{Error, Result};
use crate::log_probability::LogProbabilities;
use crate::sampling::{Sampler, SamplingError};

impl Batch {
    /// The logits after the tokens of a slot. [`Error::NoTokens`] if the last feed did not bring any.
    pub fn logits(&self, slot: usize) -> Result<Vec<f32>> {
        let row = self.row(slot, self.position(slot))?;
        let mut logits = vec![0.0; self.model.config().vocabulary];
        let offset = row * logits.len() * size_of::<f32>();
        self.outputs()
            .logits
            .wait_copy_to_slice(offset, &mut logits)?;
        Ok(logits)
    }

    /// Chooses the token after the first `position` tokens of a slot, and does not add it.
    pub fn sample(&self, slot: usize, position: usize, sampler: &mut Sampler) -> Result<u32> {
        let row = self.row(slot, position)?;
        let logits = self.outputs().logits.wait_read::<f32>()?;
        let logits = self.row_of(&logits, row);
        if sampler.is_greedy() {
            let best = self.outputs().best.wait_read::<u32>()?[row];
            // Infinity is the GPU's best: then the sampler looks through the others.
            if logits
                .get(best as usize)
                .is_some_and(|logit| logit.is_finite())
            {
                return Ok(best);
            }
        }
        Ok(sampler.sample(logits)?)
    }

    /// How likely `token` is after the first `position` tokens of a slot, and the `count` likeliest tokens.
    pub fn log_probabilities(
        &self,
        slot: usize,
        position: usize,
        token: u32,
        count: usize,
    ) -> Result<LogProbabilities> {
        let row = self.row(slot, position)?;
        self.check_token(token)?;
        let logits = self.outputs().logits.wait_read::<f32>()?;
        let found = LogProbabilities::of(self.row_of(&logits, row), token, count);
        Ok(found.ok_or(SamplingError::NoLogits)?)
    }

    /// How many tokens a slot holds before the draft that was fed last.
    pub fn before_draft(&self, slot: usize) -> usize {
        let Slot { held, logits, .. } = &self.slots[slot];
        held.len() - logits.len().saturating_sub(1)
    }

    /// Keeps of a slot's draft what lies before `position`, and the logits after that.
    pub fn accept(&mut self, slot: usize, position: usize) {
        let before = self.before_draft(slot);
        self.counts.drafted += (self.position(slot) - before) as u64;
        self.counts.accepted += (position - before) as u64;
        let logits = self.slots[slot].logits.clone();
        let row = logits.start + position - before;
        self.truncate(slot, position);
        self.slots[slot].logits = row..logits.end.min(row + 1);
    }

    pub(super) fn forget_logits(&mut self) {
        self.slots.iter_mut().for_each(|slot| slot.logits = 0..0);
    }

    /// The row with the logits after the first `position` tokens of a slot.
    fn row(&self, slot: usize, position: usize) -> Result<usize> {
        let Slot { held, logits, .. } = &self.slots[slot];
        let behind = held.len().checked_sub(position);
        let row = behind.and_then(|behind| (logits.start..logits.end).rev().nth(behind));
        row.ok_or(Error::NoTokens)
    }

    fn row_of<'a>(&self, logits: &'a [f32], row: usize) -> &'a [f32] {
        let vocabulary = self.model.config().vocabulary;
        &logits[row * vocabulary..][..vocabulary]
    }
}
