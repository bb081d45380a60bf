//! Answers in OpenAI's form: whole, or as server-sent events.

use std::convert::Infallible;
use std::hash::{BuildHasher, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};

use http_body_util::channel::{Channel, Sender};
use http_body_util::{Either, Full};
use hyper::body::Bytes;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::{Response, StatusCode};
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;

use super::error::{self, ApiError};
use super::requests::Kind;
use super::slots::{Ending, Event};

pub type Body = Either<Full<Bytes>, Channel<Bytes, Infallible>>;

/// Events that wait for the client.
const EVENTS: usize = 8;

/// A whole answer.
pub fn json_reply(status: StatusCode, value: &Value) -> Response<Body> {
    let body = Full::new(Bytes::from(value.to_string()));
    reply(status, "application/json", Either::Left(body))
}

pub fn error_reply(error: &ApiError) -> Response<Body> {
    let mut response = json_reply(error.status, &error.json());
    let header = match error.status {
        StatusCode::SERVICE_UNAVAILABLE => Some((RETRY_AFTER, error::RETRY_AFTER)),
        StatusCode::UNAUTHORIZED => Some((WWW_AUTHENTICATE, "Bearer")),
        _ => None,
    };
    if let Some((name, value)) = header {
        let value = HeaderValue::from_static(value);
        response.headers_mut().insert(name, value);
    }
    response
}

fn reply(status: StatusCode, content_type: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Seconds since 1970.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// What all parts of an answer have in common.
pub struct Form {
    kind: Kind,
    id: String,
    created: u64,
    model: String,
    includes_usage: bool,
}

impl Form {
    pub fn new(kind: Kind, model: &str, includes_usage: bool) -> Self {
        let prefix = match kind {
            Kind::Completion => "cmpl",
            Kind::Chat => "chatcmpl",
        };
        // Each state has keys of its own.
        let number = RandomState::new().hash_one(0);
        Self {
            kind,
            id: format!("{prefix}-{number:016x}"),
            created: now(),
            model: model.to_owned(),
            includes_usage,
        }
    }

    /// Reads the whole text.
    pub async fn whole(
        &self,
        first: Event,
        events: UnboundedReceiver<Event>,
    ) -> Result<Value, ApiError> {
        let (mut text, mut event, mut events) = (String::new(), first, events);
        let ending = loop {
            match event {
                Event::Text(piece) => text.push_str(&piece),
                Event::End(ending) => break ending,
                Event::Failed(error) => return Err(error),
            }
            event = next(&mut events).await;
        };
        let mut choice = json!({"index": 0, "logprobs": null, "finish_reason": ending.reason});
        let object = match self.kind {
            Kind::Completion => {
                choice["text"] = text.into();
                "text_completion"
            }
            Kind::Chat => {
                choice["message"] = json!({"role": "assistant", "content": text});
                "chat.completion"
            }
        };
        let mut value = self.object(object, json!([choice]));
        value["usage"] = usage(&ending);
        Ok(value)
    }

    /// Sends the text piece by piece.
    pub fn stream(self, first: Event, events: UnboundedReceiver<Event>) -> Response<Body> {
        let (sender, body) = Channel::new(EVENTS);
        tokio::spawn(async move {
            let mut stream = Stream { form: self, sender };
            // A client that has gone ends it. The events then have no reader, which ends the generation.
            stream.run(first, events).await
        });
        reply(StatusCode::OK, "text/event-stream", Either::Right(body))
    }

    fn object(&self, object: &str, choices: Value) -> Value {
        json!({
            "id": self.id,
            "object": object,
            "created": self.created,
            "model": self.model,
            "choices": choices,
        })
    }

    /// A part of the text, or its end.
    fn chunk(&self, text: Option<&str>, reason: Option<&str>) -> Value {
        let mut choice = json!({"index": 0, "logprobs": null, "finish_reason": reason});
        match (self.kind, text) {
            (Kind::Completion, text) => choice["text"] = text.unwrap_or_default().into(),
            (Kind::Chat, Some(text)) => choice["delta"] = json!({"content": text}),
            (Kind::Chat, None) => choice["delta"] = json!({}),
        }
        self.chunk_of(json!([choice]), Value::Null)
    }

    fn chunk_of(&self, choices: Value, usage: Value) -> Value {
        let object = match self.kind {
            Kind::Completion => "text_completion",
            Kind::Chat => "chat.completion.chunk",
        };
        let mut value = self.object(object, choices);
        if self.includes_usage {
            value["usage"] = usage;
        }
        value
    }
}

struct Stream {
    form: Form,
    sender: Sender<Bytes, Infallible>,
}

/// The client has gone.
struct Gone;

impl Stream {
    async fn run(
        &mut self,
        first: Event,
        mut events: UnboundedReceiver<Event>,
    ) -> Result<(), Gone> {
        let mut event = first;
        if self.form.kind == Kind::Chat {
            let mut begin = self.form.chunk(Some(""), None);
            begin["choices"][0]["delta"]["role"] = "assistant".into();
            self.send(&begin.to_string()).await?;
        }
        let ending = loop {
            match event {
                Event::Text(piece) => {
                    let chunk = self.form.chunk(Some(&piece), None);
                    self.send(&chunk.to_string()).await?;
                }
                Event::End(ending) => break ending,
                Event::Failed(error) => return self.send(&error.json().to_string()).await,
            }
            event = next(&mut events).await;
        };
        let last = self.form.chunk(None, Some(ending.reason));
        self.send(&last.to_string()).await?;
        if self.form.includes_usage {
            let usage = self.form.chunk_of(json!([]), usage(&ending));
            self.send(&usage.to_string()).await?;
        }
        self.send("[DONE]").await
    }

    async fn send(&mut self, data: &str) -> Result<(), Gone> {
        // JSON has no line ends outside of its strings, and escapes those inside.
        let event = Bytes::from(format!("data: {data}\n\n"));
        self.sender.send_data(event).await.map_err(|_| Gone)
    }
}

/// The next event of a generation.
pub async fn next(events: &mut UnboundedReceiver<Event>) -> Event {
    let event = events.recv().await;
    event.unwrap_or_else(|| Event::Failed(ApiError::internal("the generation ended unexpectedly")))
}

fn usage(ending: &Ending) -> Value {
    json!({
        "prompt_tokens": ending.prompt_tokens,
        "completion_tokens": ending.generated_tokens,
        "total_tokens": ending.prompt_tokens + ending.generated_tokens,
        "prompt_tokens_details": {"cached_tokens": ending.cached_tokens},
    })
}
