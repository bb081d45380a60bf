//! The headers in `native/include/` and `src/sys/` declare the same interface: every function with the names and types
//! of its parameters, every structure field by field, every callback type, every constant.
//!
//! The headers are read by clang (its syntax tree as JSON), the mirror by `syn`; both become an [`Interface`], in which
//! types are written as Rust writes them.
#![cfg(metal_backend)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use metal_bridge_test_support::run_clang;
use quote::ToTokens;
use serde_json::Value;

/// As one text: the include of the first in the second adds nothing any more.
const HEADER: &str = concat!(
    include_str!("../native/include/metal_bridge.h"),
    include_str!("../native/include/metal_bridge_memory.h")
);
const INCLUDE: &str = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/native/include");
const MIRROR: &str = include_str!("../src/sys/mod.rs");
const MEMORY_MIRROR: &str = include_str!("../src/sys/memory.rs");

/// Name and type of fields or parameters, in order.
type Members = Vec<(String, String)>;

#[derive(Debug, Default, PartialEq)]
struct Interface {
    /// Macros and enumerators: value and type.
    constants: BTreeMap<String, (u64, String)>,
    enumerations: BTreeSet<String>,
    opaque: BTreeSet<String>,
    structures: BTreeMap<String, Members>,
    /// Types of the parameters. No callback returns anything.
    callbacks: BTreeMap<String, Vec<String>>,
    /// Parameters and result.
    functions: BTreeMap<String, (Members, String)>,
}

impl Interface {
    /// One line for each declaration that one side lacks or has differently.
    fn differences(&self, other: &Self) -> Vec<String> {
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

// ------------------------------------------------------------------------------------------- the header, by clang

fn read_c(arguments: &[&str], source: &str) -> Vec<u8> {
    run_clang(
        &[&["-std=c17", "-x", "c", INCLUDE], arguments].concat(),
        source,
    )
}

/// The names of the header's own macros that stand for a value.
fn value_macros(header: &str) -> Vec<String> {
    let text = String::from_utf8(read_c(&["-E", "-dM"], header)).expect("UTF-8");
    let names = text
        .lines()
        .filter_map(|line| line.strip_prefix("#define MTB_"));
    names
        .filter_map(|rest| rest.split_once(' '))
        .map(|(name, _)| format!("MTB_{name}"))
        .collect()
}

fn read_header(header: &str) -> Interface {
    let macros = value_macros(header);
    let probes: String = macros
        .iter()
        .map(|m| format!("enum {{ probe_{m} = {m} }};\n"))
        .collect();
    let source = format!("{header}\n{probes}");
    let tree = read_c(&["-fsyntax-only", "-Xclang", "-ast-dump=json"], &source);
    let tree: Value = serde_json::from_slice(&tree).expect("clang's syntax tree");

    let mut interface = Interface::default();
    for node in children(&tree) {
        let name = node["name"].as_str().unwrap_or("").to_owned();
        let is_ours = name.starts_with("mtb_");
        match node["kind"].as_str().unwrap_or("") {
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
    for constant in children(node).filter(|child| child["kind"] == "EnumConstantDecl") {
        let full = constant["name"].as_str().expect("a name");
        let value = constant_value(constant).expect("every enumerator says its value");
        // A negative enumerator would make the type signed: it does not parse here.
        let value: u64 = value.parse().expect("no enumerator is negative");
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

// --------------------------------------------------------------------------------------------- the mirror, by syn

/// What stands inside `abi! { ... }`.
struct Functions(Vec<syn::ForeignItemFn>);

impl syn::parse::Parse for Functions {
    fn parse(input: syn::parse::ParseStream<'_>) -> syn::Result<Self> {
        let mut functions = Vec::new();
        while !input.is_empty() {
            functions.push(input.parse()?);
        }
        Ok(Self(functions))
    }
}

fn read_mirror(mirror: &str) -> Interface {
    let files = [mirror, MEMORY_MIRROR].map(|text| syn::parse_file(text).expect("Rust"));
    let mut interface = Interface::default();
    for item in files.iter().flat_map(|file| &file.items) {
        match item {
            syn::Item::Const(constant) => {
                let value = (value(&constant.expr), text(&constant.ty));
                interface
                    .constants
                    .insert(constant.ident.to_string(), value);
            }
            syn::Item::Type(alias) => read_alias(&mut interface, alias),
            syn::Item::Struct(structure) => {
                let is_c = structure.attrs.iter().any(|a| text(a) == "# [repr (C)]");
                assert!(is_c, "{} is not #[repr(C)]", structure.ident);
                let fields = structure.fields.iter();
                let fields = fields.map(|f| (f.ident.as_ref().map(text), text(&f.ty)));
                let fields = fields
                    .map(|(name, of)| (name.expect("a named field"), of))
                    .collect();
                interface
                    .structures
                    .insert(structure.ident.to_string(), fields);
            }
            syn::Item::Macro(call) if call.mac.path.is_ident("opaque") => {
                let names = call
                    .mac
                    .tokens
                    .clone()
                    .into_iter()
                    .map(|token| token.to_string());
                interface.opaque.extend(names);
            }
            syn::Item::Macro(call) if call.mac.path.is_ident("abi") => {
                let Functions(functions) = call.mac.parse_body().expect("declarations");
                for function in functions {
                    let (name, declaration) = read_function(&function.sig);
                    interface.functions.insert(name, declaration);
                }
            }
            _ => {}
        }
    }
    interface
}

/// Tokens as text, with pointers spelt as rustfmt does.
fn text(tokens: &impl ToTokens) -> String {
    tokens.to_token_stream().to_string().replace("* ", "*")
}

fn value(expression: &syn::Expr) -> u64 {
    match text(expression).as_str() {
        "u64 :: MAX" => u64::MAX,
        literal => literal.parse().expect("a number"),
    }
}

fn read_alias(interface: &mut Interface, alias: &syn::ItemType) {
    let name = alias.ident.to_string();
    let target = text(&alias.ty);
    if target == "u32" {
        interface.enumerations.insert(name);
        return;
    }
    let inside = target
        .strip_prefix("Option < unsafe extern \"C\" fn (")
        .and_then(|rest| rest.strip_suffix(") >"))
        .unwrap_or_else(|| panic!("{name} is neither an enumeration nor a callback: {target}"));
    let types = inside
        .split(',')
        .map(|parameter| parameter.split_once(':').expect("a name").1);
    interface
        .callbacks
        .insert(name, types.map(|of| of.trim().to_owned()).collect());
}

fn read_function(signature: &syn::Signature) -> (String, (Members, String)) {
    let parameters = signature.inputs.iter().map(|input| match input {
        syn::FnArg::Typed(parameter) => (text(&parameter.pat), text(&parameter.ty)),
        syn::FnArg::Receiver(_) => panic!("{} has a receiver", signature.ident),
    });
    let result = match &signature.output {
        syn::ReturnType::Default => "()".to_owned(),
        syn::ReturnType::Type(_, of) => text(of),
    };
    (signature.ident.to_string(), (parameters.collect(), result))
}

// ------------------------------------------------------------------------------------------------------ the tests

#[test]
fn header_and_mirror_agree() {
    let (header, mirror) = (read_header(HEADER), read_mirror(MIRROR));
    // Should a reader go blind, this test must not pass for want of anything to compare.
    assert!(
        header.functions.len() > 90,
        "{} functions",
        header.functions.len()
    );
    assert!(
        header.constants.len() > 100,
        "{} constants",
        header.constants.len()
    );
    assert!(header.structures.len() >= 7 && header.opaque.len() == 16);
    assert!(header.callbacks.len() == 5 && header.enumerations.len() >= 12);
    let differences = header.differences(&mirror);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Replaces the first `from`, which must be there.
fn changed(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "no `{from}` to change");
    text.replacen(from, to, 1)
}

#[test]
fn each_kind_of_disagreement_is_seen_in_the_header() {
    let mirror = read_mirror(MIRROR);
    for (from, to, culprit) in [
        (
            "mtb_buffer *buffer, size_t offset, size_t length,\n",
            "mtb_buffer *buffer, uint32_t offset, size_t length,\n",
            "mtb_blit_encoder_fill",
        ),
        (
            "uint8_t value, mtb_error **error);",
            "mtb_error **error);",
            "mtb_blit_encoder_fill",
        ),
        ("size_t mtb_page_size(void);", "", "mtb_page_size"),
        (
            "size_t mtb_page_size(void);",
            "uint32_t mtb_page_size(void);",
            "mtb_page_size",
        ),
        ("MTB_TIMEOUT = 11", "MTB_TIMEOUT = 21", "MTB_TIMEOUT"),
        (
            "MTB_MAX_BINDINGS 31u",
            "MTB_MAX_BINDINGS 32u",
            "MTB_MAX_BINDINGS",
        ),
        ("    double gpu_start;\n", "", "mtb_times"),
        (
            "    double gpu_start;\n    double gpu_end;",
            "    double gpu_end;\n    double gpu_start;",
            "mtb_times",
        ),
        (
            "(*mtb_event_callback)(uint64_t value",
            "(*mtb_event_callback)(uint32_t value",
            "mtb_event_callback",
        ),
        (
            "mtb_buffer *const *buffers",
            "const mtb_buffer *const *buffers",
            "mtb_compute_encoder_memory_barrier_buffers",
        ),
    ] {
        let lines = read_header(&changed(HEADER, from, to)).differences(&mirror);
        assert_eq!(lines.len(), 1, "{from} -> {to}: {lines:?}");
        assert!(lines[0].contains(culprit), "{from} -> {to}: {lines:?}");
    }
}

#[test]
fn each_kind_of_disagreement_is_seen_in_the_mirror() {
    let header = read_header(HEADER);
    for (from, to, culprit) in [
        (
            "pub fn mtb_device_count() -> usize;",
            "",
            "mtb_device_count",
        ),
        (
            "pub fn mtb_device_count() -> usize;",
            "pub fn mtb_device_count() -> u32;",
            "mtb_device_count",
        ),
        (
            "buffer: *const mtb_buffer) -> usize",
            "buffer: *mut mtb_buffer) -> usize",
            "mtb_buffer_length",
        ),
        ("MTB_OK: mtb_status = 0", "MTB_OK: mtb_status = 1", "MTB_OK"),
        (
            "MTB_FOREVER: u64 = u64::MAX",
            "MTB_FOREVER: u64 = 0",
            "MTB_FOREVER",
        ),
        (
            "    pub registry_id: u64,\n",
            "    pub registry_id: u32,\n",
            "mtb_device_info",
        ),
        ("    mtb_event\n", "", "mtb_event"),
        (
            "fn(value: u64, context",
            "fn(value: u32, context",
            "mtb_event_callback",
        ),
    ] {
        let lines = header.differences(&read_mirror(&changed(MIRROR, from, to)));
        assert_eq!(lines.len(), 1, "{from} -> {to}: {lines:?}");
        assert!(lines[0].contains(culprit), "{from} -> {to}: {lines:?}");
    }
}
