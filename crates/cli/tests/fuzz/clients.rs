//! Clients of `metal-bridge serve`: several at once, which ask well or badly, read to the end or go away in the middle.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::search;

const MODEL: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../models/tiny-stories/tiny-stories-q8_0.gguf"
);
/// What no wait of an honest client comes to, on any machine.
const PATIENCE: Duration = Duration::from_secs(600);

/// One connection.
#[derive(Clone)]
struct Client {
    request: Vec<u8>,
    /// The body, of a request that is fine.
    asks: Option<String>,
    /// Ends its half of the connection after the request, which the server may take for its end.
    half_closes: bool,
    /// Sends so many bytes of the request, and reads so many of the answer, before it goes away.
    leaves: Option<(usize, usize)>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let request = self.request.escape_ascii();
        write!(f, "{request}, half closes: {}, ", self.half_closes)?;
        write!(f, "leaves: {:?}", self.leaves)
    }
}

fn clients() -> impl Strategy<Value = Vec<Client>> {
    let prompt = prop::collection::vec(3u32..300, 1..60);
    let body = (
        prompt,
        prop_oneof![4 => 0usize..12, 1 => 40usize..90],
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        select(vec![
            json!(null),
            json!({"json": {"type": "array", "items": {"type": "boolean"}}}),
            json!({"regex": "( [a-z]+)*"}),
            json!({"grammar": "start: (\" \" WORD)*\nWORD: /[a-z]+/"}),
        ]),
    );
    let body = body.prop_map(
        |(prompt, max_tokens, streams, is_sampled, uses_cache, structure)| {
            let body = json!({
                "structured_outputs": structure,
                "prompt": prompt,
                "max_tokens": max_tokens,
                "stream": streams,
                "temperature": if is_sampled { 1.0 } else { 0.0 },
                "seed": prompt.len(),
                "logprobs": 1,
                "cache_prompt": uses_cache,
            });
            // A text from a slot's tokens is computed in other pieces: it may differ.
            (body.to_string(), !streams && !uses_cache)
        },
    );
    let good = body.prop_map(|(body, is_repeatable)| {
        let request = request("/v1/completions", body.as_bytes());
        (request, is_repeatable.then_some(body), false)
    });
    let bad = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..40),
        Just(b"{\"prompt\": [1, 99999999]}".to_vec()),
        Just(b"{\"prompt\": \"\", \"max_tokens\": -1}".to_vec()),
        Just(b"[".repeat(100_000)),
        Just(br#"{"prompt": "a", "structured_outputs": {"grammar": "start: start"}}"#.to_vec()),
        Just(format!("{{\"prompt\": {:?}}}", vec![5; 500]).into_bytes()),
    ];
    let path = select(vec!["/v1/completions", "/v1/chat/completions", "/tokenize"]);
    let bad = (path, bad).prop_map(|(path, body)| (request(path, &body), None, true));
    let noise = prop::collection::vec(any::<u8>(), 0..200).prop_map(|bytes| (bytes, None, true));
    let request = prop_oneof![6 => good, 2 => bad, 1 => noise];
    let leaves = prop::option::of((0usize..400, 0usize..2000));
    let client = (request, leaves).prop_map(|((request, asks, half_closes), leaves)| Client {
        asks: asks.filter(|_| leaves.is_none()),
        half_closes,
        request,
        leaves,
    });
    prop::collection::vec(client, 1..10)
}

fn request(path: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST {path} HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

impl Client {
    /// What the server answers, as far as the client reads.
    fn run(&self, address: &str) -> io::Result<Vec<u8>> {
        let mut connection = TcpStream::connect(address)?;
        connection.set_read_timeout(Some(PATIENCE))?;
        let (sent, read) = self.leaves.unwrap_or((usize::MAX, usize::MAX));
        let request = &self.request[..sent.min(self.request.len())];
        // The server may refuse the head, and close the connection, before all is sent.
        let _ = connection.write_all(request);
        if self.half_closes {
            connection.shutdown(std::net::Shutdown::Write)?;
        }
        let mut answer = Vec::new();
        if sent >= self.request.len() {
            // Likewise.
            let _ = connection.take(read as u64).read_to_end(&mut answer);
        }
        Ok(answer)
    }
}

struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start() -> Result<Self, String> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_metal-bridge"));
        command
            .args(["serve", "-m", MODEL, "--port", "0", "--deterministic"])
            .args(["--slots", "3", "--queue", "4", "--batch", "16", "-c", "96"])
            // Not enough for three whole contexts.
            .args(["--cache-tokens", "160", "--draft-tokens", "6"])
            .env_remove("METAL_BRIDGE_API_KEY")
            .stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let mut line = String::new();
        if let Some(output) = child.stdout.take() {
            let read = BufReader::new(output).read_line(&mut line);
            read.map_err(|error| error.to_string())?;
        }
        let address = line.trim_end().split_once("http://");
        let address = address.map(|(_, address)| address.to_owned());
        let mut server = Self {
            child,
            address: String::new(),
        };
        server.address = address.ok_or_else(|| format!("the server printed {line:?}"))?;
        Ok(server)
    }

    /// The value of one of its metrics.
    fn metric(&self, name: &str) -> Result<u64, String> {
        let client = Client {
            request: b"GET /metrics HTTP/1.0\r\n\r\n".to_vec(),
            asks: None,
            half_closes: false,
            leaves: None,
        };
        let answer = client.run(&self.address);
        let answer = answer.map_err(|error| format!("/metrics: {error}"))?;
        let answer = String::from_utf8_lossy(&answer);
        let value = answer.lines().find_map(|line| line.strip_prefix(name));
        let value = value.and_then(|value| value.trim().parse().ok());
        value.ok_or_else(|| format!("/metrics has no {name}: {answer}"))
    }

    /// Open files and connections.
    fn descriptors(&self) -> Option<usize> {
        let folder = format!("/proc/{}/fd", self.child.id());
        Path::new(&folder)
            .exists()
            .then(|| fs::read_dir(folder).map_or(0, Iterator::count))
    }

    /// Waits until the server has nothing to do and `holds` what it shall.
    fn settle(&self, holds: impl Fn(&Self) -> bool) -> Result<(), String> {
        let start = Instant::now();
        loop {
            let mut left = 0;
            for name in ["texts_running", "texts_waiting", "cache_pages_used"] {
                left += self.metric(&format!("metal_bridge_{name} "))?;
            }
            if left == 0 && holds(self) {
                return Ok(());
            }
            if start.elapsed() > PATIENCE {
                let open = self.descriptors();
                return Err(format!(
                    "{left} texts and pages and {open:?} descriptors are left"
                ));
            }
            std::thread::yield_now();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The status and the choices of an answer.
fn parts(answer: &[u8]) -> Option<(u16, Value)> {
    let answer = String::from_utf8_lossy(answer);
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let body: Value = serde_json::from_str(body).ok()?;
    Some((status, body["choices"].clone()))
}

/// Cases of several clients each, for the given time. A text is the same whenever it is asked for, and nothing is left of the clients.
pub fn fuzz(time: Duration, seed: u64) -> Result<u64, String> {
    let server = Server::start()?;
    server.metric("metal_bridge_slots")?;
    server.settle(|_| true)?;
    let before = server.descriptors();
    let texts = RefCell::new(HashMap::<String, Value>::new());
    search(&clients(), time, seed, |clients| {
        let address = &server.address;
        let answers: Vec<_> = std::thread::scope(|scope| {
            let threads = clients
                .iter()
                .map(|client| scope.spawn(|| client.run(address)));
            let threads: Vec<_> = threads.collect();
            threads
                .into_iter()
                .map(std::thread::ScopedJoinHandle::join)
                .collect()
        });
        for (client, answer) in clients.iter().zip(answers) {
            let answer = answer.map_err(|_| "a client panicked".to_owned())?;
            let answer = answer.map_err(|error| format!("{client:?}: {error}"))?;
            let Some(body) = &client.asks else {
                continue;
            };
            let text = String::from_utf8_lossy(&answer);
            match parts(&answer) {
                Some((200, choices)) => {
                    let mut texts = texts.borrow_mut();
                    let first = texts.entry(body.clone()).or_insert_with(|| choices.clone());
                    if *first != choices {
                        return Err(format!("{body} gave {first}, and then {choices}"));
                    }
                }
                // More clients than slots and places in the queue.
                Some((503, _)) => {}
                _ => return Err(format!("{body} gave {text}")),
            }
        }
        // Each text once more, alone.
        for client in clients.iter().filter(|client| client.asks.is_some()) {
            server.settle(|_| true)?;
            let answer = client.run(address).map_err(|error| error.to_string())?;
            let (Some(body), Some((200, choices))) = (&client.asks, parts(&answer)) else {
                return Err(format!("{}", String::from_utf8_lossy(&answer)));
            };
            let mut texts = texts.borrow_mut();
            let first = texts.entry(body.clone()).or_insert_with(|| choices.clone());
            if *first != choices {
                return Err(format!("{body} gave {first}, and alone {choices}"));
            }
        }
        // One of the metrics' own may not be closed yet.
        server.settle(|server| server.descriptors() <= before)
    })
}
