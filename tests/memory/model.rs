//! Random programs of transfers against a model: byte vectors.

use std::sync::Arc;

use metal_bridge::memory::{Batch, Download, Memory, MemoryOptions, TransferQueue};
use metal_bridge::{Buffer, StorageMode};
use proptest::prelude::*;

use crate::expected::{Expected, fill_range, host_pitch};
use crate::program::{Group, Host, LENGTHS, Step, program};
use crate::*;

/// Buffers and what should be in them.
struct Rig {
    transfers: TransferQueue,
    buffers: Vec<Buffer>,
    model: Expected,
    /// Downloads on their way, and what they should bring.
    downloads: Vec<(Download<Vec<u8>>, Vec<u8>)>,
}

/// What a group that is run reads into: values and what they should be.
type Borrowed = Vec<(Vec<u8>, Vec<u8>)>;

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
                rig.transfers.upload_and_wait(&bytes, &made, 0).unwrap();
                rig.buffers.push(made);
                rig.model.bytes.push(bytes);
            }
        }
        rig
    }

    /// Runs a group on the buffers and on the model.
    fn run(&mut self, group: &Group) {
        if group.waits {
            self.run_waiting(&group.steps);
        } else {
            let mut batch = self.transfers.batch().unwrap();
            for step in &group.steps {
                self.add_owned(&mut batch, *step);
            }
            batch.commit().unwrap();
        }
    }

    /// A batch that is run, with memory that it borrows. All of that is there before the batch is.
    fn run_waiting(&mut self, steps: &[Step]) {
        let uploads: Vec<Vec<u8>> = steps
            .iter()
            .map(|step| self.model.upload_of(*step))
            .collect();
        let mut downloads: Borrowed = Vec::new();
        // The model runs first: each download's output and what is to come into it.
        for (step, upload) in steps.iter().zip(&uploads) {
            downloads.push(self.model.run(*step, upload));
        }
        let transfers = self.transfers.clone();
        let mut batch = transfers.batch().unwrap();
        for ((step, upload), (output, _)) in steps.iter().zip(&uploads).zip(&mut downloads) {
            self.add_borrowed(&mut batch, *step, upload, output);
        }
        batch.commit_and_wait().unwrap();
        for ((output, expected), step) in downloads.iter().zip(steps) {
            assert_eq!(output, expected, "{step:?}");
        }
    }

    /// The step in a batch that owns its host memory; and on the model.
    fn add_owned(&mut self, batch: &mut Batch<'static>, step: Step) {
        let upload = self.model.upload_of(step);
        match step {
            Step::Upload(b, span, host) => {
                let (start, _) = span.in_bytes(self.buffers[b].len());
                let buffer = &self.buffers[b];
                match host {
                    Host::Borrowed | Host::Owned => {
                        batch.upload_owned(upload.clone(), buffer, start)
                    }
                    Host::Shared => {
                        batch.upload_owned(Arc::<[u8]>::from(&upload[..]), buffer, start)
                    }
                    Host::Staged => batch.upload_staged(&upload.clone(), buffer, start),
                }
                .unwrap();
            }
            Step::Download(b, span, host) => {
                let (start, length) = span.in_bytes(self.buffers[b].len());
                let expected = self.model.bytes[b][start..start + length].to_vec();
                let download = match host {
                    Host::Borrowed | Host::Owned => {
                        batch.download_owned(&self.buffers[b], start, length)
                    }
                    Host::Shared | Host::Staged => {
                        let output = self.model.fresh(length);
                        batch.download_into(&self.buffers[b], start, output)
                    }
                };
                self.downloads.push((download.unwrap(), expected));
            }
            Step::Upload2d(b, offset, rows) => {
                let rectangle = self.model.rectangle(b, offset, rows);
                let (values, pitch) = (upload.clone(), host_pitch(rectangle));
                batch
                    .upload_2d_owned(values, pitch, &self.buffers[b], rectangle)
                    .unwrap();
            }
            Step::Download2d(b, offset, rows) => {
                let rectangle = self.model.rectangle(b, offset, rows);
                let (output, expected) = self.model.run(step, &upload);
                let pitch = host_pitch(rectangle);
                let download = batch.download_2d_into(&self.buffers[b], rectangle, output, pitch);
                self.downloads.push((download.unwrap(), expected));
            }
            _ => self.add_between_buffers(batch, step),
        }
        self.model.run(step, &upload);
    }

    /// The step in a batch that borrows its host memory.
    fn add_borrowed<'h>(
        &self,
        batch: &mut Batch<'h>,
        step: Step,
        upload: &'h [u8],
        output: &'h mut [u8],
    ) {
        match step {
            Step::Upload(b, span, host) => {
                let (start, _) = span.in_bytes(self.buffers[b].len());
                match host {
                    Host::Staged => batch.upload_staged(upload, &self.buffers[b], start),
                    Host::Owned => batch.upload_owned(upload.to_vec(), &self.buffers[b], start),
                    Host::Borrowed | Host::Shared => batch.upload(upload, &self.buffers[b], start),
                }
                .unwrap();
            }
            Step::Download(b, span, _) => {
                let (start, _) = span.in_bytes(self.buffers[b].len());
                batch.download(&self.buffers[b], start, output).unwrap();
            }
            Step::Upload2d(b, offset, rows) => {
                let rectangle = self.model.rectangle(b, offset, rows);
                batch
                    .upload_2d(upload, host_pitch(rectangle), &self.buffers[b], rectangle)
                    .unwrap();
            }
            Step::Download2d(b, offset, rows) => {
                let rectangle = self.model.rectangle(b, offset, rows);
                batch
                    .download_2d(&self.buffers[b], rectangle, output, host_pitch(rectangle))
                    .unwrap();
            }
            _ => self.add_between_buffers(batch, step),
        }
    }

    /// A step without host memory.
    fn add_between_buffers(&self, batch: &mut Batch<'_>, step: Step) {
        match step {
            Step::Copy(a, at, b, span) => {
                if let Some((from, to, length)) = self.model.copy_offsets(a, at, b, span) {
                    batch
                        .copy(&self.buffers[a], from, &self.buffers[b], to, length)
                        .unwrap();
                }
            }
            Step::Fill(b, span, value, width) => {
                let (start, length) = fill_range(span, self.buffers[b].len(), width);
                let (range, bytes) = (start..start + length, value.to_ne_bytes());
                match width {
                    0 => batch.fill(&self.buffers[b], range, bytes[0]),
                    1 => batch.fill(&self.buffers[b], range, [bytes[0], bytes[1]]),
                    _ => batch.fill(&self.buffers[b], range, value),
                }
                .unwrap();
            }
            Step::Copy2d(a, at, b, offset, rows) => {
                let rectangle = self.model.rectangle(b, offset, rows);
                if let Some((from, pitch)) =
                    self.model.copy_rows(a, at, rectangle).filter(|_| a != b)
                {
                    batch
                        .copy_2d(&self.buffers[a], from, pitch, &self.buffers[b], rectangle)
                        .unwrap();
                }
            }
            Step::Fill2d(b, offset, rows, value) => {
                let rectangle = self.model.rectangle(b, offset, rows);
                batch.fill_2d(&self.buffers[b], rectangle, value).unwrap();
            }
            Step::Upload(..) | Step::Download(..) | Step::Upload2d(..) | Step::Download2d(..) => {
                unreachable!("has host memory")
            }
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

                transfers.upload_and_wait(&before, &target, 0).unwrap();
                transfers.upload_and_wait(&values, &target, offset).unwrap();
                assert_eq!(
                    contents(&transfers, &target),
                    expected,
                    "{mode:?} {offset} {length}"
                );

                transfers.upload_async(before, &target, 0).unwrap();
                transfers
                    .upload_async(values.clone(), &target, offset)
                    .unwrap();
                let all = transfers.download_async::<u8>(&target, 0, LENGTH).unwrap();
                let part = transfers
                    .download_async::<u8>(&target, offset, length)
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
            transfers.upload_and_wait(source, &target, offset).unwrap();
            let mut back = vec![0; LENGTH + 16];
            transfers
                .download_and_wait(&target, offset, &mut back[host..host + LENGTH])
                .unwrap();
            assert!(
                back[host..host + LENGTH] == *source,
                "{mode:?} {host} {offset}"
            );

            transfers
                .fill_and_wait(&target, 0..LENGTH + 16, 0u8)
                .unwrap();
            transfers
                .upload_async(source.to_vec(), &target, offset)
                .unwrap();
            let back = transfers
                .download_async::<u8>(&target, offset, LENGTH)
                .unwrap();
            assert!(back.wait().unwrap() == *source, "{mode:?} {host} {offset}");
        }
    }
}
