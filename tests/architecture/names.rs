//! Names of tests are sentences that fit in a line of a report.

use syn::visit::{self, Visit};

use crate::sources::Sources;

const LETTERS: usize = 55;

/// The names of functions that are tests and too long.
#[derive(Default)]
struct LongNames(Vec<String>);

impl<'a> Visit<'a> for LongNames {
    fn visit_item_fn(&mut self, function: &'a syn::ItemFn) {
        let is_test = function
            .attrs
            .iter()
            .any(|attribute| attribute.path().is_ident("test"));
        let name = function.sig.ident.to_string();
        if is_test && name.len() > LETTERS {
            self.0.push(format!(
                "{name}: {} letters, more than {LETTERS}",
                name.len()
            ));
        }
        visit::visit_item_fn(self, function);
    }
}

fn long_names(source: &str) -> syn::Result<Vec<String>> {
    let mut names = LongNames::default();
    names.visit_file(&syn::parse_file(source)?);
    Ok(names.0)
}

#[test]
fn names_of_tests_are_short() {
    let mut long = Vec::new();
    for folder in ["src", "crates", "tests"] {
        for (path, text) in &Sources::read(folder).0 {
            let names = long_names(text).unwrap_or_else(|e| panic!("{folder}/{path:?}: {e}"));
            long.extend(
                names
                    .iter()
                    .map(|name| format!("{folder}/{}: {name}", path.display())),
            );
        }
    }
    assert!(long.is_empty(), "{}", long.join("\n"));
}

#[test]
fn a_long_name_of_a_test_is_found() {
    let name = "a".repeat(LETTERS);
    let source = format!(
        "#[test] fn {name}() {{}} mod tests {{ #[test] fn {name}b() {{}} fn {name}c() {{}} }}"
    );
    let expected = format!("{name}b: 56 letters, more than 55");
    assert_eq!(long_names(&source).unwrap(), [expected]);
}
