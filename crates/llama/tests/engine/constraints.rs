//! Constraints: every text that ends is one of the grammar's, and no grammar takes the program down.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use serde_json::Value;

use crate::scheduler::{Listener, alone, request, run, scheduler};
use crate::schemas::{is_valid, random};
use crate::support::{device, shipped, small, write_model};
use metal_bridge_llama::constraint::{Constraint, ConstraintError, Grammar};
use metal_bridge_llama::sampling::{Sampler, Sampling, SamplingError};
use metal_bridge_llama::tokenizer::TokenKind;
use metal_bridge_llama::{Model, StopReason};
use metal_bridge_workloads::synthetic::{SyntheticModel, VocabularyKind};

/// With each kind of vocabulary.
fn models() -> [Model; 2] {
    let byte_pair = SyntheticModel {
        vocabulary_kind: VocabularyKind::BytePair,
        ..small()
    };
    let byte_pair = write_model(&byte_pair, 1);
    [shipped(), Model::load(&device(), &byte_pair.path).unwrap()]
}

/// A text of tokens that only the constraint and chance choose; `None` if it has not ended after `count` tokens.
fn babble(
    model: &Model,
    constraint: &Constraint,
    rng: &mut SmallRng,
    count: usize,
) -> Result<Option<String>, SamplingError> {
    let tokenizer = model.tokenizer();
    let mut sampler = Sampler::new(Sampling {
        temperature: 1.0,
        seed: rng.random(),
        constraint: Some(constraint.clone()),
        ..Sampling::default()
    })?;
    let mut bytes = Vec::new();
    let mut logits = vec![0.0; tokenizer.vocabulary_size() + 3];
    for _ in 0..count {
        logits.fill_with(|| rng.random_range(-4.0..4.0));
        let token = sampler.sample(&logits)?;
        tokenizer.decode_token(token, &mut bytes);
        if tokenizer.is_end(token) || sampler.is_finished() {
            return Ok(Some(String::from_utf8(bytes).unwrap()));
        }
    }
    Ok(None)
}

#[test]
fn texts_that_end_are_of_their_schemas() {
    let mut rng = SmallRng::seed_from_u64(5);
    let mut ended = 0;
    for model in models() {
        for _ in 0..30 {
            let schema = random(&mut rng, 3);
            let grammar = Grammar::JsonSchema(schema.to_string());
            let constraint = model.constraint(grammar).unwrap();
            for _ in 0..2 {
                let text = babble(&model, &constraint, &mut rng, 120).unwrap();
                let Some(text) = text else { continue };
                let value: Value = serde_json::from_str(&text).unwrap();
                assert!(is_valid(&schema, &value), "{text} of {schema}");
                ended += 1;
            }
        }
    }
    assert!(ended > 60, "only {ended} texts ended");
}

#[test]
fn a_constraint_ends_its_text_alone_and_beside_others() {
    let model = shipped();
    let constrained = |grammar: Grammar, temperature: f32| {
        let mut request = request(model.tokenizer().encode("Once upon").unwrap(), 40);
        request.options.ignore_end = false;
        request.options.sampling = Sampling {
            temperature,
            seed: 3,
            constraint: Some(model.constraint(grammar).unwrap()),
            ..Sampling::default()
        };
        request
    };
    let requests = [
        constrained(Grammar::Regex(" a (boy|girl)\\.".into()), 0.0),
        constrained(
            Grammar::Lark("start: (\" \" WORD)+ \"!\"\nWORD: /[a-z]{3,5}/".into()),
            1.0,
        ),
        constrained(Grammar::JsonSchema(r#"{"enum": ["one", 2]}"#.into()), 1.0),
    ];
    let ends = |text: &str| {
        [
            text == " a boy." || text == " a girl.",
            text.ends_with('!'),
            text == "\"one\"" || text == "2",
        ]
    };
    let mut together = scheduler(&model, 3, 64);
    let listeners = requests.clone().map(|request| {
        let listener = Listener::default();
        together.add(request, listener.clone());
        listener
    });
    run(&mut together);
    for (index, (request, listener)) in requests.iter().zip(&listeners).enumerate() {
        let told = listener.told.borrow();
        told.assert_same(&alone(&model, 64, request, listener), "beside others");
        match told.answer().stop {
            StopReason::Constraint => assert!(ends(&told.text)[index], "{:?}", told.text),
            stop => assert_eq!((index, stop), (1, StopReason::MaxTokens)),
        }
        // They are the model's, which does not know of the constraint.
        assert!(told.log_probabilities.iter().any(|&value| value < -1.0));
    }
}

#[test]
fn tokens_of_a_grammar_are_kinds_of_the_vocabulary() {
    let [shipped, byte_pair] = models();
    let mut rng = SmallRng::seed_from_u64(9);
    // Characters that no token has whole, and control tokens by their names.
    for model in [&shipped, &byte_pair] {
        let regex = Grammar::Regex("[\u{4e00}-\u{4eff}]{4}\u{1f600}".into());
        let constraint = model.constraint(regex).unwrap();
        let text = babble(model, &constraint, &mut rng, 40).unwrap().unwrap();
        assert_eq!(
            (text.chars().count(), text.ends_with('\u{1f600}')),
            (5, true)
        );
    }
    let tokenizer = byte_pair.tokenizer();
    let name = (0u32..).find(|&token| {
        tokenizer.kind(token) == Some(TokenKind::Control) && !tokenizer.is_end(token)
    });
    let name = tokenizer.text(name.unwrap()).unwrap();
    let lark = Grammar::Lark(format!("start: \"a\" {name} \"b\""));
    let constraint = byte_pair.constraint(lark).unwrap();
    let text = babble(&byte_pair, &constraint, &mut rng, 9).unwrap();
    assert_eq!(text.unwrap(), "ab");
    let end = tokenizer.text(tokenizer.eos().unwrap()).unwrap();
    let end = Grammar::Lark(format!("start: \"a\" {end}"));
    assert!(byte_pair.constraint(end).is_err());
}

/// `text` between `count` of each.
fn nested(open: &str, count: usize, text: &str, close: &str) -> String {
    open.repeat(count) + text + &close.repeat(count)
}

/// Lines of `line`, in each of which the first `#` is its number and the others are the next one.
fn chain(begin: &str, count: usize, line: &str, end: &str) -> String {
    let lines = (0..count).map(|number| {
        let line = line.replacen('#', &number.to_string(), 1);
        line.replace('#', &(number + 1).to_string())
    });
    begin.to_owned() + &lines.collect::<String>() + end
}

#[test]
fn hostile_grammars_are_refused_or_kept_to() {
    let model = shipped();
    let schema = |text: &str| Grammar::JsonSchema(text.into());
    let lark = |text: &str| Grammar::Lark(text.into());
    let regex = |text: &str| Grammar::Regex(text.into());
    let refused = [
        schema(""),
        schema("[]"),
        schema("null"),
        schema("false"),
        schema(r#"{"$id": 3, "$schema": 7, "type": 12}"#),
        schema(r#"{"not": {}}"#),
        schema(r#"{"$ref": "http://127.0.0.1:1/x"}"#),
        schema(&nested(r#"{"items":"#, 5000, "{}", "}")),
        schema(r#"{"type": "array", "maxItems": 1000000000}"#),
        schema(r#"{"type": "array", "minItems": 10000000000000}"#),
        schema(r#"{"type": "array", "minItems": 1e300}"#),
        schema(r#"{"type": "integer", "multipleOf": 1000003}"#),
        schema(r#"{"type": "number", "multipleOf": 0.12345}"#),
        schema(r#"{"type": "integer", "minimum": -9223372036854775808}"#),
        schema(&format!(
            r#"{{"type": "string", "pattern": "{}"}}"#,
            "a?".repeat(3000)
        )),
        schema(&format!(r#"{{"enum": ["{}"]}}"#, "a".repeat(70_000))),
        schema(&format!(
            r#"{{"allOf": [{}]}}"#,
            [r#"{"anyOf": [{"maximum": 1}, {"minimum": 2}]}"#; 200].join(",")
        )),
        regex("(a"),
        regex("(?=a)b"),
        regex(&nested("(", 2000, "a", ")")),
        regex(&"[a-z]*x?".repeat(1000)),
        lark(""),
        lark(&format!("start: a\na: \"{}\"", "a".repeat(17 << 10))),
        lark(&format!(
            "start: A\nA: {}",
            (0..60)
                .map(|n| format!("/.*{n}.*/"))
                .collect::<Vec<_>>()
                .join(" & ")
        )),
        lark("start: A\nA: A"),
        lark("start: <|nothing|>"),
        lark("start: <[0-4294967295]>"),
        lark(&format!("start: {}", nested("(", 8_000, "\"a\"", ")"))),
        lark(&chain("start: A0\n", 40, "A#: A# A#\n", "A40: \"x\"\n")),
        lark(r#"start: %json {"type": "array", "minItems": 1000000000}"#),
    ];
    let mut rng = SmallRng::seed_from_u64(5);
    for grammar in refused {
        let shown: String = format!("{grammar:?}").chars().take(100).collect();
        let made = model.constraint(grammar);
        assert!(made.is_err(), "{shown} was not refused");
        assert!(
            !made.unwrap_err().to_string().contains("panicked"),
            "{shown}"
        );
    }
    let defined = r##""a#": {"allOf": [{"$ref": "#/$defs/a#"}]}, "##.replacen("\"#/$", "\"@/$", 1);
    let references = chain(
        r##"{"$ref": "@/$defs/a0", "$defs": {"##,
        1000,
        &defined,
        r#""a1000": {"type": "null"}}}"#,
    );
    let made = [
        schema(&references.replace('@', "#")),
        schema(
            r##"{"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}"##,
        ),
        schema(&nested(
            r#"{"type": "array", "minItems": 1, "items":"#,
            100,
            "{}",
            "}",
        )),
        schema(r#"{"type": "array", "maxItems": 5000}"#),
        schema(r#"{"type": "string", "minLength": 1000000, "maxLength": 1000000000}"#),
        schema("true"),
        regex(""),
        regex("((((a{100}){100}){100}){100}){100}"),
        regex("(a|b)*a(a|b){30}"),
        regex("(.*a.*b.*c.*d.*e.*f){5}"),
        regex(r"\p{L}{1000}"),
        regex(&"[a-z]*x?".repeat(300)),
        lark("start: start"),
        lark("start: start start | \"a\" |"),
        lark("start: a{1000000}\na: \"a\""),
        lark(&chain("start: A0\n", 1200, "A#: A#\n", "A1200: \"x\"\n")),
        lark(&chain("start: a0\n", 1200, "a#: a#\n", "a1200: \"x\"\n")),
    ];
    for grammar in made {
        let shown: String = format!("{grammar:?}").chars().take(100).collect();
        let constraint = model.constraint(grammar);
        let constraint = constraint.unwrap_or_else(|error| panic!("{shown}: {error}"));
        // It may come to an end that no text has, or to where the next token is hard to find.
        match babble(&model, &constraint, &mut rng, 10) {
            Ok(_) | Err(SamplingError::Constraint(ConstraintError::Stuck(_))) => {}
            Err(error) => panic!("{shown}: {error}"),
        }
    }
}
