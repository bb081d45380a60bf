//! Rust's types and constants in the spelling of [`crate::interface`].

use std::collections::BTreeMap;

use quote::ToTokens;

use crate::interface::Method;

pub type Aliases = BTreeMap<String, syn::Type>;

/// Tokens as text, with the white space that tells words apart and no other.
pub fn text(tokens: &impl ToTokens) -> String {
    let mut result = String::new();
    for piece in tokens.to_token_stream().to_string().split_whitespace() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let joins = result.ends_with(is_word) && piece.starts_with(is_word);
        if joins {
            result.push(' ');
        }
        result.push_str(piece);
    }
    result
}

pub fn is_instance_method(signature: &syn::Signature) -> bool {
    match signature.inputs.first() {
        Some(syn::FnArg::Receiver(_)) => true,
        // An initialiser's receiver.
        Some(syn::FnArg::Typed(parameter)) => text(&parameter.pat) == "this",
        None => false,
    }
}

pub fn method(signature: &syn::Signature, this: &str, aliases: &Aliases) -> Method {
    let parameters = signature.inputs.iter().filter_map(|input| match input {
        syn::FnArg::Typed(parameter) if text(&parameter.pat) != "this" => {
            Some(canonical(&parameter.ty, this, aliases))
        }
        _ => None,
    });
    let result = match &signature.output {
        syn::ReturnType::Default => "void".to_owned(),
        syn::ReturnType::Type(_, of) => canonical(of, this, aliases),
    };
    Method {
        parameters: parameters.collect(),
        result,
    }
}

pub fn canonical(of: &syn::Type, this: &str, aliases: &Aliases) -> String {
    match of {
        syn::Type::Reference(reference) => pointer_to(&reference.elem, this, aliases),
        syn::Type::Ptr(pointer) => pointer_to(&pointer.elem, this, aliases),
        syn::Type::Tuple(tuple) if tuple.elems.is_empty() => "void".to_owned(),
        syn::Type::Array(array) => {
            format!(
                "{}[{}]",
                canonical(&array.elem, this, aliases),
                text(&array.len)
            )
        }
        syn::Type::Path(path) => {
            let last = path.path.segments.last().expect("a name");
            named(&last.ident.to_string(), argument(last), this, aliases)
        }
        _ => text(of),
    }
}

/// The first type argument of `Name<T, ...>`.
fn argument(segment: &syn::PathSegment) -> Option<&syn::Type> {
    let syn::PathArguments::AngleBracketed(arguments) = &segment.arguments else {
        return None;
    };
    arguments.args.iter().find_map(|argument| match argument {
        syn::GenericArgument::Type(of) => Some(of),
        _ => None,
    })
}

fn named(name: &str, inner: Option<&syn::Type>, this: &str, aliases: &Aliases) -> String {
    match (name, inner) {
        ("Option", Some(inner)) => canonical(inner, this, aliases),
        ("Retained" | "NonNull", Some(inner)) => pointer_to(inner, this, aliases),
        // With an error: the success, which for none says whether there was one.
        ("Result", Some(inner)) => match canonical(inner, this, aliases).as_str() {
            "void" => "bool".to_owned(),
            result => result.to_owned(),
        },
        _ => simple(name, aliases),
    }
}

fn simple(name: &str, aliases: &Aliases) -> String {
    let base = match name {
        "NSUInteger" | "usize" => "u64",
        "NSInteger" | "isize" => "i64",
        "c_float" | "f32" => "float",
        "c_double" | "f64" | "CFTimeInterval" => "double",
        "c_char" => "char",
        "c_void" => "void",
        _ => match aliases.get(name) {
            Some(alias) => return canonical(alias, "", aliases),
            None => name,
        },
    };
    base.to_owned()
}

fn pointer_to(target: &syn::Type, this: &str, aliases: &Aliases) -> String {
    let syn::Type::Path(path) = target else {
        return format!("*{}", canonical(target, this, aliases));
    };
    let last = path.path.segments.last().expect("a name");
    let name = last.ident.to_string();
    match name.as_str() {
        "DynBlock" | "Block" => "block".to_owned(),
        "Self" => format!("object {this}"),
        "AnyObject" => "object".to_owned(),
        "ProtocolObject" => {
            let protocol = text(argument(last).expect("a protocol"));
            let protocol = protocol
                .trim_start_matches("dyn ")
                .trim_start_matches("dyn");
            format!(
                "object <{}>",
                protocol.replace("NSObjectProtocol", "NSObject")
            )
        }
        "DispatchData" => "object dispatch_data".to_owned(),
        "DispatchQueue" => "object dispatch_queue".to_owned(),
        "NSErrorDomain" | "NSErrorUserInfoKey" => "object NSString".to_owned(),
        _ if aliases.contains_key(&name) => {
            let of = simple(&name, aliases);
            let is_object = ["NS", "MTL", "MPS"]
                .iter()
                .any(|prefix| of.starts_with(prefix));
            if is_object {
                format!("object {of}")
            } else {
                format!("*{of}")
            }
        }
        _ if name.starts_with("MTL") || name.starts_with("MPS") => format!("object {name}"),
        _ if name.starts_with("NS")
            && !["NSUInteger", "NSInteger", "NSRange"].contains(&name.as_str()) =>
        {
            format!("object {name}")
        }
        _ => format!("*{}", canonical(target, this, aliases)),
    }
}

/// Replaces an alias's name that was read before the alias.
pub fn settle(of: &mut String, aliases: &Aliases) {
    let stars = of.len() - of.trim_start_matches('*').len();
    let bare = &of[stars..];
    let (object, name) = match bare.strip_prefix("object ") {
        Some(name) => ("object ", name),
        None => ("", bare),
    };
    if aliases.contains_key(name) {
        let target = simple(name, aliases);
        *of = format!("{}{object}{target}", &of[..stars]);
    }
}

/// The value of a constant expression; nothing if it needs one that is not known.
pub fn evaluate(expression: &syn::Expr, known: &BTreeMap<String, i128>) -> Option<i128> {
    match expression {
        syn::Expr::Lit(literal) => match &literal.lit {
            syn::Lit::Int(number) => number.base10_parse().ok(),
            _ => None,
        },
        syn::Expr::Paren(inner) => evaluate(&inner.expr, known),
        syn::Expr::Cast(cast) => evaluate(&cast.expr, known),
        // `Self(1)`.
        syn::Expr::Call(call) if call.args.len() == 1 => evaluate(&call.args[0], known),
        // `MTLStorageMode::Shared.0`.
        syn::Expr::Field(field) => evaluate(&field.base, known),
        syn::Expr::Path(path) => known.get(&text(path)).copied(),
        syn::Expr::Unary(unary) => {
            let value = evaluate(&unary.expr, known)?;
            Some(match unary.op {
                syn::UnOp::Neg(_) => -value,
                syn::UnOp::Not(_) => !value,
                _ => return None,
            })
        }
        syn::Expr::Binary(binary) => {
            let left = evaluate(&binary.left, known)?;
            let right = evaluate(&binary.right, known)?;
            Some(match binary.op {
                syn::BinOp::Shl(_) => left << right,
                syn::BinOp::Add(_) => left + right,
                syn::BinOp::BitOr(_) => left | right,
                _ => return None,
            })
        }
        _ => None,
    }
}
