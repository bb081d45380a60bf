//! API keys: who has none is refused, before the server reads anything.

use std::fs;
use std::io::Write;

use serde_json::json;

use super::client::{Reply, Server, serve};
use super::refusals::assert_refused;
use super::{COMPLETIONS, completion};
use crate::commands::{assert_code, text};

#[test]
fn only_requests_with_the_key_are_answered() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keys");
    fs::write(&file, "sk-first\nsk-secret\n").unwrap();
    let mut command = serve(&["--api-key-file", file.to_str().unwrap()]);
    // The file's keys count alone.
    let server = Server::of(command.env("METAL_BRIDGE_API_KEY", "sk-variable"));
    let body = completion("Once").to_string();
    let post = |authorization: &str| {
        let head = format!("POST {COMPLETIONS} HTTP/1.0\r\nAuthorization: {authorization}\r\n");
        let head = format!("{head}Content-Type: application/json\r\nContent-Length: ");
        let mut connection = server.connect();
        write!(connection, "{head}{}\r\n\r\n{body}", body.len()).unwrap();
        Reply::read(connection)
    };
    assert_eq!(post("Bearer sk-secret").status, 200);
    for wrong in [
        "Bearer sk-secre",
        "Bearer sk-secret2",
        "Basic sk-secret",
        "Bearer sk-variable",
    ] {
        let refused = post(wrong);
        assert_refused(&refused, 401, "invalid_api_key", None);
        assert!(refused.head.contains("www-authenticate: bearer"));
        assert!(!refused.body.contains("sk-secret"));
    }
    for head in [
        "GET /v1/models",
        "GET /metrics",
        "POST /v1/completions",
        "POST /tokenize",
        "GET /nothing",
    ] {
        let refused = server.request(head, b"{");
        assert_refused(&refused, 401, "invalid_api_key", None);
    }
    assert_eq!(
        server.request("GET /health", b"").value(),
        json!({"status": "ok"})
    );
}

#[test]
fn places_without_a_key_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keys");
    fs::write(&file, "\n \n").unwrap();
    let path = file.to_str().unwrap();
    let with_file = serve(&["--api-key-file", path]).output();
    let with_variable = serve(&[]).env("METAL_BRIDGE_API_KEY", "").output();
    for (output, name) in [(with_file, path), (with_variable, "METAL_BRIDGE_API_KEY")] {
        let output = output.unwrap();
        assert_code(&output, 1);
        assert!(text(&output.stderr).contains(name));
    }
}
