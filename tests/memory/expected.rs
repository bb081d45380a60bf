//! The model of random programs: what should be in each buffer, and the places that steps mean.

use metal_bridge::memory::Rectangle;

use crate::pattern;
use crate::program::{Span, Step, fraction};

/// What should be in the buffers.
#[derive(Default)]
pub struct Expected {
    pub bytes: Vec<Vec<u8>>,
    seed: u32,
}

impl Expected {
    /// Bytes that no step has had yet.
    pub fn fresh(&mut self, length: usize) -> Vec<u8> {
        self.seed += 1;
        pattern(length, self.seed)
    }

    /// Values that the step copies from the host.
    pub fn upload_of(&mut self, step: Step) -> Vec<u8> {
        match step {
            Step::Upload(b, span, _) => self.fresh(span.in_bytes(self.bytes[b].len()).1),
            Step::Upload2d(b, offset, rows) => {
                let rectangle = self.rectangle(b, offset, rows);
                self.fresh(rectangle.height * host_pitch(rectangle))
            }
            _ => Vec::new(),
        }
    }

    /// A rectangle that fits into buffer `b`.
    pub fn rectangle(&self, b: usize, offset: u16, [pitch, width, height]: [u16; 3]) -> Rectangle {
        let length = self.bytes[b].len();
        let offset = fraction(length, offset);
        let left = length - offset;
        // Seldom more than a few hundred rows.
        let pitch = 1 + fraction(left.min(700), pitch);
        let width = fraction(pitch.min(left), width);
        let most = (left - width) / pitch + 1;
        Rectangle {
            offset,
            pitch,
            width,
            height: fraction(most, height),
        }
    }

    /// Bytes that copies within one buffer leave alone do not overlap: `None` where they would.
    pub fn copy_offsets(
        &self,
        a: usize,
        at: u16,
        b: usize,
        span: Span,
    ) -> Option<(usize, usize, usize)> {
        let (from, length) = span.in_bytes(self.bytes[a].len().min(self.bytes[b].len()));
        let to = fraction(self.bytes[b].len() - length, at);
        let apart = a != b || from + length <= to || to + length <= from;
        apart.then_some((from, to, length))
    }

    /// The rows that a copy reads, in the shape of those that it writes; `None` where they do not fit or would overlap.
    pub fn copy_rows(&self, a: usize, at: u16, rectangle: Rectangle) -> Option<(usize, usize)> {
        let pitch = rectangle.pitch + 3;
        let rows = rectangle.height.saturating_sub(1);
        let left = self.bytes[a]
            .len()
            .checked_sub(rows * pitch + rectangle.width)?;
        Some((fraction(left, at), pitch))
    }

    /// The step on the model. What it downloads: host memory that holds what was there before, and what should be in it.
    pub fn run(&mut self, step: Step, upload: &[u8]) -> (Vec<u8>, Vec<u8>) {
        match step {
            Step::Upload(b, span, _) => {
                let (start, length) = span.in_bytes(self.bytes[b].len());
                self.bytes[b][start..start + length].copy_from_slice(upload);
            }
            Step::Download(b, span, _) => {
                let (start, length) = span.in_bytes(self.bytes[b].len());
                let expected = self.bytes[b][start..start + length].to_vec();
                return (self.fresh(length), expected);
            }
            Step::Copy(a, at, b, span) => {
                if let Some((from, to, length)) = self.copy_offsets(a, at, b, span) {
                    let bytes = self.bytes[a][from..from + length].to_vec();
                    self.bytes[b][to..to + length].copy_from_slice(&bytes);
                }
            }
            Step::Fill(b, span, value, width) => {
                let (start, length) = fill_range(span, self.bytes[b].len(), width);
                let value = &value.to_ne_bytes()[..1 << width];
                for chunk in self.bytes[b][start..start + length].chunks_mut(1 << width) {
                    chunk.copy_from_slice(value);
                }
            }
            Step::Upload2d(b, offset, rows) => {
                let rectangle = self.rectangle(b, offset, rows);
                let pitch = host_pitch(rectangle);
                for row in 0..rectangle.height {
                    let to = rectangle.offset + row * rectangle.pitch;
                    self.bytes[b][to..to + rectangle.width]
                        .copy_from_slice(&upload[row * pitch..][..rectangle.width]);
                }
            }
            Step::Download2d(b, offset, rows) => {
                let rectangle = self.rectangle(b, offset, rows);
                let pitch = host_pitch(rectangle);
                let output = self.fresh(rectangle.height * pitch);
                let mut expected = output.clone();
                for row in 0..rectangle.height {
                    let from = rectangle.offset + row * rectangle.pitch;
                    expected[row * pitch..][..rectangle.width]
                        .copy_from_slice(&self.bytes[b][from..from + rectangle.width]);
                }
                return (output, expected);
            }
            Step::Copy2d(a, at, b, offset, rows) => {
                let rectangle = self.rectangle(b, offset, rows);
                if let Some((from, pitch)) = self.copy_rows(a, at, rectangle).filter(|_| a != b) {
                    for row in 0..rectangle.height {
                        let (from, to) =
                            (from + row * pitch, rectangle.offset + row * rectangle.pitch);
                        let bytes = self.bytes[a][from..from + rectangle.width].to_vec();
                        self.bytes[b][to..to + rectangle.width].copy_from_slice(&bytes);
                    }
                }
            }
            Step::Fill2d(b, offset, rows, value) => {
                let rectangle = self.rectangle(b, offset, rows);
                for row in 0..rectangle.height {
                    let to = rectangle.offset + row * rectangle.pitch;
                    self.bytes[b][to..to + rectangle.width].fill(value);
                }
            }
        }
        (Vec::new(), Vec::new())
    }
}

/// The pitch of rows in host memory: another than the buffer's.
pub fn host_pitch(rectangle: Rectangle) -> usize {
    rectangle.width + rectangle.pitch % 5
}

pub fn fill_range(span: Span, length: usize, width: u8) -> (usize, usize) {
    let (start, length) = span.in_bytes(length);
    (start, length >> width << width)
}
