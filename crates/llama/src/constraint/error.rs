//! [`ConstraintError`]: why a constraint cannot be had, or cannot be kept to.

/// What is wrong with a constraint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConstraintError {
    /// The grammar is longer than any may be, or a regular expression in it.
    #[error("the grammar or a regular expression has {bytes} bytes, more than {limit}")]
    TooLong {
        /// Its bytes.
        bytes: usize,
        /// The most.
        limit: usize,
    },
    /// The schema is not JSON.
    #[error("the schema is not JSON: {0}")]
    NotJson(String),
    /// The grammar is wrong, asks for what there is no way to enforce, allows no text, or is too complex.
    #[error("the constraint cannot be enforced: {0}")]
    Refused(String),
    /// The vocabulary cannot be searched for the tokens that a constraint allows.
    #[error("texts of this vocabulary cannot be constrained: {0}")]
    Vocabulary(String),
    /// The text came to where no token is allowed, or where finding those that are would take too long.
    #[error("the text cannot go on under its constraint: {0}")]
    Stuck(String),
}
