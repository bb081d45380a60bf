//! The oldest Rust that Cargo.toml names builds these packages. `scripts/platforms` builds them with it; here, with any Rust, the
//! sources are searched for the one newer syntax that the edition takes by itself: `let` in a chain of conditions (Rust 1.88).
//! What the standard library added since is found by clippy (`incompatible_msrv`).

use std::fs;
use std::path::Path;

use quote::ToTokens;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, ExprBinary};

/// The chains of conditions that have a `let`, as the parser prints them.
#[derive(Default)]
struct LetChains(Vec<String>);

impl<'ast> Visit<'ast> for LetChains {
    fn visit_expr_binary(&mut self, binary: &'ast ExprBinary) {
        let has_let = [&binary.left, &binary.right]
            .into_iter()
            .any(|side| matches!(**side, Expr::Let(_)));
        if has_let && matches!(binary.op, BinOp::And(_)) {
            self.0.push(binary.to_token_stream().to_string());
        }
        visit::visit_expr_binary(self, binary);
    }
}

fn let_chains(source: &str) -> syn::Result<Vec<String>> {
    let mut chains = LetChains::default();
    chains.visit_file(&syn::parse_file(source)?);
    Ok(chains.0)
}

/// The chains below a folder, behind their files' names; `target` folders hold no sources.
fn search(folder: &Path, found: &mut Vec<String>, files: &mut usize) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !path.is_symlink() && name != "target" && !name.starts_with('.') {
            search(&path, found, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            *files += 1;
            let source = fs::read_to_string(&path).unwrap();
            match let_chains(&source) {
                Ok(chains) => found.extend(
                    chains
                        .iter()
                        .map(|chain| format!("{}: {chain}", path.display())),
                ),
                Err(error) => found.push(format!("{}: {error}", path.display())),
            }
        }
    }
}

#[test]
fn a_chain_with_let_is_found() {
    let source = "fn f(a: Option<u8>) -> u8 {
        if let Some(b) = a { return b }
        if let Some(b) = a && b > 1 { return b }
        while a.is_some() && let Some(_) = a && true {}
        0
    }";
    let found = let_chains(source).unwrap();
    assert_eq!(found[0], "let Some (b) = a && b > 1");
    assert!(
        found[1].starts_with("a . is_some () && let Some (_) = a"),
        "{found:?}"
    );
    // The second `&&` of the loop joins a chain and `true`.
    assert_eq!(found.len(), 2);
}

#[test]
fn no_condition_chains_let() {
    let (mut found, mut files) = (Vec::new(), 0);
    search(
        Path::new(env!("CARGO_MANIFEST_DIR")),
        &mut found,
        &mut files,
    );
    assert!(files > 200, "only {files} sources were found");
    assert!(found.is_empty(), "Rust 1.85 has no let chains: {found:#?}");
}
