//! The formats of `metal-bridge quantize` against llama.cpp's own quantizers, bit for bit.

use std::fs::File;

use metal_bridge::ops::WeightType;
use metal_bridge_llama::gguf::{Gguf, GgufWriter, TensorType};
use metal_bridge_llama::quantize::{FORMATS, quantize};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use crate::llama_cpp;

/// Elements of a row: a block of the K formats.
const COLUMNS: usize = 256;
/// Rows of each kind that has random numbers.
const ROWS: usize = 2000;

/// Rows of every kind, with the names of the kinds.
fn rows() -> Vec<(&'static str, Vec<f32>)> {
    let mut random = SmallRng::seed_from_u64(14);
    let mut normal = move || {
        let [a, b]: [f32; 2] = random.random();
        (-2.0 * (1.0 - a).ln()).sqrt() * (std::f32::consts::TAU * b).cos()
    };
    let mut rows = Vec::new();
    for _ in 0..ROWS {
        rows.push(("normal", (0..COLUMNS).map(|_| 0.02 * normal()).collect()));
    }
    for row in 0..ROWS {
        // A few of them far from the rest, another scale in each part, positive only, whole numbers, mostly zeros.
        let number = |index: usize| -> f32 {
            let x = normal();
            match row % 5 {
                0 if index % 37 == row % 37 => 30.0 * x,
                1 => x * ((index / 16 * 7 + row) as f32 % 13.0 - 6.0).exp2(),
                2 => x.abs(),
                3 => (3.0 * x).round(),
                4 if index % 16 != row % 16 => 0.0,
                _ => x,
            }
        };
        rows.push(("uneven", (0..COLUMNS).map(number).collect()));
    }
    for (name, magnitude) in [
        ("huge", 100.0),
        ("small", 1e-6),
        ("tiny", 1e-14),
        ("tinier", 1e-20),
        ("denormal", 1e-39),
    ] {
        for _ in 0..ROWS / 10 {
            rows.push((name, (0..COLUMNS).map(|_| magnitude * normal()).collect()));
        }
    }
    for value in [
        0.0, -0.0, 1.0, -1.0, 0.3, -0.7, 1000.0, -1e-3, 1e-16, -1e-30, 1e-40,
    ] {
        rows.push(("constant", vec![value; COLUMNS]));
        let mut one = vec![0.0; COLUMNS];
        one[77] = value;
        rows.push(("single", one));
        rows.push((
            "ramp",
            (0..COLUMNS).map(|i| value * i as f32 / 255.0).collect(),
        ));
    }
    rows
}

/// Whether llama.cpp is known to make other bits of a row: if one over a scale overflows, which makes nonsense of it, and of negative
/// zeros alone, for which the package `gguf` gives the scale another sign.
fn is_known(kind: WeightType, row: &[f32]) -> bool {
    let is_plain = matches!(
        kind,
        WeightType::Q4_0 | WeightType::Q5_0 | WeightType::MXFP4
    );
    let overflows = |x: &f32| *x != 0.0 && x.abs() < 2f32.powi(-124);
    is_plain && (row.iter().any(overflows) || row.iter().all(|x| x.to_bits() == (-0f32).to_bits()))
}

/// Compares every format with one of `only` in its name; gives how many differ.
pub fn compare(only: &[String]) -> usize {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let [from, to] = ["from.gguf", "to.gguf"].map(|name| folder.path().join(name));
    let rows = rows();
    let values: Vec<f32> = rows
        .iter()
        .flat_map(|(_, row)| row.iter().copied())
        .collect();
    let mut writer = GgufWriter::new();
    let dimensions = [COLUMNS as u64, rows.len() as u64];
    writer
        .tensor("x.weight", &dimensions, TensorType::F32)
        .expect("a matrix");
    let bytes: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    let file = File::create(&from).expect("a file");
    writer
        .write(file, |_, out| out.write_all(&bytes))
        .expect("a file");
    let input = Gguf::open(&from).expect("a file");
    let is_wanted = |kind: &WeightType| {
        let name = format!("quantizer {kind:?}");
        only.is_empty() || only.iter().any(|part| name.contains(part.as_str()))
    };
    let mut failures = 0;
    for kind in FORMATS.into_iter().filter(is_wanted) {
        quantize(&input, kind, File::create(&to).expect("a file")).expect("weights that it holds");
        let output = Gguf::open(&to).expect("a file");
        let ours = output
            .tensor_bytes(output.tensor("x.weight").expect("a matrix"))
            .expect("bytes");
        let theirs = llama_cpp::quantize(TensorType::of(kind).id(), COLUMNS, &values);
        assert_eq!(ours.len(), theirs.len());
        let size = COLUMNS / kind.block_elements() * kind.block_bytes();
        let pairs = ours.chunks_exact(size).zip(theirs.chunks_exact(size));
        let mut differing: Vec<&str> = rows
            .iter()
            .zip(pairs)
            .filter(|((_, row), (ours, theirs))| ours != theirs && !is_known(kind, row))
            .map(|((name, _), _)| *name)
            .collect();
        let count = differing.len();
        differing.dedup();
        print!("quantizer {kind:?}: {} rows, {count} differ", rows.len());
        println!(
            "{}{}",
            if count == 0 { "" } else { ": " },
            differing.join(", ")
        );
        failures += usize::from(count > 0);
    }
    failures
}

/// The bits of llama.cpp for the formats that are searched for, which the tests of `crates/llama` compare with: of the numbers that
/// another file of theirs has, of these as small numbers, and of these as denormal ones.
pub fn record() -> usize {
    const FOLDER: &str = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../crates/llama/tests/data"
    );
    let source = Gguf::open(format!("{FOLDER}/quantized.gguf")).expect("a file of the tests");
    let bytes = source
        .tensor("F32")
        .and_then(|tensor| source.tensor_bytes(tensor));
    let bytes = bytes.expect("numbers");
    let numbers = bytes
        .chunks_exact(4)
        .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    let values: Vec<f32> = [0i32, -70, -130]
        .iter()
        .flat_map(|&exponent| {
            let scale = f64::from(exponent).exp2();
            numbers.clone().map(move |x| (f64::from(x) * scale) as f32)
        })
        .collect();
    let mut writer = GgufWriter::new();
    let rows = values.len() / COLUMNS;
    let kinds = [
        WeightType::F32,
        WeightType::Q2_K,
        WeightType::Q3_K,
        WeightType::Q4_K,
        WeightType::Q5_K,
        WeightType::Q6_K,
        WeightType::IQ4_NL,
        WeightType::IQ4_XS,
    ];
    for of in kinds.map(TensorType::of) {
        let dimensions = [COLUMNS as u64, rows as u64];
        writer.tensor(of.name(), &dimensions, of).expect("a matrix");
    }
    let file = File::create(format!("{FOLDER}/searched.gguf")).expect("a file");
    let written = writer.write(file, |tensor, out| {
        let format = tensor.element_type().id();
        out.write_all(&llama_cpp::quantize(format, COLUMNS, &values))
    });
    written.expect("a file");
    0
}
