//! [`Scheduler`]: texts of many readers at once.

use std::collections::VecDeque;
use std::mem;
use std::ops::ControlFlow;
use std::time::Duration;

use super::batch::{Batch, Feed};
use super::conversation::kept;
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
    /// Whether tokens of the prompt that a slot holds already need not be computed.
    pub uses_cache: bool,
}

impl Request {
    /// How many of the tokens that a slot holds need not be computed.
    fn kept(&self, held: &[u32]) -> usize {
        match self.uses_cache {
            true => kept(held, &self.prompt),
            false => 0,
        }
    }
}

/// Who reads a text.
pub trait Reader {
    /// Learns that the text has a slot, which holds so many tokens of its prompt already.
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
    /// Tokens of the prompt that were not computed, since the slot held them.
    pub kept: usize,
}

/// Texts of many readers at once, on one model (continuous batching: Yu et al. 2022, "Orca", OSDI).
///
/// Each text has one of the slots, whose cache holds a whole context. Texts join and leave between two passes: one pass computes the next token of
/// all texts that have their prompt, and reads the weights once for all of them. Another pass computes the next tokens of prompts, as many as a batch
/// has rows. A text that finds no idle slot waits, in the order of arrival. It gets the idle slot that holds most of its prompt, unless that slot
/// would forget more than it keeps.
#[derive(Debug)]
pub struct Scheduler<R> {
    batch: Batch,
    slots: Vec<Slot<R>>,
    waiting: VecDeque<(Request, R)>,
    /// Texts that have had a slot.
    started: u64,
}

#[derive(Debug)]
struct Slot<R> {
    /// The tokens that the slot holds.
    held: Vec<u32>,
    /// The number of the text that the slot has, or had last.
    order: u64,
    text: Option<Text<R>>,
}

#[derive(Debug)]
struct Text<R> {
    reader: R,
    generator: Generator,
    kept: usize,
    /// What is to be fed: the rest of the prompt, or a generated token.
    next: Vec<u32>,
    /// Whether it is the rest of the prompt.
    is_prompt: bool,
}

impl<R: Reader> Scheduler<R> {
    /// A scheduler of `slots` texts at once. Allocates the slots' caches, and compiles the kernels that they need.
    ///
    /// # Errors
    ///
    /// As for [`Session::with_options`](super::Session::with_options); [`Error::Unsupported`](super::Error::Unsupported) without slots, and
    /// for dispatches that are replayed and more than one slot.
    pub fn new(model: &Model, slots: usize, options: &SessionOptions) -> Result<Self> {
        let batch = Batch::new(model, slots, options)?;
        let slot = || Slot {
            held: Vec::new(),
            order: 0,
            text: None,
        };
        Ok(Self {
            slots: (0..slots).map(|_| slot()).collect(),
            batch,
            waiting: VecDeque::new(),
            started: 0,
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
        self.slots.iter().filter(|slot| slot.text.is_some()).count()
    }

    /// The texts that wait for a slot.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Whether no text waits or has a slot.
    pub fn is_idle(&self) -> bool {
        self.waiting() + self.running() == 0
    }

    /// Adds a text, which [`step`](Self::step)s then compute. A prompt that cannot be computed ends at once.
    pub fn add(&mut self, request: Request, reader: R) {
        match self.batch.check(0, &request.prompt) {
            Ok(()) => self.waiting.push_back((request, reader)),
            Err(error) => reader.end(Err(error)),
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

    /// Gives waiting texts the idle slots.
    fn seat(&mut self) {
        for (request, reader) in mem::take(&mut self.waiting) {
            if reader.is_gone() {
                reader.end(Ok(Answer {
                    tokens: Vec::new(),
                    stop: StopReason::Callback,
                    kept: 0,
                }));
                continue;
            }
            match self.idle_slot(&request) {
                Some(slot) => self.start(slot, request, reader),
                None => self.waiting.push_back((request, reader)),
            }
        }
    }

    /// The idle slot that holds most of the prompt; of equal ones the one that has been idle for longest. A slot does not forget more
    /// than it keeps for that: texts that only begin alike have slots of their own.
    fn idle_slot(&self, request: &Request) -> Option<usize> {
        let idle = |slot: &usize| self.slots[*slot].text.is_none();
        let rank = |slot: &usize| {
            let Slot { held, order, .. } = &self.slots[*slot];
            let kept = request.kept(held);
            let is_worth_it = kept >= held.len() / 2;
            (if is_worth_it { kept } else { 0 }, u64::MAX - order)
        };
        (0..self.slots.len()).rev().filter(idle).max_by_key(rank)
    }

    fn start(&mut self, slot: usize, request: Request, mut reader: R) {
        let kept = request.kept(&self.slots[slot].held);
        let text = self.open(slot, kept, &request);
        match text {
            Err(error) => reader.end(Err(error)),
            Ok((generator, next)) => {
                self.started += 1;
                reader.seated(kept);
                let place = &mut self.slots[slot];
                place.order = self.started;
                place.text = Some(Text {
                    reader,
                    generator,
                    kept,
                    next,
                    is_prompt: true,
                });
            }
        }
    }

    /// Makes a slot hold `kept` tokens of a prompt. Gives the generator, and the rest of the prompt.
    fn open(
        &mut self,
        slot: usize,
        kept: usize,
        request: &Request,
    ) -> Result<(Generator, Vec<u32>)> {
        let rest = &request.prompt[kept..];
        self.batch.check(kept, rest)?;
        let generator = Generator::new(&self.batch, &request.prompt, &request.options)?;
        self.batch.truncate(slot, kept);
        self.slots[slot].held.truncate(kept);
        Ok((generator, rest.to_vec()))
    }

    /// One token of each text that has its prompt.
    fn decode(&mut self) {
        let decoding = |slot: &Slot<R>| slot.text.as_ref().is_some_and(|text| !text.is_prompt);
        let slots = 0..self.slots.len();
        let feeds = slots.filter(|&slot| decoding(&self.slots[slot]));
        let feeds: Vec<(usize, usize)> = feeds.map(|slot| (slot, 1)).collect();
        if !feeds.is_empty() {
            self.feed(&feeds);
        }
    }

    /// As much of the prompts as one pass has rows, in the order of their texts.
    fn prefill(&mut self) {
        let mut prompts = Vec::new();
        for slot in 0..self.slots.len() {
            match &self.slots[slot].text {
                Some(text) if text.is_prompt && text.reader.is_gone() => {
                    self.end(slot, Ok(StopReason::Callback));
                }
                Some(text) if text.is_prompt => prompts.push(slot),
                _ => {}
            }
        }
        prompts.sort_by_key(|&slot| self.slots[slot].order);
        let (mut free, mut feeds) = (self.batch.rows(), Vec::new());
        for slot in prompts {
            let Some(text) = &self.slots[slot].text else {
                continue;
            };
            // Where a prompt is cut must not depend on other texts.
            let rows = text.next.len().min(self.batch.rows());
            if rows > free {
                break;
            }
            free -= rows;
            feeds.push((slot, rows));
        }
        if !feeds.is_empty() {
            self.feed(&feeds);
        }
    }

    /// Feeds the next tokens, as many as said, to the texts of these slots.
    fn feed(&mut self, feeds: &[(usize, usize)]) {
        let texts = feeds.iter().filter_map(|&(slot, count)| {
            let text = self.slots[slot].text.as_ref()?;
            Some(Feed {
                slot,
                tokens: &text.next[..count],
                has_logits: count == text.next.len(),
            })
        });
        let texts: Vec<Feed<'_>> = texts.collect();
        match (self.batch.feed(&texts), feeds) {
            (Ok(()), _) => feeds
                .iter()
                .for_each(|&(slot, count)| self.fed(slot, count)),
            (Err(error), &[(slot, _)]) => self.end(slot, Err(error)),
            // One of them fails again, or none.
            (Err(_), _) => feeds.iter().for_each(|feed| self.feed(&[*feed])),
        }
    }

    /// Goes on with a text whose next tokens the slot holds now.
    fn fed(&mut self, slot: usize, count: usize) {
        let Slot { held, text, .. } = &mut self.slots[slot];
        let Some(text) = text else {
            return;
        };
        held.extend(text.next.drain(..count));
        if !text.next.is_empty() {
            return;
        }
        text.is_prompt = false;
        let reader = &mut text.reader;
        let next = text
            .generator
            .next(&self.batch, slot, |piece| reader.piece(piece));
        match next {
            Ok(ControlFlow::Continue(token)) => text.next.push(token),
            Ok(ControlFlow::Break(stop)) => self.end(slot, Ok(stop)),
            Err(error) => self.end(slot, Err(error)),
        }
    }

    fn end(&mut self, slot: usize, outcome: Result<StopReason>) {
        let Some(text) = self.slots[slot].text.take() else {
            return;
        };
        let Text {
            mut reader,
            generator,
            kept,
            ..
        } = text;
        let outcome = outcome.map(|stop| Answer {
            tokens: generator.finish(stop, |piece| reader.piece(piece)),
            stop,
            kept,
        });
        reader.end(outcome);
    }
}
