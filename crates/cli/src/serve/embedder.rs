//! [`Embedder`]: computes vectors for texts, beside the slots.

use std::sync::{Mutex, PoisonError};

use metal_bridge_llama as llama;
use metal_bridge_llama::{Model, Pooling, Session, SessionOptions};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::error::ApiError;

/// Threads that compute.
pub const THREADS: usize = 1;

/// [`Pooling`] on the command line.
#[derive(Clone, Copy, clap::ValueEnum)]
pub enum PoolingChoice {
    /// The mean of the tokens'
    Mean,
    /// That of the last token
    Last,
}

impl From<PoolingChoice> for Pooling {
    fn from(choice: PoolingChoice) -> Self {
        match choice {
            PoolingChoice::Mean => Self::Mean,
            PoolingChoice::Last => Self::Last,
        }
    }
}

/// Computes embeddings, those of one request at a time.
pub struct Embedder {
    model: Model,
    options: SessionOptions,
    pooling: Option<Pooling>,
    turn: Semaphore,
    /// Made for the first text.
    session: Mutex<Option<Session>>,
}

impl Embedder {
    pub fn new(model: Model, options: SessionOptions, pooling: Option<Pooling>) -> Self {
        Self {
            model,
            options,
            pooling,
            turn: Semaphore::new(THREADS),
            session: Mutex::new(None),
        }
    }

    /// Waits for the requests before.
    pub async fn turn(&self) -> Result<SemaphorePermit<'_>, ApiError> {
        self.turn.acquire().await.map_err(ApiError::internal)
    }

    /// The vector of a text.
    pub fn embed(&self, tokens: &[u32]) -> llama::Result<Vec<f32>> {
        let session = self.session.lock();
        let mut session = session.unwrap_or_else(PoisonError::into_inner);
        let session = match &mut *session {
            Some(session) => session,
            none => none.insert(Session::with_options(&self.model, &self.options)?),
        };
        session.embed(tokens, self.pooling)
    }
}
