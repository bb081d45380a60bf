//! Runs the operations that a program asks for on its standard input: `make foreign-torch`.
//!
//! A request is a line of JSON and then bytes: `call` is a method of `Ops`, `arguments` are its numbers and names, and `tensors` have
//! a name each, as in the errors of the call, with `type`, `shape`, `strides` and `offset` in elements, and the number of `bytes`
//! that follow. Those that are `written` come back. An answer is a line of JSON, then the bytes of what was written: `{}`, or the
//! `error` of the call with whether it is `unsupported`.

mod calls;
mod request;

use std::io::{self, BufRead, BufReader, Write};

use metal_bridge::{Error, MetalBackend};
use serde_json::{Value, json};

use request::Request;

fn main() -> io::Result<()> {
    let backend = MetalBackend::initialize().map_err(io::Error::other)?;
    let (mut input, mut output) = (BufReader::new(io::stdin()), io::stdout());
    let mut line = String::new();
    while input.read_line(&mut line)? > 0 {
        let header: Value = serde_json::from_str(&line)?;
        let request = Request::read(&backend, &header, &mut input)?;
        let (answer, bytes) = match run(&backend, &header, &request) {
            Ok(bytes) => (json!({}), bytes),
            Err(error) => {
                let unsupported = matches!(error, Error::Unsupported(_));
                let answer = json!({"error": error.to_string(), "unsupported": unsupported});
                (answer, Vec::new())
            }
        };
        writeln!(output, "{answer}")?;
        output.write_all(&bytes)?;
        output.flush()?;
        line.clear();
    }
    Ok(())
}

/// The bytes of all that is written, one tensor behind the other.
fn run(backend: &MetalBackend, header: &Value, request: &Request) -> metal_bridge::Result<Vec<u8>> {
    let call = header["call"].as_str().expect("a call");
    let arguments = request.arguments(header)?;
    let submission = backend.submit(|encoder| calls::encode(call, backend, encoder, &arguments))?;
    submission.wait()?;
    request.written()
}
