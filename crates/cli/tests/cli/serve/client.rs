//! A server of the test's own, and the plainest client: HTTP/1.0, whose answers end with their connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::commands::{MODEL, command};

/// The command that serves the model on a free port.
pub fn serve(options: &[&str]) -> Command {
    let mut command = command(&["serve", "-m", MODEL, "--port", "0"]);
    command.args(options).env_remove("METAL_BRIDGE_API_KEY");
    command
}

pub struct Server {
    pub child: Child,
    address: String,
}

impl Server {
    pub fn start(options: &[&str]) -> Self {
        Self::with_delay(options, "0")
    }

    /// A server on a Metal where each command buffer takes up to `delay` microseconds more.
    pub fn with_delay(options: &[&str], delay: &str) -> Self {
        let mut command = serve(options);
        Self::of(command.env("SOFTWARE_METAL_DELAY", delay))
    }

    /// What a command that serves starts.
    pub fn of(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        let address = line.trim_end().strip_prefix("tiny-stories-q8_0 at http://");
        let address = address.unwrap_or_else(|| panic!("{line:?}")).to_owned();
        Self { child, address }
    }

    pub fn connect(&self) -> TcpStream {
        TcpStream::connect(&self.address).unwrap()
    }

    /// Sends a request, and gives the connection that the answer comes from.
    pub fn send(&self, head: &str, body: &[u8]) -> TcpStream {
        let mut connection = self.connect();
        let length = body.len();
        let head = format!("{head} HTTP/1.0\r\nContent-Type: application/json\r\n");
        let head = format!("{head}Content-Length: {length}\r\n\r\n");
        connection.write_all(head.as_bytes()).unwrap();
        connection.write_all(body).unwrap();
        connection
    }

    pub fn request(&self, head: &str, body: &[u8]) -> Reply {
        Reply::read(self.send(head, body))
    }

    pub fn post(&self, path: &str, body: &Value) -> Reply {
        self.request(&format!("POST {path}"), body.to_string().as_bytes())
    }

    /// Begins a text that comes piece by piece, and waits for its first piece.
    #[cfg(software_metal)]
    pub fn begin(&self, path: &str, body: &Value) -> Streaming {
        let connection = self.send(&format!("POST {path}"), body.to_string().as_bytes());
        let mut streaming = Streaming {
            connection: BufReader::new(connection),
            read: String::new(),
        };
        while !streaming.read.contains("\n\ndata: ") {
            let count = streaming.connection.read_line(&mut streaming.read).unwrap();
            assert_ne!(count, 0, "{}", streaming.read);
            streaming.read = streaming.read.replace("\r\n", "\n");
        }
        streaming
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A test may have ended it already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(software_metal)]
pub struct Streaming {
    connection: BufReader<TcpStream>,
    read: String,
}

#[cfg(software_metal)]
impl Streaming {
    /// All events, also those that have come before.
    pub fn finish(mut self) -> Vec<String> {
        self.connection.read_to_string(&mut self.read).unwrap();
        let (_, events) = self.read.split_once("\n\n").unwrap();
        data(events)
    }
}

pub struct Reply {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Reply {
    pub fn read(mut connection: TcpStream) -> Self {
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        let parts = answer.split_once("\r\n\r\n");
        let (head, body) = parts.unwrap_or_else(|| panic!("{answer:?}"));
        Self {
            status: head.split(' ').nth(1).unwrap().parse().unwrap(),
            head: head.to_ascii_lowercase(),
            body: body.to_owned(),
        }
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// The answer of a request that was fine.
    pub fn value(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.body);
        self.json()
    }

    /// The data of all events.
    pub fn events(&self) -> Vec<String> {
        assert_eq!(self.status, 200, "{}", self.body);
        assert!(self.head.contains("content-type: text/event-stream"));
        data(&self.body)
    }
}

fn data(events: &str) -> Vec<String> {
    let events = events.split_terminator("\n\n");
    let events = events.map(|event| {
        event
            .strip_prefix("data: ")
            .unwrap_or_else(|| panic!("{event:?}"))
    });
    events.map(str::to_owned).collect()
}

/// The text of events that end well, from where `pointer` says in each.
pub fn joined(events: &[String], pointer: &str) -> String {
    let (last, events) = events.split_last().unwrap();
    assert_eq!(last, "[DONE]");
    let piece = |event: &String| {
        let value: Value = serde_json::from_str(event).unwrap();
        value
            .pointer(pointer)
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    events.iter().filter_map(piece).collect()
}
