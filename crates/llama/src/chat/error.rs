//! Why a chat has no text.

use minijinja::ErrorKind;

use crate::tokenizer::TokenizerError;

/// Bytes that a template may write, and those of any text that it makes.
pub(super) const MAX_OUTPUT: usize = 8 << 20;
/// Bytes of a name in a template.
pub(super) const MAX_NAME: usize = 256;
/// Bytes of all texts and lists that a template may make while it runs.
pub(super) const MAX_MADE: usize = 256 << 20;
/// Bytes that a template may read while it runs, in all that it compares, looks through or looks for.
pub(super) const MAX_READ: usize = 256 << 20;

/// The message of an exception that a template raised.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Raised(pub String);

/// What is wrong with a chat template, or with a chat for it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChatError {
    /// The model's file has no template.
    #[error("the model has no chat template (metadata key \"tokenizer.chat_template\")")]
    Missing,
    /// The template is not Jinja2.
    #[error("line {line} of the chat template: {message}")]
    Syntax {
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        message: String,
    },
    /// The template raised an exception: it does not take such a chat.
    #[error("the chat template refuses the messages: {0}")]
    Refused(String),
    /// The template did something that fails, such as reading a key of what is undefined.
    #[error("line {line} of the chat template: {message}")]
    Failed {
        /// The line, from 1.
        line: usize,
        /// What failed.
        message: String,
    },
    /// The template took more steps than any chat needs, or read more of texts and lists: it may loop for ever.
    #[error("the chat template takes too many steps, or reads more than {} MiB of texts and lists", MAX_READ >> 20)]
    TooManySteps,
    /// The template wrote more than any chat needs, or made texts and lists of more than any chat needs.
    #[error("the chat template writes or joins more than {} MiB, or makes texts and lists of more than {} MiB in all", MAX_OUTPUT >> 20, MAX_MADE >> 20)]
    TooLong,
    /// A role is not a short name.
    #[error("role {0:?} is not a name of up to 64 letters, digits, _ and -")]
    Role(String),
    /// Messages, tools or variables cannot be handed to the template.
    #[error("the chat cannot be handed to its template: {0}")]
    Data(String),
    /// The text cannot be encoded.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
}

impl ChatError {
    pub(super) fn data(error: impl std::fmt::Display) -> Self {
        Self::Data(error.to_string())
    }
}

impl From<minijinja::Error> for ChatError {
    fn from(error: minijinja::Error) -> Self {
        let mut next: Option<&(dyn std::error::Error + 'static)> = Some(&error);
        while let Some(cause) = next {
            if let Some(Raised(message)) = cause.downcast_ref() {
                return Self::Refused(message.clone());
            }
            match cause.downcast_ref().map(minijinja::Error::kind) {
                Some(ErrorKind::OutOfFuel) => return Self::TooManySteps,
                Some(ErrorKind::WriteFailure) => return Self::TooLong,
                _ => next = cause.source(),
            }
        }
        let line = error.line().unwrap_or(1);
        let message = match error.detail() {
            Some(detail) => format!("{}: {detail}", error.kind()),
            None => error.kind().to_string(),
        };
        match error.kind() {
            ErrorKind::SyntaxError => Self::Syntax { line, message },
            _ => Self::Failed { line, message },
        }
    }
}
