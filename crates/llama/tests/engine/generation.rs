//! Generation: where it ends, what it streams, what it costs, and what it refuses.

use std::ops::ControlFlow;

use crate::support::{relative_l2, session, shipped, small, to_f64, tokens, write_model};
use metal_bridge_llama::sampling::{Sampler, Sampling, SamplingError};
use metal_bridge_llama::{
    Error, GenerateOptions, Generation, Model, Session, SessionOptions, StopReason,
};
use metal_bridge_workloads::synthetic::SyntheticModel;

const PROMPT: &str = "Once upon a time";

fn generate(
    session: &mut Session,
    prompt: &str,
    options: &GenerateOptions,
) -> (String, Generation) {
    let mut text = String::new();
    let generation = session.generate(prompt, options, |piece| {
        text.push_str(piece);
        ControlFlow::Continue(())
    });
    (text, generation.unwrap())
}

#[test]
fn a_story_is_told_to_its_end() {
    let mut session = session(&shipped(), 64);
    let (text, generation) = generate(&mut session, PROMPT, &GenerateOptions::default());
    assert_eq!(generation.stop, StopReason::End);
    assert!(
        text.starts_with(' ') && text.ends_with('.') && text.split(' ').count() > 50,
        "{text:?}"
    );
    let tokenizer = session.model().tokenizer().encode(PROMPT).unwrap();
    assert_eq!(generation.prompt_tokens, tokenizer.len());
    // One command buffer for the prompt, one for each token fed, and the same kernels in each.
    assert_eq!(
        generation.counts.command_buffers,
        1 + generation.tokens.len() as u64
    );
    assert_eq!(generation.decoded_tokens, generation.tokens.len());
    assert_eq!(
        generation.counts.dispatches % generation.counts.command_buffers,
        0
    );
}

#[test]
fn equal_seeds_tell_equal_stories() {
    let model = shipped();
    let story = |seed| {
        let sampling = Sampling {
            temperature: 1.0,
            top_k: 40,
            top_p: 0.95,
            seed,
            ..Sampling::default()
        };
        let options = GenerateOptions {
            max_tokens: Some(24),
            sampling,
            ..GenerateOptions::default()
        };
        generate(&mut session(&model, 64), PROMPT, &options).0
    };
    assert_eq!(story(1), story(1));
    assert_ne!(story(1), story(2));
}

#[test]
fn generation_stops_where_it_is_told() {
    let model = shipped();
    let mut limited = session(&model, 64);
    let five = GenerateOptions {
        max_tokens: Some(5),
        ..GenerateOptions::default()
    };
    let (_, generation) = generate(&mut limited, PROMPT, &five);
    assert_eq!(
        (generation.stop, generation.tokens.len()),
        (StopReason::MaxTokens, 5)
    );
    // The last token was not fed: no token comes after it.
    assert_eq!(generation.counts.command_buffers, 5);
    let none = GenerateOptions {
        max_tokens: Some(0),
        ..GenerateOptions::default()
    };
    let (text, generation) = generate(&mut session(&model, 64), PROMPT, &none);
    assert_eq!(
        (text.as_str(), generation.stop),
        ("", StopReason::MaxTokens)
    );

    let mut pieces = 0;
    let generation = session(&model, 64)
        .generate(PROMPT, &GenerateOptions::default(), |_| {
            pieces += 1;
            if pieces == 3 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })
        .unwrap();
    assert_eq!((generation.stop, pieces), (StopReason::Callback, 3));

    let options = SessionOptions {
        context: Some(20),
        ..SessionOptions::default()
    };
    let mut short = Session::with_options(&model, &options).unwrap();
    let (_, generation) = generate(&mut short, PROMPT, &GenerateOptions::default());
    assert_eq!(
        (generation.stop, short.position()),
        (StopReason::Context, 20)
    );
}

#[test]
fn a_session_goes_on_after_a_truncation() {
    let model = shipped();
    let five = GenerateOptions {
        max_tokens: Some(5),
        ..GenerateOptions::default()
    };
    let mut session = session(&model, 64);
    let (first, generation) = generate(&mut session, PROMPT, &five);
    assert_eq!(
        session.position(),
        generation.prompt_tokens + generation.decoded_tokens
    );
    session.truncate(0);
    assert!(matches!(session.logits(), Err(Error::NoTokens)));
    assert_eq!(generate(&mut session, PROMPT, &five).0, first);
    // In one piece or in two, a text has the same continuation.
    session.truncate(0);
    let tokens = model.tokenizer().encode(PROMPT).unwrap();
    session.feed(&tokens[..2]).unwrap();
    let mut text = String::new();
    let push = |piece: &str| {
        text.push_str(piece);
        ControlFlow::Continue(())
    };
    session.generate_tokens(&tokens[2..], &five, push).unwrap();
    assert_eq!(text, first);
}

#[test]
fn a_generation_goes_on_after_its_last_token() {
    let model = shipped();
    let options = |max| GenerateOptions {
        max_tokens: Some(max),
        ..Default::default()
    };
    let quiet = |_: &str| ControlFlow::Continue(());
    let start = model.tokenizer().encode(PROMPT).unwrap();
    let generate = |session: &mut Session, prompt: &[u32], count| {
        let generated = session.generate_tokens(prompt, &options(count), quiet);
        generated.unwrap().tokens
    };
    let whole = generate(&mut session(&model, 64), &start, 12);

    let mut parts = session(&model, 64);
    let first = generate(&mut parts, &start, 5);
    assert_eq!(parts.position(), start.len() + first.len() - 1);
    let second = generate(&mut parts, &first[4..], 7);
    assert_eq!([first, second].concat(), whole);
}

#[test]
fn a_text_goes_on_after_a_feed_with_logits() {
    let model = shipped();
    let mut tokens = model.tokenizer().encode(PROMPT).unwrap();
    let (mut fed, mut evaluated) = (session(&model, 3), session(&model, 3));
    let mut greedy = Sampler::new(Sampling::default()).unwrap();
    for _ in 0..5 {
        fed.feed(&tokens).unwrap();
        let rows = evaluated.feed_with_logits(&tokens).unwrap();
        let logits = evaluated.logits().unwrap();
        assert_eq!(logits, rows[rows.len() - logits.len()..]);
        let distance = relative_l2(&logits, &to_f64(&fed.logits().unwrap()));
        assert!(distance < 1e-5, "{distance:.2e}");
        let token = fed.sample(&mut greedy).unwrap();
        assert_eq!(evaluated.sample(&mut greedy).unwrap(), token);
        tokens = vec![token];
    }
}

#[test]
fn sessions_on_many_threads_do_not_disturb_each_other() {
    let model = shipped();
    let options = GenerateOptions {
        max_tokens: Some(20),
        ..GenerateOptions::default()
    };
    let prompts = [PROMPT, "One cold day", "Mia the fox"];
    let alone = prompts.map(|prompt| generate(&mut session(&model, 64), prompt, &options).0);
    let together = std::thread::scope(|scope| {
        let threads = prompts.map(|prompt| {
            let (model, options) = (&model, &options);
            scope.spawn(move || generate(&mut session(model, 64), prompt, options).0)
        });
        threads.map(|thread| thread.join().unwrap())
    });
    assert_eq!(alone, together);
}

#[test]
fn what_does_not_fit_is_refused_and_does_no_harm() {
    let file = write_model(&small(), 2);
    let model = Model::load(&crate::support::device(), &file.path).unwrap();
    let mut session = session(&model, 16);
    session.feed(&tokens(10, 320)).unwrap();
    let before = session.logits().unwrap();

    let error = session.feed(&tokens(55, 320)).unwrap_err();
    let expected = "55 tokens after 10 exceed the context of 64";
    assert!(
        matches!(error, Error::ContextExceeded { .. }) && error.to_string() == expected,
        "{error}"
    );
    assert!(matches!(session.feed(&[]), Err(Error::NoTokens)));
    let error = session.feed(&[1, 320]).unwrap_err();
    assert!(
        matches!(
            error,
            Error::NoSuchToken {
                token: 320,
                vocabulary: 320
            }
        ),
        "{error}"
    );
    assert_eq!(session.logits().unwrap(), before);
    session.feed(&tokens(54, 320)).unwrap();
    assert_eq!(session.position(), 64);
    assert!(matches!(
        session.feed(&[1]),
        Err(Error::ContextExceeded { .. })
    ));

    let options = |context, batch| SessionOptions {
        context,
        batch,
        ..SessionOptions::default()
    };
    for bad in [options(Some(0), 8), options(Some(65), 8), options(None, 0)] {
        assert!(
            matches!(
                Session::with_options(&model, &bad),
                Err(Error::Unsupported(_))
            ),
            "{bad:?}"
        );
    }
    let settings = Sampling {
        temperature: -1.0,
        ..Sampling::default()
    };
    let hot = GenerateOptions {
        sampling: settings,
        ..GenerateOptions::default()
    };
    let error = session
        .generate("", &hot, |_| ControlFlow::Continue(()))
        .unwrap_err();
    assert!(
        matches!(error, Error::Sampling(SamplingError::Temperature(_))),
        "{error}"
    );
}

#[test]
fn a_cache_beyond_the_device_is_refused_unallocated() {
    let model = SyntheticModel {
        context: 1 << 24,
        kv_heads: 4,
        head_dim: 64,
        ..small()
    };
    let file = write_model(&model, 1);
    let model = Model::load(&crate::support::device(), &file.path).unwrap();
    let options = SessionOptions {
        context: Some(1 << 24),
        ..SessionOptions::default()
    };
    let error = Session::with_options(&model, &options).unwrap_err();
    assert!(
        matches!(
            error,
            Error::CacheTooLarge {
                bytes: 68_719_476_736,
                ..
            }
        ),
        "{error}"
    );
    // By default a session takes 4096 tokens of a larger context.
    assert_eq!(Session::new(&model).unwrap().context(), 4096);
}

#[test]
fn weights_that_give_no_numbers_are_an_error() {
    let file = write_model(&small(), 2);
    let gguf = metal_bridge_llama::gguf::Gguf::open(&file.path).unwrap();
    let norm = gguf.tensor("output_norm.weight").unwrap().clone();
    drop(gguf);
    let mut bytes = std::fs::read(&file.path).unwrap();
    let start = norm.offset() as usize;
    for weight in bytes[start..start + norm.byte_len() as usize].chunks_exact_mut(4) {
        weight.copy_from_slice(&f32::NAN.to_le_bytes());
    }
    std::fs::write(&file.path, bytes).unwrap();
    let model = Model::load(&crate::support::device(), &file.path).unwrap();
    let mut session = session(&model, 16);
    session.feed(&[1, 2, 3]).unwrap();
    for temperature in [0.0, 1.0] {
        let mut sampler = Sampler::new(Sampling {
            temperature,
            ..Sampling::default()
        })
        .unwrap();
        let error = session.sample(&mut sampler).unwrap_err();
        assert!(
            matches!(error, Error::Sampling(SamplingError::NoLogits)),
            "{error}"
        );
    }
}

#[test]
fn infinite_logits_leave_the_best_of_the_others() {
    let file = write_model(&small(), 2);
    let gguf = metal_bridge_llama::gguf::Gguf::open(&file.path).unwrap();
    let start_of = |name| gguf.tensor(name).unwrap().offset() as usize;
    let (norm, output) = (start_of("output_norm.weight"), start_of("output.weight"));
    drop(gguf);
    let mut bytes = std::fs::read(&file.path).unwrap();
    bytes[norm..norm + 4].copy_from_slice(&1e38f32.to_le_bytes());
    // Two tokens have the largest weights of Q8_0, one of either sign: one of their logits is infinity.
    let row = 64 / 32 * 34;
    for (token, quant) in [(1, 127i8), (2, -127)] {
        let block = output + token * row;
        bytes[block..block + 2].copy_from_slice(&half::f16::MAX.to_le_bytes());
        bytes[block + 2] = quant.to_le_bytes()[0];
    }
    std::fs::write(&file.path, bytes).unwrap();
    let model = Model::load(&crate::support::device(), &file.path).unwrap();
    let mut session = session(&model, 16);
    session.feed(&[1, 2, 3]).unwrap();
    let logits = session.logits().unwrap();
    assert!(logits.contains(&f32::INFINITY));
    let mut greedy = Sampler::new(Sampling {
        temperature: 0.0,
        ..Sampling::default()
    })
    .unwrap();
    let best = session.sample(&mut greedy).unwrap();
    assert!(logits[best as usize].is_finite());
    assert_eq!(best, greedy.sample(&logits).unwrap());
}
