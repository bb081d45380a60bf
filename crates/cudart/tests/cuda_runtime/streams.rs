//! The order of streams: with themselves, with the legacy default stream, with each other through events.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use metal_bridge_test_support::{in_child, wait_for};
use metal_cudart::*;

use crate::support::*;

const LENGTH: usize = 64 << 10;

fn set(memory: &Memory, value: i32, stream: cudaStream_t) {
    // SAFETY: device memory of that length.
    ok(unsafe { cudaMemsetAsync(memory.pointer, value, LENGTH, stream) });
}

fn query(stream: cudaStream_t) -> cudaError_t {
    // SAFETY: a handle, checked by the call.
    unsafe { cudaStreamQuery(stream) }
}

fn destroy(stream: cudaStream_t) {
    // SAFETY: a handle, checked by the call.
    ok(unsafe { cudaStreamDestroy(stream) });
}

/// Two memories with 0 in them, and copies of the one into the other in a stream.
struct Pair {
    from: Memory,
    to: Memory,
}

impl Pair {
    fn new() -> Pair {
        let pair = Pair {
            from: Memory::device(LENGTH),
            to: Memory::device(LENGTH),
        };
        pair.from.write(0, &[0; LENGTH]);
        pair.to.write(0, &[0; LENGTH]);
        pair
    }

    fn copy(&self, stream: cudaStream_t) {
        let (to, from) = (self.to.pointer, self.from.pointer);
        // SAFETY: both have that length.
        ok(unsafe { cudaMemcpyAsync(to, from, LENGTH, cudaMemcpyDeviceToDevice, stream) });
    }
}

#[test]
fn streams_run_in_order_while_the_caller_goes_on() {
    let (gate, pair) = (Gate::default(), Pair::new());
    let stream = stream(cudaStreamNonBlocking);
    gate.close(stream);
    for value in 1..=50 {
        set(&pair.from, value, stream);
        pair.copy(stream);
    }
    assert_eq!(query(stream), cudaErrorNotReady);
    // The answer is not an error.
    ok(cudaGetLastError());
    gate.open();
    synchronize(stream);
    ok(query(stream));
    assert_eq!(pair.to.read(0, LENGTH), [50; LENGTH]);
    destroy(stream);
}

#[test]
fn legacy_and_blocking_streams_wait_for_each_other() {
    let (first, second) = (Gate::default(), Gate::default());
    let (before, after) = (Pair::new(), Pair::new());
    let blocking = stream(cudaStreamDefault);
    // The legacy stream after a blocking one.
    first.close(blocking);
    set(&before.from, 7, blocking);
    before.copy(ptr::null_mut());
    assert_eq!(query(ptr::null_mut()), cudaErrorNotReady);
    // A blocking one after the legacy stream.
    second.close(ptr::null_mut());
    set(&after.from, 9, ptr::null_mut());
    let other = stream(cudaStreamDefault);
    after.copy(other);
    first.open();
    assert_eq!(query(other), cudaErrorNotReady);
    second.open();
    synchronize(other);
    assert_eq!(before.to.read(0, LENGTH), [7; LENGTH]);
    assert_eq!(after.to.read(0, LENGTH), [9; LENGTH]);
    destroy(blocking);
    destroy(other);
}

#[test]
fn legacy_synchronization_waits_for_blocking_streams() {
    let (gate, pair) = (Gate::default(), Pair::new());
    let blocking = stream(cudaStreamDefault);
    gate.close(blocking);
    set(&pair.from, 3, blocking);
    // The legacy stream has no work of its own.
    let asked = query(ptr::null_mut());
    thread::scope(|scope| {
        let waiter = scope.spawn(|| synchronize(ptr::null_mut()));
        thread::sleep(Duration::from_millis(20));
        assert!(!waiter.is_finished());
        gate.open();
    });
    assert_eq!(asked, cudaErrorNotReady);
    ok(query(blocking));
    // A query sees at once that the blocking stream's work is done, whichever of the two command buffers completes
    // first.
    for value in 0..200 {
        set(&pair.from, value, blocking);
        synchronize(ptr::null_mut());
        ok(query(blocking));
    }
    destroy(blocking);
}

#[test]
fn non_blocking_and_legacy_streams_do_not_wait() {
    let (gate, pair) = (Gate::default(), Pair::new());
    let free = stream(cudaStreamNonBlocking);
    gate.close(free);
    set(&pair.from, 5, ptr::null_mut());
    pair.copy(ptr::null_mut());
    synchronize(cudaStreamLegacy as cudaStream_t);
    assert_eq!(query(free), cudaErrorNotReady);
    gate.open();
    let closed = Gate::default();
    closed.close(ptr::null_mut());
    pair.copy(free);
    synchronize(free);
    closed.open();
    synchronize(ptr::null_mut());
    assert_eq!(pair.to.read(0, LENGTH), [5; LENGTH]);
    destroy(free);
}

#[test]
fn every_thread_has_a_default_stream_of_its_own() {
    let (gate, pair) = (Gate::default(), Pair::new());
    let own = cudaStreamPerThread as cudaStream_t;
    gate.close(own);
    // Blocking with the legacy stream...
    set(&pair.from, 4, own);
    pair.copy(cudaStreamLegacy as cudaStream_t);
    thread::scope(|scope| {
        scope.spawn(|| {
            // ...another thread's, and not this one's.
            ok(query(cudaStreamPerThread as cudaStream_t));
        });
    });
    assert_eq!(query(own), cudaErrorNotReady);
    gate.open();
    // SAFETY: a handle, checked by the call.
    ok(unsafe { cudaStreamSynchronize_ptsz(ptr::null_mut()) });
    synchronize(ptr::null_mut());
    assert_eq!(pair.to.read(0, LENGTH), [4; LENGTH]);
}

#[test]
fn per_thread_functions_take_null_as_the_threads_own() {
    let (gate, pair) = (Gate::default(), Pair::new());
    let free = stream(cudaStreamNonBlocking);
    // The legacy stream is held up, but not this thread's: it has no work after that.
    let (to, from) = (pair.to.pointer, pair.from.pointer);
    // SAFETY: both have that length.
    unsafe {
        ok(cudaMemsetAsync_ptsz(from, 6, LENGTH, ptr::null_mut()));
        ok(cudaMemcpy_ptds(to, from, LENGTH, cudaMemcpyDeviceToDevice));
        ok(cudaStreamSynchronize_ptsz(ptr::null_mut()));
        gate.close(ptr::null_mut());
        ok(cudaStreamQuery_ptsz(ptr::null_mut()));
        expect(cudaErrorNotReady, cudaStreamQuery(ptr::null_mut()));
    }
    gate.open();
    assert_eq!(pair.to.read(0, LENGTH), [6; LENGTH]);
    destroy(free);
}

#[test]
fn a_stream_destroyed_with_work_pending_does_it() {
    let (gate, pair) = (Gate::default(), Pair::new());
    let doomed = stream(cudaStreamDefault);
    gate.close(doomed);
    set(&pair.from, 8, doomed);
    destroy(doomed);
    assert_eq!(query(doomed), cudaErrorInvalidResourceHandle);
    // The legacy stream waits for it all the same.
    pair.copy(ptr::null_mut());
    gate.open();
    // SAFETY: takes nothing.
    ok(unsafe { cudaDeviceSynchronize() });
    assert_eq!(pair.to.read(0, LENGTH), [8; LENGTH]);
}

#[test]
fn bad_handles_and_flags_have_their_codes() {
    let mut handle = ptr::null_mut();
    let gone = stream(0);
    destroy(gone);
    let foreign = event(0);
    // SAFETY: handles are checked, and NULL pointers are refused.
    unsafe {
        expect(cudaErrorInvalidValue, cudaStreamCreate(ptr::null_mut()));
        expect(
            cudaErrorInvalidValue,
            cudaStreamCreateWithFlags(&mut handle, 2),
        );
        assert!(handle.is_null());
        for bad in [
            gone,
            foreign,
            0x30 as cudaStream_t,
            usize::MAX as cudaStream_t,
        ] {
            let code = cudaErrorInvalidResourceHandle;
            let mut flags = 0;
            expect(code, cudaStreamDestroy(bad));
            expect(code, cudaStreamQuery(bad));
            expect(code, cudaStreamSynchronize(bad));
            expect(code, cudaStreamGetFlags(bad, &mut flags));
            expect(code, cudaStreamWaitEvent(bad, foreign, 0));
            expect(code, cudaEventRecord(foreign, bad));
            expect(code, cudaMemsetAsync(ptr::null_mut(), 0, 0, bad));
        }
        // The default streams cannot be destroyed.
        expect(
            cudaErrorInvalidResourceHandle,
            cudaStreamDestroy(ptr::null_mut()),
        );
        expect(
            cudaErrorInvalidResourceHandle,
            cudaStreamDestroy(cudaStreamLegacy as cudaStream_t),
        );
        ok(cudaEventDestroy(foreign));
    }
}

#[test]
fn streams_tell_their_flags_and_the_only_priority() {
    let mut made = ptr::null_mut();
    let (mut flags, mut priority, mut least, mut greatest) = (9, 9, 9, 9);
    // SAFETY: pointers to the results.
    unsafe {
        ok(cudaDeviceGetStreamPriorityRange(&mut least, &mut greatest));
        ok(cudaDeviceGetStreamPriorityRange(
            ptr::null_mut(),
            ptr::null_mut(),
        ));
        ok(cudaStreamCreateWithPriority(
            &mut made,
            cudaStreamNonBlocking,
            -5,
        ));
        ok(cudaStreamGetFlags(made, &mut flags));
        ok(cudaStreamGetPriority(made, &mut priority));
    }
    assert_eq!(
        (flags, priority, least, greatest),
        (cudaStreamNonBlocking, 0, 0, 0)
    );
    destroy(made);
}

/// Fails if a thread that commits more than a stream has slots for holds up another one that queries the stream.
#[track_caller]
fn assert_full_stream_answers(commit: impl Fn(cudaStream_t) + Sync) {
    let gate = Gate::default();
    let stream = stream(cudaStreamNonBlocking);
    gate.close(stream);
    let handle = stream.expose_provenance();
    let committed = AtomicUsize::new(0);
    let (was_told, told) = thread::scope(|scope| {
        let committer = scope.spawn(|| {
            for _ in 0..5_000 {
                commit(ptr::with_exposed_provenance_mut(handle));
                committed.fetch_add(1, Ordering::Relaxed);
            }
        });
        // Until it waits for a slot.
        let mut before = usize::MAX;
        while before != committed.load(Ordering::Relaxed) {
            before = committed.load(Ordering::Relaxed);
            thread::sleep(Duration::from_millis(500));
        }
        assert!(!committer.is_finished());
        let asker = scope.spawn(|| query(ptr::with_exposed_provenance_mut(handle)));
        let asked = Instant::now();
        while !asker.is_finished() && asked.elapsed().as_secs() < 60 {
            thread::sleep(Duration::from_millis(5));
        }
        let was_told = asker.is_finished();
        gate.open();
        (was_told, asker.join().unwrap())
    });
    assert!(was_told, "the query waited for the stream");
    assert_eq!(told, cudaErrorNotReady);
    synchronize(stream);
    destroy(stream);
}

#[test]
fn a_full_stream_can_be_asked() {
    let pair = Pair::new();
    assert_full_stream_answers(|stream| pair.copy(stream));
    // SAFETY: a function that does nothing.
    let call = |stream| unsafe { cudaLaunchHostFunc(stream, Some(do_nothing), ptr::null_mut()) };
    assert_full_stream_answers(|stream| ok(call(stream)));
    let event = event(cudaEventDefault).expose_provenance();
    let event = || ptr::with_exposed_provenance_mut(event);
    // SAFETY: handles, checked by the calls.
    let record = |stream| ok(unsafe { cudaEventRecord(event(), stream) });
    assert_full_stream_answers(record);
    assert_full_stream_answers(|stream| {
        record(stream);
        // SAFETY: as above.
        ok(unsafe { cudaStreamWaitEvent(stream, event(), 0) });
    });
    // SAFETY: as above.
    ok(unsafe { cudaEventDestroy(event()) });
}

unsafe extern "C-unwind" fn do_nothing(_: *mut c_void) {}

/// More pieces of work than a Metal queue has slots for: the caller waits for the oldest, and nothing is lost.
#[test]
fn thousands_of_pieces_of_work_go_through_a_stream() {
    let pair = Pair::new();
    let stream = stream(cudaStreamDefault);
    for value in 0..10_000 {
        // SAFETY: one byte of the memory.
        ok(unsafe { cudaMemsetAsync(pair.from.at(value % LENGTH), value as i32, 1, stream) });
    }
    synchronize(stream);
    let expected: Vec<u8> = (0..10_000).map(|value| value as u8).collect();
    assert_eq!(pair.from.read(0, 10_000), expected);
    destroy(stream);
}

unsafe extern "C-unwind" fn note_end(context: *mut c_void) {
    // SAFETY: the flag outlives the stream's work.
    unsafe { &*context.cast::<AtomicBool>() }.store(true, Ordering::Release);
}

/// The reset is held up by another stream's work, so that it is going on when the thread ends.
#[test]
fn a_thread_that_ends_during_a_reset_leaves_no_work_behind() {
    let test = "streams::a_thread_that_ends_during_a_reset_leaves_no_work_behind";
    in_child(test, || {
        static ENDED: AtomicBool = AtomicBool::new(false);
        let (reset_gate, own_gate) = (Gate::default(), Arc::new(Gate::default()));
        let held = stream(cudaStreamNonBlocking);
        reset_gate.close(held);
        let (has_begun, begun) = mpsc::channel();
        let (may_end, end) = mpsc::channel();
        let thread = thread::spawn({
            let gate = own_gate.clone();
            move || {
                let own = cudaStreamPerThread as cudaStream_t;
                gate.close(own);
                let context = ptr::from_ref(&ENDED).cast_mut().cast();
                // SAFETY: the function takes a flag.
                ok(unsafe { cudaLaunchHostFunc(own, Some(note_end), context) });
                has_begun.send(()).unwrap();
                end.recv().unwrap();
            }
        });
        begun.recv().unwrap();
        thread::scope(|scope| {
            // SAFETY: takes nothing.
            let reset = scope.spawn(|| ok(unsafe { cudaDeviceReset() }));
            wait_for("the reset", || {
                query(held) == cudaErrorInvalidResourceHandle
            });
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(50));
                own_gate.open();
            });
            may_end.send(()).unwrap();
            thread.join().unwrap();
            let (has_ended, is_resetting) = (ENDED.load(Ordering::Acquire), !reset.is_finished());
            reset_gate.open();
            assert!(has_ended, "the thread has left work behind");
            assert!(is_resetting);
        });
    });
}
