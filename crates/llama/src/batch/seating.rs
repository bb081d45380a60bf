//! Which pages the texts of a batch have.

use std::mem;

use metal_bridge::ops::KV_PAGE_POSITIONS;

use super::Batch;
use crate::error::{Error, Result};

impl Batch {
    /// Gives an empty slot the pages for a text that begins with `tokens`, and says how many of these the pages hold already: all but the
    /// last one at most, and none if the text does not `share` pages. `None` if there is no room beside the other texts.
    pub fn seat(&mut self, slot: usize, tokens: &[u32], shares: bool) -> Result<Option<usize>> {
        // Each text has room for what comes next, so that texts do not drive each other out at once.
        let most = self.context_pages();
        let grows = |pages: usize| usize::from(pages < most);
        let others = self.slots.iter().map(|slot| slot.table.pages.len());
        let growing: usize = others.filter(|&pages| pages > 0).map(grows).sum();
        let spare = growing + grows(tokens.len().div_ceil(KV_PAGE_POSITIONS));
        let (parts, copies) = (&self.parts, &mut self.counts.command_buffers);
        let copy = |from, to| {
            for part in parts {
                part.cache.copy_page(&part.queue, from, to)?;
                *copies += 1;
            }
            Ok(())
        };
        let Some((table, kept)) = self.pages.begin(tokens, shares, spare, copy)? else {
            return Ok(None);
        };
        let slot = &mut self.slots[slot];
        slot.held.extend(&tokens[..kept]);
        (slot.table, slot.shares) = (table, shares);
        (slot.has_new_table, slot.logits) = (true, 0..0);
        Ok(Some(kept))
    }

    /// Makes what a text has so far known to others.
    pub fn publish(&mut self, slot: usize) {
        let slot = &mut self.slots[slot];
        slot.has_new_table |= self.pages.publish(&mut slot.table, &slot.held, slot.shares);
    }

    /// Empties a slot. What it held can be found by other texts until its pages are taken.
    pub fn end(&mut self, slot: usize) {
        let slot = mem::take(&mut self.slots[slot]);
        self.pages.end(slot.table, &slot.held, slot.shares);
    }

    /// Forgets the tokens of a slot from `position` on, which were never published; does nothing if there are none.
    pub fn truncate(&mut self, slot: usize, position: usize) {
        let slot = &mut self.slots[slot];
        if position < slot.held.len() {
            slot.logits = 0..0;
            slot.held.truncate(position);
            let pages = position.div_ceil(KV_PAGE_POSITIONS);
            self.pages.truncate(&mut slot.table, pages);
        }
    }

    /// Gives a text pages for so many tokens more, or none and [`Error::CacheFull`] if other texts have them.
    pub fn reserve(&mut self, slot: usize, tokens: usize) -> Result<()> {
        let slot = &mut self.slots[slot];
        let pages = (slot.held.len() + tokens).div_ceil(KV_PAGE_POSITIONS);
        let before = slot.table.pages.len();
        while slot.table.pages.len() < pages {
            if !self.pages.extend(&mut slot.table) {
                self.pages.truncate(&mut slot.table, before);
                return Err(Error::CacheFull { tokens });
            }
            slot.has_new_table = true;
        }
        Ok(())
    }

    /// Pages that texts have, and all pages.
    pub fn pages(&self) -> (usize, usize) {
        let count = self.pages.count();
        (count - self.pages.unused(), count)
    }

    /// Tells the devices which pages a text has.
    pub(super) fn write_table(&mut self, slot: usize) -> Result<()> {
        let place = &mut self.slots[slot];
        if place.has_new_table {
            for part in &self.parts {
                part.cache.set_table(slot, &place.table.pages)?;
            }
            place.has_new_table = false;
        }
        Ok(())
    }

    /// Pages of a whole context.
    fn context_pages(&self) -> usize {
        self.context.div_ceil(KV_PAGE_POSITIONS)
    }
}
