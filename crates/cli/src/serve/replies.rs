//! Answers in OpenAI's form: whole, or as server-sent events.

use std::convert::Infallible;
use std::hash::{BuildHasher, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};

use http_body_util::channel::{Channel, Sender};
use http_body_util::{Either, Full};
use hyper::body::Bytes;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::{Response, StatusCode};
use metal_bridge_llama::Model;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;

use super::error::{self, ApiError};
use super::kind::Kind;
use super::logprobs::{Logprobs, Told};
use super::metrics::Metrics;
use super::slots::{Ending, Event};

pub type Body = Either<Full<Bytes>, Channel<Bytes, Infallible>>;

/// Events that wait for the client.
const EVENTS: usize = 8;

/// A whole answer.
pub fn json_reply(status: StatusCode, value: &Value) -> Response<Body> {
    text_reply(status, value.to_string())
}

/// A whole answer whose JSON is written.
pub fn text_reply(status: StatusCode, json: String) -> Response<Body> {
    let body = Full::new(Bytes::from(json));
    reply(status, "application/json", Either::Left(body))
}

/// What Prometheus reads.
pub fn metrics_reply(metrics: &Metrics) -> Response<Body> {
    let body = Full::new(Bytes::from(metrics.to_string()));
    let content_type = "text/plain; version=0.0.4; charset=utf-8";
    reply(StatusCode::OK, content_type, Either::Left(body))
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

pub fn reply(status: StatusCode, content_type: &'static str, body: Body) -> Response<Body> {
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
    name: String,
    /// Knows the tokens.
    model: Model,
    includes_usage: bool,
    tells_logprobs: bool,
}

impl Form {
    pub fn new(
        kind: Kind,
        name: &str,
        model: &Model,
        includes_usage: bool,
        tells_logprobs: bool,
    ) -> Self {
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
            name: name.to_owned(),
            model: model.clone(),
            includes_usage,
            tells_logprobs,
        }
    }

    /// Reads the whole text. Gives the answer's JSON.
    pub async fn whole(
        &self,
        first: Event,
        events: UnboundedReceiver<Event>,
    ) -> Result<String, ApiError> {
        let (mut text, mut tokens) = (String::new(), Vec::new());
        let (mut event, mut events) = (first, events);
        let ending = loop {
            match event {
                Event::Text(piece) => {
                    text.push_str(&piece.text);
                    tokens.extend(piece.tokens);
                }
                Event::End(ending) => break ending,
                Event::Failed(error) => return Err(error),
            }
            event = next(&mut events).await;
        };
        let part = match self.kind {
            Kind::Completion => Part::Text(&text),
            Kind::Chat => Part::Message(Message {
                role: Some("assistant"),
                content: Some(&text),
            }),
        };
        let object = match self.kind {
            Kind::Completion => "text_completion",
            Kind::Chat => "chat.completion",
        };
        let logprobs = self.tells_logprobs.then(|| self.logprobs(&tokens));
        let choices = [Choice::new(part, logprobs, Some(ending.reason))];
        let answer = self.object(object, &choices, Some(usage(&ending)));
        serde_json::to_string(&answer).map_err(ApiError::internal)
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

    fn object<'a>(
        &'a self,
        object: &'a str,
        choices: &'a [Choice<'a>],
        usage: Option<Value>,
    ) -> Object<'a> {
        Object {
            id: &self.id,
            object,
            created: self.created,
            model: &self.name,
            choices,
            usage,
        }
    }

    fn logprobs<'a>(&'a self, tokens: &'a [Told]) -> Logprobs<'a> {
        Logprobs {
            kind: self.kind,
            tokenizer: self.model.tokenizer(),
            tokens,
        }
    }

    /// The JSON of a part of the text.
    fn data(&self, choice: Choice<'_>) -> String {
        self.chunk(&[choice], Value::Null)
    }

    /// The JSON of a part of a streamed answer.
    fn chunk(&self, choices: &[Choice<'_>], usage: Value) -> String {
        let object = match self.kind {
            Kind::Completion => "text_completion",
            Kind::Chat => "chat.completion.chunk",
        };
        let usage = self.includes_usage.then_some(usage);
        let chunk = self.object(object, choices, usage);
        let json = serde_json::to_string(&chunk);
        json.unwrap_or_else(|error| ApiError::internal(error).json().to_string())
    }

    /// A part of the text.
    fn part<'a>(&self, text: Option<&'a str>) -> Part<'a> {
        match self.kind {
            Kind::Completion => Part::Text(text.unwrap_or_default()),
            Kind::Chat => Part::Delta(Message {
                role: None,
                content: text,
            }),
        }
    }
}

/// An answer, or a part of one.
#[derive(Serialize)]
struct Object<'a> {
    id: &'a str,
    object: &'a str,
    created: u64,
    model: &'a str,
    choices: &'a [Choice<'a>],
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Value>,
}

#[derive(Serialize)]
struct Choice<'a> {
    index: u32,
    #[serde(flatten)]
    part: Part<'a>,
    logprobs: Option<Logprobs<'a>>,
    finish_reason: Option<&'a str>,
}

impl<'a> Choice<'a> {
    fn new(part: Part<'a>, logprobs: Option<Logprobs<'a>>, finish_reason: Option<&'a str>) -> Self {
        Self {
            index: 0,
            part,
            logprobs,
            finish_reason,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Part<'a> {
    Text(&'a str),
    Message(Message<'a>),
    Delta(Message<'a>),
}

#[derive(Serialize)]
struct Message<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
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
            let begin = Part::Delta(Message {
                role: Some("assistant"),
                content: Some(""),
            });
            let begin = self.form.data(Choice::new(begin, None, None));
            self.send(&begin).await?;
        }
        let ending = loop {
            match event {
                Event::Text(piece) => {
                    let is_told = !piece.tokens.is_empty();
                    let logprobs = is_told.then(|| self.form.logprobs(&piece.tokens));
                    let part = self.form.part(Some(&piece.text));
                    let data = self.form.data(Choice::new(part, logprobs, None));
                    self.send(&data).await?;
                }
                Event::End(ending) => break ending,
                Event::Failed(error) => return self.send(&error.json().to_string()).await,
            }
            event = next(&mut events).await;
        };
        let last = Choice::new(self.form.part(None), None, Some(ending.reason));
        let last = self.form.data(last);
        self.send(&last).await?;
        if self.form.includes_usage {
            let usage = self.form.chunk(&[], usage(&ending));
            self.send(&usage).await?;
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
