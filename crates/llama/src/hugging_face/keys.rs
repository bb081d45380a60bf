//! [`Keys`]: the metadata of the GGUF file that a model would have.

use crate::gguf::{Array, StringArray, Value};

/// Metadata keys and values.
#[derive(Default)]
pub(super) struct Keys {
    pub all: Vec<(Box<str>, Value)>,
    /// The name of the architecture.
    architecture: &'static str,
}

impl Keys {
    pub fn new(architecture: &'static str) -> Self {
        let mut keys = Self {
            all: Vec::new(),
            architecture,
        };
        let name = Value::String(architecture.into());
        keys.put("general.architecture", name);
        keys
    }

    pub fn put(&mut self, key: &str, value: Value) {
        self.all.push((key.into(), value));
    }

    pub fn put_if(&mut self, key: &str, value: Option<Value>) {
        if let Some(value) = value {
            self.put(key, value);
        }
    }

    /// A key that begins with the name of the architecture.
    pub fn set(&mut self, key: &str, value: Value) {
        self.put(&format!("{}.{key}", self.architecture), value);
    }

    pub fn count(&mut self, key: &str, value: u32) {
        self.set(key, Value::U32(value));
    }

    pub fn float(&mut self, key: &str, value: f64) {
        self.set(key, Value::F32(value as f32));
    }
}

/// An array of strings.
pub(super) fn strings(strings: StringArray) -> Value {
    Value::Array(Array::String(strings))
}
