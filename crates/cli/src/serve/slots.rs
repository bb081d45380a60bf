//! [`Slots`]: the thread that generates all texts, and the queue before it.

use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use metal_bridge_llama as llama;
use metal_bridge_llama::{Answer, Piece, Reader, Request, Scheduler, StopReason};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::error::ApiError;
use super::logprobs::{Held, Told};
use super::metrics::Metrics;
use super::stops::Stops;

/// What to generate.
pub struct Work {
    pub request: Request,
    /// The field that the prompt comes from, for errors.
    pub param: &'static str,
    /// Strings that end the text.
    pub stops: Vec<String>,
}

/// What comes of it, piece by piece; the last one is `End` or `Failed`.
pub enum Event {
    Text(Text),
    End(Ending),
    Failed(ApiError),
}

/// A part of a text.
pub struct Text {
    pub text: String,
    /// The tokens that begin in it, if the request asks for log probabilities.
    pub tokens: Vec<Told>,
}

/// How a text ended.
#[derive(Clone, Copy)]
pub struct Ending {
    /// `stop` or `length`, as OpenAI's interface has it.
    pub reason: &'static str,
    pub prompt_tokens: usize,
    /// Tokens of the prompt that were not computed.
    pub cached_tokens: usize,
    pub generated_tokens: usize,
}

/// The texts of all requests, which one thread generates together.
pub struct Slots {
    /// To the thread.
    requests: mpsc::Sender<(Request, Writer)>,
    /// One for each request that may still come.
    admission: Arc<Semaphore>,
    context: usize,
    is_stopping: Arc<AtomicBool>,
    metrics: Arc<Metrics>,
    /// Gone when the thread has ended.
    life: Weak<()>,
}

impl Slots {
    /// Begins to generate, at most `requests` texts that wait or have a slot. The thread ends when nobody has the slots any more.
    pub fn new(
        scheduler: Scheduler<Writer>,
        requests: usize,
    ) -> io::Result<(Self, JoinHandle<()>)> {
        let context = scheduler.context();
        let (sender, receiver) = mpsc::channel();
        let thread = thread::Builder::new().name("slots".into());
        let metrics = Arc::new(Metrics::default());
        metrics.slots.set(scheduler.slots());
        metrics.pages.set(scheduler.pages().1);
        let counted = Arc::clone(&metrics);
        let life = Arc::new(());
        let slots_life = Arc::downgrade(&life);
        let thread = thread.spawn(move || {
            let _life = life;
            generate(scheduler, &receiver, &counted);
        })?;
        let slots = Self {
            requests: sender,
            admission: Arc::new(Semaphore::new(requests)),
            context,
            is_stopping: Arc::new(AtomicBool::new(false)),
            metrics,
            life: slots_life,
        };
        Ok((slots, thread))
    }

    /// The most tokens of a prompt and its text together.
    pub fn context(&self) -> usize {
        self.context
    }

    /// Whether texts can be generated.
    pub fn check(&self) -> Result<(), ApiError> {
        match self.life.strong_count() {
            0 => Err(ApiError::internal("the thread that generates has ended")),
            _ => Ok(()),
        }
    }

    /// What has been done so far.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Ends all texts at their next token, and turns away who waits.
    pub fn stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
        self.admission.close();
    }

    /// Whether all texts are to end.
    pub fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Relaxed)
    }

    /// Lets a request into the queue.
    pub fn admit(&self) -> Result<Admission, ApiError> {
        let permit = Arc::clone(&self.admission).try_acquire_owned();
        let permit = permit.map_err(|_| match self.admission.is_closed() {
            true => ApiError::stopping(),
            false => ApiError::busy(),
        })?;
        Ok(Admission(permit))
    }

    /// Generates a text, which may wait for a slot first. The text ends early if nobody reads its events.
    pub fn generate(
        &self,
        admission: Admission,
        work: Work,
    ) -> Result<UnboundedReceiver<Event>, ApiError> {
        // A text is not longer than the context, so the events of a client that reads slowly have a bound, and hold no slot.
        let (events, receiver) = unbounded_channel();
        let writer = Writer {
            events,
            stops: Stops::new(work.stops),
            held: Held::default(),
            is_stopped: false,
            param: work.param,
            prompt_tokens: work.request.prompt.len(),
            cached_tokens: 0,
            is_stopping: Arc::clone(&self.is_stopping),
            metrics: Arc::clone(&self.metrics),
            has_begun: false,
            last: Instant::now(),
            admission,
        };
        self.check()?;
        // If the thread ends now, so do the events.
        let _ = self.requests.send((work.request, writer));
        Ok(receiver)
    }
}

/// A position in the queue.
pub struct Admission(#[expect(dead_code, reason = "dropping it makes way")] OwnedSemaphorePermit);

/// Computes texts as long as there are requests, or may be.
fn generate(
    mut scheduler: Scheduler<Writer>,
    requests: &mpsc::Receiver<(Request, Writer)>,
    metrics: &Metrics,
) {
    loop {
        if scheduler.is_idle() {
            match requests.recv() {
                Ok((request, writer)) => scheduler.add(request, writer),
                Err(_) => return,
            }
        }
        for (request, writer) in requests.try_iter() {
            scheduler.add(request, writer);
        }
        metrics.waiting.set(scheduler.waiting());
        scheduler.step();
        metrics.running.set(scheduler.running());
        metrics.waiting.set(scheduler.waiting());
        metrics.preempted.set(scheduler.preempted() as usize);
        let counts = scheduler.counts();
        metrics.drafted.set(counts.drafted as usize);
        metrics.accepted.set(counts.accepted as usize);
        let (used, _) = scheduler.pages();
        metrics.used_pages.set(used);
    }
}

/// Makes events of a text.
pub struct Writer {
    events: UnboundedSender<Event>,
    stops: Stops,
    held: Held,
    /// Whether a stop string has ended the text.
    is_stopped: bool,
    param: &'static str,
    prompt_tokens: usize,
    /// Those that were not computed.
    cached_tokens: usize,
    is_stopping: Arc<AtomicBool>,
    metrics: Arc<Metrics>,
    has_begun: bool,
    /// When the last token came, or the request.
    last: Instant,
    admission: Admission,
}

impl Reader for Writer {
    fn seated(&mut self, kept: usize) {
        self.cached_tokens = kept;
    }

    fn piece(&mut self, piece: Piece<'_>) -> ControlFlow<()> {
        if piece.token.is_some() {
            self.metrics.generated_tokens.add(1);
            self.has_come();
        }
        let (text, is_found) = self.stops.push(piece.text);
        self.is_stopped = is_found;
        self.held.push(piece);
        let tokens = self.held.sent(&text);
        if !text.is_empty() {
            // If nobody is left to read it, the text ends.
            let _ = self.events.send(Event::Text(Text { text, tokens }));
        }
        match is_found || self.is_gone() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn is_gone(&self) -> bool {
        self.events.is_closed() || self.is_stopping.load(Ordering::Relaxed)
    }

    fn end(mut self, outcome: llama::Result<Answer>) {
        let last = self.last(outcome).unwrap_or_else(Event::Failed);
        // The next request may come before this one's client reads the end.
        drop(self.admission);
        // Nobody may be left to read it.
        let _ = self.events.send(last);
    }
}

impl Writer {
    /// Counts a token, or the end of a text without tokens.
    fn has_come(&mut self) {
        let now = Instant::now();
        let times = match self.has_begun {
            true => &self.metrics.next_token,
            false => {
                let computed = self.prompt_tokens - self.cached_tokens;
                self.metrics.prompt_tokens.add(computed);
                self.metrics.cached_tokens.add(self.cached_tokens);
                &self.metrics.first_token
            }
        };
        times.add(now - self.last);
        (self.has_begun, self.last) = (true, now);
    }

    fn last(&mut self, outcome: llama::Result<Answer>) -> Result<Event, ApiError> {
        let answer = outcome.map_err(|error| {
            let error = ApiError::of_engine(self.param, &error);
            let count = match error.status.is_client_error() {
                true => &self.metrics.refused,
                false => &self.metrics.failed,
            };
            count.add(1);
            error
        })?;
        let reason = match answer.stop {
            _ if self.is_stopped => "stop",
            StopReason::End | StopReason::Constraint => "stop",
            StopReason::MaxTokens | StopReason::Context => "length",
            StopReason::Callback => {
                self.metrics.stopped.add(1);
                return Err(ApiError::stopping());
            }
        };
        self.metrics.ended.add(1);
        if !self.has_begun {
            self.has_come();
        }
        if !self.is_stopped {
            let (text, tokens) = (self.stops.finish(), self.held.finish());
            if !text.is_empty() || !tokens.is_empty() {
                let _ = self.events.send(Event::Text(Text { text, tokens }));
            }
        }
        Ok(Event::End(Ending {
            reason,
            prompt_tokens: self.prompt_tokens,
            cached_tokens: answer.kept,
            generated_tokens: answer.tokens.len(),
        }))
    }
}
