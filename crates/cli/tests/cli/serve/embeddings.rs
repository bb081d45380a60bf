//! Vectors for texts.

use serde_json::{Value, json};

use super::client::Server;
use super::refusals::assert_refused;
use super::with;

const EMBEDDINGS: &str = "/v1/embeddings";

fn vector(value: &Value) -> Vec<f64> {
    let numbers = value.as_array().unwrap();
    numbers
        .iter()
        .map(|number| number.as_f64().unwrap())
        .collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[test]
fn texts_have_vectors_of_length_one() {
    let server = Server::start(&[]);
    let texts = [
        "Once upon a time",
        "The cat sat on the mat.",
        "The cat sat on a mat.",
    ];
    let whole = server.post(EMBEDDINGS, &json!({"input": texts})).value();
    let data = whole["data"].as_array().unwrap();
    let vectors: Vec<Vec<f64>> = data.iter().map(|one| vector(&one["embedding"])).collect();
    assert_eq!(vectors.len(), 3);
    for (index, (one, vector)) in data.iter().zip(&vectors).enumerate() {
        assert_eq!(
            (&one["index"], &one["object"]),
            (&json!(index), &json!("embedding"))
        );
        assert!((dot(vector, vector) - 1.0).abs() < 1e-5);
    }
    assert!(dot(&vectors[1], &vectors[2]) > dot(&vectors[0], &vectors[2]));

    // The same alone, by its tokens, and in base64.
    let tokenize = json!({"content": texts[0], "add_special": true});
    let tokens = server.post("/tokenize", &tokenize).value()["tokens"].clone();
    let count = tokens.as_array().unwrap().len();
    for input in [json!(texts[0]), tokens.clone(), json!([tokens])] {
        let value = server.post(EMBEDDINGS, &json!({ "input": input })).value();
        assert_eq!(
            value["data"][0]["embedding"], data[0]["embedding"],
            "{input}"
        );
        assert_eq!(
            value["usage"],
            json!({"prompt_tokens": count, "total_tokens": count})
        );
    }
    let encoded = json!({"input": texts[0], "encoding_format": "base64"});
    let encoded = server.post(EMBEDDINGS, &encoded).value();
    let encoded = encoded["data"][0]["embedding"].as_str().unwrap();
    assert_eq!(encoded.len(), (vectors[0].len() * 4).div_ceil(3) * 4);

    let short = json!({"input": texts[0], "dimensions": 8});
    let short = server.post(EMBEDDINGS, &short).value();
    let short = vector(&short["data"][0]["embedding"]);
    assert_eq!(short.len(), 8);
    assert!((dot(&short, &short) - 1.0).abs() < 1e-5);
    let direction = dot(&short, &vectors[0][..8]) / dot(&vectors[0][..8], &vectors[0][..8]).sqrt();
    assert!((direction - 1.0).abs() < 1e-5);

    let last = Server::start(&["--pooling", "last"]);
    let last = last.post(EMBEDDINGS, &json!({"input": texts[0]})).value();
    assert_ne!(last["data"][0]["embedding"], data[0]["embedding"]);
}

#[test]
fn what_has_no_vector_is_an_error_that_says_why() {
    let server = Server::start(&["--context", "64"]);
    let text = || json!({"input": "Once"});
    for (body, code, param) in [
        (json!({}), "missing_required_parameter", "input"),
        (json!({"input": 7}), "invalid_type", "input"),
        (json!({"input": []}), "invalid_value", "input"),
        (json!({"input": [[]]}), "invalid_value", "input"),
        (json!({"input": ["a", 7]}), "invalid_type", "input"),
        (json!({"input": [4_000_000]}), "invalid_value", "input"),
        (json!({"input": vec!["a"; 2049]}), "invalid_value", "input"),
        (
            json!({"input": ["a", "Once ".repeat(80)]}),
            "context_length_exceeded",
            "input",
        ),
        (
            with(text(), json!({"dimensions": 0})),
            "invalid_value",
            "dimensions",
        ),
        (
            with(text(), json!({"dimensions": 100_000})),
            "invalid_value",
            "dimensions",
        ),
        (
            with(text(), json!({"encoding_format": "int8"})),
            "unsupported_value",
            "encoding_format",
        ),
        (
            with(text(), json!({"max_tokens": 1})),
            "unknown_parameter",
            "max_tokens",
        ),
    ] {
        let reply = server.post(EMBEDDINGS, &body);
        assert_refused(&reply, 400, code, Some(param));
    }
    assert_eq!(server.post(EMBEDDINGS, &text()).status, 200);
}
