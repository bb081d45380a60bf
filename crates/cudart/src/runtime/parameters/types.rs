//! How a parameter is taken, from its tokens: a pointer, a value, or what the source does not show.

use std::collections::{HashMap, HashSet};

use super::source::{Source, Token};
use super::tokens::is_identifier;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Pointer,
    Value,
    /// Neither, or not to be told from the tokens.
    Unclear,
}

/// The types that the source declares.
pub(super) struct Types<'a> {
    /// Structures, unions and enumerations, which no name makes a reference.
    classes: HashSet<&'a str>,
    namespaces: HashSet<&'a str>,
    /// By name, what `using` and `typedef` say that it is; one name may have several meanings.
    aliases: HashMap<&'a str, Vec<Vec<&'a str>>>,
    /// Words that are not what they look like.
    replaced: HashSet<&'a str>,
    /// A macro stands where an alias has its name: every name may be one.
    has_hidden_aliases: bool,
}

const CLASS: [&str; 4] = ["struct", "class", "union", "enum"];

/// What may stand between a `*` and the name.
const POINTER: [&str; 5] = ["*", "const", "volatile", "__restrict", "__restrict__"];
/// The address spaces that a pointer may be in.
const POINTED: [&str; 3] = ["device", "constant", "thread"];

/// A meaning that is no plain type.
const UNCLEAR: [&str; 1] = ["&"];

impl<'a> Types<'a> {
    pub(super) fn new(source: &Source<'a>) -> Types<'a> {
        let texts: Vec<&str> = source.tokens.iter().map(|token| token.text).collect();
        let mut types = Types {
            classes: HashSet::new(),
            namespaces: HashSet::new(),
            aliases: HashMap::new(),
            replaced: texts
                .iter()
                .copied()
                .filter(|t| source.is_replaced(t))
                .collect(),
            has_hidden_aliases: false,
        };
        for (place, text) in texts.iter().enumerate() {
            let rest = &texts[place + 1..];
            match (*text, rest) {
                ("namespace", [name, ..]) => {
                    types.namespaces.insert(name);
                }
                ("using", [name, rest @ ..]) => match outside(rest, true).as_deref() {
                    Some(["=", meaning @ ..]) => types.add_alias(name, meaning),
                    Some(_) => {}
                    None => types.add_alias(name, &UNCLEAR),
                },
                ("typedef", rest) => {
                    // `Reference typedef Name;` has its type before the word.
                    let before = place.checked_sub(1).map_or(";", |before| texts[before]);
                    types.has_hidden_aliases |= ![";", "{", "}", ":"].contains(&before);
                    types.add_typedef(outside(rest, true));
                }
                (word, rest) if CLASS.contains(&word) && !types.replaced.contains(word) => {
                    types.classes.extend(class_name(rest));
                }
                _ => {}
            }
        }
        types
    }

    fn add_alias(&mut self, name: &'a str, meaning: &[&'a str]) {
        self.has_hidden_aliases |= self.replaced.contains(name);
        let meanings = self.aliases.entry(name).or_default();
        meanings.push(meaning.to_vec());
    }

    fn add_typedef(&mut self, statement: Option<Vec<&'a str>>) {
        match statement.as_deref() {
            Some([meaning @ .., name]) if is_identifier(name) && !meaning.contains(&",") => {
                self.add_alias(name, meaning);
            }
            // Whichever of the words it names, the source does not show plainly what that is.
            Some(words) => words.iter().for_each(|word| self.add_alias(word, &UNCLEAR)),
            None => self.has_hidden_aliases = true,
        }
    }

    /// The name and the kind of each parameter; `None` if they cannot be told apart.
    pub(super) fn parameters(&self, tokens: &[Token<'a>]) -> Option<Vec<(Option<&'a str>, Kind)>> {
        let texts: Vec<&str> = tokens.iter().map(|token| token.text).collect();
        if texts.is_empty() {
            return Some(Vec::new());
        }
        let parts = split(&texts)?;
        Some(parts.iter().map(|part| self.parameter(part)).collect())
    }

    fn parameter(&self, tokens: &[&'a str]) -> (Option<&'a str>, Kind) {
        let unclear = (None, Kind::Unclear);
        let Some(tokens) = outside(tokens, false) else {
            return unclear;
        };
        let Some(place) = tokens.iter().position(|t| matches!(*t, "*" | "&" | "(")) else {
            return unclear;
        };
        let (kind, declarator) = tokens.split_at(place);
        // `T (&n)[4]`, whose brackets are gone.
        let declarator = match declarator {
            ["(", inner @ .., ")"] => inner,
            whole => whole,
        };
        let is_qualifier = |token: &&&str| POINTED.contains(*token) || POINTER.contains(*token);
        let (first, rest) = match declarator {
            [first @ ("*" | "&"), rest @ ..] => (*first, rest),
            _ => return unclear,
        };
        let name = match &rest[rest.iter().take_while(is_qualifier).count()..] {
            [] => None,
            [name] if is_identifier(name) => Some(*name),
            // `*&`, and what is no plain declarator.
            _ => return unclear,
        };
        if first == "*" {
            // There are no pointers to references: this is a pointer, whatever the type's name stands for.
            return (name, Kind::Pointer);
        }
        if rest.contains(&"*") {
            return unclear;
        }
        match (kind.contains(&"constant"), kind.contains(&"device")) {
            _ if !self.is_plain(kind, 0) => unclear,
            (true, false) => (name, Kind::Value),
            (false, true) => (name, Kind::Pointer),
            _ => unclear,
        }
    }

    /// Whether the tokens name a type that is no reference: a reference to a reference is as the inner one says.
    fn is_plain(&self, tokens: &[&'a str], depth: usize) -> bool {
        let mut rest = tokens;
        loop {
            rest = match rest {
                [] => return true,
                [space, ":", ":", after @ ..] if self.is_namespace(space) => after,
                [name, "<", ">", after @ ..] => {
                    let is_known =
                        ["array", "vec", "matrix", "packed_vec", "atomic"].contains(name);
                    if self.aliases.contains_key(name) || !(is_known || self.classes.contains(name))
                    {
                        return false;
                    }
                    after
                }
                [word, after @ ..] => {
                    if !self.is_plain_word(word, depth) {
                        return false;
                    }
                    after
                }
            };
        }
    }

    fn is_namespace(&self, word: &str) -> bool {
        let is_known = ["metal", "simd"].contains(&word) || self.namespaces.contains(word);
        is_known && !self.classes.contains(word) && !self.aliases.contains_key(word)
    }

    fn is_plain_word(&self, word: &str, depth: usize) -> bool {
        // Aliases of aliases of one name end somewhere.
        if depth > 16 || self.has_hidden_aliases || self.replaced.contains(word) {
            return false;
        }
        if let Some(meanings) = self.aliases.get(word) {
            let plain = |meaning: &Vec<&'a str>| match meaning.as_slice() {
                // `typedef struct Shape Shape`
                [class, name] if CLASS.contains(class) && *name == word => true,
                meaning => self.is_plain(meaning, depth + 1),
            };
            return meanings.iter().all(plain);
        }
        self.classes.contains(word) || is_builtin(word)
    }
}

/// Words of a type in Metal's language that are no reference by themselves.
fn is_builtin(word: &str) -> bool {
    let words = [
        "const",
        "volatile",
        "constant",
        "device",
        "signed",
        "unsigned",
        "size_t",
        "ptrdiff_t",
        "int8_t",
        "uint8_t",
        "int16_t",
        "uint16_t",
        "int32_t",
        "uint32_t",
        "int64_t",
        "uint64_t",
    ];
    let scalars = [
        "bool", "char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "half",
        "float", "bfloat", "double",
    ];
    let prefixes = ["packed_", "atomic_", "simd_", "vector_", "matrix_"];
    let bare = prefixes
        .iter()
        .find_map(|prefix| word.strip_prefix(prefix))
        .unwrap_or(word);
    let is_size = |text: &str| matches!(text, "" | "2" | "3" | "4");
    let is_sized = |scalar: &&str| {
        let size = bare.strip_prefix(*scalar);
        size.is_some_and(|size| match size.split_once('x') {
            Some((columns, rows)) => is_size(columns) && is_size(rows),
            None => is_size(size),
        })
    };
    words.contains(&word) || CLASS.contains(&word) || scalars.iter().any(is_sized)
}

/// The name that is declared after `struct`, behind attributes.
fn class_name<'a>(mut rest: &[&'a str]) -> Option<&'a str> {
    loop {
        rest = match rest {
            ["alignas" | "__attribute__", after @ ..] => &after[group(after)?..],
            ["[", ..] => &rest[group(rest)?..],
            // What else may follow makes it a parameter of a template, or the use of a type.
            [name, "{" | ":" | ";" | "final", ..] if is_identifier(name) => return Some(name),
            _ => return None,
        };
    }
}

/// How many tokens the brackets at the start have, with what they hold.
fn group(tokens: &[&str]) -> Option<usize> {
    let mut depth = 0usize;
    for (place, token) in tokens.iter().enumerate() {
        match *token {
            "(" | "[" => depth += 1,
            ")" | "]" => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return Some(place + 1);
        }
    }
    None
}

/// The tokens without what is in brackets, braces and `<>`, of which `<>` stay; of a statement up to its `;`. `None` if
/// `<` may compare.
fn outside<'a>(tokens: &[&'a str], is_statement: bool) -> Option<Vec<&'a str>> {
    let mut kept = Vec::new();
    let mut open: Vec<&str> = Vec::new();
    for token in tokens {
        let before = open.len();
        // Outermost parentheses may be a declarator's; what they hold stays.
        let is_nested = open.iter().any(|bracket| *bracket != "<");
        match *token {
            ";" if open.is_empty() => break,
            ";" if is_statement && !is_nested => return None,
            "[" | "{" => open.push(token),
            "(" if !open.is_empty() => open.push(token),
            ")" if open.is_empty() => {}
            "]" | "}" | ")" => {
                open.pop();
            }
            "<" if !is_nested => open.push(token),
            ">" if !is_nested => {
                open.pop();
            }
            _ => {}
        }
        let is_outer = before == 0 || open.is_empty();
        if is_outer && !matches!(*token, "[" | "]" | "{" | "}") {
            kept.push(*token);
        }
    }
    Some(kept)
}

/// The parameters between the commas that are in no bracket; `None` if the brackets do not match, or `<` may compare.
fn split<'s, 'a>(tokens: &'s [&'a str]) -> Option<Vec<&'s [&'a str]>> {
    let mut parts = Vec::new();
    let (mut open, mut start) = (Vec::new(), 0);
    for (place, token) in tokens.iter().enumerate() {
        let is_nested = open.iter().any(|bracket| *bracket != "<");
        match *token {
            "(" | "[" | "{" => open.push(*token),
            ")" | "]" | "}" => {
                let opened = open.pop()?;
                if !matches!((opened, *token), ("(", ")") | ("[", "]") | ("{", "}")) {
                    return None;
                }
            }
            // In parentheses `<` compares or not: what is there does not count anyway.
            "<" if !is_nested => {
                let before = place.checked_sub(1).map(|before| tokens[before])?;
                if !is_identifier(before) {
                    return None;
                }
                open.push("<");
            }
            // Not nested: the last bracket that is open is `<`.
            ">" if !is_nested => drop(open.pop()?),
            "," if open.is_empty() => {
                parts.push(&tokens[start..place]);
                start = place + 1;
            }
            // A default value, `->`, `>=` or `<=`; a character that no declaration has.
            "=" | "-" | "\\" | ";" if !is_nested => return None,
            _ => {}
        }
    }
    parts.push(&tokens[start..]);
    open.is_empty().then_some(parts)
}
