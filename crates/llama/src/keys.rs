//! [`Keys`]: the metadata of a file that are of its architecture.

use std::cell::RefCell;
use std::collections::BTreeSet;

use super::error::{Error, Result};
use super::gguf::{Array, Gguf, Required, Value};

/// The largest dimension of a model: products of two fit into 64 bits, and kernels count in 32 bits.
const MAX_DIMENSION: u64 = 1 << 24;

/// Keys that change nothing: the number of tokens is that of the embeddings, and what a model was made of does not matter.
const WITHOUT_EFFECT: [&str; 3] = ["vocab_size", "rope.scaling.finetuned", "tensor_data_layout"];

/// The keys that begin with the name of an architecture, by what comes after it.
pub(super) struct Keys<'a> {
    gguf: &'a Gguf,
    architecture: &'static str,
    /// What was asked for.
    known: RefCell<BTreeSet<String>>,
}

impl<'a> Keys<'a> {
    pub fn new(gguf: &'a Gguf, architecture: &'static str) -> Self {
        let keys = Self {
            gguf,
            architecture,
            known: RefCell::default(),
        };
        for name in WITHOUT_EFFECT {
            keys.key(name);
        }
        keys
    }

    /// The whole key, which is then known.
    pub fn key(&self, name: &str) -> String {
        let key = format!("{}.{name}", self.architecture);
        self.known.borrow_mut().insert(key.clone());
        key
    }

    /// Refuses a file with a key of the architecture that nobody has asked for.
    pub fn refuse_unknown(&self) -> Result<()> {
        let (known, prefix) = (self.known.borrow(), format!("{}.", self.architecture));
        let mut keys = self.gguf.metadata().map(|(key, _)| key);
        match keys.find(|key| key.starts_with(&prefix) && !known.contains(*key)) {
            Some(key) => Err(Error::Unsupported(format!(
                "the metadata key {key:?}, which this engine does not use"
            ))),
            None => Ok(()),
        }
    }

    /// A number that may be 0.
    pub fn count(&self, name: &str) -> Result<Option<u64>> {
        Ok(self.gguf.get_u64(&self.key(name))?)
    }

    pub fn dimension(&self, name: &str) -> Result<usize> {
        Ok(Ok(self.optional_dimension(name)?).required(&self.key(name))?)
    }

    pub fn optional_dimension(&self, name: &str) -> Result<Option<usize>> {
        let key = self.key(name);
        self.gguf
            .get_u64(&key)?
            .map(|value| checked_dimension(&key, value))
            .transpose()
    }

    /// A positive float.
    pub fn float(&self, name: &str) -> Result<f32> {
        Ok(Ok(self.optional_float(name)?).required(&self.key(name))?)
    }

    /// A positive float, if it is there.
    pub fn optional_float(&self, name: &str) -> Result<Option<f32>> {
        let key = self.key(name);
        match self.gguf.get_f32(&key)? {
            Some(value) if !(value.is_finite() && value > 0.0) => {
                Err(hyperparameter(&key, value, "not a positive number".into()))
            }
            value => Ok(value),
        }
    }

    /// For each layer whether it has a window, if the file says it: as a list, or as the number of layers of which the last
    /// one does not.
    pub fn pattern(&self, name: &str, layers: usize) -> Result<Option<Vec<bool>>> {
        match self.gguf.get(&self.key(name)) {
            Some(Value::Array(Array::Bool(list))) if list.len() == layers => Ok(Some(list.clone())),
            Some(Value::Array(_)) => {
                let reason = format!("not a list of {layers} truth values, one for each layer");
                Err(self.refused(name, "an array", reason))
            }
            _ => {
                let period = self.optional_dimension(name)?;
                let of = |period| (1..=layers).map(|layer| layer % period != 0).collect();
                Ok(period.map(of))
            }
        }
    }

    pub fn text(&self, name: &str) -> Result<Option<&'a str>> {
        Ok(self.gguf.get_str(&self.key(name))?)
    }

    /// The error of a key with an impossible value.
    pub fn refused(&self, name: &str, value: impl ToString, reason: String) -> Error {
        hyperparameter(&self.key(name), value, reason)
    }
}

pub(super) fn checked_dimension(key: &str, value: u64) -> Result<usize> {
    match usize::try_from(value) {
        Ok(dimension) if (1..=MAX_DIMENSION).contains(&value) => Ok(dimension),
        _ => Err(hyperparameter(
            key,
            value,
            format!("not between 1 and {MAX_DIMENSION}"),
        )),
    }
}

fn hyperparameter(key: &str, value: impl ToString, reason: String) -> Error {
    Error::Hyperparameter {
        key: key.to_owned(),
        value: value.to_string(),
        reason,
    }
}
