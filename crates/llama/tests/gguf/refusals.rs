//! Files that are not GGUF, are cut, or lie: the reader refuses each with an error that names what is wrong, before it
//! allocates memory for it.

use crate::*;

#[test]
fn other_files_are_not_gguf() {
    for bytes in [&b""[..], b"GGU", b"PK\x03\x04 and more"] {
        let error = open(bytes).unwrap_err();
        assert!(
            matches!(&error, GgufError::NotGguf { found } if bytes.starts_with(found)),
            "{error}"
        );
    }
    assert!(matches!(
        Gguf::open("/no/such/file.gguf"),
        Err(GgufError::Io(_))
    ));
}

/// Opening a pipe would wait for ever: nobody writes into it.
#[cfg(unix)]
#[test]
fn a_pipe_and_a_folder_are_not_files() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe.gguf");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    for path in [pipe.as_path(), folder.path()] {
        let error = Gguf::open(path).unwrap_err();
        assert!(matches!(error, GgufError::NotAFile), "{error}");
    }
}

#[test]
fn other_versions_are_named() {
    let error = Raw::header(1, 0, 0).refusal();
    assert!(
        matches!(
            error,
            GgufError::UnsupportedVersion {
                version: 1,
                big_endian: false
            }
        ),
        "{error}"
    );
    let error = Raw::header(3u32.swap_bytes(), 0, 0).refusal();
    assert!(
        matches!(
            error,
            GgufError::UnsupportedVersion {
                version: 3,
                big_endian: true
            }
        ),
        "{error}"
    );
}

#[test]
fn a_file_cut_anywhere_is_truncated() {
    let whole = Raw::header(3, 2, 2)
        .string("key")
        .u32(8)
        .string("value")
        .string("list")
        .u32(9)
        .u32(8)
        .u64(2)
        .string("a")
        .string("b")
        .tensor("t", &[8], 0, 0)
        .tensor("u", &[8], 0, 32)
        .data(64);
    assert!(whole.open().is_ok());
    for length in 4..whole.0.len() {
        let error = open(&whole.0[..length]).unwrap_err();
        let expected = matches!(
            error,
            GgufError::Truncated { .. } | GgufError::TensorOutOfRange { .. }
        );
        assert!(expected, "cut at {length}: {error}");
    }
}

#[test]
fn counts_beyond_the_file_are_refused_unallocated() {
    let huge = [u64::MAX, u64::MAX / 13, 1 << 40];
    for count in huge {
        for raw in [
            Raw::header(3, count, 0),
            Raw::header(3, 0, count),
            Raw::header(3, 0, 1).u64(count),
            Raw::header(3, 0, 1).string("k").u32(8).u64(count),
            Raw::header(3, 0, 1).string("k").u32(9).u32(10).u64(count),
            Raw::header(3, 0, 1).string("k").u32(9).u32(8).u64(count),
            Raw::header(3, 0, 1).string("k").u32(9).u32(9).u64(count),
            Raw::header(3, 1, 0).u64(count),
        ] {
            let error = raw.data(100).refusal();
            assert!(matches!(error, GgufError::Truncated { .. }), "{error}");
        }
    }
}

#[test]
fn counts_that_a_sparse_file_holds_are_refused() {
    const COUNT: u64 = SPARSE / 64;
    let entry = || Raw::header(3, 0, 1).string("k");
    let in_an_array = |depth| (0..depth).fold(entry().u32(9), |raw, _| raw.u32(9).u64(1));
    let arrays = (0..=12).map(|element| entry().u32(9).u32(element).u64(COUNT));
    // Arrays of one array each; the innermost claims `COUNT` arrays.
    let nested = (0..=7).map(|depth| in_an_array(depth).u32(9).u64(COUNT));
    let others = [
        Raw::header(3, COUNT, 0),
        Raw::header(3, 0, COUNT),
        entry().u32(8).u64(COUNT),
        entry().u32(9).u32(8).u64(1).u64(COUNT),
    ];
    for raw in arrays.chain(nested).chain(others) {
        let error = open_sparse(&raw.0).unwrap_err();
        assert!(matches!(error, GgufError::TooLarge { .. }), "{error}");
    }
    for raw in [
        Raw::header(3, 0, 1).u64(COUNT),
        Raw::header(3, 1, 0).u64(COUNT),
    ] {
        let error = open_sparse(&raw.0).unwrap_err().to_string();
        assert!(error.contains("at most 65535 are allowed"), "{error}");
    }
    // Zeros are empty arrays. One list of them stays below the limit; two are beyond it.
    let many = entry()
        .u32(9)
        .u32(9)
        .u64(4)
        .u32(9)
        .u64(1 << 22)
        .bytes(&vec![0; 12 << 22]);
    let many = many.u32(9).u64(1 << 22);
    let error = open_sparse(&many.0).unwrap_err();
    assert!(matches!(error, GgufError::TooLarge { .. }), "{error}");
}

#[test]
fn invalid_values_are_named() {
    let nested = (0..10).fold(Raw::header(3, 0, 1).string("k").u32(9), |raw, _| {
        raw.u32(9).u64(1)
    });
    for (raw, part) in [
        (
            Raw::header(3, 0, 1).string("k").u32(13),
            "unknown value type 13",
        ),
        (
            Raw::header(3, 0, 1).string("k").u32(9).u32(99).u64(0),
            "unknown element type 99",
        ),
        (
            Raw::header(3, 0, 1).string("k").u32(7).bytes(&[2]),
            "2 is not a bool",
        ),
        (
            Raw::header(3, 0, 1)
                .string("k")
                .u32(8)
                .u64(2)
                .bytes(b"a\xff"),
            "metadata key \"k\" at byte 46: not UTF-8",
        ),
        (
            Raw::header(3, 0, 1)
                .string("general.alignment")
                .u32(4)
                .u32(24),
            "24 is not a power of two",
        ),
        (
            Raw::header(3, 0, 1)
                .string("general.alignment")
                .u32(4)
                .u32(0),
            "0 is not a power of two",
        ),
        (nested, "nested more than 8 deep"),
        (
            Raw::header(3, 1, 0).tensor("t", &[1; 5], 0, 0),
            "5 dimensions",
        ),
        (
            Raw::header(3, 1, 0).tensor("t", &[32, 0], 0, 0),
            "a dimension of zero",
        ),
        (
            Raw::header(3, 1, 0).tensor("t", &[33], 8, 0),
            "rows of 33 weights are not whole Q8_0 blocks of 32",
        ),
        (
            Raw::header(3, 1, 0).tensor("t", &[32], 77, 0),
            "unknown tensor type 77",
        ),
        (
            Raw::header(3, 1, 0).tensor("t", &[1 << 40, 1 << 40], 0, 0),
            "overflows",
        ),
        (
            Raw::header(3, 1, 0).tensor("t", &[1], 0, u64::MAX - 31),
            "overflows",
        ),
        (
            Raw::header(3, 1, 0).tensor("t", &[1], 0, 8),
            "8 is not a multiple of the alignment 32",
        ),
    ] {
        let error = raw.data(100).refusal();
        assert!(matches!(error, GgufError::Invalid { .. }), "{error}");
        assert!(
            error.to_string().contains(part),
            "{error} does not say {part:?}"
        );
    }
}

#[test]
fn tensors_outside_of_the_file_or_on_each_other_are_named() {
    let error = Raw::header(3, 1, 0)
        .tensor("far", &[64], 0, 4096)
        .data(256)
        .refusal();
    assert!(
        matches!(&error, GgufError::TensorOutOfRange { tensor, .. } if tensor == "far"),
        "{error}"
    );
    let error = Raw::header(3, 2, 0)
        .tensor("b", &[8], 0, 32)
        .tensor("a", &[16], 0, 0)
        .data(256)
        .refusal();
    let overlap = matches!(&error, GgufError::TensorOverlap { first, second, .. } if first == "a" && second == "b");
    assert!(overlap, "{error}");
}

#[test]
fn names_that_appear_twice_are_refused() {
    let error = Raw::header(3, 0, 2)
        .string("k")
        .u32(4)
        .u32(1)
        .string("k")
        .u32(4)
        .u32(2)
        .refusal();
    assert!(
        matches!(&error, GgufError::Duplicate { what: "metadata key", name } if name == "k"),
        "{error}"
    );
    let error = Raw::header(3, 2, 0)
        .tensor("t", &[8], 0, 0)
        .tensor("t", &[8], 0, 32)
        .data(64)
        .refusal();
    assert!(
        matches!(&error, GgufError::Duplicate { what: "tensor", name } if name == "t"),
        "{error}"
    );
}

#[test]
fn a_value_of_another_type_is_named() {
    let gguf = Raw::header(3, 0, 1)
        .string("k")
        .u32(9)
        .u32(6)
        .u64(0)
        .open()
        .unwrap();
    let error = gguf.get_str("k").unwrap_err();
    assert_eq!(
        error.to_string(),
        "metadata key \"k\" is array of f32, expected string"
    );
    assert!(matches!(
        gguf.tensor("t"),
        Err(GgufError::MissingTensor { .. })
    ));
}

#[test]
fn the_writer_refuses_what_the_reader_would() {
    let mut writer = GgufWriter::new();
    assert!(writer.tensor("t", &[33], TensorType::Q4_0).is_err());
    assert!(writer.tensor("t", &[1; 5], TensorType::F32).is_err());
    writer.tensor("t", &[8], TensorType::F32).unwrap();
    let (bytes, iq1_s) = (TensorType::from_id(24), TensorType::from_id(19));
    let (bytes, iq1_s) = (bytes.unwrap(), iq1_s.unwrap());
    for (dimensions, element_type) in [
        (&[u64::MAX][..], bytes),
        (&[u64::MAX - 31], bytes),
        (&[u64::MAX], TensorType::F32),
        (&[1 << 32, 1 << 32], bytes),
        // A block of 50 bytes holds 256 weights.
        (&[256, 1 << 56], iq1_s),
    ] {
        let refusal = writer.tensor("u", dimensions, element_type).unwrap_err();
        assert_eq!(refusal.kind(), std::io::ErrorKind::InvalidInput);
    }
    let mut largest = GgufWriter::new();
    largest.tensor("t", &[u64::MAX], bytes).unwrap();
    let refusal = largest.tensor("u", &[1], bytes).unwrap_err();
    assert!(refusal.to_string().contains("overflows"), "{refusal}");
    let short = writer.write(Vec::new(), |_, out| out.write_all(&[0; 31]));
    assert_eq!(short.unwrap_err().kind(), std::io::ErrorKind::InvalidData);
}
