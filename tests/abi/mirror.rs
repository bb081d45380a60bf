//! The mirror in Rust, read by `syn`.

use quote::ToTokens;

use crate::files::Files;
use crate::interface::{Interface, Members};

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

pub fn read_mirror(files: &Files) -> Interface {
    let files = files
        .values()
        .map(|text| syn::parse_file(text).expect("Rust"));
    let mut interface = Interface::default();
    for item in files.flat_map(|file| file.items) {
        match item {
            syn::Item::Const(constant) => {
                let value = (value(&constant.expr), text(&constant.ty));
                interface
                    .constants
                    .insert(constant.ident.to_string(), value);
            }
            syn::Item::Type(alias) => read_alias(&mut interface, &alias),
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
                interface.functions.extend(
                    functions
                        .iter()
                        .map(|function| read_function(&function.sig)),
                );
            }
            syn::Item::ForeignMod(block) => {
                let functions = block.items.iter().map(|item| match item {
                    syn::ForeignItem::Fn(function) => read_function(&function.sig),
                    other => panic!("not a function: {}", text(other)),
                });
                interface.functions.extend(functions);
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
