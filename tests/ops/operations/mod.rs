//! `docs/operations.md`: which operations there are, and what each takes. The launchers decide the types and what broadcasts, in
//! calls on tensors without elements; names, kernels and forms are read from the sources. `METAL_BRIDGE_WRITE_DOCS=1` writes the
//! page anew.

mod probes;
pub mod sources;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use metal_bridge::ops::DataType;

use probes::{Row, rows};
use sources::{Method, Sources};

const PAGE: &str = "docs/operations.md";

const HEAD: &str = "\
# Operations

What `metal_bridge::ops` computes. `cargo test --test ops operations` compares this page with the code, and
`METAL_BRIDGE_WRITE_DOCS=1 cargo test --test ops operations` writes it. The crate's documentation has the formula, the shapes, the
errors and the accuracy of each call.

Each call of `Ops` encodes into a `ComputeEncoder`, after it has checked all arguments. The calls of `MetalOps` run at once, and a
`Batch` has those on tensors too.

## On tensors

`Ops` takes a `Tensor` of any strides and offset, with up to 8 dimensions; an `x` marks the types of its elements. \"Broadcast\" names
the operands that may have size 1 where the result has more. `MetalOps` has the calls of the last column: first on tensors, then, for
some, on whole buffers of `f32` (`add`) and on addresses of `MetalBackend::allocate` (`add_ptr`). All calls on tensors also take
what `MetalBackend::tensor_at` finds at such an address.

";

const VIEWS: &str = "
## Views

These make a `Tensor` of the same elements, of any type, and move nothing. Operations take a view as they take any tensor, and `convert` copies it.
Strides are not negative, so a view cannot reverse an axis: `index_select` with the positions from the last to the first copies it
reversed.

| view | call of `Tensor` | what it is |
|---|---|---|
";

/// What views are called elsewhere, and the methods that make them.
const VIEW_NAMES: [(&str, &str); 4] = [
    ("slice", "narrow"),
    ("slice with a step, after `narrow`", "step"),
    ("permute, transpose", "permute"),
    ("broadcast, expand", "broadcast_to"),
];

const ENGINE: &str = "
## Of the Llama engine

These take plain views: row-major elements without gaps, of `f32`, or rows that `round_activations` has rounded. `linear`, `linear_add` and `embed` read weights of all formats
(`WeightType::ALL`), as `matmul_weights` does on tensors, and a `KvCache` holds `f32`, `f16` or `q8_0`. Launches go to an encoder, or to a
`SequenceRecorder`, which records them once for many executions. The calls of `MetalOps` take slices of
the host.

";

fn page(sources: &Sources) -> String {
    let mut page = HEAD.to_owned();
    let types = DataType::ALL.map(DataType::name).join(" | ");
    page += &format!("| operation | call of `Ops` | kernel | {types} | broadcast | `MetalOps` |\n");
    page += &format!("|{}\n", "---|".repeat(5 + DataType::ALL.len()));
    for row in rows() {
        let method = &sources.methods[row.method()];
        let marks: String = DataType::ALL
            .iter()
            .map(|data_type| if row.takes(*data_type) { " x |" } else { " |" })
            .collect();
        page += &format!(
            "| {} | `{}` | {} |{marks}{} |{} |\n",
            row.name,
            row.call,
            kernels(sources, method),
            spaced(&Vec::from_iter(row.broadcast()).join(", ")),
            spaced(&quoted(
                &row.names_at_once()
                    .flat_map(|name| sources.at_once(name))
                    .collect::<Vec<_>>()
            )),
        );
    }
    page += VIEWS;
    for (name, method) in VIEW_NAMES {
        page += &format!("| {name} | `{method}` | {} |\n", sources.views[method]);
    }
    page += ENGINE;
    page += "| call of `Ops` | kernel | `MetalOps` |\n|---|---|---|\n";
    for (name, method) in sources
        .methods
        .iter()
        .filter(|(_, method)| !method.on_tensors)
    {
        page += &format!(
            "| `{name}` | {} |{} |\n",
            kernels(sources, method),
            spaced(&quoted(&sources.at_once(name))),
        );
    }
    page
}

fn spaced(text: &str) -> String {
    match text {
        "" => String::new(),
        text => format!(" {text}"),
    }
}

fn quoted(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

/// The kernels that a method's documentation names, and their files. Methods without kernels of their own have those of the methods
/// that they name.
fn kernels(sources: &Sources, method: &Method) -> String {
    let own = sources.kernels_in(&method.documentation);
    let all: BTreeSet<_> = match own.is_empty() {
        false => own,
        true => method
            .linked()
            .flat_map(|linked| sources.kernels_in(&sources.methods[linked].documentation))
            .collect(),
    };
    assert!(!all.is_empty(), "no kernel of\n{}", method.documentation);
    let (mut files, names): (Vec<String>, Vec<String>) = all.into_iter().unzip();
    files.dedup();
    format!("{} of {}", quoted(&names), quoted(&files))
}

#[test]
fn the_page_says_what_the_code_does() {
    let sources = Sources::read();
    let new = page(&sources);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    if std::env::var_os("METAL_BRIDGE_WRITE_DOCS").is_some() {
        fs::write(&path, &new).expect("writable");
    }
    let old = fs::read_to_string(&path).unwrap_or_default();
    for (number, (old, new)) in old.lines().zip(new.lines()).enumerate() {
        assert_eq!(
            old,
            new,
            "{PAGE} line {}: METAL_BRIDGE_WRITE_DOCS=1 writes it",
            number + 1
        );
    }
    assert_eq!(old, new, "{PAGE}: METAL_BRIDGE_WRITE_DOCS=1 writes it");
}

#[test]
fn the_page_has_all_calls_and_functions() {
    let (sources, rows) = (Sources::read(), rows());
    let missing: Vec<&String> = sources
        .methods
        .iter()
        .filter(|(name, method)| method.on_tensors && !rows.iter().any(|row| row.method() == *name))
        .map(|(name, _)| name)
        .collect();
    assert_eq!(missing, [""; 0], "calls without a row");
    let is_alone = |row: &&Row| {
        row.names_at_once()
            .all(|name| sources.at_once(name).is_empty())
    };
    let alone: Vec<_> = rows.iter().filter(is_alone).map(Row::method).collect();
    assert_eq!(alone, [""; 0], "calls without one of MetalOps");
    let views = BTreeSet::from(VIEW_NAMES.map(|(_, method)| method));
    let methods = sources.views.keys().map(String::as_str);
    assert_eq!(
        methods.collect::<BTreeSet<_>>(),
        views,
        "views without a row"
    );
    for (name, variants) in &sources.enums {
        for variant in variants {
            let function = format!("{name}::{variant}");
            let is_there = |row: &Row| row.variant() == Some(&function);
            assert!(rows.iter().any(is_there), "{function} is not in ALL");
        }
    }
    assert_eq!(sources.enums.len(), 7);
    // The device's peak is measured with a kernel that is not an operation, and the modules `groups` and `indirect` have kernels
    // of their own.
    let mut nobodys = sources.kernels_of_nobody();
    nobodys.sort_unstable();
    let others = [
        "encode_level",
        "grid_probe",
        "inclusive_scan",
        "multiply_add",
    ];
    assert_eq!(nobodys, others, "kernels that no call names");
}
