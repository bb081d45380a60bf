//! [`Error`]: why a run ended before its time.

/// The result of a run.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a run ended before its time.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A call of metal-bridge failed.
    #[error(transparent)]
    Metal(#[from] metal_bridge::Error),
    /// The arguments of the run are not possible, or one of its threads failed.
    #[error("{0}")]
    Run(String),
}

impl Error {
    pub(super) fn new(message: impl Into<String>) -> Error {
        Error::Run(message.into())
    }
}
