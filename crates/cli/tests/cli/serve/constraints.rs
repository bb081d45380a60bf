//! Texts of a schema or of a grammar.

use serde_json::{Value, json};

use super::client::{Server, joined};
use super::refusals::assert_refused;
use super::{CHAT, COMPLETIONS, completion, with, with_template};
use crate::commands::{MODEL, assert_code, run, text};

#[test]
fn texts_keep_to_what_a_request_asks_for() {
    let server = with_template();
    let schema = json!({
        "type": "object",
        "properties": {"color": {"enum": ["red", "blue"]}, "count": {"type": "integer", "minimum": 5, "maximum": 12}},
        "required": ["color", "count"],
        "additionalProperties": false,
    });
    let is_valid = |text: &str| {
        let value: Value = serde_json::from_str(text).unwrap();
        ["red", "blue"].contains(&value["color"].as_str().unwrap())
            && (5..=12).contains(&value["count"].as_u64().unwrap())
    };
    let format = json!({"type": "json_schema", "json_schema": {"name": "thing", "strict": true, "schema": schema}});
    let chat = json!({
        "messages": [{"role": "user", "content": "Once upon a time"}],
        "max_tokens": 200,
        "temperature": 1,
        "seed": 4,
        "response_format": format,
        "logprobs": true,
    });
    let whole = server.post(CHAT, &chat).value();
    let choice = &whole["choices"][0];
    let content = choice["message"]["content"].as_str().unwrap();
    assert!(is_valid(content), "{content}");
    assert_eq!(choice["finish_reason"], "stop");
    let tokens = choice["logprobs"]["content"].as_array().unwrap();
    let told: String = tokens
        .iter()
        .map(|token| token["token"].as_str().unwrap())
        .collect();
    assert_eq!(told, content);
    let events = server
        .post(CHAT, &with(chat, json!({"stream": true})))
        .events();
    assert_eq!(joined(&events, "/choices/0/delta/content"), content);

    let constrained = |fields: Value| {
        let request = with(completion("Once upon a time"), fields);
        let value = server.post(COMPLETIONS, &request).value();
        let choice = &value["choices"][0];
        let reason = choice["finish_reason"].as_str().unwrap().to_owned();
        (choice["text"].as_str().unwrap().to_owned(), reason)
    };
    let stop = || "stop".to_owned();
    for (structure, expected) in [
        (json!({"regex": " there (was|is)"}), " there was"),
        (
            json!({"grammar": "start: \" there\" \" was\""}),
            " there was",
        ),
        (json!({"json": {"const": [1]}}), "[1]"),
        (json!({"json": "{\"const\": [1]}"}), "[1]"),
    ] {
        let found = constrained(json!({"structured_outputs": structure}));
        assert_eq!(found, (expected.to_owned(), stop()), "{structure}");
    }
    // A stop string ends the text before the constraint does.
    let stopped = json!({"structured_outputs": {"regex": " there was"}, "stop": "was"});
    assert_eq!(constrained(stopped), (" there ".to_owned(), stop()));
    let (object, _) = constrained(json!({"response_format": {"type": "json_object"}}));
    assert!(object.starts_with('{'), "{object}");
    let plain = constrained(json!({"response_format": {"type": "text"}}));
    assert_eq!(plain, constrained(json!({})));
}

#[test]
fn constraints_that_cannot_be_had_are_errors() {
    let server = Server::start(&[]);
    let schema = |schema: Value| json!({"response_format": {"type": "json_schema", "json_schema": {"schema": schema}}});
    let format = |format: Value| json!({ "response_format": format });
    let structure = |structure: Value| json!({ "structured_outputs": structure });
    let (format_name, structure_name) = ("response_format", "structured_outputs");
    for (fields, code, param) in [
        (format(json!("json")), "invalid_type", format_name),
        (format(json!({})), "missing_required_parameter", "type"),
        (
            format(json!({"type": "xml"})),
            "unsupported_value",
            format_name,
        ),
        (
            format(json!({"type": "json_schema"})),
            "missing_required_parameter",
            "json_schema",
        ),
        (schema(Value::Null), "missing_required_parameter", "schema"),
        (schema(json!({"not": {}})), "invalid_value", format_name),
        (
            schema(json!({"type": "array", "minItems": 1 << 30})),
            "invalid_value",
            format_name,
        ),
        (structure(json!({})), "invalid_value", structure_name),
        (
            structure(json!({"regex": "a", "grammar": "b"})),
            "invalid_value",
            structure_name,
        ),
        (
            structure(json!({"regex": "("})),
            "invalid_value",
            structure_name,
        ),
        (
            structure(json!({"grammar": "start: other"})),
            "invalid_value",
            structure_name,
        ),
        (structure(json!({"json": 7})), "invalid_type", "json"),
        (
            structure(json!({"choice": ["a"]})),
            "unknown_parameter",
            "choice",
        ),
        (
            with(
                format(json!({"type": "json_object"})),
                structure(json!({"regex": "a"})),
            ),
            "invalid_value",
            structure_name,
        ),
    ] {
        let reply = server.post(COMPLETIONS, &with(completion("Once"), fields));
        assert_refused(&reply, 400, code, Some(param));
    }
    // A text that comes to where it can neither go on nor end.
    let stuck = structure(json!({"grammar": "start: start"}));
    let reply = server.post(COMPLETIONS, &with(completion("Once"), stuck));
    assert_refused(&reply, 400, "invalid_value", None);
}

#[test]
fn generate_keeps_to_a_constraint() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("constraint");
    let path = path.to_str().unwrap();
    let generate = |options: &[&str]| {
        let command = [
            "generate",
            "-q",
            "--no-prompt",
            "-m",
            MODEL,
            "Once upon a time",
        ];
        run(&[&command, options].concat())
    };
    for (option, source, expected) in [
        ("--regex", " there (was|is)", " there was\n"),
        ("--json-schema", " {\"const\": [1]}", "[1]\n"),
    ] {
        let output = generate(&[option, source]);
        assert_code(&output, 0);
        assert_eq!(text(&output.stdout), expected);
    }
    for (option, source, expected) in [
        ("--grammar", "start: \" there\" \" was\"", " there was\n"),
        ("--json-schema", "{\"const\": [1]}", "[1]\n"),
    ] {
        std::fs::write(path, source).unwrap();
        let output = generate(&[option, path]);
        assert_code(&output, 0);
        assert_eq!(text(&output.stdout), expected);
    }
    let failed: [&[&str]; 3] = [
        &["--regex", "("],
        &["--grammar", "/nothing"],
        &["--json-schema", "true"],
    ];
    for options in failed {
        let output = generate(options);
        assert_code(&output, 1);
        assert!(output.stdout.is_empty());
    }
    assert_code(&generate(&["--regex", "a", "--grammar", path]), 2);
}
