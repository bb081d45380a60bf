//! The headers, read by clang: its syntax tree as JSON.

use metal_bridge_test_support::run_clang;
use serde_json::Value;
use std::path::Path;

use crate::files::{self, Files};
use crate::interface::{Interface, Members};

/// What a program includes to have all of the bridge.
pub const BRIDGE: &str = "#include <metal_bridge.h>\n#include <metal_bridge_memory.h>\n#include <metal_bridge_mps.h>\n#include <metal_bridge_indirect.h>\n#include <metal_bridge_functions.h>\n";

/// What it includes to check sources with the software Metal.
pub const SOFTWARE: &str = "#include <msl.h>\n";

/// What clang writes for a program in C that finds the headers in this folder.
fn read_c(headers: &Path, arguments: &[&str], program: &str) -> Vec<u8> {
    let include = format!("-I{}", headers.display());
    run_clang(
        &[&["-std=c17", "-x", "c", &include], arguments].concat(),
        program,
    )
}

/// The names of the headers' own macros that stand for a value.
fn value_macros(headers: &Path, program: &str) -> Vec<String> {
    let text = String::from_utf8(read_c(headers, &["-E", "-dM"], program)).expect("UTF-8");
    let names = text
        .lines()
        .filter_map(|line| line.strip_prefix("#define MTB_"));
    names
        .filter_map(|rest| rest.split_once(' '))
        .map(|(name, _)| format!("MTB_{name}"))
        .collect()
}

/// What `program` has of the headers.
pub fn read_header(headers: &Files, program: &str) -> Interface {
    let folder = tempfile::tempdir().expect("a folder");
    files::write(folder.path(), headers);
    let probes: String = value_macros(folder.path(), program)
        .iter()
        .map(|m| format!("enum {{ probe_{m} = {m} }};\n"))
        .collect();
    let dump = ["-fsyntax-only", "-Xclang", "-ast-dump=json"];
    let tree = read_c(folder.path(), &dump, &format!("{program}{probes}"));
    let tree: Value = serde_json::from_slice(&tree).expect("clang's syntax tree");

    let mut interface = Interface::default();
    let nodes: Vec<_> = children(&tree).collect();
    for (index, node) in nodes.iter().enumerate() {
        let kind = node["kind"].as_str().unwrap_or("");
        let mut name = node["name"].as_str().unwrap_or("").to_owned();
        let next = nodes.get(index + 1);
        if let Some(next) = next.filter(|next| name.is_empty() && next["kind"] == "TypedefDecl") {
            // `typedef struct { ... } name;`
            name = next["name"].as_str().expect("a name").to_owned();
        }
        let is_ours = ["mtb_", "smtl_"].iter().any(|of| name.starts_with(of));
        match kind {
            "EnumDecl" if is_ours || name.is_empty() => {
                read_enumeration(&mut interface, node, name)
            }
            "RecordDecl" if is_ours => read_record(&mut interface, node, name),
            "TypedefDecl" if is_ours => read_callback(&mut interface, node, name),
            "FunctionDecl" if is_ours => {
                let parameters = members(node, "ParmVarDecl");
                let result = spelling(node).split('(').next().unwrap_or("").to_owned();
                interface
                    .functions
                    .insert(name, (parameters, rust_type(&result)));
            }
            _ => {}
        }
    }
    interface
}

fn children(node: &Value) -> impl Iterator<Item = &Value> {
    node["inner"].as_array().into_iter().flatten()
}

fn spelling(node: &Value) -> &str {
    node["type"]["qualType"].as_str().expect("a type")
}

fn members(node: &Value, kind: &str) -> Members {
    let of_kind = children(node).filter(|child| child["kind"] == kind);
    of_kind
        .map(|child| {
            (
                child["name"].as_str().expect("a name").to_owned(),
                rust_type(spelling(child)),
            )
        })
        .collect()
}

fn read_enumeration(interface: &mut Interface, node: &Value, name: String) {
    let mut next = 0;
    for constant in children(node).filter(|child| child["kind"] == "EnumConstantDecl") {
        let full = constant["name"].as_str().expect("a name");
        // A negative enumerator would make the type signed: it does not parse here.
        let value: u64 = constant_value(constant).map_or(next, |value| {
            value.parse().expect("no enumerator is negative")
        });
        next = value.wrapping_add(1);
        match full.strip_prefix("probe_") {
            Some(own) => {
                let width = if value > u64::from(u32::MAX) {
                    "u64"
                } else {
                    "u32"
                };
                interface
                    .constants
                    .insert(own.to_owned(), (value, width.to_owned()));
            }
            None => {
                assert!(
                    value <= u64::from(u32::MAX),
                    "{full} makes its type wider than u32"
                );
                interface
                    .constants
                    .insert(full.to_owned(), (value, name.clone()));
            }
        }
    }
    if !name.is_empty() {
        interface.enumerations.insert(name);
    }
}

/// The value that clang has computed, which it writes at the outermost expression that is constant.
fn constant_value(node: &Value) -> Option<&str> {
    children(node).find_map(|child| child["value"].as_str().or_else(|| constant_value(child)))
}

fn read_record(interface: &mut Interface, node: &Value, name: String) {
    if node["completeDefinition"] == true {
        interface
            .structures
            .insert(name, members(node, "FieldDecl"));
    } else {
        interface.opaque.insert(name);
    }
}

fn read_callback(interface: &mut Interface, node: &Value, name: String) {
    let Some(parameters) = spelling(node).strip_prefix("void (*)(") else {
        return;
    };
    let parameters = parameters
        .trim_end_matches(')')
        .split(',')
        .map(rust_type)
        .collect();
    interface.callbacks.insert(name, parameters);
}

/// C's spelling of a type in Rust's.
fn rust_type(spelling: &str) -> String {
    if let Some((element, length)) = spelling.trim_end_matches(']').split_once('[') {
        return format!("[{} ; {length}]", rust_type(element));
    }
    let spaced = spelling.replace('*', " * ");
    let mut result = String::new();
    let mut is_const = false;
    for word in spaced.split_whitespace() {
        match word {
            "const" => is_const = true,
            "*" => {
                let pointer = if is_const { "*const" } else { "*mut" };
                result = format!("{pointer} {result}");
                is_const = false;
            }
            base => result = base_type(base).to_owned(),
        }
    }
    if result == "c_void" {
        "()".to_owned()
    } else {
        result
    }
}

fn base_type(name: &str) -> &str {
    match name {
        "void" => "c_void",
        "char" => "c_char",
        "_Bool" | "bool" => "bool",
        "double" => "f64",
        "uint8_t" => "u8",
        "uint32_t" => "u32",
        "uint64_t" => "u64",
        "int64_t" => "i64",
        "size_t" => "usize",
        other => other,
    }
}
