//! What both sides declare, with the types written as Rust writes them, and how two of them differ.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

/// Name and type of fields or parameters, in order.
pub type Members = Vec<(String, String)>;

#[derive(Debug, Default, PartialEq)]
pub struct Interface {
    /// Macros and enumerators: value and type.
    pub constants: BTreeMap<String, (u64, String)>,
    pub enumerations: BTreeSet<String>,
    pub opaque: BTreeSet<String>,
    pub structures: BTreeMap<String, Members>,
    /// Types of the parameters. No callback returns anything.
    pub callbacks: BTreeMap<String, Vec<String>>,
    /// Parameters and result.
    pub functions: BTreeMap<String, (Members, String)>,
}

impl Interface {
    /// Without the declarations that `other` does not have, but with all values of the enumerations that it has.
    pub fn part_in(mut self, other: &Self) -> Self {
        self.constants
            .retain(|_, (_, of)| other.enumerations.contains(of));
        self.enumerations
            .retain(|name| other.enumerations.contains(name));
        self.opaque.retain(|name| other.opaque.contains(name));
        self.structures
            .retain(|name, _| other.structures.contains_key(name));
        self.callbacks
            .retain(|name, _| other.callbacks.contains_key(name));
        self.functions
            .retain(|name, _| other.functions.contains_key(name));
        self
    }

    /// One line for each declaration that one side lacks or has differently.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        fn compare<V: PartialEq + Debug>(
            lines: &mut Vec<String>,
            noun: &str,
            header: &BTreeMap<String, V>,
            mirror: &BTreeMap<String, V>,
        ) {
            let names: BTreeSet<_> = header.keys().chain(mirror.keys()).collect();
            for name in names {
                let (ours, theirs) = (header.get(name), mirror.get(name));
                if ours != theirs {
                    lines.push(format!("{noun} {name}: header {ours:?}, mirror {theirs:?}"));
                }
            }
        }
        let set = |names: &BTreeSet<String>| names.iter().map(|n| (n.clone(), ())).collect();
        let mut lines = Vec::new();
        compare(&mut lines, "constant", &self.constants, &other.constants);
        compare(
            &mut lines,
            "enumeration",
            &set(&self.enumerations),
            &set(&other.enumerations),
        );
        compare(
            &mut lines,
            "opaque",
            &set(&self.opaque),
            &set(&other.opaque),
        );
        compare(&mut lines, "structure", &self.structures, &other.structures);
        compare(&mut lines, "callback", &self.callbacks, &other.callbacks);
        compare(&mut lines, "function", &self.functions, &other.functions);
        lines
    }
}
