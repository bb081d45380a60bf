//! Random programs of transfers, for the model.

use proptest::prelude::*;

use crate::*;

/// Lengths of the buffers, each in every storage mode: odd ones, one with less than a word, one of several pages.
pub const LENGTHS: [usize; 3] = [3, 1021, 70_001];
pub const BUFFERS: usize = LENGTHS.len() * MODES.len();

/// One end of a copy.
#[derive(Debug, Clone, Copy)]
pub enum End {
    Buffer(usize, Form),
    Host(Host, HostForm),
}

/// How a place in a buffer is named.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Form {
    At,
    Range,
    Rows,
}

/// How host memory goes along.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Host {
    Borrowed,
    Owned,
    Shared,
    Staged,
    Values,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum HostForm {
    Whole,
    Rows,
}

/// Where and how much: fractions of what the ends have, and gaps between rows in bytes.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    pub offsets: [u16; 2],
    pub width: u16,
    pub height: u16,
    pub gaps: [usize; 2],
}

#[derive(Debug, Clone, Copy)]
pub enum Step {
    Copy(End, End, Shape),
    /// A range or rows of a buffer, the value, and the logarithm of its size.
    Fill(End, Shape, u32, u8),
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

fn shape() -> impl Strategy<Value = Shape> {
    // The whole and nothing come up as often as the places between.
    let part = || prop_oneof![2 => any::<u16>(), 1 => Just(0), 1 => Just(u16::MAX)];
    let parts = (part(), part(), part(), part(), [0usize..9, 0usize..9]);
    parts.prop_map(|(from, to, width, height, gaps)| Shape {
        offsets: [from, to],
        width,
        height,
        gaps,
    })
}

fn buffer_end() -> impl Strategy<Value = End> {
    let form = prop_oneof![Just(Form::At), Just(Form::Range), Just(Form::Rows)];
    (0..BUFFERS, form).prop_map(|(number, form)| End::Buffer(number, form))
}

fn host_end(kinds: &'static [Host]) -> impl Strategy<Value = End> {
    let form = prop_oneof![2 => Just(HostForm::Whole), 1 => Just(HostForm::Rows)];
    (proptest::sample::select(kinds), form).prop_map(|(host, form)| match host {
        Host::Values => End::Host(host, HostForm::Whole),
        _ => End::Host(host, form),
    })
}

fn step() -> impl Strategy<Value = Step> {
    let sources = &[Host::Borrowed, Host::Owned, Host::Shared, Host::Staged];
    let destinations = &[Host::Borrowed, Host::Owned, Host::Values];
    let from = prop_oneof![buffer_end(), host_end(sources)];
    let to = prop_oneof![buffer_end(), host_end(destinations)];
    let copy = (from, to, shape()).prop_map(|(from, to, shape)| Step::Copy(from, to, shape));
    let fill = (buffer_end(), shape(), any::<u32>(), 0u8..3)
        .prop_map(|(end, shape, value, size)| Step::Fill(end, shape, value, size));
    prop_oneof![6 => copy, 1 => fill]
}

pub fn program() -> impl Strategy<Value = Vec<Group>> {
    let group = (proptest::collection::vec(step(), 1..6), any::<bool>())
        .prop_map(|(steps, waits)| Group { steps, waits });
    proptest::collection::vec(group, 1..8)
}
