//! [`Data`]: lists and dictionaries that print as Python's, and that know how much they hold.

use std::fmt;
use std::sync::Arc;

use minijinja::value::{DynObject, Enumerator, Object, ObjectRepr, ValueKind};
use minijinja::{Error, ErrorKind, Value};
use serde_json::Value as Json;

use super::error::ChatError;
use super::python::{MAX_DEPTH, write_str};

/// What a value in a list or a dictionary counts for, in bytes.
pub(super) const VALUE: usize = 32;
/// The most that a list may count for with its texts. What it holds more than once counts as often, as it is printed.
pub(super) const MAX_LIST: usize = 64 << 20;

/// What looks at all that a list holds takes time, and some of the stack, by this.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Weight {
    /// The bytes of its values and of their texts.
    pub bytes: usize,
    /// Lists in each other.
    depth: usize,
}

/// A list or a dictionary.
#[derive(Debug)]
pub(super) struct Data {
    object: DynObject,
    weight: Weight,
    mark: char,
}

impl Data {
    /// `value`, a list or a dictionary of the template engine, as one that knows its weight.
    pub fn of(value: &Value, weight: Weight, mark: char) -> Value {
        match value.as_object().cloned() {
            Some(object) => Value::from_object(Self {
                object,
                weight,
                mark,
            }),
            None => value.clone(),
        }
    }
}

impl Object for Data {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        self.object.repr()
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.object.get_value(key)
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        self.object.enumerate()
    }

    fn render(self: &Arc<Self>, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = Value::from_dyn_object(Arc::clone(self));
        write_str(out, &value, self.mark).map_err(|_| fmt::Error)
    }
}

/// Whether `value` has elements.
pub(super) fn is_list(value: &Value) -> bool {
    matches!(
        value.kind(),
        ValueKind::Seq | ValueKind::Map | ValueKind::Iterable
    )
}

/// Whether it is known what `value` holds.
pub(super) fn is_data(value: &Value) -> bool {
    value.downcast_object_ref::<Data>().is_some()
}

pub(super) fn is_namespace(value: &Value) -> bool {
    let object = value.as_object();
    object.is_some_and(|object| object.type_name().ends_with("::Namespace"))
}

/// What `value` weighs, which is in `nesting` lists.
pub(super) fn weight(value: &Value, nesting: usize) -> Result<Weight, Error> {
    Measured::default().weight(value, nesting)
}

/// What has been looked at in a list, and not in the [`Data`] that it holds.
#[derive(Default)]
pub(super) struct Measured {
    pub values: usize,
    /// The bytes of the keys of dictionaries.
    pub keys: usize,
}

impl Measured {
    /// Looks at what `value` holds as if it were printed, compared or sorted: those recurse.
    pub fn weight(&mut self, value: &Value, nesting: usize) -> Result<Weight, Error> {
        if let Some(text) = value.as_str() {
            return Ok(Weight {
                bytes: text.len(),
                depth: 0,
            });
        }
        if let Some(data) = value.downcast_object_ref::<Data>() {
            return Ok(data.weight);
        }
        if !is_list(value) {
            return Ok(Weight::default());
        }
        if nesting > 0 && is_namespace(value) {
            // It can change later, so that it holds itself.
            return Err(refused(
                "a namespace is in a list, a dictionary or a namespace",
            ));
        }
        let mut whole = Weight::default();
        let mut add = |measured: &mut Self, item: &Value| {
            let inner = measured.weight(item, nesting + 1)?;
            measured.values += 1;
            whole.bytes += VALUE + inner.bytes;
            whole.depth = whole.depth.max(inner.depth + 1);
            if nesting + whole.depth > MAX_DEPTH {
                return Err(refused("there are too many lists in each other"));
            }
            match whole.bytes > MAX_LIST {
                true => Err(Error::from(ErrorKind::WriteFailure)),
                false => Ok(()),
            }
        };
        for item in value.try_iter()? {
            if value.kind() == ValueKind::Map {
                self.keys += item.as_str().map_or(0, str::len);
                add(self, &value.get_item(&item)?)?;
            }
            add(self, &item)?;
        }
        Ok(whole)
    }
}

fn refused(reason: &'static str) -> Error {
    Error::new(ErrorKind::InvalidOperation, reason)
}

/// What a template is given, as lists and dictionaries whose text is Python's wherever the template asks for it.
pub(super) fn data(json: Json, mark: char) -> Result<Value, ChatError> {
    data_at(json, mark, 0)
}

fn data_at(json: Json, mark: char, depth: usize) -> Result<Value, ChatError> {
    if depth > MAX_DEPTH {
        let reason = format!("it has more than {MAX_DEPTH} lists in each other");
        return Err(ChatError::data(reason));
    }
    let inner = |item| data_at(item, mark, depth + 1);
    let value: Value = match json {
        Json::Array(items) => {
            let items: Result<Vec<Value>, _> = items.into_iter().map(inner).collect();
            items?.into()
        }
        Json::Object(entries) => {
            let entries = entries
                .into_iter()
                .map(|(key, item)| Ok((key, inner(item)?)));
            entries.collect::<Result<Value, ChatError>>()?
        }
        scalar => return Ok(Value::from_serialize(scalar)),
    };
    Ok(Data::of(&value, weight(&value, 0)?, mark))
}
