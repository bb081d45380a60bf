//! Names of tests are sentences that fit in a line of a report.

use syn::visit::{self, Visit};

use crate::files;
use crate::sources::Sources;

const CHARACTERS: usize = 55;

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
        if is_test && name.len() > CHARACTERS {
            self.0.push(format!(
                "{name}: {} characters, more than {CHARACTERS}",
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

/// The claims in the tables of tests in C, `{"subject: claim", function}`, that are too long.
fn long_claims(source: &str) -> Vec<String> {
    let tables = source.split("const test ").skip(1);
    let tables = tables.filter_map(|rest| rest.split_once("};"));
    let names = tables.flat_map(|(table, _)| table.split("{\"").skip(1));
    let names = names.filter_map(|rest| rest.split_once('"'));
    let claims = names.map(|(name, _)| name.split_once(": ").map_or(name, |(_, claim)| claim));
    claims
        .filter(|claim| claim.len() > CHARACTERS)
        .map(|claim| {
            format!(
                "{claim}: {} characters, more than {CHARACTERS}",
                claim.len()
            )
        })
        .collect()
}

#[test]
fn claims_of_tests_in_c_are_short() {
    let (mut tables, mut long) = (0, Vec::new());
    for (path, text) in files::read(&["tests/native"]) {
        tables += text.matches("const test ").count();
        let claims = long_claims(&text);
        long.extend(claims.iter().map(|claim| format!("{path}: {claim}")));
    }
    assert!(tables > 20, "the reader sees {tables} tables only");
    files::assert_none(&long);
}

#[test]
fn a_long_claim_in_c_is_found() {
    let claim = "a".repeat(CHARACTERS);
    let source = format!(
        "const test all_tests[] = {{\n {{\"b: {claim}\", f}},\n {{\"{claim}c\",\n g}},\n {{NULL, NULL}},\n}};\n\
         const other list[] = {{\n {{\"{claim}d\", f}},\n}};\n"
    );
    let expected = format!("{claim}c: 56 characters, more than 55");
    assert_eq!(long_claims(&source), [expected]);
}

#[test]
fn names_of_tests_are_short() {
    let mut long = Vec::new();
    for folder in ["src", "crates", "tests"] {
        let sources = Sources::read(folder).0;
        // Parsing takes long.
        for (path, text) in sources.iter().filter(|(_, text)| text.contains("test]")) {
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
    let name = "a".repeat(CHARACTERS);
    let source = format!(
        "#[test] fn {name}() {{}} mod tests {{ #[test] fn {name}b() {{}} fn {name}c() {{}} }}"
    );
    let expected = format!("{name}b: 56 characters, more than 55");
    assert_eq!(long_names(&source).unwrap(), [expected]);
}
