//! What both sides are read into: Metal's interface with types in one spelling.
//!
//! A type is `void`, `bool`, `u64`, `f32` and so on; the name of a structure or enumeration; `object NSString` or
//! `object <MTLBuffer>` for a pointer to an instance; `block`; or `*` and the type pointed to. Nullability, `const` and the
//! elements of collections are left out.

use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Clone, PartialEq)]
pub struct Method {
    pub parameters: Vec<String>,
    pub result: String,
}

/// A protocol or a class.
#[derive(Debug, Default)]
pub struct Container {
    /// Superclass and protocols adopted.
    pub ancestors: Vec<String>,
    /// By selector, with `-` or `+` before it.
    pub methods: BTreeMap<String, Method>,
}

#[derive(Debug, Default)]
pub struct Interface {
    pub protocols: BTreeMap<String, Container>,
    pub classes: BTreeMap<String, Container>,
    /// Integer type.
    pub enumerations: BTreeMap<String, String>,
    /// Enumerators and constants, by Apple's full name, modulo 2^64: signed and unsigned spellings are the same bits.
    pub values: BTreeMap<String, u64>,
    /// The enumeration of each enumerator, where it has a name.
    pub enumeration_of: BTreeMap<String, String>,
    /// Names and types of the fields, in order.
    pub structures: BTreeMap<String, Vec<(String, String)>>,
    /// Parameters, then the result.
    pub functions: BTreeMap<String, Method>,
    /// Exported string constants.
    pub strings: BTreeSet<String>,
}

impl Interface {
    /// The method as the container or one of its ancestors declares it.
    pub fn find<'a>(
        containers: &'a BTreeMap<String, Container>,
        name: &str,
        selector: &str,
    ) -> Option<&'a Method> {
        let container = containers.get(name)?;
        container.methods.get(selector).or_else(|| {
            let mut ancestors = container.ancestors.iter();
            ancestors.find_map(|ancestor| Self::find(containers, ancestor, selector))
        })
    }
}
