//! Our headers, read by clang: its syntax tree as JSON.

use std::collections::BTreeMap;
use std::path::Path;

use metal_bridge_test_support::{objective_c_arguments, run_clang};
use serde_json::Value;

use crate::interface::{Container, Interface, Method};

/// The interface that `source` declares under names with `MTL` or `MPS` in them. `probes` are constants that may be macros there.
pub fn read(source: &str, probes: &[&String]) -> Interface {
    let mut text = source.to_owned();
    for name in probes {
        text.push_str(&format!(
            "\n#ifdef {name}\nenum : uint64_t {{ probe_{name} = {name} }};\n#endif"
        ));
    }
    let mut arguments = objective_c_arguments();
    // The JSON writer of some versions crashes on methods of protocols with GCC's runtime; declarations are the same.
    arguments.push("-fobjc-runtime=macosx-11".to_owned());
    let fixed = [
        "-x",
        "objective-c",
        "-w",
        "-fsyntax-only",
        "-Xclang",
        "-ast-dump=json",
        "-Xclang",
    ];
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).chain(fixed).collect();
    let mut reader = Reader::default();
    let mentioned = |prefix: &&str| source.contains("#import <Metal") || source.contains(*prefix);
    for prefix in ["MTL", "MPS"].into_iter().filter(mentioned) {
        let filter = format!("-ast-dump-filter={prefix}");
        let output = run_clang(&[&arguments[..], &[&filter]].concat(), &text);
        // The filter makes it write one tree after the other.
        for tree in serde_json::Deserializer::from_slice(&output).into_iter::<Value>() {
            reader.read_declaration(&tree.expect("clang's syntax tree"));
        }
    }
    reader.resolve();
    reader.interface
}

/// Fails where the header does not compile by itself, or not without a warning.
pub fn check_alone(header: &Path, language: &str) {
    let arguments = objective_c_arguments();
    let source = format!("#import \"{}\"\n", header.display());
    let fixed = ["-x", language, "-Werror", "-fsyntax-only"];
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).chain(fixed).collect();
    run_clang(&arguments, &source);
}

#[derive(Default)]
struct Reader {
    interface: Interface,
    /// Fields of structures without a name of their own, by clang's identifier.
    records: BTreeMap<String, Vec<(String, String)>>,
    /// What a name stands for, in clang's words.
    aliases: BTreeMap<String, String>,
}

fn children(node: &Value) -> impl Iterator<Item = &Value> {
    node["inner"].as_array().into_iter().flatten()
}

fn name_of(node: &Value) -> String {
    node["name"].as_str().unwrap_or_default().to_owned()
}

fn type_of(node: &Value) -> String {
    node["type"]["qualType"]
        .as_str()
        .expect("a type")
        .to_owned()
}

impl Reader {
    fn read_declaration(&mut self, node: &Value) {
        let name = name_of(node);
        match node["kind"].as_str().unwrap_or_default() {
            "ObjCProtocolDecl" => {
                let container = self.interface.protocols.entry(name).or_default();
                read_container(container, node);
            }
            // A category adds to its class.
            "ObjCInterfaceDecl" | "ObjCCategoryDecl" => {
                let class = node["interface"]["name"]
                    .as_str()
                    .map_or(name, str::to_owned);
                let container = self.interface.classes.entry(class).or_default();
                read_container(container, node);
            }
            "EnumDecl" => self.read_enumeration(node, name),
            // A constant of an enumeration without a name.
            "EnumConstantDecl" => self.read_constant(node),
            "RecordDecl" => self.read_record(node, name),
            "TypedefDecl" => self.read_alias(node, name),
            "FunctionDecl" if node["storageClass"] != "static" => {
                let result = type_of(node)
                    .split(" (")
                    .next()
                    .unwrap_or_default()
                    .to_owned();
                let parameters = children(node).filter(|child| child["kind"] == "ParmVarDecl");
                let parameters = parameters.map(type_of).collect();
                let function = Method { parameters, result };
                self.interface.functions.insert(name, function);
            }
            "VarDecl" => {
                self.interface.strings.insert(name);
            }
            _ => {}
        }
    }

    fn read_enumeration(&mut self, node: &Value, name: String) {
        for constant in children(node).filter(|child| child["kind"] == "EnumConstantDecl") {
            self.read_constant(constant);
        }
        if let Some(integer) = node["fixedUnderlyingType"]["qualType"].as_str() {
            if !name.is_empty() {
                self.interface.enumerations.insert(name, integer.to_owned());
            }
        }
    }

    fn read_constant(&mut self, node: &Value) {
        let full = name_of(node);
        let value = constant_value(node)
            .unwrap_or_else(|| panic!("enumerator {full} does not say its value"));
        let value: i128 = value.parse().expect("a number");
        let own = full.strip_prefix("probe_").unwrap_or(&full);
        self.interface.values.insert(own.to_owned(), value as u64);
    }

    fn read_record(&mut self, node: &Value, name: String) {
        if node["completeDefinition"] != true {
            return;
        }
        let fields = children(node).filter(|child| child["kind"] == "FieldDecl");
        let fields = fields
            .map(|field| (name_of(field), type_of(field)))
            .collect();
        if name.is_empty() {
            let id = node["id"].as_str().expect("an identifier").to_owned();
            self.records.insert(id, fields);
        } else {
            self.interface.structures.insert(name, fields);
        }
    }

    fn read_alias(&mut self, node: &Value, name: String) {
        let record = children(node)
            .find_map(|child| child["ownedTagDecl"]["id"].as_str())
            .and_then(|id| self.records.remove(id));
        if let Some(fields) = record {
            self.interface.structures.insert(name, fields);
        } else if !type_of(node).starts_with("enum ") {
            self.aliases.insert(name, type_of(node));
        }
    }

    /// Puts every type into the spelling of [`crate::interface`].
    fn resolve(&mut self) {
        let aliases = std::mem::take(&mut self.aliases);
        let interface = &mut self.interface;
        let canonical = |text: &mut String, this: &str| *text = canonical(text, this, &aliases);
        let method = |method: &mut Method, this: &str| {
            canonical(&mut method.result, this);
            for parameter in &mut method.parameters {
                canonical(parameter, this);
            }
        };
        for (name, container) in interface.classes.iter_mut().chain(&mut interface.protocols) {
            for declared in container.methods.values_mut() {
                method(declared, name);
            }
        }
        for function in interface.functions.values_mut() {
            method(function, "");
        }
        for integer in interface.enumerations.values_mut() {
            canonical(integer, "");
        }
        for fields in interface.structures.values_mut() {
            for (_, of) in fields {
                canonical(of, "");
            }
        }
    }
}

fn read_container(container: &mut Container, node: &Value) {
    let superclass = node["super"]["name"].as_str();
    let protocols = node["protocols"].as_array().into_iter().flatten();
    let adopted = protocols.filter_map(|protocol| protocol["name"].as_str());
    let ancestors = superclass.into_iter().chain(adopted);
    container.ancestors.extend(ancestors.map(str::to_owned));
    for method in children(node).filter(|child| child["kind"] == "ObjCMethodDecl") {
        let kind = if method["instance"] == true { '-' } else { '+' };
        let parameters = children(method).filter(|child| child["kind"] == "ParmVarDecl");
        let result = &method["returnType"]["qualType"];
        let declared = Method {
            parameters: parameters.map(type_of).collect(),
            result: result.as_str().expect("a type").to_owned(),
        };
        let selector = format!("{kind}{}", name_of(method));
        container.methods.insert(selector, declared);
    }
}

/// The value that clang has computed, which it writes at the outermost expression that is constant.
fn constant_value(node: &Value) -> Option<&str> {
    children(node).find_map(|child| child["value"].as_str().or_else(|| constant_value(child)))
}

/// Clang's spelling of a type in that of [`crate::interface`].
fn canonical(text: &str, this: &str, aliases: &BTreeMap<String, String>) -> String {
    if text.contains("(^") {
        return "block".to_owned();
    }
    if let Some((element, length)) = text.split_once('[').filter(|(_, end)| end.ends_with(']')) {
        return format!("{}[{length}", canonical(element, this, aliases));
    }
    let mut stars = 0;
    let mut name = String::new();
    let spaced = without_elements(text).replace('*', " * ");
    for word in spaced.split_whitespace() {
        match word {
            "*" => stars += 1,
            "const"
            | "struct"
            | "enum"
            | "volatile"
            | "__strong"
            | "__autoreleasing"
            | "__unsafe_unretained" => {}
            // Nullability, and attributes.
            _ if word.starts_with("_N") || word.starts_with("NS_") => {}
            _ if name.is_empty() => name = word.to_owned(),
            _ => name = format!("{name} {word}"),
        }
    }
    if let Some(alias) = aliases.get(&name) {
        return canonical(&format!("{alias}{}", "*".repeat(stars)), this, aliases);
    }
    let base = match name.as_str() {
        "BOOL" | "bool" | "_Bool" => "bool",
        "void" | "float" | "double" | "char" => &name,
        "NSUInteger" | "unsigned long" | "uint64_t" | "size_t" => "u64",
        "NSInteger" | "long" | "int64_t" => "i64",
        "uint32_t" | "unsigned int" => "u32",
        "uint16_t" | "unsigned short" => "u16",
        "uint8_t" | "unsigned char" => "u8",
        "CFTimeInterval" | "NSTimeInterval" => "double",
        "instancetype" => return format!("{}object {this}", "*".repeat(stars)),
        "NSErrorDomain" | "NSErrorUserInfoKey" => {
            return format!("{}object NSString", "*".repeat(stars));
        }
        "dispatch_data_t" => return "object dispatch_data".to_owned(),
        "dispatch_queue_t" => return "object dispatch_queue".to_owned(),
        "id" => return format!("{}object", "*".repeat(stars)),
        _ => {
            if let Some(protocol) = name.strip_prefix("id<") {
                return format!("{}object <{protocol}", "*".repeat(stars));
            }
            let is_class = name.starts_with("NS") && name != "NSRange";
            // A pointer to what is not a known structure is one to an object; both sides settle it by name.
            if stars > 0 && (is_class || name.starts_with("MTL") || name.starts_with("MPS")) {
                return format!("{}object {name}", "*".repeat(stars - 1));
            }
            &name
        }
    };
    format!("{}{base}", "*".repeat(stars))
}

/// `NSArray<NSString *> *` as `NSArray *`; the protocol of an `id` stays.
fn without_elements(text: &str) -> String {
    let mut result = String::new();
    let mut depth = 0;
    for c in text.chars() {
        let opens = c == '<' && (depth > 0 || !result.ends_with("id"));
        depth += usize::from(opens);
        if depth == 0 {
            result.push(c);
        } else if c == '>' {
            depth -= 1;
        }
    }
    result
}
