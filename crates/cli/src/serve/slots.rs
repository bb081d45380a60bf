//! [`Slots`]: the sessions that all requests share, and the queue before them.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use metal_bridge_llama::{Conversation, GenerateOptions, StopReason};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task;

use super::error::ApiError;
use super::logprobs::{Held, Told};
use super::stops::Stops;

/// What to generate.
pub struct Work {
    pub prompt: Vec<u32>,
    /// The field that the prompt comes from, for errors.
    pub param: &'static str,
    pub options: GenerateOptions,
    /// Strings that end the text.
    pub stops: Vec<String>,
    /// Whether the slot may use what it holds of the prompt.
    pub uses_cache: bool,
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
    /// Tokens of the prompt that the slot held before.
    pub cached_tokens: usize,
    pub generated_tokens: usize,
}

/// Sessions on one model. A request takes one of them for as long as it generates.
pub struct Slots {
    /// Those that wait for a request; the one that was used last is at the end.
    idle: Mutex<Vec<Conversation>>,
    /// One for each idle session.
    free: Arc<Semaphore>,
    /// One for each request that may still come.
    admission: Arc<Semaphore>,
    context: usize,
    is_stopping: AtomicBool,
}

impl Slots {
    /// Slots of these sessions, which all have the same context, and a queue of as many requests.
    pub fn new(sessions: Vec<Conversation>, queue: usize) -> Self {
        let context = sessions
            .first()
            .map_or(0, |first| first.session().context());
        Self {
            free: Arc::new(Semaphore::new(sessions.len())),
            admission: Arc::new(Semaphore::new(sessions.len() + queue)),
            idle: Mutex::new(sessions),
            context,
            is_stopping: AtomicBool::new(false),
        }
    }

    /// The most tokens of a prompt and its text together.
    pub fn context(&self) -> usize {
        self.context
    }

    /// Ends all texts at their next token, and turns away who waits.
    pub fn stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
        self.admission.close();
        self.free.close();
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

    /// Waits for a slot, after all who came before, and generates in it. The generation ends early if nobody reads its events.
    pub async fn generate(
        self: &Arc<Self>,
        admission: Admission,
        work: Work,
    ) -> Result<UnboundedReceiver<Event>, ApiError> {
        let permit = Arc::clone(&self.free).acquire_owned().await;
        let permit = permit.map_err(|_| ApiError::stopping())?;
        let slot = Slot {
            conversation: Some(self.take(&work.prompt)),
            slots: Arc::clone(self),
            _permits: (permit, admission),
        };
        // A text is not longer than the context, so the events of a client that reads slowly have a bound, and hold no slot.
        let (sender, events) = unbounded_channel();
        task::spawn_blocking(move || slot.run(work, &sender));
        Ok(events)
    }

    /// Takes the session that holds most of the prompt; of equal ones the one that was not used for longest.
    fn take(&self, prompt: &[u32]) -> Conversation {
        let mut idle = self.idle();
        let kept = |index: &usize| idle[*index].kept(prompt);
        let best = (0..idle.len()).rev().max_by_key(kept);
        // The permit is for one of them.
        idle.remove(best.unwrap_or_default())
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Conversation>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A position in the queue.
pub struct Admission(#[expect(dead_code, reason = "dropping it makes way")] OwnedSemaphorePermit);

/// A session that a request has, until it is dropped.
struct Slot {
    slots: Arc<Slots>,
    conversation: Option<Conversation>,
    _permits: (OwnedSemaphorePermit, Admission),
}

impl Slot {
    fn run(mut self, work: Work, events: &UnboundedSender<Event>) {
        let Some(conversation) = &mut self.conversation else {
            return;
        };
        let outcome = generate(conversation, &work, &self.slots.is_stopping, events);
        // The next request may have the slot before this one's client reads the end.
        drop(self);
        let last = outcome.unwrap_or_else(Event::Failed);
        // Nobody may be left to read it.
        let _ = events.send(last);
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(mut conversation) = self.conversation.take() {
            if std::thread::panicking() {
                // Nobody knows what it holds.
                conversation.reset();
            }
            self.slots.idle().push(conversation);
        }
    }
}

fn generate(
    conversation: &mut Conversation,
    work: &Work,
    is_stopping: &AtomicBool,
    events: &UnboundedSender<Event>,
) -> Result<Event, ApiError> {
    if events.is_closed() {
        // Its client has gone while it waited.
        return Err(ApiError::stopping());
    }
    if !work.uses_cache {
        conversation.reset();
    }
    let cached_tokens = conversation.kept(&work.prompt);
    let (mut stops, mut held) = (Stops::new(work.stops.clone()), Held::default());
    let mut is_stopped = false;
    let generation = conversation.answer_in_pieces(&work.prompt, &work.options, |piece| {
        let (text, is_found) = stops.push(piece.text);
        is_stopped = is_found;
        held.push(piece);
        let tokens = held.sent(&text);
        let is_read = match text.is_empty() {
            true => !events.is_closed(),
            false => events.send(Event::Text(Text { text, tokens })).is_ok(),
        };
        match is_read && !is_found && !is_stopping.load(Ordering::Relaxed) {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    });
    let generation = generation.map_err(|error| ApiError::of_engine(work.param, &error))?;
    let reason = match generation.stop {
        _ if is_stopped => "stop",
        StopReason::End => "stop",
        StopReason::MaxTokens | StopReason::Context => "length",
        StopReason::Callback => return Err(ApiError::stopping()),
    };
    if !is_stopped {
        let (text, tokens) = (stops.finish(), held.finish());
        if !text.is_empty() || !tokens.is_empty() {
            let _ = events.send(Event::Text(Text { text, tokens }));
        }
    }
    Ok(Event::End(Ending {
        reason,
        prompt_tokens: work.prompt.len(),
        cached_tokens,
        generated_tokens: generation.tokens.len(),
    }))
}
