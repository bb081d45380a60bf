//! What the server refuses, and that it goes on.

use std::io::{Read, Write};

use serde_json::{Value, json};

use super::client::{Reply, Server};
use super::{CHAT, COMPLETIONS, completion, with};

#[track_caller]
pub fn assert_refused(reply: &Reply, status: u16, code: &str, param: Option<&str>) {
    let error = &reply.json()["error"];
    let found = (
        reply.status,
        error["code"].as_str(),
        error["param"].as_str(),
    );
    assert_eq!(found, (status, Some(code), param), "{error}");
    assert!(!error["message"].as_str().unwrap().is_empty());
    let kind = match status {
        500.. => "server_error",
        _ => "invalid_request_error",
    };
    assert_eq!(error["type"], kind);
}

#[test]
fn what_cannot_be_answered_is_an_error_that_says_why() {
    let server = Server::start(&["--context", "64"]);
    for (head, body, status, code) in [
        ("GET /nothing", "", 404, "unknown_url"),
        ("GET /v1/models/other", "", 404, "model_not_found"),
        ("GET /v1/completions", "", 405, "method_not_allowed"),
        ("POST /health", "{}", 405, "method_not_allowed"),
        ("POST /v1/completions", "", 400, "invalid_json"),
        ("POST /v1/completions", "{\"prompt\": ", 400, "invalid_json"),
        ("POST /v1/completions", "[]", 400, "invalid_json"),
        (
            "POST /v1/completions",
            "{\"prompt\": \"\u{1}\"}",
            400,
            "invalid_json",
        ),
    ] {
        let reply = server.request(head, body.as_bytes());
        let param = (code == "model_not_found").then_some("model");
        assert_refused(&reply, status, code, param);
    }
    let bytes = server.request("POST /v1/completions", b"{\"prompt\": \"\xff\"}");
    assert_refused(&bytes, 400, "invalid_json", None);
    let deep = server.request("POST /v1/completions", "[".repeat(1 << 20).as_bytes());
    assert_refused(&deep, 400, "invalid_json", None);

    let text = || json!({"prompt": "Once", "max_tokens": 1});
    let user = || json!({"messages": [{"role": "user", "content": "Hi"}]});
    let message = |message: Value| json!({ "messages": [message] });
    for (path, body, code, param) in [
        (
            COMPLETIONS,
            json!({}),
            "missing_required_parameter",
            "prompt",
        ),
        (CHAT, json!({}), "missing_required_parameter", "messages"),
        (COMPLETIONS, json!({"prompt": 7}), "invalid_type", "prompt"),
        (
            COMPLETIONS,
            json!({"prompt": [1, "a"]}),
            "invalid_type",
            "prompt",
        ),
        (
            COMPLETIONS,
            json!({"prompt": ["a", "b"]}),
            "unsupported_value",
            "prompt",
        ),
        (
            COMPLETIONS,
            json!({"prompt": []}),
            "invalid_value",
            "prompt",
        ),
        (
            COMPLETIONS,
            json!({"prompt": [4_000_000]}),
            "invalid_value",
            "prompt",
        ),
        (
            COMPLETIONS,
            json!({"prompt": "Once ".repeat(80)}),
            "context_length_exceeded",
            "prompt",
        ),
        (
            COMPLETIONS,
            with(text(), json!({"temprature": 1})),
            "unknown_parameter",
            "temprature",
        ),
        (
            COMPLETIONS,
            with(text(), json!({"n": 2})),
            "unsupported_value",
            "n",
        ),
        (
            COMPLETIONS,
            with(text(), json!({"logprobs": 6})),
            "invalid_value",
            "logprobs",
        ),
        (
            COMPLETIONS,
            with(text(), json!({"logprobs": true})),
            "invalid_type",
            "logprobs",
        ),
        (
            CHAT,
            with(user(), json!({"logprobs": 1})),
            "invalid_type",
            "logprobs",
        ),
        (
            CHAT,
            with(user(), json!({"logprobs": true, "top_logprobs": 21})),
            "invalid_value",
            "top_logprobs",
        ),
        (
            CHAT,
            with(user(), json!({"top_logprobs": 2})),
            "invalid_value",
            "top_logprobs",
        ),
        (
            COMPLETIONS,
            with(text(), json!({"max_tokens": -1})),
            "invalid_type",
            "max_tokens",
        ),
        (
            COMPLETIONS,
            with(text(), json!({"temperature": "hot"})),
            "invalid_type",
            "temperature",
        ),
        (
            COMPLETIONS,
            with(text(), json!({"temperature": 1e300})),
            "invalid_value",
            "temperature",
        ),
        (
            COMPLETIONS,
            with(text(), json!({"top_p": 2})),
            "invalid_value",
            "top_p",
        ),
        (
            COMPLETIONS,
            with(text(), json!({"min_p": -1})),
            "invalid_value",
            "min_p",
        ),
        (
            COMPLETIONS,
            with(text(), json!({"frequency_penalty": 2.1})),
            "invalid_value",
            "frequency_penalty",
        ),
        (
            COMPLETIONS,
            with(text(), json!({"presence_penalty": -2.1})),
            "invalid_value",
            "presence_penalty",
        ),
        (
            COMPLETIONS,
            with(text(), json!({"repeat_penalty": 0})),
            "invalid_value",
            "repeat_penalty",
        ),
        (
            COMPLETIONS,
            with(text(), json!({"repeat_last_n": -2})),
            "invalid_type",
            "repeat_last_n",
        ),
        (
            COMPLETIONS,
            with(text(), json!({"logit_bias": {"1": 101}})),
            "invalid_value",
            "logit_bias",
        ),
        (
            COMPLETIONS,
            with(text(), json!({"logit_bias": {"4000000": 1}})),
            "invalid_value",
            "logit_bias",
        ),
        (
            COMPLETIONS,
            with(text(), json!({"logit_bias": {"01": 1}})),
            "invalid_value",
            "logit_bias",
        ),
        (
            COMPLETIONS,
            with(text(), json!({"logit_bias": {"1": "ban"}})),
            "invalid_type",
            "logit_bias",
        ),
        (
            COMPLETIONS,
            with(text(), json!({"stop": ""})),
            "invalid_value",
            "stop",
        ),
        (
            COMPLETIONS,
            with(text(), json!({"stop": [1]})),
            "invalid_type",
            "stop",
        ),
        (
            COMPLETIONS,
            with(text(), json!({"stream": 1})),
            "invalid_type",
            "stream",
        ),
        (
            COMPLETIONS,
            with(text(), json!({"stream_options": {}})),
            "invalid_value",
            "stream_options",
        ),
        (
            CHAT,
            with(user(), json!({"tools": [{}]})),
            "unsupported_value",
            "tools",
        ),
        (CHAT, message(json!("Hi")), "invalid_type", "messages[0]"),
        (
            CHAT,
            message(json!({"content": "Hi"})),
            "invalid_type",
            "messages[0].role",
        ),
        (
            CHAT,
            message(json!({"role": "user"})),
            "invalid_value",
            "messages[0]",
        ),
        (
            CHAT,
            message(json!({"role": "user", "content": [{"type": "image_url"}]})),
            "unsupported_value",
            "messages[0].content",
        ),
        (
            "/detokenize",
            json!({"tokens": [4_000_000]}),
            "invalid_value",
            "tokens",
        ),
    ] {
        assert_refused(&server.post(path, &body), 400, code, Some(param));
    }
    let other = with(text(), json!({"model": "gpt-4o"}));
    assert_refused(
        &server.post(COMPLETIONS, &other),
        404,
        "model_not_found",
        Some("model"),
    );
    // The model's file has no template, and the server was given none.
    assert_refused(&server.post(CHAT, &user()), 400, "no_chat_template", None);
    assert_eq!(server.post(COMPLETIONS, &text()).status, 200);
}

#[test]
fn slow_and_large_requests_hold_up_nobody() {
    let server = Server::start(&[]);
    let mut slow = server.connect();
    slow.write_all(b"POST /v1/completions HTTP/1.1\r\nHost: h")
        .unwrap();
    let mut body_missing = server.connect();
    let head = "POST /v1/completions HTTP/1.0\r\nContent-Type: application/json\r\n";
    let begin = format!("{head}Content-Length: 9\r\n\r\n{{");
    body_missing.write_all(begin.as_bytes()).unwrap();
    let completion = completion("Once upon a time");
    assert_eq!(server.post(COMPLETIONS, &completion).status, 200);

    // The answer comes before the body does.
    let mut large = server.connect();
    let begin = format!("{head}Content-Length: 99999999\r\n\r\n");
    large.write_all(begin.as_bytes()).unwrap();
    assert_refused(&Reply::read(large), 413, "body_too_large", None);

    // As a page in a browser sends it, which no server has to allow.
    let mut plain = server.connect();
    let begin =
        "POST /v1/completions HTTP/1.0\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}";
    plain.write_all(begin.as_bytes()).unwrap();
    assert_refused(&Reply::read(plain), 415, "unsupported_media_type", None);

    let mut nonsense = server.connect();
    nonsense
        .write_all(b"\x16\x03\x01 is not HTTP\r\n\r\n")
        .unwrap();
    let mut answer = Vec::new();
    // The server may close the connection before it has read all.
    let _ = nonsense.read_to_end(&mut answer);
    // A client that waits too long for itself is sent away.
    answer.clear();
    slow.read_to_end(&mut answer).unwrap();
    assert_eq!(answer, b"");
    assert_eq!(server.post(COMPLETIONS, &completion).status, 200);
}

/// The server ends connections by how long they have waited, and none that has work.
#[test]
fn clients_that_send_nothing_make_room() {
    let server = Server::start(&[]);
    let mut first = server.connect();
    first.write_all(b"GET /health HTTP/1.1\r\n").unwrap();
    // The body of this one is missing.
    let mut second = server.connect();
    let head = "POST /v1/completions HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{";
    second.write_all(head.as_bytes()).unwrap();
    // With this answer the server has looked at both.
    assert_eq!(server.request("GET /health", b"").status, 200);
    let _others: Vec<_> = (0..255).map(|_| server.connect()).collect();
    let mut answer = Vec::new();
    first.read_to_end(&mut answer).unwrap();
    assert_eq!(answer, b"");
    assert_eq!(server.request("GET /health", b"").status, 200);
    // Ended without the answer that the body took too long.
    let _ = second.read_to_end(&mut answer);
    assert_eq!(answer, b"");
}

/// The names are those of `Host`, which a browser fills with the name of the page that sends the request.
#[test]
fn foreign_pages_and_too_many_bodies_are_refused() {
    let server = Server::start(&[]);
    for (host, status) in [("page.example", 403), ("localhost:8080", 200)] {
        let mut connection = server.connect();
        let head = format!("GET /v1/models HTTP/1.0\r\nHost: {host}\r\n\r\n");
        connection.write_all(head.as_bytes()).unwrap();
        let reply = Reply::read(connection);
        match status {
            403 => assert_refused(&reply, 403, "forbidden_host", None),
            _ => assert_eq!(reply.status, status, "{}", reply.body),
        }
    }

    // None of these bodies comes to its end.
    let head = "POST /tokenize HTTP/1.1\r\nContent-Type: application/json\r\n";
    let large = format!(
        "{head}Expect: 100-continue\r\nContent-Length: {}\r\n\r\n",
        4 << 20
    );
    let connections: Vec<_> = (0..16)
        .map(|_| {
            let mut connection = server.connect();
            connection.write_all(large.as_bytes()).unwrap();
            // The server asks for a body once there is room for it.
            let mut answer = [0; 12];
            connection.read_exact(&mut answer).unwrap();
            assert_eq!(&answer, b"HTTP/1.1 100");
            connection
        })
        .collect();
    let full = server.post("/tokenize", &json!({"content": "a"}));
    assert_refused(&full, 503, "bodies_full", None);
    drop(connections);
    while server.post("/tokenize", &json!({"content": "a"})).status != 200 {
        std::thread::yield_now();
    }
}
