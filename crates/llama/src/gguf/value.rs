//! Metadata values.

/// A metadata value, as typed in the file.
#[derive(Clone, Debug, PartialEq)]
#[allow(
    missing_docs,
    reason = "the variants are the format's own types, named as Rust names them"
)]
pub enum Value {
    U8(u8),
    I8(i8),
    U16(u16),
    I16(i16),
    U32(u32),
    I32(i32),
    F32(f32),
    Bool(bool),
    String(String),
    Array(Array),
    U64(u64),
    I64(i64),
    F64(f64),
}

/// An array of metadata values, all of one type.
#[derive(Clone, Debug, PartialEq)]
#[allow(
    missing_docs,
    reason = "the variants are the format's own types, named as Rust names them"
)]
pub enum Array {
    U8(Vec<u8>),
    I8(Vec<i8>),
    U16(Vec<u16>),
    I16(Vec<i16>),
    U32(Vec<u32>),
    I32(Vec<i32>),
    F32(Vec<f32>),
    Bool(Vec<bool>),
    String(StringArray),
    Array(Vec<Array>),
    U64(Vec<u64>),
    I64(Vec<i64>),
    F64(Vec<f64>),
}

/// An array of strings in two allocations instead of one a string: vocabularies have a hundred thousand of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StringArray {
    pub(super) text: String,
    pub(super) ends: Vec<usize>,
}

impl StringArray {
    /// The number of strings.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// String `index`; `None` past the end.
    pub fn get(&self, index: usize) -> Option<&str> {
        let end = *self.ends.get(index)?;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some(&self.text[start..end])
    }

    /// The strings in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        let mut start = 0;
        self.ends
            .iter()
            .map(move |&end| &self.text[std::mem::replace(&mut start, end)..end])
    }

    /// Adds a string at the end.
    pub fn push(&mut self, string: &str) {
        self.text.push_str(string);
        self.ends.push(self.text.len());
    }
}

impl<S: AsRef<str>> FromIterator<S> for StringArray {
    fn from_iter<I: IntoIterator<Item = S>>(strings: I) -> Self {
        let mut array = Self::default();
        strings.into_iter().for_each(|s| array.push(s.as_ref()));
        array
    }
}

/// Declares what follows from the list of types: the number that stands for each in a file, and its name.
macro_rules! types {
    ($($variant:ident, $constant:ident = $number:literal, $name:literal;)*) => {
        /// The number that stands for each type in a file.
        pub(super) mod type_id {
            $(pub const $constant: u32 = $number;)*
        }

        pub(super) fn type_name(id: u32) -> &'static str {
            match id {
                $(type_id::$constant => $name,)*
                _ => "of an unknown type",
            }
        }

        impl Value {
            pub(super) fn type_id(&self) -> u32 {
                match self {
                    $(Self::$variant(_) => type_id::$constant,)*
                }
            }
        }

        impl Array {
            /// The number of elements.
            pub fn len(&self) -> usize {
                match self {
                    $(Self::$variant(elements) => elements.len(),)*
                }
            }

            pub(super) fn element_type_id(&self) -> u32 {
                match self {
                    $(Self::$variant(_) => type_id::$constant,)*
                }
            }
        }
    };
}

types! {
    U8, U8 = 0, "u8";
    I8, I8 = 1, "i8";
    U16, U16 = 2, "u16";
    I16, I16 = 3, "i16";
    U32, U32 = 4, "u32";
    I32, I32 = 5, "i32";
    F32, F32 = 6, "f32";
    Bool, BOOL = 7, "bool";
    String, STRING = 8, "string";
    Array, ARRAY = 9, "array";
    U64, U64 = 10, "u64";
    I64, I64 = 11, "i64";
    F64, F64 = 12, "f64";
}

impl Value {
    /// The type in words, for messages: `u32`, `string`, `array of f32`, ...
    pub fn type_name(&self) -> String {
        match self {
            Self::Array(array) => format!("array of {}", array.element_type_name()),
            other => type_name(other.type_id()).to_owned(),
        }
    }

    /// An unsigned integer of any width, or a signed one that is not negative.
    pub(super) fn to_u64(&self) -> Option<u64> {
        match *self {
            Self::U8(v) => Some(v.into()),
            Self::U16(v) => Some(v.into()),
            Self::U32(v) => Some(v.into()),
            Self::U64(v) => Some(v),
            Self::I8(v) => v.try_into().ok(),
            Self::I16(v) => v.try_into().ok(),
            Self::I32(v) => v.try_into().ok(),
            Self::I64(v) => v.try_into().ok(),
            _ => None,
        }
    }
}

impl Array {
    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn element_type_name(&self) -> &'static str {
        type_name(self.element_type_id())
    }
}
