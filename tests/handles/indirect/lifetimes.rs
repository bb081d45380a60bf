//! What commands keep alive, and for how long.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use memmap2::MmapMut;
use metal_bridge_test_support::{
    in_child, in_time, resting_objects, settled_handles, settled_objects,
};

use super::*;

/// Memory that asks for the commands when it goes, as a program's own may.
struct Nosy {
    map: MmapMut,
    commands: IndirectCommandBuffer,
    dropped: Arc<AtomicBool>,
}

impl AsMut<[u8]> for Nosy {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.map
    }
}

impl Drop for Nosy {
    fn drop(&mut self) {
        let _ = encode_execution(&self.commands, 1..2, None);
        let _ = self.commands.indirect_compute_command(1);
        let _ = self.commands.reset(1..2);
        self.dropped.store(true, Ordering::SeqCst);
    }
}

#[test]
fn commands_keep_buffers_alive_and_release_them() {
    in_time(|| {
        let commands = new_commands(2);
        let sum = shared(&[0.0; LENGTH]);
        let bind_nosy = || {
            let dropped = Arc::new(AtomicBool::new(false));
            let mut map = MmapMut::map_anon(metal_bridge::page_size()).unwrap();
            bytemuck::cast_slice_mut(&mut map[..LENGTH * 4]).fill(2.0f32);
            let owner = Nosy {
                map,
                commands: commands.clone(),
                dropped: dropped.clone(),
            };
            let buffer = device()
                .new_buffer_no_copy(owner, StorageMode::Shared)
                .unwrap();
            let launch = Launch {
                kernel: "add",
                buffers: vec![(&buffer, 0), (&buffer, 0), (&sum, 0)],
            };
            record(&commands, 0, &launch, true);
            dropped
        };
        let is_dropped = |flag: &Arc<AtomicBool>| flag.load(Ordering::SeqCst);

        let dropped = bind_nosy();
        execute(&commands, 0..2);
        assert_eq!(sum.wait_read::<f32>().unwrap()[..], [4.0; LENGTH]);
        assert!(!is_dropped(&dropped));
        commands.reset(0..1).unwrap();
        wait_for("the memory is released", || is_dropped(&dropped));

        let dropped = bind_nosy();
        let mut command = commands.indirect_compute_command(0).unwrap();
        command.reset().unwrap();
        wait_for("the memory is released", || is_dropped(&dropped));
        command
            .set_compute_pipeline_state(&indirect("increment"))
            .unwrap();
        drop(command);

        let gate = device().new_shared_event().unwrap();
        commands.reset(0..2).unwrap();
        record_increment(&commands, 0, &sum);
        let encoded = encode_execution(&commands, 0..2, Some(&gate)).unwrap();
        let submission = encoded.commit().unwrap();
        drop(commands);
        gate.set_signaled_value(1).unwrap();
        submission.wait().unwrap();
        assert_eq!(sum.wait_read::<f32>().unwrap()[..], [5.0; LENGTH]);
    });
}

#[test]
fn commands_leave_nothing_behind() {
    in_child("indirect::lifetimes::commands_leave_nothing_behind", || {
        let round = || {
            let values = shared(&[0.0; LENGTH]);
            let commands = new_commands(8);
            (0..8).for_each(|index| record_increment(&commands, index, &values));
            for _ in 0..3 {
                execute(&commands, 0..8);
            }
            let mut command_buffer = queue().command_buffer().unwrap();
            let mut blit = command_buffer.blit_command_encoder().unwrap();
            blit.reset_commands_in_buffer(&commands, 2..4).unwrap();
            blit.end_encoding().unwrap();
            command_buffer.commit().unwrap().wait().unwrap();
            record_increment(&commands, 2, &values);
        };
        round();
        let (objects, handles) = (resting_objects(), Device::live_objects());
        (0..5).for_each(|_| round());
        assert_eq!(settled_objects(objects), objects);
        let left = settled_handles(&handles);
        assert!(left.same_live(&handles), "{handles:?} {left:?}");
    });
}

#[cfg(software_metal)]
#[test]
fn a_failed_execution_frees_the_commands() {
    use metal_bridge::command_buffer_error::OUT_OF_MEMORY;
    use metal_bridge_test_support::failures;

    in_child(
        "indirect::lifetimes::a_failed_execution_frees_the_commands",
        || {
            let values = shared(&[0.0; LENGTH]);
            let commands = new_commands(1);
            record_increment(&commands, 0, &values);
            failures::fail_command_buffer(1, OUT_OF_MEMORY);
            let encoded = encode_execution(&commands, 0..1, None).unwrap();
            let failed = encoded.commit().unwrap().wait();
            assert_error(failed, |e| matches!(e, Error::CommandBuffer(_)), "");
            drop(commands.indirect_compute_command(0).unwrap());
            drop(values.try_write::<f32>().unwrap());
            execute(&commands, 0..1);
            failures::fail_allocation(1);
            let descriptor = IndirectCommandBufferDescriptor::default();
            let failed = device().new_indirect_command_buffer(&descriptor, 3);
            assert_error(failed, |e| matches!(e, Error::OutOfMemory(_)), "3 commands");
        },
    );
}
