//! Conversations: answers are those of fresh sessions, and only new tokens are computed.

use std::ops::ControlFlow;

use crate::support::{session, shipped, tokens};
use metal_bridge_llama::sampling::Sampling;
use metal_bridge_llama::{Conversation, Error, GenerateOptions, Generation, Model};

const VOCABULARY: usize = 300;

fn options(max_tokens: usize) -> GenerateOptions {
    GenerateOptions {
        max_tokens: Some(max_tokens),
        ignore_end: true,
        ..GenerateOptions::default()
    }
}

fn answer(conversation: &mut Conversation, prompt: &[u32]) -> Generation {
    let answer = conversation.answer(prompt, &options(6), |_| ControlFlow::Continue(()));
    answer.unwrap()
}

fn fresh(model: &Model) -> Conversation {
    Conversation::new(session(model, 64))
}

#[test]
fn answers_to_prompts_that_go_on_compute_only_what_is_new() {
    let model = shipped();
    let mut conversation = fresh(&model);
    let mut prompt = tokens(20, VOCABULARY);
    for _ in 0..3 {
        let kept = conversation.kept(&prompt);
        let told = answer(&mut conversation, &prompt);
        assert_eq!(told.tokens, answer(&mut fresh(&model), &prompt).tokens);
        assert_eq!(told.prompt_tokens, prompt.len() - kept);
        // The session lacks the last token, which nothing came after.
        let text = [&prompt[..], &told.tokens].concat();
        assert_eq!(conversation.tokens(), &text[..text.len() - 1]);
        assert_eq!(
            conversation.tokens().len(),
            conversation.session().position()
        );
        prompt = [&text[..], &[7, 8, 9]].concat();
    }
    assert!(conversation.kept(&prompt) > 20);
}

#[test]
fn a_prompt_is_computed_from_where_it_differs() {
    let model = shipped();
    let mut conversation = fresh(&model);
    let prompt = tokens(20, VOCABULARY);
    answer(&mut conversation, &prompt);
    let mut other = prompt.clone();
    other[11] += 1;
    assert_eq!(conversation.kept(&other), 11);
    let told = answer(&mut conversation, &other);
    assert_eq!(told.prompt_tokens, 9);
    assert_eq!(told.tokens, answer(&mut fresh(&model), &other).tokens);
    // The same prompt again: its last token has to be fed for the logits.
    assert_eq!(answer(&mut conversation, &other).prompt_tokens, 1);
    assert_eq!(answer(&mut conversation, &other[..5]).prompt_tokens, 1);
    conversation.reset();
    assert_eq!(conversation.kept(&other), 0);
}

#[test]
fn a_conversation_goes_on_after_errors() {
    let model = shipped();
    let mut conversation = fresh(&model);
    let prompt = tokens(20, VOCABULARY);
    let stopped = conversation.answer(&prompt, &options(40), |_| ControlFlow::Break(()));
    let stopped = stopped.unwrap();
    assert!(stopped.tokens.len() < 40);
    assert_eq!(
        conversation.tokens().len(),
        conversation.session().position()
    );

    let held = conversation.tokens().to_vec();
    let long = tokens(conversation.session().context() + 1, VOCABULARY);
    let exceeded = conversation.answer(&long, &options(1), |_| ControlFlow::Continue(()));
    assert!(matches!(
        exceeded,
        Err(Error::ContextExceeded { position: 0, .. })
    ));
    assert_eq!(conversation.tokens(), held);

    let unknown = [&prompt[..], &[u32::MAX]].concat();
    let refused = conversation.answer(&unknown, &options(1), |_| ControlFlow::Continue(()));
    assert!(matches!(refused, Err(Error::NoSuchToken { .. })));
    assert_eq!(
        conversation.tokens().len(),
        conversation.session().position()
    );
    let told = answer(&mut conversation, &prompt);
    assert_eq!(told.tokens, answer(&mut fresh(&model), &prompt).tokens);
}

/// The penalty is for tokens of the prompt, computed now or before.
#[test]
fn penalties_know_the_tokens_that_the_session_holds() {
    let model = shipped();
    let prompt = tokens(20, VOCABULARY);
    let penalized = GenerateOptions {
        sampling: Sampling {
            repeat_penalty: 8.0,
            repeat_last_n: usize::MAX,
            ..Sampling::default()
        },
        ..options(24)
    };
    let quiet = |_: &str| ControlFlow::Continue(());
    let mut conversation = fresh(&model);
    let first = conversation.answer(&prompt, &penalized, quiet).unwrap();
    assert_ne!(first.tokens, {
        let plain = fresh(&model).answer(&prompt, &options(24), quiet);
        plain.unwrap().tokens
    });
    let prompt = [&prompt[..], &first.tokens, &[7, 8, 9]].concat();
    assert!(conversation.kept(&prompt) > 20);
    let held = conversation.answer(&prompt, &penalized, quiet).unwrap();
    let whole = fresh(&model).answer(&prompt, &penalized, quiet).unwrap();
    assert_eq!(held.tokens, whole.tokens);

    let vocabulary = model.config().vocabulary;
    let beyond = GenerateOptions {
        sampling: Sampling {
            logit_bias: vec![(vocabulary as u32, 1.0)],
            ..Sampling::default()
        },
        ..options(1)
    };
    let refused = conversation.answer(&prompt, &beyond, quiet);
    assert!(matches!(refused, Err(Error::NoSuchToken { .. })));
}

/// They are of the raw logits, whatever the settings make of these.
#[test]
fn log_probabilities_are_those_of_the_raw_logits() {
    let model = shipped();
    let prompt = tokens(9, VOCABULARY);
    let settings = GenerateOptions {
        log_probabilities: Some(2),
        sampling: Sampling {
            temperature: 3.0,
            repeat_penalty: 8.0,
            logit_bias: vec![(7, 10.0)],
            ..Sampling::default()
        },
        ..options(6)
    };
    let mut told = Vec::new();
    let generation = fresh(&model).answer_in_pieces(&prompt, &settings, |piece| {
        told.extend(piece.log_probabilities);
        ControlFlow::Continue(())
    });
    let generated = generation.unwrap().tokens;
    assert_eq!(told.len(), generated.len());

    let text = [&prompt[..], &generated].concat();
    let rows = session(&model, 64).feed_with_logits(&text).unwrap();
    let rows = rows.chunks_exact(model.config().vocabulary);
    for ((told, &token), row) in told.iter().zip(&generated).zip(rows.skip(prompt.len() - 1)) {
        let total: f64 = row.iter().map(|&logit| f64::from(logit).exp()).sum();
        let exact = |token: u32| f64::from(row[token as usize]) - total.ln();
        assert_eq!(told.chosen.token, token);
        let best = (0u32..)
            .zip(row)
            .max_by(|a, b| a.1.total_cmp(b.1))
            .unwrap()
            .0;
        assert_eq!(told.likeliest[0].token, best);
        assert_eq!(told.likeliest.len(), 2);
        for one in told.likeliest.iter().chain([&told.chosen]) {
            // The rows are of one batch, and the logits before of one token each.
            let distance = (one.value - exact(one.token)).abs();
            assert!(distance < 1e-3, "{one:?} for {}", exact(one.token));
        }
    }
}

#[test]
fn an_empty_prompt_is_an_error() {
    let refused = fresh(&shipped()).answer(&[], &options(1), |_| ControlFlow::Continue(()));
    assert!(matches!(refused, Err(Error::NoTokens)));
}
