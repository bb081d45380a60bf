//! [`Awaited`]: whose work that of a stream is ordered after, for those who ask how that has ended.
//!
//! A queue goes on as soon as the GPU has signalled what it waits for, which may be before the signalling queue's
//! completions are heard of. Who says that a stream is done, and whether anything has failed, waits for those too.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::runtime::commands::Committed;
use crate::runtime::failure::Outcome;
use crate::runtime::stream::Marker;

/// Of each other stream, by its number, the latest marker that was waited for and whose end has not been heard of. One that
/// stands for the markers before it: the completions of a queue come in its order.
#[derive(Clone, Default)]
pub(crate) struct Awaited(BTreeMap<u64, (u64, Arc<Committed>)>);

impl Awaited {
    /// Adds a marker, and what its own stream has waited for.
    pub(crate) fn add(&mut self, marker: &Marker) {
        self.join(&marker.awaited);
        self.insert(marker.stream, marker.value, &marker.commands);
    }

    pub(crate) fn join(&mut self, other: &Awaited) {
        for (stream, (value, commands)) in &other.0 {
            self.insert(*stream, *value, commands);
        }
    }

    fn insert(&mut self, stream: u64, value: u64, commands: &Arc<Committed>) {
        self.0.retain(|_, (_, commands)| !commands.has_ended());
        if commands.has_ended() {
            return;
        }
        let slot = self.0.entry(stream).or_insert((value, commands.clone()));
        if slot.0 < value {
            *slot = (value, commands.clone());
        }
    }

    /// Waits for the ends. Where the GPU is past the waits already, they come at once.
    pub(crate) fn wait(&self) -> Outcome {
        self.0
            .values()
            .try_for_each(|(_, commands)| commands.wait())
    }
}

#[cfg(all(test, software_metal))]
mod tests {
    use std::ffi::c_void;
    use std::sync::{Condvar, Mutex};
    use std::thread;
    use std::time::Duration;

    use crate::runtime::bridge::check;
    use crate::runtime::commands::commit;
    use crate::runtime::devices::Context;
    use crate::runtime::stream::Stream;
    use crate::types::cudaStreamNonBlocking;
    use metal_bridge::sys;

    #[derive(Default)]
    struct Latch(Mutex<bool>, Condvar);

    unsafe extern "C" fn wait_for_latch(_: *const sys::mtb_completion, latch: *mut c_void) {
        // SAFETY: the latch outlives the work.
        let Latch(is_open, changed) = unsafe { &*latch.cast::<Latch>() };
        let guard = is_open.lock().unwrap();
        drop(changed.wait_while(guard, |is_open| !*is_open).unwrap());
    }

    /// Work that the GPU is done with at once, and of whose end it is heard when the latch is opened.
    fn commit_late(stream: &Stream, latch: &Latch) {
        let committed = stream.enqueue(|| {
            commit(stream.queue(), &stream.context.sticky, |commands| {
                let latch = std::ptr::from_ref(latch).cast_mut().cast();
                // SAFETY: the command buffer is being recorded by this thread; the function takes a latch.
                unsafe {
                    check(|error| {
                        sys::mtb_command_buffer_add_completed_callback(
                            commands,
                            Some(wait_for_latch),
                            latch,
                            None,
                            error,
                        )
                    })
                }
            })
        });
        committed.unwrap();
    }

    /// Also where it was waited for by way of a third stream, and by an event.
    #[test]
    fn nobody_is_done_before_it_is_heard_how_the_work_before_has_ended() {
        let context = Context::current().unwrap();
        let streams = [0; 3].map(|_| Stream::sibling(&context, cudaStreamNonBlocking).unwrap());
        let [late, between, last] = &streams;
        let latch = Latch::default();
        commit_late(late, &latch);
        between.wait_for(&late.record(false).unwrap()).unwrap();
        last.wait_for(&between.record(false).unwrap()).unwrap();
        let marker = last.record(true).unwrap();
        thread::scope(|scope| {
            let waiters = [
                scope.spawn(|| between.synchronize()),
                scope.spawn(|| last.synchronize()),
                scope.spawn(|| marker.wait()),
            ];
            marker.commands.wait().unwrap();
            thread::sleep(Duration::from_millis(20));
            assert!(waiters.iter().all(|waiter| !waiter.is_finished()));
            *latch.0.lock().unwrap() = true;
            latch.1.notify_all();
            for waiter in waiters {
                waiter.join().unwrap().unwrap();
            }
        });
    }
}
