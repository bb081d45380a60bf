//! Which pages the texts of a batch have.

use std::mem;

use metal_bridge::ops::KV_PAGE_POSITIONS;

use super::Batch;
use crate::error::{Error, Result};
use crate::pages::{Found, Table};

impl Batch {
    /// Gives an empty slot the pages for a text that begins with `tokens`, and says how many of these the pages hold already: all but the
    /// last one at most, and none if the text does not `share` pages. `None` if there is no room beside the other texts.
    pub fn seat(&mut self, slot: usize, tokens: &[u32], shares: bool) -> Result<Option<usize>> {
        let found = match tokens.split_last() {
            Some((_, before)) if shares => self.pages.find(before),
            _ => Found::default(),
        };
        let mut table = self.pages.share(&found.table);
        let count = tokens.len().div_ceil(KV_PAGE_POSITIONS);
        let missing = count - table.pages.len();
        // Each text has room for what comes next, so that texts do not drive each other out at once.
        let grows = |count: usize| usize::from(count < self.context_pages());
        let others = self
            .slots
            .iter()
            .filter(|slot| !slot.table.pages.is_empty());
        let growing: usize = others.map(|slot| grows(slot.table.pages.len())).sum();
        let kept = table.pages.len() * KV_PAGE_POSITIONS;
        if self.pages.unused() < missing + growing + grows(count) {
            self.pages.release_all(&table);
            return Ok(None);
        }
        let part = match found.part {
            None => Ok(0),
            Some((page, length)) => self.take_part(page, length, missing, &mut table),
        };
        let part = part.inspect_err(|_| self.pages.release_all(&table))?;
        while table.pages.len() < count && self.pages.extend(&mut table) {}
        let slot = &mut self.slots[slot];
        slot.held.extend(&tokens[..kept + part]);
        (slot.table, slot.shares) = (table, shares);
        (slot.has_new_table, slot.logits) = (true, 0..0);
        Ok(Some(kept + part))
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
            let left = slot.logits.len().saturating_sub(slot.held.len() - position);
            slot.logits.end = slot.logits.start + left;
            slot.held.truncate(position);
            let pages = position.div_ceil(KV_PAGE_POSITIONS);
            self.pages.truncate(&mut slot.table, pages);
        }
    }

    /// Gives a text pages for so many tokens more. [`Error::CacheFull`] if other texts have them.
    pub fn reserve(&mut self, slot: usize, tokens: usize) -> Result<()> {
        let slot = &mut self.slots[slot];
        let pages = (slot.held.len() + tokens).div_ceil(KV_PAGE_POSITIONS);
        while slot.table.pages.len() < pages {
            if !self.pages.extend(&mut slot.table) {
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

    /// Puts a page behind a text's others whose first `length` tokens are those of a known page: that page itself if it has no others and no
    /// text has it, or else a copy. Says how many tokens the text has by it. `missing` pages must remain for the text.
    fn take_part(
        &mut self,
        page: u32,
        length: usize,
        missing: usize,
        table: &mut Table,
    ) -> Result<usize> {
        if self.pages.tokens(page).len() == length && self.pages.adopt(page, table) {
            return Ok(length);
        }
        // So that nobody takes it meanwhile.
        let source = self.pages.share(&[page]);
        let has_room = self.pages.unused() >= missing && self.pages.extend(table);
        let copied = match (has_room, table.pages.last()) {
            (true, Some(&copy)) => self.copy_page(page, copy).map(|()| length),
            _ => Ok(0),
        };
        self.pages.release_all(&source);
        copied
    }

    fn copy_page(&mut self, from: u32, to: u32) -> Result<()> {
        for part in &self.parts {
            part.cache.copy_page(&part.queue, from, to)?;
            self.counts.command_buffers += 1;
        }
        Ok(())
    }
}
