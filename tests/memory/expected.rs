//! The model of random programs: what should be in each buffer, and the places that steps mean.

use metal_bridge::memory::Rectangle;

use crate::pattern;
use crate::program::{End, Form, HostForm, Shape, Step, fraction};

/// Bytes of a copy between two ends that are both in host memory.
const HOST_TO_HOST: usize = 5000;

/// What should be in the buffers.
#[derive(Default)]
pub struct Expected {
    pub bytes: Vec<Vec<u8>>,
    seed: u32,
}

/// An end, and where its rows are.
#[derive(Clone, Copy)]
pub struct Place {
    pub end: End,
    pub rows: Rectangle,
}

impl End {
    fn buffer(self) -> Option<usize> {
        match self {
            End::Buffer(number, _) => Some(number),
            End::Host(..) => None,
        }
    }

    fn has_size(self) -> bool {
        !matches!(
            self,
            End::Buffer(_, Form::At) | End::Host(_, HostForm::Rows)
        )
    }

    fn with_size(self) -> End {
        match self {
            End::Buffer(number, Form::At) => End::Buffer(number, Form::Range),
            End::Host(host, _) => End::Host(host, HostForm::Whole),
            end => end,
        }
    }

    fn has_rows(self) -> bool {
        matches!(
            self,
            End::Buffer(_, Form::Rows) | End::Host(_, HostForm::Rows)
        )
    }
}

impl Place {
    /// The bytes from the start of the first row to the end of the last.
    fn length(&self) -> usize {
        let Rectangle {
            pitch,
            width,
            height,
            ..
        } = self.rows;
        match width.min(height) {
            0 => 0,
            _ => (height - 1) * pitch + width,
        }
    }

    /// The pitch of rows in host memory.
    pub fn host_pitch(&self) -> Option<usize> {
        self.end.has_rows().then_some(self.rows.pitch)
    }

    /// The length of host memory that has the rows: with the gap behind the last one, if there are gaps.
    pub fn host_length(&self) -> usize {
        self.rows.height * self.rows.pitch
    }

    fn of_row(&self, row: usize) -> std::ops::Range<usize> {
        match self.rows.width {
            // Such rows may lie outside.
            0 => 0..0,
            width => {
                let start = self.rows.offset + row * self.rows.pitch;
                start..start + width
            }
        }
    }
}

impl Expected {
    /// Bytes that no step has had yet.
    pub fn fresh(&mut self, length: usize) -> Vec<u8> {
        self.seed += 1;
        pattern(length, self.seed)
    }

    /// Values that the step copies from the host.
    pub fn upload_of(&mut self, step: Step) -> Vec<u8> {
        match self.copied(step) {
            Some((from, _)) if from.end.buffer().is_none() => self.fresh(from.host_length()),
            _ => Vec::new(),
        }
    }

    /// The width and height that fit into every buffer of `ends`. Only rectangles of buffers have more than one row.
    fn extent(&self, ends: [End; 2], shape: Shape) -> (usize, usize) {
        let lengths = ends.into_iter().filter_map(End::buffer);
        let length = lengths.map(|number| self.bytes[number].len()).min();
        let length = length.unwrap_or(HOST_TO_HOST);
        if !ends
            .iter()
            .any(|end| matches!(end, End::Buffer(_, Form::Rows)))
        {
            return (fraction(length, shape.width), 1);
        }
        // Seldom more than a few hundred rows.
        let width = fraction(length.min(700), shape.width);
        let pitch = width + shape.gaps[0].max(shape.gaps[1]);
        let most = (length - width) / pitch.max(1) + 1;
        (width, fraction(most, shape.height))
    }

    fn place(&self, end: End, (width, height): (usize, usize), offset: u16, gap: usize) -> Place {
        let mut rows = Rectangle {
            offset: 0,
            pitch: width + if end.has_rows() { gap } else { 0 },
            width,
            height,
        };
        if let Some(number) = end.buffer() {
            let left = self.bytes[number].len() - Place { end, rows }.length();
            rows.offset = fraction(left, offset);
        }
        Place { end, rows }
    }

    /// The places of a copy: `None` for a fill, and where they would overlap.
    pub fn copied(&self, step: Step) -> Option<(Place, Place)> {
        let Step::Copy(from, to, shape) = step else {
            return None;
        };
        let from = match to.has_size() {
            true => from,
            false => from.with_size(),
        };
        let extent = self.extent([from, to], shape);
        let from = self.place(from, extent, shape.offsets[0], shape.gaps[0]);
        let to = self.place(to, extent, shape.offsets[1], shape.gaps[1]);
        let apart = from.end.buffer() != to.end.buffer()
            || from.end.buffer().is_none()
            || from.rows.offset + from.length() <= to.rows.offset
            || to.rows.offset + to.length() <= from.rows.offset;
        apart.then_some((from, to))
    }

    /// The place of a fill with whole values.
    pub fn filled(&self, end: End, shape: Shape, size: u8) -> Place {
        let (width, height) = self.extent([end; 2], shape);
        let extent = (width >> size << size, height);
        self.place(end.with_size(), extent, shape.offsets[0], shape.gaps[0])
    }

    /// The step on the model. What it downloads: host memory that holds what was there before, and what should be in it.
    pub fn run(&mut self, step: Step, upload: &[u8]) -> (Vec<u8>, Vec<u8>) {
        if let Step::Fill(end, shape, value, size) = step {
            let place = self.filled(end, shape, size);
            let value = &value.to_ne_bytes()[..1 << size];
            let bytes = &mut self.bytes[end.buffer().expect("a buffer is filled")];
            for row in 0..place.rows.height {
                for chunk in bytes[place.of_row(row)].chunks_mut(1 << size) {
                    chunk.copy_from_slice(value);
                }
            }
        }
        let Some((from, to)) = self.copied(step) else {
            return Default::default();
        };
        let before = match to.end {
            End::Buffer(number, _) => self.bytes[number].clone(),
            End::Host(..) => self.fresh(to.host_length()),
        };
        let mut after = before.clone();
        for row in 0..to.rows.height {
            let read = match from.end {
                End::Buffer(number, _) => &self.bytes[number],
                End::Host(..) => upload,
            };
            after[to.of_row(row)].copy_from_slice(&read[from.of_row(row)]);
        }
        match to.end {
            End::Buffer(number, _) => {
                self.bytes[number] = after;
                Default::default()
            }
            End::Host(..) => (before, after),
        }
    }
}
