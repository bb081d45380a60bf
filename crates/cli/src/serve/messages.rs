//! The messages of a chat, from OpenAI's form to that of templates.

use metal_bridge_llama::chat::Message;
use serde_json::{Map, Value};

use super::error::ApiError;
use super::fields::wrong_type;

/// What templates read besides the role and the content.
const FIELDS: [&str; 4] = ["name", "reasoning_content", "tool_call_id", "tool_calls"];

pub fn parse(value: Value) -> Result<Vec<Message>, ApiError> {
    let Value::Array(values) = value else {
        return Err(wrong_type("messages", "an array of messages"));
    };
    if values.is_empty() {
        let message = "\"messages\" has no message";
        return Err(ApiError::field("messages", "invalid_value", message));
    }
    let messages = values.into_iter().enumerate();
    let messages = messages.map(|(index, value)| message(&format!("messages[{index}]"), value));
    messages.collect()
}

fn message(path: &str, value: Value) -> Result<Message, ApiError> {
    let Value::Object(mut fields) = value else {
        return Err(wrong_type(path, "an object"));
    };
    let role = match fields.shift_remove("role") {
        Some(Value::String(role)) => role,
        _ => return Err(wrong_type(&format!("{path}.role"), "a string")),
    };
    let content = content(&format!("{path}.content"), fields.shift_remove("content"))?;
    // Clients send answers back with all fields, most of which are null.
    let has_value = |value: &Value| match value {
        Value::Null => false,
        Value::Array(values) => !values.is_empty(),
        _ => true,
    };
    let fields: Map<String, Value> = fields.into_iter().filter(|(_, v)| has_value(v)).collect();
    if let Some(name) = fields.keys().find(|name| !FIELDS.contains(&name.as_str())) {
        return Err(ApiError::unsupported(&format!("{path}.{name}")));
    }
    if content.is_none() && !fields.contains_key("tool_calls") {
        let message = format!("{path} has neither \"content\" nor \"tool_calls\"");
        return Err(ApiError::field(path, "invalid_value", message));
    }
    Ok(Message {
        role,
        content,
        fields,
    })
}

/// A text, or parts that are all texts, each of which begins a line.
fn content(path: &str, value: Option<Value>) -> Result<Option<String>, ApiError> {
    let parts = match value {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) => return Ok(Some(text)),
        Some(Value::Array(parts)) => parts,
        Some(_) => return Err(wrong_type(path, "a string or an array of parts")),
    };
    let text = |part: &Value| match (&part["type"], &part["text"]) {
        (Value::String(kind), Value::String(text)) if kind == "text" => Ok(text.clone()),
        (Value::String(kind), _) if kind != "text" => Err(ApiError::unsupported(path)),
        _ => Err(wrong_type(path, "a string or an array of parts")),
    };
    let texts: Vec<String> = parts.iter().map(text).collect::<Result<_, _>>()?;
    Ok(Some(texts.join("\n")))
}
