//! Files in smaller formats, against the reference's quantizers.

use metal_bridge::ops::WeightType;
use metal_bridge_llama::gguf::{Array, Gguf, GgufWriter, TensorType, Value};
use metal_bridge_llama::quantize::{FORMATS, QuantizeError, quantize};
use std::io::{self, Write};

/// A file with some tensors, their dimensions, types and bytes.
fn file(tensors: &[(&str, &[u64], TensorType, Vec<u8>)]) -> Gguf {
    let mut writer = GgufWriter::with_alignment(64).unwrap();
    let words = ["a", "b"].into_iter().collect();
    writer
        .metadata("general.architecture", Value::String("llama".into()))
        .metadata("tokenizer.ggml.tokens", Value::Array(Array::String(words)))
        .metadata("general.file_type", Value::U32(0));
    for (name, dimensions, kind, _) in tensors {
        writer.tensor(name, dimensions, *kind).unwrap();
    }
    open(|out| {
        let mut data = tensors.iter();
        writer.write(out, |_, out| out.write_all(&data.next().unwrap().3))
    })
}

fn open(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Gguf {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    write(&mut file).unwrap();
    Gguf::open(file.path()).unwrap()
}

fn quantized(input: &Gguf, kind: WeightType) -> (Gguf, Vec<String>) {
    let mut kept = Vec::new();
    let output = open(|out| {
        let result = quantize(input, kind, out).map_err(io::Error::other)?;
        kept = result.kept;
        Ok(())
    });
    (output, kept)
}

fn bytes(file: &Gguf, name: &str) -> Vec<u8> {
    file.tensor_bytes(file.tensor(name).unwrap()).unwrap()
}

fn floats(values: impl IntoIterator<Item = f32>) -> Vec<u8> {
    values.into_iter().flat_map(f32::to_le_bytes).collect()
}

/// `data/quantized.py` made the first file, and llama.cpp's own quantizers (`tests/foreign/llama`, `record`) the second one, whose rows
/// are a super-block.
#[test]
fn each_format_has_the_bits_of_the_reference() {
    let mut compared = Vec::new();
    for (name, columns) in [("quantized", 32), ("searched", 256)] {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data");
        let reference = Gguf::open(format!("{folder}/{name}.gguf")).unwrap();
        let values = bytes(&reference, "F32");
        let rows = values.len() / 4 / columns;
        let dimensions = [columns as u64, rows as u64];
        let input = file(&[("x.weight", &dimensions, TensorType::F32, values)]);
        for kind in FORMATS {
            let of = TensorType::of(kind);
            if reference.tensor(of.name()).is_err() {
                continue;
            }
            let (output, kept) = quantized(&input, kind);
            assert_eq!(kept, [""; 0]);
            assert_eq!(output.tensor("x.weight").unwrap().element_type(), of);
            let (found, expected) = (bytes(&output, "x.weight"), bytes(&reference, of.name()));
            let size = found.len() / rows;
            for (row, (found, expected)) in
                found.chunks(size).zip(expected.chunks(size)).enumerate()
            {
                assert_eq!(found, expected, "{of}, row {row}");
            }
            assert_eq!(found.len(), expected.len());
            compared.push(kind);
        }
    }
    assert_eq!(compared.len(), FORMATS.len());
}

#[test]
fn halves_quantize_as_the_floats_that_they_are() {
    let values: Vec<f32> = (0..64).map(|i| (i as f32 - 20.0) / 8.0).collect();
    let of = |kind| {
        let input = file(&[(
            "x.weight",
            &[64, 1],
            TensorType::F32,
            floats(values.clone()),
        )]);
        bytes(&quantized(&input, kind).0, "x.weight")
    };
    for kind in [WeightType::F16, WeightType::BF16] {
        let input = file(&[("x.weight", &[64, 1], TensorType::of(kind), of(kind))]);
        let (output, _) = quantized(&input, WeightType::Q5_1);
        assert_eq!(bytes(&output, "x.weight"), of(WeightType::Q5_1));
    }
}

/// The first value counts of those that are equally far from zero, whatever the sign of a zero.
#[test]
fn negative_zeros_quantize_as_the_reference_does() {
    let of = |first: f32, rest: f32, kind| {
        let mut values = [rest; 32];
        values[0] = first;
        let input = file(&[("x.weight", &[32, 1], TensorType::F32, floats(values))]);
        bytes(&quantized(&input, kind).0, "x.weight")
    };
    for (first, rest, scale, least) in [
        (-0.0, -0.0, 0, 0x80),
        (-0.0, 0.0, 0, 0x80),
        (0.0, -0.0, 0x80, 0),
        (0.0, 0.0, 0x80, 0),
    ] {
        for kind in [WeightType::Q4_0, WeightType::Q5_0] {
            assert_eq!(of(first, rest, kind)[..2], [0, scale], "{kind:?}");
        }
        for kind in [WeightType::Q4_1, WeightType::Q5_1] {
            assert_eq!(of(first, rest, kind)[..4], [0, 0, 0, least], "{kind:?}");
        }
    }
}

#[test]
fn what_is_no_matrix_of_floats_stays_as_it_is() {
    let router = "blk.0.ffn_gate_inp.weight";
    let tensors: [(&str, &[u64], TensorType, Vec<u8>); 5] = [
        ("norm.weight", &[64], TensorType::F32, floats([1.0; 64])),
        ("odd.weight", &[48, 2], TensorType::F32, floats([2.0; 96])),
        (
            "small.weight",
            &[32, 2],
            TensorType::of(WeightType::Q4_1),
            vec![7; 40],
        ),
        (router, &[32, 4], TensorType::F32, floats([3.0; 128])),
        (
            "whole.weight",
            &[32, 2, 2],
            TensorType::F32,
            floats([4.0; 128]),
        ),
    ];
    let input = file(&tensors);
    let (output, kept) = quantized(&input, WeightType::Q8_0);
    assert_eq!(kept, ["odd.weight", "small.weight", router]);
    for (name, dimensions, kind, data) in &tensors {
        let tensor = output.tensor(name).unwrap();
        assert_eq!(tensor.dimensions(), *dimensions);
        if *name == "whole.weight" {
            assert_eq!(tensor.element_type(), TensorType::Q8_0);
        } else {
            assert_eq!(tensor.element_type(), *kind);
            assert_eq!(bytes(&output, name), *data);
        }
    }
    assert_eq!(output.alignment(), 64);
    assert_eq!(output.get("general.file_type"), Some(&Value::U32(7)));
    assert_eq!(
        output.get("general.quantization_version"),
        Some(&Value::U32(2))
    );
    // Nothing is left to quantize: the file says what it said.
    let (again, _) = quantized(&output, WeightType::Q4_0);
    assert_eq!(again.get("general.file_type"), Some(&Value::U32(7)));
    for key in ["general.architecture", "tokenizer.ggml.tokens"] {
        assert_eq!(output.get(key), input.get(key));
    }
}

#[test]
fn weights_that_a_format_cannot_hold_are_named() {
    let far = 40_000;
    for (value, kind) in [
        (f32::NAN, WeightType::Q4_0),
        (f32::NEG_INFINITY, WeightType::BF16),
        (f32::MAX, WeightType::BF16),
        (65_600.0, WeightType::F16),
        (-65_600.0, WeightType::Q4_1),
        (1e7, WeightType::Q8_0),
        (-5e5, WeightType::Q2_K),
        (2.2e6, WeightType::Q4_K),
        (-2e8, WeightType::Q6_K),
    ] {
        let mut values = vec![1.0f32; 64_000];
        values[far] = value;
        let input = file(&[("x.weight", &[256, 250], TensorType::F32, floats(values))]);
        let error = quantize(&input, kind, io::sink()).unwrap_err();
        assert!(
            matches!(&error, QuantizeError::Value { index, .. } if *index == far as u64),
            "{error}"
        );
        let text = format!(
            "tensor \"x.weight\": element 40000 is {value}, which {} cannot hold",
            TensorType::of(kind)
        );
        assert_eq!(error.to_string(), text);
    }
    let input = file(&[("x.weight", &[256, 1], TensorType::F32, floats([1.0; 256]))]);
    let error = quantize(&input, WeightType::F32, io::sink()).unwrap_err();
    let expected = "no quantizer makes F32; possible are F16, BF16, Q8_0, Q6_K, ";
    assert!(error.to_string().starts_with(expected), "{error}");
    assert!(matches!(error, QuantizeError::Unsupported(_)), "{error}");
}

/// A disk that is full after some bytes.
#[test]
fn errors_of_the_output_are_reported() {
    struct Full(usize);
    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.0 < bytes.len() {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.0 -= bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let input = file(&[("x.weight", &[64, 2], TensorType::F32, floats([1.0; 128]))]);
    for room in [0, 10, 200, 400] {
        let error = quantize(&input, WeightType::Q8_0, Full(room)).unwrap_err();
        assert!(
            matches!(&error, QuantizeError::Io(error) if error.kind() == io::ErrorKind::StorageFull),
            "{error}"
        );
    }
}

/// A few bytes in, gigabytes of padding out.
#[test]
fn files_with_an_enormous_alignment_are_refused() {
    let with_alignment = |alignment: u32| {
        open(|out| {
            let key = "general.alignment";
            out.write_all(b"GGUF\x03\0\0\0")?;
            out.write_all(&[0u64, 1, key.len() as u64].map(u64::to_le_bytes).concat())?;
            out.write_all(key.as_bytes())?;
            out.write_all(&[4, alignment].map(u32::to_le_bytes).concat())
        })
    };
    let error = quantize(&with_alignment(1 << 31), WeightType::F16, io::sink()).unwrap_err();
    assert!(
        matches!(error, QuantizeError::Alignment(2_147_483_648)),
        "{error}"
    );
    let most = GgufWriter::MAX_ALIGNMENT;
    quantize(&with_alignment(most), WeightType::F16, io::sink()).unwrap();
    let error = GgufWriter::with_alignment(2 * most).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
}
