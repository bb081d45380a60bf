//! [`Conversation`]: a session that answers one whole prompt after another, and keeps what they share.

use std::ops::ControlFlow;

use super::error::{Error, Result};
use super::generate::{Generation, texts};
use super::generator::{GenerateOptions, Piece};
use super::pages::same;
use super::session::Session;

/// A session whose tokens are known, for prompts that each begin like the text before, as those of a chat do.
///
/// [`answer`](Self::answer) computes only what is new: it keeps the tokens that the session and the prompt begin with alike.
#[derive(Debug)]
pub struct Conversation {
    session: Session,
}

impl Conversation {
    /// A conversation in a session, whose tokens it forgets.
    pub fn new(mut session: Session) -> Self {
        session.truncate(0);
        Self { session }
    }

    /// The session.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The tokens that the session holds.
    pub fn tokens(&self) -> &[u32] {
        self.session.tokens()
    }

    /// Forgets all tokens.
    pub fn reset(&mut self) {
        self.session.truncate(0);
    }

    /// How many tokens of `prompt` the next answer need not compute. At least the last token is computed, for its logits.
    pub fn kept(&self, prompt: &[u32]) -> usize {
        kept(self.tokens(), prompt)
    }

    /// Generates what comes after `prompt`, the text from its beginning, as [`Session::generate_tokens`] does. The result counts only
    /// the computed tokens of the prompt.
    ///
    /// # Errors
    ///
    /// As for [`Session::generate_tokens`]. A prompt that is longer than the context changes nothing. After another error the
    /// session holds the tokens of the prompt that it had, at most.
    pub fn answer(
        &mut self,
        prompt: &[u32],
        options: &GenerateOptions,
        on_text: impl FnMut(&str) -> ControlFlow<()>,
    ) -> Result<Generation> {
        self.answer_in_pieces(prompt, options, texts(on_text))
    }

    /// [`answer`](Self::answer) for a callback that is given what each token adds, also if that is no text yet.
    ///
    /// # Errors
    ///
    /// As for [`answer`](Self::answer).
    pub fn answer_in_pieces(
        &mut self,
        prompt: &[u32],
        options: &GenerateOptions,
        on_piece: impl FnMut(Piece<'_>) -> ControlFlow<()>,
    ) -> Result<Generation> {
        let context = self.session.context();
        if prompt.len() > context {
            return Err(Error::ContextExceeded {
                tokens: prompt.len(),
                position: 0,
                context,
            });
        }
        let kept = self.kept(prompt);
        self.session.truncate(kept);
        let (held, new) = prompt.split_at(kept);
        let generated = self.session.generate_after(held, new, options, on_piece);
        generated.inspect_err(|_| self.session.truncate(kept))
    }
}

/// How many of the tokens that a text holds are those of `prompt`, all but its last at most.
fn kept(held: &[u32], prompt: &[u32]) -> usize {
    same(held, prompt).min(prompt.len().saturating_sub(1))
}
