//! `metal-bridge serve` over HTTP: its texts are those of `generate`, and no request spoils another.

mod client;
mod constraints;
mod embeddings;
mod keys;
mod logprobs;
mod page;
mod refusals;

#[cfg(software_metal)]
use std::io::{Read, Write};

use client::{Server, joined};
use serde_json::{Value, json};

use crate::commands::{MODEL, assert_code, run, text};

const COMPLETIONS: &str = "/v1/completions";
const CHAT: &str = "/v1/chat/completions";

/// What `generate` writes after `prompt`.
fn continuation(prompt: &str, options: &[&str]) -> String {
    let generate = ["generate", "-q", "--no-prompt", "-m", MODEL, prompt];
    let output = run(&[&generate, options].concat());
    assert_code(&output, 0);
    text(&output.stdout).strip_suffix('\n').unwrap().to_owned()
}

fn completion(prompt: &str) -> Value {
    json!({"prompt": prompt, "max_tokens": 24, "temperature": 0})
}

/// `value` with further fields.
fn with(mut value: Value, fields: Value) -> Value {
    let fields = fields.as_object().unwrap().clone();
    value.as_object_mut().unwrap().extend(fields);
    value
}

/// A server whose chats are the messages, with spaces between them.
fn with_template() -> Server {
    let folder = tempfile::tempdir().unwrap();
    let template = folder.path().join("template.jinja");
    let source = "{{ messages | map(attribute='content') | join(' ') }}";
    std::fs::write(&template, source).unwrap();
    Server::start(&["--template", template.to_str().unwrap()])
}

#[test]
fn texts_are_those_of_generate_whole_and_in_pieces() {
    let server = with_template();
    let expected = continuation("Once upon a time", &["-n", "24"]);

    let first = server
        .post(COMPLETIONS, &completion("Once upon a time"))
        .value();
    let choice = &first["choices"][0];
    assert_eq!(choice["text"], expected);
    assert_eq!(
        (&choice["finish_reason"], &first["object"]),
        (&json!("length"), &json!("text_completion"))
    );
    let usage = &first["usage"];
    let prompt_tokens = usage["prompt_tokens"].as_u64().unwrap();
    assert_eq!(usage["completion_tokens"], 24);
    assert_eq!(usage["total_tokens"], prompt_tokens + 24);
    assert_eq!(usage["prompt_tokens_details"]["cached_tokens"], 0);

    // The same as a chat, from the tokens that the slot holds, and without them.
    let messages = json!([
        {"role": "system", "content": "Once"},
        {"role": "user", "content": [{"type": "text", "text": "upon a time"}]},
    ]);
    let chat = json!({"messages": messages, "max_completion_tokens": 24, "n": 1, "user": "me"});
    for (cached, uses_cache) in [(prompt_tokens - 1, true), (0, false)] {
        let chat = with(chat.clone(), json!({"cache_prompt": uses_cache}));
        let value = server.post(CHAT, &chat).value();
        assert_eq!(
            value["choices"][0]["message"],
            json!({"role": "assistant", "content": expected})
        );
        assert_eq!(
            value["usage"]["prompt_tokens_details"]["cached_tokens"],
            cached
        );
    }

    let streamed = json!({"stream": true, "stream_options": {"include_usage": true}});
    let pieces = server.post(
        COMPLETIONS,
        &with(completion("Once upon a time"), streamed.clone()),
    );
    let events = pieces.events();
    assert_eq!(joined(&events, "/choices/0/text"), expected);
    let [.., end, usage, _] = &events[..] else {
        panic!("{events:?}");
    };
    let [end, usage]: [Value; 2] = [end, usage].map(|event| serde_json::from_str(event).unwrap());
    assert_eq!(end["choices"][0]["finish_reason"], "length");
    assert_eq!(
        (&usage["choices"], &usage["usage"]["completion_tokens"]),
        (&json!([]), &json!(24))
    );
    let events = server.post(CHAT, &with(chat, streamed)).events();
    assert_eq!(joined(&events, "/choices/0/delta/content"), expected);

    // A stop string that lies across tokens ends the text before it.
    let middle = expected.len() / 2;
    let stop = expected.get(middle - 5..middle + 5).unwrap();
    let before = expected.find(stop).unwrap();
    let stopped = json!({"stop": ["nowhere", stop], "stream": true});
    let events = server
        .post(COMPLETIONS, &with(completion("Once upon a time"), stopped))
        .events();
    assert_eq!(joined(&events, "/choices/0/text"), expected[..before]);
    assert!(events[events.len() - 2].contains("\"finish_reason\":\"stop\""));

    // Settings reach the sampler, and a seed repeats its text.
    let sampled = json!({"temperature": 1, "top_k": 50, "top_p": 0.9, "seed": 5});
    let options = [
        "-n", "24", "-t", "1", "--top-k", "50", "--top-p", "0.9", "--seed", "5",
    ];
    let value = server
        .post(COMPLETIONS, &with(completion("Once"), sampled))
        .value();
    assert_eq!(value["choices"][0]["text"], continuation("Once", &options));
    assert_penalties(&server, &expected);

    let models = server.request("GET /v1/models", b"").value();
    assert_eq!(models["data"][0]["id"], "tiny-stories-q8_0");
    assert_eq!(
        server.request("GET /health", b"").value(),
        json!({"status": "ok"})
    );
    let tokens = server
        .post("/tokenize", &json!({"content": " Once upon"}))
        .value();
    let words = server.post("/detokenize", &tokens).value();
    assert_eq!(words["content"].as_str().unwrap().trim_start(), "Once upon");
}

/// Penalties and biases change the text that was `plain`, and no other one.
fn assert_penalties(server: &Server, plain: &str) {
    let text_with = |fields: Value| {
        let request = with(completion("Once upon a time"), fields);
        let value = server.post(COMPLETIONS, &request).value();
        value["choices"][0]["text"].as_str().unwrap().to_owned()
    };
    for (name, value) in [
        ("repeat_penalty", 5),
        ("frequency_penalty", -2),
        ("presence_penalty", -2),
    ] {
        let option = format!("--{}", name.replace('_', "-"));
        let options = ["-n", "24", &option, &value.to_string()];
        let text = text_with(json!({ name: value, "repeat_last_n": 64 }));
        assert_eq!(text, continuation("Once upon a time", &options), "{name}");
        assert_ne!(text, plain, "{name}");
    }
    let none = json!({"repeat_penalty": 5, "repeat_last_n": 0, "logit_bias": {"5": 0}});
    assert_eq!(text_with(none), plain);
    let all = json!({"repeat_penalty": 5, "repeat_last_n": -1});
    let all_options = ["-n", "24", "--repeat-penalty", "5", "--repeat-last-n", "-1"];
    let all_text = continuation("Once upon a time", &all_options);
    assert_eq!(text_with(all), all_text);
    // A bias of 100 leaves the others no chance.
    let words = json!({"content": " cat"});
    let tokens = server.post("/tokenize", &words).value();
    let token = tokens["tokens"].as_array().unwrap().last().unwrap();
    let word = json!({ "tokens": [token, token] });
    let word = server.post("/detokenize", &word).value();
    let biased = text_with(json!({"max_tokens": 2, "logit_bias": {token.to_string(): 100}}));
    assert_eq!(
        biased.trim_start(),
        word["content"].as_str().unwrap().trim_start()
    );
}

#[test]
fn texts_at_once_are_those_one_after_the_other() {
    let options = ["--slots", "2", "--batch", "4", "--deterministic"];
    let server = Server::start(&options);
    // Two contexts of 512 tokens, also before the first text.
    let pages = "\nmetal_bridge_cache_pages 32\n";
    let metrics = server.request("GET /metrics", b"").body;
    assert!(metrics.contains(pages), "{metrics}");
    let prompts = ["Once upon a time", "One day", "The cat", "Tom and"];
    let text_of = |prompt: &str| {
        // Equal probabilities come of equal logits.
        let fields = json!({"cache_prompt": false, "logprobs": 2});
        let request = with(completion(prompt), fields);
        server.post(COMPLETIONS, &request).value()["choices"].clone()
    };
    let in_turn = prompts.map(text_of);
    let text_of = &text_of;
    let at_once = std::thread::scope(|scope| {
        let threads = prompts.map(|prompt| scope.spawn(move || text_of(prompt)));
        threads.map(|thread| thread.join().unwrap())
    });
    assert_eq!(at_once, in_turn);

    let no_token = json!({"prompt": [1, 99999]});
    assert_eq!(server.post(COMPLETIONS, &no_token).status, 400);
    let metrics = server.request("GET /metrics", b"");
    let length = metrics.body.len();
    for header in [
        "content-type: text/plain; version=0.0.4",
        &format!("content-length: {length}\r\n"),
    ] {
        assert!(metrics.head.contains(header), "{}", metrics.head);
    }
    let tokens = |choices: &Value| {
        let tokens = &choices[0]["logprobs"]["tokens"];
        tokens.as_array().unwrap().len()
    };
    let generated: usize = in_turn.iter().map(tokens).sum();
    for (name, value) in [
        ("texts_total{outcome=\"ended\"}", 8),
        ("texts_total{outcome=\"failed\"}", 0),
        ("texts_total{outcome=\"refused\"}", 1),
        ("generated_tokens_total", 2 * generated),
        ("cached_prompt_tokens_total", 0),
        ("slots", 2),
        ("texts_waiting", 0),
        ("preemptions_total", 0),
        ("draft_tokens_total", 0),
        ("cache_pages", 32),
        ("time_to_first_token_seconds_count", 8),
        ("time_per_output_token_seconds_count", 2 * generated - 8),
    ] {
        let line = format!("\nmetal_bridge_{name} {value}\n");
        assert!(metrics.body.contains(&line), "{line} in {}", metrics.body);
    }
}

/// Each token takes some tenths of a second, so a text that nothing ends would take a minute.
#[cfg(software_metal)]
#[test]
fn a_client_that_goes_away_frees_its_slot() {
    let server = Server::with_delay(&["--queue", "0"], "200000");
    let story = continuation("Once upon a time", &[]);
    let endless = json!({"prompt": "Once upon a time", "stream": true});
    let streaming = server.begin(COMPLETIONS, &endless);
    let whole = json!({"prompt": format!("Once upon a time{story}"), "max_tokens": 1});
    let refused = server.post(COMPLETIONS, &whole);
    assert_eq!(
        (refused.status, &refused.json()["error"]["code"]),
        (503, &json!("queue_full"))
    );
    assert!(refused.head.contains("retry-after: "));
    drop(streaming);
    let usage = loop {
        let reply = server.post(COMPLETIONS, &whole);
        if reply.status != 503 {
            break reply.value()["usage"].clone();
        }
        std::thread::yield_now();
    };
    // The slot held no more of the story than what had been generated by then.
    let cached = usage["prompt_tokens_details"]["cached_tokens"]
        .as_u64()
        .unwrap();
    assert!(
        cached < usage["prompt_tokens"].as_u64().unwrap() / 2,
        "{usage}"
    );
}

#[cfg(software_metal)]
fn signal(server: &Server, number: i32) {
    let pid = i32::try_from(server.child.id()).unwrap();
    // SAFETY: the call takes numbers alone, and the child is not waited for yet, so its number is not another's.
    assert_eq!(unsafe { libc::kill(pid, number) }, 0);
}

#[cfg(software_metal)]
#[test]
fn a_signal_lets_answers_end_and_a_second_ends_them() {
    let request = json!({"prompt": "Once upon a time", "stream": true, "max_tokens": 8});
    let mut server = Server::with_delay(&["--grace", "600"], "200000");
    let streaming = server.begin(COMPLETIONS, &request);
    signal(&server, libc::SIGTERM);
    let expected = continuation("Once upon a time", &["-n", "8"]);
    assert_eq!(joined(&streaming.finish(), "/choices/0/text"), expected);
    assert_eq!(server.child.wait().unwrap().code(), Some(0));

    let mut server = Server::with_delay(&["--grace", "600"], "200000");
    let endless = with(request, json!({"max_tokens": null}));
    let streaming = server.begin(COMPLETIONS, &endless);
    signal(&server, libc::SIGINT);
    signal(&server, libc::SIGTERM);
    let events = streaming.finish();
    let last: Value = serde_json::from_str(events.last().unwrap()).unwrap();
    assert_eq!(last["error"]["code"], "server_stopping");
    assert_eq!(server.child.wait().unwrap().code(), Some(0));

    // A request whose body has not come has no text to wait for.
    let mut server = Server::start(&["--grace", "0"]);
    let mut unfinished = server.connect();
    let head = "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n\
        Content-Type: application/json\r\nContent-Length: 9\r\n\r\n";
    unfinished.write_all(head.as_bytes()).unwrap();
    let mut begun = [0; 25];
    unfinished.read_exact(&mut begun).unwrap();
    assert_eq!(&begun, b"HTTP/1.1 100 Continue\r\n\r\n");
    signal(&server, libc::SIGTERM);
    let mut refused = String::new();
    unfinished.read_to_string(&mut refused).unwrap();
    assert!(refused.contains("\"server_stopping\""), "{refused}");
    assert_eq!(server.child.wait().unwrap().code(), Some(0));
}
