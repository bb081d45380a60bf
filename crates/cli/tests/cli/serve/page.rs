//! The page at `/`. `make page` runs it in a browser.

use super::client::{Server, serve};
use super::refusals::assert_refused;

#[test]
fn the_page_is_all_that_its_policy_lets_the_browser_take() {
    let mut command = serve(&[]);
    // The page needs no key: its user gives it one.
    let server = Server::of(command.env("METAL_BRIDGE_API_KEY", "sk-secret"));
    let nonces = [0; 2].map(|_| {
        let reply = server.request("GET /", b"");
        assert_eq!(reply.status, 200);
        assert!(reply.head.contains("content-type: text/html"));
        let policy = reply
            .head
            .lines()
            .find_map(|line| line.strip_prefix("content-security-policy: "));
        let policy = policy.unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'nonce-"));
        let nonce = policy
            .split("'nonce-")
            .nth(1)
            .unwrap()
            .split('\'')
            .next()
            .unwrap();
        let marked = format!("nonce=\"{nonce}\"");
        assert_eq!(reply.body.matches(&marked).count(), 2);
        for foreign in [
            "http:",
            "https:",
            "//cdn",
            "innerHTML",
            "NONCE",
            "sk-secret",
        ] {
            assert!(!reply.body.contains(foreign), "{foreign}");
        }
        nonce.to_owned()
    });
    assert_ne!(nonces[0], nonces[1]);
    let closed = Server::start(&["--no-page"]);
    assert_refused(&closed.request("GET /", b""), 404, "unknown_url", None);
    assert_refused(
        &server.request("POST /", b"{}"),
        405,
        "method_not_allowed",
        None,
    );
}
