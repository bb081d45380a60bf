//! [`Fields`]: the fields of a request, each read once and with its type. A field that nothing reads is an error.

use hyper::StatusCode;
use serde_json::{Map, Value};

use super::error::ApiError;

/// The fields that are not read yet.
pub struct Fields(Map<String, Value>);

impl Fields {
    pub fn parse(body: &[u8]) -> Result<Self, ApiError> {
        let value = serde_json::from_slice(body).map_err(|error| {
            let message = format!("the body is not JSON: {error}");
            ApiError::request(StatusCode::BAD_REQUEST, "invalid_json", message)
        })?;
        match value {
            Value::Object(fields) => Ok(Self(fields)),
            _ => Err(ApiError::request(
                StatusCode::BAD_REQUEST,
                "invalid_json",
                "the body is not a JSON object",
            )),
        }
    }

    /// Those of an object inside of a request.
    pub fn of(fields: Map<String, Value>) -> Self {
        Self(fields)
    }

    /// The value of a field; `null` is none.
    pub fn take(&mut self, name: &str) -> Option<Value> {
        self.0.shift_remove(name).filter(|value| !value.is_null())
    }

    pub fn text(&mut self, name: &str) -> Result<Option<String>, ApiError> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(wrong_type(name, "a string")),
        }
    }

    pub fn flag(&mut self, name: &str) -> Result<Option<bool>, ApiError> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(_) => Err(wrong_type(name, "true or false")),
        }
    }

    pub fn number(&mut self, name: &str) -> Result<Option<f32>, ApiError> {
        let value = self.take(name);
        let number = value.map(|value| value.as_f64().ok_or_else(|| wrong_type(name, "a number")));
        // What a float has no digits for is rounded, as everywhere; beyond its range it is infinite, which no setting may be.
        Ok(number.transpose()?.map(|number| number as f32))
    }

    pub fn integer(&mut self, name: &str) -> Result<Option<u64>, ApiError> {
        let value = self.take(name);
        let expected = "an integer from 0 up";
        let integer = value.map(|value| value.as_u64().ok_or_else(|| wrong_type(name, expected)));
        integer.transpose()
    }

    pub fn count(&mut self, name: &str) -> Result<Option<usize>, ApiError> {
        let integer = self.integer(name)?;
        // A number that does not fit is more than any text has.
        Ok(integer.map(|integer| usize::try_from(integer).unwrap_or(usize::MAX)))
    }

    pub fn object(&mut self, name: &str) -> Result<Option<Map<String, Value>>, ApiError> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Object(object)) => Ok(Some(object)),
            Some(_) => Err(wrong_type(name, "an object")),
        }
    }

    /// Refuses what is left, but for values that ask for nothing.
    pub fn finish(self) -> Result<(), ApiError> {
        for (name, value) in self.0.iter().filter(|(_, value)| !value.is_null()) {
            match asks_for_nothing(name, value) {
                Some(true) => {}
                Some(false) => return Err(ApiError::unsupported(name)),
                None => return Err(unknown(name)),
            }
        }
        Ok(())
    }
}

pub fn missing(name: &str) -> ApiError {
    let message = format!("the request has no field {name:?}");
    ApiError::field(name, "missing_required_parameter", message)
}

pub fn unknown(name: &str) -> ApiError {
    let message = format!("this server does not know the field {name:?}");
    ApiError::field(name, "unknown_parameter", message)
}

pub fn wrong_type(name: &str, expected: &str) -> ApiError {
    ApiError::field(name, "invalid_type", format!("{name:?} must be {expected}"))
}

/// Whether a field of OpenAI's interface that is not implemented has the value with which it changes no text; `None` for a field
/// that is not known.
fn asks_for_nothing(name: &str, value: &Value) -> Option<bool> {
    let is_empty = |value: &Value| match value {
        Value::Array(values) => values.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    };
    let is = match name {
        // For the books of a provider.
        "metadata" | "prompt_cache_key" | "safety_identifier" | "user" => true,
        // There are no tools to call.
        "parallel_tool_calls" => value.is_boolean(),
        "best_of" | "n" => value.as_f64() == Some(1.0),
        "top_logprobs" => value.as_f64() == Some(0.0),
        "echo" | "store" => *value == Value::Bool(false),
        "functions" | "tools" => is_empty(value),
        "suffix" => value == "",
        "function_call" | "tool_choice" => value == "none" || value == "auto",
        "service_tier" => value == "auto" || value == "default",
        "modalities" => value.as_array().is_some_and(|all| all == &["text"]),
        "audio" | "prediction" | "reasoning_effort" | "verbosity" | "web_search_options" => false,
        _ => return None,
    };
    Some(is)
}
