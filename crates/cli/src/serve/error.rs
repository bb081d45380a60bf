//! [`ApiError`]: why a request has no answer, in the form of OpenAI's errors.

use std::fmt::{self, Display, Formatter};

use hyper::StatusCode;
use metal_bridge_llama as llama;
use metal_bridge_llama::chat::ChatError;
use metal_bridge_llama::sampling::SamplingError;
use serde_json::{Value, json};

/// Seconds after which a client that was turned away may try again.
pub const RETRY_AFTER: &str = "1";

/// What is wrong with a request, or with the server.
#[derive(Debug)]
pub struct ApiError {
    pub status: StatusCode,
    message: String,
    /// The field that is wrong.
    param: Option<String>,
    code: Option<&'static str>,
}

impl ApiError {
    /// The request is wrong as a whole.
    pub fn request(status: StatusCode, code: &'static str, message: impl Display) -> Self {
        Self {
            status,
            message: message.to_string(),
            param: None,
            code: Some(code),
        }
    }

    /// A field is wrong.
    pub fn field(param: impl Into<String>, code: &'static str, message: impl Display) -> Self {
        let error = Self::request(StatusCode::BAD_REQUEST, code, message);
        Self {
            param: Some(param.into()),
            ..error
        }
    }

    /// A field asks for what the server does not do.
    pub fn unsupported(param: &str) -> Self {
        let message = format!("this server does not support this value of {param:?}");
        Self::field(param, "unsupported_value", message)
    }

    /// The server failed.
    pub fn internal(message: impl Display) -> Self {
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        Self::request(status, "internal_error", message)
    }

    /// All slots are busy and the queue is full.
    pub fn busy() -> Self {
        let message = "all slots are busy and the queue is full";
        Self::request(StatusCode::SERVICE_UNAVAILABLE, "queue_full", message)
    }

    /// There is no room for the body beside those of other requests.
    pub fn no_room() -> Self {
        let message = "the bodies of other requests leave no room for this one";
        Self::request(StatusCode::SERVICE_UNAVAILABLE, "bodies_full", message)
    }

    /// The server ends.
    pub fn stopping() -> Self {
        let message = "the server is stopping";
        Self::request(StatusCode::SERVICE_UNAVAILABLE, "server_stopping", message)
    }

    /// The request names a model that is not here.
    pub fn no_model(name: &str, served: &str) -> Self {
        let message = format!("there is no model {name:?} here: this server has {served:?}");
        Self {
            status: StatusCode::NOT_FOUND,
            ..Self::field("model", "model_not_found", message)
        }
    }

    /// The request has no API key, or a wrong one.
    pub fn no_key(message: &str) -> Self {
        Self::request(StatusCode::UNAUTHORIZED, "invalid_api_key", message)
    }

    /// The prompt does not fit into a slot.
    pub fn too_long(param: &str, tokens: usize, context: usize) -> Self {
        let message = format!("the prompt has {tokens} tokens, more than the context of {context}");
        Self::field(param, "context_length_exceeded", message)
    }

    /// What the engine says of a prompt.
    pub fn of_engine(param: &str, error: &llama::Error) -> Self {
        match error {
            llama::Error::NoTokens
            | llama::Error::NoSuchToken { .. }
            | llama::Error::Tokenizer(_) => Self::field(param, "invalid_value", error),
            llama::Error::Sampling(SamplingError::Constraint(_)) => {
                Self::request(StatusCode::BAD_REQUEST, "invalid_value", error)
            }
            _ => Self::internal(error),
        }
    }

    /// What a template says of a chat.
    pub fn of_chat(error: &ChatError) -> Self {
        match error {
            ChatError::Missing => {
                let message = format!("{error}; start the server with --template FILE");
                Self::request(StatusCode::BAD_REQUEST, "no_chat_template", message)
            }
            _ => Self::field("messages", "invalid_value", error),
        }
    }

    pub fn json(&self) -> Value {
        let kind = match self.status.is_server_error() {
            true => "server_error",
            false => "invalid_request_error",
        };
        json!({"error": {
            "message": self.message,
            "type": kind,
            "param": self.param,
            "code": self.code,
        }})
    }
}

impl Display for ApiError {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}
