//! Two interfaces side by side.

use std::collections::BTreeMap;
use std::fmt;

use crate::interface::{Container, Interface};

/// How much was compared.
#[derive(Debug, Default)]
pub struct Counts {
    protocols: usize,
    classes: usize,
    selectors: usize,
    enumerations: usize,
    values: usize,
    structures: usize,
    functions: usize,
    strings: usize,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "compared with Apple's: {} selectors of {} protocols and {} classes, {} values of {} enumerations, {} \
             structures, {} functions, {} string constants",
            self.selectors,
            self.protocols,
            self.classes,
            self.values,
            self.enumerations,
            self.structures,
            self.functions,
            self.strings
        )
    }
}

impl Counts {
    /// Should a reader go blind, the test must not pass for want of anything to compare.
    pub fn expect_many(&self) {
        assert!(self.protocols > 30 && self.classes > 60, "{self}");
        assert!(self.selectors > 800 && self.values > 360, "{self}");
        assert!(self.enumerations > 30 && self.structures > 5, "{self}");
        assert!(self.functions >= 2 && self.strings >= 4, "{self}");
    }
}

#[derive(Default)]
pub struct Comparison {
    pub counts: Counts,
    /// One line for each thing of ours that Apple has not, or has otherwise.
    pub differences: Vec<String>,
    /// What Apple has and we have not: `MTLDevice -newFence` for a method of something that we declare, otherwise the kind
    /// and the name.
    pub missing: Vec<String>,
}

impl Comparison {
    pub fn of(ours: &Interface, apples: &Interface) -> Self {
        let mut result = Self::default();
        result.counts.protocols = ours.protocols.len();
        result.counts.classes = ours.classes.len();
        result.containers("protocol", &ours.protocols, &apples.protocols);
        result.containers("class", &ours.classes, &apples.classes);
        result.counts.enumerations =
            result.same("enumeration", &ours.enumerations, &apples.enumerations);
        result.counts.values = result.same("value", &ours.values, &apples.values);
        // All values of an enumeration that is missing are missing.
        let has_enumeration = |value: &str| {
            let enumeration = apples.enumeration_of.get(value);
            enumeration.is_none_or(|name| ours.enumerations.contains_key(name))
        };
        result
            .missing
            .retain(|entry| entry.strip_prefix("value ").is_none_or(has_enumeration));
        result.counts.structures = result.same("structure", &ours.structures, &apples.structures);
        result.counts.functions = result.same("function", &ours.functions, &apples.functions);
        let set = |names: &std::collections::BTreeSet<String>| {
            names.iter().map(|name| (name.clone(), ())).collect()
        };
        result.counts.strings = result.same("string", &set(&ours.strings), &set(&apples.strings));
        result
    }

    /// Compares by name; the number compared.
    fn same<V: PartialEq + fmt::Debug>(
        &mut self,
        noun: &str,
        ours: &BTreeMap<String, V>,
        apples: &BTreeMap<String, V>,
    ) -> usize {
        for (name, value) in ours {
            let apple = apples.get(name);
            if apple != Some(value) {
                let line = format!("{noun} {name}: ours {value:?}, Apple's {apple:?}");
                self.differences.push(line);
            }
        }
        let missing = apples.keys().filter(|name| !ours.contains_key(*name));
        self.missing
            .extend(missing.map(|name| format!("{noun} {name}")));
        ours.len()
    }

    fn containers(
        &mut self,
        noun: &str,
        ours: &BTreeMap<String, Container>,
        apples: &BTreeMap<String, Container>,
    ) {
        for (name, container) in ours {
            let Some(apple) = apples.get(name) else {
                self.differences
                    .push(format!("{noun} {name}: Apple has none"));
                continue;
            };
            for (selector, method) in &container.methods {
                self.counts.selectors += 1;
                let apple = Interface::find(apples, name, selector);
                let is_root = selector == "-init" || selector.starts_with("-copyWithZone:");
                if apple != Some(method) && !(apple.is_none() && is_root) {
                    let line = format!("{name} {selector}: ours {method:?}, Apple's {apple:?}");
                    self.differences.push(line);
                }
            }
            for selector in apple.methods.keys() {
                // Every class inherits these.
                let is_root = selector == "-init" || selector == "+new";
                if !is_root && Interface::find(ours, name, selector).is_none() {
                    self.missing.push(format!("{name} {selector}"));
                }
            }
        }
        let missing = apples.keys().filter(|name| !ours.contains_key(*name));
        self.missing
            .extend(missing.map(|name| format!("{noun} {name}")));
    }
}
