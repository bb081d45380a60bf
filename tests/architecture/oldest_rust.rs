//! The oldest Rust that Cargo.toml names builds these packages. `scripts/platforms` builds them with it; here, with any Rust, the
//! sources are searched for the one newer syntax that the edition takes by itself: `let` in a chain of conditions (Rust 1.88).
//! What the standard library added since is found by clippy (`incompatible_msrv`). The packages that Cargo.lock names say
//! themselves how old they are.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::{env, fs};

use quote::ToTokens;
use serde_json::Value;
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
            // Parsing takes long.
            if !source.contains("&&") {
                continue;
            }
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

/// The packages and what they need, as cargo tells without a network, for the host that the tests run on.
fn metadata() -> Value {
    let version = Command::new("rustc").arg("-vV").output().expect("rustc");
    let version = String::from_utf8(version.stdout).unwrap();
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    let output = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["metadata", "--offline", "--locked", "--format-version=1"])
        .args(["--filter-platform", host.expect("a host")])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// `1.85` and `1.85.0` as (1, 85); a package that names no version takes any.
fn rust_version(package: &Value) -> (u32, u32) {
    let text = package["rust_version"].as_str().unwrap_or("1.0");
    let mut parts = text.split('.').map(|part| part.parse().expect("a number"));
    (parts.next().unwrap(), parts.next().unwrap_or(0))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

/// The packages that a package of the workspace needs, itself too, which are newer than it claims.
fn too_new(metadata: &Value, name: &str) -> Vec<String> {
    let by_id = |value: &'_ Value| value["id"].as_str().unwrap().to_owned();
    let packages: BTreeMap<_, _> = list(&metadata["packages"])
        .iter()
        .map(|package| (by_id(package), package))
        .collect();
    let nodes: BTreeMap<_, _> = list(&metadata["resolve"]["nodes"])
        .iter()
        .map(|node| (by_id(node), node))
        .collect();
    let members = list(&metadata["workspace_members"]).iter();
    let mut members = members.map(|id| id.as_str().unwrap());
    let own = members
        .find(|id| packages[*id]["name"] == name)
        .expect("a package of the workspace");
    let (mut waiting, mut seen) = (vec![own], BTreeSet::new());
    while let Some(id) = waiting.pop() {
        if seen.insert(id) {
            let needed = list(&nodes[id]["dependencies"]).iter();
            waiting.extend(needed.map(|id| id.as_str().unwrap()));
        }
    }
    let claimed = rust_version(packages[own]);
    let newer = seen
        .iter()
        .map(|id| packages[*id])
        .filter(|p| rust_version(p) > claimed);
    newer
        .map(|package| {
            format!(
                "{name} claims Rust {claimed:?}, and {} {} needs {:?}",
                package["name"],
                package["version"],
                rust_version(package)
            )
        })
        .collect()
}

#[test]
fn no_locked_package_is_newer_than_what_needs_it() {
    let mut metadata = metadata();
    let ids = list(&metadata["workspace_members"]);
    let packages = list(&metadata["packages"]);
    assert!(packages.len() > 100, "{} packages", packages.len());
    let members = packages
        .iter()
        .filter(|package| ids.contains(&package["id"]));
    let names: Vec<_> = members
        .map(|package| package["name"].as_str().unwrap().to_owned())
        .collect();
    assert!(names.len() >= 8, "{names:?}");
    for name in &names {
        assert_eq!(too_new(&metadata, name), [""; 0]);
    }

    // One that is too new is seen, however far away it is: serde_json needs it.
    let packages = metadata["packages"].as_array_mut().unwrap();
    let far = packages
        .iter_mut()
        .find(|package| package["name"] == "itoa");
    far.expect("a package")["rust_version"] = "1.99".into();
    let newer = too_new(&metadata, "metal-bridge");
    assert!(newer.len() == 1 && newer[0].contains("itoa"), "{newer:?}");
}
