//! Texts that have the pages of the caches in common.

use crate::scheduler::{Listener, VOCABULARY, alone_in, options, request, run, scheduler, tell};
use crate::support::{shipped, tokens};
use metal_bridge_llama::sampling::Sampling;
use metal_bridge_llama::{Request, Scheduler, Session, SessionOptions};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// Texts have the pages of little more than one context: they wait for each other, and make room again and again.
#[test]
fn a_text_that_made_room_goes_on_as_it_would_have() {
    let model = shipped();
    for (cache, seed) in [(160, 1), (224, 2)] {
        let whole = SessionOptions {
            context: Some(160),
            ..options(16)
        };
        let options = SessionOptions {
            cache: Some(cache),
            ..whole
        };
        let mut random = SmallRng::seed_from_u64(seed);
        let mut scheduler = Scheduler::new(&model, 8, &options).unwrap();
        let texts: Vec<_> = (0..6)
            .map(|index| {
                let first = random.random_range(0..40);
                let prompt = &tokens(80, VOCABULARY)[first..][..random.random_range(1..30)];
                let mut request = request(prompt.to_vec(), random.random_range(90..130));
                request.options.sampling = Sampling {
                    temperature: 0.8,
                    seed: index,
                    ..Sampling::default()
                };
                let listener = Listener::default();
                scheduler.add(request.clone(), listener.clone());
                (request, listener)
            })
            .collect();
        run(&mut scheduler);
        assert!(scheduler.preempted() > 0);
        assert_eq!(scheduler.pages(), (0, cache / 32));
        for (index, (request, listener)) in texts.iter().enumerate() {
            let empty = Scheduler::new(&model, 1, &whole).unwrap();
            let alone = alone_in(empty, request, listener);
            let what = format!("text {index} of {cache} tokens");
            listener.told.borrow().assert_same(&alone, &what);
        }
    }
}

/// All texts begin with one of two system prompts, and some go on with what others said.
#[test]
fn texts_that_share_pages_are_those_that_they_are_alone() {
    let model = shipped();
    for (slots, cache) in [(4, None), (6, Some(160))] {
        let options = SessionOptions {
            context: Some(128),
            cache,
            ..options(32)
        };
        let mut random = SmallRng::seed_from_u64(5);
        let mut scheduler = Scheduler::new(&model, slots, &options).unwrap();
        let mut prompts = [0, 20].map(|first| tokens(80, VOCABULARY)[first..][..45].to_vec());
        for _ in 0..6 {
            let texts: Vec<_> = (0..5)
                .map(|index| {
                    let rest = &tokens(300, VOCABULARY)[random.random_range(0..200)..];
                    let begun = &prompts[index % 2];
                    let prompt = [begun, &rest[..random.random_range(1..20)]].concat();
                    let request = Request {
                        uses_cache: true,
                        ..request(prompt, 12)
                    };
                    let listener = Listener::default();
                    scheduler.add(request.clone(), listener.clone());
                    (request, listener)
                })
                .collect();
            run(&mut scheduler);
            let mut kept = 0;
            for (request, listener) in &texts {
                let told = listener.told.borrow();
                let mut session = Session::with_options(&model, &options).unwrap();
                session.feed(&request.prompt).unwrap();
                for (token, &value) in told.answer().tokens.iter().zip(&told.log_probabilities) {
                    let expected = session.log_probabilities(*token, 0).unwrap();
                    assert!((expected.chosen.value - value).abs() < 1e-3);
                    session.feed(&[*token]).unwrap();
                }
                kept += told.answer().kept;
            }
            let prompts_of_all = texts.iter().map(|(request, _)| request.prompt.len());
            assert!(kept > 0 && kept < prompts_of_all.sum());
            let (request, listener) = &texts[random.random_range(0..5)];
            let told = listener.told.borrow();
            let longer = [&request.prompt[..], &told.answer().tokens].concat();
            if longer.len() < 90 {
                prompts[random.random_range(0..2)] = longer;
            }
        }
        assert_eq!(scheduler.pages().0, 0);
    }
}

#[test]
fn a_text_keeps_what_other_texts_held_of_its_prompt() {
    let model = shipped();
    let mut scheduler = scheduler(&model, 3, 64);
    let prompts = [0, 50, 100].map(|first| tokens(130, VOCABULARY)[first..][..20].to_vec());
    let mut tell = |prompt: &[u32], uses_cache| {
        let request = Request {
            uses_cache,
            ..request(prompt.to_vec(), 3)
        };
        tell(&mut scheduler, request).answer().clone()
    };
    let first = prompts.clone().map(|prompt| tell(&prompt, true));
    assert_eq!(first.each_ref().map(|answer| answer.kept), [0, 0, 0]);
    for (prompt, first) in prompts.iter().zip(&first) {
        // The last token of a text is not fed.
        let held = [&prompt[..], &first.tokens[..2]].concat();
        let longer = [&held[..], &[7, 8]].concat();
        assert_eq!(tell(&longer, true).kept, held.len());
        // The whole prompt is held: its last token brings the logits.
        assert_eq!(tell(prompt, true).kept, prompt.len() - 1);
    }
    assert_eq!(tell(&prompts[0], false).kept, 0);
}

#[test]
fn texts_that_begin_alike_do_not_forget_each_other() {
    let mut scheduler = scheduler(&shipped(), 2, 64);
    let mut chats = [10, 40].map(|first| {
        let rest = &tokens(80, VOCABULARY)[first..][..15];
        [&[1, 7], rest].concat()
    });
    for turn in 0..6 {
        let chat = &mut chats[turn % 2];
        let request = Request {
            uses_cache: true,
            ..request(chat.clone(), 2)
        };
        let told = tell(&mut scheduler, request);
        if turn > 1 {
            assert!(told.answer().kept > chat.len() / 2, "turn {turn}");
        }
        chat.extend(&told.answer().tokens);
        chat.extend([9, 11, 13]);
    }
}
