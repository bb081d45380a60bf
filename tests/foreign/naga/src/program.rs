//! A module of WGSL with what its launch needs to know, which stands in comments before it: `//! groups 2 1 1`.

use std::collections::BTreeMap;

/// What the bytes of a buffer are at the start: of each number in it, as its type holds it.
#[derive(Debug, Clone, PartialEq)]
pub enum Fill {
    /// Numbers between two bounds, integers whole.
    Random(f64, f64),
    /// Bits at random; floating-point numbers stay finite.
    Bits,
    /// These, over and over.
    Values(Vec<f64>),
}

/// How near the two results have to be. Integers have to be equal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerance {
    pub relative: f64,
    pub absolute: f64,
}

#[derive(Debug, Clone)]
pub struct Program {
    pub name: String,
    pub source: String,
    /// Workgroups.
    pub groups: [u32; 3],
    /// Elements of arrays whose length the source leaves open.
    pub length: u32,
    /// By the variable's name; the others get `default_fill`.
    pub fills: BTreeMap<String, Fill>,
    pub default_fill: Fill,
    pub tolerance: Tolerance,
    /// Buffers whose elements may come in any order.
    pub unordered: Vec<String>,
    /// Buffers that are not compared.
    pub ignored: Vec<String>,
    /// Why the module is compiled and made a pipeline of, and no more.
    pub compiled_only: Option<String>,
}

const GROUPS: [u32; 3] = [2, 1, 1];
const LENGTH: u32 = 256;
/// Some roundings of an `f32`.
const TOLERANCE: Tolerance = Tolerance {
    relative: 4e-6,
    absolute: 1e-6,
};

impl Program {
    /// Reads the directives, of which each line is one.
    pub fn new(name: &str, source: &str) -> Result<Program, String> {
        let mut program = Program {
            name: name.to_owned(),
            source: source.to_owned(),
            groups: GROUPS,
            length: LENGTH,
            fills: BTreeMap::new(),
            default_fill: Fill::Random(0.0, 8.0),
            tolerance: TOLERANCE,
            unordered: Vec::new(),
            ignored: Vec::new(),
            compiled_only: None,
        };
        for line in source.lines() {
            if let Some(directive) = line.strip_prefix("//! ") {
                program
                    .take(directive)
                    .ok_or_else(|| format!("{name}: what does `{directive}` mean?"))?;
            }
        }
        Ok(program)
    }

    fn take(&mut self, directive: &str) -> Option<()> {
        let (word, rest) = directive.split_once(' ')?;
        let words: Vec<&str> = rest.split_whitespace().collect();
        match word {
            "groups" => {
                let sizes: Vec<u32> = words
                    .iter()
                    .map(|word| word.parse().ok())
                    .collect::<Option<_>>()?;
                self.groups = sizes.try_into().ok()?;
            }
            "length" => self.length = rest.trim().parse().ok()?,
            "fill" => {
                let (name, fill) = (words.first()?, fill(words.get(1..)?)?);
                match *name {
                    "*" => self.default_fill = fill,
                    name => drop(self.fills.insert(name.to_owned(), fill)),
                }
            }
            "tolerance" => {
                self.tolerance = Tolerance {
                    relative: words.first()?.parse().ok()?,
                    absolute: words.get(1)?.parse().ok()?,
                }
            }
            "unordered" => self.unordered.extend(words.into_iter().map(str::to_owned)),
            "ignored" => self.ignored.extend(words.into_iter().map(str::to_owned)),
            "compiled-only" => self.compiled_only = Some(rest.to_owned()),
            _ => return None,
        }
        Some(())
    }

    pub fn fill(&self, variable: &str) -> &Fill {
        self.fills.get(variable).unwrap_or(&self.default_fill)
    }
}

fn fill(words: &[&str]) -> Option<Fill> {
    let numbers = |words: &[&str]| -> Option<Vec<f64>> {
        words.iter().map(|word| word.parse().ok()).collect()
    };
    match (*words.first()?, words.get(1..)?) {
        ("bits", []) => Some(Fill::Bits),
        ("random", bounds) => match numbers(bounds)?[..] {
            [low, high] => Some(Fill::Random(low, high)),
            _ => None,
        },
        ("values", values) if !values.is_empty() => numbers(values).map(Fill::Values),
        _ => None,
    }
}
