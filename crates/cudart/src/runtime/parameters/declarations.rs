//! The declarations of a kernel in Metal source, or why they cannot be told from what is written.

use super::source::{Source, Token};
use super::tokens::is_identifier;

/// The tokens of a declaration's parameters, without the parentheses around them.
pub(super) struct Declaration<'s, 'a> {
    pub(super) parameters: &'s [Token<'a>],
    /// With a body, and in no namespace of the source.
    pub(super) is_definition: bool,
}

/// All declarations of the kernel. The error says what may hide one, or make it other than it looks.
pub(super) fn declarations<'s, 'a>(
    source: &'s Source<'a>,
    kernel: &'s str,
) -> Result<Vec<Declaration<'s, 'a>>, String> {
    let mut scan = Scan {
        source,
        kernel,
        scopes: Vec::new(),
        parentheses: 0,
        brackets: 0,
        start: 0,
        is_kernel: false,
        found: Vec::new(),
    };
    for place in 0..source.tokens.len() {
        scan.token(place)?;
    }
    if !scan.scopes.is_empty() || scan.parentheses != 0 || scan.brackets != 0 {
        return Err(unbalanced());
    }
    Ok(scan.found)
}

struct Scan<'s, 'a> {
    source: &'s Source<'a>,
    kernel: &'s str,
    /// The open braces: whether what is inside are declarations of a namespace.
    scopes: Vec<Scope>,
    parentheses: usize,
    brackets: usize,
    /// Where the declaration starts that the scan is in.
    start: usize,
    /// Whether it is a kernel's, before its parameters.
    is_kernel: bool,
    found: Vec<Declaration<'s, 'a>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    Namespace,
    Linkage,
    /// A body, or an initial value.
    Other,
}

impl<'s, 'a> Scan<'s, 'a> {
    fn token(&mut self, place: usize) -> Result<(), String> {
        let text = self.text(place);
        if self.scopes.last() == Some(&Scope::Other) {
            match text {
                "{" => self.scopes.push(Scope::Other),
                "}" => self.close(place)?,
                // Functions may declare functions, and so name them.
                "kernel" | "__kernel" | "host_name" => {
                    return Err(format!("{text} stands between the braces of a declaration"));
                }
                _ => {}
            }
            return Ok(());
        }
        match text {
            "{" => {
                self.ends_kernel(place)?;
                let scope = self.scope(place);
                self.scopes.push(scope);
                if scope != Scope::Other {
                    self.start = place + 1;
                }
            }
            "}" => self.close(place)?,
            ";" if self.parentheses == 0 => {
                self.ends_kernel(place)?;
                self.start = place + 1;
            }
            "(" => {
                if self.is_kernel && self.parentheses == 0 && self.brackets == 0 {
                    self.is_kernel = false;
                    self.kernel(place)?;
                }
                self.parentheses += 1;
            }
            ")" => self.parentheses = self.parentheses.checked_sub(1).ok_or_else(unbalanced)?,
            "[" => self.brackets += 1,
            "]" => self.brackets = self.brackets.checked_sub(1).ok_or_else(unbalanced)?,
            "kernel" | "__kernel" if self.parentheses > 0 => {
                return Err("a macro may declare kernels".to_owned());
            }
            "kernel" | "__kernel" => self.is_kernel = true,
            "host_name" => self.host_name(place)?,
            word if self.source.may_declare(word) => {
                return Err(format!("the macro {word} may declare kernels"));
            }
            _ => {}
        }
        Ok(())
    }

    fn text(&self, place: usize) -> &'a str {
        let token = self.source.tokens.get(place);
        token.map_or("", |token| token.text)
    }

    fn head(&self, end: usize) -> &'s [Token<'a>] {
        &self.source.tokens[self.start..end]
    }

    fn scope(&self, brace: usize) -> Scope {
        let head = self.head(brace);
        let has = |word: &str| head.iter().any(|token| token.text == word);
        if self.parentheses == 0 && self.brackets == 0 && has("namespace") {
            Scope::Namespace
        } else if matches!(head, [first, linkage]
            if first.text == "extern" && linkage.text.starts_with('"'))
        {
            Scope::Linkage
        } else {
            Scope::Other
        }
    }

    fn close(&mut self, place: usize) -> Result<(), String> {
        self.ends_kernel(place)?;
        self.scopes.pop().ok_or_else(unbalanced)?;
        // Braces in an attribute or an argument end no declaration.
        if self.parentheses == 0 && self.brackets == 0 {
            self.start = place + 1;
        }
        Ok(())
    }

    /// A declaration must not end before its kernel's name was seen, unless it instantiates a template: there the name
    /// is a host_name, or the template's.
    fn ends_kernel(&mut self, end: usize) -> Result<(), String> {
        let is_template = self.head(end).iter().any(|token| token.text == "template");
        match std::mem::take(&mut self.is_kernel) && !is_template {
            true => Err("a kernel is declared without its parameters".to_owned()),
            false => Ok(()),
        }
    }

    /// `[[host_name("other")]]`, on whatever function, must not give the kernel's name.
    fn host_name(&self, place: usize) -> Result<(), String> {
        let next = [1, 2, 3].map(|after| self.text(place + after));
        let ["(", literal, ")"] = next else {
            return Err("a host_name takes something else than one string".to_owned());
        };
        let name = literal
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'));
        match name {
            Some(name) if name == self.kernel => {
                Err(format!("a host_name gives {} its name", self.kernel))
            }
            Some(name) if !name.contains('\\') => Ok(()),
            _ => Err("a host_name takes something else than one string".to_owned()),
        }
    }

    /// A declaration of a kernel, at the parenthesis before its parameters.
    fn kernel(&mut self, open: usize) -> Result<(), String> {
        let head = self.head(open);
        let name = head.last().map_or("", |token| token.text);
        let replaced = |token: &&Token| self.source.is_replaced(token.text);
        if let Some(word) = head.iter().find(replaced) {
            let word = word.text;
            return Err(format!(
                "{word}, which may be a macro, is in the declaration of a kernel"
            ));
        }
        let has = |word: &str| head.iter().any(|token| token.text == word);
        if !is_identifier(name) && !has("template") {
            return Err("a kernel's name is not before its parameters".to_owned());
        }
        let kernel = self.kernel;
        if name != kernel {
            return Ok(());
        }
        if has("template") {
            return Err(format!("{kernel} is a template"));
        }
        if has("host_name") {
            return Err(format!("a host_name gives {kernel} another name"));
        }
        let close = self.closing(open).ok_or_else(unbalanced)?;
        let whole = &self.source.tokens[self.start..=close];
        if whole.iter().any(|token| token.is_conditional) {
            return Err(format!(
                "a conditional directive encloses a declaration of {kernel}, or a part of it"
            ));
        }
        if let Some(word) = whole.iter().find(replaced) {
            let word = word.text;
            return Err(format!(
                "{word}, which may be a macro, is in the declaration of {kernel}"
            ));
        }
        let is_global = self.scopes.iter().all(|scope| *scope == Scope::Linkage);
        let is_qualified = matches!(head, [.., before, _] if before.text == ":");
        let is_definition = match self.text(close + 1) {
            "{" => is_global && !is_qualified,
            ";" => false,
            _ => return Err(format!("more than parameters follow the name {kernel}")),
        };
        self.found.push(Declaration {
            parameters: &self.source.tokens[open + 1..close],
            is_definition,
        });
        Ok(())
    }

    fn closing(&self, open: usize) -> Option<usize> {
        let mut depth = 0usize;
        for (place, token) in self.source.tokens.iter().enumerate().skip(open) {
            match token.text {
                "(" => depth += 1,
                ")" if depth == 1 => return Some(place),
                ")" => depth -= 1,
                _ => {}
            }
        }
        None
    }
}

fn unbalanced() -> String {
    "the source's braces do not match".to_owned()
}
