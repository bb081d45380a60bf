use metal_bridge::{BlitEncoder, Error};

use crate::*;

fn run(encode: impl FnOnce(&mut BlitEncoder<'_>)) {
    let mut commands = queue().command_buffer().unwrap();
    let mut blit = commands.blit_command_encoder().unwrap();
    blit.set_label("blit").unwrap();
    encode(&mut blit);
    blit.end_encoding().unwrap();
    commands.commit().unwrap().wait().unwrap();
}

#[test]
fn copies_go_through_every_mode() {
    let values: Vec<u32> = (0..256).collect();
    let source = device()
        .new_buffer_with_data(&values, StorageMode::Shared)
        .unwrap();
    let private = device().new_buffer(1024, StorageMode::Private).unwrap();
    let managed = device()
        .new_buffer_with_data(&[0u32; 256], StorageMode::Managed)
        .unwrap();
    let target = device()
        .new_buffer_with_data(&[0u32; 256], StorageMode::Shared)
        .unwrap();
    run(|blit| {
        blit.copy(&source, 0, &private, 0, 1024).unwrap();
        blit.copy(&private, 0, &managed, 0, 1024).unwrap();
        blit.copy(&private, 400, &target, 800, 8).unwrap();
        blit.synchronize(&managed).unwrap();
        blit.synchronize(&target).unwrap();
    });
    assert_eq!(*managed.wait_read::<u32>().unwrap(), values);
    let target = target.wait_read::<u32>().unwrap();
    assert_eq!(target[199..203], [0, 100, 101, 0]);
}

#[test]
fn ranges_are_filled() {
    let buffer = device()
        .new_buffer_with_data(&[0u8; 16], StorageMode::Shared)
        .unwrap();
    run(|blit| {
        blit.push_debug_group("fill").unwrap();
        blit.fill(&buffer, 4..12, 0xab).unwrap();
        blit.pop_debug_group().unwrap();
    });
    let bytes = buffer.wait_read::<u8>().unwrap();
    assert_eq!(
        (bytes[3], bytes[4], bytes[11], bytes[12]),
        (0, 0xab, 0xab, 0)
    );
}

#[test]
fn bad_ranges_are_refused() {
    let (a, b) = (shared(&[0.0; 8]), shared(&[0.0; 4]));
    let out_of_range = |e: &Error| matches!(e, Error::OutOfRange(_));
    let misaligned = |e: &Error| matches!(e, Error::Misaligned(_));
    let invalid = |e: &Error| matches!(e, Error::InvalidArgument(_));
    run(|blit| {
        assert_error(
            blit.copy(&a, 0, &b, 0, 32),
            out_of_range,
            "32 bytes at offset 0",
        );
        assert_error(
            blit.copy(&a, 28, &b, 0, 8),
            out_of_range,
            "the buffer: 8 bytes at offset 28, but it has 32 bytes",
        );
        assert_error(
            blit.copy(&a, usize::MAX - 3, &b, 0, 8),
            out_of_range,
            "BlitEncoder::copy",
        );
        assert_error(
            blit.copy(&a, 2, &b, 0, 4),
            misaligned,
            "mtb_blit_encoder_copy",
        );
        assert_error(
            blit.copy(&a, 0, &b, 0, 3),
            misaligned,
            "mtb_blit_encoder_copy",
        );
        assert_error(blit.copy(&a, 0, &b, 0, 0), invalid, "mtb_blit_encoder_copy");
        assert_error(blit.copy(&a, 0, &a, 4, 8), invalid, "overlap");
        blit.copy(&a, 0, &a, 16, 16).unwrap();
        assert_error(blit.fill(&a, 0..36, 0), out_of_range, "36 bytes");
        assert_error(blit.fill(&a, 1..5, 0), misaligned, "mtb_blit_encoder_fill");
        assert_error(blit.fill(&a, 4..4, 0), invalid, "mtb_blit_encoder_fill");
        let private = device().new_buffer(16, StorageMode::Private).unwrap();
        assert_error(
            blit.synchronize(&private),
            invalid,
            "mtb_blit_encoder_synchronize",
        );
        assert_error(
            blit.pop_debug_group(),
            |e| matches!(e, Error::InvalidState(_)),
            "group",
        );
    });
}
