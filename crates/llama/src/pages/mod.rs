//! [`Pages`]: which pages of the caches texts have, and what is in them.

#[cfg(test)]
mod tests;

use std::mem;

use crate::error::Result;
use metal_bridge::ops::KV_PAGE_POSITIONS;

/// The pages of the caches, by their numbers (Kwon et al. 2023, arXiv:2309.06180).
///
/// A page whose tokens are known can be found by texts that begin alike: the known pages form a tree, in which each page follows the one with the
/// tokens before its own. A text that has a page has all pages before it, too. So pages of no text can be taken, the ones without a
/// page behind them first.
#[derive(Debug)]
pub(super) struct Pages {
    pages: Vec<Page>,
    /// Pages without known tokens that no text has.
    free: Vec<u32>,
    /// Known pages at the beginning of texts.
    first: Vec<u32>,
    /// Counts calls, so that pages have an age.
    clock: u64,
}

#[derive(Clone, Debug, Default)]
struct Page {
    /// Texts that have the page.
    users: usize,
    known: Option<Known>,
}

#[derive(Clone, Debug)]
struct Known {
    /// What the page holds: a whole page, or the end of a text.
    tokens: Vec<u32>,
    before: Option<u32>,
    behind: Vec<u32>,
    /// When a text had the page last.
    used: u64,
}

/// The pages of a text.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    pub pages: Vec<u32>,
    /// How many of them are known: the first ones.
    known: usize,
}

impl Table {
    /// The page that the next one becomes known behind.
    fn last_known(&self) -> Option<u32> {
        self.known.checked_sub(1).map(|last| self.pages[last])
    }
}

/// What is known of a text: whole pages, and then perhaps a part of one.
#[derive(Debug, Default, PartialEq, Eq)]
struct Found {
    table: Vec<u32>,
    /// A page, and how many of its tokens go on with the text.
    part: Option<(u32, usize)>,
}

impl Pages {
    pub fn new(count: usize) -> Self {
        Self {
            pages: vec![Page::default(); count],
            // The first page is taken first.
            free: (0..count as u32).rev().collect(),
            first: Vec::new(),
            clock: 0,
        }
    }

    /// Pages that no text has.
    pub fn unused(&self) -> usize {
        self.pages.iter().filter(|page| page.users == 0).count()
    }

    pub fn count(&self) -> usize {
        self.pages.len()
    }

    /// Gives a new text the pages for `tokens`, and says how many of these the pages hold already: all but the last one at most, and none if
    /// the text does not `share` pages. `copy` copies a page. `None` if fewer than `spare` pages would remain for others.
    pub fn begin(
        &mut self,
        tokens: &[u32],
        shares: bool,
        spare: usize,
        copy: impl FnOnce(u32, u32) -> Result<()>,
    ) -> Result<Option<(Table, usize)>> {
        let found = match tokens.split_last() {
            Some((_, before)) if shares => self.find(before),
            _ => Found::default(),
        };
        let mut table = self.share(&found.table);
        let count = tokens.len().div_ceil(KV_PAGE_POSITIONS);
        let missing = count - table.pages.len();
        let kept = table.pages.len() * KV_PAGE_POSITIONS;
        if self.unused() < missing + spare {
            self.release_all(&table);
            return Ok(None);
        }
        let part = match found.part {
            None => Ok(0),
            Some((page, length)) => self.begin_within(page, length, missing, &mut table, copy),
        };
        let part = part.inspect_err(|_| self.release_all(&table))?;
        while table.pages.len() < count && self.extend(&mut table) {}
        Ok(Some((table, kept + part)))
    }

    /// Puts a page behind a text's others whose first `length` tokens are those of a known page: that page itself if it has no others and no
    /// text has it, or else a copy. Says how many tokens the text has by it. `missing` pages must remain for the text.
    fn begin_within(
        &mut self,
        page: u32,
        length: usize,
        missing: usize,
        table: &mut Table,
        copy: impl FnOnce(u32, u32) -> Result<()>,
    ) -> Result<usize> {
        if self.tokens(page).len() == length && self.adopt(page, table) {
            return Ok(length);
        }
        // So that nobody takes it meanwhile.
        let source = self.share(&[page]);
        let has_room = self.unused() >= missing && self.extend(table);
        let copied = match (has_room, table.pages.last()) {
            (true, Some(&to)) => copy(page, to).map(|()| length),
            _ => Ok(0),
        };
        self.release_all(&source);
        copied
    }

    /// The pages that hold the longest known beginning of `tokens`.
    fn find(&self, tokens: &[u32]) -> Found {
        let mut found = Found::default();
        loop {
            let rest = &tokens[found.table.len() * KV_PAGE_POSITIONS..];
            let next = self.behind(found.table.last().copied()).iter();
            let shared = |&page: &u32| (page, same(self.tokens(page), rest));
            match next.map(shared).max_by_key(|&(_, length)| length) {
                Some((page, KV_PAGE_POSITIONS)) => found.table.push(page),
                Some((page, length)) if length > 0 => {
                    found.part = Some((page, length));
                    return found;
                }
                _ => return found,
            }
        }
    }

    /// Gives found pages to one text more.
    fn share(&mut self, pages: &[u32]) -> Table {
        pages.iter().for_each(|&page| self.use_again(page));
        Table {
            pages: pages.to_vec(),
            known: pages.len(),
        }
    }

    /// Gives a text a page behind its others; the oldest one that no text has, if none is free. Whether there was one.
    pub fn extend(&mut self, table: &mut Table) -> bool {
        let Some(page) = self.free.pop().or_else(|| self.forget_oldest()) else {
            return false;
        };
        self.pages[page as usize].users = 1;
        table.pages.push(page);
        true
    }

    /// Makes the whole pages of a text known, whose tokens are `held`. If others with the same tokens are known, the text gets these in
    /// place of its own if it `shares`; otherwise nobody learns of its pages. Whether the table has changed.
    pub fn publish(&mut self, table: &mut Table, held: &[u32], shares: bool) -> bool {
        let mut has_changed = false;
        while let Some(tokens) = held.chunks_exact(KV_PAGE_POSITIONS).nth(table.known) {
            match self.equal(table, tokens) {
                None => self.know(table, tokens),
                Some(other) if shares => {
                    self.use_again(other);
                    let own = mem::replace(&mut table.pages[table.known], other);
                    self.release(own);
                    has_changed = true;
                }
                Some(_) => break,
            }
            table.known += 1;
        }
        has_changed
    }

    /// Takes the pages of a text that has ended. What they hold is known from now on, as `publish` says.
    pub fn end(&mut self, mut table: Table, held: &[u32], shares: bool) {
        self.publish(&mut table, held, shares);
        let rest = &held[table.known * KV_PAGE_POSITIONS..];
        if !rest.is_empty() && rest.len() < KV_PAGE_POSITIONS {
            let before = table.last_known();
            let behind = self.behind(before).iter().copied();
            // Ends of texts that are the beginning of another one are of no use beside it.
            let (longer, shorter): (Vec<u32>, Vec<u32>) = behind
                .filter(|&page| {
                    same(self.tokens(page), rest) == rest.len().min(self.tokens(page).len())
                })
                .partition(|&page| self.tokens(page).len() >= rest.len());
            if longer.is_empty() {
                let is_useless = |page: &u32| self.is_leaf_without_users(*page);
                let useless: Vec<u32> = shorter.into_iter().filter(is_useless).collect();
                for page in useless {
                    self.forget(page);
                    self.free.push(page);
                }
                self.know(&table, rest);
            }
        }
        self.release_all(&table);
    }

    /// Takes the pages of a text, of which nothing more becomes known.
    pub fn release_all(&mut self, table: &Table) {
        table
            .pages
            .iter()
            .rev()
            .for_each(|&page| self.release(page));
    }

    /// Takes the pages behind the first `count` of a text, none of which is known.
    pub fn truncate(&mut self, table: &mut Table, count: usize) {
        let behind = table.pages.split_off(count.min(table.pages.len()));
        behind.into_iter().for_each(|page| self.release(page));
    }

    /// Gives a text the page behind its others that it found, so that it can write to it: nobody finds the page any more. Whether that is
    /// possible: not if a text has the page, or pages are behind it.
    fn adopt(&mut self, page: u32, table: &mut Table) -> bool {
        let is_possible = self.is_leaf_without_users(page);
        if is_possible {
            self.forget(page);
            self.pages[page as usize].users = 1;
            table.pages.push(page);
        }
        is_possible
    }

    fn is_leaf_without_users(&self, page: u32) -> bool {
        let Page { users, known } = &self.pages[page as usize];
        let is_leaf = known.as_ref().is_some_and(|known| known.behind.is_empty());
        *users == 0 && is_leaf
    }

    /// A known page with these tokens, where the text's next one that is not known would be.
    fn equal(&self, table: &Table, tokens: &[u32]) -> Option<u32> {
        let before = table.last_known();
        let mut behind = self.behind(before).iter().copied();
        behind.find(|&page| self.tokens(page) == tokens)
    }

    /// Makes the text's next page known.
    fn know(&mut self, table: &Table, tokens: &[u32]) {
        let before = table.last_known();
        let page = table.pages[table.known];
        self.clock += 1;
        self.pages[page as usize].known = Some(Known {
            tokens: tokens.to_vec(),
            before,
            behind: Vec::new(),
            used: self.clock,
        });
        self.behind_mut(before).push(page);
    }

    fn use_again(&mut self, page: u32) {
        self.clock += 1;
        let place = &mut self.pages[page as usize];
        place.users += 1;
        if let Some(known) = &mut place.known {
            known.used = self.clock;
        }
    }

    fn release(&mut self, page: u32) {
        self.clock += 1;
        let place = &mut self.pages[page as usize];
        place.users -= 1;
        match &mut place.known {
            Some(known) => known.used = self.clock,
            None if place.users == 0 => self.free.push(page),
            None => {}
        }
    }

    /// Forgets the tokens of the page that has been without a text for longest.
    fn forget_oldest(&mut self) -> Option<u32> {
        let pages = 0..self.pages.len() as u32;
        let unused = pages.filter(|&page| self.is_leaf_without_users(page));
        let used = |page: &u32| {
            self.pages[*page as usize]
                .known
                .as_ref()
                .map(|known| known.used)
        };
        let oldest = unused.min_by_key(used)?;
        self.forget(oldest);
        Some(oldest)
    }

    /// Takes a page without pages behind it out of the tree.
    fn forget(&mut self, page: u32) {
        if let Some(known) = self.pages[page as usize].known.take() {
            self.behind_mut(known.before).retain(|&other| other != page);
        }
    }

    /// What a known page holds.
    pub fn tokens(&self, page: u32) -> &[u32] {
        let known = self.pages[page as usize].known.as_ref();
        known.map_or(&[], |known| &known.tokens)
    }

    /// The known pages behind a known one, or at the beginning of texts.
    fn behind(&self, before: Option<u32>) -> &[u32] {
        let Some(before) = before else {
            return &self.first;
        };
        let known = self.pages[before as usize].known.as_ref();
        known.map_or(&[], |known| &known.behind)
    }

    fn behind_mut(&mut self, before: Option<u32>) -> &mut Vec<u32> {
        let known = before.and_then(|before| self.pages[before as usize].known.as_mut());
        known.map_or(&mut self.first, |known| &mut known.behind)
    }
}

/// How many tokens two texts begin with alike.
pub(super) fn same(one: &[u32], other: &[u32]) -> usize {
    let pairs = one.iter().zip(other);
    pairs.take_while(|(one, other)| one == other).count()
}
