//! What each path answers.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::{Value, json};
use tokio::task;
use tokio::time::timeout;

use super::State;
use super::error::ApiError;
use super::fields::{Fields, wrong_type};
use super::replies::{Body, Form, error_reply, json_reply, next};
use super::requests::{Kind, TextRequest, encode_text, missing, tokens};
use super::slots::Event;

/// The largest body of a request, in bytes.
pub const MAX_BODY: usize = 4 << 20;
/// How long a body may take to come.
const BODY_TIME: Duration = Duration::from_secs(30);

enum Route {
    Health,
    Models,
    Model,
    Text(Kind),
    Tokenize,
    Detokenize,
}

impl Route {
    fn of(path: &str) -> Option<Self> {
        Some(match path {
            "/health" | "/v1/health" => Self::Health,
            "/v1/models" => Self::Models,
            "/v1/completions" => Self::Text(Kind::Completion),
            "/v1/chat/completions" => Self::Text(Kind::Chat),
            "/tokenize" => Self::Tokenize,
            "/detokenize" => Self::Detokenize,
            _ if path.starts_with(MODEL) => Self::Model,
            _ => return None,
        })
    }

    fn is_read(&self) -> bool {
        matches!(self, Self::Health | Self::Models | Self::Model)
    }
}

/// The paths of single models begin so.
const MODEL: &str = "/v1/models/";

/// The answer to a request, whatever it is.
pub async fn respond(state: Arc<State>, request: Request<Incoming>) -> Response<Body> {
    let Some(route) = Route::of(request.uri().path()) else {
        let message = format!("there is nothing at {:?}", request.uri().path());
        return error_reply(&ApiError::request(
            StatusCode::NOT_FOUND,
            "unknown_url",
            message,
        ));
    };
    let method = request.method();
    let (is_allowed, allowed) = match route.is_read() {
        true => (method == Method::GET || method == Method::HEAD, "GET, HEAD"),
        false => (method == Method::POST, "POST"),
    };
    if !is_allowed {
        let message = format!("{:?} takes {allowed}", request.uri().path());
        let status = StatusCode::METHOD_NOT_ALLOWED;
        let mut response = error_reply(&ApiError::request(status, "method_not_allowed", message));
        let allowed = HeaderValue::from_static(allowed);
        response.headers_mut().insert(ALLOW, allowed);
        return response;
    }
    answer(&state, &route, request)
        .await
        .unwrap_or_else(|error| {
            if error.status == StatusCode::INTERNAL_SERVER_ERROR {
                super::note(&error.to_string());
            }
            error_reply(&error)
        })
}

async fn answer(
    state: &Arc<State>,
    route: &Route,
    request: Request<Incoming>,
) -> Result<Response<Body>, ApiError> {
    let value = match route {
        Route::Health => json!({"status": "ok"}),
        Route::Models => json!({"object": "list", "data": [model(state)]}),
        Route::Model => match request.uri().path().strip_prefix(MODEL) {
            Some(name) if name == state.name => model(state),
            name => return Err(ApiError::no_model(name.unwrap_or_default(), &state.name)),
        },
        Route::Text(kind) => return text(state, *kind, read(request).await?).await,
        Route::Tokenize => blocking(state, read(request).await?, tokenize).await?,
        Route::Detokenize => blocking(state, read(request).await?, detokenize).await?,
    };
    Ok(json_reply(StatusCode::OK, &value))
}

fn model(state: &State) -> Value {
    json!({
        "id": state.name,
        "object": "model",
        "created": state.created,
        "owned_by": "metal-bridge",
        "meta": {
            "n_ctx": state.slots.context(),
            "n_ctx_train": state.model.config().context,
            "n_vocab": state.model.config().vocabulary,
        },
    })
}

async fn read(request: Request<Incoming>) -> Result<Bytes, ApiError> {
    let content_type = request
        .headers()
        .get(CONTENT_TYPE)
        .map(HeaderValue::as_bytes);
    // What browsers send for pages of others without asking this server has another type.
    let is_json = content_type.is_some_and(|value| {
        let end = value.iter().position(|&byte| byte == b';');
        let value = value[..end.unwrap_or(value.len())].trim_ascii();
        value.eq_ignore_ascii_case(b"application/json")
    });
    if !is_json {
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
    let body = request.into_body();
    if body.size_hint().lower() > MAX_BODY as u64 {
        return Err(too_large());
    }
    let body = timeout(BODY_TIME, Limited::new(body, MAX_BODY).collect()).await;
    let body = body.map_err(|_| {
        let message = format!("the body took more than {} seconds", BODY_TIME.as_secs());
        ApiError::request(StatusCode::REQUEST_TIMEOUT, "body_too_slow", message)
    })?;
    let body = body.map_err(|error| match error.is::<LengthLimitError>() {
        true => too_large(),
        false => ApiError::request(StatusCode::BAD_REQUEST, "invalid_body", error),
    })?;
    Ok(body.to_bytes())
}

/// Does what may take long apart from the connections' thread.
async fn blocking<T: Send + 'static>(
    state: &Arc<State>,
    body: Bytes,
    work: impl FnOnce(&State, &[u8]) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let state = Arc::clone(state);
    let outcome = task::spawn_blocking(move || work(&state, &body)).await;
    outcome.map_err(ApiError::internal)?
}

async fn text(state: &Arc<State>, kind: Kind, body: Bytes) -> Result<Response<Body>, ApiError> {
    let admission = state.slots.admit()?;
    let parse = move |state: &State, body: &[u8]| TextRequest::parse(state, kind, body);
    let request = blocking(state, body, parse).await?;
    let form = Form::new(kind, &state.name, request.includes_usage);
    let mut events = state.slots.generate(admission, request.work).await?;
    // What fails before the first word has a status of its own.
    let first = match next(&mut events).await {
        Event::Failed(error) => return Err(error),
        event => event,
    };
    if request.streams {
        return Ok(form.stream(first, events));
    }
    let value = form.whole(first, events).await?;
    Ok(json_reply(StatusCode::OK, &value))
}

fn tokenize(state: &State, body: &[u8]) -> Result<Value, ApiError> {
    let mut fields = Fields::parse(body)?;
    let content = fields.text("content")?;
    let content = content.ok_or_else(|| missing("content"))?;
    let is_prompt = fields.flag("add_special")?.unwrap_or_default();
    fields.finish()?;
    let tokens = match is_prompt {
        true => encode_text(&state.model, "content", &content)?,
        false => {
            let tokens = state.model.tokenizer().encode_plain(&content);
            tokens.map_err(|error| ApiError::of_engine("content", &error.into()))?
        }
    };
    Ok(json!({"tokens": tokens}))
}

fn detokenize(state: &State, body: &[u8]) -> Result<Value, ApiError> {
    let mut fields = Fields::parse(body)?;
    let tokens = match fields.take("tokens") {
        Some(Value::Array(values)) => tokens("tokens", &values)?,
        Some(_) => return Err(wrong_type("tokens", "an array of tokens")),
        None => return Err(missing("tokens")),
    };
    fields.finish()?;
    let tokenizer = state.model.tokenizer();
    if let Some(token) = tokens
        .iter()
        .find(|&&token| tokenizer.kind(token).is_none())
    {
        let message = format!("there is no token {token}");
        return Err(ApiError::field("tokens", "invalid_value", message));
    }
    Ok(json!({"content": tokenizer.decode(&tokens)}))
}
