//! Marks inside of what a message spells like a control token.

use std::collections::BTreeSet;

use serde_json::Value;

use super::error::ChatError;
use crate::tokenizer::Tokenizer;

/// Characters for private use, which no text of a language has.
const PRIVATE: std::ops::RangeInclusive<char> = '\u{F0000}'..='\u{10FFFD}';

/// The mark of one chat, and the texts that it breaks.
pub(super) struct Marks<'a> {
    mark: char,
    control_texts: Vec<&'a str>,
}

impl<'a> Marks<'a> {
    /// A mark that occurs neither in the template nor in the data.
    pub fn new<const COUNT: usize>(
        tokenizer: &'a Tokenizer,
        template: &str,
        data: [&Value; COUNT],
    ) -> Result<Self, ChatError> {
        let mut taken = BTreeSet::new();
        let mut take = |text: &str| {
            taken.extend(text.chars().filter(|character| PRIVATE.contains(character)));
        };
        take(template);
        for value in data {
            each_text(value, &mut take);
        }
        let free = PRIVATE.rev().find(|character| !taken.contains(character));
        let full = || ChatError::data("it has every character for private use");
        Ok(Self {
            mark: free.ok_or_else(full)?,
            control_texts: tokenizer.control_texts().collect(),
        })
    }

    pub fn mark(&self) -> char {
        self.mark
    }

    /// `text` without marks.
    pub fn removed(&self, text: &str) -> String {
        text.replace(self.mark, "")
    }

    /// Marks all texts but roles.
    pub fn put_into_messages(&self, messages: &mut Value) {
        let messages = messages.as_array_mut().into_iter().flatten();
        for (key, value) in messages.flat_map(Value::as_object_mut).flatten() {
            if key != "role" {
                self.put_into(value);
            }
        }
    }

    /// Marks all texts, those of keys too.
    pub fn put_into(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.put(text),
            Value::Array(values) => values.iter_mut().for_each(|value| self.put_into(value)),
            Value::Object(entries) => {
                let marked = std::mem::take(entries).into_iter().map(|(key, mut value)| {
                    self.put_into(&mut value);
                    (self.put(&key), value)
                });
                *entries = marked.collect();
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn put(&self, text: &str) -> String {
        // Templates often remove white space at both ends.
        let end = text.trim_end();
        let beginning = text.len() - text.trim_start().len();
        let mut places = BTreeSet::new();
        for control in &self.control_texts {
            let Some(first) = control.chars().next().map(char::len_utf8) else {
                continue;
            };
            // Occurrences may overlap.
            let mut from = 0;
            while let Some(at) = text[from..].find(control) {
                places.insert(from + at + first);
                from += at + first;
            }
            for (cut, _) in control.char_indices().skip(1) {
                if end.ends_with(&control[..cut]) {
                    places.insert(end.len() - cut + first);
                }
                if text[beginning..].starts_with(&control[cut..]) {
                    places.insert(beginning);
                }
            }
        }
        let mut marked = String::with_capacity(text.len() + places.len() * self.mark.len_utf8());
        let mut from = 0;
        for place in places {
            marked.push_str(&text[from..place]);
            marked.push(self.mark);
            from = place;
        }
        marked + &text[from..]
    }
}

fn each_text(value: &Value, take: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => take(text),
        Value::Array(values) => values.iter().for_each(|value| each_text(value, take)),
        Value::Object(entries) => entries.iter().for_each(|(key, value)| {
            take(key);
            each_text(value, take);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
