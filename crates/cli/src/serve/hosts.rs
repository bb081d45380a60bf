//! [`Hosts`]: the names that a server for this machine alone answers to.
//!
//! A page in a browser may reach any address by a name of its own: its maker lets the name stand for 127.0.0.1 once the page is
//! there (DNS rebinding), and the browser takes the server for the page's own. The request still has the page's name in its header
//! `Host`, so only names that nobody else can own are answered.

use std::net::{IpAddr, SocketAddr};

use hyper::header::HOST;
use hyper::{HeaderMap, StatusCode};

use super::error::ApiError;

/// Whom a server answers.
pub struct Hosts {
    /// The name that the server was started with; `None` if other machines may connect, which have names for it that it does not
    /// know.
    served: Option<String>,
}

impl Hosts {
    /// Those of a server that listens on `address`, which was given as `host`.
    pub fn of(host: &str, address: SocketAddr) -> Self {
        let is_for_this_machine = address.ip().to_canonical().is_loopback();
        Self {
            served: is_for_this_machine.then(|| host.to_ascii_lowercase()),
        }
    }

    /// Refuses a request for somebody else. One that names no host is a program's: browsers always do.
    pub fn check(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        let Some(served) = &self.served else {
            return Ok(());
        };
        for value in headers.get_all(HOST) {
            let host = String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase();
            let name = name(&host);
            let is_own = name == served || name == "localhost" || name.ends_with(".localhost");
            if !is_own && !is_address(name) && !name.is_empty() {
                let message = format!(
                    "this server is for this machine alone: it answers to localhost and to addresses, not to {name:?}"
                );
                let status = StatusCode::FORBIDDEN;
                return Err(ApiError::request(status, "forbidden_host", message));
            }
        }
        Ok(())
    }
}

/// What comes before the port, without the dot that may end a name.
fn name(host: &str) -> &str {
    let end = match host.rfind(':') {
        // An address in brackets has colons of its own.
        Some(colon) if !host[colon..].contains(']') => colon,
        _ => host.len(),
    };
    host[..end].trim_end_matches('.')
}

fn is_address(name: &str) -> bool {
    let bare = name
        .strip_prefix('[')
        .and_then(|name| name.strip_suffix(']'));
    bare.unwrap_or(name).parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_answered(hosts: &Hosts, host: &str) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, host.parse().unwrap());
        hosts.check(&headers).is_ok()
    }

    #[test]
    fn local_servers_answer_to_names_nobody_else_owns() {
        let hosts = Hosts::of("Box.Example", ([127, 0, 0, 1], 8080).into());
        for host in [
            "localhost",
            "LocalHost:8080",
            "localhost.:80",
            "a.localhost",
            "127.0.0.1",
            "127.0.0.1:8080",
            "10.0.0.7",
            "[::1]",
            "[::1]:8080",
            "box.example:8080",
            "",
        ] {
            assert!(is_answered(&hosts, host), "{host}");
        }
        for host in [
            "page.example",
            "page.example:8080",
            "localhost.example",
            "notlocalhost",
            "127.0.0.1.example",
            "[::1].example",
            "page.example:[",
            "127.0.0.1:80:page",
        ] {
            assert!(!is_answered(&hosts, host), "{host}");
        }
        assert!(hosts.check(&HeaderMap::new()).is_ok());
        let mut two = HeaderMap::new();
        two.append(HOST, "localhost".parse().unwrap());
        two.append(HOST, "page.example".parse().unwrap());
        assert!(hosts.check(&two).is_err());
    }

    #[test]
    fn other_servers_answer_to_any_name() {
        let hosts = Hosts::of("0.0.0.0", ([0, 0, 0, 0], 8080).into());
        assert!(is_answered(&hosts, "page.example"));
        let mapped = Hosts::of(
            "::ffff:127.0.0.1",
            "[::ffff:127.0.0.1]:8080".parse().unwrap(),
        );
        assert!(!is_answered(&mapped, "page.example"));
    }
}
