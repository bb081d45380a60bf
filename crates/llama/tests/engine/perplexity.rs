//! Perplexities against those that float64 computes from a session's logits.

use std::ops::ControlFlow;

use crate::support::{session, shipped, small, tokens, write_model};
use metal_bridge_llama::{
    Error, GenerateOptions, Model, Perplexity, PerplexityError, PerplexityOptions, Session,
    SessionOptions,
};

const STORY: &str = "Once upon a time, there was a little girl named Lily. She loved to play outside in the sun. One day, \
    she saw a big red ball in the park. She wanted to play with it, but it was too high. Lily asked her mom for help.";

fn session_of(model: &Model, context: usize) -> Session {
    let options = SessionOptions {
        context: Some(context),
        ..SessionOptions::default()
    };
    Session::with_options(model, &options).unwrap()
}

fn perplexity(
    model: &Model,
    context: usize,
    tokens: &[u32],
    stride: Option<usize>,
) -> Result<Perplexity, Error> {
    let options = PerplexityOptions {
        stride,
        windows: None,
    };
    session_of(model, context).perplexity(tokens, &options, |_| {})
}

/// The surprises of the tokens of `window` at `counted`, from the logits of a session of its own.
fn surprises(model: &Model, window: &[u32], counted: std::ops::Range<usize>) -> Vec<f64> {
    let vocabulary = model.config().vocabulary;
    let logits = session(model, 256).feed_with_logits(window).unwrap();
    let surprise = |position: usize| {
        let row = &logits[(position - 1) * vocabulary..position * vocabulary];
        let total: f64 = row.iter().map(|&logit| f64::from(logit).exp()).sum();
        -(f64::from(row[window[position] as usize]).exp() / total).ln()
    };
    counted.map(surprise).collect()
}

fn check(found: &Perplexity, surprises: &[f64]) {
    let count = surprises.len() as f64;
    let mean = surprises.iter().sum::<f64>() / count;
    let deviations = surprises.iter().map(|surprise| (surprise - mean).powi(2));
    let deviation = (deviations.sum::<f64>() / count / (count - 1.0)).sqrt();
    assert_eq!(found.tokens, surprises.len());
    let near = |found: f64, expected: f64| {
        assert!(
            (found / expected - 1.0).abs() < 1e-4,
            "{found} where float64 gives {expected}"
        );
    };
    near(found.value(), mean.exp());
    near(found.standard_error().unwrap(), mean.exp() * deviation);
}

#[test]
fn the_second_half_of_windows_side_by_side_counts() {
    let model = shipped();
    let text = model.tokenizer().encode(STORY).unwrap();
    let context = 21;
    let found = perplexity(&model, context, &text, None).unwrap();
    let mut expected = Vec::new();
    for window in text.chunks_exact(context) {
        let window = [&[model.tokenizer().bos().unwrap()], &window[1..]].concat();
        expected.extend(surprises(&model, &window, 11..21));
    }
    assert!(found.windows > 1 && found.windows == text.len() / context);
    check(&found, &expected);
}

#[test]
fn a_stride_counts_the_end_of_each_of_overlapping_windows() {
    let model = shipped();
    let text = model.tokenizer().encode(STORY).unwrap();
    let found = perplexity(&model, 40, &text, Some(7)).unwrap();
    let mut expected = Vec::new();
    let mut start = 0;
    while start + 40 <= text.len() {
        let mut window = text[start..start + 40].to_vec();
        window[0] = model.tokenizer().bos().unwrap();
        expected.extend(surprises(&model, &window, 33..40));
        start += 7;
    }
    check(&found, &expected);
}

#[test]
fn shuffled_words_have_a_larger_perplexity() {
    let model = shipped();
    let mut text = model.tokenizer().encode("Once upon a time").unwrap();
    let options = GenerateOptions {
        max_tokens: Some(60),
        ..GenerateOptions::default()
    };
    let mut session = session(&model, 256);
    let told = session.generate_tokens(&text, &options, |_| ControlFlow::Continue(()));
    text.extend(told.unwrap().tokens);
    let context = text.len();
    let known = perplexity(&model, context, &text, None).unwrap();
    let shuffled: Vec<u32> = (0..context).map(|at| text[at * 7 % context]).collect();
    let strange = perplexity(&model, context, &shuffled, None).unwrap();
    assert!((1.0..3.0).contains(&known.value()), "{}", known.value());
    assert!(strange.value() > 20.0 * known.value());
}

#[test]
fn each_window_is_told_and_their_number_can_be_limited() {
    let file = write_model(&small(), 5);
    let model = Model::load(&crate::support::device(), &file.path).unwrap();
    let options = PerplexityOptions {
        stride: None,
        windows: Some(2),
    };
    let mut told = Vec::new();
    let text = tokens(40, 320);
    let result = session_of(&model, 10).perplexity(&text, &options, |so_far| told.push(*so_far));
    let result = result.unwrap();
    let counts = told.iter().map(|p| (p.windows, p.of_windows, p.tokens));
    assert_eq!(counts.collect::<Vec<_>>(), [(1, 2, 4), (2, 2, 8)]);
    assert_eq!(told[1], result);
}

#[test]
fn texts_contexts_and_strides_that_do_not_fit_are_errors() {
    let file = write_model(&small(), 5);
    let model = Model::load(&crate::support::device(), &file.path).unwrap();
    let refused = |context, count, stride| {
        let text = tokens(count, 320);
        match perplexity(&model, context, &text, stride) {
            Err(Error::Perplexity(error)) => error,
            other => panic!("{other:?}"),
        }
    };
    let short = PerplexityError::TextTooShort {
        tokens: 9,
        context: 10,
    };
    assert_eq!(refused(10, 9, None), short);
    assert_eq!(refused(2, 9, None), PerplexityError::ContextTooSmall(2));
    for stride in [0, 10, usize::MAX] {
        let context = 10;
        assert_eq!(
            refused(10, 20, Some(stride)),
            PerplexityError::Stride { stride, context }
        );
    }
    let unknown = perplexity(&model, 10, &[400; 10], None);
    assert!(matches!(
        unknown,
        Err(Error::NoSuchToken { token: 400, .. })
    ));
}
