//! Random programs of transfers, for the model.

use proptest::prelude::*;

use crate::*;

/// Lengths of the buffers, each in every storage mode: odd ones, one with less than a word, one of several pages.
pub const LENGTHS: [usize; 3] = [3, 1021, 70_001];
pub const BUFFERS: usize = LENGTHS.len() * MODES.len();

/// A place to begin and an extent, as fractions of what the buffers have.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    start: u16,
    length: u16,
}

/// How host memory goes along.
#[derive(Debug, Clone, Copy)]
pub enum Host {
    Borrowed,
    Owned,
    Shared,
    Staged,
}

#[derive(Debug, Clone, Copy)]
pub enum Step {
    Upload(usize, Span, Host),
    Download(usize, Span, Host),
    Copy(usize, u16, usize, Span),
    Fill(usize, Span, u32, u8),
    /// Buffer, the first row, and pitch, width and height as fractions.
    Upload2d(usize, u16, [u16; 3]),
    Download2d(usize, u16, [u16; 3]),
    Copy2d(usize, u16, usize, u16, [u16; 3]),
    Fill2d(usize, u16, [u16; 3], u8),
}

/// Steps of one command buffer.
#[derive(Debug, Clone)]
pub struct Group {
    pub steps: Vec<Step>,
    pub waits: bool,
}

pub fn fraction(of: usize, by: u16) -> usize {
    (of as u64 * u64::from(by) / u64::from(u16::MAX)) as usize
}

impl Span {
    pub fn in_bytes(self, length: usize) -> (usize, usize) {
        let start = fraction(length, self.start);
        (start, fraction(length - start, self.length))
    }
}

fn span() -> impl Strategy<Value = Span> {
    // The whole and nothing come up as often as the places between.
    let end = || prop_oneof![2 => any::<u16>(), 1 => Just(0), 1 => Just(u16::MAX)];
    (end(), end()).prop_map(|(start, length)| Span { start, length })
}

fn step() -> impl Strategy<Value = Step> {
    let buffer = || 0..BUFFERS;
    let rows = || [any::<u16>(), any::<u16>(), any::<u16>()];
    let host = || {
        prop_oneof![
            Just(Host::Borrowed),
            Just(Host::Owned),
            Just(Host::Shared),
            Just(Host::Staged)
        ]
    };
    prop_oneof![
        4 => (buffer(), span(), host()).prop_map(|(b, s, h)| Step::Upload(b, s, h)),
        4 => (buffer(), span(), host()).prop_map(|(b, s, h)| Step::Download(b, s, h)),
        4 => (buffer(), any::<u16>(), buffer(), span()).prop_map(|(a, o, b, s)| Step::Copy(a, o, b, s)),
        2 => (buffer(), span(), any::<u32>(), 0u8..3).prop_map(|(b, s, v, w)| Step::Fill(b, s, v, w)),
        1 => (buffer(), any::<u16>(), rows()).prop_map(|(b, o, r)| Step::Upload2d(b, o, r)),
        1 => (buffer(), any::<u16>(), rows()).prop_map(|(b, o, r)| Step::Download2d(b, o, r)),
        1 => (buffer(), any::<u16>(), buffer(), any::<u16>(), rows())
            .prop_map(|(a, o, b, p, r)| Step::Copy2d(a, o, b, p, r)),
        1 => (buffer(), any::<u16>(), rows(), any::<u8>()).prop_map(|(b, o, r, v)| Step::Fill2d(b, o, r, v)),
    ]
}

pub fn program() -> impl Strategy<Value = Vec<Group>> {
    let group = (proptest::collection::vec(step(), 1..6), any::<bool>())
        .prop_map(|(steps, waits)| Group { steps, waits });
    proptest::collection::vec(group, 1..8)
}
