//! The bodies of requests: how many bytes of them wait at a time, how long they may take to come, and how many are read at once.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Request, StatusCode};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task;
use tokio::time::timeout;

use super::clients::Client;
use super::error::ApiError;

/// The largest body of a request, in bytes.
const MAX_BODY: u32 = 4 << 20;
/// Bytes of all bodies at a time, from the first byte of each until it is encoded. Reading takes up to a hundred times as much.
const MAX_BODIES: u32 = 16 * MAX_BODY;
/// How long a body may take to come.
const BODY_TIME: Duration = Duration::from_secs(30);
/// A body up to this length takes a moment, and does not wait for longer ones.
const SHORT_BODY: usize = 64 << 10;
/// Bodies that are read and encoded at once. They have threads of their own, so that they do not hold up the slots.
const SHORT_READERS: usize = 2;
const LONG_READERS: usize = 1;
pub const READERS: usize = SHORT_READERS + LONG_READERS;

/// The room that all bodies share.
pub struct Bodies {
    /// One permit a byte.
    room: Arc<Semaphore>,
    short_readers: Semaphore,
    long_readers: Semaphore,
    /// Closed when the server waits for no more bodies; it has no permits.
    stopping: Semaphore,
}

/// A body that has come.
pub struct Body {
    bytes: Bytes,
    /// Its part of the room.
    _permit: OwnedSemaphorePermit,
}

impl Bodies {
    pub fn new() -> Self {
        Self {
            room: Arc::new(Semaphore::new(MAX_BODIES as usize)),
            short_readers: Semaphore::new(SHORT_READERS),
            long_readers: Semaphore::new(LONG_READERS),
            stopping: Semaphore::new(0),
        }
    }

    /// Turns away requests whose bodies have not come.
    pub fn stop(&self) {
        self.stopping.close();
    }

    /// Waits for the body of a request.
    pub async fn receive(&self, request: Request<Incoming>) -> Result<Body, ApiError> {
        if !is_json(request.headers().get(CONTENT_TYPE)) {
            return Err(ApiError::request(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "unsupported_media_type",
                "the header Content-Type must be application/json",
            ));
        }
        let too_large = || {
            let message = format!("the body has more than {MAX_BODY} bytes");
            ApiError::request(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", message)
        };
        let client = request.extensions().get::<Arc<Client>>().cloned();
        let body = request.into_body();
        // A body that does not tell its length may have any.
        let length = body.size_hint().exact().unwrap_or(MAX_BODY.into());
        let length = u32::try_from(length).map_err(|_| too_large())?;
        if length > MAX_BODY {
            return Err(too_large());
        }
        let permit = Arc::clone(&self.room).try_acquire_many_owned(length);
        let mut permit = permit.map_err(|_| ApiError::no_room())?;
        let body = timeout(BODY_TIME, Limited::new(body, MAX_BODY as usize).collect());
        client.iter().for_each(|client| client.wait());
        let body = until(body, self.stopping.acquire()).await;
        client.iter().for_each(|client| client.serve());
        let body = body.ok_or_else(ApiError::stopping)?.map_err(|_| {
            let message = format!("the body took more than {} seconds", BODY_TIME.as_secs());
            ApiError::request(StatusCode::REQUEST_TIMEOUT, "body_too_slow", message)
        })?;
        let body = body.map_err(|error| match error.is::<LengthLimitError>() {
            true => too_large(),
            false => ApiError::request(StatusCode::BAD_REQUEST, "invalid_body", error),
        })?;
        let bytes = body.to_bytes();
        // The rest of what was set aside for a body of unknown length.
        drop(permit.split((length as usize).saturating_sub(bytes.len())));
        Ok(Body {
            bytes,
            _permit: permit,
        })
    }

    /// Does what may take long with a body, apart from the connections' thread.
    pub async fn read<T: Send + 'static>(
        &self,
        body: Body,
        work: impl FnOnce(&[u8]) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let readers = match body.bytes.len() {
            ..=SHORT_BODY => &self.short_readers,
            _ => &self.long_readers,
        };
        let _reader = readers.acquire().await.map_err(ApiError::internal)?;
        let outcome = task::spawn_blocking(move || work(&body.bytes)).await;
        outcome.map_err(ApiError::internal)?
    }
}

/// What `work` gives, unless `end` comes before.
pub async fn until<T>(work: impl Future<Output = T>, end: impl Future) -> Option<T> {
    let (mut work, mut end) = (pin!(work), pin!(end));
    poll_fn(|context| match work.as_mut().poll(context) {
        Poll::Ready(value) => Poll::Ready(Some(value)),
        Poll::Pending => end.as_mut().poll(context).map(|_| None),
    })
    .await
}

/// What browsers send for pages of others without asking this server has another type.
fn is_json(content_type: Option<&HeaderValue>) -> bool {
    content_type
        .map(HeaderValue::as_bytes)
        .is_some_and(|value| {
            let end = value.iter().position(|&byte| byte == b';');
            let value = value[..end.unwrap_or(value.len())].trim_ascii();
            value.eq_ignore_ascii_case(b"application/json")
        })
}
