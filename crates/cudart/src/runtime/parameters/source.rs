//! Metal source without its directives: the declarations of a kernel, and which words may hide something.

use std::collections::HashSet;

use super::tokens::{LINE_END, Why, is_identifier};

pub(super) const SPACES: [&str; 4] = ["constant", "device", "threadgroup", "thread"];

#[derive(Default)]
pub(super) struct Source<'a> {
    tokens: Vec<&'a str>,
    /// The macros that are not numbers.
    macros: HashSet<&'a str>,
    /// The names, of any scope, that `using` and `typedef` declare: those that may be references or have a space.
    aliases: HashSet<&'a str>,
    /// The tokens of the parameters of each declaration of the kernel.
    pub(super) declarations: Vec<Vec<&'a str>>,
}

/// The brackets that are open, in the text and at each `#if` before it.
#[derive(Default)]
struct Open<'a> {
    brackets: Vec<&'a str>,
    conditions: Vec<Vec<&'a str>>,
}

/// The parenthesis before a macro's arguments.
const ARGUMENTS: &str = "macro(";

impl<'a> Source<'a> {
    pub(super) fn new(all: &[&'a str], kernel: &str) -> Result<Source<'a>, Why> {
        check_words(all, kernel)?;
        let lines: Vec<&[&str]> = all.split(|token| *token == LINE_END).collect();
        let is_digit = |c: char| c.is_ascii_digit();
        let is_number = |body: &[&str]| matches!(body, [word] if word.starts_with(is_digit));
        let macros = lines.iter().filter_map(|line| match line {
            ["#", "define" | "undef", name, body @ ..] if !is_number(body) => Some(*name),
            _ => None,
        });
        let mut source = Source {
            macros: macros.collect(),
            ..Source::default()
        };
        let mut open = Open::default();
        // Where the declaration starts, where the kernel's name is in it, and whether a condition is.
        let (mut start, mut name, mut is_conditional) = (0, None, false);
        for line in lines {
            if let ["#", directive @ ..] = line {
                open.directive(directive, kernel)?;
                continue;
            }
            for token in line {
                is_conditional |= !open.conditions.is_empty();
                let before = source.tokens.last().copied().unwrap_or_default();
                let is_outer = open.brackets.is_empty();
                if *token == kernel {
                    source.check_name(&source.tokens[start..], &open.brackets)?;
                    name = is_outer.then_some(source.tokens.len()).or(name);
                }
                if is_outer && matches!(*token, "{" | ";") {
                    if let Some(name) = name.take() {
                        source.declare(start, name, is_conditional)?;
                    }
                }
                if *token == "kernel" && open.brackets.contains(&"{") {
                    return Err("the source has a kernel inside braces");
                }
                open.add(token, before == ")" || source.macros.contains(before))?;
                source.tokens.push(token);
                if open.brackets.is_empty() && matches!(*token, ";" | "}") {
                    (start, is_conditional) = (source.tokens.len(), false);
                }
            }
        }
        if !open.conditions.is_empty() || !open.brackets.is_empty() || name.is_some() {
            return Err("the source ends inside a declaration or a condition");
        }
        source.find_aliases()?;
        Ok(source)
    }

    /// Checks what is before the kernel's name: a kernel's declaration, or what cannot become one.
    fn check_name(&self, head: &[&str], open: &[&str]) -> Result<(), Why> {
        let before = head.last().copied().unwrap_or_default();
        let has = |word| head.contains(&word);
        let is_type = is_identifier(before) && before != "void" && !self.is_hidden(before);
        let is_read = match open {
            // Macros neither open nor close these braces.
            ["{", ..] => true,
            [] => has("kernel") && before == "void" && !has("template") && !has("host_name"),
            // A parameter of another function.
            _ => (is_type || matches!(before, "*" | "&" | ">")) && !open.contains(&ARGUMENTS),
        };
        let why =
            "the kernel's name stands outside braces, but not in `kernel void NAME(PARAMETERS)`";
        is_read.then_some(()).ok_or(why)
    }

    /// A declaration of the kernel, whose tokens end with the parameters.
    fn declare(&mut self, start: usize, name: usize, is_conditional: bool) -> Result<(), Why> {
        let ["(", parameters @ .., ")"] = &self.tokens[name + 1..] else {
            return Err("the kernel's declaration has more than a name and parameters");
        };
        if is_conditional {
            return Err("a condition encloses the kernel's declaration, or a part of it");
        }
        if self.tokens[start..].iter().any(|word| self.is_hidden(word)) {
            return Err("the kernel's declaration has a word that may be a macro");
        }
        self.declarations.push(parameters.to_vec());
        Ok(())
    }

    /// Whether the word may be a macro, of the source or of the compiler.
    fn is_hidden(&self, word: &str) -> bool {
        let is_own = word.starts_with("__") && !matches!(word, "__restrict" | "__restrict__");
        is_own || self.macros.contains(word)
    }

    /// Whether the tokens of a type may name a reference.
    pub(super) fn may_be_reference(&self, tokens: &[&str]) -> bool {
        let words = ["&", "and", "bitand", "auto", "decltype", "typeof"];
        tokens.iter().enumerate().any(|(index, word)| {
            let before = tokens[..index].last().copied().unwrap_or_default();
            let is_member = *word == ":" && !matches!(before, "metal" | "simd" | ":");
            // As in `add_lvalue_reference_t<float>`.
            let is_trait = word.ends_with("_t") && tokens.get(index + 1) == Some(&"<");
            let is_alias = self.aliases.contains(word) || self.is_hidden(word);
            is_member || is_trait || is_alias || words.contains(word)
        })
    }

    fn find_aliases(&mut self) -> Result<(), Why> {
        for (index, word) in self.tokens.iter().enumerate() {
            if !matches!(*word, "using" | "typedef") {
                continue;
            }
            let statement = statement(&self.tokens[index + 1..]);
            if statement.iter().any(|word| self.macros.contains(word)) {
                return Err("the source has a macro in an alias");
            }
            let before = self.tokens[..index].last().copied().unwrap_or(";");
            let has_space = statement.iter().any(|word| SPACES.contains(word));
            let is_template = !matches!(before, ";" | "{" | "}" | ":");
            if has_space || is_template || self.may_be_reference(&statement) {
                self.aliases.extend(names(&statement));
            }
        }
        Ok(())
    }
}

/// The tokens up to the `;`, without what is in braces.
fn statement<'a>(tokens: &[&'a str]) -> Vec<&'a str> {
    let (mut kept, mut depth) = (Vec::new(), 0usize);
    for token in tokens {
        match *token {
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            _ if depth == 0 => kept.push(*token),
            _ => {}
        }
        if depth == 0 && *token == ";" {
            break;
        }
    }
    kept
}

/// The words of an alias that may be its name: those that are not before another word or a part of a declarator.
fn names<'a>(statement: &[&'a str]) -> impl Iterator<Item = &'a str> {
    let is_last = |next: &str| match is_identifier(next) {
        true => next.starts_with("__"),
        false => !matches!(next, "*" | "&" | "<" | ":"),
    };
    let is_using = statement.get(1) == Some(&"=");
    let pairs = statement.windows(2);
    let pairs = pairs.take(if is_using { 1 } else { statement.len() });
    let names = pairs.filter(move |pair| is_identifier(pair[0]) && is_last(pair[1]));
    names.map(|pair| pair[0])
}

impl<'a> Open<'a> {
    fn add(&mut self, token: &'a str, is_argument: bool) -> Result<(), Why> {
        match token {
            "(" if is_argument => self.brackets.push(ARGUMENTS),
            "(" | "[" | "{" => self.brackets.push(token),
            ")" | "]" | "}" => match (self.brackets.pop(), token) {
                (Some("(" | ARGUMENTS), ")") | (Some("["), "]") | (Some("{"), "}") => {}
                _ => return Err("the brackets of the source do not match"),
            },
            _ => {}
        }
        Ok(())
    }

    fn directive(&mut self, words: &[&'a str], kernel: &str) -> Result<(), Why> {
        match words {
            ["if" | "ifdef" | "ifndef", ..] => self.conditions.push(self.brackets.clone()),
            // A bracket that is open in one branch only hides what is after it.
            ["elif" | "else", ..] if self.conditions.last() == Some(&self.brackets) => {}
            ["endif", ..] if self.conditions.pop().as_ref() == Some(&self.brackets) => {}
            ["define", body @ ..] => {
                let declares = |t: &&str| [kernel, "kernel", "using", "typedef"].contains(t);
                let mut open = Open::default();
                let is_closed = body.iter().all(|token| open.add(token, false).is_ok());
                if !is_closed || !open.brackets.is_empty() || body.iter().any(declares) {
                    return Err("a macro may declare the kernel, or leaves a bracket open");
                }
            }
            ["include" | "import", "<", file, ..]
                if file.starts_with("metal") || file.starts_with("simd") => {}
            ["pragma", "unroll" | "nounroll" | "once" | "METAL", ..]
            | ["pragma", "clang", "loop" | "fp" | "diagnostic", ..]
            | []
            | ["undef" | "line" | "error", ..] => {}
            _ => return Err("a directive may change or hide declarations"),
        }
        Ok(())
    }
}

/// Refuses words that may give a kernel another name, or make tokens that the source does not show.
fn check_words(all: &[&str], kernel: &str) -> Result<(), Why> {
    let is_read = |(index, token): (usize, &&str)| match (*token, &all[index + 1..]) {
        ("host_name", ["(", name, ")", ..]) => {
            name.starts_with('"') && !name.contains('\\') && name.trim_matches('"') != kernel
        }
        ("_Pragma", ["(", text, ..]) => {
            text.starts_with("\"clang loop ") || text.starts_with("\"unroll")
        }
        ("#", ["#", ..]) => false,
        (word, _) => !matches!(
            word,
            "host_name" | "_Pragma" | "__kernel" | "asm" | "__asm" | "__asm__"
        ),
    };
    match all.iter().enumerate().all(is_read) {
        true => Ok(()),
        false => Err("host_name, _Pragma, asm, __kernel or ## may declare the kernel"),
    }
}
