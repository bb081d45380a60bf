use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use memmap2::{MmapMut, MmapOptions};
use metal_bridge::{Error, StorageMode, page_size};

use crate::*;

/// Pages whose end is told.
struct Pages {
    map: MmapMut,
    dropped: Arc<AtomicBool>,
}

impl Pages {
    fn new(count: usize) -> (Pages, Arc<AtomicBool>) {
        let dropped = Arc::new(AtomicBool::new(false));
        let map = MmapMut::map_anon(count * page_size()).unwrap();
        (
            Pages {
                map,
                dropped: dropped.clone(),
            },
            dropped,
        )
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        self.dropped.store(true, Ordering::SeqCst);
    }
}

impl AsMut<[u8]> for Pages {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.map
    }
}

impl AsRef<[u8]> for Pages {
    fn as_ref(&self) -> &[u8] {
        &self.map
    }
}

#[test]
fn the_owner_lives_until_the_gpu_is_done() {
    let (mut pages, dropped) = Pages::new(1);
    pages.map[..4].copy_from_slice(&41.0f32.to_ne_bytes());
    let buffer = device()
        .new_buffer_no_copy(pages, StorageMode::Shared)
        .unwrap();
    assert_eq!(buffer.len(), page_size());

    let (queue, gate) = (queue(), device().new_shared_event().unwrap());
    let result = shared(&[0.0]);
    let mut commands = queue.command_buffer().unwrap();
    commands.encode_wait_for_event(&gate, 1).unwrap();
    let mut blit = commands.blit_command_encoder().unwrap();
    blit.copy(&buffer, 0, &result, 0, 4).unwrap();
    drop(blit);
    let submission = commands.commit().unwrap();
    drop(buffer);
    assert!(
        !dropped.load(Ordering::SeqCst),
        "the memory went while the GPU was to read it"
    );
    gate.set_signaled_value(1).unwrap();
    submission.wait().unwrap();
    assert_eq!(*result.wait_read::<f32>().unwrap(), [41.0]);
    drop(submission);
    wait_for("the owner's end", || dropped.load(Ordering::SeqCst));
}

#[test]
fn memory_of_partial_pages_is_refused_and_dropped() {
    struct Half(Pages);
    impl AsMut<[u8]> for Half {
        fn as_mut(&mut self) -> &mut [u8] {
            &mut self.0.map[..1000]
        }
    }
    let (pages, dropped) = Pages::new(1);
    let made = device().new_buffer_no_copy(Half(pages), StorageMode::Shared);
    assert_error(made, |e| matches!(e, Error::Misaligned(_)), "1000");
    assert!(dropped.load(Ordering::SeqCst));

    let (pages, dropped) = Pages::new(1);
    let made = device().new_buffer_no_copy(pages, StorageMode::Private);
    assert_error(made, |e| matches!(e, Error::InvalidArgument(_)), "private");
    assert!(dropped.load(Ordering::SeqCst));
}

#[test]
fn read_only_memory_is_read_and_never_written() {
    let (mut pages, dropped) = Pages::new(1);
    pages.map[..8].copy_from_slice(bytemuck::bytes_of(&[1.0f32, 2.0]));
    let pages = Arc::new(pages);
    let buffer = device()
        .new_buffer_no_copy_read_only(pages.clone())
        .unwrap();
    assert!(buffer.is_read_only());
    assert_eq!(buffer.wait_read::<f32>().unwrap()[..2], [1.0, 2.0]);
    // The program goes on reading, too.
    assert_eq!(pages.map[7], 64);
    assert_error(
        buffer.wait_write::<f32>(),
        |e| matches!(e, Error::ReadOnly(_)),
        "Buffer::wait_write",
    );

    let (queue, target) = (queue(), shared(&[0.0; 2]));
    let mut commands = queue.command_buffer().unwrap();
    let mut blit = commands.blit_command_encoder().unwrap();
    assert_error(
        blit.fill(&buffer, 0..8, 1),
        |e| matches!(e, Error::ReadOnly(_)),
        "BlitEncoder::fill",
    );
    let copied = blit.copy(&target, 0, &buffer, 0, 8);
    assert_error(
        copied,
        |e| matches!(e, Error::ReadOnly(_)),
        "BlitEncoder::copy",
    );
    blit.copy(&buffer, 0, &target, 0, 8).unwrap();
    drop(blit);
    let mut encoder = commands
        .compute_command_encoder(DispatchType::Serial)
        .unwrap();
    assert_error(
        encoder.set_buffer(&buffer, 0, 0),
        |e| matches!(e, Error::ReadOnly(_)),
        "set_buffer",
    );
    encoder.set_buffer_read_only(&buffer, 0, 0).unwrap();
    drop(encoder);
    commands.commit().unwrap().wait().unwrap();
    assert_eq!(*target.wait_read::<f32>().unwrap(), [1.0, 2.0]);

    drop(buffer);
    drop(pages);
    wait_for("the last reference's end", || {
        dropped.load(Ordering::SeqCst)
    });
}

#[test]
fn a_mapped_file_is_read_by_the_gpu() {
    let mut file = tempfile::tempfile().unwrap();
    let values: Vec<f32> = (0..page_size() / 2).map(|i| i as f32).collect();
    file.write_all(bytemuck::cast_slice(&values)).unwrap();
    file.write_all(&[1, 2, 3]).unwrap();
    let map = Arc::new(MmapOptions::new().map_raw_read_only(&file).unwrap());
    let length = map.len();
    assert_eq!(length, 2 * page_size() + 3);

    let second = device()
        .new_buffer_with_mmap(map.clone(), page_size()..length)
        .unwrap();
    assert_eq!(second.len(), page_size() + 3);
    assert_error(
        second.wait_read::<u8>(),
        |e| matches!(e, Error::NotVisible(_)),
        "mapped file",
    );
    let target = shared(&[0.0; 2]);
    let mut commands = queue().command_buffer().unwrap();
    let mut blit = commands.blit_command_encoder().unwrap();
    blit.copy(&second, 4, &target, 0, 8).unwrap();
    let past = blit.copy(&second, page_size(), &target, 0, 8);
    assert_error(past, |e| matches!(e, Error::OutOfRange(_)), "8 bytes");
    drop(blit);
    commands.commit().unwrap().wait().unwrap();
    let first = (page_size() / 4) as f32;
    assert_eq!(
        *target.wait_read::<f32>().unwrap(),
        [first + 1.0, first + 2.0]
    );

    let made = device().new_buffer_with_mmap(map.clone(), 4..length);
    assert_error(
        made,
        |e| matches!(e, Error::Misaligned(_)),
        "mtb_buffer_create_no_copy",
    );
    let made = device().new_buffer_with_mmap(map.clone(), 0..length + 1);
    assert_error(
        made,
        |e| matches!(e, Error::OutOfRange(_)),
        "is not inside the mapping",
    );
    let made = device().new_buffer_with_mmap(map, 0..0);
    assert_error(
        made,
        |e| matches!(e, Error::InvalidArgument(_)),
        "mtb_buffer_create_no_copy",
    );
}

#[test]
fn an_owner_that_panics_in_its_drop_panics_alone() {
    struct Bad(Pages);
    impl AsMut<[u8]> for Bad {
        fn as_mut(&mut self) -> &mut [u8] {
            &mut self.0.map
        }
    }
    impl Drop for Bad {
        fn drop(&mut self) {
            panic!("expected: the test's owner panics in its drop");
        }
    }
    let (pages, dropped) = Pages::new(1);
    drop(
        device()
            .new_buffer_no_copy(Bad(pages), StorageMode::Shared)
            .unwrap(),
    );
    wait_for("the owner's end", || dropped.load(Ordering::SeqCst));
}
