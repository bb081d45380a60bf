//! The page at `/`: a chat in the browser.

use std::hash::{BuildHasher, RandomState};

use http_body_util::{Either, Full};
use hyper::body::Bytes;
use hyper::header::{
    CONTENT_SECURITY_POLICY, HeaderValue, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Response, StatusCode};

use super::error::ApiError;
use super::replies::{Body, reply};

const PAGE: &str = include_str!("page.html");

/// The page. Its own script and style are marked with a number that nobody can foretell. The browser takes no other ones, and connects to no
/// other server.
pub fn page_reply() -> Result<Response<Body>, ApiError> {
    // Each state has keys of its own.
    let nonce = format!("{:016x}", RandomState::new().hash_one(0));
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    let page = PAGE.replace("NONCE", &nonce);
    let body = Either::Left(Full::new(Bytes::from(page)));
    let mut response = reply(StatusCode::OK, "text/html; charset=utf-8", body);
    let policy = HeaderValue::from_str(&policy).map_err(ApiError::internal)?;
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, policy);
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    Ok(response)
}
