use metal_bridge::{Error, StorageMode};

use crate::*;

#[test]
fn buffers_of_every_mode_have_their_length() {
    for mode in MODES {
        let buffer = device().new_buffer(1000, mode).unwrap();
        assert_eq!((buffer.len(), buffer.storage_mode()), (1000, mode));
        assert_eq!(buffer.device(), device());
        assert!(!buffer.is_read_only());
    }
}

#[test]
fn values_come_back_as_they_went_in() {
    for mode in [StorageMode::Shared, StorageMode::Managed] {
        let buffer = device()
            .new_buffer_with_data(&[1u32, 2, 3, 4], mode)
            .unwrap();
        assert_eq!(*buffer.wait_read::<u32>().unwrap(), [1, 2, 3, 4]);
        buffer.wait_write::<u32>().unwrap()[2] = 30;
        buffer.wait_copy_from_slice(12, &[40u32]).unwrap();
        assert_eq!(*buffer.wait_read_range::<u32>(1..4).unwrap(), [2, 30, 40]);
        buffer.wait_write_range::<u16>(2..4).unwrap().fill(7);
        // Any offset will do for a copy.
        let mut bytes = [0u8; 3];
        buffer.wait_copy_to_slice(3, &mut bytes).unwrap();
        assert_eq!(bytes, [0, 7, 0]);
        buffer.try_write::<u32>().unwrap()[3] = 41;
        assert_eq!(buffer.try_read::<u32>().unwrap()[3], 41);
    }
}

#[test]
fn lengths_that_cannot_be_are_refused() {
    for mode in MODES {
        assert_error(
            device().new_buffer(0, mode),
            |e| matches!(e, Error::InvalidArgument(_)),
            "mtb_buffer_create",
        );
        let most = device().limits().max_buffer_length as usize;
        assert_error(
            device().new_buffer(most + 1, mode),
            |e| matches!(e, Error::OutOfRange(_)),
            &most.to_string(),
        );
        assert_error(
            device().new_buffer(usize::MAX, mode),
            |e| matches!(e, Error::OutOfRange(_)),
            "buffer",
        );
    }
    let nothing: &[f32] = &[];
    let made = device().new_buffer_with_data(nothing, StorageMode::Shared);
    assert_error(
        made,
        |e| matches!(e, Error::InvalidArgument(_)),
        "mtb_buffer_create_with_bytes",
    );
    let made = device().new_buffer_with_data(&[1.0f32], StorageMode::Private);
    assert_error(made, |e| matches!(e, Error::InvalidArgument(_)), "private");
}

#[test]
fn private_buffers_show_the_cpu_nothing() {
    let buffer = device().new_buffer(16, StorageMode::Private).unwrap();
    assert_error(
        buffer.wait_read::<u8>(),
        |e| matches!(e, Error::NotVisible(_)),
        "private",
    );
    assert_error(
        buffer.wait_write::<u8>(),
        |e| matches!(e, Error::NotVisible(_)),
        "Buffer::wait_write",
    );
    assert_error(
        buffer.wait_copy_from_slice(0, &[1u8]),
        |e| matches!(e, Error::NotVisible(_)),
        "16 bytes",
    );
}

#[test]
fn ranges_that_reach_out_are_refused() {
    let buffer = shared(&[0.0; 4]);
    buffer.set_label("four floats").unwrap();
    assert_error(
        buffer.wait_read_range::<f32>(2..5),
        |e| matches!(e, Error::OutOfRange(_)),
        "four floats",
    );
    assert_error(
        buffer.wait_read_range::<f32>(0..usize::MAX),
        |e| matches!(e, Error::OutOfRange(_)),
        "16 bytes",
    );
    #[allow(clippy::reversed_empty_ranges)]
    let backwards = 3..1;
    assert_error(
        buffer.wait_write_range::<f32>(backwards),
        |e| matches!(e, Error::OutOfRange(_)),
        "3..1",
    );
    assert_error(
        buffer.wait_copy_to_slice(13, &mut [0u32]),
        |e| matches!(e, Error::OutOfRange(_)),
        "13..17",
    );
    assert_error(
        buffer.wait_copy_from_slice(usize::MAX, &[0u32]),
        |e| matches!(e, Error::OutOfRange(_)),
        "16 bytes",
    );
    assert!(buffer.wait_read_range::<f32>(4..4).unwrap().is_empty());
}

#[test]
fn partial_values_are_refused() {
    let buffer = device().new_buffer(7, StorageMode::Shared).unwrap();
    assert_error(
        buffer.wait_read::<f32>(),
        |e| matches!(e, Error::Misaligned(_)),
        "7 bytes",
    );
    assert_error(
        buffer.wait_write::<()>(),
        |e| matches!(e, Error::Misaligned(_)),
        "values of 0 bytes",
    );
    assert_eq!(buffer.wait_read::<u8>().unwrap().len(), 7);
}

#[test]
fn labels_come_back() {
    let buffer = shared(&[0.0]);
    assert_eq!(buffer.label(), None);
    buffer.set_label("wéights").unwrap();
    assert_eq!(buffer.label().as_deref(), Some("wéights"));
    assert_error(
        buffer.set_label("a\0b"),
        |e| matches!(e, Error::InvalidArgument(_)),
        "NUL at byte 1",
    );
    assert_eq!(buffer.label().as_deref(), Some("wéights"));
}

#[test]
fn clones_are_the_same_buffer() {
    let buffer = shared(&[1.0]);
    let clone = buffer.clone();
    assert!(buffer.is_same(&clone) && !buffer.is_same(&shared(&[1.0])));
    clone.wait_write::<f32>().unwrap()[0] = 2.0;
    drop(clone);
    assert_eq!(*buffer.wait_read::<f32>().unwrap(), [2.0]);
}

#[test]
fn managed_buffers_have_two_copies() {
    let (queue, buffer) = (
        queue(),
        device()
            .new_buffer_with_data(&[1.0f32; 64], StorageMode::Managed)
            .unwrap(),
    );
    // Dropping the guard tells the GPU's copy.
    buffer.wait_write::<f32>().unwrap().fill(5.0);
    increment(&queue, &buffer, None).wait().unwrap();
    let mut commands = queue.command_buffer().unwrap();
    let mut blit = commands.blit_command_encoder().unwrap();
    blit.synchronize(&buffer).unwrap();
    blit.end_encoding().unwrap();
    commands.commit().unwrap().wait().unwrap();
    assert_eq!(*buffer.wait_read::<f32>().unwrap(), [6.0; 64]);
}
