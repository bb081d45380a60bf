//! Requests for a text: their fields to what a slot generates.

use metal_bridge_llama::chat::{ChatOptions, Message};
use metal_bridge_llama::{GenerateOptions, Model, Request};
use serde_json::Value;

use super::State;
use super::constraints;
use super::error::ApiError;
use super::fields::{Fields, missing, wrong_type};
use super::kind::Kind;
use super::logprobs;
use super::messages;
use super::settings;
use super::slots::Work;

/// The most stop strings, and the bytes of each.
const MAX_STOPS: usize = 16;
const MAX_STOP: usize = 1024;

/// A request for a text.
pub struct TextRequest {
    pub work: Work,
    /// Sends the text piece by piece.
    pub streams: bool,
    /// Sends the numbers of tokens after the last piece, too.
    pub includes_usage: bool,
}

enum Prompt {
    Text(String),
    Tokens(Vec<u32>),
    Chat(Vec<Message>, ChatOptions),
}

impl TextRequest {
    /// Whether the answer has log probabilities.
    pub fn tells_logprobs(&self) -> bool {
        self.work.request.options.log_probabilities.is_some()
    }

    /// Reads a request, and encodes its prompt.
    pub fn parse(state: &State, kind: Kind, body: &[u8]) -> Result<Self, ApiError> {
        let mut fields = Fields::parse(body)?;
        check_model(&mut fields, &state.name)?;
        let (param, prompt) = match kind {
            Kind::Completion => ("prompt", prompt(&mut fields)?),
            Kind::Chat => ("messages", chat(&mut fields)?),
        };
        let (served, vocabulary) = (state.sampling.sampling(), state.model.config().vocabulary);
        let mut options = GenerateOptions {
            max_tokens: max_tokens(&mut fields, kind)?,
            sampling: settings::parse(&mut fields, served, vocabulary)?,
            log_probabilities: logprobs::parse(&mut fields, kind)?,
            ..GenerateOptions::default()
        };
        let wanted = constraints::parse(&mut fields)?;
        let stops = stops(&mut fields)?;
        let streams = fields.flag("stream")?.unwrap_or_default();
        let includes_usage = includes_usage(&mut fields, streams)?;
        let uses_cache = fields.flag("cache_prompt")?.unwrap_or(true);
        fields.finish()?;

        let prompt = encode(state, prompt)?;
        let context = state.slots.context();
        if prompt.len() > context {
            return Err(ApiError::too_long(param, prompt.len(), context));
        }
        options.sampling.constraint = constraints::make(wanted, &state.model)?;
        Ok(Self {
            work: Work {
                request: Request {
                    prompt,
                    options,
                    uses_cache,
                },
                param,
                stops,
            },
            streams,
            includes_usage,
        })
    }
}

fn encode(state: &State, prompt: Prompt) -> Result<Vec<u32>, ApiError> {
    let tokenizer = state.model.tokenizer();
    let tokens = match prompt {
        Prompt::Tokens(tokens) => tokens,
        Prompt::Text(text) => encode_text(&state.model, "prompt", &text)?,
        Prompt::Chat(messages, options) => {
            let template = state.template.as_ref().map_err(ApiError::of_chat)?;
            let tokens = template.encode(tokenizer, &messages, &options);
            tokens.map_err(|error| ApiError::of_chat(&error))?
        }
    };
    Ok(tokens)
}

/// The tokens of a prompt, in which control tokens may be spelt out.
pub fn encode_text(model: &Model, param: &str, text: &str) -> Result<Vec<u32>, ApiError> {
    let tokens = model.tokenizer().encode(text);
    tokens.map_err(|error| ApiError::of_engine(param, &error.into()))
}

pub fn check_model(fields: &mut Fields, served: &str) -> Result<(), ApiError> {
    match fields.text("model")? {
        Some(name) if name != served => Err(ApiError::no_model(&name, served)),
        _ => Ok(()),
    }
}

fn prompt(fields: &mut Fields) -> Result<Prompt, ApiError> {
    match fields.take("prompt") {
        Some(Value::String(text)) => Ok(Prompt::Text(text)),
        Some(Value::Array(values)) => match &values[..] {
            [Value::String(text)] => Ok(Prompt::Text(text.clone())),
            [Value::String(_) | Value::Array(_), _, ..] => Err(ApiError::unsupported("prompt")),
            [Value::Array(values)] => Ok(Prompt::Tokens(tokens("prompt", values)?)),
            _ => Ok(Prompt::Tokens(tokens("prompt", &values)?)),
        },
        Some(_) => Err(wrong_type("prompt", "a string or an array of tokens")),
        None => Err(missing("prompt")),
    }
}

/// The numbers of tokens.
pub fn tokens(name: &str, values: &[Value]) -> Result<Vec<u32>, ApiError> {
    let token = |value: &Value| {
        let token = value.as_u64().and_then(|token| u32::try_from(token).ok());
        token.ok_or_else(|| wrong_type(name, "an array of tokens"))
    };
    values.iter().map(token).collect()
}

fn chat(fields: &mut Fields) -> Result<Prompt, ApiError> {
    let messages = match fields.take("messages") {
        Some(value) => messages::parse(value)?,
        None => return Err(missing("messages")),
    };
    let options = ChatOptions {
        variables: fields.object("chat_template_kwargs")?.unwrap_or_default(),
        ..ChatOptions::default()
    };
    Ok(Prompt::Chat(messages, options))
}

fn max_tokens(fields: &mut Fields, kind: Kind) -> Result<Option<usize>, ApiError> {
    let old = fields.count("max_tokens")?;
    if kind == Kind::Completion {
        return Ok(old);
    }
    let new = fields.count("max_completion_tokens")?;
    match (old, new) {
        (Some(old), Some(new)) if old != new => Err(ApiError::field(
            "max_completion_tokens",
            "invalid_value",
            "\"max_tokens\" and \"max_completion_tokens\" differ",
        )),
        _ => Ok(new.or(old)),
    }
}

fn stops(fields: &mut Fields) -> Result<Vec<String>, ApiError> {
    let expected = || wrong_type("stop", "a string or an array of strings");
    let stops = match fields.take("stop") {
        None => Vec::new(),
        Some(Value::String(text)) => vec![text],
        Some(Value::Array(values)) => {
            let texts = values.into_iter().map(|value| match value {
                Value::String(text) => Ok(text),
                _ => Err(expected()),
            });
            texts.collect::<Result<_, _>>()?
        }
        Some(_) => return Err(expected()),
    };
    let is_bad = |stop: &String| stop.is_empty() || stop.len() > MAX_STOP;
    if stops.len() > MAX_STOPS || stops.iter().any(is_bad) {
        let message =
            format!("\"stop\" has at most {MAX_STOPS} strings, each of 1 to {MAX_STOP} bytes");
        return Err(ApiError::field("stop", "invalid_value", message));
    }
    Ok(stops)
}

fn includes_usage(fields: &mut Fields, streams: bool) -> Result<bool, ApiError> {
    let Some(options) = fields.object("stream_options")? else {
        return Ok(false);
    };
    if !streams {
        let message = "\"stream_options\" needs \"stream\": true";
        return Err(ApiError::field("stream_options", "invalid_value", message));
    }
    let mut options = Fields::of(options);
    let includes_usage = options.flag("include_usage")?.unwrap_or_default();
    options.finish()?;
    Ok(includes_usage)
}
