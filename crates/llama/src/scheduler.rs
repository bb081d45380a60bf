//! [`Scheduler`]: texts of many readers at once.

use std::collections::VecDeque;
use std::mem;
use std::ops::ControlFlow;
use std::time::Duration;

use super::batch::{Batch, Feed};
use super::counts::Counts;
use super::error::Result;
use super::generator::{GenerateOptions, Generator, Piece, StopReason};
use super::model::Model;
use super::options::SessionOptions;

/// A text that somebody wants.
#[derive(Clone, Debug)]
pub struct Request {
    /// What the text begins with, from its first token on.
    pub prompt: Vec<u32>,
    /// How to go on.
    pub options: GenerateOptions,
    /// Whether tokens of the prompt need not be computed if the keys and values of another text are there that begins with them.
    pub uses_cache: bool,
}

/// Who reads a text.
pub trait Reader {
    /// Learns that the text has a slot, and that so many tokens of its prompt need not be computed.
    fn seated(&mut self, _kept: usize) {}

    /// Takes what a token adds to the text; `Break` ends the text.
    fn piece(&mut self, piece: Piece<'_>) -> ControlFlow<()>;

    /// Whether nobody reads any more. It is asked while the text waits and between the passes of its prompt; the text then ends
    /// with [`StopReason::Callback`].
    fn is_gone(&self) -> bool {
        false
    }

    /// Takes the end of the text, whose slot is free for another one.
    fn end(self, outcome: Result<Answer>);
}

/// A text that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The generated tokens, without the end token.
    pub tokens: Vec<u32>,
    /// Why the text ended.
    pub stop: StopReason,
    /// Tokens of the prompt that were not computed, since another text had the same ones.
    pub kept: usize,
}

/// Texts of many readers at once, on one model (continuous batching: Yu et al. 2022, "Orca", OSDI).
///
/// Each text has one of the slots. Texts join and leave between two passes: one pass computes the next token of all texts that have their prompt,
/// and reads the weights once for all of them. Another pass computes the next tokens of prompts, as many as a batch has rows. A text that
/// finds no idle slot waits, in the order of arrival.
///
/// Keys and values lie in pages of 32 tokens, of which a text has as many as it needs (Kwon et al. 2023, "PagedAttention", arXiv:2309.06180). Texts
/// that begin with the same tokens share whole pages, and copy the page in which they part. What texts held that have ended
/// stays until its pages are needed, the oldest first. If no page is left, the text that came last makes room: it waits, and its tokens
/// are computed again when it has a slot again.
#[derive(Debug)]
pub struct Scheduler<R> {
    batch: Batch,
    slots: Vec<Option<Text<R>>>,
    /// In the order of arrival.
    waiting: VecDeque<Text<R>>,
    /// Texts that have been added.
    added: u64,
    /// Texts that have made room.
    preempted: u64,
    /// Whether tokens are computed again as they were computed before.
    deterministic: bool,
}

#[derive(Debug)]
struct Text<R> {
    reader: R,
    generator: Generator,
    uses_cache: bool,
    /// The number of the text, in the order of arrival.
    order: u64,
    /// The prompt and what was generated: all but the last token are held, or are to be computed.
    tokens: Vec<u32>,
    /// Tokens of the prompt.
    prompt: usize,
    /// Tokens of the prompt that need not be computed; `None` before the text has had a slot.
    kept: Option<usize>,
}

impl<R: Reader> Text<R> {
    fn end(self, outcome: Result<StopReason>) {
        let Self {
            mut reader,
            generator,
            kept,
            ..
        } = self;
        let outcome = outcome.map(|stop| Answer {
            tokens: generator.finish(stop, |piece| reader.piece(piece)),
            stop,
            kept: kept.unwrap_or(0),
        });
        reader.end(outcome);
    }
}

impl<R: Reader> Scheduler<R> {
    /// A scheduler of `slots` texts at once. Allocates the caches, and compiles the kernels that the texts need.
    ///
    /// # Errors
    ///
    /// As for [`Session::with_options`](super::Session::with_options); [`Error::Unsupported`](super::Error::Unsupported) without slots, and
    /// for dispatches that are replayed and more than one slot.
    pub fn new(model: &Model, slots: usize, options: &SessionOptions) -> Result<Self> {
        Ok(Self {
            batch: Batch::new(model, slots, options)?,
            slots: (0..slots).map(|_| None).collect(),
            waiting: VecDeque::new(),
            added: 0,
            preempted: 0,
            deterministic: options.deterministic,
        })
    }

    /// The most tokens of a prompt and its text together.
    pub fn context(&self) -> usize {
        self.batch.context()
    }

    /// What has been asked of the GPU so far.
    pub fn counts(&self) -> Counts {
        self.batch.counts()
    }

    /// The time that the CPU has taken so far to encode command buffers and to commit them.
    pub fn host_time(&self) -> Duration {
        self.batch.host_time()
    }

    /// The texts that can have a slot at once.
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// The texts that have a slot.
    pub fn running(&self) -> usize {
        self.slots.iter().flatten().count()
    }

    /// The texts that wait for a slot.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Whether no text waits or has a slot.
    pub fn is_idle(&self) -> bool {
        self.waiting() + self.running() == 0
    }

    /// Pages of the caches that texts have, and all pages.
    pub fn pages(&self) -> (usize, usize) {
        self.batch.pages()
    }

    /// How often a text has made room for others so far.
    pub fn preempted(&self) -> u64 {
        self.preempted
    }

    /// Adds a text, which [`step`](Self::step)s then compute. A prompt that cannot be computed ends at once, and so do bad settings.
    pub fn add(&mut self, request: Request, reader: R) {
        let Request {
            prompt,
            options,
            uses_cache,
        } = request;
        let checked = self.batch.check(0, &prompt);
        let generator = checked.and_then(|()| Generator::new(&self.batch, &prompt, &options));
        match generator {
            Err(error) => reader.end(Err(error)),
            Ok(generator) => {
                self.added += 1;
                self.waiting.push_back(Text {
                    reader,
                    generator,
                    uses_cache,
                    order: self.added,
                    prompt: prompt.len(),
                    tokens: prompt,
                    kept: None,
                });
            }
        }
    }

    /// Gives waiting texts the idle slots, then computes one token of each text that has its prompt, then one pass of prompts.
    ///
    /// An error ends the text that it concerns, and no other one: if the GPU fails in a pass of several texts, each of them is computed again by itself.
    pub fn step(&mut self) {
        self.seat();
        self.decode();
        self.prefill();
    }

    /// Gives waiting texts the idle slots, as long as there is room for them. Nobody overtakes.
    fn seat(&mut self) {
        let mut has_room = true;
        for text in mem::take(&mut self.waiting) {
            let idle = self.slots.iter().position(Option::is_none);
            match idle.filter(|_| has_room) {
                _ if text.reader.is_gone() => text.end(Ok(StopReason::Callback)),
                None => self.waiting.push_back(text),
                Some(slot) => match self.batch.seat(slot, &text.tokens, text.uses_cache) {
                    Err(error) => text.end(Err(error)),
                    Ok(Some(kept)) => self.start(slot, text, kept),
                    Ok(None) => {
                        has_room = false;
                        self.waiting.push_back(text);
                    }
                },
            }
        }
    }

    fn start(&mut self, slot: usize, mut text: Text<R>, kept: usize) {
        if text.kept.is_none() {
            text.kept = Some(kept);
            text.reader.seated(kept);
        }
        self.slots[slot] = Some(text);
    }

    /// The slots that have a text, in the order of arrival.
    fn seated(&self) -> Vec<usize> {
        let order = |&slot: &usize| Some((self.slots[slot].as_ref()?.order, slot));
        let mut seated: Vec<(u64, usize)> = (0..self.slots.len())
            .filter_map(|slot| order(&slot))
            .collect();
        seated.sort_unstable();
        seated.into_iter().map(|(_, slot)| slot).collect()
    }

    /// Whether a slot has a text of which everything is held but the last token, which was generated.
    fn is_decoding(&self, slot: usize) -> bool {
        let position = self.batch.position(slot);
        self.slots[slot]
            .as_ref()
            .is_some_and(|text| position >= text.prompt && position + 1 == text.tokens.len())
    }

    /// One token of each text that has its prompt, or more if drafts are right.
    fn decode(&mut self) {
        let mut decoding = self.seated();
        decoding.retain(|&slot| self.is_decoding(slot));
        for &slot in &decoding {
            self.make_room(slot);
        }
        decoding.retain(|&slot| self.slots[slot].is_some());
        // Tokens that are computed in vain hold up all texts.
        let most = self.batch.draft_tokens() / decoding.len().max(1);
        let feeds = decoding.iter().filter_map(|&slot| {
            let text = self.slots[slot].as_ref()?;
            let &next = text.tokens.last()?;
            let mut draft = text.generator.draft(&self.batch, slot, next, most);
            // No text makes room for a draft.
            if self.batch.reserve(slot, 1 + draft.len()).is_err() {
                draft.clear();
            }
            Some(Feed::next(slot, next, draft))
        });
        let feeds: Vec<Feed> = feeds.collect();
        if !feeds.is_empty() {
            self.feed(&feeds);
        }
    }

    /// Makes room for the next token of a text, if the text has not made room itself.
    fn make_room(&mut self, slot: usize) {
        while self.slots[slot].is_some() && self.batch.reserve(slot, 1).is_err() {
            if let Some(&last) = self.seated().last() {
                self.preempt(last);
            }
        }
    }

    /// Lets a text wait until there is room for it again.
    fn preempt(&mut self, slot: usize) {
        if let Some(text) = self.slots[slot].take() {
            self.batch.end(slot);
            self.preempted += 1;
            let place = self
                .waiting
                .partition_point(|other| other.order < text.order);
            self.waiting.insert(place, text);
        }
    }

    /// As much of the prompts as one pass has rows, in the order of their texts.
    fn prefill(&mut self) {
        let (mut free, mut feeds) = (self.batch.rows(), Vec::new());
        for slot in self.seated() {
            let is_gone = |text: &Text<R>| text.reader.is_gone();
            if self.is_decoding(slot) {
                continue;
            }
            if self.slots[slot].as_ref().is_some_and(is_gone) {
                self.end(slot, Ok(StopReason::Callback));
                continue;
            }
            let rows = self.next_rows(slot);
            if rows <= free {
                free -= rows;
                feeds.extend(self.next_of(slot, rows));
            } else {
                // Those behind wait, too.
                free = 0;
            }
        }
        if !feeds.is_empty() {
            self.feed(&feeds);
        }
    }

    /// How many tokens of a prompt come next: where it is cut must not depend on other texts. Generated tokens that are computed
    /// again come one by one if that makes a difference.
    fn next_rows(&self, slot: usize) -> usize {
        let (position, rows) = (self.batch.position(slot), self.batch.rows());
        match &self.slots[slot] {
            None => 0,
            Some(text) if position < text.prompt => rows.min(text.prompt - position),
            Some(_) if self.deterministic => 1,
            Some(text) => rows.min(text.tokens.len() - position),
        }
    }

    /// The next `count` tokens of a text, or of its prompt.
    fn next_of(&self, slot: usize, count: usize) -> Option<Feed> {
        let tokens = &self.slots[slot].as_ref()?.tokens;
        let position = self.batch.position(slot);
        Some(Feed {
            slot,
            tokens: tokens[position..position + count].to_vec(),
            logits: usize::from(position + count == tokens.len()),
        })
    }

    fn feed(&mut self, feeds: &[Feed]) {
        match (self.batch.feed(feeds), feeds) {
            (Ok(()), _) => feeds.iter().for_each(|feed| self.fed(feed.slot)),
            (Err(error), [feed]) => self.end(feed.slot, Err(error)),
            // One of them fails again, or none.
            (Err(_), _) => feeds.chunks(1).for_each(|feed| self.feed(feed)),
        }
    }

    /// Goes on with a text whose next tokens the slot holds now.
    fn fed(&mut self, slot: usize) {
        let Some(text) = &mut self.slots[slot] else {
            return;
        };
        if self.batch.position(slot) < text.tokens.len() {
            self.batch.publish(slot);
            return;
        }
        let reader = &mut text.reader;
        let next = text
            .generator
            .next(&mut self.batch, slot, |piece| reader.piece(piece));
        self.batch.publish(slot);
        match next {
            Ok(ControlFlow::Continue(token)) => {
                // The slot holds what became of a draft, too.
                let known = text.tokens.len();
                text.tokens.extend(&self.batch.held(slot)[known..]);
                text.tokens.push(token);
            }
            Ok(ControlFlow::Break(stop)) => self.end(slot, Ok(stop)),
            Err(error) => self.end(slot, Err(error)),
        }
    }

    fn end(&mut self, slot: usize, outcome: Result<StopReason>) {
        self.batch.end(slot);
        if let Some(text) = self.slots[slot].take() {
            text.end(outcome);
        }
    }
}
