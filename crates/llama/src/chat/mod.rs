//! Chats: messages to tokens, by the template that a model's file carries.
//!
//! A chat template is a program in Jinja2's language. [`ChatTemplate`] runs it as Hugging Face's `transformers` does, under limits
//! of steps and of output, since templates come with files from anywhere.
//!
//! The text of a message never makes control tokens. What a message spells out, such as `<|eot_id|>`, is letters for the model;
//! only the template itself writes control tokens. For this, rendering puts a mark, one character that occurs nowhere else, inside of
//! whatever could become part of a control token's text in a message: the text itself, a beginning of it at the end of a string,
//! and an end of it at the beginning. [`ChatTemplate::encode`] looks for control tokens while the marks are there, and then removes
//! them. (A template that makes other text of a message can still spell a control token: one that joins pieces in another order, or
//! changes the case of letters, or puts a message's text into the middle of a control token's.)

mod budget;
mod constants;
mod data;
mod environment;
mod error;
mod functions;
mod json;
mod limits;
mod marks;
mod python;
mod reads;
mod steps;

use std::sync::LazyLock;

pub use error::ChatError;
use marks::Marks;
use regex::Regex;
use serde::Serialize;
use serde_json::Map;

use super::model::Model;
use super::tokenizer::Tokenizer;

/// The longest role.
const MAX_ROLE: usize = 64;

/// One message of a chat.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Message {
    /// Who speaks: `system`, `user`, `assistant`, `tool` or what else the template knows. ASCII letters, digits, `_` and `-`.
    pub role: String,
    /// What is said; `None` where an assistant only calls tools.
    pub content: Option<String>,
    /// What else the template reads, such as `tool_calls`, `tool_call_id` or `name`; neither `role` nor `content`.
    #[serde(flatten)]
    pub fields: Map<String, serde_json::Value>,
}

impl Message {
    /// A message of text.
    pub fn new(role: impl Into<String>, content: impl Into<String>) -> Self {
        Self {
            role: role.into(),
            content: Some(content.into()),
            fields: Map::new(),
        }
    }
}

/// What a template is given besides messages.
#[derive(Clone, Debug, PartialEq)]
pub struct ChatOptions {
    /// Ends the text where the assistant's answer begins.
    pub add_generation_prompt: bool,
    /// Descriptions of tools, for templates that know them.
    pub tools: Option<serde_json::Value>,
    /// Further variables, such as `enable_thinking`.
    pub variables: Map<String, serde_json::Value>,
}

impl Default for ChatOptions {
    /// With the beginning of an answer, and without tools.
    fn default() -> Self {
        Self {
            add_generation_prompt: true,
            tools: None,
            variables: Map::new(),
        }
    }
}

/// A program that makes a text of a chat.
#[derive(Clone, Debug)]
pub struct ChatTemplate {
    source: String,
}

impl ChatTemplate {
    /// Compiles a template.
    ///
    /// # Errors
    ///
    /// [`ChatError::Syntax`], and [`ChatError::TooLong`] if its literals are too much to compute.
    pub fn new(source: impl Into<String>) -> Result<Self, ChatError> {
        let source = without_generation(source.into());
        limits::check_words(&source)?;
        environment::render(&source, None, '\0')?;
        Ok(Self { source })
    }

    /// The template of a model's file (`tokenizer.chat_template`).
    ///
    /// # Errors
    ///
    /// [`ChatError::Missing`] if the file has none, and as for [`new`](Self::new).
    pub fn of(model: &Model) -> Result<Self, ChatError> {
        Self::new(model.chat_template().ok_or(ChatError::Missing)?)
    }

    /// The text of a chat.
    ///
    /// # Errors
    ///
    /// [`ChatError::Refused`] if the template raises an exception, [`ChatError::Failed`] if it does what Jinja2 does not allow,
    /// [`ChatError::TooManySteps`] and [`ChatError::TooLong`] if it does not come to an end, [`ChatError::Role`], [`ChatError::Data`].
    pub fn render(
        &self,
        tokenizer: &Tokenizer,
        messages: &[Message],
        options: &ChatOptions,
    ) -> Result<String, ChatError> {
        let (text, marks) = self.marked(tokenizer, messages, options)?;
        Ok(marks.removed(&text))
    }

    /// The tokens of a chat. The begin token comes first if the model's texts begin with it, once, whether or not the template
    /// writes it.
    ///
    /// # Errors
    ///
    /// As for [`render`](Self::render), and [`ChatError::Tokenizer`] if the text cannot be encoded.
    pub fn encode(
        &self,
        tokenizer: &Tokenizer,
        messages: &[Message],
        options: &ChatOptions,
    ) -> Result<Vec<u32>, ChatError> {
        let (text, marks) = self.marked(tokenizer, messages, options)?;
        let mut tokens = tokenizer.encode_marked(&text, marks.mark())?;
        let begin = tokenizer.bos().filter(|_| tokenizer.adds_bos());
        if let Some(begin) = begin.filter(|begin| tokens.first() != Some(begin)) {
            tokens.insert(0, begin);
        }
        Ok(tokens)
    }

    fn marked<'a>(
        &self,
        tokenizer: &'a Tokenizer,
        messages: &[Message],
        options: &ChatOptions,
    ) -> Result<(String, Marks<'a>), ChatError> {
        for message in messages {
            check_role(&message.role)?;
            // It would take the role's place, unchecked, or the text's.
            for name in ["role", "content"] {
                if message.fields.contains_key(name) {
                    let reason = format!("a message has a further field {name:?}");
                    return Err(ChatError::data(reason));
                }
            }
        }
        let mut messages = serde_json::to_value(messages).map_err(ChatError::data)?;
        let mut tools = options.tools.clone().unwrap_or_default();
        let mut variables = serde_json::Value::Object(options.variables.clone());
        let marks = Marks::new(tokenizer, &self.source, [&messages, &tools, &variables])?;
        marks.put_into_messages(&mut messages);
        marks.put_into(&mut tools);
        marks.put_into(&mut variables);

        let text = |token: Option<u32>| token.and_then(|token| tokenizer.text(token));
        let mut context = Map::new();
        // Templates for texts beside the messages look whether there are any.
        context.insert("documents".into(), serde_json::Value::Null);
        if let serde_json::Value::Object(variables) = variables {
            context.extend(variables);
        }
        context.insert("messages".into(), messages);
        context.insert("tools".into(), tools);
        let prompt = options.add_generation_prompt;
        context.insert("add_generation_prompt".into(), prompt.into());
        for (name, token) in [
            ("bos_token", tokenizer.bos()),
            ("eos_token", tokenizer.eos()),
        ] {
            context.insert(name.into(), text(token).unwrap_or_default().into());
        }
        let context = data::data(context.into(), marks.mark())?;
        let rendered = environment::render(&self.source, Some(context), marks.mark())?;
        Ok((rendered, marks))
    }
}

/// `source` with a block of another name for `{% generation %}`, a block that `transformers` adds to mark answers for training. The
/// block keeps its lines and its own variables.
fn without_generation(source: String) -> String {
    static TAG: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(\{%[-+]?\s*(?:end)?)generation(\s*[-+]?%\})").ok());
    match &*TAG {
        Some(tag) if tag.is_match(&source) => tag.replace_all(&source, "${1}with$2").into_owned(),
        _ => source,
    }
}

/// Roles stand in the template's own words, often inside of a control token, so they have no marks.
fn check_role(role: &str) -> Result<(), ChatError> {
    let is_part_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    if role.is_empty() || role.len() > MAX_ROLE || !role.bytes().all(is_part_of_name) {
        return Err(ChatError::Role(role.chars().take(MAX_ROLE).collect()));
    }
    Ok(())
}
