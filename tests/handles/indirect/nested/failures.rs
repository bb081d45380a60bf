//! Runs that failed, that were dropped and that were not encoded whole: none of them has the outcome of a run that ended well.

use metal_bridge::command_buffer_error::OUT_OF_MEMORY;
use metal_bridge_test_support::failures::{self, Raise};
use metal_bridge_test_support::{in_child, leak};

use super::*;

fn gpu_failed(error: &Error) -> bool {
    matches!(error, Error::CommandBuffer(failure) if failure.code() == OUT_OF_MEMORY)
}

fn invalid_state(error: &Error) -> bool {
    matches!(error, Error::InvalidState(_))
}

/// A root that launches two launches of no threads.
fn root() -> NestedLaunch {
    NestedLaunch::new(0, 4, 4, &[2, 0, 0, 0]).unwrap()
}

/// A command buffer with a run of three launches.
fn encoded(kernels: &NestedKernels, queue: &CommandQueue, launched: &Buffer) -> CommandBuffer {
    let mut command_buffer = queue.command_buffer().unwrap();
    // SAFETY: the kernel adds to the one number that there is.
    unsafe { kernels.encode(&mut command_buffer, &[root()], &[launched]) }.unwrap();
    command_buffer
}

#[test]
fn a_run_that_failed_is_told() {
    in_child(
        "indirect::nested::failures::a_run_that_failed_is_told",
        || {
            let (kernels, launched) = (kernels("spread", 3, 3), filled(&[0u32]));
            for by_gpu in [true, false] {
                // By the CPU each level is a command buffer, and the second one fails.
                failures::fail_command_buffer(if by_gpu { 1 } else { 2 }, OUT_OF_MEMORY);
                let result = run_from(&kernels, by_gpu, &[root()], &[&launched]);
                assert_error(result, gpu_failed, "");
                for _ in 0..2 {
                    assert_error(kernels.outcome(), gpu_failed, "");
                }
                let run = run_from(&kernels, by_gpu, &[root()], &[&launched]).unwrap();
                assert_eq!((run.launches, kernels.outcome().unwrap().launches), (3, 3));
            }
            // Nobody waits for the submission: `outcome` does, for the buffers.
            failures::fail_command_buffer(1, OUT_OF_MEMORY);
            drop(encoded(&kernels, &queue(), &launched).commit().unwrap());
            assert_error(kernels.outcome(), gpu_failed, "");
        },
    );
}

#[test]
fn a_run_that_was_not_committed_is_told() {
    in_child(
        "indirect::nested::failures::a_run_that_was_not_committed_is_told",
        || {
            let (kernels, launched) = (kernels("spread", 3, 3), filled(&[0u32]));
            let not_committed = || assert_error(kernels.outcome(), invalid_state, "not committed");
            drop(encoded(&kernels, &queue(), &launched));
            not_committed();
            let command_buffer = encoded(&kernels, &queue(), &launched);
            let commit = || command_buffer.commit();
            failures::raise_in_commits(Raise::BeforeCommit, commit).unwrap_err();
            not_committed();
            // An encoder that was leaked lets no other begin.
            let mut command_buffer = queue().command_buffer().unwrap();
            let encoder = command_buffer.compute_command_encoder(DispatchType::Serial);
            leak(encoder.unwrap());
            // SAFETY: nothing is encoded.
            let result = unsafe { kernels.encode(&mut command_buffer, &[root()], &[&launched]) };
            assert_error(result, invalid_state, "encoder");
            not_committed();
            encoded(&kernels, &queue(), &launched).commit().unwrap();
            assert_eq!(kernels.outcome().unwrap().launches, 3);
        },
    );
}

/// The handlers of the command buffer come after its buffers are free.
#[test]
fn a_completion_handler_has_the_outcome() {
    let (kernels, launched) = (
        std::sync::Arc::new(kernels("spread", 3, 3)),
        filled(&[0u32]),
    );
    let mut command_buffer = queue().command_buffer().unwrap();
    let (sender, receiver) = std::sync::mpsc::channel();
    let asked = kernels.clone();
    command_buffer.add_completed_handler(move |_| sender.send(asked.outcome()).unwrap());
    // SAFETY: the kernel adds to the one number that there is.
    unsafe { kernels.encode(&mut command_buffer, &[root()], &[&launched]) }.unwrap();
    command_buffer.commit().unwrap();
    assert_eq!(receiver.recv().unwrap().unwrap().launches, 3);
}
