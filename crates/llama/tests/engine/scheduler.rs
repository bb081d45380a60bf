//! Texts of many readers at once: each is the text that it is alone.

use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use std::rc::Rc;

use crate::support::{assert_live, settled, shipped, tokens};
use metal_bridge_llama::sampling::Sampling;
use metal_bridge_llama::{
    Answer, Error, GenerateOptions, Model, Piece, Reader, Request, Result, Scheduler,
    SessionOptions, StopReason,
};
use metal_bridge_test_support::in_child;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

pub const VOCABULARY: usize = 300;

/// What a reader was given.
#[derive(Debug, Default)]
pub struct Told {
    pub text: String,
    /// Of each token, so that equal ones come of equal logits.
    pub log_probabilities: Vec<f64>,
    pub outcome: Option<Result<Answer>>,
    /// How many texts had ended before.
    pub order: usize,
}

impl Told {
    pub fn answer(&self) -> &Answer {
        self.outcome.as_ref().unwrap().as_ref().unwrap()
    }

    pub fn assert_same(&self, other: &Told, what: &str) {
        let (answer, expected) = (self.answer(), other.answer());
        assert_eq!(answer.tokens, expected.tokens, "{what}");
        assert_eq!(answer.stop, expected.stop, "{what}");
        assert_eq!(self.text, other.text, "{what}");
        assert_eq!(self.log_probabilities, other.log_probabilities, "{what}");
    }
}

#[derive(Clone, Default)]
pub struct Listener {
    pub told: Rc<RefCell<Told>>,
    /// Whether nobody listens any more.
    pub is_gone: Rc<Cell<bool>>,
    /// Ends the text after so many tokens.
    pub stops_after: Option<usize>,
    /// Texts that have ended.
    pub ended: Rc<Cell<usize>>,
}

impl Reader for Listener {
    fn piece(&mut self, piece: Piece<'_>) -> ControlFlow<()> {
        let mut told = self.told.borrow_mut();
        told.text.push_str(piece.text);
        let of_token = piece.log_probabilities.iter();
        told.log_probabilities
            .extend(of_token.map(|found| found.chosen.value));
        match self.stops_after == Some(told.log_probabilities.len()) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn is_gone(&self) -> bool {
        self.is_gone.get()
    }

    fn end(self, outcome: Result<Answer>) {
        let mut told = self.told.borrow_mut();
        assert!(told.outcome.is_none(), "a text ends once");
        told.outcome = Some(outcome);
        told.order = self.ended.replace(self.ended.get() + 1);
    }
}

pub fn request(prompt: Vec<u32>, max_tokens: usize) -> Request {
    let options = GenerateOptions {
        max_tokens: Some(max_tokens),
        ignore_end: true,
        log_probabilities: Some(0),
        ..GenerateOptions::default()
    };
    Request {
        prompt,
        options,
        uses_cache: false,
    }
}

pub fn scheduler(model: &Model, slots: usize, batch: usize) -> Scheduler<Listener> {
    Scheduler::new(model, slots, &options(batch)).unwrap()
}

pub fn options(batch: usize) -> SessionOptions {
    SessionOptions {
        context: Some(64),
        batch,
        deterministic: true,
        ..SessionOptions::default()
    }
}

pub fn run(scheduler: &mut Scheduler<Listener>) {
    while !scheduler.is_idle() {
        scheduler.step();
    }
}

/// The text of a request, to its end.
pub fn tell(scheduler: &mut Scheduler<Listener>, request: Request) -> Told {
    let listener = Listener::default();
    scheduler.add(request, listener.clone());
    run(scheduler);
    listener.told.take()
}

/// The text of a request that runs by itself.
pub fn alone(model: &Model, batch: usize, request: &Request, listener: &Listener) -> Told {
    alone_in(scheduler(model, 1, batch), request, listener)
}

/// The text of a request in an empty scheduler.
pub fn alone_in(
    mut scheduler: Scheduler<Listener>,
    request: &Request,
    listener: &Listener,
) -> Told {
    let listener = Listener {
        stops_after: listener.stops_after,
        ..Listener::default()
    };
    scheduler.add(request.clone(), listener.clone());
    run(&mut scheduler);
    listener.told.take()
}

#[test]
fn a_text_is_the_same_whatever_runs_beside_it() {
    let model = shipped();
    let mut random = SmallRng::seed_from_u64(7);
    for (slots, batch) in [(2, 16), (5, 16), (12, 40)] {
        let mut scheduler = scheduler(&model, slots, batch);
        let mut texts = Vec::new();
        for index in 0..12 {
            let first = random.random_range(0..40);
            let prompt = &tokens(80, VOCABULARY)[first..first + random.random_range(1..40)];
            let mut request = request(prompt.to_vec(), random.random_range(1..12));
            if random.random_bool(0.5) {
                request.options.sampling = Sampling {
                    temperature: 0.8,
                    seed: index,
                    ..Sampling::default()
                };
            }
            let listener = Listener {
                stops_after: random.random_bool(0.5).then(|| random.random_range(1..8)),
                ..Listener::default()
            };
            scheduler.add(request.clone(), listener.clone());
            texts.push((request, listener));
            (0..random.random_range(0..4)).for_each(|_| scheduler.step());
        }
        run(&mut scheduler);
        for (index, (request, listener)) in texts.iter().enumerate() {
            let alone = alone(&model, batch, request, listener);
            let what = format!("text {index} of {slots} slots");
            listener.told.borrow().assert_same(&alone, &what);
        }
    }
}

#[test]
fn texts_have_slots_in_the_order_of_arrival() {
    let model = shipped();
    let mut scheduler = scheduler(&model, 2, 64);
    let ended = Rc::new(Cell::new(0));
    let texts: Vec<Listener> = (0..5)
        .map(|index| {
            let listener = Listener {
                ended: Rc::clone(&ended),
                ..Listener::default()
            };
            scheduler.add(request(tokens(3 + index, VOCABULARY), 4), listener.clone());
            listener
        })
        .collect();
    run(&mut scheduler);
    // Two end in the same step.
    let order = texts.iter().map(|text| text.told.borrow().order / 2);
    assert_eq!(order.collect::<Vec<_>>(), [0, 0, 1, 1, 2]);
}

#[test]
fn one_pass_decodes_all_texts_however_small_the_batch() {
    let mut scheduler = scheduler(&shipped(), 5, 2);
    let listeners = [(); 5].map(|()| {
        let listener = Listener::default();
        scheduler.add(request(tokens(3, VOCABULARY), 40), listener.clone());
        listener
    });
    let is_decoded = |listener: &Listener| !listener.told.borrow().log_probabilities.is_empty();
    while !listeners.iter().all(is_decoded) {
        scheduler.step();
    }
    let before = scheduler.counts();
    scheduler.step();
    assert_eq!((scheduler.counts() - before).command_buffers, 1);
}

#[test]
fn a_text_without_a_reader_ends_behind_a_long_prompt() {
    let mut scheduler = scheduler(&shipped(), 3, 4);
    let listeners = [44, 44, 8].map(|length| {
        let listener = Listener::default();
        scheduler.add(request(tokens(length, VOCABULARY), 1), listener.clone());
        listener
    });
    scheduler.step();
    listeners[2].is_gone.set(true);
    scheduler.step();
    let told = listeners[2].told.borrow();
    assert_eq!(told.answer().stop, StopReason::Callback);
}

#[test]
fn texts_without_readers_end() {
    let model = shipped();
    let mut scheduler = scheduler(&model, 1, 8);
    let listeners = [(); 2].map(|()| Listener::default());
    for listener in &listeners {
        scheduler.add(request(tokens(40, VOCABULARY), 4), listener.clone());
    }
    scheduler.step();
    // One of them is in its prompt, the other waits.
    for listener in &listeners {
        assert!(listener.told.borrow().outcome.is_none());
        listener.is_gone.set(true);
    }
    scheduler.step();
    for listener in &listeners {
        assert_eq!(listener.told.borrow().answer().stop, StopReason::Callback);
        assert!(listener.told.borrow().text.is_empty());
    }
    assert!(scheduler.is_idle());
}

#[test]
fn an_error_ends_the_text_that_it_concerns() {
    let model = shipped();
    let mut scheduler = scheduler(&model, 2, 64);
    let good = request(tokens(9, VOCABULARY), 6);
    let mut biased = good.clone();
    biased.options.sampling.logit_bias = vec![(1 << 20, 1.0)];
    let bad = [
        request(Vec::new(), 4),
        request(tokens(65, VOCABULARY), 4),
        request(vec![1, 1 << 20], 4),
        biased,
    ];
    let listener = Listener::default();
    scheduler.add(good.clone(), listener.clone());
    let refused = bad.map(|request| {
        let listener = Listener::default();
        scheduler.add(request, listener.clone());
        // No slot is needed to refuse it.
        listener.told.take().outcome.unwrap().unwrap_err()
    });
    assert!(
        matches!(
            refused,
            [
                Error::NoTokens,
                Error::ContextExceeded { tokens: 65, .. },
                Error::NoSuchToken { .. },
                Error::NoSuchToken { .. },
            ]
        ),
        "{refused:?}"
    );
    run(&mut scheduler);
    let alone = alone(&model, 64, &good, &listener);
    listener.told.borrow().assert_same(&alone, "the good text");
}

#[test]
fn a_full_context_ends_a_text_and_steps_make_no_objects() {
    in_child(
        "scheduler::a_full_context_ends_a_text_and_steps_make_no_objects",
        || {
            let mut scheduler = scheduler(&shipped(), 2, 64);
            let live = settled();
            let listeners = [60, 64].map(|length| {
                let listener = Listener::default();
                scheduler.add(request(tokens(length, VOCABULARY), 30), listener.clone());
                listener
            });
            run(&mut scheduler);
            assert_live(&live);
            let answers = listeners.map(|listener| listener.told.take().answer().clone());
            let ended = answers.map(|answer| (answer.stop, answer.tokens.len()));
            assert_eq!(ended, [(StopReason::Context, 5), (StopReason::Context, 1)]);
        },
    );
}

#[test]
fn a_scheduler_needs_slots_and_replays_one_text_only() {
    let model = shipped();
    let replay = SessionOptions {
        replay: true,
        ..SessionOptions::default()
    };
    let small = SessionOptions {
        context: Some(64),
        cache: Some(32),
        ..SessionOptions::default()
    };
    for (slots, options) in [(0, SessionOptions::default()), (2, replay), (2, small)] {
        let refused = Scheduler::<Listener>::new(&model, slots, &options);
        assert!(matches!(refused, Err(Error::Unsupported(_))));
    }
    let mut scheduler = Scheduler::new(&model, 1, &replay).unwrap();
    let listener = Listener::default();
    scheduler.add(request(tokens(9, VOCABULARY), 6), listener.clone());
    run(&mut scheduler);
    assert_eq!(listener.told.borrow().answer().tokens.len(), 6);
}
