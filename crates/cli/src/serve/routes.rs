//! What each path answers.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{ALLOW, HeaderValue};
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use serde_json::{Value, json};

use super::State;
use super::bodies;
use super::embeddings::{self, EmbeddingRequest};
use super::error::ApiError;
use super::fields::{Fields, missing, wrong_type};
use super::kind::Kind;
use super::page::page_reply;
use super::replies::{Body, Form, error_reply, json_reply, metrics_reply, next, text_reply};
use super::requests::{TextRequest, encode_text, tokens};
use super::slots::Event;

enum Route {
    Page,
    Health,
    Metrics,
    Models,
    Model,
    Text(Kind),
    Embeddings,
    Tokenize,
    Detokenize,
}

impl Route {
    fn of(path: &str) -> Option<Self> {
        Some(match path {
            "/" => Self::Page,
            "/health" | "/v1/health" => Self::Health,
            "/metrics" => Self::Metrics,
            "/v1/models" => Self::Models,
            "/v1/completions" => Self::Text(Kind::Completion),
            "/v1/chat/completions" => Self::Text(Kind::Chat),
            "/v1/embeddings" => Self::Embeddings,
            "/tokenize" => Self::Tokenize,
            "/detokenize" => Self::Detokenize,
            _ if path.starts_with(MODEL) => Self::Model,
            _ => return None,
        })
    }

    fn is_read(&self) -> bool {
        matches!(
            self,
            Self::Page | Self::Health | Self::Metrics | Self::Models | Self::Model
        )
    }
}

/// The paths of single models begin so.
const MODEL: &str = "/v1/models/";

/// The answer to a request, whatever it is.
pub async fn respond(state: Arc<State>, request: Request<Incoming>) -> Response<Body> {
    let route = Route::of(request.uri().path());
    let route = route.filter(|route| state.has_page || !matches!(route, Route::Page));
    if let Err(error) = check_sender(&state, route.as_ref(), request.headers()) {
        return error_reply(&error);
    }
    let Some(route) = route else {
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

/// Refuses who may not ask. Without a key nobody learns more than that there is a server: not even which paths there
/// are.
fn check_sender(state: &State, route: Option<&Route>, headers: &HeaderMap) -> Result<(), ApiError> {
    state.hosts.check(headers)?;
    match route {
        // The browser that asks for the page does not have the key yet.
        Some(Route::Health | Route::Page) => Ok(()),
        _ => state.keys.check(headers),
    }
}

async fn answer(
    state: &Arc<State>,
    route: &Route,
    request: Request<Incoming>,
) -> Result<Response<Body>, ApiError> {
    let value = match route {
        Route::Page => return page_reply(),
        Route::Health => {
            state.slots.check()?;
            json!({"status": "ok"})
        }
        Route::Metrics => return Ok(metrics_reply(state.slots.metrics())),
        Route::Models => json!({"object": "list", "data": [model(state)]}),
        Route::Model => match request.uri().path().strip_prefix(MODEL) {
            Some(name) if name == state.name => model(state),
            name => return Err(ApiError::no_model(name.unwrap_or_default(), &state.name)),
        },
        Route::Text(kind) => return text(state, *kind, request).await,
        Route::Embeddings => {
            let body = state.bodies.receive(request).await?;
            let _admission = state.slots.admit()?;
            let request = read_body(state, body, EmbeddingRequest::parse).await?;
            embeddings::answer(state, request).await?
        }
        Route::Tokenize => read(state, request, tokenize).await?,
        Route::Detokenize => read(state, request, detokenize).await?,
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

/// Takes the body of a request, and does what may take long with it.
async fn read<T: Send + 'static>(
    state: &Arc<State>,
    request: Request<Incoming>,
    work: impl FnOnce(&State, &[u8]) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let body = state.bodies.receive(request).await?;
    read_body(state, body, work).await
}

async fn read_body<T: Send + 'static>(
    state: &Arc<State>,
    body: bodies::Body,
    work: impl FnOnce(&State, &[u8]) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let shared = Arc::clone(state);
    state
        .bodies
        .read(body, move |bytes| work(&shared, bytes))
        .await
}

async fn text(
    state: &Arc<State>,
    kind: Kind,
    request: Request<Incoming>,
) -> Result<Response<Body>, ApiError> {
    let body = state.bodies.receive(request).await?;
    let admission = state.slots.admit()?;
    let parse = move |state: &State, body: &[u8]| TextRequest::parse(state, kind, body);
    let request = read_body(state, body, parse).await?;
    let (has_usage, has_logprobs) = (request.includes_usage, request.tells_logprobs());
    let form = Form::new(kind, &state.name, &state.model, has_usage, has_logprobs);
    let mut events = state.slots.generate(admission, request.work)?;
    // What fails before the first word has a status of its own.
    let first = match next(&mut events).await {
        Event::Failed(error) => return Err(error),
        event => event,
    };
    if request.streams {
        return Ok(form.stream(first, events));
    }
    let json = form.whole(first, events).await?;
    Ok(text_reply(StatusCode::OK, json))
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
