//! Random programs of transfers against a model: byte vectors.

use std::sync::Arc;

use metal_bridge::memory::{Batch, BufferPlace, Download, MemoryOptions, Source};
use proptest::prelude::*;

use crate::expected::{Expected, Place};
use crate::program::{End, Form, Group, Host, LENGTHS, Step, program};
use crate::*;

/// Buffers and what should be in them.
struct Rig {
    transfers: TransferQueue,
    buffers: Vec<Buffer>,
    model: Expected,
    /// Downloads on their way, and what they should bring.
    downloads: Vec<(Download<Vec<u8>>, Vec<u8>)>,
}

/// Host memory of a step: lent by a group that is run.
struct HostMemory<'a, 'h> {
    upload: &'a [u8],
    lent_upload: Option<&'h [u8]>,
    output: Vec<u8>,
    lent_output: Option<&'h mut [u8]>,
}

impl Rig {
    fn new(memory: &Memory) -> Rig {
        let transfers = memory.transfer_queue(&queue()).unwrap();
        let mut rig = Rig {
            transfers,
            buffers: Vec::new(),
            model: Expected::default(),
            downloads: Vec::new(),
        };
        for (number, length) in LENGTHS.into_iter().enumerate() {
            for mode in MODES {
                let bytes = pattern(length, number as u32);
                let made = buffer(length, mode);
                rig.transfers.copy(&bytes, made.at(0)).run().unwrap();
                rig.buffers.push(made);
                rig.model.bytes.push(bytes);
            }
        }
        rig
    }

    /// Runs a group on the model, which says what each step downloads, and on the buffers. All host memory is there before
    /// the batch that may borrow it.
    fn run(&mut self, group: &Group) {
        let mut uploads = Vec::new();
        let mut outputs = Vec::new();
        for step in &group.steps {
            let upload = self.model.upload_of(*step);
            outputs.push(self.model.run(*step, &upload));
            uploads.push(upload);
        }
        if group.waits {
            self.run_and_check(&group.steps, &uploads, &mut outputs);
            return;
        }
        let mut batch = self.transfers.batch().unwrap();
        for ((step, upload), (output, expected)) in group.steps.iter().zip(&uploads).zip(outputs) {
            let memory = HostMemory {
                upload,
                lent_upload: None,
                output,
                lent_output: None,
            };
            let download = self.add(&mut batch, *step, memory);
            self.downloads.extend(download.map(|it| (it, expected)));
        }
        batch.commit().unwrap();
    }

    fn run_and_check(
        &mut self,
        steps: &[Step],
        uploads: &[Vec<u8>],
        outputs: &mut [(Vec<u8>, Vec<u8>)],
    ) {
        let mut batch = self.transfers.batch().unwrap();
        let mut downloads = Vec::new();
        for ((step, upload), (output, _)) in steps.iter().zip(uploads).zip(&mut *outputs) {
            let memory = HostMemory {
                upload,
                lent_upload: Some(upload),
                output: output.clone(),
                lent_output: Some(output),
            };
            downloads.push(self.add(&mut batch, *step, memory));
        }
        batch.run().unwrap();
        for ((download, (output, expected)), step) in downloads.into_iter().zip(outputs).zip(steps)
        {
            let seen = download.map_or_else(|| output.clone(), |download| download.wait().unwrap());
            assert_eq!(seen, *expected, "{step:?}");
        }
    }

    /// Adds the step to a batch. What is not lent is owned.
    fn add<'h>(
        &self,
        batch: &mut Batch<'h>,
        step: Step,
        memory: HostMemory<'_, 'h>,
    ) -> Option<Download<Vec<u8>>> {
        if let Step::Fill(end, shape, value, size) = step {
            let place = self.model.filled(end, shape, size);
            let (place, bytes) = (self.place(place), value.to_ne_bytes());
            match size {
                0 => batch.fill(place, bytes[0]),
                1 => batch.fill(place, [bytes[0], bytes[1]]),
                _ => batch.fill(place, value),
            }
            .unwrap();
        }
        let (from, to) = self.model.copied(step)?;
        let upload = memory.upload;
        match (from.end, memory.lent_upload) {
            (End::Buffer(..), _) => self.add_to(batch, self.place(from), to, memory),
            (End::Host(Host::Borrowed, _), Some(values)) => {
                self.add_from_host(batch, values, from, to, memory)
            }
            (End::Host(Host::Staged, _), _) => {
                // Copied at the call.
                let mut upload = upload.to_vec();
                let added = self.add_from_host(batch, Staged(&upload), from, to, memory);
                upload.fill(0);
                added
            }
            (End::Host(Host::Shared, _), _) => {
                let owned = Owned::new(Arc::<[u8]>::from(upload));
                self.add_from_host(batch, owned, from, to, memory)
            }
            (End::Host(..), _) => {
                let owned = Owned::new(upload.to_vec());
                self.add_from_host(batch, owned, from, to, memory)
            }
        }
    }

    fn add_from_host<'h, S: Source<'h>>(
        &self,
        batch: &mut Batch<'h>,
        source: S,
        from: Place,
        to: Place,
        memory: HostMemory<'_, 'h>,
    ) -> Option<Download<Vec<u8>>>
    where
        Rows<S>: Source<'h>,
    {
        match from.host_pitch() {
            Some(pitch) => self.add_to(batch, Rows::new(source, pitch), to, memory),
            None => self.add_to(batch, source, to, memory),
        }
    }

    fn add_to<'h>(
        &self,
        batch: &mut Batch<'h>,
        source: impl Source<'h>,
        to: Place,
        memory: HostMemory<'_, 'h>,
    ) -> Option<Download<Vec<u8>>> {
        match (to.end, memory.lent_output, to.host_pitch()) {
            (End::Buffer(..), ..) => batch.copy(source, self.place(to)).unwrap(),
            (End::Host(Host::Values, _), ..) => {
                let values = Values::new(to.host_length());
                return Some(batch.copy(source, values).unwrap());
            }
            (End::Host(Host::Borrowed, _), Some(output), None) => {
                batch.copy(source, output).unwrap();
            }
            (End::Host(Host::Borrowed, _), Some(output), Some(pitch)) => {
                batch.copy(source, Rows::new(output, pitch)).unwrap();
            }
            (End::Host(..), _, None) => {
                return Some(batch.copy(source, Owned::new(memory.output)).unwrap());
            }
            (End::Host(..), _, Some(pitch)) => {
                let rows = Rows::new(Owned::new(memory.output), pitch);
                return Some(batch.copy(source, rows).unwrap());
            }
        }
        None
    }

    /// The place in its buffer, named as its end says.
    fn place(&self, place: Place) -> BufferPlace<'_> {
        let End::Buffer(number, form) = place.end else {
            unreachable!("host memory")
        };
        let (buffer, rows) = (&self.buffers[number], place.rows);
        match form {
            Form::At => buffer.at(rows.offset),
            Form::Range => buffer.range(rows.offset..rows.offset + rows.width * rows.height),
            Form::Rows => buffer.rows(rows),
        }
    }

    /// Everything is where the model has it: seen by transfers, and by guards where the CPU sees the bytes.
    fn check(mut self) {
        for (download, expected) in self.downloads.drain(..) {
            assert_eq!(download.wait().unwrap(), expected);
        }
        for (number, (buffer, model)) in self.buffers.iter().zip(&self.model.bytes).enumerate() {
            assert_eq!(contents(&self.transfers, buffer), *model, "buffer {number}");
            if buffer.storage_mode() != StorageMode::Private {
                assert_eq!(
                    *buffer.wait_read::<u8>().unwrap(),
                    **model,
                    "buffer {number}, its contents"
                );
            }
        }
    }
}

fn run(memory: &Memory, program: &[Group]) {
    let mut rig = Rig::new(memory);
    for group in program {
        rig.run(group);
    }
    rig.check();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(64), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn transfers_do_what_the_model_does(program in program()) {
        run(&memory(), &program);
    }

    /// With less staging than most transfers need.
    #[test]
    fn transfers_in_parts_do_what_the_model_does(program in program()) {
        let options = MemoryOptions::new().staging_limit(16 << 10);
        run(&Memory::with_options(device(), &options).unwrap(), &program);
    }
}

/// Every storage mode, each small offset and length at both ends, synchronous and not: where words begin and end.
#[test]
fn every_offset_and_length_around_words() {
    const LENGTH: usize = 64;
    let transfers = transfers();
    for mode in MODES {
        let target = buffer(LENGTH, mode);
        for offset in 0..6 {
            for length in 0..10 {
                let before = pattern(LENGTH, offset as u32 + 1);
                let values = pattern(length, length as u32 + 100);
                let mut expected = before.clone();
                expected[offset..offset + length].copy_from_slice(&values);

                transfers.copy(&before, target.at(0)).run().unwrap();
                transfers.copy(&values, target.at(offset)).run().unwrap();
                assert_eq!(
                    contents(&transfers, &target),
                    expected,
                    "{mode:?} {offset} {length}"
                );

                transfers
                    .copy(Owned::new(before), target.at(0))
                    .commit()
                    .unwrap();
                transfers
                    .copy(Owned::new(values.clone()), target.at(offset))
                    .commit()
                    .unwrap();
                let all = transfers
                    .copy(target.at(0), Values::<u8>::new(LENGTH))
                    .commit()
                    .unwrap();
                let part = transfers
                    .copy(target.at(offset), Values::<u8>::new(length))
                    .commit()
                    .unwrap();
                assert_eq!(all.wait().unwrap(), expected, "{mode:?} {offset} {length}");
                assert_eq!(part.wait().unwrap(), values, "{mode:?} {offset} {length}");
            }
        }
    }
}

/// Megabytes: what is not staged as a whole, from and to memory of any alignment.
#[test]
fn large_transfers_of_any_alignment() {
    const LENGTH: usize = 5 << 20;
    let options = MemoryOptions::new().staging_limit(1 << 20);
    let memory = Memory::with_options(device(), &options).unwrap();
    let transfers = memory.transfer_queue(&queue()).unwrap();
    let values = pattern(LENGTH + 16, 7);
    for mode in MODES {
        let target = buffer(LENGTH + 16, mode);
        for (host, offset) in [(0, 0), (1, 0), (3, 5), (0, 2)] {
            let source = &values[host..host + LENGTH];
            transfers.copy(source, target.at(offset)).run().unwrap();
            let mut back = vec![0; LENGTH + 16];
            transfers
                .copy(target.at(offset), &mut back[host..host + LENGTH])
                .run()
                .unwrap();
            assert!(
                back[host..host + LENGTH] == *source,
                "{mode:?} {host} {offset}"
            );

            transfers
                .fill(target.range(0..LENGTH + 16), 0u8)
                .run()
                .unwrap();
            transfers
                .copy(Owned::new(source.to_vec()), target.at(offset))
                .commit()
                .unwrap();
            let back = transfers
                .copy(target.at(offset), Values::<u8>::new(LENGTH))
                .commit()
                .unwrap();
            assert!(back.wait().unwrap() == *source, "{mode:?} {host} {offset}");
        }
    }
}
