//! [`Folder`]: the files of a directory. [`Fields`]: the keys of one that is a JSON object.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::error::{DirectoryError, Result};

/// The most bytes of a file with settings: those of Gemma's tokenizers have more than one million.
const MAX_SETTINGS: u64 = 8 << 20;

/// A directory.
pub(super) struct Folder<'a> {
    pub path: &'a Path,
}

impl Folder<'_> {
    /// The file of this name and its size; `None` if there is none. Links lead where they lead: those of Hugging Face's cache
    /// lead out of the directory.
    pub fn open(&self, name: &str) -> Result<Option<(File, u64)>> {
        let failed = |source| DirectoryError::Io {
            file: name.to_owned(),
            source,
        };
        let path = self.path.join(name);
        // Before it is opened: opening a pipe waits for who writes into it.
        match path.metadata() {
            Ok(metadata) if metadata.is_file() => {}
            Ok(_) => {
                return Err(DirectoryError::NotAFile {
                    file: name.to_owned(),
                });
            }
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        }
        let file = File::open(path).map_err(failed)?;
        let size = file.metadata().map_err(failed)?.len();
        Ok(Some((file, size)))
    }

    /// What a file holds, if it is there.
    pub fn read(&self, name: &str, limit: u64) -> Result<Option<Vec<u8>>> {
        let Some((file, size)) = self.open(name)? else {
            return Ok(None);
        };
        check_size(name, size, limit)?;
        let mut bytes = Vec::new();
        let read = file.take(limit).read_to_end(&mut bytes);
        read.map_err(|source| DirectoryError::Io {
            file: name.to_owned(),
            source,
        })?;
        Ok(Some(bytes))
    }

    /// The value that a file holds, if it is there.
    pub fn json<T: DeserializeOwned>(&self, name: &str, limit: u64) -> Result<Option<T>> {
        let parse = |bytes: Vec<u8>| parse(name, &bytes);
        self.read(name, limit)?.map(parse).transpose()
    }

    /// The keys of a file with settings; none if it is not there.
    pub fn fields(&self, name: &str) -> Result<Fields> {
        Ok(Fields {
            file: name.to_owned(),
            prefix: String::new(),
            map: self.json(name, MAX_SETTINGS)?.unwrap_or_default(),
        })
    }

    /// The text that a file holds, if it is there.
    pub fn text(&self, name: &str) -> Result<Option<String>> {
        let text = |bytes| {
            String::from_utf8(bytes).map_err(|error| DirectoryError::Io {
                file: name.to_owned(),
                source: std::io::Error::new(ErrorKind::InvalidData, error),
            })
        };
        self.read(name, MAX_SETTINGS)?.map(text).transpose()
    }
}

pub(super) fn check_size(file: &str, bytes: u64, limit: u64) -> Result<()> {
    if bytes <= limit {
        return Ok(());
    }
    Err(DirectoryError::TooLarge {
        file: file.to_owned(),
        bytes,
        limit,
    })
}

pub(super) fn parse<T: DeserializeOwned>(file: &str, bytes: &[u8]) -> Result<T> {
    serde_json::from_slice(bytes).map_err(|source| DirectoryError::Json {
        file: file.to_owned(),
        source,
    })
}

pub(super) fn unsupported(file: &str, what: impl Into<String>) -> DirectoryError {
    DirectoryError::Unsupported {
        file: file.to_owned(),
        what: what.into(),
    }
}

/// The keys of a JSON object. A key whose value is `null` is not there.
pub(super) struct Fields {
    pub file: String,
    /// What precedes the keys in errors.
    prefix: String,
    map: Map<String, Value>,
}

impl Fields {
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.map.get(key).filter(|value| !value.is_null())
    }

    fn key(&self, key: &str) -> String {
        format!("{}{key}", self.prefix)
    }

    pub fn wrong(&self, key: &str, expected: &'static str) -> DirectoryError {
        DirectoryError::WrongValue {
            file: self.file.clone(),
            key: self.key(key),
            expected,
        }
    }

    pub fn missing(&self, key: &str) -> DirectoryError {
        DirectoryError::MissingKey {
            file: self.file.clone(),
            key: self.key(key),
        }
    }

    pub fn unsupported(&self, what: impl Into<String>) -> DirectoryError {
        unsupported(&self.file, what)
    }

    fn converted<'a, T>(
        &'a self,
        key: &str,
        expected: &'static str,
        convert: impl Fn(&'a Value) -> Option<T>,
    ) -> Result<Option<T>> {
        let converted = |value: &'a Value| convert(value).ok_or_else(|| self.wrong(key, expected));
        self.get(key).map(converted).transpose()
    }

    /// A whole number of 32 bits.
    pub fn count(&self, key: &str) -> Result<Option<u32>> {
        let convert = |value: &Value| value.as_u64()?.try_into().ok();
        self.converted(key, "a whole number of 32 bits", convert)
    }

    pub fn number(&self, key: &str) -> Result<Option<f64>> {
        self.converted(key, "a number", Value::as_f64)
    }

    pub fn flag(&self, key: &str) -> Result<Option<bool>> {
        self.converted(key, "true or false", Value::as_bool)
    }

    pub fn text(&self, key: &str) -> Result<Option<&str>> {
        self.converted(key, "a text", Value::as_str)
    }

    pub fn list(&self, key: &str) -> Result<Option<&[Value]>> {
        self.converted(key, "a list", |value| value.as_array().map(Vec::as_slice))
    }

    pub fn numbers(&self, key: &str) -> Result<Option<Vec<f64>>> {
        self.converted(key, "a list of numbers", |value| {
            value.as_array()?.iter().map(Value::as_f64).collect()
        })
    }

    pub fn texts(&self, key: &str) -> Result<Option<Vec<&str>>> {
        self.converted(key, "a list of texts", |value| {
            value.as_array()?.iter().map(Value::as_str).collect()
        })
    }

    /// The keys of an object under this key.
    pub fn object(&self, key: &str) -> Result<Option<Fields>> {
        self.converted(key, "an object", |value| {
            Some(Fields {
                file: self.file.clone(),
                prefix: format!("{}{key}.", self.prefix),
                map: value.as_object()?.clone(),
            })
        })
    }
}
