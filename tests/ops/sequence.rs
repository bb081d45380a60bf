//! Recorded launches against the same ones encoded, bit for bit, and what is refused.

use std::thread;

use crate::support::{buffer, device, matrix, ops, queue, rng, run, uniform};
use metal_bridge::ops::{
    AttentionShape, DispatchSequence, KvCache, KvElement, KvShape, LaunchTarget, Ops, RopePairing,
    RopeShape, Weight, WeightType, rope_frequencies,
};
use metal_bridge::{Buffer, DispatchType, Error, Result};
use metal_bridge_test_support::{assert_error, in_time};

const HEADS: usize = 4;
const KV_HEADS: usize = 2;
const HEAD_SIZE: usize = 32;

fn recordable() -> Ops {
    Ops::recordable(device()).expect("the operations")
}

fn sequence(capacity: usize) -> DispatchSequence {
    DispatchSequence::new(device(), capacity).expect("a sequence")
}

fn execute(sequence: &DispatchSequence) {
    run(|encoder| sequence.execute(encoder));
}

fn zeros(count: usize) -> Buffer {
    buffer(&vec![0.0f32; count])
}

fn floats(buffer: &Buffer) -> Vec<f32> {
    buffer.wait_read::<f32>().expect("readable").to_vec()
}

/// What attention of one layer computes in: a step adds a position.
struct Layer {
    cache: KvCache,
    table: Buffer,
    weight: Weight,
    frequencies: Buffer,
    q: Buffer,
    k: Buffer,
    attended: Buffer,
    y: Buffer,
    best: Buffer,
}

impl Layer {
    fn new(element: KvElement) -> Layer {
        let shape = KvShape {
            element,
            kv_heads: KV_HEADS,
            pages: 3,
            head_size: HEAD_SIZE,
        };
        let width = HEADS * HEAD_SIZE;
        let frequencies = rope_frequencies(1e4, HEAD_SIZE, 1.0, None).expect("frequencies");
        let weight = matrix(&mut rng(3), WeightType::Q8_0, 48, width, 1.0, 0).weight;
        Layer {
            cache: KvCache::new(device(), &shape).expect("a cache"),
            table: buffer(&[1u32, 2, 0]),
            weight,
            frequencies: buffer(&frequencies),
            q: zeros(width),
            k: zeros(KV_HEADS * HEAD_SIZE),
            attended: zeros(width),
            y: zeros(48),
            best: zeros(1),
        }
    }

    /// Puts what comes in at a position.
    fn fill(&self, past: usize) {
        let mut rng = rng(past as u64);
        for buffer in [&self.q, &self.k] {
            let values = uniform(&mut rng, buffer.len() / 4);
            buffer.wait_copy_from_slice(0, &values).expect("written");
        }
    }

    fn launch(&self, ops: &Ops, target: &mut dyn LaunchTarget, past: usize) -> Result<()> {
        for (heads, x) in [(HEADS, &self.q), (KV_HEADS, &self.k)] {
            let shape = RopeShape {
                rows: 1,
                heads,
                head_size: HEAD_SIZE,
                pairs: HEAD_SIZE / 2,
                magnitude: 1.0,
                first_position: past,
                pairing: RopePairing::Interleaved,
            };
            ops.rope(target, x, &self.frequencies, &shape)?;
        }
        target.memory_barrier()?;
        ops.kv_append(target, &self.cache, &self.table, &self.k, &self.k, 1, past)?;
        target.memory_barrier()?;
        let shape = AttentionShape {
            heads: HEADS,
            rows: 1,
            past,
            scale: 0.2,
            window: None,
            soft_cap: None,
        };
        let (cache, table) = (&self.cache, &self.table);
        ops.attention(target, cache, table, &self.q, &self.attended, &shape)?;
        target.memory_barrier()?;
        if !target.keep() {
            ops.linear(target, &self.weight, &self.attended, &self.y, 1)?;
        }
        target.memory_barrier()?;
        if !target.keep() {
            ops.argmax(target, &self.y, &self.best, 1, 48)?;
        }
        Ok(())
    }

    fn outcome(&self) -> (Vec<f32>, Vec<f32>, u32) {
        let best = self.best.wait_read::<u32>().expect("readable")[0];
        (floats(&self.attended), floats(&self.y), best)
    }
}

/// The kernel's grid grows at the 65th position.
#[test]
fn replays_compute_what_encoded_launches_do() {
    for element in [KvElement::F32, KvElement::F16] {
        let (encoded, replayed) = (Layer::new(element), Layer::new(element));
        let (recordable, mut sequence) = (recordable(), sequence(6));
        for past in (0..70).chain(58..75) {
            encoded.fill(past);
            run(|encoder| encoded.launch(ops(), encoder, past));
            replayed.fill(past);
            let mut recorder = sequence.record().expect("idle");
            let launched = replayed.launch(&recordable, &mut recorder, past);
            launched.expect("records");
            recorder.finish().expect("finishes");
            assert_eq!(sequence.len(), 6);
            execute(&sequence);
            assert!(
                replayed.outcome() == encoded.outcome(),
                "{element:?} after {past}"
            );
        }
    }
}

/// Two launches, the second of which needs what the first one computes.
fn gates(ops: &Ops, target: &mut dyn LaunchTarget, buffers: [&Buffer; 3]) -> Result<()> {
    let [a, b, c] = buffers;
    ops.silu_multiply(target, a, a, b, 64)?;
    target.memory_barrier()?;
    ops.silu_multiply(target, b, a, c, 64)
}

#[test]
fn other_buffers_and_fewer_launches_replace_those_before() {
    let (recordable, mut sequence) = (recordable(), sequence(3));
    assert!(sequence.is_empty());
    execute(&sequence);
    let (x, z) = (buffer(&[1.5f32; 64]), buffer(&[-0.5f32; 64]));
    for a in [&x, &z, &x] {
        let [b, c, expected_b, expected_c] = [(); 4].map(|()| zeros(64));
        run(|encoder| gates(ops(), encoder, [a, &expected_b, &expected_c]));
        let mut recorder = sequence.record().unwrap();
        gates(&recordable, &mut recorder, [a, &b, &c]).unwrap();
        recorder.finish().unwrap();
        execute(&sequence);
        assert_eq!(floats(&b), floats(&expected_b));
        assert_eq!(floats(&c), floats(&expected_c));
    }
    let [b, c] = [(); 2].map(|()| zeros(64));
    let mut recorder = sequence.record().unwrap();
    recordable
        .silu_multiply(&mut recorder, &x, &x, &b, 64)
        .unwrap();
    recorder.finish().unwrap();
    assert_eq!(sequence.len(), 1);
    execute(&sequence);
    assert!(floats(&b)[0] > 1.8 && floats(&c)[0] == 0.0);
}

/// The same kernel and buffers, on grids that grow and shrink.
#[test]
fn other_grids_replace_those_before() {
    let (recordable, mut sequence) = (recordable(), sequence(1));
    let x = buffer(&[1.0f32; 640]);
    let y = zeros(640);
    for count in [8, 640, 8] {
        y.wait_copy_from_slice(0, &[0.0f32; 640]).unwrap();
        let mut recorder = sequence.record().unwrap();
        let launched = recordable.silu_multiply(&mut recorder, &x, &x, &y, count);
        launched.unwrap();
        recorder.finish().unwrap();
        execute(&sequence);
        let computed = floats(&y).iter().filter(|&&y| y != 0.0).count();
        assert_eq!(computed, count);
    }
}

#[test]
fn what_is_kept_is_not_launched_again() {
    let (recordable, mut sequence) = (recordable(), sequence(2));
    let (x, y) = (buffer(&[1.0f32; 64]), zeros(64));
    let mut recorder = sequence.record().unwrap();
    assert!(!recorder.keep());
    recordable
        .silu_multiply(&mut recorder, &x, &x, &y, 64)
        .unwrap();
    assert!(!recorder.keep());
    recorder.finish().unwrap();
    let mut recorder = sequence.record().unwrap();
    assert!(recorder.keep());
    assert!(!recorder.keep());
    recorder.finish().unwrap();
    assert_eq!((sequence.len(), sequence.capacity()), (1, 2));
    execute(&sequence);
    assert!(floats(&y)[0] > 0.7);
    run(|encoder| {
        assert!(!encoder.keep());
        Ok(())
    });
}

#[test]
fn a_sequence_half_recorded_is_refused_until_the_next() {
    let (recordable, mut sequence) = (recordable(), sequence(2));
    let [a, z] = [1.0f32, 2.0].map(|value| buffer(&[value; 64]));
    let [b, c, expected_b, expected_c] = [(); 4].map(|()| zeros(64));
    let mut recorder = sequence.record().unwrap();
    gates(&recordable, &mut recorder, [&a, &b, &c]).unwrap();
    recorder.finish().unwrap();

    // The operations refuse the second launch; the sequence refuses it; the commands refuse the pipeline.
    for wrong in 0..3 {
        let mut recorder = sequence.record().unwrap();
        recordable
            .silu_multiply(&mut recorder, &z, &z, &b, 64)
            .unwrap();
        let error = match wrong {
            0 => recordable.silu_multiply(&mut recorder, &b, &a, &c, 65),
            1 => (0..2).try_for_each(|_| recordable.silu_multiply(&mut recorder, &b, &a, &c, 64)),
            _ => ops().silu_multiply(&mut recorder, &b, &a, &c, 64),
        };
        let text = error.unwrap_err().to_string();
        let expected = [
            "Ops::silu_multiply",
            "room for 2 launches only",
            "gate_multiply",
        ][wrong];
        assert!(text.contains(expected), "{text}");
        drop(recorder);
        let mut commands = queue().command_buffer().unwrap();
        let mut encoder = commands
            .compute_command_encoder(DispatchType::Serial)
            .unwrap();
        let refused = sequence.execute(&mut encoder);
        assert_error(
            refused,
            |error| matches!(error, Error::InvalidState(_)),
            "was not finished",
        );
    }

    run(|encoder| gates(&recordable, encoder, [&a, &expected_b, &expected_c]));
    let mut recorder = sequence.record().unwrap();
    gates(&recordable, &mut recorder, [&a, &b, &c]).unwrap();
    recorder.finish().unwrap();
    execute(&sequence);
    assert_eq!(
        (floats(&b), floats(&c)),
        (floats(&expected_b), floats(&expected_c))
    );
}

#[test]
fn nobody_records_while_a_command_buffer_executes() {
    let (recordable, mut sequence) = (recordable(), sequence(2));
    let [a, b] = [1.0f32, 0.0].map(|value| buffer(&[value; 64]));
    let mut recorder = sequence.record().unwrap();
    recordable
        .silu_multiply(&mut recorder, &a, &a, &b, 64)
        .unwrap();
    recorder.finish().unwrap();

    let event = device().new_shared_event().unwrap();
    let mut commands = queue_of_its_own();
    commands.encode_wait_for_event(&event, 1).unwrap();
    let mut encoder = commands
        .compute_command_encoder(DispatchType::Serial)
        .unwrap();
    sequence.execute(&mut encoder).unwrap();
    encoder.end_encoding().unwrap();
    let refused = sequence.record().map(drop);
    assert_error(refused, |error| matches!(error, Error::InUse(_)), "");

    let submission = commands.commit().unwrap();
    let signal = thread::spawn(move || event.set_signaled_value(1));
    in_time(move || {
        sequence.record().unwrap();
        assert!(submission.is_completed());
    });
    signal.join().unwrap().unwrap();
}

fn queue_of_its_own() -> metal_bridge::CommandBuffer {
    let queue = device().new_command_queue().expect("a queue");
    queue.command_buffer().expect("a command buffer")
}

#[test]
fn capacities_that_cannot_be_are_refused() {
    let none = DispatchSequence::new(device(), 0);
    assert_error(none, |error| matches!(error, Error::InvalidArgument(_)), "");
    let many = DispatchSequence::new(device(), usize::MAX);
    assert_error(many, |error| matches!(error, Error::OutOfRange(_)), "");
}
