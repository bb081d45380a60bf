//! Apple's interface, as the sources of the package `objc2-metal` and its siblings declare it: generated from Apple's headers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use syn::parse::{Parse, ParseStream};

use crate::interface::{Container, Interface};
use crate::rust_types::{self, Aliases, text};

const PACKAGES: [&str; 3] = [
    "objc2-metal",
    "objc2-metal-performance-shaders",
    "objc2-metal-performance-shaders-graph",
];

/// What all of the packages declare.
pub fn read() -> Interface {
    let mut reader = Reader::default();
    for folder in folders() {
        // What Apple says with macros or for some systems alone, a package writes by hand outside of the generated files.
        for name in ["resource.rs", "counters.rs", "device.rs"] {
            let file = folder.join(name);
            if file.exists() {
                reader.read_file(&file);
            }
        }
        reader.read_folder(&folder.join("generated"));
    }
    reader.finish()
}

/// Where cargo keeps the packages' sources.
fn folders() -> [PathBuf; 3] {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--manifest-path"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .output()
        .expect("cargo starts");
    let metadata: serde_json::Value =
        serde_json::from_slice(&output.stdout).expect("cargo's metadata");
    let packages = metadata["packages"].as_array().expect("packages");
    PACKAGES.map(|name| {
        let package = packages
            .iter()
            .find(|package| package["name"] == name)
            .unwrap_or_else(|| panic!("{name} among the dependencies"));
        let manifest = Path::new(package["manifest_path"].as_str().expect("a path"));
        manifest.parent().expect("a folder").join("src")
    })
}

#[derive(Default)]
struct Reader {
    interface: Interface,
    aliases: Aliases,
    constants: Vec<Constant>,
    structures: Vec<syn::ItemStruct>,
}

struct Constant {
    /// As Rust names it: `MTLDataType::Float`, or the name alone.
    path: String,
    /// Apple's name.
    name: String,
    value: syn::Expr,
}

/// The functions that a macro holds, as declarations of foreign functions.
struct Declarations(Vec<syn::ForeignItemFn>);

impl Parse for Declarations {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut functions = Vec::new();
        while !input.is_empty() {
            functions.push(input.parse()?);
        }
        Ok(Self(functions))
    }
}

/// `impl Name: Integer { const A = 1; ... }`, as `bitflags!` takes it.
struct Flags {
    name: syn::Ident,
    integer: syn::Type,
    constants: Vec<(Vec<syn::Attribute>, syn::Ident, syn::Expr)>,
}

impl Parse for Flags {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        input.parse::<syn::Token![impl]>()?;
        let name = input.parse()?;
        input.parse::<syn::Token![:]>()?;
        let integer = input.parse()?;
        let body;
        syn::braced!(body in input);
        let mut constants = Vec::new();
        while !body.is_empty() {
            let attributes = body.call(syn::Attribute::parse_outer)?;
            body.parse::<syn::Token![const]>()?;
            let constant = body.parse()?;
            body.parse::<syn::Token![=]>()?;
            constants.push((attributes, constant, body.parse()?));
            body.parse::<syn::Token![;]>()?;
        }
        Ok(Self {
            name,
            integer,
            constants,
        })
    }
}

impl Reader {
    fn read_folder(&mut self, folder: &Path) {
        let mut paths: Vec<_> = std::fs::read_dir(folder)
            .expect("the generated sources")
            .map(|entry| entry.expect("an entry").path())
            .collect();
        paths.sort();
        for path in paths {
            if path.is_dir() {
                self.read_folder(&path);
            } else {
                self.read_file(&path);
            }
        }
    }

    fn read_file(&mut self, path: &Path) {
        let source = std::fs::read_to_string(path).expect("a readable file");
        let file =
            syn::parse_file(&source).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for item in file.items {
            self.read_item(item);
        }
    }

    fn read_item(&mut self, item: syn::Item) {
        match item {
            syn::Item::Macro(call) => self.read_macro(&call.mac),
            syn::Item::Impl(implementation) => self.read_impl(implementation),
            syn::Item::Type(alias) => {
                self.aliases.insert(alias.ident.to_string(), *alias.ty);
            }
            syn::Item::Struct(structure) => self.structures.push(structure),
            syn::Item::Const(constant) => {
                let name = constant.ident.to_string();
                let value = *constant.expr;
                self.constants.push(Constant {
                    path: name.clone(),
                    name,
                    value,
                });
            }
            syn::Item::Static(constant) => {
                let name = constant.ident.to_string();
                let value = *constant.expr;
                self.constants.push(Constant {
                    path: name.clone(),
                    name,
                    value,
                });
            }
            syn::Item::ForeignMod(block) => {
                for item in block.items {
                    match item {
                        syn::ForeignItem::Static(constant) => {
                            self.interface.strings.insert(constant.ident.to_string());
                        }
                        syn::ForeignItem::Fn(function) => self.read_function(&function.sig),
                        _ => {}
                    }
                }
            }
            // The wrappers of C functions.
            syn::Item::Fn(function) => self.read_function(&function.sig),
            _ => {}
        }
    }

    fn read_function(&mut self, signature: &syn::Signature) {
        let function = rust_types::method(signature, "", &self.aliases);
        let name = signature.ident.to_string();
        self.interface.functions.insert(name, function);
    }

    fn read_macro(&mut self, call: &syn::Macro) {
        let name = text(&call.path);
        match name.as_str() {
            "extern_protocol" => {
                let declared: syn::ItemTrait = call.parse_body().expect("a protocol");
                self.read_protocol(&declared);
            }
            "extern_class" => {
                let declared: syn::ItemStruct = call.parse_body().expect("a class");
                let container = self.class(&declared.ident.to_string());
                let parent = declared.attrs.iter().find_map(|attribute| {
                    let spelled = text(&attribute.meta);
                    let inner = spelled.strip_prefix("unsafe(super(")?;
                    Some(inner.trim_end_matches(')').split(',').next()?.to_owned())
                });
                container.ancestors.extend(parent);
            }
            "extern_conformance" => {
                let spelled = text(&call.tokens);
                let conformance = spelled.strip_prefix("unsafe impl ").and_then(|rest| {
                    let (protocol, class) = rest.trim_end_matches("{}").split_once(" for ")?;
                    Some((protocol.trim().to_owned(), class.trim().to_owned()))
                });
                let (protocol, class) = conformance.unwrap_or_else(|| panic!("{spelled}"));
                self.class(&class).ancestors.push(protocol);
            }
            "bitflags::bitflags" => {
                let flags: Flags = call.parse_body().expect("flags");
                let name = flags.name.to_string();
                for (attributes, constant, value) in flags.constants {
                    self.add_constant(&name, &attributes, &constant, value);
                }
                let integer = rust_types::canonical(&flags.integer, "", &self.aliases);
                self.interface.enumerations.insert(name, integer);
            }
            _ => {}
        }
    }

    fn class(&mut self, name: &str) -> &mut Container {
        self.interface.classes.entry(name.to_owned()).or_default()
    }

    fn read_protocol(&mut self, declared: &syn::ItemTrait) {
        let name = declared.ident.to_string();
        let mut container = Container::default();
        let parents = declared.supertraits.iter().map(text);
        // `... + Send + Sync` is Rust's own.
        container.ancestors = parents
            .filter(|name| name != "Send" && name != "Sync")
            .collect();
        for item in &declared.items {
            if let syn::TraitItem::Fn(function) = item {
                self.add_method(&mut container, &name, &function.attrs, &function.sig);
            }
        }
        self.interface.protocols.insert(name, container);
    }

    fn add_method(
        &self,
        container: &mut Container,
        this: &str,
        attributes: &[syn::Attribute],
        signature: &syn::Signature,
    ) {
        let Some(selector) = attributes.iter().find_map(selector) else {
            return;
        };
        let kind = if rust_types::is_instance_method(signature) {
            '-'
        } else {
            '+'
        };
        let mut method = rust_types::method(signature, this, &self.aliases);
        let selector = match selector.strip_suffix('_') {
            // The error that Rust returns as the result.
            Some(with_error) => {
                method.parameters.push("*object NSError".to_owned());
                with_error
            }
            None => &selector,
        };
        container
            .methods
            .insert(format!("{kind}{selector}"), method);
    }

    fn read_impl(&mut self, implementation: syn::ItemImpl) {
        let name = text(&implementation.self_ty);
        // Traits implemented are Rust's own.
        if implementation.trait_.is_some() {
            return;
        }
        for item in implementation.items {
            match item {
                syn::ImplItem::Macro(call) if call.mac.path.is_ident("extern_methods") => {
                    let Declarations(functions) = call.mac.parse_body().expect("methods");
                    let mut container = std::mem::take(self.class(&name));
                    for function in functions {
                        self.add_method(&mut container, &name, &function.attrs, &function.sig);
                    }
                    *self.class(&name) = container;
                }
                syn::ImplItem::Const(constant) => {
                    self.add_constant(&name, &constant.attrs, &constant.ident, constant.expr);
                }
                _ => {}
            }
        }
    }

    fn add_constant(
        &mut self,
        of: &str,
        attributes: &[syn::Attribute],
        ident: &syn::Ident,
        value: syn::Expr,
    ) {
        // `#[doc(alias = "...")]` has Apple's name where Rust's is shorter.
        let alias = attributes.iter().find_map(|attribute| {
            let spelled = text(&attribute.meta);
            let quoted = spelled.strip_prefix("doc(alias=\"")?;
            Some(quoted.trim_end_matches(['"', ')']).to_owned())
        });
        let name = alias.unwrap_or_else(|| ident.to_string());
        let enumerations = &mut self.interface.enumeration_of;
        enumerations.insert(name.clone(), of.to_owned());
        self.constants.push(Constant {
            path: format!("{of}::{ident}"),
            name,
            value,
        });
    }

    fn finish(mut self) -> Interface {
        for structure in std::mem::take(&mut self.structures) {
            self.read_structure(&structure);
        }
        self.evaluate();
        // Aliases may follow their use: what was left under an alias's name is settled now.
        let aliases = &self.aliases;
        let containers = self
            .interface
            .protocols
            .values_mut()
            .chain(self.interface.classes.values_mut());
        let methods = containers.flat_map(|container| container.methods.values_mut());
        for method in methods.chain(self.interface.functions.values_mut()) {
            for of in method.parameters.iter_mut().chain([&mut method.result]) {
                rust_types::settle(of, aliases);
            }
        }
        self.interface
    }

    /// Enumerations are structures around an integer here.
    fn read_structure(&mut self, structure: &syn::ItemStruct) {
        let name = structure.ident.to_string();
        match &structure.fields {
            syn::Fields::Unnamed(fields) if fields.unnamed.len() == 1 => {
                let integer = rust_types::canonical(&fields.unnamed[0].ty, "", &self.aliases);
                self.interface.enumerations.insert(name, integer);
            }
            syn::Fields::Named(fields) => {
                let fields = fields.named.iter().map(|field| {
                    let name = field.ident.as_ref().expect("a name").to_string();
                    (name, rust_types::canonical(&field.ty, "", &self.aliases))
                });
                self.interface.structures.insert(name, fields.collect());
            }
            _ => {}
        }
    }

    fn evaluate(&mut self) {
        let mut known = BTreeMap::from([
            ("NSUIntegerMax".to_owned(), i128::from(u64::MAX)),
            ("NSIntegerMax".to_owned(), i128::from(i64::MAX)),
        ]);
        let mut left = std::mem::take(&mut self.constants);
        // One may be said in terms of another that comes later.
        while !left.is_empty() {
            let before = left.len();
            left.retain(
                |constant| match rust_types::evaluate(&constant.value, &known) {
                    Some(value) => {
                        known.insert(constant.path.clone(), value);
                        self.interface
                            .values
                            .insert(constant.name.clone(), value as u64);
                        false
                    }
                    None => true,
                },
            );
            if left.len() == before {
                // What remains is not an integer.
                break;
            }
        }
    }
}

/// The selector in `#[unsafe(method(...))]`.
fn selector(attribute: &syn::Attribute) -> Option<String> {
    let spelled = text(&attribute.meta);
    let inner = spelled.strip_prefix("unsafe(method(")?;
    Some(inner.trim_end_matches(')').replace(' ', ""))
}
