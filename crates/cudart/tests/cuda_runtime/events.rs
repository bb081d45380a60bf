//! Events: waits between streams, queries, times.

use std::ptr;
use std::thread;
use std::time::{Duration, Instant};

use metal_cudart::*;

use crate::support::*;

const LENGTH: usize = 4096;

fn record(event: cudaEvent_t, stream: cudaStream_t) {
    // SAFETY: handles, checked by the call.
    ok(unsafe { cudaEventRecord(event, stream) });
}

fn query(event: cudaEvent_t) -> cudaError_t {
    // SAFETY: a handle, checked by the call.
    unsafe { cudaEventQuery(event) }
}

#[test]
fn a_stream_waits_for_what_another_one_has_recorded() {
    for flags in [cudaEventDefault, cudaEventDisableTiming] {
        let gate = Gate::default();
        let (from, to) = (Memory::device(LENGTH), Memory::device(LENGTH));
        let (first, second) = (stream(cudaStreamNonBlocking), stream(cudaStreamNonBlocking));
        let done = event(flags);
        gate.close(first);
        // SAFETY: the memory has that length.
        unsafe {
            ok(cudaMemsetAsync(from.pointer, 11, LENGTH, first));
            record(done, first);
            ok(cudaStreamWaitEvent(second, done, 0));
            let (to, from) = (to.pointer, from.pointer);
            ok(cudaMemcpyAsync(to, from, LENGTH, cudaMemcpyDefault, second));
            // A later recording changes nothing for what waits already.
            record(done, second);
            expect(cudaErrorNotReady, cudaStreamQuery(second));
            expect(cudaErrorNotReady, query(done));
            gate.open();
            ok(cudaEventSynchronize(done));
            ok(query(done));
            // The answer is not an error of the thread.
            ok(cudaGetLastError());
        }
        assert_eq!(to.read(0, LENGTH), [11; LENGTH]);
        // SAFETY: handles, checked by the calls.
        unsafe {
            ok(cudaEventDestroy(done));
            ok(cudaStreamDestroy(first));
            ok(cudaStreamDestroy(second));
        }
    }
}

/// After a wait for work, queries know that all that came before it is done, in other streams too.
#[test]
fn queries_after_a_wait_see_other_streams_work() {
    let (first, second) = (stream(cudaStreamNonBlocking), stream(cudaStreamNonBlocking));
    let (from, to, done) = (Memory::device(LENGTH), Memory::device(LENGTH), event(0));
    for round in 0..100 {
        // SAFETY: memory of that length, and handles that are checked.
        unsafe {
            let gate = Gate::default();
            fall_behind(&gate, &from, first);
            record(done, first);
            ok(cudaStreamWaitEvent(second, done, 0));
            ok(cudaMemsetAsync(to.pointer, round, LENGTH, second));
            gate.open();
            synchronize(second);
            ok(query(done));
            ok(cudaStreamQuery(first));
        }
    }
    // SAFETY: handles, checked by the calls.
    unsafe {
        ok(cudaEventDestroy(done));
        ok(cudaStreamDestroy(first));
        ok(cudaStreamDestroy(second));
    }
}

#[test]
fn an_event_that_was_not_recorded_holds_nobody_up() {
    let fresh = event(0);
    ok(query(fresh));
    // SAFETY: handles, checked by the calls.
    unsafe {
        ok(cudaEventSynchronize(fresh));
        ok(cudaStreamWaitEvent(ptr::null_mut(), fresh, 0));
        ok(cudaEventDestroy(fresh));
        expect(cudaErrorInvalidResourceHandle, cudaEventDestroy(fresh));
        expect(cudaErrorInvalidResourceHandle, query(fresh));
        expect(cudaErrorInvalidResourceHandle, cudaEventSynchronize(fresh));
        expect(
            cudaErrorInvalidResourceHandle,
            cudaStreamWaitEvent(ptr::null_mut(), fresh, 0),
        );
        expect(
            cudaErrorInvalidResourceHandle,
            cudaEventRecord(fresh, ptr::null_mut()),
        );
    }
}

#[test]
fn destroyed_events_still_order_the_work_behind_them() {
    let gate = Gate::default();
    let (from, to) = (Memory::device(LENGTH), Memory::device(LENGTH));
    let (first, second) = (stream(cudaStreamNonBlocking), stream(cudaStreamNonBlocking));
    let done = event(0);
    gate.close(first);
    // SAFETY: the memory has that length.
    unsafe {
        ok(cudaMemsetAsync(from.pointer, 12, LENGTH, first));
        record(done, first);
        ok(cudaStreamWaitEvent(second, done, 0));
        ok(cudaEventDestroy(done));
        ok(cudaStreamDestroy(first));
        ok(cudaMemcpyAsync(
            to.pointer,
            from.pointer,
            LENGTH,
            cudaMemcpyDefault,
            second,
        ));
        gate.open();
        synchronize(second);
        ok(cudaStreamDestroy(second));
    }
    assert_eq!(to.read(0, LENGTH), [12; LENGTH]);
}

#[test]
fn elapsed_times_are_those_of_the_points() {
    let (start, end, timeless, fresh) =
        (event(0), event(0), event(cudaEventDisableTiming), event(0));
    let unrecorded = event(0);
    let stream = stream(cudaStreamNonBlocking);
    let mut ms = -1.0;
    let gate = Gate::default();
    let begun = Instant::now();
    let so_far = || begun.elapsed().as_secs_f32() * 1000.0;
    // SAFETY: handles, checked by the calls, and a pointer to the time.
    unsafe {
        record(start, stream);
        ok(cudaEventSynchronize(start));
        thread::sleep(Duration::from_millis(30));
        gate.close(stream);
        record(end, stream);
        record(timeless, stream);
        expect(cudaErrorNotReady, cudaEventElapsedTime(&mut ms, start, end));
        gate.open();
        ok(cudaEventSynchronize(end));
        ok(cudaEventElapsedTime(&mut ms, start, end));
        assert!((30.0..so_far()).contains(&ms), "{ms} ms");
        ok(cudaEventElapsedTime(&mut ms, end, start));
        assert!(ms < 0.0);
        // Two records in a row each have their own time, even without work between them.
        thread::sleep(Duration::from_millis(30));
        record(fresh, stream);
        ok(cudaEventSynchronize(fresh));
        ok(cudaEventElapsedTime(&mut ms, end, fresh));
        assert!((30.0..so_far()).contains(&ms), "{ms} ms");
        let code = cudaErrorInvalidResourceHandle;
        expect(code, cudaEventElapsedTime(&mut ms, start, timeless));
        expect(code, cudaEventElapsedTime(&mut ms, unrecorded, end));
        expect(
            cudaErrorInvalidValue,
            cudaEventElapsedTime(ptr::null_mut(), start, end),
        );
        for event in [start, end, timeless, fresh, unrecorded] {
            ok(cudaEventDestroy(event));
        }
        ok(cudaStreamDestroy(stream));
    }
}

#[test]
fn flags_that_cannot_be_kept_are_refused() {
    let mut handle = ptr::null_mut();
    let known = event(cudaEventBlockingSync);
    // SAFETY: a pointer to the handle; NULL is refused.
    unsafe {
        expect(cudaErrorInvalidValue, cudaEventCreate(ptr::null_mut()));
        expect(
            cudaErrorInvalidValue,
            cudaEventCreateWithFlags(&mut handle, 8),
        );
        // Other processes' events keep no time.
        for flags in [cudaEventDefault, cudaEventBlockingSync] {
            expect(
                cudaErrorInvalidValue,
                cudaEventCreateWithFlags(&mut handle, cudaEventInterprocess | flags),
            );
        }
        let shared = cudaEventInterprocess | cudaEventDisableTiming;
        expect(
            cudaErrorNotSupported,
            cudaEventCreateWithFlags(&mut handle, shared),
        );
        expect(
            cudaErrorInvalidValue,
            cudaEventRecordWithFlags(known, ptr::null_mut(), 1),
        );
        expect(
            cudaErrorInvalidValue,
            cudaStreamWaitEvent(ptr::null_mut(), known, 2),
        );
        ok(cudaEventRecordWithFlags(known, ptr::null_mut(), 0));
        ok(cudaEventDestroy(known));
    }
}
