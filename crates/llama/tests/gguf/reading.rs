//! What is read is what was written.

use crate::*;

#[test]
fn what_is_written_is_read() {
    let mut writer = GgufWriter::new();
    for (key, value) in values() {
        writer.metadata(key, value);
    }
    writer.tensor("matrix", &[64, 3], TensorType::Q8_0).unwrap();
    writer.tensor("vector", &[5], TensorType::F32).unwrap();
    let mut bytes = Vec::new();
    writer
        .write(&mut bytes, |tensor, out| {
            out.write_all(&vec![tensor.name().len() as u8; tensor.byte_len() as usize])
        })
        .unwrap();

    let gguf = open(&bytes).unwrap();
    assert_eq!(
        (gguf.version(), gguf.alignment(), gguf.file_size()),
        (3, 32, bytes.len() as u64)
    );
    let expected = values();
    assert!(
        gguf.metadata()
            .eq(expected.iter().map(|(key, value)| (*key, value)))
    );
    let matrix = gguf.tensor("matrix").unwrap();
    assert_eq!(
        (matrix.dimensions(), matrix.element_type()),
        (&[64, 3][..], TensorType::Q8_0)
    );
    assert_eq!((matrix.byte_len(), matrix.element_count()), (204, 192));
    let vector = gguf.tensor("vector").unwrap();
    assert_eq!(vector.offset() % 32, 0);
    assert_eq!(gguf.tensor_bytes(vector).unwrap(), [6; 20]);
    assert_eq!(gguf.get_u64("u8").unwrap(), Some(200));
    assert_eq!(gguf.get_u64("none").unwrap(), None);
}

#[test]
fn the_shipped_model_is_read() {
    let gguf = Gguf::open(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../models/tiny-stories/tiny-stories-q8_0.gguf"
    ))
    .unwrap();
    assert_eq!(gguf.get_str("general.architecture").unwrap(), Some("llama"));
    assert_eq!(gguf.get_u64("llama.block_count").unwrap(), Some(4));
    assert_eq!(gguf.tensors().len(), 39);
    assert_eq!(
        gguf.tensor("blk.3.ffn_down.weight").unwrap().dimensions(),
        [768, 256]
    );
}

#[test]
fn version_2_is_read() {
    let gguf = Raw::header(2, 0, 1)
        .string("k")
        .u32(4)
        .u32(9)
        .open()
        .unwrap();
    assert_eq!((gguf.version(), gguf.get_u64("k").unwrap()), (2, Some(9)));
}
