//! [`Constraint`]: what a generated text may be.
//!
//! The crate `llguidance` says which tokens may come next. It finds them in a table of the vocabulary.

mod error;
mod schema;
mod table;

use std::fmt::{self, Debug, Formatter};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use llguidance::Matcher;
use llguidance::api::TopLevelGrammar;
use llguidance::panic_utils::catch_unwind;
use llguidance::toktrie::SimpleVob;
use serde_json::{Deserializer, Value, json};

pub use error::ConstraintError;
use schema::{check_length, check_pattern};
pub(crate) use table::Table;

/// The longest schema, in bytes.
const MAX_SCHEMA: usize = 64 << 10;
/// The longest Lark grammar, in bytes. What a compiler of grammars does for each part of a grammar's part takes some of its stack.
const MAX_LARK: usize = 16 << 10;
/// The compiler's stack. The system gives a program the parts of it that the compiler uses.
const STACK: usize = 512 << 20;

/// What texts there may be.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Grammar {
    /// Any JSON object, in one line with a space after each comma and each colon.
    JsonObject,
    /// JSON of this [JSON schema](https://json-schema.org). A keyword that the engine cannot enforce is an error. The JSON is in
    /// one line, with a space after each comma and each colon.
    JsonSchema(String),
    /// Texts that this regular expression matches as a whole. It has the syntax of the crate `regex`, without looking around.
    Regex(String),
    /// Texts of this grammar in the Lark variant of
    /// [`llguidance`](https://github.com/guidance-ai/llguidance/blob/main/docs/syntax.md).
    Lark(String),
}

/// A [`Grammar`] over the tokens of a model, which [makes](crate::Model::constraint) it. Clones share it.
///
/// ```no_run
/// use metal_bridge::Device;
/// use metal_bridge_llama::Model;
/// use metal_bridge_llama::constraint::Grammar;
/// use metal_bridge_llama::sampling::Sampling;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let model = Model::load(&Device::system_default()?, "model.gguf")?;
/// let grammar = Grammar::Regex("(yes|no)".into());
/// let sampling = Sampling {
///     constraint: Some(model.constraint(grammar)?),
///     ..Sampling::default()
/// };
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Constraint {
    inner: Arc<Inner>,
}

struct Inner {
    grammar: Grammar,
    /// The tokens that end a text.
    ends: Vec<u32>,
    /// Stands for all of them.
    end: u32,
    /// Before any token.
    matcher: Mutex<Matcher>,
}

impl Constraint {
    /// The grammar, over the tokens of the table.
    pub(super) fn new(table: &Table, grammar: Grammar) -> Result<Self, ConstraintError> {
        let wanted = parse(&grammar)?;
        // In a thread of its own, for the compiler calls itself for each part of a part. It keeps no state that a panic could spoil.
        let compile = || Ok(Matcher::new(Ok(table.factory.create_parser(wanted)?)));
        let compile = || catch_unwind(AssertUnwindSafe(compile));
        let compiled = thread::scope(|scope| {
            let thread = thread::Builder::new().stack_size(STACK);
            let thread = thread.spawn_scoped(scope, compile)?;
            let gone = |_| Err(std::io::Error::other("the compiler ended").into());
            thread.join().unwrap_or_else(gone)
        });
        let matcher = compiled.map_err(|error| refused(&error))?;
        if let Some(error) = matcher.get_error() {
            return Err(refused(&error));
        }
        let inner = Inner {
            grammar,
            ends: table.ends.clone(),
            end: table.end,
            matcher: Mutex::new(matcher),
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// What it was made of.
    pub fn grammar(&self) -> &Grammar {
        &self.inner.grammar
    }

    /// Begins a text.
    pub(super) fn follow(&self) -> Follower {
        let matcher = self.inner.matcher.lock();
        let matcher = matcher.unwrap_or_else(PoisonError::into_inner);
        Follower {
            constraint: self.clone(),
            matcher: matcher.deep_clone(),
        }
    }
}

impl PartialEq for Constraint {
    /// Whether they have equal grammars over the same vocabulary.
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (&self.inner, &other.inner);
        a.grammar == b.grammar && a.end == b.end && a.ends == b.ends
    }
}

impl Debug for Constraint {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let grammar = &self.inner.grammar;
        formatter.debug_tuple("Constraint").field(grammar).finish()
    }
}

/// Where a text under a constraint is.
pub(super) struct Follower {
    constraint: Constraint,
    matcher: Matcher,
}

impl Follower {
    /// The tokens that may come next: those that may end the text, too.
    pub fn allowed(&mut self) -> Result<SimpleVob, ConstraintError> {
        let allowed = self.matcher.compute_mask_or_eos();
        let mut allowed = allowed.map_err(|error| stuck(&error))?;
        let Inner { ends, end, .. } = &*self.constraint.inner;
        if allowed.is_allowed(*end) {
            allowed.disallow_token(*end);
            ends.iter().for_each(|&token| allowed.allow_token(token));
        }
        Ok(allowed)
    }

    /// Adds a token to the text.
    pub fn push(&mut self, token: u32) -> Result<(), ConstraintError> {
        if self.constraint.inner.ends.contains(&token) {
            return Ok(());
        }
        let pushed = self.matcher.consume_token(token);
        pushed.map_err(|error| stuck(&error))
    }

    /// Whether the text is whole, and nothing may come after it.
    pub fn is_finished(&self) -> bool {
        self.matcher.is_stopped() && !self.matcher.is_error()
    }
}

impl Clone for Follower {
    fn clone(&self) -> Self {
        Self {
            constraint: self.constraint.clone(),
            // A clone would share the states of the lexer, and their limit.
            matcher: self.matcher.deep_clone(),
        }
    }
}

impl Debug for Follower {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let constraint = &self.constraint;
        formatter.debug_tuple("Follower").field(constraint).finish()
    }
}

/// What the compiler reads.
fn parse(grammar: &Grammar) -> Result<TopLevelGrammar, ConstraintError> {
    let parsed = |mut schema: Value| {
        if let Some(fields) = schema.as_object_mut() {
            // Some models never leave off white space where any may come.
            let options = json!({
                "whitespace_flexible": false,
                "item_separator": ", ",
                "key_separator": ": ",
            });
            fields.insert("x-guidance".into(), options);
        }
        TopLevelGrammar::from_json_schema(schema)
    };
    Ok(match grammar {
        Grammar::JsonObject => parsed(json!({"type": "object"})),
        Grammar::JsonSchema(text) => {
            check_length(text, MAX_SCHEMA)?;
            let value = serde_json::from_str(text);
            let value = value.map_err(|error| ConstraintError::NotJson(error.to_string()))?;
            schema::check(&value)?;
            parsed(value)
        }
        Grammar::Regex(text) => {
            check_pattern(text)?;
            TopLevelGrammar::from_regex(text)
        }
        Grammar::Lark(text) => {
            check_length(text, MAX_LARK)?;
            for (start, mark) in text.match_indices("%json") {
                let after = &text[start + mark.len()..];
                // What is no JSON is no schema: part of a string, or the compiler refuses it.
                if let Some(Ok(value)) = Deserializer::from_str(after).into_iter().next() {
                    schema::check(&value)?;
                }
            }
            TopLevelGrammar::from_lark(text.clone())
        }
    })
}

fn refused(error: &dyn ToString) -> ConstraintError {
    ConstraintError::Refused(reason(&error.to_string()))
}

fn stuck(error: &dyn ToString) -> ConstraintError {
    ConstraintError::Stuck(reason(&error.to_string()))
}

/// The message, without the trace of calls that comes after it.
fn reason(message: &str) -> String {
    let end = message.find("\n<").unwrap_or(message.len());
    message[..end].trim().to_owned()
}
