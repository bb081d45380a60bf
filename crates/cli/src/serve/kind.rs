//! [`Kind`]: which of OpenAI's interfaces a request is for.

#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    Completion,
    Chat,
}
