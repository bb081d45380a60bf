//! Includes of the native code: who may include whom, and no circles.

use std::collections::{BTreeMap, BTreeSet};

use crate::files::{self, Files, folder};

/// The folders that the build searches.
const ROOTS: [&str; 5] = [
    "native/bridge",
    "native/include",
    "native/software",
    "native/software/include",
    "native/software/msl/include",
];

/// From a unit to the units that it includes, each with one file's include to show for it.
type Graph = BTreeMap<String, BTreeMap<String, String>>;

/// What a line includes, and whether in quotes.
fn included(line: &str) -> Option<(&str, bool)> {
    let directive = line.trim_start().strip_prefix('#')?.trim_start();
    let rest = ["include", "import"]
        .iter()
        .find_map(|word| directive.strip_prefix(word))?
        .trim_start();
    let close = match rest.chars().next()? {
        '"' => '"',
        '<' => '>',
        _ => return None,
    };
    let name = rest[1..].split(close).next()?;
    Some((name, close == '"'))
}

/// A path without `.` and `..`.
fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    parts.join("/")
}

/// The includes of one file of ours in another, with `name_of` naming the unit that a file belongs to; and the includes in quotes
/// that lead nowhere.
fn graph(files: &Files, name_of: impl Fn(&str) -> String) -> (Graph, Vec<String>) {
    let (mut graph, mut lost) = (Graph::new(), Vec::new());
    for (path, text) in files {
        let from = name_of(path);
        for (name, quoted) in text.lines().filter_map(included) {
            let folders = [folder(path)].into_iter().chain(ROOTS);
            let found = folders
                .map(|folder| normal(&format!("{folder}/{name}")))
                .find(|candidate| files.contains_key(candidate));
            match found {
                Some(found) => {
                    let to = name_of(&found);
                    if to != from {
                        let show = format!("{path} includes {found}");
                        graph.entry(from.clone()).or_default().insert(to, show);
                    }
                }
                None if quoted => {
                    lost.push(format!("{path} includes \"{name}\", which is not there"))
                }
                None => {}
            }
        }
    }
    (graph, lost)
}

/// The arrows that lie on a circle: from each of them a way leads back to where it begins.
fn circles(graph: &Graph) -> Vec<String> {
    let reaches = |from: &str, to: &str| {
        let (mut waiting, mut seen) = (vec![from], BTreeSet::new());
        while let Some(at) = waiting.pop() {
            if at == to {
                return true;
            }
            if seen.insert(at) {
                waiting.extend(
                    graph
                        .get(at)
                        .into_iter()
                        .flat_map(|to| to.keys().map(String::as_str)),
                );
            }
        }
        false
    };
    let arrows = graph
        .iter()
        .flat_map(|(from, all)| all.iter().map(move |(to, show)| (from, to, show)));
    arrows
        .filter(|(from, to, _)| reaches(to, from))
        .map(|(from, to, show)| format!("{from} -> {to}: {show}"))
        .collect()
}

fn native() -> Files {
    let mut files = files::read(&["native/bridge", "native/include", "native/software"]);
    files.retain(|path, _| !path.starts_with("native/software/tests/"));
    files
}

/// A product's folder: `native/software/engine` for what is in or below it.
fn part(path: &str) -> String {
    let parts: Vec<_> = folder(path).split('/').take(3).collect();
    parts.join("/")
}

/// Folder of the bridge, and the folders that it may include.
const BRIDGE: [(&str, &[&str]); 11] = [
    ("core", &[]),
    ("platform", &["core"]),
    ("device", &["core"]),
    ("buffer", &["core", "device"]),
    ("event", &["core", "device"]),
    ("library", &["core", "device"]),
    ("queue", &["core", "device", "event"]),
    ("command", &["core", "buffer", "event", "queue"]),
    ("compute", &["core", "buffer", "library", "command"]),
    ("indirect", &["core", "compute"]),
    ("mps", &["core", "buffer", "command"]),
];

/// The bridge's includes that lead to a folder that comes later. The memory layer may include all of them.
fn against_the_order(graph: &Graph) -> Vec<String> {
    let in_bridge = |path: &str| path.strip_prefix("native/bridge/").map(str::to_owned);
    let mut wrong = Vec::new();
    for (from, all) in graph {
        let Some(from) = in_bridge(from).filter(|from| from != "memory") else {
            continue;
        };
        let allowed = BRIDGE.iter().find(|(name, _)| *name == from);
        for (to, show) in all {
            let is_allowed = |to: String| allowed.is_some_and(|(_, of)| of.contains(&&*to));
            if !in_bridge(to).is_none_or(is_allowed) {
                wrong.push(show.clone());
            }
        }
    }
    wrong
}

#[test]
fn no_file_includes_itself_by_way_of_others() {
    let (graph, lost) = graph(&native(), str::to_owned);
    assert!(graph.len() > 200, "only {} files include", graph.len());
    files::assert_none(&lost);
    files::assert_none(&circles(&graph));
}

#[test]
fn no_folder_includes_itself_by_way_of_others() {
    let (graph, _) = graph(&native(), |path| folder(path).to_owned());
    assert!(graph.len() > 10, "only {} folders include", graph.len());
    files::assert_none(&circles(&graph));
}

#[test]
fn a_folder_of_the_bridge_includes_only_earlier_ones() {
    let (graph, _) = graph(&native(), part);
    let folders = graph
        .keys()
        .filter(|from| from.starts_with("native/bridge/"));
    assert!(folders.count() > 7);
    files::assert_none(&against_the_order(&graph));
}

#[test]
fn an_include_of_a_later_folder_is_found() {
    let mut files = native();
    let buffer = files.get_mut("native/bridge/buffer/buffer.c").unwrap();
    buffer.push_str("#include \"queue/queue.h\"\n");
    let (graph, _) = graph(&files, part);
    let expected = ["native/bridge/buffer/buffer.c includes native/bridge/queue/queue.h"];
    assert_eq!(against_the_order(&graph), expected);
}

#[test]
fn the_software_metal_includes_nothing_of_the_bridge() {
    let product = |path: &str| path.split('/').take(2).collect::<Vec<_>>().join("/");
    let (graph, _) = graph(&native(), product);
    let software = graph.get("native/software");
    assert_eq!(software, None, "{software:?}");
    assert!(graph.contains_key("native/bridge"));
}

#[test]
fn a_circle_is_found() {
    let files = files::made_up(&[
        ("native/software/a/a.h", "#include \"b/b.h\"\n"),
        (
            "native/software/b/b.h",
            "  #  import <c/c.h>\n#include <vector>\n",
        ),
        ("native/software/c/c.h", "#include \"../a/a.h\"\n"),
        (
            "native/software/c/d.h",
            "#include \"c.h\"\n#include \"gone.h\"\n",
        ),
    ]);
    let (of_files, lost) = graph(&files, str::to_owned);
    assert_eq!(circles(&of_files).len(), 3);
    assert_eq!(lost.len(), 1, "{lost:?}");
    let (of_folders, _) = graph(&files, part);
    assert_eq!(circles(&of_folders).len(), 3);
    let (mut open, _) = graph(&files, part);
    open.remove("native/software/c");
    files::assert_none(&circles(&open));
}
