//! Log probabilities in OpenAI's forms, whole and in pieces.

use serde_json::{Value, json};

use super::client::{Server, joined};
use super::{CHAT, COMPLETIONS, completion, with, with_template};

/// The values at `pointer` of all events, one after the other.
fn in_pieces(server: &Server, path: &str, request: &Value, pointer: &str) -> (String, Vec<Value>) {
    let streamed = with(request.clone(), json!({"stream": true}));
    let events = server.post(path, &streamed).events();
    let text = match path {
        CHAT => joined(&events, "/choices/0/delta/content"),
        _ => joined(&events, "/choices/0/text"),
    };
    let values = events.iter().filter_map(|event| {
        let event: Value = serde_json::from_str(event).ok()?;
        Some(event.pointer(pointer)?.as_array()?.clone())
    });
    (text, values.flatten().collect())
}

fn texts(tokens: &[Value]) -> String {
    let texts = tokens.iter().map(|token| token["token"].as_str().unwrap());
    texts.collect()
}

#[test]
fn answers_tell_how_likely_their_tokens_were() {
    let server = with_template();
    let messages = json!([{"role": "user", "content": "Once upon a time"}]);
    let chat = json!({
        "messages": messages, "max_tokens": 12, "logprobs": true, "top_logprobs": 3, "cache_prompt": false,
    });
    let value = server.post(CHAT, &chat).value();
    let choice = &value["choices"][0];
    let content = choice["logprobs"]["content"].as_array().unwrap();
    assert_eq!(content.len(), 12);
    assert_eq!(
        texts(content),
        choice["message"]["content"].as_str().unwrap()
    );
    for token in content {
        // A greedy choice is the likeliest token.
        let top = token["top_logprobs"].as_array().unwrap();
        assert_eq!(
            (&top[0]["token"], &top[0]["logprob"]),
            (&token["token"], &token["logprob"])
        );
        assert_eq!(top.len(), 3);
        let values = top.iter().map(|one| one["logprob"].as_f64().unwrap());
        assert!(values.clone().is_sorted_by(|a, b| a >= b));
        let sum: f64 = values.map(f64::exp).sum();
        assert!(sum > 0.0 && sum <= 1.0 + 1e-9, "{sum}");
        let bytes = token["token"].as_str().unwrap().as_bytes();
        assert_eq!(token["bytes"], json!(bytes));
    }
    let (text, pieces) = in_pieces(&server, CHAT, &chat, "/choices/0/logprobs/content");
    assert_eq!((text, &pieces), (texts(content), content));

    // What is chosen instead is told of by the same raw logits.
    let biased = json!({"max_tokens": 1, "logit_bias": {"5": 100}, "temperature": 2});
    let biased = server.post(CHAT, &with(chat.clone(), biased)).value();
    let biased = &biased["choices"][0]["logprobs"]["content"][0];
    assert_eq!(biased["top_logprobs"], content[0]["top_logprobs"]);
    assert!(biased["logprob"].as_f64() < content[0]["logprob"].as_f64());

    // Tokens that begin in the string that ends the text are not told of.
    let last = content[11]["token"].as_str().unwrap();
    let stop = json!({"stop": format!("{}{last}", content[10]["token"].as_str().unwrap())});
    let stopped = server.post(CHAT, &with(chat.clone(), stop)).value();
    let stopped = &stopped["choices"][0]["logprobs"]["content"];
    assert_eq!(stopped.as_array().unwrap(), &content[..10]);

    let old = json!({"logprobs": 2, "max_tokens": 12, "cache_prompt": false});
    let old = with(completion("Once upon a time"), old);
    let value = server.post(COMPLETIONS, &old).value();
    let logprobs = &value["choices"][0]["logprobs"];
    let mut characters = 0;
    for (index, token) in content.iter().enumerate() {
        let name = token["token"].as_str().unwrap();
        assert_eq!(logprobs["tokens"][index], name);
        assert_eq!(logprobs["token_logprobs"][index], token["logprob"]);
        assert_eq!(logprobs["text_offset"][index], characters);
        let top = logprobs["top_logprobs"][index].as_object().unwrap();
        assert_eq!((top.len(), &top[name]), (2, &token["logprob"]));
        characters += name.chars().count();
    }
    for field in ["tokens", "token_logprobs", "top_logprobs", "text_offset"] {
        let pointer = format!("/choices/0/logprobs/{field}");
        let (_, pieces) = in_pieces(&server, COMPLETIONS, &old, &pointer);
        assert_eq!(logprobs[field], json!(pieces), "{field}");
    }
    let alone = with(old, json!({"logprobs": 0, "max_tokens": 1}));
    let alone = server.post(COMPLETIONS, &alone).value();
    let top = &alone["choices"][0]["logprobs"]["top_logprobs"];
    let first = &content[0];
    let name = first["token"].as_str().unwrap();
    assert_eq!(top, &json!([{ name: first["logprob"] }]));
}
