//! Random programs of transfers against a model: byte vectors.

use std::sync::Arc;

use metal_bridge::memory::{Batch, Download, Memory, MemoryOptions, Rectangle, TransferQueue};
use metal_bridge::{Buffer, StorageMode};
use proptest::prelude::*;

use crate::program::{Group, Host, LENGTHS, Span, Step, fraction, program};
use crate::*;

/// Buffers and what should be in them.
struct Rig {
    transfers: TransferQueue,
    buffers: Vec<Buffer>,
    model: Vec<Vec<u8>>,
    seed: u32,
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
            model: Vec::new(),
            seed: 0,
            downloads: Vec::new(),
        };
        for (number, length) in LENGTHS.into_iter().enumerate() {
            for mode in MODES {
                let bytes = pattern(length, number as u32);
                let made = buffer(length, mode);
                rig.transfers.upload(&bytes, &made, 0).unwrap();
                rig.buffers.push(made);
                rig.model.push(bytes);
            }
        }
        rig
    }

    fn fresh(&mut self, length: usize) -> Vec<u8> {
        self.seed += 1;
        pattern(length, self.seed)
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
        let uploads: Vec<Vec<u8>> = steps.iter().map(|step| self.upload_of(*step)).collect();
        let mut downloads: Borrowed = Vec::new();
        // The model runs first: each download's room and what is to come into it.
        for (step, upload) in steps.iter().zip(&uploads) {
            downloads.push(self.model_step(*step, upload));
        }
        let transfers = self.transfers.clone();
        let mut batch = transfers.batch().unwrap();
        for ((step, upload), (room, _)) in steps.iter().zip(&uploads).zip(&mut downloads) {
            self.add_borrowed(&mut batch, *step, upload, room);
        }
        batch.run().unwrap();
        for ((room, expected), step) in downloads.iter().zip(steps) {
            assert_eq!(room, expected, "{step:?}");
        }
    }

    /// Values that the step copies from the host.
    fn upload_of(&mut self, step: Step) -> Vec<u8> {
        match step {
            Step::Upload(b, span, _) => self.fresh(span.in_bytes(LENGTHS[b / MODES.len()]).1),
            Step::Upload2d(b, offset, rows) => {
                let rectangle = self.rectangle(b, offset, rows);
                self.fresh(rectangle.height * host_pitch(rectangle))
            }
            _ => Vec::new(),
        }
    }

    /// A rectangle that fits into buffer `b`.
    fn rectangle(&self, b: usize, offset: u16, [pitch, width, height]: [u16; 3]) -> Rectangle {
        let length = self.buffers[b].len();
        let offset = fraction(length, offset);
        let room = length - offset;
        // Seldom more than a few hundred rows.
        let pitch = 1 + fraction(room.min(700), pitch);
        let width = fraction(pitch.min(room), width);
        let most = (room - width) / pitch + 1;
        Rectangle {
            offset,
            pitch,
            width,
            height: fraction(most, height),
        }
    }

    /// Bytes that copies within one buffer leave alone do not overlap: `None` where they would.
    fn copy_offsets(
        &self,
        a: usize,
        at: u16,
        b: usize,
        span: Span,
    ) -> Option<(usize, usize, usize)> {
        let (from, length) = span.in_bytes(self.buffers[a].len().min(self.buffers[b].len()));
        let to = fraction(self.buffers[b].len() - length, at);
        let apart = a != b || from + length <= to || to + length <= from;
        apart.then_some((from, to, length))
    }

    /// The rows that a copy reads, in the shape of those that it writes; `None` where they do not fit or would overlap.
    fn copy_rows(&self, a: usize, at: u16, rectangle: Rectangle) -> Option<(usize, usize)> {
        let pitch = rectangle.pitch + 3;
        let rows = rectangle.height.saturating_sub(1);
        let room = self.buffers[a]
            .len()
            .checked_sub(rows * pitch + rectangle.width)?;
        Some((fraction(room, at), pitch))
    }

    /// The step on the model. What it downloads: room, filled with what was there before, and what should be in it.
    fn model_step(&mut self, step: Step, upload: &[u8]) -> (Vec<u8>, Vec<u8>) {
        match step {
            Step::Upload(b, span, _) => {
                let (start, length) = span.in_bytes(self.buffers[b].len());
                self.model[b][start..start + length].copy_from_slice(upload);
            }
            Step::Download(b, span, _) => {
                let (start, length) = span.in_bytes(self.buffers[b].len());
                let expected = self.model[b][start..start + length].to_vec();
                return (self.fresh(length), expected);
            }
            Step::Copy(a, at, b, span) => {
                if let Some((from, to, length)) = self.copy_offsets(a, at, b, span) {
                    let bytes = self.model[a][from..from + length].to_vec();
                    self.model[b][to..to + length].copy_from_slice(&bytes);
                }
            }
            Step::Fill(b, span, value, width) => {
                let (start, length) = fill_range(span, self.buffers[b].len(), width);
                let value = &value.to_ne_bytes()[..1 << width];
                for chunk in self.model[b][start..start + length].chunks_mut(1 << width) {
                    chunk.copy_from_slice(value);
                }
            }
            Step::Upload2d(b, offset, rows) => {
                let rectangle = self.rectangle(b, offset, rows);
                let pitch = host_pitch(rectangle);
                for row in 0..rectangle.height {
                    let to = rectangle.offset + row * rectangle.pitch;
                    self.model[b][to..to + rectangle.width]
                        .copy_from_slice(&upload[row * pitch..][..rectangle.width]);
                }
            }
            Step::Download2d(b, offset, rows) => {
                let rectangle = self.rectangle(b, offset, rows);
                let pitch = host_pitch(rectangle);
                let room = self.fresh(rectangle.height * pitch);
                let mut expected = room.clone();
                for row in 0..rectangle.height {
                    let from = rectangle.offset + row * rectangle.pitch;
                    expected[row * pitch..][..rectangle.width]
                        .copy_from_slice(&self.model[b][from..from + rectangle.width]);
                }
                return (room, expected);
            }
            Step::Copy2d(a, at, b, offset, rows) => {
                let rectangle = self.rectangle(b, offset, rows);
                if let Some((from, pitch)) = self.copy_rows(a, at, rectangle).filter(|_| a != b) {
                    for row in 0..rectangle.height {
                        let (from, to) =
                            (from + row * pitch, rectangle.offset + row * rectangle.pitch);
                        let bytes = self.model[a][from..from + rectangle.width].to_vec();
                        self.model[b][to..to + rectangle.width].copy_from_slice(&bytes);
                    }
                }
            }
            Step::Fill2d(b, offset, rows, value) => {
                let rectangle = self.rectangle(b, offset, rows);
                for row in 0..rectangle.height {
                    let to = rectangle.offset + row * rectangle.pitch;
                    self.model[b][to..to + rectangle.width].fill(value);
                }
            }
        }
        (Vec::new(), Vec::new())
    }

    /// The step in a batch that owns its host memory; and on the model.
    fn add_owned(&mut self, batch: &mut Batch<'static>, step: Step) {
        let upload = self.upload_of(step);
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
                let expected = self.model[b][start..start + length].to_vec();
                let download = match host {
                    Host::Borrowed | Host::Owned => {
                        batch.download_owned(&self.buffers[b], start, length)
                    }
                    Host::Shared | Host::Staged => {
                        let room = self.fresh(length);
                        batch.download_into::<u8, _>(&self.buffers[b], start, room)
                    }
                };
                self.downloads.push((download.unwrap(), expected));
            }
            // Rows of host memory are borrowed: those of a batch that is not waited for are read and written one by
            // one.
            Step::Upload2d(b, offset, rows) => {
                let rectangle = self.rectangle(b, offset, rows);
                let pitch = host_pitch(rectangle);
                for row in 0..rectangle.height {
                    let bytes = &upload[row * pitch..][..rectangle.width];
                    let to = rectangle.offset + row * rectangle.pitch;
                    batch.upload_staged(bytes, &self.buffers[b], to).unwrap();
                }
            }
            Step::Download2d(b, offset, rows) => {
                let rectangle = self.rectangle(b, offset, rows);
                for row in 0..rectangle.height {
                    let from = rectangle.offset + row * rectangle.pitch;
                    let download = batch.download_owned(&self.buffers[b], from, rectangle.width);
                    let expected = self.model[b][from..from + rectangle.width].to_vec();
                    self.downloads.push((download.unwrap(), expected));
                }
            }
            _ => self.add_between_buffers(batch, step),
        }
        self.model_step(step, &upload);
    }

    /// The step in a batch that borrows its host memory.
    fn add_borrowed<'h>(
        &self,
        batch: &mut Batch<'h>,
        step: Step,
        upload: &'h [u8],
        room: &'h mut [u8],
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
                batch.download(&self.buffers[b], start, room).unwrap();
            }
            Step::Upload2d(b, offset, rows) => {
                let rectangle = self.rectangle(b, offset, rows);
                batch
                    .upload_2d(upload, host_pitch(rectangle), &self.buffers[b], rectangle)
                    .unwrap();
            }
            Step::Download2d(b, offset, rows) => {
                let rectangle = self.rectangle(b, offset, rows);
                batch
                    .download_2d(&self.buffers[b], rectangle, room, host_pitch(rectangle))
                    .unwrap();
            }
            _ => self.add_between_buffers(batch, step),
        }
    }

    /// A step without host memory.
    fn add_between_buffers(&self, batch: &mut Batch<'_>, step: Step) {
        match step {
            Step::Copy(a, at, b, span) => {
                if let Some((from, to, length)) = self.copy_offsets(a, at, b, span) {
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
                let rectangle = self.rectangle(b, offset, rows);
                if let Some((from, pitch)) = self.copy_rows(a, at, rectangle).filter(|_| a != b) {
                    batch
                        .copy_2d(&self.buffers[a], from, pitch, &self.buffers[b], rectangle)
                        .unwrap();
                }
            }
            Step::Fill2d(b, offset, rows, value) => {
                let rectangle = self.rectangle(b, offset, rows);
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
        for (number, (buffer, model)) in self.buffers.iter().zip(&self.model).enumerate() {
            assert_eq!(contents(&self.transfers, buffer), *model, "buffer {number}");
            if buffer.storage_mode() != StorageMode::Private {
                assert_eq!(
                    *buffer.read::<u8>().unwrap(),
                    **model,
                    "buffer {number}, its contents"
                );
            }
        }
    }
}

/// The pitch of rows in host memory: another than the buffer's.
fn host_pitch(rectangle: Rectangle) -> usize {
    rectangle.width + rectangle.pitch % 5
}

fn fill_range(span: Span, length: usize, width: u8) -> (usize, usize) {
    let (start, length) = span.in_bytes(length);
    (start, length >> width << width)
}

fn run(memory: &Memory, program: &[Group]) {
    let mut rig = Rig::new(memory);
    for group in program {
        rig.run(group);
    }
    rig.check();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

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

                transfers.upload(&before, &target, 0).unwrap();
                transfers.upload(&values, &target, offset).unwrap();
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
            transfers.upload(source, &target, offset).unwrap();
            let mut back = vec![0; LENGTH + 16];
            transfers
                .download(&target, offset, &mut back[host..host + LENGTH])
                .unwrap();
            assert!(
                back[host..host + LENGTH] == *source,
                "{mode:?} {host} {offset}"
            );

            transfers.fill(&target, 0..LENGTH + 16, 0u8).unwrap();
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
