//! Metal source without its directives: which tokens depend on a condition, and which words are macros.

use std::collections::{HashMap, HashSet};

use super::tokens::{LINE_END, is_identifier};

pub(super) struct Token<'a> {
    pub(super) text: &'a str,
    /// Between `#if` and its `#endif`.
    pub(super) is_conditional: bool,
}

#[derive(Default)]
struct Macro<'a> {
    /// The words and symbols of all its definitions.
    body: Vec<&'a str>,
    /// Whether every definition is a number; `None` without one.
    is_number: Option<bool>,
}

pub(super) struct Source<'a> {
    pub(super) tokens: Vec<Token<'a>>,
    macros: HashMap<&'a str, Macro<'a>>,
    /// Macros that may make declarations, by themselves or through others.
    declaring: HashSet<&'a str>,
}

impl<'a> Source<'a> {
    pub(super) fn new(all: &[&'a str]) -> Result<Source<'a>, String> {
        let mut source = Source {
            tokens: Vec::new(),
            macros: HashMap::new(),
            declaring: HashSet::new(),
        };
        // How many braces and parentheses are open, now and at each `#if` that is open.
        let (mut open, mut conditions) = ([0isize; 2], Vec::new());
        for line in all.split(|token| *token == LINE_END) {
            if let ["#", directive @ ..] = line {
                source.directive(directive, open, &mut conditions)?;
                continue;
            }
            for text in line {
                count(&mut open, text);
                source.tokens.push(Token {
                    text,
                    is_conditional: !conditions.is_empty(),
                });
            }
        }
        if !conditions.is_empty() {
            return Err("a conditional directive has no #endif".to_owned());
        }
        source.find_declaring();
        Ok(source)
    }

    fn directive(
        &mut self,
        words: &[&'a str],
        open: [isize; 2],
        conditions: &mut Vec<[isize; 2]>,
    ) -> Result<(), String> {
        match words {
            ["if" | "ifdef" | "ifndef", ..] => conditions.push(open),
            // A brace that is open in one branch only hides what is after it.
            ["elif" | "elifdef" | "elifndef" | "else", ..] if conditions.last() == Some(&open) => {}
            ["endif", ..] if conditions.pop() == Some(open) => {}
            ["define", name, body @ ..] => return self.define(name, body),
            ["undef", name, ..] => {
                self.macros.entry(name).or_default();
            }
            ["include" | "import", "<", file, ..]
                if ["metal", "simd"].iter().any(|ours| file.starts_with(ours)) => {}
            ["include" | "import", ..] => {
                return Err("the source includes other text".to_owned());
            }
            ["pragma", rest @ ..] if !rest.contains(&"redefine_extname") => {}
            [] | ["line" | "error" | "warning", ..] => {}
            [word, ..] => {
                return Err(format!("the directive #{word} may change what is compiled"));
            }
        }
        Ok(())
    }

    fn define(&mut self, name: &'a str, body: &[&'a str]) -> Result<(), String> {
        let mut open = [0; 2];
        let stays_open = body.iter().any(|token| {
            count(&mut open, token);
            open.iter().any(|count| *count < 0)
        });
        if stays_open || open != [0; 2] {
            return Err(format!(
                "the macro {name} opens or closes a brace or a parenthesis"
            ));
        }
        let known = self.macros.entry(name).or_default();
        let is_number =
            matches!(body, [number] if number.starts_with(|c: char| c.is_ascii_digit()));
        known.is_number = Some(known.is_number.unwrap_or(true) && is_number);
        known.body.extend(body);
        Ok(())
    }

    fn find_declaring(&mut self) {
        let words = [
            "kernel",
            "__kernel",
            "host_name",
            "using",
            "typedef",
            "_Pragma",
        ];
        loop {
            let declares = |known: &Macro| {
                let has_word = |t: &&str| words.contains(t) || self.declaring.contains(t);
                known.body.iter().any(has_word)
                    || known.body.windows(2).any(|pair| pair == ["#", "#"])
            };
            let found = self.macros.iter().filter(|(_, known)| declares(known));
            let found: HashSet<&str> = found.map(|(name, _)| *name).collect();
            if found == self.declaring {
                return;
            }
            self.declaring = found;
        }
    }

    /// Whether the word may be something else than it looks: a macro of the source, unless it is a number, or a name
    /// that the compiler keeps for itself.
    pub(super) fn is_replaced(&self, word: &str) -> bool {
        let is_own = word.starts_with("__") && !matches!(word, "__restrict" | "__restrict__");
        let known = self.macros.get(word);
        let is_macro = known.is_some_and(|known| known.is_number != Some(true));
        is_identifier(word) && (is_macro || is_own || word == "_Pragma" || !word.is_ascii())
    }

    pub(super) fn may_declare(&self, word: &str) -> bool {
        self.declaring.contains(word) || word == "_Pragma"
    }
}

fn count(open: &mut [isize; 2], token: &str) {
    match token {
        "{" => open[0] += 1,
        "}" => open[0] -= 1,
        "(" => open[1] += 1,
        ")" => open[1] -= 1,
        _ => {}
    }
}
