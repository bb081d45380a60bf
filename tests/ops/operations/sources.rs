//! What the sources say of the operations: their methods with their documentation, the kernels, and the forms of `MetalOps`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// A method of `Ops` that encodes.
pub struct Method {
    /// Without what it says of errors.
    pub documentation: String,
    /// Whether it takes tensors, not plain views.
    pub on_tensors: bool,
}

impl Method {
    /// The methods of `Ops` that the documentation links.
    pub fn linked(&self) -> impl Iterator<Item = &str> {
        let links = self.documentation.split("[`Ops::").skip(1);
        links.filter_map(|link| link.split('`').next())
    }
}

pub struct Sources {
    pub methods: BTreeMap<String, Method>,
    /// The variants of the enumerations that have a constant `ALL`, of those in `src/ops/tensor/` that name functions.
    pub enums: BTreeMap<String, Vec<String>>,
    /// The first sentences of the documentation of the methods of `Tensor` that give another view of its elements.
    pub views: BTreeMap<String, String>,
    /// The kernels, or what several of them begin with, each behind its file below `shaders/`.
    kernels: Vec<(String, String)>,
    /// The calls of `MetalOps`.
    at_once: Vec<String>,
}

fn texts(folder: &str) -> BTreeMap<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.unwrap().path());
    entries
        .filter(|path| path.is_file())
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect()
}

/// The letters of a name that a text begins with.
fn name(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    &text[..end.unwrap_or(text.len())]
}

impl Sources {
    pub fn read() -> Sources {
        let ops = [texts("src/ops"), texts("src/ops/tensor")];
        let mut sources = Sources {
            methods: BTreeMap::new(),
            enums: BTreeMap::new(),
            views: BTreeMap::new(),
            kernels: Vec::new(),
            at_once: Vec::new(),
        };
        for (folder, prefix) in [("shaders", ""), ("shaders/tensor", "tensor/")] {
            for (file, text) in texts(folder) {
                let mark =
                    ["host_name(\"", "\nkernel void "][usize::from(!text.contains("host_name"))];
                let file = format!("{prefix}{file}");
                let kernels = text
                    .split(mark)
                    .skip(1)
                    .map(|rest| (file.clone(), name(rest).to_owned()));
                sources.kernels.extend(kernels);
            }
        }
        for text in ops.iter().flat_map(BTreeMap::values) {
            sources.read_methods(text);
            sources.read_enums(text);
        }
        sources.read_views(&ops[1]["view.rs"]);
        for text in texts("src/backend").values() {
            sources.read_calls_at_once(text);
        }
        sources
    }

    fn read_methods(&mut self, text: &str) {
        let mut documentation = String::new();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if let Some(text) = line.strip_prefix("    ///") {
                documentation += text;
                continue;
            }
            if line.trim_start().starts_with("#[") {
                continue;
            }
            // Functions that fit into a line have no encoder.
            let several_lines = line
                .strip_prefix("    pub fn ")
                .filter(|line| line.ends_with('('));
            if let Some(rest) = several_lines {
                let lines = lines.by_ref();
                let signature: String = lines
                    .take_while(|line| !line.starts_with("    )"))
                    .collect();
                let encoders = [
                    "encoder: &mut ComputeEncoder",
                    "target: &mut dyn LaunchTarget",
                ];
                if encoders.iter().any(|encoder| signature.contains(encoder)) {
                    let on_tensors = signature.contains("Tensor<'a>");
                    let (documentation, _) = documentation.split_once("# Errors").expect("errors");
                    let method = Method {
                        documentation: documentation.to_owned(),
                        on_tensors,
                    };
                    self.methods.insert(name(rest).to_owned(), method);
                }
            }
            documentation = String::new();
        }
    }

    fn read_views(&mut self, text: &str) {
        let mut documentation = String::new();
        for line in text.lines() {
            if let Some(text) = line.strip_prefix("    ///") {
                documentation += text;
                continue;
            }
            let rest = line.strip_prefix("    pub fn ").filter(|rest| {
                rest.contains("(&self") && rest.ends_with("-> Result<Tensor<'a>> {")
            });
            if let Some(rest) = rest {
                let (sentence, _) = documentation
                    .split_once(". ")
                    .unwrap_or_else(|| documentation.split_once(". #").expect("a sentence"));
                let sentence = sentence.trim().to_owned();
                self.views.insert(name(rest).to_owned(), sentence);
            }
            documentation = String::new();
        }
    }

    fn read_enums(&mut self, text: &str) {
        for body in text.split("\npub enum ").skip(1) {
            let enumeration = name(body);
            if !text.contains(&format!("pub const ALL: [{enumeration};"))
                || enumeration.ends_with("Type")
            {
                continue;
            }
            let lines = body.lines().skip(1).take_while(|line| *line != "}");
            let variants = lines
                .filter_map(|line| line.strip_prefix("    "))
                .filter(|line| line.starts_with(char::is_uppercase))
                .map(|line| name(line).to_owned())
                .collect();
            self.enums.insert(enumeration.to_owned(), variants);
        }
    }

    /// Those that macros write, some of them several in a line, and those that are written out.
    fn read_calls_at_once(&mut self, text: &str) {
        for block in ["at_once! {", "named! {", "impl MetalOps {"] {
            for block in text.split(&format!("\n{block}\n")).skip(1) {
                let lines = block.lines().take_while(|line| *line != "}");
                let lines = lines.filter_map(|line| line.strip_prefix("    "));
                for line in lines.filter(|line| !line.starts_with([' ', ')', '/'])) {
                    let calls = line.rsplit(": ").next().filter(|_| line.starts_with('"'));
                    let calls = calls.or(line.strip_prefix("pub fn ")).unwrap_or(line);
                    let names = calls
                        .split(", ")
                        .map_while(|call| Some(name(call)).filter(|name| !name.is_empty()));
                    let several = if line.starts_with('"') { 2 } else { 1 };
                    self.at_once.extend(names.take(several).map(str::to_owned));
                }
            }
        }
    }

    /// The calls of `MetalOps` under a name of its own, or of a method of `Ops`.
    pub fn at_once(&self, name: &str) -> Vec<String> {
        let names = ["_with", "", "_ptr"].map(|end| format!("{name}{end}"));
        names
            .into_iter()
            .filter(|name| self.at_once.contains(name))
            .collect()
    }

    /// The kernels in backticks, each behind its file.
    pub fn kernels_in(&self, documentation: &str) -> BTreeSet<(String, String)> {
        let words = documentation.split('`').skip(1).step_by(2);
        let kernels = words
            .map(|word| word.trim_end_matches("_*"))
            .filter_map(|word| {
                let (file, _) = self
                    .kernels
                    .iter()
                    .find(|(_, kernel)| is_of(kernel, word))?;
                Some((file.clone(), word.to_owned()))
            });
        kernels.collect()
    }

    /// The kernels that are not in the documentation of any method.
    pub fn kernels_of_nobody(&self) -> Vec<&str> {
        let methods = self.methods.values();
        let named: BTreeSet<_> = methods
            .flat_map(|method| self.kernels_in(&method.documentation))
            .collect();
        let all = self.kernels.iter().map(|(_, kernel)| kernel.as_str());
        all.filter(|kernel| !named.iter().any(|(_, word)| is_of(kernel, word)))
            .collect()
    }
}

/// Whether the word is the name of the kernel, or all of it but a type.
fn is_of(kernel: &str, word: &str) -> bool {
    let rest = kernel.strip_prefix(word);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
}
