//! [`Keys`]: what a client has to know to be answered.

use std::env;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;

use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;

use super::error::ApiError;
use crate::failure::Failure;
use crate::files;

/// Holds a key if no file does: the command line is no place for it, since others see that in the list of processes.
const VARIABLE: &str = "METAL_BRIDGE_API_KEY";

/// The keys of a server. Each of them opens it; without keys it is open.
pub struct Keys {
    keys: Vec<String>,
    /// Makes hashes that nobody outside can foretell.
    hashes: RandomState,
}

impl Keys {
    /// Those in the lines of the file, or else the one in the variable `METAL_BRIDGE_API_KEY`. A file or a variable
    /// without a key is an error: whoever sets it expects a server that is closed.
    pub fn read(file: Option<&Path>) -> Result<Self, Failure> {
        let (source, text) = match file {
            Some(path) => {
                let read = files::read_text(path, files::WRITTEN);
                let source = path.display().to_string();
                let text = read.map_err(|error| Failure::new(format!("{source}: {error}")))?;
                (source, text)
            }
            None => match env::var(VARIABLE) {
                Ok(text) => (VARIABLE.to_owned(), text),
                Err(env::VarError::NotPresent) => return Ok(Self::of(Vec::new())),
                Err(error) => return Err(Failure::new(format!("{VARIABLE}: {error}"))),
            },
        };
        match parse(&text) {
            Ok(keys) => Ok(Self::of(keys)),
            Err(reason) => Err(Failure::new(format!("{source}: {reason}"))),
        }
    }

    fn of(keys: Vec<String>) -> Self {
        let hashes = RandomState::new();
        Self { keys, hashes }
    }

    /// Refuses a request that does not have one of the keys in its header `Authorization`.
    pub fn check(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        if self.keys.is_empty() {
            return Ok(());
        }
        let Some(given) = headers.get(AUTHORIZATION) else {
            return Err(ApiError::no_key(
                "the request has no API key: it needs the header \"Authorization: Bearer KEY\"",
            ));
        };
        match bearer(given.as_bytes()) {
            Some(given) if self.keys.iter().any(|key| self.is_equal(given, key)) => Ok(()),
            Some(_) => Err(ApiError::no_key("the API key is not one of this server's")),
            None => Err(ApiError::no_key(
                "the header \"Authorization\" is not of the form \"Bearer KEY\"",
            )),
        }
    }

    /// How long this takes tells nothing of the key. The hashes are compared first, and a client cannot foretell them.
    /// So the keys themselves are compared only for a client that knows the key, or that guessed its hash of 64 bits.
    fn is_equal(&self, given: &[u8], key: &str) -> bool {
        let key = key.as_bytes();
        self.hashes.hash_one(given) == self.hashes.hash_one(key) && given == key
    }
}

/// The keys in a text, one a line.
fn parse(text: &str) -> Result<Vec<String>, &'static str> {
    let lines = text.lines().map(str::trim);
    let keys: Vec<String> = lines
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect();
    let is_sent = |key: &String| key.bytes().all(|byte| byte.is_ascii_graphic());
    match keys.is_empty() {
        true => Err("there is no API key in it"),
        false if !keys.iter().all(is_sent) => {
            Err("an API key has only letters, digits and signs of ASCII, and no spaces")
        }
        false => Ok(keys),
    }
}

/// What comes after the scheme `Bearer`, which may be written in any case.
fn bearer(value: &[u8]) -> Option<&[u8]> {
    const SCHEME: &[u8] = b"Bearer ";
    let (scheme, key) = value.split_at_checked(SCHEME.len())?;
    let is_bearer = scheme.eq_ignore_ascii_case(SCHEME);
    is_bearer.then(|| key.trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_open(keys: &Keys, value: &'static str) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, value.parse().unwrap());
        keys.check(&headers).is_ok()
    }

    #[test]
    fn a_key_opens_the_server_and_nothing_like_it_does() {
        let keys = Keys::of(parse("  sk-one \r\n\nsk-two").unwrap());
        for value in ["Bearer sk-one", "bearer  sk-two ", "BEARER sk-two"] {
            assert!(is_open(&keys, value), "{value}");
        }
        for value in [
            "",
            "Bearer",
            "Bearer ",
            "Bearer sk-on",
            "Bearer sk-one1",
            "Bearer SK-ONE",
            "Bearer sk-one sk-two",
            "Bearersk-one",
            "Basic sk-one",
            "sk-one",
        ] {
            assert!(!is_open(&keys, value), "{value}");
        }
        assert!(keys.check(&HeaderMap::new()).is_err());
        assert!(Keys::of(Vec::new()).check(&HeaderMap::new()).is_ok());
    }

    #[test]
    fn texts_without_keys_that_can_be_sent_are_errors() {
        for text in ["", " \n\r\n", "sk one", "sk-\u{e9}", "sk-one\nsk\u{7f}"] {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }
}
