//! Drafts: texts with them are the texts without, and sooner there.

use std::ops::ControlFlow;

use crate::scheduler::{Listener, VOCABULARY, alone_in, options, request, run, tell};
use crate::support::{shipped, tokens};
use metal_bridge_llama::constraint::Grammar;
use metal_bridge_llama::sampling::Sampling;
use metal_bridge_llama::{
    GenerateOptions, Generation, Model, Request, Scheduler, Session, SessionOptions, StopReason,
};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// A prompt that repeats itself, and so do texts that go on with it.
fn repeating(random: &mut SmallRng) -> Vec<u32> {
    let words = &tokens(60, VOCABULARY)[random.random_range(0..20)..][..random.random_range(2..12)];
    words.repeat(3)
}

/// Lets few tokens be likely, so that texts repeat themselves.
fn few() -> Vec<(u32, f32)> {
    (100..102).map(|token| (token, 100.0)).collect()
}

fn sampling(model: &Model, random: &mut SmallRng) -> Sampling {
    let constraint = |pattern: &str| model.constraint(Grammar::Regex(pattern.into())).unwrap();
    Sampling {
        temperature: [0.0, 0.3, 1.0][random.random_range(0..3)],
        top_k: [0, 5][random.random_range(0..2)],
        repeat_penalty: [1.0, 1.0, 1.2][random.random_range(0..3)],
        presence_penalty: [0.0, 0.0, 0.3][random.random_range(0..3)],
        logit_bias: if random.random() { few() } else { Vec::new() },
        constraint: random
            .random_bool(0.2)
            .then(|| constraint("((yes|no), ){1,12}ok")),
        seed: random.random(),
        ..Sampling::default()
    }
}

/// Each beside others, which have the last pages and must make room, with every kind of sampling.
#[test]
fn texts_with_drafts_are_those_without() {
    let model = shipped();
    let whole = SessionOptions {
        context: Some(128),
        ..options(16)
    };
    let mut random = SmallRng::seed_from_u64(3);
    for (slots, cache, draft_tokens) in [(1, None, 3), (4, Some(160), 12), (3, None, 64)] {
        let options = SessionOptions {
            cache,
            draft_tokens,
            ..whole
        };
        let mut scheduler = Scheduler::new(&model, slots, &options).unwrap();
        let texts: Vec<_> = (0..10)
            .map(|_| {
                let mut request = request(repeating(&mut random), random.random_range(50..90));
                request.options.sampling = sampling(&model, &mut random);
                request.options.ignore_end = random.random();
                let listener = Listener {
                    stops_after: random.random_bool(0.2).then(|| random.random_range(1..20)),
                    ..Listener::default()
                };
                scheduler.add(request.clone(), listener.clone());
                (request, listener)
            })
            .collect();
        run(&mut scheduler);
        let counts = scheduler.counts();
        let what = format!("{slots} slots, {counts:?}");
        assert!(
            counts.accepted > 0 && counts.accepted < counts.drafted,
            "{what}"
        );
        assert_eq!(cache.is_some(), scheduler.preempted() > 0, "{what}");
        assert_eq!(scheduler.pages().0, 0, "{what}");
        for (index, (request, listener)) in texts.iter().enumerate() {
            let empty = Scheduler::new(&model, 1, &whole).unwrap();
            let alone = alone_in(empty, request, listener);
            let what = format!("text {index} of {what}");
            listener.told.borrow().assert_same(&alone, &what);
        }
    }
}

/// A text that repeats itself, and the session that it is in.
fn generated(
    model: &Model,
    options: SessionOptions,
    count: Option<usize>,
) -> (Generation, Session) {
    let mut session = Session::with_options(model, &options).unwrap();
    let how = GenerateOptions {
        max_tokens: count,
        ignore_end: true,
        sampling: Sampling {
            logit_bias: few(),
            ..Sampling::default()
        },
        ..GenerateOptions::default()
    };
    let prompt = repeating(&mut SmallRng::seed_from_u64(8));
    let on_text = |_: &str| ControlFlow::Continue(());
    let generation = session.generate_tokens(&prompt, &how, on_text).unwrap();
    (generation, session)
}

#[test]
fn a_session_ends_and_goes_on_as_without_drafts() {
    let model = shipped();
    for (count, replay) in [
        (None, false),
        (Some(25), true),
        (Some(1), false),
        (Some(0), false),
    ] {
        let [(without, mut plain), (with, mut drafted)] = [0, 8].map(|draft_tokens| {
            let options = SessionOptions {
                draft_tokens,
                replay,
                ..options(16)
            };
            generated(&model, options, count)
        });
        assert_eq!(with.tokens, without.tokens);
        assert_eq!(with.stop, without.stop);
        assert_eq!(with.decoded_tokens, without.decoded_tokens);
        assert_eq!(drafted.tokens(), plain.tokens());
        let expected = match count {
            None => StopReason::Context,
            Some(_) => StopReason::MaxTokens,
        };
        assert_eq!(with.stop, expected);
        if count.is_none_or(|count| count > 1) {
            let (fewer, more) = (with.counts.command_buffers, without.counts.command_buffers);
            assert!(fewer < more, "{fewer} passes with drafts, {more} without");
        }
        for session in [&mut plain, &mut drafted] {
            session.truncate(30);
            session.feed(&[7, 9]).unwrap();
        }
        assert_eq!(drafted.logits().unwrap(), plain.logits().unwrap());
    }
}

/// The next turn of a chat repeats the last one: its answer needs fewer passes than it has tokens.
#[test]
fn a_text_that_repeats_its_prompt_takes_few_passes() {
    let model = shipped();
    let options = SessionOptions {
        draft_tokens: 8,
        ..options(64)
    };
    let story = model.tokenizer().encode("Once upon a time").unwrap();
    let mut scheduler = Scheduler::new(&model, 1, &options).unwrap();
    let mut tell = |prompt: &[u32], count| {
        let request = Request {
            uses_cache: true,
            ..request(prompt.to_vec(), count)
        };
        let before = scheduler.counts();
        let told = tell(&mut scheduler, request);
        let passes = (scheduler.counts() - before).command_buffers;
        (told.answer().tokens.clone(), passes)
    };
    let (first, _) = tell(&story, 20);
    // Said once already, and begun again.
    let again = [&story[..], &first, &story, &first[..2]].concat();
    let (second, passes) = tell(&again, 12);
    assert_eq!(second.len(), 12);
    assert!(passes < 12, "{passes} passes for {} tokens", second.len());
}
