//! Which file of a crate uses what another one defines: by `use`, or by a path in the code. A re-export stands for the file
//! that defines the name. Tests inside the files do not count, nor do declarations of modules and public re-exports: those
//! are how a folder's `mod.rs` says what is in it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{Item, UseTree, Visibility};

use crate::sources::Sources;

/// The path of a module below the crate: empty for the root.
type Module = Vec<String>;

/// A path as it stands in a `use` or in the code.
type Names = Vec<String>;

pub struct Imports(BTreeMap<PathBuf, BTreeSet<PathBuf>>);

impl Imports {
    pub fn of(sources: &Sources) -> Imports {
        let files = sources.0.iter().map(|(path, text)| {
            let syntax = syn::parse_file(text).unwrap_or_else(|e| panic!("{path:?}: {e}"));
            (module_of(path), (path.clone(), syntax))
        });
        let known = Crate {
            files: files.collect(),
        };
        let uses = known.files.iter().map(|(module, (path, syntax))| {
            let mut paths = Paths::default();
            paths.visit_file(syntax);
            let used = paths
                .0
                .iter()
                .filter_map(|names| known.resolve(module, names));
            let used = used.filter(|used| used != path);
            (path.clone(), used.collect())
        });
        Imports(uses.collect())
    }

    /// The same between the units that the files belong to.
    pub fn between(&self, unit: impl Fn(&Path) -> PathBuf) -> Imports {
        let mut units: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for path in self.0.keys() {
            units.entry(unit(path)).or_default();
        }
        for (path, used) in self.edges() {
            let (from, to) = (unit(path), unit(used));
            if from != to {
                units.get_mut(&from).expect("above").insert(to);
            }
        }
        Imports(units)
    }

    /// The files, and the files that each uses.
    pub fn edges(&self) -> impl Iterator<Item = (&Path, &Path)> {
        let files = self.0.iter();
        files.flat_map(|(path, used)| used.iter().map(|used| (path.as_path(), used.as_path())))
    }
}

/// Files that use each other in a circle.
pub fn circle(imports: &Imports) -> Option<Vec<PathBuf>> {
    // What only uses files that are in no circle is in none.
    let mut left = imports.0.clone();
    loop {
        let free: Vec<_> = left
            .iter()
            .filter(|(_, used)| used.iter().all(|used| !left.contains_key(used)))
            .map(|(path, _)| path.clone())
            .collect();
        if free.is_empty() {
            break;
        }
        left.retain(|path, _| !free.contains(path));
    }
    // Every file that is left uses another one that is left: a walk along them comes back.
    let mut walk = vec![left.keys().next()?.clone()];
    loop {
        let used = &left[walk.last().expect("never empty")];
        let next = used.iter().find(|used| left.contains_key(*used));
        let next = next.expect("it would be free");
        if let Some(start) = walk.iter().position(|path| path == next) {
            return Some(walk.split_off(start));
        }
        walk.push(next.clone());
    }
}

fn module_of(file: &Path) -> Module {
    let mut module: Module = file
        .with_extension("")
        .iter()
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    if module
        .last()
        .is_some_and(|name| name == "mod" || name == "lib")
    {
        module.pop();
    }
    module
}

struct Crate {
    files: BTreeMap<Module, (PathBuf, syn::File)>,
}

impl Crate {
    /// The file that defines what `names` names in `module`; `None` for names of other crates.
    fn resolve(&self, module: &[String], names: &[String]) -> Option<PathBuf> {
        let mut module = module.to_vec();
        let mut names = names.iter();
        let first = names.next()?;
        match first.as_str() {
            "crate" => module.clear(),
            "super" => _ = module.pop(),
            "self" => {}
            child if self.has(&module, child) => module.push(child.to_owned()),
            _ => return None,
        }
        self.walk(module, names.as_slice())
    }

    fn walk(&self, mut module: Module, names: &[String]) -> Option<PathBuf> {
        for (i, name) in names.iter().enumerate() {
            if name == "super" {
                module.pop();
            } else if self.has(&module, name) {
                module.push(name.clone());
            } else if let Some(mut exported) = self.re_export(&module, name) {
                exported.extend_from_slice(&names[i + 1..]);
                return self.resolve(&module, &exported);
            } else {
                break;
            }
        }
        self.files.get(&module).map(|(path, _)| path.clone())
    }

    fn has(&self, module: &[String], child: &str) -> bool {
        let child = [module, &[child.to_owned()]].concat();
        self.files.contains_key(&child)
    }

    /// What a re-export in the module stands for.
    fn re_export(&self, module: &[String], name: &str) -> Option<Names> {
        let (_, syntax) = self.files.get(module)?;
        for item in &syntax.items {
            let Item::Use(item) = item else { continue };
            if matches!(item.vis, Visibility::Inherited) {
                continue;
            }
            let mut leaves = Vec::new();
            flatten(&item.tree, &mut Vec::new(), &mut leaves);
            for leaf in leaves {
                let last = leaf.last().expect("a name");
                let is_glob = last == "*" && self.defines(module, &leaf, name);
                if last == name || is_glob {
                    let mut leaf = leaf;
                    if is_glob {
                        *leaf.last_mut().expect("a name") = name.to_owned();
                    }
                    return Some(leaf);
                }
            }
        }
        None
    }

    /// Whether the module of a glob defines an item of this name.
    fn defines(&self, module: &[String], glob: &[String], name: &str) -> bool {
        let Some(path) = self.resolve(module, &glob[..glob.len() - 1]) else {
            return false;
        };
        let (_, (_, syntax)) = self
            .files
            .iter()
            .find(|(_, (of, _))| *of == path)
            .expect("a file");
        let text = sources_of(syntax);
        text.contains(name)
    }
}

/// The names of a file's items, those in macros included.
fn sources_of(file: &syn::File) -> BTreeSet<String> {
    #[derive(Default)]
    struct Items(BTreeSet<String>);
    impl<'a> Visit<'a> for Items {
        fn visit_ident(&mut self, ident: &'a syn::Ident) {
            self.0.insert(ident.to_string());
        }
    }
    let mut items = Items::default();
    items.visit_file(file);
    items.0
}

/// The paths of a `use`, each from its start to its last name.
fn flatten(tree: &UseTree, before: &mut Names, leaves: &mut Vec<Names>) {
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            flatten(&path.tree, before, leaves);
            before.pop();
        }
        UseTree::Group(group) => {
            for tree in &group.items {
                flatten(tree, before, leaves);
            }
        }
        UseTree::Name(name) if name.ident == "self" => leaves.push(before.clone()),
        UseTree::Name(name) => leaves.push([&before[..], &[name.ident.to_string()]].concat()),
        UseTree::Rename(name) => leaves.push([&before[..], &[name.ident.to_string()]].concat()),
        UseTree::Glob(_) => leaves.push([&before[..], &["*".to_owned()]].concat()),
    }
}

/// The paths that a file uses outside of its tests.
#[derive(Default)]
struct Paths(Vec<Names>);

impl<'a> Visit<'a> for Paths {
    fn visit_item_use(&mut self, item: &'a syn::ItemUse) {
        if matches!(item.vis, Visibility::Inherited) {
            flatten(&item.tree, &mut Vec::new(), &mut self.0);
        }
    }

    fn visit_item_mod(&mut self, module: &'a syn::ItemMod) {
        // Modules in a file are its tests, or small enough to count as the file.
        let is_test = module.attrs.iter().any(|attribute| {
            attribute.path().is_ident("cfg")
                && attribute
                    .parse_args::<syn::Ident>()
                    .is_ok_and(|of| of == "test")
        });
        if !is_test {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        let names: Names = path.segments.iter().map(|s| s.ident.to_string()).collect();
        if matches!(&*names[0], "crate" | "super" | "self") && names.len() > 1 {
            self.0.push(names);
        }
        visit::visit_path(self, path);
    }
}
